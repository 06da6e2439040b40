"""Spectral features: the article's definition, its invariances, and graphs that are not connected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr.datasets import lsa_features, spectral, spectral_features
from jointdr.datasets.spectral import connected_components


def random_graph(rng, nodes, density=0.3):
    """Symmetric weights with a ring, so that it is connected."""
    W = np.triu(rng.random((nodes, nodes)) * (rng.random((nodes, nodes)) < density), 1)
    W[np.arange(nodes - 1), np.arange(1, nodes)] += 0.1
    return W + W.T


def blocks(rng, sizes, **options):
    parts = [random_graph(rng, size, **options) for size in sizes]
    return sparse.block_diag(parts, format="csr")


def by_definition(W, k):
    """Ng, Jordan and Weiss, steps 1 to 4, up to signs."""
    W = W - np.diag(np.diag(W))
    L = np.diag(W.sum(1) ** -0.5) @ W @ np.diag(W.sum(1) ** -0.5)
    X = np.linalg.eigh(L)[1][:, ::-1][:, :k]
    return X / np.sqrt((X**2).sum(1, keepdims=True))


@pytest.fixture
def iterative(monkeypatch):
    """Lanczos iterations also for the small graphs of these tests."""
    monkeypatch.setattr(spectral, "DENSE_UP_TO", 0)


# ---------------------------------------------------------------- the features


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_matrix, pd.DataFrame])
@pytest.mark.parametrize("solver", ["exact", "iterative"])
def test_features_are_those_of_the_article(rng, kind, solver, request):
    if solver == "iterative":
        request.getfixturevalue("iterative")
    W = random_graph(rng, 60)
    features, expected = spectral_features(kind(W), 5), by_definition(W, 5)
    np.testing.assert_allclose(features * np.sign(features[:1] * expected[:1]), expected, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1)


def test_blocks_are_told_apart(rng):
    W = np.kron(np.eye(3), np.ones((20, 20))) + 0.05 * rng.random((60, 60))
    features = spectral_features((W + W.T) / 2, 3)
    block = np.repeat(np.arange(3), 20)
    cosines = features @ features.T
    same = block[:, None] == block
    assert cosines[same].min() > 0.9
    assert np.abs(cosines[~same]).max() < 0.1


@pytest.mark.parametrize("solver", ["exact", "iterative"])
def test_order_and_units_do_not_matter(rng, solver, request):
    if solver == "iterative":
        request.getfixturevalue("iterative")
    W, order = random_graph(rng, 50), rng.permutation(50)
    features = spectral_features(W, 6)
    np.testing.assert_allclose(spectral_features(W[order][:, order], 6), features[order], atol=1e-8)
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(spectral_features(W * scale, 6), features, atol=1e-8)


def test_the_same_graph_gives_the_same_bits(rng, iterative):
    W = sparse.csr_array(random_graph(rng, 80))
    before = W.copy()
    assert np.array_equal(spectral_features(W, 7), spectral_features(W, 7))
    assert np.array_equal(before.data, W.data)


def test_signs_make_the_largest_entry_positive(rng, iterative):
    W = random_graph(rng, 40)
    vectors = spectral._leading(W, 4)[1]
    assert (vectors[np.abs(vectors).argmax(axis=0), range(4)] > 0).all()


def test_the_diagonal_counts_only_on_request(rng):
    W = random_graph(rng, 30)
    loops = W + np.diag(rng.random(30))
    np.testing.assert_allclose(spectral_features(loops, 3), spectral_features(W, 3))
    np.testing.assert_allclose(spectral_features(sparse.csr_array(loops), 3), spectral_features(W, 3), atol=1e-10)
    assert np.abs(spectral_features(loops, 3, keep_diagonal=True) - spectral_features(W, 3)).max() > 1e-3


def test_as_many_features_as_nodes(rng):
    features = spectral_features(random_graph(rng, 12), 12)
    np.testing.assert_allclose(features @ features.T, np.eye(12), atol=1e-10)


# ---------------------------------------------------------------- what is not connected


def test_several_components_are_an_error_that_names_them(rng):
    with pytest.raises(ValueError, match=r"4 connected components, of 20, 9, 1, 1 nodes \(2 nodes alone\).*giant"):
        spectral_features(blocks(rng, [9, 20, 1, 1]), 3)


def test_stored_zeros_do_not_connect(rng):
    W = blocks(rng, [6, 5]).tolil()
    W[0, 10] = W[10, 0] = 1.0
    W = sparse.csr_array(W)
    W.data[[W.indptr[1] - 1, W.indptr[10]]] = 0.0
    assert W[0, 10] == W[10, 0] == 0
    with pytest.raises(ValueError, match="2 connected components"):
        spectral_features(W, 2)


def test_giant_is_the_largest_component_alone(rng):
    W = blocks(rng, [9, 20, 1])
    features, report = spectral_features(W, 4, components="giant", return_report=True)
    np.testing.assert_allclose(features[9:29], spectral_features(W[9:29][:, 9:29], 4), atol=1e-10)
    assert not features[:9].any()
    assert not features[29:].any()
    assert report.has_features.tolist() == [False] * 9 + [True] * 20 + [False]
    assert report.sizes.tolist() == [20, 9, 1]
    assert report.n_columns.tolist() == [4, 0, 0]
    assert repr(report) == (
        "SpectralReport(3 connected components, of 20, 9, 1 nodes (1 nodes alone); 20 of 30 nodes have features)"
    )


def test_separate_components_have_columns_of_their_own(rng):
    W = blocks(rng, [10, 30, 1, 2])
    features, report = spectral_features(W, 9, components="separate", return_report=True)
    assert report.sizes.tolist() == [30, 10, 2, 1]
    assert report.n_columns.sum() == 9
    assert report.n_columns.tolist() == [6, 2, 1, 0]
    large, middle, small = features[10:40], features[:10], features[41:]
    np.testing.assert_allclose(large[:, :6], spectral_features(W[10:40][:, 10:40], 6), atol=1e-10)
    np.testing.assert_allclose(middle[:, 6:8], spectral_features(W[:10][:, :10], 2), atol=1e-10)
    assert small[:, 8].tolist() == [1.0, 1.0]
    for part, columns in ((large, slice(6, 9)), (middle, [0, 1, 2, 3, 4, 5, 8]), (small, slice(0, 8))):
        assert not part[:, columns].any()
    assert not features[40].any()
    np.testing.assert_allclose(np.linalg.norm(features[report.has_features], axis=1), 1)
    np.testing.assert_allclose(report.eigenvalues[[0, 6, 8]], 1)


@pytest.mark.parametrize("sizes", [[5, 5, 5], [50, 3, 2, 2], [4, 3, 2, 1, 1], [7]])
def test_every_column_is_allotted(rng, sizes):
    W, largest = blocks(rng, sizes), sum(size for size in sizes if size > 1)
    for k in range(1, largest + 1):
        features, report = spectral_features(W, k, components="separate", return_report=True)
        assert report.n_columns.sum() == k
        assert (report.n_columns <= report.sizes).all()
        assert (np.abs(features).max(axis=0) > 0).all()
        assert report.has_features.sum() == np.count_nonzero(features.any(axis=1))


def test_more_features_than_the_component_has_nodes(rng):
    with pytest.raises(ValueError, match="k=12 is more than the 8 nodes that can have features"):
        spectral_features(blocks(rng, [8, 5]), 12, components="giant")
    with pytest.raises(ValueError, match="components='separate'"):
        spectral_features(blocks(rng, [8, 5, 1, 1]), 14, components="separate")


def test_a_graph_without_links():
    with pytest.raises(ValueError, match=r"3 connected components, of 1, 1, 1 nodes"):
        spectral_features(np.eye(3), 1)
    with pytest.raises(ValueError, match="0 nodes that can have features"):
        spectral_features(np.eye(3), 1, components="separate")


def test_components_are_numbered_by_size(rng):
    labels, sizes = connected_components(blocks(rng, [2, 5, 1, 5]))
    assert sizes.tolist() == [5, 5, 2, 1]
    assert labels.tolist() == [2] * 2 + [0] * 5 + [3] + [1] * 5


# ---------------------------------------------------------------- what is refused


def test_asymmetric_weights(rng):
    W = random_graph(rng, 10)
    skew = W.copy()
    skew[2, 5] += 1.0
    for kind in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=r"W is not symmetric: W\[2, 5\].*symmetrize='mean'"):
            spectral_features(kind(skew), 2)
        for how, joined in (("mean", (skew + skew.T) / 2), ("max", np.maximum(skew, skew.T)), ("min", W)):
            np.testing.assert_allclose(
                spectral_features(kind(skew), 2, symmetrize=how), spectral_features(joined, 2), atol=1e-10
            )


def test_rounding_is_no_asymmetry(rng):
    W = random_graph(rng, 10).astype(np.float32)
    W[2, 5] *= 1 + 3e-7
    assert spectral_features(W, 2).shape == (10, 2)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((3, 4)), "square"),
        (np.array([[0, -1.0], [-1.0, 0]]), "negative weights, the lowest -1"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        (np.array([["a", "b"], ["b", "a"]]), "should hold numbers"),
    ],
)
def test_bad_weights(W, message):
    with pytest.raises(ValueError, match=message):
        spectral_features(W, 1)


@pytest.mark.parametrize("options", [{"k": 0}, {"k": 11}, {"k": 2.5}, {"components": "all"}, {"symmetrize": "sum"}])
def test_bad_options(rng, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        spectral_features(random_graph(rng, 10), **{"k": 2, **options})


# ---------------------------------------------------------------- latent semantic analysis


def test_lsa_is_the_leading_part_of_the_table(rng):
    X = sparse.random_array((300, 200), density=0.05, rng=rng, format="csr")
    X = X + sparse.csr_array(np.outer(rng.random(300), rng.random(200)))
    U, s, _ = np.linalg.svd(X.toarray(), full_matrices=False)
    for k in (20, 60):  # sketched, and exact
        features = lsa_features(X, k)
        assert features.shape == (300, k)
        np.testing.assert_allclose(np.linalg.norm(features, axis=0), s[:k], rtol=0.05)
        assert np.array_equal(features, lsa_features(X, k))
    np.testing.assert_allclose(features @ features.T, (U[:, :60] * s[:60] ** 2) @ U[:, :60].T, atol=1e-8)
    np.testing.assert_allclose(lsa_features(X.toarray(), 60), features, atol=1e-8)
    with pytest.raises(ValueError, match="k=201"):
        lsa_features(X, 201)

"""What must not change the fitted subspaces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse

from jointdr import JDR, Moments
from jointdr.datasets import make_bilinear, make_rbf
from jointdr.engines import rows as local
from jointdr.metrics import nsee, subspace_error
from tests.support.reference import NORMALIZE_AND_SOLVER, random_sparse


def distance(one, two):
    """The largest angle error between the embeddings of two fitted models, view by view."""
    return max(subspace_error(U, V) for U, V in zip(one, two, strict=True))


def matrix_of_condition(rng, n, condition):
    P, Q = (linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return P @ np.diag(np.geomspace(1, condition, n)) @ Q


@pytest.mark.parametrize("condition", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("normalize", ["full", "joint"])
@pytest.mark.parametrize("select", [None, "all"])
def test_any_invertible_affine_map_of_a_view(rng, condition, normalize, select):
    X, y, _ = make_bilinear(4000, (12, 9), 3, random_state=1)
    A, B = X.arrays
    options = {"normalize": normalize, "n_features_to_select": None if select is None else (12, 9)}
    plain = JDR(3, **options).fit((A, B), y)
    L, M = matrix_of_condition(rng, 12, condition), matrix_of_condition(rng, 9, condition)
    mapped = JDR(3, **options).fit((A @ L + 5.0, B @ M - 100.0), y)
    # a ↦ Lᵀa + c takes the embedding U to L⁻¹U.
    expected = (np.linalg.solve(L, plain.embeddings_[0]), np.linalg.solve(M, plain.embeddings_[1]))
    assert distance(expected, mapped.embeddings_) < 1e-8
    np.testing.assert_allclose(mapped.singular_values_, plain.singular_values_, rtol=1e-8)


@pytest.mark.parametrize(("normalize", "solver"), NORMALIZE_AND_SOLVER)
def test_block_size_and_row_order(monkeypatch, rng, normalize, solver):
    X, y, _ = make_bilinear(3000, (20, 15), 2, random_state=2)
    model = JDR(2, normalize=normalize, solver=solver, random_state=0)
    plain = model.fit(X, y).embeddings_
    order = rng.permutation(len(y))
    assert distance(plain, model.fit(X[order], y[order]).embeddings_) < 1e-9
    monkeypatch.setattr(local, "block_rows", lambda views, minimum=0, block_bytes=0: 77)
    again = model.fit(X, y).embeddings_
    assert distance(plain, again) < 1e-9
    np.testing.assert_allclose(plain[0], again[0], atol=1e-9)


@pytest.mark.parametrize("normalize", ["full", "feature", "joint", None])
def test_partial_fit_and_moments_equal_fit(normalize):
    X, y, _ = make_bilinear(3000, (20, 15), 2, random_state=2)
    whole = JDR(2, normalize=normalize).fit(X, y)
    streamed = JDR(2, normalize=normalize)
    for start in (0, 1, 500, 2000):
        end = {0: 1, 1: 500, 500: 2000, 2000: 3000}[start]
        streamed.partial_fit(X[start:end], y[start:end])
    np.testing.assert_allclose(streamed.embeddings_[0], whole.embeddings_[0], atol=1e-9)
    np.testing.assert_allclose(streamed.singular_values_, whole.singular_values_, rtol=1e-9)
    folds = [
        Moments.of_block(X[at].arrays, y[at], blocks=("cross", "within")) for at in (slice(0, 999), slice(999, None))
    ]
    from_moments = JDR(2, normalize=normalize).fit_moments(folds)
    assert distance(whole.embeddings_, from_moments.embeddings_) < 1e-9


@pytest.mark.parametrize(("normalize", "solver"), NORMALIZE_AND_SOLVER)
def test_weights_are_repeated_rows(rng, normalize, solver):
    X, y, _ = make_bilinear(800, (8, 6), 2, random_state=3)
    counts = rng.integers(0, 3, len(y))
    model = JDR(2, normalize=normalize, solver=solver, random_state=0)
    weighted = model.fit(X, y, sample_weight=counts).embeddings_
    at = np.repeat(np.arange(len(y)), counts)
    repeated = model.fit(X[at], y[at]).embeddings_
    assert distance(weighted, repeated) < 1e-9
    np.testing.assert_allclose(model.fit(X, y, sample_weight=7.5 * counts).embeddings_[1], repeated[1], atol=1e-9)


@pytest.mark.parametrize("solver", ["exact", "randomized", "countsketch"])
@pytest.mark.parametrize("normalize", ["full", "feature", None])
def test_sparse_equals_dense(rng, solver, normalize):
    m = 2000
    A, B = (random_sparse(rng, (m, n), 0.3) for n in (25, 18))
    y = (A[:, [0]].toarray() * B[:, [1]].toarray()).ravel() * 10 + 0.1 * rng.standard_normal(m)
    model = JDR(1, normalize=normalize, solver=solver, random_state=0)
    dense = model.fit((A.toarray(), B.toarray()), y)
    expected, Z = dense.embeddings_, dense.transform((A.toarray(), B.toarray()))
    model.fit((A, B), y)
    np.testing.assert_allclose(model.embeddings_[0], expected[0], atol=1e-8)
    np.testing.assert_allclose(model.transform((A, B))[1], Z[1], atol=1e-8)
    for form in (sparse.csc_array, sparse.coo_array, sparse.csr_matrix):
        np.testing.assert_allclose(model.fit((form(A), form(B)), y).embeddings_[0], expected[0], atol=1e-8)


@pytest.mark.parametrize("name", ["array_api_strict", "torch"])
@pytest.mark.parametrize("solver", ["exact", "randomized", "countsketch"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_backend_gives_numpys_subspaces(name, solver, dtype):
    xp = pytest.importorskip(name)
    X, y, _ = make_bilinear(2000, (20, 15), 2, random_state=5)
    A, B = (V.astype(dtype) for V in X.arrays)
    model = JDR(2, solver=solver, normalize="feature", random_state=0)
    expected = model.fit((A, B), y).embeddings_
    views = (xp.asarray(A), xp.asarray(B))
    model.fit(views, xp.asarray(y))
    assert distance(expected, model.embeddings_) < (1e-10 if dtype == "float64" else 1e-4)
    Z = model.transform(views)
    assert type(Z[0]) is type(views[0])
    np.testing.assert_allclose(np.asarray(Z[0]), model.transform((A, B))[0], atol=1e-10 if dtype == "float64" else 1e-4)


def test_rescaling_any_feature_changes_no_selection(rng):
    X, y, _truth = make_bilinear(20_000, (40, 30), 2, n_informative=6, random_state=6)
    A, B = X.arrays
    A = A + 0.5 * A[:, rng.permutation(40)]  # correlated features
    for normalize in ("full", "feature", "joint"):
        model = JDR(2, normalize=normalize, n_features_to_select=(6, 6))
        plain = model.fit((A, B), y)
        support, bases, values = plain.support_, plain.embeddings_, plain.singular_values_
        scale_a, scale_b = 10 ** rng.uniform(-3, 3, 40), 10 ** rng.uniform(-3, 3, 30)
        model.fit((A * scale_a, B * scale_b + 3.0), y)
        for one, two in zip(support, model.support_, strict=True):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(model.singular_values_, values, rtol=1e-6)
        np.testing.assert_allclose(np.abs(model.embeddings_[0] * scale_a[:, None]), np.abs(bases[0]), atol=1e-8)


def test_permuting_y_kills_the_signal(rng):
    X, y, truth = make_bilinear(20_000, 20, 2, random_state=7)
    train, test = slice(0, 10_000), slice(10_000, None)
    model = JDR(2).fit(X[train], y[train])
    assert nsee(truth, model.embeddings_) < 0.15
    assert model.score(X[test], y[test]) > 0.5
    permuted = rng.permutation(y)
    null = JDR(2).fit(X[train], permuted[train])
    assert nsee(truth, null.embeddings_) > 0.8
    assert null.score(X[test], permuted[test]) < 0.01
    assert null.singular_values_[0] < 0.2 * model.singular_values_[0]


def test_dependent_views_need_the_joint_normalization():
    """corr(a, b) = 0.3 biases plain JDR on the RBF link however large m is; the joint one is consistent."""
    errors = {"full": [], "joint": []}
    for seed in range(3):
        X, y, truth = make_rbf(200_000, 20, 2, correlation=0.3, random_state=seed)
        for normalize, found in errors.items():
            found.append(nsee(truth, JDR(2, normalize=normalize).fit(X, y).embeddings_))
    assert np.mean(errors["joint"]) <= 0.06 < 0.2 < np.mean(errors["full"])


def test_joint_normalization_is_full_normalization_for_independent_views():
    X, y, _truth = make_bilinear(100_000, 10, 2, random_state=1)
    full, joint = (JDR(2, normalize=n).fit(X, y) for n in ("full", "joint"))
    assert distance(full.embeddings_, joint.embeddings_) < 0.02
    assert joint.score(X, y) == pytest.approx(full.score(X, y), abs=0.01)

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from jointdr import Moments
from jointdr.engines.rows import Rows, block_rows
from tests.support.reference import brute_force, largest_difference, random_sparse, summary

EVERYTHING = {"blocks": ("cross", "within"), "covariance": "full", "cross_covariance": True}


def backend(name):
    if name == "numpy":
        return np
    return pytest.importorskip(name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["numpy", "array_api_strict", "torch"])
def test_definition_in_every_backend(data, rng, name, weighted):
    A, B, y = data
    w = rng.uniform(0.5, 2, len(y)) if weighted else None
    xp = backend(name)
    views = (xp.asarray(A), xp.asarray(B))
    half = len(y) // 2
    one, two = (
        Moments.of_block(
            tuple(X[at, :] for X in views), xp.asarray(y)[at], None if w is None else xp.asarray(w)[at], **EVERYTHING
        )
        for at in (slice(0, half), slice(half, None))
    )
    merged = one.merge(two)
    assert type(merged.centers[0]) is type(views[0])
    assert largest_difference(summary(merged), brute_force(A, B, y, w)) < 1e-12


@pytest.mark.parametrize("sparse_views", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_equals_dense(rng, sparse_views, weighted):
    m = 300
    A, B = (random_sparse(rng, (m, n), 0.2) for n in (8, 5))
    y = rng.standard_normal(m) + 5
    w = rng.uniform(0.5, 2, m) if weighted else None
    views = [X if s else X.toarray() for X, s in zip((A, B), sparse_views, strict=True)]
    parts = [
        Moments.of_block([X[at] for X in views], y[at], None if w is None else w[at], **EVERYTHING)
        for at in (slice(0, 100), slice(100, None))
    ]
    expected = brute_force(A.toarray(), B.toarray(), y, w)
    assert largest_difference(summary(parts[0] + parts[1]), expected) < 1e-12


def test_sparse_views_are_not_densified(rng):
    A, B = (random_sparse(rng, (40_000, 500), 0.005) for _ in range(2))
    y = rng.standard_normal(40_000)
    tracemalloc.start()
    Moments.of_block((A, B), y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000 * 500 * 8 / 4  # one dense view would be 160 MB


@pytest.mark.parametrize("kind", [np.int8, bool, np.float32, np.float16])
def test_other_dtypes_are_converted_block_by_block(rng, kind):
    A = rng.integers(0, 2, (200, 4)).astype(kind)
    B = rng.integers(0, 2, (200, 3)).astype(kind)
    y = rng.standard_normal(200)
    expected = brute_force(A.astype(float), B.astype(float), y)
    tolerance = 1e-12 if kind in (np.int8, bool) else 1e-5
    assert largest_difference(summary(Moments.of_block((A, B), y, **EVERYTHING)), expected) < tolerance


def test_float32_products_and_float64_sums(rng):
    m = 50_000
    A, B = (rng.standard_normal((m, 5), dtype=np.float32) + np.float32(3) for _ in range(2))
    y = rng.standard_normal(m)
    block = Moments.of_block((A[:1000], B[:1000]), y[:1000], **EVERYTHING)
    assert block.eps == np.finfo(np.float32).eps
    assert all(M.dtype == np.float64 for M in (*block.scatters, *block.sums, block.third(0, 1)))
    other = Moments.of_block((A[:9].astype(float), B[:9].astype(float)), y[:9], **EVERYTHING)
    assert (other + block).eps == (block + other).eps == block.eps  # the coarser of the two
    double = summary(Moments.of_block((A[:1000].astype(float), B[:1000].astype(float)), y[:1000], **EVERYTHING))
    error = largest_difference(summary(block), double)
    assert 1e-12 < error < 1e-4  # the products ran in single precision
    expected = brute_force(A.astype(float), B.astype(float), y)
    assert largest_difference(summary(Rows((A, B), y).moments(**EVERYTHING)), expected) < 1e-4


def test_only_what_was_asked_for_is_kept(data):
    A, B, y = data
    nothing = Moments.of_block((A, B), blocks=(), covariance=None)
    assert nothing.scatters == (None, None)
    assert nothing.n_responses == 0
    assert not nothing.thirds
    means = Moments.of_block((A, B), y, blocks=("means",), covariance="diagonal", cross_covariance=False)
    assert not means.thirds
    assert not means.cross_scatters
    assert means.scatters[0].shape == (6,)
    np.testing.assert_allclose(means.central().response_covariance(0)[:, 0], brute_force(A, B, y)["C_ay"])
    np.testing.assert_allclose(means.central().variances(0), A.var(axis=0))
    cross = Moments.of_block((A, B), y, covariance=(None, "full"))
    assert set(cross.thirds) == {(0, 1)}
    for missing in (lambda: cross.covariance(0), lambda: cross.third(0, 0), lambda: means.cross_covariance(0, 1)):
        with pytest.raises(ValueError, match="was not kept"):
            missing()


def test_vector_response(data, rng):
    A, B, y = data
    Y = np.column_stack([y, rng.standard_normal(len(y)), A[:, 0]])
    moments = (Moments.of_block((A[:50], B[:50]), Y[:50]) + Moments.of_block((A[50:], B[50:]), Y[50:])).central()
    assert moments.third(0, 1).shape == (3, 6, 4)
    for i in range(3):
        np.testing.assert_allclose(moments.third(0, 1)[i], brute_force(A, B, Y[:, i])["T_ayb"], atol=1e-10)


def test_one_view_and_three_views(data, rng):
    A, B, y = data
    one = Moments.of_block((A,), y, blocks=("within",)).central()
    np.testing.assert_allclose(one.third(0, 0)[0], brute_force(A, B, y)["T_aya"], atol=1e-10)
    C = rng.standard_normal((len(y), 2))
    three = Moments.of_block((A, B, C), y).central()
    np.testing.assert_allclose(three.third(1, 2)[0], brute_force(B, C, y)["T_ayb"], atol=1e-10)


def test_without_cross_covariance_blocks_need_a_common_centre_of_y(data):
    A, B, y = data
    keep = {"cross_covariance": False}
    apart = [Moments.of_block((A[at], B[at]), y[at], **keep) for at in (slice(0, 100), slice(100, None))]
    with pytest.raises(ValueError, match="cross_covariance=True, or with the same y_center"):
        apart[0].merge(apart[1])
    together = [
        Moments.of_block((A[at], B[at]), y[at], y_center=y.mean(), **keep) for at in (slice(0, 100), slice(100, None))
    ]
    merged = together[0].merge(together[1]).central()
    np.testing.assert_allclose(merged.third(0, 1)[0], brute_force(A, B, y)["T_ayb"], atol=1e-12)


def test_covariances_of_an_earlier_read_serve_other_responses(data):
    """A second fold about the first one's centre needs no products of features with features."""
    A, B, y = data
    first = Moments.of_block((A, B), blocks=(), covariance="full")
    about = {"center": first.centers, "y_center": 0.0}
    bare = {"blocks": ("cross", "within"), "covariance": None, "cross_covariance": False}
    second = Moments.of_block((A, B), y, **bare, **about)
    with pytest.raises(ValueError, match="covariance='full', or with the same y_center"):
        Moments.of_block((A,), y, blocks=("within",), covariance=None).about(y_center=1.0)
    assert largest_difference(summary(second.with_covariances(first)), brute_force(A, B, y)) < 1e-12
    for other in (Moments.of_block((A, B), blocks=(), center=0), Moments.of_block((A[1:], B[1:]), blocks=())):
        with pytest.raises(ValueError, match="same rows about the same centre"):
            second.with_covariances(other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_within_moments_are_symmetric_and_exact_for_heavy_tails(rng, dtype):
    m = 2000
    A, y = rng.standard_normal((m, 5)).astype(dtype), rng.standard_t(1, m)
    y[:2] = 1e9, -1e9
    T = Moments.of_block((A,), y, blocks=("within",), center=0, y_center=0.0).third(0, 0)[0] * m
    exact = A.T.astype(np.longdouble) @ (y[:, None] * A.astype(np.longdouble))
    size = np.abs(A.T) @ (np.abs(y)[:, None] * np.abs(A))
    np.testing.assert_array_equal(T, T.T)
    assert np.max(np.abs(T - exact) / size) < 30 * np.finfo(dtype).eps
    for constant in (np.zeros(m), np.ones(m), -np.ones(m)):
        T = Moments.of_block((A,), constant, blocks=("within",), center=0, y_center=0.0).third(0, 0)[0] * m
        np.testing.assert_allclose(T, constant[0] * (A.T.astype(float) @ A), atol=10 * m * np.finfo(dtype).eps)


def test_rows_fold_knows_the_mean_of_y(rng):
    m = 9000
    A, B, y = rng.standard_normal((m, 4)) + 1e6, rng.standard_normal((m, 3)) + 1e6, rng.standard_normal(m) + 1e6
    folded = Rows((A, B), y).moments(blocks=("cross",), covariance="full", cross_covariance=False)
    assert folded.y_mean[0] == pytest.approx(y.mean(), rel=1e-15)
    expected = brute_force(A - 1e6, B - 1e6, y - 1e6)
    np.testing.assert_allclose(folded.central().third(0, 1)[0], expected["T_ayb"], atol=1e-12)


def test_rows_fold_does_not_mind_drift(rng):
    """The centre of the first block is used for all, also if only that block lies elsewhere."""
    m = 100_000
    A, B = rng.standard_normal((m, 3)), rng.standard_normal((m, 3))
    A[:1000] += 1e7
    y = A[:, 0] * B[:, 0] * (np.arange(m) >= 1000) + rng.standard_normal(m)
    rows = Rows((A, B), y)
    assert block_rows((A, B)) < m / 2
    folded = summary(rows.moments(**EVERYTHING))
    expected = brute_force(A, B, y)
    assert (
        largest_difference({k: folded[k] for k in ("C_aa", "C_bb")}, {k: expected[k] for k in ("C_aa", "C_bb")}) < 1e-12
    )
    scale = A.std(axis=0)[:, None] * y.std() * B.std(axis=0)
    assert np.max(np.abs(folded["T_ayb"] - expected["T_ayb"]) / scale) < 1e-12


def test_select_equals_fitting_the_selected_features(data):
    A, B, y = data
    rows, columns = np.array([0, 2, 5]), np.array([False, True, True, False])
    chosen = Moments.of_block((A, B), y, **EVERYTHING).select((rows, columns))
    assert largest_difference(summary(chosen), brute_force(A[:, rows], B[:, columns], y)) < 1e-12


def test_frozen_and_picklable(data):
    A, B, y = data
    moments = Moments.of_block((A, B), y)
    with pytest.raises(FrozenInstanceError):
        moments.weight = 3.0
    with pytest.raises(TypeError):
        moments.thirds[0, 1] = 0
    again = pickle.loads(pickle.dumps(moments))
    np.testing.assert_array_equal(again.third(0, 1), moments.third(0, 1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A, B, y: Moments.of_block((A, B), y, blocks=("cros",)), "blocks="),
        (lambda A, B, y: Moments.of_block((A, B), y, covariance="ful"), "covariance="),
        (lambda A, B, y: Moments.of_block((A, B), y, blocks="within", covariance="diagonal"), "need covariance='full'"),
        (lambda A, B, y: Moments.of_block((A, B[1:]), y), "different numbers of rows"),
        (lambda A, B, y: Moments.of_block((A, B), y[1:]), "y has"),
        (lambda A, B, y: Moments.of_block((A, B)), "need the response y"),
        (lambda A, B, y: Moments.of_block((A, B), y, y[1:]), "weight has shape"),
        (lambda A, B, y: Moments.of_block((A, B), y, y[:, None]), "weight has shape"),
        (lambda A, B, y: Moments.of_block((A, B), y, 1 - 2 * np.eye(1, len(y), 3)[0]), "negative, but row 3 has -1"),
        (lambda A, B, y: Moments.of_block((A, B), y, np.full(len(y), np.nan)), r"weight contains NaN .*row 0"),
        (lambda A, B, y: Moments.of_block((A, B), y, np.full(len(y), np.inf)), "weight contains NaN or infinity"),
        (lambda A, B, y: Moments.of_block((A, B), y, np.full(len(y), 1e101)), r"weight goes up to 1e\+101"),
        (lambda A, B, y: Moments.of_block((A, B), y, np.full(len(y), 1j)), "weight should hold one number per row"),
        (lambda A, B, y: Moments.of_block((A, B), y, ["x"] * len(y)), "weight should hold one number per row"),
        (
            lambda A, B, y: Moments.of_block((A, B), y) + Moments.of_block((A, A), y),
            "same views, normalization and blocks",
        ),
    ],
)
def test_clear_errors(data, call, message):
    with pytest.raises(ValueError, match=message):
        call(*data)


def test_weights_of_another_library_are_checked_too(data):
    torch = pytest.importorskip("torch")
    A, B, y = map(torch.as_tensor, data)
    for bad, message in ((float("nan"), "NaN or infinity"), (-1.0, "must not be negative, but row 5 has -1")):
        w = torch.ones(len(y), dtype=torch.float64)
        w[5] = bad
        with pytest.raises(ValueError, match=message):
            Moments.of_block((A, B), y, w)


def test_merge_with_something_else(data):
    A, B, y = data
    with pytest.raises(TypeError, match="only be merged with Moments"):
        Moments.of_block((A, B), y).merge(3)
    with pytest.raises(TypeError):
        Moments.of_block((A, B), y) + 3


def test_tables_are_told_to_become_arrays(rng):
    A = pd.DataFrame(rng.standard_normal((5, 2)))
    with pytest.raises(TypeError, match=r"A.to_numpy\(\)"):
        Moments.of_block((A, A), np.arange(5.0))

"""Kernel regression on a grid of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import JDR, AssociationModel, Dyads, KernelRegression
from jointdr.metrics import recall_at_k
from jointdr.prediction.heads.bandwidths import LeftOutRows, expected_recall
from jointdr.prediction.heads.distances import kth_smallest
from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.heads.kernels import Kernel, Mixture
from jointdr.prediction.heads.regression import GridRegression


@pytest.fixture
def tables(rng):
    return rng.standard_normal((30, 3)), rng.standard_normal((20, 2))


@pytest.fixture
def new(rng):
    return rng.standard_normal((6, 3)), rng.standard_normal((5, 2))


def grid_of(kind, tables, rng):
    Y = rng.standard_normal((30, 20))
    if kind == "dense":
        return Dyads(Y, *tables)
    if kind == "zero-filled":
        return Dyads(sparse.csr_array(np.where(rng.random(Y.shape) < 0.2, np.abs(Y), 0.0)), *tables)
    return Dyads(Y, *tables, observed=rng.random(Y.shape) < 0.4)


KINDS = ["dense", "zero-filled", "observed"]


@pytest.mark.parametrize("adaptive", [None, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_a_grid_is_its_pairs(rng, tables, new, kind, adaptive):
    dyads = grid_of(kind, tables, rng)
    h = (0.9, 1.4)
    grid = KernelRegression(h, adaptive=adaptive).fit(dyads)
    scores, neighbors = grid.predict(new, return_neighbors=True)
    i, j = (at.ravel() for at in np.indices(scores.shape))
    if adaptive is None:  # among pairs, an entity counts once for each of its pairs, which moves the k-th neighbor
        X, y = dyads.triples()
        expected = KernelRegression(h).fit(X, y).predict((new[0][i], new[1][j]), return_neighbors=True)
    else:
        expected = by_definition(dyads, new, h, adaptive)
    np.testing.assert_allclose(scores.ravel(), expected[0], rtol=1e-9)
    np.testing.assert_allclose(neighbors.ravel(), expected[1], rtol=1e-9)


def by_definition(dyads, new, h, k):
    scores, neighbors = [], []
    observed = np.ones(dyads.shape) if dyads.is_complete else dyads.observed.toarray()
    Y = dyads.Y.toarray() if sparse.issparse(dyads.Y) else dyads.Y
    for z_a in new[0]:
        for z_b in new[1]:
            K = []
            for z, Z, c in ((z_a, dyads.A, h[0]), (z_b, dyads.B, h[1])):
                d = np.sum((Z - z) ** 2, axis=1)
                K.append(np.exp(-d / (2 * c**2 * np.sort(d)[k - 1])))
            W = observed * np.outer(*K)
            scores.append(np.sum(W * Y) / W.sum())
            neighbors.append(W.sum() ** 2 / np.sum(W**2))
    return np.array(scores), np.array(neighbors)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_matter(rng, tables, new, kind):
    dyads = grid_of(kind, tables, rng)
    for h in ("auto", (1.0, 0.7), (0.5, 0.0)):
        whole, tiny = (KernelRegression(h, max_bytes=b, random_state=0).fit(dyads) for b in (10**8, 1))
        assert tiny.bandwidth_ == whole.bandwidth_
        for X in (new, (new[0], None), (None, new[1]), (None, None)):
            for one, other in zip(*(m.predict(X, return_neighbors=True) for m in (whole, tiny)), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_bandwidth_zero_ignores_a_side(rng, tables, new, kind):
    dyads = grid_of(kind, tables, rng)
    scores = KernelRegression((0.8, 0.0)).fit(dyads).predict((new[0], None))
    for j in range(dyads.shape[1]):
        alone = KernelRegression((0.8, 1.0)).fit(dyads.columns([j])).predict((new[0], None))
        np.testing.assert_allclose(scores[:, [j]], alone, rtol=1e-9)
    nearest = np.argmin([np.sum((tables[1] - z) ** 2, axis=1) for z in new[1]], axis=1)
    np.testing.assert_allclose(KernelRegression((0.8, 0.0)).fit(dyads).predict(new), scores[:, nearest], rtol=1e-9)


def test_known_columns_with_equal_features_stay_apart(rng):
    A, Y = rng.standard_normal((10, 2)), rng.standard_normal((10, 3))
    model = KernelRegression((1.0, 0.0)).fit(Dyads(Y, A, np.ones((3, 1))))
    assert np.ptp(model.predict((A, None)), axis=1).min() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_far_rows_fall_back_to_the_mean_of_the_column(rng, tables, kind):
    dyads = grid_of(kind, tables, rng)
    far = np.full((1, 3), 1e4)
    for h_b in (0.0, 1e-3):  # columns by themselves
        scores, neighbors = KernelRegression((0.5, h_b)).fit(dyads).predict((far, None), return_neighbors=True)
        Y = dyads.Y.toarray() if sparse.issparse(dyads.Y) else dyads.Y
        count = dyads.shape[0] if dyads.is_complete else dyads.observed.toarray().sum(axis=0)
        np.testing.assert_allclose(scores[0], Y.sum(axis=0) / count, rtol=1e-9)
        assert (neighbors == 0).all()
    near = KernelRegression((0.5, 1.0)).fit(dyads).predict((tables[0], None), return_neighbors=True)[1]
    assert (near > 0).all()


def test_a_column_without_any_score_gets_the_mean_of_all(rng, tables):
    observed = rng.random((30, 20)) < 0.5
    observed[:, 7] = False
    dyads = Dyads(rng.standard_normal((30, 20)), *tables, observed=observed)
    scores, neighbors = KernelRegression((0.5, 0.0)).fit(dyads).predict((tables[0], None), return_neighbors=True)
    np.testing.assert_allclose(scores[:, 7], dyads.Y.data.mean())
    assert (neighbors[:, 7] == 0).all()
    assert np.isfinite(scores).all()


def test_very_small_weights_still_count():
    # exp(-600) times exp(-600) is 0 in floating point, but both neighbors are the only ones there are.
    dyads = Dyads(np.array([[3.0, 0.0]]), np.zeros((1, 1)), np.zeros((2, 1)), observed=[[True, False]])
    model = KernelRegression(1.0).fit(dyads)
    z = np.full((1, 1), np.sqrt(1200.0))
    scores, neighbors = model.predict((z, z), return_neighbors=True)
    assert scores[0, 0] == pytest.approx(3.0)
    assert neighbors[0, 0] == pytest.approx(1.0)


def test_auto_is_near_the_best_of_a_grid_for_new_rows(rng):
    """Binary links: by recall, the bandwidths come within 0.02 of the best on rows that were never seen."""
    A, B = rng.standard_normal((1300, 2)), rng.standard_normal((120, 2))
    P = np.exp(-4 * np.sum((A[:, None] - B[None]) ** 2, axis=2))
    Y = sparse.csr_array((rng.random(P.shape) < 0.7 * P).astype(float))
    train, test = Dyads(Y[:300], A[:300], B), Y[300:]

    def recall(h):
        model = KernelRegression(h, random_state=0).fit(train)
        return recall_at_k(model.predict((A[300:], None)), test, 12), model.bandwidth_

    best = max(recall((a, b))[0] for a in np.geomspace(0.05, 2, 8) for b in (0.0, *np.geomspace(0.05, 2, 6)))
    found, h = recall("auto")
    assert found > best - 0.02
    assert h[1] > 0  # columns help each other here


def test_auto_by_squared_error_on_grades(rng):
    A, B = rng.uniform(-2, 2, (200, 1)), rng.uniform(-2, 2, (60, 1))
    F = np.sin(2 * A) + B.T
    Y = F + 0.5 * rng.standard_normal(F.shape)
    observed = rng.random(Y.shape) < 0.3
    train = Dyads(Y[:150], A[:150], B, observed=observed[:150])

    def error(h):
        return np.mean((KernelRegression(h, random_state=0).fit(train).predict((A[150:], None)) - F[150:]) ** 2)

    best = min(error((a, b)) for a in np.geomspace(0.05, 2, 10) for b in (0.0, *np.geomspace(0.05, 2, 10)))
    assert error("auto") < 1.3 * best


def test_leaving_out_is_leaving_out(rng):
    """Scores that are pure noise are predicted best by wide averages, not by the row itself."""
    A, B = rng.standard_normal((100, 2)), rng.standard_normal((30, 2))
    model = KernelRegression(random_state=0).fit(Dyads(rng.standard_normal((100, 30)), A, B))
    assert np.std(model.predict((A, None))) < 0.1


def test_expected_recall_of_ties():
    scores = np.array([[1.0, 1.0, 1.0, 0.0]])
    assert expected_recall(scores, np.array([[True, False, False, False]]), 1)[0] == pytest.approx(1 / 3)
    assert expected_recall(scores, np.array([[True, False, False, True]]), 3)[0] == pytest.approx(1 / 2)
    scores = np.random.default_rng(0).random((20, 50))
    truth = scores + 0.3 * np.random.default_rng(1).random((20, 50)) > 0.9
    assert np.nanmean(expected_recall(scores, truth, 10)) == pytest.approx(recall_at_k(scores, truth, 10))


def test_adaptive_is_invariant_to_units(rng, tables, new):
    dyads = grid_of("dense", tables, rng)
    one = KernelRegression(0.7, adaptive=3).fit(dyads).predict(new)
    Y, A, B = dyads.Y, dyads.A, dyads.B
    other = KernelRegression(0.7, adaptive=3).fit(Dyads(Y, 50 * A, B)).predict((50 * new[0], new[1]))
    np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize("q", [1, 2, 3, 5, 8, 13, 2.5])
def test_cosine_weights(rng, q):
    points, z = (Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in rng.standard_normal((2, 9, 3)))
    K = Kernel(points, q**-0.5, cosine=True).weights(z)
    np.testing.assert_allclose(K, np.maximum(z @ points.T, 0) ** q, atol=1e-12)
    sparse_K = Kernel(sparse.csr_array(points), q**-0.5, cosine=True).weights(sparse.csr_array(z))
    np.testing.assert_allclose(sparse_K, K, atol=1e-12)


def test_a_mixture_is_a_mean_of_averages(rng):
    """Scores of a mixture of row kernels are the mean of the scores of each, where columns are by themselves."""
    Y, P, Q = rng.standard_normal((12, 5)), rng.standard_normal((12, 2)), rng.standard_normal((12, 3))
    columns = Kernel(np.zeros((5, 1)), 0.0)
    new = rng.standard_normal((4, 2)), rng.standard_normal((4, 3))
    both = GridRegression(Y, True, (Mixture((Kernel(P, 0.5), Kernel(Q, 2.0)), (0.3, 0.7)), columns))
    S = [
        GridRegression(Y, True, (Kernel(*k), columns)).scorer(EntitySet(4, (z,)), EntitySet(5), 1e6)(slice(0, 4)).scores
        for k, z in zip(((P, 0.5), (Q, 2.0)), new, strict=True)
    ]
    mixed = both.scorer(EntitySet(4, new), EntitySet(5), 1e6)(slice(0, 4)).scores
    np.testing.assert_allclose(mixed, 0.3 * S[0] + 0.7 * S[1])


def test_nearest_neighbors_are_shared():
    K = Kernel(np.array([[0.0], [0.0], [1.0]]), 0.0).weights(np.array([[0.1], [0.9]]))
    np.testing.assert_array_equal(K, [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("bandwidth", "adaptive", "match"),
    [
        (-1.0, None, "bandwidth"),
        ((1.0, 2.0, 3.0), None, "bandwidth"),
        ("wide", None, "bandwidth"),
        (1.0, 0, "adaptive"),
    ],
)
def test_bad_parameters(rng, tables, bandwidth, adaptive, match):
    with pytest.raises(ValueError, match=match):
        KernelRegression(bandwidth, adaptive=adaptive).fit(grid_of("dense", tables, rng))


def test_bad_calls(rng, tables, new):
    dyads = grid_of("dense", tables, rng)
    with pytest.raises(TypeError, match="leave y"):
        KernelRegression(1.0).fit(dyads, np.zeros(30))
    model = KernelRegression(1.0).fit(dyads)
    with pytest.raises(ValueError, match="columns"):
        model.predict((new[1], None))
    with pytest.raises(ValueError, match="NaN"):
        model.predict((np.full((1, 3), np.nan), None))
    with pytest.raises(ValueError, match="pair of tables"):
        model.predict((new[0], new[1], new[1]))
    with pytest.raises(ValueError, match="only 2"):
        KernelRegression("left-out rows").fit(dyads.rows([0, 1]))
    with pytest.raises(ValueError, match="only 2 rows and 1 columns"):
        KernelRegression().fit(dyads.rows([0, 1]).columns([0]))


def test_leaving_a_row_out_is_fitting_without_it(rng):
    """The gain of each bandwidth, by hand: one fit without each row, lonely rows and columns included."""
    A, B = 3 * rng.standard_normal((15, 2)), rng.standard_normal((8, 1))
    A[0] += 1e4  # no neighbors at all
    Y = rng.standard_normal((15, 8))
    mask = rng.random(Y.shape) < 0.3
    mask[:, 5] = np.arange(15) == 3  # a column with one score
    mask[0, :2] = True
    for observed in (None, mask):
        dyads = Dyads(Y, A, B, observed)
        centred = [X - X.mean(axis=0) for X in (A, B)]
        rows, columns = Kernel(centred[0], 1.0), Kernel(centred[1], 0.5)
        grid = GridRegression(dyads.Y, dyads.is_complete, (rows, columns))
        at = np.arange(15)
        found = LeftOutRows(grid, rows, at, "squared error", 1, 1e6).gains([0.01, 1.0], columns)
        for gain, h in zip(found, (0.01, 1.0), strict=True):
            error, count = 0.0, 0
            for i in at:
                rest = dyads.rows(at[at != i])
                scores = KernelRegression((h, 0.5)).fit(rest).predict((A[[i]], None))[0]
                seen = np.ones(8, bool) if observed is None else mask[i]
                error, count = error + np.sum((scores - Y[i])[seen] ** 2), count + seen.sum()
            assert gain == pytest.approx(-error / count)


def test_auto_does_not_see_what_it_leaves_out(rng):
    """One known score a column: nothing but other columns can predict it."""
    A, B = rng.standard_normal((60, 2)), rng.standard_normal((300, 1))
    Y = sparse.csr_array((3 * B[:, 0], (rng.integers(60, size=300), np.arange(300))), shape=(60, 300))
    model = KernelRegression(random_state=0).fit(Dyads(Y, A, B, "stored"))
    assert 0 < model.bandwidth_[1] < 1
    assert model.bandwidth_[0] > 0.2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adaptive", [None, 3])
def test_auto_gives_the_transposed_problem_the_same_bandwidths_exchanged(rng, tables, kind, adaptive):
    dyads = grid_of(kind, tables, rng)
    model = KernelRegression(adaptive=adaptive).fit(dyads)
    assert KernelRegression(adaptive=adaptive).fit(transpose(dyads)).bandwidth_ == pytest.approx(model.bandwidth_[::-1])


def test_auto_gives_transposed_associations_the_same_bandwidths_exchanged(rng):
    A, B = rng.standard_normal((60, 4)), rng.standard_normal((45, 3))
    Y = sparse.csr_array((A[:, :2] @ B[:, :2].T + 0.5 * rng.standard_normal((60, 45)) > 2).astype(float))
    dyads = Dyads(Y, A, B)
    for params in ({}, {"kernel": "cosine"}, {"head": "kernel_ridge"}, {"mix": 0.5, "raw_bandwidth": "auto"}):
        model = AssociationModel(None if "mix" not in params else JDR(2), **{"head": "kernel", **params})
        found = [clone(model).fit(d) for d in (dyads, transpose(dyads))]
        assert found[1].bandwidth_ == pytest.approx(found[0].bandwidth_[::-1])
        if "mix" in params:
            assert found[1].raw_bandwidth_ == pytest.approx(found[0].raw_bandwidth_[::-1])


def test_auto_leaves_out_rows_for_new_rows_and_columns_for_new_columns(rng):
    """New rows are predicted as by left-out rows, new columns as by left-out rows of the transposed problem."""
    A, B = rng.standard_normal((60, 3)), rng.standard_normal((45, 2))
    dyads = Dyads(np.sin(2 * A[:, :1]) @ np.sin(3 * B[:, :1]).T + rng.standard_normal((60, 45)), A, B)
    auto = KernelRegression().fit(dyads)
    of_rows, of_columns = (KernelRegression("left-out rows").fit(d) for d in (dyads, transpose(dyads)))
    assert auto.bandwidth_ == pytest.approx((of_rows.bandwidth_[0], of_columns.bandwidth_[0]))
    assert auto.known_bandwidth_ == pytest.approx((of_columns.bandwidth_[1], of_rows.bandwidth_[1]))
    a, b = rng.standard_normal((4, 3)), rng.standard_normal((5, 2))
    np.testing.assert_array_equal(auto.predict((a, None)), of_rows.predict((a, None)))
    np.testing.assert_allclose(auto.predict((None, b)), of_columns.predict((b, None)).T, rtol=1e-9)
    np.testing.assert_array_equal(auto.predict((None, None)), of_rows.predict((None, None)))
    both = KernelRegression(auto.bandwidth_).fit(dyads).predict((a, b))
    np.testing.assert_array_equal(auto.predict((a, b)), both)


def test_auto_with_few_entities_of_a_kind_leaves_out_the_others(rng):
    A, B = rng.standard_normal((2, 2)), rng.standard_normal((40, 2))
    Y = np.repeat(np.sin(3 * B[:, :1]).T, 2, axis=0) + 0.1 * rng.standard_normal((2, 40))
    rows_few, columns_few = KernelRegression().fit(Dyads(Y, A, B)), KernelRegression().fit(Dyads(Y.T, B, A))
    assert 0 < rows_few.bandwidth_[1] < 1
    assert columns_few.bandwidth_ == pytest.approx(rows_few.bandwidth_[::-1])


def transpose(dyads):
    Y = dyads.Y.T
    Y = Y if dyads.is_complete or sparse.issparse(Y) else sparse.csr_array(Y)
    return Dyads(Y, dyads.B, dyads.A, None if dyads.is_complete else "stored")


def test_points_without_features_are_no_neighbors():
    K = Kernel(np.array([[1.0, 0.0], [0.0, 0.0]]), 1.0, cosine=True)
    np.testing.assert_allclose(K.weights(np.array([[0.6, 0.8], [0.0, 0.0]])), [[0.6, 0.0], [0.0, 0.0]])
    model = AssociationModel(None, head="kernel", kernel="cosine", bandwidth=(1.0, 0.0)).fit(
        np.eye(3), np.eye(3), np.eye(3)
    )
    np.testing.assert_allclose(model.predict(np.zeros((1, 3))), 1 / 3)
    assert (model.neighbors(np.zeros((1, 3))) == 0).all()


def test_more_neighbors_than_points(rng):
    D = np.array([[1.0, 4.0, np.inf]])
    np.testing.assert_allclose(kth_smallest(D, 3), [4.0])
    Z = (rng.standard_normal((20, 2)), rng.standard_normal((20, 2)))
    model = KernelRegression(adaptive=50).fit(Z, rng.standard_normal(20))
    assert np.isfinite(model.predict(Z)).all()


def test_adaptive_bandwidths_are_multiples_also_for_views(rng):
    Z = (rng.standard_normal((200, 2)), rng.standard_normal((200, 2)))
    y = Z[0][:, 0] * Z[1][:, 0]
    h = (0.5, 2.0)
    K = 1.0
    for z, c in zip(Z, h, strict=True):
        d = np.sum((z[:, None] - z[None]) ** 2, axis=2)
        K = K * np.exp(-d / (2 * c**2 * np.sort(d, axis=1)[:, [4]]))
    found = KernelRegression(h, adaptive=5).fit(Z, y).predict(Z)
    np.testing.assert_allclose(found, K @ y / K.sum(axis=1), rtol=1e-8)
    auto = KernelRegression(adaptive=5, random_state=0).fit(Z, y)
    assert (
        np.abs(auto.predict(Z) - KernelRegression(10 * auto.bandwidth_[0], adaptive=5).fit(Z, y).predict(Z)).max() > 0.1
    )

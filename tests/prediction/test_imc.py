"""Inductive matrix completion against its definition, and what its predictions promise."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jointdr import IMC as WithEffects
from jointdr import JDR, Dyads, Popularity
from jointdr.datasets import make_bilinear
from jointdr.evaluation import splits
from jointdr.metrics import nsee, rmse
from jointdr.prediction.heads.completion import Spectra
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.feature_effects import PENALTIES, predict_effects
from jointdr.prediction.ranking import ScoreBlock, best_columns

IMC = partial(WithEffects, fit_intercept=False)  # the paper's


@pytest.fixture
def grid(rng):
    """Correlated features of different scales and scores of rank 2 with noise."""
    A = rng.standard_normal((40, 7)) @ rng.standard_normal((7, 7)) + 0.5
    B = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 5)) * 10
    Y = A @ rng.standard_normal((7, 2)) @ rng.standard_normal((2, 5)) @ B.T
    return Y / Y.std() + rng.standard_normal(Y.shape), A, B


def uneven(rng, shape):
    return rng.random(shape) < np.outer(np.linspace(0, 1, shape[0]), np.linspace(0.1, 1, shape[1]))


def unit_columns(X):
    return X / np.linalg.norm(X, axis=0)


def objective(Y, A, B, mask, W, H, penalty):
    """The definition, for features as they are given."""
    return np.sum(mask * (Y - A @ W @ H.T @ B.T) ** 2) + 0.5 * penalty * (np.sum(W**2) + np.sum(H**2))


def ridge_step(Y, A, B, mask, H, penalty):
    """W by a dense ridge regression on rows a ⊗ Hᵀb, one per pair."""
    i, j = np.nonzero(mask)
    F = np.einsum("pi,pk->pik", A[i], (B @ H)[j]).reshape(len(i), -1)
    normal = F.T @ F + 0.5 * penalty * np.eye(F.shape[1])
    return np.linalg.solve(normal, F.T @ Y[i, j]).reshape(A.shape[1], -1)


def textbook(Y, A, B, mask, r, penalty, sweeps, rng):
    """The objective after many alternating ridge regressions from a random start."""
    H = rng.standard_normal((B.shape[1], r))
    for _ in range(sweeps):
        W = ridge_step(Y, A, B, mask, H, penalty)
        H = ridge_step(Y.T, B, A, mask.T, W, penalty)
    return objective(Y, A, B, mask, W, H, penalty)


# ---------------------------------------------------------------- the objective


@pytest.mark.parametrize("penalty", [0.1, 5.0])
@pytest.mark.parametrize("observed", ["complete", "few"])
@pytest.mark.parametrize("init", ["jdr", "random"])
def test_as_good_as_the_best_of_ten_long_textbook_runs(grid, rng, observed, penalty, init):
    Y, A, B = grid
    mask = np.ones(Y.shape, bool) if observed == "complete" else uneven(rng, Y.shape)
    best = min(textbook(Y, unit_columns(A), unit_columns(B), mask, 3, penalty, 100, rng) for _ in range(10))
    model = IMC(3, alpha=penalty, init=init, random_state=1).fit(Y, A, B, None if observed == "complete" else mask)
    assert model.objective_[-1] < best * 1.001
    assert model.n_iter_ < 50


@pytest.mark.parametrize("normalize_columns", [True, False])
@pytest.mark.parametrize("observed", ["complete", "few"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_objective_is_what_it_is_defined_to_be_and_stationary(grid, rng, observed, kind, normalize_columns):
    Y, A, B = grid
    mask = np.ones(Y.shape, bool) if observed == "complete" else uneven(rng, Y.shape)
    given = [sparse.csr_array(X) for X in (Y, A, B)] if kind == "sparse" else [Y, A, B]
    model = IMC(3, alpha=2.0, n_iter=300, tol=1e-15, normalize_columns=normalize_columns)
    model.fit(*given, None if observed == "complete" else mask)
    lengths = [np.linalg.norm(X, axis=0) if normalize_columns else np.ones(X.shape[1]) for X in (A, B)]
    W, H = (E * s[:, None] for E, s in zip(model.embeddings_, lengths, strict=True))
    A, B = A / lengths[0], B / lengths[1]
    np.testing.assert_allclose(model.objective_[-1], objective(Y, A, B, mask, W, H, 2.0), rtol=1e-9)
    E = mask * (Y - A @ W @ H.T @ B.T)
    for gradient, size in ((A.T @ E @ B @ H - W, A.T @ Y @ B @ H), (B.T @ E.T @ A @ W - H, B.T @ Y.T @ A @ W)):
        assert np.abs(gradient).max() < 1e-6 * np.abs(size).max()
    assert (np.diff(model.objective_) <= 1e-9 * model.objective_[-1]).all()
    np.testing.assert_allclose(W.T @ W, np.diag(model.singular_values_), atol=1e-8 * model.singular_values_[0])
    np.testing.assert_allclose(H.T @ H, W.T @ W, atol=1e-8 * model.singular_values_[0])
    np.testing.assert_allclose(np.linalg.svd(W @ H.T)[1][:3], model.singular_values_, rtol=1e-8, atol=1e-9)


def test_without_a_penalty_it_is_reduced_rank_regression(grid):
    Y, A, B = grid
    model = IMC(2, alpha=0.0).fit(Y, A, B)
    Qa, Qb = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    U, s, Vt = np.linalg.svd(Qa.T @ Y @ Qb)
    np.testing.assert_allclose(model.predict(), Qa @ (U[:, :2] * s[:2]) @ Vt[:2] @ Qb.T, atol=1e-7)


def test_all_pairs_observed_is_the_complete_grid(grid):
    Y, A, B = grid
    options = {"alpha": 1.0, "tol": 1e-12, "n_iter": 200}
    one = IMC(3, **options).fit(Y, A, B)
    two = IMC(3, **options).fit(Y, A, B, np.ones(Y.shape, bool))
    np.testing.assert_allclose(one.predict(), two.predict(), atol=1e-4)
    np.testing.assert_allclose(one.objective_[-1], two.objective_[-1], rtol=1e-9)


def test_few_and_many_observed_pairs_take_the_same_products(grid, rng, monkeypatch):
    Y, A, B = grid
    mask = uneven(rng, Y.shape)
    results = []
    for share, size in ((0.0, 32_000_000), (1.0, 32_000_000), (1.0, 1000), (0.0, 1000)):
        monkeypatch.setattr("jointdr.prediction.heads.completion.DENSE_ABOVE", share)
        monkeypatch.setattr("jointdr.prediction.heads.completion.LARGE_BLOCK_BYTES", size)
        results.append(IMC(3).fit(Y, A, B, mask).predict())
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], atol=1e-9)


def test_units_of_features_do_not_matter(grid):
    Y, A, B = grid
    scales = 10.0 ** np.arange(-3, 4)
    plain, scaled = (IMC(3, alpha=3.0).fit(Y, X, B) for X in (A, A * scales))
    np.testing.assert_allclose(plain.predict(), scaled.predict(), atol=1e-7)
    raw = [IMC(3, alpha=3.0, normalize_columns=False).fit(Y, X, B).predict() for X in (A, A * scales)]
    assert np.abs(raw[0] - raw[1]).max() > 1e-3


@pytest.mark.parametrize("observed", ["complete", "few"])
def test_given_embeddings_are_a_start(grid, rng, observed):
    Y, A, B = grid
    mask = None if observed == "complete" else uneven(rng, Y.shape)
    done = IMC(3).fit(Y, A, B, mask)
    again = IMC(3, init=done.embeddings_, n_iter=1).fit(Y, A, B, mask)
    assert again.objective_[0] < done.objective_[-1] * 1.001
    bad = IMC(3, init=(rng.standard_normal((7, 3)), rng.standard_normal((5, 3))), n_iter=1).fit(Y, A, B, mask)
    assert bad.objective_[0] > done.objective_[-1] * 1.001


def test_samples_are_estimated_better_than_by_jdr_alone():
    X, y, truth = make_bilinear(6000, n_features=(30, 20), n_components=3, random_state=0)
    plain = nsee(truth, JDR(3).fit(X, y).embeddings_)
    model = IMC(3).fit(Dyads.from_samples(X, y))
    assert nsee(truth, model.embeddings_) < 0.6 * plain
    assert model.n_iter_ < 10


def test_constant_and_repeated_features_do_no_harm(grid):
    Y, A, B = grid
    wide = np.hstack([A, np.zeros((len(A), 1)), A[:, :1]])
    model = IMC(3).fit(Y, wide, B)
    assert np.isfinite(model.predict()).all()
    np.testing.assert_allclose(model.embeddings_[0][7], 0, atol=1e-9)
    np.testing.assert_allclose(model.embeddings_[0][8], model.embeddings_[0][0], atol=1e-8)


def test_more_features_than_entities_and_scores_far_from_zero(rng):
    """The pairs then depend on each other, and a proxy that is whitened without a ridge is no start."""
    A, B = rng.random((60, 30)), rng.random((15, 25))
    Y = 10 + A @ rng.standard_normal((30, 2)) @ rng.standard_normal((2, 25)) @ B.T
    mask = uneven(rng, Y.shape)
    model = IMC(4, n_iter=300, tol=1e-6).fit(Y, A, B, mask)
    best = min(textbook(Y, unit_columns(A), unit_columns(B), mask, 4, 0.1, 60, rng) for _ in range(3))
    assert model.objective_[-1] < best * 1.001
    assert model.objective_[0] < 10 * model.objective_[-1]


def test_sweeps_that_are_too_few_are_reported(grid, rng):
    Y, A, B = grid
    with pytest.warns(ConvergenceWarning, match="raise n_iter"):
        IMC(3, init="random", random_state=0, n_iter=2).fit(Y, A, B, uneven(rng, Y.shape))


def test_no_scores_at_all(grid):
    Y, A, B = grid
    np.testing.assert_array_equal(IMC(3).fit(0 * Y, A, B).predict(), 0)


def test_observed_pairs_never_become_a_matrix_of_pairs_times_parameters(rng):
    m, n, r = 3000, 60, 10
    dyads = Dyads.from_samples((rng.standard_normal((m, n)), rng.standard_normal((m, n))), rng.standard_normal(m))
    tracemalloc.start()
    IMC(r, n_iter=2, tol=0).fit(dyads)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * m * n * r / 4


# ---------------------------------------------------------------- predictions


@pytest.fixture
def model(grid):
    return IMC(3).fit(*grid)


# ---------------------------------------------------------------- effects


def test_effects_come_first_and_the_model_is_of_the_rest(grid, rng):
    Y, A, B = grid
    for observed in (None, uneven(rng, Y.shape)):
        effects = Effects.fit(*((Y, True) if observed is None else (sparse.csr_array(Y * observed), False)))
        part = effects.mean + effects.rows[:, None] + effects.columns
        whole = WithEffects(3).fit(Y, A, B, observed)
        left = IMC(3).fit(Y - part, A, B, observed)
        np.testing.assert_allclose(whole.predict(), part + left.predict(), atol=1e-8)
        np.testing.assert_allclose(whole.objective_, left.objective_, rtol=1e-8)
        assert whole.intercept_ == pytest.approx(effects.mean)
        np.testing.assert_allclose(whole.effects_[1], effects.columns)


def test_a_sparse_grid_is_the_same_as_a_dense_one(grid, rng):
    """What effects leave of it is dense, and is never formed: the moments change by a matrix of rank 2."""
    Y, A, B = grid
    Y = Y * (rng.random(Y.shape) < 0.2)
    one, two = (WithEffects(3, alpha=1.0).fit(scores, A, B) for scores in (Y, sparse.csr_array(Y)))
    np.testing.assert_allclose(one.predict(), two.predict(), atol=1e-8)
    np.testing.assert_allclose(one.objective_, two.objective_, rtol=1e-8)
    m, n = 30_000, 20_000
    at = rng.integers(m, size=6000), rng.integers(n, size=6000)
    links = sparse.csr_array((rng.random(6000), at), shape=(m, n))
    tracemalloc.start()
    WithEffects(2, n_iter=2, tol=0).fit(links, rng.standard_normal((m, 3)), rng.standard_normal((n, 4)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * m * n / 50


def test_scores_far_from_zero_are_no_worse_than_their_means(rng):
    """The paper's model has no constant."""
    A, B = rng.standard_normal((60, 5)), rng.standard_normal((40, 4))
    Y = 12 + 0.3 * A[:, :1] + 0.2 * B[:, 1] + 0.1 * rng.standard_normal((60, 40))
    split = next(splits(Dyads(Y, A, B), "rows", 1, 0.2, 0))
    error, plain, mean = (
        rmse(split.predict(model.fit(split.train)), split.test.Y) for model in (WithEffects(), IMC(), Popularity())
    )
    assert error < 0.5 * mean < mean < plain


def test_effects_of_new_entities_are_predicted_from_features(rng):
    """Linear effects are found again; where features have nothing to do with them, new entities get almost none."""
    A, B = rng.standard_normal((80, 4)), rng.standard_normal((50, 3))
    noise = 0.1 * rng.standard_normal((80, 50))
    Y = 3 + A[:, [0]] - A[:, [1]] + noise
    model = WithEffects(2).fit(Y[:60], A[:60], B)
    np.testing.assert_allclose(model.effect_coefs_[0], [1, -1, 0, 0], atol=0.1)
    assert rmse(model.predict(A[60:]), Y[60:]) < 0.2
    other = 3 + rng.standard_normal((80, 1)) + noise
    model = WithEffects(1, alpha=100.0).fit(other[:60], A[:60], B)
    assert np.abs(model.predict(A[60:]) - 3).mean() < 0.5


def test_penalty_of_predicted_effects_is_that_of_generalized_cross_validation(rng):
    X, values, counts = rng.standard_normal((30, 6)), rng.standard_normal(30), rng.integers(1, 9, 30).astype(float)
    values += X[:, 0]
    G = (X.T * counts) @ X
    alpha, P = np.linalg.eigh(G)
    spectra = Spectra((P, P), (alpha, alpha), np.zeros((6, 6)), counts.sum(), 0.0)
    criteria = {}
    for penalty in PENALTIES[:-1]:
        H = X @ np.linalg.solve(G + penalty * alpha.mean() * np.eye(6), X.T * counts)
        left = values - H @ values
        criteria[penalty] = (counts * left**2).sum() / (1 - np.trace(H) / 30) ** 2
    best = min(criteria, key=criteria.get) * alpha.mean()
    by_hand = np.linalg.solve(G + best * np.eye(6), X.T @ (counts * values))
    np.testing.assert_allclose(predict_effects(spectra, 0, X, values, counts), by_hand, atol=1e-10)


def test_a_default_rank_fits_all_tables(rng):
    Y = rng.standard_normal((30, 20))
    for n in (1, 3, 40):
        model = WithEffects().fit(Y, rng.standard_normal((30, n)), rng.standard_normal((20, 12)))
        assert model.embeddings_[0].shape == (n, min(n, 10))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_odd_data(rng, fit_intercept):
    A, B = rng.standard_normal((20, 4)), rng.standard_normal((10, 3))
    for Y, X in (
        (np.full((20, 10), 3.0), A),
        (np.zeros((20, 10)), A),
        (rng.standard_normal((20, 10)), np.zeros((20, 2))),
        (rng.standard_normal((1, 10)), A[:1]),
    ):
        model = WithEffects(fit_intercept=fit_intercept).fit(Y, X, B)
        assert np.isfinite(model.predict()).all()
        if fit_intercept and Y.std() == 0:
            np.testing.assert_allclose(model.predict(X[:1]), Y[:1], atol=1e-9)


def test_predictions_of_new_entities(grid, model):
    _, A, B = grid
    np.testing.assert_allclose(model.predict(A, B), model.predict(), atol=1e-12)
    np.testing.assert_allclose(model.predict(A[3:5], B[7:8]), model.predict()[3:5, 7:8], atol=1e-12)
    Z = model.transform((A[:4], B))
    np.testing.assert_allclose(Z[0] @ Z[1].T, model.predict(A[:4]), atol=1e-12)
    np.testing.assert_allclose(model.predict(sparse.csr_array(A), B), model.predict(), atol=1e-12)


def test_recommendations_are_the_best_pairs(grid, rng):
    Y, A, B = grid
    mask = uneven(rng, Y.shape)
    model = WithEffects(3).fit(Y, A, B, mask)
    S = model.predict()
    table = model.recommend(k=4)
    assert list(table.columns) == ["row", "column", "score", "rank"]
    for row, part in table.groupby("row"):
        i = int(row)
        unknown = np.where(mask[i], -np.inf, S[i])
        best = np.argsort(-unknown)[: min(4, np.count_nonzero(~mask[i]))]
        assert part["column"].tolist() == [str(j) for j in best]
        np.testing.assert_allclose(part["score"], S[i, best])
        assert part["rank"].tolist() == list(range(1, len(best) + 1))
    everything = model.recommend(k=99, exclude_known=False)
    assert len(everything) == S.size
    assert len(model.recommend(k=99)) == np.count_nonzero(~mask)


def test_known_pairs_of_a_complete_grid_are_those_with_a_score(grid, rng):
    Y, A, B = grid
    Y = Y * (rng.random(Y.shape) < 0.3)
    for scores in (Y, sparse.csr_array(Y)):
        assert len(IMC(3).fit(scores, A, B).recommend(k=99)) == np.count_nonzero(Y == 0)
    stored = sparse.csr_array(Y)
    stored.data[:5] = 0
    assert len(IMC(3).fit(stored, A, B).recommend(k=99)) == np.count_nonzero(Y == 0) + 5


def test_new_rows_are_recognized_by_their_ids(grid, rng):
    Y, A, B = grid
    Y = Y * (rng.random(Y.shape) < 0.3)
    frame = pd.DataFrame(A, index=[f"d{i}" for i in range(len(A))])
    genes = pd.DataFrame(B, index=[f"g{j}" for j in range(len(B))])
    model = IMC(3).fit(Y, frame, genes)
    new = frame.iloc[[5, 2]].rename(index={"d2": "new"})
    table = model.recommend(new, k=99)
    assert (table["row"] == "d5").sum() == np.count_nonzero(Y[5] == 0)
    assert (table["row"] == "new").sum() == len(B)
    assert table["column"].str.startswith("g").all()
    assert len(model.recommend(A[:2], k=99)) == 2 * len(B)


def test_blocks_and_ties_of_a_ranking(rng):
    S = rng.integers(0, 4, (20, 9)).astype(float)
    known = sparse.csr_array(rng.random(S.shape) < 0.4)
    rows, columns = np.arange(20).astype(str), np.arange(9).astype(str)
    tables = [best_columns(lambda at: ScoreBlock(S[at].copy()), rows, columns, 3, known, size) for size in (1, 7, 100)]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    for i in range(20):
        left = np.flatnonzero(~known.toarray()[i])
        best = left[np.argsort(-S[i, left], kind="stable")][:3]
        assert tables[0].loc[tables[0]["row"] == str(i), "column"].tolist() == [str(j) for j in best]


# ---------------------------------------------------------------- files, parameters, errors


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("init", ["jdr", "given"])
def test_a_loaded_model_predicts_bit_for_bit_the_same(grid, rng, tmp_path, init, fit_intercept):
    Y, A, B = grid
    start = "jdr" if init == "jdr" else (rng.standard_normal((7, 3)), rng.standard_normal((5, 3)))
    frame = pd.DataFrame(A, columns=list("abcdefg"), index=[f"d{i}" for i in range(len(A))])
    model = WithEffects(3, alpha=0.2, init=start, fit_intercept=fit_intercept).fit(Y, frame, B, uneven(rng, Y.shape))
    model.save(tmp_path / "model.npz")
    again = WithEffects.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(), model.predict())
    np.testing.assert_array_equal(again.predict(A[:3], B[:2]), model.predict(A[:3], B[:2]))
    pd.testing.assert_frame_equal(again.recommend(k=5), model.recommend(k=5))
    pd.testing.assert_frame_equal(again.recommend(frame.iloc[:3], k=5), model.recommend(frame.iloc[:3], k=5))
    np.testing.assert_array_equal(again.objective_, model.objective_)
    for name in ("effects_", "effect_coefs_"):
        for one, two in zip(getattr(again, name), getattr(model, name), strict=True):
            np.testing.assert_array_equal(one, two)
    assert again.intercept_ == model.intercept_
    assert (model.intercept_ != 0) == fit_intercept
    np.testing.assert_allclose(again.predict(frame[list("gfedcba")]), model.predict(frame), atol=1e-12)
    with pytest.raises(ValueError, match="new table of 'a' has none of the features that were fitted"):
        again.predict(frame.rename(columns=str.upper))
    refitted = clone(again).fit(Y, frame, B)
    assert refitted.n_iter_ > 0


def test_dyads_and_tables_are_the_same(grid):
    Y, A, B = grid
    model = IMC(3).fit(Dyads(Y, A, B, names=("drug", "target")))
    np.testing.assert_array_equal(model.predict(), IMC(3).fit(Y, A, B).predict())
    with pytest.raises(ValueError, match="view 'drug' contains NaN"):
        model.predict(A * np.nan)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Y, A, B: IMC(6).fit(Y, A, B), "must be .auto., or an integer from 1 to 5"),
        (lambda Y, A, B: IMC(2.0).fit(Y, A, B), "n_components=2.0"),
        (lambda Y, A, B: IMC(2, alpha=-1).fit(Y, A, B), "alpha=-1"),
        (lambda Y, A, B: IMC(2, tol=np.nan).fit(Y, A, B), "tol=nan"),
        (lambda Y, A, B: IMC(2, n_iter=0).fit(Y, A, B), "n_iter=0"),
        (lambda Y, A, B: IMC(2, init="zero").fit(Y, A, B), "init='zero'"),
        (lambda Y, A, B: IMC(2, init=(A, B)).fit(Y, A, B), "init has shapes"),
        (lambda Y, A, B: IMC(2).fit(Y), "IMC needs features of the rows"),
        (lambda Y, A, B: IMC(2).fit(Y, A, B).predict(B), "fitted with 7 features of 'a', but got 5"),
        (lambda Y, A, B: IMC(2).fit(Y, A, B).recommend(k=0), "k=0"),
    ],
)
def test_clear_errors(grid, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(*grid)

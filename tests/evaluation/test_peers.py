"""Peers: equal to direct formulas on tiny data, the same for new entities however they are asked for, never lost."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy import sparse

from jointdr import AssociationModel, Dyads
from jointdr.evaluation import Split, evaluate, splits, standard_methods
from jointdr.evaluation.methods import METHOD_NAMES
from jointdr.evaluation.peers.boosting import BoostedTrees
from jointdr.evaluation.peers.factors import WeightedALS
from jointdr.evaluation.peers.nearest_profile import WNNGIP
from jointdr.evaluation.peers.ridge import KroneckerRidge, TwoStepRidge
from jointdr.prediction import KERNEL_CONSTANT

LIGHTGBM = importlib.util.find_spec("lightgbm") is not None
PEERS = [
    KroneckerRidge(),
    KroneckerRidge(profiles=(0.5, 0.5), effects=True),
    TwoStepRidge(),
    WNNGIP(),
    WeightedALS(3),
    pytest.param(BoostedTrees(20), marks=pytest.mark.skipif(not LIGHTGBM, reason="LightGBM is not installed")),
]
BYS = ["rows", "columns", "both", "pairs"]


def similarity(rng, m, n=4):
    X = rng.standard_normal((m, n))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-D / D.mean())


@pytest.fixture
def sides(rng):
    return similarity(rng, 24), similarity(rng, 19)


@pytest.fixture
def links(rng, sides):
    """Associations of entities that only similarities describe."""
    S, T = sides
    Y = S @ rng.standard_normal((24, 19)) @ T
    return Dyads((np.quantile(Y, 0.7) < Y).astype(float), row_similarity=S, column_similarity=T)


@pytest.fixture
def grades(rng, sides):
    S, T = sides
    Y = 5 + S @ rng.standard_normal((24, 19)) @ T
    return Dyads(Y, observed=rng.random(Y.shape) < 0.6, row_similarity=S, column_similarity=T)


def held_out(dyads, rows=3, columns=2):
    return Split.hold_out(dyads, np.arange(rows), np.arange(columns))


# ---------------------------------------------------------------- against direct formulas


def test_kronecker_ridge_solves_the_system_of_all_pairs(links):
    split = held_out(links)
    (S,), (T,) = (list(named.values()) for named in split.train.similarities)
    scores = split.predict(KroneckerRidge(alpha=0.7, row_power=2.0).fit(split.train))
    K, L = S**2 + KERNEL_CONSTANT, T + KERNEL_CONSTANT
    Y = split.train.Y
    dual = np.linalg.solve(np.kron(K, L) + 0.7 * np.eye(Y.size), (Y - Y.mean()).ravel()).reshape(Y.shape)
    k, t = (next(iter(named.values())) for named in split.similarity)
    by_hand = Y.mean() + (k**2 + KERNEL_CONSTANT) @ dual @ (t + KERNEL_CONSTANT).T
    np.testing.assert_allclose(scores, by_hand, atol=1e-6)


def test_kronecker_ridge_solves_the_system_of_known_pairs(grades):
    (S,), (T,) = (list(named.values()) for named in grades.similarities)
    scores = KroneckerRidge(alpha=0.5, tol=1e-12).fit(grades).predict()
    at = grades.observed.toarray().ravel() > 0
    system = np.kron(S + KERNEL_CONSTANT, T + KERNEL_CONSTANT)
    y = grades.Y.toarray().ravel()[at]
    dual = np.linalg.solve(system[np.ix_(at, at)] + 0.5 * np.eye(at.sum()), y - y.mean())
    np.testing.assert_allclose(scores.ravel(), y.mean() + system[:, at] @ dual, atol=1e-5)


@pytest.mark.parametrize("by", ["rows", "pairs"])
def test_profiles_are_a_share_of_the_kernels_of_known_entities(links, by):
    split = Split.hold_out(links, rows=[0, 5]) if by == "rows" else Split(links, links, "pairs")
    (S,), (T,) = (list(named.values()) for named in split.train.similarities)
    Y = split.train.Y
    G, H = (np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / (Z**2).sum(axis=1).mean()) for Z in (Y, Y.T))
    K = 0.7 * S + 0.3 * G
    L = 0.4 * T + 0.6 * H + KERNEL_CONSTANT
    k = 0.7 * next(iter(split.similarity[0].values())) if by == "rows" else K
    dual = np.linalg.solve(np.kron(K + KERNEL_CONSTANT, L) + np.eye(Y.size), (Y - Y.mean()).ravel()).reshape(Y.shape)
    scores = split.predict(KroneckerRidge(alpha=1.0, profiles=(0.3, 0.6)).fit(split.train))
    np.testing.assert_allclose(scores, Y.mean() + (k + KERNEL_CONSTANT) @ dual @ L, atol=1e-6)


def test_two_step_ridge_is_ridge_on_rows_then_on_columns(links):
    split = held_out(links)
    (S,), (T,) = (list(named.values()) for named in split.train.similarities)
    k, t = (next(iter(named.values())) + KERNEL_CONSTANT for named in split.similarity)
    Y = split.train.Y - split.train.Y.mean()
    first = k @ np.linalg.solve(S + KERNEL_CONSTANT + 0.2 * np.eye(len(S)), Y)
    second = first @ np.linalg.solve(T + KERNEL_CONSTANT + 3.0 * np.eye(len(T)), t.T)
    scores = split.predict(TwoStepRidge(row_alpha=0.2, column_alpha=3.0).fit(split.train))
    np.testing.assert_allclose(scores, second + split.train.Y.mean(), atol=1e-6)


def wnn(S, Y, decay):
    order = np.argsort(-S, axis=1)
    return np.array([sum(decay**i * Y[j] for i, j in enumerate(row)) for row in order])


def test_wnn_gip_adds_a_new_entity_with_the_profile_of_its_neighbors(links):
    """The regression of all pairs, with one more row whose scores are the weighted ones of its neighbors."""
    split = Split.hold_out(links, rows=[4])
    (S,), (T,) = (list(named.values()) for named in split.train.similarities)
    k = next(iter(split.similarity[0].values()))
    Y = split.train.Y
    assert Y.any(axis=0).all()
    assert Y.any(axis=1).all()
    profile = wnn(k, Y, 0.6)
    unit = (Y**2).sum(axis=1).mean()
    Z = np.vstack([Y, profile])
    G = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / unit)
    H = np.exp(-((Y.T[:, None] - Y.T) ** 2).sum(axis=2) / (Y**2).sum(axis=0).mean())
    K = 0.75 * np.block([[S, k.T], [k, np.ones((1, 1))]]) + 0.25 * G
    L = 0.75 * T + 0.25 * H
    system = np.kron(K, L)
    fitted = system @ np.linalg.solve(system + 0.9 * np.eye(len(system)), Z.ravel())
    scores = split.predict(WNNGIP(decay=0.6, share=0.25, alpha=0.9).fit(split.train))
    np.testing.assert_allclose(scores[0], fitted.reshape(Z.shape)[-1], atol=1e-6)
    turned = Dyads(links.Y.T, row_similarity=links.similarities[1], column_similarity=links.similarities[0])
    other = Split.hold_out(turned, columns=[4])
    model = WNNGIP(decay=0.6, share=0.25, alpha=0.9).fit(other.train)
    np.testing.assert_allclose(other.predict(model), scores.T, atol=1e-9)


def test_wnn_gip_infers_profiles_of_known_entities_without_scores(links, sides):
    Y = links.Y.copy()
    Y[2] = 0
    S, T = sides
    others = np.setdiff1d(np.arange(24), 2)
    filled = Y.copy()
    filled[2] = wnn(S[[2]][:, others], Y[others], 0.8)
    model = WNNGIP().fit(Dyads(Y, row_similarity=S, column_similarity=T))
    np.testing.assert_allclose(model._head.rows.Z, filled)
    np.testing.assert_allclose(model._head.columns.Z, filled.T)
    assert model.predict()[2].max() > 0.05


def test_als_lowers_its_objective_to_a_point_where_both_sides_are_best(links, grades):
    """At the end every factor solves its own weighted ridge regression, written out here."""
    model = WeightedALS(3, alpha=0.5, confidence=4.0, n_iter=400).fit(links)
    assert (np.diff(model.objective_) <= 1e-9).all()
    X, Z = model._head.rows.F, model._head.columns.F
    W = 1 + 4.0 * links.Y
    for i in range(3):
        best = np.linalg.solve((Z.T * W[i]) @ Z + 0.5 * np.eye(3), Z.T @ (W[i] * links.Y[i]))
        np.testing.assert_allclose(X[i], best, atol=1e-3)
    value = (W * (links.Y - X @ Z.T) ** 2).sum() + 0.5 * ((X**2).sum() + (Z**2).sum())
    assert model.objective_[-1] == pytest.approx(value)
    graded = WeightedALS(2, alpha=0.3, n_iter=50).fit(grades)
    assert (np.diff(graded.objective_) <= 1e-9).all()
    X, Z = graded._head.rows.F, graded._head.columns.F  # with effects in their first two columns
    left = (grades.Y.toarray() - X @ Z.T)[grades.observed.toarray() > 0]
    value = (left**2).sum() + 0.3 * ((X[:, 2:] ** 2).sum() + (Z[:, 2:] ** 2).sum())
    assert graded.objective_[-1] == pytest.approx(value)


def test_als_maps_similarities_to_factors(links):
    split = Split.hold_out(links, rows=[0, 1])
    model = WeightedALS(2, map_alpha=0.4).fit(split.train)
    (S,) = split.train.similarities[0].values()
    F, Z = model._head.rows.F, model._head.columns.F
    mapped = np.linalg.solve(S + 0.4 * np.eye(len(S)), F - F.mean(axis=0))
    k = next(iter(split.similarity[0].values()))
    np.testing.assert_allclose(split.predict(model), (F.mean(axis=0) + k @ mapped) @ Z.T, atol=1e-6)


@pytest.mark.skipif(not LIGHTGBM, reason="LightGBM is not installed")
def test_trees_see_both_features(rng):
    A, B = rng.standard_normal((60, 3)), rng.standard_normal((50, 2))
    Y = np.sign(A[:, :1]) * np.sign(B[:, 0])
    dyads = Dyads(Y, A, B)
    split = next(splits(dyads, "rows", random_state=0))
    assert np.mean((split.predict(BoostedTrees().fit(split.train)) > 0) == (split.test.Y > 0)) > 0.9
    drawn = BoostedTrees(20, random_state=np.random.RandomState(0)).fit(split.train)
    np.testing.assert_array_equal(split.predict(drawn), split.predict(BoostedTrees(20).fit(split.train)))


def test_lightgbm_is_optional(links, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "lightgbm" else find(name))
    assert "LightGBM" not in standard_methods(links)
    result = evaluate(links, ["LightGBM", "popularity"], n_partitions=1)
    assert list(result.failures) == ["LightGBM"]
    assert "pip install lightgbm" in result.failures["LightGBM"]


# ---------------------------------------------------------------- the same however it is asked


@pytest.mark.parametrize("model", PEERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("by", ["rows", "columns", "both"])
def test_scores_of_an_entity_do_not_depend_on_the_others_that_are_asked_for(links, model, by):
    split = next(splits(links, by, 1, 0.3, 0))
    model.fit(split.train)
    together = split.predict(model)
    for i in range(2 if by != "columns" else 0):
        one = {"row_similarity": split.similarity[0]["similarity"][[i]]}
        if by == "both":
            one["column_similarity"] = split.similarity[1]["similarity"]
        np.testing.assert_allclose(model.predict(**one), together[[i]], atol=1e-9)
    if by == "columns":
        one = model.predict(column_similarity=split.similarity[1]["similarity"][[1]])
        np.testing.assert_allclose(one, together[:, [1]], atol=1e-9)
    best = model.recommend(k=2)
    assert np.isfinite(best["score"]).all()


@pytest.mark.parametrize("model", PEERS, ids=lambda m: type(m).__name__)
def test_a_model_forgets_the_data_that_it_was_fitted_to_before(links, grades, model):
    first = model.fit(links).predict()
    model.fit(grades)
    np.testing.assert_array_equal(model.fit(links).predict(), first)


# ---------------------------------------------------------------- odd data


def odd_data(rng):
    A, B = rng.standard_normal((12, 30)), rng.standard_normal((9, 3))
    Y = (rng.random((12, 9)) < 0.3).astype(float)
    Y[0, 0] = 1.0
    yield "one row", Dyads(rng.standard_normal((1, 9)), A[:1], B)
    yield "one column", Dyads(Y[:, :1], A, B[:1])
    yield "constant scores", Dyads(np.full((12, 9), 3.0), A, B)
    yield "no association", Dyads(np.zeros((12, 9)), A, B)
    yield "constant features", Dyads(Y, np.ones((12, 2)), B)
    yield "nothing but scores", Dyads(Y)
    yield "sparse", Dyads(sparse.csr_array(Y), sparse.csr_array(np.eye(12)), B)
    yield "few known", Dyads(Y, A, B, observed=Y > 0)
    yield "a table and a similarity", Dyads(Y, A, column_similarity=np.eye(9))


@pytest.mark.parametrize("model", PEERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("name", [name for name, _ in odd_data(np.random.default_rng(0))])
def test_odd_data_has_scores(rng, model, name):
    dyads = dict(odd_data(rng))[name]
    if isinstance(model, BoostedTrees) and name == "nothing but scores":
        with pytest.raises(ValueError, match="LightGBM needs features or similarities"):
            model.fit(dyads)
        return
    scores = model.fit(dyads).predict()
    assert scores.shape == dyads.shape
    assert np.isfinite(scores).all()


# ---------------------------------------------------------------- in evaluate


def test_the_default_is_the_first_and_is_tuned_by_nobody(links):
    for by in BYS:
        methods = standard_methods(links, by=by)
        first, method = next(iter(methods.items()))
        assert first == METHOD_NAMES[0] == "default"
        assert method.grid is None
        assert isinstance(method.model, AssociationModel)
        assert method.model.get_params()["uses"] == (by,)
        assert method.model.head == "auto"


def test_peers_that_suit_the_data(links, grades, rng):
    assert set(standard_methods(links)) - {"LightGBM"} == {
        *("default", "Kronecker ridge", "Kronecker ridge + profiles", "two-step ridge", "WNN-GIP", "weighted ALS"),
        "popularity",
    }
    assert "Kronecker ridge + profiles" not in standard_methods(links, by="both")  # where nobody has a profile
    assert not {"two-step ridge", "WNN-GIP"} & set(standard_methods(grades))
    many = Dyads(sparse.csr_array((3001, 5)), rng.standard_normal((3001, 2)), rng.standard_normal((5, 2)))
    assert not {"Kronecker ridge", "two-step ridge", "WNN-GIP", "weighted ALS"} & set(standard_methods(many))
    assert "weighted ALS" in standard_methods(many, by="pairs")
    assert "LightGBM" not in standard_methods(Dyads(links.Y))


@pytest.mark.parametrize("by", BYS)
def test_all_peers_of_similarities_run(links, grades, by):
    for dyads in (links, grades):
        names = [name for name in standard_methods(dyads, by=by) if name != "default"]
        result = evaluate(dyads, names, by=by, n_partitions=1, test_size=0.3, tune="once", at=[3])
        assert result.failures == {}


def test_peers_beat_popularity(rng):
    S, T = similarity(rng, 60), similarity(rng, 50)
    Y = S @ rng.standard_normal((60, 50)) @ T
    dyads = Dyads((np.quantile(Y, 0.9) < Y).astype(float), row_similarity=S, column_similarity=T)
    names = ["popularity", "Kronecker ridge", "two-step ridge", "WNN-GIP", "weighted ALS"]
    table = evaluate(dyads, names, n_partitions=2, tune="once", at=[5]).table.set_index("method")
    assert (table["average precision"][1:] > table["average precision"]["popularity"] + 0.05).all()

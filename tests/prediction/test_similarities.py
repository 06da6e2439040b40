"""Similarities in the queries of models: new entities by features, by similarities to the fitted ones, or by both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import IMC, JDR, AssociationModel, Dyads, KernelRegression, Popularity, load
from jointdr.datasets import kernel_features
from jointdr.evaluation import Split, evaluate, splits, standard_methods
from jointdr.prediction import Head, Recommender, ScoreBlock, as_dyads, score_split, tune_model
from jointdr.runtime import dense

ROWS, COLUMNS = [f"r{i}" for i in range(12)], [f"c{j}" for j in range(9)]


@dataclass(frozen=True)
class Smooth(Head):
    """Scores W_a Y W_bᵀ, with the weights of rows and columns as their descriptions."""

    rows: np.ndarray
    columns: np.ndarray
    Y: np.ndarray

    def scorer(self, rows, columns, max_bytes, count=False):
        (a,), (b,) = (s.take((known,), slice(0, s.count)) for s, known in ((rows, self.rows), (columns, self.columns)))
        return lambda at: ScoreBlock(a[at] @ self.Y @ b.T)


class Smoother(Recommender):
    """A model that compares entities by all that they are described by: a sum of similarities and inner products."""

    _takes_similarity = True

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, Y, A=None, B=None, observed=None):
        dyads = as_dyads(Y, A, B, observed)
        self.tables_ = (dyads.A, dyads.B)
        weights = [self._weights(k, self.tables_[k], dyads.similarities[k]) for k in (0, 1)]
        self._keep(dyads, Smooth(*weights, dense(dyads.Y)))
        return self

    def _weights(self, k, X, similarity):
        parts = [(i + 1.0) * dense(similarity[name]) for i, name in enumerate(sorted(similarity))]
        return np.tanh(self.power * sum([X @ self.tables_[k].T, *parts]))

    def _describe(self, k, new):
        return (self._weights(k, new.X, new.similarity),)

    def _points(self, k):
        return ((self._head.rows, self._head.columns)[k],)

    def _compare(self, k, one):
        (points,) = self._points(k)
        z = one.take((points,), slice(0, 1))[0]
        distance = np.linalg.norm(points - z, axis=1)
        return distance, np.exp(-distance)


def similarity(rng, m):
    X = rng.standard_normal((m, 3))
    return X @ X.T / 3


@pytest.fixture
def dyads(rng):
    """Rows with features and two similarities, columns with one similarity alone."""
    Y = (rng.random((12, 9)) < 0.4).astype(float)
    rows = {"chem": similarity(rng, 12), "go": similarity(rng, 12)}
    return Dyads(
        Y,
        rng.standard_normal((12, 2)),
        None,
        None,
        ROWS,
        COLUMNS,
        row_similarity=rows,
        column_similarity=sparse.csr_array(similarity(rng, 9)),
    )


@pytest.fixture
def split(dyads):
    return Split.hold_out(dyads, rows=[1, 4, 10], columns=[0, 5])


@pytest.fixture
def model(split):
    return Smoother().fit(split.train)


def expected(split, dyads):
    """By the definition, from the whole matrices."""
    (i, j), (p, q) = (
        ([ROWS.index(x) for x in part.row_ids], [COLUMNS.index(x) for x in part.column_ids])
        for part in (split.train, split.test)
    )
    S = dyads.similarities[0]
    W_a = np.tanh(dyads.A[p] @ dyads.A[i].T + S["chem"][np.ix_(p, i)] + 2 * S["go"][np.ix_(p, i)])
    W_b = np.tanh(dyads.similarities[1]["similarity"].toarray()[np.ix_(q, j)])
    return W_a @ split.train.Y @ W_b.T


def frames(split):
    """The new entities as DataFrames, in other orders than the fitted ones."""
    rng = np.random.default_rng(1)
    rows, columns = split.train.row_ids, split.train.column_ids
    order, other = rng.permutation(len(rows)), rng.permutation(len(columns))
    A = pd.DataFrame(split.test.A, index=split.test.row_ids)
    similar = {
        "go": pd.DataFrame(split.similarity[0]["go"], split.test.row_ids, rows).iloc[::-1, order],
        "chem": pd.DataFrame(split.similarity[0]["chem"], split.test.row_ids, rows),
    }
    column = pd.DataFrame(split.similarity[1]["similarity"].toarray(), split.test.column_ids, columns).iloc[:, other]
    return A, {"row_similarity": similar, "column_similarity": column}


# ---------------------------------------------------------------- scores


def test_new_entities_are_scored_by_the_definition(model, split, dyads):
    assert model.similarity_names_ == (("chem", "go"), ("similarity",))
    scores = expected(split, dyads)
    np.testing.assert_allclose(split.predict(model), scores, atol=1e-12)
    A, similarities = frames(split)
    np.testing.assert_allclose(model.predict(A, **similarities), scores, atol=1e-12)
    column = split.similarity[1]["similarity"]  # alone, where the fit had one
    given = {"row_similarity": split.similarity[0]}
    for one in (column, column.toarray(), {"similarity": column}):
        np.testing.assert_allclose(model.predict(split.test.A, column_similarity=one, **given), scores, atol=1e-12)


def test_a_matrix_without_labels_is_in_the_order_of_the_table(model, split, dyads):
    A, similarities = frames(split)
    mixed = {"chem": split.similarity[0]["chem"], "go": similarities["row_similarity"]["go"]}  # in another order
    found = model.predict(A, row_similarity=mixed, column_similarity=split.similarity[1])
    np.testing.assert_allclose(found, expected(split, dyads), atol=1e-12)


def test_some_of_the_new_entities(model, split, dyads):
    A, similarities = frames(split)
    found = model.predict(A, **similarities, rows=["r10", "r1"], columns=["c5"])
    np.testing.assert_allclose(found, expected(split, dyads)[[2, 0]][:, [1]], atol=1e-12)


def test_known_and_new_sides_mix(model, split):
    _, similarities = frames(split)
    whole = np.tanh(split.train.A @ split.train.A.T + sum_of(split.train.similarities[0]))
    found = model.predict(column_similarity=similarities["column_similarity"])
    W_b = np.tanh(split.similarity[1]["similarity"].toarray())
    np.testing.assert_allclose(found, whole @ split.train.Y @ W_b.T, atol=1e-12)


def sum_of(named):
    return named["chem"] + 2 * named["go"]


@pytest.mark.parametrize("by", ["rows", "columns", "pairs"])
def test_recommendations_are_the_best_scores(model, split, dyads, by):
    A, similarities = frames(split)
    scores = pd.DataFrame(expected(split, dyads), split.test.row_ids, split.test.column_ids)
    found = model.recommend(A, **similarities, by=by, k=1)
    if by == "rows":
        assert dict(zip(found["row"], found["column"], strict=True)) == scores.idxmax(axis=1).to_dict()
    elif by == "columns":
        assert dict(zip(found["column"], found["row"], strict=True)) == scores.idxmax(axis=0).to_dict()
    else:
        assert found["score"].tolist() == pytest.approx([scores.to_numpy().max()])
    known = model.recommend(column_similarity=similarities["column_similarity"], rows=["r2"], k=5)
    assert known["row"].unique().tolist() == ["r2"]
    assert sorted(known["column"]) == ["c0", "c5"]


def test_listed_pairs_of_every_kind(model, split):
    A, similarities = frames(split)
    pairs = [("r1", "c5"), ("r0", "c0"), ("r10", "c3"), ("r2", "c2"), ("r1", "c5")]
    found = model.predict_pairs(pairs, A, **similarities)
    one_side = {name: {name: similarities[name]} for name in similarities}
    for (row, column), score in zip(pairs, found["score"], strict=True):
        options = {"rows": [row], "columns": [column]}
        new_row = one_side["row_similarity"] if row in ("r1", "r10") else {}
        new_column = one_side["column_similarity"] if column in ("c0", "c5") else {}
        alone = model.predict(A if new_row else None, **new_row, **new_column, **options)
        np.testing.assert_allclose(alone, [[score]], atol=1e-12)
    everything = model.predict_pairs(None, A, **similarities)
    np.testing.assert_allclose(everything["score"], model.predict(A, **similarities).ravel())


def test_similar_entities_of_a_new_one(model, split):
    A, similarities = frames(split)
    column = similarities["column_similarity"]
    found = model.similar(column_similarity=column.iloc[[1]], k=3)
    known = np.tanh(split.train.similarities[1]["similarity"].toarray())
    distance = np.linalg.norm(known - np.tanh(split.similarity[1]["similarity"].toarray()[[1]]), axis=1)
    assert found["column"].tolist() == split.train.column_ids[np.argsort(distance)[:3]].tolist()
    one = {name: S.loc[["r4"]] for name, S in similarities["row_similarity"].items()}
    assert len(model.similar(A.loc[["r4"]], row_similarity=one)) == 9
    with pytest.raises(TypeError, match="either row= or column="):
        model.similar("r0", column_similarity=column.iloc[[1]])
    with pytest.raises(ValueError, match="one 'b' at a time, but got 2"):
        model.similar(column_similarity=column)
    with pytest.raises(TypeError, match="column_similarity is for a new 'b', but 'c1' was fitted"):
        model.similar(column="c1", column_similarity=column.iloc[[1]])


def test_held_out_scores_are_rated(model, split):
    given = dict(zip(("row_similarity", "column_similarity"), split.similarity, strict=True))
    expected = score_split(split.predict(model), split, True)
    assert model.score(split.test, **given) == pytest.approx(expected)
    _, similarities = frames(split)
    assert model.score(split.test, **similarities) == pytest.approx(expected)  # in the order of the held-out ids
    with pytest.raises(ValueError, match="fitted with similarities of 'a', 'chem', 'go'"):
        model.score(split.test)
    assert np.isfinite(model.score(split.train))  # whose ids are known


# ---------------------------------------------------------------- a law


def test_the_order_of_entities_does_not_matter(dyads, split, rng):
    scores = pd.DataFrame(split.predict(Smoother().fit(split.train)), split.test.row_ids, split.test.column_ids)
    for _ in range(3):
        i, j = rng.permutation(12), rng.permutation(9)
        turned = dyads.rows(i).columns(j)
        held = {
            "rows": np.flatnonzero(np.isin(turned.row_ids, split.test.row_ids)),
            "columns": np.flatnonzero(np.isin(turned.column_ids, split.test.column_ids)),
        }
        again = Split.hold_out(turned, **held)
        model = Smoother().fit(again.train)
        found = pd.DataFrame(again.predict(model), again.test.row_ids, again.test.column_ids)
        pd.testing.assert_frame_equal(found.loc[scores.index, scores.columns], scores)
        A, similarities = frames(split)  # of the fitted entities in the former order
        pd.testing.assert_frame_equal(
            pd.DataFrame(model.predict(A, **similarities), scores.index, scores.columns), scores
        )


# ---------------------------------------------------------------- bad queries


def bad_queries(split):
    A, similarities = split.test.A, split.similarity[0]
    column = split.similarity[1]["similarity"]
    labelled = pd.DataFrame(similarities["go"], split.test.row_ids, split.train.row_ids)
    return {
        "no similarities": ((A,), {}, "was fitted with similarities of 'a', 'chem', 'go': give"),
        "one is missing": ((A,), {"row_similarity": {"go": similarities["go"]}}, r"row_similarity=\{'chem'"),
        "one alone of two": ((A,), {"row_similarity": similarities["go"]}, "is one matrix, but .* 'chem', 'go'"),
        "one too many": (
            (A,),
            {"row_similarity": {**similarities, "x": column}},
            "has the similarity 'x', but those of the fit are 'chem', 'go'",
        ),
        "no features": ((), {"row_similarity": similarities}, "fitted with 2 features of 'a': give .* A_new"),
        "features too many": ((None, np.ones((2, 3))), {"column_similarity": column}, "no features of 'b', but got 3"),
        "other width": ((), {"column_similarity": np.ones((2, 9))}, r"shape \(2, 9\), but 7 entities were fitted"),
        "other height": ((A[:2],), {"row_similarity": similarities}, "A_new has 2 rows, but row_similarity has 3"),
        "heights": (
            (A,),
            {"row_similarity": {"chem": similarities["chem"], "go": similarities["go"][:2]}},
            "row_similarity 'go' has 2 rows, but there are 3 new entities",
        ),
        "other ids": (
            (A,),
            {"row_similarity": {**similarities, "go": labelled.rename(columns={"r0": "x"})}},
            r"row_similarity 'go' has other ids in its columns than the fitted entities: it lacks \['r0'\]",
        ),
        "other new ids": (
            (pd.DataFrame(A, index=list("xyz")),),
            {"row_similarity": {**similarities, "go": labelled}},
            "row_similarity '.*' has other ids in its index than the new entities",
        ),
        "NaN": ((), {"column_similarity": np.full((2, 7), np.nan)}, "column_similarity contains NaN"),
        "nothing": ((), {"column_similarity": {}}, "column_similarity is empty"),
        "a vector": ((), {"column_similarity": np.ones(7)}, "column_similarity must be a matrix"),
    }


def test_bad_queries(model, split):
    for new, similarities, message in bad_queries(split).values():
        for ask in (model.predict, model.recommend, partial(model.predict_pairs, None)):
            with pytest.raises(ValueError, match=message):
                ask(*new, **similarities)


def test_a_model_without_similarities_refuses_them(rng):
    model = Popularity().fit(rng.random((4, 3)), np.ones((4, 1)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="row_similarity has the similarity 'x', but those of the fit are none"):
        model.predict(np.ones((2, 1)), row_similarity={"x": np.ones((2, 4))})
    with pytest.raises(ValueError, match="row_similarity is one matrix, but those of the fit are none"):
        model.predict(np.ones((2, 1)), row_similarity=np.ones((2, 4)))


# ---------------------------------------------------------------- models that compare features, or nothing


def test_popularity_leaves_similarities_out_of_account(dyads, split):
    model = Popularity().fit(split.train)
    plain = Popularity().fit(split.train.Y, np.zeros((9, 1)), np.zeros((7, 1)))
    np.testing.assert_array_equal(split.predict(model), plain.predict(np.zeros((3, 1)), np.zeros((2, 1))))
    np.testing.assert_array_equal(model.predict(split.test.A), plain.predict(np.zeros((3, 1))))
    columns = plain.predict(B_new=np.zeros((2, 1)))
    np.testing.assert_array_equal(model.predict(column_similarity=split.similarity[1]), columns)
    np.testing.assert_array_equal(model.predict(B_new=np.zeros((2, 0))), columns)
    bare = Popularity().fit(dyads.Y)
    assert bare.n_features_per_view_ == (0, 0)
    np.testing.assert_allclose(bare.predict()[0], dyads.Y.mean(axis=0))


@pytest.mark.parametrize(
    "model",
    [
        AssociationModel(head="kernel"),
        AssociationModel(None, head="bilinear"),
        AssociationModel(None, head="kernel_ridge", bandwidth=0.5),
        IMC(1),
        JDR(1),
        KernelRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_features_ask_for_them(model, dyads):
    with pytest.raises(ValueError, match=r"needs features of the columns, 'b', but .*\.kernel_features\(S\)"):
        model.fit(dyads)
    turned = Dyads(dyads.Y.T, None, dyads.A)
    with pytest.raises(ValueError, match=r"needs features of the rows, 'a'"):
        model.fit(turned)


def test_tuning_asks_for_features_too(dyads):
    with pytest.raises(ValueError, match="needs features of the columns"):
        AssociationModel(None, head="kernel").tune(dyads, grid={"bandwidth": [0.3, 0.5]})
    with pytest.raises(ValueError, match="needs features of the columns"):
        AssociationModel(head="kernel").tune(dyads)


@pytest.mark.parametrize(
    "model", [AssociationModel(JDR(1), head="kernel", bandwidth=0.5), IMC(1)], ids=["kernel", "imc"]
)
def test_models_of_features_leave_similarities_out_of_account(model, dyads, rng):
    B = rng.standard_normal((9, 2))
    both = Dyads(dyads.Y, dyads.A, B, row_similarity=dyads.similarities[0])
    split = Split.hold_out(both, rows=[0, 3])
    fitted = model.fit(split.train)
    scores = fitted.predict(split.test.A)  # which need not be given
    np.testing.assert_array_equal(split.predict(fitted), scores)
    np.testing.assert_array_equal(model.fit(split.train.Y, split.train.A, B).predict(split.test.A), scores)


def test_features_of_similarities_serve_every_model(dyads):
    B = kernel_features(np.exp(dyads.similarities[1]["similarity"].toarray()))
    model = AssociationModel(None, head="kernel", bandwidth=0.5).fit(dyads.Y, dyads.A, B)
    assert np.isfinite(model.predict()).all()


def test_an_explanation_needs_both_entities(dyads, rng):
    model = AssociationModel(None, head="kernel", bandwidth=0.5).fit(dyads.Y, dyads.A, rng.standard_normal((9, 2)))
    with pytest.raises(TypeError, match="explain needs a 'b'"):
        model.explain("0")


# ---------------------------------------------------------------- comparisons


@pytest.mark.parametrize("by", ["rows", "columns", "both", "pairs"])
def test_tuning_and_evaluation_ask_with_similarities(by, rng):
    Y = (rng.random((30, 20)) < 0.4).astype(float)
    options = {"row_similarity": {"a": similarity(rng, 30)}, "column_similarity": similarity(rng, 20)}
    dyads = Dyads(Y, None, rng.standard_normal((20, 2)), **options)
    grid = {"power": [0.1, 1.0]}
    found = tune_model(Smoother(), dyads, grid, by=by, n_splits=2, test_size=0.3, random_state=0)
    parts = list(splits(dyads, by, 2, 0.3, 0))
    for power, score in zip(found.table["power"], found.table["score"], strict=True):
        scores = [score_split(part.predict(Smoother(power).fit(part.train)), part, True, "auto") for part in parts]
        assert score == pytest.approx(np.mean(scores))
    result = evaluate(
        dyads, {"smooth": Smoother(), "popularity": Popularity()}, by=by, n_partitions=2, test_size=0.3, at=[2]
    )
    assert all(outcome.failure is None for outcome in result.outcomes)


def test_given_partitions_have_similarities_too(dyads):
    held = [np.array([0, 3, 7]), np.array([1, 2, 5])]
    result = evaluate(dyads, {"smooth": Smoother()}, held_out=held, at=[2])
    assert [outcome.failure for outcome in result.outcomes] == [None, None]


def test_methods_that_need_features_are_not_tried_by_default(dyads):
    tried = standard_methods(dyads)
    assert "popularity" in tried
    assert not {"JDR + KR", "JDR", "IMC", "no reduction", "bilinear ridge", "kernel ridge"} & set(tried)
    result = evaluate(dyads, ["popularity", "IMC"], n_partitions=1, at=[2])
    assert "needs features of the columns" in result.outcomes[1].failure


# ---------------------------------------------------------------- files


def test_names_of_similarities_are_saved(split, tmp_path):
    model = Popularity().fit(split.train)
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert loaded.similarity_names_ == (("chem", "go"), ("similarity",))
    assert loaded.n_features_per_view_ == (2, 0)
    np.testing.assert_array_equal(split.predict(loaded), split.predict(model))


def test_files_without_such_names_have_none(split):
    header, arrays = Popularity().fit(split.train).to_arrays()
    del header["similarities"]
    assert Popularity.from_arrays(header, arrays).similarity_names_ == ((), ())


def test_the_name_of_scores_is_saved(tmp_path):
    pairs = pd.DataFrame({"drug": list("xxyyz"), "target": list("pqpqp"), "pkd": [5.1, 6.2, 7.3, 4.4, 6.0]})
    drugs = pd.DataFrame({"name": ["A one", "B two", "C three"], "w": [1.0, 2.0, 4.0]}, index=list("xyz"))
    model = Popularity().fit(Dyads.from_tables(pairs, drugs, pd.DataFrame({"v": [1.0, 2.0]}, index=list("pq"))))
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert (model.score_name_, loaded.score_name_) == ("pkd", "pkd")
    assert loaded.labels_[0].tolist() == ["A one", "B two", "C three"]
    assert Popularity().fit(Dyads(np.eye(3))).score_name_ is None

"""The methods of every recommender: by ids of rows and columns, for pairs, for similar entities, and saved ones."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import jointdr
from jointdr import IHT, IMC, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS, AssociationModel, Dyads, Popularity, load
from jointdr.apps.cli import main
from jointdr.evaluation import splits
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.search.criterion import score_split

pytestmark = pytest.mark.filterwarnings("ignore::jointdr.TruncationWarning")

MODELS = {
    "kernel": AssociationModel(JDR(2), head="kernel", bandwidth=(0.3, 0.4)),
    "columns by themselves": AssociationModel(JDR(2), head="kernel", bandwidth=(0.3, 0.0)),
    "mixed": AssociationModel(JDR(2), head="kernel", kernel="cosine", bandwidth=0.5, mix=(0.3, 0.6), borrow=0.6),
    "nearest": AssociationModel(JDR(2), head="kernel", bandwidth=0.4, nearest=(9, 7)),
    "bilinear": AssociationModel(JDR(2), head="bilinear"),
    "kernel ridge": AssociationModel(JDR(2), head="kernel_ridge", bandwidth=0.5),
    "raw": AssociationModel(None, head="kernel", bandwidth=0.5),
    "imc": IMC(2),
    "popularity": Popularity(),
}
ROWS, COLUMNS = [f"r{i}" for i in range(60)], [f"c{j}" for j in range(25)]


@pytest.fixture(params=["grades", "links", "observed"])
def dyads(request, rng):
    A = pd.DataFrame(rng.standard_normal((60, 6)), index=ROWS)
    B = pd.DataFrame(rng.standard_normal((25, 4)), index=COLUMNS)
    Y = A.to_numpy()[:, :2] @ B.to_numpy()[:, :2].T + 0.3 * rng.standard_normal((60, 25))
    names = ("disease", "gene")
    if request.param == "grades":
        return Dyads(Y, A, B, names=names)
    if request.param == "links":
        return Dyads(sparse.csr_array((Y > 1.5).astype(float)), A, B, names=names)
    return Dyads(Y, A, B, observed=rng.random(Y.shape) < 0.3, names=names)


@pytest.fixture(params=MODELS)
def model(request, dyads):
    return clone(MODELS[request.param]).fit(dyads)


@pytest.fixture
def new(rng):
    return (
        pd.DataFrame(rng.standard_normal((5, 6)), index=["n0", "n1", "r3", "n3", "n4"]),
        pd.DataFrame(rng.standard_normal((3, 4)), index=["m0", "c2", "m2"]),
    )


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


class TestSomeRowsAndColumns:
    def test_predictions_are_those_of_all(self, model, new):
        rows, columns = ["r40", "r2", "r40"], ["c7", "c1"]
        i, j = [40, 2, 40], [7, 1]
        same(model.predict(rows=rows), model.predict()[i])
        same(model.predict(columns=columns), model.predict()[:, j])
        same(model.predict(rows=rows, columns=columns), model.predict()[i][:, j])
        same(model.predict(new[0], rows=["n4", "r3"]), model.predict(new[0])[[4, 2]])
        same(model.predict(new[0], new[1], columns=["m2"]), model.predict(*new)[:, [2]])

    def test_neighbors_are_those_of_all(self, dyads, new):
        for name in ("kernel", "nearest", "columns by themselves", "mixed"):
            model = clone(MODELS[name]).fit(dyads)
            same(model.neighbors(rows=["r9"], columns=["c3", "c8"]), model.neighbors()[[9]][:, [3, 8]])
            same(model.neighbors(new[0], columns=["c3"]), model.neighbors(new[0])[:, [3]])

    def test_precomputed_weights_change_nothing(self, model):
        if not isinstance(model, AssociationModel):
            pytest.skip("has no weights")
        expected, best = model.predict(), model.recommend(k=4)
        size = len(pickle.dumps(model))
        model.precompute()
        same(model.predict(), expected)
        same(model.predict(rows=["r5"]), expected[[5]])
        same(model.predict(columns=["c5"]), expected[:, [5]])
        assert model.recommend(k=4)["column"].tolist() == best["column"].tolist()
        assert len(pickle.dumps(model)) < size + 8 * 60 * 60

    def test_unknown_ids(self, model, new):
        for call in (model.predict, model.recommend):
            with pytest.raises(ValueError, match=r"no 'disease' with the id 'x'; ids are, for example, \['r0'"):
                call(rows=["r1", "x"])
            with pytest.raises(ValueError, match="no 'gene' with the id 'r1'"):
                call(columns=["r1"])
            with pytest.raises(ValueError, match=r"no 'disease' with the id 'r1'; ids are, for example, \['n0'"):
                call(new[0], rows=["r1"])
            with pytest.raises(TypeError, match=r"given as a list, \['r1'\]"):
                call(rows="r1")
            with pytest.raises(ValueError, match="No ids of 'gene'"):
                call(columns=[])


def ranked(scores, known, k):
    """Columns of each row, best first, without the known ones."""
    S = np.where(known, -np.inf, scores)
    order = np.argsort(-np.round(S / np.abs(scores).max(), 10), axis=1, kind="stable")
    return [[int(j) for j in line[:k] if S[i, j] > -np.inf] for i, line in enumerate(order)]


class TestRecommend:
    def known(self, model):
        return model.known_pairs_.toarray() > 0

    def test_by_rows_is_as_before(self, model, new):
        best = model.recommend(k=4)
        assert list(best.columns)[:4] == ["row", "column", "score", "rank"]
        pd.testing.assert_frame_equal(best, model.recommend(None, k=4, by="rows"))
        some = model.recommend(rows=["r8", "r2", "r8"], k=4)
        expected = pd.concat([best[best["row"] == "r8"], best[best["row"] == "r2"]]).reset_index(drop=True)
        pd.testing.assert_frame_equal(some, expected, rtol=1e-9)
        pd.testing.assert_frame_equal(
            model.recommend(new[0], rows=["r3"], k=4),
            model.recommend(new[0], k=4).query("row == 'r3'").reset_index(drop=True),
            rtol=1e-9,
        )

    def test_some_columns(self, model):
        j = [20, 3, 11, 4]
        best = model.recommend(columns=[f"c{i}" for i in j], k=2)
        expected = ranked(model.predict()[:, j], self.known(model)[:, j], 2)
        for i, part in enumerate(expected):
            assert best.loc[best["row"] == f"r{i}", "column"].tolist() == [f"c{j[at]}" for at in part]

    def test_by_columns(self, model, new):
        best = model.recommend(by="columns", k=3)
        expected = ranked(model.predict().T, self.known(model).T, 3)
        assert list(best.columns)[:4] == ["row", "column", "score", "rank"]
        for j, part in enumerate(expected):
            found = best[best["column"] == f"c{j}"]
            assert found["row"].tolist() == [f"r{i}" for i in part]
            assert found["rank"].tolist() == list(range(1, len(part) + 1))
            same(found["score"], model.predict()[part, j])
        some = model.recommend(by="columns", columns=["c9"], k=3)
        pd.testing.assert_frame_equal(some, best[best["column"] == "c9"].reset_index(drop=True), rtol=1e-9)
        of_new = model.recommend(None, new[1], by="columns", k=60)
        assert (of_new["column"] == "m0").sum() == 60
        assert (of_new["column"] == "c2").sum() == 60 - self.known(model)[:, 2].sum()  # recognized by its id

    def test_pairs(self, model):
        scores, known = model.predict(), self.known(model)
        best = model.recommend(by="pairs", k=7)
        same(best["score"], np.sort(scores[~known])[::-1][: len(best)])
        assert best["rank"].tolist() == list(range(1, len(best) + 1))
        assert not known[best["row"].str[1:].astype(int), best["column"].str[1:].astype(int)].any()
        everything = model.recommend(by="pairs", k=10_000, exclude_known=False)
        assert len(everything) == scores.size

    def test_blocks_do_not_matter(self, dyads):
        one, other = (clone(MODELS["kernel"]).set_params(max_bytes=size).fit(dyads) for size in (5e8, 2e4))
        for by in ("rows", "columns", "pairs"):
            first, second = one.recommend(by=by, k=5), other.recommend(by=by, k=5)
            pd.testing.assert_frame_equal(first, second, rtol=1e-8)

    @pytest.mark.parametrize("name", ["kernel", "nearest"])
    @pytest.mark.parametrize("by", ["rows", "columns", "pairs"])
    def test_pairs_with_few_neighbors_are_left_out(self, dyads, name, by):
        model = clone(MODELS[name]).fit(dyads)
        whole = model.recommend(by=by, k=2000, exclude_known=False)
        least = float(whole["neighbors"].median())
        kept = whole[whole["neighbors"] >= least]
        expected = kept.head(4) if by == "pairs" else kept.groupby(by[:-1], sort=False).head(4)
        found = model.recommend(by=by, k=4, exclude_known=False, min_neighbors=least)
        pd.testing.assert_frame_equal(found[["row", "column"]], expected[["row", "column"]].reset_index(drop=True))
        if by == "pairs":
            assert found["rank"].tolist() == [1, 2, 3, 4]

    def test_neighbors_have_to_be_counted(self, dyads):
        with pytest.raises(ValueError, match="min_neighbors=3 is for models that count the known pairs"):
            clone(MODELS["bilinear"]).fit(dyads).recommend(min_neighbors=3)
        with pytest.raises(ValueError, match="min_neighbors=-1 must be a number >= 0"):
            clone(MODELS["kernel"]).fit(dyads).recommend(min_neighbors=-1)

    def test_neighbors_are_noted(self, dyads):
        model = clone(MODELS["kernel"]).fit(dyads)
        for by in ("rows", "columns", "pairs"):
            best = model.recommend(by=by, k=3)
            at = best["row"].str[1:].astype(int), best["column"].str[1:].astype(int)
            same(best["neighbors"], model.neighbors()[at])

    def test_bad_calls(self, model):
        with pytest.raises(ValueError, match="by='sides' is not understood"):
            model.recommend(by="sides")
        with pytest.raises(ValueError, match="k=0"):
            model.recommend(rows=["r1"], k=0)


def test_rows_of_a_truncated_model_are_not_scored_with_all_columns(rng, tmp_path, monkeypatch, capsys):
    """Neither in the library nor on the command line; new rows and known ones go the same way."""
    Y = sparse.csr_array((rng.random((60, 40)) < 0.1).astype(float))
    A, B = rng.standard_normal((60, 4)), rng.standard_normal((40, 3))
    model = AssociationModel(JDR(2), head="kernel", bandwidth=0.4, nearest=5).fit(Y, A, B)
    expected = model.recommend(k=3)
    model.save(tmp_path / "model.npz")

    def refuse(*_, **__):
        raise AssertionError("a dense row of scores")

    for name in ("scorer", "smooth", "average"):
        monkeypatch.setattr(GridRegression, name, refuse)
    found = model.recommend(rows=["4", "7"], k=3)
    pd.testing.assert_frame_equal(found, expected[expected["row"].isin(["4", "7"])].reset_index(drop=True))
    model.recommend(A[:2] + 0.1, k=3)
    model.recommend(by="pairs", k=3)
    assert main(["recommend", str(tmp_path / "model.npz"), "--row", "4", "-k", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


class TestPairs:
    def test_listed_pairs_of_every_kind(self, model, new):
        wanted = [("r40", "c3"), ("n1", "c3"), ("r40", "m2"), ("n4", "m0"), ("r3", "c2"), ("r40", "c3")]
        found = model.predict_pairs(wanted, *new)
        assert list(zip(found["row"], found["column"], strict=True)) == wanted
        of = {(a, b): model.predict(new[0] if a else None, new[1] if b else None) for a in (0, 1) for b in (0, 1)}
        at = [(0, 0, 40, 3), (1, 0, 1, 3), (0, 1, 40, 2), (1, 1, 4, 0), (1, 1, 2, 1), (0, 0, 40, 3)]
        same(found["score"], [of[a, b][i, j] for a, b, i, j in at])
        frame = pd.DataFrame(wanted, columns=["x", "y"])
        pd.testing.assert_frame_equal(model.predict_pairs(frame.assign(z=1), *new), found)
        pd.testing.assert_frame_equal(model.predict_pairs(frame.to_numpy(), *new), found)

    def test_pairs_of_polars(self, model):
        pl = pytest.importorskip("polars")
        wanted = {"x": ["r40", "r3"], "y": ["c3", "c2"], "z": [1, 2]}
        found = model.predict_pairs(pl.DataFrame(wanted))
        pd.testing.assert_frame_equal(found, model.predict_pairs(pd.DataFrame(wanted)))

    def test_all_pairs(self, model, new):
        found = model.predict_pairs(None)
        same(found["score"].to_numpy().reshape(60, 25), model.predict())
        assert found["row"].tolist()[:26] == ["r0"] * 25 + ["r1"]
        assert len(model.predict_pairs(None, new[0], new[1])) == 15

    def test_kernel_heads_note_neighbors(self, dyads, new):
        model = clone(MODELS["kernel"]).fit(dyads)
        found = model.predict_pairs([("r4", "c5"), ("n1", "c2")], new[0])
        same(found["neighbors"], [model.neighbors()[4, 5], model.neighbors(new[0])[1, 2]])
        assert list(clone(MODELS["bilinear"]).fit(dyads).predict_pairs([("r4", "c5")]).columns)[-1] == "score"

    def test_bad_pairs(self, model):
        with pytest.raises(ValueError, match="row 'x' was not fitted and is in no table of new rows"):
            model.predict_pairs([("r1", "c1"), ("x", "c1")])
        with pytest.raises(ValueError, match="column 'r1' was not fitted"):
            model.predict_pairs([("r1", "r1")])
        with pytest.raises(ValueError, match="first two columns are ids"):
            model.predict_pairs([("r1", "c1", "c2")])
        with pytest.raises(ValueError, match="needs two columns"):
            model.predict_pairs(pd.DataFrame({"x": ["r1"]}))


class TestSimilar:
    def test_nearest_first_without_itself(self, model):
        for side, name, count in (("row", "r7", 60), ("column", "c7", 25)):
            found = model.similar(**{side: name}, k=100)
            assert list(found.columns) == [side, "similarity", "distance"]
            assert name not in found[side].tolist()
            assert len(found) == count - 1
            assert (np.diff(found["distance"]) >= 0).all()
            assert (np.diff(found["similarity"]) <= 1e-12).all() or model.get_params().get("mix", 0) != 0
            assert len(model.similar(**{side: name}, k=3)) == 3

    def test_a_copy_is_the_nearest(self, model, dyads):
        if isinstance(model, Popularity):
            pytest.skip("compares mean scores")
        found = model.similar(row=dyads.A[[9]], k=2)
        assert found["row"][0] == "r9"
        assert found["similarity"][0] == pytest.approx(1.0)
        assert found["distance"][0] == pytest.approx(0.0, abs=1e-6)

    def test_by_definition(self, dyads):
        model = clone(MODELS["raw"]).fit(dyads)
        Z = model.coordinates()[0]
        D = np.linalg.norm(Z - Z[4], axis=1)
        order = np.argsort(D)[1:6]
        found = model.similar(row="r4", k=5)
        assert found["row"].tolist() == [f"r{i}" for i in order]
        same(found["distance"], D[order])
        same(found["similarity"], np.exp(-(D[order] ** 2) / (2 * 0.5**2)))
        imc = clone(MODELS["imc"]).fit(dyads)
        W = imc.transform(dyads)[1]
        cosine = W @ W[3] / (np.linalg.norm(W, axis=1) * np.linalg.norm(W[3]))
        same(imc.similar(column="c3", k=24)["similarity"], np.sort(np.delete(cosine, 3))[::-1])

    def test_bad_calls(self, model):
        for given in ({}, {"row": "r1", "column": "c1"}):
            with pytest.raises(TypeError, match="either row= or column="):
                model.similar(**given)
        with pytest.raises(ValueError, match="No 'gene' with the id 'r1' was fitted"):
            model.similar(column="r1")
        with pytest.raises(ValueError, match="k=0"):
            model.similar(row="r1", k=0)


class TestScore:
    @pytest.mark.parametrize("by", ["rows", "columns", "both", "pairs"])
    def test_it_is_recall_or_minus_the_root_mean_square_error(self, dyads, by):
        """Held-out entities and pairs are told from known ones by their ids and features."""
        split = next(splits(dyads, by, test_size=0.3, random_state=0))
        for name in ("kernel", "imc", "nearest"):
            model = clone(MODELS[name]).fit(split.train)
            expected = score_split(model.predict(*split.new), split, dyads.is_implicit)
            assert model.score(split.test) == pytest.approx(expected, rel=1e-9)

    def test_ids_alone_do_not_make_an_entity_known(self, rng):
        A, B = rng.standard_normal((80, 4)), rng.standard_normal((30, 3))
        Y = A[:, :2] @ B[:, :2].T
        model = AssociationModel(None, head="kernel", bandwidth=0.3).fit(Y[:40], A[:40], B)
        found = model.score(Y[40:], A[40:], B)  # with the ids "0" to "39" again
        assert found == pytest.approx(-np.sqrt(np.mean((model.predict(A[40:]) - Y[40:]) ** 2)))

    def test_better_models_score_higher(self, rng):
        A, B = rng.standard_normal((200, 4)), rng.standard_normal((60, 3))
        Y = (A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((200, 60)) > 1.5).astype(float)
        scores = [
            m.fit(Y[:150], A[:150], B).score(Y[150:], A[150:], B)
            for m in (AssociationModel(JDR(2), head="kernel", random_state=0), Popularity())
        ]
        assert 1 >= scores[0] > scores[1] + 0.1 > 0

    def test_bad_calls(self, model, dyads):
        with pytest.raises(ValueError, match=r"features of '.*', but got none"):
            model.score(dyads.Y)


def saved_models(rng):
    A, B = rng.standard_normal((80, 4)), rng.standard_normal((80, 3))
    y = A[:, 0] * B[:, 0] + A[:, 1] ** 2 + 0.1 * rng.standard_normal(80)
    dyads = Dyads(rng.random((80, 80)) * (rng.random((80, 80)) < 0.2), A, B)
    family = [method(1).fit((A, B), y) for method in (IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS)]
    return (A, B), [*family, *(clone(model).fit(dyads) for model in MODELS.values())]


@pytest.mark.filterwarnings("ignore")
def test_any_saved_model_is_loaded(rng, tmp_path):
    tables, models = saved_models(rng)
    for model in models:
        model.save(tmp_path / "model.npz")
        again = load(tmp_path / "model.npz")
        assert type(again) is type(model)
        calls = ("predict",) if hasattr(model, "recommend") else ("transform",)
        for call in calls:
            given = tables if call == "predict" else (tables,)
            for one, two in zip(getattr(model, call)(*given), getattr(again, call)(*given), strict=True):
                np.testing.assert_array_equal(one, two)


def test_a_file_is_read_once(rng, tmp_path, monkeypatch):
    _, models = saved_models(rng)
    models[-1].save(tmp_path / "model.npz")
    opened = []
    original = jointdr.runtime.modelfile.Archive.__init__
    monkeypatch.setattr(
        "jointdr.runtime.modelfile.Archive.__init__", lambda self, *args: opened.append(1) or original(self, *args)
    )
    load(tmp_path / "model.npz")
    assert len(opened) == 1


def test_other_files_are_refused(rng, tmp_path):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="not a jointdr file"):
        load(tmp_path / "x.npz")
    jointdr.runtime.write_model(tmp_path / "y.npz", "Oracle", {}, {"a": np.ones(3)})
    with pytest.raises(ValueError, match="holds a Oracle model, which is none of"):
        load(tmp_path / "y.npz")


def test_parameters_that_a_file_lacks_are_those_of_version_0_1(dyads, tmp_path):
    for name in ("kernel", "imc"):
        model = clone(MODELS[name]).fit(dyads)
        header, arrays = model.to_arrays()
        for lost in ("nearest", "adaptive", "tol"):
            header["params"].pop(lost, None)
        jointdr.runtime.write_model(tmp_path / "old.npz", type(model).__name__, header, arrays)
        again = load(tmp_path / "old.npz")
        np.testing.assert_array_equal(again.predict(), model.predict())
        assert again.get_params().get("nearest", "auto") == "auto"


def test_popularity_on_the_command_line(dyads, tmp_path, capsys):
    path = str(tmp_path / "model.npz")
    model = Popularity().fit(dyads)
    model.save(path)
    assert main(["info", path]) == 0
    assert "Popularity" in capsys.readouterr().out
    assert main(["recommend", path, "-k", "2", "-o", str(tmp_path / "best.csv")]) == 0
    found = pd.read_csv(tmp_path / "best.csv")
    assert found["gene"].tolist() == model.recommend(k=2)["column"].tolist()
    assert main(["predict", path, "-o", str(tmp_path / "all.csv")]) == 0
    same(pd.read_csv(tmp_path / "all.csv")["score"], model.predict().ravel())
    pytest.importorskip("jinja2")
    assert main(["report", path, "-o", str(tmp_path / "report.html")]) == 0
    assert "no coordinates" in (tmp_path / "report.html").read_text()
    capsys.readouterr()
    assert main(["explain", path, "r1", "c1"]) == 2
    assert "holds a Popularity model, which has no explanations" in capsys.readouterr().err

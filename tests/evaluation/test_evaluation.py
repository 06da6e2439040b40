"""The protocol: nothing that is predicted is fitted or tuned on, and the same numbers however the work is cut."""

from __future__ import annotations

import csv
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from jointdr import IMC, JDR, AssociationModel, Dyads, Popularity, config_context
from jointdr.evaluation import Method, evaluate, reduce_features, splits, standard_methods
from jointdr.evaluation.methods import METHOD_NAMES
from jointdr.metrics import concordance_index, rmse
from jointdr.prediction.search import tuning
from jointdr.runtime import memory


@pytest.fixture
def dyads(rng):
    """Links of rank 2 with a few popular columns."""
    A, B = rng.standard_normal((60, 6)), rng.standard_normal((40, 5))
    Y = A[:, :2] @ B[:, :2].T + np.linspace(0, 1, 40) + 0.3 * rng.standard_normal((60, 40)) > 2.2
    return Dyads(sparse.csr_array(Y.astype(float)), A, B)


@pytest.fixture
def grades(rng):
    A, B = rng.standard_normal((60, 4)), rng.standard_normal((40, 3))
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((60, 40)) + 5
    return Dyads(Y, A, B, rng.random(Y.shape) < 0.4)


class Spy(Popularity):
    """Takes down what it is fitted to and asked for."""

    seen: ClassVar[list] = []

    def fit(self, Y, A=None, B=None, observed=None):
        self.train = Y
        return super().fit(Y, A, B, observed)

    def predict(self, A_new=None, B_new=None):
        self.seen.append((self.train, A_new, B_new))
        return super().predict(A_new, B_new)


class Knowing(Popularity):
    """Looks up the answer in the features, which hold the whole truth: what a method that peeks would do."""

    def predict(self, A_new=None, B_new=None):
        return A_new if B_new is None else B_new.T


class Remembering(Popularity):
    """Knows the scores of every row that it was fitted to, by its features, and nothing else."""

    def fit(self, Y, A=None, B=None, observed=None):
        self.scores = {tuple(a): y for a, y in zip(Y.A, Y.Y.toarray(), strict=True)}
        return super().fit(Y, A, B, observed)

    def predict(self, A_new=None, B_new=None):
        nothing = np.zeros(len(self.column_ids_))
        return np.array([self.scores.get(tuple(a), nothing) for a in A_new])


class Failing(Popularity):
    def __init__(self, level=1):
        self.level = level

    def fit(self, Y, A=None, B=None, observed=None):
        raise ValueError("rank 7 is too large")


def recall_by_hand(scores, positive, k):
    """The mean over rows with positives, where equal scores are ranked at random: by many random orders."""
    rng, total = np.random.default_rng(0), []
    for s, p in zip(scores, positive, strict=True):
        if p.any():
            runs = [p[np.lexsort((rng.random(len(s)), -s))][:k].sum() for _ in range(400)]
            total.append(np.mean(runs) / p.sum())
    return np.mean(total)


# ---------------------------------------------------------------- the partitions


@pytest.mark.parametrize("by", ["rows", "columns", "both"])
def test_what_is_predicted_is_not_fitted(dyads, by):
    Spy.seen = []
    evaluate(dyads, {"spy": Spy()}, by=by, n_partitions=4, at=[5])
    assert len(Spy.seen) == 4
    for train, A_new, B_new in Spy.seen:
        for new, known, side in ((A_new, train.A, "rows"), (B_new, train.B, "columns")):
            if by in (side, "both"):
                assert not {tuple(x) for x in new} & {tuple(x) for x in known}
            else:
                assert new is None
    assert len({tuple(train.row_ids) + tuple(train.column_ids) for train, _, _ in Spy.seen}) == 4


@pytest.mark.parametrize("by", ["rows", "columns"])
def test_partitions_of_ones_own(dyads, by):
    """The same split gives the same numbers, whoever made it."""
    drawn = evaluate(dyads, ["IMC", "popularity"], by=by, n_partitions=1, at=[5], tune=None)
    split = next(splits(dyads, by, 1, 0.1, _first_seed()))
    ids = (dyads.row_ids, split.test.row_ids) if by == "rows" else (dyads.column_ids, split.test.column_ids)
    test = np.flatnonzero(np.isin(*ids))
    given = evaluate(dyads, ["IMC", "popularity"], by=by, held_out=[test, test[:2]], at=[5], tune=None)
    assert given.n_partitions == 2
    assert [o.values for o in given.outcomes[:2]] == [o.values for o in drawn.outcomes]
    with pytest.raises(ValueError, match="by='both' does not hold out alone"):
        evaluate(dyads, ["popularity"], by="both", held_out=[test])


def test_held_out_pairs_are_not_fitted(grades):
    Spy.seen = []
    evaluate(grades, {"spy": Spy()}, by="pairs", n_partitions=3, test_size=0.2)
    for train, _, _ in Spy.seen:
        assert train.n_observed == pytest.approx(0.8 * grades.n_observed, abs=1)


def test_peeking_would_score_1_and_memory_alone_nothing(rng):
    """The truth in the features is worth everything; all scores of the fitted rows are worth no more than chance."""
    Y = (rng.random((50, 30)) < 0.1).astype(float)
    Y[:, 0] = np.maximum(Y[:, 0], ~Y.any(axis=1))
    dyads = Dyads(sparse.csr_array(Y), Y + 1e-9 * rng.random(Y.shape), np.eye(30))
    result = evaluate(dyads, {"knowing": Knowing(), "remembering": Remembering()}, n_partitions=5, at=[15])
    knowing, remembering = result.table["recall@15"]
    assert knowing == 1.0
    assert remembering == pytest.approx(15 / 30, abs=1e-12)


def test_settings_are_chosen_without_the_test_rows(dyads):
    """Scores of the test rows have no influence on what is chosen, which is what ``tune="each"`` is for."""
    split = next(splits(dyads, "rows", 1, 0.1, _first_seed()))
    changed = dyads.Y.toarray()
    at = np.isin(dyads.row_ids, split.test.row_ids)
    changed[at] = np.roll(changed[at], 7, axis=1)
    model = Method(IMC(), {"n_components": [1, 2, 4], "alpha": [0.01, 1.0, 100.0]})
    found = [
        evaluate(Dyads(sparse.csr_array(Y), dyads.A, dyads.B), {"IMC": model}, n_partitions=1, at=[5])
        for Y in (dyads.Y.toarray(), changed)
    ]
    assert found[0].outcomes[0].setting == found[1].outcomes[0].setting != {}
    assert found[0].table["recall@5"][0] != found[1].table["recall@5"][0]


def _first_seed(random_state=0):
    return int(np.random.RandomState(random_state).randint(2**31 - 1, size=2)[1])


class Choosing(Popularity):
    """Takes down what it is fitted to and the groups of it, as a model that chooses by itself."""

    takes_groups = True
    seen: ClassVar[list] = []

    def fit(self, Y, A=None, B=None, observed=None, *, groups=None):
        self.seen.append((Y, groups))
        return super().fit(Y, A, B, observed)


@pytest.mark.parametrize("by", ["rows", "columns", "both"])
@pytest.mark.parametrize("tune", ["each", "once", None])
def test_groups_are_kept_together_in_partitions_tuning_and_choices(grades, by, tune, monkeypatch):
    rows, columns = np.arange(60) // 4, np.arange(40) // 3
    tried, made = [], tuning.splits
    monkeypatch.setattr(tuning, "splits", lambda *given: tried.extend(made(*given)) or tried[-given[2] :])
    Choosing.seen, Spy.seen = [], []
    methods = {"spy": Spy(), "choosing": Choosing(), "tuned": Method(IMC(2), {"n_components": [1, 2]})}
    result = evaluate(grades, methods, by=by, n_partitions=3, groups=(rows, columns), tune=tune)
    assert not result.failures
    assert "whole groups" in result.about
    assert len(tried) == {"each": 6, "once": 1, None: 0}[tune]
    fitted = [train for train, _, _ in Spy.seen]
    assert [train.row_ids.tolist() for train, _ in Choosing.seen] == [train.row_ids.tolist() for train in fitted]
    for train, groups in Choosing.seen:
        for codes, ids, whole in zip(
            groups.codes(train, by), (train.row_ids, train.column_ids), (rows, columns), strict=True
        ):
            if codes is not None:
                of_ids = whole[ids.astype(int)]
                np.testing.assert_array_equal(np.equal.outer(codes, codes), np.equal.outer(of_ids, of_ids))
    for split in tried:
        for k, (whole, ids) in enumerate(((rows, "row_ids"), (columns, "column_ids"))):
            if by in (("rows", "columns")[k], "both"):
                known, held = (getattr(part, ids).astype(int) for part in (split.train, split.test))
                assert not set(whole[known]) & set(whole[held])
    for train in fitted:
        for k, (whole, ids) in enumerate(((rows, train.row_ids), (columns, train.column_ids))):
            if by in (("rows", "columns")[k], "both"):
                held = np.setdiff1d(np.arange(len(whole)), ids.astype(int))
                assert len(held)
                assert not set(whole[held]) & set(whole[ids.astype(int)])


def test_relatives_flatter(rng):
    """A model that remembers families is right by chance partitions, and no better than the mean by groups."""
    families = np.repeat(np.arange(15), 4)
    A = rng.standard_normal((15, 6))[families] + 0.05 * rng.standard_normal((60, 6))
    Y = rng.standard_normal((15, 20))[families] + 0.1 * rng.standard_normal((60, 20))
    dyads = Dyads(Y, A, rng.standard_normal((20, 3)))
    model = AssociationModel(uses="rows", embedding=None, random_state=0)
    error = [
        evaluate(dyads, {"model": model}, n_partitions=1, test_size=0.2, groups=groups).table["RMSE"][0]
        for groups in (None, families)
    ]
    assert error[0] < 0.5
    assert error[1] > 0.9


def test_bad_groups_are_refused_at_once(grades):
    with pytest.raises(ValueError, match="groups has 3 labels for 60 rows"):
        evaluate(grades, ["popularity"], groups=[1, 2, 3])
    with pytest.raises(ValueError, match="groups of rows, but by 'pairs' none of these is held out"):
        evaluate(grades, ["popularity"], by="pairs", groups=(range(60), None))


def test_settings_are_chosen_by_the_criterion(dyads):
    """That of the default too; all of a grid but one setting are bad by one of two criteria."""

    class Ranked(Popularity):
        def __init__(self, order="rows"):
            self.order = order

        def predict(self, A_new=None, B_new=None):
            scores = super().predict(A_new, B_new)
            each = np.arange(len(scores))[:, None] * 10.0
            return scores + each if self.order == "rows" else 0.001 * scores.round(1)

    method = {"ranked": Method(Ranked(), {"order": ["rows", "all"]})}
    found = evaluate(dyads, method, n_partitions=1, criterion="recall")
    assert found.outcomes[0].setting == {"order": "rows"}
    assert str(found).splitlines()[0].count("tuned in every partition by recall") == 1
    result = evaluate(dyads, ["default"], n_partitions=1, at=[5], criterion="average precision")
    assert result.failures == {}
    assert "by average precision" in result.about


def test_once_is_one_setting_for_all_partitions(dyads):
    method = {
        "KR": Method(
            AssociationModel(JDR(2), head="kernel"), {"row_bandwidth": [0.1, 0.3], "column_bandwidth": [0.0, 0.3]}
        )
    }
    once = evaluate(dyads, method, tune="once", n_partitions=3, at=[5])
    assert len({str(o.setting) for o in once.outcomes}) == 1
    assert once.outcomes[0].setting
    assert not any(
        o.setting for o in evaluate(dyads, {"KR": AssociationModel(JDR(2), head="kernel")}, n_partitions=2).outcomes
    )
    assert not any(o.setting for o in evaluate(dyads, method, tune=None, n_partitions=2).outcomes)


class Budgeted(Popularity):
    """Fails with the budget that it has."""

    def fit(self, Y, A=None, B=None, observed=None):
        raise ValueError(memory.budget())


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_share_the_memory_budget(jobs, dyads):
    with config_context(memory_budget="40 MB"):
        found = evaluate(dyads, {"popularity": Budgeted()}, n_partitions=3, at=[3], jobs=jobs)
    assert [o.failure for o in found.outcomes] == [f"ValueError: {40_000_000 // jobs}"] * 3


def test_the_numbers_do_not_depend_on_the_processes_or_on_the_company(dyads):
    names = ["JDR + KR", "IMC", "popularity"]
    one, two = (evaluate(dyads, names, n_partitions=3, at=[3, 10], jobs=jobs) for jobs in (1, 2))
    assert [o.values for o in one.outcomes] == [o.values for o in two.outcomes]
    assert [o.setting for o in one.outcomes] == [o.setting for o in two.outcomes]
    alone = evaluate(dyads, ["popularity"], n_partitions=5, at=[3, 10])
    np.testing.assert_array_equal(alone.values("popularity", "recall@10")[:3], one.values("popularity", "recall@10"))
    other = evaluate(dyads, ["popularity"], n_partitions=3, at=[3, 10], random_state=1)
    assert (other.values("popularity", "recall@10") != one.values("popularity", "recall@10")).any()


# ---------------------------------------------------------------- the measures


@pytest.mark.parametrize("by", ["rows", "columns"])
def test_recall_of_popularity_by_hand(dyads, by):
    result = evaluate(dyads, ["popularity"], by=by, n_partitions=1, at=[4])
    split = next(splits(dyads, by, 1, 0.1, _first_seed()))
    fitted, held = split.train.Y.toarray(), split.test.Y.toarray()
    if by == "columns":
        fitted, held = fitted.T, held.T
    scores = np.tile(fitted.mean(axis=0), (len(held), 1))
    assert result.table["recall@4"][0] == pytest.approx(recall_by_hand(scores, held > 0, 4), abs=0.02)


def test_links_that_are_known_are_not_retrieved(dyads):
    """By pairs, all places but those of known links are for held-out ones: recall at all others is 1."""
    Y = np.zeros((20, 12))
    Y[:, :6] = 1
    Y[0, 5] = 0
    result = evaluate(Dyads(Y, dyads.A[:20], dyads.B[:12]), ["popularity"], by="pairs", n_partitions=3, at=[6])
    # The popular columns are the known ones, so that a held-out link is the most popular of what is left.
    np.testing.assert_allclose(result.values("popularity", "recall@6"), 1.0)


def test_significant_links_by_threshold_and_by_truth(dyads, rng):
    Y = dyads.Y.toarray()
    strong = (rng.random(Y.shape) < 0.5) & (Y > 0)
    graded = Dyads(np.where(strong, Y, 0.005 * Y), dyads.A, dyads.B)
    above = evaluate(graded, ["popularity", "IMC"], n_partitions=3, at=[5, 10], tune=None)
    given = evaluate(graded, ["popularity", "IMC"], n_partitions=3, at=[5, 10], tune=None, truth=strong)
    assert [o.values for o in above.outcomes] == [o.values for o in given.outcomes]
    split = next(splits(graded, "rows", 1, 0.1, _first_seed()))
    at = np.isin(graded.row_ids, split.test.row_ids)
    scores = np.tile(split.train.Y.mean(axis=0), (at.sum(), 1))
    by_hand = recall_by_hand(scores, strong[at], 5)
    assert above.values("popularity", "significant recall@5")[0] == pytest.approx(by_hand, abs=0.02)
    assert set(above.curves["metric"]) == {"recall", "significant recall"}
    # All of equal weight: there is nothing to tell apart.
    assert not any("significant" in name for name in evaluate(dyads, ["popularity"], n_partitions=1).metrics)


@pytest.mark.parametrize("by", ["rows", "columns", "both", "pairs"])
def test_grades_are_judged_on_observed_pairs(grades, by):
    result = evaluate(grades, ["bilinear ridge", "popularity"], by=by, n_partitions=1)
    split = next(splits(grades, by, 1, 0.1, _first_seed()))
    scores = Popularity().fit(split.train).predict(*split.new)
    mask = split.test.observed.toarray()
    truth = split.test.Y.toarray()[mask]
    assert result.values("popularity", "RMSE")[0] == pytest.approx(rmse(scores[mask], truth))
    assert result.values("popularity", "concordance")[0] == pytest.approx(concordance_index(scores[mask], truth))
    assert result.values("bilinear ridge", "RMSE")[0] < result.values("popularity", "RMSE")[0]


def test_a_held_out_grade_of_a_full_grid_is_not_a_zero(rng):
    Y = 5 + rng.standard_normal((30, 20))
    Spy.seen = []
    result = evaluate(Dyads(Y, np.ones((30, 1)), np.ones((20, 1))), {"spy": Spy()}, by="pairs", n_partitions=1)
    assert Spy.seen[0][0].n_observed == 540
    assert result.values("spy", "RMSE")[0] < 2


def test_means_errors_and_paired_differences(dyads):
    result = evaluate(dyads, ["IMC", "popularity"], n_partitions=4, at=[5, 10], tune=None)
    x, y = (result.values(name, "recall@5") for name in ("IMC", "popularity"))
    row = result.summary[(result.summary["method"] == "popularity") & (result.summary["metric"] == "recall@5")].iloc[0]
    assert row["mean"] == pytest.approx(y.mean())
    assert row["std"] == pytest.approx(y.std(ddof=1))
    assert row["se"] == pytest.approx(y.std(ddof=1) / 2)
    assert row["difference"] == pytest.approx((y - x).mean())
    assert row["difference_se"] == pytest.approx((y - x).std(ddof=1) / 2)
    assert row["partitions"] == 4


# ---------------------------------------------------------------- the methods


def test_every_standard_method_runs_on_links_and_on_grades(dyads, grades):
    for data, by in ((dyads, "both"), (grades, "rows")):
        result = evaluate(data, METHOD_NAMES, by=by, n_partitions=1, tune="once", at=[5], test_size=0.2)
        assert result.failures == {}
        assert len(result.table) == len(METHOD_NAMES)


def test_methods_fit_what_is_held_out_and_how_much_there_is(dyads, rng):
    assert "columns ignored" in standard_methods(dyads)
    assert "rows ignored" in standard_methods(dyads, by="columns")
    assert "rows ignored" not in standard_methods(dyads)
    many = Dyads(sparse.csr_array((3001, 5)), rng.standard_normal((3001, 2)), rng.standard_normal((5, 2)))
    assert "kernel ridge" not in standard_methods(many)
    assert list(standard_methods(many, ["kernel ridge", "IMC"])) == ["kernel ridge", "IMC"]
    assert max(standard_methods(dyads)["JDR + KR"].grid[0]["n_components"]) == 5


def test_wide_tables_are_reduced_for_methods_that_need_a_covariance(rng):
    A = sparse.random_array((40, 3000), density=0.02, rng=rng, format="csr")
    B = rng.standard_normal((30, 4))
    Y = sparse.csr_array((rng.random((40, 30)) < 0.1).astype(float))
    dyads = Dyads(Y, A, B, names=("disease", "gene"))
    small = reduce_features(dyads)
    assert small.n_features == (20, 4)
    assert small.B is dyads.B
    assert reduce_features(small) is small
    methods = standard_methods(dyads)
    assert all(methods[name].reduced for name in ("JDR + KR", "JDR", "PCA + KR", "IMC", "bilinear ridge"))
    assert not any(methods[name].reduced for name in ("no reduction", "no reduction (cosine)", "columns ignored"))
    result = evaluate(dyads, ["JDR + KR", "no reduction (cosine)"], n_partitions=1, at=[5])
    assert result.failures == {}


def test_a_method_that_fails_is_listed_and_the_others_go_on(dyads):
    grid = {"level": [1, 2]}
    result = evaluate(dyads, {"bad": Failing(), "good": Popularity(), "tuned": Method(Failing(), grid)}, n_partitions=2)
    assert result.failures == {name: "ValueError: rank 7 is too large" for name in ("bad", "tuned")}
    assert result.table["failed"].tolist() == ["ValueError: rank 7 is too large", "", "ValueError: rank 7 is too large"]
    assert np.isnan(result.table["nDCG"][0])
    assert np.isfinite(result.table["nDCG"][1])
    assert "bad failed: ValueError: rank 7 is too large" in str(result)
    once = evaluate(dyads, {"tuned": Method(Failing(), grid), "good": Popularity()}, n_partitions=2, tune="once")
    assert list(once.failures) == ["tuned"]


def test_errors_say_what_to_do(dyads, grades):
    for given, message in (
        ({"methods": ["magic"]}, r"Unknown methods in names: \['magic'\]. Choose from \['default'"),
        ({"methods": []}, "names is empty"),
        ({"by": "row"}, "by='row'"),
        ({"n_partitions": 0}, "n_partitions=0 must be an integer >= 1"),
        ({"jobs": 1.5}, "jobs=1.5"),
        ({"criterion": "RMSE"}, "criterion='RMSE' is for graded scores"),
        ({"at": [0]}, r"at=\[0\]"),
        ({"tune": True}, "tune=True"),
        ({"truth": np.ones((3, 3))}, r"truth has shape \(3, 3\), but there are \(60, 40\)"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(dyads, **given)
    for given, message in (("IMC", r"a list of names: \['IMC'\]"), ({"x": 3}, "that of 'x' is 3"), ({}, "empty")):
        with pytest.raises(TypeError, match=message):
            evaluate(dyads, given)
    with pytest.raises(ValueError, match="leave it out"):
        evaluate(grades, ["popularity"], truth=np.ones((60, 40)))
    with pytest.warns(UserWarning, match="No known pair is above significant=2"):
        evaluate(dyads, ["popularity"], n_partitions=1, significant=2.0)


# ---------------------------------------------------------------- what comes out


def test_tables_files_and_words(dyads, tmp_path):
    result = evaluate(dyads, ["IMC", "popularity"], n_partitions=2, at=[5, 10, 500])
    assert result.metrics == ("recall@5", "recall@10", "nDCG", "average precision")
    assert result.headline == "recall@10"
    assert len(result.per_partition) == 2 * 2 * 4
    assert set(result.settings["parameter"]) == {"n_components", "alpha"}
    folder = result.to_csv(tmp_path / "new" / "folder")
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.csv" for name in ("table", "summary", "per_partition", "settings", "curves")
    }
    with open(folder / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["IMC", "popularity"]
    assert float(rows[1]["recall@10"]) == pytest.approx(result.table["recall@10"][1])
    mean, _, se, _ = result.statistics("popularity", "recall@10")
    assert f"{mean:.4f} ± {se:.4f}" in str(result)
    assert "rows held out (10%), tuned in every partition; mean ± standard error over 2 partitions" in str(result)


def test_the_recall_that_counts_most_is_that_at_the_largest_number(dyads):
    result = evaluate(dyads, ["popularity"], n_partitions=1, at=[10, 2, 5])
    assert result.metrics[:3] == ("recall@2", "recall@5", "recall@10")
    assert result.headline == "recall@10"


def test_pictures(dyads, grades, tmp_path):
    from matplotlib.figure import Figure

    links = evaluate(dyads, ["IMC", "popularity"], n_partitions=2, at=[5, 10], tune=None)
    links.plot(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 5000
    ax = Figure().add_subplot()
    assert links.plot(ax) is ax
    means = dict(zip(links.table["method"], links.table["recall@10"], strict=True))
    assert {t.get_text() for t in ax.texts} == set(means)  # every curve is named at its end
    (best,) = (t.get_text() for t in ax.texts if t.get_fontweight() == "bold")
    assert means[best] == max(means.values())
    bars = evaluate(grades, ["popularity", "bilinear ridge"], n_partitions=2, tune=None)
    ax = bars.plot()
    lengths = [bar.get_width() for bar in ax.patches]
    assert lengths == sorted(bars.table["RMSE"])
    with pytest.raises(ValueError, match="No method has a result"):
        evaluate(dyads, {"bad": Failing()}, n_partitions=1).plot()


@pytest.mark.parametrize("kind", ["few entities", "constant features", "one-hot"])
def test_no_standard_method_fails_for_want_of_directions(rng, kind):
    A, B = {
        "few entities": (rng.standard_normal((30, 50)), rng.standard_normal((24, 40))),
        "constant features": (np.hstack([rng.standard_normal((30, 2)), np.ones((30, 3))]), np.ones((24, 2))),
        "one-hot": (np.eye(30), np.eye(24)),
    }[kind]
    Y = (rng.random((30, 24)) < 0.4).astype(float)
    names = [name for name in METHOD_NAMES if name not in ("default", "LightGBM")]
    result = evaluate(Dyads(Y, A, B), names, n_partitions=1, tune="once", test_size=0.3, at=[3])
    assert result.failures == {}

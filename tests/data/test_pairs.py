"""Listed pairs as people have them: scores in any column, pairs that come again, ids that no table has."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from jointdr import Dyads, PairsWarning, UnmatchedWarning  # noqa: E402
from jointdr.data.pairs import choose_observed, choose_score, scores_in  # noqa: E402

ROWS, COLUMNS = ["a", "b", "c"], ["x", "y"]


def listed(scores=None, **more):
    """All six pairs."""
    pairs = pd.DataFrame({"drug": np.repeat(ROWS, 2), "target": COLUMNS * 3})
    return (pairs if scores is None else pairs.assign(score=scores)).assign(**more)


def dyads_of(pairs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Dyads.from_tables(pairs, **options)


class TestScores:
    @pytest.mark.parametrize(("yes", "no"), [(True, False), ("TRUE", "FALSE"), ("yes", "No"), ("1", "0"), ("y", "n")])
    def test_yes_and_no_are_1_and_0(self, yes, no):
        dyads = dyads_of(listed([yes, no, yes, no, no, yes]))
        assert dyads.Y.toarray().tolist() == [[1, 0], [1, 0], [0, 1]]

    @pytest.mark.parametrize(
        "scores", [[1, 2, 3, 4, 5, 6], list("123456"), pd.array([1, 2, 3, 4, 5, 6], dtype="Int64")]
    )
    def test_numbers_of_any_type(self, scores):
        assert dyads_of(listed(scores)).Y.toarray().ravel().tolist() == [1, 2, 3, 4, 5, 6]

    def test_pairs_without_a_score_or_an_id_are_left_out_with_a_note(self):
        with pytest.warns(PairsWarning, match="2 of 6 pairs have no 'score' and are left out"):
            dyads = Dyads.from_tables(listed([1.5, None, "", 4, 5, 6]), observed="stored")
        assert dyads.n_observed == 4
        pairs = listed([1.5, 2, 3, 4, 5, 6])
        pairs.loc[2, "drug"] = None
        pairs.loc[3, "drug"] = " "
        with pytest.warns(PairsWarning, match="2 of 6 pairs have no 'drug'"):
            assert Dyads.from_tables(pairs, observed="stored").n_observed == 4

    def test_an_id_may_look_like_a_gap(self):
        pairs = listed([1.5, 2, 3, 4, 5, 6]).replace({"drug": {"a": "NA", "b": "-"}})
        assert dyads_of(pairs).row_ids.tolist() == ["NA", "-", "c"]

    def test_the_column_of_scores(self):
        names = ["source", "value"]
        assert choose_score(listed(source="lab", value=[1, 2, 3, 4, 5, 6]), names) == "value"
        with pytest.warns(PairsWarning, match=r"'year' of pairs; 'pkd' could be scores too: score='pkd' takes them"):
            assert choose_score(listed(year=2020, pkd=6.5), ["year", "pkd"]) == "year"
        with pytest.raises(ValueError, match="several columns of numbers, year, pkd"):
            choose_score(listed(source="lab", year=2020, pkd=6.5), ["source", "year", "pkd"])
        with pytest.warns(PairsWarning, match="No column of pairs beside the ids has scores, but source"):
            assert choose_score(listed(source="lab"), ["source"]) is None
        assert choose_score(listed(notes=[[1]] * 6, value=1.5), ["notes", "value"]) == "value"

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (["1", "2", "high"], r"not numbers: 'high' at position 2"),
            ([1.0, np.inf], "contains infinity"),
            (pd.to_datetime(["2020-01-01"]), "holds datetime64.*, not scores"),
        ],
    )
    def test_what_is_no_score(self, values, message):
        with pytest.raises(ValueError, match=message):
            scores_in(pd.Series(values), "score")


class TestRepeatedPairs:
    def test_graded_scores_are_averaged(self):
        pairs = pd.concat([listed([1.0, 2, 3, 4, 5, 6]), listed([3.0, 2, 3, 4, 5, 6])[:1]])
        with pytest.warns(PairsWarning, match="7 lines list 6 different pairs: .* their scores are averaged"):
            assert Dyads.from_tables(pairs).Y.toarray()[0, 0] == 2.0

    @pytest.mark.parametrize("scores", [None, [1] * 6, [1, 0, 1, 0, 1, 0]])
    def test_associations_count_once(self, scores):
        """Also where one of two lines has a 0: half an association is none."""
        again = listed(None if scores is None else [0] * 6)[:1]
        with pytest.warns(PairsWarning, match="7 lines list 6 different pairs: .* they count once"):
            Y = Dyads.from_tables(pd.concat([listed(scores), again])).Y.toarray()
        assert Y[0, 0] == 1.0
        assert set(Y.ravel()) <= {0.0, 1.0}

    def test_as_asked(self):
        pairs = pd.concat([listed([1.0, 2, 3, 4, 5, 6]), listed([3.0, 2, 3, 4, 5, 6])[:1]])
        for duplicates, value in (("sum", 4), ("max", 3), ("last", 3), ("mean", 2)):
            assert dyads_of(pairs, duplicates=duplicates).Y.toarray()[0, 0] == value
        with pytest.raises(ValueError, match="more than once"):
            Dyads.from_tables(pairs, duplicates="error")


class TestObserved:
    def test_scores_far_from_0_are_observed_alone(self):
        rng = np.random.default_rng(0)
        with pytest.warns(PairsWarning, match=r"Scores are far from 0 .* give observed='all'"):
            assert choose_observed("auto", rng.normal(7, 0.5, 100)) == "stored"
        with pytest.warns(PairsWarning):
            assert choose_observed("auto", -rng.normal(7, 0.5, 100)) == "stored"
        with pytest.warns(PairsWarning):
            assert (
                choose_observed("auto", np.array([5.0] * 80 + [1, 2, 3, 4] * 5)) == "stored"
            )  # ratings, most of them 5

    @pytest.mark.parametrize(
        "scores",
        [
            np.random.default_rng(0).normal(0, 1, 100),
            np.ones(100),
            np.full(100, 3.0),
            np.array([1.0] * 90 + [0.0] * 10),
            np.linspace(0, 1, 100),
            np.array([7.0, 7.1, 7.2]),  # too few to tell
        ],
    )
    def test_others_are_among_zeros(self, scores):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert choose_observed("auto", scores) is None

    def test_as_asked(self):
        scores = np.random.default_rng(0).normal(7, 0.5, 100)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert choose_observed("all", scores) is None
            assert choose_observed("stored", np.ones(100)) == "stored"
        with pytest.raises(ValueError, match="observed="):
            choose_observed("some", scores)


def test_unknown_ids_are_reported_and_left_out():
    drugs = pd.DataFrame({"drug": ["a", "b"], "weight": [1.0, 2.0]})
    with pytest.warns(UnmatchedWarning, match=r"2 of 6 pairs were left out: 1 row ids .*for example \['c'\]"):
        dyads = Dyads.from_tables(listed([1, 2, 3, 4, 5, 6]), drugs)
    assert dyads.shape == (2, 2)
    assert (dyads.unmatched.row_ids.tolist(), dyads.unmatched.n_pairs) == (["c"], 2)
    with pytest.raises(ValueError, match="None of the pairs has both its ids in the entity tables"):
        Dyads.from_tables(listed([1, 2, 3, 4, 5, 6]), drugs.assign(drug=["p", "q"]))


class TestLabels:
    """A, B, Y and the mask are joined by their labels, or refused; never by position in silence."""

    @pytest.fixture
    def tables(self):
        rng = np.random.default_rng(0)
        Y = pd.DataFrame(rng.random((3, 2)), index=ROWS, columns=COLUMNS)
        A = pd.DataFrame({"u": [1.0, 2.0, 3.0]}, index=ROWS)
        B = pd.DataFrame({"v": [1.0, 2.0]}, index=COLUMNS)
        mask = pd.DataFrame([[True, False], [True, True], [False, True]], index=ROWS, columns=COLUMNS)
        return Y, A, B, mask

    def test_the_same_ids_in_another_order_are_aligned(self, tables):
        Y, A, B, mask = tables
        expected = Dyads(Y, A, B, mask).Y.toarray()
        turned, masks = Y.iloc[::-1, ::-1], (mask, mask.iloc[::-1], mask.iloc[:, ::-1], mask.iloc[::-1, ::-1])
        for scores in (Y, turned):
            for observed in masks:
                np.testing.assert_array_equal(Dyads(scores, A, B, observed).Y.toarray(), expected)
        for observed in masks:
            np.testing.assert_array_equal(Dyads(Y.to_numpy(), A, B, observed).Y.toarray(), expected)
            np.testing.assert_array_equal(Dyads(Y, observed=observed).Y.toarray(), expected)

    def test_a_mask_without_labels_goes_with_the_scores(self, tables):
        Y, A, B, mask = tables
        expected = Dyads(Y, A, B, mask).Y.toarray()
        np.testing.assert_array_equal(Dyads(Y[::-1], A, B, mask.to_numpy()[::-1]).Y.toarray(), expected)

    def test_ids_that_are_given_name_the_scores(self, tables):
        Y, A, B, _ = tables
        found = Dyads(Y, A.to_numpy()[::-1], row_ids=ROWS[::-1])
        np.testing.assert_array_equal(found.Y, Y[::-1])
        with pytest.raises(ValueError, match="row_ids has the ids of the feature table in another order: leave it out"):
            Dyads(Y, A, B, row_ids=ROWS[::-1])

    def test_other_ids_are_refused(self, tables):
        Y, A, B, mask = tables
        with pytest.raises(ValueError, match="labels of Y and of the feature table disagree on row_ids"):
            Dyads(Y.rename(index={"a": "z"}), A, B)
        with pytest.raises(ValueError, match="labels of observed and of the entities disagree on their columns"):
            Dyads(Y, A, B, mask.rename(columns={"x": "z"}))


def test_new_tables_of_polars_have_their_ids_in_the_same_column():
    pl = pytest.importorskip("polars")
    from jointdr import Popularity

    drugs = pd.DataFrame({"weight": [1.0, 2.0, 3.0], "drug": ROWS})
    pairs = listed([1.5, 2, 3, 4, 5, 6])
    model = Popularity().fit(Dyads.from_tables(pairs, drugs, row_id="drug"))
    new = pl.DataFrame({"drug": ["n1", "n2"], "weight": [1.5, 2.5]})
    assert model.recommend(new, k=1)["row"].tolist() == ["n1", "n2"]

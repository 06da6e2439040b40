"""Choices by held-out groups: scores of what has no relatives among the known."""

from __future__ import annotations

import numpy as np
import pytest

from jointdr import IMC, JDR, AssociationModel, Dyads
from jointdr.prediction import tune_model
from jointdr.prediction.search import answers, tuning

QUESTIONS = ("rows", "columns", "both")


@pytest.fixture
def families(rng):
    """Rows and columns in families, whose features tell members apart from others, and nothing more."""
    rows, columns = np.repeat(np.arange(12), 4), np.repeat(np.arange(8), 4)
    A, B = (rng.standard_normal((12, 6))[rows], rng.standard_normal((8, 5))[columns])
    Y = rng.standard_normal((12, 8))[rows][:, columns]
    A, B, Y = (X + 0.1 * rng.standard_normal(X.shape) for X in (A, B, Y))
    return Dyads(Y, A, B), (rows, columns)


@pytest.fixture
def parts_of(monkeypatch):
    """The parts that choices are made by, with the scores that they are parts of."""
    kept = []

    def keep(scores, implicit, by, *others):
        parts = made(scores, implicit, by, *others)
        kept.append((by, scores.Y, parts))
        return parts

    made = answers.make_parts
    monkeypatch.setattr(answers, "make_parts", keep)
    return kept


def assert_apart(kept, dyads, row_groups, column_groups):
    """No group is among the known and the held-out entities of a part."""
    assert kept
    for by, Y, parts in kept:
        assert parts
        sides = zip((0, 1), (row_groups, column_groups), entities_of(Y, np.asarray(dyads.Y)), strict=True)
        for k, groups, of_whole in sides:
            for part in parts:
                if by in (("rows", "columns")[k], "both") and groups is not None:
                    known, held = (
                        of_whole[(part.rows, part.columns)[k]],
                        of_whole[(part.new_rows, part.new_columns)[k]],
                    )
                    assert not set(groups[known]) & set(groups[held])


def entities_of(Y, whole):
    """The rows and the columns of a sample, found by a score that no other pair has."""
    if Y.shape == whole.shape:
        return np.arange(Y.shape[0]), np.arange(Y.shape[1])
    return tuple(np.array([np.argwhere(whole == y)[0, k] for y in some]) for k, some in enumerate((Y[:, 0], Y[0])))


def test_choices_are_made_by_whole_groups(families, parts_of):
    dyads, groups = families
    model = AssociationModel(uses=(*QUESTIONS, "pairs"), random_state=0).fit(dyads, groups=groups)
    assert_apart(parts_of, dyads, *groups)
    assert {by for by, _, _ in parts_of} == {*QUESTIONS, "pairs"}
    assert set(model.choices_["question"]) == {*QUESTIONS, "pairs"}


def test_scores_of_choices_are_those_of_new_families(families):
    """Relatives give rows and columns away; without them nothing can be known, and the model says so."""
    dyads, groups = families
    flattered = AssociationModel(uses=QUESTIONS, random_state=0).fit(dyads).choices_
    honest = AssociationModel(uses=QUESTIONS, random_state=0).fit(dyads, groups=groups).choices_
    for by in QUESTIONS:
        assert flattered[flattered["question"] == by]["held-out score"].iloc[0] > 0.5
        assert honest[honest["question"] == by]["held-out score"].iloc[0] < 0.25


def test_the_question_about_known_pairs_has_no_groups(families):
    dyads, groups = families
    with_groups = AssociationModel(uses=("rows", "pairs"), random_state=0).fit(dyads, groups=groups)
    without = AssociationModel(uses="pairs", random_state=0).fit(dyads)
    np.testing.assert_array_equal(with_groups.predict(), without.predict())


def test_groups_of_one_side_and_groups_of_one_entity(families, parts_of):
    dyads, (rows, _) = families
    AssociationModel(uses=("rows", "both"), random_state=0).fit(dyads, groups=(rows, None))
    assert_apart(parts_of, dyads, rows, None)
    alone = AssociationModel(uses="rows", random_state=0).fit(dyads, groups=np.arange(48)).choices_
    plain = AssociationModel(uses="rows", random_state=0).fit(dyads).choices_
    assert alone["held-out score"].iloc[0] == pytest.approx(plain["held-out score"].iloc[0], abs=0.1)


def test_a_sample_of_the_entities_keeps_their_groups(families, parts_of, monkeypatch):
    dyads, groups = families
    monkeypatch.setattr(answers, "SCREENED", 20)
    AssociationModel(uses=QUESTIONS, max_fits=30, random_state=0).fit(dyads, groups=groups)
    assert {Y.shape for _, Y, _ in parts_of} == {(20, 20), (48, 32)}
    assert len(parts_of) == 6  # no repetitions, so that max_fits is enough for several recipes
    assert_apart(parts_of, dyads, *groups)


@pytest.mark.parametrize("sizes", [(30, 18), (24, 24), (40, 4, 4), (16, 16, 16)])
def test_few_groups(families, sizes):
    dyads, _ = families
    groups = np.repeat(np.arange(len(sizes)), sizes)
    choices = AssociationModel(uses="rows", random_state=0).fit(dyads, groups=groups).choices_
    assert np.isfinite(choices["held-out score"]).all()
    assert (choices["standard error"].isna() == (sizes == (30, 18))).all()  # of a single part


def test_incomplete_and_implicit_scores(families, rng, parts_of):
    dyads, groups = families
    for other in (
        Dyads(dyads.Y, dyads.A, dyads.B, rng.random(dyads.shape) < 0.6),
        Dyads((dyads.Y > 1).astype(float), dyads.A, dyads.B),
    ):
        AssociationModel(uses="both", random_state=0).fit(other, groups=groups)
    assert_apart(parts_of, dyads, *groups)


# ---------------------------------------------------------------- tuning


def kept_splits(monkeypatch):
    kept = []

    def keep(*arguments):
        for split in made(*arguments):
            kept.append(split)
            yield split

    made = tuning.splits
    monkeypatch.setattr(tuning, "splits", keep)
    return kept


@pytest.mark.parametrize("model", [AssociationModel(JDR(2), head="kernel"), IMC(2)])
def test_settings_are_tried_on_whole_groups(families, model, monkeypatch):
    dyads, (rows, columns) = families
    kept = kept_splits(monkeypatch)
    tune_model(model, dyads, {"n_components": [1, 2]}, by="both", n_splits=3, groups=(rows, columns))
    assert len(kept) == 3
    for split in kept:
        for known, held, groups in (
            (split.train.row_ids, split.test.row_ids, rows),
            (split.train.column_ids, split.test.column_ids, columns),
        ):
            assert not set(groups[known.astype(int)]) & set(groups[held.astype(int)])


def test_tune(families, monkeypatch, parts_of):
    dyads, (rows, columns) = families
    kept = kept_splits(monkeypatch)
    model = AssociationModel(JDR(2), head="kernel")
    model.tune(dyads, grid={"n_components": [1, 2]}, by="columns", groups=columns)
    assert len(kept) == 2
    assert not set(columns[kept[0].train.column_ids.astype(int)]) & set(columns[kept[0].test.column_ids.astype(int)])
    found = AssociationModel(random_state=0).tune(dyads, by="rows", groups=rows)
    assert_apart(parts_of, dyads, rows, None)
    expected = AssociationModel(uses="rows", random_state=0).fit(dyads, groups=rows).choices_
    assert found.best_score == expected["held-out score"].iloc[0]


# ---------------------------------------------------------------- errors


def test_heads_that_hold_nothing_out_refuse_groups(families):
    dyads, groups = families
    model = AssociationModel(JDR(2), head="kernel")
    with pytest.raises(ValueError, match=r"groups .* head='kernel' holds nothing out.*tune.*head='auto'"):
        model.fit(dyads, groups=groups)
    assert AssociationModel().takes_groups
    assert not model.takes_groups
    assert not IMC().takes_groups


@pytest.mark.parametrize(
    ("uses", "groups", "error", "match"),
    [
        ("pairs", (np.arange(48), None), ValueError, "by 'pairs' none of these is held out"),
        (("rows", "both"), np.arange(48), TypeError, "groups must be a pair"),
        (("rows", "pairs"), (None, np.arange(32)), ValueError, "by 'rows' or 'pairs' none of these is held out"),
        ("rows", np.zeros(48), ValueError, "groups puts all 48 rows into one group"),
        ("columns", np.arange(48), ValueError, "groups has 48 labels for 32 columns"),
    ],
)
def test_bad_groups(families, uses, groups, error, match):
    with pytest.raises(error, match=match):
        AssociationModel(uses=uses).fit(families[0], groups=groups)


def test_bad_groups_of_tune(families):
    dyads, (rows, _) = families
    for model in (AssociationModel(), AssociationModel(JDR(2), head="kernel")):
        with pytest.raises(ValueError, match="by 'pairs' none of these is held out"):
            model.tune(dyads, grid=None, by="pairs", groups=(rows, None))

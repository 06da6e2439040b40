"""Tuning: the short cuts change nothing, and what is best is set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import IHT, IMC, JDR, PCA, PHD, SAVE, SIR, SOLS, AssociationModel, Dyads
from jointdr.evaluation import splits
from jointdr.prediction.search.criterion import score_split
from jointdr.prediction.search.recipe import recipe
from jointdr.prediction.search.tuning import tune_model, with_sides


def dyads_of(kind, rng):
    A, B = rng.standard_normal((60, 5)), rng.standard_normal((40, 4))
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((60, 40))
    if kind == "links":
        return Dyads(sparse.csr_array((Y > 1).astype(float)), A, B)
    return Dyads(Y, A, B, observed=rng.random(Y.shape) < 0.5)


@pytest.mark.parametrize("by", ["rows", "columns", "both", "pairs"])
@pytest.mark.parametrize("kind", ["links", "grades"])
def test_every_score_is_that_of_a_model_fitted_anew(rng, kind, by):
    dyads = dyads_of(kind, rng)
    grid = [
        {"n_components": [1, 3], "bandwidth": [(0.3, 0.0), (0.3, 0.5), (0.6, 0.5)], "kernel": ["gaussian", "cosine"]},
        {"row_mix": [0.0, 0.4], "raw_row_bandwidth": [0.3], "borrow": [0.5, 1.0]},
        {"head": ["bilinear", "kernel_ridge"], "mix": [0.0], "borrow": [1.0], "bandwidth": [0.8]},
    ]
    model = AssociationModel(JDR(2), head="kernel", random_state=0)
    found = tune_model(model, dyads, grid, by=by, n_splits=2, test_size=0.2, random_state=3)
    parts = list(splits(dyads, by, 2, 0.2, random_state=3))
    names = [name for name in found.table.columns if name not in ("score", "std")]
    assert 16 <= len(found.table) <= 18  # a setting that comes again is not tried again
    for row in found.table.to_dict("records"):
        setting = {name: row[name] for name in names if row[name] is not None and row[name] == row[name]}
        scores = [
            score_split(clone(model).set_params(**setting).fit(s.train).predict(*s.new), s, kind == "links", "auto")
            for s in parts
        ]
        rough = kind == "grades" and setting.get("head") in ("bilinear", "kernel_ridge")  # solved less exactly
        assert row["score"] == pytest.approx(np.mean(scores), rel=5e-3 if rough else 1e-6, abs=1e-9)
        assert row["std"] == pytest.approx(np.std(scores), rel=1e-5, abs=5e-3 if rough else 1e-9)
    assert found.best_score == found.table["score"].max()


def test_a_setting_with_fewer_directions_than_another_has_is_tried_all_the_same(rng):
    A, B = rng.standard_normal((60, 20)), rng.standard_normal((12, 15))  # B varies in 11 directions
    dyads = Dyads(A[:, :2] @ B[:, :2].T, A, B)
    grid = [{"kernel": ["gaussian"]}, {"n_components": [2, 12], "embedding__ridge": [0.1]}]
    found = tune_model(AssociationModel(JDR(2), head="kernel", bandwidth=0.5), dyads, grid, n_splits=2, random_state=0)
    assert len(found.table) == 3
    assert np.isfinite(found.table["score"]).all()


def test_the_best_setting_is_set_and_fitted_to_all(rng):
    dyads = dyads_of("links", rng)
    model = AssociationModel(JDR(2), head="kernel", random_state=0)
    found = model.tune(dyads, grid={"n_components": [1, 2, 4], "bandwidth": [(0.1, 0.1), (0.4, 0.0)]}, n_splits=2)
    best = found.table.sort_values("score").iloc[-1]
    assert model.embedding.n_components == best["embedding__n_components"] == model.embedding_.n_components_
    assert model.bandwidth == best["bandwidth"]
    assert len(model.row_ids_) == 60
    again = AssociationModel(JDR(2), head="kernel", random_state=0).set_params(**found.best_params).fit(dyads)
    np.testing.assert_array_equal(model.predict(), again.predict())
    assert "6 settings" in repr(found)


def test_the_recipe_is_no_worse_than_the_paper_s_own_settings(rng):
    """It starts elsewhere, and its criterion on the same splits is as good."""
    A, B = rng.standard_normal((150, 8)), rng.standard_normal((60, 6))
    P = np.exp(-2 * np.sum((A[:, None, :2] - B[None, :, :2]) ** 2, axis=2))
    dyads = Dyads((rng.random(P.shape) < 0.6 * P).astype(float), A, B)
    mine, paper = (AssociationModel(e, head="kernel", random_state=0) for e in ("auto", JDR(2)))
    first = mine.tune(dyads, n_splits=2)
    second = paper.tune(dyads, grid={"bandwidth": [(h, k) for h in (0.1, 0.3) for k in (0.0, 0.3)]}, n_splits=2)
    assert first.best_score > second.best_score - 0.02
    assert isinstance(mine.embedding, JDR)


def test_grades_try_kernel_ridge(rng):
    dyads = dyads_of("grades", rng)
    assert any("head" in stage for stage in recipe(AssociationModel(head="kernel"), dyads))
    assert not any("head" in stage for stage in recipe(AssociationModel(head="kernel"), dyads_of("links", rng)))
    assert not any("n_components" in stage for stage in recipe(AssociationModel(None, head="kernel"), dyads))
    found = AssociationModel(head="kernel", random_state=0).tune(dyads, n_splits=1)
    assert found.criterion == "auto"
    assert 0 < found.best_score < 1


@pytest.mark.parametrize(
    ("kind", "criterion"),
    [
        *(("links", name) for name in ("auto", "recall", "average precision", "nDCG")),
        *(("grades", name) for name in ("auto", "RMSE", "concordance")),
    ],
)
def test_settings_are_judged_by_the_criterion_that_is_named(rng, kind, criterion):
    dyads = dyads_of(kind, rng)
    grid = {"bandwidth": [(0.2, 0.2), (0.7, 0.4)]}
    model = AssociationModel(JDR(2), head="kernel", criterion=criterion, random_state=1)
    split = next(splits(dyads, "rows", 1, 0.1, 1))
    fitted = [clone(model).set_params(bandwidth=h).fit(split.train) for h in grid["bandwidth"]]
    expected = [score_split(split.predict(one), split, kind == "links", criterion) for one in fitted]
    for found in (
        clone(model).tune(dyads, grid=grid, n_splits=1),
        clone(model).set_params(criterion="auto").tune(dyads, grid=grid, n_splits=1, criterion=criterion),
        tune_model(model, dyads, grid, n_splits=1, criterion=criterion, random_state=1),
    ):
        np.testing.assert_allclose(found.table["score"], expected, rtol=1e-6)
        assert found.criterion == criterion
        assert found.best_params["bandwidth"] == grid["bandwidth"][int(np.argmax(expected))]
    wrong = "RMSE" if kind == "links" else "recall"
    with pytest.raises(ValueError, match=f"criterion='{wrong}' is for"):
        tune_model(model, dyads, grid, criterion=wrong)


def test_other_models_are_fitted_again(rng):
    dyads = dyads_of("links", rng)
    found = tune_model(IMC(), dyads, {"n_components": [1, 3], "alpha": [0.1, 10.0]}, n_splits=1, random_state=0)
    assert isinstance(found.table, pd.DataFrame)
    assert set(found.best_params) == {"n_components", "alpha"}


def test_known_links_are_no_answers_where_pairs_are_held_out(rng):
    dyads = dyads_of("links", rng)
    split = next(splits(dyads, "pairs", test_size=0.3, random_state=0))
    perfect = split.test.Y.toarray() + 10 * split.train.Y.toarray()  # known links first would fill every list
    assert score_split(perfect, split, True) > score_split(split.train.Y.toarray(), split, True)
    positives = (split.test.Y.toarray() > 0).sum(axis=1)
    assert positives.max() <= 10
    assert score_split(perfect, split, True) == 1.0


def test_few_columns_are_judged_by_fewer(rng):
    dyads = dyads_of("links", rng).columns(slice(0, 9))
    split = next(splits(dyads, test_size=0.5, random_state=0))
    truth = split.test.Y.toarray()
    assert score_split(truth, split, True) > score_split(-truth, split, True) + 0.3
    empty = Dyads(np.vstack([np.zeros((59, 9)), np.ones((1, 9))]), dyads.A, dyads.B)
    with pytest.raises(ValueError, match="No association was held out to judge by: raise test_size"):
        tune_model(AssociationModel(None, head="kernel"), empty, {"bandwidth": [0.3]}, n_splits=5, random_state=0)


def test_one_side_of_a_pair():
    model = AssociationModel(head="kernel", bandwidth=(0.2, 0.3))
    assert with_sides(model, {}, {"row_bandwidth": 0.9}) == {"bandwidth": (0.9, 0.3)}
    assert with_sides(model, {"bandwidth": (1, 2)}, {"column_bandwidth": 7}) == {"bandwidth": (1, 7)}
    assert with_sides(model, {}, {"raw_row_bandwidth": 0.4})["raw_bandwidth"][0] == 0.4


@pytest.mark.parametrize(
    ("grid", "match"),
    [
        ({"kernel": "cosine"}, "kernel='cosine', but every parameter needs a list"),
        ({"row_bandwidth": 0.3}, "row_bandwidth=0.3, but"),
        ({"n_components": []}, "needs a list of values"),
        ({}, "grid must be"),
        ([], "grid must be"),
        ({"depth": [1]}, r"does not have: \['depth'\]"),
        ([3], "grid must be"),
    ],
)
def test_bad_grids(rng, grid, match):
    with pytest.raises(ValueError, match=match):
        AssociationModel(PCA(2), head="kernel").tune(dyads_of("links", rng), grid=grid)


@pytest.mark.parametrize(
    "embedding",
    [JDR(), JDR(moments="all"), JDR(n_features_to_select=(3, 3)), PCA(), PHD(), SOLS(), IHT(), SAVE()],
    ids=repr,
)
def test_other_settings_of_a_grid_do_not_matter(rng, embedding):
    """Directions of a smaller number are taken from a larger one only where they are the same."""
    dyads = dyads_of("links", rng)
    model = AssociationModel(embedding, head="kernel", bandwidth=0.4)
    alone = {r: tune_model(model, dyads, {"n_components": [r]}, random_state=0).best_score for r in (1, 3)}
    both = tune_model(model, dyads, {"n_components": [1, 3]}, random_state=0).table
    for r in (1, 3):
        found = both.loc[both["embedding__n_components"] == r, "score"].item()
        assert found == pytest.approx(alone[r], abs=1e-9)


def test_embeddings_are_told_apart(rng):
    dyads = dyads_of("grades", rng)
    model = AssociationModel(SAVE(2), head="kernel", bandwidth=0.4)
    found = tune_model(model, dyads, {"embedding": [SAVE(2), SIR(2)]}, random_state=0).table["score"]
    assert found[0] != found[1]


def test_the_recipe_keeps_to_what_was_chosen(rng):
    dyads = dyads_of("links", rng)
    bilinear = AssociationModel(head="bilinear", random_state=0)
    bilinear.tune(dyads, n_splits=1)
    assert bilinear.head == "bilinear"
    adaptive = AssociationModel(head="kernel", adaptive=4, random_state=0)
    adaptive.tune(dyads, n_splits=1)
    assert (adaptive.adaptive, adaptive.kernel) == (4, "gaussian")
    own = recipe(AssociationModel(head="kernel", kernel="gaussian"), dyads)[0]
    assert own == {"kernel": ["gaussian"]}  # with everything else as it is: the model's own settings are tried first


def test_splits_are_needed(rng):
    with pytest.raises(ValueError, match="n_splits=0"):
        AssociationModel(PCA(2), head="kernel").tune(dyads_of("links", rng), n_splits=0)


def test_memory_of_tuning_keeps_to_a_budget(rng):
    """What is kept for other settings is dropped where it does not fit, and nothing changes by that."""
    dyads = dyads_of("grades", rng)
    grid = {"bandwidth": [(h, k) for h in (0.2, 0.4, 0.8) for k in (0.0, 0.5)]}
    one, other = (
        tune_model(AssociationModel(JDR(2), head="kernel", max_bytes=size), dyads, grid, n_splits=2, random_state=0)
        for size in (5e8, 1e3)
    )
    np.testing.assert_allclose(one.table["score"], other.table["score"], rtol=1e-9)


def test_a_setting_that_cannot_be_fitted_is_left_out(rng):
    dyads, model = dyads_of("links", rng), AssociationModel(JDR(2), head="kernel")
    with pytest.warns(UserWarning, match=r"n_components': 9} is left out, because it cannot be fitted: n_components=9"):
        tuning = model.tune(dyads, grid={"n_components": [2, 9]})
    assert tuning.best_params == {"embedding__n_components": 2}
    np.testing.assert_array_equal(np.isnan(tuning.table["score"]), [False, True])
    assert list(tuning.failures) == ["{'embedding__n_components': 9}"]
    with pytest.raises(ValueError, match="n_components=9 is more than a view has features"):
        model.tune(dyads, grid={"n_components": [9]})

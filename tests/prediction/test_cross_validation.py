"""Dyads in scikit-learn's cross-validation, which splits them by rows, and what `score` is on which pairs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, learning_curve, train_test_split

from jointdr import IMC, JDR, AssociationModel, Dyads, Popularity, load
from jointdr.metrics import expected_recall, rmse


@pytest.fixture
def grades(rng):
    A, B = rng.standard_normal((60, 4)), rng.standard_normal((25, 3))
    return Dyads(A[:, :2] @ B[:, :2].T + 0.2 * rng.standard_normal((60, 25)), A, B)


@pytest.fixture
def associations(grades):
    return Dyads((grades.Y > 1.5).astype(float), grades.A, grades.B)


def test_dyads_are_indexed_by_rows(grades):
    assert len(grades) == grades.shape[0] == 60
    for key, rows in [([3, 5], [3, 5]), (slice(2, 4), [2, 3]), (7, [7]), ((np.array([1, 0]), ...), [1, 0])]:
        assert grades[key].row_ids.tolist() == [str(i) for i in rows]
        np.testing.assert_array_equal(grades[key].Y, grades.Y[rows])
    assert grades[np.arange(60) < 2].shape == (2, 25)
    with pytest.raises(IndexError, match=r"rows only.*dyads.columns"):
        grades[:, 1]
    with pytest.raises(TypeError):
        list(grades)
    with pytest.raises(TypeError, match="no matrix"):
        np.asarray(grades)


@pytest.mark.parametrize(
    "model", [IMC(2), AssociationModel(JDR(2), head="bilinear"), AssociationModel(uses=("rows",), random_state=0)]
)
def test_held_out_rows_are_new_ones(grades, model):
    folds = KFold(3, shuffle=True, random_state=0)
    expected = []
    for train, test in folds.split(grades):
        fitted = model.fit(grades.rows(train))
        expected.append(-rmse(fitted.predict(grades.A[test]), grades.Y[test]))
    found = cross_val_score(model, grades, cv=folds)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert found.mean() > cross_val_score(Popularity(), grades, cv=folds).mean() + 0.2


def test_grid_search_and_its_relatives(grades, associations):
    search = GridSearchCV(IMC(2), {"alpha": [1e-3, 1e5]}, cv=3, n_jobs=2).fit(grades)
    assert search.best_params_ == {"alpha": 1e-3}
    assert search.score(grades) == search.best_estimator_.score(grades)
    assert search.n_features_in_ == 7
    train, test = train_test_split(associations, test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (45, 15)
    assert IMC(2).fit(train).score(test) > Popularity().fit(train).score(test) + 0.1
    sizes, _, scores = learning_curve(IMC(2), grades, None, cv=3, train_sizes=[0.3, 1.0])
    assert scores.shape == (len(sizes), 3)

    def precision(model, X, y=None):
        return model.score(X, criterion="average precision")

    assert (cross_val_score(IMC(2), associations, cv=3, scoring=precision) > 0.6).all()


def test_every_fold_is_judged_by_the_metric_of_the_model(associations, tmp_path):
    """A fold by itself may look like graded scores, for example where most of its pairs are associations."""
    model = IMC(2).fit(associations.rows(slice(0, 50)))
    dense = np.flatnonzero(associations.Y[50:].any(axis=1))[:1] + 50
    one = associations[dense].columns(np.flatnonzero(associations.Y[dense[0]]))
    assert not one.is_implicit
    assert model.score_metric_ == "recall"
    assert 0 <= model.score(one) <= 1
    model.save(tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").score(one) == model.score(one)
    assert pickle.loads(pickle.dumps(model)).score_metric_ == "recall"
    none = associations.replace(Y=np.zeros(associations.shape)).rows(slice(50, 60))
    with pytest.raises(ValueError, match=r"None of these rows has an association.*KFold\(5, shuffle=True"):
        model.score(none)
    with pytest.raises(ValueError, match="criterion='RMSE' is for graded scores"):
        model.score(associations, criterion="RMSE")


def test_the_metric_of_graded_scores(grades):
    model = IMC(2).fit(grades)
    assert model.score_metric_ == "RMSE"
    assert model.score(grades) == pytest.approx(-rmse(model.predict(), grades.Y))
    assert model.score(grades, criterion="concordance") > 0.9


@pytest.mark.parametrize("model", [IMC(2), AssociationModel(JDR(2), head="kernel", bandwidth=0.3), Popularity()])
def test_associations_of_the_fit_are_answers_only_where_there_are_no_others(associations, model):
    model.fit(associations)
    ks = [k for k in (10, 30, 100) if k < 25]
    rows = associations.Y.any(axis=1)
    expected = np.mean([expected_recall(model.predict()[rows], associations.Y[rows] > 0, k) for k in ks])
    assert model.score(associations) == pytest.approx(expected)
    assert expected > 0.3
    i, j = np.argwhere(associations.Y == 0)[np.argmax(model.predict()[associations.Y == 0])]
    more = associations.Y.copy()
    more[i, j] = 1.0  # the best of those that were unknown is the only answer
    assert model.score(Dyads(more, associations.A, associations.B)) == pytest.approx(1.0)


def test_rows_know_their_similarities_to_those_of_the_fit(associations):
    S = np.exp(-((associations.A[:, None] - associations.A[None]) ** 2).sum(axis=2))
    dyads = Dyads(associations.Y, None, associations.B, row_similarity={"chem": S})
    model = AssociationModel(uses=("rows",), random_state=0).fit(dyads[:45])
    expected = model.score(dyads.rows(slice(45, 60)), row_similarity=S[45:, :45])
    assert model.score(dyads[45:]) == model.score(dyads[30:][15:]) == expected
    assert model.score(dyads) == model.score(dyads, row_similarity=S[:, :45])
    with pytest.raises(ValueError, match="fitted with similarities of 'a', 'chem'"):
        model.score(dyads.rows(slice(45, 60)))
    assert np.isfinite(cross_val_score(model, dyads, cv=3)).all()

"""What the baselines are defined to be, and that they have the same calls as the models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import Dyads, Popularity
from jointdr.datasets import kernel_features
from jointdr.evaluation import splits


@pytest.fixture
def dyads(rng):
    Y = (rng.random((30, 12)) < np.linspace(0.05, 0.6, 12)).astype(float)
    return Dyads(sparse.csr_array(Y), rng.standard_normal((30, 4)), rng.standard_normal((12, 3)))


# ---------------------------------------------------------------- popularity


def test_the_score_is_the_mean_of_the_column(dyads, rng):
    model = Popularity().fit(dyads)
    expected = dyads.Y.toarray().mean(axis=0)
    np.testing.assert_allclose(model.predict(), np.tile(expected, (30, 1)))
    np.testing.assert_allclose(model.predict(rng.standard_normal((5, 4))), np.tile(expected, (5, 1)))


def test_only_observed_scores_count(dyads, rng):
    mask = rng.random(dyads.shape) < 0.3
    mask[:, 4] = False
    some = dyads.pairs(mask)
    Y = np.where(mask, dyads.Y.toarray(), np.nan)
    expected = np.array([np.nanmean(Y[:, j]) if mask[:, j].any() else np.nanmean(Y) for j in range(12)])
    np.testing.assert_allclose(Popularity().fit(some).predict()[0], expected)


def test_what_is_new_gets_the_mean_of_what_is_known_of_the_pair(dyads, rng):
    model, Y = Popularity().fit(dyads), dyads.Y.toarray()
    B = rng.standard_normal((2, 3))
    np.testing.assert_allclose(model.predict(B_new=B), np.tile(Y.mean(axis=1)[:, None], (1, 2)))
    np.testing.assert_allclose(model.predict(rng.standard_normal((3, 4)), B), np.full((3, 2), Y.mean()))


def test_it_recommends_what_is_popular_and_not_known(dyads):
    best = Popularity().fit(dyads).recommend(k=2)
    Y = dyads.Y.toarray()
    for i, found in best.groupby("row"):
        unknown = np.where(Y[int(i)] > 0, -1.0, Y.mean(axis=0))
        assert found["column"].tolist() == [str(j) for j in np.argsort(-unknown, kind="stable")[:2]]


def test_a_saved_model_predicts_the_same(dyads, rng, tmp_path):
    model = Popularity().fit(dyads)
    model.save(tmp_path / "model.npz")
    loaded = Popularity.load(tmp_path / "model.npz")
    A, B = rng.standard_normal((5, 4)), rng.standard_normal((2, 3))
    for new in ((None, None), (A, None), (None, B), (A, B)):
        assert np.array_equal(model.predict(*new), loaded.predict(*new))
    pd.testing.assert_frame_equal(model.recommend(), loaded.recommend())


# ---------------------------------------------------------------- features of similarities


def test_inner_products_are_the_similarities(rng):
    X = rng.random((20, 30))
    X /= np.linalg.norm(X, axis=1)[:, None]
    S = X @ X.T
    np.testing.assert_allclose(kernel_features(S) @ kernel_features(S).T, S, atol=1e-10)
    few = kernel_features(S, 3)
    values, V = np.linalg.eigh(S)
    np.testing.assert_allclose(few @ few.T, (V[:, -3:] * values[-3:]) @ V[:, -3:].T, atol=1e-10)


def test_similarities_that_no_features_have_are_replaced_by_the_nearest():
    S = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    values, V = np.linalg.eigh(S)
    assert values[0] < 0
    X = kernel_features(S)
    np.testing.assert_allclose(X @ X.T, (V[:, 1:] * values[1:]) @ V[:, 1:].T, atol=1e-12)
    with pytest.raises(ValueError, match="from 1 to 3"):
        kernel_features(S, 4)
    with pytest.raises(ValueError, match="no positive eigenvalue"):
        kernel_features(np.zeros((2, 2)))


def test_splits_leave_popularity_nothing_to_peek_at(dyads):
    """The mean of a column is that of the fitted rows alone."""
    split = next(splits(dyads, "rows", test_size=0.3, random_state=0))
    scores = Popularity().fit(split.train).predict(split.test.A)
    np.testing.assert_allclose(scores[0], split.train.Y.toarray().mean(axis=0))

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from jointdr import JDR, JDRRegressor, Views
from jointdr.datasets import make_bilinear, make_rbf


@pytest.mark.parametrize(("head", "least"), [("learned", 0.6), ("bilinear", 0.65), ("kernel", 0.4)])
def test_it_predicts_new_rows(head, least):
    X, y, _ = make_bilinear(8000, (12, 8), 2, random_state=0)
    model = JDRRegressor(JDR(2), head=head, random_state=0).fit(X[:6000], y[:6000])
    assert model.score(X[6000:], y[6000:]) > least  # of 2/3 that can be explained
    assert model.predict(X[6000:]).shape == (2000,)


def test_a_learned_head_follows_a_link_that_products_do_not():
    X, y, _ = make_rbf(8000, 8, 2, noise=0.05, random_state=0)
    scores = {}
    for head in ("learned", "bilinear"):
        model = JDRRegressor(JDR(2, moments="all", refine=2, random_state=0), head=head, random_state=0)
        scores[head] = model.fit(X[:6000], y[:6000]).score(X[6000:], y[6000:])
    assert scores["learned"] > scores["bilinear"] + 0.2


def test_searches_and_cross_validation_split_rows():
    X, y, _ = make_bilinear(3000, (8, 6), 2, random_state=0)
    model = JDRRegressor(JDR(), head="bilinear")
    assert cross_val_score(model, X, y, cv=3).mean() > 0.5
    grid = {"embedding__n_components": [1, 2], "head": ["bilinear", "learned"]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_["embedding__n_components"] == 2


@pytest.mark.parametrize("head", ["learned", "bilinear"])
def test_several_responses(rng, head):
    A, B = rng.standard_normal((3000, 5)), rng.standard_normal((3000, 4))
    Y = np.column_stack([A[:, 0] * B[:, 0], A[:, 1] * B[:, 1]]) + 0.1 * rng.standard_normal((3000, 2))
    model = JDRRegressor(JDR(2), head=head).fit((A, B), Y)
    assert model.predict((A, B)).shape == (3000, 2)
    assert model.score((A, B), Y) > 0.9
    with pytest.raises(ValueError, match="head='kernel' predicts one response"):
        JDRRegressor(JDR(2), head="kernel").fit((A, B), Y)


def test_three_views(rng):
    X = tuple(rng.standard_normal((6000, n)) for n in (5, 4, 3))
    y = X[0][:, 0] * X[1][:, 0] * X[2][:, 0] + 0.3 * rng.standard_normal(6000)
    for head in ("learned", "bilinear", "kernel"):
        assert JDRRegressor(JDR(1), head=head).fit(X, y).score(X, y) > 0.5


def test_tables_sparse_weights_and_pickles(rng):
    X, y, _ = make_bilinear(2000, (6, 5), 1, random_state=0)
    A, B = X.arrays
    expected = JDRRegressor(JDR(1)).fit((A, B), y).predict((A, B))
    frames = Views(genes=pd.DataFrame(A), diseases=pd.DataFrame(B))
    np.testing.assert_allclose(JDRRegressor(JDR(1)).fit(frames, pd.Series(y)).predict(frames), expected, atol=1e-8)
    thin = (sparse.csr_array(A), sparse.csr_array(B))
    np.testing.assert_allclose(JDRRegressor(JDR(1)).fit(thin, y).predict(thin), expected, atol=1e-6)
    one = JDRRegressor(JDR(1, views=[slice(0, 6), slice(6, 11)])).fit(np.hstack([A, B]), y)
    np.testing.assert_allclose(one.predict(np.hstack([A, B])), expected, atol=1e-8)
    scaled = JDRRegressor(JDR(1, scale="sqrt").set_output(transform="pandas")).fit((A, B), y)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(scaled)).predict((A, B)), expected, atol=1e-6)
    times = rng.integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), times)
    weighted = JDRRegressor(JDR(1)).fit((A, B), y, sample_weight=times).predict((A, B))
    repeated = JDRRegressor(JDR(1)).fit((A[twice], B[twice]), y[twice]).predict((A, B))
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_the_embedding_may_see_a_transformed_response():
    X, y, _ = make_bilinear(5000, 6, 1, random_state=0)
    model = JDRRegressor(JDR(1, response="rank"), head="bilinear").fit(X, np.exp(y))
    assert model.predict(X).max() > 10  # y itself, not its ranks


def test_clear_errors(data):
    A, B, y = data
    with pytest.raises(ValueError, match="head='linear' is not understood"):
        JDRRegressor(head="linear").fit((A, B), y)
    with pytest.raises(TypeError, match="embedding='jdr' must be a JDR"):
        JDRRegressor("jdr").fit((A, B), y)
    with pytest.raises(NotFittedError):
        JDRRegressor().predict((A, B))
    with pytest.raises(ValueError, match="number"):
        JDRRegressor(JDR(1)).fit((A, B), np.where(y > 2, "p", "q"))


def test_few_rows_and_large_means():
    X, y, _ = make_bilinear(3030, 8, 2, random_state=5)
    for m, r in ((25, 2), (30, 3), (100, 5)):
        model = JDRRegressor(JDR(r)).fit(X[:m], y[:m])
        assert model.score(X[2000:], y[2000:]) > -1.0
    plain = JDRRegressor(JDR(2)).fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    assert JDRRegressor(JDR(2)).fit(X[:2000], y[:2000] + 1e8).score(X[2000:], y[2000:] + 1e8) > plain - 1e-3


def test_names_of_features_are_forgotten_on_a_refit(rng):
    table = pd.DataFrame(rng.standard_normal((50, 3)), columns=["p", "q", "r"])
    model = JDRRegressor(JDR(1, views=[slice(0, 1), slice(1, 3)])).fit(table, table["p"] * table["q"])
    assert list(model.feature_names_in_) == ["p", "q", "r"]
    assert not hasattr(model.fit(table.to_numpy(), table["p"] * table["q"]), "feature_names_in_")


def test_parameters_of_the_default_embedding(rng):
    model = JDRRegressor()
    assert model.get_params()["embedding__n_components"] == 2
    assert "embedding__n_components" not in model.get_params(deep=False)
    assert clone(model).set_params(embedding__n_components=3, head="bilinear").embedding.n_components == 3
    assert model.embedding is None
    assert clone(JDRRegressor().set_params(embedding__ridge=0.5)).get_params()["embedding__ridge"] == 0.5
    assert JDRRegressor(JDR(4)).set_params(embedding=None, embedding__ridge=0.5).embedding.n_components == 2
    with pytest.raises(ValueError, match="Invalid parameter 'ranks'"):
        JDRRegressor().set_params(embedding__ranks=3)
    X = Views(rng.standard_normal((300, 4)), rng.standard_normal((300, 4)))
    y = (X.arrays[0][:, :3] * X.arrays[1][:, :3]).sum(axis=1)
    search = GridSearchCV(JDRRegressor(head="bilinear"), {"embedding__n_components": [1, 3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"embedding__n_components": 3}


def test_names_of_the_features_of_all_views(rng):
    A, B = (
        pd.DataFrame(rng.standard_normal((60, 2)), columns=["p", "q"]),
        pd.DataFrame(rng.random((60, 1)), columns=["p"]),
    )
    y = A["p"] * B["p"]
    model = JDRRegressor(JDR(1)).fit((A, B), y)
    assert list(model.feature_names_in_) == list(model.embedding_.feature_names_in_) == ["p", "q", "p"]
    assert not hasattr(model.fit((A, B.to_numpy()), y), "feature_names_in_")

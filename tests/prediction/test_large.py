"""Questions about very many entities; here few count as many."""

import numpy as np
import pytest
from scipy import sparse

from jointdr import AssociationModel, Dyads, load
from jointdr.prediction.search import large
from jointdr.prediction.search.criterion import judge_predictions


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(large, "LARGEST", 50)
    monkeypatch.setattr(large, "LANDMARKS", 40)


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((90, 5)), rng.standard_normal((40, 4))
    return A, B, A[:, :2] @ B[:, :2].T + 0.1 * rng.standard_normal((90, 40))


def similarities(X, Z):
    return np.exp(-((X[:, None] - Z) ** 2).sum(axis=-1) / (2 * X.shape[1]))


def test_the_model_is_the_one_that_was_judged():
    """Popularity, which no feature knows, is a part of the model, and not only of what was compared."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((400, 10)), rng.standard_normal((150, 8))
    S = A @ rng.standard_normal((10, 8)) @ B.T / 9 + 1.2 * rng.standard_normal(150) - 3
    Y = (rng.random(S.shape) < 1 / (1 + np.exp(-S))).astype(float)
    model = AssociationModel(uses="rows", random_state=0).fit(Y[:300], A[:300], B)
    (choice,) = model.choices_.to_dict("records")
    assert choice["head"] == "Kronecker ridge"
    found = judge_predictions("auto", model.predict(A[300:]), Y[300:])
    popularity = judge_predictions("auto", np.tile(Y[:300].mean(axis=0), (100, 1)), Y[300:])
    assert found > popularity + 0.02
    assert abs(found - choice["held-out score"]) < 0.05


@pytest.mark.parametrize("kind", ["dense", "sparse", "some pairs"])
def test_explanations_sum_to_scores(tables, kind):
    A, B, S = tables
    Y = S if kind == "some pairs" else (S > 1).astype(float)
    observed = np.random.default_rng(1).random(S.shape) < 0.4 if kind == "some pairs" else None
    Y = sparse.csr_array(Y) if kind == "sparse" else Y
    dyads = Dyads(Y, A, B, observed).rows(np.arange(80))
    model = AssociationModel(uses=("rows", "pairs"), random_state=0).fit(dyads)
    assert set(model.choices_["head"]) == {"Kronecker ridge"}
    for given, scores in (("3", model.predict(rows=["3"])), (A[80:81], model.predict(A[80:81]))):
        explained = model.explain(given, "5")
        assert explained.score == pytest.approx(scores[0, 5], abs=1e-4 * np.abs(scores).max())


def test_dense_and_sparse_grids_are_the_same(tables):
    A, B, S = tables
    Y = (S > 1).astype(float)
    models = [AssociationModel(uses="rows", random_state=0).fit(Z, A, B) for Z in (Y, sparse.csr_array(Y))]
    np.testing.assert_allclose(models[0].predict(A[:3]), models[1].predict(A[:3]), atol=1e-9)


def test_new_entities_have_similarities_to_all_known_ones_not_to_landmarks_alone(tables, tmp_path):
    A, B, S = tables
    given = {"row_similarity": similarities(A[:80], A[:80]), "column_similarity": similarities(B, B)}
    model = AssociationModel(random_state=0).fit(Dyads((S[:80] > 1).astype(float), **given))
    new = similarities(A[80:], A[:80])
    scores = model.predict(row_similarity=new)
    assert np.corrcoef(scores.ravel(), S[80:].ravel())[0, 1] > 0.6
    model.save(tmp_path / "model.npz")
    np.testing.assert_allclose(load(tmp_path / "model.npz").predict(row_similarity=new), scores, atol=1e-9)


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_without_any_description_is_predicted_by_effects(tables, side):
    """Landmarks do not describe entities that are similar to themselves alone."""
    A, B, S = tables
    model = AssociationModel(random_state=0).fit(Dyads(S, *((A, None) if side == 0 else (None, B))))
    assert all("effects" in head or "one score" in head for head in model.choices_["head"])
    assert "without features" in str(model.failures_)
    assert np.corrcoef(model.predict().mean(axis=1), S.mean(axis=1))[0, 1] > 0.99


def test_similar_entities_are_found(tables):
    A, B, S = tables
    A[7] = A[3]
    model = AssociationModel(random_state=0).fit((S > 1).astype(float), A, B)
    assert model.similar("3", k=1)["row"].tolist() == ["7"]

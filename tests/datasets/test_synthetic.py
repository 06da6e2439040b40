from __future__ import annotations

import numpy as np
import pytest

from jointdr import datasets
from jointdr.datasets import SyntheticModel


@pytest.mark.parametrize("link", ["bilinear", "rbf", "logistic", "even"])
@pytest.mark.parametrize("block_rows", [1, 100, 1024, 1500, 5000])
def test_blocks_of_any_size_hold_the_same_rows(link, block_rows):
    model = SyntheticModel(link, (7, 5), 2)
    X, y, _ = model.sample(2500 if block_rows > 1 else 1100, random_state=4)
    parts = list(model.blocks(len(y), block_rows, random_state=4))
    assert all(len(part) == block_rows for _, part in parts[:-1])
    np.testing.assert_array_equal(np.concatenate([a for (a, _), _ in parts]), X.arrays[0])
    np.testing.assert_array_equal(np.concatenate([b for (_, b), _ in parts]), X.arrays[1])
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_models_that_share_draws_have_the_rows_of_their_own(dtype):
    models = [
        SyntheticModel("rbf", 6, 2),
        SyntheticModel("bilinear", 6, 3, n_informative=4),
        SyntheticModel("even", 6, 1),
    ]
    for k, model in enumerate(models):
        shared = list(SyntheticModel.shared_blocks(models, 2500, 700, 3, dtype))
        for ((A, B), y), ((A_shared, B_shared), ys) in zip(model.blocks(2500, 700, 3, dtype), shared, strict=True):
            assert A.dtype == dtype
            np.testing.assert_array_equal(A, A_shared)
            np.testing.assert_array_equal(B, B_shared)
            np.testing.assert_array_equal(y, ys[k])
    with pytest.raises(ValueError, match="share draws must agree"):
        next(SyntheticModel.shared_blocks([models[0], SyntheticModel("rbf", 7, 2)], 10, 10))


def test_more_rows_extend_fewer_rows():
    model = SyntheticModel(n_features=4, n_components=2)
    np.testing.assert_array_equal(model.sample(3000, 1).y[:1000], model.sample(1000, 1).y)
    assert not np.array_equal(model.sample(100, 1).y, model.sample(100, 2).y)


def test_bilinear_without_noise_is_the_link():
    (X, y, (U, V)) = datasets.make_odd(500, (6, 4), 3, random_state=2)
    A, B = X.arrays
    np.testing.assert_allclose(y, np.sum((A @ U) * (B @ V), axis=1))
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-12)
    X, y, (U, V) = datasets.make_even(500, 6, 2)
    np.testing.assert_allclose(y, np.sum((X.arrays[0] @ U) ** 2 * (X.arrays[1] @ V) ** 2, axis=1))


def test_conditional_means():
    m = 200_000
    X, y, (U, V) = datasets.make_rbf(m, 3, 1, sigma=2.0)
    mean = np.exp(-((X.arrays[0] @ U - X.arrays[1] @ V) ** 2).sum(axis=1) / 4)
    assert set(np.unique(y)) == {0.0, 1.0}
    assert abs(np.mean((y - mean) * (mean > 0.5))) < 4 / np.sqrt(m)
    assert y.mean() == pytest.approx(mean.mean(), abs=4 / np.sqrt(m))
    X, y, (U, V) = datasets.make_logistic(m, 3, 1, offset=-1.0)
    mean = 1 / (1 + np.exp(1.0 - np.sum((X.arrays[0] @ U) * (X.arrays[1] @ V), axis=1)))
    assert y.mean() == pytest.approx(mean.mean(), abs=4 / np.sqrt(m))


def test_noise_level():
    X, y, (U, V) = datasets.make_bilinear(50_000, 4, 2, noise=3.0)
    residual = y - np.sum((X.arrays[0] @ U) * (X.arrays[1] @ V), axis=1)
    assert residual.std() == pytest.approx(3.0, rel=0.02)


@pytest.mark.parametrize("features", ["gaussian", "uniform", "poisson"])
def test_features_have_mean_0_and_variance_1(features):
    A = datasets.make_bilinear(50_000, 4, 2, features=features).X.arrays[0]
    np.testing.assert_allclose(A.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(A.var(axis=0), 1, atol=0.04)


def test_other_feature_laws():
    uniform = datasets.make_bilinear(2000, 4, 2, features="uniform").X.arrays[0]
    assert np.abs(uniform).max() <= np.sqrt(3)
    poisson = datasets.make_bilinear(2000, 4, 2, features="poisson").X.arrays[0]
    np.testing.assert_array_equal(poisson * 2 + 4, np.round(poisson * 2 + 4))
    binary = datasets.make_bilinear(20_000, 4, 2, features="binary", probability=0.1).X.arrays[0]
    assert set(np.unique(binary)) == {0.0, 1.0}
    assert binary.mean() == pytest.approx(0.1, abs=0.01)
    A, B = datasets.make_bilinear(50_000, 3, 2, correlation=0.25).X.arrays
    correlation = np.corrcoef(A.T, B.T)[:3, 3:]
    np.testing.assert_allclose(correlation, 0.25 * np.eye(3), atol=0.02)


def test_row_sparse_embeddings():
    _, _, (U, V) = datasets.make_bilinear(10, (30, 20), 2, n_informative=(5, 4))
    assert np.count_nonzero(np.any(U != 0, axis=1)) == 5
    assert np.count_nonzero(np.any(V != 0, axis=1)) == 4


def test_float32():
    X = SyntheticModel(n_features=4, n_components=1).sample(10, dtype=np.float32).X
    assert X.arrays[0].dtype == np.float32


@pytest.mark.parametrize(
    "options",
    [
        {"link": "cubic"},
        {"features": "cauchy"},
        {"n_components": 0},
        {"n_features": 3, "n_components": 4},
        {"n_features": 10, "n_components": 4, "n_informative": 3},
        {"correlation": 1.0},
        {"sigma": 0.0},
        {"probability": 2.0},
        {"n_features": (4, 5, 6), "n_components": 1},
        {"n_features": (4, 5), "n_components": 2, "correlation": 0.2},
    ],
)
def test_bad_models(options):
    with pytest.raises(ValueError):
        SyntheticModel(**options)

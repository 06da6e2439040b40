from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from jointdr import KernelRegression, Views


def by_definition(Z, y, queries, h, w=None):
    w = np.ones(len(y)) if w is None else w
    prediction = []
    for query in zip(*queries, strict=True):
        K = w * np.prod(
            [np.exp(-np.sum((z - q) ** 2, axis=1) / (2 * s**2)) for z, q, s in zip(Z, query, h, strict=True)], axis=0
        )
        prediction.append(K @ y / K.sum())
    return np.array(prediction)


@pytest.mark.parametrize("weighted", [False, True])
def test_nadaraya_watson(rng, weighted):
    Z = (rng.standard_normal((50, 3)), rng.standard_normal((50, 2)))
    queries = (rng.standard_normal((7, 3)), rng.standard_normal((7, 2)))
    y, w = rng.standard_normal(50), rng.uniform(0.5, 2, 50) if weighted else None
    model = KernelRegression(bandwidth=(0.7, 1.3)).fit(Z, y, sample_weight=w)
    expected = by_definition(Z, y, queries, (0.7, 1.3), w)
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-10)
    np.testing.assert_allclose(model.predict(Views(*queries)), expected, rtol=1e-10)


def test_blocks_do_not_matter(rng):
    Z, y = rng.standard_normal((300, 3)), rng.standard_normal(300)
    whole = KernelRegression().fit(Z, y)
    blocked = KernelRegression(max_bytes=1).fit(Z, y)
    assert blocked.bandwidth_ == whole.bandwidth_
    np.testing.assert_allclose(blocked.predict(Z), whole.predict(Z), rtol=1e-10)


def test_auto_bandwidth_is_near_the_best_of_a_grid(rng):
    Z = rng.uniform(-2, 2, (1500, 2))
    f = np.sin(3 * Z[:, 0]) + Z[:, 1] ** 2
    y = f + 0.3 * rng.standard_normal(1500)
    test = rng.uniform(-2, 2, (1000, 2))
    truth = np.sin(3 * test[:, 0]) + test[:, 1] ** 2

    def error(model):
        return np.mean((model.fit(Z, y).predict(test) - truth) ** 2)

    best = min(error(KernelRegression(h)) for h in np.geomspace(0.02, 3, 25))
    auto = KernelRegression(random_state=0)
    assert error(auto) < 1.15 * best
    np.testing.assert_allclose(auto.bandwidth_, clone(auto).fit(Z, y).bandwidth_)  # the same rows are left out


def test_far_points_fall_back_to_the_mean(rng):
    Z, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    w = rng.uniform(1, 2, 40)
    model = KernelRegression(0.1).fit(Z, y, sample_weight=w)
    assert model.predict([[1e6, 1e6]])[0] == pytest.approx(np.average(y, weights=w))


def test_constant_rows():
    model = KernelRegression().fit(np.ones((5, 2)), np.arange(5.0))
    assert model.predict(np.ones((1, 2)))[0] == pytest.approx(2.0)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, (1.0, 2.0, 3.0), "scott", (1.0, np.inf)])
def test_bad_bandwidths(rng, bandwidth):
    Z = (rng.standard_normal((10, 2)), rng.standard_normal((10, 2)))
    with pytest.raises(ValueError, match="bandwidth="):
        KernelRegression(bandwidth).fit(Z, np.zeros(10))


def test_bad_queries(rng):
    Z = (rng.standard_normal((10, 2)), rng.standard_normal((10, 3)))
    model = KernelRegression(1.0).fit(Z, np.zeros(10))
    with pytest.raises(ValueError, match="columns"):
        model.predict((Z[1], Z[0]))
    with pytest.raises(ValueError, match="columns"):
        model.predict(Z[0])
    with pytest.raises(ValueError, match="NaN"):
        model.predict((np.full((1, 2), np.nan), np.zeros((1, 3))))


def test_far_from_zero(rng):
    Z, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
    near, far = KernelRegression(0.5).fit(Z, y), KernelRegression(0.5).fit(Z + 1e8, y)
    np.testing.assert_allclose(far.predict(Z + 1e8), near.predict(Z), atol=1e-5)


def test_views_in_any_container(rng):
    Z = [rng.standard_normal((30, 2)), rng.standard_normal((30, 3))]
    y = rng.standard_normal(30)
    expected = KernelRegression(1.0).fit(tuple(Z), y).predict(tuple(Z))
    np.testing.assert_array_equal(KernelRegression(1.0).fit(Z, y).predict(Z), expected)
    named = {"a": Z[0], "b": Z[1]}
    np.testing.assert_array_equal(KernelRegression(1.0).fit(named, y).predict(named), expected)


def test_weights_count_in_the_choice_of_the_bandwidth(rng):
    Z, y = rng.standard_normal((300, 1)), rng.standard_normal(300)
    y[:150] = np.sin(6 * Z[:150, 0])
    smooth = KernelRegression().fit(Z, y, sample_weight=np.repeat([1e-3, 1.0], 150)).bandwidth_
    wavy = KernelRegression().fit(Z, y, sample_weight=np.repeat([1.0, 1e-3], 150)).bandwidth_
    assert wavy[0] < 0.5 * smooth[0]

"""Row and column effects against a direct ridge regression on indicators, and weights that are exact adjoints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from jointdr.prediction.heads.effects import LEAST, Effects
from jointdr.prediction.heads.head import EntitySet

KINDS = ("dense", "stored sparsely", "observed")
SHRINKAGES = ["auto", 3.0, (2.0, 0.5), (np.inf, 1.0), (1.0, np.inf), np.inf]


def scores_of(kind, shape, rng):
    """Scores with effects, their pairs (i, j, y), and whether all pairs count; one row and one column are empty."""
    Y = 5 + rng.normal(size=(shape[0], 1)) + 2 * rng.normal(size=(1, shape[1])) + rng.normal(size=shape)
    if kind == "dense":
        return Y, (*np.indices(shape).reshape(2, -1), Y.ravel()), True
    mask = rng.random(shape) < 0.5
    mask[0], mask[:, 1] = False, False
    if kind == "stored sparsely":
        Y = Y * mask
        return sparse.csr_array(Y), (*np.indices(shape).reshape(2, -1), Y.ravel()), True
    i, j = np.nonzero(mask)
    return sparse.csr_array((Y[mask], (i, j)), shape=shape), (i, j, Y[mask]), False


def direct(pairs, shape, shrinkage):
    """Indicators X, and (XᵀX + Λ)⁻¹ by a dense solve; effects with λ = ∞ are left out."""
    i, j, y = pairs
    m_A, m_B = shape
    X = np.zeros((len(y), 1 + m_A + m_B))
    at = np.arange(len(y))
    X[at, 0] = X[at, 1 + i] = X[at, 1 + m_A + j] = 1
    penalties = np.concatenate([[0.0], np.repeat(shrinkage, shape)])
    kept = np.isfinite(penalties)
    inverse = np.zeros((X.shape[1],) * 2)
    inverse[np.ix_(kept, kept)] = np.linalg.inv(X[:, kept].T @ X[:, kept] + np.diag(penalties[kept]))
    return X, inverse


def total(W, Y):
    return float((W.multiply(Y) if sparse.issparse(W) else W * Y).sum())


@pytest.mark.parametrize("shape", [(9, 6), (5, 11)])
@pytest.mark.parametrize("shrinkage", SHRINKAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_effects_are_a_ridge_regression_on_indicators(rng, kind, shrinkage, shape):
    Y, pairs, complete = scores_of(kind, shape, rng)
    found = Effects.fit(Y, complete, shrinkage)
    X, inverse = direct(pairs, shape, found.shrinkage)
    expected = inverse @ (X.T @ pairs[2])
    np.testing.assert_allclose(np.concatenate([[found.mean], found.rows, found.columns]), expected, atol=1e-10)
    np.testing.assert_allclose(found.squared_error(Y), np.sum((pairs[2] - X @ expected) ** 2), rtol=1e-9)
    L, R = found.factors()
    np.testing.assert_allclose((L @ R.T)[pairs[0], pairs[1]], X @ expected, atol=1e-10)
    if kind == "observed":
        assert found.rows[0] == 0
        assert found.columns[1] == 0


@pytest.mark.parametrize("shape", [(9, 6), (5, 11)])
@pytest.mark.parametrize("shrinkage", SHRINKAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_projections_are_exact_adjoints(rng, kind, shrinkage, shape):
    Y, pairs, complete = scores_of(kind, shape, rng)
    found = Effects.fit(Y, complete, shrinkage)
    for row in (None, 0, 3):
        for column in (None, 1, 4):
            part = found.mean + (0 if row is None else found.rows[row])
            part += 0 if column is None else found.columns[column]
            assert abs(total(found.weights(row, column), Y) - part) < 1e-10
    i, j, y = pairs
    X, inverse = direct(pairs, shape, found.shrinkage)
    left = y - X @ (inverse @ (X.T @ y))
    factors = rng.normal(size=shape)
    if not sparse.issparse(Y):
        projected = found.project_out(factors)
    else:
        sums = (factors.sum(axis=1), factors.sum(axis=0)) if complete else None
        stored = sparse.csr_array((factors[Y.nonzero()], Y.indices, Y.indptr), shape=shape)
        projected = found.project_out(stored, sums)
    assert abs(total(projected, Y) - factors[i, j] @ left) < 1e-10


def test_what_is_left_has_no_effects(rng):
    for kind in ("dense", "observed"):
        Y, _, complete = scores_of(kind, (30, 20), rng)
        left = Effects.fit(Y, complete, LEAST).residuals(Y)
        again = Effects.fit(left, complete, LEAST)
        assert max(abs(again.mean), np.abs(again.rows).max(), np.abs(again.columns).max()) < 1e-3
    Y, _, complete = scores_of("stored sparsely", (30, 20), rng)
    with pytest.raises(ValueError, match=r"use Effects\.factors"):
        Effects.fit(Y, complete).residuals(Y)


def test_shrinkage_is_the_ratio_of_variances(rng):
    m_A, m_B = 600, 400
    r, c = 0.5 * rng.normal(size=(m_A, 1)), 2 * rng.normal(size=(1, m_B))
    Y = 3 + r + c + rng.normal(size=(m_A, m_B))
    mask = rng.random(Y.shape) < np.outer(np.linspace(0.02, 0.5, m_A), np.linspace(0.2, 1, m_B))
    some = sparse.csr_array((Y[mask], np.nonzero(mask)), shape=Y.shape)
    for found in (Effects.fit(Y, True), Effects.fit(some, False)):
        np.testing.assert_allclose(found.shrinkage, (4.0, 0.25), rtol=0.2)
        assert np.mean((found.columns - c[0] + c.mean()) ** 2) < 0.05


def test_shrunken_effects_predict_better(rng):
    Y = rng.normal(size=(300, 1)) + rng.normal(size=(1, 200)) + 2 * rng.normal(size=(300, 200))
    mask = rng.random(Y.shape) < 0.02
    known = sparse.csr_array((Y[mask], np.nonzero(mask)), shape=Y.shape)
    errors = []
    for shrinkage in ("auto", LEAST):
        L, R = Effects.fit(known, False, shrinkage).factors()
        errors.append(np.mean((L @ R.T - Y)[~mask] ** 2))
    assert errors[0] < 0.9 * errors[1]


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_no_effects(seed):
    Y = np.random.default_rng(seed).normal(size=(50, 40))
    found = Effects.fit(Y, True)
    assert min(found.shrinkage) > 20
    assert np.abs(found.rows).max() < 0.5


def test_scores_that_tell_nothing_about_effects(rng):
    constant = Effects.fit(np.full((6, 4), 7.3), True)
    assert constant.shrinkage == (np.inf, np.inf)
    assert abs(constant.mean - 7.3) < 1e-14
    samples = sparse.csr_array(np.diag(rng.normal(size=30)))  # every entity once
    assert Effects.fit(samples, False).shrinkage == (np.inf, np.inf)
    one_row = Effects.fit(rng.normal(size=(1, 9)), True)
    assert one_row.shrinkage == (np.inf, np.inf)
    one_link = Effects.fit(sparse.csr_array(([1.0], ([2], [3])), shape=(5, 5)), False)
    assert (one_link.mean, one_link.rows.any(), one_link.columns.any()) == (1.0, False, False)
    additive = np.add.outer(np.arange(6.0), np.arange(5.0))
    found = Effects.fit(additive, True)
    assert max(found.shrinkage) < 2 * LEAST
    assert np.abs(found.residuals(additive)).max() < 1e-3


def test_each_row_with_one_score_leaves_the_effects_of_columns(rng):
    j = rng.integers(10, size=400)
    c = 2 * rng.normal(size=10)
    Y = sparse.csr_array((c[j] + rng.normal(size=400), (np.arange(400), j)), shape=(400, 10))
    for scores, side in ((Y, 1), (sparse.csr_array(Y.T), 0)):
        found = Effects.fit(scores, False)
        assert np.isinf(found.shrinkage[1 - side])
        assert 0.05 < found.shrinkage[side] < 1.5
        assert np.corrcoef((found.rows, found.columns)[side], c)[0, 1] > 0.99


def test_scores_far_from_zero_lose_no_digits(rng):
    for kind in KINDS[::2]:
        Y, _, complete = scores_of(kind, (30, 20), rng)
        far = Y + 1e8 if kind == "dense" else sparse.csr_array((Y.data + 1e8, Y.indices, Y.indptr), shape=Y.shape)
        one, two = Effects.fit(Y, complete), Effects.fit(far, complete)
        np.testing.assert_allclose(two.rows, one.rows, atol=1e-6)
        np.testing.assert_allclose(two.mean - 1e8, one.mean, atol=1e-6)


def test_new_entities_have_no_effect(rng):
    found = Effects.fit(*scores_of("dense", (9, 6), rng)[::2])
    new, known = EntitySet(2, (np.zeros((2, 3)),)), EntitySet(2, indices=np.array([4, 1]))
    r, c = found.of(new, known)
    np.testing.assert_array_equal(r, [found.mean] * 2)
    np.testing.assert_array_equal(c, found.columns[[4, 1]])
    r, c = found.of(EntitySet(9), new)
    np.testing.assert_array_equal(r, found.mean + found.rows)
    np.testing.assert_array_equal(c, [0, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_saved_effects_are_the_same(rng, kind):
    Y, _, complete = scores_of(kind, (9, 6), rng)
    for shrinkage in ("auto", (np.inf, 2.0)):
        found = Effects.fit(Y, complete, shrinkage)
        again = Effects.from_arrays(found.to_arrays(), (9, 6), complete, Y)
        assert again.shrinkage == found.shrinkage
        assert abs(again.weights(2, 3) - found.weights(2, 3)).max() == 0
    with pytest.raises(ValueError, match="shrunken by"):
        Effects.from_arrays({**found.to_arrays(), "effects.shrinkage": np.array([-1.0, 1.0])}, (9, 6), complete)


@pytest.mark.parametrize("wrong", ["none", -1.0, (1.0, 2.0, 3.0), np.nan, None, (True, 1.0)])
def test_shrinkage_is_checked(wrong):
    with pytest.raises(ValueError, match="shrinkage="):
        Effects.fit(np.eye(3), True, wrong)

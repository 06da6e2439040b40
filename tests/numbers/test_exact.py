"""Moments, whitening, the proxy and the HOSVD against the same formulas in 60 digits.

Tolerances are multiples of ε = 2⁻⁵²: a sum of m rounded products is off by at most m ε of the sum of their sizes, and
what is computed from a covariance by at most its condition number times as much. Data is benign here, with condition
numbers below 100, so that a factor of 1000 leaves room for constants only.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from jointdr import JDR, Moments
from jointdr.directions.normalize import whiteners
from jointdr.directions.options import Options
from jointdr.directions.svd import left_vectors
from tests.numbers import exact
from tests.numbers.exact import EPS, difference, direction_difference

EVERYTHING = {"blocks": ("cross", "within"), "covariance": "full", "cross_covariance": True}
TOLERANCE = 1000 * EPS


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    m = 24
    views = [
        rng.standard_normal((m, n)) @ rng.standard_normal((n, n)) + shift for n, shift in ((4, 1), (3, -20), (3, 0))
    ]
    a, b, c = (X - X.mean(axis=0) for X in views)
    y = a[:, 0] * b[:, 1] + 2 * a[:, 1] * b[:, 0] * c[:, 2] + b[:, 2] + rng.standard_normal(m) + 7
    return views, y, rng.random(m) + 0.2


def cut(views, y, w, sizes):
    """The moments of blocks of these numbers of rows, merged one after the other."""
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    blocks = ([[X[at] for X in views], y[at], None if w is None else w[at]] for at in parts)
    return reduce(Moments.merge, (Moments.of_block(*block, **EVERYTHING) for block in blocks))


@pytest.mark.parametrize("sizes", [[24], [1] * 24, [5, 1, 10, 8]], ids=["whole", "row by row", "blocks"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_every_moment(data, weighted, sizes):
    views, y, w = data
    w = w if weighted else None
    found, expected = cut(views, y, w, sizes).central(), exact.moments(views, y, w)
    for k in range(3):
        assert difference(found.means[k], expected["means"][k]) < TOLERANCE
        assert difference(found.covariance(k), expected["C"][k, k]) < TOLERANCE
        assert difference(found.response_covariance(k)[:, 0], expected["C_y"][k]) < TOLERANCE
        for j in range(k + 1):
            assert difference(found.third(j, k)[0], expected["T"][j, k]) < TOLERANCE
            assert j == k or difference(found.cross_covariance(j, k), expected["C"][j, k]) < TOLERANCE
    assert difference(found.y_mean[0], expected["y_mean"]) < TOLERANCE
    assert difference(found.y_covariance()[0, 0], expected["C_yy"]) < TOLERANCE


@pytest.mark.parametrize("ridge", [0.0, 0.01, "auto"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_whitening(data, weighted, ridge):
    """W of every view, which is determined to the sign: the inverse transposed Cholesky factor."""
    views, y, w = data
    w = w if weighted else None
    moments, expected = Moments.of_block(views, y, w, **EVERYTHING), exact.moments(views, y, w)
    for k, found in enumerate(
        whiteners(moments, Options((1, 1, 1), ridge=ridge, names=tuple("abc"), features=(None,) * 3))
    ):
        Sigma = exact.regularized(expected["C"][k, k], ridge, w, len(y))
        assert difference(found.matrix, exact.whitening(Sigma)) < TOLERANCE


@pytest.mark.parametrize("ridge", [0.0, 0.01, "auto"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_the_proxy_and_its_singular_vectors(data, weighted, ridge):
    views, y, w = data
    w = w if weighted else None
    bases, s = exact.jdr(views[:2], y, 3, w, ridge)
    model = JDR(3, ridge=ridge).fit(views[:2], y, sample_weight=w)
    assert difference(model.singular_values_, s) < TOLERANCE
    for U, expected in zip(model.embeddings_, bases, strict=True):
        # Directions are determined up to the gaps between singular values, which are above a tenth of the first.
        assert direction_difference(U, expected) < 10 * TOLERANCE


@pytest.mark.parametrize("ridge", [0.0, 0.01])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_the_hosvd_of_three_views(data, weighted, ridge):
    views, y, w = data
    w = w if weighted else None
    X, W = exact.proxy_tensor(views, y, w, ridge)
    expected = exact.hosvd(X, (2, 2, 2))
    model = JDR(2, ridge=ridge).fit(tuple(views), y, sample_weight=w)
    for k, (U, s) in enumerate(expected):
        assert difference(model.singular_values_[k], s) < TOLERANCE
        assert direction_difference(model.embeddings_[k], W[k] @ U) < 10 * TOLERANCE


@pytest.mark.parametrize("shape", [(4, 6), (4, 40)], ids=["nearly square", "wide"])
@pytest.mark.parametrize("ratio", [1e-2, 1e-6, 1e-9])
def test_small_singular_values_of_an_unfolding(shape, ratio):
    """Singular values are right to ε of the largest one, and directions to that over their gaps, however small."""
    rng = np.random.default_rng(1)
    P, Q = (np.linalg.qr(rng.standard_normal((n, shape[0])))[0] for n in shape)
    M = (P * np.geomspace(1, ratio, 4)) @ Q.T
    U, s = left_vectors(M, 4)
    expected, values = exact.left_vectors(exact.exact(M), 4)
    assert difference(s, values) < 100 * EPS
    for i in range(4):
        gap = ratio ** (i / 3) / 2
        assert direction_difference(U[:, [i]], expected[:, [i]]) < 100 * EPS / gap

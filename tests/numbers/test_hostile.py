"""Data that costs digits: nearly singular covariances, means far above the spread, columns of very different scales.

Results are compared with the same formulas in 60 digits. Either they are right to a stated tolerance, or a warning says
by how much they may be off, or an error says what to do.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from jointdr import IHT, JDR, OLS, PHD, SAVE, SIR, ConstantFeatureWarning, Moments, RankError, RoundingWarning
from jointdr.directions.normalize import LOST_DIGITS
from tests.numbers import exact
from tests.numbers.exact import EPS, difference, direction_difference

M = 40


def with_condition(condition, seed=0):
    """Views whose covariances have this condition number, and a response that also sees their faint directions."""
    rng = np.random.default_rng(seed)
    z, views = [], []
    for n in (5, 4):
        P, Q = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
        z.append(rng.standard_normal((M, n)))
        views.append(z[-1] @ (P * np.geomspace(1, condition**-0.5, n)) @ Q)
    y = z[0][:, 0] * z[1][:, 1] + 2 * z[0][:, 4] * z[1][:, 3] + 0.1 * rng.standard_normal(M)
    return views, y


def worst(model, bases, values):
    """The largest error of a direction or of a singular value."""
    errors = [direction_difference(U, expected) for U, expected in zip(model.embeddings_, bases, strict=True)]
    return max(*errors, difference(model.singular_values_, values))


@pytest.mark.parametrize("ridge", [1e-3, 1e-6, "auto"])
@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12])
def test_a_ridge_makes_any_condition_number_harmless(condition, ridge):
    """The ridge bounds the condition number by n/ridge, and so the error by that times ε, and some constant."""
    views, y = with_condition(condition)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RoundingWarning)
        model = JDR(2, ridge=ridge).fit(views, y)
    bound = 1e-13 / (1e-3 if ridge == "auto" else ridge)
    assert worst(model, *exact.jdr(views, y, 2, None, ridge)) < bound


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14])
def test_without_a_ridge_what_is_lost_is_said(condition, seed):
    """Errors stay below ε times the condition number of the correlations; above 1e-6 a warning tells of that."""
    views, y = with_condition(condition, seed)
    found = exact.moments(views, y)
    bound = EPS * max(exact.condition(found["C"][k, k]) for k in range(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = JDR(2).fit(views, y)
    assert worst(model, *exact.jdr(views, y, 2)) < 10 * max(bound, 100 * EPS)
    said = [w for w in caught if w.category is RoundingWarning]
    assert all("nearly singular" in str(w.message) and "ridge" in str(w.message) for w in said)
    if bound > 2 * EPS**LOST_DIGITS:
        assert said
    elif bound < EPS**LOST_DIGITS:
        assert not said


@pytest.mark.parametrize(
    "method", [JDR(2, normalize="joint"), OLS(), PHD(2), IHT(2), SIR(1, n_slices=4), SAVE(1, n_slices=2)], ids=str
)
def test_every_method_that_normalizes_says_it(method):
    views, y = with_condition(1e13)
    with pytest.warns(RoundingWarning, match="rounding may change results by .*Give ridge"):
        method.fit(views, y).singular_values_  # noqa: B018
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.set_params(ridge=1e-3).fit(views, y).singular_values_  # noqa: B018


def test_single_precision_says_it_earlier():
    views, y = with_condition(1e2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JDR(2).fit([X.astype(np.float32) for X in views], y)
    views, y = with_condition(3e5)
    with pytest.warns(RoundingWarning):
        JDR(2).fit([X.astype(np.float32) for X in views], y)


def test_many_features_of_single_precision_are_no_reason_to_warn():
    """The cheap bound on the condition number grows with n; what is said is the condition number itself."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((4000, 400), dtype=np.float32) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JDR(2).fit((A, B), A[:, 0] * B[:, 0])


# ---------------------------------------------------------------- means


def with_mean(mean):
    """Data of unit spread about a mean, as rounding leaves it, and the same without the mean, to the last bit."""
    rng = np.random.default_rng(1)
    A, B, e = rng.standard_normal((M, 4)), rng.standard_normal((M, 3)), rng.standard_normal(M)
    y = A[:, 0] * B[:, 1] + 2 * A[:, 1] * B[:, 0] + 0.3 * e
    given = A + mean, B - mean, y + mean
    return given, (given[0] - mean, given[1] + mean, given[2] - mean)


MEANS = [0.0, 1e4, 1e8, 1e12]


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("size", [1, 7, M])
def test_moments_lose_nothing_to_means(mean, size):
    """Reached: 2e-15 of the largest entry, at means of 1e8 and of 1e12 as at 0, however rows are cut."""
    (A, B, y), (A0, B0, y0) = with_mean(mean)
    keep = {"blocks": ("cross", "within")}
    blocks = [slice(i, i + size) for i in range(0, M, size)]
    parts = [Moments.of_block((A[at], B[at]), y[at], **keep) for at in blocks]
    found, expected = sum(parts[1:], parts[0]).central(), exact.moments((A0, B0), y0)
    for (j, k), T in expected["T"].items():
        assert difference(found.third(j, k)[0], T) < 2e-15
    for k in range(2):
        assert difference(found.covariance(k), expected["C"][k, k]) < 2e-15
        assert difference(found.response_covariance(k)[:, 0], expected["C_y"][k]) < 2e-15


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_exact_fits_lose_nothing_to_means(mean, weighted):
    """Reached: 1e-13 in singular values and directions, at means of 1e8 and of 1e12 as at 0."""
    (A, B, y), (A0, B0, y0) = with_mean(mean)
    w = np.random.default_rng(2).random(M) + 0.1 if weighted else None
    bases, values = exact.jdr((A0, B0), y0, 2, w)
    assert worst(JDR(2).fit((A, B), y, sample_weight=w), bases, values) < 1e-13
    streamed = JDR(2)
    for at in (slice(0, 1), slice(1, 10), slice(10, M)):
        streamed.partial_fit((A[at], B[at]), y[at], None if w is None else w[at])
    assert worst(streamed, bases, values) < 1e-13


@pytest.mark.parametrize("mean", MEANS)
def test_means_are_rounded_to_their_own_size(mean):
    """What takes off `means_` afterwards is off by the rounding of these: sketches, coordinates and scores.

    Reached: 10 ε times the mean over the spread, which is 2e-7 at 1e8 (3e-9 measured) and 2e-3 at 1e12 (3e-5 measured).
    """
    (A, B, y), (A0, B0, y0) = with_mean(mean)
    bases, values = exact.jdr((A0, B0), y0, 2)
    tolerance = 10 * EPS * max(mean, 100.0)
    sketched = JDR(2, solver="randomized", n_iter=10, random_state=0).fit((A, B), y)
    assert worst(sketched, bases, values) < max(tolerance, 1e-11)
    model = JDR(2).fit((A, B), y)
    expected = (exact.exact(A0) - exact.moments((A0, B0), y0)["means"][0]) @ bases[0]
    assert direction_difference(model.transform((A, B))[0], expected) < tolerance
    assert model.score((A, B), y) == pytest.approx(JDR(2).fit((A0, B0), y0).score((A0, B0), y0), abs=tolerance)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("mean", [0.0, 1e2, 1e4, 1e6, 1e7, 1e8, 1e12])
def test_sparse_views_say_what_means_cost_them(mean, form):
    """They are folded about 0, which costs ε times the square of the mean over the spread: 1e-8 at 1e4, with a warning
    above 1e-6. From about 1e7 on the spread is below rounding, and features count as constant."""
    (A, B, _), (A0, B0, y0) = with_mean(mean)
    tolerance = max(100 * EPS * mean**2, 1e-13)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = JDR(2).fit((form(A), form(B)), y0)
        except RankError:
            assert any(w.category is ConstantFeatureWarning for w in caught)
            assert mean > 5e6
            return
    assert worst(model, *exact.jdr((A0, B0), y0, 2)) < tolerance
    assert any(w.category is RoundingWarning for w in caught) == (mean > 1e5)


def test_single_precision_at_a_mean():
    """float32 itself holds a spread of 1 to 1e-3 at a mean of 1e4; at 1e8 it holds none, and features are constant."""
    (A, B, y), (A0, B0, y0) = with_mean(1e4)
    model = JDR(2).fit((A.astype(np.float32), B.astype(np.float32)), y)
    assert worst(model, *exact.jdr((A0, B0), y0, 2)) < 5e-3
    rounded = [(X.astype(np.float32).astype(float) - sign * 1e4) for X, sign in ((A, 1), (B, -1))]
    assert worst(model, *exact.jdr(rounded, y0, 2)) < 1e-5
    (A, B, y), _ = with_mean(1e8)
    with pytest.raises(RankError, match="0 directions"), pytest.warns(ConstantFeatureWarning):
        JDR(2).fit((A.astype(np.float32), B.astype(np.float32)), y)


# ---------------------------------------------------------------- scales


@pytest.mark.parametrize("options", [{}, {"ridge": 1e-3}, {"ridge": "auto"}, {"normalize": "feature"}], ids=str)
def test_scales_between_columns(options):
    """Columns of 1e-8 beside columns of 1e8: nothing is lost, because singularity is judged on correlations.

    A ridge is a fraction of the mean variance, so that with it small columns hardly count, and neither do their digits.
    """
    _, (A, B, y) = with_mean(0.0)
    A, B = A * 10.0 ** np.array([8, -8, 0, 3]), B * 10.0 ** np.array([-8, 8, -3])
    ridge = options.get("ridge", 0.0)
    model = JDR(2, **options).fit((A, B), y)
    if "normalize" in options:  # X₀ = D_a T D_b with the deviations alone
        found = exact.moments((A, B), y)
        D = [np.array([1 / exact.mpmath.sqrt(v) for v in np.diag(found["C"][k, k])], dtype=object) for k in range(2)]
        X = D[0][:, None] * found["T"][0, 1] * D[1]
        U, values = exact.left_vectors(X, 2)
        bases = [D[0][:, None] * U, D[1][:, None] * (X.T @ U) / values]
    else:
        bases, values = exact.jdr((A, B), y, 2, None, ridge)
    assert difference(model.singular_values_, values) < 1e-13
    for U, expected in zip(model.embeddings_, bases, strict=True):
        parts = [slice(None)] if ridge else [[i] for i in range(len(U))]  # large features have small loadings
        assert max(direction_difference(U[at], expected[at]) for at in parts) < 1e-12


@pytest.mark.parametrize("scale", [1e-8, 1e8, 1e60])
def test_the_scale_of_the_response(scale):
    _, (A, B, y) = with_mean(0.0)
    bases, values = exact.jdr((A, B), y * scale, 2)
    assert worst(JDR(2).fit((A, B), y * scale), bases, values) < 1e-13

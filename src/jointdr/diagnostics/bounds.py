"""Formulas: the paper's error bounds, the sample sizes that they suggest, and the edges of pure noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from jointdr.runtime import Array, check_flag, check_integer, check_number, is_integer


def bilinear_bound(n_features: int | tuple[int, int], n_components: int, n_samples: float, noise: float = 1.0) -> float:
    """The paper's explicit bound on the subspace error of the bilinear model, 2 √((c + 1) r (n₁ + 2)(n₂ + 2)/m).

    It bounds max(E d(U, Û), E d(V, V̂)), where d is `jointdr.metrics.subspace_error`, for y = aᵀUVᵀb + noise.

    Parameters
    ----------
    n_features : int or pair of ints
        n₁ and n₂.
    n_components : int
        r.
    n_samples : float
        m.
    noise : float
        Standard deviation of y given a and b. The paper's constant is c = noise²/r: it asks for Var(y | a, b) ≤ c r.

    Returns
    -------
    float
        Divide it by √r for a bound on the normalized error `jointdr.metrics.nsee`. Above √r it is trivial, because no
        subspace is further away.

    Notes
    -----
    The remark after Theorem 1. Assumed are a ~ N(0, I) and b ~ N(0, I), independent of each other, U and V with
    orthonormal columns, and no normalization (``normalize=None``). By the lemma that ends its proof, d(U, Û) is at most
    ‖UQVᵀ − ÛΣ̂V̂ᵀ‖_F/σ_r(Q) ≤ 2 ‖X̂₀ − UQVᵀ‖_F/σ_r(Q), and here Q = I. So half of the bound is one on E ‖X̂₀ − UVᵀ‖_F, and
    a close one: the mean of its square is (noise² n₁n₂ + r(n₁ + 2)(n₂ + 2) − r)/m. The loss is in the step to the
    subspace, which counts the noise of all n₁n₂ entries where only that beside U and V matters: a factor of order √n.

    Examples
    --------
    >>> from jointdr.diagnostics import bilinear_bound
    >>> round(bilinear_bound((10, 10), 2, 100_000, noise=1.0), 3)
    0.131
    """
    n1, n2 = _pair(n_features)
    check_integer("n_components", n_components, 1)
    _require_positive(n_samples=n_samples)
    check_number("noise", noise, 0, 1e100, expected="a number >= 0, and at most 1e100")
    return float(2 * np.sqrt((noise**2 + n_components) * (n1 + 2) * (n2 + 2) / n_samples))


class SampleSizes(NamedTuple):
    """Sample sizes that the theorems suggest: for any response, for a light-tailed one, for row-sparse embeddings."""

    general: float
    light_tailed: float
    sparse: float | None


def suggested_samples(
    n_features: int | tuple[int, int],
    *,
    n_informative: int | tuple[int, int] | None = None,
    error: float = 1.0,
    constant: float = 1.0,
    logarithms: bool = True,
) -> SampleSizes:
    """The number of rows m at which each theorem's bound on the subspace error falls to `error`.

    Parameters
    ----------
    n_features : int or pair of ints
        n₁ and n₂.
    n_informative : int, pair of ints or None
        s₁ and s₂, the numbers of features that matter; None for all, and then Theorem 3 does not apply.
    error : float
        The subspace error d(U, Û) to reach, between 0 and √r.
    constant : float
        The constant of O(·) in the bounds: error² ≤ constant · (...)/m. The paper leaves it open. It grows with r and
        with Var(y)/σ_r(Q)², so 1 is a scale to compare with and no guarantee. (`bilinear_bound` has no open constant.)
    logarithms : bool
        Whether the logarithms of Theorem 2 count. They come from its proof; the errors of simulations follow
        √((n₁ + n₂)/m) without them.

    Returns
    -------
    SampleSizes
        ``general``: n₁n₂, Theorem 1, for any response with finite second moments. ``light_tailed``: the solution m of
        m = (n₁ + n₂) log²m log⁴(n₁ + n₂), Theorem 2, for responses with exponential tails, and more than n₁ + n₂.
        ``sparse``: s₁s₂ log n₁ log n₂, Theorem 3, with feature selection (Algorithm 3), n₁, n₂ ≥ 8. All times
        constant/error². Theorem 2 is the best for n → ∞, yet with its logarithms and equal constants Theorem 1 asks for
        fewer rows until n is near 10⁹.

    Examples
    --------
    >>> from jointdr.diagnostics import suggested_samples
    >>> suggested_samples((100, 50)).general
    5000.0
    >>> round(suggested_samples((1000, 1000), n_informative=10).sparse)
    4772
    """
    n1, n2 = _pair(n_features)
    _require_positive(error=error, constant=constant)
    check_flag("logarithms", logarithms)
    factor = constant / error**2
    sparse = None
    if n_informative is not None:
        s1, s2 = _part("n_informative", n_informative, (n1, n2))
        sparse = factor * s1 * s2 * float(np.log(n1) * np.log(n2))
    light = factor * (n1 + n2)
    return SampleSizes(factor * n1 * n2, _solve_log_squared(light, n1 + n2) if logarithms else light, sparse)


def _solve_log_squared(scale: float, n: int) -> float:
    """The largest m with m = scale · log⁴n · log²m, or n if that is more.

    The iteration from above converges: m grows faster than log²m beyond the largest solution.
    """
    scale *= float(np.log(n) ** 4)
    m = max(float(n), math.e, scale * (1.0 + np.log1p(scale)) ** 4)
    for _ in range(200):
        m = max(float(n), math.e, scale * float(np.log(m)) ** 2)
    return m


def noise_edge(
    n_features: int | tuple[int, int],
    n_samples: float,
    deviation: float = 1.0,
    covariances: Sequence[Array] | None = None,
    n_selected: int | tuple[int, int] | None = None,
) -> float:
    """The largest singular value that the proxy would have if y had nothing to do with the features.

    Then X₀ = mean of a′ y′ b′ᵀ has uncorrelated entries of variance Var(y)/m, and a matrix of such entries has largest
    singular value sd(y)(√n₁ + √n₂)/√m, up to fluctuations of relative order n^(−2/3).

    Parameters
    ----------
    n_features : int or pair of ints
        n₁ and n₂; with full normalization, the ranks of the covariances.
    n_samples : float
        m, or with sample weights Kish's effective size (Σw)²/Σw².
    deviation : float
        Standard deviation of y.
    covariances : pair of (n, n) or (n,) arrays, optional
        Covariances (or variances) of the normalized features where these are not the identity: with ``ridge``, with
        correlated features and ``normalize="feature"``, or without normalization. The result is then Chevet's bound
        sd(y)(√(‖Σ_a‖ tr Σ_b) + √(‖Σ_b‖ tr Σ_a))/√m, which is exact for the identity and an upper bound otherwise.
    n_selected : int or pair of ints, optional
        s₁ and s₂, if that many features were selected because they look best (Algorithm 3). The result is then a bound
        for the largest among all choices, sd(y)(√s₁ + √s₂ + √(2 log(number of choices)))/√m; not with `covariances`.

    Notes
    -----
    The same holds beside a signal: y is independent of the features outside of U and V, so the noise there is that of
    pure noise. The formula is for many rows and light tails. At 20 rows per feature, m/(n₁ + n₂), noise reaches 1.15
    times the edge in one of 20 cases; with fewer rows or uneven weights it reaches further: 1.4 times at 1.5 rows per
    feature, and with exponential weights 1.7 times at 10 and 2 to 3 times at 3 and fewer (n = 50, least with full
    normalization). One row stands out alone if its |y| is above about 2 sd(y) √(m/n).
    `jointdr.diagnostics.rank_profile` has a test that does not depend on any of this.
    O(n³) with covariance matrices, otherwise O(n).

    References
    ----------
    S. Chevet. Séries de variables aléatoires gaussiennes à valeurs dans E ⊗̂_ε F. Séminaire sur la géométrie des espaces
    de Banach, 1978.

    Examples
    --------
    >>> from jointdr.diagnostics import noise_edge
    >>> noise_edge((100, 25), 22_500)
    0.1
    """
    n1, n2 = _pair(n_features)
    _require_positive(n_samples=n_samples)
    check_number("deviation", deviation, 0, 1e100, expected="a number >= 0, and at most 1e100")
    if n_selected is not None:
        if covariances is not None:
            raise ValueError("n_selected does not go with covariances: leave one of them out.")
        s1, s2 = _part("n_selected", n_selected, (n1, n2))
        selected = np.sqrt(s1) + np.sqrt(s2) + np.sqrt(2 * (_log_binomial(n1, s1) + _log_binomial(n2, s2)))
        return float(deviation * min(selected, np.sqrt(n1) + np.sqrt(n2)) / np.sqrt(n_samples))
    norm_a, trace_a, norm_b, trace_b = 1.0, float(n1), 1.0, float(n2)
    if covariances is not None:
        (norm_a, trace_a), (norm_b, trace_b) = (_norm_and_trace(np.asarray(C)) for C in covariances)
    return float(deviation * (np.sqrt(norm_b * trace_a) + np.sqrt(norm_a * trace_b)) / np.sqrt(n_samples))


def correlation_edge(n_features: int | tuple[int, int], n_samples: float) -> float:
    """The largest canonical correlation that two independent views show by chance.

    With α = n₁/m and β = n₂/m it is √(α(1 − β)) + √(β(1 − α)) (Wachter, 1980), or 1 where α + β ≥ 1: two subspaces of
    that many dimensions then meet. For m ≫ n it is (√n₁ + √n₂)/√m.

    References
    ----------
    K. W. Wachter. The limiting empirical measure of multiple discriminant ratios. Annals of Statistics 8, 1980.

    Examples
    --------
    >>> from jointdr.diagnostics import correlation_edge
    >>> round(correlation_edge((50, 50), 20_000), 3)
    0.1
    """
    _require_positive(n_samples=n_samples)
    alpha, beta = (n / n_samples for n in _pair(n_features))
    return 1.0 if alpha + beta >= 1 else float(np.sqrt(alpha * (1 - beta)) + np.sqrt(beta * (1 - alpha)))


def _log_binomial(n: int, s: int) -> float:
    return float(gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1))


def _norm_and_trace(C: Array) -> tuple[float, float]:
    """The largest eigenvalue and the sum of all."""
    values = np.linalg.eigvalsh(C) if C.ndim == 2 else C
    return float(np.max(values, initial=0.0)), float(np.sum(values))


def _pair(n: int | tuple[int, int], name: str = "n_features") -> tuple[int, int]:
    pair = tuple(n) if isinstance(n, (tuple, list)) else (n, n)
    if len(pair) != 2 or not all(is_integer(k) and k >= 1 for k in pair):
        raise ValueError(f"{name}={n!r} must be a positive number, or a pair of them, one per view.")
    return int(pair[0]), int(pair[1])


def _part(name: str, s: int | tuple[int, int], n: tuple[int, int]) -> tuple[int, int]:
    """A number of features of each view, not more than there are."""
    s1, s2 = _pair(s, name)
    if s1 > n[0] or s2 > n[1]:
        raise ValueError(f"{name}={s!r} is more than there are features, n_features={n}.")
    return s1, s2


def _require_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        # so that products and squares of them are numbers too
        check_number(name, value, 1e-100, 1e100, expected="positive, and between 1e-100 and 1e100")

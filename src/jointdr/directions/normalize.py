"""Step 1 of Algorithms 1 and 2: the affine maps a → a′, computed from moments alone.

The data is never whitened. With a′ = W_aᵀ(a − µ_a), the proxy of the normalized data is
X₀ = W_aᵀ T_ayb W_b, and an embedding Û′ of a′ is the embedding Û = W_a Û′ of a.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from jointdr.directions.options import Options
from jointdr.moments import Moments
from jointdr.runtime import Array, like, namespace, scale_rows, to_numpy

SMALLEST_VARIANCE = {True: 1e-31, False: 1e-292}
"""Variances below this have lost digits to underflow, in products of single and of double precision."""


LOST_DIGITS = 0.375  # warn where rounding may change results by more than ε to this power: 1e-6, and 3e-3 for float32


class SingularCovarianceWarning(UserWarning):
    """A covariance matrix is singular and was handled in its range."""


class ConstantFeatureWarning(UserWarning):
    """Some features do not vary and get no weight."""


class RoundingWarning(UserWarning):
    """So many digits are lost to rounding that it shows in the result."""


class RankError(ValueError):
    """A view varies in fewer directions than are asked for.

    Attributes
    ----------
    most : int or None
        The number of directions that there are in every view.
    """

    most: int | None = None


@dataclass(frozen=True)
class Whitener:
    """The map a → a′ = Wᵀ(a − µ) of one view.

    Parameters
    ----------
    mean : (n,) array
        µ; zeros if nothing is centred.
    matrix : (n, k) array, (n,) array or None
        W: a matrix (k ≤ n is the rank of the covariance), the diagonal of one, or the identity.
    deviations : (n,) array
        The standard deviation of each feature, 1 where features are not scaled, 0 for constant ones.
    """

    mean: Array
    matrix: Any
    deviations: Array

    @property
    def is_full(self) -> bool:
        return self.matrix is not None and self.matrix.ndim == 2

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1]) if self.is_full else len(self.mean)

    @property
    def rank(self) -> int:
        """The number of directions in which the view varies."""
        return int(self.matrix.shape[1] if self.is_full else np.count_nonzero(self.deviations))

    def pull(self, M: Array) -> Array:
        """Wᵀ M: features to normalized features."""
        if self.matrix is None:
            return M
        return self.matrix[:, None] * M if self.matrix.ndim == 1 else self.matrix.T @ M

    def push(self, U: Array) -> Array:
        """W U: an embedding of the normalized features to one of the features (step 2.3)."""
        if self.matrix is None:
            return U
        return scale_rows(U, self.matrix) if self.matrix.ndim == 1 else self.matrix @ U

    def unitless(self, M: Array) -> Array:
        """D W M: normalized features to original ones in standard deviations."""
        return self.deviations[:, None] * self.push(M) if self.is_full else M


def whiteners(
    moments: Moments, options: Options, central: Moments | None = None, near: Array | None = None
) -> tuple[Whitener, ...]:
    """The normalization of each view (steps 1.1 to 1.4), O(n³) for ``"full"`` and O(n) for ``"feature"``.

    ``"joint"`` has the same maps as ``"full"``: it changes the proxy. Give the moments as they were reduced, not
    centred yet: how far their centre lies from the mean shows which variances are rounding. `central` are the same
    moments about their mean, where these are at hand. Matrices are factored beside the array `near`, if it is given.
    """
    normalize, ridge, names, features = options.normalize, options.ridge, options.names, options.features
    if normalize is None:
        return tuple(Whitener(np.zeros(n), None, np.ones(n)) for n in moments.n_features)
    as_given, moments = moments, moments.central() if central is None else central
    result = []
    for k, (name, mean) in enumerate(zip(names, moments.means, strict=False)):
        variances = np.clip(moments.variances(k), 0, None)
        smallest = SMALLEST_VARIANCE[moments.eps > 1e-10]
        # Of numbers whose squares are 0 the mean still shows that they are there.
        vanished = (variances == 0) & (mean != 0) & (np.abs(mean) < np.sqrt(smallest))
        if np.any(vanished | ((variances > 0) & (variances < smallest))):
            raise ValueError(
                f"view {name!r} has features so small that their squares underflow: rescale them, "
                "for example with sklearn.preprocessing.StandardScaler."
            )
        deviations = np.sqrt(variances)
        # Rounding of the data, and of the sums about the centre that the moments came with (0 for sparse views).
        constant = deviations <= 10 * moments.eps * np.abs(mean)
        rounding = moments.eps * as_given.variances(k)
        constant |= variances <= 100 * rounding
        _warn_of_far_means(rounding[~constant] / variances[~constant], moments.eps, name)
        if constant.any():
            _warn_constant(constant, name, None if k >= len(features) else features[k])
        deviations = np.where(constant, 0.0, deviations)
        Sigma, _ = regularize(moments, k, ridge, constant)
        if normalize == "feature":
            variances = Sigma if Sigma.ndim == 1 else np.diag(Sigma)
            matrix = np.divide(1.0, np.sqrt(variances), out=np.zeros_like(variances), where=~constant)
        elif Sigma.ndim == 1:
            raise ValueError(
                f"normalize={normalize!r} needs full covariances, but these moments hold their diagonal only: "
                "compute them with covariance='full', or use normalize='feature'."
            )
        else:
            matrix = whitening_matrix(Sigma, moments.eps, f"view {name!r}", near)
        result.append(Whitener(mean, matrix, deviations))
    return tuple(result)


def require_rank(maps: Sequence[Whitener], options: Options) -> None:
    """Raise if a view varies in fewer directions than are asked for."""
    for m, name, r in zip(maps, options.names, options.ranks, strict=True):
        if m.rank < r:
            error = RankError(
                f"n_components={r} is more than the {m.rank} directions in which view {name!r} "
                "varies: lower n_components, give more rows, or give ridge to regularize a singular covariance."
            )
            error.most = min(other.rank for other in maps)
            raise error


def regularize(moments: Moments, view: int, ridge: float | Literal["auto"], constant: Array) -> tuple[Array, float]:
    """Σ + ridge · mean variance · I, or OAS's mixture of the two, and the factor of Σ in it.

    ``"auto"`` is the oracle approximating shrinkage of Chen, Wiesel, Eldar and Hero (2010) with the sample
    size replaced by Kish's effective one, (Σw)²/Σw², where rows are weighted. Rows of constant features are zero.
    """
    Sigma = np.asarray(moments.covariance(view))  # an array of its own
    varying = ~constant
    n = int(varying.sum())
    if Sigma.ndim == 1:
        variances = Sigma = np.where(varying, Sigma, 0.0)
    else:
        Sigma[constant, :] = Sigma[:, constant] = 0.0
        variances = np.diag(Sigma)
    if ridge == 0 or n == 0:
        return Sigma, 1.0
    mean_variance = float(variances.sum()) / n
    keep = 1.0
    if ridge == "auto":
        # The mean square of the entries of Σ, in units of the mean variance, whose square may overflow; with the
        # diagonal alone, of that diagonal matrix.
        alpha = float(np.sum((Sigma / mean_variance) ** 2)) / n**2
        size = moments.weight**2 / moments.weight_squared
        denominator = (size + 1.0) * (alpha - 1.0 / n)
        shrinkage = 1.0 if denominator <= 0 else min(1.0, (alpha + 1.0) / denominator)
        keep, added = 1.0 - shrinkage, shrinkage * mean_variance
    else:
        added = float(ridge) * mean_variance
    if not np.isfinite(added):
        raise ValueError(f"ridge={ridge!r} times the mean variance of the features overflows: rescale the features.")
    diagonal = np.where(varying, added, 0.0)
    return keep * Sigma + (diagonal if Sigma.ndim == 1 else np.diag(diagonal)), keep


def _inverse_factor(R: Array, near: Array | None) -> Array:
    """L⁻¹ of R = L Lᵀ, by the library and on the device of `near`; LinAlgError where there is none."""
    if near is None:
        return _lower_inverse(np.linalg.cholesky(R))
    xp = namespace(near)
    try:
        return to_numpy(_lower_inverse(xp.linalg.cholesky(like(R, near, dtype=xp.float64))))
    except RuntimeError as error:  # PyTorch's
        raise np.linalg.LinAlgError(str(error)) from error


def _lower_inverse(L: Array) -> Array:
    """The inverse of a lower triangular matrix, by halves, so that nearly all of it is matrix products."""
    n, xp = L.shape[0], namespace(L)
    if n <= 100:
        return xp.linalg.inv(L)
    top, rest = slice(0, n // 2), slice(n // 2, n)
    inverse = xp.zeros_like(L)
    inverse[top, top], inverse[rest, rest] = _lower_inverse(L[top, top]), _lower_inverse(L[rest, rest])
    inverse[rest, top] = -(inverse[rest, rest] @ (L[rest, top] @ inverse[top, top]))
    return inverse


def whitening_matrix(Sigma: Array, eps: float, what: str, near: Array | None = None) -> Array:
    """W with WᵀΣW = I and W Wᵀ = Σ⁺: the inverse transposed Cholesky factor (step 1.3), (n, k).

    Scaling to correlations first makes the test for singularity independent of units and does not change the
    factor. A singular Σ is handled in its range through an eigendecomposition, with a warning. Where Σ is so nearly
    singular that rounding shows in the result, there is another warning.
    """
    deviations = np.sqrt(np.diag(Sigma))
    varying = np.flatnonzero(deviations > 0)
    n = len(varying)
    if n == 0:
        return np.zeros((len(Sigma), 0))
    scale = 1.0 / deviations[varying]
    R = (Sigma if n == len(Sigma) else Sigma[np.ix_(varying, varying)]) * scale
    R *= scale[:, None]
    tolerance = 10 * np.sqrt(n) * eps
    try:
        # NumPy throughout: the threads of SciPy's BLAS would compete with those of the products before and after.
        inverse = _inverse_factor(R, near)
        reciprocal_condition = 1.0 / float(np.linalg.norm(R, 1) * np.vdot(inverse, inverse))  # a lower bound
    except np.linalg.LinAlgError:
        reciprocal_condition = 0.0
    if reciprocal_condition > tolerance:
        if eps / reciprocal_condition > eps**LOST_DIGITS:
            _warn_of_rounding(_condition(R, inverse), eps, what)
        inverse *= scale
        if n == len(Sigma):
            return inverse.T
        W = np.zeros((len(Sigma), n))
        W[varying] = inverse.T
        return W
    values, E = np.linalg.eigh(R)
    inside = values > tolerance * values[-1]
    if inside.all():
        rank = n
        _warn_of_rounding(float(values[-1] / values[0]), eps, what)
    else:
        rank = int(inside.sum())
        warnings.warn(
            f"The covariance of {what} is singular: {n} varying features span only {rank} directions. It is inverted "
            "in its range; give ridge (a small fraction such as 1e-3, or 'auto') for a regularized inverse.",
            SingularCovarianceWarning,
            stacklevel=2,
        )
    W = np.zeros((len(Sigma), rank))
    W[varying] = scale[:, None] * (E[:, inside] / np.sqrt(values[inside]))
    return W


def _condition(R: Array, inverse: Array) -> float:
    """The condition number of R = LLᵀ, a little less at most, from L⁻¹; O(n²)."""

    def largest(times: Callable[[Array], Array]) -> float:
        v = np.random.default_rng(0).standard_normal(len(R))
        for _ in range(20):
            v = times(v / np.linalg.norm(v))
        return float(np.linalg.norm(v))

    return largest(lambda v: R @ v) * largest(lambda v: inverse.T @ (inverse @ v))


def _warn_of_rounding(condition: float, eps: float, what: str) -> None:
    if condition * eps > eps**LOST_DIGITS:
        warnings.warn(
            f"The covariance of {what} is nearly singular: its correlations have the condition number {condition:.0e}, "
            f"so that rounding may change results by {condition * eps:.0e} of their size. Give ridge (a small fraction "
            "such as 1e-3, or 'auto'), or leave out features that follow from others.",
            RoundingWarning,
            stacklevel=3,
        )


def _warn_of_far_means(rounding: Array, eps: float, name: str) -> None:
    worst = float(np.max(rounding, initial=0.0))
    if worst > eps**LOST_DIGITS:
        warnings.warn(
            f"view {name!r} has means that are large against its spread and was reduced about 0, as sparse views are: "
            f"rounding may change results by {worst:.0e} of their size. Give it dense, or without its means.",
            RoundingWarning,
            stacklevel=3,
        )


def joint_whitening(
    moments: Moments,
    maps: Sequence[Whitener],
    ridge: float | Literal["auto"] = 0.0,
    what: str = "all views together",
) -> Array:
    """W of the joined features x = [a; b; ...]: W Wᵀ = Σ⁺ for the covariance Σ of all of them, O((Σ n_k)³).

    Parameters
    ----------
    moments : Moments
        About the mean, with full covariances and cross covariances.
    maps : sequence of Whitener
        They show which features are constant.
    ridge : float or "auto"
    what : str
        Whose covariance it is, for the warning.

    Returns
    -------
    (Σ n_k, k) array
        k is the rank of Σ.
    """
    views = range(moments.n_views)
    Sigmas, keep = zip(*(regularize(moments, k, ridge, maps[k].deviations == 0) for k in views), strict=True)
    at = [slice(start, end) for start, end in pairwise(np.cumsum([0, *moments.n_features]))]
    Sigma = np.zeros((sum(moments.n_features),) * 2)
    for k in views:
        Sigma[at[k], at[k]] = Sigmas[k]
    for j, k in combinations(views, 2):
        # Shrunk like the covariances on both sides of it, so that the whole stays positive semidefinite.
        C = np.sqrt(keep[j] * keep[k]) * moments.cross_covariance(j, k)
        C = C * np.outer(maps[j].deviations > 0, maps[k].deviations > 0)
        Sigma[at[j], at[k]], Sigma[at[k], at[j]] = C, C.T
    return whitening_matrix(Sigma, moments.eps, what)


def _warn_constant(constant: Array, name: str, features: Array | None) -> None:
    at = np.flatnonzero(constant)
    shown = ", ".join(str(i) if features is None else repr(features[i]) for i in at[:5])
    more = f" and {len(at) - 5} more" if len(at) > 5 else ""
    warnings.warn(
        f"view {name!r} has constant features, which get no weight in the embedding: {shown}{more}.",
        ConstantFeatureWarning,
        stacklevel=2,
    )

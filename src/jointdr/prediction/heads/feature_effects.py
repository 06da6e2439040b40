"""Row and column effects before a bilinear model of features, and effects of new entities by ridge regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jointdr.data import Dyads
from jointdr.prediction.heads.completion import Spectra
from jointdr.prediction.heads.effects import Effects
from jointdr.runtime import Array, as_float, dense, float_dtype, is_sparse

# Penalties that are tried, in units of the mean eigenvalue of the Gram matrix; with ∞ effects are not predicted.
PENALTIES = (*(10.0 ** np.arange(-4, 4)), np.inf)


def without_effects(dyads: Dyads, effects: Effects) -> Dyads:
    """The dyads with what effects leave of the scores; a complete grid that is stored sparsely stays as it is."""
    if dyads.is_complete and is_sparse(dyads.Y):
        return dyads
    return dyads.replace(Y=effects.residuals(dyads.Y))


def subtract_effects(spectra: Spectra, dyads: Dyads, effects: Effects) -> Spectra:
    """The moments of what effects leave of a complete grid that is stored sparsely, from those of its scores.

    With the additive part L Rᵀ of rank 2, Aᵀ(Y − L Rᵀ)B = AᵀYB − (AᵀL)(BᵀR)ᵀ.
    """
    if not (dyads.is_complete and is_sparse(dyads.Y)):
        return spectra
    tables = (as_float(X, float_dtype(X)) for X in (dyads.A, dyads.B))
    L, R = (
        m.T @ np.asarray(dense(X.T @ F), dtype=float)
        for m, X, F in zip(spectra.maps, tables, effects.factors(), strict=True)
    )
    return replace(spectra, T=spectra.T - L @ R.T, y_square=effects.squared_error(dyads.Y))


def predict_effects(spectra: Spectra, k: int, X: Array, values: Array, counts: Array) -> Array:
    """Coefficients u, (n,), of the effects of entities with features x, which are about xᵀu.

    Ridge regression without a constant, because effects sum to about 0; the penalty is chosen by generalized
    cross-validation (Golub, Heath and Wahba, 1979), every entity weighted by its number of known scores. O(n² + |X|).
    """
    alpha = spectra.values[k]
    known = counts > 0
    m = int(np.count_nonzero(known))
    z = spectra.maps[k].T @ np.asarray(X.T @ (counts * values), dtype=float).ravel()
    total = float(np.sum(counts * values**2))
    best, found = np.inf, np.zeros_like(z)
    if not total > 0 or not alpha.max(initial=0.0) > 0:
        return found
    for penalty in PENALTIES:
        shrunken = alpha + penalty * float(alpha.mean())
        freedom = m - float(np.sum(alpha / shrunken))
        if freedom <= 0:
            continue
        left = max(total - float(np.sum(z**2 * (2.0 - alpha / shrunken) / shrunken)), 0.0)
        criterion = left * m / freedom**2
        if criterion < best:
            best, found = criterion, spectra.maps[k] @ (z / shrunken)
    return found

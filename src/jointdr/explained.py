"""How much of the response of other rows the directions of a classical method explain: what its `score` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jointdr.arrays import Array, to_numpy
from jointdr.embedding import Embedding


def linear_share(
    embedding: Embedding, views: Sequence[Array], Y: Array, weight: Array | None = None, joint: bool = False
) -> float:
    """R² of the linear prediction of y from the embedded coordinates, O(m n r).

    Parameters
    ----------
    embedding : Embedding
        With the coefficients of each response in `core`, (q, R).
    views : sequence of (m, n_k) arrays
    Y : (m, q) array
    weight : (m,) array, optional
    joint : bool
        Whether all views predict together; otherwise each does by itself, and the result is their mean.
    """
    Z = [to_numpy(z) for z in embedding.transform(views)]
    total = _variance(Y, weight)
    predictions = [z @ C.T for z, C in zip(Z, _per_view(embedding), strict=True)]
    if joint:
        predictions = [sum(predictions)]
    left = [_mean_square(Y - embedding.y_mean - prediction, weight) for prediction in predictions]
    return float(1.0 - np.mean(left) / total)


def quadratic_share(embedding: Embedding, views: Sequence[Array], Y: Array, weight: Array | None = None) -> float:
    """The share of y's variance that the quadratic prediction ½ zᵀM̂z explains, with M̂ = E[(y − µ) z zᵀ] of rank r.

    (2⟨M_new, M̂⟩ − ‖M̂‖²)/(2 Var(y)): largest for the M̂ nearest to its expectation, and the share itself for Gaussian
    features, where ½(zᵀM̂z − tr M̂) is the second-order term of y. The mean over views that are fitted separately.
    O(m (n r + q r²)).

    Parameters
    ----------
    embedding : Embedding
        With M̂ between the coordinates in `core`, (q, R, R).
    views : sequence of (m, n_k) arrays
    Y : (m, q) array
    weight : (m,) array, optional
    """
    M = embedding.core
    if embedding.probes is None:
        Z = np.hstack([to_numpy(z) for z in embedding.transform(views)])
    else:
        Z = joint_coordinates(embedding, views)
    total = _variance(Y, weight)
    # Without the trace, a mean of y that is not quite the training rows' would count as signal.
    prediction = np.einsum("mi,qij,mj->mq", Z, M, Z, optimize=True) - np.trace(M, axis1=1, axis2=2)
    product = np.average((Y - embedding.y_mean) * prediction, axis=0, weights=weight).sum()
    fits = 1 if embedding.probes is not None else len(views)
    return float((2 * product - np.sum(M**2)) / (2 * total * fits))


def joint_coordinates(embedding: Embedding, views: Sequence[Array], exponent: float = 0.0) -> Array:
    """Dᵀ([a; b] − µ) for the joint directions D that `probes` holds, times their spectrum^exponent; (m, R)."""
    assert embedding.probes is not None
    D = np.hstack(embedding.probes)
    if exponent:
        D = D * joint_spectrum(embedding) ** exponent
    ends = np.cumsum([len(mean) for mean in embedding.means])[:-1]
    parts = replace(embedding, bases=tuple(np.split(D, ends))).transform(views)
    return sum(to_numpy(z) for z in parts)


def joint_spectrum(embedding: Embedding) -> Array:
    """How much each joint direction counts: the length of its column of M̂ over all responses, (R,)."""
    return np.sqrt(np.sum(embedding.core**2, axis=(0, 1)))


def _per_view(embedding: Embedding) -> list[Array]:
    return np.split(embedding.core, np.cumsum([len(s) for s in embedding.spectra])[:-1], axis=1)


def _variance(Y: Array, weight: Array | None) -> float:
    """The variance of all responses together, which must not be 0."""
    if not np.ptp(Y if weight is None else Y[weight > 0], axis=0).any():
        raise ValueError("y is constant, so there is nothing to score.")
    return _mean_square(Y - np.average(Y, axis=0, weights=weight), weight)


def _mean_square(E: Array, weight: Array | None) -> float:
    return float(np.average(E**2, axis=0, weights=weight).sum())

"""How much of the response of other rows the directions of a classical method explain: what its `score` is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdr.directions import Embedding
from jointdr.engines import RowBlock, Rows
from jointdr.runtime import Array, to_numpy


def linear_share(embedding: Embedding, rows: Rows, joint: bool = False) -> float:
    """R² of the linear prediction of y from the embedded coordinates, O(m n r).

    Parameters
    ----------
    embedding : Embedding
        With the coefficients of each response in `core`, (q, R).
    rows : Rows
    joint : bool
        Whether all views predict together; otherwise each does by itself, and the result is their mean.
    """
    total, left = _shares(rows, _LinearSums(embedding, rows.y_mean(), joint))
    return float(1.0 - np.mean(left) / total)


def quadratic_share(embedding: Embedding, rows: Rows) -> float:
    """The share of y's variance that the quadratic prediction ½ zᵀM̂z explains, with M̂ = E[(y − µ) z zᵀ] of rank r.

    (2⟨M_new, M̂⟩ − ‖M̂‖²)/(2 Var(y)): largest for the M̂ nearest to its expectation, and the share itself for Gaussian
    features, where ½(zᵀM̂z − tr M̂) is the second-order term of y. The mean over views that are fitted separately.
    O(m (n r + q r²)).

    Parameters
    ----------
    embedding : Embedding
        With M̂ between the coordinates in `core`, (q, R, R).
    rows : Rows
    """
    total, product = _shares(rows, _QuadraticSums(embedding, rows.y_mean()))
    fits = 1 if embedding.probes is not None else len(embedding.bases)
    return float((2 * product - np.sum(embedding.core**2)) / (2 * total * fits))


def _shares(rows: Rows, of_block: Callable[[RowBlock], tuple[Array, ...]]) -> tuple[Array, Array]:
    """The variance of all responses together, which must not be 0, and the mean of what else a block adds."""
    if not rows.varies():
        raise ValueError("y is constant, so there is nothing to score.")
    weight, total, sums = rows.accumulate(of_block)
    return total / weight, sums / weight


@dataclass(frozen=True)
class _LinearSums:
    """Σ w, Σ w (y − centre)², and Σ w (y − prediction)² for each view, or for all together."""

    embedding: Embedding
    centre: Array
    joint: bool

    def __call__(self, block: RowBlock) -> tuple[Array, Array, Array]:
        Z = [to_numpy(z) for z in self.embedding.transform(block.views)]
        predictions = [z @ C.T for z, C in zip(Z, _per_view(self.embedding), strict=True)]
        if self.joint:
            predictions = [sum(predictions)]
        w = np.ones(len(block)) if block.weight is None else block.weight
        left = [w @ (block.y - self.embedding.y_mean - prediction) ** 2 for prediction in predictions]
        return np.asarray(w.sum()), (w @ (block.y - self.centre) ** 2).sum(), np.array([e.sum() for e in left])


@dataclass(frozen=True)
class _QuadraticSums:
    """Σ w, Σ w (y − centre)², and Σ w (y − µ) zᵀM̂z without its mean."""

    embedding: Embedding
    centre: Array

    def __call__(self, block: RowBlock) -> tuple[Array, Array, Array]:
        M = self.embedding.core
        if self.embedding.probes is None:
            Z = np.hstack([to_numpy(z) for z in self.embedding.transform(block.views)])
        else:
            Z = joint_coordinates(self.embedding, block.views)
        # Without the trace, a mean of y that is not quite the training rows' would count as signal.
        prediction = np.einsum("mi,qij,mj->mq", Z, M, Z, optimize=True) - np.trace(M, axis1=1, axis2=2)
        w = np.ones(len(block)) if block.weight is None else block.weight
        product = (w @ ((block.y - self.embedding.y_mean) * prediction)).sum()
        return np.asarray(w.sum()), (w @ (block.y - self.centre) ** 2).sum(), product


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

"""Scores: how much of the response of other rows a fitted embedding explains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jointdr.directions import Embedding, Linear, Multilinear, Quadratic
from jointdr.engines import RowBlock, Rows
from jointdr.runtime import Array, as_float, float_dtype, like, scale_rows, sum_of_squares, to_numpy

CONSTANT = "y is constant, so there is nothing to score."


def proxy_criterion(embedding: Embedding, rows: Rows) -> float:
    """How well the proxy of other data is predicted: (2⟨X_new, X̂⟩ − ‖X̂‖²)/Var(y), with X̂ = ÛΣV̂ᵀ.

    It is largest for the X̂ nearest to the expected proxy. For independent normalized features it is the share
    of y's variance that the multilinear prediction µ_y + a′ᵀX̂b′ explains. X_new is not formed: its product with
    X̂ is a sum over rows of the embedded views, O(m n r). Features that are not normalized are counted in units of
    their own root mean square.
    """
    prediction = embedding.prediction
    assert isinstance(prediction, Multilinear)
    centre = rows.y_mean() if prediction.centred else np.zeros(rows.n_responses)
    sums = rows.accumulate(_CriterionSums(embedding, prediction, centre), int(np.prod(prediction.core.shape)))
    weight, total, product, *sizes = sums
    variance = float(total.sum() / weight)
    if not variance > 0:
        raise ValueError(CONSTANT)
    if not prediction.centred:
        widths = [len(mean) for mean in embedding.means]
        variance = variance * float(np.prod([s / (weight * n) for s, n in zip(sizes, widths, strict=True)]))
    return float((2 * product.sum() / weight - prediction.sum_of_squares) / variance)


def linear_share(embedding: Embedding, rows: Rows, joint: bool = False) -> float:
    """R² of the linear prediction of y from the embedded coordinates, O(m n r).

    All views predict together if `joint`; otherwise each does by itself, and the result is their mean.
    """
    assert isinstance(embedding.prediction, Linear)
    total, left = _shares(rows, _LinearSums(embedding, embedding.prediction, rows.y_mean(), joint))
    return float(1.0 - np.mean(left) / total)


def quadratic_share(embedding: Embedding, rows: Rows) -> float:
    """The share of y's variance that the quadratic prediction ½ zᵀM̂z explains, with M̂ = E[(y − µ) z zᵀ] of rank r.

    (2⟨M_new, M̂⟩ − ‖M̂‖²)/(2 Var(y)): largest for the M̂ nearest to its expectation, and the share itself for Gaussian
    features, where ½(zᵀM̂z − tr M̂) is the second-order term of y. The mean over views that are fitted separately.
    O(m (n r + q r²)).
    """
    prediction = embedding.prediction
    assert isinstance(prediction, Quadratic)
    total, product = _shares(rows, _QuadraticSums(embedding, prediction, rows.y_mean()))
    fits = 1 if prediction.directions is not None else len(embedding.bases)
    return float((2 * product - np.sum(prediction.core**2)) / (2 * total * fits))


def _shares(rows: Rows, of_block: Callable[[RowBlock], tuple[Array, ...]]) -> tuple[Array, Array]:
    """The variance of all responses together, which must not be 0, and the mean of what else a block adds."""
    if not rows.varies():
        raise ValueError(CONSTANT)
    weight, total, sums = rows.accumulate(of_block)
    return total / weight, sums / weight


@dataclass(frozen=True)
class _CriterionSums:
    """A block's part of the criterion: Σ w, Σ w (y − centre)², Σ w (y − µ) prediction, and Σ w x² of each view."""

    embedding: Embedding
    prediction: Multilinear
    centre: Array

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        w = np.ones(len(block)) if block.weight is None else block.weight
        product = w @ ((block.y - self.prediction.y_mean) * self.embedding.predict(block.views))
        sizes = () if self.prediction.centred else tuple(_weighted_squares(X, block.weight) for X in block.views)
        return np.asarray(w.sum()), w @ (block.y - self.centre) ** 2, product, *sizes


def _weighted_squares(X: Array, weight: Array | None) -> Array:
    """Σ w x² over all rows and features."""
    X = as_float(X, float_dtype(X))
    if weight is not None:
        X = scale_rows(X, like(np.sqrt(weight), X))
    return np.asarray(to_numpy(sum_of_squares(X)), dtype=float).sum()


@dataclass(frozen=True)
class _LinearSums:
    """Σ w, Σ w (y − centre)², and Σ w (y − prediction)² for each view, or for all together."""

    embedding: Embedding
    prediction: Linear
    centre: Array
    joint: bool

    def __call__(self, block: RowBlock) -> tuple[Array, Array, Array]:
        Z = [to_numpy(z) for z in self.embedding.transform(block.views)]
        per_view = np.split(self.prediction.core, np.cumsum(self.embedding.ranks)[:-1], axis=1)
        predictions = [z @ C.T for z, C in zip(Z, per_view, strict=True)]
        if self.joint:
            predictions = [sum(predictions)]
        w = np.ones(len(block)) if block.weight is None else block.weight
        left = [w @ (block.y - self.prediction.y_mean - prediction) ** 2 for prediction in predictions]
        return np.asarray(w.sum()), (w @ (block.y - self.centre) ** 2).sum(), np.array([e.sum() for e in left])


@dataclass(frozen=True)
class _QuadraticSums:
    """Σ w, Σ w (y − centre)², and Σ w (y − µ) zᵀM̂z without its mean."""

    embedding: Embedding
    prediction: Quadratic
    centre: Array

    def __call__(self, block: RowBlock) -> tuple[Array, Array, Array]:
        M, D = self.prediction.core, self.prediction.directions
        if D is None:
            Z = np.hstack([to_numpy(z) for z in self.embedding.transform(block.views)])
        else:
            Z = self.embedding.transform_jointly(block.views, D)
        # Without the trace, a mean of y that is not quite the training rows' would count as signal.
        prediction = np.einsum("mi,qij,mj->mq", Z, M, Z, optimize=True) - np.trace(M, axis1=1, axis2=2)
        w = np.ones(len(block)) if block.weight is None else block.weight
        product = (w @ ((block.y - self.prediction.y_mean) * prediction)).sum()
        return np.asarray(w.sum()), (w @ (block.y - self.centre) ** 2).sum(), product

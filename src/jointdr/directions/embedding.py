"""Embedding: the fitted linear maps, one per view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdr.engines import RowBlock, Rows, block_rows
from jointdr.runtime import (
    Array,
    as_float,
    float_dtype,
    is_sparse,
    like,
    namespace,
    require_mapped,
    scale_rows,
    slices,
    sum_of_squares,
    to_numpy,
)


@dataclass(frozen=True)
class Embedding:
    """Fitted linear maps, one per view: z = Uᵀ(a − µ).

    Attributes
    ----------
    bases : tuple of (n_k, r_k) arrays
        The paper's Û and V̂.
    spectra : tuple of (r_k,) arrays
        The singular values that belong to the directions of each view, decreasing. With two views and one response all
        are the same: Σ̂′ of step 2.2.
    core : (q, r_1, ..., r_K) array
        The proxy between the directions, for each component of the response; diagonal with two views and one response.
    means : tuple of (n_k,) arrays
        µ_a, µ_b; zeros if nothing is centred.
    y_mean : (q,) array
        µ_y; 0 if nothing is centred.
    support : tuple of (n_k,) boolean arrays
        Which features take part.
    centred : bool
        Whether y was centred before the proxy was taken.
    probes : tuple of (Σ n_k, r_k) arrays or None
        For ``normalize="joint"``: the maps of the joined views that read the proxy off other data.
    pairs : mapping of (j, k) to (q, r_j, r_k) arrays, or None
        With three and more views and ``moments="all"``: the cross moments of two views each between the directions.
    """

    bases: tuple[Array, ...]
    spectra: tuple[Array, ...]
    core: Array
    means: tuple[Array, ...]
    y_mean: Array
    support: tuple[Array, ...]
    centred: bool = True
    probes: tuple[Array, ...] | None = None
    pairs: Mapping[tuple[int, int], Array] | None = None

    def transform(self, views: Sequence[Array], exponent: float = 0.0) -> tuple[Array, ...]:
        """Uᵀ(a − µ) of every row of every view, times Σ^exponent; O(m n r)."""
        return tuple(
            projected(X, mean, scaled(U, s, exponent))
            for X, mean, U, s in zip(views, self.means, self.bases, self.spectra, strict=True)
        )

    @property
    def is_finite(self) -> bool:
        """Whether nothing has overflowed on the way to it."""
        return all(np.isfinite(M).all() for M in (*self.bases, *self.spectra, *self.means, self.core, self.y_mean))

    def criterion(self, rows: Rows) -> float:
        """How well the proxy of other data is predicted: (2⟨X_new, X̂⟩ − ‖X̂‖²)/Var(y), with X̂ = ÛΣV̂ᵀ.

        It is largest for the X̂ nearest to the expected proxy. For independent normalized features it is the share
        of y's variance that the multilinear prediction µ_y + a′ᵀX̂b′ explains. X_new is not formed: its product with
        X̂ is a sum over rows of the embedded views, O(m n r). Features that are not normalized are counted in units of
        their own root mean square.
        """
        centre = rows.y_mean() if self.centred else np.zeros(rows.n_responses)
        weight, total, product, *sizes = rows.accumulate(_CriterionSums(self, centre), int(np.prod(self.core.shape)))
        variance = float(total.sum() / weight)
        if not variance > 0:
            raise ValueError("y is constant, so there is nothing to score.")
        squares = float(np.sum(self.core**2)) + sum(float(np.sum(X**2)) for X in (self.pairs or {}).values())
        if not self.centred:
            widths = [len(mean) for mean in self.means]
            variance = variance * float(np.prod([s / (weight * n) for s, n in zip(sizes, widths, strict=True)]))
        return float((2 * product.sum() / weight - squares) / variance)

    def prediction(self, views: Sequence[Array]) -> Array:
        """The multilinear prediction a′ᵀX̂b′ of each row, (m, q), without the mean."""
        Z = [to_numpy(z) for z in (self.transform(views) if self.probes is None else self._probed(views))]
        result = np.tensordot(Z[0], self.core, axes=(1, 1))  # (m, q, r_2, …)
        for z in Z[1:]:
            result = np.einsum("mqa...,ma->mq...", result, z)
        for (j, k), X in (self.pairs or {}).items():
            result = result + np.einsum("qab,ma,mb->mq", X, Z[j], Z[k], optimize=True)
        return result

    def select(self, at: Sequence[Array]) -> Embedding:
        """The embedding of the features of these numbers."""
        return replace(
            self,
            bases=tuple(U[i] for U, i in zip(self.bases, at, strict=True)),
            means=tuple(m[i] for m, i in zip(self.means, at, strict=True)),
            support=tuple(mask[i] for mask, i in zip(self.support, at, strict=True)),
            probes=None,
        )

    def expanded(self, at: Sequence[Array], means: Sequence[Array]) -> Embedding:
        """The embedding of all features, with zeros for those that are not among these numbers."""
        sizes = [len(m) for m in means]
        starts = np.cumsum([0, *sizes])[:-1]
        everywhere = np.concatenate([start + i for start, i in zip(starts, at, strict=True)])
        return replace(
            self,
            bases=tuple(_spread(U, i, n) for U, i, n in zip(self.bases, at, sizes, strict=True)),
            means=tuple(means),
            support=tuple(_spread(mask, i, n) for mask, i, n in zip(self.support, at, sizes, strict=True)),
            probes=None if self.probes is None else tuple(_spread(P, everywhere, sum(sizes)) for P in self.probes),
        )

    def _probed(self, views: Sequence[Array]) -> list[Array]:
        ends = np.cumsum([len(m) for m in self.means])[:-1]
        assert self.probes is not None
        return [
            sum(projected(X, m, part) for X, m, part in zip(views, self.means, np.split(P, ends), strict=True))
            for P in self.probes
        ]


def scaled(U: Array, s: Array, exponent: float) -> Array:
    """U Σ^exponent; a direction without weight gets none by a negative power either."""
    if not exponent:
        return U
    return U * np.power(s, exponent, out=np.zeros_like(s), where=s > 0)


def _spread(part: Array, at: Array, n: int) -> Array:
    whole = np.zeros((n, *part.shape[1:]), dtype=part.dtype)
    whole[at] = part
    return whole


def signs_of(loadings: Array) -> Array:
    """The sign of the largest entry of each column: directions are turned by it, as scikit-learn's `svd_flip` does."""
    largest = loadings[np.argmax(np.abs(loadings), axis=0), np.arange(loadings.shape[1])]
    return np.where(largest < 0, -1.0, 1.0)


@dataclass(frozen=True)
class _CriterionSums:
    """What one block adds to the criterion: Σ w, Σ w (y − centre)², Σ w (y − µ) prediction, and Σ w x² of each view."""

    embedding: Embedding
    centre: Array

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        w = np.ones(len(block)) if block.weight is None else block.weight
        product = w @ ((block.y - self.embedding.y_mean) * self.embedding.prediction(block.views))
        sizes = () if self.embedding.centred else tuple(_weighted_squares(X, block.weight) for X in block.views)
        return np.asarray(w.sum()), w @ (block.y - self.centre) ** 2, product, *sizes


def _weighted_squares(X: Array, weight: Array | None) -> Array:
    """Σ w x² over all rows and features."""
    X = as_float(X, float_dtype(X))
    if weight is not None:
        X = scale_rows(X, like(np.sqrt(weight), X))
    return np.asarray(to_numpy(sum_of_squares(X)), dtype=float).sum()


def projected(X: Array, mean: Array, U: Array) -> Array:
    """(X − µ)U, block by block; sparse X is centred implicitly."""
    dtype = float_dtype(X)
    if is_sparse(X):
        return np.asarray(X @ U - mean @ U, dtype=dtype)
    U = like(U, X, dtype)
    mean = like(mean, X, dtype)
    parts = []
    for at in slices(X.shape[0], block_rows((X,))):
        require_mapped(X)
        parts.append((as_float(X[at, :], dtype) - mean) @ U)
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts, axis=0)

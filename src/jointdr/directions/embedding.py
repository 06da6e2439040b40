"""Embedding: the fitted linear maps, one per view (step 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdr.directions.normalize import Whitener
from jointdr.directions.predictions import Multilinear, Prediction
from jointdr.engines import block_rows
from jointdr.runtime import Array, as_float, float_dtype, is_sparse, like, namespace, require_mapped, slices, to_numpy

Factor = tuple[Array, Array]
"""Directions of the normalized features of a view, (k, r), and their singular values, (r,)."""


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
    means : tuple of (n_k,) arrays
        µ_a, µ_b; zeros if nothing is centred.
    support : tuple of (n_k,) boolean arrays
        Which features take part.
    prediction : Multilinear, Linear, Quadratic or None
        Of y from the coordinates; None where a method has none.
    """

    bases: tuple[Array, ...]
    spectra: tuple[Array, ...]
    means: tuple[Array, ...]
    support: tuple[Array, ...]
    prediction: Prediction | None = None

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(len(s) for s in self.spectra)

    @property
    def is_finite(self) -> bool:
        """Whether nothing has overflowed on the way to it."""
        held = () if self.prediction is None else (self.prediction.core, self.prediction.y_mean)
        return all(np.isfinite(M).all() for M in (*self.bases, *self.spectra, *self.means, *held))

    def transform(self, views: Sequence[Array], exponent: float = 0.0) -> tuple[Array, ...]:
        """Uᵀ(a − µ) of every row of every view, times Σ^exponent; O(m n r)."""
        return tuple(self.transform_view(k, X, exponent) for k, X in enumerate(views))

    def transform_view(self, k: int, X: Array, exponent: float = 0.0) -> Array:
        """The same for the rows of view k alone."""
        U, s = self.bases[k], self.spectra[k]
        if exponent:  # a direction without weight gets none by a negative power either
            U = U * np.power(s, exponent, out=np.zeros_like(s), where=s > 0)
        return project(X, self.means[k], U)

    def transform_jointly(self, views: Sequence[Array], D: Array) -> Array:
        """Dᵀ([a; b] − µ) for directions D of all features together, (Σ n_k, R): (m, R)."""
        parts = np.split(D, np.cumsum([len(mean) for mean in self.means])[:-1])
        return sum(to_numpy(project(X, mean, P)) for X, mean, P in zip(views, self.means, parts, strict=True))

    def predict(self, views: Sequence[Array]) -> Array:
        """The multilinear prediction a′ᵀX̂b′ of each row, (m, q), without the mean."""
        assert isinstance(self.prediction, Multilinear)
        probes = self.prediction.probes
        if probes is None:
            return self.prediction.of([to_numpy(z) for z in self.transform(views)])
        return self.prediction.of([self.transform_jointly(views, P) for P in probes])

    def truncate(self, r: int) -> Embedding:
        """The embedding with the first r directions of every view only."""
        return replace(
            self,
            bases=tuple(U[:, :r] for U in self.bases),
            spectra=tuple(s[:r] for s in self.spectra),
            prediction=None if self.prediction is None else self.prediction.truncate(self.ranks, r),
        )

    def compose(self, maps: Sequence[Array | None]) -> Embedding:
        """The embedding of the tables X whose products X W it is one of, with W of full column rank; None for X itself.

        Of all means with these products it has those in the span of W. The prediction keeps what it knows of the
        coordinates alone.
        """
        bases = tuple(U if W is None else W @ U for W, U in zip(maps, self.bases, strict=True))
        sides = zip(maps, self.means, strict=True)
        means = tuple(m if W is None else W @ np.linalg.solve(W.T @ W, m) for W, m in sides)
        support = tuple(s if W is None else W[:, s].any(axis=1) for W, s in zip(maps, self.support, strict=True))
        prediction = self.prediction
        if isinstance(prediction, Multilinear):
            prediction = replace(prediction, probes=None, pairs=None)
        return replace(self, bases=bases, means=means, support=support, prediction=prediction)

    def select(self, at: Sequence[Array]) -> Embedding:
        """The embedding of the features with these indices, one array per view."""
        prediction = self.prediction
        return replace(
            self,
            bases=tuple(U[i] for U, i in zip(self.bases, at, strict=True)),
            means=tuple(m[i] for m, i in zip(self.means, at, strict=True)),
            support=tuple(mask[i] for mask, i in zip(self.support, at, strict=True)),
            prediction=replace(prediction, probes=None) if isinstance(prediction, Multilinear) else prediction,
        )

    def expand(self, at: Sequence[Array], means: Sequence[Array]) -> Embedding:
        """The embedding of all features, of which this one has those with the indices `at`; zeros for the others."""
        sizes = [len(m) for m in means]
        starts = np.cumsum([0, *sizes])[:-1]
        everywhere = np.concatenate([start + i for start, i in zip(starts, at, strict=True)])
        prediction = self.prediction
        if isinstance(prediction, Multilinear) and prediction.probes is not None:
            probes = tuple(_spread(P, everywhere, sum(sizes)) for P in prediction.probes)
            prediction = replace(prediction, probes=probes)
        return replace(
            self,
            bases=tuple(_spread(U, i, n) for U, i, n in zip(self.bases, at, sizes, strict=True)),
            means=tuple(means),
            support=tuple(_spread(mask, i, n) for mask, i, n in zip(self.support, at, sizes, strict=True)),
            prediction=prediction,
        )


def map_back(maps: Sequence[Whitener], factors: Sequence[Factor], prediction: Prediction | None = None) -> Embedding:
    """Step 2.3: directions of the normalized features to embeddings of the features."""
    return Embedding(
        bases=tuple(m.push(U) for m, (U, _) in zip(maps, factors, strict=True)),
        spectra=tuple(s for _, s in factors),
        means=tuple(m.mean for m in maps),
        support=tuple(m.deviations > 0 for m in maps),
        prediction=prediction,
    )


def sign_factors(maps: Sequence[Whitener], factors: Sequence[Factor]) -> list[Factor]:
    """The directions of every view with signs as by scikit-learn's `svd_flip`, each view by itself."""
    return [(U * signs_of(m.push(U)), s) for m, (U, s) in zip(maps, factors, strict=True)]


def sign_pairs(maps: Sequence[Whitener], U: Array, s: Array, V: Array) -> list[Factor]:
    """The same for directions of two views that come in pairs."""
    signs = signs_of(maps[0].push(U))
    return [(U * signs, s), (V * signs, s)]


def signs_of(loadings: Array) -> Array:
    """The sign of the largest entry of each column: directions are turned by it, as scikit-learn's `svd_flip` does."""
    largest = loadings[np.argmax(np.abs(loadings), axis=0), np.arange(loadings.shape[1])]
    return np.where(largest < 0, -1.0, 1.0)


def project(X: Array, mean: Array, U: Array) -> Array:
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


def _spread(part: Array, at: Array, n: int) -> Array:
    whole = np.zeros((n, *part.shape[1:]), dtype=part.dtype)
    whole[at] = part
    return whole

"""Predictions of y that a method leaves beside its embedding, as functions of the embedded coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdr.runtime import Array, PlainState


@dataclass(frozen=True)
class Multilinear(PlainState):
    """JDR's prediction a′ᵀX̂b′ (without the mean), with X̂ = ÛΣV̂ᵀ; of three and more views the same with a tensor.

    Attributes
    ----------
    core : (q, r_1, ..., r_K) array
        The proxy between the directions, for each component of the response; diagonal with two views and one response.
    y_mean : (q,) array
        µ_y; 0 if nothing is centred.
    centred : bool
        Whether y was centred before the proxy was taken.
    probes : tuple of (Σ n_k, r_k) arrays or None
        For ``normalize="joint"``: the maps of the joined views that read the proxy off other data.
    pairs : mapping of (j, k) to (q, r_j, r_k) arrays, or None
        With three and more views and ``moments="all"``: the cross moments of two views each between the directions.
    """

    core: Array
    y_mean: Array
    centred: bool = True
    probes: tuple[Array, ...] | None = None
    pairs: Mapping[tuple[int, int], Array] | None = None

    def of(self, Z: Sequence[Array]) -> Array:
        """The prediction at these coordinates, one (m, r_k) array per view: (m, q)."""
        result = np.tensordot(Z[0], self.core, axes=(1, 1))  # (m, q, r_2, …)
        for z in Z[1:]:
            result = np.einsum("mqa...,ma->mq...", result, z)
        for (j, k), X in (self.pairs or {}).items():
            result = result + np.einsum("qab,ma,mb->mq", X, Z[j], Z[k], optimize=True)
        return result

    @property
    def sum_of_squares(self) -> float:
        """‖X̂‖²."""
        return float(np.sum(self.core**2)) + sum(float(np.sum(X**2)) for X in (self.pairs or {}).values())

    def truncate(self, ranks: Sequence[int], r: int) -> Multilinear:
        """The prediction from the first r directions of every view."""
        core = self.core[(slice(None), *(slice(r),) * (self.core.ndim - 1))]
        return replace(self, core=core, probes=None if self.probes is None else tuple(P[:, :r] for P in self.probes))


@dataclass(frozen=True)
class Linear:
    """A linear prediction from the R = Σ r_k coordinates of all views side by side.

    Attributes
    ----------
    core : (q, R) array
        The coefficients of each response.
    y_mean : (q,) array
    """

    core: Array
    y_mean: Array

    def truncate(self, ranks: Sequence[int], r: int) -> Linear:
        """The prediction from the first r directions of every view."""
        return replace(self, core=self.core[:, _first(ranks, r)])


@dataclass(frozen=True)
class Quadratic:
    """A quadratic prediction ½ zᵀM̂z from R coordinates: those of all views side by side, or joint ones.

    Attributes
    ----------
    core : (q, R, R) array
        M̂ for each response.
    y_mean : (q,) array
    directions : (Σ n_k, R) array or None
        The directions of all features together, where the coordinates are joint ones.
    """

    core: Array
    y_mean: Array
    directions: Array | None = None

    @property
    def spectrum(self) -> Array:
        """How much each coordinate counts: the length of its column of M̂ over all responses, (R,)."""
        return np.sqrt(np.sum(self.core**2, axis=(0, 1)))

    def truncate(self, ranks: Sequence[int], r: int) -> Quadratic:
        """The prediction from the first r directions of every view."""
        at = _first(ranks, r)
        directions = None if self.directions is None else self.directions[:, at]
        return Quadratic(self.core[:, at][:, :, at], self.y_mean, directions)


Prediction = Multilinear | Linear | Quadratic


def _first(ranks: Sequence[int], r: int) -> Array:
    """The indices of the first r coordinates of every view, among those of all views."""
    starts = np.cumsum([0, *ranks])[:-1]
    return np.concatenate([start + np.arange(r) for start in starts])

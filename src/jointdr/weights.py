"""Kernel weights: how much the known entities of one kind, or the known rows, say about new ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jointdr.arrays import Array

VANISHING = float(np.finfo(float).tiny)
"""A point whose weights add up to less than this, about 37 bandwidths from everything, has no neighbours."""


@dataclass(frozen=True)
class Kernel:
    """Gaussian weights exp(−‖z − z_p‖²/2h²) of known points z_p.

    Attributes
    ----------
    points : (m, r) array
        Centred: distances lose digits far from 0.
    bandwidth : float
        h. With 0 a known point has weight on itself only, and a new one on the nearest known point: the limit of small
        bandwidths, in which points lend each other nothing.
    adaptive : int, optional
        h is then `bandwidth` times the distance of z to the nearest known point but `adaptive` − 1.
    """

    points: Array
    bandwidth: float
    adaptive: int | None = None

    def at(self, bandwidth: float) -> Kernel:
        """The same with another bandwidth."""
        return replace(self, bandwidth=bandwidth)

    def weights(self, Z: Array) -> Array:
        """The weights of the known points for new ones, (m_new, m); O(m m_new r)."""
        return self.of_distances(squared_distances(Z, self.points))

    def of_distances(self, D: Array) -> Array:
        """Weights from squared distances, (m_new, m), which are overwritten; infinite ones get no weight."""
        if self.bandwidth == 0:
            return _nearest(D)
        h2: Array | float = self.bandwidth**2
        if self.adaptive is not None:
            h2 = h2 * kth_smallest(D, self.adaptive)[:, None]
            h2 = np.where(h2 > 0, h2, VANISHING)  # copies only: they share the weight
        D *= -0.5 / h2
        return np.exp(D, out=D)


def _nearest(D: Array) -> Array:
    """Weight 1 on the nearest points, shared if there are several; none where all are infinitely far."""
    least = D.min(axis=1, keepdims=True)
    K = (least == D) & np.isfinite(least)
    return K / np.maximum(K.sum(axis=1, keepdims=True), 1)


def kth_smallest(D: Array, k: int) -> Array:
    """The k-th smallest entry of each row, or the largest where there are fewer."""
    k = min(k, D.shape[1])
    return np.partition(D, k - 1, axis=1)[:, k - 1]


def squared_distances(Z: Array, points: Array) -> Array:
    """‖z − z_p‖² of all pairs, (m_new, m). Points should be centred."""
    D = (-2.0 * Z) @ points.T
    D += np.einsum("ij,ij->i", Z, Z)[:, None]
    D += np.einsum("ij,ij->i", points, points)
    return np.maximum(D, 0.0, out=D)


def spread(Z: Array, weight: Array | None = None) -> float:
    """The root mean square distance between two rows; 1 for rows that are all the same."""
    total = 2.0 * float(np.average((Z - np.average(Z, axis=0, weights=weight)) ** 2, axis=0, weights=weight).sum())
    return float(np.sqrt(total)) if total > 0 else 1.0

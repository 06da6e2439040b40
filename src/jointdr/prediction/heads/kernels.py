"""Kernels: weights of the known entities of one kind, or of known rows, for the prediction of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.prediction.heads.distances import inner_products, kth_smallest, squared_distances
from jointdr.prediction.heads.nearest import Distances, Index
from jointdr.runtime import Array, is_sparse

# A point whose weights add up to less than this, about 37 bandwidths from everything, has no neighbors.
VANISHING = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Kernel:
    """Weights of known points z_p for a point z.

    Gaussian, exp(−‖z − z_p‖²/2h²); or the power (cos φ)^(1/h²) of the cosine kernel, with the angle φ between z and
    z_p, and 0 beyond 90°. Small angles between points of length 1 get about exp(−φ²/2h²) in both ways, but only the
    second comes to an end.
    """

    # (m, r): for a Gaussian centred, because distances lose digits far from 0; for cosines of length 1, and so is z.
    points: Array
    # h. With 0 a known point has weight on itself only, and a new one on the nearest known point: the limit of small
    # bandwidths, in which points lend each other nothing.
    bandwidth: float
    adaptive: int | None = None  # h is then `bandwidth` times the distance of z to its neighbor of this rank
    cosine: bool = False
    # Squared distances, kept for other bandwidths. Only for points that stay what they are.
    memo: dict[Any, Distances] | None = field(default=None, compare=False, repr=False)
    # Of the points. Only the nearest ones then have weights, which are CSR arrays.
    near: Index | None = field(default=None, compare=False, repr=False)

    @property
    def count(self) -> int:
        return int(self.points.shape[0])

    @property
    def width(self) -> int:
        """The number of known points that may have a weight for a point."""
        return self.count if self.near is None else self.near.k

    @property
    def is_truncated(self) -> bool:
        """Whether only the nearest points have weights."""
        return self.near is not None

    @property
    def is_identity(self) -> bool:
        """Whether known points have weight on themselves only."""
        return self.bandwidth == 0

    @property
    def h_squared(self) -> float:
        """h², within the range that can be divided by."""
        return min(max(self.bandwidth * self.bandwidth, VANISHING), 1.0 / VANISHING)

    def at(self, bandwidth: float) -> Kernel:
        return replace(self, bandwidth=bandwidth)

    def weights(self, Z: Array) -> Array:
        """The weights of the known points for new ones, (m_new, m); O(m m_new r)."""
        return self.evaluate(self.distances(Z))

    def distances(self, Z: Array) -> Array:
        """‖z − z_p‖², (m_new, m). For cosines 2 − 2 cos φ, with cos φ = 0 for a point without features."""
        if not self.cosine:
            return squared_distances(Z, self.points)
        return np.maximum(2.0 - 2.0 * inner_products(Z, self.points), 0.0)

    def weights_at(self, Z: Array | None, at: slice) -> Array:
        """The weights for some of the new points or, if Z is None, for some of the known ones, (rows, m)."""
        if Z is None and self.is_identity:  # a point is its own neighbor, even if it has copies
            return identity(self, np.arange(at.start, at.stop))
        if self.memo is None:
            return self.weights_from(self._distances_at(Z, at))
        key = (id(self.points if Z is None else Z), at.start, at.stop)
        if key not in self.memo:
            self.memo[key] = self._distances_at(Z, at)
        found = self.memo[key]
        return self.weights_from(found._replace(D=found.D.copy()))

    def weights_of_known(self, indices: Array, others: bool = False) -> Array:
        """The weights for known points; with `others`, as if each were new, without itself."""
        if self.is_identity and not others:
            return identity(self, indices)
        return self.weights_from(self.known_distances(indices, others))

    def _distances_at(self, Z: Array | None, at: slice) -> Distances:
        if Z is None:
            return self.known_distances(np.arange(at.start, at.stop))
        return Distances(self.distances(Z[at])) if self.near is None else self.near.search(Z[at])

    def known_distances(self, indices: Array, others: bool = False) -> Distances:
        """The squared distances of known points to all, or to the nearest ones; with `others`, ∞ to themselves."""
        to_itself = np.inf if others else 0.0
        if self.near is not None:
            return self.near.search(self.points[indices], indices, to_itself)
        D = self.distances(self.points[indices])
        D[np.arange(len(D)), indices] = to_itself  # but for rounding, which a very small bandwidth would see
        return Distances(D)

    def weights_from(self, found: Distances) -> Array:
        """Weights from squared distances, which are overwritten: (queries, m), CSR if they are of the nearest only."""
        K = self.evaluate(found.D)
        if found.indices is None:
            return K
        ends = np.arange(len(K) + 1) * K.shape[1]
        return sparse.csr_array((K.ravel(), found.indices.ravel(), ends), shape=(len(K), self.count))

    def evaluate(self, D: Array) -> Array:
        """The kernel at squared distances, (m_new, m), which are overwritten; infinite ones get no weight."""
        if self.bandwidth == 0:
            return _share_nearest(D)
        if self.cosine:
            D *= -0.5
            D += 1.0
            return power(np.maximum(D, 0.0, out=D), 1.0 / self.h_squared)
        h2: Array | float = self.h_squared
        with np.errstate(over="ignore"):  # a point that is infinitely far has no weight
            if self.adaptive is not None:
                h2 = h2 * kth_smallest(D, self.adaptive)[:, None]
                h2 = np.clip(h2, VANISHING, 1.0 / VANISHING)  # 0 if there are copies only: they share the weight
            D *= -0.5 / h2
        return np.exp(D, out=D)


@dataclass(frozen=True)
class Mixture:
    """The mean of the weights of several kernels, each scaled to sum 1, on several descriptions of the points."""

    kernels: tuple[Kernel, ...]  # each with its own coordinates of the same points
    shares: tuple[float, ...]  # non-negative; together 1
    self_weight: float = 0.0  # the share of its weight that a known point keeps for itself, before the kernels

    @property
    def count(self) -> int:
        return self.kernels[0].count

    @property
    def width(self) -> int:
        return min(self.count, sum(kernel.width for kernel in self.kernels))

    @property
    def is_truncated(self) -> bool:
        return self.kernels[0].is_truncated

    @property
    def is_identity(self) -> bool:
        return self.self_weight == 1 or all(kernel.is_identity for kernel in self.kernels)

    def weights_at(self, Z: Sequence[Array] | None, at: slice) -> Array:
        """The weights for some of the new points, given in the coordinates of each kernel, or of the known ones."""
        kept = self.self_weight if Z is None else 0.0
        return self._mix(lambda t: self.kernels[t].weights_at(None if Z is None else Z[t], at), kept, at)

    def weights_of_known(self, indices: Array, others: bool = False) -> Array:
        """The weights for known points; with `others`, as if each were new, without itself."""
        kept = 0.0 if others else self.self_weight
        return self._mix(lambda t: self.kernels[t].weights_of_known(indices, others), kept, indices)

    def _mix(self, weights: Callable[[int], Array], kept: float, at: slice | Array) -> Array:
        """The mean of the weights of each kernel, of which these points keep a share for themselves."""
        mixed, lent = None, 1.0 - kept
        for t, share in enumerate(self.shares):
            if share * lent > 0:
                K = weights(t)
                total = np.asarray(K.sum(axis=1))
                K = rescale_rows(K, np.divide(share * lent, total, out=np.zeros_like(total), where=total > VANISHING))
                mixed = K if mixed is None else mixed + K
        if kept == 0 and mixed is not None:
            return mixed
        own = kept * identity(self, np.arange(at.start, at.stop) if isinstance(at, slice) else at)
        return own if mixed is None else mixed + own

    def similarities_at(self, Z: Sequence[Array] | None, at: slice) -> Array:
        """The plain weighted sum of the kernels, which are 1 at distance 0, as a symmetric positive kernel."""
        lent = 1.0 - self.self_weight
        parts = zip(self.kernels, self.shares, strict=True)
        terms = [
            lent * share * kernel.weights_at(None if Z is None else Z[t], at)
            for t, (kernel, share) in enumerate(parts)
            if lent * share > 0
        ]
        total = sum(terms) if terms else np.zeros((at.stop - at.start, self.count))
        if Z is None and self.self_weight > 0:
            total = total + self.self_weight * np.eye(at.stop - at.start, self.count, at.start)
        return np.asarray(total)

    def take(self, at: Array) -> Mixture:
        return replace(self, kernels=tuple(replace(kernel, points=kernel.points[at]) for kernel in self.kernels))


AnyKernel = Kernel | Mixture


def identity(kernel: AnyKernel, indices: Array) -> Array:
    """Weight 1 of known points on themselves, as a matrix of the kind that the kernel gives."""
    ends = np.arange(len(indices) + 1)
    own = sparse.csr_array((np.ones(len(indices)), indices, ends), shape=(len(indices), kernel.count))
    return own if kernel.is_truncated else own.toarray()


def rescale_rows(K: Array, factor: Array) -> Array:
    """Row i of the weights K, dense or CSR, times factor[i]. K is overwritten."""
    if is_sparse(K):
        K.data *= np.repeat(factor, np.diff(K.indptr))
    else:
        K *= factor[:, None]
    return K


def _share_nearest(D: Array) -> Array:
    """Weight 1 on the nearest points, shared if there are several; none where all are infinitely far."""
    least = D.min(axis=1, keepdims=True)
    far = np.where(np.isfinite(D), D, 0.0).max(axis=1, keepdims=True)
    K = (least + 1e-12 * far >= D) & np.isfinite(least)  # but for rounding
    return K / np.maximum(K.sum(axis=1, keepdims=True), 1)


def power(K: Array, q: float) -> Array:
    """K^q entry by entry; by products, which are many times faster, if q is a small integer. K is overwritten."""
    whole = round(q)
    if not 1 <= whole <= 64 or abs(q - whole) > 1e-9 * whole:
        return np.power(K, q, out=K)
    result = None
    while whole > 1:
        if whole % 2:
            result = K.copy() if result is None else np.multiply(result, K, out=result)
        K *= K
        whole //= 2
    return K if result is None else np.multiply(result, K, out=result)

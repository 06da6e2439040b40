"""Kernel weights: how much the known entities of one kind, or the known rows, say about new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.prediction.heads.nearest import Found, Index
from jointdr.runtime import Array, dense, is_sparse, scale_rows

VANISHING = float(np.finfo(float).tiny)
"""A point whose weights add up to less than this, about 37 bandwidths from everything, has no neighbours."""


@dataclass(frozen=True)
class Kernel:
    """Weights of known points z_p for a point z.

    Gaussian, exp(−‖z − z_p‖²/2h²); or of the angle φ between z and z_p, (cos φ)^(1/h²) below 90° and 0 beyond. Small
    angles between points of length 1 get about exp(−φ²/2h²) in both ways, but only the second comes to an end.

    Attributes
    ----------
    points : (m, r) array
        For Gaussian weights centred, because distances lose digits far from 0; for cosines of length 1, and so is z.
    bandwidth : float
        h. With 0 a known point has weight on itself only, and a new one on the nearest known point: the limit of small
        bandwidths, in which points lend each other nothing.
    adaptive : int, optional
        h is then `bandwidth` times the distance of z to the nearest known point but `adaptive` − 1.
    cosine : bool
        Whether weights are of angles.
    memo : dict, optional
        Where squared distances are kept for other bandwidths. Only for points that stay what they are.
    near : Index, optional
        Of the points. Only the nearest ones then have weights, which are CSR arrays.
    """

    points: Array
    bandwidth: float
    adaptive: int | None = None
    cosine: bool = False
    memo: dict[Any, Found] | None = field(default=None, compare=False, repr=False)
    near: Index | None = field(default=None, compare=False, repr=False)

    @property
    def count(self) -> int:
        """The number of known points."""
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
    def alone(self) -> bool:
        """Whether known points lend each other nothing."""
        return self.bandwidth == 0

    @property
    def _square(self) -> float:
        """h², within what can be divided by."""
        return min(max(self.bandwidth * self.bandwidth, VANISHING), 1.0 / VANISHING)

    def at(self, bandwidth: float) -> Kernel:
        """The same with another bandwidth."""
        return replace(self, bandwidth=bandwidth)

    def weights(self, Z: Array) -> Array:
        """The weights of the known points for new ones, (m_new, m); O(m m_new r)."""
        return self.of_distances(self.distances(Z))

    def distances(self, Z: Array) -> Array:
        """‖z − z_p‖², (m_new, m). For angles 2 − 2 cos φ, with cos φ = 0 for a point without features."""
        if not self.cosine:
            return squared_distances(Z, self.points)
        return np.maximum(2.0 - 2.0 * _inner_products(Z, self.points), 0.0)

    def weights_at(self, Z: Array | None, at: slice) -> Array:
        """The weights for some of the new points or, if Z is None, for some of the known ones, (rows, m)."""
        if Z is None and self.alone:  # a point is its own neighbour, even if others are at the same place
            return identity(self, np.arange(at.start, at.stop))
        if self.memo is None:
            return self.weights_of(self._found_at(Z, at))
        key = (id(self.points if Z is None else Z), at.start, at.stop)
        if key not in self.memo:
            self.memo[key] = self._found_at(Z, at)
        found = self.memo[key]
        return self.weights_of(found._replace(D=found.D.copy()))

    def _found_at(self, Z: Array | None, at: slice) -> Found:
        if Z is None:
            return self.found(np.arange(at.start, at.stop))
        return Found(self.distances(Z[at])) if self.near is None else self.near.search(Z[at])

    def found(self, numbers: Array, others: bool = False) -> Found:
        """The squared distances of some known points to all, or to the nearest ones; with `others`, not to themselves.

        Parameters
        ----------
        numbers : (queries,) array of int
        others : bool
        """
        to_own = np.inf if others else 0.0
        if self.near is not None:
            return self.near.search(self.points[numbers], numbers, to_own)
        D = self.distances(self.points[numbers])
        D[np.arange(len(D)), numbers] = to_own  # but for rounding, which a very small bandwidth would see
        return Found(D)

    def weights_of(self, found: Found) -> Array:
        """Weights from squared distances, which are overwritten: (queries, m), CSR if they are of the nearest only."""
        K = self.of_distances(found.D)
        if found.numbers is None:
            return K
        ends = np.arange(len(K) + 1) * K.shape[1]
        return sparse.csr_array((K.ravel(), found.numbers.ravel(), ends), shape=(len(K), self.count))

    def of_distances(self, D: Array) -> Array:
        """Weights from squared distances, (m_new, m), which are overwritten; infinite ones get no weight."""
        if self.bandwidth == 0:
            return _nearest(D)
        if self.cosine:
            D *= -0.5
            D += 1.0
            return power(np.maximum(D, 0.0, out=D), 1.0 / self._square)
        h2: Array | float = self._square
        with np.errstate(over="ignore"):  # what is infinitely far has no weight
            if self.adaptive is not None:
                h2 = h2 * kth_smallest(D, self.adaptive)[:, None]
                h2 = np.clip(h2, VANISHING, 1.0 / VANISHING)  # 0 if there are copies only: they share the weight
            D *= -0.5 / h2
        return np.exp(D, out=D)


@dataclass(frozen=True)
class Mixture:
    """Weights that are a mean of those of several kernels, each scaled to sum 1, on several descriptions of the points.

    Attributes
    ----------
    kernels : tuple of Kernels
        Each with its own coordinates of the same points.
    shares : tuple of floats
        Non-negative; together 1.
    own : float
        The share of its weight that a known point keeps for itself, before the kernels.
    """

    kernels: tuple[Kernel, ...]
    shares: tuple[float, ...]
    own: float = 0.0

    @property
    def count(self) -> int:
        """The number of known points."""
        return self.kernels[0].count

    @property
    def width(self) -> int:
        """The number of known points that may have a weight for a point."""
        return min(self.count, sum(kernel.width for kernel in self.kernels))

    @property
    def is_truncated(self) -> bool:
        """Whether only the nearest points have weights."""
        return self.kernels[0].is_truncated

    @property
    def alone(self) -> bool:
        """Whether known points lend each other nothing."""
        return self.own == 1 or all(kernel.alone for kernel in self.kernels)

    def weights_at(self, Z: Sequence[Array] | None, at: slice) -> Array:
        """The weights for some of the new points, given in the coordinates of each kernel, or of the known ones."""
        own = self.own if Z is None else 0.0
        mixed = self._mixed(lambda t: self.kernels[t].weights_at(None if Z is None else Z[t], at), 1.0 - own)
        if own == 0 and mixed is not None:
            return mixed
        kept = own * identity(self, np.arange(at.start, at.stop))
        return kept if mixed is None else mixed + kept

    def weights_of_known(self, numbers: Array, others: bool = False) -> Array:
        """The weights for known points with these numbers; with `others`, as if each were new, without itself."""
        if self.alone and not others:
            return identity(self, numbers)
        own = 0.0 if others else self.own
        mixed = self._mixed(lambda t: self.kernels[t].weights_of(self.kernels[t].found(numbers, others)), 1.0 - own)
        assert mixed is not None
        return mixed if own == 0 else mixed + own * identity(self, numbers)

    def _mixed(self, weights: Callable[[int], Array], lent: float) -> Array | None:
        """The mean of the weights of each kernel, scaled to sum `lent`; None if that is 0."""
        mixed = None
        for t, share in enumerate(self.shares):
            if share * lent > 0:
                K = weights(t)
                total = np.asarray(K.sum(axis=1))
                K = rescaled(K, np.divide(share * lent, total, out=np.zeros_like(total), where=total > VANISHING))
                mixed = K if mixed is None else mixed + K
        return mixed

    def similarities_at(self, Z: Sequence[Array] | None, at: slice) -> Array:
        """The plain weighted sum of the kernels, which are 1 at distance 0, as a symmetric positive kernel."""
        lent = 1.0 - self.own
        parts = zip(self.kernels, self.shares, strict=True)
        terms = [
            lent * share * kernel.weights_at(None if Z is None else Z[t], at)
            for t, (kernel, share) in enumerate(parts)
            if lent * share > 0
        ]
        total = sum(terms) if terms else np.zeros((at.stop - at.start, self.count))
        if Z is None and self.own > 0:
            total = total + self.own * np.eye(at.stop - at.start, self.count, at.start)
        return np.asarray(total)

    def chosen(self, at: Array) -> Mixture:
        """The mixture of some of the points only."""
        return replace(self, kernels=tuple(replace(kernel, points=kernel.points[at]) for kernel in self.kernels))


AnyKernel = Kernel | Mixture


def identity(kernel: AnyKernel, numbers: Array) -> Array:
    """Weight 1 of known points with these numbers on themselves, as a matrix of the kind that the kernel gives."""
    ends = np.arange(len(numbers) + 1)
    own = sparse.csr_array((np.ones(len(numbers)), numbers, ends), shape=(len(numbers), kernel.count))
    return own if kernel.is_truncated else own.toarray()


def rescaled(K: Array, factor: Array) -> Array:
    """Row i of the weights K, dense or CSR, times factor[i]. K is overwritten."""
    if is_sparse(K):
        K.data *= np.repeat(factor, np.diff(K.indptr))
    else:
        K *= factor[:, None]
    return K


def _nearest(D: Array) -> Array:
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


def kth_smallest(D: Array, k: int) -> Array:
    """The k-th smallest entry of each row, or the largest finite one where there are fewer."""
    k = min(k, D.shape[1])
    found = np.partition(D, k - 1, axis=1)[:, k - 1]
    if np.isfinite(found).all():
        return found
    return np.where(np.isfinite(found), found, np.where(np.isfinite(D), D, 0.0).max(axis=1))


def squared_distances(Z: Array, points: Array) -> Array:
    """‖z − z_p‖² of all pairs, (m_new, m); both dense or both sparse. Dense points should be centred."""
    D = _inner_products(Z, points)
    D *= -2.0
    D += _squared_lengths(Z)[:, None]
    D += _squared_lengths(points)
    return np.maximum(D, 0.0, out=D)


def _inner_products(Z: Array, points: Array) -> Array:
    products = Z @ points.T
    return dense(products)


def _squared_lengths(Z: Array) -> Array:
    if is_sparse(Z):
        return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", Z, Z)


def unit_rows(Z: Array) -> Array:
    """Every row scaled to length 1; a row of zeros stays."""
    largest = float(abs(Z).max()) if min(Z.shape) else 0.0
    Z = Z / (largest or 1.0)
    lengths = np.sqrt(_squared_lengths(Z))
    return scale_rows(Z, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0))


def spread(Z: Array, weight: Array | None = None) -> float:
    """The root mean square distance between two rows; 1 for rows that are all the same."""
    largest = float(abs(Z).max())  # so that squares do not overflow
    if not largest > 0:
        return 1.0
    Z = Z / largest
    if is_sparse(Z):
        means = np.asarray(Z.mean(axis=0)).ravel()
        total = 2.0 * (float(_squared_lengths(Z).mean()) - float(means @ means))
    else:
        total = 2.0 * float(np.average((Z - np.average(Z, axis=0, weights=weight)) ** 2, axis=0, weights=weight).sum())
    return largest * float(np.sqrt(total)) if total > 0 else 1.0

"""Indexes of the nearest known entities, for kernel sums over a million of them that are cut to their largest terms."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jointdr.runtime import Array, check_integer, is_sparse, memory, slices

NEIGHBORS = 50  # neighbors of an entity that count, unless another number is given
ALL_COUNT_UP_TO = 20_000  # entities of a kind that all count, unless a number of neighbors is given
TREE_UP_TO = 4  # coordinates in which a tree is faster than an inverted-file index, and misses no point
FEW = 2000  # points for which a tree is as good in any number of coordinates, and takes less to call
APPROXIMATE_FROM = 50_000  # points that are worth an approximate index
SLOW_FROM = 200_000  # points in many coordinates that should have one
RECALL = 0.95  # recall that an approximate index is tuned to, if half of its lists are enough for it
RECALL_SAMPLE = 200  # points on which the recall is measured
# Queries in one call of faiss: with 20 or more it computes them together, and rounding depends on their number.
QUERIES_AT_ONCE = 16

GATHERED_BYTES = 32_000_000  # memory for the coordinates of neighbors that are compared at a time

# From queries and k to the indices of the nearest points, (queries, k), nearest first; −1 where fewer were found.
Search = Callable[[Array, int], Array]


class Distances(NamedTuple):
    """Squared distances of some points to known ones."""

    D: Array  # (queries, m) or (queries, k): infinite where a point must not count
    indices: Array | None = None  # (queries, k): of the known points; None for all of them in their order


@dataclass(frozen=True)
class Index:
    """Finds the k nearest of the known points; distances themselves are always exact.

    By a tree of scikit-learn in up to 4 coordinates, or among up to 2000 points; otherwise by comparing all points
    or, if there are 50 000 and faiss is installed (``pip install "jointdr[ann]"``), by an inverted-file index (faiss
    IVF), whose ``nprobe`` is raised until the recall on a sample reaches 95 %.

    Notes
    -----
    Built when first searched, always in the same way: O(m r log m) for a tree, O(m^1.5 r) for an inverted file. A
    search takes O(m r) by comparing all, and about O(m^0.5 r) for each list of the inverted file that is probed.
    """

    points: Array  # (m, r) array, or CSR matrix
    k: int  # neighbors of a point, with itself if it is a known one
    # Whether points have length 1, and distances are 2 − 2 cos φ, also of points without features (length 0).
    cosine: bool = False

    @property
    def count(self) -> int:
        return int(self.points.shape[0])

    @property
    def kind(self) -> str:
        """How points are found: ``"tree"``, ``"brute"`` or ``"inverted file"``."""
        if is_sparse(self.points):
            return "brute"
        if self.points.shape[1] <= TREE_UP_TO or self.count <= FEW:
            return "tree"
        return "inverted file" if self.count >= APPROXIMATE_FROM and importlib.util.find_spec("faiss") else "brute"

    @cached_property
    def _search(self) -> Search:
        if self.cosine:
            lengths = np.diff(self.points.indptr) if is_sparse(self.points) else self.points.any(axis=1)
            if not lengths.all():  # points without features, which are far from all others
                featured = np.flatnonzero(lengths)
                return _renumber(self._search_of(self.points[featured]), featured)
        return self._search_of(self.points)

    def __getstate__(self) -> dict[str, Any]:
        """Without the search, which is built again in the same way."""
        return {name: value for name, value in self.__dict__.items() if name != "_search"}

    def _search_of(self, points: Array) -> Search:
        if points.shape[0] == 0:
            return lambda Z, k: np.full((Z.shape[0], k), -1)
        if self.kind == "brute" and self.count >= SLOW_FROM:
            _warn_slow(points)
        return _inverted_file(points, self.k) if self.kind == "inverted file" else _by_sklearn(points, self.kind)

    def search(self, Z: Array, own: Array | None = None, to_own: float = 0.0) -> Distances:
        """The indices of the nearest known points of some points, and their squared distances.

        Parameters
        ----------
        Z : (queries, r) array or CSR matrix
        own : (queries,) array of int, optional
            The indices of these points, if they are known ones; they are then always among those found.
        to_own : float
            Their distances to themselves. If infinite, they do not count, and so one more is searched.
        """
        k = min(self.k + (own is not None and not np.isfinite(to_own)), self.count)
        indices = self._search(Z, k)
        if own is not None:
            lost = ~(indices == own[:, None]).any(axis=1)  # many copies, or an approximate search
            indices[lost, -1] = own[lost]
        indices.sort(axis=1)  # so that sums are always added up in the same order
        D = self._distances(Z, indices)
        if own is not None:
            D[indices == own[:, None]] = to_own
        D[indices < 0] = np.inf
        return Distances(D, np.maximum(indices, 0).astype(np.int32 if self.count < 2**31 else np.int64))

    def _distances(self, Z: Array, indices: Array) -> Array:
        """The squared distances to the points with these indices; O(queries · k · r)."""
        D = np.empty(indices.shape)
        size = max(1, memory.within(GATHERED_BYTES, 0.1) // (8 * D.shape[1] * self.points.shape[1]))
        for at in slices(len(indices), size):
            if is_sparse(self.points):
                D[at] = self._sparse_distances(Z[at], indices[at])
            elif self.cosine:
                D[at] = np.maximum(2.0 - 2.0 * np.einsum("ir,ikr->ik", Z[at], self.points[indices[at]]), 0.0)
            else:
                difference = self.points[indices[at]]
                difference -= Z[at, None, :]
                D[at] = np.einsum("ikr,ikr->ik", difference, difference)
        return D

    def _sparse_distances(self, Z: Array, indices: Array) -> Array:
        found = self.points[indices.ravel()]
        each = Z[np.repeat(np.arange(len(indices)), indices.shape[1])]
        products = np.asarray(each.multiply(found).sum(axis=1)).reshape(indices.shape)
        if self.cosine:
            return np.maximum(2.0 - 2.0 * products, 0.0)
        lengths = np.asarray(found.multiply(found).sum(axis=1)).reshape(indices.shape)
        own = np.asarray(Z.multiply(Z).sum(axis=1)).reshape(-1, 1)
        return np.maximum(own + lengths - 2.0 * products, 0.0)


def _by_sklearn(points: Array, kind: str) -> Search:
    """All distances, or a tree: nothing is missed."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(algorithm="kd_tree" if kind == "tree" else "brute").fit(points)

    def search(Z: Array, k: int) -> Array:
        found = index.kneighbors(Z, min(k, points.shape[0]), return_distance=False)
        return np.pad(found, ((0, 0), (0, k - found.shape[1])), constant_values=-1)

    return search


def _inverted_file(points: Array, k: int) -> Search:
    """An inverted-file index: lists of points around centres, of which those with the nearest centres are probed.

    Its centres are always the same for the same points, unlike the graphs that several threads build, and a query
    is answered in the same way whatever it is asked together with.
    """
    import faiss

    x = np.ascontiguousarray(points, dtype=np.float32)
    n_lists = 2 ** round(np.log2(np.sqrt(len(x))))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(x.shape[1]), x.shape[1], n_lists)
    index.cp.seed, index.cp.max_points_per_centroid = 0, 64
    index.train(x)
    index.add(x)

    def search(Z: Array, k: int) -> Array:
        z, found = np.ascontiguousarray(Z, dtype=np.float32), np.empty((Z.shape[0], k), dtype=np.int64)

        def answer(part: slice) -> None:
            for at in slices(part.stop - part.start, QUERIES_AT_ONCE):
                here = slice(part.start + at.start, part.start + at.stop)
                found[here] = index.search(z[here], k)[1]

        # Threads of our own, each with many calls that are not split again: on a busy machine the threads of a short
        # call wait for each other most of the time.
        alone = functools.partial(faiss.omp_set_num_threads, 1)
        with ThreadPoolExecutor(faiss.omp_get_max_threads(), initializer=alone) as threads:
            list(threads.map(answer, slices(len(z), 64 * QUERIES_AT_ONCE)))
        return found

    sample = np.random.RandomState(0).choice(len(x), min(RECALL_SAMPLE, len(x)), replace=False)
    truth = faiss.knn(x[sample], x, k)[1]
    index.nprobe = 4
    while index.nprobe < n_lists // 2 and _overlap(search(x[sample], k), truth) < RECALL:
        index.nprobe *= 2
    return search


def _overlap(found: Array, truth: Array) -> float:
    """The share of the true neighbors among those found."""
    return float(np.mean([np.isin(t, f).mean() for f, t in zip(found, truth, strict=True)]))


def _renumber(search: Search, indices: Array) -> Search:
    """A search of some of the points, with the indices that these have among all."""

    def renumbered(Z: Array, k: int) -> Array:
        found = search(Z, k)
        return np.where(found >= 0, indices.take(found, mode="clip"), -1)

    return renumbered


def _warn_slow(points: Array) -> None:
    how = (
        "Sparse features have no approximate index: leave mix at 0, or reduce them"
        if is_sparse(points)
        else 'pip install "jointdr[ann]" gets an approximate index'
    )
    warnings.warn(
        f"Every search compares all {points.shape[0]} points in {points.shape[1]} coordinates. {how}.", stacklevel=2
    )


def neighbor_counts(value: Any, counts: tuple[int, int], adaptive: int | None) -> tuple[int | None, int | None]:
    """The numbers of neighbors of rows and of columns that have weights, from ``nearest``; None where all have."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(given) != 2:
        raise ValueError(f"nearest={value!r} must be one number, or one for rows and one for columns.")
    a, b = (_neighbor_count(v, m, adaptive) for v, m in zip(given, counts, strict=True))
    return a, b


def _neighbor_count(value: Any, count: int, adaptive: int | None) -> int | None:
    if isinstance(value, str) and value == "auto":
        return None if count <= ALL_COUNT_UP_TO else max(NEIGHBORS, 2 * (adaptive or 0))
    if value is None:
        return None
    k = check_integer("nearest", value, 1, expected="'auto', None or an integer >= 1, or one for each side")
    if adaptive is not None and k < adaptive:
        raise ValueError(f"nearest={k} is less than adaptive={adaptive}, whose neighbor must be among them.")
    return min(k, count)

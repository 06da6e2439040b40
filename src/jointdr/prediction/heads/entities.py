"""The known entities of one kind as kernels take them: coordinates, raw features, or both, in standard units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.estimators import ViewsTransformer
from jointdr.prediction.heads.distances import spread, unit_rows
from jointdr.prediction.heads.head import Tables
from jointdr.prediction.heads.kernels import Kernel, Mixture
from jointdr.prediction.heads.nearest import Distances, Index
from jointdr.runtime import Array, checked_array, is_sparse, matrix_from_arrays, matrix_to_arrays, require_squares


@dataclass(frozen=True)
class Standardizer:
    """A map from features of entities to one or two tables that kernels can take."""

    embedding: ViewsTransformer | None  # None: raw features, and nothing else
    view: int  # 0 for rows, 1 for columns
    exponent: float  # coordinates are scaled by this power of Σ
    with_raw: bool  # whether raw features come second
    cosine: bool  # whether every row is scaled to length 1
    # Subtracted from each table, because distances lose digits far from 0; None for cosines and sparse tables.
    centers: tuple[Array | None, ...] = ()
    # Each table is divided by it: the root mean square distance between known entities; 1 for cosines.
    units: tuple[float, ...] = ()

    def fit(self, X: Array) -> tuple[Standardizer, Tables]:
        """The same with the centres and units of these entities, and their tables; O(m n r)."""
        tables = self._tables(X)
        centers: tuple[Array | None, ...] = (None,) * len(tables)
        units = (1.0,) * len(tables)
        if not self.cosine:
            centers = tuple(None if is_sparse(T) else T.mean(axis=0) for T in tables)
            units = tuple(spread(T) for T in tables)
        fitted = replace(self, centers=centers, units=units)
        return fitted, fitted._standard(tables)

    def __call__(self, X: Array) -> Tables:
        """The tables of checked features; O(m n r)."""
        return self._standard(self._tables(X))

    def _standard(self, tables: Tables) -> Tables:
        if self.cosine:
            return tuple(unit_rows(T) for T in tables)
        parts = zip(tables, self.centers, self.units, strict=True)
        with np.errstate(all="ignore"):
            standard = [(T if c is None else T - c) / u for T, c, u in parts]
        name = f"the table of {('rows', 'columns')[self.view]}, against the distances between those fitted,"
        return tuple(require_squares(T, name, new=True) for T in standard)

    def _tables(self, X: Array) -> Tables:
        raw = X if is_sparse(X) else np.asarray(X, dtype=float)
        if self.embedding is None:
            return (raw,)
        with np.errstate(all="ignore"):
            coordinates = self.embedding.solution_.transform_view(self.view, X, self.exponent)
        coordinates = np.asarray(coordinates, dtype=float)
        return (coordinates, raw) if self.with_raw else (coordinates,)


@dataclass(frozen=True)
class Side:
    """The known entities of one kind."""

    standardize: Standardizer
    points: Tables  # (m, r) each: the known entities in every description
    adaptive: int | None = None  # as in `Kernel`
    neighbors: int | None = None  # the number of nearest entities that have weights; None for all
    # Distances, kept for other bandwidths.
    memos: tuple[dict[Any, Distances], ...] | None = field(default=None, compare=False, repr=False)

    def describe(self, X: Array) -> Tables:
        """New entities in every description; sparse where raw features were sparse in the fit."""
        return self.standardize(sparse.csr_matrix(X) if is_sparse(self.points[-1]) and not is_sparse(X) else X)

    @cached_property
    def indexes(self) -> tuple[Index | None, ...]:
        if self.neighbors is None:
            return (None,) * len(self.points)
        return tuple(Index(points, self.neighbors, self.standardize.cosine) for points in self.points)

    @property
    def count(self) -> int:
        return int(self.points[0].shape[0])

    @property
    def distance_bytes(self) -> int:
        """The memory of the distances between all entities, or to their neighbors."""
        each = 8 * self.count if self.neighbors is None else 12 * self.neighbors
        return each * self.count * len(self.points)

    def with_memos(self) -> Side:
        return replace(self, memos=tuple({} for _ in self.points))

    def kernel(self, description: int = 0, bandwidth: float = 1.0) -> Kernel:
        memo = None if self.memos is None else self.memos[description]
        options = (self.adaptive, self.standardize.cosine, memo, self.indexes[description])
        return Kernel(self.points[description], bandwidth, *options)

    def mixture(self, bandwidth: float, raw_bandwidth: float | None, mix: float, self_weight: float) -> Mixture:
        """The weights of all descriptions together; `mix` is the share of the second one, raw features."""
        first = self.kernel(0, bandwidth)
        if raw_bandwidth is None:
            return Mixture((first,), (1.0,), self_weight)
        return Mixture((first, self.kernel(1, raw_bandwidth)), (1.0 - mix, mix), self_weight)


def sides_to_arrays(sides: tuple[Side, Side]) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Both sides as JSON-able headers and plain arrays, without the embedding."""
    headers: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for k, side in enumerate(sides):
        standardize = side.standardize
        header = {name: getattr(standardize, name) for name in ("exponent", "with_raw", "cosine")}
        counts = {"adaptive": side.adaptive, "neighbors": side.neighbors}
        headers.append({**header, **counts, "units": list(standardize.units)})
        for t, (points, center) in enumerate(zip(side.points, standardize.centers, strict=True)):
            arrays |= matrix_to_arrays(f"points.{k}.{t}", points)
            if center is not None:
                arrays[f"center.{k}.{t}"] = center
    return headers, arrays


def sides_from_arrays(
    embedding: ViewsTransformer | None,
    headers: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, Array],
    n_features: tuple[int, int],
) -> tuple[Side, Side]:
    """The inverse of `sides_to_arrays`; a ValueError unless they are of entities with so many features."""
    sides = [_side_from_arrays(embedding, k, headers[k], arrays, n_features[k]) for k in (0, 1)]
    return sides[0], sides[1]


def _side_from_arrays(
    embedding: ViewsTransformer | None, k: int, header: Mapping[str, Any], arrays: Mapping[str, Array], n_features: int
) -> Side:
    exponent, with_raw, cosine = float(header["exponent"]), bool(header["with_raw"]), bool(header["cosine"])
    widths = [n_features]
    if embedding is not None:
        fitted, rank = embedding.embeddings_[k].shape
        if fitted != n_features:
            raise ValueError(f"its embedding is one of {fitted} features, not of {n_features}")
        widths = [rank, n_features] if with_raw else [rank]
    points = tuple(matrix_from_arrays(f"points.{k}.{t}", arrays) for t in range(len(widths)))
    if [X.shape for X in points] != [(points[0].shape[0], n) for n in widths]:
        raise ValueError(
            f"its coordinates have the shapes {[X.shape for X in points]}, but {widths} columns belong there"
        )
    names = [f"center.{k}.{t}" for t in range(len(widths))]
    centers = tuple(
        checked_array(arrays, name, (n,)) if name in arrays else None for name, n in zip(names, widths, strict=True)
    )
    units = tuple(map(float, header["units"]))
    if len(units) != len(widths) or not all(0 < u < np.inf for u in units):
        raise ValueError(f"its units are {units}")
    adaptive, neighbors = (None if (n := header.get(name)) is None else int(n) for name in ("adaptive", "neighbors"))
    return Side(Standardizer(embedding, k, exponent, with_raw, cosine, centers, units), points, adaptive, neighbors)

"""What a model of dyads sees of the entities of one kind: their coordinates, their features as they are, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jointdr.estimators import ViewsTransformer
from jointdr.prediction.heads.kernels import Kernel, Mixture, spread, unit_rows
from jointdr.prediction.heads.nearest import Found, Index
from jointdr.runtime import Array, checked_array, is_sparse, matrix_from_arrays, matrix_to_arrays, require_squares

Tables = tuple[Array, ...]
"""The same entities in one or two descriptions."""


@dataclass(frozen=True)
class Describer:
    """A map from features of entities to one or two tables that kernels can take.

    Attributes
    ----------
    embedding : fitted ViewsTransformer or None
        None: the features as they are, and nothing else.
    view : int
        0 for rows, 1 for columns.
    exponent : float
        Coordinates are scaled by this power of Σ.
    with_raw : bool
        Whether the features as they are come second.
    cosine : bool
        Whether every row is scaled to length 1.
    centers : tuple of arrays or None
        What is taken off each table, because distances lose digits far from 0; None for angles and sparse tables.
    units : tuple of floats
        What each table is divided by: the root mean square distance between known entities; 1 for angles.
    """

    embedding: ViewsTransformer | None
    view: int
    exponent: float
    with_raw: bool
    cosine: bool
    centers: tuple[Array | None, ...] = ()
    units: tuple[float, ...] = ()

    def fitted(self, X: Array) -> Describer:
        """The same with the centres and units of these entities."""
        tables = self._tables(X)
        if self.cosine:
            return replace(self, centers=(None,) * len(tables), units=(1.0,) * len(tables))
        centers = tuple(None if is_sparse(T) else T.mean(axis=0) for T in tables)
        return replace(self, centers=centers, units=tuple(spread(T) for T in tables))

    def __call__(self, X: Array) -> Tables:
        """The tables of checked features; O(m n r)."""
        if self.cosine:
            return tuple(unit_rows(T) for T in self._tables(X))
        parts = zip(self._tables(X), self.centers, self.units, strict=True)
        with np.errstate(all="ignore"):
            scaled = [(T if c is None else T - c) / u for T, c, u in parts]
        name = f"the table of {('rows', 'columns')[self.view]}, against the distances between those fitted,"
        return tuple(require_squares(T, name, new=True) for T in scaled)

    def _tables(self, X: Array) -> Tables:
        raw = X if is_sparse(X) else np.asarray(X, dtype=float)
        if self.embedding is None:
            return (raw,)
        with np.errstate(all="ignore"):
            embedded = self.embedding.solution_.transform_view(self.view, X, self.exponent)
        embedded = np.asarray(embedded, dtype=float)
        return (embedded, raw) if self.with_raw else (embedded,)


@dataclass(frozen=True)
class Side:
    """The known entities of one kind.

    Attributes
    ----------
    describe : Describer
    points : tuple of (m, r) arrays
        The known entities in every description.
    adaptive : int or None
        As in `Kernel`.
    neighbors : int or None
        How many of the nearest entities have weights; None for all.
    memos : tuple of dicts, or None
        Where distances are kept for other bandwidths.
    """

    describe: Describer
    points: Tables
    adaptive: int | None = None
    neighbors: int | None = None
    memos: tuple[dict[Any, Found], ...] | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(describe: Describer, X: Array, adaptive: int | None = None, neighbors: int | None = None) -> Side:
        """The side of these known entities."""
        describe = describe.fitted(X)
        return Side(describe, describe(X), adaptive, neighbors)

    @cached_property
    def indexes(self) -> tuple[Index | None, ...]:
        """What finds the nearest entities in every description."""
        if self.neighbors is None:
            return (None,) * len(self.points)
        return tuple(Index(points, self.neighbors, self.describe.cosine) for points in self.points)

    @property
    def count(self) -> int:
        """The number of known entities."""
        return int(self.points[0].shape[0])

    @property
    def distance_bytes(self) -> int:
        """The memory of the distances between all entities, or to their neighbours."""
        each = 8 * self.count if self.neighbors is None else 12 * self.neighbors
        return each * self.count * len(self.points)

    def remembering(self) -> Side:
        """The same, with distances kept."""
        return replace(self, memos=tuple({} for _ in self.points))

    def kernel(self, description: int = 0, bandwidth: float = 1.0) -> Kernel:
        """The kernel of one description."""
        memo = None if self.memos is None else self.memos[description]
        options = (self.adaptive, self.describe.cosine, memo, self.indexes[description])
        return Kernel(self.points[description], bandwidth, *options)

    def mixture(self, bandwidth: float, raw_bandwidth: float | None, mix: float, own: float) -> Mixture:
        """The weights of all descriptions together.

        Parameters
        ----------
        bandwidth, raw_bandwidth : float
            Of the first and, if there is one, of the second description.
        mix : float
            The share of the second.
        own : float
            As in `Mixture`.
        """
        first = self.kernel(0, bandwidth)
        if raw_bandwidth is None:
            return Mixture((first,), (1.0,), own)
        return Mixture((first, self.kernel(1, raw_bandwidth)), (1.0 - mix, mix), own)


def described_sides(sides: tuple[Side, Side]) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """Both sides as JSON-able headers and plain arrays, without the embedding."""
    headers: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    for k, side in enumerate(sides):
        describe = side.describe
        named = {name: getattr(describe, name) for name in ("exponent", "with_raw", "cosine")}
        numbers = {"adaptive": side.adaptive, "neighbors": side.neighbors}
        headers.append({**named, **numbers, "units": list(describe.units)})
        for t, (points, center) in enumerate(zip(side.points, describe.centers, strict=True)):
            arrays |= matrix_to_arrays(f"points.{k}.{t}", points)
            if center is not None:
                arrays[f"center.{k}.{t}"] = center
    return headers, arrays


def restored_sides(
    embedding: ViewsTransformer | None,
    headers: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, Array],
    n_features: tuple[int, int],
) -> tuple[Side, Side]:
    """The sides that `described_sides` took apart; a ValueError if they are none of entities with so many features."""
    sides = [_restored_side(embedding, k, headers[k], arrays, n_features[k]) for k in (0, 1)]
    return sides[0], sides[1]


def _restored_side(
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
    return Side(Describer(embedding, k, exponent, with_raw, cosine, centers, units), points, adaptive, neighbors)

"""Sources of dask collections: arrays, DataFrames and partitions, which are reduced by the cluster that they are on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from jointdr.data import as_views, column_positions, default_name
from jointdr.engines import Cluster, Grid, MomentsOfGroups, RandomParts, RowBlock, Source, require_dask
from jointdr.moments import Moments
from jointdr.runtime import Array, check_choice, check_integer, take_columns


@dataclass(frozen=True)
class ChunkLeaf:
    """Chunks of rows, as arrays; made where they are reduced."""

    views: tuple[Any, ...]
    y: Any
    weight: Any
    first_row: int
    n_rows: int
    columns: tuple[Array | None, ...] | None = field(default=None, repr=False)

    def blocks(self, size: int) -> Any:
        views = tuple(_as_array(X) for X in self.views)
        if self.columns is not None:
            parts = zip(views, self.columns, strict=True)
            views = tuple(X if at is None else take_columns(X, at) for X, at in parts)
        return self._block(views).pieces(size)

    def responses(self, size: int) -> Any:
        return self._block(()).pieces(size)

    def _block(self, views: tuple[Array, ...]) -> RowBlock:
        y = np.empty((self.n_rows, 0)) if self.y is None else np.asarray(_as_array(self.y))
        y = y.astype(str) if y.dtype.kind == "O" else y
        weight = None if self.weight is None else np.asarray(_as_array(self.weight), dtype=float)
        return RowBlock(views, y, weight, self.first_row)


def _as_array(X: Any) -> Any:
    return X.to_numpy() if hasattr(X, "to_numpy") else X


@dataclass(frozen=True)
class DelayedLeaf(ChunkLeaf):
    """A `ChunkLeaf` whose chunks are still to be computed."""

    def delayed(self, views: bool) -> Any:
        """The leaf, with its views or without, to be made where it is reduced."""
        make = require_dask().delayed(ChunkLeaf, pure=False)
        chunks = self.views if views else ()
        return make(chunks, self.y, self.weight, self.first_row, self.n_rows, self.columns)

    def blocks(self, size: int) -> Any:
        return self.delayed(True).compute().blocks(size)

    def responses(self, size: int) -> Any:
        return self.delayed(False).compute().responses(size)


class DaskSource(Source):
    """Chunks of dask arrays or partitions of dask DataFrames, which are reduced by the cluster that they are on."""

    def __init__(
        self,
        names: Sequence[str],
        feature_names: Sequence[Array | None],
        templates: Sequence[Array],
        leaves: Sequence[DelayedLeaf],
    ) -> None:
        self.names, self.feature_names = tuple(names), tuple(feature_names)
        self._templates, self._chunks = tuple(templates), list(leaves)
        self.n_rows = sum(leaf.n_rows for leaf in leaves)
        self.has_response, self.has_weight = leaves[0].y is not None, leaves[0].weight is not None
        self.engine = Cluster()

    @property
    def templates(self) -> tuple[Array, ...]:
        return self._templates

    def _leaves(self) -> list[Any]:
        return list(self._chunks)

    def _select(self, columns: Sequence[Array]) -> Self:
        old = self._chunks[0].columns or (None,) * len(self.names)
        chosen = tuple(np.asarray(at) if c is None else c[at] for c, at in zip(old, columns, strict=True))
        templates = [take_columns(T, at) for T, at in zip(self._templates, columns, strict=True)]
        features = [None if f is None else f[at] for f, at in zip(self.feature_names, columns, strict=True)]
        leaves = [replace(leaf, columns=chosen) for leaf in self._chunks]
        return type(self)(self.names, features, templates, leaves)


def from_collections(X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Source:
    """A source of dask collections.

    Parameters
    ----------
    X : tuple or dict of dask arrays or DataFrames, one per view; or one of them, with `groups`
        Views are cut into the row chunks of the first one.
    y : dask array or Series, or (m,) array, optional
    sample_weight : dask array or Series, or (m,) array, optional
    groups : sequence or mapping of column groups, optional
        The columns of each view, where X is one table.
    """
    if isinstance(X, list) and all(hasattr(part, "dask") and hasattr(part, "key") for part in X):
        return scan_partitions(X).with_response(y, sample_weight)
    if groups is not None and isinstance(X, (tuple, list, dict)):
        raise TypeError("With views= one dask array or DataFrame is expected; drop views= to give one for each view.")
    if groups is None and not isinstance(X, (tuple, list, dict)):
        raise TypeError("One dask array or DataFrame needs views=, the columns of each view; or give one for each.")
    named = X if isinstance(X, dict) else None
    tables = [X] if groups is not None else list(X.values()) if named is not None else list(X)
    lengths = _lengths(tables[0])
    parts = [_chunks(table, lengths, f"view {k}") for k, table in enumerate(tables)]
    beside = [None if v is None else _chunks(v, lengths, n) for v, n in ((y, "y"), (sample_weight, "sample_weight"))]
    starts = [0, *accumulate(lengths)]
    features: list[Array | None] = [_names(table) for table in tables]
    templates = [_template(table) for table in tables]
    columns: tuple[Array | None, ...] | None = None
    if groups is None:
        names = list(named) if named is not None else [default_name(k) for k in range(len(tables))]
    else:
        items = groups.items() if isinstance(groups, Mapping) else ((default_name(k), g) for k, g in enumerate(groups))
        columns_in, width = features[0], templates[0].shape[1]
        chosen = {name: column_positions(g, width, columns_in, name) for name, g in items}
        names, columns = list(chosen), tuple(chosen.values())
        features = [None if columns_in is None else columns_in[at] for at in columns]
        templates = [templates[0][:, at] for at in columns]
        parts = parts * len(names)
    leaves = []
    for i, n in enumerate(lengths):
        if n:
            y_chunk, w_chunk = (None if chunks is None else chunks[i] for chunks in beside)
            leaves.append(DelayedLeaf(tuple(part[i] for part in parts), y_chunk, w_chunk, starts[i], n, columns))
    if not leaves:
        raise ValueError("The dask collections have no rows.")
    source = DaskSource(names, features, templates, leaves)
    if groups is not None:
        source.table = np.arange(width)[None] if columns_in is None else columns_in[None]
    return source


def scan_partitions(partitions: Sequence[Any]) -> Source:
    """A source of blocks that are made on the workers of a cluster.

    Parameters
    ----------
    partitions : list of dask Delayed objects, or of futures
        Each is ``(views, y)`` or ``(views, y, weight)``, with views such as ``(A, B)`` or a `Views`. They are made anew
        for every read, unless they are persisted on the cluster.
    """
    dask = require_dask()
    parts = [dask.delayed(_checked_partition, pure=False)(part) for part in partitions]
    heads = dask.compute(*[dask.delayed(_partition_head, pure=False)(part) for part in parts])
    names, features, templates, y, weight = heads[0][1:]
    if any(head[1] != names or [T.shape for T in head[3]] != [T.shape for T in templates] for head in heads):
        raise ValueError("All partitions need the same views.")
    lengths = [int(head[0]) for head in heads]
    leaves = [
        DelayedLeaf(
            tuple(part[0][k] for k in range(len(names))), part[1] if y else None, part[2] if weight else None, start, n
        )
        for part, start, n in zip(parts, [0, *accumulate(lengths)], lengths, strict=False)
    ]
    return DaskSource(names, features, templates, [leaf for leaf in leaves if leaf.n_rows])


def _checked_partition(part: Any) -> tuple[Any, Any, Any, Any, Any]:
    views = as_views(part[0], "scan_partitions").as_numbers()
    return views.arrays, part[1], part[2] if len(part) > 2 else None, views.names, views.feature_names


def _partition_head(part: tuple[Any, Any, Any, Any, Any]) -> tuple[Any, ...]:
    """The number of rows, the names, the views without rows, and whether there are a response and weights."""
    views, y, weight, names, features = part
    return views[0].shape[0], names, features, [X[:0, :] for X in views], y is not None, weight is not None


def _lengths(table: Any) -> list[int]:
    """The number of rows of each chunk; of a DataFrame they have to be computed."""
    if hasattr(table, "npartitions") and hasattr(table, "map_partitions"):
        return [int(n) for n in table.map_partitions(len).compute()]
    if any(np.isnan(table.chunks[0])):
        table = table.compute_chunk_sizes()
    return [int(n) for n in table.chunks[0]]


def _chunks(table: Any, lengths: Sequence[int], name: str) -> list[Any]:
    """One delayed chunk of all columns for every row chunk, or a slice of what is held in memory."""
    starts = [0, *accumulate(lengths)]
    if not hasattr(type(table), "__dask_graph__"):
        values = np.asarray(table)
        if len(values) != starts[-1]:
            raise ValueError(f"{name} has {len(values)} entries but the views have {starts[-1]} rows.")
        return [values[start : start + n] for start, n in zip(starts, lengths, strict=False)]
    found = _lengths(table)
    if sum(found) != starts[-1]:
        raise ValueError(f"{name} has {sum(found)} rows, but the first view has {starts[-1]}.")
    if hasattr(table, "map_partitions") and hasattr(table, "npartitions"):
        if found != list(lengths):
            raise ValueError(f"{name} has partitions of other lengths than the first view: bring them into one.")
        return list(table.to_delayed())
    if any(np.isnan(table.chunks[0])):
        table = table.compute_chunk_sizes()
    table = table.rechunk({0: tuple(lengths), **{axis: -1 for axis in range(1, table.ndim)}})
    return [chunk.ravel()[0] if table.ndim > 1 else chunk for chunk in table.to_delayed()]


def _names(table: Any) -> Array | None:
    columns = getattr(table, "columns", None)
    return None if columns is None else np.asarray(list(columns), dtype=object)


def _template(table: Any) -> Array:
    if hasattr(table, "dtypes"):
        kinds = [np.dtype(kind) for kind in table.dtypes]
        for name, dtype in zip(table.columns, kinds, strict=True):
            if dtype.kind not in "biuf":
                raise ValueError(f"column {name!r} does not hold numbers: leave it out, or encode it first.")
        return np.empty((0, len(kinds)), np.result_type(*kinds))
    if table.ndim != 2:
        raise ValueError(f"A view must have two dimensions (rows, features), got shape {table.shape}.")
    return np.empty((0, table.shape[1]), table.dtype)


def reduce_dyads(
    Y: Any,
    A: Any,
    B: Any,
    *,
    observed: str | None = None,
    n_folds: int = 1,
    seed: int = 0,
    client: Any = None,
    **keep: Any,
) -> list[Moments]:
    """The moments of dyads whose scores are a dask array, for `fit_moments`: workers reduce blocks of rows of Y.

    Parameters
    ----------
    Y : (m_A, m_B) dask array
        Its chunks may be SciPy sparse arrays.
    A : (m_A, n_1) dask array
        Is cut into the row chunks of Y.
    B : (m_B, n_2) array
        Is sent to every worker, once.
    observed : None or "stored"
        As of `Dyads`.
    n_folds, seed
        Parts of the row entities, as ``n_components="auto"`` needs them.
    client : distributed.Client, optional
    **keep
        As in `Moments.of_block`.

    Returns
    -------
    list of n_folds Moments

    Notes
    -----
    O(|Y| n) on the workers; n × n numbers come back. Pairs are counted as rows, as `Dyads` does.
    """
    check_choice("observed", observed, (None, "stored"), expected="give None or 'stored'")
    check_integer("n_folds", n_folds, 1)
    check_integer("seed", seed, 0)
    dask = require_dask()
    lengths = _lengths(Y)
    shared = dask.delayed(np.asarray(B), pure=False)
    moments = dask.delayed(_moments_of_rows, pure=False)
    starts = [0, *accumulate(lengths)]
    parts = zip(_chunks(Y, lengths, "Y"), _chunks(A, lengths, "A"), starts, strict=False)
    states = [moments(y, a, shared, observed is None, n_folds, start, seed, keep) for y, a, start in parts]
    return list(Cluster(client).merged(states, MomentsOfGroups(RandomParts(n_folds), n_folds, keep)))


def _moments_of_rows(
    Y: Any, A: Any, B: Any, complete: bool, n_folds: int, start: int, seed: int, keep: dict[str, Any]
) -> list[Moments]:
    with threadpool_limits(1, user_api="blas"):
        return Grid(Y, A, B, complete).fold_moments(n_folds, start, seed, **keep)

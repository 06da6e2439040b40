"""The engine of a cluster: leaves are folded where they are read, and states are merged in a tree, by dask.

A leaf is a file and a row range, or the chunks of dask collections: both can be had again, so that a worker that dies
costs what it had folded and nothing else. Only states travel, n × n numbers each, and the small values that folds are.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from jointdr.arrays import Array, take_columns
from jointdr.engines.folds import Block
from jointdr.engines.stream import Task
from jointdr.sources import Source, joined_leaves
from jointdr.views import as_views, column_positions, default_name

LEAVES_PER_THREAD = 4
"""Runs of leaves for each thread of the cluster: few states to merge, and not much lost with a worker."""

BRANCHES = 8
"""How many states are merged at a time."""


def _dask() -> Any:
    try:
        import dask
    except ImportError:
        raise ImportError("Clusters and dask collections take dask: pip install 'jointdr[dask]'.") from None
    return dask


@dataclass(frozen=True)
class Cluster:
    """Folds leaves on the workers of a client, or of dask's own default scheduler.

    Parameters
    ----------
    client : distributed.Client, optional
    """

    client: Any = None

    def width(self) -> int:
        """How many leaves are folded at a time: the threads of the cluster."""
        client = self.client or _default_client()
        return max(1, sum(client.nthreads().values())) if client is not None else int(_dask().system.CPU_COUNT)

    def run(self, task: Task, leaves: Sequence[Any], watch: Any = None) -> Any:
        """The merged state of all leaves."""
        dask = _dask()
        shared = dask.delayed(task, pure=False)  # one value that workers hand on to each other, not one for each leaf
        fold, merge = dask.delayed(_folded, pure=False), dask.delayed(_merged, pure=False)
        runs = joined_leaves(leaves, LEAVES_PER_THREAD * self.width())
        states = [fold(shared, [_delayed(leaf, task.views) for leaf in run]) for run in runs]
        while len(states) > 1:
            states = [merge(shared, states[i : i + BRANCHES]) for i in range(0, len(states), BRANCHES)]
        if self.client is not None:
            return self.client.compute(states[0]).result()
        return dask.compute(states[0])[0]


def _default_client() -> Any:
    """The client that dask would use, if there is one."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _folded(task: Task, leaves: Sequence[Any]) -> Any:
    """The state of some leaves, in the one thread that the scheduler counts on."""
    with threadpool_limits(1, user_api="blas"):
        return task(leaves)


def _merged(task: Task, states: Sequence[Any]) -> Any:
    return reduce(task.merge, states)


def distributed(source: Source, client: Any = None) -> Source:
    """The same source, to be read and folded by the workers of a dask cluster.

    Parameters
    ----------
    source : Source
        Its files must be where workers can read them, under the same paths.
    client : distributed.Client, or address of a scheduler, optional
        By default the client that was made last, or dask's default scheduler.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from jointdr import PCA
    >>> from jointdr.engines.dask import distributed
    >>> from jointdr.io import scan_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.random.default_rng(0).standard_normal((1000, 5)))
    ...     model = PCA(2).fit(distributed(scan_npy(a=f"{folder}/a.npy")))
    >>> model.embeddings_[0].shape
    (5, 2)
    """
    if isinstance(client, str):
        from distributed import Client

        client = Client(client, set_as_default=False)  # type: ignore[no-untyped-call]
    if not source.rereadable or source.n_rows is None:
        raise ValueError("A cluster needs a source that can be read from any row on, such as files.")
    source = copy.copy(source)
    source.engine = Cluster(client)
    return source


# ---------------------------------------------------------------- dask collections as sources


@dataclass(frozen=True)
class ChunkLeaf:
    """Chunks of rows, as arrays; made where they are folded."""

    views: tuple[Any, ...]
    y: Any
    weight: Any
    first_row: int
    n_rows: int
    columns: tuple[Array | None, ...] | None = None

    def blocks(self, size: int) -> Any:
        """Its rows, at most `size` at a time."""
        views = tuple(_as_array(X) for X in self.views)
        if self.columns is not None:
            parts = zip(views, self.columns, strict=True)
            views = tuple(X if at is None else take_columns(X, at) for X, at in parts)
        return self._block(views).pieces(size)

    def responses(self, size: int) -> Any:
        """The same without the views."""
        return self._block(()).pieces(size)

    def _block(self, views: tuple[Array, ...]) -> Block:
        y = np.empty((self.n_rows, 0)) if self.y is None else np.asarray(_as_array(self.y))
        y = y.astype(str) if y.dtype.kind == "O" else y
        weight = None if self.weight is None else np.asarray(_as_array(self.weight), dtype=float)
        return Block(views, y, weight, self.first_row)


def _as_array(X: Any) -> Any:
    """A chunk as an array: DataFrames and Series have one inside."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


@dataclass(frozen=True)
class DelayedLeaf:
    """A `ChunkLeaf` whose chunks are still to be computed."""

    views: tuple[Any, ...]
    y: Any
    weight: Any
    first_row: int
    n_rows: int
    columns: tuple[Array | None, ...] | None = field(default=None, repr=False)

    def delayed(self, views: bool) -> Any:
        """The leaf, with its views or without, to be made where it is folded."""
        make = _dask().delayed(ChunkLeaf, pure=False)
        chunks = self.views if views else ()
        return make(chunks, self.y, self.weight, self.first_row, self.n_rows, self.columns)

    def blocks(self, size: int) -> Any:
        """Its rows, computed here."""
        return self.delayed(True).compute().blocks(size)

    def responses(self, size: int) -> Any:
        """The same without the views."""
        return self.delayed(False).compute().responses(size)


def _delayed(leaf: Any, views: bool) -> Any:
    """What dask computes a leaf from: its chunks, or the leaf itself, which is read where it is folded."""
    return leaf.delayed(views) if isinstance(leaf, DelayedLeaf) else leaf


class DaskSource(Source):
    """Chunks of dask arrays or partitions of dask DataFrames, which are folded by the cluster that they are on."""

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
        """The views without rows."""
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
        chosen = {name: column_positions(g, templates[0].shape[1], features[0], name) for name, g in items}
        names, columns = list(chosen), tuple(chosen.values())
        features = [None if features[0] is None else features[0][at] for at in chosen.values()]
        templates = [templates[0][:, at] for at in chosen.values()]
        parts = parts * len(names)
    leaves = []
    for i, n in enumerate(lengths):
        y_chunk, w_chunk = (None if chunks is None else chunks[i] for chunks in beside)
        leaves.append(DelayedLeaf(tuple(part[i] for part in parts), y_chunk, w_chunk, starts[i], n, columns))
    leaves = [leaf for leaf in leaves if leaf.n_rows]
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
    dask = _dask()
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
    views = as_views(part[0], "scan_partitions")
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
    """The table without rows."""
    if hasattr(table, "dtypes"):
        kinds = [np.dtype(kind) for kind in table.dtypes]
        if any(kind.kind not in "biuf" for kind in kinds):
            name = next(c for c, kind in zip(table.columns, kinds, strict=True) if kind.kind not in "biuf")
            raise ValueError(f"column {name!r} does not hold numbers: leave it out, or encode it first.")
        return np.empty((0, len(kinds)), np.result_type(*kinds))
    if table.ndim != 2:
        raise ValueError(f"A view must have two dimensions (rows, features), got shape {table.shape}.")
    return np.empty((0, table.shape[1]), table.dtype)

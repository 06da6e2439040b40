"""Sources of arrays that can be read from any row on: NPY files and Zarr arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np

from jointdr.engines import RowBlock, Source
from jointdr.runtime import Array, Stamp, is_sparse, npy_header, require_mapped, slices, to_numpy

LEAF_BYTES = 64_000_000  # rows are dealt out in runs of about this size


@dataclass(frozen=True)
class NpyTable:
    """One array in an NPY file, of which some rows are read when they are needed.

    They are read, not mapped: mapped pages count as resident memory until the system takes them back, and a mapped file
    that shrinks kills the process. A file that is not what it was when its header was read is refused.
    """

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int
    stamp: Stamp

    @staticmethod
    def of(path: Any) -> NpyTable:
        """Read the header, and check that the file has all that it announces."""
        path = os.fspath(path)
        try:
            with open(path, "rb") as file:
                shape, fortran, dtype = npy_header(file)
                offset, stamp = file.tell(), Stamp.of(file.fileno())
        except ValueError as error:
            raise ValueError(f"{path} is not an NPY file of numbers: {error}") from error
        if offset + prod(shape) * dtype.itemsize > stamp.size:
            raise ValueError(
                f"{path} is cut off: its header announces {dtype} of shape {shape}, but it has {stamp.size} bytes."
            )
        return NpyTable(path, shape, dtype, fortran, offset, stamp)

    def rows(self, start: int, stop: int) -> Array:
        """The rows from `start` to before `stop`, in memory."""
        width = prod(self.shape[1:])
        with open(self.path, "rb", buffering=0) as file:
            if self.fortran and len(self.shape) > 1:  # rows are scattered over the file
                columns = [self._read(file, j * self.shape[0] + start, stop - start, stop) for j in range(width)]
                values = np.stack(columns).T
            else:
                values = self._read(file, start * width, (stop - start) * width, stop)
            self.stamp.require(self.path, file.fileno())
        return values.reshape(stop - start, *self.shape[1:])

    def _read(self, file: Any, first: int, count: int, stop: int) -> Array:
        file.seek(self.offset + first * self.dtype.itemsize)
        values = np.fromfile(file, self.dtype, count)
        if len(values) < count:
            raise ValueError(f"{self.path} ends before row {stop}, which its header announces.")
        return values

    def identity(self) -> list[Any]:
        stamp = Stamp.of(self.path)
        return [str(Path(self.path).resolve()), stamp.size, stamp.written]


@dataclass(frozen=True)
class ZarrTable:
    """One Zarr array, of which some rows are read when they are needed.

    Zarr may leave out chunks that hold the fill value alone, and reads a chunk without a file as one of these. So the
    files that there are when the array is opened are listed, and rows are refused if one of theirs is gone by the time
    they have been read, or is another one, or is there only now.
    """

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    # Of the files of chunks, by rows of chunks; None for a chunk without a file. Empty for what is no folder of files.
    stamps: tuple[tuple[Stamp | None, ...], ...] = field(default=(), repr=False)
    first: int = 0  # the row of chunks that `stamps` begins with

    @staticmethod
    def of(path: Any) -> ZarrTable:
        """Open the array, and list the files of its chunks."""
        path = os.fspath(path)
        array = _zarr().open_array(path, mode="r")
        stamps: list[tuple[Stamp | None, ...]] = []
        if os.path.isdir(path):
            height, *_ = _stored_shape(array)
            count = -(-array.shape[0] // height)
            stamps = [tuple(map(_stamp_of, _chunk_files(array, path, row))) for row in range(count)]
        return ZarrTable(path, tuple(array.shape), np.dtype(array.dtype), tuple(stamps))

    def part(self, start: int, stop: int) -> ZarrTable:
        """The same table with the list of files for these rows only, to be sent elsewhere."""
        if not self.stamps:
            return self
        height, *_ = _stored_shape(self._open())
        first, last = start // height, -(-stop // height)
        return replace(self, stamps=self.stamps[first - self.first : last - self.first], first=first)

    def rows(self, start: int, stop: int) -> Array:
        """The rows from `start` to before `stop`, in memory."""
        array = self._open()
        try:
            return np.asarray(array[start:stop])
        finally:  # also where reading has failed, because a file is cut off for example
            self._require_files(array, start, stop)

    def _open(self) -> Any:
        array = _zarr().open_array(self.path, mode="r")
        if tuple(array.shape) != self.shape or np.dtype(array.dtype) != self.dtype:
            raise ValueError(f"{self.path} was changed while it was read: start again when it is complete.")
        return array

    def _require_files(self, array: Any, start: int, stop: int) -> None:
        """Raise if the files of these rows are not those that were there when the array was opened."""
        height, *_ = _stored_shape(array)
        for row in range(start // height, -(-stop // height) if self.stamps else 0):
            for file, stamp in zip(_chunk_files(array, self.path, row), self.stamps[row - self.first], strict=True):
                if stamp is not None and not os.path.exists(file):
                    raise ValueError(
                        f"{file} has vanished since the array was opened, and would be read as if all of its numbers "
                        "were the fill value: put it back, or start again when the array is complete."
                    )
                if stamp is not None:
                    stamp.require(file)
                elif os.path.exists(file):
                    raise ValueError(
                        f"{file} was added while the array was read, and rows from before and after must not be "
                        "mixed: start again when it is complete."
                    )

    def identity(self) -> list[Any]:
        folder = Path(self.path).resolve()
        files = [(str(f.relative_to(folder)), f.stat()) for f in sorted(folder.rglob("*")) if f.is_file()]
        told = repr([(name, status.st_size, status.st_mtime_ns) for name, status in files])
        return [str(folder), hashlib.sha256(told.encode()).hexdigest()]


@dataclass(frozen=True)
class MemoryTable:
    """One array in memory, of which some rows are looked at, without a copy."""

    array: Array
    path: str = "an array in memory"

    @staticmethod
    def of(array: Any) -> MemoryTable:
        array = to_numpy(array)
        if is_sparse(array):
            raise TypeError("scan_arrays takes dense arrays: give sparse views to fit themselves.")
        return MemoryTable(np.asarray(array))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def rows(self, start: int, stop: int) -> Array:
        require_mapped(self.array)
        return self.array[start:stop]

    def identity(self) -> list[Any]:
        """About a thousand of its rows, the last one among them."""
        require_mapped(self.array)
        some = self.array[:: -max(1, len(self.array) // 1000)]
        return [list(self.shape), hashlib.sha256(np.ascontiguousarray(some).tobytes()).hexdigest()]


def _stored_shape(array: Any) -> tuple[int, ...]:
    """The shape of what one file of a Zarr array holds: a shard, or a chunk."""
    return tuple(array.shards or array.chunks)


def _chunk_files(array: Any, path: str, row: int) -> Iterator[str]:
    """The files of one row of chunks, whether they are there or not."""
    counts = [-(-n // size) for n, size in zip(array.shape[1:], _stored_shape(array)[1:], strict=True)]
    for rest in product(*map(range, counts)):
        yield os.path.join(path, array.metadata.encode_chunk_key((row, *rest)))


def _stamp_of(file: str) -> Stamp | None:
    try:
        return Stamp.of(file)
    except FileNotFoundError:
        return None


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ImportError("Zarr arrays are read by the package zarr: pip install zarr.") from None
    return zarr


@dataclass(frozen=True)
class ArrayLeaf:
    """A row range of some tables; `columns` are the features that are kept, None for all."""

    views: tuple[Any, ...]
    y: Any
    weight: Any
    first_row: int
    n_rows: int
    columns: tuple[Array | None, ...] = field(default=(), repr=False)

    def blocks(self, size: int) -> Iterator[RowBlock]:
        return self._read(size, self.views)

    def responses(self, size: int) -> Iterator[RowBlock]:
        return self._read(size, ())

    def _read(self, size: int, views: tuple[Any, ...]) -> Iterator[RowBlock]:
        for at in slices(self.n_rows, size):
            start, stop = self.first_row + at.start, self.first_row + at.stop
            tables = [table.rows(start, stop) for table in views]
            chosen = tuple(X if c is None else X[:, c] for X, c in zip(tables, self.columns, strict=False))
            y = np.empty((stop - start, 0)) if self.y is None else self.y.rows(start, stop)
            yield RowBlock(chosen, y, None if self.weight is None else self.weight.rows(start, stop), start)


class ArraySource(Source):
    """Tables, a response and weights that are arrays on disk, each of which can be read from any row on."""

    def __init__(self, names: Sequence[str], views: Sequence[Any], y: Any = None, weight: Any = None) -> None:
        _require_tables(names, views, y, weight)
        self.names = tuple(names)
        self.feature_names = (None,) * len(self.names)
        self.n_rows = int(views[0].shape[0])
        self.has_response, self.has_weight = y is not None, weight is not None
        self._tables = (tuple(views), y, weight)
        self._columns: tuple[Array | None, ...] = (None,) * len(self.names)

    @property
    def templates(self) -> tuple[Array, ...]:
        tables = zip(self._tables[0], self._columns, strict=True)
        return tuple(np.empty((0, t.shape[1] if c is None else len(c)), t.dtype) for t, c in tables)

    def _leaves(self) -> list[Any]:
        assert self.n_rows is not None
        at_once = 0 if self.engine is None else self.engine.block_bytes
        size = max(1, max(LEAF_BYTES, at_once) // max(1, self.row_bytes))
        views, y, weight = self._tables
        leaves = []
        for at in slices(self.n_rows, size):
            *of_views, of_y, of_weight = (_part_of(table, at) for table in (*views, y, weight))
            leaves.append(ArrayLeaf(tuple(of_views), of_y, of_weight, at.start, at.stop - at.start, self._columns))
        return leaves

    def _select(self, columns: Sequence[Array]) -> Self:
        source = type(self)(self.names, *self._tables)
        both = zip(self._columns, columns, strict=True)
        source._columns = tuple(np.asarray(at) if old is None else old[at] for old, at in both)
        return source

    def identity(self) -> dict[str, Any]:
        views, y, weight = self._tables
        return {**super().identity(), "files": [t.identity() for t in (*views, y, weight) if t is not None]}


def _part_of(table: Any, at: slice) -> Any:
    """A table as a leaf of these rows takes it along."""
    return table.part(at.start, at.stop) if isinstance(table, ZarrTable) else table


def _require_tables(names: Sequence[str], views: Sequence[Any], y: Any, weight: Any) -> None:
    for name, table in zip(names, views, strict=True):
        if len(table.shape) != 2 or 0 in table.shape or table.dtype.kind not in "biuf":
            raise ValueError(
                f"view {name!r} must be a table of numbers of shape (rows, features), but {table.path} holds "
                f"{table.dtype} of shape {table.shape}."
            )
    if y is not None and len(y.shape) not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, but {y.path} has shape {y.shape}.")
    if weight is not None and len(weight.shape) != 1:
        raise ValueError(f"weight must have one dimension, but {weight.path} has shape {weight.shape}.")
    beside = {"y": y, "weight": weight}
    rows = {n: t.shape[0] for n, t in (*zip(names, views, strict=True), *beside.items()) if t is not None}
    if len(set(rows.values())) > 1:
        raise ValueError(f"All arrays need the same number of rows, but got {rows}.")


def _scan(open_table: Callable[[Any], Any], caller: str, views: dict[str, Any], y: Any, weight: Any) -> ArraySource:
    if not views:
        raise TypeError(f"{caller} needs the views by name, for example {caller}(a='a.npy', b='b.npy', y='y.npy').")
    others = [None if path is None else open_table(path) for path in (y, weight)]
    return ArraySource(list(views), [open_table(path) for path in views.values()], *others)


def scan_npy(*, y: Any = None, weight: Any = None, **views: Any) -> Source:
    """Views in NPY files, which are read a block at a time.

    Parameters
    ----------
    y : path, optional
        The response of each row, (m,) or (m, q): numbers, or labels.
    weight : path, optional
        Sample weights, (m,).
    **views : paths
        One file for each view, (m, n_k), by the name of the view.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.io import scan_npy
    >>> X, y, _ = make_bilinear(5000, n_features=(20, 10), n_components=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, array in zip("aby", (*X.arrays, y)):
    ...         np.save(f"{folder}/{name}.npy", array)
    ...     source = scan_npy(a=f"{folder}/a.npy", b=f"{folder}/b.npy", y=f"{folder}/y.npy")
    ...     model = JDR(n_components=2).fit(source)
    >>> source
    ArraySource(a: 5000 × 20, b: 5000 × 10)
    >>> np.allclose(model.singular_values_, JDR(n_components=2).fit(X, y).singular_values_)
    True
    """
    return _scan(NpyTable.of, "scan_npy", views, y, weight)


def scan_arrays(*, y: Any = None, weight: Any = None, **views: Any) -> Source:
    """Views in memory, to be read a block at a time: to be streamed to an accelerator, or watched.

    Parameters as in `scan_npy`, as NumPy arrays, memory maps or tensors on the host. They are not copied.
    """
    return _scan(MemoryTable.of, "scan_arrays", views, y, weight)


def scan_zarr(*, y: Any = None, weight: Any = None, **views: Any) -> Source:
    """Views in Zarr arrays, which are read a block at a time; takes the package zarr.

    Parameters as in `scan_npy`: the folder of one array each. Chunks of whole rows are read fastest.

    Notes
    -----
    A chunk without a file holds the fill value, because Zarr leaves out chunks that hold nothing else. Files that were
    there when the array was opened and are gone, or others, when they are read are an error that names them; a file
    that had been lost before cannot be told from one that was never written.
    """
    return _scan(ZarrTable.of, "scan_zarr", views, y, weight)

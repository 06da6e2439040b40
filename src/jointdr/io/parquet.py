"""A source of Parquet files: row groups are streamed, and only the columns that are needed."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np

from jointdr.engines import READERS_SHARE, RowBlock, Source
from jointdr.io.parquet_columns import TableColumns, choose_columns, require_columns, require_pyarrow
from jointdr.runtime import Array, Stamp, memory

ARROW_NAMES = {"float32": "float", "float64": "double"}

PAGE_BYTES = 1_000_000  # the size of a page of a column, or of its dictionary, that writers keep to by default
BUFFER_BYTES = 65_536  # columns of a large row group are read in such steps, so that it may be larger than memory
WHOLE_BYTES = 64_000_000  # a row group up to this is decoded whole, a few columns at a time: no page of others is held
COLUMNS_BYTES = 1_000_000  # so many bytes of columns are decoded at a time


@lru_cache(maxsize=16)
def _metadata(path: str) -> Any:
    """The footer of a file, which every row group would have to read again."""
    return require_pyarrow().parquet.read_metadata(path)


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file."""

    path: str
    group: int
    first_row: int
    n_rows: int
    columns: TableColumns = field(repr=False)
    stamp: Stamp = field(repr=False)
    whole: bool = field(default=False, repr=False)  # whether it is decoded before the first block is given

    @property
    def nbytes(self) -> int:
        return self.n_rows * self.columns.row_bytes

    @property
    def whole_bytes(self) -> int:
        """Memory of a reader of whole row groups: one in use, the next one, and the columns that are being decoded."""
        return 2 * self.nbytes + 3 * min(COLUMNS_BYTES, self.nbytes)

    @property
    def page_bytes(self) -> int:
        """Memory of a reader of blocks: a page of every column and its dictionary, as in the file and as numbers."""
        with self._named():
            column = _metadata(self.path).row_group(self.group).column(0)
        pages = min(column.total_uncompressed_size, PAGE_BYTES * (2 if column.has_dictionary_page else 1))
        return len(self.columns.needed(True)) * (BUFFER_BYTES + 2 * pages)

    def blocks(self, size: int) -> Iterator[RowBlock]:
        """Its rows, at most `size` at a time, by columns, as the file has them; products take either order."""
        if self.whole:
            yield from self._decode().pieces(size)
            return
        for start, batch in self._batches(size, True):
            views = zip(self.columns.views, self.columns.dtypes, strict=True)
            yield self._block(start, batch, tuple(self._view(batch, names, dtype) for names, dtype in views))

    def responses(self, size: int) -> Iterator[RowBlock]:
        if not self.columns.needed(False):
            yield RowBlock((), np.empty((self.n_rows, 0)), None, self.first_row)
            return
        for start, batch in self._batches(size, False):
            yield self._block(start, batch, ())

    def _batches(self, size: int, with_views: bool) -> Iterator[tuple[int, Any]]:
        start, columns = self.first_row, self.columns.needed(with_views)
        with self._open(BUFFER_BYTES) as file:
            # One thread reads a row group: others read, or reduce, what lies beside it.
            batches = file.iter_batches(size, row_groups=[self.group], columns=columns, use_threads=False)
            while (batch := self._next(batches)) is not None:
                self.stamp.require(self.path)
                yield start, batch
                start += batch.num_rows
        self._require_rows(start - self.first_row)

    def _decode(self) -> RowBlock:
        """All rows, a few columns at a time."""
        parts = list(zip(self.columns.views, self.columns.dtypes, strict=True))
        views = tuple(np.empty((self.n_rows, len(names)), dtype, order="F") for names, dtype in parts)
        with self._open(0) as file:
            for X, (names, _) in zip(views, parts, strict=True):
                width = max(1, COLUMNS_BYTES // (self.n_rows * X.itemsize))
                for j in range(0, len(names), width):
                    batch = self._read(file, names[j : j + width])
                    for k, name in enumerate(batch.schema.names, j):
                        X[:, k] = self._numbers(batch, name)
            beside = self.columns.needed(False) or self.columns.needed(True)[:1]
            block = self._block(self.first_row, self._read(file, beside), views)
        self.stamp.require(self.path)
        return block

    def _read(self, file: Any, columns: Sequence[str]) -> Any:
        with self._named():
            table = file.read_row_group(self.group, columns=list(columns), use_threads=False)
        self._require_rows(table.num_rows)
        return table.combine_chunks().to_batches()[0]

    def _require_rows(self, found: int) -> None:
        if found != self.n_rows:
            raise ValueError(f"{self.path} has other rows in row group {self.group} than its footer lists.")

    def _open(self, buffer_bytes: int) -> Any:
        with self._named():
            metadata = _metadata(self.path)
            self.stamp.require(self.path)
            # With `pre_buffer`, its default, pyarrow holds all columns of a row group as they lie in the file.
            return require_pyarrow().parquet.ParquetFile(
                self.path, metadata=metadata, buffer_size=buffer_bytes, pre_buffer=False
            )

    def _next(self, batches: Iterator[Any]) -> Any:
        with self._named():
            return next(batches, None)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of a read as a ValueError that names the file: it is another one by now, or damaged."""
        try:
            yield
        except (OSError, ValueError, require_pyarrow().ArrowException) as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            self.stamp.require(self.path)
            raise ValueError(f"{self.path} is damaged in row group {self.group}: {error}") from error

    def _block(self, start: int, batch: Any, views: tuple[Array, ...]) -> RowBlock:
        y = [self._values(batch, name) for name in self.columns.response]
        response = np.empty((batch.num_rows, 0)) if not y else y[0] if len(y) == 1 else np.column_stack(y)
        weight = None if self.columns.weight is None else self._numbers(batch, self.columns.weight).astype(float)
        return RowBlock(views, response, weight, start)

    def _view(self, batch: Any, names: Sequence[str], dtype: str) -> Array:
        part = batch.select(names)
        if {str(kind) for kind in part.schema.types} == {ARROW_NAMES[dtype]} and not any(c.null_count for c in part):
            return part.to_tensor(row_major=False).to_numpy()  # in one go, where they are what is asked for
        X = np.empty((batch.num_rows, len(names)), dtype, order="F")
        for j, name in enumerate(names):
            X[:, j] = self._numbers(batch, name)
        return X

    def _numbers(self, batch: Any, name: str) -> Array:
        column = batch.column(name)
        if column.null_count:
            raise ValueError(
                f"column {name!r} of {self.path} has missing values ({column.null_count} in row group {self.group}): "
                "drop those rows, or fill them in, before the file is written."
            )
        return column.to_numpy(zero_copy_only=False)

    def _values(self, batch: Any, name: str) -> Array:
        """Numbers as they are stored, labels as strings."""
        values = self._numbers(batch, name)
        return values.astype(str) if values.dtype.kind == "O" else values


class ParquetSource(Source):
    """Parquet files with columns for every view."""

    def __init__(self, names: Sequence[str], groups: Sequence[RowGroup]) -> None:
        self.names = tuple(names)
        self._groups = list(groups)
        self._columns = self._groups[0].columns
        self.feature_names = tuple(np.array(view, dtype=object) for view in self._columns.views)
        self.n_rows = sum(group.n_rows for group in self._groups)
        self.has_response, self.has_weight = bool(self._columns.response), self._columns.weight is not None

    @property
    def templates(self) -> tuple[Array, ...]:
        parts = zip(self._columns.views, self._columns.dtypes, strict=True)
        return tuple(np.empty((0, len(view)), dtype) for view, dtype in parts)

    @property
    def reader_bytes(self) -> int:  # type: ignore[override]
        return self._largest.whole_bytes if self._reads_whole else self._largest.page_bytes

    @property
    def _largest(self) -> RowGroup:
        return max(self._groups, key=lambda group: group.n_rows)

    @property
    def _reads_whole(self) -> bool:
        """Whether row groups are decoded whole: if they are small, and all cores can do so or pages take even more."""
        group = self._largest
        if group.nbytes > WHOLE_BYTES:
            return False
        share = memory.within(2**62, READERS_SHARE / joblib.cpu_count())
        return group.whole_bytes <= share or group.whole_bytes <= group.page_bytes

    def place(self, row: int) -> str:
        """The file, the row group and the row in it."""
        group = self._groups[bisect_right([g.first_row for g in self._groups], row) - 1]
        return f"{group.path}, row group {group.group}, row {row - group.first_row} of it"

    def identity(self) -> dict[str, Any]:
        files = {group.path: Stamp.of(group.path) for group in self._groups}
        return {
            **super().identity(),
            "files": [[str(Path(p).resolve()), stamp.size, stamp.written] for p, stamp in files.items()],
            "columns": self._columns.needed(True),
        }

    def _leaves(self) -> list[Any]:
        whole = self._reads_whole
        return [replace(group, whole=whole) for group in self._groups]

    def _select(self, columns: Sequence[Array]) -> Self:
        views = tuple(tuple(view[i] for i in at) for view, at in zip(self._columns.views, columns, strict=True))
        chosen = replace(self._columns, views=views)
        return type(self)(self.names, [replace(group, columns=chosen) for group in self._groups])


def _open_file(parquet: Any, path: str) -> Any:
    """A Parquet file; a ValueError names one that is none."""
    try:
        return parquet.ParquetFile(path)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, require_pyarrow().ArrowException) as error:
        raise ValueError(f"{path} is not a whole Parquet file: {error}") from error


def scan_parquet(paths: Any, *, views: Mapping[str, Any], response: Any = None, weight: str | None = None) -> Source:
    """Views in the columns of Parquet files, which are read a row group at a time, and only the columns that count.

    Parameters
    ----------
    paths : path or list of paths
        Files with the same columns, whose rows follow one another; or a folder of ``*.parquet`` files, by name.
    views : dict of lists of column names or patterns
        The columns of each view. A pattern such as ``"gene_*"`` stands for all columns that it fits, in the order of
        the file, but for the response and the weights.
    response : column name, or list of them, optional
        The response of each row: numbers, or labels.
    weight : column name, optional
        Sample weights.

    Notes
    -----
    A view of float32 columns stays float32. Columns must hold numbers without missing values; the error names the file,
    the column and the row group. Files with row groups of 10 to 100 MB are best: a row group is what one core reads.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> from jointdr import JDR
    >>> from jointdr.io import scan_parquet
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.standard_normal((2000, 6)), columns=["a1", "a2", "a3", "b1", "b2", "b3"])
    >>> table["y"] = table.a1 * table.b2 + 0.1 * rng.standard_normal(2000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/table.parquet")
    ...     source = scan_parquet(f"{folder}/table.parquet", views={"a": "a*", "b": "b*"}, response="y")
    ...     model = JDR(n_components=1).fit(source)
    >>> source
    ParquetSource(a: 2000 × 3, b: 2000 × 3)
    >>> np.abs(model.embeddings_[0][:, 0]).round(1)
    array([1., 0., 0.])
    """
    parquet = require_pyarrow().parquet
    files = _files(paths)
    _metadata.cache_clear()  # files may have been written anew
    response = () if response is None else (response,) if isinstance(response, str) else tuple(response)
    groups: list[RowGroup] = []
    columns, first_row = None, 0
    for path in files:
        stamp = Stamp.of(path)
        with _open_file(parquet, path) as file:
            if columns is None:
                columns = choose_columns(file.schema_arrow, path, views, response, weight)
            require_columns(file.schema_arrow, path, columns)
            for i in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(i).num_rows
                if rows:
                    groups.append(RowGroup(path, i, first_row, rows, columns, stamp))
                first_row += rows
    if not groups:
        raise ValueError(f"{files[0]} has no rows." if len(files) == 1 else f"{len(files)} files have no rows.")
    return ParquetSource(tuple(views), groups)


def _files(paths: Any) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        path = Path(paths)
        found = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    else:
        found = [Path(path) for path in paths]
    if not found:
        raise FileNotFoundError(f"{os.fspath(paths)} is a folder without *.parquet files.")
    return [os.fspath(path) for path in found]

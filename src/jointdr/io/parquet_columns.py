"""The columns of Parquet files: which of them make the views, the response and the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np


def require_pyarrow() -> Any:
    """The package pyarrow, or an error with the command that installs it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files are read by pyarrow: pip install 'jointdr[io]'.") from None
    return pyarrow


@dataclass(frozen=True)
class TableColumns:
    """Which columns make the views, the response and the weights; dtypes are those of the views."""

    views: tuple[tuple[str, ...], ...]
    dtypes: tuple[str, ...]
    response: tuple[str, ...] = ()
    weight: str | None = None

    @property
    def row_bytes(self) -> int:
        return sum(len(view) * np.dtype(dtype).itemsize for view, dtype in zip(self.views, self.dtypes, strict=True))

    def needed(self, with_views: bool) -> list[str]:
        """Every column that has to be read, once."""
        views = self.views if with_views else ()
        beside = (*self.response, *(() if self.weight is None else (self.weight,)))
        return list(dict.fromkeys([*(c for view in views for c in view), *beside]))


def choose_columns(
    schema: Any, path: str, views: Mapping[str, Any], response: tuple[str, ...], weight: str | None
) -> TableColumns:
    """The columns of a file that patterns and names stand for."""
    if not isinstance(views, Mapping) or not views:
        raise TypeError(f"views={views!r} must be a dict with the columns of each view, such as {{'a': 'a_*'}}.")
    chosen = tuple(_matching(schema.names, path, name, group, {*response, weight}) for name, group in views.items())
    missing = [c for c in (*response, weight) if c is not None and c not in schema.names]
    if missing:
        raise ValueError(f"{path} has no column {missing[0]!r}; it has {schema.names[:10]}.")
    return TableColumns(chosen, tuple(_dtype(schema, path, view) for view in chosen), response, weight)


def _matching(names: Sequence[str], path: str, view: str, group: Any, others: set[str | None]) -> tuple[str, ...]:
    result: list[str] = []
    for item in [group] if isinstance(group, str) else group:
        if not isinstance(item, str):
            raise TypeError(f"view {view!r}: columns of a Parquet file are named by strings, but got {item!r}.")
        is_pattern = item not in names and any(c in item for c in "*?[")
        found = [n for n in names if n not in others and fnmatchcase(n, item)] if is_pattern else [item]
        if not found or found[0] not in names:
            raise ValueError(f"view {view!r}: no column is called {item!r}; {path} has {list(names[:10])}.")
        result += [n for n in found if n not in result]
    return tuple(result)


def _dtype(schema: Any, path: str, view: tuple[str, ...]) -> str:
    """float32 if every column is no more precise than that, otherwise float64."""
    types = require_pyarrow().types
    single = True
    for name in view:
        kind = schema.field(name).type
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"column {name!r} of {path} holds {kind}, not numbers: leave it out, or encode it first, for example "
                "as one column of 0 and 1 for each value."
            )
        single = single and (types.is_float32(kind) or types.is_float16(kind))
    return "float32" if single else "float64"


def require_columns(schema: Any, path: str, columns: TableColumns) -> None:
    """Raise unless a file has the columns of the first one, in no higher precision."""
    missing = [name for name in columns.needed(True) if name not in schema.names]
    if missing:
        raise ValueError(f"{path} lacks the column {missing[0]!r}, which the first file has.")
    for view, dtype in zip(columns.views, columns.dtypes, strict=True):
        if _dtype(schema, path, view) > dtype:
            raise ValueError(f"{path} holds float64 where the first file holds float32: write them alike.")

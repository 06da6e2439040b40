"""Data that gives its columns by name, each an array or a list with one entry for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jointdr.data.columns import list_some
from jointdr.runtime import Array, is_foreign, is_sparse


def tables_of_columns(data: Any, views: Sequence[str] | Mapping[str, Any]) -> dict[str, Array]:
    """A table for each view; parameters as in `Views.from_columns`."""
    if isinstance(views, str) or not isinstance(views, (Sequence, Mapping)) or not views:
        raise ValueError(
            f"views={views!r} should list columns, for example ('image', 'text'), or map views to columns."
        )
    named = views if isinstance(views, Mapping) else {name: name for name in views}
    if len(named) < len(views):
        raise ValueError(f"views={views!r} names a column twice.")
    return {name: _table(data, [columns] if isinstance(columns, str) else columns) for name, columns in named.items()}


def response_of_column(data: Any, name: str) -> Array:
    """A column of responses."""
    values = _column(data, name)
    return values if is_foreign(values) else np.asarray(values)


def _table(data: Any, columns: Sequence[str]) -> Array:
    tables = [_as_table(_column(data, name), name) for name in columns]
    if len(tables) == 1:
        return tables[0]
    if not tables or any(is_sparse(X) or is_foreign(X) for X in tables):
        raise ValueError(f"A view is one column, or several of NumPy arrays or numbers, but got {list(columns)}.")
    return np.hstack(tables)


def _column(data: Any, name: str) -> Any:
    try:
        values = data[name]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        names = getattr(data, "column_names", None) or getattr(data, "columns", None)
        names = list(data) if names is None and isinstance(data, Mapping) else names
        if names is None:
            raise TypeError(
                f"data should give its columns by name, data[{name!r}], but got {type(data).__name__}."
            ) from error
        raise ValueError(f"data has no column {name!r}, but {list_some([str(c) for c in names])}.") from error
    if is_sparse(values) or is_foreign(values) or isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):  # a Series
        return values.to_numpy()
    return values[:] if hasattr(values, "__len__") else list(values)


def _as_table(values: Any, name: str) -> Array:
    if is_sparse(values) or is_foreign(values):
        return values
    try:
        X = np.asarray(values)
        X = np.stack([np.asarray(row) for row in X]).astype(float) if X.dtype.kind == "O" else X
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r} should hold numbers, as many in each row: encode or embed anything else first."
        ) from None
    if X.dtype.kind not in "biuf":
        raise ValueError(f"column {name!r} holds {X.dtype}, not numbers: encode or embed it first.")
    if X.ndim > 2:
        raise ValueError(
            f"column {name!r} has rows of shape {X.shape[1:]}: give one vector for each, such as row.reshape(-1)."
        )
    return X[:, None] if X.ndim == 1 else X

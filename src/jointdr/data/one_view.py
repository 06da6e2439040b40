"""One view, checked: an array of numbers, or a table with columns of any kind as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from jointdr.data.columns import as_frame, has_numbers_alone, is_frame
from jointdr.runtime import Array, is_foreign, namespace


def checked_view(X: Any, name: str) -> Array:
    """A real, two-dimensional, non-empty table, copied only if it is not an array yet.

    Integer and boolean tables stay as they are and become floats block by block. NaN and infinity are found later, on
    the sums, without another read of the data. A DataFrame that does not have numbers alone, under names, is one of
    pandas.
    """
    columns = column_names(X)
    if is_frame(X) and columns is not None and 0 not in X.shape:
        _require_different_names(X, name)
        if not has_numbers_alone(X):
            return as_frame(X)
    return checked_numbers_of(X, name)


def checked_numbers_of(X: Any, name: str) -> Array:
    """The same as an array of numbers; anything else is an error."""
    if is_foreign(X):
        xp = namespace(X)
        if X.ndim != 2:
            raise ValueError(f"view {name!r} must have two dimensions (rows, features), got shape {tuple(X.shape)}.")
        if not xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
            raise ValueError(f"view {name!r} must hold real numbers, got {X.dtype}.")
        if 0 in X.shape:
            raise ValueError(f"view {name!r} is empty: its shape is {tuple(X.shape)}.")
        return X
    _require_different_names(X, name)
    try:
        table = _as_numbers(X, name)
    except (TypeError, ValueError) as error:
        _raise_if_not_numbers(X, name)
        if f"view {name!r}" in str(error):
            raise
        raise type(error)(f"view {name!r}: {error}") from error
    if table.dtype.kind not in "biuf":
        raise ValueError(f"view {name!r} should hold numbers, but got {table.dtype}.")
    return table


def _as_numbers(X: Any, name: str) -> Array:
    X = check_array(
        X,
        accept_sparse="csr",
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=f"view {name!r}",
    )
    if 0 in X.shape:
        raise ValueError(
            f"view {name!r} is empty: it has {X.shape[0]} sample(s) with {X.shape[1]} feature(s), "
            "but at least one of each is needed."
        )
    return X.astype(np.float64) if X.dtype.kind == "O" else X  # columns of categories come out as objects


def _require_different_names(X: Any, name: str) -> None:
    columns = column_names(X)
    if columns is not None and len(set(columns)) < len(columns):
        names, counts = np.unique(columns.astype(str), return_counts=True)
        raise ValueError(
            f"view {name!r} has several columns of the same name: {names[counts > 1][:5].tolist()}. "
            "Rename or drop them, or give the values alone, for example A.to_numpy()."
        )


def _raise_if_not_numbers(X: Any, name: str) -> None:
    for column in getattr(X, "columns", ()):
        try:
            is_number = _as_numbers(X[[column]], name).dtype.kind in "biuf"
        except (TypeError, ValueError):
            is_number = False
        if not is_number:
            raise ValueError(
                f"view {name!r} holds values in column {column!r} that are not numbers ({X[column].dtype}). "
                "Make features of the table with jointdr.TableEncoder first, or drop the column."
            )


def column_names(X: Any) -> Array | None:
    """The names of the columns of a table, if all of them are strings."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return np.asarray(list(columns), dtype=object)

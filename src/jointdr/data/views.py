"""Views: feature tables whose rows belong together, and the one place where input is checked."""

from __future__ import annotations

import string
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from jointdr.data.views_of_formats import ViewsOfFormats
from jointdr.runtime import (
    Array,
    first_names,
    html_table,
    is_foreign,
    is_sparse,
    kind_of_array,
    namespace,
    take_rows,
    to_numpy,
)

SPLIT_HINT = "To cross-validate, wrap the views as Views(A, B): scikit-learn splits a bare list by views, not by rows."

LARGEST_WEIGHT = 1e100  # weights are squared, and multiplied by squares: beyond this, or below its inverse, that fails


class PositionWarning(UserWarning):
    """Rows with different ids are taken together by position."""


class Views(ViewsOfFormats):
    """Two or more feature tables whose rows belong together.

    A `Views` behaves like one table with rows: it has a length and a shape, and indexing it selects the same
    rows of every view. That is what scikit-learn needs to split data, so `cross_val_score`, `GridSearchCV`,
    `train_test_split` and `learning_curve` all split rows when they are given a `Views`.

    Parameters
    ----------
    *arrays : array-likes of shape (m, n_k)
        One table per view: NumPy arrays, pandas or polars DataFrames (column names are kept), SciPy sparse
        matrices (kept as CSR), or arrays of an Array API library such as torch (kept on their device).
    **named : array-likes of shape (m, n_k)
        The same with names; without names the views are called a, b, c, ...

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Views
    >>> X = Views(genes=np.zeros((5, 3)), diseases=np.ones((5, 2)))
    >>> X
    Views(genes: 5 × 3, diseases: 5 × 2)
    >>> X[1:3]
    Views(genes: 2 × 3, diseases: 2 × 2)
    """

    def __init__(self, *arrays: Any, **named: Any) -> None:
        if arrays and named:
            raise ValueError(
                "Views takes either unnamed views, Views(A, B), or named ones, Views(genes=A, diseases=B)."
            )
        names = tuple(named) or tuple(default_name(k) for k in range(len(arrays)))
        tables = arrays or tuple(named.values())
        if not tables:
            raise ValueError("Views needs at least one view, for example Views(A, B).")
        for name, X in zip(names, tables, strict=True):
            if isinstance(X, Views):
                raise TypeError(f"view {name!r} is a Views itself; give the tables, for example Views(A, B).")
        tables = _in_one_order(tables, names)
        self.names = names
        self.feature_names = tuple(_column_names(X) for X in tables)
        self.index = next((X.index for X in tables if hasattr(X, "iloc")), None)
        self.arrays = tuple(_checked_view(X, name) for X, name in zip(tables, names, strict=True))
        rows = [X.shape[0] for X in self.arrays]
        if len(set(rows)) > 1:
            counts = ", ".join(f"view {n!r} has {m}" for n, m in zip(names, rows, strict=True))
            raise ValueError(f"All views need the same number of rows, one per sample, but {counts}.")

    @classmethod
    def from_checked(cls, names: Any, feature_names: Any, index: Any, arrays: Any) -> Views:
        """Views of parts that were checked before."""
        views = cls.__new__(cls)
        views.names, views.feature_names, views.index, views.arrays = names, feature_names, index, arrays
        return views

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and number of features of all views together."""
        return len(self), sum(self.n_features)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(X.shape[1] for X in self.arrays)

    def __len__(self) -> int:
        return int(self.arrays[0].shape[0])

    def __getitem__(self, key: Any) -> Views:
        if isinstance(key, str) or (isinstance(key, tuple) and (len(key) != 2 or key[1] is not Ellipsis)):
            raise IndexError("Views are indexed by rows only: X[rows]. The tables themselves are in X.arrays.")
        key = key[0] if isinstance(key, tuple) else key
        if isinstance(key, (int, np.integer)):
            if not -len(self) <= key < len(self):
                raise IndexError(f"row {key} is out of range for {len(self)} rows.")
            key = slice(key, key + 1 if key != -1 else None)
        rows = key if isinstance(key, slice) else np.asarray(key)
        index = None if self.index is None else self.index[rows]
        if isinstance(rows, slice):
            arrays = tuple(X[rows, :] for X in self.arrays)
        else:
            at = np.flatnonzero(rows) if rows.dtype == bool else rows
            arrays = tuple(take_rows(X, at) for X in self.arrays)
        return Views.from_checked(self.names, self.feature_names, index, arrays)

    # Without these, NumPy and list() would take the rows one by one.
    __iter__ = None

    def __array__(self, *args: Any, **kwargs: Any) -> Array:
        raise TypeError(
            f"{self!r} holds several tables and is no matrix. Use it with estimators of jointdr, or give one of its "
            "tables, X.arrays[0], or all side by side, np.hstack(X.arrays)."
        )

    def reordered(self, names: Sequence[str]) -> Views:
        """The same views in another order."""
        at = [self.names.index(name) for name in names]
        features, arrays = (tuple(part[i] for i in at) for part in (self.feature_names, self.arrays))
        return Views.from_checked(tuple(names), features, self.index, arrays)

    def __repr__(self) -> str:
        tables = ", ".join(f"{n}: {X.shape[0]} × {X.shape[1]}" for n, X in zip(self.names, self.arrays, strict=True))
        return f"Views({tables})"

    def _repr_html_(self) -> str:
        kinds = zip(self.names, self.arrays, self.feature_names, strict=True)
        rows = [(name, X.shape[1], kind_of_array(X), first_names(names)) for name, X, names in kinds]
        note = "" if self.index is None else f"rows: {first_names(self.index)}"
        return html_table(f"Views with {len(self)} rows", ("view", "features", "kind", "first features"), rows, note)


def _in_one_order(tables: Sequence[Any], names: Sequence[str]) -> tuple[Any, ...]:
    """The tables with the rows of all DataFrames in the order of the first one."""
    index = next((X.index for X in tables if hasattr(X, "iloc")), None)
    return tuple(in_order(X, index, f"view {name!r}") for X, name in zip(tables, names, strict=True))


def in_order(values: Any, index: Any, name: str) -> Any:
    """A Series or DataFrame with its rows in the order of an index that has the same ids; anything else as it is.

    Raises
    ------
    ValueError
        Where it has other ids. An index that is just 0, 1, 2, ... has none: then rows belong together by position.
    """
    if index is None or not hasattr(values, "iloc") or len(values.index) != len(index) or values.index.equals(index):
        return values
    if not (values.index.is_unique and index.is_unique):
        if _has_ids(values.index) and _has_ids(index):
            warnings.warn(
                f"The index of {name} is not that of the first table, and ids come again in it, so that rows are taken "
                "together by position: .reset_index(drop=True) says that this is meant.",
                PositionWarning,
                stacklevel=5,
            )
        return values
    at = index.get_indexer(values.index)
    if (at >= 0).all():
        return values.iloc[np.argsort(at)]
    if _has_ids(values.index) and _has_ids(index):
        other = values.index.tolist()[int(np.argmin(at))]
        raise ValueError(
            f"The index of {name} has other ids than the first table, for example {other!r}: give the same rows. If "
            "they belong together by position, say so with .reset_index(drop=True)."
        )
    return values


def _has_ids(index: Any) -> bool:
    return not (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1)


def default_name(k: int) -> str:
    """The name of the k-th view where none is given: a, b, c, ..., z, view26, ..."""
    return string.ascii_lowercase[k] if k < 26 else f"view{k}"


def join_feature_names(names: Sequence[Array | None]) -> Array | None:
    """The names of the features of all tables, one after the other; None where a table has no names."""
    known = [own for own in names if own is not None]
    return np.concatenate(known) if known and len(known) == len(names) else None


def as_views(X: Any, caller: str = "fit") -> Views:
    """A `Views` from a `Views`, or from a tuple or list of tables.

    Anything else is refused with a hint, because the usual cause is a bare list of views that scikit-learn has split.
    """
    if isinstance(X, Views):
        return X
    if isinstance(X, Mapping):
        if not all(isinstance(name, str) for name in X):
            raise TypeError(f"{caller} expects names of views to be strings, but got {list(X)}.")
        return Views(**X)
    if not isinstance(X, (tuple, list)):
        raise TypeError(
            f"{caller} expects a tuple of views such as (A, B), or Views(A, B), but got {type(X).__name__}. "
            "For one matrix or DataFrame, name the columns of each view with views=, "
            "for example JDR(views=[slice(0, 10), slice(10, None)])."
        )
    if any(np.ndim(V) < 2 for V in X if not is_sparse(V)):
        raise ValueError(
            f"{caller} expects every view to be a table of shape (rows, features), but got shapes "
            f"{[np.shape(V) for V in X]}. A single row is A[i:i + 1]. {SPLIT_HINT}"
        )
    return Views(*X)


def checked_weight(sample_weight: Any, n_rows: int, minimum: int = 2, index: Any = None) -> Array | None:
    """Sample weights as a finite, non-negative float64 vector, positive for at least `minimum` rows, or None."""
    if sample_weight is None:
        return None
    sample_weight = in_order(sample_weight, index, "sample_weight")
    try:
        given = np.asarray(to_numpy(sample_weight))
        w = given.astype(np.float64, casting="unsafe" if given.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError):
        raise ValueError("sample_weight should hold one number per row, but some of it is no number.") from None
    if w.ndim == 0:
        w = np.full(n_rows, float(w))
    if w.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: sample_weight has shape {w.shape}.")
    if len(w) != n_rows:
        raise ValueError(f"sample_weight has {len(w)} entries but the views have {n_rows} rows.")
    if not np.isfinite(w).all():
        raise ValueError("sample_weight contains NaN or infinity.")
    if (w < 0).any():
        raise ValueError(f"sample_weight must not be negative, but row {int(np.argmin(w))} has {w.min():g}.")
    if np.count_nonzero(w) < minimum:
        raise ValueError(f"sample_weight is zero for too many rows: at least {minimum} need a positive weight.")
    largest = w.max(initial=0.0)
    if largest > LARGEST_WEIGHT or 0 < largest < 1 / LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight goes up to {largest:g}, whose square is no longer exact: rescale the weights, for example "
            "to w / w.max(), which changes no result."
        )
    return w


def raise_if_not_finite(X: Views) -> None:
    """Name the first view, row and column that holds NaN or infinity."""
    for name, columns, V in zip(X.names, X.feature_names, X.arrays, strict=True):
        V = to_numpy(V)
        values = V.data if is_sparse(V) else V
        if values.dtype.kind != "f" or np.isfinite(values).all():
            continue
        if is_sparse(V):
            V = V.tocoo()
            first = int(np.flatnonzero(~np.isfinite(V.data))[0])
            row, column = V.row[first], V.col[first]
        else:
            row, column = np.argwhere(~np.isfinite(V))[0]
        where = f" (first at row {row}, column {int(column) if columns is None else columns[column]!r})"
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(
            f"Input view {name!r} contains {kind}{where}. Drop those rows, or fill them in, "
            "for example with sklearn.impute.SimpleImputer."
        )


def _checked_view(X: Any, name: str) -> Array:
    """A real, two-dimensional, non-empty table, copied only if it is not an array yet.

    Integer and boolean tables stay as they are and become floats block by block. NaN and infinity are found
    later, on the sums, without another read of the data.
    """
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
    columns = _column_names(X)
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
                "Encode them first, for example with sklearn.preprocessing.OneHotEncoder, or drop the column."
            )


def _column_names(X: Any) -> Array | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return np.asarray(list(columns), dtype=object)

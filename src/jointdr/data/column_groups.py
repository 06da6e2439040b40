"""Views inside one matrix: the groups of columns that `views=` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from jointdr.data.views import Views, default_name
from jointdr.runtime import Array

ColumnGroups = Sequence[Any] | Mapping[str, Any]


def split_columns(X: Array, groups: ColumnGroups, columns: Array | None, index: Any = None) -> Views:
    """The views inside one matrix, by groups of columns (slices, index lists, boolean masks or names)."""
    names, arrays, features = [], [], []
    for name, group in named_groups(groups):
        at = column_positions(group, X.shape[1], columns, name)
        if len(at) == 0:
            raise ValueError(
                f"views={groups!r} leaves view {name!r} without columns: the input has n_features = {X.shape[1]}."
            )
        contiguous = len(at) == at[-1] - at[0] + 1 and bool(np.all(np.diff(at) == 1))
        names.append(name)
        arrays.append(X[:, at[0] : at[-1] + 1] if contiguous else X[:, at])
        features.append(None if columns is None else np.asarray(columns, dtype=object)[at])
    return Views.from_checked(tuple(names), tuple(features), index, tuple(arrays))


def named_groups(groups: ColumnGroups) -> list[tuple[str, Any]]:
    """The groups of columns of `views=` with the names of their views."""
    if isinstance(groups, str) or not isinstance(groups, (Mapping, Sequence)):
        raise ValueError(f"views={groups!r} must be a list or dict of column groups, one per view.")
    return list(groups.items()) if isinstance(groups, Mapping) else [(default_name(k), g) for k, g in enumerate(groups)]


def column_positions(group: Any, n_columns: int, columns: Array | None, name: str) -> Array:
    """The column numbers that one group of `views=` names."""
    if isinstance(group, slice):
        if not all(end is None or isinstance(end, Integral) for end in (group.start, group.stop, group.step)):
            raise ValueError(f"view {name!r}: a slice in views= takes column numbers; list the column names instead.")
        return np.arange(n_columns)[group]
    if isinstance(group, Integral):
        raise ValueError(
            f"view {name!r}: views={group} may mean one column or a number of columns: write [{group}] for the column, "
            "or slices for views of several, for example views=[slice(0, 6), slice(6, 11)]."
        )
    if not isinstance(group, Iterable):
        raise ValueError(f"view {name!r}: views= takes a slice, a list of columns or a mask, got {group!r}.")
    group = [group] if isinstance(group, str) else list(group)
    kinds = {str if isinstance(c, str) else bool if isinstance(c, (bool, np.bool_)) else type(c) for c in group}
    if not all(kind in (str, bool) or issubclass(kind, (int, np.integer)) for kind in kinds) or (
        len(kinds) > 1 and kinds & {str, bool}
    ):
        raise ValueError(f"view {name!r}: columns must be all numbers, all names or one mask, got {group[:5]}.")
    if group and isinstance(group[0], str):
        if columns is None:
            raise ValueError(
                f"view {name!r} names columns, but the input has no column names: give a DataFrame. "
                "(Inside a pipeline, the steps before keep names after pipeline.set_output(transform='pandas').)"
            )
        where = {c: i for i, c in enumerate(columns)}
        missing = [c for c in group if c not in where]
        if missing:
            raise ValueError(f"view {name!r} names columns that the input does not have: {missing[:5]}.")
        return np.array([where[c] for c in group], dtype=int)
    at = np.asarray(group)
    if at.dtype == bool:
        if len(at) != n_columns:
            raise ValueError(f"view {name!r}: the mask has {len(at)} entries but the input has {n_columns} columns.")
        return np.flatnonzero(at)
    outside = at[(at >= n_columns) | (at < -n_columns)] if at.size else at
    if outside.size:
        raise ValueError(f"view {name!r} asks for column {outside[0]}, but the input has n_features = {n_columns}.")
    return at.astype(int) % n_columns if n_columns else at.astype(int)

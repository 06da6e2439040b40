"""Long tables and entity tables of pandas or polars: ids as strings, scores joined by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from jointdr.data.scores import Duplicates, scores_of_pairs
from jointdr.data.views import Views, raise_if_not_finite
from jointdr.runtime import Array, to_numpy


@dataclass(frozen=True)
class Unmatched:
    """The ids in a table of pairs that no entity has.

    Attributes
    ----------
    row_ids, column_ids : arrays of str
        The ids without an entity.
    n_pairs : int
        The number of pairs that were left out because of them.
    """

    row_ids: Array
    column_ids: Array
    n_pairs: int

    def __repr__(self) -> str:
        return f"Unmatched({len(self.row_ids)} row ids, {len(self.column_ids)} column ids, {self.n_pairs} pairs)"


@dataclass(frozen=True)
class Entities:
    """One checked table of entities: features (dense or CSR), their names if they have any, and ids if it has any."""

    X: Array
    feature_names: Array | None
    ids: Array | None


def entities(X: Any, name: str) -> Entities:
    """A table of finite numbers, with the ids of its index; NumPy, SciPy sparse, pandas or polars."""
    views = Views(**{name: X})
    raise_if_not_finite(views)
    return Entities(to_numpy(views.arrays[0]), views.feature_names[0], index_ids(X, f"the index of {name!r}"))


def index_ids(X: Any, what: str, axis: str = "index") -> Array | None:
    """The labels of a pandas table as ids; None for another table, or where they are just 0, 1, 2, ..."""
    index = getattr(X, axis, None) if hasattr(X, "iloc") else None
    if index is None:
        return None
    counted = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if counted else as_ids(index, what)


def as_ids(values: Iterable[Any], what: str, unique: bool = True) -> Array:
    """Ids as an array of str, with missing ones, floats and, if asked for, repeated ones refused."""
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:  # an array of one number has no parts
        raise TypeError(f"{what} must be a sequence of ids, but got {values!r}.")
    values = list(values)
    for place, value in enumerate(values):
        if not isinstance(value, str) and (str(value) in ("None", "<NA>", "NaT") or value != value):
            raise ValueError(f"{what} has a missing id at position {place}: drop it or fill it in.")
        if isinstance(value, Real) and not isinstance(value, (int, np.integer)):
            raise ValueError(
                f"{what} holds ids that were read as floating-point numbers, such as {value!r}: "
                "read that column as strings, for example with pandas.read_csv(..., dtype=str)."
            )
    ids = np.array([str(value) for value in values], dtype=str)
    if ids.tolist() != [str(value) for value in values]:
        raise ValueError(
            f"{what} has ids that end in a zero character (\\0), which arrays of strings drop: rename them."
        )
    if unique and len(set(ids.tolist())) < len(ids):
        names, counts = np.unique(ids, return_counts=True)
        raise ValueError(f"{what} has repeated ids: {names[counts > 1][:5].tolist()}. Every entity needs its own.")
    return ids


def ids_of_entities(given: Any, of_features: Array | None, of_scores: Array | None, count: int, what: str) -> Array:
    """The ids of the rows or the columns, as given or from the labels of the tables, which have to agree."""
    if of_features is not None and of_scores is not None and not np.array_equal(of_features, of_scores):
        raise ValueError(
            f"The labels of Y and of the feature table disagree on {what}: bring both into one order, for example "
            "with Y.loc[A.index, B.index], or join long tables with Dyads.from_tables."
        )
    if given is not None:
        ids = as_ids(given, what)
    elif of_features is not None or of_scores is not None:
        ids = of_features if of_features is not None else of_scores
    else:
        ids = np.arange(count).astype(str)
    if len(ids) != count:
        raise ValueError(f"{what} has {len(ids)} ids for {count} entities.")
    return ids


def separate_ids(table: Any, id_column: str | None, name: str) -> tuple[Any, Array]:
    """A table of entities without its id column, and the ids: that column, a pandas index, or the first column."""
    if not hasattr(table, "columns"):
        raise TypeError(f"{name!r} must be a pandas or polars DataFrame with ids, but got {type(table).__name__}.")
    if id_column is None:
        ids = index_ids(table, f"the index of {name!r}")
        if ids is not None:
            return table, ids
        id_column = next(iter(table.columns))
    ids = as_ids(_column(table, id_column, name), f"column {id_column!r} of {name!r}")
    rest = table.drop(columns=[id_column]) if hasattr(table, "iloc") else table.drop(id_column)
    return rest, ids


def join_scores(
    pairs: Any,
    row_ids: Array,
    column_ids: Array,
    row: str | None,
    column: str | None,
    score: str | None,
    duplicates: Duplicates,
) -> tuple[Array, Unmatched]:
    """The scores of a long table as a CSR array that stores each listed pair; O(p log p) for p pairs.

    Parameters as in `Dyads.from_tables`.
    """
    if not hasattr(pairs, "columns"):
        raise TypeError(f"pairs must be a pandas or polars DataFrame, but got {type(pairs).__name__}.")
    names = list(pairs.columns)
    if len(names) < 2 and None in (row, column):
        raise ValueError(f"pairs needs a column of row ids and one of column ids, but has the columns {names}.")
    row, column = names[0] if row is None else row, names[1] if column is None else column
    given = [as_ids(_column(pairs, c, "pairs"), f"column {c!r} of pairs", unique=False) for c in (row, column)]
    score = names[2] if score is None and len(names) > 2 else score
    values = np.ones(len(given[0])) if score is None else _scores(_column(pairs, score, "pairs"), score)
    places = [_places(ids, known) for ids, known in zip(given, (row_ids, column_ids), strict=True)]
    matched = (places[0] >= 0) & (places[1] >= 0)
    if not matched.any():
        raise ValueError(
            "None of the pairs has both its ids in the entity tables: pairs name, for example, "
            f"{given[0][:2].tolist()} and {given[1][:2].tolist()}, the tables {row_ids[:2].tolist()} and "
            f"{column_ids[:2].tolist()}. (Ids are compared as strings: '7' is not '007'.)"
        )
    lost = [np.unique(ids[at < 0]) for ids, at in zip(given, places, strict=True)]
    shape = (len(row_ids), len(column_ids))
    Y = scores_of_pairs(places[0][matched], places[1][matched], values[matched], shape, duplicates)
    return Y, Unmatched(lost[0], lost[1], int(np.count_nonzero(~matched)))


def index_of(ids: Array) -> dict[Any, int]:
    """The index of each id."""
    return {name: i for i, name in enumerate(ids.tolist())}


def _places(ids: Array, known: Array) -> Array:
    where = index_of(known)
    return np.array([where.get(name, -1) for name in ids.tolist()], dtype=np.int64)


def _column(table: Any, name: str, what: str) -> Array:
    if name not in list(table.columns):
        raise ValueError(f"{what!r} has no column {name!r}; its columns are {list(table.columns)}.")
    return np.asarray(table[name].to_numpy())


def _scores(values: Array, name: str) -> Array:
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} of pairs holds scores that are not numbers ({values.dtype}).") from None
    if not np.isfinite(numbers).all():
        place = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"column {name!r} of pairs contains NaN or infinity (first at position {place}): drop it.")
    return numbers

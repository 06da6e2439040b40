"""Long tables and entity tables of pandas or polars: ids as strings, scores joined by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data.columns import as_frame, is_frame
from jointdr.data.tables import TableEncoder, encode_table
from jointdr.data.views import Views, raise_if_not_finite
from jointdr.runtime import Array, is_sparse, take_rows, to_numpy

SIDES, AXES = ("row", "column"), ("index", "columns")


@dataclass(frozen=True)
class Entities:
    """Checked entities of one kind.

    Attributes
    ----------
    X : (m, n) array or CSR matrix
        Features; n is 0 where there are none.
    feature_names : (n,) array or None
    ids : (m,) array of str, or None
        Ids, if the table has any.
    similarity : dict of str to (m, fitted) arrays or CSR arrays
        Of new entities: their similarities to fitted ones, by name.
    encoder : TableEncoder or None
        Of a DataFrame: what makes its features.
    """

    X: Array
    feature_names: Array | None = None
    ids: Array | None = None
    similarity: dict[str, Array] = field(default_factory=dict)
    encoder: TableEncoder | None = None

    @property
    def labels(self) -> Array | None:
        """Names of the entities to be shown, from a column of names."""
        return None if self.encoder is None else self.encoder.names_

    def take(self, at: Array) -> Entities:
        """Some of these entities, by their indices."""
        similarity = {name: take_rows(S, at) for name, S in self.similarity.items()}
        ids = None if self.ids is None else self.ids[at]
        return Entities(take_rows(self.X, at), self.feature_names, ids, similarity)


def entities(X: Any, name: str, encoder: TableEncoder | None = None) -> Entities:
    """A table with the ids of its index; NumPy, SciPy sparse, pandas or polars.

    A DataFrame may have columns of any kind. It is encoded as the fitted one was or, where none is given, by an encoder
    of its own.
    """
    if not is_frame(X) or 0 in X.shape:
        return entities_of_numbers(X, name)
    X = _with_ids_as_index(X, encoder)
    encoder, encoded = encode_table(X, name, encoder)
    if encoder is not None:
        encoder.id_column_ = encoder.id_column_ or _name_of_index(X)
    if encoder is None or encoded is None:
        return replace(entities_of_numbers(X, name), encoder=encoder)
    return Entities(encoded, encoder.get_feature_names_out(), index_ids(X, f"the index of {name!r}"), encoder=encoder)


def _with_ids_as_index(X: Any, encoder: TableEncoder | None) -> Any:
    """A table whose ids stand in the column in which a fitted table had them, with these as its index."""
    column = getattr(encoder, "id_column_", None)
    if column is None or column not in X.columns or index_ids(X, "the index") is not None:
        return X
    X = as_frame(X)
    ids = as_ids(X[column], f"column {column!r}")
    return X.drop(columns=[column]).set_axis(list(ids), axis=0)


def _name_of_index(X: Any) -> str | None:
    name = getattr(getattr(X, "index", None), "name", None)
    return name if isinstance(name, str) and name else None


def entities_of_numbers(X: Any, name: str) -> Entities:
    """The same for a table of finite numbers."""
    ids = index_ids(X, f"the index of {name!r}")
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] > 0 and shape[1] == 0:
        return Entities(np.zeros(shape), ids=ids)
    views = Views(**{name: X}).as_numbers()
    raise_if_not_finite(views)
    return Entities(to_numpy(views.arrays[0]), views.feature_names[0], ids)


def where_equal(pair: tuple[Any, Any], new: tuple[int, int], old: tuple[int, int]) -> tuple[Any, Any]:
    """Values that belong to the features of each side; None where there is another number of these than before."""
    return (pair[0] if new[0] == old[0] else None, pair[1] if new[1] == old[1] else None)


def checked_names(names: Any) -> tuple[str, str]:
    """The names of the two kinds of entities, which are different."""
    if len(names) != 2 or isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names={names!r} must be two strings, for example ('disease', 'gene').")
    if names[0] == names[1]:
        raise ValueError(f"names={names!r} must be different.")
    return names[0], names[1]


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


def ids_of_entities(
    given: Any,
    of_features: Array | None,
    of_scores: Array | None,
    of_similarities: Array | None,
    count: int,
    what: str,
) -> Array:
    """The ids of the rows or the columns: as given, from the labels of the tables, which have to agree, or counted.

    Similarities are brought into the order of the others, so their labels only count where there are no others.
    """
    if given is not None and _order(of_features, as_ids(given, what)) is not None:
        raise ValueError(
            f"{what} has the ids of the feature table in another order: leave it out, as the table has them itself."
        )
    if of_features is not None and of_scores is not None and not np.array_equal(of_features, of_scores):
        raise ValueError(
            f"The labels of Y and of the feature table disagree on {what}: give scores of the same entities, for "
            "example Y.loc[A.index, B.index], or join long tables with Dyads.from_tables."
        )
    if given is not None:
        ids = as_ids(given, what)
    else:
        if of_similarities is not None and len(of_similarities) != count:
            of_similarities = None  # an error of the matrix, where that is checked
        labels = (of_features, of_scores, of_similarities)
        ids = next((ids for ids in labels if ids is not None), np.arange(count).astype(str))
    if len(ids) != count:
        raise ValueError(f"{what} has {len(ids)} ids for {count} entities.")
    return ids


def scores_in_order(
    Y: Any, observed: Any, of_features: Sequence[Array | None], given: Sequence[Any]
) -> tuple[Any, Any]:
    """Scores and the mask of those that are observed, with rows and columns in the order of the ids.

    The ids are those that are given, or else those of the tables of features. A mask with labels of
    its own is brought into order by these, another one goes with Y. Other labels of Y than these ids are left to
    `ids_of_entities`, which refuses them.
    """
    for axis, (ids, named) in enumerate(zip(of_features, given, strict=True)):
        ids = ids if named is None else as_ids(named, f"{SIDES[axis]}_ids")
        labels = index_ids(Y, f"the {AXES[axis]} of Y", AXES[axis])
        own = labels if ids is None else ids
        of_mask = index_ids(observed, f"the {AXES[axis]} of observed", AXES[axis])
        at = _order(labels, own)
        at_mask = at if of_mask is None else _order(of_mask, own)
        if of_mask is not None and own is not None and at_mask is None and not np.array_equal(of_mask, own):
            raise ValueError(
                f"The labels of observed and of {'Y' if ids is None else 'the entities'} disagree on their "
                f"{AXES[axis]}: give a mask of the same pairs, for example observed.loc[Y.index, Y.columns]."
            )
        Y = Y if at is None else _take_along(Y, at, axis)
        observed = observed if at_mask is None or observed is None else _take_along(observed, at_mask, axis)
    return Y, observed


def _order(labels: Array | None, ids: Array | None) -> Array | None:
    """Where each id stands among labels that are the same in another order; None where they are not."""
    if labels is None or ids is None or len(labels) != len(ids) or np.array_equal(labels, ids):
        return None
    where = index_of(labels)
    if any(name not in where for name in ids.tolist()):
        return None
    return np.array([where[name] for name in ids.tolist()])


def _take_along(table: Any, at: Array, axis: int) -> Any:
    if isinstance(table, str):  # "stored"
        return table
    if hasattr(table, "iloc"):
        return table.iloc[at] if axis == 0 else table.iloc[:, at]
    table = sparse.csr_array(table) if is_sparse(table) else np.asarray(table)
    return table[at] if axis == 0 else table[:, at]


def separate_ids(table: Any, id_column: str | None, name: str) -> tuple[Any, Array]:
    """A table of entities without its id column, and the ids: that column, a pandas index, or the first column."""
    if not hasattr(table, "columns"):
        raise TypeError(f"{name!r} must be a pandas or polars DataFrame with ids, but got {type(table).__name__}.")
    if id_column is None:
        ids = index_ids(table, f"the index of {name!r}")
        if ids is not None:
            return table, ids
        id_column = next(iter(table.columns))
    ids = as_ids(column_of(table, id_column, name), f"column {id_column!r} of {name!r}")
    table = as_frame(table)
    if (index := _name_of_index(table)) is not None and index not in table.columns:
        table = table.reset_index()  # which may name the entities
    return table.drop(columns=[id_column]).set_axis(pd_index(ids, id_column), axis=0), ids


def index_of(ids: Array) -> dict[Any, int]:
    """The index of each id."""
    return {name: i for i, name in enumerate(ids.tolist())}


def pd_index(ids: Array, name: str) -> Any:
    """Ids as an index of pandas."""
    import pandas as pd

    return pd.Index(ids.tolist(), name=name, dtype=object)


def column_of(table: Any, name: str, what: str) -> Array:
    """The values of a column."""
    if name not in list(table.columns):
        raise ValueError(f"{what!r} has no column {name!r}; its columns are {list(table.columns)}.")
    return np.asarray(table[name].to_numpy())

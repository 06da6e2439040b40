"""Similarities between entities of one kind, which describe them beside features or instead of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data.columns import is_matrix
from jointdr.data.ids import AXES, SIDES, as_ids, ids_of_entities, index_ids, index_of, separate_ids
from jointdr.runtime import Array, as_float, float_dtype, is_sparse, slices, to_numpy

DEFAULT_NAME = "similarity"  # of a matrix that is given alone
BLOCK = 4_000_000  # entries that are compared with their transposes at a time


def name_similarities(given: Any, argument: str) -> dict[str, Any]:
    """One matrix, or several by name, as they were given; nothing for None."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {DEFAULT_NAME: given}
    for name in given:
        if not isinstance(name, str) or not name:
            raise TypeError(f"{argument} has a similarity named {name!r}: names of similarities are strings.")
    return dict(given)


def labels_of_similarities(given: Mapping[str, Any], argument: str) -> Array | None:
    """The ids in the index of the first DataFrame among square similarities; None without any."""
    labels = (_labels(S, _title(argument, name))[0] for name, S in given.items())
    return next((ids for ids in labels if ids is not None), None)


def ids_and_similarities(
    k: int, given: Any, of_features: Array | None, Y: Any, similarity: Any, count: int
) -> tuple[Array, dict[str, Array]]:
    """The ids of the rows (k = 0) or the columns, and the similarities between these, in their order."""
    side, argument = SIDES[k], f"{SIDES[k]}_similarity"
    named, of_scores = name_similarities(similarity, argument), index_ids(Y, f"the {AXES[k]} of Y", AXES[k])
    ids = ids_of_entities(given, of_features, of_scores, labels_of_similarities(named, argument), count, f"{side}_ids")
    return ids, checked_similarities(named, ids, argument)


def checked_similarities(given: Mapping[str, Any], ids: Array, argument: str) -> dict[str, Array]:
    """Similarities between all entities with these ids, in their order.

    Parameters
    ----------
    given : mapping of names to (m, m) arrays, DataFrames or SciPy sparse matrices
        A DataFrame is aligned by its labels; those of one axis stand for both.
    ids : (m,) array of str
    argument : str
        The name of the argument, for messages.

    Returns
    -------
    dict of str to (m, m) arrays or CSR arrays
        Finite and exactly symmetric.
    """
    found = {}
    for name, S in given.items():
        what = _title(argument, name)
        labels = _labels(S, what)
        S = _numbers(S, what)
        if S.shape != (len(ids), len(ids)):
            raise ValueError(
                f"{what} has shape {S.shape}, but there are {len(ids)} entities: give a square matrix with one row and "
                "one column for each of them."
            )
        for axis, own in enumerate(labels):
            if own is not None:
                S = _in_order(S, axis, own, ids, what, "the entities")
        found[name] = require_symmetric(S, what, "Where the mean of the two is meant, give (S + S.T) / 2.")
    return found


def table_and_ids(
    table: Any, id_column: str | None, ids: Any, similarity: Any, listed: Array | int, side: str
) -> tuple[Any, Array]:
    """The features, or None, and the ids of the entities of one side.

    Parameters
    ----------
    table : DataFrame, matrix or None
        Entities with their features. None: they are those in the index of the similarities, or else the `listed` ones.
    id_column : str, optional
        The column of the table that has the ids.
    ids : sequence of ids, optional
        Those of a table that has none; by default a matrix has the positions 0, 1, 2, ... as ids.
    similarity : matrix, mapping of names to matrices, or None
    listed : (pairs,) array of str, or int
        The entity of every pair, or the number of entities that pairs are given by position of.
    side : {"row", "column"}
    """
    if id_column is not None and (is_matrix(table) or ids is not None):
        other = f"{side}_ids is given too" if ids is not None else f"{side}s is a matrix: give {side}_ids"
        raise ValueError(f"{side}_id={id_column!r} names a column of ids, but {other}.")
    if ids is not None or is_matrix(table):
        ids = as_ids(np.arange(np.shape(table)[0]) if ids is None else ids, f"{side}_ids")
        if table is not None and np.shape(table)[0] != len(ids):
            raise ValueError(f"{side}_ids has {len(ids)} ids, but {side}s has {np.shape(table)[0]} rows.")
        return table, ids
    if table is not None:
        return separate_ids(table, id_column, f"{side}s")
    argument = f"{side}_similarity"
    named = name_similarities(similarity, argument)
    labels = labels_of_similarities(named, argument)
    if labels is not None:
        return None, labels
    if isinstance(listed, int):
        return None, np.arange(listed).astype(str)
    if named:
        raise ValueError(
            f"{argument} has no ids: give a DataFrame with ids as index and columns, or the entities as {side}s."
        )
    return None, np.array(list(dict.fromkeys(listed.tolist())))


def new_similarities(
    given: Any, names: Sequence[str], fitted: Array, argument: str, ids: Array | None = None
) -> tuple[dict[str, Array], Array | None]:
    """Similarities of new entities to fitted ones, and the ids of the new ones, if they have any.

    Parameters
    ----------
    given : (n_new, m) array, DataFrame or SciPy sparse matrix, or a mapping of names to such
        The index of a DataFrame has the ids of new entities, its columns those of fitted ones.
    names : sequence of str
        The similarities of the fit. If there is one, a matrix alone is that one.
    fitted : (m,) array of str
        The ids of the fitted entities.
    argument : str
        The name of the argument, for messages.
    ids : (n_new,) array of str, optional
        The ids of the new entities where these are known, which a DataFrame is aligned with; by default the index of
        the first DataFrame.
    """
    alone = not isinstance(given, Mapping)
    named = {names[0]: given} if alone and len(names) == 1 else name_similarities(given, argument)
    if not named:
        raise ValueError(f"{argument} is empty: give the similarities of new entities, or leave it out.")
    _require_names(named, names, argument, alone)
    found: dict[str, Array] = {}
    count = None if ids is None else len(ids)
    for name, S in named.items():
        what = _title(argument, name)
        rows, columns = _labels(S, what, square=False)
        S = _numbers(S, what)
        if S.shape[1] != len(fitted) or S.shape[0] == 0:
            raise ValueError(
                f"{what} has shape {S.shape}, but {len(fitted)} entities were fitted: give one row for each new entity "
                "and one column for each of those, in their order or as a DataFrame with their ids."
            )
        if columns is not None:
            S = _in_order(S, 1, columns, fitted, what, "the fitted entities")
        if count not in (None, S.shape[0]):
            raise ValueError(f"{what} has {S.shape[0]} rows, but there are {count} new entities.")
        if rows is not None and ids is not None:
            S = _in_order(S, 0, rows, ids, what, "the new entities")
        ids = rows if ids is None else ids
        found[name], count = S, S.shape[0]
    return found, ids


def _require_names(named: Mapping[str, Any], names: Sequence[str], argument: str, alone: bool) -> None:
    for name in named:
        if name not in names:
            what = f"{argument} has the similarity {name!r}" if not alone else f"{argument} is one matrix"
            hint = ": give a dict of matrices by these names" if alone and names else ""
            listed = ", ".join(map(repr, names)) or "none"
            raise ValueError(f"{what}, but those of the fit are {listed}{hint}.")


def similarities_between(similarities: Mapping[str, Array], i: Array, j: Array) -> dict[str, Array]:
    """The similarities of some entities to others, by their indices."""
    return {name: S[i][:, j] for name, S in similarities.items()}


def require_symmetric(S: Array, what: str, advice: str, rounding: float | None = None) -> Array:
    """The matrix, exactly symmetric; a ValueError where it differs from its transpose by more than rounding.

    Parameters
    ----------
    S : (m, m) array or CSR array of floats
        It is returned as it is where it is symmetric already.
    what, advice : str
        What the matrix is called, and what to do about one that is not symmetric, for the message.
    rounding : float, optional
        The largest difference, as a share of the largest entry; by default the square root of the precision of S.
    """
    worst, (i, j) = _asymmetry(S)
    if worst == 0:
        return S
    if worst > (np.sqrt(np.finfo(S.dtype).eps) if rounding is None else rounding) * float(abs(S).max()):
        entries = f"{what}[{i}, {j}] = {S[i, j]:.6g}, but {what}[{j}, {i}] = {S[j, i]:.6g}"
        raise ValueError(f"{what} is not symmetric: {entries}. {advice}")
    return sparse.csr_array(0.5 * S + 0.5 * S.T) if is_sparse(S) else 0.5 * S + 0.5 * S.T


def _asymmetry(S: Array) -> tuple[float, tuple[int, int]]:
    """The largest |S − Sᵀ| and where it is; of a dense matrix a few rows at a time."""
    if is_sparse(S):
        difference = abs(sparse.csr_array(S - S.T)).tocoo()
        if difference.nnz == 0:
            return 0.0, (0, 0)
        at = int(np.argmax(difference.data))
        return float(difference.data[at]), (int(difference.row[at]), int(difference.col[at]))
    worst, where = 0.0, (0, 0)
    for rows in slices(len(S), max(1, BLOCK // max(1, len(S)))):
        difference = np.abs(S[rows] - S[:, rows].T)
        i, j = divmod(int(difference.argmax()), len(S))
        if difference[i, j] > worst:
            worst, where = float(difference[i, j]), (rows.start + i, j)
    return worst, where


def _title(argument: str, name: str) -> str:
    return argument if name == DEFAULT_NAME else f"{argument} {name!r}"


def _labels(S: Any, what: str, square: bool = True) -> tuple[Array | None, Array | None]:
    """The labels of the rows and of the columns of a DataFrame; those of one axis of a square one stand for both."""
    if hasattr(S, "columns") and not hasattr(S, "iloc"):
        raise TypeError(
            f"{what} is a {type(S).__module__.partition('.')[0]} table, whose rows have no labels: give a pandas "
            "DataFrame with ids as index and columns, or the matrix alone, in the order of the entities."
        )
    rows = index_ids(S, f"the index of {what}")
    columns = index_ids(S, f"the columns of {what}", "columns")
    if square:
        rows, columns = columns if rows is None else rows, rows if columns is None else columns
    return rows, columns


def _numbers(S: Any, what: str) -> Array:
    """A matrix of finite floats, dense or CSR."""
    S = sparse.csr_array(S) if is_sparse(S) else np.asarray(to_numpy(S))
    if S.ndim != 2:
        raise ValueError(f"{what} must be a matrix, but got an array of shape {S.shape}.")
    if S.dtype.kind == "O":
        try:
            S = S.astype(float)
        except (TypeError, ValueError):
            raise ValueError(f"{what} should hold numbers, but got {S.dtype}.") from None
    if S.dtype.kind not in "biuf":
        raise ValueError(f"{what} should hold numbers, but got {S.dtype}.")
    if is_sparse(S) and not S.has_canonical_format:
        S = S.copy()
        S.sum_duplicates()
    S = as_float(S, float_dtype(S))
    if not np.isfinite(S.data if is_sparse(S) else S).all():
        raise ValueError(f"{what} contains NaN or infinity: give 0 where nothing is known of two entities.")
    return S


def _in_order(S: Array, axis: int, labels: Array, ids: Array, what: str, whose: str) -> Array:
    """The matrix with the labels of one axis in the order of these ids."""
    if np.array_equal(labels, ids):
        return S
    where = index_of(labels)
    missing = [name for name in ids.tolist() if name not in where]
    known = set(ids.tolist())
    extra = [name for name in labels.tolist() if name not in known]
    if missing or extra:
        first = f"lacks {missing[:3]}" if missing else f"has also {extra[:3]}"
        raise ValueError(
            f"{what} has other ids in its {('index', 'columns')[axis]} than {whose}: it {first}. Ids are compared as "
            "strings, and all of them have to be there, in any order."
        )
    at = np.array([where[name] for name in ids.tolist()])
    return S[at] if axis == 0 else S[:, at]

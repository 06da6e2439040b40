"""Questions to a fitted model: which entities a call asks about, by their ids or by features of new ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data import Dyads, index_of, is_frame
from jointdr.prediction.heads.head import EntitySet
from jointdr.runtime import Array, is_sparse

# Ids that are compared with all fitted ones, one after the other, rather than looked up in a dictionary of these.
FEW = 16


@dataclass(frozen=True)
class Query:
    """The entities of one kind that a call asks about."""

    selection: EntitySet  # as a head takes them
    ids: Array  # (count,) of str
    # (count,): their indices among the fitted entities, −1 where there is none; None for all of these in their order.
    at: Array | None = None


def positions_of(ids: Iterable[Any], among: Array) -> Array:
    """The index of each id among others, −1 where it is not there."""
    names = [str(name) for name in ids]
    if len(names) <= FEW:
        return np.array([_first(among == name) for name in names], dtype=int)
    where = index_of(among)
    return np.array([where.get(name, -1) for name in names], dtype=int)


def require_positions(ids: Iterable[Any], among: Array, kind: str) -> Array:
    """The same, with a ValueError for an id that is not there."""
    if isinstance(ids, str):
        raise TypeError(f"ids of {kind!r} are given as a list, [{ids!r}].")
    names = list(ids)
    at = positions_of(names, among)
    if len(at) == 0:
        raise ValueError(f"No ids of {kind!r} are given: leave the argument out for all of them.")
    if (at < 0).any():
        missing = str(names[int(np.argmax(at < 0))])
        raise ValueError(f"There is no {kind!r} with the id {missing!r}; ids are, for example, {among[:3].tolist()}.")
    return at


def known_between(known: Array, rows: Query, columns: Query) -> Array | None:
    """The known pairs between these rows and columns, as a CSR array; None where none can be known."""
    for query in (rows, columns):
        if query.at is not None and not (query.at >= 0).any():
            return None
    if rows.at is not None:
        known = _chooser(rows.at, known.shape[0]) @ known
    if columns.at is not None:
        known = known @ _chooser(columns.at, known.shape[1]).T
    return sparse.csr_array(known)


def known_pattern(Y: Array, complete: bool) -> Array:
    """1 for every known pair: one that was observed or, if all were, whose score is not 0; a CSR array."""
    known = sparse.csr_array(Y)
    if complete and is_sparse(Y):
        known = known.copy()
        known.eliminate_zeros()
    return sparse.csr_array((np.ones(known.nnz), known.indices, known.indptr), shape=known.shape)


def list_pairs(pairs: Any) -> tuple[list[str], list[str]]:
    """The row ids and the column ids of listed pairs: two columns of a table, or a sequence of two ids each."""
    if is_frame(pairs):
        if pairs.shape[1] < 2:
            raise ValueError("pairs needs two columns, the ids of rows and of columns.")
        first, second = (pairs.iloc[:, k] if hasattr(pairs, "iloc") else pairs.to_series(k) for k in (0, 1))
        return [str(v) for v in first], [str(v) for v in second]
    listed = [tuple(pair) for pair in pairs]
    if any(len(pair) != 2 for pair in listed):
        raise ValueError("pairs must be a table whose first two columns are ids, or a list of pairs of ids.")
    return [str(i) for i, _ in listed], [str(j) for _, j in listed]


def as_dyads(Y: Any, A: Any, B: Any, observed: Any, caller: str = "fit") -> Dyads:
    """The arguments of `fit` or `score` as Dyads."""
    if isinstance(Y, Dyads):
        if A is not None or B is not None or observed is not None:
            raise TypeError(f"{caller} takes either a Dyads alone, or scores and two tables: {caller}(Y, A, B).")
        return Y
    return Dyads(Y, A, B, observed)


def _first(mask: Array) -> int:
    at = np.flatnonzero(mask)
    return int(at[0]) if len(at) else -1


def _chooser(at: Array, count: int) -> Array:
    """A matrix whose product with another has the rows `at` of it, and empty ones for −1."""
    there = at >= 0
    ones = np.ones(np.count_nonzero(there))
    return sparse.csr_array((ones, (np.flatnonzero(there), at[there])), shape=(len(at), count))

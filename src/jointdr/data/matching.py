"""The columns that pairs and tables of entities are joined by."""

from __future__ import annotations

import warnings
from typing import Any

from jointdr.data.ids import column_of, index_ids
from jointdr.data.pairs import PairsWarning, columns_of_ids
from jointdr.runtime import Array

ENOUGH = 0.5  # the share of ids that have to be found in other columns than the first, and twice that of the first


def match_columns(
    pairs: Any, given: tuple[str | None, str | None], tables: tuple[Any, Any], id_columns: tuple[str | None, str | None]
) -> tuple[tuple[str, str], tuple[str | None, str | None]]:
    """The columns of ids in pairs and in both tables.

    They are those that are given, or the first ones; where few ids agree in these and more than twice as many in
    others, they are the others, with a warning.

    Returns
    -------
    (row, column), (row_id, column_id)
        An id column is None where the table has its ids as index, or is none.
    """
    row, column = columns_of_ids(pairs, *given)
    for name in (row, column):
        column_of(pairs, name, "pairs")  # or an error that lists its columns
    found, of_tables = [row, column], list(id_columns)
    for k, (side, table) in enumerate((("row", tables[0]), ("column", tables[1]))):
        if table is None or not hasattr(table, "columns"):
            continue
        if k == 1 and given[1] is None:
            found[1] = next(name for name in pairs.columns if name != found[0])
        others = [name for name in pairs.columns if name not in (found[k], given[1 - k], found[0] if k else None)]
        of_pairs = [found[k], *(others if given[k] is None else [])]
        in_table = [id_columns[k]] if id_columns[k] is not None else _candidates(table)
        best = _best(pairs, of_pairs, table, in_table)
        if best == (found[k], in_table[0]):
            continue
        at, id_column = best
        where = "the index" if id_column is None else f"column {id_column!r}"
        warnings.warn(
            f"Ids of {side}s are taken from column {at!r} of pairs and {where} of the table of {side}s, which agree "
            f"best: {side}={at!r} and {side}_id={id_column!r} say so, or name others.",
            PairsWarning,
            stacklevel=4,
        )
        found[k], of_tables[k] = at, id_column
    return (found[0], found[1]), (of_tables[0], of_tables[1])


def _candidates(table: Any) -> list[str | None]:
    """The index, where it has ids, and the columns; None stands for the index."""
    has_index = index_ids(table, "the index") is not None
    return [*([None] if has_index else []), *table.columns]


def _best(pairs: Any, of_pairs: list[str], table: Any, in_table: list[str | None]) -> tuple[str, str | None]:
    """The columns in which the largest share of the ids of pairs is known to the table; the first unless they lose."""
    first = (of_pairs[0], in_table[0])
    share = _share(_ids(pairs, of_pairs[0]), _ids(table, in_table[0]))
    if share >= ENOUGH:
        return first
    known = {name: ids for name in in_table if (ids := _ids(table, name))}
    best = (max(ENOUGH, 2.0 * share), first)
    for name in of_pairs:
        ids = _ids(pairs, name)
        for of_table, others in known.items():
            if (found := _share(ids, others)) > best[0]:
                best = (found, (name, of_table))
    return best[1]


def _share(ids: set[str], known: set[str]) -> float:
    return len(ids & known) / len(ids) if ids else 0.0


def _ids(table: Any, name: str | None) -> set[str]:
    """The values of a column, or of the index, as ids; none of a column of floating-point numbers."""
    values: Array = table.index.to_numpy() if name is None else table[name].to_numpy()
    if getattr(values, "dtype", None) is not None and values.dtype.kind in "fcmMb":
        return set()
    return {str(value) for value in values.tolist() if isinstance(value, (str, int))}

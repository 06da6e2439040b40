"""Rows of pairs, gathered from a table of entities when they are read."""

from __future__ import annotations

from jointdr.runtime import Array, take_rows


class PairRows:
    """A table with one row for each pair, gathered from a table of entities when some of them are read.

    Parameters
    ----------
    table : (entities, n) array or sparse matrix
    at : (pairs,) array of int
        The entity of each pair.
    """

    def __init__(self, table: Array, at: Array) -> None:
        self.table, self.at = table, at
        self.shape = (len(at), table.shape[1])
        self.dtype = table.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> Array:
        return take_rows(self.table, self.at[key[0]])

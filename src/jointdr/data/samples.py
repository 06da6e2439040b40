"""Samples (a, b, y) as dyads, and dyads as samples, whose rows are gathered when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.data.encoding import Encoders, fit_encoders
from jointdr.data.response import checked_numbers
from jointdr.data.scores import Duplicates, equal_rows, scores_of_pairs
from jointdr.data.views import Views, as_views, in_order
from jointdr.runtime import Array, take_rows, to_numpy


def scores_of_samples(
    X: Any, y: Any, deduplicate: bool, duplicates: Duplicates
) -> tuple[Views, Array, list[Array], Encoders]:
    """The views, their scores as a CSR array, the tables of entities, and the encoders of these.

    Parameters as in `Dyads.from_samples`.
    """
    views = as_views(X, "from_samples")
    if len(views.arrays) != 2:
        raise ValueError(f"from_samples expects two views, but got {len(views.arrays)}.")
    y = checked_numbers(in_order(y, views.index, "y"), len(views), "from_samples")
    views, encoders = fit_encoders(views)
    tables = [to_numpy(V) for V in views.arrays]
    at = [equal_rows(V) if deduplicate else (np.arange(len(y)),) * 2 for V in tables]
    (first_a, i), (first_b, j) = at
    Y = scores_of_pairs(i, j, y, (len(first_a), len(first_b)), duplicates)
    if deduplicate:
        tables = [take_rows(V, first) for V, first in zip(tables, (first_a, first_b), strict=True)]
    return views, Y, tables, encoders


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

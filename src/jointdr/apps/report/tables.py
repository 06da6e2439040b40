"""Names and groups of the entities, from tables of the user."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from jointdr.plot import MOST_GROUPS, groups
from jointdr.runtime import Array

N_BINS = 5  # numbers are coloured by so many bins, with equally many entities in each


@dataclass(frozen=True)
class About:
    """Names and groups of the entities of both kinds."""

    color: str | None  # the column that entities are coloured by
    labels: tuple[list[str] | None, list[str] | None]  # a name for every entity, empty where there is none
    legend: tuple[str, ...]  # the groups, most frequent first, or bins in their order
    groups: tuple[Array | None, Array | None]  # the group of every entity; −1 for none
    is_scale: bool  # whether the groups are bins of numbers

    @staticmethod
    def of(model: Any, rows: Any, columns: Any, color: str | None, label: str | None) -> About:
        """Look up columns of the tables by the ids of the model; names are by default those that it keeps."""
        tables = (rows, columns) if hasattr(model, "row_ids_") else (None, None)
        for name, column in (("color", color), ("label", label)):
            if column is not None and not any(table is not None and column in table.columns for table in tables):
                known = [str(c) for table in tables if table is not None for c in table.columns]
                raise ValueError(
                    f"{name}={column!r} is not a column of the tables given; "
                    + (f"they have {', '.join(known[:10])}." if known else "give rows= or columns= as DataFrames.")
                )
        ids = (model.row_ids_, model.column_ids_) if hasattr(model, "row_ids_") else (None, None)
        values = [_looked_up(table, i, color) for table, i in zip(tables, ids, strict=True)]
        named = [_looked_up(table, i, label) for table, i in zip(tables, ids, strict=True)]
        kept = getattr(model, "labels_", (None, None))  # of the tables that the model was fitted to
        named = [own if found is None else found for found, own in zip(named, kept, strict=True)]
        labels = [None if found is None else ["" if v != v or v is None else str(v) for v in found] for found in named]
        legend, grouped, is_scale = _group(values)
        return About(color, (labels[0], labels[1]), legend, (grouped[0], grouped[1]), is_scale)


def _looked_up(table: Any, ids: Any, column: str | None) -> Any:
    """The values of a column for these ids, missing where the table has no such id; None without a table or column."""
    if table is None or column is None or column not in table.columns:
        return None
    found = table[column].set_axis(table.index.astype(str))
    found = found[~found.index.duplicated()].reindex([str(i) for i in ids])
    if (values := found.to_numpy()).dtype.kind in "iuf":
        return values
    return found.astype(object).where(found.notna(), None).to_numpy()  # pandas has several values for "missing"


def _group(values: list[Any]) -> tuple[tuple[str, ...], list[Array | None], bool]:
    """Groups of both kinds together: bins if all values are numbers and these are many, and labels otherwise."""
    given = [v for v in values if v is not None]
    if not given:
        return (), [None, None], False
    together = np.concatenate([np.asarray(v, dtype=object) for v in given])
    if all(v.dtype.kind in "iuf" for v in given):
        numbers = together.astype(float)
        there = np.isfinite(numbers)
        if len(np.unique(numbers[there])) > MOST_GROUPS:
            edges = np.unique(np.quantile(numbers[there], np.linspace(0, 1, N_BINS + 1)))
            legend = tuple(f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges))
            group = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(legend) - 1)
            return legend, _split(np.where(there, group, -1), values), True
    kept, group = groups(together)
    return tuple(kept), _split(group, values), False


def _split(group: Array, values: list[Any]) -> list[Array | None]:
    """Groups of all entities, back to the kinds that have some."""
    ends = np.cumsum([0 if v is None else len(v) for v in values])
    return [None if v is None else part for v, part in zip(values, np.split(group, ends[:-1]), strict=True)]

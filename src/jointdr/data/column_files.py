"""The treatment of the columns of a table as plain arrays, for model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jointdr.data.columns import KINDS, Column
from jointdr.data.contents import CONTENTS
from jointdr.runtime import Array, checked_array


def columns_to_arrays(columns: Sequence[Column], prefix: str) -> dict[str, Array]:
    """Arrays whose names begin with `prefix`."""
    arrays = {
        f"{prefix}.columns": np.array([c.name for c in columns], dtype=str),
        f"{prefix}.kinds": np.array([KINDS.index(c.kind) for c in columns], dtype=np.int64),
        f"{prefix}.fills": np.array([c.fill for c in columns], dtype=float),
        f"{prefix}.missing": np.array([c.n_missing for c in columns], dtype=np.int64),
        f"{prefix}.marked": np.array([c.marks_gaps for c in columns], dtype=np.int64),
        f"{prefix}.n_levels": np.array([len(c.levels) for c in columns], dtype=np.int64),
        f"{prefix}.levels": np.array([level for c in columns for level in c.levels], dtype=str),
    }
    for at, column in enumerate(columns):
        if column.content is not None:
            arrays |= column.content.to_arrays(f"{prefix}.{at}")
    return arrays


def columns_from_arrays(arrays: Mapping[str, Array], prefix: str) -> tuple[Column, ...]:
    """The inverse of `columns_to_arrays`; a ValueError if the arrays do not belong together."""
    names = checked_array(arrays, f"{prefix}.columns", (None,), "U")
    n = len(names)
    kinds, missing, marked, counts = (
        checked_array(arrays, f"{prefix}.{p}", (n,), "i") for p in ("kinds", "missing", "marked", "n_levels")
    )
    fills = checked_array(arrays, f"{prefix}.fills", (n,))
    levels = checked_array(arrays, f"{prefix}.levels", (int(counts.sum()),), "U").tolist()
    if len(set(names.tolist())) < n or (kinds < 0).any() or (kinds >= len(KINDS)).any() or (counts < 0).any():
        raise ValueError("its columns are not those of a table")
    ends = np.cumsum(counts).tolist()
    columns = []
    for at, (name, kind) in enumerate(zip(names.tolist(), (KINDS[kind] for kind in kinds), strict=True)):
        own = tuple(levels[ends[at] - int(counts[at]) : ends[at]])
        if (kind == "category") != (len(own) > 0):
            raise ValueError("its categories have no levels")
        content = CONTENTS[kind].from_arrays(arrays, f"{prefix}.{at}") if kind in CONTENTS else None
        columns.append(Column(name, kind, float(fills[at]), int(missing[at]), bool(marked[at]), own, content=content))
    return tuple(columns)

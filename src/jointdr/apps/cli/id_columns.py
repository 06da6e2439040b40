"""The columns of files that have the ids, where no option names them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from jointdr.apps.cli.options import TableFiles
from jointdr.runtime import table_lines

HEAD, ENOUGH = 1000, 0.5  # the lines of a table that are looked at first, and the share of them with ids of pairs


def choose_id_columns(source: TableFiles, pairs: Any) -> TableFiles:
    """The same files with the columns in which their ids agree, where these are not the first ones.

    Columns are compared as text, because ids that are read as numbers are lost: 0007 is not 7.
    """
    from jointdr.data import match_columns

    paths = (source.rows, source.columns)
    ids = (source.row_id, source.column_id)
    first = [name for name in pairs.columns if name not in (source.row, source.column)]
    of_pairs = [source.row or first.pop(0), source.column or first.pop(0)] if len(pairs.columns) > 1 else []
    if all(
        path is None or id is not None or _has_ids_first(path, source.header, pairs[name])
        for path, id, name in zip(paths, ids, of_pairs, strict=False)
    ):
        return source
    of_rows, of_columns = (None if path is None else _as_text(path, source.header) for path in paths)
    given = (source.row, source.column)
    (row, column), (row_id, column_id) = match_columns(pairs, given, (of_rows, of_columns), ids)
    return replace(source, row=row, column=column, row_id=row_id, column_id=column_id)


def _has_ids_first(path: Path, header: bool | None, known: Any) -> bool:
    """Whether most of the first lines of a table begin with an id of pairs; Parquet files keep the types of ids."""
    if _is_parquet(path):
        return True
    found = [fields[0].strip() for _, fields in islice(table_lines(path, header=header).read(), HEAD)]
    return len(set(known).intersection(found)) >= ENOUGH * len(set(found))


def _as_text(path: Path, header: bool | None) -> Any:
    """All columns of a table as text; None of a Parquet file."""
    import pandas as pd

    if _is_parquet(path):
        return None
    table = table_lines(path, header=header)
    columns = zip(*(fields for _, fields in table.read()), strict=True)
    return pd.DataFrame(
        {name: [field.strip() for field in own] for name, own in zip(table.names, columns, strict=True)}
    )


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith((".parquet", ".pq"))

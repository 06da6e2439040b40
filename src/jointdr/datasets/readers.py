"""Tables from files: features of entities, and long lists of pairs. Ids are always strings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from math import isnan
from typing import Any, Literal

import numpy as np

from jointdr.data import MOSTLY, as_ids, choose_score, list_some
from jointdr.datasets.parquet_tables import numbers_or_anything, parquet_frame, parquet_scores
from jointdr.runtime import (
    AnyPath,
    Array,
    TableLines,
    after_header,
    as_number,
    check_names,
    check_word,
    column_index,
    is_missing,
    parse_id,
    parse_number,
    read_lines,
    require_new,
    table_lines,
    with_points,
)


class ReadingWarning(UserWarning):
    """A file was read in one way that might be meant in another."""


COLUMN = "the name of a column, or None"


def read_table(
    path: AnyPath,
    *,
    id: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    text: Sequence[str] = (),
) -> Any:
    """A table of entities and their features, for `Dyads` and `Dyads.from_tables`.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.tab``, ``.txt`` or another name, plain or with ``.gz``; ``.xlsx``, which takes openpyxl;
        or ``.parquet``, which takes pyarrow.
    id : str, optional
        The column of ids; by default the first (of a Parquet file that pandas wrote with an index: the index).
    separator : str, optional
        Between fields; by default as the ending of the name says or, where that does not fit, as the lines show.
    header : bool, optional
        Whether the first line has the names of the columns; by default as it looks. Without names the columns are
        called id, x1, x2, ....
    text : sequence of str
        Columns that are text even if all that stands in them are numbers: codes, of which 012 is not 12. Others that
        the file does not have are left out of account.

    Returns
    -------
    DataFrame
        Indexed by id; ``000001`` stays ``000001``. Columns of numbers are floats, NaN where there is none (an empty
        field, NA, ?, -); all other columns are text, with None for gaps. `jointdr.TableEncoder` makes features of
        them. With semicolons between fields, 0,5 is a number.

    Raises
    ------
    ValueError
        With file, line and column, for infinity, lines that are too short or too long, and ids that are missing or
        occur twice.
    """
    check_word("id", id, expected=COLUMN)
    if os.fspath(path).lower().endswith((".parquet", ".pq")):
        return _parquet_table(path, id)
    table = table_lines(path, separator, header)
    _require_columns(path, table.names)
    _warn_of_header(path, table, header)
    at = 0 if id is None else column_index(path, table.names, id)
    names = table.names[:at] + table.names[at + 1 :]
    of_text = {column_index(path, names, name, "text") for name in check_names("text", text)}
    as_asked = frozenset(of_text)
    lines, numbers, texts, found = _read_columns(path, table, at, of_text)
    if found:  # columns that began with numbers: read again as text
        of_text |= found
        lines, numbers, texts, _ = _read_columns(path, table, at, of_text)
    numeric = [name for k, name in enumerate(names) if k not in of_text]
    _require_finite(path, list(lines.values()), numbers, numeric)
    import pandas as pd

    index = pd.Index(list(lines), name=table.names[at], dtype=object)
    features = pd.DataFrame(numbers, index=index, columns=numeric)
    if not of_text:
        return features
    if table.has_decimal_commas:
        texts = {k: values if k in as_asked else with_points(values, MOSTLY) for k, values in texts.items()}
    columns = {names[k]: pd.Series(values, index=index, dtype=object) for k, values in texts.items()}
    return pd.concat([features, pd.DataFrame(columns, index=index)], axis=1)[names]


def _read_columns(
    path: AnyPath, table: TableLines, at: int, text: set[int]
) -> tuple[dict[str, int], Array, dict[int, list[str | None]], set[int]]:
    """The ids in column `at` with their lines, and the other columns: those in `text`, which may grow, as text.

    The others are numbers; the last set has columns that turned out to be text when some of their fields had been read
    as numbers.
    """
    names = table.names[:at] + table.names[at + 1 :]
    seen: dict[str, int] = {}
    rows: list[Array] = []
    texts: dict[int, list[str | None]] = {k: [] for k in sorted(text)}
    late: set[int] = set()
    numeric = [k for k in range(len(names)) if k not in text]
    for number, fields in table.read():
        require_new(path, number, parse_id(path, number, fields.pop(at), f"id in column {table.names[at]!r}"), seen)
        given = fields if not text else [fields[k] for k in numeric]
        try:
            values = np.array([] if "_" in "".join(given) else given, dtype=float)
        except ValueError:
            values = np.array([])
        if len(values) < len(given):
            values = np.array([as_number(fields[k], table.has_decimal_commas) for k in numeric])
            strange = [
                k for k, value in zip(numeric, values, strict=True) if isnan(value) and not is_missing(fields[k])
            ]
            for k in strange:
                column = numeric.index(k)
                if any(not isnan(row[column]) for row in rows):
                    late.add(k)
                    continue
                text.add(k)
                texts[k] = [None] * len(rows)
                rows = [np.delete(row, column) for row in rows]
                values = np.delete(values, column)
                numeric.remove(k)
        rows.append(values)
        for k, column_of_text in texts.items():
            column_of_text.append(None if is_missing(fields[k]) else fields[k].strip())
    _require_lines(path, seen)
    return seen, np.array(rows).reshape(len(rows), len(numeric)), texts, late


def _require_finite(path: AnyPath, lines: list[int], numbers: Array, names: list[str]) -> None:
    if np.isinf(numbers).any():
        row, column = np.argwhere(np.isinf(numbers))[0]
        raise ValueError(f"{path}, line {lines[row]}, column {names[column]!r}: infinity is not a finite number.")


def read_attributes(path: AnyPath) -> Any:
    """A table of anything about entities, text or numbers, with their ids as index.

    Parameters
    ----------
    path : path
        As for `read_table`; the first column (or the named index of a Parquet file) has the ids. A list of ids alone,
        under a name, is a table without columns.

    Returns
    -------
    DataFrame
        For example for `jointdr.plot.embedding_map`, or a report: names to be read, and groups to be coloured by.
    """
    name = os.fspath(path).lower()
    if name.endswith((".parquet", ".pq")):
        table = parquet_frame(path)
        if not len(table.columns):
            raise ValueError(f"{path} has no columns.")
        return table if table.index.name is not None else table.set_index(table.columns[0])
    try:
        lines = table_lines(path)
    except ValueError as error:
        raise ValueError(f"{path} is not a table with ids in its first column: {error}") from None
    return read_table(path) if len(lines.names) > 1 else _id_list(path, lines)


def read_text(path: AnyPath, *, separator: str | None = None, header: bool | None = None) -> Any:
    """All columns of a long list of pairs as text, for `Dyads.from_tables`, which finds out what they are.

    Parameters
    ----------
    path, separator, header
        As for `read_table`. Without names the columns are called row, column, score, x4, ....

    Returns
    -------
    DataFrame
        Indexed by the numbers of the lines.
    """
    import pandas as pd

    if os.fspath(path).lower().endswith((".parquet", ".pq")):
        return parquet_frame(path).reset_index(drop=True)
    table = table_lines(path, separator, header, of_pairs=True)
    _require_columns(path, table.names)
    _warn_of_header(path, table, header)
    columns: list[list[str]] = [[] for _ in table.names]
    lines: list[int] = []
    for number, fields in table.read():
        lines.append(number)
        for column, field in zip(columns, fields, strict=True):
            column.append(field.strip())
    _require_lines(path, lines)
    if table.has_decimal_commas:
        columns = [with_points(column) for column in columns]
    index = pd.Index(lines, name="line")
    series = {
        name: pd.Series(column, index=index, dtype=object) for name, column in zip(table.names, columns, strict=True)
    }
    return pd.DataFrame(series, index=index)


def read_pairs(
    path: AnyPath,
    *,
    row: str | None = None,
    column: str | None = None,
    score: str | Literal[False] | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> Any:
    """A long list of pairs and their scores, for `Dyads.from_tables`.

    Parameters
    ----------
    path, separator, header
        As for `read_table`, and so are the errors. Without names the columns are called row, column, score, x4, ....
    row, column, score : str, optional
        The columns of row ids, column ids and scores; by default the first, the second and, if there is one, the next
        of numbers. ``score=False`` reads the ids only, whatever stands beside them.

    Returns
    -------
    DataFrame
        Two columns of ids, which are strings, and, if the file has scores, one of floats, NaN where there is none. A
        pair may be listed more than once, see `duplicates` of `Dyads.from_tables`.
    """
    for option, name in (("row", row), ("column", column), ("score", None if score is False else score)):
        check_word(option, name, expected=COLUMN)
    if os.fspath(path).lower().endswith((".parquet", ".pq")):
        return _parquet_pairs(path, row, column, score)
    frame = read_text(path, separator=separator, header=header)
    chosen = _pair_columns(path, list(frame.columns), row, column, score)
    if score is None:
        found_score = choose_score(frame, [name for name in frame.columns if name not in chosen])
        chosen += [] if found_score is None else [found_score]
    for name in chosen:
        column_index(path, list(frame.columns), name)
    lines = frame.index.tolist()
    found: dict[str, Any] = {
        name: [
            parse_id(path, number, field, f"id in column {name!r}")
            for number, field in zip(lines, frame[name], strict=True)
        ]
        for name in chosen[:2]
    }
    for name in chosen[2:]:
        found[name] = [
            np.nan if is_missing(field) else parse_number(path, number, field, f"column {name!r}")
            for number, field in zip(lines, frame[name], strict=True)
        ]
    return id_frame(found)


def _id_list(path: AnyPath, lines: TableLines) -> Any:
    import pandas as pd

    seen: dict[str, int] = {}
    for number, fields in lines.read():
        require_new(path, number, parse_id(path, number, fields[0], f"id in column {lines.names[0]!r}"), seen)
    return pd.DataFrame(index=pd.Index(list(seen), name=lines.names[0], dtype=object))


def _warn_of_header(path: AnyPath, table: TableLines, given: bool | None) -> None:
    if given is None and not table.has_header:
        warnings.warn(
            f"The first line of {path} looks like values, not like names of columns, and is taken as such: say "
            f"header=True if it has names, header=False if not. The columns are called {list_some(table.names)}.",
            ReadingWarning,
            stacklevel=3,
        )


def read_disgenet(path: AnyPath) -> Any:
    """Gene-disease associations of DisGeNET, releases 3 to 7, for `Dyads.from_tables`.

    Parameters
    ----------
    path : path
        ``all_gene_disease_associations.tsv.gz``, ``curated_gene_disease_associations.tsv.gz`` or another file with its
        columns, also as ``.txt`` and not compressed.

    Returns
    -------
    DataFrame
        Columns ``disease`` (the UMLS concept, ``C0019202``), ``gene`` (the Entrez id), ``score``, and what the file
        has of ``disease_name`` and ``gene_symbol``.

    Notes
    -----
    Columns are found by their names on the header line, which changed from release to release: ``geneId geneSymbol
    geneName diseaseId diseaseName score NumberOfPubmeds associationType source`` in release 3, where diseases are
    written ``umls:C0019202``; ``geneId geneSymbol diseaseId diseaseName score NofPmids NofSnps source`` after lines of
    comments in release 4; ``geneId geneSymbol DSI DPI diseaseId diseaseName diseaseType diseaseClass
    diseaseSemanticType score EI YearInitial YearFinal NofPmids NofSnps source`` since release 5 (Piñero et al., Nucleic
    Acids Research 2017 and 2020). A pair that is listed again with the same score, because it has several sources,
    counts once.
    """
    header, rows = after_header(path, read_lines(path, "\t", comment="#"))
    at = [column_index(path, header, name) for name in ("diseaseId", "geneId", "score")]
    names = {"disease_name": "diseaseName", "gene_symbol": "geneSymbol"}
    extra = {new: header.index(old) for new, old in names.items() if old in header}
    found: dict[tuple[str, str, float], list[str]] = {}
    for number, fields in rows:
        disease = parse_id(path, number, fields[at[0]].removeprefix("umls:"), "diseaseId")
        gene = parse_id(path, number, fields[at[1]], "geneId")
        score = parse_number(path, number, fields[at[2]], "column 'score'")
        found.setdefault((disease, gene, score), [fields[i] for i in extra.values()])
    _require_lines(path, found)
    columns = zip(*((*key, *rest) for key, rest in found.items()), strict=True)
    return id_frame(dict(zip(("disease", "gene", "score", *extra), columns, strict=True)))


def id_frame(columns: dict[str, Any]) -> Any:
    """A DataFrame with strings as Python objects, which all versions of pandas take alike, and floats."""
    import pandas as pd

    kinds = {name: object if isinstance(values[0], str) else float for name, values in columns.items()}
    return pd.DataFrame({name: pd.Series(list(columns[name]), dtype=kind) for name, kind in kinds.items()})


def _pair_columns(
    path: AnyPath, header: list[str], row: str | None, column: str | None, score: str | Literal[False] | None
) -> list[str]:
    """The columns of ids and, where it is named, that of scores."""
    _require_columns(path, header)
    first = next(name for name in header if name != column) if row is None else row
    second = next(name for name in header if name != first) if column is None else column
    names = [first, second, *([score] if score else [])]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: row, column and score must be different columns, but got {names}.")
    return names


def _require_columns(path: AnyPath, header: list[str]) -> None:
    if not header:
        raise ValueError(f"{path} is empty.")
    if len(header) < 2:
        raise ValueError(
            f"{path} has the single column {header[0]!r}. If its fields are separated in another way, "
            "give separator=',' or separator='\\t'."
        )


def _require_lines(path: AnyPath, found: Any) -> None:
    if not found:
        raise ValueError(f"{path} has no lines after the header.")


def _parquet_table(path: AnyPath, id: str | None) -> Any:
    frame = parquet_frame(path)
    header = [str(column) for column in frame.columns]
    if id is None and type(frame.index).__name__ != "RangeIndex":
        ids, name = frame.index, frame.index.name
        _require_columns(path, [str(name), *header])
    else:
        _require_columns(path, header)
        name = header[0] if id is None else header[column_index(path, header, id)]
        ids, frame = frame[name], frame.drop(columns=[name])
    _require_lines(path, len(frame))
    import pandas as pd

    index = pd.Index(as_ids(ids, f"{path}: column {name!r}").tolist(), name=name, dtype=object)
    columns = {str(name): numbers_or_anything(path, frame[name], str(name)) for name in frame.columns}
    return pd.DataFrame(columns).set_axis(index)


def _parquet_pairs(path: AnyPath, row: str | None, column: str | None, score: str | Literal[False] | None) -> Any:
    frame = parquet_frame(path)
    chosen = _pair_columns(path, list(frame.columns), row, column, score)
    _require_lines(path, len(frame))
    if score is None:
        found = choose_score(frame, [name for name in frame.columns if name not in chosen])
        chosen += [] if found is None else [found]
    for name in chosen:
        column_index(path, list(frame.columns), name)
    ids = {name: as_ids(frame[name], f"{path}: column {name!r}", unique=False).tolist() for name in chosen[:2]}
    return id_frame(ids | {name: parquet_scores(path, frame[name], name) for name in chosen[2:]})

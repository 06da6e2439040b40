"""Features of new rows, as a visitor pastes or uploads them: text, of which only numbers and known names are kept."""

from __future__ import annotations

import csv
import math
import re
import threading
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np

from jointdr.data import TableEncoder
from jointdr.runtime import Array

MOST_ROWS = 100
MOST_CELLS = 1_000_000
LONGEST_ID = 200
LONGEST_MESSAGE = 500
SHOWN = 40  # characters of a visitor's text that a message repeats


_encoding = threading.Lock()  # because warnings are recorded for the whole process
Rows = list[tuple[int, list[str]]]  # the number and the fields of each line


class BadUpload(ValueError):
    """An upload that cannot be read, with the reason in words for the visitor."""


@dataclass(frozen=True)
class Table:
    """New rows; the note is a remark for the visitor on how the text was read."""

    ids: tuple[str, ...]
    X: Array  # (rows, n)
    note: str = ""


def decode(data: bytes) -> str:
    """Text from bytes."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadUpload("The file is in UTF-16, as some spreadsheets save it: save it as UTF-8 text (CSV or TSV).")
    if data[:2] == b"\x1f\x8b" or data[:4] == b"PK\x03\x04":
        raise BadUpload("The file is compressed, or a spreadsheet: save it as plain text (CSV or TSV).")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadUpload(f"The text is not in UTF-8 (byte {error.start + 1}): save it as UTF-8 text.") from None
    if "\0" in text:
        raise BadUpload("This is not a text file: it has zero bytes. Send CSV or TSV.")
    return text


def read_features(text: str, n_features: int, names: tuple[str, ...] | None) -> Table:
    """New rows from text in one of three forms.

    Parameters
    ----------
    text : str
        A table, ids first, with the names of the columns on its first line; or one feature to a line, ``name value``
        or the name alone for 1, with all others 0; or just `n_features` numbers.
    n_features : int
    names : tuple of str, optional
        Of the features; without them the columns of a table count by their order.

    Raises
    ------
    BadUpload
        With the line and the column of what is wrong.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise BadUpload("There is nothing to read: paste features or choose a file.")
    plain = _plain_numbers(text)
    if plain is not None and len(plain) == n_features:
        return Table(("new",), plain[None])
    if plain is not None and len(lines) == 1:
        raise BadUpload(f"The model has {n_features} features; numbers that were sent: {len(plain)}.")
    if names is not None and n_features > 1 and len(re.split("[\t,;]", lines[0][1])) <= 2:
        return _list(lines, names)
    return _table(lines, n_features, names)


def read_mixed(text: str, encoder: TableEncoder) -> Table:
    """New rows of a table with columns of any kind, as the fitted one had them; what is missing is filled in.

    Parameters
    ----------
    text : str
        A table with the names of its columns on the first line, ids first or in the column that had them in the fit;
        or one column to a line, ``name value``.
    encoder : TableEncoder
        That of the fitted table.

    Raises
    ------
    BadUpload
        With the reason in words for the visitor.
    """
    import pandas as pd

    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise BadUpload("There is nothing to read: paste features or choose a file.")
    names = names_of_columns(encoder)
    if len(names) > 1 and len(re.split("[\t,;]", lines[0][1])) <= 2:
        found, _ = _read_list(lines, {*names, *encoder.feature_names_in_})
        frame = pd.DataFrame({name: [value or None] for name, value in found.items()}, dtype=object)
        ids: tuple[str, ...] = ("new",)
    else:
        header, rows = _parse_table(lines)
        at = header.index(encoder.id_column_) if encoder.id_column_ in header else 0
        ids = _check_rows(header, rows, len(header), at)
        cells = [[field.strip() or None for field in fields] for _, fields in rows]
        frame = pd.DataFrame(cells, columns=header, dtype=object).drop(columns=[header[at]])
    with _encoding, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            X = encoder.transform(frame)
        except ValueError as error:
            raise BadUpload(str(error)[:LONGEST_MESSAGE]) from None
    return Table(ids, X, " ".join(str(warning.message) for warning in said)[:LONGEST_MESSAGE])


def names_of_columns(encoder: TableEncoder) -> list[str]:
    """The columns of a table that become features."""
    return [column.name for column in encoder.columns_ if column.kind not in ("name", "left out")]


def _plain_numbers(text: str) -> Array | None:
    """The numbers that the text consists of; None if it has anything else."""
    values = np.array([_number(word) for word in re.split(r"[\s,;]+", text.strip())])
    return values if np.isfinite(values).all() else None


def _number(field: str) -> float:
    try:
        return float(field) if "_" not in field else math.nan
    except ValueError:
        return math.nan


def _pair(line: str) -> tuple[str, str]:
    """The name and the value of a line; the value may be left out."""
    line = line.strip()
    parts = re.split(r"[\t,;=]", line, maxsplit=1)
    if len(parts) == 1:
        parts = line.rsplit(None, 1)
    return parts[0].strip(), parts[1].strip() if len(parts) == 2 else "1"


def _list(lines: list[tuple[int, str]], names: tuple[str, ...]) -> Table:
    """A new row from one feature to a line."""
    found, numbers = _read_list(lines, set(names))
    x = np.array([_finite(found[name], numbers[name], name) if name in found else 0.0 for name in names])
    note = f"{len(found)} of {len(names)} features were given; the others count as 0."
    return Table(("new",), x[None], note if len(found) < len(names) else "")


def _read_list(lines: list[tuple[int, str]], names: set[str]) -> tuple[dict[str, str], dict[str, int]]:
    """The value of each name in a list, and its line."""
    found: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for number, line in lines:
        name, value = (line.strip(), "1") if line.strip() in names else _pair(line)
        if name not in names:
            raise BadUpload(f"Line {number}: there is no feature {_short(name)}.")
        if name in found:
            raise BadUpload(f"Line {number}: the feature {_short(name)} was on line {numbers[name]} already.")
        found[name], numbers[name] = value, number
    return found, numbers


def _table(lines: list[tuple[int, str]], n_features: int, names: tuple[str, ...] | None) -> Table:
    header, rows = _parse_table(lines)
    order = _columns(header, n_features, names)
    ids = _check_rows(header, rows, n_features)
    X = np.empty((len(rows), n_features))
    for i, (number, fields) in enumerate(rows):
        X[i] = [_finite(fields[at], number, header[at]) for at in order]
    return Table(ids, X)


def _parse_table(lines: list[tuple[int, str]]) -> tuple[list[str], Rows]:
    """The names of the columns, and the fields of every other line."""
    separator = next((mark for mark in "\t,;" if mark in lines[0][1]), "\t")
    try:
        rows = list(csv.reader((line for _, line in lines), delimiter=separator, strict=True))
    except csv.Error as error:
        raise BadUpload(f"The table cannot be read: {error}.") from None
    header = [title.strip() for title in rows[0]]
    title, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise BadUpload(f"The column {_short(title)} is there more than once.")
    numbers = [number for number, _ in lines[1:]]
    return header, list(zip(numbers, rows[1:], strict=False))


def _check_rows(header: list[str], rows: Rows, width: int, at: int = 0) -> tuple[str, ...]:
    """The ids of the rows of a table, in the column `at`; an error where there are too many rows or too few fields."""
    if not rows:
        raise BadUpload("The table has a line of column names and nothing else.")
    if len(rows) > MOST_ROWS or len(rows) * width > MOST_CELLS:
        most = max(1, min(MOST_ROWS, MOST_CELLS // width))
        raise BadUpload(f"The table has {len(rows)} rows; {most} can be ranked at a time.")
    seen: dict[str, int] = {}
    for number, fields in rows:
        if len(fields) != len(header):
            raise BadUpload(f"Line {number} has {len(fields)} fields, but the first line has {len(header)}.")
        _require_id(fields[at].strip(), number, seen)
    return tuple(seen)


def _columns(header: list[str], n_features: int, names: tuple[str, ...] | None) -> list[int]:
    """Which column of the table has each feature."""
    if names is None:
        if len(header) != n_features + 1:
            raise BadUpload(
                f"A table needs ids first and then {n_features} features, in the order in which the model was fitted; "
                f"columns on its first line: {len(header)}."
            )
        return list(range(1, n_features + 1))
    where = {title: at for at, title in enumerate(header) if at > 0}
    if missing := [name for name in names if name not in where]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise BadUpload(
            f"The column {_short(missing[0])} is missing{more}: ids come first, then {n_features} features."
        )
    if unknown := list(where.keys() - set(names)):
        raise BadUpload(f"The model has no feature {_short(unknown[0])}: leave that column out.")
    return [where[name] for name in names]


def _require_id(id: str, number: int, seen: dict[str, int]) -> None:
    if not id:
        raise BadUpload(f"Line {number}: the id, in the first column, is empty.")
    if len(id) > LONGEST_ID:
        raise BadUpload(f"Line {number}: the id has {len(id)} characters; {LONGEST_ID} are allowed.")
    if id in seen:
        raise BadUpload(f"Line {number}: the id {_short(id)} was on line {seen[id]} already.")
    seen[id] = number


def _finite(field: str, number: int, column: str) -> float:
    value = _number(field)
    if not math.isfinite(value):
        raise BadUpload(f"Line {number}, column {_short(column)}: {_short(field)} is not a finite number.")
    return value


def _short(text: str) -> str:
    """A visitor's text in quotes, cut to what a message can hold."""
    text = text.strip()
    return f"“{text if len(text) <= SHOWN else text[:SHOWN] + '…'}”"

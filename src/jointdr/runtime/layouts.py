"""The layout of a table in a text file: what separates its fields, and whether its first line has names."""

from __future__ import annotations

import csv
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import isnan, nan
from typing import TypeVar

from jointdr.runtime.archive import EXPANSION, most_bytes
from jointdr.runtime.checks import check_flag, check_separator
from jointdr.runtime.delimited import Line, is_missing, open_text, read_lines, separator_of
from jointdr.runtime.files import AnyPath

Field = TypeVar("Field", str, str | None)
LINES, CHARACTERS = 1000, 4_000_000  # of the beginning of a file, which shows its layout
MARKS = ("\t", ";", ",", "|")
FEWEST_SORTED = 4  # numbers in rising or falling order that are names of columns, wavelengths for example
POINT, COMMA = re.compile(r"[-+]?\d*\.\d+"), re.compile(r"[-+]?(\d+,(\d{1,2}|\d{4,})|(0|\d{4,}),\d{3})")
OF_IDS = re.compile(r"(^|.*[\s_.-])(id|ids|name|code|key)", re.IGNORECASE)  # the name of a column of ids
SHEETS = (".xlsx", ".xlsm")


@dataclass(frozen=True)
class TableLines:
    """The names of the columns of a table in a file, and its lines, which can be read again and again."""

    names: list[str]
    read: Callable[[], Iterator[Line]]
    has_header: bool
    has_decimal_commas: bool = False


def table_lines(
    path: AnyPath, separator: str | None = None, header: bool | None = None, *, of_pairs: bool = False
) -> TableLines:
    """A table in a text file or a spreadsheet.

    Parameters
    ----------
    path : path
    separator : str, optional
        Between fields; by default the one that the ending of the name or, where that does not fit, the lines show.
    header : bool, optional
        Whether the first line has the names of the columns; by default as it looks.
    of_pairs : bool
        Whether it is a list of pairs, in which ids come again. In a table of entities their column may lack a name.
        Without names columns are called row, column, score, x4, ... or id, x1, x2, ....

    Raises
    ------
    ValueError
        With file and line, where the lines have different numbers of fields.
    """
    check_separator(separator)
    if header is not None:
        check_flag("header", header)
    is_sheet = os.fspath(path).lower().endswith(SHEETS)
    mark = None if is_sheet else _separator(path, separator)

    def rows() -> Iterator[Line]:
        return _sheet(path) if is_sheet else read_lines(path, mark, quoted=True)

    head = list(islice(rows(), LINES))
    if not head:
        raise ValueError(f"{path} is empty.")
    fields = [row for _, row in head]
    has_header = _has_header(fields, of_pairs) if header is None else header
    number, first = head[0]
    names = [name.strip() for name in first] if has_header else _names(len(first), of_pairs)
    while has_header and len(names) > 1 and not names[-1]:
        del names[-1]  # of separators at the ends of lines
    ends = len(first) - len(names)
    if has_header:
        names[0] = names[0].removeprefix("#").strip()
        if not of_pairs and len(fields) > 1 and not ends and all(len(row) == len(first) + 1 for row in fields[1:]):
            names = ["id", *names]  # as R writes tables, without a name for the ids
        _require_different(path, number, names)
    than = "the header" if has_header else "the first line"

    def read() -> Iterator[Line]:
        for number, row in islice(rows(), int(has_header), None):
            if ends and len(row) == len(first) and not any(row[len(names) :]):
                row = row[: len(names)]
            if len(row) != len(names):
                raise ValueError(f"{path}, line {number}: it has {len(row)} fields, but {than} has {len(names)}.")
            yield number, row

    return TableLines(names, read, has_header, mark == ";" or _has_decimal_commas(fields))


def _has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Whether numbers have decimal commas: some can be read in no other way (1,234 can), and none has a point."""
    found = [field for row in rows for field in row if "," in field or "." in field]
    if any(POINT.fullmatch(field.strip()) for field in found):
        return False
    return any(COMMA.fullmatch(field.strip()) for field in found)


def _names(count: int, of_pairs: bool) -> list[str]:
    first = ["row", "column", "score"] if of_pairs else ["id"]
    return [*first, *(f"x{k}" for k in range(len(first) + of_pairs, count + of_pairs))][:count]


def _separator(path: AnyPath, given: str | None) -> str | None:
    """The mark between fields: that of the ending of the name, if it fits the lines, or else one that does."""
    if given is not None:
        return given
    with open_text(path) as file:
        lines = [line for line in file.read(CHARACTERS).splitlines(keepends=True)[:LINES] if not line.isspace()]
    try:
        own = separator_of(path)
    except ValueError:
        own = None
    is_plain = own is None or os.fspath(path).lower().removesuffix(".gz").endswith(".txt")
    marks = [*dict.fromkeys(([own] if own else []) + list(MARKS)), *([None] if is_plain else [])]
    fitting = [mark for mark in marks if _fits(lines, mark)]
    if "," in fitting and ";" in fitting and all(_commas_are_decimal(line) for line in lines):
        return ";"
    if not fitting and own is None:
        raise ValueError(f"{path}: its lines do not show how fields are separated; give separator=',' for example.")
    return fitting[0] if fitting else own


def _fits(lines: Sequence[str], mark: str | None) -> bool:
    """Whether a mark splits all lines into as many fields; the first may lack the name of the ids."""
    try:
        if mark is None:
            rows = [line.split() for line in lines]
        else:
            rows = list(csv.reader(lines, delimiter=mark, skipinitialspace=True))
    except csv.Error:
        return False
    counts = [len(row) for row in rows if any(row)]
    if len(counts) < 2:
        return bool(counts) and counts[0] >= 2
    return len(set(counts[1:])) == 1 and counts[0] >= 2 and counts[1] - counts[0] in (0, 1)


def _commas_are_decimal(line: str) -> bool:
    """Whether all commas of a line stand in a number."""
    places = [at for at, character in enumerate(line) if character == ","]
    return all(line[at + 1 : at + 2].isdigit() and (at == 0 or not line[at - 1].isalpha()) for at in places)


def _has_header(rows: Sequence[Sequence[str]], of_pairs: bool) -> bool:
    """Whether the first line has names: where it has text in a column of numbers, or nothing speaks against it."""
    first = [field.strip() for field in rows[0]]
    rest = [row for row in rows[1:] if len(row) == len(first)]
    if not rest or not first[0] or first[0].startswith("#") or OF_IDS.fullmatch(first[0]):
        return True
    numeric = [j for j in range(len(first)) if _is_numeric([row[j] for row in rest])]
    if any(isnan(as_number(first[j])) and not is_missing(first[j]) for j in numeric):
        return True
    compared = range(min(2, len(first))) if of_pairs else range(1, len(first))
    if any(not is_missing(first[j]) and first[j] in {row[j].strip() for row in rest} for j in compared):
        return False  # a value that comes again
    if not numeric:
        return True
    if 0 in numeric:
        return False
    numbers = [as_number(first[j]) for j in numeric]
    steps = [b - a for a, b in pairwise(numbers)]
    counts = len(steps) > 0 and steps[0] in (1.0, -1.0) and len(set(steps)) == 1
    is_sorted = len(numbers) >= FEWEST_SORTED and (min(steps) > 0 or max(steps) < 0)
    return not of_pairs and (counts or is_sorted)


def _is_numeric(fields: Sequence[str]) -> bool:
    known = [field for field in fields if not is_missing(field)]
    return bool(known) and not any(isnan(as_number(field)) for field in known)


def as_number(field: str, has_decimal_commas: bool = True) -> float:
    """The number in a field, NaN if it is none; 0,5 is one half where commas may stand for points."""
    if "_" in field:
        return nan  # which Python takes for a separator of thousands
    try:
        return float(field)
    except ValueError:
        pass
    if has_decimal_commas and field.count(",") == 1 and "." not in field:
        try:
            return float(field.replace(",", "."))
        except ValueError:
            pass
    return nan


def _require_different(path: AnyPath, number: int, names: Sequence[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{path}, line {number}: the column names {repeated[:5]} occur more than once.")


def _sheet(path: AnyPath) -> Iterator[Line]:
    """The rows of the first sheet of a workbook as text."""
    import pandas as pd

    try:
        with zipfile.ZipFile(path) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > most_bytes(path):
            raise ValueError(f"it expands to more than {EXPANSION} times its size")
        table = pd.read_excel(path, header=None, dtype=object, na_filter=False)
        table = table.loc[:, (table != "").any(axis=0)]  # cells may have been formatted without a value
    except ImportError:
        raise ImportError(f'{path}: spreadsheets take openpyxl: pip install "jointdr[io]".') from None
    except FileNotFoundError:
        raise
    except Exception as error:  # of many kinds: those of zip files, of XML and of openpyxl
        raise ValueError(f"{path} is not a spreadsheet in the form of .xlsx, or a damaged one: {error}") from None
    for number, row in enumerate(table.itertuples(index=False), 1):
        fields = ["" if value is None else str(value) for value in row]
        if any(fields):
            yield number, fields


def with_points(column: list[Field], least: float = 1.0) -> list[Field]:
    """A column with points for decimal commas, where this share of it at least are numbers; others as they are."""
    is_given = [field is not None and not is_missing(field) for field in column]
    is_number = [field is not None and not isnan(as_number(field)) for field in column]
    if sum(is_number) < least * sum(is_given):
        return column
    return [field.replace(",", ".") if field and one else field for field, one in zip(column, is_number, strict=True)]

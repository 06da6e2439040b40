"""Text files line by line: opened whether compressed or not, split into fields, with errors that name file and line."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from jointdr.arrays import Array
from jointdr.files import read_unchanged

Path = str | os.PathLike[str]

Line = tuple[int, list[str]]
"""The number of a line, counted from 1, and its fields."""


def lines(
    path: Path, separator: str | None = "\t", *, quoted: bool = False, comment: str | None = None
) -> Iterator[Line]:
    """The fields of every line that is not empty.

    Parameters
    ----------
    path : path
        Text in UTF-8, plain or compressed by gzip, which is told by its first bytes.
    separator : str or None
        None: any white space.
    quoted : bool
        Whether fields may stand in double quotes. Annotation files are not written that way, and have single quotes
        that are part of the text.
    comment : str, optional
        Lines that start with this are left out.
    """
    with _opened(path) as file, read_unchanged(path, file):
        try:
            if quoted and separator is not None:
                yield from _quoted(file, separator, comment)
                return
            for number, line in enumerate(file, 1):
                if not (line.isspace() or (comment and line.startswith(comment))):
                    yield number, line.rstrip("\r\n").split(separator)
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8: save it as such, or decompress it first.") from None
        except (EOFError, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is cut off or damaged: {error}") from None
        except csv.Error as error:
            raise ValueError(f"{path} has quotes that do not close: {error}.") from None


def _opened(path: Path) -> Any:
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return (gzip.open if compressed else open)(path, "rt", encoding="utf-8-sig", newline="")


def _quoted(file: Any, separator: str, comment: str | None) -> Iterator[Line]:
    reader = csv.reader(file, delimiter=separator, strict=True)
    for row in reader:
        if any(row) and not (comment and row[0].startswith(comment)):
            yield reader.line_num, row


def after_header(path: Path, rows: Iterator[Line]) -> tuple[list[str], Iterator[Line]]:
    """The first line as names of columns, and the others, which must have as many fields."""
    number, header = next(rows, (0, []))
    if not number:
        raise ValueError(f"{path} is empty.")
    header = [name.strip() for name in header]
    repeated = sorted({name for name in header if header.count(name) > 1}) if len(set(header)) < len(header) else []
    if repeated:
        raise ValueError(f"{path}, line {number}: the column names {repeated[:5]} occur more than once.")
    return header, same_length(path, rows, len(header), "the header")


def same_length(path: Path, rows: Iterator[Line], count: int, than: str) -> Iterator[Line]:
    """The lines, with an error at the first that does not have `count` fields."""
    for number, fields in rows:
        if len(fields) != count:
            raise ValueError(f"{path}, line {number}: it has {len(fields)} fields, but {than} has {count}.")
        yield number, fields


def numbers(path: Path, number: int, fields: Sequence[str], name: Callable[[int], str]) -> Array:
    """The fields of a line as finite numbers; `name` says what the i-th is called."""
    try:
        values = np.array(fields, dtype=float)
    except ValueError:
        values = np.array([_number(field) for field in fields])
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        number_of(path, number, fields[at], name(at))
    return values


def number_of(path: Path, number: int, field: str, what: str) -> float:
    """A field as a finite number."""
    if not isfinite(value := _number(field)):
        hint = " Fill in or leave out what is missing." if field.strip().lower() in _MISSING else ""
        raise ValueError(f"{path}, line {number}, {what}: {field!r} is not a finite number.{hint}")
    return value


_MISSING = ("", "na", "nan", "null", "none", ".", "-")


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        return np.nan


def id_of(path: Path, number: int, field: str, what: str) -> str:
    """An id without the spaces around it; an empty one is an error."""
    if not (name := field.strip()):
        raise ValueError(f"{path}, line {number}: the {what} is empty.")
    return name


def require_new(path: Path, number: int, name: str, seen: dict[str, int]) -> None:
    """Remember on which line an id stands; an error if it stood on one before."""
    if (before := seen.setdefault(name, number)) != number:
        raise ValueError(f"{path}, line {number}: the id {name!r} was on line {before} already.")


def place(path: Path, header: Sequence[str], name: str) -> int:
    """Which column has this name."""
    if name not in header:
        shown = ", ".join(map(repr, header[:12])) + (", ..." if len(header) > 12 else "")
        raise ValueError(f"{path} has no column {name!r}; its columns are {shown}.")
    return list(header).index(name)


def separator_of(path: Path) -> str:
    """A comma for .csv, a tab for .tsv, .tab and .txt, also with .gz after it."""
    name = os.fspath(path).lower().removesuffix(".gz")
    for ending, separator in ((".csv", ","), (".tsv", "\t"), (".tab", "\t"), (".txt", "\t")):
        if name.endswith(ending):
            return separator
    raise ValueError(f"{path}: its name does not say how fields are separated; give separator=',' or separator='\\t'.")


def pandas() -> Any:
    """The pandas module, or an ImportError that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError('Tables are read into pandas DataFrames: pip install "jointdr[io]".') from None
    return pandas

"""Text files line by line: opened whether compressed or not, split into fields, with errors that name file and line."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import IO

import numpy as np

from jointdr.runtime.archive import EXPANSION, most_bytes
from jointdr.runtime.arrays import Array
from jointdr.runtime.files import AnyPath, read_unchanged

Line = tuple[int, list[str]]  # the number of a line, counted from 1, and its fields


MISSING = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "nat", "-", "?", "."))  # for no value
LONGEST_ID = 10_000  # characters; arrays of ids have room for the longest in every place, so one could fill the memory


def read_lines(
    path: AnyPath, separator: str | None = "\t", *, quoted: bool = False, comment: str | None = None
) -> Iterator[Line]:
    """The fields of every line that is not empty.

    Parameters
    ----------
    path : path
        Text in UTF-8, plain or compressed by gzip, recognised by its first bytes.
    separator : str or None
        None: any white space.
    quoted : bool
        Whether fields may stand in double quotes. Annotation files are not written that way, and have single quotes
        that are part of the text.
    comment : str, optional
        Lines that start with this are left out.
    """
    with open_text(path) as file, read_unchanged(path, file):
        try:
            if quoted and separator is not None:
                reader = csv.reader(file, delimiter=separator, strict=True, skipinitialspace=True)
                for row in reader:
                    if any(row) and not (comment and row[0].startswith(comment)):
                        yield reader.line_num, row
                return
            for number, line in enumerate(file, 1):
                if not (line.isspace() or (comment and line.startswith(comment))):
                    yield number, line.rstrip("\r\n").split(separator)
        except csv.Error as error:
            raise ValueError(f"{path} has quotes that do not close: {error}.") from None


@contextmanager
def open_text(path: AnyPath) -> Iterator[IO[str]]:
    """A text file, plain or compressed by gzip; while it is read, a ValueError if it is damaged or expands too far."""
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    with (
        _Expanding(path) if compressed else open(path, "rb") as binary,
        io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text,
    ):
        try:
            yield text
        except UnicodeDecodeError:
            raise ValueError(
                f"{path} is not text in UTF-8: save it as such (in a spreadsheet: as CSV UTF-8), or convert it, for "
                "example with iconv -f latin1 -t utf8; decompress it first where it is an archive."
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is cut off or damaged: {error}") from None


class _Expanding(gzip.GzipFile):
    """A file compressed by gzip that is not read to its end if it grows too long."""

    def __init__(self, path: AnyPath) -> None:
        super().__init__(path, "rb")
        self._path, self._most = path, most_bytes(path)

    def read1(self, size: int = -1) -> bytes:
        data = super().read1(size)
        if self.tell() > self._most:
            raise ValueError(
                f"{self._path} expands to more than {self._most / 1e6:.4g} MB, {EXPANSION} times its size: if you "
                "trust it, decompress it first."
            )
        return data


def after_header(path: AnyPath, rows: Iterator[Line]) -> tuple[list[str], Iterator[Line]]:
    """The first line as names of columns, and the others, which must have as many fields."""
    number, header = next(rows, (0, []))
    if not number:
        raise ValueError(f"{path} is empty.")
    header = [name.strip() for name in header]
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        raise ValueError(f"{path}, line {number}: the column names {repeated[:5]} occur more than once.")
    return header, require_length(path, rows, len(header), "the header")


def require_length(path: AnyPath, rows: Iterator[Line], count: int, than: str) -> Iterator[Line]:
    """The lines, with an error at the first that does not have `count` fields."""
    for number, fields in rows:
        if len(fields) != count:
            raise ValueError(f"{path}, line {number}: it has {len(fields)} fields, but {than} has {count}.")
        yield number, fields


def parse_numbers(path: AnyPath, number: int, fields: Sequence[str], name: Callable[[int], str]) -> Array:
    """The fields of a line as finite numbers; `name` gives the name of the i-th."""
    try:
        values = np.array(fields, dtype=float)
    except ValueError:
        values = np.array([_number(field) for field in fields])
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        parse_number(path, number, fields[at], name(at))
    return values


def parse_number(path: AnyPath, number: int, field: str, what: str) -> float:
    """A field as a finite number."""
    if not isfinite(value := _number(field)):
        hint = " Fill in or leave out what is missing." if is_missing(field) else ""
        raise ValueError(f"{path}, line {number}, {what}: {field!r} is not a finite number.{hint}")
    return value


def is_missing(field: str) -> bool:
    """Whether a field stands for a missing value."""
    return field.strip().lower() in MISSING


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        return np.nan


def parse_id(path: AnyPath, number: int, field: str, what: str) -> str:
    """An id without the spaces around it; an empty one is an error."""
    if not (name := field.strip()):
        raise ValueError(f"{path}, line {number}: the {what} is empty.")
    if len(name) > LONGEST_ID:
        raise ValueError(f"{path}, line {number}: the {what} has {len(name)} characters; {LONGEST_ID} are allowed.")
    return name


def require_new(path: AnyPath, number: int, name: str, seen: dict[str, int]) -> None:
    """Remember on which line an id stands; an error if it stood on one before."""
    if (before := seen.setdefault(name, number)) != number:
        raise ValueError(f"{path}, line {number}: the id {name!r} was on line {before} already.")


def column_index(path: AnyPath, header: Sequence[str], name: str, argument: str = "") -> int:
    """Which column has this name, which an argument may have given."""
    if name not in header:
        shown = ", ".join(map(repr, header[:12])) + (", ..." if len(header) > 12 else "")
        given = f", which {argument} names" if argument else ""
        raise ValueError(f"{path} has no column {str(name)!r}{given}; its columns are {shown}.")
    return list(header).index(name)


def separator_of(path: AnyPath) -> str:
    """A comma for .csv, a tab for .tsv, .tab and .txt, also with .gz after it."""
    name = os.fspath(path).lower().removesuffix(".gz")
    for ending, separator in ((".csv", ","), (".tsv", "\t"), (".tab", "\t"), (".txt", "\t")):
        if name.endswith(ending):
            return separator
    raise ValueError(f"{path}: its name does not say how fields are separated; give separator=',' or separator='\\t'.")

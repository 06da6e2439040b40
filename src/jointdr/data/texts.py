"""The texts of a column: the different ones, and which of them stands where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.runtime import MISSING, Array

BOOLEANS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
CLOCK = r"([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
YEAR_FIRST = re.compile(rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}{CLOCK}")
SLASHES = re.compile(rf"(\d{{4}})/(\d{{1,2}})/(\d{{1,2}}{CLOCK})")
DAY_FIRST = re.compile(rf"(\d{{1,2}})\.(\d{{1,2}})\.(\d{{4}})({CLOCK})")


@dataclass(frozen=True)
class Texts:
    """The texts of a column, each of which is looked at once however often it stands there.

    Attributes
    ----------
    values : (v,) array of str objects
        The different ones, sorted, without spaces around them; none of them stands for a missing value.
    codes : (m,) array of int
        The index of each row's text among them, -1 for a gap.
    """

    values: Array
    codes: Array

    @property
    def gaps(self) -> Array:
        """Where nothing is known."""
        return self.codes < 0

    @property
    def counts(self) -> Array:
        """The number of rows with each text."""
        return np.bincount(self.codes[~self.gaps], minlength=len(self.values))

    def spread(self, of_values: Array, of_gaps: Any) -> Array:
        """One entry for every row, of one for each text."""
        return np.append(of_values, np.array([of_gaps], dtype=of_values.dtype))[self.codes]

    def numbers(self, kind: str) -> Array:
        """The texts of all rows as numbers, booleans or dates; NaN for gaps and what is none."""
        return self.spread(_parse(self.values, kind), np.nan)

    def strange(self, numbers: Array) -> Array:
        """Where a text is not one of the numbers that were made of them."""
        return np.isnan(numbers) & ~self.gaps


def texts_of(values: Any, missing: frozenset[str] = MISSING) -> Texts:
    """The texts of a pandas Series; whole numbers without a decimal point.

    Raises
    ------
    TypeError
        If it holds lists, arrays or something else that cannot be compared.
    """
    import pandas as pd

    codes, different = pd.factorize(values.astype(object))
    texts = np.array([_text_of(value).strip() for value in different], dtype=object)
    known = np.array([text.lower() not in missing for text in texts], dtype=bool)
    found, where = np.unique(texts[known], return_inverse=True)
    at = np.full(len(texts) + 1, -1)
    at[:-1][known] = where
    return Texts(found, at[codes])


def _text_of(value: Any) -> str:
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def days_of(values: Any) -> Array:
    """Dates as days since 1970, durations as days; NaN for gaps."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values):
        values = pd.to_datetime(values, utc=True) - pd.Timestamp(0, tz="UTC")
    return np.asarray(values / pd.Timedelta(days=1), dtype=float)


def _parse(texts: Array, kind: str) -> Array:
    import pandas as pd

    if kind == "number":
        return np.asarray(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=float))
    if kind == "boolean":
        words = [text.lower() for text in texts]
        true, false = max(BOOLEANS, key=lambda pair: sum(word in pair for word in words))
        return np.array([{true: 1.0, false: 0.0}.get(word, np.nan) for word in words], dtype=float)
    dates = pd.Series([_year_first(text) for text in texts], dtype=object)
    return days_of(pd.to_datetime(dates, errors="coerce", utc=True, format="ISO8601"))


def _year_first(text: str) -> str | None:
    """A date as 2020-01-31, with its time; None if it is none. 31.1.2020 and 2020/1/31 are, 1/31/2020 may be two."""
    if YEAR_FIRST.fullmatch(text):
        year, month, rest = text.split("-", 2)
    elif found := SLASHES.fullmatch(text):
        year, month, rest = found.group(1, 2, 3)
    elif found := DAY_FIRST.fullmatch(text):
        day, month, year, clock = found.group(1, 2, 3, 4)
        rest = day.zfill(2) + clock
    else:
        return None
    return f"{year}-{month.zfill(2)}-{rest if rest[1:2].isdigit() else '0' + rest}"

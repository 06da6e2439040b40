"""Columns of a table of any kind: numbers, booleans, dates, categories, names, and gaps in all of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.runtime import MISSING, Array, is_sparse

MOST_LEVELS = 30  # of a category that are features of their own, at most; those of fewer entities go together
RARE, FEWEST = 0.01, 2  # the share, and the number, of entities below which a level, or a gap, is rare
FEW = 3  # levels of which none is rare
DISTINCT, ENOUGH = 0.9, 20  # the share of different values above which so many texts name entities, not groups of them
LONG = 60  # characters of a text that is no name
CONSTANT = "constant where it is known"
LONG_TEXT = "long text that nearly never repeats"
MOSTLY = 0.9  # the share of numbers from which a column of text is one of numbers with gaps
NAMES = re.compile(r"(^|[\s_.-])(name|label|symbol|title)$", re.IGNORECASE)
BOOLEANS = (("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"))
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
OTHER, ABSENT = "other", "missing"  # the levels of rare values and of gaps
KINDS = ("number", "boolean", "date", "category", "name", "left out")
NUMBERS = KINDS[:3]
SHOWN = 5  # names that a message lists


@dataclass(frozen=True)
class Column:
    """The treatment of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "category", "name", "left out"}
        Dates count in days. A name is kept to be shown, and is no feature.
    fill : float
        The mean of the known values, which stands for gaps; of numbers, booleans and dates.
    n_missing : int
        Gaps in the table that was fitted.
    marks_gaps : bool
        Whether a feature of its own says where there are gaps.
    levels : tuple of str
        The values of a category, of which the first, the most frequent one, is the one that the others differ from:
        they are features. "other" stands for rare ones, "missing" for gaps.
    note : str
        The reason why it is left out, or what of it could not be understood.
    """

    name: str
    kind: str
    fill: float = 0.0
    n_missing: int = 0
    marks_gaps: bool = False
    levels: tuple[str, ...] = ()
    note: str = ""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of its features."""
        if self.kind == "category":
            return tuple(f"{self.name}={level}" for level in self.levels[1:])
        marks = (f"{self.name} {ABSENT}",) if self.marks_gaps else ()
        return (self.name, *marks) if self.kind in NUMBERS else ()


def number_columns(frame: Any) -> dict[str, Column]:
    """The treatment of all columns of plain numbers, by their names; they are looked at together."""
    plain = [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if is_number_type(dtype)]
    if not plain or len(frame) == 0:
        return {}
    values = frame[plain].to_numpy(dtype=float)
    if np.isinf(values).any():
        _require_finite(
            values[:, np.isinf(values).any(axis=0)][:, 0], str(plain[int(np.isinf(values).any(axis=0).argmax())])
        )
    missing = np.isnan(values).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without any value
        means, least, most = (f(values, axis=0) for f in (np.nanmean, np.nanmin, np.nanmax))
    found = {}
    for name, gaps, mean, low, high in zip(plain, missing, means, least, most, strict=True):
        if gaps == len(frame):
            found[str(name)] = Column(str(name), "left out", note="no values")
        elif low == high:
            found[str(name)] = Column(str(name), "left out", note="constant" if gaps == 0 else CONSTANT)
        else:
            kind = "boolean" if frame[name].dtype.kind == "b" else "number"
            found[str(name)] = Column(str(name), kind, float(mean), int(gaps))
    return found


def is_number_type(dtype: Any) -> bool:
    """Whether a column of this type holds NumPy's own integers, floats or booleans."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iufb"


def decide_column(values: Any, name: str, is_wanted: bool = False) -> Column:
    """The treatment of a column of a pandas table; one that is wanted is a feature though its text looks like names."""
    text = as_text(values, name)
    if text is None:
        return _of_numbers(name, _kind_of(values), clean_numbers(values, name))
    gaps = is_gap(text)
    if not gaps.all() and not _is_categorical(values):
        for kind in NUMBERS:
            numbers = _parse(text, gaps, kind)
            strange = np.isnan(numbers) & ~gaps
            if strange.sum() <= (1.0 - MOSTLY) * (~gaps).sum():
                such = f"{strange.sum()} not numbers, such as {text[strange][0]!r}" if strange.any() else ""
                return _of_numbers(name, kind, _require_finite(numbers, name), such)
    return _of_text(name, text, gaps, is_wanted, _is_categorical(values))


def _of_numbers(name: str, kind: str, numbers: Array, note: str = "") -> Column:
    known = numbers[~np.isnan(numbers)]
    missing = len(numbers) - len(known)
    if len(known) == 0:
        return Column(name, "left out", note="no values")
    if known.min() == known.max():
        return Column(name, "left out", note="constant" if missing == 0 else CONSTANT)
    return Column(name, kind, float(known.mean()), missing, note=note)


def _of_text(name: str, text: Array, gaps: Array, is_wanted: bool, is_categorical: bool) -> Column:
    levels, counts = np.unique(text[~gaps].astype(str), return_counts=True)
    missing, known = int(gaps.sum()), int((~gaps).sum())
    if known == 0:
        return Column(name, "left out", note="no values")
    if len(levels) == 1 and missing == 0:
        return Column(name, "left out", note="constant")
    if not is_wanted and not is_categorical:
        if NAMES.search(name):
            return Column(name, "name", n_missing=missing)
        if len(levels) > DISTINCT * known and known >= ENOUGH:
            is_long = np.median([len(value) for value in levels]) > LONG
            return Column(name, "left out", note=LONG_TEXT) if is_long else Column(name, "name", n_missing=missing)
    order = np.argsort(-counts, kind="stable")
    kept = order[:MOST_LEVELS]
    if len(levels) > FEW:
        kept = kept[counts[kept] >= max(FEWEST, RARE * len(text))]
    if len(kept) == 0:
        return Column(name, "left out", note="text that nearly never repeats")
    found = levels[kept].tolist()
    found += [OTHER] if len(kept) < len(levels) and OTHER not in found else []
    found += [ABSENT] if missing and ABSENT not in found else []
    return Column(name, "category", n_missing=missing, levels=tuple(found))


def clean_column(values: Any, column: Column) -> tuple[Array, str | None]:
    """The values of a column as its transformer takes them, and one that it has no place for, if there is one."""
    text = as_text(values, column.name)
    if column.kind == "category":
        text = as_text(values.astype(object), column.name) if text is None else text
        assert text is not None
        gaps, is_level = is_gap(text), np.isin(text.astype(str), column.levels)
        filled = [ABSENT if ABSENT in column.levels else column.levels[0]]  # the most frequent one
        filled += [OTHER if OTHER in column.levels else filled[0]]
        strange = ~is_level & ~gaps
        found = np.where(is_level, text, np.where(gaps, filled[0], filled[1])).astype(object)
        return found, str(text[strange][0]) if strange.any() and OTHER not in column.levels else None
    if text is None:
        return clean_numbers(values, column.name), None
    gaps = is_gap(text)
    numbers = _require_finite(_parse(text, gaps, column.kind), column.name)
    strange = np.isnan(numbers) & ~gaps
    return numbers, str(text[strange][0]) if strange.any() else None


def is_frame(X: Any) -> bool:
    """Whether it is a DataFrame of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_column"))


def is_matrix(X: Any) -> bool:
    """Whether it is an array of numbers or a sparse matrix, rather than a table with ids."""
    return is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")


def as_frame(X: Any) -> Any:
    """A table of pandas or polars as one of pandas, whose columns have different names."""
    import pandas as pd

    if not is_frame(X):
        raise TypeError(f"A table must be a DataFrame of pandas or polars, but got {type(X).__name__}.")
    if hasattr(X, "iloc"):
        frame = X.copy(deep=False)
    else:
        frame = pd.DataFrame({name: pd.Series(X[name].to_list()) for name in X.columns})
    names = [str(name) for name in frame.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []:
        raise ValueError(f"A table has several columns of the same name: {list_some(twice)}. Rename or drop them.")
    return frame


def as_text(values: Any, name: str) -> Array | None:
    """The values of a column of text, or of objects, as str with gaps empty; None for numbers, booleans and dates."""
    from pandas.api import types

    if not _is_categorical(values) and not (types.is_object_dtype(values) or types.is_string_dtype(values)):
        return None
    given = np.asarray(values.astype(object))
    if any(isinstance(value, (list, tuple, dict, set, np.ndarray)) for value in given):
        raise ValueError(f"column {name!r} holds lists or arrays: make a column of each of their entries, or drop it.")
    gaps = np.asarray(values.isna())
    return np.array(["" if gap else str(value).strip() for value, gap in zip(given, gaps, strict=True)], dtype=object)


def is_gap(text: Array) -> Array:
    """Whether each text stands for a missing value."""
    return np.array([value.lower() in MISSING for value in text], dtype=bool)


def clean_numbers(values: Any, name: str) -> Array:
    """A column of numbers, booleans or dates as floats, NaN where they are missing."""
    import pandas as pd
    from pandas.api import types

    if is_number_type(values.dtype):
        return _require_finite(values.to_numpy(dtype=float), name)
    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return _days(values)
    if types.is_complex_dtype(values) or not (types.is_numeric_dtype(values) or types.is_bool_dtype(values)):
        raise ValueError(f"column {name!r} holds {values.dtype}, which are no numbers: convert or drop it.")
    return _require_finite(np.asarray(pd.to_numeric(values).to_numpy(dtype=float, na_value=np.nan)), name)


def display_names(frame: Any, name: str) -> Array:
    """The names of entities in a column, as str; empty where there is none."""
    values = frame[next(c for c in frame.columns if str(c) == name)]
    return np.array(
        ["" if gap else str(value).strip() for value, gap in zip(values, values.isna(), strict=True)], dtype=str
    )


def is_plain(X: Any) -> bool:
    """Whether a table needs no encoding: it has finite numbers alone, no column of them constant, or is sparse."""
    if not hasattr(X, "iloc"):  # polars
        X = as_frame(X)
    if any(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes):
        return True
    if not all(is_number_type(dtype) for dtype in X.dtypes):
        return False
    values = X.to_numpy()
    return bool(np.isfinite(values).all() and (len(values) < 2 or (values != values[0]).any(axis=0).all()))


def choose_name(columns: Sequence[Column]) -> Column | None:
    """The column that names entities: one that is called so, or else the first whose text does."""
    named = [column for column in columns if column.kind == "name"]
    return next((column for column in named if NAMES.search(column.name)), named[0] if named else None)


def _kind_of(values: Any) -> str:
    from pandas.api import types

    if types.is_bool_dtype(values):
        return "boolean"
    return "date" if types.is_datetime64_any_dtype(values) else "number"


def _is_categorical(values: Any) -> bool:
    return type(values.dtype).__name__ == "CategoricalDtype"


def _parse(text: Array, gaps: Array, kind: str) -> Array:
    """Numbers, booleans or dates out of text; NaN for gaps and what is none."""
    import pandas as pd

    found = np.full(len(text), np.nan)
    known = text[~gaps]
    if kind == "number":
        found[~gaps] = pd.to_numeric(pd.Series(known, dtype=object), errors="coerce").to_numpy(dtype=float)
    elif kind == "boolean":
        words = [value.lower() for value in known]
        true, false = max(BOOLEANS, key=lambda pair: sum(word in pair for word in words))
        found[~gaps] = [{true: 1.0, false: 0.0}.get(word, np.nan) for word in words]
    else:
        dates = pd.Series([value if DATE.fullmatch(value) else None for value in known], dtype=object)
        found[~gaps] = _days(pd.to_datetime(dates, errors="coerce", utc=True, format="ISO8601"))
    return found


def _days(values: Any) -> Array:
    """Dates as days since 1970, durations as days."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(values):
        values = pd.to_datetime(values, utc=True) - pd.Timestamp(0, tz="UTC")
    return np.asarray(values / pd.Timedelta(days=1), dtype=float)


def _require_finite(numbers: Array, name: str) -> Array:
    if np.isinf(numbers).any():
        at = int(np.argmax(np.isinf(numbers)))
        raise ValueError(
            f"column {name!r} holds infinity (first at row {at}): give a number, or leave the field empty."
        )
    return numbers


def list_some(names: Sequence[str]) -> str:
    """The first few of these, and how many more there are."""
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"

"""Columns of a table of any kind: numbers, booleans, dates, categories, names, and gaps in all of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.data.contents import CONTENTS, Content
from jointdr.data.texts import Texts, days_of, texts_of
from jointdr.runtime import Array, is_sparse

MOST_LEVELS = 30  # of a category that are features of their own, at most; those of fewer entities go together
RARE, FEWEST = 0.01, 2  # the share, and the number, of entities below which a level, or a gap, is rare
FEW = 3  # levels of which none is rare
DISTINCT, ENOUGH = 0.9, 20  # the share of different values above which so many texts name entities, not groups of them
LONG = 60  # characters of a text that is no name
CONSTANT = "constant where it is known"
LONG_TEXT = "long text that nearly never repeats"
MOSTLY = 0.9  # the share of numbers from which a column of text is one of numbers with gaps
NAMES = re.compile(r"(^|[\s_.-])(name|label|symbol|title)$", re.IGNORECASE)
OTHER, ABSENT = "other", "missing"  # the levels of rare values and of gaps
KINDS = ("number", "boolean", "date", "category", "name", "left out", *CONTENTS)
NUMBERS = KINDS[:3]
SHOWN = 5  # names that a message lists


@dataclass(frozen=True)
class Column:
    """The treatment of one column.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "date", "category", "name", "left out", "smiles", "sequence", "terms"}
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
    content : Molecules, Sequences, Terms or None
        What makes its features, where it has molecules, sequences or terms.
    """

    name: str
    kind: str
    fill: float = 0.0
    n_missing: int = 0
    marks_gaps: bool = False
    levels: tuple[str, ...] = ()
    note: str = ""
    content: Content | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The names of its features."""
        if self.content is not None:
            return tuple(self.content.feature_names(self.name))
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
    infinite = np.isinf(values).any(axis=0)
    if infinite.any():
        _require_finite(values[:, infinite][:, 0], str(plain[int(infinite.argmax())]))
    missing = np.isnan(values).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without any value
        means, least, most = (f(values, axis=0) for f in (np.nanmean, np.nanmin, np.nanmax))
    found = {}
    for name, gaps, mean, low, high in zip(plain, missing, means, least, most, strict=True):
        if gaps == len(frame):
            found[str(name)] = Column(str(name), "left out", note="no values")
        elif low == high:
            found[str(name)] = _of_one_value(str(name), texts_of(frame[name]))
        else:
            kind = "boolean" if frame[name].dtype.kind == "b" else "number"
            found[str(name)] = Column(str(name), kind, float(mean), int(gaps))
    return found


def is_number_type(dtype: Any) -> bool:
    """Whether a column of this type holds NumPy's own integers, floats or booleans."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iufb"


def decide_column(values: Any, name: str, is_wanted: bool = False) -> Column:
    """The treatment of a column of a pandas table; one that is wanted is a feature though its text looks like names."""
    try:
        texts, is_categorical = as_texts(values), _is_categorical(values)
    except TypeError:
        return Column(name, "left out", note=f"{values.dtype}, such as lists, which are neither numbers nor text")
    if texts is None:
        numbers = clean_numbers(values, name)
        return _of_numbers(name, _kind_of(values), numbers) or _of_one_value(name, texts_of(values))
    if len(texts.values) and not is_categorical:
        for kind in NUMBERS:
            numbers = texts.numbers(kind)
            strange = texts.strange(numbers)
            if strange.sum() <= (1.0 - MOSTLY) * (~texts.gaps).sum():
                such = _such(texts, strange, kind)
                return _of_numbers(name, kind, _require_finite(numbers, name), such) or _of_one_value(name, texts)
    return _of_text(name, texts, is_wanted, is_categorical)


def fit_content(values: Any, name: str, kind: str, options: Mapping[str, Any]) -> Column:
    """The treatment of a column of a pandas table that has molecules, sequences or terms."""
    try:
        content = CONTENTS[kind].fit(values, **options)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
    X, lacks, strange = content.encode(values)
    note = f"{len(strange)} {content.strange}, such as {strange[0]!r}" if strange else ""
    if lacks.all() or X.shape[1] == 0:
        return Column(name, "left out", note=note or "no values")
    return Column(name, kind, n_missing=int(lacks.sum()), note=note, content=content)


def _such(texts: Texts, strange: Array, kind: str) -> str:
    if not strange.any():
        return ""
    return f"{strange.sum()} not {kind}s, such as {texts.values[texts.codes[strange][0]]!r}"


def _of_numbers(name: str, kind: str, numbers: Array, note: str = "") -> Column | None:
    """The treatment of numbers; None where they are all the same."""
    known = numbers[~np.isnan(numbers)]
    if len(known) == 0 or known.min() == known.max():
        return None
    return Column(name, kind, float(known.mean()), len(numbers) - len(known), note=note)


def _of_one_value(name: str, texts: Texts) -> Column:
    """The treatment of a column that has one value, or none; where it is missing may be all that it tells apart."""
    missing = int(texts.gaps.sum())
    known = len(texts.codes) - missing
    if known == 0:
        return Column(name, "left out", note="no values")
    if len(texts.values) == 1 and min(known, missing) >= max(FEWEST, RARE * len(texts.codes)):
        levels = (str(texts.values[0]), ABSENT)
        return Column(name, "category", n_missing=missing, levels=levels)
    return Column(name, "left out", note=CONSTANT if missing else "constant")


def _of_text(name: str, texts: Texts, is_wanted: bool, is_categorical: bool) -> Column:
    levels, counts, missing = texts.values, texts.counts, int(texts.gaps.sum())
    known = len(texts.codes) - missing
    if len(levels) < 2:
        return _of_one_value(name, texts)
    order = np.argsort(-counts, kind="stable")
    kept = order[:MOST_LEVELS]
    if len(levels) > FEW:
        kept = kept[counts[kept] >= max(FEWEST, RARE * len(texts.codes))]
    is_distinct = len(levels) > DISTINCT * known and (known >= ENOUGH or len(kept) == 0)
    if not is_wanted and not is_categorical and (NAMES.search(name) or is_distinct):
        is_long = not NAMES.search(name) and np.median([len(value) for value in levels]) > LONG
        return Column(name, "left out", note=LONG_TEXT) if is_long else Column(name, "name", n_missing=missing)
    if len(kept) == 0:
        return Column(name, "left out", note="text that nearly never repeats")
    found = levels[kept].tolist()
    found += [OTHER] if len(kept) < len(levels) and OTHER not in found else []
    found += [ABSENT] if missing and ABSENT not in found else []
    return Column(name, "category", n_missing=missing, levels=tuple(found))


def clean_column(values: Any, column: Column) -> tuple[Array, Array, str | None]:
    """A column as its transformer takes it, where it has gaps, and a value that it has no place for, if any."""
    texts = as_texts(values)
    if column.kind == "category":
        return _clean_levels(texts_of(values) if texts is None else texts, column)
    if texts is None:
        if not values.isna().all() and (_kind_of(values) == "date") != (column.kind == "date"):
            return np.full(len(values), np.nan), np.asarray(values.isna()), str(values.dropna().iloc[0])
        numbers = clean_numbers(values, column.name)
        return numbers, np.isnan(numbers), None
    numbers = _require_finite(texts.numbers(column.kind), column.name)
    strange = texts.strange(numbers)
    return numbers, texts.gaps, str(texts.values[texts.codes[strange][0]]) if strange.any() else None


def _clean_levels(texts: Texts, column: Column) -> tuple[Array, Array, str | None]:
    """The levels of a category; a value that is none of them is "other" or, where there is no such, the first."""
    of_gaps = ABSENT if ABSENT in column.levels else column.levels[0]
    of_others = OTHER if OTHER in column.levels else column.levels[0]
    is_level = np.isin(texts.values.astype(str), column.levels)
    found = np.where(is_level, texts.values, of_others).astype(object)
    strange = texts.values[~is_level]
    other = str(strange[0]) if len(strange) and OTHER not in column.levels else None
    return texts.spread(found, of_gaps), texts.gaps, other


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
    for name in [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if _is_period(dtype)]:
        frame[name] = frame[name].dt.to_timestamp()
    names = [str(name) for name in frame.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []:
        raise ValueError(f"A table has several columns of the same name: {list_some(twice)}. Rename or drop them.")
    return frame


def as_texts(values: Any) -> Texts | None:
    """The texts of a column of text, categories or objects; None for numbers, booleans and dates."""
    from pandas.api import types

    if is_number_type(values.dtype):
        return None
    is_text = types.is_object_dtype(values) or types.is_string_dtype(values) or _is_categorical(values)
    return texts_of(values) if is_text or _is_of_another_kind(values) else None


def _is_of_another_kind(values: Any) -> bool:
    """Whether it holds neither numbers nor booleans, dates or durations: intervals, for example."""
    from pandas.api import types

    kinds = (types.is_numeric_dtype, types.is_bool_dtype, types.is_datetime64_any_dtype, types.is_timedelta64_dtype)
    return types.is_complex_dtype(values) or not any(is_of(values) for is_of in kinds)


def clean_numbers(values: Any, name: str) -> Array:
    """A column of numbers, booleans or dates as floats, NaN where they are missing."""
    import pandas as pd
    from pandas.api import types

    if is_number_type(values.dtype):
        return _require_finite(values.to_numpy(dtype=float), name)
    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return days_of(values)
    return _require_finite(np.asarray(pd.to_numeric(values).to_numpy(dtype=float, na_value=np.nan)), name)


def display_names(frame: Any, name: str) -> Array:
    """The names of entities in a column, as str; empty where there is none."""
    values = frame[next(c for c in frame.columns if str(c) == name)]
    return np.array(
        ["" if gap else str(value).strip() for value, gap in zip(values, values.isna(), strict=True)], dtype=str
    )


def _is_period(dtype: Any) -> bool:
    return type(dtype).__name__ == "PeriodDtype"


def is_plain(X: Any) -> bool:
    """Whether a table needs no encoding: it has finite numbers alone, no column of them constant, or is sparse."""
    if not hasattr(X, "iloc"):  # polars
        X = as_frame(X)
    if any(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes):
        return True
    if not all(is_number_type(dtype) for dtype in X.dtypes):
        return False
    values = X.to_numpy(dtype=None if len(set(X.dtypes)) == 1 else float)
    return bool(np.isfinite(values).all() and (len(values) < 2 or (values != values[0]).any(axis=0).all()))


def has_numbers_alone(X: Any) -> bool:
    """Whether a table of pandas or polars has NumPy's own numbers and no gaps, or is sparse; infinity counts as one."""
    if hasattr(X, "iloc"):
        if any(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes):
            return True
        return all(is_number_type(dtype) for dtype in X.dtypes) and not X.isna().to_numpy().any()
    return all(_is_of_numbers(X[name]) for name in X.columns)


def _is_of_numbers(values: Any) -> bool:
    """Whether a column of polars has numbers alone."""
    kind = str(values.dtype)
    if values.null_count() or not kind.startswith(("Int", "UInt", "Float", "Boolean")):
        return False
    return not (kind.startswith("Float") and values.is_nan().any())


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

"""Long tables of pairs: ids, scores, pairs that are listed twice, and pairs of entities that no table has."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jointdr.data.columns import as_texts, list_some
from jointdr.data.ids import as_ids, column_of, index_of
from jointdr.data.scores import Duplicates, scores_of_pairs
from jointdr.data.texts import Texts, texts_of
from jointdr.runtime import Array, as_number, check_choice

Observed = Literal["auto", "all", "stored"] | None
ENOUGH = 10  # different pairs, from which their scores show where they lie
COMBINED = "combined_score"  # of STRING
FAR = 2.0  # interquartile ranges from 0 of the median score, beyond which 0 is no score that a pair could have


class PairsWarning(UserWarning):
    """Something about listed pairs was taken in one way that might be meant in another."""


class UnmatchedWarning(UserWarning):
    """Some pairs name entities that the tables do not have, and were left out."""


@dataclass(frozen=True)
class Unmatched:
    """The ids in a table of pairs that no entity has.

    Attributes
    ----------
    row_ids, column_ids : arrays of str
        The ids without an entity.
    n_pairs : int
        The number of pairs that were left out because of them.
    """

    row_ids: Array
    column_ids: Array
    n_pairs: int

    def __repr__(self) -> str:
        return f"Unmatched({len(self.row_ids)} row ids, {len(self.column_ids)} column ids, {self.n_pairs} pairs)"

    def warn_if_any(self, total: int) -> None:
        """Warn of the pairs that were left out, of so many."""
        if self.n_pairs:
            warnings.warn(
                f"{self.n_pairs} of {total} pairs were left out: {len(self.row_ids)} row ids and "
                f"{len(self.column_ids)} column ids are not in the entity tables, for example "
                f"{[*self.row_ids[:2].tolist(), *self.column_ids[:2].tolist()]}. See dyads.unmatched.",
                UnmatchedWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class Listed:
    """Listed pairs: the ids of both entities, and the scores."""

    rows: Array
    columns: Array
    scores: Array
    is_graded: bool  # whether there are other scores than 0 and 1
    name: str | None = None  # the column of graded scores


def read_listed(pairs: Any, row: str | None, column: str | None, score: str | None) -> Listed:
    """The pairs of a table; parameters as in `Dyads.from_tables`. Pairs without a score are left out."""
    row, column = columns_of_ids(pairs, row, column)
    names = [name for name in pairs.columns if name not in (row, column)]
    score = choose_score(pairs, names) if score is None else score
    values = np.ones(len(pairs)) if score is None else scores_in(_series(pairs, score), score)
    missing = np.isnan(values)
    if missing.all():
        raise ValueError(f"column {score!r} of pairs has no scores.")
    kept = ~missing
    for name, without in ((score, missing), *((name, _without_id(pairs, name)) for name in (row, column))):
        if without.any():
            warnings.warn(
                f"{without.sum()} of {len(pairs)} pairs have no {name!r} and are left out.", PairsWarning, stacklevel=4
            )
            kept &= ~without
    i, j = (
        as_ids(column_of(pairs, name, "pairs")[kept], f"column {name!r} of pairs", unique=False)
        for name in (row, column)
    )
    values = values[kept]
    is_graded = not np.isin(values, (0, 1)).all()
    return Listed(i, j, values, is_graded, str(score) if is_graded else None)


def columns_of_ids(pairs: Any, row: str | None, column: str | None) -> tuple[str, str]:
    """The columns of ids: as given, or the first two."""
    if not hasattr(pairs, "columns"):
        raise TypeError(f"pairs must be a pandas or polars DataFrame, but got {type(pairs).__name__}.")
    names = list(pairs.columns)
    if len(names) < 2 and None in (row, column):
        raise ValueError(f"pairs needs a column of row ids and one of column ids, but has the columns {names}.")
    row = next(name for name in names if name != column) if row is None else row
    column = next(name for name in names if name != row) if column is None else column
    return row, column


def choose_score(pairs: Any, names: Sequence[str]) -> str | None:
    """The column of scores: the first of these if it has numbers, or else the only one that has; None without any.

    Of the files of STRING, with a column for each kind of evidence, the one of all together.
    """
    if COMBINED in names and _has_scores(pairs, COMBINED):
        return COMBINED
    numbers = [name for name in names if _has_scores(pairs, name)]
    if numbers and (numbers[0] == names[0] or len(numbers) == 1):
        if others := numbers[1:]:
            warnings.warn(
                f"Scores are taken from column {numbers[0]!r} of pairs; {list_some([repr(n) for n in others])} "
                f"could be scores too: score={others[0]!r} takes them.",
                PairsWarning,
                stacklevel=5,
            )
        return numbers[0]
    if numbers:
        raise ValueError(
            f"pairs has several columns of numbers, {list_some(numbers)}: name that of scores with score=."
        )
    if names:
        warnings.warn(
            f"No column of pairs beside the ids has scores, but {list_some(names)}: every listed pair scores 1.",
            PairsWarning,
            stacklevel=5,
        )
    return None


def _has_scores(pairs: Any, name: str) -> bool:
    """Whether at least half of what a column has are scores; one that is not is an error later."""
    series = _series(pairs, name)
    try:
        texts = as_texts(series)
    except TypeError:
        return False  # lists, for example
    if texts is None:
        return _is_numeric(series) and bool(series.notna().any())
    known = int((~texts.gaps).sum())
    return known > 0 and int(texts.strange(_scores_of(texts)).sum()) < 0.5 * known


def _is_numeric(values: Any) -> bool:
    from pandas.api import types

    return bool(types.is_numeric_dtype(values) or types.is_bool_dtype(values))


def _scores_of(texts: Texts) -> Array:
    """Texts as scores: numbers, or yes and no as 1 and 0."""
    numbers = texts.spread(np.array([as_number(value, False) for value in texts.values], dtype=float), np.nan)
    if texts.strange(numbers).any():
        booleans = texts.numbers("boolean")
        if not texts.strange(booleans).any():
            return booleans
    return numbers


def _series(pairs: Any, name: str) -> Any:
    import pandas as pd

    values = column_of(pairs, name, "pairs")
    return pairs[name] if hasattr(pairs, "iloc") else pd.Series(values)


def _without_id(pairs: Any, name: str) -> Array:
    return texts_of(_series(pairs, name), frozenset([""])).gaps


def scores_in(values: Any, name: str) -> Array:
    """A column of scores of a pandas table as floats, NaN where there is none."""
    texts = as_texts(values)
    if texts is None:
        if not _is_numeric(values):
            raise ValueError(f"column {name!r} of pairs holds {values.dtype}, not scores.")
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    else:
        numbers = _scores_of(texts)
        if (strange := texts.strange(numbers)).any():
            at = int(np.argmax(strange))
            raise ValueError(
                f"column {name!r} of pairs holds scores that are not numbers: {texts.values[texts.codes[at]]!r} "
                f"{_place(values, at)}. Give numbers, and leave out what is not known."
            )
    if np.isinf(numbers).any():
        at = int(np.argmax(np.isinf(numbers)))
        raise ValueError(f"column {name!r} of pairs contains infinity (first {_place(values, at)}).")
    return numbers


def _place(values: Any, at: int) -> str:
    """Where a value stands, for messages: by the line of its file, if its index has these."""
    return f"on line {values.index[at]}" if values.index.name == "line" else f"at position {at}"


def join_scores(
    listed: Listed, row_ids: Array, column_ids: Array, duplicates: Duplicates | Literal["auto"]
) -> tuple[Array, Unmatched]:
    """The scores of listed pairs as a CSR array that stores each of them; O(p log p) for p pairs."""
    given = (listed.rows, listed.columns)
    places = [_places(ids, known) for ids, known in zip(given, (row_ids, column_ids), strict=True)]
    matched = (places[0] >= 0) & (places[1] >= 0)
    if not matched.any():
        raise ValueError(
            "None of the pairs has both its ids in the entity tables: pairs name, for example, "
            f"{given[0][:2].tolist()} and {given[1][:2].tolist()}, the tables {row_ids[:2].tolist()} and "
            f"{column_ids[:2].tolist()}. (Ids are compared as strings: '7' is not '007'.)"
        )
    lost = [np.unique(ids[at < 0]) for ids, at in zip(given, places, strict=True)]
    shape = (len(row_ids), len(column_ids))
    i, j, values = places[0][matched], places[1][matched], listed.scores[matched]
    how: Duplicates = ("mean" if listed.is_graded else "max") if duplicates == "auto" else duplicates
    Y = scores_of_pairs(i, j, values, shape, how)
    if duplicates == "auto" and Y.nnz < len(values):
        joined = "their scores are averaged" if listed.is_graded else "they count once"
        warnings.warn(
            f"{len(values)} lines list {Y.nnz} different pairs: those that come again are joined, {joined}.",
            PairsWarning,
            stacklevel=4,
        )
    return Y, Unmatched(lost[0], lost[1], int(np.count_nonzero(~matched)))


def choose_observed(observed: Observed, scores: Array) -> Literal["stored"] | None:
    """Whether only the listed pairs have a score, where that is left to them: if 0 is far from all of them."""
    check_choice("observed", observed, (None, "auto", "all", "stored"), expected="give 'auto', 'all' or 'stored' here")
    if observed != "auto":
        return "stored" if observed == "stored" else None
    low, middle, high = np.quantile(scores, (0.25, 0.5, 0.75))
    is_graded = len(scores) >= ENOUGH and scores.min() < scores.max() and not np.isin(scores, (0, 1)).all()
    if not is_graded or abs(middle) <= FAR * (high - low):
        return None
    warnings.warn(
        f"Scores are far from 0 (half of them lie between {low:.3g} and {high:.3g}), so that pairs that are not listed "
        "are taken as not known. If they have the score 0, give observed='all'.",
        PairsWarning,
        stacklevel=4,
    )
    return "stored"


def _places(ids: Array, known: Array) -> Array:
    where = index_of(known)
    return np.array([where.get(name, -1) for name in ids.tolist()], dtype=np.int64)

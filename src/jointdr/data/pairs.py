"""Long tables of pairs: ids, scores, pairs that are listed twice, and pairs of entities that no table has."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jointdr.data.columns import as_text, is_gap, list_some
from jointdr.data.ids import as_ids, column_of, index_of
from jointdr.data.scores import Duplicates, scores_of_pairs
from jointdr.runtime import Array, check_choice

Observed = Literal["auto", "all", "stored"] | None
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
    is_graded: bool  # whether they have scores that are not all 1


def read_listed(pairs: Any, row: str | None, column: str | None, score: str | None) -> Listed:
    """The pairs of a table; parameters as in `Dyads.from_tables`. Pairs without a score are left out."""
    i, j, names = ids_of_pairs(pairs, row, column)
    score = _choose_score(pairs, names) if score is None else score
    if score is None:
        return Listed(i, j, np.ones(len(i)), False)
    values = scores_in(column_of(pairs, score, "pairs"), score)
    missing = np.isnan(values)
    if missing.all():
        raise ValueError(f"column {score!r} of pairs has no scores.")
    if missing.any():
        warnings.warn(
            f"{missing.sum()} of {len(i)} pairs have no {score!r} and are left out.", PairsWarning, stacklevel=4
        )
        i, j, values = i[~missing], j[~missing], values[~missing]
    return Listed(i, j, values, bool((values != 1).any()))


def ids_of_pairs(pairs: Any, row: str | None, column: str | None) -> tuple[Array, Array, list[str]]:
    """The row id and the column id of every listed pair, and the other columns; parameters as in `Dyads.from_tables`."""
    if not hasattr(pairs, "columns"):
        raise TypeError(f"pairs must be a pandas or polars DataFrame, but got {type(pairs).__name__}.")
    names = list(pairs.columns)
    if len(names) < 2 and None in (row, column):
        raise ValueError(f"pairs needs a column of row ids and one of column ids, but has the columns {names}.")
    row = next(name for name in names if name != column) if row is None else row
    column = next(name for name in names if name != row) if column is None else column
    i, j = (as_ids(column_of(pairs, c, "pairs"), f"column {c!r} of pairs", unique=False) for c in (row, column))
    return i, j, [name for name in names if name not in (row, column)]


def _choose_score(pairs: Any, names: list[str]) -> str | None:
    """The column of scores: the first after the ids if it has numbers, or else the only one that has."""
    numbers = [name for name in names if _has_numbers(pairs, name)]
    if numbers and (numbers[0] == names[0] or len(numbers) == 1):
        return numbers[0]
    if numbers:
        raise ValueError(
            f"pairs has several columns of numbers, {list_some(numbers)}: name that of scores with score=."
        )
    if names:
        warnings.warn(
            f"No column of pairs beside the ids has numbers, but {list_some(names)}: every listed pair scores 1.",
            PairsWarning,
            stacklevel=5,
        )
    return None


def _has_numbers(pairs: Any, name: str) -> bool:
    try:
        return not np.isnan(scores_in(column_of(pairs, name, "pairs"), name)).all()
    except ValueError:
        return False


def scores_in(values: Array, name: str) -> Array:
    """A column of scores as floats, NaN where there is none."""
    import pandas as pd

    series = pd.Series(values)
    text = as_text(series, name)
    try:
        if text is None:
            numbers = series.to_numpy(dtype=float, na_value=np.nan)
        else:
            gaps = is_gap(text)
            numbers = np.full(len(text), np.nan)
            numbers[~gaps] = text[~gaps].astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} of pairs holds scores that are not numbers: {error}.") from None
    if np.isinf(numbers).any():
        raise ValueError(f"column {name!r} of pairs contains infinity (first at {int(np.argmax(np.isinf(numbers)))}).")
    return numbers


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
    if not (high > low and abs(middle) > FAR * (high - low)):
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

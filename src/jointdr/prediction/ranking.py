"""The highest-scoring pairs of each row, without the matrix of all scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jointdr.metrics import round_scores
from jointdr.runtime import Array, csr_rows, slices


@dataclass(frozen=True)
class ScoreBlock:
    """The scores of some rows with all columns, and what else is said of each of them.

    Attributes
    ----------
    scores : (rows, columns) array
    notes : mapping of str to (rows, columns) arrays
    """

    scores: Array
    notes: Mapping[str, Array] = field(default_factory=dict)

    def best(self, k: int, known: Array | None) -> tuple[Array, ...]:
        """The rows, columns, scores, ranks (from 1) and notes of the k best pairs of each row.

        Parameters
        ----------
        k : int
        known : (rows, columns) CSR array, optional
            Pairs that are left out; scores are overwritten.
        """
        S = self.scores
        if known is not None:
            S[csr_rows(known), known.indices] = -np.inf
        top = _largest(round_scores(S), k)
        values = np.take_along_axis(S, top, axis=1)
        i, rank = np.nonzero(values > -np.inf)
        j = top[i, rank]
        return (i, j, values[i, rank], rank + 1, *(note[i, j] for note in self.notes.values()))


@dataclass(frozen=True)
class SparseBlock:
    """The same for very many columns, with most of which a row has a default score.

    Attributes
    ----------
    scores : (rows, columns) CSR array
        Those that are not the default.
    defaults : (d, columns) array
    order : (d, columns) array of int
        The columns of each kind of defaults, best first, from `ordered`.
    which : (rows,) array of int
        The defaults of each row.
    notes : mapping of str to functions
        From the rows and the columns of some pairs to what is said of them.
    """

    scores: Array
    defaults: Array
    order: Array
    which: Array
    notes: Mapping[str, Callable[[Array, Array], Array]] = field(default_factory=dict)

    @staticmethod
    def ordered(defaults: Array) -> Array:
        """The columns from the highest default to the lowest, and in their order where these are equal."""
        return np.argsort(-round_scores(defaults), axis=1, kind="stable")

    def best(self, k: int, known: Array | None) -> tuple[Array, ...]:
        """As `Block.best`; O(|scores| + rows · k), up to logarithms."""
        parts = [self._best_of(i, k, None if known is None else _row(known, i)[0]) for i in range(self.scores.shape[0])]
        i = np.repeat(np.arange(len(parts)), [len(j) for j, _ in parts])
        rank = np.concatenate([np.arange(len(j)) for j, _ in parts]) + 1
        j, score = (np.concatenate(column) for column in zip(*parts, strict=True))
        return (i, j, score, rank, *(note(i, j) for note in self.notes.values()))

    def _best_of(self, i: int, k: int, known: Array | None) -> tuple[Array, Array]:
        """The best columns of one row, and their scores."""
        j, score = _row(self.scores, i)
        taken = j if known is None else np.concatenate([j, known])
        if known is not None:
            kept = ~np.isin(j, known)
            j, score = j[kept], score[kept]
        others = self.order[self.which[i], : k + len(taken)]  # of which k are left at least, if there are so many
        others = others[~np.isin(others, taken)][:k]
        j = np.concatenate([j, others])
        score = np.concatenate([score, self.defaults[self.which[i], others]])
        top = np.lexsort((j, -round_scores(score[None])[0]))[:k]
        return j[top], score[top]


def top_pairs(
    scorer: Callable[[slice], ScoreBlock | SparseBlock],
    row_ids: Array,
    column_ids: Array,
    k: int,
    known: Array | None = None,
    size: int = 100,
) -> Any:
    """The k best columns of every row, best first; columns of equal scores in their order.

    Parameters
    ----------
    scorer : callable
        scorer(slice) is a block of these rows, whose scores may be changed.
    row_ids, column_ids : arrays of str
    k : int
    known : (m_A, m_B) CSR array, optional
        Pairs that are stored there are left out; a row then may have fewer than k.
    size : int
        Rows whose scores are computed at a time; the result does not depend on it.

    Returns
    -------
    DataFrame, or structured array where pandas is not installed, with the columns row, column, score and rank (from 1),
    and one for each note
    """
    m_A, m_B = len(row_ids), len(column_ids)
    k = min(k, m_B)
    parts: list[tuple[Array, ...]] = []
    names: list[str] = []
    for at in slices(m_A, size):
        block = scorer(at)
        names = list(block.notes)
        i, *found = block.best(k, None if known is None else known[at])
        parts.append((at.start + i, *found))
    i, j, score, rank, *rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    return table(row=row_ids[i], column=column_ids[j], score=score, rank=rank, **dict(zip(names, rest, strict=True)))


def _largest(S: Array, k: int) -> Array:
    """The places of the k largest entries of each row, largest first, and the earlier of equal ones first."""
    if k < S.shape[1]:
        least = np.partition(S, S.shape[1] - k, axis=1)[:, [S.shape[1] - k]]
        # All that are larger than the k-th, and the first of those that equal it.
        larger, equal = least < S, least == S
        room = k - np.count_nonzero(larger, axis=1)
        chosen = larger | (equal & (np.cumsum(equal, axis=1) <= room[:, None]))
        places = np.nonzero(chosen)[1].reshape(len(S), k)
    else:
        places = np.broadcast_to(np.arange(S.shape[1]), S.shape)
    order = np.argsort(-np.take_along_axis(S, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def _row(S: Array, i: int) -> tuple[Array, Array]:
    """The columns and the numbers of one row of a CSR array."""
    at = slice(S.indptr[i], S.indptr[i + 1])
    return S.indices[at], S.data[at]


def table(**columns: Array) -> Any:
    """Columns of equal length as a DataFrame, or as a structured array where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return np.rec.fromarrays(list(columns.values()), names=list(columns))  # type: ignore[call-overload]
    return pd.DataFrame(columns)

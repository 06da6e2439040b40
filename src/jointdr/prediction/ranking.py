"""The best columns of every row, rows of every column, or pairs, without the matrix of all scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jointdr.metrics import round_scores
from jointdr.runtime import Array, csr_rows, slices


@dataclass(frozen=True)
class ScoreBlock:
    """The scores of some rows with all columns, and notes on each of them."""

    scores: Array  # (rows, columns)
    notes: Mapping[str, Array] = field(default_factory=dict)  # (rows, columns) each

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
    """The same for very many columns, with most of which a row has a default score."""

    scores: Array  # (rows, columns), CSR: those that are not the default
    defaults: Array  # (d, columns)
    order: Array  # (d, columns): the columns of each kind of defaults, best first, from `order_of`
    which: Array  # (rows,): the defaults of each row
    # Functions from the rows and the columns of some pairs to their notes.
    notes: Mapping[str, Callable[[Array, Array], Array]] = field(default_factory=dict)

    @staticmethod
    def order_of(defaults: Array) -> Array:
        """The columns from the highest default to the lowest, and in their order where these are equal."""
        return np.argsort(-round_scores(defaults), axis=1, kind="stable")

    def best(self, k: int, known: Array | None) -> tuple[Array, ...]:
        """As `ScoreBlock.best`; O(|scores| + rows · k), up to logarithms."""
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


Scorer = Callable[[slice], ScoreBlock]  # from some rows to their scores, which may be changed
SparseScorer = Callable[[slice], SparseBlock]
AnyScorer = Scorer | SparseScorer


def best_columns(
    scorer: AnyScorer, row_ids: Array, column_ids: Array, k: int, known: Array | None = None, size: int = 100
) -> Any:
    """The k best columns of every row, best first; columns of equal scores in their order.

    Parameters
    ----------
    scorer : Scorer or SparseScorer
    row_ids, column_ids : arrays of str
    k : int
    known : (m_A, m_B) CSR array, optional
        Pairs that are stored there are left out; a row then may have fewer than k.
    size : int
        Rows whose scores are computed at a time; the result does not depend on it.

    Returns
    -------
    DataFrame with the columns row, column, score and rank (from 1), and one for each note
    """
    parts: list[tuple[Array, ...]] = []
    for at in slices(len(row_ids), size):
        block = scorer(at)
        i, *rest = block.best(min(k, len(column_ids)), None if known is None else known[at])
        parts.append((at.start + i, *rest))
    i, j, score, rank, *notes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return pair_table(row_ids[i], column_ids[j], score, rank, dict(zip(block.notes, notes, strict=True)))


def best_rows(
    scorer: Scorer, row_ids: Array, column_ids: Array, k: int, known: Array | None = None, size: int = 100
) -> Any:
    """The k best rows of every column, as `best_columns`; scorer(slice) is a block of these columns, transposed."""
    turned = best_columns(scorer, column_ids, row_ids, k, known, size)
    order = ["column", "row", *turned.columns[2:]]
    return turned.set_axis(order, axis=1)[["row", "column", *order[2:]]]


def best_pairs(
    scorer: AnyScorer, row_ids: Array, column_ids: Array, k: int, known: Array | None = None, size: int = 100
) -> Any:
    """The k best pairs of all, as `best_columns`; pairs of equal scores in the order of rows and columns."""
    kept: list[Array] = []
    for at in slices(len(row_ids), size):
        block = scorer(at)
        i, j, score, _, *notes = block.best(min(k, len(column_ids)), None if known is None else known[at])
        parts = [at.start + i, j, score, *notes]
        kept = [np.concatenate(pair) for pair in zip(kept, parts, strict=True)] if kept else parts
        if len(kept[2]) > k:  # what cannot be among the best goes at once; what may equal the last stays
            worth = kept[2] >= np.partition(kept[2], -k)[-k] - 1e-9 * np.abs(kept[2]).max()
            kept = [column[worth] for column in kept]
    i, j, score, *notes = kept
    top = np.lexsort((j, i, -round_scores(score[None])[0]))[:k]
    rest = {name: note[top] for name, note in zip(block.notes, notes, strict=True)}
    return pair_table(row_ids[i[top]], column_ids[j[top]], score[top], np.arange(len(top)) + 1, rest)


def require_neighbors(scorer: Scorer, least: float | None) -> Scorer:
    """The same scores, but −∞, which nothing ranks, for pairs with fewer effective neighbors than that, if given."""
    if least is None:
        return scorer

    def block(at: slice) -> ScoreBlock:
        found = scorer(at)
        if "neighbors" not in found.notes:
            raise ValueError(
                f"min_neighbors={least:g} is for models that count the known pairs behind a score, those with "
                "head='kernel', and this model does not: leave it out."
            )
        found.scores[found.notes["neighbors"] < least] = -np.inf
        return found

    return block


def _largest(S: Array, k: int) -> Array:
    """The indices of the k largest entries of each row, largest first, and the earlier of equal ones first."""
    if k < S.shape[1]:
        least = np.partition(S, S.shape[1] - k, axis=1)[:, [S.shape[1] - k]]
        # All that are larger than the k-th, and the first of those that equal it.
        larger, equal = least < S, least == S
        room = k - np.count_nonzero(larger, axis=1)
        chosen = larger | (equal & (np.cumsum(equal, axis=1) <= room[:, None]))
        at = np.nonzero(chosen)[1].reshape(len(S), k)
    else:
        at = np.broadcast_to(np.arange(S.shape[1]), S.shape)
    order = np.argsort(-np.take_along_axis(S, at, axis=1), axis=1, kind="stable")
    return np.take_along_axis(at, order, axis=1)


def _row(S: Array, i: int) -> tuple[Array, Array]:
    """The columns and the values of one row of a CSR array."""
    at = slice(S.indptr[i], S.indptr[i + 1])
    return S.indices[at], S.data[at]


def pair_table(rows: Array, columns: Array, scores: Array, ranks: Array | None, notes: Mapping[str, Array]) -> Any:
    """Pairs as a DataFrame: row, column, score and, where they are ranked, rank; then the notes."""
    import pandas as pd

    ranked = {} if ranks is None else {"rank": ranks}
    return pd.DataFrame({"row": rows, "column": columns, "score": scores, **ranked, **notes})

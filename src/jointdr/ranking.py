"""The highest-scoring pairs of each row, without the matrix of all scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jointdr.arrays import Array
from jointdr.engines.local import slices


@dataclass(frozen=True)
class Block:
    """The scores of some rows with all columns, and what else is said of each of them.

    Attributes
    ----------
    scores : (rows, columns) array
    notes : mapping of str to (rows, columns) arrays
    """

    scores: Array
    notes: Mapping[str, Array] = field(default_factory=dict)


def top_pairs(
    scorer: Callable[[slice], Block],
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
        scorer(slice) is a `Block` of these rows, whose scores may be changed.
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
        S, names = block.scores, list(block.notes)
        if known is not None:
            ends = known.indptr[at.start : at.stop + 1]
            S[np.repeat(np.arange(len(S)), np.diff(ends)), known.indices[ends[0] : ends[-1]]] = -np.inf
        top = _largest(rounded(S), k)
        values = np.take_along_axis(S, top, axis=1)
        i, rank = np.nonzero(values > -np.inf)
        notes = [note[i, top[i, rank]] for note in block.notes.values()]
        parts.append((at.start + i, top[i, rank], values[i, rank], rank + 1, *notes))
    i, j, score, rank, *rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    return table(row=row_ids[i], column=column_ids[j], score=score, rank=rank, **dict(zip(names, rest, strict=True)))


def rounded(S: Array) -> Array:
    """Scores to 12 digits of the largest of their row, so that those which differ by rounding alone are equal."""
    scale = np.abs(S).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(scale).all():
        scale = np.abs(np.where(np.isfinite(S), S, 0.0)).max(axis=1, keepdims=True, initial=0.0)
    digits = S * (1e12 / np.where(scale > 1e-290, scale, 1.0))
    return np.rint(digits, out=digits)


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


def table(**columns: Array) -> Any:
    """Columns of equal length as a DataFrame, or as a structured array where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return np.rec.fromarrays(list(columns.values()), names=list(columns))  # type: ignore[call-overload]
    return pd.DataFrame(columns)

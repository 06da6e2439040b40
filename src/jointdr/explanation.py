"""Explanations of a predicted score: the known pairs that carried it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.arrays import Array, is_sparse
from jointdr.ranking import table


@dataclass(frozen=True)
class Explanation:
    """Which known pairs a predicted score comes from.

    Attributes
    ----------
    row, column : str
        The pair that was predicted.
    score : float
        The prediction: the sum of all contributions.
    pairs : DataFrame, or structured array where pandas is not installed
        The known pairs that contributed most: row, column, score, weight, and contribution = weight · score.
    rest : float
        What all other known pairs contributed.
    n_pairs : int
        How many known pairs with a score other than 0 had a weight.
    """

    row: str
    column: str
    score: float
    pairs: Any
    rest: float
    n_pairs: int

    def __str__(self) -> str:
        lines = [f"{self.row} – {self.column}: {self.score:.4g}"]
        columns = (self.pairs[name] for name in ("row", "column", "score", "weight", "contribution"))
        for row, column, score, weight, contribution in zip(*columns, strict=True):
            lines.append(f"{contribution:10.4g} = {weight:.3g} × {score:.4g}   {row} – {column}")
        others = self.n_pairs - len(lines) + 1
        if others > 0:
            lines.append(f"{self.rest:10.4g}   {others} other known pairs")
        return "\n".join(lines)


def explained(weights: Array, Y: Array, ids: tuple[Array, Array], names: tuple[str, str], k: int) -> Explanation:
    """The largest contributions to Σ w_pq y_pq.

    Parameters
    ----------
    weights : (m_A, m_B) array, or CSR array with the pattern of Y
    Y : (m_A, m_B) array, or CSR array
    ids : two arrays of str
        Of the known rows and columns.
    names : two str
        Of the predicted pair.
    k : int
    """
    if is_sparse(Y):
        i, j = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices
        y = Y.data
        w = weights.data if is_sparse(weights) else weights[i, j]
        contribution = w * y
        top = _largest(np.abs(contribution), k)
        i, j = i[top], j[top]
    else:
        y, w = Y.ravel(), weights.ravel()
        contribution = w * y
        top = _largest_of_grid(np.abs(contribution).reshape(Y.shape), k)
        i, j = np.divmod(top, Y.shape[1])
    score = float(contribution.sum())
    kept = contribution[top] != 0
    top, i, j = top[kept], i[kept], j[kept]
    pairs = table(row=ids[0][i], column=ids[1][j], score=y[top], weight=w[top], contribution=contribution[top])
    rest = score - float(contribution[top].sum())
    return Explanation(names[0], names[1], score, pairs, rest, int(np.count_nonzero(contribution)))


def _largest(values: Array, k: int) -> Array:
    """The places of the k largest values, largest first and the earlier of equal ones first; O(m)."""
    places = np.arange(len(values))
    if k < len(values):
        places = np.flatnonzero(values >= np.partition(values, len(values) - k)[-k])
    return places[np.argsort(-values[places], kind="stable")[:k]]


def _largest_of_grid(values: Array, k: int) -> Array:
    """The same for the entries of a matrix, counted row by row.

    They are in the k rows with the largest maxima: an entry of another row has at least k before it.
    """
    rows = np.sort(_largest(values.max(axis=1), k))
    found = _largest(values[rows].ravel(), k)
    return rows[found // values.shape[1]] * values.shape[1] + found % values.shape[1]

"""Explanations of a predicted score: the known pairs that carried it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.prediction.ranking import pair_table
from jointdr.runtime import Array, csr_rows, is_sparse, slices

BLOCK = 100_000  # pairs that are multiplied at a time, so that they stay in the cache


@dataclass(frozen=True)
class Explanation:
    """The known pairs that a predicted score comes from.

    Attributes
    ----------
    row, column : str
        The pair that was predicted.
    score : float
        The prediction: the sum of all contributions.
    pairs : DataFrame
        The known pairs that contributed most: row, column, score, weight, and contribution = weight · score.
    rest : float
        The contribution of all other known pairs.
    n_pairs : int
        The number of known pairs that had a weight and a score other than 0.
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


def explain_pair(weights: Any, Y: Array, ids: tuple[Array, Array], names: tuple[str, str], k: int) -> Explanation:
    """The largest contributions to Σ w_pq y_pq, with the ids of known rows and columns, and the names of the pair.

    `weights` are an (m_A, m_B) array, `Products`, or a CSR array with the pattern of Y.
    """
    if is_sparse(Y):
        i, j = csr_rows(Y), Y.indices
        w = weights.data if is_sparse(weights) else weights[i, j]
        contribution = w * Y.data
        top = _largest(np.abs(contribution), k)
        i, j, y, w = i[top], j[top], Y.data[top], w[top]
        score, count = float(contribution.sum()), int(np.count_nonzero(contribution))
    else:
        i, j, score, count = _largest_of_grid(weights, Y, k)
        y, w = Y[i, j], weights[i, j]
    kept = w * y != 0
    i, j, y, w = i[kept], j[kept], y[kept], w[kept]
    pairs = pair_table(ids[0][i], ids[1][j], y, None, {"weight": w, "contribution": w * y})
    return Explanation(names[0], names[1], score, pairs, score - float((w * y).sum()), count)


def _largest(values: Array, k: int) -> Array:
    """The indices of the k largest values, largest first and the earlier of equal ones first; O(m)."""
    at = np.arange(len(values))
    if k < len(values):
        at = np.flatnonzero(values >= np.partition(values, len(values) - k)[-k])
    return at[np.argsort(-values[at], kind="stable")[:k]]


def _largest_of_grid(weights: Any, Y: Array, k: int) -> tuple[Array, Array, float, int]:
    """The rows and columns of the k largest |w_pq y_pq|, the sum of all w_pq y_pq, and how many are not 0.

    They are in the k rows with the largest maxima, because an entry of another row has at least k before it; so a few
    rows at a time are enough to look at.
    """
    most, score, count = np.empty(len(Y)), 0.0, 0
    for at in slices(len(Y), max(1, BLOCK // Y.shape[1])):
        part = weights[at] * Y[at]
        score, count = score + float(part.sum()), count + int(np.count_nonzero(part))
        most[at] = np.abs(part, out=part).max(axis=1)
    rows = np.sort(_largest(most, k))
    found = _largest(np.abs(weights[rows] * Y[rows]).ravel(), k)
    return rows[found // Y.shape[1]], found % Y.shape[1], score, count

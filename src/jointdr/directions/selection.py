"""Algorithm 3: the sparse projections P_Ω₁, P_Ω₂ and P_Ω₃ of the proxy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jointdr.runtime import Array


class Selection(NamedTuple):
    """The selected rows and columns (sorted), and X̂₃ restricted to them."""

    rows: Array
    columns: Array
    matrix: Array


def select(column_blocks: Iterable[tuple[slice, Array]], s1: int, s2: int) -> Selection:
    """X̂₃ = P_Ω₃ P_Ω₂ P_Ω₁ X̂₀ (step 2 of Algorithm 3).

    Parameters
    ----------
    column_blocks : iterable of (where, X̂₀[:, where])
        The proxy, whole or a few columns at a time; O(s₁ s₂) of it is held.
    s1, s2 : int
        How many rows and columns to keep.

    Notes
    -----
    O(n₁ n₂) plus sorting. P_Ω₂ needs only the norms of the columns after P_Ω₁, so of the columns seen so far the
    best s₂ suffice.
    """
    columns = np.empty(0, dtype=int)
    for where, X in column_blocks:
        n = X.shape[0]
        k = min(s1, n)
        at = np.argpartition(-np.abs(X), k - 1, axis=0)[:k]  # P_Ω₁: the s₁ largest entries of each column
        entries = np.take_along_axis(X, at, axis=0)
        new = np.arange(where.start, where.start + X.shape[1])
        if len(columns) == 0:
            columns, where_rows, values = new, at, entries
        else:
            columns = np.concatenate([columns, new])
            where_rows, values = np.hstack([where_rows, at]), np.hstack([values, entries])
        norms = _norms(values)
        best = np.sort(np.argsort(-norms, kind="stable")[:s2])  # P_Ω₂: the s₂ largest columns
        columns, where_rows, values = columns[best], where_rows[:, best], values[:, best]
    shares = values / (np.max(np.abs(values)) or 1.0)
    energy = np.bincount(where_rows.ravel(), weights=(shares**2).ravel(), minlength=n)
    rows = np.sort(np.argsort(-energy, kind="stable")[:s1])  # P_Ω₃: the s₁ largest rows
    matrix = np.zeros((n, len(columns)))
    np.put_along_axis(matrix, where_rows, values, axis=0)
    return Selection(rows, columns, matrix[rows])


def _norms(values: Array) -> Array:
    """The length of each column, whose squares neither overflow nor vanish."""
    largest = np.max(np.abs(values), axis=0)
    shares = values / np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(np.einsum("ij,ij->j", shares, shares))

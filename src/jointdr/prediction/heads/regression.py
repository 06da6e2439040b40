"""Nadaraya-Watson regression on a grid of pairs (section 5 of the paper), in blocks.

    ŷ_ij = Σ_pq K_D(i, p) K_G(j, q) y_pq / Σ_pq K_D(i, p) K_G(j, q)

over the observed pairs (p, q). If all are, numerator and denominator factorize: with the rows of both kernel matrices
scaled to sum 1 it is K_D Y K_Gᵀ, and a new pair costs m_D + m_G evaluations of kernels. Otherwise the numerator is
K_D Y K_Gᵀ and the denominator K_D W K_Gᵀ, with the sparse scores Y and the sparse pattern W. Kernels that are cut to
the nearest entities are sparse, and so are these products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data import values_at
from jointdr.prediction.heads.column_weights import Columns, effective, scaled, squares, totals
from jointdr.prediction.heads.kernels import VANISHING, AnyKernel, rescaled
from jointdr.prediction.ranking import ScoreBlock, SparseBlock
from jointdr.runtime import Array, csr_rows, dense, is_sparse

GRAPH_BYTES = 1e8
"""Memory for the search of neighbours of columns, some at a time; the graph itself takes what it takes."""


@dataclass(frozen=True)
class GridRegression:
    """Kernel regression on a grid of known scores.

    Attributes
    ----------
    Y : (m_A, m_B) array, or CSR array
    complete : bool
        Whether every pair is known, those that a sparse Y does not store as 0, or those that it stores.
    kernels : two Kernels
        Of the row and of the column entities.
    """

    Y: Array
    complete: bool
    kernels: tuple[AnyKernel, AnyKernel]

    @cached_property
    def pattern(self) -> Array:
        """1 for every known pair of an incomplete grid, as a CSR array."""
        return sparse.csr_array((np.ones(self.Y.nnz), self.Y.indices, self.Y.indptr), shape=self.Y.shape)

    @cached_property
    def mean(self) -> float:
        """Of all known scores."""
        return float(self.Y.sum()) / max(self.Y.nnz if not self.complete else self.Y.shape[0] * self.Y.shape[1], 1)

    def scorer(self, Z_a: Any, Z_b: Any, max_bytes: float, count: bool = False) -> Callable[[slice], ScoreBlock]:
        """A function that predicts the scores of some rows with all columns.

        Parameters
        ----------
        Z_a, Z_b : (rows, r_1) and (columns, r_2) arrays, or None for the known entities
            For a `Mixture`, one such array for each of its kernels.
        max_bytes : float
            Memory for the kernel weights of the columns. The predictions do not depend on it.
        count : bool
            Whether to note the ``neighbors`` of each score: the effective number of known pairs behind it,
            (Σ w)²/Σ w², and 0 where there is none and the score is the mean of the known scores of the column.

        Notes
        -----
        O(rows · |Y| + rows · m_B · columns) for |Y| stored scores; only the first where the second bandwidth is 0.
        """
        columns = self._columns(Z_b, max_bytes)

        def block(at: slice) -> ScoreBlock:
            scores, neighbors = self.smoothed(self.kernels[0].weights_at(Z_a, at), columns, count)
            return ScoreBlock(scores, {} if neighbors is None else {"neighbors": neighbors})

        return block

    def _columns(self, Z_b: Any, max_bytes: float) -> Columns:
        if Z_b is not None or not self.kernels[1].is_truncated:
            return Columns(self.kernels[1], Z_b, max_bytes)
        return self._graph_columns

    @cached_property
    def _graph_columns(self) -> Columns:
        """The known columns with the graph of their neighbours, which is searched for once."""
        return Columns(self.kernels[1], None, GRAPH_BYTES)

    @property
    def is_sparse(self) -> bool:
        """Whether a row has other scores than a row without neighbours for few columns only, as `ranker` needs it."""
        return is_sparse(self.Y) and all(kernel.is_truncated for kernel in self.kernels)

    def ranker(self, Z_a: Any) -> Callable[[slice], SparseBlock]:
        """The same as `scorer` for all known columns and with `count`, where `is_sparse`.

        O(rows · k_A |Y|/m_A · k_B), however many columns there are.
        """
        columns = self._graph_columns
        block = self._complete_block if self.complete else self._observed_block
        if self.complete:
            defaults = np.vstack([np.zeros(columns.count), columns.averages(self._mean_rows(None))])
        else:
            defaults = self._column_means(columns, None)
        order = SparseBlock.ordered(defaults)
        return lambda at: block(self.kernels[0].weights_at(Z_a, at), columns, defaults, order)

    def _complete_block(self, K: Array, columns: Columns, defaults: Array, order: Array) -> SparseBlock:
        rows = effective(K)
        N, lonely = self._row_averages(K)
        S = sparse.csr_array(columns.product(N))
        S.data /= columns.total[S.indices]
        notes = {"neighbors": lambda i, j: rows[i] * columns.effective[j]}
        return SparseBlock(S, defaults, order, lonely.astype(int), notes)

    def _observed_block(self, K: Array, columns: Columns, defaults: Array, order: Array) -> SparseBlock:
        K = scaled(K)
        total = _sorted(columns.product(K @ self.pattern))
        S = values_at(_sorted(columns.product(K @ self.Y)), total)
        of_squares = values_at(_sorted(columns.product(K.power(2) @ self.pattern, squared=True)), total)
        found = total.data > VANISHING
        S.data = np.divide(S.data, total.data, out=np.zeros_like(S.data), where=found)
        counted = found & (of_squares.data > VANISHING)
        neighbors = np.divide(total.data**2, of_squares.data, out=np.zeros_like(S.data), where=counted)
        if not found.all():
            S.data[~found] = defaults[0, S.indices[~found]]
        noted = sparse.csr_array((neighbors, S.indices, S.indptr), shape=S.shape)
        notes = {"neighbors": lambda i, j: np.asarray(noted[i, j]).ravel()}
        return SparseBlock(S, defaults, order, np.zeros(S.shape[0], dtype=int), notes)

    def smoothed(
        self, K: Array, columns: Columns, count: bool = False, without: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Scores and effective neighbours of rows whose kernel weights are given, (rows, m_A), and overwritten.

        `without` are the numbers of these rows, if they are known ones that must not count in their own scores.
        """
        neighbors = None
        if count and self.complete:
            neighbors = np.outer(effective(K), columns.effective)
        elif count:
            of_squares = columns.sums(squares(scaled(K)) @ self.pattern, squared=True)
        sums = self.row_sums(K if self.complete else scaled(K), without)
        scores, total = self.averaged(sums, columns, without)
        if count and not self.complete:
            neighbors = np.divide(total**2, of_squares, out=np.zeros_like(total), where=of_squares > VANISHING)
        return scores, neighbors

    def row_sums(self, K: Array, without: Array | None = None) -> tuple[Array, ...]:
        """Scores added up over rows with the weights K, (rows, m_B), and the weights themselves unless all pairs count.

        On a complete grid they are averages, and K is overwritten. O(rows · |Y|), for the nearest rows O(rows · k) rows
        of Y.
        """
        if not self.complete:
            return K @ self.Y, K @ self.pattern
        N, lonely = self._row_averages(K)
        if lonely.any():
            N = dense(N)
            N[lonely] = self._mean_rows(None if without is None else without[lonely])
        return (N,)

    def _row_averages(self, K: Array) -> tuple[Array, Array]:
        """Averages over rows, and which rows have no neighbour and so no average."""
        total = totals(K)
        lonely = total <= VANISHING
        return rescaled(K, 1.0 / np.where(lonely, 1.0, total)) @ self.Y, lonely

    def _mean_rows(self, without: Array | None) -> Array:
        """The mean of all rows of Y, (1, m_B), or of all but one, for each of the rows `without` which it is."""
        total = np.asarray(self.Y.sum(axis=0), dtype=float).reshape(1, -1)
        if without is None:
            return total / self.Y.shape[0]
        return (total - dense(self.Y[without])) / max(self.Y.shape[0] - 1, 1)

    def averaged(self, sums: tuple[Array, ...], columns: Columns, without: Array | None = None) -> tuple[Array, Array]:
        """The scores that follow from the sums over rows, (rows, columns), and the total weights (on a grid, empty)."""
        if self.complete:
            return columns.averages(sums[0]), np.empty(0)
        scores, total = (columns.sums(part) for part in sums)
        found = total > VANISHING
        np.divide(scores, total, out=scores, where=found)
        if not found.all():
            scores[~found] = np.broadcast_to(self._column_means(columns, without), scores.shape)[~found]
        return scores, total

    def pair_weights(self, K: Array, L: Array) -> Any:
        """What each known score counts in the prediction of one pair: `Products`, or CSR with the pattern of Y.

        Parameters
        ----------
        K, L : (m_A,) and (m_B,) arrays
            The kernel weights of the known rows for its row, and of the known columns for its column.
        """
        if self.complete and not is_sparse(self.Y):
            return Products(normalized(K), normalized(L))
        i, j = csr_rows(self.Y), self.Y.indices
        if self.complete:
            w = normalized(K)[i] * normalized(L)[j]
            return sparse.csr_array((w, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        K, L = scaled(K[None])[0], scaled(L[None])[0]
        for w in (K[i] * L[j], L[j], np.ones(len(i))):  # the pair, its column, all pairs: whatever has neighbours
            if (total := w.sum()) > VANISHING:
                return sparse.csr_array((w / total, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        raise ValueError("There is no known pair.")

    def _column_means(self, columns: Columns, without: Array | None) -> Array:
        """The mean known score of each column, smoothed as the columns are; that of all pairs where it has none.

        One row for all, or one for each of the rows `without` which it is.
        """
        if without is None and columns.means is not None:
            return columns.means
        parts = [np.asarray(M.sum(axis=0), dtype=float).reshape(1, -1) for M in (self.Y, self.pattern)]
        if without is not None:
            parts = [part - dense(M[without]) for part, M in zip(parts, (self.Y, self.pattern), strict=True)]
        means = parts[0].sum(axis=1, keepdims=True) / np.maximum(parts[1].sum(axis=1, keepdims=True), 1)
        sums, total = (columns.sums(part) for part in parts)
        means = np.where(total > VANISHING, sums / np.where(total > VANISHING, total, 1.0), means)
        if without is None:
            columns.means = means
        return means

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """For how many rows scores with so many columns are computed at a time; `ranked` is for `ranker`."""
        m_A, m_B = self.Y.shape
        if ranked:
            per_row = 96 * min(self.kernels[0].width * max(1, self.Y.nnz // m_A) * self.kernels[1].width, m_B)
        else:
            per_row = 8 * (3 * self.kernels[0].width + (2 if self.complete else 5) * (m_B + n_columns))
        return max(1, int(max_bytes / per_row))


@dataclass(frozen=True)
class Products:
    """The matrix of K_p L_q, of which only parts are ever formed: some rows, or the entries at (rows, columns)."""

    K: Array
    L: Array

    def __getitem__(self, at: Any) -> Array:
        return self.K[at[0]] * self.L[at[1]] if isinstance(at, tuple) else np.outer(self.K[at], self.L)


def _sorted(S: Array) -> Array:
    """A CSR array with its numbers in the order of columns."""
    S = sparse.csr_array(S)
    S.sort_indices()
    return S


def normalized(K: Array) -> Array:
    """Weights that add up to 1; equal weights where there are none, (m,)."""
    total = float(K.sum())
    return K / total if total > VANISHING else np.full(len(K), 1.0 / len(K))

"""Nadaraya-Watson regression on a grid of pairs (section 5 of the paper), in blocks.

    ŷ_ij = Σ_pq K_D(i, p) K_G(j, q) y_pq / Σ_pq K_D(i, p) K_G(j, q)

over the observed pairs (p, q). If all are, numerator and denominator factorize: with the rows of both kernel matrices
scaled to sum 1 it is K_D Y K_Gᵀ, and a new pair costs m_D + m_G evaluations of kernels. Otherwise the numerator is
K_D Y K_Gᵀ and the denominator K_D W K_Gᵀ, with the sparse scores Y and the sparse pattern W. Kernels that are cut to
the nearest entities are sparse, and so are these products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from jointdr.data import values_at
from jointdr.engines import require_device
from jointdr.prediction.heads.column_weights import (
    ColumnWeights,
    effective_number,
    kernel_weights,
    row_totals,
    scale_to_largest,
    squares,
)
from jointdr.prediction.heads.head import EntitySet, Head
from jointdr.prediction.heads.kernels import VANISHING, AnyKernel, Mixture, rescale_rows
from jointdr.prediction.ranking import ScoreBlock, Scorer, SparseBlock, SparseScorer
from jointdr.runtime import Array, csr_rows, dense, is_sparse

# Memory for the search of neighbors of columns, some at a time; the graph itself takes what it takes.
GRAPH_BYTES = 1e8


@dataclass(frozen=True)
class GridRegression(Head):
    """Kernel regression on a grid of known scores."""

    Y: Array  # (m_A, m_B), dense or CSR
    complete: bool  # whether every pair is known, those that a sparse Y does not store as 0, or those that it stores
    kernels: tuple[AnyKernel, AnyKernel]  # of the row and of the column entities
    # The weights between all known rows and between all known columns, where they are kept: see `hold_weights`.
    held: tuple[Array | None, Array | None] = field(default=(None, None), compare=False, repr=False)
    # The same scores with other kernels: for new columns with known rows, and with new rows.
    of_new_columns: tuple[GridRegression, GridRegression] | None = field(default=None, compare=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    @cached_property
    def pattern(self) -> Array:
        """1 for every known pair of an incomplete grid, as a CSR array."""
        return sparse.csr_array((np.ones(self.Y.nnz), self.Y.indices, self.Y.indptr), shape=self.Y.shape)

    @cached_property
    def mean(self) -> float:
        return float(self.Y.sum()) / max(self.Y.nnz if not self.complete else self.Y.shape[0] * self.Y.shape[1], 1)

    def asked(self, rows: EntitySet, columns: EntitySet) -> GridRegression:
        """The regression with the kernels for these entities."""
        if self.of_new_columns is None or columns.tables is None:
            return self
        return self.of_new_columns[0 if rows.tables is None else 1]

    # ---------------------------------------------------------------- the contract of a head

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function that predicts the scores of some rows with all columns.

        A score whose ``neighbors``, (Σ w)²/Σ w², are 0 is the mean of the known scores of its column.

        Notes
        -----
        O(rows · |Y| + rows · m_B · columns) for |Y| stored scores; only the first where the second bandwidth is 0. For
        few columns sums over columns come first: O(rows · m_A · columns + |Y| · columns).
        """
        if (grid := self.asked(rows, columns)) is not self:
            return grid.scorer(rows, columns, max_bytes, count)
        weights = self.column_weights(columns, max_bytes)
        if self._sums_columns_first(rows, weights, max_bytes):
            return self._scorer_by_columns(rows, weights, count)

        def block(at: slice) -> ScoreBlock:
            scores, neighbors = self.smooth(self.row_weights(rows, at), weights, count)
            return ScoreBlock(scores, {} if neighbors is None else {"neighbors": neighbors})

        return block

    def neighbor_counter(self, rows: EntitySet, columns: EntitySet, max_bytes: float) -> Callable[[slice], Array]:
        """A function to the effective number of known pairs behind each score of `scorer`; on a grid without scores."""
        if (grid := self.asked(rows, columns)) is not self:
            return grid.neighbor_counter(rows, columns, max_bytes)
        if not self.complete:
            scorer = self.scorer(rows, columns, max_bytes, count=True)
            return lambda at: scorer(at).notes["neighbors"]
        weights = self.column_weights(columns, max_bytes)
        return lambda at: np.outer(effective_number(self.row_weights(rows, at)), weights.effective)

    def ranker(self, rows: EntitySet) -> SparseScorer | None:
        """The same as `scorer` for all known columns and with `count`, where both kernels are cut and Y is sparse.

        O(rows · k_A |Y|/m_A · k_B), however many columns there are.
        """
        if not (is_sparse(self.Y) and all(kernel.is_truncated for kernel in self.kernels)):
            return None
        columns = self._known_columns
        block = self._complete_block if self.complete else self._observed_block
        if self.complete:
            defaults = np.vstack([np.zeros(columns.count), columns.averages(self._mean_rows(None))])
        else:
            defaults = self.column_means(columns, None)
        order = SparseBlock.order_of(defaults)
        return lambda at: block(self.row_weights(rows, at), columns, defaults, order)

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose scores with so many columns fit into this memory; `ranked` is for `ranker`."""
        m_A, m_B = self.shape
        if ranked:
            per_row = 96 * min(self.kernels[0].width * max(1, self.Y.nnz // m_A) * self.kernels[1].width, m_B)
        else:
            per_row = 8 * (3 * self.kernels[0].width + (2 if self.complete else 5) * (m_B + n_columns))
        return max(1, int(max_bytes / per_row))

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Any:
        """The share of each known score in the prediction of one pair: `Products`, or CSR with the pattern of Y."""
        sides = zip(self.asked(row, column).kernels, (row, column), strict=True)
        K, L = (dense(kernel_weights(kernel, one, slice(0, 1)))[0] for kernel, one in sides)
        if self.complete and not is_sparse(self.Y):
            return Products(normalize_weights(K), normalize_weights(L))
        i, j = csr_rows(self.Y), self.Y.indices
        if self.complete:
            w = normalize_weights(K)[i] * normalize_weights(L)[j]
            return sparse.csr_array((w, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        K, L = scale_to_largest(K[None])[0], scale_to_largest(L[None])[0]
        for w in (K[i] * L[j], L[j], np.ones(len(i))):  # the pair, its column, all pairs: whatever has neighbors
            if (total := w.sum()) > VANISHING:
                return sparse.csr_array((w / total, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        raise ValueError("There is no known pair.")

    def place_on(self, device: str | None) -> GridRegression:
        """The same regression, whose scores are computed on this device, where its arrays stay; None for the host."""
        if device is None:
            return self
        if device not in self._on_devices:
            from jointdr.prediction.heads.regression_device import DeviceRegression

            require_device(device)
            others = self.of_new_columns
            if others is not None:
                others = others[0].place_on(device), others[1].place_on(device)
            self._on_devices[device] = DeviceRegression(
                self.Y, self.complete, self.kernels, self.held, others, str(device)
            )
        return self._on_devices[device]

    @cached_property
    def _on_devices(self) -> dict[str, GridRegression]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without copies on devices and weights that are held: they are quickly made again."""
        state = {name: value for name, value in self.__dict__.items() if name != "_on_devices"}
        if any(weights is not None for weights in self.held):
            state = {**state, "held": (None, None)}
            state.pop("_known_columns", None)
        return state

    def hold_weights(self, max_bytes: float) -> Self:
        """The same with the weights between known rows, and between known columns, computed once and kept.

        8 m² bytes for m entities, and not for those that this does not fit into `max_bytes` for. Answers about a single
        known row or column then take O(|Y| + m_A² + m_B²) without evaluating a kernel.
        """
        others = self.of_new_columns
        if others is not None:
            others = others[0]._hold_sides(max_bytes, (0,)), others[1]
        return replace(self._hold_sides(max_bytes, (0, 1)), of_new_columns=others)

    def _hold_sides(self, max_bytes: float, sides: tuple[int, ...]) -> Self:
        held = [
            kernel.weights_at(None, slice(0, kernel.count))
            if k in sides
            and isinstance(kernel, Mixture)
            and not kernel.is_truncated
            and 8.0 * kernel.count**2 <= max_bytes
            else None
            for k, kernel in enumerate(self.kernels)
        ]
        return replace(self, held=(held[0], held[1]))

    # ---------------------------------------------------------------- weights

    def row_weights(self, rows: EntitySet, at: slice, copy: bool = True) -> Array:
        """The kernel weights of the known rows for some of these rows, (rows, m_A), held or computed."""
        held = self.held[0]
        if held is None or rows.tables is not None:
            return kernel_weights(self.kernels[0], rows, at)
        return held[rows.indices[at]] if rows.indices is not None else held[at].copy() if copy else held[at]

    def column_weights(self, columns: EntitySet, max_bytes: float) -> ColumnWeights:
        if columns.is_everything and (self.kernels[1].is_truncated or self.held[1] is not None):
            return self._known_columns
        return ColumnWeights(self.kernels[1], columns, max_bytes, self.held[1])

    @cached_property
    def _known_columns(self) -> ColumnWeights:
        """The known columns, with the graph of their neighbors, which is searched once, or with what is held."""
        return ColumnWeights(self.kernels[1], EntitySet(self.shape[1]), GRAPH_BYTES, self.held[1])

    # ---------------------------------------------------------------- rows first

    def smooth(
        self, K: Array, columns: ColumnWeights, count: bool = False, without: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Scores and effective neighbors of rows whose kernel weights are given, (rows, m_A), and overwritten.

        `without` are the indices of these rows, if they are known ones that must not count in their own scores.
        """
        neighbors = None
        if count and self.complete:
            neighbors = np.outer(effective_number(K), columns.effective)
        elif count:
            of_squares = columns.sums(squares(scale_to_largest(K)) @ self.pattern, squared=True)
        sums = self.row_sums(K if self.complete else scale_to_largest(K), without)
        scores, total = self.average(sums, columns, without)
        if count and not self.complete:
            neighbors = _effective_ratio(total, of_squares)
        return scores, neighbors

    def row_sums(self, K: Array, without: Array | None = None) -> tuple[Array, ...]:
        """Scores added up over rows with the weights K, (rows, m_B), and the weights themselves unless all pairs count.

        On a complete grid they are averages, and K is overwritten. O(rows · |Y|), for the nearest rows O(rows · k) rows
        of Y.
        """
        if not self.complete:
            return K @ self.Y, K @ self.pattern
        N, isolated = self._row_averages(K)
        if isolated.any():
            N = dense(N)
            N[isolated] = self._mean_rows(None if without is None else without[isolated])
        return (N,)

    def average(
        self, sums: tuple[Array, ...], columns: ColumnWeights, without: Array | None = None
    ) -> tuple[Array, Array]:
        """The scores that follow from the sums over rows, (rows, columns), and the total weights (on a grid, empty)."""
        if self.complete:
            return columns.averages(sums[0]), np.empty(0)
        scores, total = (columns.sums(part) for part in sums)
        return self._divide(scores, total, columns, without), total

    def _divide(self, sums: Array, total: Array, columns: ColumnWeights, without: Array | None = None) -> Array:
        """Sums, which are overwritten, divided by total weights; means of columns where there is no weight."""
        found = total > VANISHING
        np.divide(sums, total, out=sums, where=found)
        if not found.all():
            sums[~found] = np.broadcast_to(self.column_means(columns, without), sums.shape)[~found]
        return sums

    def _row_averages(self, K: Array) -> tuple[Array, Array]:
        """Averages over rows, and which rows have no neighbor and so no average."""
        total = row_totals(K)
        isolated = total <= VANISHING
        return rescale_rows(K, 1.0 / np.where(isolated, 1.0, total)) @ self.Y, isolated

    def _mean_rows(self, without: Array | None) -> Array:
        """The mean of all rows of Y, (1, m_B), or, for each of the rows `without`, of all but that one."""
        total = np.asarray(self.Y.sum(axis=0), dtype=float).reshape(1, -1)
        if without is None:
            return total / self.Y.shape[0]
        return (total - dense(self.Y[without])) / max(self.Y.shape[0] - 1, 1)

    def column_means(self, columns: ColumnWeights, without: Array | None) -> Array:
        """The mean known score of each column, smoothed as the columns are; that of all pairs where it has none.

        One row for all, or one for each of the rows `without`, which then does not count.
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

    # ---------------------------------------------------------------- columns first, where these are few

    def _sums_columns_first(self, rows: EntitySet, columns: ColumnWeights, max_bytes: float) -> bool:
        (m_A, m_B), c = self.shape, columns.count
        if columns.is_identity or 4 * c > m_B or 32.0 * m_A * c > max_bytes:
            return False
        stored, width = (self.Y.nnz if is_sparse(self.Y) else m_A * m_B), self.kernels[0].width
        by_rows = rows.count * (width * stored / m_A + min(m_B, self.kernels[1].width) * c)
        return c * (rows.count * width + stored) < by_rows

    def _scorer_by_columns(self, rows: EntitySet, columns: ColumnWeights, count: bool) -> Scorer:
        if self.complete:
            M = columns.averages_of_table(self.Y)
            known = rows.tables is None
            return lambda at: self._complete_by_columns(self._normal_weights(rows, at), M, columns, count, known)
        tables = [columns.sums_of_table(self.Y), columns.sums_of_table(self.pattern)]
        if count:
            tables.append(columns.sums_of_table(self.pattern, squared=True))
        return lambda at: self._observed_by_columns(self._normal_weights(rows, at), tables, columns)

    def _normal_weights(self, rows: EntitySet, at: slice) -> Array:
        """Weights of rows that products with them cannot underflow for; a view of those that are held."""
        K = self.row_weights(rows, at, copy=False)
        return K if isinstance(self.kernels[0], Mixture) else scale_to_largest(K)  # those of a mixture add up to 1

    def _complete_by_columns(
        self, K: Array, M: Array, columns: ColumnWeights, count: bool, is_known: bool
    ) -> ScoreBlock:
        scores = np.asarray(K @ M)
        if not (is_known and isinstance(self.kernels[0], Mixture)):  # whose weights add up to 1
            total = row_totals(K)
            isolated = total <= VANISHING
            scores /= np.where(isolated, 1.0, total)[:, None]
            if isolated.any():
                scores[isolated] = M.mean(axis=0)
        return ScoreBlock(scores, {"neighbors": np.outer(effective_number(K), columns.effective)} if count else {})

    def _observed_by_columns(self, K: Array, tables: list[Array], columns: ColumnWeights) -> ScoreBlock:
        sums, total = (np.asarray(K @ M) for M in tables[:2])
        counted = {} if len(tables) < 3 else {"neighbors": _effective_ratio(total, np.asarray(squares(K) @ tables[2]))}
        return ScoreBlock(self._divide(sums, total, columns), counted)

    # ---------------------------------------------------------------- sparse scores

    def _complete_block(self, K: Array, columns: ColumnWeights, defaults: Array, order: Array) -> SparseBlock:
        rows = effective_number(K)
        N, isolated = self._row_averages(K)
        S = sparse.csr_array(columns.product(N))
        S.data /= columns.total[S.indices]
        notes = {"neighbors": lambda i, j: rows[i] * columns.effective[j]}
        return SparseBlock(S, defaults, order, isolated.astype(int), notes)

    def _observed_block(self, K: Array, columns: ColumnWeights, defaults: Array, order: Array) -> SparseBlock:
        K = scale_to_largest(K)
        total = _sort_columns(columns.product(K @ self.pattern))
        S = values_at(_sort_columns(columns.product(K @ self.Y)), total)
        of_squares = values_at(_sort_columns(columns.product(K.power(2) @ self.pattern, squared=True)), total)
        found = total.data > VANISHING
        S.data = np.divide(S.data, total.data, out=np.zeros_like(S.data), where=found)
        neighbors = _effective_ratio(np.where(found, total.data, 0.0), of_squares.data)
        if not found.all():
            S.data[~found] = defaults[0, S.indices[~found]]
        noted = sparse.csr_array((neighbors, S.indices, S.indptr), shape=S.shape)
        notes = {"neighbors": lambda i, j: np.asarray(noted[i, j]).ravel()}
        return SparseBlock(S, defaults, order, np.zeros(S.shape[0], dtype=int), notes)


@dataclass(frozen=True)
class Products:
    """The matrix of K_p L_q, of which only parts are ever formed: some rows, or the entries at (rows, columns)."""

    K: Array
    L: Array

    def __getitem__(self, at: Any) -> Array:
        return self.K[at[0]] * self.L[at[1]] if isinstance(at, tuple) else np.outer(self.K[at], self.L)


def normalize_weights(K: Array) -> Array:
    """Weights that add up to 1; equal weights where there are none, (m,)."""
    total = float(K.sum())
    return K / total if total > VANISHING else np.full(len(K), 1.0 / len(K))


def _effective_ratio(total: Array, of_squares: Array) -> Array:
    """(Σ w)²/Σ w², and 0 where there is no weight."""
    return np.divide(total**2, of_squares, out=np.zeros_like(total), where=of_squares > VANISHING)


def _sort_columns(S: Array) -> Array:
    """A CSR array with the entries of each row in the order of columns."""
    S = sparse.csr_array(S)
    S.sort_indices()
    return S

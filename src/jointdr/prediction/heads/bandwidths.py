"""Bandwidths for a grid of scores, by leaving out one entity at a time, without fitting anything again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from jointdr.data import is_implicit
from jointdr.metrics import expected_recall
from jointdr.prediction.heads.column_weights import ColumnWeights
from jointdr.prediction.heads.distances import spread
from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.heads.kernels import AnyKernel, Kernel, Mixture
from jointdr.prediction.heads.nearest import Distances
from jointdr.prediction.heads.regression import GridRegression
from jointdr.runtime import Array, csr_rows, dense, is_sparse, slices

# Bandwidths that are tried, as multiples of the root mean square distance; three times as many if adaptive.
MULTIPLES = np.geomspace(0.03, 1.0, 16)

# 1/h² of the bandwidths that are tried for cosine kernels: small integers, whose powers are fast.
POWERS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64])

ROWS = 400  # entities of a kind that are left out, at most
FEWEST = 3  # entities of a kind that can be left out in turn

# With many columns, as many as keep the number of scores below MOST_SCORES, but at least FEWEST_ROWS.
FEWEST_ROWS, MOST_SCORES = 100, 40_000_000

RULES = ("auto", "left-out rows")  # by leaving out both kinds of entities, or row entities alone

Criterion = Literal["recall", "squared error"]
Pair = tuple[float, float]  # one number for rows, one for columns


class Chosen(NamedTuple):
    """Bandwidths of rows and columns in their two uses, which need not agree.

    A new row takes scores from known rows by the bandwidth of rows in `new`, and known columns lend each other by that
    of columns in `known`. A new column takes them from known columns by `new`, and known rows lend by `known`.
    """

    new: Pair
    known: Pair | None = None  # None where they are the same


@dataclass(frozen=True)
class LeftOutRows:
    """The known scores of row entities that are left out one at a time."""

    grid: GridRegression
    rows: Kernel  # that of the row entities
    at: Array  # (rows,): indices of those that are left out
    criterion: Criterion
    k: int  # columns that are retrieved for a row, for the recall
    max_bytes: float

    def blocks(self) -> Iterator[tuple[Array, Distances, Array]]:
        """Indices of some of the rows, their squared distances to all others (∞ to themselves), and their scores."""
        m_B = self.grid.Y.shape[1]
        for part in slices(len(self.at), max(1, int(self.max_bytes / (32 * (self.rows.width + 2 * m_B))))):
            at = self.at[part]
            yield at, self.rows.known_distances(at, others=True), self.grid.Y[at]

    def gains(self, bandwidths: Sequence[float], columns: AnyKernel) -> Array:
        """The criterion of each row bandwidth with this column kernel, higher is better: (len(bandwidths),)."""
        total, count = np.zeros(len(bandwidths)), 0.0
        held = ColumnWeights(columns, EntitySet(columns.count), self.max_bytes / 2)
        for at, found, Y in self.blocks():
            truth = dense(Y)
            observed = np.full(truth.shape, self.grid.complete)
            if not self.grid.complete:
                observed[csr_rows(Y), Y.indices] = True
            for i, h in enumerate(bandwidths):
                K = self.rows.at(h).weights_from(found._replace(D=found.D.copy()))
                scores, _ = self.grid.smooth(K, held, without=at)
                gain, number = self._gain(scores, truth, observed)
                total[i] += gain
            count += number
        return total / max(count, 1.0)

    def _gain(self, scores: Array, truth: Array, observed: Array) -> tuple[float, float]:
        """The sum of the criterion over some rows, and over how many rows or pairs it is."""
        if self.criterion == "squared error":
            return -float(np.sum((scores - truth)[observed] ** 2)), float(np.count_nonzero(observed))
        recall = expected_recall(scores, truth > 0, self.k)
        return float(np.nansum(recall)), float(np.count_nonzero(np.isfinite(recall)))


def choose_bandwidths(
    Y: Array,
    complete: bool,
    kernels: tuple[Kernel, Kernel],
    max_bytes: float,
    rng: np.random.RandomState,
    self_weight: float = 0.0,
    rule: str = "auto",
) -> Chosen:
    """The bandwidths that predict left-out entities best.

    Parameters
    ----------
    Y, complete
        As in `GridRegression`.
    kernels : two Kernels
        Of rows and columns; their own bandwidths do not matter.
    max_bytes : float
    rng : RandomState
        It draws the entities that are left out, if there are more than 400 of a kind.
    self_weight : float
        The share of its weight that a known column keeps for itself, see `Mixture`.
    rule : {"auto", "left-out rows"}
        ``"auto"`` leaves out rows for the bandwidths by which new rows are predicted, and columns, as rows of the
        transposed grid, for those by which new columns are. ``"left-out rows"`` leaves out rows for all.

    Notes
    -----
    Of what is left out the bandwidth comes first, with the other kind by itself (bandwidth 0); then the bandwidth of
    the other kind, which stays 0 if no other is better; then the first one again. By recall if most scores of a
    complete grid are 0, where the squared error would shrink everything towards 0; otherwise by squared error.
    """
    several = [m >= FEWEST for m in Y.shape]
    if not several[0] and (rule != "auto" or not several[1]):
        counts = f"{Y.shape[0]}" if rule != "auto" else f"{Y.shape[0]} rows and {Y.shape[1]} columns"
        what = "rows and columns" if rule == "auto" else "rows"
        raise ValueError(f"bandwidth={rule!r} leaves out {what} in turn, but there are only {counts}: give numbers.")
    recall, (a, b) = is_implicit(Y, complete), kernels
    of_rows = _by_left_out_rows(Y, complete, (a, b), max_bytes, rng, self_weight, recall) if several[0] else None
    if rule != "auto" or not several[1]:
        assert of_rows is not None
        return Chosen(of_rows)
    transposed = sparse.csr_array(Y.T) if is_sparse(Y) else np.ascontiguousarray(Y.T)
    of_columns = _by_left_out_rows(transposed, complete, (b, a), max_bytes, rng, 0.0, recall)
    if of_rows is None:
        return Chosen((of_columns[1], of_columns[0]))
    return Chosen((of_rows[0], of_columns[0]), (of_columns[1], of_rows[1]))


def _by_left_out_rows(
    Y: Array,
    complete: bool,
    kernels: tuple[Kernel, Kernel],
    max_bytes: float,
    rng: np.random.RandomState,
    self_weight: float,
    recall: bool,
) -> Pair:
    m_B = Y.shape[1]
    at = informative_rows(Y, complete, recall)
    most = ROWS if not kernels[1].is_truncated else max(FEWEST_ROWS, min(ROWS, MOST_SCORES // m_B))
    if len(at) > most:
        at = np.sort(rng.choice(at, most, replace=False))
    a, b = (replace(kernel, memo={}) if kernel.is_truncated else kernel for kernel in kernels)
    grid = GridRegression(Y, complete, kernels)
    top = max(1, min(100, m_B // 10))  # the columns that a user would look at
    left_out = LeftOutRows(grid, a, at, "recall" if recall else "squared error", top, max_bytes)
    rows, columns = multiples(a), [0.0, *multiples(b)[::2]]
    mixed = [Mixture((b.at(h),), (1.0,), self_weight) for h in columns]
    i = int(np.argmax(left_out.gains(rows, mixed[0])))
    j = int(np.argmax([left_out.gains(rows[[i]], kernel)[0] for kernel in mixed]))
    if j > 0:
        i = int(np.argmax(left_out.gains(rows, mixed[j])))
    return float(rows[i]), float(columns[j])


def multiples(kernel: Kernel) -> Array:
    """The bandwidths that are tried for one side."""
    if kernel.cosine:
        return POWERS**-0.5
    return MULTIPLES * (spread(kernel.points) if kernel.adaptive is None else 3.0)


def informative_rows(Y: Array, complete: bool, positive: bool) -> Array:
    """The indices of rows that are worth leaving out: those with a known (or positive) score."""
    if positive:
        return np.flatnonzero(np.asarray((Y > 0).sum(axis=1)).ravel())
    return np.arange(Y.shape[0]) if complete else np.flatnonzero(np.diff(Y.indptr))

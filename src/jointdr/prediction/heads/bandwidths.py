"""Bandwidths for a grid of scores, by leaving out one row entity at a time, without fitting anything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from jointdr.data import is_implicit
from jointdr.metrics import expected_recall
from jointdr.prediction.heads.column_weights import Columns
from jointdr.prediction.heads.kernels import AnyKernel, Kernel, Mixture, spread
from jointdr.prediction.heads.nearest import Found
from jointdr.prediction.heads.regression import GridRegression
from jointdr.runtime import Array, csr_rows, dense, slices

MULTIPLES = np.geomspace(0.03, 1.0, 16)
"""Bandwidths that are tried, as multiples of the root mean square distance; three times as many if adaptive."""

POWERS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64])
"""1/h² of the bandwidths that are tried for weights of angles: small integers, whose powers are fast."""

ROWS = 400
"""Row entities that are left out, at most."""

FEWEST_ROWS, MOST_SCORES = 100, 40_000_000
"""Of many columns, so many rows that their scores are not more than these, but no fewer."""

Criterion = Literal["recall", "squared error"]


@dataclass(frozen=True)
class LeftOut:
    """The known scores of row entities that are left out one at a time.

    Attributes
    ----------
    grid : GridRegression
    rows : Kernel
        Of the row entities.
    at : (rows,) array of int
        Which row entities are left out.
    criterion : {"recall", "squared error"}
    k : int
        Columns that are retrieved for a row, for the recall.
    max_bytes : float
    """

    grid: GridRegression
    rows: Kernel
    at: Array
    criterion: Criterion
    k: int
    max_bytes: float

    def blocks(self) -> Iterator[tuple[Array, Found, Array]]:
        """Some of the rows, their squared distances to all others (infinite to themselves), and their scores."""
        m_B = self.grid.Y.shape[1]
        for part in slices(len(self.at), max(1, int(self.max_bytes / (32 * (self.rows.width + 2 * m_B))))):
            at = self.at[part]
            yield at, self.rows.found(at, others=True), self.grid.Y[at]

    def gains(self, bandwidths: Sequence[float], columns: AnyKernel) -> Array:
        """How well each row bandwidth predicts, with this column kernel: higher is better, (len(bandwidths),)."""
        total, count = np.zeros(len(bandwidths)), 0.0
        held = Columns(columns, None, self.max_bytes / 2)
        for at, found, Y in self.blocks():
            truth = dense(Y)
            observed = np.ones(truth.shape, dtype=bool) if self.grid.complete else _pattern(Y)
            for i, h in enumerate(bandwidths):
                K = self.rows.at(h).weights_of(found._replace(D=found.D.copy()))
                scores, _ = self.grid.smoothed(K, held, without=at)
                gain, number = _GAINS[self.criterion](scores, truth, observed, self.k)
                total[i] += gain
            count += number
        return total / max(count, 1.0)


def chosen(
    Y: Array,
    complete: bool,
    kernels: tuple[Kernel, Kernel],
    max_bytes: float,
    rng: np.random.RandomState,
    own: float = 0.0,
) -> tuple[float, float]:
    """Bandwidths of both sides with which left-out rows are predicted best.

    Parameters
    ----------
    Y, complete
        As in `GridRegression`.
    kernels : two Kernels
        Whose bandwidths are not looked at.
    max_bytes : float
    rng : RandomState
        Which rows are left out, if there are more than 400.
    own : float
        The share of its weight that a known column keeps for itself, see `Mixture`.

    Notes
    -----
    The row bandwidth comes first, with the columns by themselves (bandwidth 0); then the column bandwidth, which stays
    0 if no other is better; then the row bandwidth again. By recall if most scores of a complete grid are 0, where the
    squared error would shrink everything towards 0; otherwise by squared error.
    """
    m_A, m_B = Y.shape
    if m_A < 3:
        raise ValueError(f"bandwidth='auto' leaves out rows in turn, but there are only {m_A}: give numbers.")
    recall = is_implicit(Y, complete)
    at = worth_leaving_out(Y, complete, recall)
    most = ROWS if not kernels[1].is_truncated else max(FEWEST_ROWS, min(ROWS, MOST_SCORES // m_B))
    if len(at) > most:
        at = np.sort(rng.choice(at, most, replace=False))
    a, b = (replace(kernel, memo={}) if kernel.is_truncated else kernel for kernel in kernels)
    grid = GridRegression(Y, complete, kernels)
    left_out = LeftOut(grid, a, at, "recall" if recall else "squared error", top_of(m_B), max_bytes)
    rows, columns = multiples(a), [0.0, *multiples(b)[::2]]
    mixed = [Mixture((b.at(h),), (1.0,), own) for h in columns]
    i = int(np.argmax(left_out.gains(rows, mixed[0])))
    j = int(np.argmax([left_out.gains(rows[[i]], kernel)[0] for kernel in mixed]))
    if j > 0:
        i = int(np.argmax(left_out.gains(rows, mixed[j])))
    h_b = columns[j]
    return float(rows[i]), float(h_b)


def multiples(kernel: Kernel) -> Array:
    """The bandwidths that are tried for one side."""
    if kernel.cosine:
        return POWERS**-0.5
    return MULTIPLES * (spread(kernel.points) if kernel.adaptive is None else 3.0)


def worth_leaving_out(Y: Array, complete: bool, positive: bool) -> Array:
    """The rows that say something when they are left out: those with a known (or positive) score."""
    if positive:
        return np.flatnonzero(np.asarray((Y > 0).sum(axis=1)).ravel())
    return np.arange(Y.shape[0]) if complete else np.flatnonzero(np.diff(Y.indptr))


def top_of(n_columns: int) -> int:
    """How many columns a user would look at: a tenth of them, at most 100."""
    return max(1, min(100, n_columns // 10))


def _pattern(Y: Array) -> Array:
    mask = np.zeros(Y.shape, dtype=bool)
    mask[csr_rows(Y), Y.indices] = True
    return mask


def _recall_gain(scores: Array, truth: Array, observed: Array, k: int) -> tuple[float, float]:
    recall = expected_recall(scores, truth > 0, k)
    return float(np.nansum(recall)), float(np.count_nonzero(np.isfinite(recall)))


def _squared_gain(scores: Array, truth: Array, observed: Array, k: int) -> tuple[float, float]:
    return -float(np.sum((scores - truth)[observed] ** 2)), float(np.count_nonzero(observed))


_GAINS: dict[str, Callable[[Array, Array, Array, int], tuple[float, float]]] = {
    "recall": _recall_gain,
    "squared error": _squared_gain,
}

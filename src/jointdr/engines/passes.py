"""Reductions before or after the moments of a source are taken: of the response, or to find what is not finite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from jointdr.engines.reduction import RowBlock
from jointdr.runtime import Array, dense, to_numpy

SAMPLE_ROWS = 100_000  # how many responses are looked at to tell whether they have heavy tails


@dataclass(frozen=True)
class Summary:
    """Rows, Σ w, rows of positive weight, a centre near the mean and Σ w (y − centre), extremes, some responses."""

    n_rows: int
    weight: float
    n_positive: int
    center: Array
    sum: Array
    lowest: Array
    highest: Array
    sample: Array

    @property
    def mean(self) -> Array:
        return np.where(self.lowest == self.highest, self.lowest, self.center + self.sum / (self.weight or 1.0))


@dataclass(frozen=True)
class Summarize:
    """Reads off y what can be known before the views are read; one in `stride` responses is sampled."""

    stride: int = 1
    nbytes: int = 0

    @staticmethod
    def of(n_rows: int | None) -> Summarize:
        return Summarize(max(1, (n_rows or 0) // SAMPLE_ROWS))

    def __call__(self, blocks: Iterable[RowBlock]) -> Summary:
        return reduce(self.merge, map(self._of, blocks))

    def _of(self, block: RowBlock) -> Summary:
        y = block.y.reshape(len(block), -1).astype(float, copy=False)
        taken = slice(-block.first_row % self.stride, None, self.stride)  # the same rows however they are cut
        if block.weight is None and len(y):  # in few passes, because a fit waits for it
            m, center, some = len(y), y.mean(axis=0), y[taken, 0] if y.shape[1] else np.empty(0)
            return Summary(m, float(m), m, center, (y - center).sum(axis=0), y.min(axis=0), y.max(axis=0), some)
        w = np.ones(len(y)) if block.weight is None else block.weight
        counted = y[w > 0]
        center = np.average(counted, axis=0, weights=w[w > 0]) if len(counted) else np.zeros(y.shape[1])
        return Summary(
            len(y),
            float(w.sum()),
            len(counted),
            center,
            w @ (y - center),
            counted.min(axis=0, initial=np.inf),
            counted.max(axis=0, initial=-np.inf),
            y[taken, 0][w[taken] > 0] if y.shape[1] else np.empty(0),
        )

    def merge(self, one: Summary, two: Summary) -> Summary:
        """The summary of the rows of both, about the centre of the first."""
        sample = np.concatenate([one.sample, two.sample])
        return Summary(
            one.n_rows + two.n_rows,
            one.weight + two.weight,
            one.n_positive + two.n_positive,
            one.center,
            one.sum + two.sum + two.weight * (two.center - one.center),
            np.minimum(one.lowest, two.lowest),
            np.maximum(one.highest, two.highest),
            sample[: 2 * SAMPLE_ROWS],
        )


@dataclass(frozen=True)
class Gather:
    """Keeps the response and the weights of all rows, by the number of the first row of each block."""

    nbytes: int = 0

    def __call__(self, blocks: Iterable[RowBlock]) -> dict[int, tuple[Array, Array | None]]:
        return {block.first_row: (block.y, block.weight) for block in blocks}

    def merge(self, one: dict[int, Any], two: dict[int, Any]) -> dict[int, Any]:
        return {**one, **two}


@dataclass(frozen=True)
class Labels:
    """The distinct values of y, and the number of rows."""

    nbytes: int = 0

    def __call__(self, blocks: Iterable[RowBlock]) -> tuple[Array, int]:
        return reduce(self.merge, ((np.unique(block.y), len(block.y)) for block in blocks))

    def merge(self, one: tuple[Array, int], two: tuple[Array, int]) -> tuple[Array, int]:
        return np.union1d(one[0], two[0]), one[1] + two[1]


@dataclass(frozen=True)
class FirstNotFinite:
    """The first value that is NaN or infinite: its row, view and column, and its value; the row is −1 if none is."""

    nbytes: int = 0

    def __call__(self, blocks: Iterable[RowBlock]) -> tuple[int, int, int, float]:
        return reduce(self.merge, map(self._of, blocks))

    def _of(self, block: RowBlock) -> tuple[int, int, int, float]:
        found = (-1, 0, 0, 0.0)
        for k, X in enumerate(block.views):
            X = dense(to_numpy(X))
            bad = np.argwhere(~np.isfinite(X))
            if len(bad):
                i, j = bad[0]
                found = self.merge(found, (block.first_row + int(i), k, int(j), float(X[i, j])))
        return found

    def merge(self, one: tuple[int, int, int, float], two: tuple[int, int, int, float]) -> tuple[int, int, int, float]:
        return min((found for found in (one, two) if found[0] >= 0), default=one)

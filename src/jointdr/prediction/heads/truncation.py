"""The loss where kernel sums are cut to the nearest entities, measured by exact sums for a sample of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from jointdr.prediction.heads.column_weights import ColumnWeights
from jointdr.prediction.heads.head import EntitySet, Head
from jointdr.prediction.heads.kernels import VANISHING, Mixture
from jointdr.prediction.heads.regression import GridRegression
from jointdr.runtime import Array, is_sparse, slices

SAMPLE = 200  # entities of a kind in the sample, at most

# With many columns, as many as keep the number of exact weights below MOST_WEIGHTS, but at least FEWEST_COLUMNS.
FEWEST_COLUMNS, MOST_WEIGHTS = 20, 20_000_000

HELD = 1e12  # bytes for the exact weights of the sampled columns, which are always held
LARGE = 0.05  # warn if on average more than this share of the weight is left out
MUCH = 0.25  # warn as well if scores change by more than this fraction of their standard deviation


class TruncationWarning(UserWarning):
    """The nearest entities have too little of the weight of all."""


@dataclass(frozen=True)
class SideTruncation:
    """The loss on one side.

    Attributes
    ----------
    nearest : int
        Entities that have weights.
    left_out, most_left_out : float
        The share of the weight of all entities that the others would have: the mean, and the largest.
    recall : float
        The share of the truly nearest entities among those found: 1 unless the index is approximate.
    sample : int
        The number of entities that it was measured on.
    """

    nearest: int
    left_out: float
    most_left_out: float
    recall: float
    sample: int


@dataclass(frozen=True)
class Truncation:
    """The loss by cutting kernel sums to the nearest entities.

    Attributes
    ----------
    rows, columns : SideTruncation or None
        None where all entities count. Rows are taken as new ones, without themselves; columns as they are, with the
        weight that they have on themselves.
    most_changed, changed : float
        The largest and the root mean square difference of the scores of the sample from exact ones.
    spread : float
        The standard deviation of the exact ones.
    without : float
        The share of these scores that no known pair is near to: they are means of their columns.
    """

    rows: SideTruncation | None
    columns: SideTruncation | None
    most_changed: float
    changed: float
    spread: float
    without: float

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for files and for people; sides without a loss are left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Truncation:
        sides = {k: SideTruncation(**values[k]) if k in values else None for k in ("rows", "columns")}
        numbers = {k: float(values[k]) for k in ("most_changed", "changed", "spread", "without")}
        return Truncation(**sides, **numbers)  # type: ignore[arg-type]

    def warn_if_large(self) -> None:
        """Warn if on average 5 % of the weight is left out, or scores change by a quarter of their spread."""
        sides = {name: side for name, side in (("rows", self.rows), ("columns", self.columns)) if side is not None}
        if max((side.left_out for side in sides.values()), default=0.0) <= LARGE and self.changed <= MUCH * self.spread:
            return
        shares = " and ".join(f"the {s.nearest} nearest {name} have {1 - s.left_out:.0%}" for name, s in sides.items())
        warnings.warn(
            f"Of the kernel weight of all entities, {shares}. Scores differ from exact ones by {self.changed:.2g} "
            f"(root mean square; their standard deviation is {self.spread:.2g}), and {self.without:.0%} have no known "
            "pair near: raise nearest, lower the bandwidth, or take it as a model of its own. See truncation_.",
            TruncationWarning,
            stacklevel=4,
        )


def measure_truncation(grid: Head, max_bytes: float) -> Truncation | None:
    """The loss on a sample that is always the same; None where nothing is cut.

    O(sample · (m_A r_1 + m_B r_2 + |Y|)), in blocks of `max_bytes`.
    """
    if not isinstance(grid, GridRegression):
        return None
    kernels = [kernel for kernel in grid.kernels if isinstance(kernel, Mixture)]
    if len(kernels) < 2 or not any(kernel.is_truncated for kernel in kernels):
        return None
    rng = np.random.RandomState(0)
    m_A, m_B = grid.Y.shape
    rows = np.sort(rng.choice(m_A, min(SAMPLE, m_A), replace=False))
    columns = _sample_columns(grid.Y, max(FEWEST_COLUMNS, min(SAMPLE, MOST_WEIGHTS // m_B)), rng)
    exact = replace(grid, kernels=(count_everything(kernels[0]), count_everything(kernels[1])))
    truth, _ = _scores(exact, rows, columns, max_bytes)
    scores, neighbors = _scores(grid, rows, columns, max_bytes)
    change = np.abs(scores - truth)
    return Truncation(
        _side(kernels[0], rows, True, max_bytes),
        _side(kernels[1], columns, False, max_bytes),
        float(change.max()),
        float(np.sqrt(np.mean(change**2))),
        float(truth.std()),
        float(np.mean(neighbors == 0)),
    )


def count_everything(kernel: Mixture) -> Mixture:
    """The same mixture with weights of all entities, not of the nearest only."""
    return replace(kernel, kernels=tuple(replace(part, near=None, memo=None) for part in kernel.kernels))


def _sample_columns(Y: Array, size: int, rng: np.random.RandomState) -> Array:
    """Columns of known scores drawn at random, so that columns with many scores are among them."""
    m_B = Y.shape[1]
    if size >= m_B or not is_sparse(Y) or Y.nnz == 0:
        return np.sort(rng.choice(m_B, min(size, m_B), replace=False))
    drawn = Y.indices[rng.randint(Y.nnz, size=20 * size)]
    first = np.sort(np.unique(drawn, return_index=True)[1])[:size]
    return np.sort(drawn[first])


def _scores(grid: GridRegression, rows: Array, columns: Array, max_bytes: float) -> tuple[Array, Array]:
    """The scores of these rows, as if each were new, with these columns; and the known pairs behind each."""
    held = ColumnWeights(grid.kernels[1], EntitySet(len(columns), indices=columns), HELD)
    size = max(1, int(max_bytes / (32 * (grid.Y.shape[0] + 2 * grid.Y.shape[1]))))
    parts = []
    for part in slices(len(rows), size):
        at, kernel = rows[part], grid.kernels[0]
        assert isinstance(kernel, Mixture)
        parts.append(grid.smooth(kernel.weights_of_known(at, others=True), held, count=True, without=at))
    scores, neighbors = (np.vstack([part[k] for part in parts]) for k in (0, 1))  # type: ignore[misc]
    return scores, neighbors


def _side(mixture: Mixture, sample: Array, others: bool, max_bytes: float) -> SideTruncation | None:
    """The share of the weight that is left out for each of a sample of known entities."""
    if not mixture.is_truncated or (mixture.is_identity and not others) or mixture.count == others:
        return None
    left, recall = np.zeros(len(sample)), 0.0
    lent = 1.0 if others else 1.0 - mixture.self_weight
    for kernel, share in zip(mixture.kernels, mixture.shares, strict=True):
        for part in slices(len(sample), max(1, int(max_bytes / (40 * mixture.count)))):
            near = kernel.known_distances(sample[part], others)
            full = replace(kernel, near=None).known_distances(sample[part], others)
            counted = np.isfinite(near.D)
            assert near.indices is not None
            k = min(kernel.width, kernel.count - others)
            furthest = np.partition(full.D, k - 1, axis=1)[:, [k - 1]] * (1 + 1e-9)
            reached = counted & (np.take_along_axis(full.D, near.indices, axis=1) <= furthest)
            recall += share * float(np.minimum(reached.sum(axis=1), k).sum()) / (k * len(sample))
            K = kernel.weights_from(full)
            total = K.sum(axis=1)
            kept = np.where(counted, np.take_along_axis(K, near.indices, axis=1), 0.0).sum(axis=1)
            left[part] += share * lent * np.where(total > VANISHING, 1.0 - kept / np.maximum(total, VANISHING), 0.0)
    left = np.maximum(left, 0.0)
    return SideTruncation(mixture.kernels[0].width, float(left.mean()), float(left.max()), recall, len(sample))

"""The local engine: arrays in memory, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from jointdr.arrays import Array, Scratch, is_sparse, take_columns, take_rows
from jointdr.moments import Moments

BLOCK_BYTES = 1_000_000
"""A dense block of this size stays in a core's cache between centring and the products."""

LARGE_BLOCK_BYTES = 32_000_000
"""Blocks that are not copied to be centred are larger, because each costs one addition to the result."""

FEWEST_ROWS = 256
"""Rows in a block of very wide data, where the cache cannot hold enough of them."""


def slices(n: int, size: int) -> Iterator[slice]:
    """0 ... n cut into pieces of at most `size`."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def block_rows(views: Sequence[Array], minimum: int = FEWEST_ROWS, block_bytes: int = BLOCK_BYTES) -> int:
    """Rows per block: as many as fit `block_bytes`, but at least `minimum`."""
    fitting = (
        LARGE_BLOCK_BYTES // max(1, 12 * X.nnz // X.shape[0]) if is_sparse(X) else block_bytes // (8 * X.shape[1])
        for X in views
    )
    return max(minimum, min(fitting))


def fold_of(rows: Array, n_folds: int, seed: int = 0) -> Array:
    """The fold of each row, a hash of its number: it does not depend on how the rows are cut into blocks."""
    z = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15 * (seed + 1) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finalizer of SplitMix64
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(n_folds)).astype(np.int64)


def _kept(keep: dict[str, Any]) -> dict[str, Any]:
    return {name: keep[name] for name in ("blocks", "covariance", "cross_covariance") if name in keep}


class Block(NamedTuple):
    """Some rows of every view, of the response and of the weights."""

    views: tuple[Array, ...]
    y: Array
    weight: Array | None

    def rows(self, at: Array) -> Block:
        """Some of these rows, copied."""
        views = tuple(take_rows(X, at) for X in self.views)
        return Block(views, self.y[at], None if self.weight is None else self.weight[at])


class Rows:
    """Rows in memory that can be read again and again, block by block.

    Parameters
    ----------
    views : sequence of (m, n_k) arrays
    y : (m, q) float64 array
    weight : (m,) float64 array or None
    """

    def __init__(self, views: Sequence[Array], y: Array, weight: Array | None = None) -> None:
        self.views = tuple(views)
        self.y = y if y.ndim == 2 else y[:, None]
        self.weight = weight

    def __len__(self) -> int:
        return int(self.views[0].shape[0])

    @property
    def n_responses(self) -> int:
        """Number of components of the response q."""
        return int(self.y.shape[1])

    def select(self, columns: Sequence[Array]) -> Rows:
        """The same rows with the chosen features of each view only (copied)."""
        views = [take_columns(X, at) for X, at in zip(self.views, columns, strict=True)]
        return Rows(views, self.y, self.weight)

    def centred(self) -> Rows:
        """The same rows with the mean of y taken off."""
        y = np.where(np.ptp(self.y, axis=0) > 0, self.y, 0.0)
        # The mean is rounded to its own precision; the mean of what is left removes the rest.
        for _ in range(2):
            y = y - np.average(y, axis=0, weights=self.weight)
        return Rows(self.views, y, self.weight)

    def blocks(self, rows: int) -> Iterator[Block]:
        """Blocks of at most this many rows, without copies."""
        for at in slices(len(self), rows):
            yield Block(
                tuple(X[at, :] for X in self.views), self.y[at], None if self.weight is None else self.weight[at]
            )

    def fold(self, **keep: Any) -> Moments:
        """The moments of all rows in one read; keywords as in `Moments.of_block`.

        Without the cross covariance the mean of y has to be known before, which takes a read of y alone.
        """
        if keep.get("blocks") and not keep["cross_covariance"] and "y_center" not in keep:
            moments = self.centred().fold(**keep, y_center=0.0)
            return moments.relabelled(np.average(self.y, axis=0, weights=self.weight))
        square = keep.get("blocks", ("cross",)) or keep.get("covariance") == "full"
        rows = block_rows(self.views, 4 * max(X.shape[1] for X in self.views) if square else FEWEST_ROWS)
        return reduce(Moments.merge, self._parts(rows, keep)).to_numpy()

    def _parts(self, rows: int, keep: dict[str, Any]) -> Iterator[Moments]:
        """The moments of each block, about the mean of the first one, so that merging is plain addition.

        That is safe however far the data drifts from there: drift by D adds D² to the variance itself, so the rounding
        of D² is relative to that, up to the number of blocks.
        """
        keep = {**keep, "scratch": Scratch()}
        pilot: dict[str, Any] = {}
        for block in self.blocks(rows):
            part = Moments.of_block(*block, **(pilot | keep))
            pilot = pilot or {"center": part.centers, "y_center": part.y_center}
            yield part

    def fold_parts(self, n_folds: int, first_row: int = 0, seed: int = 0, **keep: Any) -> list[Moments]:
        """The moments of each of `n_folds` random parts of the rows, in one read.

        Parameters
        ----------
        n_folds : int
        first_row : int
            The number of the first row here among all rows, so that a stream is cut like one array.
        seed : int
        **keep
            As in `fold`.
        """
        return self.fold_groups(fold_of(np.arange(first_row, first_row + len(self)), n_folds, seed), n_folds, **keep)

    def fold_groups(self, which: Array, n_groups: int, **keep: Any) -> list[Moments]:
        """The moments of the rows of each group, in one read: O(m n²) for all groups together.

        Parameters
        ----------
        which : (m,) array of int
            The group of each row, from 0 on; a group may be empty.
        n_groups : int
        **keep
            As in `fold`.
        """
        responses = self.y.shape[1] if keep.get("blocks", ("cross",)) else 0
        parts = [Moments.zero([X.shape[1] for X in self.views], n_responses=responses, **_kept(keep))] * n_groups
        keep = {**keep, "scratch": Scratch()}
        pilot: dict[str, Any] = {}
        rows = block_rows(self.views, n_groups * 4 * max(X.shape[1] for X in self.views))
        for i, block in self.group_blocks(rows, which):
            part = Moments.of_block(*block, **(pilot | keep))
            pilot = pilot or {"center": part.centers, "y_center": part.y_center}
            parts[i] = parts[i] + part.to_numpy()
        return parts

    def group_blocks(self, rows: int, which: Array | None = None) -> Iterator[tuple[int, Block]]:
        """Blocks of rows of one group each, with the number of the group; without groups all are of group 0."""
        start = 0
        for block in self.blocks(rows):
            if which is None:
                yield 0, block
                continue
            here = which[start : start + len(block.y)]
            start += len(block.y)
            for i in np.unique(here):
                yield int(i), block.rows(np.flatnonzero(here == i))

    def accumulate(self, of_block: Callable[[Block], tuple[Array, ...]], width: int = 1) -> tuple[Array, ...]:
        """The float64 sums over blocks of the arrays that a function makes of each.

        `width` numbers per row, which the function makes on the way, have to fit into memory beside a block.
        """
        totals: tuple[Array, ...] = ()
        rows = block_rows(self.views, block_bytes=LARGE_BLOCK_BYTES)
        for block in self.blocks(max(16, min(rows, LARGE_BLOCK_BYTES // (8 * width)))):
            parts = of_block(block)
            totals = totals or tuple(np.zeros(part.shape) for part in parts)
            for total, part in zip(totals, parts, strict=True):
                total += part
        return totals

"""The local engine: arrays in memory, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from jointdr.arrays import Array, Scratch, is_sparse
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


class Block(NamedTuple):
    """Some rows of every view, of the response and of the weights."""

    views: tuple[Array, ...]
    y: Array
    weight: Array | None


class Rows:
    """Rows in memory that can be read again and again, block by block.

    Parameters
    ----------
    views : sequence of (m, n_k) arrays
    y : (m,) float64 array
    weight : (m,) float64 array or None
    """

    def __init__(self, views: Sequence[Array], y: Array, weight: Array | None = None) -> None:
        self.views = tuple(views)
        self.y = y
        self.weight = weight

    def __len__(self) -> int:
        return int(self.views[0].shape[0])

    def select(self, columns: Sequence[Array]) -> Rows:
        """The same rows with the chosen features of each view only (copied)."""
        views = [X[:, at] for X, at in zip(self.views, columns, strict=True)]
        return Rows(views, self.y, self.weight)

    def centred(self) -> Rows:
        """The same rows with the mean of y taken off."""
        if np.ptp(self.y) == 0:
            return Rows(self.views, np.zeros_like(self.y), self.weight)
        y = self.y - np.average(self.y, weights=self.weight)
        # The mean is rounded to its own precision; the mean of what is left removes the rest.
        return Rows(self.views, y - np.average(y, weights=self.weight), self.weight)

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
            return moments.relabelled(np.average(self.y, weights=self.weight))
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
            pilot = pilot or {"center": part.centers}
            yield part

    def accumulate(self, of_block: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        """The float64 sums over blocks of the arrays that a function makes of each."""
        totals: tuple[Array, ...] = ()
        for block in self.blocks(block_rows(self.views, block_bytes=LARGE_BLOCK_BYTES)):
            parts = of_block(block)
            totals = totals or tuple(np.zeros(part.shape) for part in parts)
            for total, part in zip(totals, parts, strict=True):
                total += part
        return totals

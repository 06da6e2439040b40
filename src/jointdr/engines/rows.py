"""The local engine: arrays in memory, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jointdr.engines.reduction import (
    Groups,
    MomentsOf,
    MomentsOfGroups,
    RandomParts,
    Reduction,
    RowBlock,
    State,
    SumsOf,
    WithoutGroup,
)
from jointdr.moments import Moments
from jointdr.runtime import Array, is_accelerated, is_sparse, memory, take_columns

BLOCK_BYTES = 1_000_000  # a dense block of this size stays in a core's cache between centring and the products
LARGE_BLOCK_BYTES = 32_000_000  # blocks that are not copied to be centred: each costs one addition to the result
ACCELERATOR_BLOCK_BYTES = 1_000_000_000  # in its own memory: large enough for products to be most of the time
FEWEST_ROWS = 256  # rows in a block of very wide data, where the cache cannot hold enough of them
BLOCK_SHARE = 0.05  # of the memory budget, at most, for a block: a few are held at a time, with what is made of them
SKETCH = "JDR with solver='randomized' and normalize='feature', which does not form n × n matrices"


def block_rows(views: Sequence[Array], minimum: int = FEWEST_ROWS, block_bytes: int = BLOCK_BYTES) -> int:
    """Rows per block: as many as fit `block_bytes`, but at least `minimum` if the memory budget allows it.

    On an accelerator, which has memory of its own, there are more.
    """
    accelerated = any(map(is_accelerated, views))
    if accelerated:
        block_bytes = ACCELERATOR_BLOCK_BYTES
    fitting = (
        LARGE_BLOCK_BYTES // max(1, 12 * X.nnz // max(1, X.shape[0]))
        if is_sparse(X)
        else block_bytes // (8 * X.shape[1])
        for X in views
    )
    rows = max(minimum, min(fitting))
    return rows if accelerated else max(1, min(rows, memory.within(2**62, BLOCK_SHARE) // _row_bytes(views)))


def _row_bytes(views: Sequence[Array]) -> int:
    """Bytes of a row of the widest view, dense or as stored."""
    return max(12 * X.nnz // max(1, X.shape[0]) + 1 if is_sparse(X) else 8 * X.shape[1] for X in views)


def require_state(nbytes: float, views: Sequence[Array], instead: str = SKETCH) -> None:
    """Raise if the memory budget has no room for sums of so many bytes, those of a block, and what is made of them."""
    counts = " and ".join(str(X.shape[1]) for X in views)
    memory.require(2.5 * nbytes, f"The sums of products of {counts} features", f"select features first, use {instead}")


def _spreads(y: Array) -> Array:
    """The largest minus the smallest value of each response, (q,)."""
    return np.atleast_1d(np.ptp(y.ravel())) if y.shape[1] == 1 else np.ptp(y, axis=0)


class Rows:
    """Rows in memory that can be read again and again, block by block.

    Parameters
    ----------
    views : sequence of (m, n_k) arrays
    y : (m, q) float64 array
    weight : (m,) float64 array or None
    """

    rereadable = True
    block_bytes = BLOCK_BYTES  # how much of a view is centred and multiplied at a time
    knows_mean = True  # whether the mean of y can be had for less than a read of everything

    def __init__(self, views: Sequence[Array], y: Array, weight: Array | None = None) -> None:
        self.views = tuple(views)
        self.y = y if y.ndim == 2 else y[:, None]
        self.weight = weight

    def __len__(self) -> int:
        return int(self.views[0].shape[0])

    @property
    def n_responses(self) -> int:
        return int(self.y.shape[1])

    def select(self, columns: Sequence[Array]) -> Rows:
        """The same rows with the chosen features of each view only (copied)."""
        views = [take_columns(X, at) for X, at in zip(self.views, columns, strict=True)]
        return Rows(views, self.y, self.weight)

    def with_responses(self, of_block: Callable[[RowBlock], Array]) -> Rows:
        """The same rows with the (rows, q) responses that a function makes of each block."""
        size = block_rows(self.views, block_bytes=LARGE_BLOCK_BYTES)
        return Rows(self.views, np.concatenate([of_block(block) for block in self.blocks(size)]), self.weight)

    def without(self, groups: Groups, i: int) -> Rows:
        """The same rows, of which those of one group weigh nothing."""
        block = RowBlock(self.views, self.y, self.weight)
        return Rows(self.views, self.y, WithoutGroup(groups, i)(block).weight)

    def root_mean_square(self) -> float:
        """√(Σ w ‖y‖² / Σ w)."""
        return float(np.sqrt(np.average(np.sum(self.y**2, axis=1), weights=self.weight)))

    def y_mean(self) -> Array:
        """The weighted mean of each response, (q,)."""
        return np.average(self.y, axis=0, weights=self.weight)

    def total_weight(self) -> float:
        """Σ w, the number of rows where there are no weights."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    def varies(self) -> bool:
        """Whether a response takes more than one value in rows of positive weight."""
        return bool(_spreads(self.y if self.weight is None else self.y[self.weight > 0]).any())

    def centred(self) -> Rows:
        """The same rows with the mean of y taken off."""
        y = self.y - np.where(_spreads(self.y) > 0, self.y_mean(), self.y[0])
        # The mean is rounded to its own precision; the mean of what is left removes the rest.
        y -= np.average(y, axis=0, weights=self.weight)
        return Rows(self.views, y, self.weight)

    def pilot(self, groups: Groups | None = None) -> dict[str, Any]:
        """Where sums are centred, as keywords of `Moments.of_block`, if that is not left to the first block."""
        return {}

    def blocks(self, size: int) -> Iterator[RowBlock]:
        """Blocks of at most this many rows, without copies."""
        return RowBlock(self.views, self.y, self.weight).pieces(size)

    def reduce(self, reduction: Reduction[State], size: int) -> State:
        """The state of a reduction of all rows, in one read, at most `size` of them at a time."""
        require_state(reduction.nbytes, self.views)
        return reduction(self.blocks(size))

    def moments(self, **keep: Any) -> Moments:
        """The moments of all rows in one read; keywords as in `Moments.of_block`.

        T_ayb without the cross covariance needs the mean of y before, which takes a read of y alone.
        """
        blocks = keep.get("blocks", ("cross",))
        if "cross" in blocks and not keep.get("cross_covariance", True) and "y_center" not in keep:
            return self.centred().moments(**keep, y_center=0.0).relabelled(self.y_mean())
        square = blocks or keep.get("covariance") == "full"
        fewest = 4 * max(X.shape[1] for X in self.views) if square else FEWEST_ROWS
        size = block_rows(self.views, fewest, self.block_bytes)
        return self.reduce(MomentsOf({**self.pilot(), **keep}, self._moments_bytes(keep)), size)

    def fold_moments(self, n_folds: int, first_row: int = 0, seed: int = 0, **keep: Any) -> list[Moments]:
        """The moments of each of `n_folds` random parts of the rows, in one read; **keep as in `moments`.

        `first_row` is the index of the first row here among all rows, so that a stream is cut like one array.
        """
        return self.group_moments(RandomParts(n_folds, seed, first_row), n_folds, **keep)

    def group_moments(self, groups: Groups, n_groups: int, **keep: Any) -> list[Moments]:
        """The moments of the rows of each group, which may be empty, in one read; **keep as in `moments`.

        O(m n²) for all groups together.
        """
        nbytes = n_groups * self._moments_bytes(keep)
        reduction = MomentsOfGroups(groups, n_groups, {**self.pilot(groups), **keep}, nbytes)
        fewest = n_groups * 4 * max(X.shape[1] for X in self.views)
        return self.reduce(reduction, block_rows(self.views, fewest, self.block_bytes))

    def accumulate(
        self, of_block: Callable[[RowBlock], tuple[Array, ...]], width: int = 1, nbytes: int = 0
    ) -> tuple[Array, ...]:
        """The float64 sums over blocks of the arrays that a function makes of each, `nbytes` in all.

        `width` numbers per row, which the function makes on the way, have to fit into memory beside a block.
        """
        return self.reduce(SumsOf(of_block, nbytes), self.large_block_rows(width))

    def large_block_rows(self, width: int = 1) -> int:
        """Rows of a block that is not copied to be centred, where so many numbers per row are made on the way."""
        rows = block_rows(self.views, block_bytes=LARGE_BLOCK_BYTES)
        accelerated = any(map(is_accelerated, self.views))
        most = ACCELERATOR_BLOCK_BYTES if accelerated else memory.within(LARGE_BLOCK_BYTES, BLOCK_SHARE)
        return max(16, min(rows, most // (8 * width)))

    def _moments_bytes(self, keep: dict[str, Any]) -> int:
        """About how large moments are: covariances, and as much for each response."""
        if keep.get("covariance", "full") != "full" and "cross" not in keep.get("blocks", ("cross",)):
            return 0
        responses = self.n_responses if keep.get("blocks", ("cross",)) else 0
        return 8 * sum(X.shape[1] for X in self.views) ** 2 * (1 + responses)

"""The streaming engine: rows of a source, read a block at a time by as many threads as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import chain
from typing import Any

import joblib
import numpy as np

from jointdr.engines.lanes import Lanes, Step, Task, Told, ahead, apply_steps
from jointdr.engines.passes import FirstNotFinite, Gather, Labels, Summarize, Summary
from jointdr.engines.reduction import Groups, Reduction, RowBlock, State, SumsOf, WithoutGroup
from jointdr.engines.rows import FEWEST_ROWS, Rows, require_state
from jointdr.engines.source import Source
from jointdr.runtime import Array, is_sparse, memory

READ_BYTES = 8_000_000  # a block that is read is about this large; what is reduced at a time may be less
MOST_READ_BYTES = 64_000_000  # reductions of wide views ask for more rows at a time, but not for more than this

# Of the memory budget, for the blocks that all threads read at a time, each some fifteen; wide ones may be twice that.
READ_SHARE = 0.03
RESPONSE_ROWS = 100_000  # how many responses are read at a time where no view is


class Stream(Rows):
    """Rows of a source, with the same reductions as `Rows` in memory.

    Parameters
    ----------
    source : Source
    steps : tuple of callables
        What makes the blocks that are reduced of those that the source has, one after the other.
    """

    block_bytes = 4_000_000  # more than in memory: every block takes steps under the lock that all threads share

    def __init__(self, source: Source, steps: tuple[Step, ...] = ()) -> None:
        self.source, self.steps = source, steps
        self.views = source.templates
        if hasattr(source.engine, "template"):  # blocks are reduced as arrays of another library
            self.views = tuple(map(source.engine.template, self.views))

    def __len__(self) -> int:
        return self.summary.n_rows if self.source.n_rows is None else self.source.n_rows

    @cached_property
    def head(self) -> RowBlock:
        """The first rows, with their responses."""
        return apply_steps(self.source.head(), self.steps)

    @property
    def n_responses(self) -> int:
        return int(self.head.y.shape[1]) if self.head.y.ndim > 1 else 1

    def pilot(self, groups: Groups | None = None) -> dict[str, Any]:
        """The mean of the first rows: one centre for all threads and workers.

        Sums of single precision are rounded block by block, so that with it they do not depend on who reduces what.
        """
        head = self.head if groups is None else groups(self.head)[1]
        center = tuple(  # in the precision of the rows, in which it is taken off
            np.zeros(X.shape[1]) if is_sparse(X) else np.mean(X, axis=0, dtype=float).astype(X.dtype.newbyteorder("="))
            for X in head.views
        )
        return {"center": center, "y_center": np.where(np.isfinite(head.y), head.y, 0.0).mean(axis=0)}

    @property
    def rereadable(self) -> bool:  # type: ignore[override]
        return self.source.rereadable

    @property
    def knows_mean(self) -> bool:  # type: ignore[override]
        return self.source.separable

    @cached_property
    def summary(self) -> Summary:
        """A summary of y, by a read of y alone."""
        return self._run(Summarize.of(self.source.n_rows), RESPONSE_ROWS, views=False)

    def select(self, columns: Sequence[Array]) -> Stream:
        return Stream(self.source.select(columns), self.steps)

    def with_responses(self, of_block: Callable[[RowBlock], Array]) -> Stream:
        return Stream(self.source, (*self.steps, Responding(of_block)))

    def without(self, groups: Groups, i: int) -> Stream:
        return Stream(self.source, (*self.steps, WithoutGroup(groups, i)))

    def root_mean_square(self) -> float:
        total, weight = self._run(SumsOf(_squares), RESPONSE_ROWS, views=False)
        return float(np.sqrt(total / weight))

    def y_mean(self) -> Array:
        return self.summary.mean

    def total_weight(self) -> float:
        return self.summary.weight

    def varies(self) -> bool:
        return bool(np.any(self.summary.highest > self.summary.lowest))

    def centred(self) -> Stream:
        s = self.summary
        constant = s.highest == s.lowest
        shifts = (np.where(constant, s.lowest, s.center), np.where(constant, 0.0, s.sum / (s.weight or 1.0)))
        return self.with_responses(Shifted(shifts))

    def blocks(self, size: int) -> Iterator[RowBlock]:
        task = Task(None, self.steps, self._read_rows(size), size)
        leaves = (leaf.blocks(task.rows) for leaf in self.source.leaves())
        return task.prepared(ahead(chain.from_iterable(leaves)), Told(self.source.watch))

    def reduce(self, reduction: Reduction[State], size: int) -> State:
        return self._run(reduction, size, views=True)

    def gathered(self) -> tuple[Array, Array | None]:
        """The response and the weights of all rows, in memory: 8 bytes a row, or 16."""
        if self.source.n_rows is not None:
            nbytes = 16 * self.source.n_rows * (2 if self.source.has_weight else 1)  # the parts, and the whole of them
            instead = "give the edges= of slices, or transform y before it is written"
            memory.require(nbytes, f"The responses of {self.source.n_rows} rows", instead)
        held = self._run(Gather(), RESPONSE_ROWS, views=False)
        parts = [held[start] for start in sorted(held)]
        weights = [w for _, w in parts if w is not None]
        return np.concatenate([y for y, _ in parts]), np.concatenate(weights) if weights else None

    def labels(self) -> tuple[Array, int]:
        return self._run(Labels(), RESPONSE_ROWS, views=False)

    def raise_if_not_finite(self) -> None:
        """Name the first view, column and place that holds NaN or infinity; one more read."""
        source = self.source
        if not source.rereadable:
            raise ValueError("A view contains NaN or infinity. Drop those rows, or fill them in, before they are read.")
        row, k, j, value = self._run(FirstNotFinite(), FEWEST_ROWS, views=True)
        if row < 0:
            return
        names = source.feature_names[k]
        raise ValueError(
            f"Input view {source.names[k]!r} contains {'NaN' if np.isnan(value) else 'infinity'} (first in column "
            f"{j if names is None else names[j]!r} of {source.place(row)}). Drop those rows, or fill them in, before "
            "they are read."
        )

    def _run(self, reduction: Any, size: int, views: bool) -> Any:
        source = self.source
        engine = Lanes() if source.engine is None else source.engine
        require_state(reduction.nbytes, source.templates)
        rows = self._read_rows(size) if views else RESPONSE_ROWS
        held = source.reader_bytes if views and source.engine is None else 0  # others read elsewhere, or in one thread
        memory.require(held, f"Pages of the columns of {source!r}", "write the files with smaller row groups or pages")
        task = Task(reduction, self.steps, rows, size, views, held)
        watch = source.watch if views else None
        if source.checkpoint is None or not views:
            state = engine.run(task, source.leaves(), watch)
        else:
            state = source.checkpoint.run(engine, task, source, watch)
        if state is None:
            raise ValueError(f"{source!r} has no rows.")
        return state

    def _read_rows(self, size: int) -> int:
        """Rows that are read at a time: whole numbers of what is reduced at a time, where that fits."""
        width = max(1, self.source.row_bytes)
        if self.source.engine is not None and self.source.engine.block_bytes:
            return max(FEWEST_ROWS, int(self.source.engine.block_bytes) // width)
        usual = memory.within(READ_BYTES, READ_SHARE / joblib.cpu_count())
        most = memory.within(MOST_READ_BYTES, 2 * READ_SHARE / joblib.cpu_count())
        size = max(1, min(size, most // width))
        return max(1, min(FEWEST_ROWS, most // width), size, usual // width // size * size)


def _squares(block: RowBlock) -> tuple[Array, Array]:
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return weight @ np.sum(block.y**2, axis=1), weight.sum()


@dataclass(frozen=True)
class Responding:
    """A step that gives a block the response that a function makes of it."""

    of_block: Callable[[RowBlock], Array]

    @property
    def needs_views(self) -> bool:
        return bool(getattr(self.of_block, "needs_views", False))

    def __call__(self, block: RowBlock) -> RowBlock:
        return replace(block, y=self.of_block(block))


@dataclass(frozen=True)
class Shifted:
    """y minus some vectors, one after the other: a mean that is rounded to its own size, and what is left of it."""

    shifts: tuple[Array, ...]

    def __call__(self, block: RowBlock) -> Array:
        return reduce(np.subtract, self.shifts, block.y)

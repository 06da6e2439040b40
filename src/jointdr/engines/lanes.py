"""Lanes: leaves of a source are read and reduced by as many threads as there are cores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from jointdr.engines.reduction import RowBlock
from jointdr.runtime import is_sparse, memory

READERS_SHARE = 0.5  # the share of the memory budget that all readers may take beside the blocks that they give
STATE_BYTES = 1_000_000_000  # of all threads together; beyond it fewer threads reduce, with more BLAS threads each

T = TypeVar("T")
Step = Callable[[RowBlock], RowBlock]  # gives a block another response, or other weights


def ahead(blocks: Iterator[T]) -> Iterator[T]:
    """The same blocks; the next one is read in a thread while the current one is used."""
    return _read_by_a_thread(blocks, lambda waited, computed: True)


def ahead_of_waits(blocks: Iterator[T]) -> Iterator[T]:
    """The same blocks, read `ahead` from when reading turns out to wait more than it computes, for a disk or a network.

    Until then they are read and used in turn: where every core has such a pair of threads, two that work only compete.
    """
    return _read_by_a_thread(blocks, lambda waited, computed: waited > computed)


def _read_by_a_thread(blocks: Iterator[T], is_early: Callable[[float, float], bool]) -> Iterator[T]:
    """The same blocks, all of them read by one thread, which ends with them.

    Allocators keep what a thread has freed for that thread: if two threads read one after the other, memory is held
    twice. `is_early` decides by the seconds of waiting and of computation whether the next block is read ahead.
    """

    def read() -> tuple[T | None, float, float]:
        began, busy = time.perf_counter(), time.thread_time()
        block = next(blocks, None)
        computed = time.thread_time() - busy
        return block, max(0.0, time.perf_counter() - began - computed - 1e-3), computed  # 1 ms is no wait

    reader = ThreadPoolExecutor(1)
    waited = computed = 0.0
    early = False
    try:
        coming = reader.submit(read)
        while True:
            block, *spent = coming.result()
            if block is None:
                return
            waited, computed = 0.8 * waited + spent[0], 0.8 * computed + spent[1]  # of the last few blocks
            early = early or is_early(waited, computed)
            if early:
                coming = reader.submit(read)
            yield block
            del block
            if not early:
                coming = reader.submit(read)
    finally:
        reader.shutdown(wait=False)  # where a reduction has failed, this may run in the reader itself


@dataclass(frozen=True)
class Task:
    """The work on some leaves: a small value that can be sent to where they are read.

    Parameters
    ----------
    reduction : Reduction
    steps : tuple of callables
        They make the blocks that are reduced from those that are read.
    rows : int
        How many are read at a time.
    size : int
        How many are reduced at a time.
    views : bool
        Whether views are read, or the response alone.
    reader_bytes : int
        Memory of one reader beside the blocks that it gives.
    """

    reduction: Any
    steps: tuple[Step, ...]
    rows: int
    size: int
    views: bool = True
    reader_bytes: int = 0

    def __call__(
        self,
        leaves: Sequence[Any],
        watch: Callable[[RowBlock], object] | None = None,
        early: Callable[[Iterator[RowBlock]], Iterator[RowBlock]] | None = None,
        placed: Callable[[Iterator[RowBlock]], Iterator[RowBlock]] | None = None,
    ) -> Any:
        """The state of these leaves; None if they have no rows.

        `early` reads blocks while others are reduced; `placed` moves blocks to where they are reduced.
        """
        read = (leaf.blocks(self.rows) if self.views else leaf.responses(self.rows) for leaf in leaves)
        blocks: Iterator[RowBlock] = chain.from_iterable(read)
        blocks = blocks if early is None else early(blocks)
        blocks = self.prepared(blocks if placed is None else placed(blocks), watch)
        with np.errstate(all="ignore"):  # what overflows shows in the state
            first = list(islice(blocks, 1))
            return self.reduction(_first_and_rest(first, blocks)) if first else None

    def prepared(self, blocks: Iterator[RowBlock], watch: Callable[[RowBlock], object] | None) -> Iterator[RowBlock]:
        for block in blocks:
            if len(block.y):
                for piece in block.pieces(self.size):
                    yield apply_steps(piece, self.steps)
            if watch is not None:
                watch(block)

    def merge(self, one: Any, two: Any) -> Any:
        if one is None or two is None:
            return two if one is None else one
        return self.reduction.merge(one, two)


def _first_and_rest(first: list[T], rest: Iterator[T]) -> Iterator[T]:
    """The one block of a list, and others: nobody holds it when the next one is read."""
    yield first.pop()
    yield from rest


def apply_steps(block: RowBlock, steps: Iterable[Step]) -> RowBlock:
    """A block with the responses and weights that some steps make of it, one after the other."""
    return reduce(lambda done, step: step(done), steps, block)


class Lanes:
    """The engine of one machine: every thread reads and reduces leaves of its own, with its share of BLAS threads.

    That way reading, decoding, centring and products all use all cores, and never more threads than there are cores
    work at a time, but for those that wait for the disk. The result depends on the number of cores in the last digits
    only, and not on which thread is faster.
    """

    block_bytes = 0  # how much is read at a time; 0 leaves that to what is reduced at a time

    def width(self) -> int:
        return int(joblib.cpu_count())

    def run(self, task: Task, leaves: Sequence[Any], watch: Any = None) -> Any:
        cores = self.width()
        most = max(1, memory.within(STATE_BYTES, 0.5) // max(1, 2 * task.reduction.nbytes))
        if task.reader_bytes:
            most = max(1, min(most, memory.within(2**62, READERS_SHARE) // task.reader_bytes))
        lanes = max(1, min(cores, len(leaves), most))
        told = Told(watch)
        with _blas_threads(cores // lanes) if lanes > 1 else nullcontext(), ThreadPoolExecutor(lanes) as pool:
            jobs = [pool.submit(task, leaves[i::lanes], told, ahead_of_waits) for i in range(lanes)]
            try:
                failed = [job for job in wait(jobs, return_when=FIRST_EXCEPTION).done if job.exception() is not None]
                return reduce(task.merge, [job.result() for job in failed or jobs])
            finally:
                told.stop = True  # where one thread has failed, the others end at their next block


class Told:
    """Tells `watch` of every block that was reduced, from one thread at a time."""

    def __init__(self, watch: Any) -> None:
        self.watch, self.stop = watch, False
        self._lock = threading.Lock()

    def __call__(self, block: RowBlock) -> None:
        if self.stop:
            raise RuntimeError("Another thread has failed.")
        if self.watch is not None:
            nbytes = sum(X.data.nbytes if is_sparse(X) else X.nbytes for X in block.views)
            with self._lock:
                self.watch(len(block.y), nbytes)


def _blas_threads(n: int) -> Any:
    """At most n threads for every product, and never more than there were."""
    held = [pool["num_threads"] for pool in threadpool_info() if pool.get("user_api") == "blas"]
    return threadpool_limits(min([n, *held]), user_api="blas")

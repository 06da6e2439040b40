"""Threads that read and reduce leaves: when they read ahead, and how many there are within a memory budget."""

from __future__ import annotations

import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from jointdr import config_context
from jointdr.engines import lanes
from jointdr.engines.reduction import RowBlock, SumsOf


@pytest.mark.parametrize("waits", [True, False])
def test_blocks_are_read_ahead_where_reading_waits(waits, monkeypatch):
    """By a clock of its own, so that the load of the machine does not count; all blocks are read by one thread."""
    clock = SimpleNamespace(now=0.0, busy=0.0)
    fake = SimpleNamespace(perf_counter=lambda: clock.now, thread_time=lambda: clock.busy)
    monkeypatch.setattr(lanes, "time", fake)
    readers, begun = [], [threading.Event() for _ in range(31)]

    def read():
        for i in range(30):
            begun[i].set()
            clock.now += 0.02
            clock.busy += 0.005 if waits else 0.02
            readers.append(threading.current_thread())
            yield i

    for i, block in enumerate(lanes.ahead_of_waits(read())):
        assert block == i
        if waits and i < 29:
            assert begun[i + 1].wait(300)
        else:
            assert not begun[i + 1].is_set()
    assert len(readers) == 30
    assert len(set(readers)) == 1
    assert readers[0] is not threading.current_thread()


@pytest.mark.parametrize(("early", "allowed"), [(lanes.ahead_of_waits, 2), (lanes.ahead, 3)])
def test_a_block_is_not_held_when_others_are_read(early, allowed, monkeypatch):
    """One block is in use while the next is read: row groups that are read whole do not pile up."""
    monkeypatch.setattr(lanes, "time", SimpleNamespace(perf_counter=lambda: 0.0, thread_time=lambda: 0.0))
    held, most = [], [0]

    class Leaf:
        def blocks(self, size):
            for i in range(8):
                X = np.full((2, 1), float(i))
                held.append(weakref.ref(X))
                most[0] = max(most[0], sum(ref() is not None for ref in held))
                yield RowBlock((X,), np.zeros((2, 1)), None, 2 * i)
                del X

    task = lanes.Task(SumsOf(lambda block: (np.array(float(block.views[0].sum())),)), (), 2, 10)
    assert task([Leaf()], None, early)[0] == 56
    assert most[0] <= allowed
    assert not any(ref() is not None for ref in held)


@pytest.mark.parametrize(("budget", "threads"), [("200 MB", 4), ("70 MB", 3), ("20 MB", 1), ("1 MB", 1)])
def test_readers_keep_to_their_share_of_the_budget(budget, threads, monkeypatch):
    """Four cores, and readers that hold 10 MB each: half of the budget is theirs, and one there always is."""
    monkeypatch.setattr(lanes.Lanes, "width", lambda self: 4)
    seen, all_here = set(), threading.Barrier(threads, timeout=20)

    class Leaf:
        def blocks(self, size):
            seen.add(threading.current_thread())
            all_here.wait()
            yield RowBlock((np.ones((3, 1)),), np.zeros((3, 1)), None)

    task = lanes.Task(SumsOf(lambda block: (np.array(float(len(block))),)), (), 3, 3, reader_bytes=10_000_000)
    with config_context(memory_budget=budget):
        (rows,) = lanes.Lanes().run(task, [Leaf() for _ in range(threads)] if threads > 1 else [Leaf(), Leaf()])
    assert rows == 3 * max(2, threads)
    assert len(seen) == threads

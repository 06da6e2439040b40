"""Peak resident memory of a job, sampled from another thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def peak_above(job: Callable[[], object], every: float = 0.001) -> int:
    """Bytes of resident memory that a job takes at most above what was resident when it began."""
    done = threading.Event()
    peak = 0

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident())
            time.sleep(every)

    start = resident()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        job()
    finally:
        done.set()
        watcher.join()
    return max(0, peak - start)

"""A progress bar for long work, on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """Counts steps: a bar with the time left in a terminal (if rich is installed), otherwise now and then a line.

    Parameters
    ----------
    total : int
        The number of steps.
    label : str
    shown : bool, optional
        By default only in a terminal.
    """

    def __init__(self, total: int, label: str, shown: bool | None = None) -> None:
        self.total, self.label, self.done = max(total, 1), label, 0
        self.shown = sys.stderr.isatty() if shown is None else shown
        self._bar: Any = None
        self._task: Any = None
        self._started = self._last = time.monotonic()

    def __enter__(self) -> Self:
        if self.shown and sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import Progress as Bar
            except ImportError:
                return self
            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.label, total=self.total)
        return self

    def step(self, count: int = 1) -> None:
        """So many steps are done."""
        self.done += count
        if self._bar is not None:
            self._bar.advance(self._task, count)
        elif self.shown and time.monotonic() - self._last > 5:
            self._last = time.monotonic()
            left = (self._last - self._started) * (self.total - self.done) / self.done
            print(f"{self.label}: {self.done} of {self.total}, about {left:.0f} s left", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

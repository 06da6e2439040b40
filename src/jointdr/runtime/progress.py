"""Progress and remaining time, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from threading import Lock
from typing import Any, Self

Report = Callable[[str, float, float], None]  # gets what is being done, the share that is done, and the seconds left

SILENCE = 5.0  # seconds before the first line of plain text, and between two of them

_SHOWN = Lock()  # held by the one bar that is shown; what goes on inside of it is silent


class Progress:
    """Counts steps, and reports the time left as if all took the same.

    Parameters
    ----------
    total : int
        The number of steps.
    label : str
    shown : bool, optional
        As `reporter` has it; by default only in a terminal.
    """

    def __init__(self, total: int, label: str, shown: bool | None = None) -> None:
        self.total, self.label, self.done = max(total, 1), label, 0
        self._started = time.monotonic()
        self._reporter: AbstractContextManager[Report] = reporter(sys.stderr.isatty() if shown is None else shown)

    def __enter__(self) -> Self:
        self._report = self._reporter.__enter__()
        return self

    def step(self, count: int = 1) -> None:
        self.done += count
        left = (time.monotonic() - self._started) * (self.total - self.done) / max(self.done, 1)
        self._report(f"{self.label}: {self.done} of {self.total}", self.done / self.total, left)

    def __exit__(self, *error: Any) -> None:
        self._reporter.__exit__(*error)


@contextmanager
def reporter(progress: bool | Callable[[str], None]) -> Iterator[Report]:
    """The report that `progress` asks for: False is silence, a function gets lines of text, True means standard error.

    There it is a bar if it is a terminal and rich is installed, and now and then a line of text otherwise. Inside of
    another one that goes to standard error there is silence.
    """
    if callable(progress):
        yield _lines(progress, silence=0.0)
    elif not progress or not _SHOWN.acquire(blocking=False):
        yield lambda doing, share, left: None
    else:
        try:
            if sys.stderr.isatty() and find_spec("rich"):
                with _bar() as report:
                    yield report
            else:
                yield _lines(lambda line: print(line, file=sys.stderr, flush=True), SILENCE)
        finally:
            _SHOWN.release()


def duration(seconds: float) -> str:
    """A time for people: 40 s, 12 min, 2 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _lines(write: Callable[[str], None], silence: float) -> Report:
    last = time.monotonic()  # what takes no longer than that needs no line before the last

    def report(doing: str, share: float, left: float) -> None:
        nonlocal last
        now = time.monotonic()
        if share >= 1 or now - last >= silence:
            last = now
            write(f"{share:4.0%}  {duration(left):>10} left  {doing}")

    return report


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(), TextColumn("{task.percentage:3.0f} %  {task.fields[left]} left  {task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, left="?")
        yield lambda doing, share, left: bar.update(task, completed=share, description=doing, left=duration(left))

"""How far a long run is, and how long it will still take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

Report = Callable[[str, float, float], None]
"""Called with what is being done, the share that is done, and the seconds that are left."""

SILENCE = 10.0
"""Seconds between two lines of plain text."""


@contextmanager
def reporter(progress: bool | Callable[[str], None]) -> Iterator[Report]:
    """What `progress` stands for: False is silence, a function gets lines of text, True means standard error.

    There it is a bar if it is a terminal and rich is installed, and lines of text otherwise.
    """
    if callable(progress):
        yield _lines(progress, silence=0.0)
    elif not progress:
        yield lambda doing, share, left: None
    elif sys.stderr.isatty() and find_spec("rich"):
        with _bar() as report:
            yield report
    else:
        yield _lines(lambda line: print(line, file=sys.stderr, flush=True), SILENCE)


def duration(seconds: float) -> str:
    """A time for people: 40 s, 12 min, 2 h 05 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _lines(write: Callable[[str], None], silence: float) -> Report:
    last = -float("inf")

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
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1.0, left="?")
        yield lambda doing, share, left: bar.update(task, completed=share, description=doing, left=duration(left))

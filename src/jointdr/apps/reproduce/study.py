"""The parts of a reproduction: studies that are measured, and figures that draw and judge them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jointdr._version import __version__
from jointdr.apps.reproduce.paper_values import Plotted
from jointdr.runtime import Array

RECIPE = 1  # counts changes of code that change numbers: results of an earlier recipe are not used again


@dataclass(frozen=True)
class Study:
    """A measurement that is repeated, each time with its own seed.

    Parameters
    ----------
    name : str
        Unique; the seeds and the folder in the cache come from it.
    varies : str
        The size that changes along x.
    x : tuple of numbers
    curves : tuple of str
    measure : callable
        Seed → (curves, x) array. Has to be picklable, and to depend on nothing but the seed and `settings`.
    settings : mapping
        All that the numbers depend on, as JSON values: when it changes, cached results no longer count.
    seconds : float
        About how long one repetition takes on one core; for the order of work and the first guess of the time left.
    repetitions, fast_repetitions : int
        Their number by default, and with ``fast``.
    stream : str, optional
        Studies with the same stream have the same seeds, so that they see the same random partitions; by default each
        has its own.
    alone : bool
        Whether it measures time, and has to run when nothing else does. Then it stays in this process.
    """

    name: str
    varies: str
    x: tuple[float, ...]
    curves: tuple[str, ...]
    measure: Callable[[int], Array]
    settings: Mapping[str, Any]
    seconds: float = 1.0
    repetitions: int = 100
    fast_repetitions: int = 10
    stream: str | None = None
    alone: bool = False

    @property
    def key(self) -> str:
        """A hash of the settings and of the recipe."""
        parts: list[Any] = [RECIPE, __version__, self.name, self.varies, self.x, self.curves, self.settings]
        parts += [] if self.stream is None else [self.stream]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def seed(self, repetition: int) -> int:
        """The seed of a repetition. It does not depend on which others are made, or where, or when."""
        entropy = int.from_bytes(hashlib.sha256((self.stream or self.name).encode()).digest()[:16], "big")
        return int(np.random.SeedSequence(entropy, spawn_key=(repetition,)).generate_state(1, np.uint64)[0])

    def wanted(self, repetitions: int | None, fast: bool) -> int:
        """The number of repetitions that are asked for."""
        by_default = self.fast_repetitions if fast else self.repetitions
        return by_default if repetitions is None else repetitions


@dataclass(frozen=True)
class Line:
    """One line of a panel: a curve of a study, with the paper's values where there are any.

    `tolerance` is how far apart ours and the paper's logarithms may be at any point.
    """

    label: str
    study: Study
    curve: str
    colour: str = "tab:blue"
    plotted: Plotted | None = None
    tolerance: float | None = None


class Panel(NamedTuple):
    """Lines that are drawn together, below a title."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Figure:
    """Panels in rows of `columns`, by the name under which they are reproduced."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    columns: int
    quantity: str = "mean NSEE"

    @property
    def lines(self) -> list[tuple[Panel, Line]]:
        return [(panel, line) for panel in self.panels for line in panel.lines]

    @property
    def studies(self) -> tuple[Study, ...]:
        return tuple({line.study.name: line.study for _, line in self.lines}.values())

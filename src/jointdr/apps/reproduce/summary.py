"""Verdicts: the distance of curves from repetitions to the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jointdr.apps.reproduce.paper_values import REPETITIONS
from jointdr.apps.reproduce.study import Line
from jointdr.plot import Curve, reach
from jointdr.runtime import Array

Answer = Literal["ok", "unclear", "no"]


def slope(x: Sequence[float], log_y: Sequence[float] | Array) -> float:
    """The slope of the straight line through (log x, log y)."""
    return float(np.polyfit(np.log(x), log_y, 1)[0])


@dataclass(frozen=True)
class Verdict:
    """Ours against the paper's, at every point of a line.

    Attributes
    ----------
    figure, panel, line : str
    curve : Curve
        Ours.
    plotted : (K,) array
        The paper's logarithms.
    tolerance : float
    """

    figure: str
    panel: str
    line: str
    curve: Curve
    plotted: Array
    tolerance: float

    @property
    def difference(self) -> Array:
        """Ours − the paper's, at each x."""
        return self.curve.log_mean - self.plotted

    @property
    def error(self) -> Array:
        """The Monte-Carlo error of the difference: ours, and that of the paper's own repetitions, taken to be alike."""
        return self.curve.error * np.sqrt(1 + self.curve.repetitions / REPETITIONS)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """At each x: ok within the tolerance; unclear if its 95 % interval reaches into the tolerance; no otherwise."""
        excess = np.abs(self.difference) - self.tolerance
        chance = np.nan_to_num(reach(self.curve.repetitions) * self.error, nan=np.inf)
        return tuple("ok" if e <= 0 else "unclear" if e <= c else "no" for e, c in zip(excess, chance, strict=True))

    @property
    def answer(self) -> Answer:
        """The worst of the points."""
        order: tuple[Answer, ...] = ("no", "unclear", "ok")
        return next(answer for answer in order if answer in self.answers)

    @property
    def worst(self) -> int:
        """The index of the point that is farthest from the paper's."""
        return int(np.argmax(np.abs(self.difference)))

    @property
    def paper_slope(self) -> float:
        """The slope of the paper's line."""
        return slope(self.curve.x.tolist(), self.plotted)


def verdict(figure: str, panel: str, line: Line, curve: Curve) -> Verdict | None:
    """The verdict on a line, if the paper has values for it."""
    if line.plotted is None or line.tolerance is None:
        return None
    return Verdict(figure, panel, line.label, curve, np.array(line.plotted.log_nsee), line.tolerance)

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
    """Ours against the paper's, at every point of a line."""

    figure: str
    panel: str
    line: str
    curve: Curve  # ours
    plotted: Array  # the paper's logarithms, (K,)
    tolerance: float

    @property
    def difference(self) -> Array:
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
        return min(self.answers, key=("no", "unclear", "ok").index)

    @property
    def worst(self) -> int:
        """The index of the point that is farthest from the paper's."""
        return int(np.argmax(np.abs(self.difference)))

    @property
    def paper_slope(self) -> float:
        return slope(self.curve.x.tolist(), self.plotted)

    @property
    def row(self) -> dict[str, str]:
        """As text for a table, with the numbers at the worst point."""
        k = self.worst
        return {
            "figure": self.figure,
            "panel": self.panel,
            "line": self.line,
            "slope": f"{self.curve.slope:+.3f}",
            "slope_95": f"{self.curve.slope_error:.3f}",
            "paper_slope": f"{self.paper_slope:+.3f}",
            "at": f"{self.curve.x[k]:g}",
            "ours": f"{self.curve.log_mean[k]:.3f}",
            "paper": f"{self.plotted[k]:.3f}",
            "difference": f"{self.difference[k]:+.3f}",
            "monte_carlo_error": f"{self.error[k]:.3f}",
            "tolerance": f"{self.tolerance:g}",
            "repetitions": str(self.curve.repetitions),
            "verdict": self.answer,
        }


def verdict(figure: str, panel: str, line: Line, curve: Curve) -> Verdict | None:
    """The verdict on a line, if the paper has values for it."""
    if line.plotted is None or line.tolerance is None:
        return None
    return Verdict(figure, panel, line.label, curve, np.array(line.plotted.log_nsee), line.tolerance)

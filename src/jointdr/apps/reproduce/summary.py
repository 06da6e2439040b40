"""Curves from repetitions: means, their Monte-Carlo errors, slopes; and how far they are from the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from jointdr.apps.reproduce.paper_values import REPETITIONS
from jointdr.apps.reproduce.study import Line
from jointdr.runtime.arrays import Array

Answer = Literal["ok", "unclear", "no"]


@dataclass(frozen=True)
class Curve:
    """The mean of repetitions at each x, in natural logarithms.

    Attributes
    ----------
    x : (K,) array
    log_mean : (K,) array
        Logarithm of the mean over repetitions.
    error : (K,) array
        Its standard error; NaN for a single repetition.
    slope, slope_error : float
        Of the straight line through (log x, log_mean), and how far its 95 % interval reaches to either side. Values
        of x without a measurement (NaN) do not count.
    repetitions : int
    """

    x: Array
    log_mean: Array
    error: Array
    slope: float
    slope_error: float
    repetitions: int

    @staticmethod
    def of(x: Sequence[float], values: Array) -> Curve:
        """The curve of (repetitions, K) values.

        The slope is a weighted sum of the log means. Repetitions share draws between values of x, so its error is
        that of the same sum over each repetition (delta method), not that of independent points.
        """
        repetitions = len(values)
        mean = values.mean(axis=0)
        relative = values / mean - 1  # log(mean) moves by the mean of these
        there = np.isfinite(mean)
        centred = np.log(x)[there] - np.mean(np.log(x)[there])
        weights = centred / np.sum(centred**2)

        def standard_error(v: Array) -> Array:
            if repetitions < 2:
                return np.full(v.shape[1:], np.nan)
            return v.std(axis=0, ddof=1) / np.sqrt(repetitions)

        return Curve(
            np.asarray(x, dtype=float),
            np.log(mean),
            standard_error(relative),
            float(weights @ np.log(mean[there])),
            float(reach(repetitions) * standard_error(relative[:, there] @ weights)),
            repetitions,
        )


def reach(repetitions: int) -> float:
    """How many standard errors a 95 % interval reaches to either side: about 2, and more if repetitions are few."""
    return float(student.ppf(0.975, max(repetitions - 1, 1)))


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
        """Which point is farthest from the paper's."""
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

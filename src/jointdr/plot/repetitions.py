"""Curves from repetitions: means, their Monte-Carlo errors, slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from jointdr.runtime import Array


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
    """The number of standard errors that a 95 % interval reaches to either side: about 2, more with few repetitions."""
    return float(student.ppf(0.975, max(repetitions - 1, 1)))

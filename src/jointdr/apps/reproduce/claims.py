"""The paper's statements on the order of methods, and whether they hold here: differences over the same partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jointdr.apps.reproduce.summary import Answer
from jointdr.plot import reach
from jointdr.runtime import Array


@dataclass(frozen=True)
class Claim:
    """One statement of the form "this is higher than that"."""

    figure: str
    statement: str  # "this over that" is the recall of this minus that of that
    paper: str  # its words on it; empty if it has none, and there is nothing to judge
    differences: Array  # (partitions,)
    least: float = 0.0  # the statement holds if the mean of the differences is above this

    @property
    def mean(self) -> float:
        return float(np.mean(self.differences))

    @property
    def error(self) -> float:
        """The standard error of the mean over partitions; NaN for a single one."""
        count = len(self.differences)
        return float(np.std(self.differences, ddof=1) / np.sqrt(count)) if count > 1 else np.nan

    @property
    def answer(self) -> Answer | None:
        """Ok or no if the 95 % interval of the mean is above or below `least`; unclear if it reaches across."""
        if not self.paper:
            return None
        if not abs(self.mean - self.least) > reach(len(self.differences)) * self.error:
            return "unclear"
        return "ok" if self.mean > self.least else "no"

    @property
    def row(self) -> dict[str, str]:
        return {
            "figure": self.figure,
            "statement": self.statement,
            "paper": self.paper,
            "ours": f"{self.mean:+.3f}",
            "monte_carlo_error": f"{self.error:.3f}",
            "at_least": f"{self.least:g}" if self.paper else "",
            "partitions": str(len(self.differences)),
            "verdict": self.answer or "",
        }

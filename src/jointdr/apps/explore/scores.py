"""Scores as a person reads them: numbers with equal decimals, bars, and the meaning of a score in words of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jointdr.runtime import Array

DIGITS = 3  # of half the range of all scores
MOST_DECIMALS = 8
FEW = 2.5  # known pairs behind a score, below which a reader is told
HIGHEST = 99.9  # per cent, beyond which a score is among the highest


@dataclass(frozen=True)
class Scale:
    """The scores of a model: their name, and how they are spread over pairs that are not known.

    Attributes
    ----------
    name : str or None
        That of the column of graded scores, if it had one.
    scores : (n,) array
        Scores of a sample of the unknown pairs, increasing; of all pairs where none is unknown.
    kind : str
        What the pairs of the sample are called.
    """

    name: str | None
    scores: Array
    kind: str = "unknown pairs"

    @property
    def title(self) -> str:
        """The name of a predicted score."""
        return "score" if self.name is None else f"predicted {self.name}"

    @property
    def low(self) -> float:
        return float(self.scores[0])

    @cached_property
    def decimals(self) -> int:
        """The number of decimals that tells scores apart, the same for all of them."""
        return decimals_for(float(self.scores[-1] - self.scores[0]) / 2 or abs(self.low), DIGITS)

    def text(self, score: float, less: int = 0) -> str:
        """A score, with so many decimals less."""
        return fixed(score, max(0, self.decimals - less))

    def bars(self, scores: Array) -> Bars:
        """Bars for a list in which these are all scores."""
        low, high = min(self.low, float(scores.min())), float(scores.max())
        return Bars(low, high, f"Bars reach from {self.text(low)} to {self.text(high)}.")

    def words(self, score: float, notes: Mapping[str, float]) -> str:
        """The meaning of a score, by what the model notes of it, or else by its place among others."""
        if "lower" in notes:
            said = f"90 % between {self.text(notes['lower'], 1)} and {self.text(notes['upper'], 1)}"
        elif "listed_rate" in notes:
            said = rate_in_words(notes["listed_rate"])
        else:
            said = self._place(notes["percentile"] if "percentile" in notes else self._percentile(score))
        neighbors = notes.get("neighbors", math.inf)
        if neighbors == 0:
            return f"{said}; no known pair is near"
        return (
            said
            if neighbors >= FEW
            else f"{said}; from about {max(1, round(neighbors))} known pair" + ("s" if round(neighbors) > 1 else "")
        )

    def _percentile(self, score: float) -> float:
        return 100.0 * float(np.searchsorted(self.scores, score)) / len(self.scores)

    def _place(self, percentile: float) -> str:
        if percentile >= HIGHEST:
            return f"among the highest {100 - HIGHEST:.1f} % of all {self.kind}"
        return f"higher than {math.floor(10 * percentile) / 10:.1f} % of all {self.kind}"


@dataclass(frozen=True)
class Bars:
    """Lengths of bars, which begin at the lowest score of the model and end at the highest of a list."""

    low: float
    high: float
    words: str

    def length(self, score: float) -> float:
        """In per cent."""
        return 100.0 if self.high <= self.low else round(100 * min(1.0, (score - self.low) / (self.high - self.low)), 1)


def rate_in_words(rate: float) -> str:
    """A rate as a number of held-out pairs."""
    if rate < 5e-5:
        return "none of the held-out pairs with such a score were known"
    of = next(of for of in (100, 1000, 10_000) if rate * of >= 9.5 or of == 10_000)
    return f"{rate * of:.0f} of {of} held-out pairs with such a score were known"


def decimals_for(size: float, digits: int) -> int:
    """The decimals with which a number of this size has so many digits."""
    if not size > 0 or not math.isfinite(size):
        return digits
    return min(MOST_DECIMALS, max(0, digits - 1 - math.floor(math.log10(size))))


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, and a minus unless that is 0."""
    text = f"{abs(float(value)):.{decimals}f}"
    return f"−{text}" if value < 0 and text.strip("0.") else text


def aligned(values: Array, digits: int) -> list[str]:
    """Numbers with as many decimals as the largest of them needs to have so many digits."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return [fixed(value, decimals_for(largest, digits)) for value in np.asarray(values).tolist()]

"""Notes on predicted scores, from out-of-fold predictions: intervals, and rates at which pairs were listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from jointdr.runtime import Array, checked_array

COVERAGE = 0.9  # of an interval
PER_BIN = 200  # residuals behind the bounds of an interval, at least
BINS = 10  # at most; residuals of low and of high predictions may differ
KNOTS = 512  # of the function from scores to rates or percentiles, at most


@dataclass(frozen=True)
class Calibration:
    """A function from scores to notes on them.

    Attributes
    ----------
    kind : {"interval", "listed_rate", "percentile"}
    knots : (n,) array
        Scores, increasing.
    values : (k, n) array
        For an interval what is added to a score from this knot on, (2, n); otherwise the rate, or the share of unknown
        pairs with a lower score, at each knot, (1, n).
    """

    kind: str
    knots: Array
    values: Array

    @staticmethod
    def of_residuals(predicted: Array, truth: Array) -> Calibration | None:
        """Bounds that hold 90 % of out-of-fold residuals of similar predictions; None for fewer than 20 of them."""
        n = len(predicted)
        if n < 20:
            return None
        bins = int(np.clip(n // PER_BIN, 1, BINS))
        knots = np.unique(np.quantile(predicted, np.linspace(0, 1, bins + 1)[:-1]))
        which = np.clip(np.searchsorted(knots, predicted, side="right") - 1, 0, None)
        values = np.zeros((2, len(knots)))
        for b in range(len(knots)):
            residuals = np.sort((truth - predicted)[which == b])
            if len(residuals) == 0:
                residuals = np.sort(truth - predicted)
            outside = 0.5 * (1.0 - COVERAGE) * (len(residuals) + 1)  # as many new ones would fall beyond the next one
            low = max(int(np.floor(outside)) - 1, 0)
            values[:, b] = residuals[low], residuals[len(residuals) - 1 - low]
        return Calibration("interval", knots, values)

    @staticmethod
    def of_listed(predicted: Array, listed: Array) -> Calibration | None:
        """The share of held-out pairs with such a score that were listed, as a non-decreasing function of scores.

        Of neighboring scores without a listed pair, which have the same rate, the first and the last stand for all.
        """
        if not listed.any() or listed.all():
            return None
        x, (at, found) = np.sort(predicted), np.unique(predicted[listed], return_counts=True)
        first, end = np.searchsorted(x, at), np.searchsorted(x, at, side="right")
        between, until = np.append(0, end), np.append(first, len(x))
        kept = until > between
        between, until = between[kept], until[kept]
        weights, half = end - first, (until - between) / 2
        fit = IsotonicRegression(out_of_bounds="clip").fit(
            np.concatenate([at, x[between], x[until - 1]]),
            np.concatenate([found / weights, np.zeros(2 * len(half))]),
            np.concatenate([weights, half, half]),
        )
        knots, values = fit.X_thresholds_, fit.y_thresholds_
        if len(knots) > KNOTS:
            at = np.unique(np.linspace(0, len(knots) - 1, KNOTS).astype(int))
            knots, values = knots[at], values[at]
        return Calibration("listed_rate", np.asarray(knots, dtype=float), np.asarray(values, dtype=float)[None])

    @staticmethod
    def of_ranks(scores: Array) -> Calibration | None:
        """The share of unknown pairs with a lower score."""
        if len(scores) < 2:
            return None
        levels = np.linspace(0, 1, KNOTS)
        knots = np.quantile(scores, levels)
        kept = np.append(np.diff(knots) > 0, True)
        return Calibration("percentile", knots[kept], levels[kept][None])

    def notes(self, scores: Array) -> dict[str, Array]:
        """Notes on these scores, each of their shape."""
        if self.kind != "interval":
            name = "percentile" if self.kind == "percentile" else "listed_rate"
            factor = 100.0 if self.kind == "percentile" else 1.0
            return {name: factor * np.interp(scores, self.knots, self.values[0])}
        which = np.clip(np.searchsorted(self.knots, scores, side="right") - 1, 0, None)
        return {"lower": scores + self.values[0][which], "upper": scores + self.values[1][which]}

    def to_arrays(self, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
        """A part of a header, and arrays."""
        return {"kind": self.kind}, {f"{prefix}.knots": self.knots, f"{prefix}.values": self.values}

    @staticmethod
    def from_arrays(header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str) -> Calibration:
        """The inverse of `to_arrays`."""
        knots = checked_array(arrays, f"{prefix}.knots", (None,))
        kind = str(header["kind"])
        if kind not in ("interval", "listed_rate", "percentile") or len(knots) == 0:
            raise ValueError(f"its scores have notes of the kind {kind!r}, which is not known")
        values = checked_array(arrays, f"{prefix}.values", (2 if kind == "interval" else 1, len(knots)))
        return Calibration(kind, knots, values)

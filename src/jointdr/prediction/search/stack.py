"""Stacking: non-negative weights of models, chosen by their out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jointdr.prediction.search.bench import Bench, RecipeTrial
from jointdr.runtime import Array

STEPS = 10  # models that are added one after the other, at most; the same one may be added again
LEAST_GAIN = 1e-4  # another model has to raise the criterion by this
LEAST_SHARE = 0.1  # models of a smaller share are left out
LEAST_SPREAD = 0.01  # of predictions, in units of the largest, by which they are scaled
ROUNDING = 1e-6


@dataclass(frozen=True)
class Stacked:
    """Weights of some trials; the criterion on each part and predictions, by weights that the others chose.

    `shares` sum to 1, of predictions in units of their spread.
    """

    trials: tuple[RecipeTrial, ...]
    weights: tuple[float, ...]
    shares: tuple[float, ...]
    values: Array
    predictions: tuple[Array, ...]

    @property
    def mean(self) -> float:
        return float(self.values.mean())


def stack_trials(bench: Bench, trials: Sequence[RecipeTrial], baseline: RecipeTrial) -> Stacked:
    """The mean of the weights that judge best on each part, where models are added one at a time.

    Weights that are best on all parts together follow the noise of a few parts; their mean is a bagged selection
    (Caruana and others, 2004). The baseline alone is taken where nothing is better beyond chance.
    """
    scales = _scales(bench, trials)
    if len(bench.parts) == 1:  # nothing is left to judge weights by that were chosen on it
        chosen = np.eye(len(trials))[[int(np.argmax([trial.mean for trial in trials]))]]
    else:
        chosen = np.array([_select(bench, trials, scales, number) for number in range(len(bench.parts))])
    shares, values, total = _without_small(chosen.mean(axis=0)), [], []
    for number, part in enumerate(bench.parts):
        others = [n for n, p in enumerate(bench.parts) if n != number and p.repeat == part.repeat] or [number]
        weights = _without_small(chosen[others].mean(axis=0)) * scales
        total.append(_weighted_sum(weights, [trial.predictions[number] for trial in trials]))
        values.append(bench.judge(total[-1], part))
    if not bench.is_better(RecipeTrial(baseline.recipe, np.array(values), ()), baseline):
        return Stacked((baseline,), (1.0,), (1.0,), baseline.values, baseline.predictions)
    factor = _slope(total, bench) if bench.implicit else 1.0
    used = [t for t in range(len(trials)) if shares[t] > 0]
    return Stacked(
        tuple(trials[t] for t in used),
        tuple(float(factor * shares[t] * scales[t]) for t in used),
        tuple(float(shares[t]) for t in used),
        np.array(values),
        tuple(factor * P for P in total),
    )


def _select(bench: Bench, trials: Sequence[RecipeTrial], scales: Array, number: int) -> Array:
    """Weights of trials on one part: starting with the best, models are added as long as the criterion gains."""
    part, predictions = bench.parts[number], [trial.predictions[number] for trial in trials]
    best = int(np.argmax([trial.values[number] for trial in trials]))
    counts = np.zeros(len(trials))
    counts[best] = 1.0
    total, value = scales[best] * predictions[best], float(trials[best].values[number])
    for size in range(2, STEPS + 1):
        gains = [bench.judge((total + s * P) / size, part) for s, P in zip(scales, predictions, strict=True)]
        added = int(np.argmax(gains))
        if not gains[added] > value + LEAST_GAIN:
            break
        value, total = gains[added], total + scales[added] * predictions[added]
        counts[added] += 1.0
    return counts / counts.sum()


def _without_small(shares: Array) -> Array:
    kept = np.where(shares < min(LEAST_SHARE - ROUNDING, float(shares.max())), 0.0, shares)
    return np.asarray(kept / kept.sum())


def _weighted_sum(weights: Array, arrays: Sequence[Array]) -> Array:
    return np.asarray(sum(w * P for w, P in zip(weights, arrays, strict=True) if w > 0))


def _scales(bench: Bench, trials: Sequence[RecipeTrial]) -> Array:
    """Factors that make predictions of associations comparable: 1 over their spread; 1 for graded scores.

    Nearly constant predictions, whose order is chance, stay small.
    """
    if not bench.implicit:
        return np.ones(len(trials))
    spreads = np.array([np.sqrt(np.mean([np.var(P, dtype=float) for P in trial.predictions])) for trial in trials])
    largest = max(float(np.abs(P).max(initial=0.0)) for trial in trials for P in trial.predictions)
    least = max(LEAST_SPREAD * float(spreads.max()), ROUNDING * largest)
    return np.asarray(1.0 / np.maximum(spreads, least)) if least > 0 else np.ones(len(trials))


def _slope(predictions: Sequence[Array], bench: Bench) -> float:
    """The factor that makes predictions of associations nearest to 0 and 1."""
    judged = [part.of_judged(P) for P, part in zip(predictions, bench.parts, strict=True)]
    product = sum(float(p @ part.values) for p, part in zip(judged, bench.parts, strict=True))
    square = sum(float(p @ p) for p in judged)
    return product / square if product > 0 and square > 0 else 1.0

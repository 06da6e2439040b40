"""Stacking: non-negative weights of models, chosen by their out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jointdr.prediction.search.bench import Bench, RecipeTrial
from jointdr.runtime import Array

STEPS = 10  # models that are added one after the other, at most; the same one may be added again
LEAST_GAIN = 1e-4  # another model has to raise the criterion by this


@dataclass(frozen=True)
class Stacked:
    """Weights of some trials, the criterion of their weighted sum on each part, and its predictions."""

    trials: tuple[RecipeTrial, ...]
    weights: tuple[float, ...]
    values: Array
    predictions: tuple[Array, ...]

    @property
    def mean(self) -> float:
        return float(self.values.mean())


def stack_trials(bench: Bench, trials: Sequence[RecipeTrial], baseline: RecipeTrial) -> Stacked:
    """The weights that judge best, by adding models one at a time (Caruana and others, 2004).

    The baseline alone is taken where nothing is better beyond chance.
    """
    scales = [1.0 if not bench.implicit else 1.0 / _spread(trial) for trial in trials]
    best = max(range(len(trials)), key=lambda t: trials[t].mean)
    counts = np.zeros(len(trials))
    counts[best] = 1.0
    total = [scales[best] * P for P in trials[best].predictions]
    value, values = trials[best].mean, trials[best].values
    for _ in range(STEPS - 1):
        found = []
        for t, trial in enumerate(trials):
            n = counts.sum()
            sums = [(n * S + scales[t] * P) / (n + 1) for S, P in zip(total, trial.predictions, strict=True)]
            judged = np.array([bench.judge(P, part) for P, part in zip(sums, bench.parts, strict=True)])
            found.append((float(judged.mean()), t, judged, sums))
        gained = max(found, key=lambda item: item[0])
        if not gained[0] > value + LEAST_GAIN:
            break
        value, values, total = gained[0], gained[2], gained[3]
        counts[gained[1]] += 1.0
    weights = counts / counts.sum() * np.array(scales)
    if not bench.is_better(RecipeTrial(baseline.recipe, values, ()), baseline):
        return Stacked((baseline,), (1.0,), baseline.values, baseline.predictions)
    if bench.implicit:
        factor = _slope(total, bench)
        weights, total = weights * factor, [factor * P for P in total]
    used = [t for t in range(len(trials)) if counts[t] > 0]
    return Stacked(
        tuple(trials[t] for t in used),
        tuple(float(weights[t]) for t in used),
        values,
        tuple(np.asarray(P) for P in total),
    )


def _spread(trial: RecipeTrial) -> float:
    return float(np.sqrt(np.mean([np.var(P) for P in trial.predictions]))) or 1.0


def _slope(predictions: Sequence[Array], bench: Bench) -> float:
    """The factor that makes predictions of associations nearest to 0 and 1."""
    judged = [part.of_judged(P) for P, part in zip(predictions, bench.parts, strict=True)]
    product = sum(float(p @ part.values) for p, part in zip(judged, bench.parts, strict=True))
    square = sum(float(p @ p) for p in judged)
    return product / square if product > 0 and square > 0 else 1.0

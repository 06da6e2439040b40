"""Stacks of models, by the predictions of held-out parts."""

import numpy as np
import pytest

from jointdr.prediction.heads.stages import Recipe, Scores
from jointdr.prediction.search.bench import Bench, RecipeTrial
from jointdr.prediction.search.parts import Part
from jointdr.prediction.search.stack import stack_trials

SHAPE = (20, 30)


def bench_of(truths, repeats=None, implicit=True):
    """A bench of parts with these held-out scores."""
    at = np.arange(SHAPE[0]), np.arange(SHAPE[1])
    scores = Scores(truths[0], None)
    repeats = repeats or [0] * len(truths)
    parts = [Part("both", *at, *at, scores, truth, None, repeat) for truth, repeat in zip(truths, repeats, strict=True)]
    return Bench(scores, parts, None, "auto", implicit, repeats=max(repeats) + 1)


def trial_of(bench, head, predictions):
    values = [bench.judge(P, part) for P, part in zip(predictions, bench.parts, strict=True)]
    return RecipeTrial(Recipe(head), np.array(values), tuple(predictions))


@pytest.fixture
def truths(rng):
    return [(rng.random(SHAPE) < 0.1).astype(float) for _ in range(6)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_model_that_is_all_but_constant_does_not_swamp_the_others(rng, truths, dtype):
    bench = bench_of(truths)
    good = [(truth + 0.3 * rng.standard_normal(SHAPE)).astype(dtype) for truth in truths]
    good[0] = -good[0]  # one part prefers the baseline
    flat = [(0.1 + 1e-9 * rng.random(SHAPE)).astype(dtype) for _ in truths]
    baseline, model = trial_of(bench, "effects", flat), trial_of(bench, "kronecker", good)
    assert baseline.values[0] > model.values[0]
    stack = stack_trials(bench, [baseline, model], baseline)
    assert "kronecker" in [trial.recipe.head for trial in stack.trials]
    assert stack.values[1:].min() > baseline.values.max()
    for P, truth in zip(stack.predictions[1:], truths[1:], strict=True):
        assert P[truth > 0].mean() > P[truth == 0].mean() + 0.02


def test_what_a_part_is_judged_by_was_not_chosen_on_the_same_scores(rng, truths):
    first, second = truths[:2]
    bench = bench_of([first, second, first, second], [0, 0, 1, 1])
    noise = [rng.standard_normal(SHAPE) for _ in range(4)]
    one = trial_of(bench, "kronecker", [first, noise[0], first, noise[1]])
    two = trial_of(bench, "two-step", [noise[2], second, noise[3], second])
    baseline = trial_of(bench, "effects", [np.zeros(SHAPE)] * 4)
    stack = stack_trials(bench, [baseline, one, two], baseline)
    assert min(one.values[0], two.values[1]) > 0.8
    assert [trial.recipe.head for trial in stack.trials] == ["effects"]  # each part judges the best of the other one


def test_one_part_takes_one_model(rng, truths):
    bench = bench_of(truths[:1])
    trials = [
        trial_of(bench, head, [truths[0] + 0.5 * rng.standard_normal(SHAPE)]) for head in ("kronecker", "two-step")
    ]
    baseline = trial_of(bench, "effects", [np.zeros(SHAPE)])
    stack = stack_trials(bench, [baseline, *trials], baseline)
    assert len(stack.trials) == 1
    assert stack.mean == max(trial.mean for trial in trials)


def test_graded_scores_are_added_up_as_they_are(rng):
    truths = [rng.standard_normal(SHAPE) for _ in range(4)]
    bench = bench_of(truths, implicit=False)
    trials = [
        trial_of(bench, head, [truth + 0.5 * rng.standard_normal(SHAPE) for truth in truths])
        for head in ("kronecker", "two-step")
    ]
    baseline = trial_of(bench, "effects", [np.zeros(SHAPE)] * 4)
    stack = stack_trials(bench, [baseline, *trials], baseline)
    assert sum(stack.weights) == pytest.approx(1.0)
    assert stack.mean > max(trial.mean for trial in trials)
    assert stack.shares == stack.weights

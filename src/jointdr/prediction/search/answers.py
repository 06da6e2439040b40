"""The choice of a model for each question: screening of recipes, complete fits on folds, and a stack of the best."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from jointdr.data import BY, By, Dyads, Groups, minor_groups
from jointdr.estimators import ViewsTransformer
from jointdr.prediction.heads.calibration import Calibration
from jointdr.prediction.heads.descriptions import Comparison, comparisons_of, raw_descriptions
from jointdr.prediction.heads.stages import Recipe, Term
from jointdr.prediction.search.bench import Bench, RecipeTrial, Sides, Similarities
from jointdr.prediction.search.large import choose_recipe, is_large
from jointdr.prediction.search.learned import LearnedSimilarities, Maps
from jointdr.prediction.search.menu import (
    ALONE,
    Options,
    kernel_options,
    neighbors_in_coordinates,
    screen,
    with_profiles,
)
from jointdr.prediction.search.parts import Part, known_scores, make_parts, new_sides
from jointdr.prediction.search.progress import SearchProgress
from jointdr.prediction.search.sampling import sample_entities
from jointdr.prediction.search.stack import stack_trials
from jointdr.runtime import Array, log, make_random_state

SCREENED = 700  # entities of a kind that recipes are screened on, at most
SOLVED = 500  # the same where only some pairs are known, and every fit takes conjugate gradients
FOLDS = 5
ENOUGH = {True: 3, False: 2}  # folds that are held out in turn where data is large, of complete grids and of others
MANY = 5000  # known pairs of which three of the folds are enough to compare settings
SIDE_BY_SIDE = 5_000_000  # pairs of which two questions are worked on at a time, at most
SETTINGS = 30  # that are screened besides kernels, about
RECIPES = 6  # that are fitted to all entities, about


@dataclass(frozen=True)
class Answer:
    """The model that was chosen for one question.

    Attributes
    ----------
    by : {"rows", "columns", "both", "pairs"}
    recipes, weights : tuples
        Its members.
    scores : tuple of float
        The criterion of each member alone.
    score, error : float
        The criterion of the whole on held-out parts, and its standard error; NaN where nothing could be held out.
    baseline : float
        That of row and column effects alone: popularity, for implicit feedback.
    calibration : Calibration or None
    failures : dict
        Recipes that could not be fitted, or what they are in words, and why.
    fits : int
        Complete fits of ridge regression that were made to choose.
    shares : tuple of float
        Those of the members in the stack, of predictions in units of their spread; the weights where there are none.
    measures : dict
        Familiar figures of the same held-out predictions, by name: of the whole, and of effects alone.
    """

    by: By
    recipes: tuple[Recipe, ...]
    weights: tuple[float, ...]
    scores: tuple[float, ...] = ()
    score: float = float("nan")
    error: float = float("nan")
    baseline: float = float("nan")
    calibration: Calibration | None = None
    failures: dict[Recipe | str, str] = field(default_factory=dict)
    fits: int = 0
    measures: dict[str, tuple[float, float]] = field(default_factory=dict)
    shares: tuple[float, ...] = ()


@dataclass(frozen=True)
class ChoiceTask:
    """The data, and how its questions are answered."""

    dyads: Dyads
    uses: tuple[By, ...]
    criterion: str
    max_fits: int
    embedding: ViewsTransformer | None
    random_state: Any = None
    groups: Groups | None = None
    maps: Maps = (None, None)  # of wide tables, before they are embedded

    @property
    def comparisons(self) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
        large = is_large(self.dyads)
        return comparisons_of(self.dyads, 0, large), comparisons_of(self.dyads, 1, large)


def choose_answers(task: ChoiceTask, bar: SearchProgress) -> list[Answer]:
    """An answer for each question; the same for the same random state, whichever others are asked."""
    rng = make_random_state(task.random_state)
    seeds = rng.randint(2**31 - 1, size=len(BY))
    rngs = {by: np.random.RandomState(seed) for by, seed in zip(BY, seeds, strict=True)}
    few = task.dyads.shape[0] * task.dyads.shape[1] <= SIDE_BY_SIDE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that are only tried
        start = time.perf_counter()
        screened = _for_each_question(task.uses, lambda by: screen_question(task, by, rngs[by], bar), bar)
        log.info("screened %d settings for %s in %.1f s", bar.tried, ", ".join(task.uses), time.perf_counter() - start)

        def choose(by: By) -> Answer:
            start = time.perf_counter()
            answer = screened[by].answer or choose_answer(task, by, screened[by], rngs[by], bar)
            bar.answer(by)
            heads = " + ".join(recipe.head for recipe in answer.recipes)
            words = "chosen for %s: %s, score %.4g (of known scores alone %.4g), in %.1f s"
            log.info(words, by, heads, answer.score, answer.baseline, time.perf_counter() - start)
            return answer

        return list(_for_each_question(task.uses, choose, bar, few, max(task.dyads.shape) <= SCREENED).values())


def _for_each_question(
    uses: Sequence[By], work: Callable[[By], Any], bar: SearchProgress, side_by_side: bool = True, is_small: bool = True
) -> dict[By, Any]:
    """The results of all questions, on as many cores as products of matrices may take.

    Questions side by side with one thread each are faster than one after the other with all of them, because
    eigenvectors of small matrices gain nothing by threads. Large data is held once. After an error, or Ctrl-C, the
    other questions end with the setting that they are at.
    """
    threads = min([joblib.cpu_count(), *(p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas")])
    workers = min(threads, len(uses)) if side_by_side else 1
    with threadpool_limits(1 if workers > 1 or is_small else threads, user_api="blas"):
        if workers == 1:
            return {by: work(by) for by in uses}
        with ThreadPoolExecutor(workers) as pool:
            order = sorted(uses, reverse=True)  # dear questions first
            dear_first = {
                by: pool.submit(copy_context().run, work, by) for by in order
            }  # with the user's configuration
            try:
                for done in wait(dear_first.values(), return_when=FIRST_EXCEPTION).done:
                    done.result()
                return {by: dear_first[by].result() for by in uses}
            except BaseException:  # also Ctrl-C, which reaches this thread alone
                bar.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@dataclass(frozen=True)
class Screened:
    """Recipes that a sample of the entities leaves to choose from, or the answer where nothing is left to do."""

    recipes: list[Recipe]
    answer: Answer | None
    failures: dict[Recipe | str, str]
    is_whole: bool  # whether the sample has all entities


def screen_question(task: ChoiceTask, by: By, rng: np.random.RandomState, bar: SearchProgress) -> Screened:
    """Recipes for one question that are worth complete fits."""
    dyads = task.dyads
    most = SCREENED if dyads.is_complete and not is_large(dyads) else SOLVED
    small = sample_entities(dyads, by, most, rng)
    sample = _bench(task, small, by, rng, np.float32)
    sample.parts = sample.parts[:FOLDS]
    sample.tell = partial(bar.try_setting, by, sample.cost)
    sample.keeps_predictions = is_large(dyads)  # which chooses by the sample alone
    bar.expect(by, _expected_cost(sample, small.shape, (0, 0) if is_large(dyads) else dyads.shape))
    recipes, answer = _screen_sample(task, sample, by)
    return Screened(recipes, answer, sample.failures, small is dyads)


def choose_answer(
    task: ChoiceTask, by: By, screened: Screened, rng: np.random.RandomState, bar: SearchProgress
) -> Answer:
    """The answer to one question, by complete fits."""
    dyads, implicit, simple = task.dyads, task.dyads.is_implicit, _simple_recipe(by)
    bench = _bench(task, dyads, by, rng, np.float64 if screened.is_whole else np.float32)
    bench.failures |= screened.failures
    bench.tell = partial(bar.try_setting, by, bench.cost)  # a closure would keep the bench
    if not bench.parts:  # so few known scores that these folds have none, although others had
        return Answer(by, (simple,), (1.0,), failures=bench.failures)
    bar.expect(by, (len(screened.recipes) + 1) * bench.cost, more=True)
    baseline = bench.try_recipe(simple)[0]
    trials, skipped = [baseline], 0
    for recipe in screened.recipes:
        more = (recipe.rounds + 1) * len(bench.parts) if recipe.head != "neighbors" else 0
        if screened.is_whole or bench.fits + more <= task.max_fits:
            trials += bench.try_recipe(recipe)
        else:
            skipped += 1
    if skipped and bench.fits == 0:
        bench.failures["all ridge regressions"] = (
            f"max_fits={task.max_fits} leaves no complete fit to compare: raise it to {len(bench.parts)} or more."
        )
    stacked = stack_trials(bench, _distinct(trials), baseline)
    return Answer(
        by,
        tuple(trial.recipe for trial in stacked.trials),
        stacked.weights,
        tuple(trial.mean for trial in stacked.trials),
        stacked.mean,
        bench.error(stacked.values, of_one=np.nan),
        baseline.mean,
        _calibrate(stacked.predictions, bench.parts, by, implicit),
        bench.failures,
        bench.fits,
        bench.familiar_figures(stacked.predictions, baseline.predictions),
        stacked.shares,
    )


def _simple_recipe(by: By) -> Recipe:
    """Row and column effects, of the sides that are known."""
    new = new_sides(by)
    return Recipe("effects", effects=(not new[0], not new[1]))


def _expected_cost(bench: Bench, sampled: tuple[int, int], whole: tuple[int, int]) -> float:
    """About what it costs to screen settings on a sample, and to fit the best of them to all entities."""
    learned = bench.similarities.learn is not None
    screened = SETTINGS + sum(len(kernel_options(side, learned)) for side in bench.similarities.descriptions)
    screened += sum(len(ALONE) * len(bench.similarities.numbers(k)) for k in (0, 1))
    larger = whole[0] * whole[1] * sum(whole) / (sampled[0] * sampled[1] * sum(sampled))
    return bench.cost * (screened + RECIPES * larger)


def _screen_sample(task: ChoiceTask, bench: Bench, by: By) -> tuple[list[Recipe], Answer | None]:
    """Recipes worth complete fits; or the answer, where there is nothing to choose by or very much to fit."""
    simple = _simple_recipe(by)
    if not bench.parts:
        return [], Answer(by, (simple,), (1.0,))
    sides = bench.similarities.descriptions
    if is_large(task.dyads):
        return [], _choose_large(bench, by, sides, simple)
    learned = bench.similarities.learn is not None
    options = (kernel_options(sides[0], learned), kernel_options(sides[1], learned))
    return _screen_recipes(bench, by, options, task.dyads, task.dyads.is_implicit), None


def _choose_large(bench: Bench, by: By, sides: Sides, simple: Recipe) -> Answer:
    """One recipe, by a sample of the entities, of those that can be fitted to all of them."""
    linear: tuple[Options, Options] = ([], [])
    for k, side in enumerate(sides):
        linear[k].extend((Term(n),) for n, d in enumerate(side) if d.kind == "linear")
    options = (kernel_options(sides[0], learned=False), kernel_options(sides[1], learned=False))
    baseline = bench.try_recipe(simple)[0]
    best = None
    if any(d.kind == "identity" for side in sides for d in side):  # no landmark is like any other entity
        bench.failures["all other settings"] = (
            "Among so many entities, those of a side without features or similarities are not told apart."
        )
    else:
        best = choose_recipe(bench, by, linear, options)
    if best is None or not bench.is_better(best, baseline):
        best = baseline
    figures = bench.familiar_figures(best.predictions, baseline.predictions)
    return Answer(
        by,
        (best.recipe,),
        (1.0,),
        (best.mean,),
        best.mean,
        bench.error(best.values, of_one=np.nan),
        baseline.mean,
        None if bench.implicit else _calibrate(best.predictions, bench.parts, by, implicit=False),
        bench.failures,
        bench.fits,
        figures,
    )


def _screen_recipes(bench: Bench, by: By, options: Any, dyads: Dyads, implicit: bool) -> list[Recipe]:
    """Recipes that are worth complete fits, the best first."""
    try:
        recipes = screen(bench, by, options, dyads.is_complete)
    except ValueError as error:
        bench.failures["all other settings"] = str(error)
        return []
    if not recipes:
        return []
    tried = [
        (recipe, bench.try_recipe(recipe)) for recipe in with_profiles(recipes[0], by, dyads.is_complete, implicit)
    ]
    by_kind: dict[Any, tuple[Recipe, float]] = {}
    for recipe, trials in tried:  # of each kind of profiles the best share
        if trials:
            kind = (recipe.profile, recipe.profiles[0] > 0, recipe.profiles[1] > 0)
            value = max(trial.mean for trial in trials)
            if kind not in by_kind or value > by_kind[kind][1]:
                by_kind[kind] = recipe, value
    found = [*(recipe for recipe, _ in sorted(by_kind.values(), key=lambda item: -item[1])), *recipes]
    return found if max(bench.scores.Y.shape) == max(dyads.shape) else _worth_complete_fits(bench, by, found)


def _worth_complete_fits(bench: Bench, by: By, recipes: Sequence[Recipe]) -> list[Recipe]:
    """Those without profiles, and those whose profiles gain on a sample of the entities; the best there first.

    A sample has too few scores to learn coordinates from, so that these are tried in any case.
    """
    values = {recipe: max((trial.mean for trial in bench.try_recipe(recipe)), default=-np.inf) for recipe in recipes}
    plain = max((value for recipe, value in values.items() if max(recipe.profiles) == 0), default=-np.inf)
    kept = [recipe for recipe, value in values.items() if max(recipe.profiles) == 0 or value > plain]
    kept.sort(key=lambda recipe: -values[recipe])
    if bench.similarities.learn is not None:
        with suppress(ValueError):
            raw = next((recipe for recipe in kept if recipe.head == "neighbors"), None)
            kept[1:1] = neighbors_in_coordinates(bench, by, kept[0], raw)
    return list(dict.fromkeys(kept))


def _distinct(trials: Sequence[RecipeTrial]) -> list[RecipeTrial]:
    """Without stages that several recipes begin with."""
    found: dict[Recipe, RecipeTrial] = {}
    for trial in trials:
        recipe = trial.recipe
        if recipe.rounds == 0:
            recipe = replace(recipe, profiles=(0.0, 0.0), profile="filled")
        found.setdefault(recipe, replace(trial, recipe=recipe))
    return list(found.values())


def _bench(task: ChoiceTask, dyads: Dyads, by: By, rng: np.random.RandomState, dtype: Any = np.float64) -> Bench:
    implicit = task.dyads.is_implicit  # a sample may have more associations than zeros
    scores = known_scores(dyads, dtype if implicit else np.float64)  # grades may be large beside what they differ by
    units = {"rows": dyads.shape[0], "columns": dyads.shape[1], "both": min(dyads.shape)}
    held = units.get(by, np.count_nonzero(scores.Y) if implicit else dyads.n_observed)
    groups = (None, None) if task.groups is None else task.groups.codes(dyads, by)
    counts = [len(minor_groups(codes)) for codes in groups if codes is not None]
    held = min([held, *counts])
    folds = min(FOLDS, int(held))
    few = max(task.dyads.shape) > (SCREENED if task.dyads.is_complete else SOLVED) and (held >= 100 or bool(counts))
    parts: list[Part] = []
    repeats = 3 if held < 40 else 2 if held < 100 else 1  # small splits are noisy
    repeats = 1 if counts and (few or held <= FOLDS) else repeats
    if (folds >= 2 or (counts and folds == 1)) and scores.range[0] < scores.range[1]:  # all equal: nothing to learn
        for repeat in range(repeats):
            parts += [replace(part, repeat=repeat) for part in make_parts(scores, implicit, by, folds, rng, groups)]
    if few:
        parts = parts[: ENOUGH[task.dyads.is_complete]]
    raw = [raw_descriptions(dyads, k, some) for k, some in enumerate(task.comparisons)]
    learn = None if task.embedding is None else LearnedSimilarities(dyads, task.embedding, task.maps)
    if is_large(task.dyads) or (by == "pairs" and not implicit and held >= MANY):
        parts = parts[:3]
    return Bench(scores, parts, Similarities((raw[0], raw[1]), learn, dtype), task.criterion, implicit, groups, repeats)


def _calibrate(predictions: Sequence[Array], parts: Sequence[Part], by: By, implicit: bool) -> Calibration | None:
    """Notes on scores, from out-of-fold predictions."""
    if implicit and by == "pairs":
        return None  # by ranks, once the model is fitted
    chosen = [part.of_judged(P) for P, part in zip(predictions, parts, strict=True)]
    predicted, truth = np.concatenate(chosen), np.concatenate([part.values for part in parts])
    return Calibration.of_listed(predicted, truth > 0) if implicit else Calibration.of_residuals(predicted, truth)

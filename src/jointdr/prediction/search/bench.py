"""Recipes tried on out-of-fold parts, where everything that several of them have in common is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdr.data import By, minor_groups
from jointdr.prediction.heads.descriptions import Description
from jointdr.prediction.heads.spectra import ROUGH, KernelSpectrum, leave_out_with_mean
from jointdr.prediction.heads.stages import CONSTANT, GivenKernels, Recipe, Scores, Term, fit_stages, mix_similarities
from jointdr.prediction.search.criterion import FAMILIAR, judge_predictions
from jointdr.prediction.search.parts import Part
from jointdr.runtime import Array

Sides = tuple[Sequence[Description], Sequence[Description]]
Learn = Callable[[Part], tuple[Array, Array]]  # from a part to the similarities of all rows, and of all columns

BEYOND_CHANCE = 2.0  # standard errors by which a model has to be better than known scores alone
KEPT_BYTES = 5e8  # of eigenvectors of kernels, and of coefficients of first stages, about


class Similarities:
    """The similarities between all known entities of both kinds, in every description.

    Descriptions that depend on scores, by their numbers after those that do not, are made for each part.
    """

    def __init__(self, descriptions: Sides, learn: Learn | None = None, dtype: Any = np.float64) -> None:
        self.descriptions, self.learn, self.dtype = descriptions, learn, dtype
        self.fixed: dict[tuple[int, int], Array] = {}
        self.learned: dict[tuple[int, int], Array] = {}

    def numbers(self, k: int) -> list[int]:
        """Those of the descriptions of one side by which similarities of entities can be small."""
        some = [number for number, described in enumerate(self.descriptions[k]) if described.kind != "linear"]
        return some if self.learn is None else [*some, len(self.descriptions[k])]

    def of(self, k: int, number: int, part: int, train: Part) -> Array:
        if number < len(self.descriptions[k]):
            if (k, number) not in self.fixed:
                self.fixed[k, number] = self.descriptions[k][number].similarities().astype(self.dtype, copy=False)
            return self.fixed[k, number]
        if (k, part) not in self.learned:
            assert self.learn is not None
            for side, S in enumerate(self.learn(train)):
                self.learned[side, part] = S.astype(self.dtype, copy=False)
        return self.learned[k, part]


@dataclass(frozen=True)
class RecipeTrial:
    """The criterion of one stage of a recipe: on each part, and the predictions that it was judged by, where kept."""

    recipe: Recipe
    values: Array  # (parts,)
    predictions: tuple[Array, ...]

    @property
    def mean(self) -> float:
        return float(self.values.mean())


class Bench:
    """The parts of one question, on which recipes are fitted and judged."""

    def __init__(
        self,
        scores: Scores,
        parts: Sequence[Part],
        similarities: Similarities,
        criterion: str,
        implicit: bool,
        groups: tuple[Array | None, Array | None] = (None, None),
        repeats: int = 1,
    ) -> None:
        self.scores, self.parts, self.similarities = scores, list(parts), similarities
        self.criterion, self.implicit, self.groups, self.repeats = criterion, implicit, groups, repeats
        self.keeps_predictions = True
        self.spectra: dict[object, KernelSpectrum] = {}
        self.kernels: dict[object, Array] = {}
        self.trials: dict[Recipe, list[RecipeTrial]] = {}
        self.coefficients: dict[tuple[Recipe, int], Array] = {}  # of first stages
        self.fits = 0
        self.failures: dict[Recipe | str, str] = {}
        self.tell: Callable[[], None] = lambda: None  # called whenever a recipe was tried

    @property
    def cost(self) -> float:
        """That of trying a recipe, in operations, but for a factor."""
        m_A, m_B = self.scores.Y.shape
        return float(len(self.parts) * m_A * m_B * (m_A + m_B))

    def kernel(self, k: int, terms: Sequence[Term], part: int) -> Array:
        """The kernel between all entities, without profiles and constant."""
        key = (k, tuple(terms), part if self._is_learned(k, terms) else -1)
        if key not in self.kernels:
            if len(self.kernels) > 4:
                self.kernels.clear()
            self.kernels[key] = mix_similarities(
                terms, lambda number: self.similarities.of(k, number, part, self.parts[part])
            )
        return self.kernels[key]

    def _is_learned(self, k: int, terms: Sequence[Term]) -> bool:
        return any(term.description >= len(self.similarities.descriptions[k]) for term in terms)

    def _spectrum(self, k: int, recipe: Recipe, part: int, known: Array) -> KernelSpectrum:
        is_whole = known.shape[0] == self.kernel(k, recipe.terms(k), part).shape[0]
        where = -1 if is_whole and not self._is_learned(k, recipe.terms(k)) else part
        key = (k, recipe.terms(k), where)
        if key not in self.spectra:
            if sum(spectrum.vectors.nbytes for spectrum in self.spectra.values()) > KEPT_BYTES:
                self.spectra.clear()
            self.spectra[key] = KernelSpectrum.of(known + CONSTANT)
        return self.spectra[key]

    def try_recipe(self, recipe: Recipe) -> list[RecipeTrial]:
        """The stages of a recipe, each as a trial; none if it fails."""
        if recipe not in self.trials:
            trials = self.trials[recipe] = self._try(recipe)
            self.tell()
            for count, trial in enumerate(trials, start=1):  # shorter chains begin in the same way
                self.trials.setdefault(trial.recipe, trials[:count])
        return self.trials[recipe]

    def _try(self, recipe: Recipe) -> list[RecipeTrial]:
        found: list[list[Array]] = []
        try:
            with np.errstate(all="ignore"):
                for number, part in enumerate(self.parts):
                    found.append(self._fit(recipe, number, part))
            trials = []
            for stage, predictions in enumerate(zip(*found, strict=True)):
                is_finite = all(np.isfinite(P).all() for P in predictions)
                values = [self.judge(P, part) for P, part in zip(predictions, self.parts, strict=True) if is_finite]
                if not is_finite or not np.isfinite(values).all():
                    self.failures[recipe] = "Its predictions are not finite."
                    continue
                rounds = recipe.rounds - len(found[0]) + 1 + stage
                kept = tuple(map(self._kept, predictions)) if self.keeps_predictions else ()
                trials.append(RecipeTrial(replace(recipe, rounds=rounds), np.array(values), kept))
            return trials
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            self.failures[recipe] = f"{type(error).__name__}: {error}"
            return []

    def _kept(self, predictions: Array) -> Array:
        """Those of associations in the precision of the bench; grades may be large beside what they differ by."""
        return predictions.astype(self.similarities.dtype, copy=False) if self.implicit else predictions

    def _fit(self, recipe: Recipe, number: int, part: Part) -> list[Array]:
        """The predictions of every stage, fitted to one part."""
        if recipe.head == "effects":
            empty = GivenKernels(*(np.zeros((len(at), 0)) for at in (part.rows, part.columns)))
            (stage,) = fit_stages(recipe, part.scores, empty, part.effects(recipe.effects))
            return [stage.scores(*(part.seen(k, np.zeros((1, 0))) for k in (0, 1)))]
        K = [self.kernel(k, recipe.terms(k), number) for k in (0, 1)]
        known = GivenKernels(part.known(0, K[0]), part.known(1, K[1]))
        spectra = None
        if recipe.head != "neighbors":
            a, b = (self._spectrum(k, recipe, number, known.known(k)) for k in (0, 1))
            spectra = (a, b)
        plain = replace(recipe, profiles=(0.0, 0.0), profile="filled", rounds=0)
        first = self.coefficients.get((plain, number))
        options = (part.effects(recipe.effects), ROUGH, spectra, first)
        stages = fit_stages(recipe, part.scores, known, *options)
        if recipe.head != "neighbors":  # which solve nothing
            self.fits += len(stages) - (first is not None)
        if stages[0].profiles is None and recipe.head != "neighbors":  # which have none
            if sum(C.nbytes for C in self.coefficients.values()) > KEPT_BYTES:
                self.coefficients.clear()
            self.coefficients[plain, number] = stages[0].coefficients
        seen = [part.seen(k, K[k]) for k in (0, 1)]
        return [stage.scores(*seen) for stage in stages]

    def best_penalties(self, recipe: Recipe, by: By, pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """Those of two-step ridge that are best for what is left out one (or one group) at a time, in closed form.

        The middle ones where kernels are learned from scores, for which leaving out in this way is not exact.
        """
        if any(self._is_learned(k, recipe.terms(k)) for k in (0, 1)):
            return pairs[len(pairs) // 2]
        try:
            a, b = (KernelSpectrum.of(self.kernel(k, recipe.terms(k), 0) + CONSTANT) for k in (0, 1))
        except np.linalg.LinAlgError as error:
            self.failures[recipe] = f"{type(error).__name__}: {error}"
            return pairs[len(pairs) // 2]
        Y, judged = self.scores.Y, self._outside_major_groups()
        found = []
        for pair in pairs:
            F = leave_out_with_mean(by, a, b, Y, pair, self.groups)
            found.append(judge_predictions(self.criterion, F, Y, judged, by == "columns", self.implicit))
        return pairs[int(np.argmax(found))]

    def _outside_major_groups(self) -> Array | None:
        """The pairs without the groups that parts never hold out; None for all."""
        if all(codes is None for codes in self.groups):
            return None
        sides = [
            np.ones(m, dtype=bool) if codes is None else np.isin(codes, minor_groups(codes))
            for m, codes in zip(self.scores.Y.shape, self.groups, strict=True)
        ]
        return np.logical_and.outer(sides[0], sides[1])

    def judge(self, predictions: Array, part: Part, criterion: str | None = None) -> float:
        criterion, by_column = criterion or self.criterion, part.by == "columns"
        options = (part.judged, by_column, self.implicit, self.scores.spread)
        return judge_predictions(criterion, predictions, part.truth, *options)

    def error(self, values: Array, of_one: float = 0.0) -> float:
        """The standard error of the mean of values on all parts, of which repetitions are not independent."""
        return error_of_mean(values, of_one) * float(np.sqrt(self.repeats))

    def is_better(self, trial: RecipeTrial, baseline: RecipeTrial) -> bool:
        """Whether a model, the best of many, is better than known scores alone beyond chance."""
        difference = trial.values - baseline.values
        return float(difference.mean()) > BEYOND_CHANCE * self.error(difference)

    def familiar_figures(self, model: Sequence[Array], baseline: Sequence[Array]) -> dict[str, tuple[float, float]]:
        """The means over all parts of what is usually reported, of the predictions of a model and of the baseline."""
        found = {}
        for name in FAMILIAR[self.implicit]:
            means = []
            for predictions in (model, baseline):
                values = [self.judge(P, part, name) for P, part in zip(predictions, self.parts, strict=True)]
                means.append(abs(float(np.mean(values))))  # the criterion of RMSE is its negative
            found[name] = (means[0], means[1])
        return found


def error_of_mean(values: Array, of_one: float = 0.0) -> float:
    """The standard error of the mean of these values; `of_one` where there is a single one."""
    return float(np.std(values, ddof=1)) / float(np.sqrt(len(values))) if len(values) > 1 else of_one

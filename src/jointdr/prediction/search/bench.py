"""Recipes tried on out-of-fold parts, where everything that several of them have in common is computed once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jointdr.prediction.heads.descriptions import Description, to_power
from jointdr.prediction.heads.spectra import ROUGH, Spectrum
from jointdr.prediction.heads.stages import CONSTANT, Recipe, Term, fit_stages
from jointdr.prediction.search.criterion import judge_predictions
from jointdr.prediction.search.parts import Part
from jointdr.runtime import Array

KEPT = 16  # kernels whose eigenvectors are kept, in each part


class Similarities:
    """The similarities between all known entities of both kinds, in every description.

    Descriptions that depend on scores, by their numbers after those that do not, are made for each part.
    """

    def __init__(self, descriptions: tuple[Sequence[Description], Sequence[Description]], learn: Callable[..., Array] | None) -> None:
        self.descriptions, self.learn = descriptions, learn
        self.fixed: dict[tuple[int, int], Array] = {}
        self.learned: dict[tuple[int, int], Array] = {}

    def of(self, k: int, number: int, part: int, train: Part) -> Array:
        if number < len(self.descriptions[k]):
            if (k, number) not in self.fixed:
                self.fixed[k, number] = self.descriptions[k][number].similarities()
            return self.fixed[k, number]
        if (k, part) not in self.learned:
            assert self.learn is not None
            for side, S in enumerate(self.learn(train)):
                self.learned[side, part] = S
        return self.learned[k, part]


@dataclass(frozen=True)
class Trial:
    """The criterion of one stage of a recipe: on each part, and the predictions that it was judged by."""

    recipe: Recipe
    values: Array  # (parts,)
    predictions: tuple[Array, ...]

    @property
    def mean(self) -> float:
        return float(self.values.mean())


class Bench:
    """The parts of one question, on which recipes are fitted and judged."""

    def __init__(self, parts: Sequence[Part], similarities: Similarities, criterion: str, implicit: bool) -> None:
        self.parts, self.similarities = list(parts), similarities
        self.criterion, self.implicit = criterion, implicit
        self.spectra: dict[object, Spectrum] = {}
        self.kernels: dict[object, Array] = {}
        self.fits = 0
        self.failures: dict[str, str] = {}

    def kernel(self, k: int, terms: Sequence[Term], part: int) -> Array:
        """The kernel between all entities, without profiles and constant."""
        key = (k, tuple(terms), part if self._is_learned(k, terms) else -1)
        if key not in self.kernels:
            if len(self.kernels) > 4:
                self.kernels.clear()
            self.kernels[key] = mix(terms, lambda number: self.similarities.of(k, number, part, self.parts[part]))
        return self.kernels[key]

    def _is_learned(self, k: int, terms: Sequence[Term]) -> bool:
        return any(term.description >= len(self.similarities.descriptions[k]) for term in terms)

    def _spectrum(self, k: int, recipe: Recipe, part: int, known: Array) -> Spectrum:
        is_whole = known.shape[0] == self.kernel(k, recipe.terms(k), part).shape[0]
        where = -1 if is_whole and not self._is_learned(k, recipe.terms(k)) else part
        key = (k, recipe.terms(k), where)
        if key not in self.spectra:
            if len(self.spectra) > KEPT * len(self.parts):
                self.spectra.clear()
            self.spectra[key] = Spectrum.of(known + CONSTANT)
        return self.spectra[key]

    def try_recipe(self, recipe: Recipe) -> list[Trial]:
        """The stages of a recipe, each as a trial; none if it fails."""
        found: list[list[Array]] = []
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for number, part in enumerate(self.parts):
                    found.append(self._fit(recipe, number, part))
            trials = []
            for stage, predictions in enumerate(zip(*found, strict=True)):
                values = [self.judge(P, part) for P, part in zip(predictions, self.parts, strict=True)]
                rounds = recipe.rounds - len(found[0]) + 1 + stage
                from dataclasses import replace

                trials.append(Trial(replace(recipe, rounds=rounds), np.array(values), tuple(predictions)))
            return [trial for trial in trials if np.isfinite(trial.values).all()]
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            self.failures[repr(recipe)] = f"{type(error).__name__}: {error}"
            return []

    def _fit(self, recipe: Recipe, number: int, part: Part) -> list[Array]:
        K = [self.kernel(k, recipe.terms(k), number) if recipe.terms(k) else np.zeros((1, 1)) for k in (0, 1)]
        known = (part.known(0, K[0]), part.known(1, K[1])) if recipe.rows else (np.zeros((len(part.rows), 0)), np.zeros((len(part.columns), 0)))
        spectra = None
        if recipe.head in ("kronecker", "two-step"):
            spectra = tuple(self._spectrum(k, recipe, number, known[k]) for k in (0, 1))
        stages = fit_stages(recipe, part.scores, known, part.effects(recipe.effects), ROUGH, spectra)
        self.fits += len(stages)
        if not recipe.rows:
            from jointdr.prediction.heads.stages import Seen

            seen = [Seen(np.zeros((len(to), 0)), None if new else np.searchsorted(at, to)) for at, to, new in ((part.rows, part.new_rows, part.is_new[0]), (part.columns, part.new_columns, part.is_new[1]))]
        else:
            seen = [part.seen(k, K[k]) for k in (0, 1)]
        return [stage.scores(*seen) for stage in stages]

    def judge(self, predictions: Array, part: Part) -> float:
        return judge_predictions(
            self.criterion, predictions, part.truth, part.judged, part.by == "columns", self.implicit
        )


def mix(terms: Sequence[Term], similarities: Callable[[int], Array]) -> Array:
    """The weighted sum of powers of similarities."""
    total = None
    for term in terms:
        K = to_power(similarities(term.description).copy(), term.power)
        if term.share != 1:
            K *= term.share
        total = K if total is None else np.add(total, K, out=total)
    assert total is not None
    return total

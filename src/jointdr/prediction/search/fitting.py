"""The models that were chosen, fitted to all scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jointdr.data import Dyads
from jointdr.prediction.heads.calibration import Calibration
from jointdr.prediction.heads.head import EntitySet, Head
from jointdr.prediction.heads.members import Answers, EntityKernels, RecipeKernels, Stack, StagesHead
from jointdr.prediction.heads.spectra import EXACT, FINE, SINGLE
from jointdr.prediction.heads.stages import Recipe, SmoothingStage, fit_stages
from jointdr.prediction.search.answers import Answer
from jointdr.prediction.search.bench import Sides
from jointdr.prediction.search.large import fit_large, is_large
from jointdr.prediction.search.parts import fit_effects, known_scores
from jointdr.runtime import Array

PERCENTILES = 200  # known rows whose unknown pairs give the ranks of scores


def fit_answers(dyads: Dyads, answers: Sequence[Answer], descriptions: Sides) -> Answers:
    """The members of all answers, fitted to all scores."""
    if is_large(dyads):
        large = {answer.by: fit_large(answer.recipes[0], dyads, descriptions) for answer in answers}
        return Answers({by: Stack((head,), (1.0,)) for by, head in large.items()})
    scores, kernels = known_scores(dyads), EntityKernels(descriptions)
    single = max(dyads.shape) > SINGLE
    tolerance, dtype = (FINE, np.float32) if single else (EXACT, None)
    fitted: dict[Recipe, list[SmoothingStage]] = {}
    rounds: dict[Recipe, set[int]] = defaultdict(set)  # of recipes that begin in the same way
    for answer in answers:
        for recipe in answer.recipes:
            rounds[replace(recipe, rounds=0)].add(recipe.rounds)
    heads: dict[str, Head] = {}
    calibrations: dict[str, Calibration] = {}
    for answer in answers:
        members = []
        for recipe in answer.recipes:
            used = rounds[replace(recipe, rounds=0)]
            whole = replace(recipe, rounds=max(used))
            if whole not in fitted:
                known, effects = RecipeKernels(kernels, whole), fit_effects(scores, whole.effects)
                fitted[whole] = fit_stages(whole, scores, known, effects, tolerance, dtype=dtype, rounds=used)
            stages = fitted[whole]
            stage = stages[len(stages) - 1 - (whole.rounds - recipe.rounds)]
            members.append(StagesHead(stage, RecipeKernels(kernels, recipe)))
        heads[answer.by] = Stack(tuple(members), answer.weights)
        if answer.calibration is not None:
            calibrations[answer.by] = answer.calibration
    found = Answers(heads, calibrations)
    if dyads.is_implicit and "pairs" in heads:
        ranks = _rank_scores(found, scores.Y)
        if ranks is not None:
            calibrations["pairs"] = ranks
    return found


def _rank_scores(head: Answers, Y: Array) -> Calibration | None:
    """The distribution of the scores of unknown pairs, of some known rows."""
    at = np.linspace(0, len(Y) - 1, min(PERCENTILES, len(Y))).astype(int)
    rows, columns = EntitySet(len(at), indices=at), EntitySet(Y.shape[1])
    S = head.heads["pairs"].scorer(rows, columns, 1e8)(slice(0, len(at))).scores
    return Calibration.of_ranks(S[Y[at] == 0])

"""Heads of stages: one recipe, a stack of several, and an answer for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jointdr.prediction.heads.calibration import Calibration
from jointdr.prediction.heads.descriptions import Description
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.heads.stages import Recipe, Seen, SmoothingStage, Term, mix_similarities
from jointdr.prediction.ranking import ScoreBlock, Scorer
from jointdr.runtime import Array

KEPT = 4  # kernels between all known entities that are kept for the next question

Descriptions = tuple[Sequence[Description], Sequence[Description]]


class EntityKernels:
    """The kernels of all recipes, between known entities and of new ones."""

    def __init__(self, descriptions: Descriptions) -> None:
        self.descriptions = descriptions
        self._known: dict[tuple[int, tuple[Term, ...]], Array] = {}

    def known(self, k: int, terms: tuple[Term, ...]) -> Array:
        """Between all known entities, (m, m); computed once."""
        if (k, terms) not in self._known:
            while len(self._known) >= 2 * KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[k, terms] = mix_similarities(terms, lambda n: self.descriptions[k][n].similarities())
        return self._known[k, terms]

    def new(self, k: int, terms: tuple[Term, ...], tables: Tables) -> Array:
        """Of new entities to the known ones, (entities, m)."""

        def similarities(number: int) -> Array:
            description = self.descriptions[k][number]
            return description.similarities(description.describe(tables))

        return mix_similarities(terms, similarities)

    def __getstate__(self) -> dict[str, Any]:
        return {"descriptions": self.descriptions, "_known": {}}


@dataclass(frozen=True)
class RecipeKernels:
    """Those of one recipe, as its stages take them."""

    kernels: EntityKernels
    recipe: Recipe

    def known(self, k: int) -> Array:
        """That of rows (k = 0) or of columns, (m, m)."""
        return self.kernels.known(k, self.recipe.terms(k))

    def seen(self, k: int, some: EntitySet, at: slice) -> Seen:
        """Some of these entities."""
        terms = self.recipe.terms(k)
        if some.tables is not None:
            tables = tuple(T[at] for T in some.tables)
            count = len(range(*at.indices(some.count)))
            return Seen(self.kernels.new(k, terms, tables) if terms else np.zeros((count, 0)))
        where: Array | slice = at if some.indices is None else some.indices[at]
        if not terms:
            return Seen(np.zeros((len(range(*at.indices(some.count))), 0)), where)
        return Seen(self.known(k)[where], where)


@dataclass(frozen=True)
class StagesHead(Head):
    """The last stage of a recipe, with the kernels of its entities."""

    stage: SmoothingStage
    kernels: RecipeKernels

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns."""
        others = self.kernels.seen(1, columns, slice(0, columns.count))
        return lambda at: ScoreBlock(self.stage.scores(self.kernels.seen(0, rows, at), others))

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose scores with so many columns fit into this memory."""
        m_A, m_B = self.stage.coefficients.shape
        return max(1, int(max_bytes / (8 * (3 * m_A + m_B + 4 * n_columns))))

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Array:
        """The factor of each known score in the prediction of one pair, (m_A, m_B), with all kernels held fixed."""
        a, b = (self.kernels.seen(k, one, slice(0, 1)) for k, one in enumerate((row, column)))
        return self.stage.pair_weights(a, b)


@dataclass(frozen=True)
class EffectsHead(Head):
    """Row and column effects alone, for any number of entities."""

    effects: Effects

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns."""
        r, c = self.effects.of(rows, columns)
        return lambda at: ScoreBlock(np.add.outer(r[at], c))

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Array:
        """The factor of each known score in the prediction of one pair."""
        return self.effects.weights(*(None if one.indices is None else int(one.indices[0]) for one in (row, column)))


@dataclass(frozen=True)
class Stack(Head):
    """A weighted sum of heads."""

    members: tuple[Head, ...]
    weights: tuple[float, ...]

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns."""
        scorers = [member.scorer(rows, columns, max_bytes / len(self.members)) for member in self.members]

        def block(at: slice) -> ScoreBlock:
            total = self.weights[0] * scorers[0](at).scores
            for weight, scorer in zip(self.weights[1:], scorers[1:], strict=True):
                total += weight * scorer(at).scores
            return ScoreBlock(total)

        return block

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose scores with so many columns fit into this memory."""
        return min(member.rows_at_once(n_columns, max_bytes) for member in self.members)

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Array:
        """The factor of each known score in the prediction of one pair, (m_A, m_B)."""
        parts = zip(self.weights, self.members, strict=True)
        found = [weight * member.pair_weights(row, column) for weight, member in parts]
        return found[0] if len(found) == 1 else sum(found)


@dataclass(frozen=True)
class Answers(Head):
    """A head for each question: new rows, new columns, both new, and pairs of known entities."""

    heads: Mapping[str, Head]
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)

    def question(self, rows: EntitySet, columns: EntitySet) -> str:
        """The question that a call asks; a ValueError if the model was not fitted for it."""
        new = (rows.tables is not None, columns.tables is not None)
        by = {(True, False): "rows", (False, True): "columns", (True, True): "both", (False, False): "pairs"}[new]
        if by not in self.heads:
            raise ValueError(
                f"The model was fitted with uses={tuple(self.heads)}, and this asks for {by!r}: "
                f"{QUESTIONS[by]}. Fit it with {by!r} in uses, or with the default."
            )
        return by

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns, with notes on them."""
        by = self.question(rows, columns)
        scorer, calibration = self.heads[by].scorer(rows, columns, max_bytes), self.calibrations.get(by)
        if not count or calibration is None:
            return scorer

        def block(at: slice) -> ScoreBlock:
            scores = scorer(at).scores
            return ScoreBlock(scores, calibration.notes(scores))

        return block

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose scores with so many columns fit into this memory."""
        return min(head.rows_at_once(n_columns, max_bytes) for head in self.heads.values())

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Any:
        """The factor of each known score in the prediction of one pair, by the head that answers the question."""
        return self.heads[self.question(row, column)].pair_weights(row, column)


QUESTIONS = {
    "rows": "new rows with known columns",
    "columns": "new columns with known rows",
    "both": "new rows with new columns",
    "pairs": "pairs of known entities",
}

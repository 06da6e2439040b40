"""The automatic head of an `AssociationModel`: its fit, the table of its choices, and how it is written to a file."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jointdr.data import BY, By, Dyads, Entities, Groups
from jointdr.estimators import ViewsTransformer
from jointdr.prediction.heads.descriptions import Description, comparisons_of, raw_descriptions, tables_of
from jointdr.prediction.heads.head import EntitySet, Tables
from jointdr.prediction.heads.members import Answers, Stack, StagesHead
from jointdr.prediction.heads.ridge import GridRidge
from jointdr.prediction.heads.spectra import negative_share
from jointdr.prediction.search.answers import Answer, ChoiceTask, choose_answers
from jointdr.prediction.search.bench import Sides
from jointdr.prediction.search.criterion import check_criterion
from jointdr.prediction.search.fitting import fit_answers
from jointdr.prediction.search.large import is_large
from jointdr.prediction.search.learned import Maps, choose_maps, default_embedding, fit_embedding
from jointdr.prediction.search.parts import new_sides
from jointdr.prediction.search.progress import SearchProgress
from jointdr.runtime import Array, MemoryBudgetError, check_integer, log

NOTED = 0.001  # the share of negative eigenvalues of a similarity from which a note says so
LOOKED_AT = 500  # entities whose similarities are looked at for it, at most


@dataclass(frozen=True)
class AutomaticParts:
    """The entities, what describes them, and the model of each question."""

    tables: tuple[Tables, Tables]  # features, then similarities, of rows and of columns
    labels: tuple[tuple[str, ...], tuple[str, ...]]  # of descriptions
    embedding: ViewsTransformer | None
    answers: tuple[Answer, ...]
    head: Answers
    criterion: str
    implicit: bool

    # ---------------------------------------------------------------- entities

    def describe(self, k: int, new: Entities) -> Tables:
        """New entities as the head takes them."""
        return (new.X, *new.similarity.values())

    def points(self, k: int) -> Tables:
        """The features of known entities."""
        return self.tables[k][:1] if self.tables[k][0].shape[1] > 0 else ()

    def compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        """Distances and similarities of one entity to all known ones, by the kernels of its question."""
        asked = "pairs" if one.tables is None else ("rows", "columns")[k]
        by = asked if asked in self.head.heads else next(iter(self.head.heads))
        stack = self.head.heads[by]
        assert isinstance(stack, Stack)
        members = [
            (weight, member)
            for weight, member in zip(stack.weights, stack.members, strict=True)
            if isinstance(member, GridRidge)
            or (isinstance(member, StagesHead) and member.stage.recipe.head != "effects")
        ]
        if not members:
            raise ValueError("The model compares no entities here: it predicts row and column effects alone.")
        total = sum(weight for weight, _ in members)
        similarity = np.zeros(self.tables[k][0].shape[0])
        for weight, member in members:
            if isinstance(member, GridRidge):
                K = member.coordinates[k].cosines(one)[0]
            else:
                K = member.stage.similarities(k, member.kernels.seen(k, one, slice(0, 1)))[0]
            similarity += weight / total * K
        similarity = np.clip(similarity, 0.0, 1.0)
        return np.sqrt(np.maximum(2.0 - 2.0 * similarity, 0.0)), similarity

    def coordinates(self, k: int, new: Entities | None) -> Array:
        """Coordinates of the embedding, scaled by Σ^½, or raw features where there is none."""
        X = self.tables[k][0] if new is None else new.X
        if self.embedding is not None:
            return np.asarray(self.embedding.solution_.transform_view(k, X, 0.5), dtype=float)
        if X.shape[1] == 0:
            raise ValueError("These entities have no features, and so no coordinates.")
        return X

    # ---------------------------------------------------------------- what was chosen

    def choices(self) -> Any:
        """A DataFrame with one row for each question and member of its model."""
        from jointdr.prediction.choices import choices_table

        return choices_table(self.answers, self.labels, self.criterion, self.implicit)

    def failures(self) -> Any:
        """A DataFrame of the settings that could not be fitted."""
        from jointdr.prediction.choices import failures_table

        return failures_table(self.answers, self.labels)

    def summary(self) -> str:
        """The chosen models in words, a few lines for each question, and how many settings failed."""
        return "\n".join([str(self.choices()), *self._indefinite, *self.failures().in_words()])

    @cached_property
    def _indefinite(self) -> list[str]:
        """A line for each given similarity of which ridge regression leaves a part out."""
        lines = []
        for k, side in enumerate(("rows", "columns")):
            named = self.labels[k][: len(self.labels[k]) - (self.embedding is not None)]
            given = self.tables[k][1:]  # the last of the descriptions that do not depend on scores
            for name, S in zip(named[len(named) - len(given) :], given, strict=True):
                if (share := negative_share(S, LOOKED_AT)) > NOTED:
                    some = f" of {LOOKED_AT} of the entities" if S.shape[0] > LOOKED_AT else ""
                    lines.append(
                        f"The similarity {name!r} of {side} is indefinite: ridge regression leaves out its negative "
                        f"eigenvalues, {share:.1%} of all by absolute value{some}."
                    )
        return lines


@dataclass(frozen=True)
class AutomaticParameters:
    """The parameters of an automatic head, checked."""

    uses: tuple[By, ...]
    criterion: str
    max_fits: int

    @staticmethod
    def check(uses: Any, criterion: Any, max_fits: Any, implicit: bool | None = None) -> AutomaticParameters:
        """Check the parameters of an `AssociationModel`, for scores of this kind, or of any."""
        given = (uses,) if isinstance(uses, str) else tuple(uses) if isinstance(uses, (tuple, list)) else ()
        if not given or not all(isinstance(by, str) and by in BY for by in given):
            raise ValueError(f"uses={uses!r} must be some of {BY}: what the model is going to predict.")
        max_fits = check_integer("max_fits", max_fits, 1)
        asked = tuple(by for by in BY if by in given)
        return AutomaticParameters(asked, check_criterion(criterion, implicit), max_fits)


def fit_automatic(
    dyads: Dyads,
    parameters: AutomaticParameters,
    embedding: Any,
    random_state: Any = None,
    progress: bool | None = None,
    groups: Groups | None = None,
) -> AutomaticParts:
    """Choose a model for each question on held-out parts of the data, and fit it to all of it.

    Parameters
    ----------
    dyads : Dyads
    parameters : AutomaticParameters
    embedding : "auto", estimator or None
        Its coordinates are a description of entities beside their features.
    random_state : int, RandomState or None
    progress : bool, optional
    groups : Groups, optional
        Entities that are held out together.
    """
    given, reason = None if isinstance(embedding, str) else embedding, ""
    if is_large(dyads):
        embedding = None
    elif isinstance(embedding, str):
        embedding = default_embedding(dyads)
    elif embedding is not None and min(dyads.n_features) == 0:
        embedding = None
    maps: Maps = (None, None) if embedding is None else choose_maps(dyads, standardize=given is None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its coordinates are one description of several
        try:
            fitted = None if embedding is None else fit_embedding(embedding, dyads, maps)
        except MemoryBudgetError as error:
            fitted, reason = None, str(error)
    embedding = None if fitted is None else embedding
    if embedding is None and (given is not None or reason):
        remedy = "lower n_components, or give features of both sides; for very many entities name a head."
        warnings.warn(
            f"embedding={given or 'auto'!r} is left out, because it cannot be fitted to {dyads!r}: {reason or remedy}",
            UserWarning,
            stacklevel=4,
        )
    uses = answerable(parameters.uses, dyads)
    chosen_by = (uses, parameters.criterion, parameters.max_fits)
    task = ChoiceTask(dyads, *chosen_by, embedding, random_state, groups, maps)
    log.info("choosing a model of %r for %s", dyads, ", ".join(uses))
    with SearchProgress(uses, progress) as bar:
        answers = tuple(choose_answers(task, bar))
        bar.fit()
        start = time.perf_counter()
        tables = (tables_of(dyads, 0), tables_of(dyads, 1))
        descriptions = describe_sides(dyads, fitted)
        head = fit_answers(dyads, answers, descriptions)
        log.info("fitted what was chosen to all of the data in %.1f s", time.perf_counter() - start)
    labels = tuple(tuple(d.label for d in side) for side in descriptions)
    return AutomaticParts(
        tables, (labels[0], labels[1]), fitted, answers, head, parameters.criterion, dyads.is_implicit
    )


def answerable(uses: tuple[By, ...], dyads: Dyads) -> tuple[By, ...]:
    """The questions that can be asked: not those about new entities of a kind that nothing describes.

    All of them where none is left.
    """
    tables = zip((dyads.A, dyads.B), dyads.similarities, strict=True)
    described = [X.shape[1] > 0 or len(named) > 0 for X, named in tables]
    found = [
        by for by in uses if all(is_there or not new for is_there, new in zip(described, new_sides(by), strict=True))
    ]
    return tuple(found) or uses


def describe_sides(dyads: Dyads, embedding: ViewsTransformer | None) -> Sides:
    """All descriptions of both sides: those of features, similarities, and coordinates of a fitted embedding."""
    linear = is_large(dyads)
    found = [list(raw_descriptions(dyads, k, comparisons_of(dyads, k, linear))) for k in (0, 1)]
    if embedding is not None:
        for k, X in enumerate((dyads.A, dyads.B)):
            found[k].append(Description.of_embedding(embedding.solution_, k, X))
    return found[0], found[1]

"""Questions about very many entities: cheap heads first, dear ones only where a sample shows that they gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdr.data import By, Dyads
from jointdr.prediction.heads.descriptions import Description
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.heads.members import Descriptions, EffectsHead
from jointdr.prediction.heads.ridge import Coordinates, GridRidge, positive_eigenpairs, rotate_to_diagonal
from jointdr.prediction.heads.stages import CONSTANT, Recipe, Term, mix_similarities
from jointdr.prediction.search.bench import Bench, RecipeTrial, error_of_mean
from jointdr.prediction.search.menu import PENALTIES, Options, screen
from jointdr.prediction.search.parts import effects_of, new_sides
from jointdr.runtime import Array, is_sparse, slices

LARGEST, MOST_PAIRS = 10_000, 50_000_000  # entities of a kind, and pairs, whose scores are held as a dense matrix
WIDE = 1000  # features that are coordinates of their own, at most
LANDMARKS = 500  # entities whose similarities are the coordinates of others
AT_ONCE = 10_000  # entities whose coordinates are computed at a time


def is_large(dyads: Dyads) -> bool:
    """Whether matrices of all pairs are too large to work with."""
    return max(dyads.shape) > LARGEST or dyads.shape[0] * dyads.shape[1] > MOST_PAIRS


def choose_recipe(
    bench: Bench, by: By, linear: tuple[Options, Options], options: tuple[Options, Options]
) -> RecipeTrial | None:
    """The recipe of a sample: ridge regression on products of features, unless kernels are clearly better."""
    new = new_sides(by)
    effects = (not new[0], not new[1])
    best: RecipeTrial | None = None
    if all(linear):
        cheap = [Recipe("kronecker", linear[0][0], linear[1][0], (p, p), effects) for p in PENALTIES]
        tried = [trial for recipe in cheap for trial in bench.try_recipe(recipe)]
        best = max(tried, key=lambda trial: trial.mean, default=None)
    try:
        dear = screen(bench, by, options, complete=False, neighbors=False)
    except ValueError as error:
        bench.failures["all other settings"] = str(error)
        dear = []
    for recipe in dear:
        plain = replace(recipe, profiles=(0.0, 0.0), profile="filled", rounds=0)
        if plain.head == "kronecker":
            for trial in bench.try_recipe(plain):
                if best is None or _gains(trial, best):
                    best = trial
    return best


def _gains(dear: RecipeTrial, cheap: RecipeTrial) -> bool:
    """Whether it is better by two standard errors, and by more than a fiftieth."""
    difference = dear.values - cheap.values
    return float(difference.mean()) > max(2 * error_of_mean(difference), 0.02 * abs(cheap.mean))


@dataclass(frozen=True)
class DescribedCoordinates(Coordinates):
    """Coordinates of entities that are given by their tables: features, or similarities to landmarks."""

    descriptions: tuple[Description, ...] = ()
    terms: tuple[Term, ...] = ()
    landmarks: Array | None = None  # their indices among the known entities; None where features are coordinates

    @staticmethod
    def fit(descriptions: tuple[Description, ...], terms: tuple[Term, ...]) -> DescribedCoordinates:
        """O(m n²) for n features, or O(m p²) for p landmarks."""
        (term, *others), count = terms, descriptions[0].count
        described = descriptions[term.description]
        if not others and described.kind == "linear" and described.points.shape[1] <= WIDE:
            plain = Coordinates.linear(described.points / np.sqrt(described.unit))
            return DescribedCoordinates(
                None, plain.rotation, plain.known, plain.values, plain.constant, (described,), (Term(0),)
            )
        rng = np.random.RandomState(0)
        at = np.sort(rng.choice(count, min(count, LANDMARKS), replace=False))
        some = tuple(replace(d, points=_take(d, at)) for d in descriptions)
        values, Q = positive_eigenpairs(mix_similarities(terms, lambda n: some[n].similarities()) + CONSTANT)
        X = np.empty((count, len(values)))
        for part in slices(count, AT_ONCE):
            K = _landmark_kernel(terms, some, descriptions, part, at)
            X[part] = (K + CONSTANT) @ (Q / np.sqrt(values))
        rotation, diagonal = rotate_to_diagonal(X)
        return DescribedCoordinates(
            None, Q / np.sqrt(values) @ rotation, X @ rotation, diagonal, CONSTANT, some, terms, at
        )

    def features(self, some: EntitySet, at: slice) -> Array:
        """φ of some of these entities, (entities, q)."""
        if some.tables is None:
            return self.known[at if some.indices is None else some.indices[at]]
        tables = tuple(T[at] for T in some.tables)
        if self.landmarks is None:
            Z = self.descriptions[0].describe(tables)
            Z = (Z.toarray() if is_sparse(Z) else Z) / np.sqrt(self.descriptions[0].unit)
            return np.hstack([Z, np.full((len(Z), 1), self.constant)]) @ self.rotation
        K = mix_similarities(self.terms, lambda n: self._similarities(self.descriptions[n], tables))
        return np.asarray((K + self.constant) @ self.rotation)

    def _similarities(self, description: Description, tables: Tables) -> Array:
        """Those of new entities to the landmarks."""
        Z = description.describe(tables)
        return description.similarities(Z[:, self.landmarks] if description.kind == "given" else Z)


def _landmark_kernel(
    terms: tuple[Term, ...], some: Sequence[Description], descriptions: Sequence[Description], part: slice, at: Array
) -> Array:
    return mix_similarities(terms, lambda n: some[n].similarities(_rows(descriptions[n], part, at)))


def _take(description: Description, at: Array) -> Array:
    """The known entities of a description that are landmarks."""
    points = description.points[at]
    return points[:, at] if description.kind == "given" else points


def _rows(description: Description, part: slice, at: Array) -> Array:
    """Some known entities, as a description by landmarks takes them."""
    points = description.points[part]
    return points[:, at] if description.kind == "given" else points


def fit_large(recipe: Recipe, dyads: Dyads, descriptions: Descriptions) -> Head:
    """Row and column effects, and ridge regression on products of features, or of similarities to landmarks."""
    effects = effects_of(dyads.Y, dyads.is_complete, recipe.effects)
    if recipe.head == "effects":
        return EffectsHead(effects)
    a, b = (DescribedCoordinates.fit(tuple(descriptions[k]), recipe.terms(k)) for k in (0, 1))
    return GridRidge.solve(dyads.Y, dyads.is_complete, (a, b), recipe.penalties[0], effects=effects)

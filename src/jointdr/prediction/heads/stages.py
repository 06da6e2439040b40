"""One stage of an automatic head: effects, kernels of both sides, and a smoother of what effects leave.

    ŷ(a, b) = µ + r_a + c_b + k(a)ᵀ C k(b)                                       (ridge)
    ŷ(a, b) = µ + r_a + c_b + Σ k(a, p) k(b, q) r_pq / Σ k(a, p) k(b, q)         (neighbors)

A kernel is a mixture of powers of the similarities of descriptions, plus a constant. With profiles, a share of it is
the Gaussian similarity of the scores of entities: known scores where there are some, elsewhere those that the stage
before predicts. A new entity has the predicted ones only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from jointdr.prediction.heads.distances import squared_distances
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.spectra import EXACT, Spectrum, filtered, solve_kronecker, two_step_filter
from jointdr.runtime import Array

HEADS = ("effects", "kronecker", "two-step", "neighbors")

# Added to the similarities of each side, which are 1 at most, so that their products include main effects.
CONSTANT = 0.2


@dataclass(frozen=True)
class Term:
    """A description's power and its share in a kernel."""

    description: int
    power: float = 1.0
    share: float = 1.0


@dataclass(frozen=True)
class Recipe:
    """The settings of a chain of stages."""

    head: str = "kronecker"
    rows: tuple[Term, ...] = ()
    columns: tuple[Term, ...] = ()
    penalties: tuple[float, float] = (0.1, 0.1)  # λ_A and λ_B of two-step ridge; the first is λ of Kronecker ridge
    effects: tuple[bool, bool] = (True, True)  # of rows and columns
    profiles: tuple[float, float] = (0.0, 0.0)  # the shares of profiles in the kernels of rows and columns
    profile: str = "filled"  # or "predicted", or "known"
    width: float = 1.0  # exp(−width d²/median d²)
    rounds: int = 0  # stages with profiles after the first one without
    borrow: tuple[float, float] = (1.0, 1.0)  # the share of a known entity's weight that goes to others; for neighbors

    def terms(self, k: int) -> tuple[Term, ...]:
        return (self.rows, self.columns)[k]


@dataclass(frozen=True)
class Scores:
    """Known scores, dense: 0 where they are not known, and a mask of those that are; None for all."""

    Y: Array
    mask: Array | None

    @cached_property
    def range(self) -> tuple[float, float]:
        values = self.Y if self.mask is None else self.Y[self.mask > 0]
        return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)

    def residuals(self, mean: float, rows: Array, columns: Array) -> Array:
        R = self.Y - (mean + rows)[:, None] - columns
        return R if self.mask is None else np.multiply(R, self.mask, out=R)


@dataclass(frozen=True)
class Seen:
    """Entities of one kind as stages take them: the similarities of their kernel to known ones, without profiles."""

    K: Array  # (entities, m)
    at: Array | slice | None = None  # their indices among the known ones; None for new ones

    @property
    def is_new(self) -> bool:
        return self.at is None


@dataclass(frozen=True)
class Stage:
    """A fitted stage."""

    recipe: Recipe
    effects: Effects  # those that the recipe asks for; the others are 0
    coefficients: Array  # (m_A, m_B): C; what effects leave of known scores, for neighbors
    mask: Array | None
    Z: Array | None = None  # (m_A, m_B): profiles of rows, and of columns as its transpose
    units: tuple[float, float] = (1.0, 1.0)  # the median squared distances between profiles
    before: Stage | None = None
    known: tuple[Array, Array] = field(default=(None, None), compare=False, repr=False)  # kernels without profiles
    clip: tuple[float, float] = (-np.inf, np.inf)

    def scores(self, rows: Seen, columns: Seen) -> Array:
        """The predictions for all pairs of these rows and columns."""
        E = np.add.outer(self.effects.mean + self._effect(0, rows), self._effect(1, columns))
        if self.recipe.head == "effects":
            return E
        K, L = self.kernel(0, rows), self.kernel(1, columns)
        if self.recipe.head != "neighbors":
            C = self.coefficients
            if K.shape[0] <= L.shape[0]:
                E += (K @ C) @ L.T
            else:
                E += K @ (C @ L.T)
            return E
        total = np.outer(K.sum(axis=1), L.sum(axis=1)) if self.mask is None else K @ self.mask @ L.T
        E += np.divide(K @ self.coefficients @ L.T, total, out=np.zeros_like(E), where=total > 1e-100)
        return E

    def _effect(self, k: int, some: Seen) -> Array:
        return np.zeros(some.K.shape[0]) if some.at is None else (self.effects.rows, self.effects.columns)[k][some.at]

    def kernel(self, k: int, some: Seen) -> Array:
        """The kernel between these entities and the known ones, with profiles, (entities, m)."""
        share, K = self.recipe.profiles[k], some.K
        if self.Z is not None and share > 0:
            K = (1.0 - share) * K
            K += share * self._profile_similarities(k, some)
        if self.recipe.head != "neighbors":
            return K + CONSTANT
        lent = self.recipe.borrow[k]
        if not some.is_new and lent < 1:
            K = K * (lent / np.maximum(K.sum(axis=1), 1e-300))[:, None]
            K[np.arange(len(K)), np.arange(K.shape[1])[some.at]] += 1.0 - lent
        return K

    def _profile_similarities(self, k: int, some: Seen) -> Array:
        assert self.Z is not None
        Z = self.Z if k == 0 else self.Z.T
        if some.at is not None:
            P = Z[some.at]
        else:
            assert self.before is not None
            others = Seen(self.known[1 - k], slice(None))
            P = self.before.scores(some, others) if k == 0 else self.before.scores(others, some).T
            P = np.clip(P, *self.clip)
        return gaussian(P, Z, self.units[k], self.recipe.width)


def gaussian(P: Array, Z: Array, unit: float, width: float) -> Array:
    D = squared_distances(P, Z)
    D *= -width / unit
    return np.exp(D, out=D)


def median_distance(Z: Array, most: int = 500) -> float:
    """The median squared distance between rows, of some of them; 1 if it is 0."""
    at = np.linspace(0, len(Z) - 1, min(most, len(Z))).astype(int)
    D = squared_distances(Z[at], Z[at])
    found = D[np.triu_indices(len(at), 1)]
    found = found[found > 1e-12 * max(float(D.max(initial=0.0)), 1e-300)] if found.size else found
    return float(np.median(found)) if found.size else 1.0


def fit_stages(
    recipe: Recipe,
    scores: Scores,
    known: tuple[Array, Array],
    effects: Effects,
    tolerance: float = EXACT,
    spectra: tuple[Spectrum, Spectrum] | None = None,
) -> list[Stage]:
    """The stages of a recipe, one after the other.

    Parameters
    ----------
    recipe : Recipe
    scores : Scores
    known : pair of (m, m) arrays
        The kernels between known rows and between known columns, without profiles and constant.
    effects : Effects
        Of the same scores, of the kinds that the recipe asks for.
    spectra : pair of Spectrum, optional
        Of these kernels with the constant, where they are at hand.
    tolerance : float
        As in `solve_kronecker`.
    """
    R = scores.residuals(effects.mean, effects.rows, effects.columns)
    stage = Stage(recipe, effects, R, scores.mask, known=known, clip=scores.range)
    if recipe.head == "effects":
        return [stage]
    everyone = (Seen(known[0], slice(None)), Seen(known[1], slice(None)))
    stages: list[Stage] = []
    start = 0 if recipe.profile != "known" or max(recipe.profiles) == 0 else 1
    for number in range(start, recipe.rounds + 1):
        current = replace(stage, before=stages[-1] if stages else None)
        if number > 0:
            Z = profiles(recipe, scores, stages[-1].scores(*everyone) if stages else None, stage)
            current = replace(current, Z=Z, units=(median_distance(Z), median_distance(Z.T)))
        if recipe.head != "neighbors":
            given = spectra if number == 0 else None
            a, b = given or (Spectrum.of(current.kernel(k, everyone[k])) for k in (0, 1))
            current = replace(current, coefficients=solve(current, a, b, R, tolerance))
        stages.append(current)
    return stages


def profiles(recipe: Recipe, scores: Scores, predicted: Array | None, stage: Stage) -> Array:
    """The scores that describe known entities, (m_A, m_B)."""
    if predicted is None:
        if scores.mask is None:
            return scores.Y
        predicted = np.add.outer(stage.effects.mean + stage.effects.rows, stage.effects.columns)
    predicted = np.clip(predicted, *scores.range)
    if recipe.profile == "predicted":
        return predicted
    return predicted if scores.mask is None else np.where(scores.mask > 0, scores.Y, predicted)


def solve(stage: Stage, a: Spectrum, b: Spectrum, R: Array, tolerance: float) -> Array:
    """The coefficients of a ridge head."""
    if stage.recipe.head == "two-step":
        return filtered(a, b, R, two_step_filter(a, b, stage.recipe.penalties))
    return solve_kronecker(a, b, R, stage.mask, stage.recipe.penalties[0], tolerance)

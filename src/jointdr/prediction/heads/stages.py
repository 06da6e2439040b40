"""One stage of an automatic head: effects, kernels of both sides, and a smoother of what effects leave.

    ŷ(a, b) = µ + r_a + c_b + k(a)ᵀ C k(b)                                       (ridge)
    ŷ(a, b) = µ + r_a + c_b + Σ k(a, p) k(b, q) r_pq / Σ k(a, p) k(b, q)         (neighbors)

A kernel K is a mixture of powers of the similarities of descriptions, plus a constant. With profiles it is
(1 − c)(K + K ∘ A)/2 + c A, where A are similarities of the scores of entities: known scores where there are some,
elsewhere those that the stage before predicts. A new entity has the predicted ones only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from jointdr.prediction.heads.descriptions import to_power
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.profiles import EntityProfiles
from jointdr.prediction.heads.spectra import (
    EXACT,
    ROUGH,
    SINGLE,
    KernelSpectrum,
    apply_filter,
    kronecker_filter,
    solve_kronecker,
    two_step_filter,
)
from jointdr.runtime import Array, csr_rows, dense

# Added to the similarities of each side, which are 1 at most, so that their products include main effects.
CONSTANT = 0.2

EXPLAINED = 1e-10  # the residual at which conjugate gradients end, for the weights of known scores in a prediction


@dataclass(frozen=True)
class Term:
    """A description's power and its share in a kernel."""

    description: int
    power: float = 1.0
    share: float = 1.0


def mix_similarities(terms: Sequence[Term], similarities: Callable[[int], Array]) -> Array:
    """The weighted sum of powers of similarities, which are given by the number of their description."""
    total = None
    for term in terms:
        K = to_power(similarities(term.description).copy(), term.power)
        if term.share != 1:
            K *= term.share
        total = K if total is None else np.add(total, K, out=total)
    assert total is not None
    return total


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
    width: float = 1.0  # of the similarities of profiles
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

    @cached_property
    def spread(self) -> float:
        """The standard deviation of known scores."""
        values = self.Y if self.mask is None else self.Y[self.mask > 0]
        return float(np.std(values)) if values.size else 0.0

    def residuals(self, mean: float, rows: Array, columns: Array) -> Array:
        dtype = self.Y.dtype
        R = self.Y - (mean + rows).astype(dtype, copy=False)[:, None]
        R -= columns.astype(dtype, copy=False)
        return R if self.mask is None else np.multiply(R, self.mask, out=R)


@dataclass(frozen=True)
class Seen:
    """Entities of one kind as stages take them: the similarities of their kernel to known ones, without profiles."""

    K: Array  # (entities, m)
    at: Array | slice | None = None  # their indices among the known ones; None for new ones

    @property
    def is_new(self) -> bool:
        return self.at is None


class KnownKernels(Protocol):
    """The kernels between known entities, without profiles and constant."""

    def known(self, k: int) -> Array:
        """That of rows (k = 0) or of columns, (m, m)."""


@dataclass(frozen=True)
class GivenKernels:
    """The same as arrays."""

    rows: Array
    columns: Array

    def known(self, k: int) -> Array:
        """That of rows (k = 0) or of columns, (m, m)."""
        return (self.rows, self.columns)[k]


@dataclass(frozen=True)
class SmoothingStage:
    """A fitted stage."""

    recipe: Recipe
    effects: Effects  # those that the recipe asks for; the others are 0
    coefficients: Array  # (m_A, m_B): C; what effects leave of known scores, for neighbors
    mask: Array | None
    profiles: EntityProfiles | None = None
    before: SmoothingStage | None = None
    kernels: KnownKernels | None = field(default=None, compare=False, repr=False)
    clip: tuple[float, float] = (-np.inf, np.inf)  # the range of known scores

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

    def pair_weights(self, row: Seen, column: Seen) -> Array:
        """The factor of each known score in the prediction of one pair, (m_A, m_B), with all kernels held fixed."""
        K, L = (
            (self.kernel(k, one)[0] for k, one in enumerate((row, column)))
            if self.recipe.head != "effects"
            else ((), ())
        )
        shape = self.coefficients.shape
        if self.recipe.head == "effects":
            W = np.zeros(shape)
        elif self.recipe.head == "neighbors":
            W = np.outer(K, L) if self.mask is None else np.outer(K, L) * self.mask
            total = W.sum()
            W = W / total if total > 1e-100 else np.zeros(shape)
        else:
            W = self._ridge_weights(K, L)
        at = [
            None if one.at is None else int(np.arange(m)[one.at][0])
            for one, m in zip((row, column), shape, strict=True)
        ]
        own = self.effects.weights(*at)
        left = self.effects.project_out(self._as_known(W))
        return np.asarray(dense(left)) + np.asarray(dense(own))

    def _ridge_weights(self, row: Array, column: Array) -> Array:
        """Those of a ridge head: Q_A ((Q_Aᵀ k(a) k(b)ᵀ Q_B) ∘ f) Q_Bᵀ on a complete grid."""
        a, b = self.spectra
        right = np.outer(a.vectors.T @ row, b.vectors.T @ column)
        if self.recipe.head == "two-step":
            return np.asarray(a.vectors @ (right * two_step_filter(a, b, self.recipe.penalties)) @ b.vectors.T)
        penalty = self.recipe.penalties[0]
        if self.mask is None:
            return np.asarray(a.vectors @ (right * kronecker_filter(a, b, penalty)) @ b.vectors.T)
        right /= np.sqrt(np.outer(a.values, b.values))
        C = solve_kronecker(a, b, self.coefficients, self.mask, penalty, EXPLAINED, right)
        W = (a.vectors * a.values) @ (a.vectors.T @ C @ b.vectors) @ (b.vectors * b.values).T
        return np.asarray(W * self.mask)

    def _as_known(self, W: Array) -> Array:
        """Weights in the form of the scores that effects were fitted to."""
        stored = self.effects.indicators.stored
        if stored is None:
            return W
        return sparse.csr_array((W[csr_rows(stored), stored.indices], stored.indices, stored.indptr), shape=W.shape)

    @cached_property
    def spectra(self) -> tuple[KernelSpectrum, KernelSpectrum]:
        """Of the kernels between known entities, with profiles; O(m³), computed when first asked for.

        In the precision of the fit, so that weights are those of the same eigenvectors.
        """
        assert self.kernels is not None
        dtype = np.float32 if max(self.coefficients.shape) > SINGLE else np.float64
        known = (self.kernels.known(k).astype(dtype, copy=False) for k in (0, 1))
        a, b = (KernelSpectrum.of(self.kernel(k, Seen(K, slice(None)))) for k, K in enumerate(known))
        return a, b

    def _effect(self, k: int, some: Seen) -> Array:
        return np.zeros(some.K.shape[0]) if some.at is None else (self.effects.rows, self.effects.columns)[k][some.at]

    def kernel(self, k: int, some: Seen) -> Array:
        """The kernel between these entities and the known ones, as the head takes it, (entities, m)."""
        K = self.similarities(k, some)
        if self.recipe.head != "neighbors":
            return K + CONSTANT
        lent = self.recipe.borrow[k]
        if not some.is_new and lent < 1:
            K = K * (lent / np.maximum(K.sum(axis=1), 1e-300))[:, None]
            K[np.arange(len(K)), np.arange(K.shape[1])[some.at]] += 1.0 - lent
        return K

    def similarities(self, k: int, some: Seen) -> Array:
        """The kernel with profiles, 1 at most: half of the rest is the product of both, where both must be similar."""
        share = self.recipe.profiles[k]
        if self.profiles is None or share == 0:
            return some.K
        A = self._profile_similarities(k, some)
        K = some.K * (0.5 * (1.0 - share))
        K *= 1.0 + A
        A *= share
        K += A
        return K

    def _profile_similarities(self, k: int, some: Seen) -> Array:
        assert self.profiles is not None
        if some.at is not None:
            P = self.profiles.of(k)[some.at]
        else:
            assert self.before is not None
            assert self.kernels is not None
            others = Seen(self.kernels.known(1 - k), slice(None))
            P = self.before.scores(some, others) if k == 0 else self.before.scores(others, some).T
            P = np.clip(P, *self.clip)
        return self.profiles.similarities(k, P, self.recipe.width)


def fit_stages(
    recipe: Recipe,
    scores: Scores,
    kernels: KnownKernels,
    effects: Effects,
    tolerance: float = EXACT,
    spectra: tuple[KernelSpectrum, KernelSpectrum] | None = None,
    first: Array | None = None,
    dtype: Any = None,
    rounds: Collection[int] = (),
) -> list[SmoothingStage]:
    """The stages of a recipe, one after the other.

    Parameters
    ----------
    recipe : Recipe
    scores : Scores
    kernels : KnownKernels
    effects : Effects
        Of the same scores, of the kinds that the recipe asks for.
    spectra : pair of KernelSpectrum, optional
        Of these kernels with the constant, where they are at hand.
    first : (m_A, m_B) array, optional
        The coefficients of the first stage, where they are at hand.
    tolerance : float
        As in `solve_kronecker`.
    dtype : dtype, optional
        The precision of the solver; by default that of the kernels.
    rounds : collection of int
        The rounds before the last one that predict, too, and so are solved as the last one is.
    """
    R = scores.residuals(effects.mean, effects.rows, effects.columns)
    stage = SmoothingStage(recipe, effects, R, scores.mask, kernels=kernels, clip=scores.range)
    if recipe.head == "effects":
        return [stage]
    known = (kernels.known(0), kernels.known(1))
    if dtype is not None:
        known = (known[0].astype(dtype, copy=False), known[1].astype(dtype, copy=False))
    everyone = (Seen(known[0], slice(None)), Seen(known[1], slice(None)))
    stages: list[SmoothingStage] = []
    start = 0 if recipe.profile != "known" or max(recipe.profiles) == 0 else 1
    for number in range(start, recipe.rounds + 1):
        current = replace(stage, before=stages[-1] if stages else None)
        if number > 0:
            Z = profile_scores(recipe, scores, stages[-1].scores(*everyone) if stages else None, stage)
            current = replace(current, profiles=EntityProfiles(Z))
        if recipe.head != "neighbors":
            if number == 0 and first is not None:
                C = first
            else:
                given = spectra if number == 0 else None
                a, b = given or (KernelSpectrum.of(current.kernel(k, everyone[k])) for k in (0, 1))
                # Stages that only describe entities for the next one need no more digits than comparisons do.
                is_used = number == recipe.rounds or number in rounds
                C = solve(current, a, b, R, tolerance if is_used else max(tolerance, ROUGH))
            current = replace(current, coefficients=C if dtype is None else C.astype(float))
        stages.append(current)
    return stages


def profile_scores(recipe: Recipe, scores: Scores, predicted: Array | None, stage: SmoothingStage) -> Array:
    """The scores that describe known entities, (m_A, m_B)."""
    if predicted is None:
        if scores.mask is None:
            return scores.Y
        predicted = np.add.outer(stage.effects.mean + stage.effects.rows, stage.effects.columns)
    predicted = np.clip(predicted, *scores.range)
    if recipe.profile == "predicted":
        return predicted
    return predicted if scores.mask is None else np.where(scores.mask > 0, scores.Y, predicted)


def solve(stage: SmoothingStage, a: KernelSpectrum, b: KernelSpectrum, R: Array, tolerance: float) -> Array:
    """The coefficients of a ridge head."""
    if stage.recipe.head == "two-step":
        return apply_filter(a, b, R, two_step_filter(a, b, stage.recipe.penalties))
    return solve_kronecker(a, b, R, stage.mask, stage.recipe.penalties[0], tolerance)

"""WNN-GIP: interaction profiles of new entities by weighted nearest neighbors, in Kronecker ridge regression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from jointdr.evaluation.peers.shared import MEAN, Peer, SharedWork, profile_kernel, profile_unit
from jointdr.prediction import (
    Effects,
    EntitySet,
    Head,
    KernelSpectrum,
    Recipe,
    RecipeKernels,
    ScoreBlock,
    Scorer,
    as_dyads,
)
from jointdr.runtime import Array, check_number


@dataclass(frozen=True)
class Profiles:
    """One side: its descriptions, profiles and the eigenvectors of the kernel of both."""

    side: int
    kernels: RecipeKernels
    Z: Array  # (m, m_other): the profiles of known entities
    unit: float
    share: float  # of the profiles in the kernel
    decay: float
    spectrum: KernelSpectrum

    @staticmethod
    def of(side: int, kernels: RecipeKernels, Z: Array, share: float, decay: float) -> Profiles:
        """O(m³)."""
        unit = profile_unit(Z)
        K = (1.0 - share) * kernels.known(side) + share * profile_kernel(Z, Z, unit)
        return Profiles(side, kernels, Z, unit, share, decay, KernelSpectrum.of(K))

    def new(self, some: EntitySet, at: slice) -> tuple[Array, Array]:
        """New entities: kernels with the known ones times the eigenvectors, (entities, q), and inferred profiles."""
        S = self.kernels.seen(self.side, some, at).K
        P = weigh_nearest(S, self.decay) @ self.Z
        K = (1.0 - self.share) * S + self.share * profile_kernel(P, self.Z, self.unit)
        return K @ self.spectrum.vectors, P

    def known(self, some: EntitySet, at: slice) -> Array:
        """The same kernels of known entities."""
        return self.spectrum.vectors[at if some.indices is None else some.indices[at]] * self.spectrum.values


@dataclass(frozen=True)
class NearestProfileHead(Head):
    """Kronecker ridge regression to which each new entity is added with its inferred profile, by itself."""

    rows: Profiles
    columns: Profiles
    effects: Effects
    penalty: float

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns."""
        r, c = self.effects.of(rows, columns)
        everything = slice(0, columns.count)
        if columns.tables is not None and rows.tables is None:  # the same with rows and columns exchanged
            G = self._coefficients(1, columns, everything)
            return lambda at: ScoreBlock(self.rows.known(rows, at) @ G.T + np.add.outer(r[at], c))
        side = self.columns
        L = side.known(columns, everything) if columns.tables is None else side.new(columns, everything)[0]
        return lambda at: ScoreBlock(self._coefficients(0, rows, at) @ L.T + np.add.outer(r[at], c))

    def _coefficients(self, k: int, some: EntitySet, at: slice) -> Array:
        """The coefficients of these entities for the eigenvectors of the other side, (entities, q)."""
        one, other = (self.rows, self.columns) if k == 0 else (self.columns, self.rows)
        s, t, V = one.spectrum.values, other.spectrum.values, other.spectrum.vectors
        f = 1.0 / (np.multiply.outer(s, t) + self.penalty)
        Y = one.spectrum.vectors.T @ one.Z @ V
        if some.tables is None:
            return one.known(some, at) @ (Y * f)
        U, P = one.new(some, at)
        M = U @ (Y * f)
        left = np.maximum(1.0 - t * (U**2 @ f), 0.0)  # the variance of the new entity that the known ones leave
        return M + left / (t * left + self.penalty) * (P @ V - t * M)


class WNNGIP(Peer):
    """Kronecker ridge regression with interaction profiles, which new entities get from their nearest neighbors.

    The profile of a new entity is Σ T^(i−1) y_(i) over the known ones, most similar first. It describes the entity in
    the Gaussian interaction profile kernel, and the entity joins the regression with it; each by itself, so that scores
    do not depend on which others are asked for. A known entity without a known score is treated in the same way.

    Parameters
    ----------
    row_kernel, column_kernel, row_power, column_power
        As in `KroneckerRidge`.
    decay : float
        T, from 0 to 1.
    share : float
        That of profiles in the kernels.
    alpha : float
        The penalty σ.

    Notes
    -----
    It is meant for associations. Graded scores are profiles without their row and column effects, 0 where not known.

    References
    ----------
    van Laarhoven and Marchiori (2013). Predicting drug-target interactions for new drug compounds using a weighted
    nearest neighbor profile. PLoS ONE 8, e66952.
    """

    def __init__(
        self,
        row_kernel: str = MEAN,
        column_kernel: str = MEAN,
        *,
        row_power: float = 1.0,
        column_power: float = 1.0,
        decay: float = 0.8,
        share: float = 0.5,
        alpha: float = 1.0,
    ) -> None:
        self.row_kernel = row_kernel
        self.column_kernel = column_kernel
        self.row_power = row_power
        self.column_power = column_power
        self.decay = decay
        self.share = share
        self.alpha = alpha

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores; O(m³).

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        dyads = as_dyads(Y, A, B, observed)
        alpha = check_number("alpha", self.alpha, 0, strictly=True)
        share = check_number("share", self.share, 0, 1)
        decay = check_number("decay", self.decay, 0, 1)
        work = SharedWork.of(dyads)
        terms = [
            work.terms(0, self.row_kernel, self.row_power),
            work.terms(1, self.column_kernel, self.column_power),
        ]
        kernels = RecipeKernels(work.kernels, Recipe("kronecker", terms[0], terms[1]))
        Z = infer_profiles(work.profiles(), kernels, decay)
        sides = [Profiles.of(k, kernels, Z if k == 0 else Z.T, share, decay) for k in (0, 1)]
        effects = work.effects(not work.implicit)
        if work.implicit:  # 0 is the score of a pair that nothing is known of
            effects = replace(effects, mean=0.0)
        self._keep(dyads, NearestProfileHead(sides[0], sides[1], effects, alpha))
        return self


def weigh_nearest(S: Array, decay: float) -> Array:
    """T^(i−1) for the entity with the i-th largest similarity in each row."""
    order = np.argsort(-S, axis=1, kind="stable")
    W = np.empty_like(S)
    np.put_along_axis(W, order, np.broadcast_to(decay ** np.arange(S.shape[1]), S.shape), axis=1)
    return W


def infer_profiles(Z: Array, kernels: RecipeKernels, decay: float) -> Array:
    """Profiles, of which those of entities without any known score are inferred from others."""
    filled = Z.copy()
    for k in (0, 1):
        known, to = (Z, filled) if k == 0 else (Z.T, filled.T)
        empty = ~known.any(axis=1)
        if empty.any() and not empty.all():
            S = kernels.known(k)[np.ix_(empty, ~empty)]
            to[empty] = weigh_nearest(S, decay) @ known[~empty]
    return filled

"""Kernel ridge regression of pairs: Kronecker ridge, alone and with interaction profiles, and two-step ridge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from jointdr.data import Dyads
from jointdr.evaluation.peers.shared import MEAN, Peer, SharedWork, profile_kernel, profile_unit
from jointdr.prediction import EntitySet, Recipe, RecipeKernels, Seen, StagesHead, as_dyads, fit_stages
from jointdr.runtime import Array, check_number


@dataclass(frozen=True)
class ProfileKernels(RecipeKernels):
    """Kernels of descriptions, of which a share is replaced by that of known scores.

    A new entity has no profile: its similarity to others has the share of descriptions alone.
    """

    profiles: tuple[Array | None, Array | None] = (None, None)  # the profile kernels of known entities
    shares: tuple[float, float] = (0.0, 0.0)

    def known(self, k: int) -> Array:
        """That of rows (k = 0) or of columns, (m, m)."""
        K, P = super().known(k), self.profiles[k]
        return K if P is None else (1.0 - self.shares[k]) * K + self.shares[k] * P

    def seen(self, k: int, some: EntitySet, at: slice) -> Seen:
        """Some of these entities."""
        found = super().seen(k, some, at)
        return Seen((1.0 - self.shares[k]) * found.K) if found.is_new and self.shares[k] else found


class KernelRidge(Peer):
    """Ridge regression with a product of two kernels; a subclass names the recipe."""

    row_kernel: str
    column_kernel: str
    row_power: float
    column_power: float

    def _fit_recipe(self, dyads: Dyads, recipe: Recipe, shares: tuple[float, float], effects: bool, tol: float) -> Self:
        work = SharedWork.of(dyads)
        rows, columns = (
            work.terms(0, self.row_kernel, self.row_power),
            work.terms(1, self.column_kernel, self.column_power),
        )
        recipe = replace(recipe, rows=rows, columns=columns, effects=(effects, effects))
        found = [_profile_kernel(work, k) if share else None for k, share in enumerate(shares)]
        kernels = ProfileKernels(work.kernels, recipe, (found[0], found[1]), shares)
        spectra = None if any(shares) else (work.spectrum(0, rows), work.spectrum(1, columns))
        fitted = work.effects(effects)
        (stage,) = fit_stages(recipe, work.scores, kernels, fitted, tol, spectra=spectra, dtype=work.dtype)
        self._keep(dyads, StagesHead(stage, kernels))
        return self


class KroneckerRidge(KernelRidge):
    """Kernel ridge regression of the scores of pairs with products of a row and a column kernel.

    Parameters
    ----------
    row_kernel, column_kernel : str
        The label of a description, ``"features, cosine"`` or the name of a similarity, or ``"mean"`` of all of them.
    row_power, column_power : float
        Similarities are raised to it.
    alpha : float
        The penalty λ of min Σ (y_ij − g(a_i, b_j))² + λ‖g‖². The kernels get a constant, so that their products
        include main effects.
    effects : bool
        Whether shrunken row and column effects are subtracted first, and not only the mean.
    profiles : pair of floats
        The shares of the Gaussian interaction profile kernels of known scores, exp(−‖y_i − y_j‖²/mean‖y‖²), in the
        kernels of rows and of columns. New entities have no profile, and are compared by their descriptions alone.
    tol : float
        Where only some pairs are known: the residual at which conjugate gradients end.

    References
    ----------
    Pahikkala, Airola, Pietila, Shakyawar, Szwajda, Tang and Aittokallio (2015). Toward more realistic drug-target
    interaction predictions. Briefings in Bioinformatics 16, 325-337.

    van Laarhoven, Nabuurs and Marchiori (2011). Gaussian interaction profile kernels for predicting drug-target
    interaction. Bioinformatics 27, 3036-3043.
    """

    def __init__(
        self,
        row_kernel: str = MEAN,
        column_kernel: str = MEAN,
        *,
        row_power: float = 1.0,
        column_power: float = 1.0,
        alpha: float = 0.3,
        effects: bool = False,
        profiles: tuple[float, float] = (0.0, 0.0),
        tol: float = 1e-6,
    ) -> None:
        self.row_kernel = row_kernel
        self.column_kernel = column_kernel
        self.row_power = row_power
        self.column_power = column_power
        self.alpha = alpha
        self.effects = effects
        self.profiles = profiles
        self.tol = tol

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores; O(m³), and where only some pairs are known O(m_A m_B (m_A + m_B)) for each iteration.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        dyads = as_dyads(Y, A, B, observed)
        alpha = check_number("alpha", self.alpha, 0, strictly=True)
        tol = check_number("tol", self.tol, 0, 1, strictly=True)
        a, b = (check_number("profiles", share, 0, 1) for share in self.profiles)
        return self._fit_recipe(dyads, Recipe("kronecker", penalties=(alpha, alpha)), (a, b), bool(self.effects), tol)


class TwoStepRidge(KernelRidge):
    """Kernel ridge regression on rows, then on columns, with a penalty for each.

    Parameters
    ----------
    row_kernel, column_kernel, row_power, column_power
        As in `KroneckerRidge`.
    row_alpha, column_alpha : float
        The penalties.

    Notes
    -----
    It is defined for complete grids. Elsewhere a pair that is not known is taken for its row and column effects.

    References
    ----------
    Pahikkala, Stock, Airola, Aittokallio, De Baets and Waegeman (2014). A two-step learning approach for solving full
    and almost full cold start problems in dyadic prediction. ECML PKDD, 517-532.

    Stock, Pahikkala, Airola, De Baets and Waegeman (2018). A comparative study of pairwise learning methods based on
    kernel ridge regression. Neural Computation 30, 2245-2283.
    """

    def __init__(
        self,
        row_kernel: str = MEAN,
        column_kernel: str = MEAN,
        *,
        row_power: float = 1.0,
        column_power: float = 1.0,
        row_alpha: float = 0.3,
        column_alpha: float = 0.3,
    ) -> None:
        self.row_kernel = row_kernel
        self.column_kernel = column_kernel
        self.row_power = row_power
        self.column_power = column_power
        self.row_alpha = row_alpha
        self.column_alpha = column_alpha

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores; O(m³).

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        dyads = as_dyads(Y, A, B, observed)
        penalties = (
            check_number("row_alpha", self.row_alpha, 0, strictly=True),
            check_number("column_alpha", self.column_alpha, 0, strictly=True),
        )
        return self._fit_recipe(dyads, Recipe("two-step", penalties=penalties), (0.0, 0.0), not dyads.is_complete, 1.0)


def _profile_kernel(work: SharedWork, k: int) -> Array:
    if ("profiles", k) not in work.memo:
        Z = work.profiles() if k == 0 else work.profiles().T
        work.memo["profiles", k] = profile_kernel(Z, Z, profile_unit(Z))
    return work.memo["profiles", k]

"""Work that the settings of a method share on the same dyads: known scores, kernels and their eigenvectors."""

from __future__ import annotations

from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np

from jointdr.data import Dyads, Entities
from jointdr.prediction import (
    KERNEL_CONSTANT,
    Effects,
    EntityKernels,
    KernelSpectrum,
    Recommender,
    Scores,
    Tables,
    Term,
    comparisons_of,
    fit_effects,
    known_scores,
    raw_descriptions,
    squared_distances,
)
from jointdr.runtime import Array

MEAN = "mean"  # the name of the kernel that is the mean of all similarities of a side
SINGLE = 700  # entities of a kind above which kernels are decomposed in single precision
KEPT = 8  # spectra that are kept


class SharedWork:
    """The part that all settings of a method need of the same dyads; kept for as long as these are."""

    _of_dyads: ClassVar[WeakKeyDictionary[Dyads, SharedWork]] = WeakKeyDictionary()

    def __init__(self, dyads: Dyads) -> None:
        self.scores: Scores = known_scores(dyads)
        self.implicit = dyads.is_implicit
        self.kernels = EntityKernels((raw_descriptions(dyads, 0), raw_descriptions(dyads, 1)))
        self.dtype: Any = np.float32 if max(dyads.shape) > SINGLE else None
        self.memo: dict[Any, Any] = {}
        self._spectra: dict[Any, KernelSpectrum] = {}
        self._effects: dict[tuple[bool, bool], Effects] = {}

    @classmethod
    def of(cls, dyads: Dyads) -> SharedWork:
        """That of these dyads, made when first asked for."""
        if dyads not in cls._of_dyads:
            cls._of_dyads[dyads] = cls(dyads)
        return cls._of_dyads[dyads]

    def effects(self, used: bool) -> Effects:
        """Row and column effects, or the mean alone."""
        kinds = (used, used)
        if kinds not in self._effects:
            self._effects[kinds] = fit_effects(self.scores, kinds)
        return self._effects[kinds]

    def residuals(self, used: bool) -> Array:
        """Known scores without these effects, 0 where none is known."""
        effects = self.effects(used)
        return self.scores.residuals(effects.mean, effects.rows, effects.columns)

    def profiles(self) -> Array:
        """Known scores as descriptions: associations as they are, graded scores without row and column effects."""
        return self.scores.Y if self.implicit else self.residuals(True)

    def terms(self, k: int, kernel: str, power: float) -> tuple[Term, ...]:
        """The description with this label, or the mean of all, raised to a power."""
        labels = [description.label for description in self.kernels.descriptions[k]]
        if kernel == MEAN:
            return tuple(Term(n, power, 1.0 / len(labels)) for n in range(len(labels)))
        if kernel not in labels:
            raise ValueError(f"{('row', 'column')[k]}_kernel={kernel!r} is not there: choose from {[MEAN, *labels]}.")
        return (Term(labels.index(kernel), power),)

    def spectrum(self, k: int, terms: tuple[Term, ...]) -> KernelSpectrum:
        """The eigenvectors of a kernel between known entities, with the constant of ridge heads."""
        if (k, terms) not in self._spectra:
            while len(self._spectra) >= KEPT:
                self._spectra.pop(next(iter(self._spectra)))
            K = self.kernels.known(k, terms)
            K = K if self.dtype is None else K.astype(self.dtype)
            self._spectra[k, terms] = KernelSpectrum.of(K + np.asarray(KERNEL_CONSTANT, K.dtype))
        return self._spectra[k, terms]


class Peer(Recommender):
    """A method of others, which takes features and similarities alike."""

    @property
    def _takes_similarity(self) -> bool:
        return True

    def _describe(self, k: int, new: Entities) -> Tables:
        return (new.X, *new.similarity.values())

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        raise NotImplementedError


def kernel_labels(dyads: Dyads, k: int) -> list[str]:
    """The labels of the descriptions of one side that kernels are made of."""
    found = [f"{name}, {kind}" for name, _, kind in comparisons_of(dyads, k)]
    return found + list(dyads.similarities[k]) or ["entities"]


def profile_unit(Z: Array) -> float:
    """The mean squared length of profiles, in units of which their squared distances count."""
    return float(np.mean(np.einsum("ij,ij->i", Z, Z))) or 1.0


def profile_kernel(P: Array, Z: Array, unit: float) -> Array:
    """The Gaussian interaction profile kernel exp(−‖p − z‖²/unit) of all pairs of rows."""
    D = squared_distances(P, Z)
    D *= -1.0 / unit
    return np.exp(D, out=D)

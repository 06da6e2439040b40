"""The choices that JDR leaves to its user, checked before they come here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from jointdr.directions.svd import Solver
from jointdr.moments import Covariance
from jointdr.runtime import Array

Normalize = Literal["full", "feature", "joint"] | None
NORMALIZATIONS = ("full", "feature", "joint", None)
COVARIANCES: dict[Normalize, Covariance] = {"full": "full", "joint": "full", "feature": "diagonal", None: None}
"""How much of each view's covariance a normalization reads."""

CROSS = frozenset({"cross"})  # the moments of the paper: E[y a bᵀ] of two views

LINKS = ("auto", "bilinear", "learned")


@dataclass(frozen=True)
class Options:
    """The choices of a fit.

    Attributes
    ----------
    ranks : tuple of int
        The number of directions of each view.
    uses : frozenset of str
        The moments whose directions count: ``"cross"``, ``"within"`` and ``"means"`` of two views. With three and more
        ``"tensor"`` (the proxy tensor) or ``"pairs"`` (the cross moments of two views each), or both, for ``"cross"``.
    normalize, ridge, solver, n_iter, n_hooi, n_features_to_select, refine, link, n_folds
        As in `JDR`.
    products : {"cross", "all"}
        Whether a bilinear link function of the refinement also has the terms of single views.
    auto : frozenset of str
        What is left to the data: ``"rank"``, ``"moments"``, ``"features"``.
    seed, fold_seed : int
        Of sketches; of folds and of the random features of a learned link function.
    names, features : tuples
        The names of the views and of their features, for messages.
    """

    ranks: tuple[int, ...]
    uses: frozenset[str] = CROSS
    normalize: Normalize = "full"
    ridge: float | Literal["auto"] = 0.0
    solver: Solver = "exact"
    n_iter: int = 2
    n_hooi: int = 0
    n_features_to_select: tuple[int, int] | None = None
    refine: int = 0
    link: Literal["auto", "bilinear", "learned"] = "auto"
    products: Literal["cross", "all"] = "cross"
    auto: frozenset[str] = frozenset()
    n_folds: int = 5
    seed: int | None = None
    fold_seed: int = 0
    names: tuple[str, ...] = ("a", "b")
    features: tuple[Array | None, ...] = (None, None)

    @property
    def centred(self) -> bool:
        return self.normalize is not None

    @property
    def within_views(self) -> bool:
        """Whether moments of single views count too, ``"within"`` or ``"means"``."""
        return bool(self.uses & {"within", "means"})

    @property
    def centres_response(self) -> bool:
        """Whether the mean of y is taken off. Within-view moments hold µ_y Σ_a otherwise, so with them it always is."""
        return self.centred or self.within_views

    @property
    def is_plain(self) -> bool:
        """Whether one matrix is decomposed, so that the directions of the two views come in pairs."""
        return self.uses == CROSS and len(set(self.ranks)) == 1

    @property
    def holds_out(self) -> bool:
        """Whether something is decided on held-out folds, whose moments are kept apart."""
        return bool(self.auto or self.refine)

    def moments_needed(self, mergeable: bool = True) -> dict[str, Any]:
        """The moments that are read, as keywords of `Moments.of_block`.

        Without `mergeable` the cross covariance is left out: moments of rows to come can then not be added. (Raw
        moments can always be.)
        """
        blocks: tuple[str, ...] = () if self.solver != "exact" else ("cross",)
        if self.uses & {"tensor", "pairs"}:
            blocks = ("cross", "within") if "pairs" in self.uses else ("means",)
        elif blocks and (self.normalize == "joint" or "within" in self.uses):
            blocks = ("cross", "within")
        keep: dict[str, Any] = {
            "blocks": blocks,
            "covariance": "full" if "within" in blocks else COVARIANCES[self.normalize],
            "cross_covariance": "cross" in blocks and (mergeable or self.normalize == "joint"),
        }
        if self.centred:
            return keep
        if self.centres_response:
            return {**keep, "center": 0}
        return {**keep, "center": 0, "y_center": 0.0, "cross_covariance": False}

    def of_features(self, at: Sequence[Array] | None) -> Options:
        """The options once the features with these indices are selected (None: no selection was asked for)."""
        if at is None:
            return self
        features = tuple(None if f is None else f[i] for f, i in zip(self.features, at, strict=True))
        return replace(self, n_features_to_select=None, solver="exact", features=features)

    def generator(self) -> np.random.Generator:
        """The source of the sketches' randomness; the same seed gives the same sketch."""
        return np.random.default_rng(self.seed)

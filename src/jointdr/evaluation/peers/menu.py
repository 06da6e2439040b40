"""The peers by name: unfitted models, and the grids that their settings are tuned on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jointdr.data import By, Dyads
from jointdr.evaluation.peers.boosting import BoostedTrees, has_lightgbm
from jointdr.evaluation.peers.factors import WeightedALS
from jointdr.evaluation.peers.nearest_profile import WNNGIP
from jointdr.evaluation.peers.ridge import KroneckerRidge, TwoStepRidge
from jointdr.evaluation.peers.shared import MEAN, kernel_labels
from jointdr.prediction import AssociationModel, Recommender

Grid = dict[str, list[Any]]
Stages = list[Grid]

ROUGH = 1e-3  # the residual at which conjugate gradients end: errors of prediction move by about 1e-4
PENALTIES = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
SHARES = [0.25, 0.5, 0.75]
POWERS = {"features, gaussian": [0.5, 2.0, 8.0], "features, tanimoto": [1.0, 2.0], "entities": [1.0]}


def kernel_stages(dyads: Dyads) -> Stages:
    """The kernel of one side after the other: every description and their mean, each with several powers."""
    stages: Stages = []
    for k, side in enumerate(("row", "column")):
        labels = kernel_labels(dyads, k)
        for label in [MEAN, *labels] if len(labels) > 1 else labels:
            stages.append({f"{side}_kernel": [label], f"{side}_power": POWERS.get(label, [1.0, 2.0, 4.0])})
    return stages


def _default(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    return AssociationModel(uses=(by,), random_state=0), None  # it chooses by itself


def _kronecker(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    effects = [True, False] if dyads.is_implicit else [False, True]
    kernels, alphas = kernel_stages(dyads), {"alpha": PENALTIES}
    stages = [*kernels, alphas, {"effects": effects}]
    if _is_masked(dyads, by):  # every fit takes conjugate gradients
        return KroneckerRidge(effects=True, tol=ROUGH), stages
    return KroneckerRidge(effects=not dyads.is_implicit), [*stages, *kernels, alphas]


def _kronecker_profiles(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    model, stages = _kronecker(dyads, by)
    shares = [(0.0 if by in ("rows", "both") else c, 0.0 if by in ("columns", "both") else c) for c in SHARES]
    return model, [*(stages or []), {"profiles": shares}, {"alpha": PENALTIES}]


def _two_step(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    penalties = PENALTIES[::2] + PENALTIES[-1:]
    kernels, alphas = kernel_stages(dyads), {"row_alpha": penalties, "column_alpha": penalties}
    return TwoStepRidge(), [*kernels, alphas, *kernels]


def _wnn_gip(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    decays: Stages = [] if by == "pairs" else [{"decay": [0.3, 0.5, 0.7, 0.8, 0.9, 0.95]}]
    powers = [{f"{side}_power": [1.0, 2.0, 4.0]} for side in ("row", "column")]
    return WNNGIP(), [*decays, *powers, {"share": [0.1, *SHARES, 0.9]}, {"alpha": [0.1, 0.3, 1.0, 3.0]}, *decays[:1]]


def _als(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    ranks = [r for r in (10, 20, 40) if r <= min(dyads.shape)] or [min(dyads.shape)]
    stages: Stages = [{"alpha": [0.1, 1.0, 10.0], "n_components": ranks}, {"alpha": [0.3, 3.0, 30.0]}]
    if dyads.is_implicit:
        stages.append({"confidence": [3.0, 10.0, 40.0]})
    if by != "pairs":
        powers = [{f"{side}_power": [1.0, 2.0, 4.0]} for side in ("row", "column") if by in (f"{side}s", "both")]
        stages = [{"map_alpha": [0.1, 1.0, 10.0]}, *powers, *stages, {"map_alpha": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0]}]
    return WeightedALS(ranks[0]), stages


def _trees(dyads: Dyads, by: By) -> tuple[Recommender, Stages | None]:
    return BoostedTrees(100), [{"num_leaves": [7, 31]}, {"n_estimators": [300]}]


PEERS: dict[str, Callable[[Dyads, By], tuple[Recommender, Stages | None]]] = {
    "default": _default,
    "Kronecker ridge": _kronecker,
    "Kronecker ridge + profiles": _kronecker_profiles,
    "two-step ridge": _two_step,
    "WNN-GIP": _wnn_gip,
    "weighted ALS": _als,
    "LightGBM": _trees,
}
KERNEL_PEERS = ("Kronecker ridge", "Kronecker ridge + profiles", "two-step ridge", "WNN-GIP")


def _is_masked(dyads: Dyads, by: By) -> bool:
    """Whether only some pairs are known to a fit."""
    return not dyads.is_complete or (by == "pairs" and not dyads.is_implicit)


def unsuitable_peers(dyads: Dyads, by: By, is_slow: bool) -> list[str]:
    """Peers that are left out unless they are asked for."""
    described = all(X.shape[1] > 0 or S for X, S in zip((dyads.A, dyads.B), dyads.similarities, strict=True))
    left_out: list[str] = []
    if is_slow:
        left_out += [*KERNEL_PEERS, *([] if by == "pairs" else ["weighted ALS"])]
    if by == "both":
        left_out.append("Kronecker ridge + profiles")  # where no entity has a profile
    if _is_masked(dyads, by):
        left_out.append("two-step ridge")
    if not dyads.is_implicit:
        left_out.append("WNN-GIP")
    if not described or not has_lightgbm():
        left_out.append("LightGBM")
    return left_out

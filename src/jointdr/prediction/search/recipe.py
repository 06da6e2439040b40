"""The settings that `AssociationModel.tune` tries by default, in stages."""

from __future__ import annotations

from typing import Any

from jointdr.data import Dyads
from jointdr.estimators import JDR
from jointdr.prediction.association import AssociationModel


def recipe(model: AssociationModel, dyads: Dyads) -> list[dict[str, list[Any]]]:
    """The stages that `AssociationModel.tune` tries by default.

    The cosine kernel; the power of Σ, the number of directions and the row bandwidth; how much columns borrow from each
    other; the ridge of the normalization; the share of raw features beside the coordinates. For graded scores kernel
    ridge regression is tried too. The settings of the model itself are tried first. A bilinear head tunes its penalty
    and the number of directions, ``adaptive`` kernels their multiples.
    """
    if model.head == "bilinear" or model.adaptive is not None:
        return _other_recipe(model, dyads)
    q = {power: power**-0.5 for power in (1, 2, 3, 5, 8)}
    borrowed = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0]
    columns: dict[str, list[Any]] = {"column_bandwidth": [q[1], q[3], q[8]], "borrow": borrowed}
    start: dict[str, list[Any]] = {"kernel": ["cosine"], "borrow": [0.5], "column_bandwidth": [q[3]]}
    powers = [q[1], q[2], q[3], q[5]]
    if isinstance(model.embedding, (str, JDR)):
        n = min(*dyads.n_features, *dyads.shape)
        first = {**start, "scale": [0.25, 0.5], "n_components": sorted({max(1, n // 4), max(1, n // 2), n})}
        stages = [
            {**first, "embedding__ridge": [0.1], "row_bandwidth": powers},
            columns,
            {"embedding__ridge": [0.1, 1.0, 10.0], "row_bandwidth": powers},
            {"row_mix": [0.25, 0.5, 0.75], "raw_row_bandwidth": [q[2], q[3], q[5], q[8]]},
            {"column_mix": [0.0, 0.5, 1.0], **columns},
        ]
    else:
        stages = [{**start, "row_bandwidth": [*powers, q[8]]}, columns]
    if not dyads.is_implicit:
        widths = [(0.35, 0.35), (0.5, 0.35), (0.7, 0.7)]
        ridge: dict[str, list[Any]] = {"head": ["kernel_ridge"], "kernel": ["gaussian"], "borrow": [1.0]}
        if model.embedding is None:
            ridge |= {"bandwidth": widths}
        else:
            mixes = [(0.0, 0.0), (0.5, 0.5), (0.75, 1.0), (1.0, 1.0)]
            ridge |= {"mix": mixes, "bandwidth": [(0.5, 0.5)], "raw_bandwidth": widths}
        stages += [{**ridge, "alpha": [0.1, 1.0]}, {"alpha": [0.03, 0.1, 0.3, 1.0]}]
    return [{"kernel": [model.kernel]}, *stages]


def _other_recipe(model: AssociationModel, dyads: Dyads) -> list[dict[str, list[Any]]]:
    """For models that the cosine kernel is not for."""
    n = min(*dyads.n_features, *dyads.shape)
    reduces = isinstance(model.embedding, (str, JDR))
    ranks: dict[str, list[Any]] = {"n_components": sorted({max(1, n // 4), max(1, n // 2), n})} if reduces else {}
    if model.head == "bilinear":
        return [{"alpha": [model.alpha]}, {**ranks, "alpha": [0.001, 0.01, 0.1, 1.0, 10.0]}]
    multiples = [0.1, 0.2, 0.4, 0.7, 1.0, 2.0]
    rows: dict[str, list[Any]] = {**ranks, "column_bandwidth": [0.0], "row_bandwidth": multiples}
    return [{"kernel": [model.kernel]}, rows, {"column_bandwidth": [0.0, *multiples]}]

"""What was fitted, and on what: names and values, for people and for JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


def facts_of(model: Any) -> dict[str, Any]:
    """The sizes, the parameters and what was chosen of a fitted model of dyads or of an estimator of the family."""
    facts: dict[str, Any] = {"model": type(model).__name__}
    sizes = zip(model.view_names_, model.n_features_per_view_, strict=True)
    if not hasattr(model, "row_ids_"):
        facts |= {f"view {name}": {"features": n} for name, n in sizes}
        facts["directions"] = model.n_components_
        facts["parameters"] = changed(model)
        return facts
    counts = (len(model.row_ids_), len(model.column_ids_))
    for side, count, (name, n) in zip(("rows", "columns"), counts, sizes, strict=True):
        facts[side] = {"name": name, "count": count, "features": n}
    facts["known pairs"] = int(model._known.nnz)
    embedding = getattr(model, "embedding_", None)
    if embedding is not None:
        facts["embedding"] = {"method": type(embedding).__name__, **changed(embedding)}
        facts["directions"] = int(min(embedding.solution_.ranks))
    params = model.get_params(deep=False)
    facts["parameters"] = {name: value for name, value in params.items() if name != "embedding"}
    for name in ("bandwidth", "raw_bandwidth"):
        if getattr(model, f"{name}_", None) is not None:
            facts[f"{name} used".replace("_", " ")] = list(getattr(model, f"{name}_"))
    if (truncation := getattr(model, "truncation_", None)) is not None:
        told = truncation.as_dict()
        sides = {f"nearest {name}": told.pop(name) for name in ("rows", "columns") if name in told}
        facts |= {name: _spelled(side) for name, side in sides.items()} | {"scores of a sample": _spelled(told)}
    return facts


def _spelled(values: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", " "): value for name, value in values.items()}


def changed(estimator: Any) -> dict[str, Any]:
    """The parameters that are not what they are by default."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    return {name: v for name, v in estimator.get_params(deep=False).items() if repr(v) != repr(defaults[name].default)}


def in_words(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(v)}" for name, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(in_words(v) for v in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)

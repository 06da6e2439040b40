"""Facts about a fitted model as names and values, for people and for JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

OF_AUTOMATIC = ("uses", "criterion", "max_fits")  # parameters of head="auto" alone


def model_facts(model: Any) -> dict[str, Any]:
    """The sizes, the parameters and what was chosen of a fitted model of dyads or of an estimator of the family."""
    facts: dict[str, Any] = {"model": type(model).__name__}
    sizes = zip(model.view_names_, model.n_features_per_view_, strict=True)
    if not hasattr(model, "row_ids_"):
        facts |= {f"view {name}": {"features": n} for name, n in sizes}
        facts["directions"] = model.n_components_
        facts["parameters"] = own_parameters(model)
        return facts
    counts = (len(model.row_ids_), len(model.column_ids_))
    for side, count, (name, n) in zip(("rows", "columns"), counts, sizes, strict=True):
        facts[side] = {"name": name, "count": count, "features": n}
    for side, names in zip(("rows", "columns"), model.similarity_names_, strict=True):
        facts[side] |= {"similarities": list(names)} if names else {}
    facts["known pairs"] = int(model.known_pairs_.nnz)
    embedding = getattr(model, "embedding_", None)
    if embedding is not None:
        facts["embedding"] = {"method": type(embedding).__name__, **own_parameters(embedding)}
        facts["directions"] = direction_count(embedding)
    params = model.get_params(deep=False)
    if params.get("head") == "auto":
        facts |= _choices_in_words(model.choices_, model.failures_)
        params = {name: params[name] for name in ("head", *OF_AUTOMATIC, "random_state")}
    elif "head" in params:
        params = {name: value for name, value in params.items() if name not in OF_AUTOMATIC}
    facts["parameters"] = {name: value for name, value in params.items() if name != "embedding"}
    for name in ("bandwidth", "raw_bandwidth"):
        if getattr(model, f"{name}_", None) is not None:
            facts[f"{name} used".replace("_", " ")] = list(getattr(model, f"{name}_"))
    if (known := getattr(model, "known_bandwidth_", None)) is not None and known != model.bandwidth_:
        facts["bandwidth between known"] = list(known)
    if (truncation := getattr(model, "truncation_", None)) is not None:
        loss = truncation.as_dict()
        sides = {f"nearest {name}": loss.pop(name) for name in ("rows", "columns") if name in loss}
        facts |= {name: _with_spaces(side) for name, side in sides.items()} | {"scores of a sample": _with_spaces(loss)}
    return facts


def facts_beside_choices(model: Any) -> dict[str, Any]:
    """The same without what was chosen on held-out data, which has a section of its own."""
    facts, choices = model_facts(model), getattr(model, "choices_", None)
    questions = () if choices is None else choices["question"]
    others = {"criterion", "left out", *(f"answer for {question}" for question in questions)}
    return {name: value for name, value in facts.items() if choices is None or name not in others}


def _choices_in_words(choices: Any, failures: Any) -> dict[str, Any]:
    """The model of each question, with its figures on held-out data and those of a simple prediction."""
    found: dict[str, Any] = {"criterion": choices.attrs["criterion"]}
    figures = [name for name in choices.columns if f"baseline {name}" in choices.columns]
    for question, members in choices.groupby("question", sort=False):
        first, total = members.iloc[0], float(members["weight"].sum())
        parts = [_member_in_words(member, total) for member in members.itertuples(index=False)]
        simple = str(first["baseline is"])
        if (members["head"] == simple).all():
            parts = [f"{simple} alone: nothing that was tried predicts held-out scores better"]
        fact: dict[str, Any] = {"model": " + ".join(parts), "baseline is": simple}
        pairs = [("held-out score", "baseline"), *((name, f"baseline {name}") for name in figures)]
        for name in (name for pair in pairs for name in pair):
            value = float(first[name])
            fact |= {} if value != value else {name: round(value, 4)}
        found[f"answer for {question}"] = fact
    if words := failures.in_words():
        found["left out"] = words[0]
    return found


def _member_in_words(member: Any, total: float) -> str:
    penalty = f", penalty {member.penalty}" if member.penalty else ""
    return f"{member.weight / total:.0%} {member.head}{penalty} (rows: {member.rows}; columns: {member.columns})"


def direction_count(embedding: Any) -> int:
    """The number of directions of a fitted embedding, the smaller one where views differ."""
    return int(min(embedding.solution_.ranks))


def _with_spaces(values: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", " "): value for name, value in values.items()}


def own_parameters(estimator: Any) -> dict[str, Any]:
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

"""The sections of a report as plain values; where one is missing, a sentence gives the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.apps.report.facts import facts_beside_choices
from jointdr.apps.report.held_out import calibration_of, choices_of, evaluation_of
from jointdr.apps.report.recommendations import recommendations_of
from jointdr.apps.report.tables import About
from jointdr.apps.report.words import decimals_of, short
from jointdr.data import Dyads
from jointdr.diagnostics import RankProfile, diagnose, rank_profile
from jointdr.estimators import JDR, ViewsTransformer
from jointdr.plot import coordinates, heaviest
from jointdr.runtime import Array, check_integer, is_sparse

MOST_POINTS = 5000
MOST_VALUES = 100
N_PERMUTATIONS = 20
N_DIRECTIONS = 6  # on the map, and in the list of the heaviest features
N_FEATURES = 8
CHECKED_UP_TO = 1e7  # numbers in the written-out pairs up to which their features are looked at again for warnings

Section = dict[str, Any]
Missing = str  # the reason why a section is missing, as a sentence


@dataclass(frozen=True)
class Contents:
    """The sections of a report; `findings` are those of `diagnose`."""

    facts: dict[str, Any]
    scree: Section | Missing
    findings: list[Any] | Missing
    map: Section | Missing
    loadings: list[Section] | Missing
    choices: Section | Missing
    calibration: list[Section]
    evaluation: Section | Missing
    recommendations: Section | Missing

    @staticmethod
    def of(model: Any, data: Dyads | None, about: About, evaluation: Any, k: int) -> Contents:
        _require_match(model, data)
        k = check_integer("k", k, 1)
        return Contents(
            facts=facts_beside_choices(model),
            scree=_scree(model, data),
            findings=_findings(model, data),
            map=_map(model, data, about),
            loadings=_loadings(model),
            choices=choices_of(model),
            calibration=calibration_of(model),
            evaluation=evaluation_of(evaluation),
            recommendations=recommendations_of(model, about, k),
        )


def _require_match(model: Any, data: Dyads | None) -> None:
    """Raise unless the data is that of the fit, as far as sizes and ids show."""
    if data is None:
        return
    if not isinstance(data, Dyads):
        raise TypeError(f"data must be the Dyads that the model was fitted to, but got {type(data).__name__}.")
    if data.n_features != tuple(model.n_features_per_view_):
        raise ValueError(
            f"data has {data.n_features} features, but the model was fitted to {tuple(model.n_features_per_view_)}: "
            "give the data of the fit."
        )
    for ids, name, kind in ((data.row_ids, "row_ids_", "rows"), (data.column_ids, "column_ids_", "columns")):
        if hasattr(model, name) and not np.array_equal(ids, getattr(model, name)):
            raise ValueError(f"data has other {kind} than the model was fitted to: give the data of the fit.")


def _embedding(model: Any) -> Any:
    """The estimator with singular values and directions; None if there is none."""
    return model.embedding_ if hasattr(model, "embedding_") else model if hasattr(model, "embeddings_") else None


def _scree(model: Any, data: Dyads | None) -> Section | Missing:
    fitted = _embedding(model)
    if fitted is None:
        return "There are no singular values: the model has no embedding, as with embedding=None."
    values = fitted.singular_values_
    spectra = values if isinstance(values, tuple) else (values,)
    rank = min(len(s) for s in spectra)
    values = np.sqrt(np.mean([np.square(s[:rank]) for s in spectra], axis=0))
    found: Section = {"values": short(values[:MOST_VALUES]), "rank": rank, "null": None, "chosen": None}
    profile = _profile(fitted, data)
    if isinstance(profile, str):
        return {**found, "note": profile}
    shown = min(len(profile.singular_values), MOST_VALUES, max(10, rank, 3 * (profile.null_rank or 0)))
    low, high = (short(q) for q in np.quantile(profile.null[:, :shown], [0.025, 0.975], axis=0))
    return {
        **found,
        "values": short(profile.singular_values[:shown]),
        "null": {"low": low, "high": high, "threshold": profile.null_threshold, "level": profile.level},
        "chosen": profile.null_rank,
        "best": profile.best,
        "note": "",
    }


def _profile(fitted: Any, data: Dyads | None) -> RankProfile | Missing:
    if not isinstance(fitted, JDR):
        return f"There is no permutation test for {type(fitted).__name__}: it is for JDR."
    if data is None:
        return (
            "The comparison with chance is missing: permutations need the data of the fit (data=, on the command line "
            "the options that fit was given)."
        )
    try:
        return rank_profile(fitted, data, n_permutations=N_PERMUTATIONS)
    except ValueError as error:
        return f"There is no permutation test: {error}"


def _findings(model: Any, data: Dyads | None) -> list[Any] | Missing:
    fitted = _embedding(model)
    if not isinstance(fitted, JDR) or len(fitted.view_names_) != 2:
        return "These checks are for a JDR of two views, which this model does not have."
    if data is not None and data.n_observed * sum(data.n_features) <= CHECKED_UP_TO:
        return list(diagnose(fitted, *data.triples()))
    return list(diagnose(fitted))


def _map(model: Any, data: Dyads | None, about: About) -> Section | Missing:
    try:
        points, names = _coordinates(model, data)
    except ValueError as error:
        return f"There is no map: {error}"
    r = min(Z.shape[1] for Z in points)
    if r < 2:
        return "There is no map: it takes two directions, and there is one."
    ids = (model.row_ids_, model.column_ids_) if data is None else (data.row_ids, data.column_ids)
    total = sum(len(Z) for Z in points)
    kinds: list[Section] = []
    for k, Z in enumerate(points):
        at = _some(len(Z), _share(k, [len(table) for table in points]))
        group, labels = about.groups[k], about.labels[k]
        kinds.append(
            {
                "name": str(names[k]),
                "ids": [str(i) for i in ids[k][at]],
                "labels": None if labels is None else [labels[i] for i in at],
                "groups": None if group is None else group[at].tolist(),
                "z": [short(column) for column in Z[at][:, :N_DIRECTIONS].T],
            }
        )
    shown = sum(len(kind["ids"]) for kind in kinds)
    note = "" if shown == total else f"{shown} of {total} points, drawn at random, are shown."
    legend = {"column": about.color, "groups": list(about.legend), "is_scale": about.is_scale}
    return {"kinds": kinds, "directions": min(r, N_DIRECTIONS), "legend": legend, "note": note}


def _coordinates(model: Any, data: Dyads | None) -> tuple[tuple[Array, Array], tuple[str, str]]:
    if hasattr(model, "coordinates"):
        return coordinates(model)
    if not hasattr(model, "embeddings_"):
        raise ValueError(f"a {type(model).__name__} has no coordinates.")
    if data is None:
        raise ValueError("the model does not keep the entities it was fitted to; give data=.")
    if isinstance(model, ViewsTransformer):
        a, b = (np.asarray(Z, dtype=float) for Z in model.embed(data)[0])
    else:
        W, H = model.embeddings_
        a, b = (np.asarray(X @ U) for X, U in ((data.A, W), (data.B, H)))
    if is_sparse(a) or a.ndim != 2:
        raise ValueError("its coordinates are not tables.")
    return (a, b), (str(model.view_names_[0]), str(model.view_names_[1]))


def _share(k: int, counts: list[int]) -> int:
    """How many points of kind k are drawn: all if there is room, else in proportion, but no kind next to nothing."""
    if sum(counts) <= MOST_POINTS:
        return counts[k]
    few = min(MOST_POINTS // 4, *counts)
    first = min(max(round(MOST_POINTS * counts[0] / sum(counts)), few), MOST_POINTS - few)
    return first if k == 0 else MOST_POINTS - first


def _some(count: int, wanted: int) -> Array:
    """The indices of this many of the entities, at random but always the same, in order."""
    if count <= wanted:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, wanted, replace=False))


def _loadings(model: Any) -> list[Section] | Missing:
    fitted = _embedding(model)
    if fitted is None:
        return "There are no directions: the model has no embedding, as with embedding=None."
    found = []
    for direction in range(1, min(N_DIRECTIONS, max(U.shape[1] for U in fitted.embeddings_)) + 1):
        views = []
        for name, features, weights in heaviest(model, direction, N_FEATURES):
            largest = float(np.abs(weights).max(initial=0.0)) or 1.0
            bars = [(f, float(w), float(w) / largest) for f, w in zip(features, weights, strict=True)]
            views.append({"name": name, "bars": bars, "decimals": decimals_of([0.0, largest])})
        found.append({"direction": direction, "views": views})
    return found

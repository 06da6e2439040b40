"""The sections of a report as plain values; where one is missing, a sentence gives the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.apps.report.facts import model_facts
from jointdr.apps.report.tables import About
from jointdr.data import Dyads
from jointdr.diagnostics import RankProfile, diagnose, rank_profile
from jointdr.estimators import JDR, ViewsTransformer
from jointdr.plot import coordinates, heaviest, recalls
from jointdr.runtime import Array, check_integer, is_sparse

MOST_POINTS = 5000
MOST_LISTED = 30_000
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
    recall: Section | Missing
    recommendations: Section | Missing

    @staticmethod
    def of(model: Any, data: Dyads | None, about: About, evaluation: Any, k: int) -> Contents:
        _require_match(model, data)
        k = check_integer("k", k, 1)
        return Contents(
            facts=model_facts(model),
            scree=_scree(model, data),
            findings=_findings(model, data),
            map=_map(model, data, about),
            loadings=_loadings(model),
            recall=_recall(evaluation),
            recommendations=_recommendations(model, about, k),
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
    found: Section = {"values": _short(values[:MOST_VALUES]), "rank": rank, "null": None, "chosen": None}
    profile = _profile(fitted, data)
    if isinstance(profile, str):
        return {**found, "note": profile}
    shown = min(len(profile.singular_values), MOST_VALUES, max(10, rank, 3 * (profile.null_rank or 0)))
    low, high = (_short(q) for q in np.quantile(profile.null[:, :shown], [0.025, 0.975], axis=0))
    return {
        **found,
        "values": _short(profile.singular_values[:shown]),
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
                "z": [_short(column) for column in Z[at][:, :N_DIRECTIONS].T],
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
            views.append({"name": name, "bars": bars})
        found.append({"direction": direction, "views": views})
    return found


def _recall(evaluation: Any) -> Section | Missing:
    if evaluation is None:
        return "The model was not evaluated here: give what evaluate found (evaluation=, or --evaluation FOLDER)."
    curves = [
        {"name": name, "k": curve.ks.tolist(), "recall": _short(curve.mean), "se": _short(curve.error)}
        for name, curve in recalls(evaluation).items()
    ]
    return {"curves": curves, "about": getattr(evaluation, "about", "")}


def _recommendations(model: Any, about: About, k: int) -> Section | Missing:
    if not hasattr(model, "recommend"):
        return f"A {type(model).__name__} gives coordinates, not scores, so there is nothing to recommend."
    total = len(model.row_ids_)
    listed = min(total, MOST_LISTED)
    each = min(k, max(1, MOST_LISTED // listed))
    try:
        best = model.recommend(k=each, rows=None if listed == total else model.row_ids_[:listed])
    except ValueError as error:  # of a model for new entities alone
        return f"There are no recommendations: {error}"
    row, column = (np.unique(np.asarray(best[name], dtype=str), return_inverse=True) for name in ("row", "column"))
    notes = [
        f"The table has {each} instead of {k} for each, so that this file stays small." if each < k else "",
        f"It has the first {listed} of {total} rows only." if listed < total else "",
    ]
    return {
        "names": [str(name) for name in model.view_names_],
        "rows": [row[0].tolist(), _labels(row[0], model.row_ids_, about.labels[0])],
        "columns": [column[0].tolist(), _labels(column[0], model.column_ids_, about.labels[1])],
        "row": row[1].tolist(),
        "column": column[1].tolist(),
        "score": _short(np.asarray(best["score"], dtype=float)),
        "rank": np.asarray(best["rank"]).tolist(),
        "neighbors": _short(np.asarray(best["neighbors"], dtype=float)) if "neighbors" in best else None,
        "k": each,
        "note": " ".join(notes).strip(),
    }


def _labels(ids: Array, known: Array, labels: list[str] | None) -> list[str] | None:
    if labels is None:
        return None
    names = dict(zip((str(i) for i in known), labels, strict=True))
    return [names[i] for i in ids.tolist()]


def _short(values: Array) -> list[float | None]:
    """Numbers to four digits, as figures show them; None for those that are not finite."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]

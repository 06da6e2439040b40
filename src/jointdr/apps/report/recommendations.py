"""The best new pairs: of all, for each row, and for each column, with the meaning of a score in words of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.apps.report.tables import About
from jointdr.apps.report.words import decimals_of, format_number, plural, rounded, score_name
from jointdr.runtime import Array

MOST_LISTED = 20_000  # pairs of a list
MOST_BEST = 200  # pairs of all
MOST_SCORED = 5e7  # pairs up to which the best of all, and those for each column, are looked for

ENTITIES = ("row", "column")
NOTES = ("lower", "upper", "percentile", "neighbors")  # on scores of known entities

Section = dict[str, Any]
Missing = str


def recommendations_of(model: Any, about: About, k: int) -> Section | Missing:
    """The lists, which refer to ids and names by their index; "rows" has the best columns for each row."""
    if not hasattr(model, "recommend"):
        return f"This {type(model).__name__} gives coordinates, not scores, so there is nothing to recommend."
    names = (str(model.view_names_[0]), str(model.view_names_[1]))
    try:
        best = {by: _best(model, by, k, names) for by in ("rows", "columns", "pairs")}
    except ValueError as error:  # of a model for new entities alone
        return f"There are no recommendations: {error}"
    tables = {by: found for by, (found, _) in best.items() if found is not None}
    if all(len(found) == 0 for found in tables.values()):
        return "There is nothing to recommend: all pairs are known."
    ids = [np.unique(np.concatenate([found[side].astype(str) for found in tables.values()])) for side in ENTITIES]
    decimals = _decimals(tables)
    return {
        "names": names,
        "plurals": [plural(name) for name in names],
        "score": score_name(model),
        "rows": [ids[0].tolist(), _labels(ids[0], model.row_ids_, about.labels[0])],
        "columns": [ids[1].tolist(), _labels(ids[1], model.column_ids_, about.labels[1])],
        "decimals": decimals,
        "lists": {by: _list(found, ids, decimals) for by, found in tables.items()},
        "notes": {by: note for by, (_, note) in best.items()},
        "k": k,
        "words": _in_words(tables.get("pairs", tables["rows"]), score_name(model), decimals),
    }


def _best(model: Any, by: str, k: int, names: tuple[str, str]) -> tuple[Any, str]:
    """The best pairs of a list, and a sentence on what is left out; None where it takes too many scores."""
    counts = {"rows": len(model.row_ids_), "columns": len(model.column_ids_)}
    scored = counts["rows"] * counts["columns"]
    if by != "rows" and scored > MOST_SCORED:
        kind = "The best pairs of all are" if by == "pairs" else f"The best {plural(names[0])} for each {names[1]} are"
        return None, f"{kind} not listed, because that takes the scores of {scored:.2g} pairs."
    if by == "pairs":
        return model.recommend(by=by, k=MOST_BEST), ""
    total, ids, name = counts[by], *((model.row_ids_, names[0]) if by == "rows" else (model.column_ids_, names[1]))
    listed = min(total, MOST_LISTED)
    each = min(k, max(1, MOST_LISTED // listed))
    best = model.recommend(by=by, k=each, **({} if listed == total else {by: ids[:listed]}))
    fewer = f"The list has {each} instead of {k} for each {name}, so that this file stays small." if each < k else ""
    first = f"It has the first {listed} of {total} {plural(name)} only." if listed < total else ""
    return best, f"{fewer} {first}".strip()


def _decimals(tables: dict[str, Any]) -> dict[str, int]:
    """The decimals of each column of numbers, in all lists; bounds have those of scores."""
    columns = ["score", *(name for name in NOTES if name in tables["rows"])]
    found = {name: decimals_of(np.concatenate([table[name] for table in tables.values()])) for name in columns}
    return {name: found["score"] if name in ("lower", "upper") else digits for name, digits in found.items()}


def _list(found: Any, ids: list[Array], decimals: dict[str, int]) -> Section:
    row, column = (np.searchsorted(known, found[side].astype(str)) for side, known in zip(ENTITIES, ids, strict=True))
    numbers = {name: rounded(found[name], digits) for name, digits in decimals.items()}
    return {"row": row.tolist(), "column": column.tolist(), "rank": found["rank"].tolist(), **numbers}


def _in_words(best: Any, name: str, decimals: dict[str, int]) -> str:
    """The first pair of a list, and what its numbers mean."""
    if len(best) == 0:
        return ""
    first = best.iloc[0]
    value = {column: format_number(first[column], digits) for column, digits in decimals.items()}
    if "lower" in value:
        return (
            f"The first line reads: predicted {name} {value['score']}, 90 % between {value['lower']} and "
            f"{value['upper']}. Of held-out pairs with similar predictions, nine in ten lay in such intervals."
        )
    if "percentile" in value:
        return (
            f"The percentile is the share of the unknown pairs with a lower {name}: of 1000 pairs, 5 are above 99.5. "
            "It is not the probability of an association, because a pair that is not known need not be false."
        )
    if "neighbors" in value:
        return "Neighbors is the effective number of known pairs behind a score: one or two are little to stand on."
    return ""


def _labels(ids: Array, known: Array, labels: list[str] | None) -> list[str] | None:
    if labels is None:
        return None
    names = dict(zip((str(i) for i in known), labels, strict=True))
    return [names[i] for i in ids.tolist()]

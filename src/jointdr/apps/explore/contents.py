"""The lists of a page: entries of a ranking, nearest entities, the reasons for a score, facts. No HTML here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.apps.explore.session import Ranking, Session, Subject
from jointdr.apps.report.facts import direction_count
from jointdr.prediction import Explanation
from jointdr.runtime import Array

SUGGESTED = 8  # rows and columns that the first page names


@dataclass(frozen=True)
class Entry:
    """One line of a ranking.

    The subject is the entity of the other kind. `neighbors` is the effective number of known pairs behind the score.
    """

    rank: int  # from 1
    subject: Subject
    score: str
    bar: float  # its length in proportion to the score; 100 for the best score of the ranking
    known: bool
    neighbors: str  # empty where there is no such number


@dataclass(frozen=True)
class Near:
    """An entity of the same kind, and its distance."""

    subject: Subject
    distance: str


@dataclass(frozen=True)
class Reason:
    """A known pair behind a score: the pair, its own score and weight, and the share of the prediction in per cent."""

    row: Subject
    column: Subject
    score: str
    weight: str
    share: str


@dataclass(frozen=True)
class Reasons:
    """An explanation: the predicted score, the pairs that counted most, and how many others there are."""

    score: str
    pairs: tuple[Reason, ...]
    others: int
    rest: str


def entries_of(
    session: Session, subject: Subject, ranking: Ranking, shown: Array, start: int, count: int
) -> list[Entry]:
    """Some lines of a ranking, of which `shown` has the indices of the entities that are listed, best first."""
    indices = shown[start : start + count]
    best = float(np.max(np.abs(ranking.scores), initial=0.0)) or 1.0
    neighbors = session.neighbors(subject, indices)
    return [
        Entry(
            start + i + 1,
            Subject(subject.other_side, int(index)),
            number(ranking.scores[index]),
            round(100 * max(0.0, float(ranking.scores[index]) / best), 1),
            bool(ranking.known[index]),
            "" if neighbors is None else about(neighbors[i]),
        )
        for i, index in enumerate(indices)
    ]


def nearest_entities(session: Session, subject: Subject, count: int) -> list[Near]:
    """The nearest entities of the same kind."""
    return [Near(Subject(subject.side, index), number(d, 2)) for index, d in session.nearest(subject, count)]


def explanation_of(session: Session, found: Explanation) -> Reasons:
    """An explanation, as a page shows it."""
    columns = (found.pairs[name] for name in ("row", "column", "score", "weight", "contribution"))
    pairs = []
    for row, column, score, weight, contribution in zip(*columns, strict=True):
        share = 100 * contribution / found.score if found.score else 0.0
        subjects = session.subject("row", str(row)), session.subject("column", str(column))
        pairs.append(Reason(*subjects, number(score), number(weight, 2), f"{share:.2g} %"))
    rest = f"{100 * found.rest / found.score:.2g} %" if found.score else number(found.rest)
    return Reasons(number(found.score), tuple(pairs), found.n_pairs - len(pairs), rest)


def model_facts_in_words(session: Session) -> dict[str, str]:
    """The sizes and the settings of the model, in words."""
    model, embedding, method = session.model, session.model.embedding_, "raw features"
    if embedding is not None:
        method = f"{type(embedding).__name__} with {direction_count(embedding)} directions"
    sizes = {}
    for name, side, n in zip(("rows", "columns"), session.catalogs, model.n_features_per_view_, strict=True):
        sizes[name if side.kinds == name else f"{side.kinds} ({name})"] = f"{len(side)}, with {n} features"
    return {
        **sizes,
        "known pairs": str(session.known.nnz),
        "embedding": method,
        **_head_in_words(model),
    }


def _head_in_words(model: Any) -> dict[str, str]:
    if model.head == "auto":
        return {"head": "chosen on held-out data for each question"}
    kernel = "" if model.head == "bilinear" else f", {model.kernel}"
    bandwidths = " and ".join(number(h) for h in model.bandwidth_)
    return {"head": f"{model.head.replace('_', ' ')}{kernel}", "bandwidths": bandwidths}


def suggestions_of(session: Session) -> list[Subject]:
    """Rows and columns with many known pairs, to start with."""
    counts = np.diff(session.known.indptr), np.diff(session.known_columns.indptr)
    best = [np.argsort(-count, kind="stable")[:SUGGESTED] for count in counts]
    return [Subject("row", int(i)) for i in best[0]] + [Subject("column", int(j)) for j in best[1]]


def about(count: float) -> str:
    """A number to two digits, without an exponent."""
    value = float(f"{float(count):.2g}")
    return f"{value:.0f}" if value >= 10 else f"{value:g}"


def number(value: float, digits: int = 3) -> str:
    """A number as a person writes it."""
    return f"{float(value):.{digits}g}" if abs(value) < 1e4 else f"{float(value):.0f}"

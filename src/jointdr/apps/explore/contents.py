"""The lists of a page: entries of a ranking, nearest entities, the reasons for a score, facts. No HTML here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.apps.explore.scores import Bars, aligned
from jointdr.apps.explore.session import Ranking, Session, Subject, notes_of
from jointdr.apps.report.facts import direction_count
from jointdr.runtime import Array

MEANT = {"lower", "listed_rate"}  # the notes that are not the place of a score among others
SUGGESTED = 8  # rows and columns that the first page names


@dataclass(frozen=True)
class Entry:
    """One line of a ranking.

    The subject is the entity of the other kind; `words` is the meaning of the score.
    """

    rank: int  # from 1
    subject: Subject
    score: str
    bar: float  # its length in per cent
    known: bool
    words: str


@dataclass(frozen=True)
class Pair:
    """One line of the strongest pairs, as `Entry`."""

    rank: int
    row: Subject
    column: Subject
    score: str
    bar: float
    words: str


@dataclass(frozen=True)
class Strongest:
    """The strongest pairs of all, and the bars of their scores."""

    pairs: tuple[Pair, ...]
    bars: Bars


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
    """An explanation: the predicted score, its meaning, the pairs that counted most, and how many others there are."""

    score: str
    words: str
    pairs: tuple[Reason, ...]
    others: int
    rest: str


def entries_of(
    session: Session, subject: Subject, ranking: Ranking, shown: Array, start: int, count: int
) -> list[Entry]:
    """Some lines of a ranking, of which `shown` has the indices of the entities that are listed, best first."""
    indices = shown[start : start + count]
    scale, scores = session.scale(), ranking.scores[indices].tolist()
    bars, notes = scale.bars(ranking.scores), session.notes(subject, indices)
    return [
        Entry(
            start + i + 1,
            Subject(subject.other_side, int(index)),
            scale.text(scores[i]),
            bars.length(scores[i]),
            bool(ranking.known[index]),
            scale.words(scores[i], notes[i]),
        )
        for i, index in enumerate(indices)
    ]


def strongest_pairs(session: Session) -> Strongest:
    """The strongest unknown pairs of all."""
    table, scale = session.strongest(), session.scale()
    bars = scale.bars(table["score"].to_numpy())
    scored = zip(table["score"].tolist(), notes_of(table), strict=True)
    # Their place among all pairs goes without saying.
    words = [scale.words(score, notes) if MEANT & notes.keys() else "" for score, notes in scored]
    lines = zip(table["row"], table["column"], table["score"].tolist(), words, strict=True)
    return Strongest(
        tuple(
            Pair(
                rank,
                session.subject("row", row),
                session.subject("column", column),
                scale.text(score),
                bars.length(score),
                said,
            )
            for rank, (row, column, score, said) in enumerate(lines, 1)
        ),
        bars,
    )


def nearest_entities(session: Session, subject: Subject, count: int) -> list[Near]:
    """The nearest entities of the same kind."""
    found = session.nearest(subject, count)
    distances = aligned(np.array([distance for _, distance in found]), 3)
    return [Near(Subject(subject.side, index), text) for (index, _), text in zip(found, distances, strict=True)]


def explanation_of(session: Session, subject: Subject, column: int) -> Reasons:
    """The known pairs behind the score of a row and a column."""
    found, scale = session.why(subject, column), session.scale()
    (notes,) = session.notes(subject, np.array([column]))
    parts = np.append(found.pairs["contribution"].to_numpy(dtype=float), found.rest)
    shares = aligned(100 * parts / found.score if found.score else parts, 2)
    weights = aligned(found.pairs["weight"].to_numpy(dtype=float), 2)
    lines = zip(found.pairs["row"], found.pairs["column"], found.pairs["score"].tolist(), strict=True)
    pairs = tuple(
        Reason(session.subject("row", row), session.subject("column", other), number(score), weight, f"{share} %")
        for (row, other, score), weight, share in zip(lines, weights, shares[:-1], strict=True)
    )
    rest = f"{shares[-1]} %" if found.score else shares[-1]
    words = scale.words(found.score, notes)
    return Reasons(scale.text(found.score), words, pairs, found.n_pairs - len(pairs), rest)


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


def number(value: float, digits: int = 3) -> str:
    """A number as a person writes it."""
    return f"{float(value):.{digits}g}" if abs(value) < 1e4 else f"{float(value):.0f}"

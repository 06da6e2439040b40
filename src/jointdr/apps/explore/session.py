"""The state of a page: a fitted model, names of its entities, uploads of visitors, and results that are kept."""

from __future__ import annotations

import copy
import math
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jointdr.apps.explore.catalog import Catalog
from jointdr.apps.explore.placement import beyond, dots, planes_of, ticks
from jointdr.apps.explore.scores import Scale
from jointdr.apps.explore.uploads import Table
from jointdr.data import TableEncoder, default_name
from jointdr.metrics import round_scores
from jointdr.prediction import AssociationModel, Explanation
from jointdr.runtime import Array

RANKINGS, EXPLANATIONS, UPLOADS = 64, 256, 10  # results of each kind that are kept; the oldest is forgotten first
REASONS = 8  # known pairs that an explanation lists
SAMPLED = 100_000  # pairs whose scores stand for those of all pairs
RANKED = 2_000_000  # pairs among which the strongest are looked for
QUICK = 400_000  # of which so few are looked through before the first visitor comes
STRONGEST = 10
DOTS = ((0.011, 500), (0.009, 2000), (0.007, math.inf))  # the width of a dot, in units of the map, for so many
AT_ONCE = 2  # answers that are computed at the same time, which bounds the memory that visitors can ask for

Side = Literal["row", "column"]


@dataclass(frozen=True)
class Subject:
    """The entity that a page is about, by its index among those that were fitted, or among the rows of an upload."""

    side: Side
    index: int
    upload: str = ""

    @property
    def other_side(self) -> Side:
        return "column" if self.side == "row" else "row"


@dataclass(frozen=True)
class Ranking:
    """All m entities of the other kind, best first; scores and what is known are in the order of the fit."""

    scores: Array
    order: Array  # the indices of the entities, best first; of equal scores the earlier first
    known: Array  # whether the pair was known in the fit

    def shown(self, with_known: bool) -> Array:
        """The order, with or without the pairs that are known; with them where there are no others."""
        return self.order if with_known or self.all_known else self.order[~self.known[self.order]]

    @property
    def all_known(self) -> bool:
        return bool(self.known.all())


_WITHOUT_NOTES = ("kernel", "column")


def notes_of(table: Any) -> list[dict[str, float]]:
    """The notes on each score in a table of `predict_pairs` or `recommend`."""
    return table.drop(columns=["row", "column", "score", "rank"], errors="ignore").to_dict("records")


def _names_of(ids: list[str], labels: Array | None, given: Mapping[str, str] | None) -> Mapping[str, str]:
    known = {} if labels is None else dict(zip(ids, labels.tolist(), strict=True))
    return known | {id: name for id, name in (given or {}).items() if name}


class Forgotten(LookupError):
    """An upload is not kept any more."""


class Kept:
    """Results by key, at most so many; the one that was not asked for longest goes first. Safe between threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: Hashable) -> Any:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: Hashable, result: Any) -> None:
        with self._lock:
            self._results[key] = result
            self._results.move_to_end(key)
            while len(self._results) > self.most:
                self._results.popitem(last=False)


class Session:
    """A model as the page uses it.

    Parameters
    ----------
    model : AssociationModel
        Fitted.
    names : pair of mappings from ids to names, optional
        Of rows and of columns; those that have none there have the names of the model, if it has any.
    title : str
        The heading of the page.

    Notes
    -----
    Weights between the entities of each kind are computed here, once: O(m² r) for m entities with r coordinates.
    """

    def __init__(
        self,
        model: AssociationModel,
        names: tuple[Mapping[str, str] | None, Mapping[str, str] | None] = (None, None),
        title: str = "jointdr",
    ) -> None:
        self.model, self.title = copy.copy(model).precompute(), title
        kinds = tuple(
            word if name == default_name(k) else name
            for k, (name, word) in enumerate(zip(model.view_names_, ("row", "column"), strict=True))
        )
        ids = (model.row_ids_.tolist(), model.column_ids_.tolist())
        called = tuple(map(_names_of, ids, model.labels_, names))
        self.catalogs = self.rows, self.columns = tuple(map(Catalog, kinds, ids, called))
        self.known = model.known_pairs_
        self.known_columns = self.known.T.tocsr()
        self.key = secrets.token_hex(4)
        self._planes = planes_of(model)
        self.is_one_map = self._planes[0] is self._planes[1]
        self.positions = tuple(plane(T) for plane, T in zip(self._planes, model.coordinates(), strict=True))
        self.dots = tuple((dots(at), ticks(at)) for at in self.positions)
        self.dot = next(width for width, most in DOTS if sum(map(len, self.positions)) <= most)
        self.n_beyond = sum(int(beyond(at).any(axis=1).sum()) for at in self.positions)
        self._rankings, self._explanations, self._uploads = Kept(RANKINGS), Kept(EXPLANATIONS), Kept(UPLOADS)
        self._of_model = Kept(2)
        self._working = threading.BoundedSemaphore(AT_ONCE)

    def warm(self) -> None:
        """Give one answer of each kind, so that the first visitor does not wait for what is read and set up once."""
        self.ranking(Subject("row", 0))
        self.ranking(Subject("column", 0))
        self.scale()
        if len(self.rows) * len(self.columns) <= QUICK:
            self.strongest()
        if self.model.head == "kernel":  # of the others an explanation may take long
            self.why(Subject("row", 0), 0)

    # ---------------------------------------------------------------- entities

    def catalog(self, side: Side) -> Catalog:
        return self.rows if side == "row" else self.columns

    def others(self, side: Side) -> Catalog:
        """The entities of the other kind."""
        return self.columns if side == "row" else self.rows

    def subject(self, side: Side, id: str) -> Subject:
        """The fitted entity with this id; a KeyError where there is none."""
        return Subject(side, self.catalog(side).index[id])

    def keep(self, table: Table) -> str:
        """Keep an upload for a while, and return its key, which cannot be guessed."""
        key = secrets.token_urlsafe(12)
        self._uploads.put(key, table)
        return key

    def uploaded(self, key: str) -> Table | None:
        """The upload with this key, unless it was forgotten."""
        return self._uploads.get(key)

    def id(self, subject: Subject) -> str:
        if subject.upload:
            return self._upload(subject).ids[subject.index]
        return self.catalog(subject.side).ids[subject.index]

    def name(self, subject: Subject) -> str:
        """Its name, or its id where it has no name."""
        return self.id(subject) if subject.upload else self.catalog(subject.side).name(subject.index)

    @property
    def mixed_rows(self) -> TableEncoder | None:
        """The encoder of new rows, where the table that was fitted had more than plain numbers."""
        encoder = self.model.encoders_[0]
        return None if encoder is None or encoder.keeps_numbers else encoder

    # ---------------------------------------------------------------- answers

    def ranking(self, subject: Subject) -> Ranking:
        """All entities of the other kind, best first."""
        return self._recall(self._rankings, subject, lambda: self._rank(subject))

    def scale(self) -> Scale:
        """How the scores of unknown pairs are spread."""
        return self._recall(self._of_model, "scale", self._sample)

    @property
    def strongest_if_found(self) -> Any:
        """The strongest unknown pairs, if they have been looked for."""
        return self._of_model.get("strongest")

    def strongest(self) -> Any:
        """The strongest unknown pairs as a DataFrame, as `recommend` gives them; where all are known, of all.

        Of more than `RANKED` pairs only the rows with the most known pairs are looked through.
        """
        return self._recall(self._of_model, "strongest", self._find_strongest)

    @property
    def n_ranked(self) -> int:
        """The number of rows whose pairs `strongest` looks through."""
        return min(len(self.rows), max(1, RANKED // len(self.columns)))

    @property
    def all_known(self) -> bool:
        return bool(self.known.nnz == len(self.rows) * len(self.columns))

    def notes(self, subject: Subject, others: Array) -> list[dict[str, float]]:
        """The notes of the model on the scores with some of the others.

        Heads that were named have nothing but the effective number of known pairs behind the score of a row.
        """
        ids = [self.others(subject.side).ids[index] for index in others]
        if not ids or self.model.head not in ("auto", "kernel") or (self.model.head, subject.side) == _WITHOUT_NOTES:
            return [{} for _ in ids]
        with self._working:
            if self.model.head == "kernel":
                return [{"neighbors": n} for n in self.model.neighbors(**self._query(subject), columns=ids)[0].tolist()]
            own = "0" if subject.upload else self.id(subject)
            pairs = [(own, id) if subject.side == "row" else (id, own) for id in ids]
            table = self.model.predict_pairs(pairs, self._row(subject) if subject.upload else None)
        return notes_of(table)

    def nearest(self, subject: Subject, k: int) -> list[tuple[int, float]]:
        """The k nearest entities of the same kind and their distances, by the coordinates that the model compares.

        For a mixture of coordinates and raw features, squared distances are mixed in the same way. O(m r).
        """
        found = self.model.similar(**{subject.side: self._entity(subject)}, k=k)
        indices = map(self.catalog(subject.side).index.__getitem__, found[subject.side])
        return list(zip(indices, found["distance"].tolist(), strict=True))

    def why(self, subject: Subject, column: int) -> Explanation:
        """The known pairs that carried the score of a row and a column."""
        row, id = self._entity(subject), self.columns.ids[column]
        return self._recall(self._explanations, (subject, column), lambda: self.model.explain(row, id, k=REASONS))

    def at(self, subject: Subject) -> Array:
        """Where an entity lies on the map, (2,)."""
        side = 0 if subject.side == "row" else 1
        if subject.upload:
            return self._planes[side](self.model.coordinates(self._row(subject))[0])[0]
        return self.positions[side][subject.index]

    # ---------------------------------------------------------------- inner workings

    def _sample(self) -> Scale:
        m_A, m_B = len(self.rows), len(self.columns)
        at = np.unique(np.linspace(0, m_A - 1, min(m_A, max(1, SAMPLED // m_B))).astype(int))
        scores = self.model.predict(rows=[self.rows.ids[index] for index in at])
        unknown = self.known[at].toarray() == 0
        kind = "unknown pairs" if unknown.any() else "pairs"
        return Scale(self.model.score_name_, np.sort(scores[unknown] if unknown.any() else scores.ravel()), kind)

    def _find_strongest(self) -> Any:
        rows = None
        if self.n_ranked < len(self.rows):
            rows = self.model.row_ids_[np.argsort(-np.diff(self.known.indptr), kind="stable")[: self.n_ranked]]
        return self.model.recommend(by="pairs", rows=rows, k=STRONGEST, exclude_known=not self.all_known)

    def _rank(self, subject: Subject) -> Ranking:
        scores = self.model.predict(**self._query(subject)).ravel()
        order = np.argsort(-round_scores(scores[None])[0], kind="stable")
        known = np.zeros(len(scores), dtype=bool)
        if not subject.upload:
            pattern = self.known if subject.side == "row" else self.known_columns
            known[pattern.indices[pattern.indptr[subject.index] : pattern.indptr[subject.index + 1]]] = True
        return Ranking(scores, order, known)

    def _recall(self, kept: Kept, key: Hashable, make: Callable[[], Any]) -> Any:
        found = kept.get(key)
        if found is None:
            with self._working:
                found = make()
            kept.put(key, found)
        return found

    def _upload(self, subject: Subject) -> Table:
        if (found := self.uploaded(subject.upload)) is None:
            raise Forgotten("This upload has been forgotten: send it again.")
        return found

    def _query(self, subject: Subject) -> dict[str, Any]:
        """The arguments of `predict` that choose an entity."""
        return {"A_new": self._row(subject)} if subject.upload else {f"{subject.side}s": [self.id(subject)]}

    def _entity(self, subject: Subject) -> Any:
        """The argument of `explain` and `similar` for an entity."""
        return self._row(subject) if subject.upload else self.id(subject)

    def _row(self, subject: Subject) -> Array:
        """The features of a row of an upload, (1, n)."""
        return self._upload(subject).X[[subject.index]]

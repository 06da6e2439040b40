"""How well each contender of an example finds held-out links, and what the best recommends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jointdr.apps.cli.examples import Contender, Example

if TYPE_CHECKING:
    from jointdr.runtime import Array

AT = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Numbers of retrieved columns."""

LISTED = 5
"""Columns that are recommended for a row."""


@dataclass(frozen=True)
class Result:
    """What one contender found.

    Attributes
    ----------
    name : str
    recall : (len(AT),) array
        The mean share of a held-out row's links among its best columns, at each number of them.
    new : float
        Of links to columns without any known link: the recall at the last number.
    """

    name: str
    recall: Array
    new: float

    def at(self, k: int) -> float:
        """The recall at this number of retrieved columns."""
        return float(self.recall[AT.index(k)])


@dataclass(frozen=True)
class Recommendation:
    """A column that is recommended for a held-out row, and why.

    Attributes
    ----------
    row, column : str
        Ids.
    rank : int
    is_link : bool
        Whether the pair is among the held-out links.
    reasons : list of (share of the score, row id, column id)
    shared : list of str
        Terms that the row shares with that of the first reason, the most telling first.
    """

    row: str
    column: str
    rank: int
    is_link: bool
    reasons: list[tuple[float, str, str]]
    shared: list[str]


def fitted(example: Example, contender: Contender) -> Any:
    """The model of a contender, fitted to all rows but those held out."""
    dyads = example.dyads if contender.as_they_are else example.reduced
    assert contender.model is not None
    return contender.model.fit(dyads.rows(_kept(example)))


def judged(example: Example, contender: Contender, model: Any) -> Result:
    """Recall on the held-out rows; equal scores are ranked at random."""
    from jointdr.metrics import expected_recall
    from jointdr.runtime import dense

    known = np.asarray(example.dyads.Y[_kept(example)].sum(axis=0)).ravel()
    test = (example.dyads if contender.as_they_are else example.reduced).rows(example.held_out)
    scores = np.tile(known, (test.shape[0], 1)) if model is None else model.predict(test.A)
    links = dense(test.Y) > 0
    with_links, with_new = links.any(axis=1), (links & (known == 0)).any(axis=1)
    recall = [expected_recall(scores[with_links], links[with_links], k).mean() for k in AT]
    of_new = expected_recall(scores[with_new], links[with_new] & (known == 0), AT[-1])
    return Result(contender.name, np.array(recall), float(of_new.mean()) if with_new.any() else 0.0)


def recommended(example: Example, model: Any, row: int) -> list[Recommendation]:
    """The best columns for a held-out row."""
    one = example.reduced.rows([row])
    best = model.recommend(one.A, k=LISTED, exclude_known=False)
    links = set(one.column_ids[one.Y.toarray()[0] > 0 if hasattr(one.Y, "toarray") else one.Y[0] > 0].tolist())
    found = []
    for rank, column in enumerate(best["column"], start=1):
        because = model.explain(one.A, column, k=3)
        pairs = because.pairs
        shares = [float(value) / because.score for value in pairs["contribution"]]
        reasons = list(zip(shares, pairs["row"], pairs["column"], strict=True))
        shared = _shared(example, row, reasons[0][1]) if reasons else []
        found.append(Recommendation(one.row_ids[0], column, rank, column in links, reasons, shared))
    return found


def rank_of_first_link(example: Example, model: Any, row: int) -> int:
    """At which place the first of a held-out row's links is."""
    from jointdr.runtime import dense

    one = example.reduced.rows([row])
    scores, links = model.predict(one.A)[0], dense(one.Y)[0] > 0
    return int(np.count_nonzero(scores > scores[links].max())) + 1


def _kept(example: Example) -> Array:
    return np.setdiff1d(np.arange(example.dyads.shape[0]), example.held_out)


def _shared(example: Example, row: int, other: str, most: int = 3) -> list[str]:
    """Terms that add most to the inner product of the features of two rows; none for features without names."""
    from jointdr.runtime import is_sparse

    terms, A = example.dyads.feature_names[0], example.dyads.A
    if terms is None or not is_sparse(A):
        return []
    at = int(np.flatnonzero(example.dyads.row_ids == other)[0])
    product = A[[row]].multiply(A[[at]]).toarray()[0]
    top = np.argsort(-product, kind="stable")[:most]
    return [example.name(terms[i]) for i in top if product[i] > 0]

"""Out-of-fold parts of known scores, one kind for each question that a model answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data import By, Dyads, fold_groups
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.stages import Scores, Seen
from jointdr.runtime import Array, dense

MOST_SHRUNKEN = 1e5  # effects that seem to be none keep their order, that of popularity
# Rows, or columns, of a part whose predictions are looked at, at most: where 250 of them have fewer associations than
# make a reliable criterion, so many that there are 1500, up to 1000.
JUDGED, MOST_JUDGED, ENOUGH_JUDGED = 250, 1000, 1500


@dataclass(frozen=True)
class Part:
    """Some of the known scores to fit, and others to predict.

    Attributes
    ----------
    by : {"rows", "columns", "both", "pairs"}
    rows, columns : arrays of int
        The entities that are known to the fit, as indices among all.
    new_rows, new_columns : arrays of int
        The entities that are predicted, held-out ones or known ones.
    scores : Scores
        Those of the fit.
    truth : (new_rows, new_columns) array
        The scores to predict; associations that the fit knows are 0 there.
    judged : (new_rows, new_columns) boolean array, or None for all
        The pairs that count.
    repeat : int
        The number of the division of all scores that it belongs to: parts of different ones hold out the same scores.
    """

    by: By
    rows: Array
    columns: Array
    new_rows: Array
    new_columns: Array
    scores: Scores
    truth: Array
    judged: Array | None
    repeat: int = 0

    @property
    def is_new(self) -> tuple[bool, bool]:
        return new_sides(self.by)

    @cached_property
    def _effects(self) -> dict[tuple[bool, bool], Effects]:
        return {}

    def effects(self, kinds: tuple[bool, bool]) -> Effects:
        """The effects of rows, of columns, or of both, by the scores of the fit alone."""
        if kinds not in self._effects:
            self._effects[kinds] = fit_effects(self.scores, kinds)
        return self._effects[kinds]

    def known(self, k: int, K: Array) -> Array:
        """The kernel between the entities of the fit, of that between all."""
        at = (self.rows, self.columns)[k]
        return K if len(at) == len(K) else K[np.ix_(at, at)]

    def seen(self, k: int, K: Array) -> Seen:
        """The entities that are predicted."""
        at, to = (self.rows, self.columns)[k], (self.new_rows, self.new_columns)[k]
        some = np.zeros((len(to), 0)) if K.size == 0 else K[np.ix_(to, at)]
        return Seen(some, None if self.is_new[k] else np.searchsorted(at, to))

    @property
    def values(self) -> Array:
        """The scores that are held out, of the pairs that count."""
        return self.of_judged(self.truth)

    def of_judged(self, S: Array) -> Array:
        """The scores of the pairs that count."""
        return S.ravel() if self.judged is None else S[self.judged]


def new_sides(by: By) -> tuple[bool, bool]:
    """Whether rows, and whether columns, are new in a question."""
    return by in ("rows", "both"), by in ("columns", "both")


def fit_effects(scores: Scores, kinds: tuple[bool, bool]) -> Effects:
    """Effects of these kinds."""
    Y = scores.Y.astype(float, copy=False)
    if scores.mask is not None:
        i, j = np.nonzero(scores.mask)
        Y = sparse.csr_array((scores.Y[i, j], (i, j)), shape=scores.Y.shape)
    return effects_of(Y, scores.mask is None, kinds)


def effects_of(Y: Array, complete: bool, kinds: tuple[bool, bool]) -> Effects:
    """The same of scores that may be sparse; effects of both kinds decide how much each is shrunken."""
    both = Effects.fit(Y, complete)
    if all(kinds) and max(both.shrinkage) <= MOST_SHRUNKEN:
        return both
    a, b = (min(found, MOST_SHRUNKEN) if used else np.inf for found, used in zip(both.shrinkage, kinds, strict=True))
    return Effects.fit(Y, complete, (a, b))


def known_scores(dyads: Dyads, dtype: Any = np.float64) -> Scores:
    """All known scores, dense."""
    Y = np.asarray(dense(dyads.Y.astype(dtype, copy=False)))
    observed = dyads.observed
    return Scores(Y, None if observed is None else np.asarray(observed.toarray(), dtype=dtype))


def make_parts(
    scores: Scores,
    implicit: bool,
    by: By,
    n_folds: int,
    rng: np.random.RandomState,
    groups: tuple[Array | None, Array | None] = (None, None),
) -> list[Part]:
    """The parts of one question: every known score is held out once; with both new, those of matching folds only.

    Fewer where a fold leaves nothing to fit or to judge. Of `groups`, the group of each row and of each column, all
    entities are in one fold; one of more than half of the entities is always fitted.
    """
    if by == "pairs":
        return _pair_parts(scores, implicit, n_folds, rng)
    Y, mask = scores.Y, scores.mask
    new = new_sides(by)
    folds = [
        _folds(m, max(n_folds, 2), rng, codes) if is_new else None
        for m, is_new, codes in zip(Y.shape, new, groups, strict=True)
    ]
    found = []
    for f in range(n_folds):
        known, held = zip(*(_sides(m, fold, f) for m, fold in zip(Y.shape, folds, strict=True)), strict=True)
        if min(map(len, (*known, *held))) == 0:
            continue
        most = _judged_entities(int(np.count_nonzero(Y[np.ix_(*held)])), held, new) if implicit else JUDGED
        held = tuple(_some(at, is_new, rng, most) for at, is_new in zip(held, new, strict=True))
        at, to = np.ix_(*known), np.ix_(*held)
        judged = None if mask is None else mask[to] > 0
        train = Scores(Y[at], None if mask is None else mask[at])
        is_useful = (Y[to] > 0).any() if implicit else mask is None or (mask[to].any() and mask[at].any())
        if is_useful:
            found.append(Part(by, known[0], known[1], held[0], held[1], train, Y[to], judged))
    return found


def _folds(m: int, n_folds: int, rng: np.random.RandomState, groups: Array | None = None) -> Array:
    if groups is not None:
        return fold_groups(groups, n_folds, rng)
    return rng.permutation(np.arange(m) % n_folds)


def _sides(m: int, fold: Array | None, f: int) -> tuple[Array, Array]:
    if fold is None:
        return np.arange(m), np.arange(m)
    return np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def _judged_entities(associations: int, held: tuple[Array, ...], new: tuple[bool, bool]) -> int:
    """How many new entities of a kind are enough to judge by, of those of a part with so many associations."""
    share = (ENOUGH_JUDGED / max(associations, 1)) ** (1 / sum(new))  # of each side
    counts = [len(at) for at, is_new in zip(held, new, strict=True) if is_new]
    return int(min(max(JUDGED, *(share * count for count in counts)), MOST_JUDGED))


def _some(at: Array, is_new: bool, rng: np.random.RandomState, most: int) -> Array:
    return np.sort(rng.choice(at, most, replace=False)) if is_new and len(at) > most else at


def _pair_parts(scores: Scores, implicit: bool, n_folds: int, rng: np.random.RandomState) -> list[Part]:
    Y, mask = scores.Y, scores.mask
    rows, columns = np.arange(Y.shape[0]), np.arange(Y.shape[1])
    known = Y != 0 if implicit else np.ones(Y.shape, dtype=bool) if mask is None else mask > 0
    i, j = np.nonzero(known)
    fold = _folds(len(i), n_folds, rng)
    found = []
    for f in range(n_folds):
        held = np.zeros(Y.shape, dtype=bool)
        held[i[fold == f], j[fold == f]] = True
        if not held.any() or held.sum() == known.sum():
            continue
        some = np.flatnonzero(held.any(axis=1))
        some = _some(some, implicit, rng, _judged_entities(int(held.sum()), (some, columns), (True, False)))
        kept = np.where(held, 0.0, Y)
        if implicit:  # held-out associations are zeros of the fit
            train, judged = Scores(kept, None), (held | (Y == 0))[some]
        else:
            train, judged = Scores(kept, (known & ~held).astype(float)), held[some]
        found.append(Part("pairs", rows, columns, some, columns, train, np.where(held, Y, 0.0)[some], judged))
    return found

"""Criteria of held-out predictions; higher is better for all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jointdr.data import Dyads, Split
from jointdr.metrics import concordance_index, ndcg_at_k, rmse, round_scores
from jointdr.runtime import Array, check_choice, dense

# Implicit feedback is judged by the mean of the recalls at these numbers of retrieved entities.
RECALL_AT = (10, 30, 100)

RANKINGS = ("recall", "average precision", "nDCG")
CRITERIA = ("auto", *RANKINGS, "RMSE", "concordance")
# What the papers of this field report, besides the criterion that models are chosen by: of 0/1 and of graded scores.
FAMILIAR = {True: ("recall", "average precision"), False: ("RMSE", "concordance")}

MOST_COMPARED = 20_000  # pairs whose order is looked at, for the concordance


def check_criterion(criterion: str, implicit: bool | None) -> str:
    """The criterion, if it is one for such scores, or for any where that is None."""
    check_choice("criterion", criterion, CRITERIA)
    if criterion in RANKINGS and implicit is False:
        raise ValueError(f"criterion={criterion!r} is for 0/1 associations: take 'RMSE' or 'concordance', or 'auto'.")
    if criterion in CRITERIA[4:] and implicit:
        raise ValueError(f"criterion={criterion!r} is for graded scores: take one of {list(RANKINGS)}, or 'auto'.")
    return criterion


def criterion_in_words(criterion: str, implicit: bool) -> str:
    """The definition of a held-out score."""
    if criterion == "auto" and implicit:
        return "the mean of recall (at 10, 30 and 100), average precision, and average precision of all pairs together"
    words = {
        "auto": "the mean of 1 − RMSE/σ and 2 C − 1 (σ: the standard deviation of known scores, C: the concordance)",
        "recall": "recall, the mean at 10, 30 and 100",
        "average precision": "average precision",
        "nDCG": "nDCG",
        "RMSE": "minus the root mean square error",
        "concordance": "the concordance, the share of pairs in the right order",
    }
    return words[criterion]


def judge_predictions(
    criterion: str,
    scores: Array,
    truth: Array,
    judged: Array | None = None,
    by_column: bool = False,
    implicit: bool = True,
    sigma: float | None = None,
) -> float:
    """The criterion of predictions.

    Parameters
    ----------
    criterion : {"auto", "recall", "average precision", "nDCG", "RMSE", "concordance"}
        ``"auto"``: for implicit feedback the mean of the recall, of the average precision of each row, and of that of
        all pairs together, which sees whether scores of different rows can be compared. For graded scores the mean of
        the explained share of the standard deviation, 1 − RMSE/σ, and of the concordance above chance, 2 C − 1.
    scores, truth : (rows, columns) arrays
    judged : (rows, columns) boolean array, optional
        The pairs that count; by default all.
    by_column : bool
        Whether rows are ranked for every column.
    implicit : bool
    sigma : float, optional
        Of graded scores, the standard deviation that an RMSE is compared with; by default that of `truth`.
    """
    if not implicit:
        p, t = (scores.ravel(), truth.ravel()) if judged is None else (scores[judged], truth[judged])
        return _judge_grades(criterion, p, t, sigma)
    positive = truth > 0
    if judged is not None:
        scores, positive = np.where(judged, scores, -np.inf), positive & judged
    if by_column:
        scores, positive, truth = scores.T, positive.T, truth.T
    rows = positive.any(axis=1)
    if not rows.any():
        raise ValueError("No association was held out to judge by: raise test_size or n_splits.")
    if criterion == "nDCG":
        order = np.random.RandomState(0).permutation(scores.shape[1])  # equal scores must not keep that of the data
        return ndcg_at_k(scores[rows][:, order], truth[rows][:, order])
    ranked = Ranks.of(scores[rows], positive[rows])
    values: dict[str, Callable[[], float]] = {"recall": ranked.recall, "average precision": ranked.precision}
    if criterion in values:
        return values[criterion]()
    return (ranked.recall() + ranked.precision() + pooled_precision(scores, positive)) / 3


def _judge_grades(criterion: str, predicted: Array, truth: Array, sigma: float | None) -> float:
    if criterion == "RMSE":
        return -rmse(predicted, truth)
    if len(truth) > MOST_COMPARED:
        at = np.linspace(0, len(truth) - 1, MOST_COMPARED).astype(int)
        compared = predicted[at], truth[at]
    else:
        compared = predicted, truth
    constant = bool((compared[1] == compared[1][0]).all())
    concordance = 0.5 if constant else concordance_index(round_scores(compared[0][None])[0], compared[1])
    if criterion == "concordance":
        return concordance
    sigma = sigma or float(np.std(truth)) or 1.0
    return 0.5 * (1.0 - rmse(predicted, truth) / sigma) + 0.5 * (2.0 * concordance - 1.0)


class Ranks:
    """The ranks of each row's associations, where equal scores are ranked at random."""

    def __init__(self, rows: Array, above: Array, equal: Array, count: int, columns: int) -> None:
        self.rows, self.above, self.equal, self.count, self.columns = rows, above, equal, count, columns

    @staticmethod
    def of(S: Array, positive: Array) -> Ranks:
        """For every association the number of higher scores in its row, and of equal ones, itself included."""
        i, j = np.nonzero(positive)
        above, equal = np.empty(len(i)), np.empty(len(i))
        S = round_scores(S)
        order = np.sort(S, axis=1)
        for row, (start, stop) in enumerate(zip(*_ends(i, len(S)), strict=True)):
            values = S[row, j[start:stop]]
            upper = np.searchsorted(order[row], values, side="right")
            above[start:stop] = S.shape[1] - upper
            equal[start:stop] = upper - np.searchsorted(order[row], values, side="left")
        return Ranks(i, above, equal, len(S), S.shape[1])

    def recall(self) -> float:
        """The mean recall at 10, 30 and 100."""
        ks = [k for k in RECALL_AT if k < self.columns] or [max(1, self.columns // 3)]
        found = [self._row_means(np.clip((k - self.above) / self.equal, 0.0, 1.0)) for k in ks]
        return float(np.mean(found))

    def precision(self) -> float:
        """The average precision of each row, averaged."""
        middle = self.above + 0.5 * (self.equal + 1.0)
        order = np.lexsort((middle, self.rows))
        start, _ = _ends(self.rows, self.count)
        place = np.arange(len(order)) - np.repeat(start, np.bincount(self.rows, minlength=self.count)) + 1.0
        return self._row_means(np.minimum(place / middle[order], 1.0))

    def _row_means(self, values: Array) -> float:
        counts = np.bincount(self.rows, minlength=self.count)
        return float(np.mean(np.bincount(self.rows, values, minlength=self.count) / np.maximum(counts, 1)))


def _ends(i: Array, count: int) -> tuple[Array, Array]:
    """The first index of each row among sorted rows, and the one after its last."""
    ends = np.cumsum(np.bincount(i, minlength=count))
    return ends - np.bincount(i, minlength=count), ends


def pooled_precision(S: Array, positive: Array) -> float:
    """The average precision of all pairs together; scores that differ by rounding alone share a rank."""
    S = round_scores(S.reshape(1, -1)).reshape(S.shape)
    values, everything = np.sort(S[positive])[::-1], np.sort(S[np.isfinite(S)])
    upper = np.searchsorted(everything, values, side="right")
    lower = np.searchsorted(everything, values, side="left")
    middle = len(everything) - upper + 0.5 * (upper - lower + 1.0)
    return float(np.mean(np.minimum(np.arange(1, len(values) + 1) / middle, 1.0)))


def score_split(scores: Array, split: Split, implicit: bool, criterion: str | None = None) -> float:
    """The criterion of predictions for ``split.test``; by default the mean recall at 10, 30 and 100, or minus RMSE."""
    return held_out_score(scores, split.test, implicit, split.ranked_by_column, split.known, criterion)


def held_out_score(
    scores: Array,
    test: Dyads,
    implicit: bool,
    by_column: bool = False,
    known: Array | None = None,
    criterion: str | None = None,
) -> float:
    """The same for held-out dyads; `by_column` ranks rows for every column, and the mask `known` leaves pairs out."""
    truth = np.asarray(dense(test.Y), dtype=float)
    if implicit:
        return judge_predictions(
            criterion or "recall", scores, truth, None if known is None else ~known, by_column, True
        )
    observed = test.observed
    mask = None if observed is None else observed.toarray()
    return judge_predictions(criterion or "RMSE", scores, truth, mask, by_column, False)

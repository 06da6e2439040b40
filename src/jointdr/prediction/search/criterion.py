"""The criterion of held-out predictions, higher is better: recall for implicit feedback, RMSE for graded scores."""

from __future__ import annotations

import numpy as np

from jointdr.data import Dyads, Split
from jointdr.metrics import expected_recalls
from jointdr.runtime import Array, dense

# Implicit feedback is judged by the mean of the recalls at these numbers of retrieved entities.
RECALL_AT = (10, 30, 100)


def score_split(scores: Array, split: Split, recall: bool) -> float:
    """The criterion of predictions for ``split.test``: the mean recall at 10, 30 and 100, or minus the RMSE."""
    return held_out_score(scores, split.test, recall, split.ranked_by_column, split.known)


def held_out_score(
    scores: Array, test: Dyads, recall: bool, by_column: bool = False, known: Array | None = None
) -> float:
    """The same for held-out dyads; `by_column` ranks rows for every column, and the mask `known` leaves pairs out."""
    truth = dense(test.Y)
    if not recall:
        observed = test.observed
        mask = np.ones(truth.shape, dtype=bool) if observed is None else observed.toarray()
        return -float(np.sqrt(np.mean((scores - truth)[mask] ** 2)))
    if known is not None:
        scores = np.where(known, -np.inf, scores)
    positive = truth > 0
    if by_column:
        scores, positive = scores.T, positive.T
    rows = positive.any(axis=1)
    if not rows.any():
        raise ValueError("No association was held out to judge by: raise test_size or n_splits.")
    most = scores.shape[1]
    ks = [k for k in RECALL_AT if k < most] or [max(1, most // 3)]  # all of a few are always found
    return float(np.mean(expected_recalls(scores[rows], positive[rows], ks)))

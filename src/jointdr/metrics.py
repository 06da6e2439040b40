"""Metrics: how well embeddings and rankings match the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg

from jointdr.runtime import Array, check_integer, dense

__all__ = [
    "average_precision",
    "concordance_index",
    "expected_recall",
    "expected_recalls",
    "ndcg_at_k",
    "nsee",
    "recall_at_k",
    "rmse",
    "round_scores",
    "subspace_error",
]


def subspace_error(U: Array, U_hat: Array) -> float:
    """The paper's d(U, Û) = ‖Û − P_U Û‖_F, the part of the estimated subspace outside the true one.

    Parameters
    ----------
    U, U_hat : (n, r) arrays
        Any bases of the true and of the estimated subspace; both are orthonormalized first.

    Returns
    -------
    float
        Between 0 (the estimate lies inside) and √r (it is orthogonal). A direction that the estimate lacks, because its
        columns are not independent, counts as orthogonal.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr.metrics import subspace_error
    >>> round(subspace_error(np.eye(3)[:, :1], np.array([[3.0], [4.0], [0.0]])), 12)
    0.8
    """
    U, U_hat = np.asarray(U, dtype=float), np.asarray(U_hat, dtype=float)
    if U.ndim != 2 or U_hat.ndim != 2 or U.shape[0] != U_hat.shape[0]:
        raise ValueError(f"U and U_hat must be matrices with the same number of rows, got {U.shape} and {U_hat.shape}.")
    if not (np.isfinite(U).all() and np.isfinite(U_hat).all()):
        raise ValueError("U or U_hat contain NaN or infinity.")
    Q, Q_hat = (linalg.orth(_unit_columns(M)) for M in (U, U_hat))
    missing = U_hat.shape[1] - Q_hat.shape[1]
    return float(np.sqrt(np.linalg.norm(Q_hat - Q @ (Q.T @ Q_hat)) ** 2 + missing))


def nsee(true: Sequence[Array], estimated: Sequence[Array]) -> float:
    """The normalized subspace estimation error: the largest d(U, Û)/√r over the views (section 6.1).

    Parameters
    ----------
    true, estimated : sequences of (n_k, r) arrays
        One embedding per view, for example ``truth`` of a synthetic sample and ``JDR().fit(...).embeddings_``.

    Returns
    -------
    float
        Between 0 and 1.
    """
    if len(true) != len(estimated):
        raise ValueError(f"true has {len(true)} views and estimated has {len(estimated)}.")
    return max(subspace_error(U, V) / np.sqrt(np.shape(V)[1]) for U, V in zip(true, estimated, strict=True))


def recall_at_k(scores: Array, truth: Any, k: int | Sequence[int]) -> Any:
    """The share of each row's positives among its k best scores, averaged over rows that have any (section 6.2).

    Parameters
    ----------
    scores : (rows, columns) array
        Higher is better; ties go to the column that comes first.
    truth : (rows, columns) array or sparse matrix
        Positive where the pair is associated.
    k : int or sequence of ints

    Returns
    -------
    float, or array of floats if k is a sequence

    Examples
    --------
    >>> from jointdr.metrics import recall_at_k
    >>> recall_at_k([[0.9, 0.1, 0.5], [0.2, 0.3, 0.1]], [[1, 1, 0], [0, 0, 0]], k=2)
    0.5
    """
    scores, gains = _checked_ranking(scores, truth)
    positive = gains > 0
    ks = np.atleast_1d(np.asarray(k))
    if ks.dtype.kind not in "iu" or (ks < 1).any():
        raise ValueError(f"k must be a positive integer or a sequence of them, got {k!r}.")
    rows = np.flatnonzero(positive.any(axis=1))
    order = np.argsort(-scores[rows], axis=1, kind="stable")[:, : int(ks.max())]
    found = np.cumsum(np.take_along_axis(positive[rows], order, axis=1), axis=1)
    at = np.minimum(ks, scores.shape[1]) - 1
    recall = (found[:, at] / positive[rows].sum(axis=1, keepdims=True)).mean(axis=0)
    return float(recall[0]) if np.ndim(k) == 0 else recall


def ndcg_at_k(scores: Array, truth: Any, k: int | None = None) -> float:
    """The normalized discounted cumulative gain of each row's ranking, averaged over rows that have positives.

    Parameters
    ----------
    scores : (rows, columns) array
    truth : (rows, columns) array or sparse matrix
        The gain of each pair; negative ones count as 0.
    k : int, optional
        Only the k best of each row count.

    Examples
    --------
    >>> from jointdr.metrics import ndcg_at_k
    >>> ndcg_at_k([[0.9, 0.1, 0.5]], [[3, 0, 1]])
    1.0
    """
    scores, gains = _checked_ranking(scores, truth)
    if k is not None:
        check_integer("k", k, 1, expected="a positive integer or None")
    rows = (gains > 0).any(axis=1)
    gains = np.maximum(gains[rows], 0)
    order = np.argsort(-scores[rows], axis=1, kind="stable")
    discount = 1 / np.log2(np.arange(scores.shape[1]) + 2.0)
    if k is not None:
        discount[int(k) :] = 0
    found = np.take_along_axis(gains, order, axis=1) @ discount
    return float(np.mean(found / (np.flip(np.sort(gains, axis=1), axis=1) @ discount)))


def average_precision(scores: Array, truth: Any) -> float:
    """The mean precision at each row's positives, averaged over rows that have any.

    Parameters
    ----------
    scores : (rows, columns) array
        Higher is better; ties go to the column that comes first.
    truth : (rows, columns) array or sparse matrix
        Positive where the pair is associated.

    Examples
    --------
    >>> from jointdr.metrics import average_precision
    >>> average_precision([[0.9, 0.1, 0.5]], [[1, 1, 0]]) == (1 / 1 + 2 / 3) / 2
    True
    """
    scores, gains = _checked_ranking(scores, truth)
    rows = (gains > 0).any(axis=1)
    order = np.argsort(-scores[rows], axis=1, kind="stable")
    hits = np.take_along_axis(gains[rows] > 0, order, axis=1)
    precision = np.cumsum(hits, axis=1) / np.arange(1, scores.shape[1] + 1)
    return float(np.mean(np.sum(precision * hits, axis=1) / hits.sum(axis=1)))


def concordance_index(predicted: Array, truth: Array) -> float:
    """The share of pairs with different truths that the prediction puts into the right order; ties count a half.

    Parameters
    ----------
    predicted, truth : arrays of one shape

    Notes
    -----
    O(n log n), by Kendall's τ.

    Examples
    --------
    >>> from jointdr.metrics import concordance_index
    >>> round(concordance_index([0.1, 0.4, 0.3], [1.0, 2.0, 3.0]), 12)
    0.666666666667
    """
    predicted, truth = _checked_pair(predicted, truth)
    total = len(truth) * (len(truth) - 1) / 2
    counts = (np.unique(values, return_counts=True)[1].astype(float) for values in (predicted, truth))
    tied_p, tied_t = (float(np.sum(c * (c - 1.0)) / 2) for c in counts)
    if tied_t == total:
        raise ValueError("truth is constant, so that there is no order to predict.")
    if tied_p == total:
        return 0.5
    from scipy import stats  # slow to import

    tau = float(stats.kendalltau(predicted, truth).statistic)
    return 0.5 + 0.5 * tau * float(np.sqrt((total - tied_p) / (total - tied_t)))


def rmse(predicted: Array, truth: Array) -> float:
    """The root mean square error.

    Parameters
    ----------
    predicted, truth : arrays of one shape
    """
    predicted, truth = _checked_pair(predicted, truth)
    largest = max(float(np.max(np.abs(predicted))), float(np.max(np.abs(truth))))
    if not largest > 0:
        return 0.0
    # In these units squares neither overflow nor vanish.
    error = largest * float(np.sqrt(np.mean((predicted / largest - truth / largest) ** 2)))
    if not np.isfinite(error):
        raise ValueError("predicted and truth are so far apart that their distance overflows: rescale them.")
    return error


def _unit_columns(M: Array) -> Array:
    """Columns of length 1, but for those of zeros; their squares neither overflow nor vanish on the way."""
    largest = np.max(np.abs(M), axis=0, initial=0.0)
    M = M / np.where(largest > 0, largest, 1.0)
    return M / np.maximum(np.linalg.norm(M, axis=0), 0.5)


def _checked_pair(predicted: Array, truth: Array) -> tuple[Array, Array]:
    predicted, truth = np.asarray(predicted, dtype=float), np.asarray(truth, dtype=float)
    if predicted.shape != truth.shape or predicted.size < 1:
        raise ValueError(f"predicted and truth must have one shape, got {predicted.shape} and {truth.shape}.")
    if not (np.isfinite(predicted).all() and np.isfinite(truth).all()):
        raise ValueError("predicted or truth contain NaN or infinity.")
    return predicted.ravel(), truth.ravel()


def _checked_ranking(scores: Array, truth: Any) -> tuple[Array, Array]:
    """Scores that can be ranked, and the truth as a matrix of the same shape with at least one positive entry."""
    scores = np.asarray(scores, dtype=np.float64)
    gains = np.asarray(dense(truth), dtype=np.float64)
    if scores.ndim != 2 or scores.shape != gains.shape:
        raise ValueError(f"scores and truth must be matrices of one shape, got {scores.shape} and {gains.shape}.")
    if np.isnan(scores).any():
        raise ValueError("scores contain NaN, which cannot be ranked.")
    if not (gains > 0).any():
        raise ValueError("truth has no positive entry, so that a ranking cannot be judged.")
    return scores, gains


def expected_recall(scores: Array, positive: Array, k: int) -> Array:
    """Recall at k of each row if equal scores are ranked at random, (rows,); NaN for a row without positives.

    Unlike a recall that ranks them in their order, it does not depend on the order of the columns.
    """
    return expected_recalls(scores, positive, [check_integer("k", k, 1)])[0]


def expected_recalls(scores: Array, positive: Array, ks: Sequence[int]) -> Array:
    """The same at several numbers, (len(ks), rows)."""
    for k in ks:
        check_integer("ks", k, 1)
    scores, most = round_scores(scores), scores.shape[1]
    at = [most - min(k, most) for k in ks]
    least = np.partition(scores, sorted(set(at)), axis=1)[:, at]
    i, j = np.nonzero(positive)
    known, count = scores[i, j], np.bincount(i, minlength=len(scores))
    found = np.empty((len(ks), len(scores)))
    for t, k in enumerate(ks):
        threshold = least[:, t]
        larger = np.count_nonzero(scores > threshold[:, None], axis=1)
        equal = np.count_nonzero(scores == threshold[:, None], axis=1)
        above = np.bincount(i, known > threshold[i], minlength=len(scores))
        tied = np.bincount(i, known == threshold[i], minlength=len(scores))
        found[t] = above + tied * (min(k, most) - larger) / np.maximum(equal, 1)
    return np.divide(found, count, out=np.full_like(found, np.nan), where=count > 0)


def round_scores(S: Array) -> Array:
    """Scores to 12 digits of the largest of their row, so that those which differ by rounding alone are equal."""
    scale = np.abs(S).max(axis=1, keepdims=True, initial=0.0)
    if not np.isfinite(scale).all():
        scale = np.abs(np.where(np.isfinite(S), S, 0.0)).max(axis=1, keepdims=True, initial=0.0)
    digits = S * (1e12 / np.where(scale > 1e-290, scale, 1.0))
    return np.rint(digits, out=digits)

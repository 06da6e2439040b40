"""Measures of how well embeddings and rankings match the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg

from jointdr.arrays import Array, is_sparse

__all__ = ["nsee", "recall_at_k", "subspace_error"]


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
    Q, Q_hat = (linalg.orth(M / np.maximum(np.linalg.norm(M, axis=0), np.finfo(float).tiny)) for M in (U, U_hat))
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
    scores = np.asarray(scores, dtype=np.float64)
    positive = np.asarray((truth > 0).toarray() if is_sparse(truth) else np.asarray(truth) > 0)
    if scores.ndim != 2 or scores.shape != positive.shape:
        raise ValueError(f"scores and truth must be matrices of one shape, got {scores.shape} and {positive.shape}.")
    if np.isnan(scores).any():
        raise ValueError("scores contain NaN, which cannot be ranked.")
    ks = np.atleast_1d(np.asarray(k))
    if ks.dtype.kind not in "iu" or (ks < 1).any():
        raise ValueError(f"k must be a positive integer or a sequence of them, got {k!r}.")
    rows = np.flatnonzero(positive.any(axis=1))
    if len(rows) == 0:
        raise ValueError("truth has no positive entry, so recall is not defined.")
    order = np.argsort(-scores[rows], axis=1, kind="stable")[:, : int(ks.max())]
    found = np.cumsum(np.take_along_axis(positive[rows], order, axis=1), axis=1)
    at = np.minimum(ks, scores.shape[1]) - 1
    recall = (found[:, at] / positive[rows].sum(axis=1, keepdims=True)).mean(axis=0)
    return float(recall[0]) if np.ndim(k) == 0 else recall

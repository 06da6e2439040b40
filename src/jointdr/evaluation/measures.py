"""Metrics of the predictions for one split: of rankings (implicit feedback), and of graded scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data import Dyads, Split, index_of
from jointdr.metrics import average_precision, concordance_index, expected_recall, ndcg_at_k, rmse
from jointdr.runtime import Array, dense


def implicit_metrics(
    scores: Array, split: Split, dyads: Dyads, at: Sequence[int], significant: Array | None, seed: int
) -> dict[str, float]:
    """Metrics of a ranking: recall at several k, of all held-out and of significant pairs, nDCG, average precision.

    `scores` are predictions for the test part of the split; `significant`, a CSR array of booleans, marks pairs of all
    the dyads that were split; `seed` decides the order of equal scores, where that matters.
    """
    gains = dense(split.test.Y)
    marks = {"recall": gains > 0}
    if significant is not None:
        rows = _indices(dyads.row_ids, split.test.row_ids)
        columns = _indices(dyads.column_ids, split.test.column_ids)
        marks["significant recall"] = marks["recall"] & significant[rows][:, columns].toarray()
    if (known := split.known) is not None:
        scores = np.where(known, -np.inf, scores)
    if split.ranked_by_column:
        scores, gains = scores.T, gains.T
        marks = {name: positive.T for name, positive in marks.items()}
    values = {}
    for name, positive in marks.items():
        rows = positive.any(axis=1)
        for k in [k for k in at if k < scores.shape[1]] or [max(1, scores.shape[1] // 10)]:
            found = expected_recall(scores[rows], positive[rows], k)
            values[f"{name}@{k}"] = float(found.mean()) if rows.any() else np.nan
    # The other metrics rank equal scores in their order, which must not be that of the data.
    order = np.random.RandomState(seed).permutation(scores.shape[1])
    scores, gains = scores[:, order], gains[:, order]
    return {**values, "nDCG": ndcg_at_k(scores, gains), "average precision": average_precision(scores, gains)}


def graded_metrics(scores: Array, split: Split) -> dict[str, float]:
    """Metrics of graded scores: the root mean square error, and the concordance index."""
    truth, observed = dense(split.test.Y), split.test.observed
    mask = np.ones(truth.shape, dtype=bool) if observed is None else observed.toarray()
    return {"RMSE": rmse(scores[mask], truth[mask]), "concordance": concordance_index(scores[mask], truth[mask])}


def significant_pairs(dyads: Dyads, threshold: float, truth: Any = None) -> Array | None:
    """Mark the known pairs whose score is above a threshold or, where `truth` is given, those where it is positive.

    An (m_A, m_B) CSR array of booleans; None if all known pairs are, if none is (with a warning), or of graded scores.
    """
    if not dyads.is_implicit:
        if truth is not None:
            raise ValueError("truth= marks significant associations, but these dyads hold graded scores: leave it out.")
        return None
    Y = sparse.csr_array(dyads.Y)
    if truth is None:
        found = threshold < Y
    else:
        if np.shape(truth) != dyads.shape:
            raise ValueError(f"truth has shape {np.shape(truth)}, but there are {dyads.shape} entities.")
        found = (sparse.csr_array(truth) > 0).multiply(Y > 0)
    found = sparse.csr_array(found)
    if found.nnz == 0:
        what = f"above significant={threshold:g}" if truth is None else "where truth is positive"
        warnings.warn(f"No known pair is {what}, so that none counts as significant.", UserWarning, stacklevel=3)
        return None
    return None if found.nnz == (Y > 0).nnz else found


def _indices(ids: Array, some: Array) -> Array:
    where = index_of(ids)
    return np.array([where[name] for name in some.tolist()])

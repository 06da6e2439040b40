"""A part of the entities that is small enough to try many recipes on."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from jointdr.data import By, Dyads
from jointdr.runtime import Array, is_sparse


def sample_entities(dyads: Dyads, by: By, most: int, rng: np.random.RandomState) -> Dyads:
    """Dyads of at most so many rows and columns, among which there are many known scores.

    Entities of one side, the new one of the question, are drawn among those with known scores. Of the other side
    those come first that have the most known scores with them.
    """
    if max(dyads.shape) <= most:
        return dyads
    pattern = _pattern(dyads)
    order = (1, 0) if by == "columns" else (0, 1)
    chosen: list[Array] = [np.arange(m) for m in dyads.shape]
    for k in order:
        if dyads.shape[k] <= most:
            continue
        counts = np.asarray(pattern.sum(axis=1 - k), dtype=float).ravel()
        if k == order[0]:
            useful = np.flatnonzero(counts > 0)
            useful = useful if len(useful) >= most else np.argsort(-counts, kind="stable")[:most]
            chosen[k] = np.sort(rng.choice(useful, most, replace=False))
        else:
            chosen[k] = np.sort(np.lexsort((rng.permutation(len(counts)), -counts))[:most])
        pattern = pattern[chosen[0]] if k == 0 else pattern[:, chosen[1]]
    part = dyads if len(chosen[0]) == dyads.shape[0] else dyads.rows(chosen[0])
    return part if len(chosen[1]) == dyads.shape[1] else part.columns(chosen[1])


def _pattern(dyads: Dyads) -> Array:
    """1 for every known score that is worth having: of a complete grid those that are not 0."""
    Y = dyads.Y
    if dyads.is_complete:
        return sparse.csr_array(Y != 0, dtype=float)
    assert is_sparse(Y)
    return sparse.csr_array((np.ones(Y.nnz), Y.indices, Y.indptr), shape=Y.shape)

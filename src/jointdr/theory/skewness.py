"""The skewness of features, from two reads of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.arrays import Array, as_float, float_dtype, is_sparse, like, to_numpy
from jointdr.engines.local import Block, Rows


def skewness(views: Sequence[Array], weight: Array | None = None) -> list[Array]:
    """E[(x − µ)³]/sd³ of every feature of every view, 0 for constant ones; O(m n), or O(stored entries) if sparse.

    Parameters
    ----------
    views : sequence of (m, n_k) arrays
        Dense or CSR; sparse views stay sparse.
    weight : (m,) array, optional

    Returns
    -------
    list of (n_k,) arrays
    """
    m = views[0].shape[0]
    w = np.ones(m) if weight is None else weight
    rows = Rows(views, np.zeros((m, 1)), w)
    dtype = float_dtype(*views)
    means = [total / w.sum() for total in rows.accumulate(lambda block: _power_sums(block, dtype, None, (1,)))]
    sums = rows.accumulate(lambda block: _power_sums(block, dtype, means, (2, 3)))
    result = []
    for mean, second, third in zip(means, sums[::2], sums[1::2], strict=True):
        variance = second / w.sum()
        varies = np.sqrt(variance) > 1e-6 * np.abs(mean)  # below that, third powers are rounding
        deviation = np.where(varies, np.sqrt(variance), 1.0)
        result.append(np.where(varies, third / w.sum() / deviation**3, 0.0))
    return result


def _power_sums(block: Block, dtype: Any, means: Sequence[Array] | None, powers: Sequence[int]) -> tuple[Array, ...]:
    """Σ w (x − µ)^p of every feature, for each view and power."""
    assert block.weight is not None
    sums = []
    for k, X in enumerate(block.views):
        X = as_float(X, dtype)
        mean = np.zeros(X.shape[1]) if means is None else means[k]
        for p in powers:
            if is_sparse(X):
                # What stored entries change against a row of zeros, and a row of zeros for every row.
                change = (X.data - mean[X.indices]) ** p - (-mean[X.indices]) ** p
                P = sparse.csr_array((change, X.indices, X.indptr), shape=X.shape)
                sums.append(P.T @ block.weight + block.weight.sum() * (-mean) ** p)
            else:
                D = (X - like(mean, X)) ** p
                sums.append(to_numpy(like(block.weight, D) @ D))
    return tuple(sums)

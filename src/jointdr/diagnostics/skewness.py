"""The skewness of features, from two reads of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.engines import RowBlock, Rows
from jointdr.runtime import Array, as_float, float_dtype, is_sparse, like, to_numpy


def skewness(views: Sequence[Array], weight: Array | None = None) -> list[Array]:
    """E[(x − µ)³]/sd³ of the features of dense or CSR views; 0 for constant ones. O(m n), or O(stored entries)."""
    m = views[0].shape[0]
    w = np.ones(m) if weight is None else weight
    rows = Rows(views, np.zeros((m, 1)), w)
    dtype = float_dtype(*views)
    widths = [X.shape[1] for X in views]
    zeros, ones = [np.zeros(n) for n in widths], [np.ones(n) for n in widths]

    def mean_power(p: int, means: Sequence[Array], units: Sequence[Array]) -> list[Array]:
        return [total / w.sum() for total in rows.accumulate(lambda block: _power_sums(block, dtype, means, units, p))]

    means = mean_power(1, zeros, ones)
    deviations = [np.sqrt(variance) for variance in mean_power(2, means, ones)]
    varies = [d > 1e-6 * np.abs(mean) for d, mean in zip(deviations, means, strict=True)]  # less is rounding, cubed
    # In units of the deviation no cube overflows or vanishes.
    cubes = mean_power(3, means, [np.where(v, d, 1.0) for v, d in zip(varies, deviations, strict=True)])
    return [np.where(v, cube, 0.0) for v, cube in zip(varies, cubes, strict=True)]


def _power_sums(
    block: RowBlock, dtype: Any, means: Sequence[Array], units: Sequence[Array], p: int
) -> tuple[Array, ...]:
    """Σ w ((x − µ)/u)^p of every feature, for each view."""
    assert block.weight is not None
    sums = []
    for X, mean, unit in zip(block.views, means, units, strict=True):
        X = as_float(X, dtype)
        if is_sparse(X):
            # What stored entries change against a row of zeros, and a row of zeros for every row.
            of_zeros = (-mean / unit) ** p
            change = ((X.data - mean[X.indices]) / unit[X.indices]) ** p - of_zeros[X.indices]
            P = sparse.csr_array((change, X.indices, X.indptr), shape=X.shape)
            sums.append(P.T @ block.weight + block.weight.sum() * of_zeros)
        else:
            D = ((X - like(mean, X)) / like(unit, X)) ** p
            sums.append(to_numpy(like(block.weight, D) @ D))
    return tuple(sums)

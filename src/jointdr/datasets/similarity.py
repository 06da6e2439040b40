"""Features whose inner products are given similarities."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.datasets.spectral import checked_affinity
from jointdr.runtime import Array, check_integer, dense

NOTHING = 1e-10  # directions whose eigenvalue is below this share of the largest are left out


def kernel_features(S: Any, k: int | None = None) -> Array:
    """Features of entities whose similarities are known, V Λ^½ of the eigenvectors V and eigenvalues Λ.

    Unlike spectral features, which show in which part of a network an entity is, they keep the similarities themselves:
    inner products of two rows and, if every entity has similarity 1 to itself, cosines of the angles between them.

    Parameters
    ----------
    S : (m, m) array, DataFrame or SciPy sparse matrix
        Similarities: symmetric, not negative.
    k : int, optional
        The number of leading directions, which give the nearest inner products of that rank. All by default.

    Returns
    -------
    (m, k) array
        Fewer columns where S has fewer positive eigenvalues; a matrix of similarities need not be positive
        semi-definite, and the nearest one that is takes its place. In each column, the largest entry is positive.

    Notes
    -----
    This is classical scaling (Torgerson, 1952) without centring. O(m³). An entity that comes later has no row in V:
    give it with the others from the start, its scores need not be known.

    References
    ----------
    W. S. Torgerson. Multidimensional scaling: I. Theory and method. Psychometrika 17, 1952.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr.datasets import kernel_features
    >>> S = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
    >>> X = kernel_features(S)
    >>> bool(np.allclose(X @ X.T, S))
    True
    """
    S = checked_affinity(S, name="S")
    S = np.asarray(dense(S), dtype=float)
    if k is not None:
        k = check_integer("k", k, 1, len(S), expected=f"an integer from 1 to {len(S)}, the number of entities, or None")
    values, V = np.linalg.eigh(S)
    values, V = values[::-1][:k], V[:, ::-1][:, :k]
    kept = values > NOTHING * max(float(values[0]), np.finfo(float).tiny)
    if not kept.any():
        raise ValueError("S has no positive eigenvalue, and so no features.")
    V = V[:, kept]
    V = V * np.sign(V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])])
    return V * np.sqrt(values[kept])

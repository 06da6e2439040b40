"""Features whose inner products are given similarities, and groups of entities that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from jointdr.datasets.spectral import checked_affinity
from jointdr.runtime import Array, check_integer, check_number, dense

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


def similarity_groups(S: Any, threshold: float) -> Any:
    """Groups of entities that are alike: homologous proteins, molecules of one family.

    Two entities are in one group if a chain of similarities that reach the threshold leads from one to the other
    (single linkage), so that entities of different groups are never that similar. Groups are for
    `jointdr.evaluation.splits`, for `evaluate`, and for `AssociationModel.fit` and `tune`.

    Parameters
    ----------
    S : (m, m) array, DataFrame or SciPy sparse matrix
        Similarities: symmetric, not negative.
    threshold : float
        The least similarity of direct relatives, greater than 0. Of normalized Smith–Waterman scores of proteins 0.6,
        say. A lower one may chain most entities into one group: look at the sizes, ``numpy.bincount(labels)``.

    Returns
    -------
    (m,) array of int, or Series
        The group of each entity; of a DataFrame, with its index.

    Notes
    -----
    The connected components of the graph of similarities that reach the threshold. O(m²), or O(nonzeros) of a sparse
    matrix.

    References
    ----------
    Gower and Ross (1969). Minimum spanning trees and single linkage cluster analysis. Applied Statistics 18, 54-64.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr.datasets import similarity_groups
    >>> S = np.eye(5)
    >>> S[0, 1] = S[1, 0] = 0.9
    >>> S[1, 2] = S[2, 1] = 0.7
    >>> S[3, 4] = S[4, 3] = 0.4
    >>> similarity_groups(S, 0.6).tolist()
    [0, 0, 0, 1, 2]
    """
    threshold = check_number("threshold", threshold, 0, strictly=True, expected="a similarity > 0")
    labels = connected_components(checked_affinity(S, name="S") >= threshold, directed=False)[1]
    if not hasattr(S, "iloc"):
        return np.asarray(labels)
    import pandas as pd

    return pd.Series(labels, index=S.index, name="group")

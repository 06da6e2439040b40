"""Lengths of points and distances between them, dense or sparse."""

from __future__ import annotations

import numpy as np

from jointdr.runtime import Array, is_sparse, scale_rows


def kth_smallest(D: Array, k: int) -> Array:
    """The k-th smallest entry of each row, or the largest finite one where there are fewer."""
    k = min(k, D.shape[1])
    found = np.partition(D, k - 1, axis=1)[:, k - 1]
    if np.isfinite(found).all():
        return found
    return np.where(np.isfinite(found), found, np.where(np.isfinite(D), D, 0.0).max(axis=1))


def squared_distances(Z: Array, points: Array) -> Array:
    """‖z − z_p‖² of all pairs, (m_new, m); both dense or both sparse. Dense points should be centred."""
    D = inner_products(Z, points)
    D *= -2.0
    D += squared_lengths(Z)[:, None]
    D += squared_lengths(points)
    return np.maximum(D, 0.0, out=D)


def inner_products(Z: Array, points: Array) -> Array:
    """⟨z, z_p⟩ of all pairs as a dense array, (m_new, m)."""
    products = Z @ points.T
    return products.toarray() if is_sparse(products) else products


def squared_lengths(Z: Array) -> Array:
    """‖z‖² of every row, (m,)."""
    if is_sparse(Z):
        return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", Z, Z)


def unit_rows(Z: Array) -> Array:
    """Every row scaled to length 1; a row of zeros stays."""
    largest = float(abs(Z).max()) if min(Z.shape) else 0.0
    Z = Z / (largest or 1.0)
    lengths = np.sqrt(squared_lengths(Z))
    return scale_rows(Z, np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0))


def spread(Z: Array, weight: Array | None = None) -> float:
    """The root mean square distance between two rows; 1 for rows that are all the same."""
    largest = float(abs(Z).max())  # so that squares do not overflow
    if not largest > 0:
        return 1.0
    Z = Z / largest
    if is_sparse(Z):
        means = np.asarray(Z.mean(axis=0)).ravel()
        total = 2.0 * (float(squared_lengths(Z).mean()) - float(means @ means))
    else:
        total = 2.0 * float(np.average((Z - np.average(Z, axis=0, weights=weight)) ** 2, axis=0, weights=weight).sum())
    return largest * float(np.sqrt(total)) if total > 0 else 1.0

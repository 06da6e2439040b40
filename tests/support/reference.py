"""Moments by their definitions, and inputs that several tests share."""

from __future__ import annotations

import numpy as np
from scipy import sparse

NORMALIZE_AND_SOLVER = [("joint", "exact")] + [
    (normalize, solver) for normalize in ("full", "feature", None) for solver in ("exact", "randomized", "countsketch")
]


def random_sparse(rng, shape, density):
    """A CSR matrix of uniform numbers at random places."""
    return sparse.csr_array(rng.random(shape) * (rng.random(shape) < density))


def brute_force(A, B, y, w=None):
    """Every central moment by its definition, about the weighted mean, divided by the total weight."""
    w = np.ones(len(y)) if w is None else w
    total = w.sum()
    a, b, e = (x - np.average(x, axis=0, weights=w) for x in (A, B, y))
    return {
        "C_aa": np.einsum("i,ij,ik->jk", w, a, a) / total,
        "C_bb": np.einsum("i,ij,ik->jk", w, b, b) / total,
        "C_ab": np.einsum("i,ij,ik->jk", w, a, b) / total,
        "C_ay": np.einsum("i,ij,i->j", w, a, e) / total,
        "C_by": np.einsum("i,ij,i->j", w, b, e) / total,
        "C_yy": np.einsum("i,i,i->", w, e, e) / total,
        "T_ayb": np.einsum("i,i,ij,ik->jk", w, e, a, b) / total,
        "T_aya": np.einsum("i,i,ij,ik->jk", w, e, a, a) / total,
        "T_byb": np.einsum("i,i,ij,ik->jk", w, e, b, b) / total,
    }


def summary(moments):
    """The same quantities, read from a Moments that keeps everything."""
    c = moments.to_numpy().central()
    return {
        "C_aa": c.covariance(0),
        "C_bb": c.covariance(1),
        "C_ab": c.cross_covariance(0, 1),
        "C_ay": c.response_covariance(0)[:, 0],
        "C_by": c.response_covariance(1)[:, 0],
        "C_yy": c.y_covariance()[0, 0],
        "T_ayb": c.third(0, 1)[0],
        "T_aya": c.third(0, 0)[0],
        "T_byb": c.third(1, 1)[0],
    }


def largest_difference(one, two):
    """The largest difference of two summaries, relative to the largest entry of each quantity."""
    return max(np.max(np.abs(one[key] - two[key])) / max(np.max(np.abs(two[key])), 1e-300) for key in two)

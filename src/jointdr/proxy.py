"""The embedding proxy X₀ = mean of a′ y′ b′ᵀ (step 2.1): formed from moments, or applied without being formed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from scipy import linalg

from jointdr.arrays import (
    Array,
    as_float,
    dense_product,
    float_dtype,
    inner,
    is_foreign,
    is_sparse,
    like,
    namespace,
    scale_rows,
    to_numpy,
)
from jointdr.engines.local import Block, Rows, slices
from jointdr.moments import Moments
from jointdr.normalize import Whitener, regularized, whitening_matrix


def beside(S: Array, X: Array) -> Array:
    """S as a right factor of X: a CountSketch stays sparse beside NumPy and SciPy data only."""
    if is_sparse(S):
        return like(S.toarray(), X) if is_foreign(X) else S.astype(X.dtype)
    return like(S, X)


def formed(moments: Moments, maps: Sequence[Whitener]) -> Array:
    """X₀ = W_aᵀ T_ayb W_b, O(n³). The moments must be about the point that the maps centre at."""
    a, b = maps
    return b.pull(a.pull(moments.third(0, 1)[0]).T).T


def unitless(X: Array, maps: Sequence[Whitener]) -> Array:
    """D_a W_a X₀ W_bᵀ D_b: the proxy per pair of original features, in standard deviations.

    With full normalization this is D_a Σ_a⁻¹ T Σ_b⁻¹ D_b, which does not change when a feature is given in other
    units; where features are scaled one by one, or not at all, it is X₀ itself.
    """
    a, b = maps
    return b.unitless(a.unitless(X).T).T


class JointProxy:
    """The proxy of ``normalize="joint"``, for views that depend on each other.

    For x = [a; b] jointly Gaussian, Σ⁻¹ E[y x xᵀ] Σ⁻¹ is the mean Hessian of the link, whose cross block is
    U Q Vᵀ whatever the dependence between a and b. That block, G, is put into the coordinates of the separately
    whitened views: X₀ = (Σ_a W_a)ᵀ G (Σ_b W_b), which is ordinary X₀ when C_ab = 0.

    Parameters
    ----------
    moments : Moments
        About the mean, with cross and within blocks, full covariances and cross covariances.
    maps : sequence of Whitener
    ridge : float or "auto"

    Attributes
    ----------
    matrix : (k_1, k_2) array
        X₀.
    probes : tuple of (n_1 + n_2, k) arrays
        P_a with X₀ = mean of (P_aᵀx) y (P_bᵀx)ᵀ: the maps that read X₀ off other data.
    """

    def __init__(self, moments: Moments, maps: Sequence[Whitener], ridge: float | Literal["auto"] = 0.0) -> None:
        K = moments.n_views
        Sigmas = [regularized(moments, k, ridge, maps[k].deviations == 0) for k in range(K)]
        joint = linalg.block_diag(*Sigmas)
        T = linalg.block_diag(*(moments.third(k, k)[0] for k in range(K)))
        ends = np.cumsum([0, *moments.n_features])
        at = [slice(s, e) for s, e in itertools.pairwise(ends)]
        for j, k in moments.cross_scatters:
            C = moments.cross_covariance(j, k)
            C = C * np.outer(maps[j].deviations > 0, maps[k].deviations > 0)
            joint[at[j], at[k]], joint[at[k], at[j]] = C, C.T
            T[at[j], at[k]] = moments.third(j, k)[0]
            T[at[k], at[j]] = T[at[j], at[k]].T
        W = whitening_matrix(joint, moments.eps, "all views together")
        self.probes = tuple(W @ (W[at[k]].T @ (Sigmas[k] @ maps[k].matrix)) for k in range(K))
        self.matrix = self.probes[0].T @ T @ self.probes[1]


class DataProxy:
    """X₀ as an operator: products with it are folds over the data, and it is never formed (Algorithm 2).

    Parameters
    ----------
    rows : Rows
        Data that can be read again, with y centred if it is to be.
    maps : sequence of two Whitener

    Notes
    -----
    One product with k columns costs O(m n k) and one read of the data. The narrow side is centred exactly; the
    wide side implicitly, (A − 1µᵀ)ᵀH = AᵀH − µ(1ᵀH), unless its means are so large that this would lose digits.
    """

    def __init__(self, rows: Rows, maps: Sequence[Whitener]) -> None:
        self.rows = rows
        self.maps = tuple(maps)
        self.weight = float(len(rows)) if rows.weight is None else float(rows.weight.sum())
        self.shape = tuple(m.width for m in maps)
        self.dtype = float_dtype(*rows.views)
        limit = float(np.finfo(np.float32 if "32" in str(self.dtype) else np.float64).eps) ** -0.25
        self.explicit = tuple(
            not is_sparse(X) and bool(np.any(np.abs(m.mean) > limit * m.deviations))
            for X, m in zip(rows.views, maps, strict=True)
        )

    def matmat(self, S: Array) -> Array:
        """X₀ S."""
        return self._product(S, narrow=1, wide=0)

    def rmatmat(self, Q: Array) -> Array:
        """X₀ᵀ Q."""
        return self._product(Q, narrow=0, wide=1)

    def unitless_columns(self, max_bytes: int = 64_000_000) -> Iterator[tuple[slice, Array]]:
        """The matrix of `unitless`, a few columns at a time, as many as fit in `max_bytes`: (where, columns)."""
        a, b = self.maps
        n1, n2 = len(a.mean), len(b.mean)
        width = max(1, max_bytes // (8 * n1))
        for at in slices(n2, width):
            if b.is_full:
                yield at, a.unitless(self.matmat(b.unitless(np.eye(self.shape[1])).T[:, at]))
            else:
                yield at, self._columns(at)

    def _columns(self, at: slice) -> Array:
        """Some columns of X₀ where each belongs to one feature of b, without a product over all of them."""
        b = self.maps[1]
        scale = np.ones(at.stop - at.start) if b.matrix is None else b.matrix[at]

        def project(X: Array) -> Array:
            X = X[:, at].toarray() if is_sparse(X) else X[:, at]
            return (X - like(b.mean[at], X)) * like(scale, X)

        return self._fold(project, narrow=1, wide=0)

    def _product(self, S: Array, narrow: int, wide: int) -> Array:
        m = self.maps[narrow]
        right = m.push(S)
        offset = np.asarray(right.T @ m.mean)

        def project(X: Array) -> Array:
            factor = beside(right, X)
            if self.explicit[narrow]:
                return dense_product(X - like(m.mean, X), factor)
            H = dense_product(X, factor)
            return H - like(offset, H)

        return self._fold(project, narrow, wide)

    def _fold(self, project: Callable[[Array], Array], narrow: int, wide: int) -> Array:
        m = self.maps[wide]

        def of_block(block: Block) -> tuple[Array, Array]:
            H = project(as_float(block.views[narrow], self.dtype))
            H = scale_rows(H, like(block.y if block.weight is None else block.y * block.weight, H))
            X = as_float(block.views[wide], self.dtype)
            if self.explicit[wide]:
                X = X - like(m.mean, X)
            return to_numpy(inner(X, H)), to_numpy(namespace(H).sum(H, axis=0))

        total, column_sums = self.rows.accumulate(of_block)
        if not self.explicit[wide]:
            total -= np.outer(m.mean, column_sums)
        return m.pull(total / self.weight)

"""The embedding proxy X₀ = mean of a′ y′ b′ᵀ (step 2.1): formed from moments, or applied without being formed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator

from jointdr.directions.normalize import Whitener, joint_whitening, regularize
from jointdr.directions.options import CROSS, Options
from jointdr.engines import RowBlock, Rows
from jointdr.moments import Moments
from jointdr.runtime import (
    Array,
    as_float,
    dense,
    dense_product,
    float_dtype,
    inner,
    is_foreign,
    is_sparse,
    like,
    namespace,
    scale_rows,
    slices,
    to_numpy,
)

OVERFLOW = (
    "The moments overflow: features or responses are too large to be multiplied with each other. "
    "Rescale them, for example with sklearn.preprocessing.StandardScaler."
)


def beside(S: Array, X: Array) -> Array:
    """S as a right factor of X: a CountSketch stays sparse beside NumPy and SciPy data only."""
    if is_sparse(S):
        return like(S.toarray(), X) if is_foreign(X) else S.astype(X.dtype)
    return like(S, X)


@dataclass(frozen=True)
class NormalizedMoments:
    """All normalized moments that a direction can be read off.

    Attributes
    ----------
    pairs : mapping of (j, k) to (q, k_j, k_k) arrays
        The normalized T of views j ≤ k, for every component of the response; (0, 1) is the proxy X₀.
    means : tuple of (k_k, q) arrays
        The normalized C_ay of each view.
    probes : tuple of (Σ n_k, k_k) arrays or None
        For ``normalize="joint"``: the maps of the joined views that read these moments off other data.
    unfoldings : tuple of (k_k, columns) arrays or None
        With three and more views: the proxy tensor unfolded along each, or sketches of that.
    """

    pairs: dict[tuple[int, int], Array]
    means: tuple[Array, ...]
    probes: tuple[Array, ...] | None = None
    unfoldings: tuple[Array, ...] | None = None

    def pair(self, j: int, k: int) -> Array:
        """The block of views j and k in this order."""
        if (min(j, k), max(j, k)) not in self.pairs:
            block = "within" if j == k else "cross"
            raise ValueError(
                f"T of views {j} and {k} was not kept; compute the moments with blocks including {block!r}."
            )
        return self.pairs[j, k] if j <= k else np.swapaxes(self.pairs[k, j], 1, 2)

    def scaled(self, factor: float) -> NormalizedMoments:
        """The blocks of a response in other units."""
        return replace(
            self,
            pairs={at: factor * T for at, T in self.pairs.items()},
            means=tuple(factor * M for M in self.means),
            unfoldings=None if self.unfoldings is None else tuple(factor * M for M in self.unfoldings),
        )


def center_moments(moments: Moments, options: Options) -> Moments:
    """The moments about the point that the normalization centres at."""
    if options.centred:
        return moments.central()
    return moments.about(0, y_center=moments.y_mean if options.centres_response else 0.0)


def normalize_moments(
    moments: Moments, maps: Sequence[Whitener], options: Options, probes: tuple[Array, ...] | None = None
) -> NormalizedMoments:
    """The normalized moments, by these maps; for ``"joint"`` by these probes, or those of the moments themselves."""
    if options.normalize != "joint":
        return separate(moments, maps)
    return through_probes(moments, probes or joint_probes(moments, maps, options.ridge))


def unfolding(blocks: NormalizedMoments, k: int, uses: frozenset[str] = CROSS) -> Array:
    """All columns that lie in the span of view k's embedding, of the moments that `uses` names, (k_k, many).

    By Stein's lemma the moments E[y a bᵀ], E[(y − µ) a aᵀ] and E[(y − µ) a] of normalized Gaussian features all have
    their columns in the span of U.
    """
    others = [j for j in range(len(blocks.means)) if j != k]
    columns = []
    if uses & {"cross", "pairs"}:
        columns += [T for j in others for T in blocks.pair(k, j)]
    if "tensor" in uses and blocks.unfoldings is not None:
        columns.append(blocks.unfoldings[k])
    if "within" in uses:
        columns += list(blocks.pair(k, k))
    if "means" in uses:
        columns.append(blocks.means[k])
    return np.hstack(columns)


def separate(moments: Moments, maps: Sequence[Whitener]) -> NormalizedMoments:
    """W_jᵀ T_jk W_k, O(n³). The moments must be about the point that the maps centre at."""
    pairs = {
        (j, k): np.stack([maps[k].pull(maps[j].pull(T).T).T for T in moments.third(j, k)]) for j, k in moments.thirds
    }
    means = tuple(m.pull(moments.response_covariance(k)) for k, m in enumerate(maps))
    return NormalizedMoments(pairs, means)


def unitless(X: Array, maps: Sequence[Whitener]) -> Array:
    """D_a W_a X₀ W_bᵀ D_b: the proxy per pair of original features, in standard deviations.

    With full normalization this is D_a Σ_a⁻¹ T Σ_b⁻¹ D_b, which does not change when a feature is given in other
    units; where features are scaled one by one, or not at all, it is X₀ itself. With one response the sign is kept;
    with several, it is the length of the vector of all.
    """
    a, b = maps
    M = np.stack([b.unitless(a.unitless(x).T).T for x in X])
    return M[0] if len(M) == 1 else np.sqrt(np.sum(M**2, axis=0))


def joint_probes(moments: Moments, maps: Sequence[Whitener], ridge: float | Literal["auto"] = 0.0) -> tuple[Array, ...]:
    """The maps of ``normalize="joint"``, for views that depend on each other: one (Σ n_k, k_k) matrix per view.

    For x = [a; b] jointly Gaussian, Σ⁻¹ E[y x xᵀ] Σ⁻¹ is the mean Hessian of the link, whose cross block is
    U Q Vᵀ whatever the dependence between a and b, and Σ⁻¹ E[y x] is the mean gradient. The maps give their blocks in
    the coordinates of the separately whitened views: X₀ = (Σ_a W_a)ᵀ G (Σ_b W_b), which is ordinary X₀ when C_ab = 0.

    Parameters
    ----------
    moments : Moments
        About the mean, with full covariances and cross covariances.
    maps : sequence of Whitener
    ridge : float or "auto"
    """
    W = joint_whitening(moments, maps, ridge)
    probes = []
    for k, at in enumerate(_slices_of_views(moments)):
        Sigma, _ = regularize(moments, k, ridge, maps[k].deviations == 0)
        probes.append(W @ (W[at].T @ (Sigma @ maps[k].matrix)))
    return tuple(probes)


def through_probes(moments: Moments, probes: tuple[Array, ...]) -> NormalizedMoments:
    """P_jᵀ T P_k with the T of all views together, which needs the within blocks too."""
    K = moments.n_views
    at = _slices_of_views(moments)
    T = np.stack([linalg.block_diag(*parts) for parts in zip(*(moments.third(k, k) for k in range(K)), strict=True)])
    for j, k in moments.cross_scatters:
        T[:, at[j], at[k]] = moments.third(j, k)
        T[:, at[k], at[j]] = np.swapaxes(moments.third(j, k), 1, 2)
    pairs = {(j, k): probes[j].T @ T @ probes[k] for j in range(K) for k in range(j, K)}
    C_y = np.concatenate([moments.response_covariance(k) for k in range(K)])
    return NormalizedMoments(pairs, tuple(P.T @ C_y for P in probes), probes)


def _slices_of_views(moments: Moments) -> list[slice]:
    return [slice(s, e) for s, e in itertools.pairwise(np.cumsum([0, *moments.n_features]))]


class DataProxy(LinearOperator):
    """X₀ as an operator: products with it are reductions over the data, and it is never formed (Algorithm 2).

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
        super().__init__(np.float64, tuple(m.width for m in maps))
        self.rows = rows
        self.maps = tuple(maps)
        self.weight = rows.total_weight()
        self.precision = float_dtype(*rows.views)
        limit = float(np.finfo(np.float32 if "32" in str(self.precision) else np.float64).eps) ** -0.25
        self.explicit = tuple(
            not is_sparse(X) and bool(np.any(np.abs(m.mean) > limit * m.deviations))
            for X, m in zip(rows.views, maps, strict=True)
        )

    def _matmat(self, S: Array) -> Array:
        return self._product(S, narrow=1, wide=0)

    def _rmatmat(self, Q: Array) -> Array:
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
        return self._accumulate(_Columns(at, b.mean[at], scale), narrow=1, wide=0)

    def _product(self, S: Array, narrow: int, wide: int) -> Array:
        m = self.maps[narrow]
        return self._accumulate(_Projection(m.push(S), m.mean, self.explicit[narrow]), narrow, wide)

    def _accumulate(self, project: Callable[[Array], Array], narrow: int, wide: int) -> Array:
        m = self.maps[wide]
        center = m.mean if self.explicit[wide] else None
        total, column_sums = self.rows.accumulate(_ProxyTimes(project, narrow, wide, center, self.precision))
        if not np.isfinite(total).all():
            raise ValueError(OVERFLOW)
        if center is None:
            total -= np.outer(m.mean, column_sums)
        return m.pull(total / self.weight)


@dataclass(frozen=True)
class _Columns:
    """Some normalized columns of a view, where each belongs to one feature."""

    at: slice
    mean: Array
    scale: Array

    def __call__(self, X: Array) -> Array:
        X = dense(X[:, self.at])
        return (X - like(self.mean, X)) * like(self.scale, X)


@dataclass(frozen=True)
class _Projection:
    """(X − 1µᵀ)·right, with the mean taken off before the product or, as a row, after it."""

    right: Array
    mean: Array
    explicit: bool

    def __call__(self, X: Array) -> Array:
        factor = beside(self.right, X)
        if self.explicit:
            return dense_product(X - like(self.mean, X), factor)
        H = dense_product(X, factor)
        return H - like(np.asarray(self.right.T @ self.mean), H)


@dataclass(frozen=True)
class _ProxyTimes:
    """The share of one block in a product with the proxy: Xᵀ(w y∘H) of the wide view, and 1ᵀ(w y∘H)."""

    project: Callable[[Array], Array]
    narrow: int
    wide: int
    center: Array | None
    dtype: Any

    def __call__(self, block: RowBlock) -> tuple[Array, Array]:
        H = self.project(as_float(block.views[self.narrow], self.dtype))
        H = scale_rows(H, like(block.y[:, 0] if block.weight is None else block.y[:, 0] * block.weight, H))
        X = as_float(block.views[self.wide], self.dtype)
        if self.center is not None:
            X = X - like(self.center, X)
        return to_numpy(inner(X, H)), to_numpy(namespace(H).sum(H, axis=0))

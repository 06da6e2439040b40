"""The engine for a grid of pairs: moments of two entity tables and the scores between them, never expanded to rows.

A pair (i, j) of the grid stands for the row (a_i, b_j, y_ij). A sum over pairs of something that depends on i alone is
a sum over entities, in which entity i counts as often as it occurs in pairs; and Σ_ij a_i y_ij b_jᵀ = AᵀYB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from jointdr.engines.reduction import fold_of
from jointdr.engines.rows import BLOCK_BYTES, LARGE_BLOCK_BYTES, block_rows, require_state
from jointdr.moments import Covariance, Keep, Moments
from jointdr.runtime import (
    Array,
    Scratch,
    as_float,
    check_choice,
    dense_product,
    float_dtype,
    inner,
    is_sparse,
    scale_rows,
    slices,
    sum_of_squares,
    take_rows,
)

Means = Literal["pairs", "entities"]
MEANS = ("pairs", "entities")

FEWER = "normalize='feature', which forms no covariances, or reduce wide tables (jointdr.datasets.lsa_features)"


@dataclass(frozen=True)
class Grid:
    """Two entity tables and the scores between them.

    Parameters
    ----------
    Y : (m_A, m_B) array, or CSR array
    A, B : (m_A, n_1) and (m_B, n_2) arrays, or CSR arrays
    complete : bool
        Whether every pair counts, those that a sparse Y does not store as 0, or only the pairs that it stores.
    pairs_per_row : float, optional
        How often a row entity counts where all count the same: by default as often as this grid has pairs per row.
        Parts of a grid keep the number of the whole, so that they add up to it.
    """

    Y: Array
    A: Array
    B: Array
    complete: bool
    pairs_per_row: float | None = None

    n_responses = 1

    @property
    def views(self) -> tuple[Array, Array]:
        return self.A, self.B

    @property
    def n_pairs(self) -> int:
        """The number of pairs that count, |Ω|."""
        return int(self.Y.shape[0]) * int(self.Y.shape[1]) if self.complete else int(self.Y.nnz)

    @property
    def y_mean(self) -> float:
        return float(self.Y.sum()) / (self.n_pairs or 1)

    def rows(self, at: Array) -> Grid:
        return Grid(self.Y[at], take_rows(self.A, at), self.B, self.complete, self.n_pairs / self.Y.shape[0])

    def counts(self, means: Means = "pairs") -> tuple[Array, Array]:
        """How often each entity counts, (m_A,) and (m_B,)."""
        m_A, m_B = self.Y.shape
        if self.complete or means == "entities":
            per_row = self.n_pairs / m_A if self.pairs_per_row is None else self.pairs_per_row
            return np.full(m_A, per_row), np.full(m_B, self.n_pairs / m_B)
        return np.diff(self.Y.indptr).astype(float), np.bincount(self.Y.indices, minlength=m_B).astype(float)

    def means(self, means: Means = "pairs") -> tuple[Array, Array]:
        """µ_a and µ_b, over pairs or over entities; O(m n)."""
        a, b = (c @ X / (self.n_pairs or 1) for c, X in zip(self.counts(means), (self.A, self.B), strict=True))
        return np.asarray(a), np.asarray(b)

    def moments(self, *, means: Means = "pairs", center: Any = None, y_center: Any = None, **keep: Any) -> Moments:
        """The moments of all pairs; keywords as in `Moments.of_block`, like `Rows.moments`."""
        return self.kept_moments(_kept(means, keep), center, y_center, means)

    def fold_moments(
        self,
        n_folds: int,
        first_row: int = 0,
        seed: int = 0,
        *,
        means: Means = "pairs",
        center: Any = None,
        y_center: Any = None,
        **keep: Any,
    ) -> list[Moments]:
        """The moments of each of `n_folds` random parts of the row entities, like `Rows.fold_moments`."""
        kept = _kept(means, keep)
        if center is None:  # one centre for all, so that merging is plain addition
            center = self.means(means)
        if y_center is None:
            y_center = self.y_mean
        fold = fold_of(np.arange(first_row, first_row + self.Y.shape[0]), n_folds, seed)
        parts = (self.rows(np.flatnonzero(fold == k)) for k in range(n_folds))
        return [part.kept_moments(kept, center, y_center, means) for part in parts]

    def entity_covariances(self, k: int) -> Array:
        """Covariances of the features of side k with the scores of each entity of the other side, (n_k, m_other).

        Over the pairs of that entity, times the square root of its share of all pairs; O(|Y| n).
        """
        Y = self.Y if k == 0 else self.Y.T
        X = as_float((self.A, self.B)[k], np.float64)
        if is_sparse(Y):
            Y = Y.tocsc().astype(float)
        if self.complete:
            counts = np.full(Y.shape[1], float(Y.shape[0]))
            means = np.asarray(Y.sum(axis=0)).ravel() / counts
            sums = np.asarray(inner(X, Y)) - np.outer(np.asarray(X.sum(axis=0)).ravel(), means)
        else:
            counts = np.diff(Y.indptr).astype(float)
            means = np.asarray(Y.sum(axis=0)).ravel() / np.maximum(counts, 1)
            deviations = type(Y)((Y.data - np.repeat(means, np.diff(Y.indptr)), Y.indices, Y.indptr), shape=Y.shape)
            sums = np.asarray(inner(X, deviations))
        return sums / np.sqrt(np.maximum(counts, 1) * self.n_pairs)

    def kept_moments(
        self,
        keep: Keep,
        center: Sequence[Array] | Literal[0] | None = None,
        y_center: Any = None,
        means: Means = "pairs",
    ) -> Moments:
        """The moments of all pairs, as if each were a row.

        Parameters
        ----------
        keep : Keep
        center, y_center
            As in `Moments.of_block`.
        means : {"pairs", "entities"}
            Whether an entity counts once for each of its pairs in the moments of the features alone, which gives the
            moments of the expanded rows, or once.

        Notes
        -----
        Steps 1.1, 1.2 and 2.1 of Algorithm 1. T_ayb costs O(|Y| n + m n²), with |Y| the number of stored scores and n
        the smaller number of features; rows would cost O(|Ω| n²). The other blocks cost O(m n²) for each entity table.
        """
        if self.n_pairs == 0:
            n_features = [X.shape[1] for X in self.views]
            return Moments.zero(n_features, n_responses=int(bool(keep.blocks)), **vars(keep))
        require_state(self._moments_bytes(keep), (self.A, self.B), FEWER)
        moments = Moments(keep=keep, **self._sums(keep, center, y_center, means))
        if center is None or isinstance(center, int) or moments.is_about(center, moments.y_center):
            return moments
        return moments.about(center)  # sparse tables, which were not centred

    def _moments_bytes(self, keep: Keep) -> int:
        widths = [X.shape[1] for X in (self.A, self.B)]
        if "full" in keep.covariance:
            return 16 * sum(widths) ** 2
        return 16 * widths[0] * widths[1] if "cross" in keep.blocks else 0

    def _sums(self, keep: Keep, center: Any, y_center: Any, means: Means) -> dict[str, Any]:
        """The fields of the `Moments`; dense tables are centred, sparse ones summed about 0."""
        q, dtype = int(bool(keep.blocks)), float_dtype(self.A, self.B)
        independent = self.complete or means == "entities"
        if center is None:
            center = self.means(means)
        tables = [as_float(X, dtype) for X in (self.A, self.B)]
        centers = [
            np.zeros(X.shape[1]) if is_sparse(X) or isinstance(center, int) else np.asarray(center[k], dtype=float)
            for k, X in enumerate(tables)
        ]
        shifts = self._shifts(y_center) if q else (0.0,)
        m_A, m_B = self.Y.shape
        scores = self._scores(shifts) if q else _Scores((np.zeros(m_A), np.zeros(m_B)), 0.0, 0.0)
        sides = [
            _side(X, c, counts, rho, kind, "within" in keep.blocks)
            for X, c, counts, rho, kind in zip(
                tables, centers, self.counts(means), scores.sums, keep.covariance, strict=True
            )
        ]
        sums = [side.sum for side in sides]
        thirds = {(k, k): side.third[None] for k, side in enumerate(sides) if side.third is not None}
        if "cross" in keep.blocks:
            thirds[0, 1] = self._third(tables, centers, shifts, sums)[None]
        cross = {}
        if keep.cross_covariance:
            if independent:  # Σ_ij (a_i − c_a)(b_j − c_b)ᵀ is a product of two sums
                cross[0, 1] = np.outer(sums[0], sums[1]) / self.n_pairs
            else:
                cross[0, 1] = _through(tables, centers, self._stored(np.ones(self.Y.nnz)))
        # Without C_ab the centre of y cannot be moved, not even by what rounding leaves of a mean.
        y_sum = 0.0 if y_center is None and not keep.cross_covariance else scores.sum
        return {
            "n_samples": self.n_pairs,
            "weight": float(self.n_pairs),
            "weight_squared": float(self.n_pairs),
            "eps": float(np.finfo(dtype).eps),
            "centers": tuple(centers),
            "y_center": np.full(q, sum(shifts)),
            "sums": tuple(sums),
            "y_sum": np.full(q, y_sum),
            "scatters": tuple(side.scatter for side in sides),
            "y_scatters": tuple(side.y_scatter[:, None][:, :q] for side in sides),
            "y_scatter": np.full((q, q), scores.square),
            "cross_scatters": MappingProxyType(cross),
            "thirds": MappingProxyType(thirds),
        }

    def _shifts(self, y_center: Any) -> tuple[float, ...]:
        """The numbers to subtract from the scores in turn: a mean is rounded to its own precision, so there are two."""
        if y_center is not None:
            return (float(np.asarray(y_center).reshape(-1)[0]),)
        mean = self.y_mean
        if is_sparse(self.Y) and self.complete:
            return (mean,)
        return mean, self._scores((mean,)).sum / self.n_pairs

    def _stored(self, values: Array) -> Array:
        """A sparse Y with other values, explicit zeros among them."""
        return type(self.Y)((values, self.Y.indices, self.Y.indptr), shape=self.Y.shape)

    def _scores(self, shifts: Sequence[float]) -> _Scores:
        """The sums of y − c_y over the pairs of each entity and over all pairs, and the sum of its squares."""
        m_A, m_B = self.Y.shape
        if not is_sparse(self.Y):
            rows, columns, square = np.empty(m_A), np.zeros(m_B), 0.0
            scratch = Scratch()
            for at in slices(m_A, max(1, BLOCK_BYTES // (8 * m_B))):  # few rows, which stay in the cache
                E = _subtract_all(self.Y[at], shifts, scratch.like(self.Y[at], "scores"))
                rows[at] = E.sum(axis=1, dtype=float)
                columns += E.sum(axis=0, dtype=float)
                square += float(np.einsum("ij,ij->", E, E))
            return _Scores((rows, columns), float(rows.sum()), square)
        E = self._stored(_subtract_all(self.Y.data.astype(float), shifts))
        rows, columns = E @ np.ones(m_B), E.T @ np.ones(m_A)
        square = float(E.data @ E.data)
        if self.complete:
            c_y = sum(shifts)
            rows -= c_y * (m_B - np.diff(self.Y.indptr))
            columns -= c_y * (m_A - np.bincount(self.Y.indices, minlength=m_B))
            square += c_y**2 * (self.n_pairs - self.Y.nnz)
        return _Scores((rows, columns), float(rows.sum()), square)

    def _third(
        self, tables: Sequence[Array], centers: Sequence[Array], shifts: Sequence[float], sums: Sequence[Array]
    ) -> Array:
        if not is_sparse(self.Y):
            return _through(tables, centers, self.Y, shifts)
        if not self.complete:
            return _through(tables, centers, self._stored(_subtract_all(self.Y.data, shifts)))
        # The pairs that are not stored have the score 0 − c_y. With entities centred at their mean the term vanishes.
        return _through(tables, centers, self.Y) - sum(shifts) * np.outer(sums[0], sums[1]) / self.n_pairs


def _kept(means: str, keep: dict[str, Any]) -> Keep:
    check_choice("means", means, MEANS)
    return Keep.of(2, **keep)


@dataclass(frozen=True)
class _Scores:
    sums: tuple[Array, Array]
    sum: float
    square: float


@dataclass
class _Side:
    """Sums over one entity table: Σ c x, Σ c x xᵀ (or its diagonal), Σ ρ x, Σ ρ x xᵀ, all float64."""

    sum: Array
    y_scatter: Array
    scatter: Array | None
    third: Array | None


def _side(X: Array, center: Array, counts: Array, rho: Array, kind: Covariance, within: bool) -> _Side:
    """The sums over one table; entity i counts `counts[i]` times and its scores sum to `rho[i]`."""
    n = X.shape[1]
    scatter = None if kind is None else np.zeros((n, n) if kind == "full" else n)
    side = _Side(np.zeros(n), np.zeros(n), scatter, np.zeros((n, n)) if within else None)
    for at in slices(X.shape[0], _block_rows(X)):
        x = _centre(X[at], center)
        side.sum += counts[at] @ x
        side.y_scatter += rho[at] @ x
        if side.scatter is not None:
            weighted = scale_rows(x, np.sqrt(counts[at]).astype(x.dtype))
            side.scatter += inner(weighted, weighted) if kind == "full" else sum_of_squares(weighted)
        if side.third is not None:
            side.third += inner(scale_rows(x, rho[at].astype(x.dtype)), x)
    return side


def _through(tables: Sequence[Array], centers: Sequence[Array], M: Array, shifts: Sequence[float] = ()) -> Array:
    """(A − 1c_aᵀ)ᵀ (M − shifts) (B − 1c_bᵀ), (n_1, n_2), from the narrower side."""
    A, B = tables
    right = _centre(B, centers[1])
    narrow = A.shape[1] <= B.shape[1]
    total, scratch = np.zeros((A.shape[1], B.shape[0] if narrow else B.shape[1])), Scratch()
    for at in slices(A.shape[0], min(_block_rows(A), _block_rows(M))):
        x = _centre(A[at], centers[0])
        block = as_float(M[at], x.dtype)
        if not is_sparse(block):
            block = _subtract_all(block, shifts, scratch.like(block, "scores"))
        total += inner(x, block) if narrow else inner(x, block @ right)
    return dense_product(total, right) if narrow else total


def _block_rows(X: Array) -> int:
    return block_rows((X,), block_bytes=LARGE_BLOCK_BYTES)


def _centre(X: Array, center: Array) -> Array:
    return X if not center.any() else X - center.astype(X.dtype)


def _subtract_all(values: Array, shifts: Sequence[float], out: Array | None = None) -> Array:
    for shift in shifts:
        if shift:
            values = np.subtract(values, shift, out=out)
    return values

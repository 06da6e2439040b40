"""The proxy tensor of three and more views, mean of y′ a′ ⊗ b′ ⊗ c′ ⊗ …: formed, sketched, or contracted.

The data is read twice: first for means and covariances, then for the tensor about these means. Merging tensors about
different centres in a single read would take Σ a ⊗ b ⊗ c, a second tensor of the same size, and every moment below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from jointdr.directions.embedding import Factor, project
from jointdr.directions.normalize import Whitener
from jointdr.directions.proxy import OVERFLOW
from jointdr.directions.svd import left_vectors
from jointdr.engines import LARGE_BLOCK_BYTES, RandomParts, RowBlock, Rows, SumsOfGroups, block_rows
from jointdr.runtime import Array, as_float, dense, float_dtype, inner, is_sparse, like, namespace, to_numpy

SKETCH_COLUMNS = 64  # columns of a sketched unfolding, at least; passes over the data sharpen the directions afterwards


@dataclass(frozen=True)
class TensorParts:
    """The normalized proxy tensor of each fold of the rows, as sums: whole, or as sketches of its unfoldings.

    Attributes
    ----------
    weights : (n_folds,) array
    tensors : list of (q, k_1, …, k_K) arrays, or None
    sketches : list of tuples of (k_k, columns) arrays, one per view, or None
    """

    weights: Array
    tensors: list[Array] | None = None
    sketches: list[tuple[Array, ...]] | None = None

    def mean(self, folds: Sequence[int]) -> Array:
        assert self.tensors is not None
        return sum(self.tensors[i] for i in folds) / self._weight(folds)

    def unfoldings(self, folds: Sequence[int]) -> tuple[Array, ...]:
        """Its unfolding along each view, or a sketch of it that has the same Gram matrix in expectation."""
        if self.tensors is not None:
            X = self.mean(folds)
            return tuple(unfold(X, k) for k in range(X.ndim - 1))
        assert self.sketches is not None
        parts = zip(*(self.sketches[i] for i in folds), strict=True)
        return tuple(sum(part) / self._weight(folds) for part in parts)

    def _weight(self, folds: Sequence[int]) -> float:
        return float(sum(self.weights[i] for i in folds)) or 1.0


# ---------------------------------------------------------------- algebra of tensors


def unfold(X: Array, k: int) -> Array:
    """The mode-k unfolding of a (q, k_1, …, k_K) tensor: (k_k, all the rest)."""
    return np.moveaxis(X, k + 1, 0).reshape(X.shape[k + 1], -1)


def multiply_mode(X: Array, M: Array, k: int) -> Array:
    """The product with Mᵀ along view k, for M of shape (k_k, r)."""
    return np.moveaxis(np.tensordot(M, X, axes=(0, k + 1)), 0, k + 1)


def core_of(X: Array, bases: Sequence[Array | None]) -> Array:
    """The product with every basis along its view; None leaves a view as it is."""
    for k, U in enumerate(bases):
        X = X if U is None else multiply_mode(X, U, k)
    return X


def hooi(X: Array, factors: Sequence[Factor], sweeps: int) -> list[Factor]:
    """Higher-order orthogonal iteration (De Lathauwer et al. 2000) from given directions; each step fits X no worse.

    `factors` and the result have the directions and singular values of each view. A sweep costs O(K n^K r).
    """
    factors = list(factors)
    for _ in range(sweeps):
        for k in range(len(factors)):
            others = [None if j == k else U for j, (U, _) in enumerate(factors)]
            factors[k] = _update(factors[k], unfold(core_of(X, others), k))
    return factors


def _update(factor: Factor, M: Array) -> Factor:
    """The leading directions of a contracted unfolding; the old ones if it holds fewer than are asked for."""
    r = factor[0].shape[1]
    return left_vectors(M, r) if M.shape[1] >= r else factor


def row_products(R: Array, Z: Array) -> Array:
    """All products of an entry of a row of R and one of the same row of Z, (rows, columns of R · columns of Z)."""
    return namespace(R, Z).reshape(R[:, :, None] * Z[:, None, :], (R.shape[0], -1))


# ---------------------------------------------------------------- reads of the data


def form_tensor(rows: Rows, maps: Sequence[Whitener], n_folds: int = 1, seed: int = 0) -> TensorParts:
    """Form the tensor of each fold in one read, O(m n_1 ⋯ n_K).

    Rows of all views but the last are multiplied out, a block at a time; the last view comes in by a matrix product.
    The tensor is normalized at the end, as everywhere: the data never is.
    """
    sizes = [X.shape[1] for X in rows.views]
    dtype = float_dtype(*rows.views)
    left = int(np.prod(sizes[:-1]))
    of_block = _Tensor(tuple(m.mean for m in maps), dtype)
    nbytes = 8 * n_folds * rows.n_responses * left * sizes[-1]
    reduction = SumsOfGroups(of_block, RandomParts(n_folds, seed), n_folds, nbytes)
    none = (np.zeros(()), np.zeros((rows.n_responses, left, sizes[-1])))
    size = min(block_rows(rows.views), rows.large_block_rows(left))  # of which all products of features are formed
    parts = [part or none for part in rows.reduce(reduction, size)]
    tensors = []
    for _, total in parts:
        X = total.reshape(-1, *sizes)
        for k, m in enumerate(maps):
            X = np.moveaxis(m.pull(unfold(X, k)).reshape(-1, *np.delete(X.shape, k + 1)), 0, k + 1)
        tensors.append(_finite(X))
    return TensorParts(np.array([float(weight) for weight, _ in parts]), tensors=tensors)


def sketch_tensor(
    rows: Rows, maps: Sequence[Whitener], columns: int, rng: np.random.Generator, n_folds: int = 1, seed: int = 0
) -> TensorParts:
    """Sketch all unfoldings of the tensor of each fold in one read, O(m n s), without forming it.

    The unfolding along a is multiplied by the row-wise products of Gaussian matrices: column t is the mean of
    y′ a′ (S_bᵀb′)_t (S_cᵀc′)_t.
    """
    right = [m.push(rng.standard_normal((m.width, columns))) for m in maps]
    width = rows.n_responses * columns
    shapes = [(X.shape[1], width) for X in rows.views]
    of_block = _Sketches(tuple(m.mean for m in maps), tuple(right))
    nbytes = 8 * n_folds * sum(n * s for n, s in shapes)
    reduction = SumsOfGroups(of_block, RandomParts(n_folds, seed), n_folds, nbytes)
    none = (np.zeros(()), *(np.zeros(shape) for shape in shapes))
    parts = [part or none for part in rows.reduce(reduction, rows.large_block_rows(width))]
    scale = 1.0 / np.sqrt(columns)
    return TensorParts(
        np.array([float(part[0]) for part in parts]),
        sketches=[tuple(scale * _finite(m.pull(S)) for S, m in zip(part[1:], maps, strict=True)) for part in parts],
    )


def contract_tensor(rows: Rows, maps: Sequence[Whitener], bases: Sequence[Array], k: int) -> Array:
    """The proxy tensor between view k and the directions of all others, (k_k, q·Π r_j), in one read, O(m n Π r_j)."""
    right = [m.push(U) for m, U in zip(maps, bases, strict=True)]
    of_block = _Contraction(tuple(m.mean for m in maps), tuple(right), k)
    width = rows.n_responses * int(np.prod([U.shape[1] for j, U in enumerate(bases) if j != k]))
    (total,) = rows.accumulate(of_block, width)
    return maps[k].pull(_finite(total)) / rows.total_weight()


def hooi_from_rows(
    rows: Rows,
    maps: Sequence[Whitener],
    factors: Sequence[Factor],
    sweeps: int,
    beside: Sequence[Array] | None = None,
) -> list[Factor]:
    """Sweeps of `hooi` by reads of the data, K a sweep, without the tensor.

    `beside` has more columns for each view, (k_k, many), whose directions count too.
    """
    factors = list(factors)
    for _ in range(sweeps):
        for k in range(len(factors)):
            M = contract_tensor(rows, maps, [U for U, _ in factors], k)
            factors[k] = _update(factors[k], M if beside is None else np.hstack([M, beside[k]]))
    return factors


def core_from_rows(rows: Rows, maps: Sequence[Whitener], bases: Sequence[Array]) -> Array:
    """The proxy tensor between directions of all views, (q, r_1, …, r_K), in one read."""
    M = contract_tensor(rows, maps, bases, len(bases) - 1)
    core = bases[-1].T @ M  # (r_K, q·r_1⋯r_{K−1})
    return np.moveaxis(core.reshape(len(core), -1, *(U.shape[1] for U in bases[:-1])), 0, -1)


@dataclass(frozen=True)
class _Tensor:
    """The share of one block in the tensor about these means: its weight, and Σ w y a ⊗ b ⊗ … as (q, n_1 ⋯, n_K)."""

    means: tuple[Array, ...]
    dtype: Any

    def __call__(self, block: RowBlock) -> tuple[Array, Array]:
        left = int(np.prod([len(mean) for mean in self.means[:-1]]))
        total = np.zeros((block.y.shape[1], left, len(self.means[-1])))
        for piece in block.pieces(max(16, LARGE_BLOCK_BYTES // (8 * left))):
            views = [_center_view(X, mean, self.dtype) for X, mean in zip(piece.views, self.means, strict=True)]
            Y = like(piece.y if piece.weight is None else piece.y * piece.weight[:, None], views[0])
            first = views[0]
            for X in views[1:-1]:
                first = row_products(first, X)
            for q in range(Y.shape[1]):
                total[q] += to_numpy(inner(first, views[-1] * Y[:, q : q + 1]))
        return np.asarray(block.total_weight()), total


@dataclass(frozen=True)
class _Sketches:
    """The share of one block in the sketch of every unfolding: its weight, and one (n_k, q s) array for each view."""

    means: tuple[Array, ...]
    right: tuple[Array, ...]

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        H = [project(X, mean, S) for X, mean, S in zip(block.views, self.means, self.right, strict=True)]
        parts = []
        for k, mean in enumerate(self.means):
            others = [h for j, h in enumerate(H) if j != k]
            parts.append(_against(block, k, mean, reduce(mul, others)))
        return (np.asarray(block.total_weight()), *parts)


@dataclass(frozen=True)
class _Contraction:
    """The share of one block in the tensor between view k and directions of all others, (n_k, q·Π r_j)."""

    means: tuple[Array, ...]
    right: tuple[Array, ...]
    k: int

    def __call__(self, block: RowBlock) -> tuple[Array]:
        parts = zip(block.views, self.means, self.right, strict=True)
        Z = [project(X, mean, S) for j, (X, mean, S) in enumerate(parts) if j != self.k]
        return (_against(block, self.k, self.means[self.k], reduce(row_products, Z)),)


def _against(block: RowBlock, k: int, mean: Array, R: Array) -> Array:
    """Σ w y_q (x_k − µ) R over rows, for each q: (n_k, q · columns of R)."""
    X = as_float(block.views[k], float_dtype(block.views[k]))
    Y = like(block.y if block.weight is None else block.y * block.weight[:, None], R)
    R = row_products(Y, R)
    if is_sparse(X):
        return np.asarray(inner(X, R) - np.outer(mean, R.sum(axis=0)))
    return np.asarray(to_numpy(inner(X - like(mean, X), like(R, X))))


def _center_view(X: Array, mean: Array, dtype: object) -> Array:
    X = as_float(dense(X), dtype)
    return X - like(mean, X)


def _finite(X: Array) -> Array:
    if not np.isfinite(X).all():
        raise ValueError(OVERFLOW)
    return X

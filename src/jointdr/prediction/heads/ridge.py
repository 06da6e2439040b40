"""Ridge regression on a grid of pairs: y ≈ ȳ + φ(a)ᵀ M φ(b), with linear or kernel features φ.

    min over M of Σ (y_ij − ȳ − φ_iᵀ M ψ_j)² + λ‖M‖²

over the observed pairs. In the coordinates that make Σ φφᵀ = diag(s) and Σ ψψᵀ = diag(t), the solution on a complete
grid is M = Φᵀ(Y − ȳ)Ψ / (s tᵀ + λ), entry by entry. Otherwise it preconditions conjugate gradients. With
kernel features it is Kronecker kernel ridge regression. Row and column effects may be subtracted instead of ȳ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from jointdr.prediction.heads.completion import Pairs
from jointdr.prediction.heads.distances import unit_rows
from jointdr.prediction.heads.effects import Effects, replace_values
from jointdr.prediction.heads.head import EntitySet, Head
from jointdr.prediction.heads.kernels import Mixture
from jointdr.prediction.ranking import ScoreBlock, Scorer
from jointdr.runtime import Array, dense_product, is_sparse, memory, slices

ITERATIONS = 500  # iterations of conjugate gradients, at most
REDUCTION = 1e-10  # they end when the squared gradient, in the preconditioner's norm, has fallen to this fraction

# The same where settings are compared: errors of prediction move by about 1e-4, in 0.4 of the time.
ROUGH_REDUCTION = 1e-6

ENOUGH = 1e-6  # a warning is given if the squared gradient has not fallen to this fraction

# Added to the similarities of each side, which are 1 at most, so that their products include main effects.
CONSTANT = 0.2

# Entities whose kernels are features, at most; among more, a random choice is taken (Nyström's method).
LANDMARKS = 2000

# Features of all entities together: more than 100 000 entities have fewer landmarks (a million 200).
MOST_FEATURES = 200_000_000

AT_ONCE = 10_000  # entities whose similarities to the landmarks are computed at a time


@dataclass(frozen=True)
class Coordinates:
    """Features φ of entities, turned so that Σ φφᵀ over the known ones is diagonal."""

    # Features are its similarities to some entities, plus a constant; None for the coordinates themselves.
    kernel: Mixture | None
    rotation: Array  # (p, q): from the features to φ
    known: Array  # (m, q): φ of the known entities
    values: Array  # (q,): the diagonal
    # One more feature, or what is added to similarities, so that scores may also depend on one side alone.
    constant: float

    @staticmethod
    def linear(Z: Array) -> Coordinates:
        """The coordinates themselves; O(m r²)."""
        Z = Z.toarray() if is_sparse(Z) else Z
        constant = float(np.sqrt(np.mean(Z**2))) or 1.0
        X = _with_constant(Z, constant)
        rotation, values = rotate_to_diagonal(X)
        return Coordinates(None, rotation, X @ rotation, values, constant)

    @staticmethod
    def of_kernel(kernel: Mixture, rng: np.random.RandomState) -> Coordinates:
        """Features whose inner products are the kernel; O(p³ + m p²) for p landmarks, all entities if they are few."""
        everything = slice(0, kernel.count)
        if kernel.count <= LANDMARKS:
            values, Q = positive_eigenpairs(kernel.similarities_at(None, everything) + CONSTANT)
            return Coordinates(kernel, Q / np.sqrt(values), Q * np.sqrt(values), values, CONSTANT)
        count = max(1, min(LANDMARKS, MOST_FEATURES // kernel.count))
        instead = "use head='kernel' or head='bilinear'"
        memory.require(16.0 * count * kernel.count, f"The kernels of {kernel.count} entities with {count}", instead)
        landmarks = kernel.take(np.sort(rng.choice(kernel.count, count, replace=False)))
        values, Q = positive_eigenpairs(landmarks.similarities_at(None, slice(0, count)) + CONSTANT)
        points = tuple(part.points for part in kernel.kernels)
        X = np.empty((kernel.count, len(values)))
        for at in slices(kernel.count, AT_ONCE):
            X[at] = (landmarks.similarities_at(points, at) + CONSTANT) @ (Q / np.sqrt(values))
        rotation, diagonal = rotate_to_diagonal(X)
        return Coordinates(landmarks, Q / np.sqrt(values) @ rotation, X @ rotation, diagonal, CONSTANT)

    def features(self, some: EntitySet, at: slice) -> Array:
        """φ of some of these entities, (entities, q)."""
        if some.tables is None:
            return self.known[at if some.indices is None else some.indices[at]]
        if self.kernel is not None:
            return (self.kernel.similarities_at(some.tables, at) + self.constant) @ self.rotation
        Z = some.tables[0][at]
        return _with_constant(Z.toarray() if is_sparse(Z) else Z, self.constant) @ self.rotation

    def cosines(self, some: EntitySet) -> Array:
        """Of the angles between φ of these entities and of all known ones, (entities, m)."""
        return np.asarray(unit_rows(self.features(some, slice(0, some.count))) @ unit_rows(self.known).T)


def _with_constant(Z: Array, constant: float) -> Array:
    return np.hstack([Z, np.full((len(Z), 1), constant)])


def positive_eigenpairs(K: Array) -> tuple[Array, Array]:
    """The positive eigenvalues of a kernel matrix, and their eigenvectors."""
    values, Q = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    return values[kept], Q[:, kept]


def rotate_to_diagonal(X: Array) -> tuple[Array, Array]:
    """The rotation that makes XᵀX diagonal, without directions that X does not have, and the diagonal."""
    values, P = np.linalg.eigh(X.T @ X)
    kept = values > 1e-12 * values[-1]
    return P[:, kept], values[kept]


@dataclass(frozen=True)
class GridRidge(Head):
    """A fitted ridge regression on products of features of rows and columns."""

    Y: Array  # (m_A, m_B), dense or CSR
    complete: bool
    coordinates: tuple[Coordinates, Coordinates]
    penalty: float  # λ
    core: Array  # (q_1, q_2): M
    mean: float  # ȳ, the mean of the known scores; 0 with effects
    effects: Effects | None = None  # of rows and columns, subtracted first

    @staticmethod
    def fit(
        Y: Array,
        complete: bool,
        coordinates: tuple[Coordinates, Coordinates],
        alpha: float,
        reduction: float = REDUCTION,
    ) -> GridRidge:
        """Fit with λ = `alpha` times the mean curvature of the squared errors, per entry of M."""
        a, b = coordinates
        share = 1.0 if complete else Y.nnz / (Y.shape[0] * Y.shape[1])
        curvature = share * np.outer(a.values, b.values)
        return GridRidge.solve(Y, complete, coordinates, alpha * float(curvature.mean()), reduction)

    @staticmethod
    def solve(
        Y: Array,
        complete: bool,
        coordinates: tuple[Coordinates, Coordinates],
        penalty: float,
        reduction: float = REDUCTION,
        effects: Effects | None = None,
    ) -> GridRidge:
        """Fit with this λ; effects are those of the same scores."""
        a, b = coordinates
        share = 1.0 if complete else Y.nnz / (Y.shape[0] * Y.shape[1])
        curvature = share * np.outer(a.values, b.values)
        mean = float(Y.sum()) / (Y.shape[0] * Y.shape[1] * share) if effects is None else 0.0
        if complete:
            pairs = None
            L, R = (a.known.sum(axis=0) * mean, b.known.sum(axis=0))
            if effects is not None:
                L, R = (X.known.T @ F for X, F in zip(coordinates, effects.factors(), strict=True))
            right = a.known.T @ dense_product(Y, b.known) - (np.outer(L, R) if effects is None else L @ R.T)
        else:
            pairs = Pairs(Y, a.known, b.known)
            left = pairs.y - mean if effects is None else effects.residuals(Y).data
            right = pairs.gather(0, left, b.known)
        core = _solve(right, curvature + penalty, pairs, penalty, reduction)
        return GridRidge(Y, complete, coordinates, penalty, core, mean, effects)

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function that predicts the scores of some rows with all columns; there are no ``neighbors``.

        O(q_1 q_2 · min(rows, columns) + rows · columns · q) for q features.
        """
        a, b = self.coordinates
        psi = b.features(columns, slice(0, columns.count)).T
        others = psi if rows.count < columns.count else self.core @ psi
        of_rows, of_columns = (None, None) if self.effects is None else self.effects.of(rows, columns)

        def block(at: slice) -> ScoreBlock:
            phi = a.features(rows, at)
            scores = (phi @ self.core if others is psi else phi) @ others
            if of_rows is None:
                scores += self.mean
            else:
                scores += of_rows[at, None]
                scores += of_columns
            return ScoreBlock(scores)

        return block

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose scores with so many columns fit into this memory."""
        return max(1, int(max_bytes / (8 * (2 * n_columns + 3 * len(self.core) + 2 * LANDMARKS))))

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Array:
        """The factor of each known score in the prediction of one pair: (m_A, m_B), or CSR with the pattern of Y."""
        a, b = self.coordinates
        share = 1.0 if self.complete else self.Y.nnz / (self.Y.shape[0] * self.Y.shape[1])
        hessian = share * np.outer(a.values, b.values) + self.penalty
        pairs = None if self.complete else Pairs(self.Y, a.known, b.known)
        phi, psi = (c.features(one, slice(0, 1))[0] for c, one in zip(self.coordinates, (row, column), strict=True))
        M = _solve(np.outer(phi, psi), hessian, pairs, self.penalty)
        if self.effects is not None:
            return self._weights_with_effects(M, row, column)
        if pairs is None:  # the rest is the share of ȳ, which all pairs have in common
            total = float(a.known.sum(axis=0) @ M @ b.known.sum(axis=0))
            rest = (1 - total) / (self.Y.shape[0] * self.Y.shape[1])
            if not is_sparse(self.Y):
                return a.known @ M @ b.known.T + rest
            weights = Pairs(self.Y, a.known, b.known).products(a.known @ M, b.known) + rest
            return sparse.csr_array((weights, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        weights = pairs.products(a.known @ M, b.known)
        weights += (1 - weights.sum()) / len(weights)
        return sparse.csr_array((weights, self.Y.indices, self.Y.indptr), shape=self.Y.shape)

    def _weights_with_effects(self, M: Array, row: EntitySet, column: EntitySet) -> Array:
        """Those of the pair's own effects, and those Φ M Ψᵀ of what effects leave."""
        assert self.effects is not None
        a, b = (one.known for one in self.coordinates)
        own = self.effects.weights(*(None if one.indices is None else int(one.indices[0]) for one in (row, column)))
        if not is_sparse(self.Y):
            return own + self.effects.project_out(a @ M @ b.T)
        W = replace_values(self.Y, Pairs(self.Y, a, b).products(a @ M, b))
        sums = (a @ (M @ b.sum(axis=0)), b @ (M.T @ a.sum(axis=0))) if self.complete else None
        return replace_values(self.Y, own.data + self.effects.project_out(W, sums).data)


def _solve(right: Array, hessian: Array, pairs: Pairs | None, penalty: float, reduction: float = REDUCTION) -> Array:
    """M with Φᵀ(W ∘ (Φ M Ψᵀ))Ψ + λM = right; `hessian` is the diagonal of it if all pairs count the same."""
    if pairs is None:
        return right / hessian
    root = np.sqrt(hessian)  # scaled by it on both sides, residuals have the length that the preconditioner measures

    def apply(x: Array) -> Array:
        M = x.reshape(right.shape) / root
        change = pairs.gather(0, pairs.products(pairs.embed(0, M), pairs.tables[1]), pairs.tables[1])
        return ((change + penalty * M) / root).ravel()

    b = (right / root).ravel()
    operator = LinearOperator((b.size, b.size), matvec=apply, dtype=b.dtype)
    x, unfinished = cg(operator, b, rtol=reduction**0.5, atol=0.0, maxiter=ITERATIONS)
    if unfinished and np.linalg.norm(b - apply(x)) > ENOUGH**0.5 * np.linalg.norm(b):
        warnings.warn(
            f"Ridge regression on observed pairs has not converged after {ITERATIONS} iterations: raise alpha.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return x.reshape(right.shape) / root

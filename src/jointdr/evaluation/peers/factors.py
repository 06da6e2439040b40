"""Matrix factorization by weighted alternating least squares, with factors of new entities from their descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from jointdr.evaluation.peers.shared import MEAN, Peer, SharedWork
from jointdr.prediction import EntitySet, Head, KernelSpectrum, Recipe, RecipeKernels, ScoreBlock, Scorer, as_dyads
from jointdr.runtime import Array, check_integer, check_number, make_random_state, slices

MAX_BYTES = 2e8  # of the normal equations that are solved at a time


@dataclass(frozen=True)
class FactorMap:
    """The factors of one side, and the ridge regression that gives those of new entities."""

    side: int
    kernels: RecipeKernels
    F: Array  # (m, r)
    penalty: float

    @cached_property
    def center(self) -> Array:
        """F̄, (r,)."""
        return self.F.mean(axis=0)

    @cached_property
    def coefficients(self) -> Array:
        """(K + λ)⁻¹(F − F̄); O(m³), computed when first asked for."""
        spectrum = KernelSpectrum.of(self.kernels.known(self.side))
        V = spectrum.vectors
        return (V / (spectrum.values + self.penalty)) @ (V.T @ (self.F - self.center))

    def of(self, some: EntitySet, at: slice) -> Array:
        """The factors of some of these entities."""
        if some.tables is None:
            return self.F[at if some.indices is None else some.indices[at]]
        return self.center + self.kernels.seen(self.side, some, at).K @ self.coefficients


@dataclass(frozen=True)
class FactorsHead(Head):
    """Inner products of factors, the first two of which carry the row and the column effects."""

    rows: FactorMap
    columns: FactorMap

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns."""
        H = self.columns.of(columns, slice(0, columns.count))
        return lambda at: ScoreBlock(self.rows.of(rows, at) @ H.T)


class WeightedALS(Peer):
    """Matrix factorization of known scores; new entities get factors by kernel ridge regression.

    Associations have the target 1 with the weight 1 + c, and all other pairs the target 0 with the weight 1. Graded
    scores are factorized where they are known, without their shrunken row and column effects.

    Parameters
    ----------
    n_components : int
    alpha : float
        λ of min Σ w_ij (t_ij − x_iᵀ z_j)² + λ(‖X‖² + ‖Z‖²).
    confidence : float
        c, for associations; times the score, where that is not 1.
    row_kernel, column_kernel, row_power, column_power
        As in `KroneckerRidge`; of the map to factors of new entities.
    map_alpha : float
        The penalty of that map.
    n_iter : int
    random_state : int, RandomState or None

    Attributes
    ----------
    objective_ : (n_iter,) array
        After each sweep.

    References
    ----------
    Hu, Koren and Volinsky (2008). Collaborative filtering for implicit feedback datasets. ICDM, 263-272.

    Koren, Bell and Volinsky (2009). Matrix factorization techniques for recommender systems. Computer 42, 30-37.
    """

    def __init__(
        self,
        n_components: int = 20,
        *,
        alpha: float = 1.0,
        confidence: float = 10.0,
        row_kernel: str = MEAN,
        column_kernel: str = MEAN,
        row_power: float = 1.0,
        column_power: float = 1.0,
        map_alpha: float = 1.0,
        n_iter: int = 15,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.confidence = confidence
        self.row_kernel = row_kernel
        self.column_kernel = column_kernel
        self.row_power = row_power
        self.column_power = column_power
        self.map_alpha = map_alpha
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores; O(|Y| r² + m r³) for each sweep.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        dyads = as_dyads(Y, A, B, observed)
        r = check_integer("n_components", self.n_components, 1)
        alpha = check_number("alpha", self.alpha, 0, strictly=True)
        confidence = check_number("confidence", self.confidence, 0)
        check_number("map_alpha", self.map_alpha, 0, strictly=True)
        n_iter = check_integer("n_iter", self.n_iter, 1)
        work = SharedWork.of(dyads)
        problem = WeightedProblem.of(work, confidence)
        rng = make_random_state(self.random_state)
        X, Z, self.objective_ = problem.solve(r, alpha, n_iter, rng)
        if not work.implicit:
            effects = work.effects(True)
            X = np.column_stack([effects.mean + effects.rows, np.ones(len(X)), X])
            Z = np.column_stack([np.ones(len(Z)), effects.columns, Z])
        terms = [
            work.terms(0, self.row_kernel, self.row_power),
            work.terms(1, self.column_kernel, self.column_power),
        ]
        kernels = RecipeKernels(work.kernels, Recipe("kronecker", terms[0], terms[1]))
        a, b = (FactorMap(k, kernels, F, float(self.map_alpha)) for k, F in enumerate((X, Z)))
        self._keep(dyads, FactorsHead(a, b))
        return self


@dataclass(frozen=True)
class WeightedProblem:
    """min Σ w_ij (t_ij − x_iᵀ z_j)² + λ(‖X‖² + ‖Z‖²), where most weights are the same."""

    base: float  # the weight of pairs without one of their own
    more: Array  # (m_A, m_B) CSR array: what the weights of others are above that
    target: Array  # (m_A, m_B), dense or CSR: w_ij t_ij
    square: float  # Σ w_ij t_ij²

    @staticmethod
    def of(work: SharedWork, confidence: float) -> WeightedProblem:
        """Of implicit feedback with these weights, or of what effects leave of graded scores."""
        if work.implicit:
            known = sparse.csr_array(work.scores.Y)
            more = known * confidence
            target = known.sign() + more
            return WeightedProblem(1.0, more, target, float(target.sum()))
        R = work.residuals(True)
        square = float(np.sum(R * R))
        if work.scores.mask is None:
            return WeightedProblem(1.0, sparse.csr_array(R.shape), R, square)
        return WeightedProblem(0.0, sparse.csr_array(work.scores.mask), R, square)

    def solve(self, r: int, alpha: float, n_iter: int, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
        """X, Z, and the objective after each sweep."""
        turned = WeightedProblem(self.base, sparse.csr_array(self.more.T), self.target.T, self.square)
        X, Z = np.zeros((self.more.shape[0], r)), rng.standard_normal((self.more.shape[1], r)) / np.sqrt(r)
        objective = []
        for _ in range(n_iter):
            X = self.best_rows(Z, alpha)
            Z = turned.best_rows(X, alpha)
            objective.append(self.objective(X, Z, alpha))
        return X, Z, np.array(objective)

    def best_rows(self, Z: Array, alpha: float) -> Array:
        """The X that is best with this Z; normal equations of each row."""
        m, r = self.more.shape[0], Z.shape[1]
        right = np.asarray(self.target @ Z)
        common = self.base * (Z.T @ Z) + alpha * np.eye(r)
        if self.more.nnz == 0:
            return np.linalg.solve(common, right.T).T
        products = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), r * r)
        X = np.empty((m, r))
        for at in slices(m, max(1, int(MAX_BYTES / (16 * r * r)))):
            normal = np.asarray(self.more[at] @ products).reshape(-1, r, r) + common
            X[at] = np.linalg.solve(normal, right[at][:, :, None])[:, :, 0]
        return X

    def objective(self, X: Array, Z: Array, alpha: float) -> float:
        """The value that is minimized."""
        fitted = np.einsum("pr,pr->p", X[_rows_of(self.more)], Z[self.more.indices])
        squares = self.base * float(np.sum((X.T @ X) * (Z.T @ Z))) + float(self.more.data @ fitted**2)
        linear = float(np.sum(X * np.asarray(self.target @ Z)))
        return self.square - 2.0 * linear + squares + alpha * float(np.sum(X**2) + np.sum(Z**2))


def _rows_of(Y: Array) -> Array:
    return np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))

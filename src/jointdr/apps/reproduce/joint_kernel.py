"""Kernel regression on a joint embedding of pairs, which the paper calls cpHd + KR.

pHd of [a; b] embeds a pair (i, j) as z_ij = u_i + v_j, with u_i = P_aᵀ(a_i − µ_a), v_j = P_bᵀ(b_j − µ_b), all of 2r
coordinates. The prediction

    ŷ_ij = Σ_pq k(z_ij, z_pq) y_pq / Σ_pq k(z_ij, z_pq),   k(z, z′) = exp(−‖z − z′‖²/2h²)

does not factorize over diseases and genes, so that it takes m_D m_G evaluations of the kernel, as the paper says. With
δ = u_i − u_p, however, ‖δ + v_j − v_q‖² = ‖δ‖² + ‖v_j − v_q‖² + 2 δ·v_j − 2 δ·v_q, and for fixed i the weights are

    k(z_ij, z_pq) = exp(−‖δ‖²/2h² − δ·v_j/h²) · exp(δ·v_q/h²) · exp(−‖v_j − v_q‖²/2h²)

Summing over q for all p and j is a product of an m_D × m_G with an m_G × m_G matrix. It is the same number up to
rounding, for m_D m_G multiplications a prediction instead of as many kernels of 2r coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np

from jointdr.data import Dyads, Entities, Split, splits
from jointdr.estimators import PHD
from jointdr.prediction import (
    EntitySet,
    Head,
    Recommender,
    ScoreBlock,
    Tables,
    as_dyads,
    score_split,
    spread,
    squared_distances,
)
from jointdr.runtime import Array, check_number, csr_rows, is_sparse, slices

LIMIT = 600.0  # exponents may differ by so much within a row, so that underflow loses less than exp(−100) of the sum
JOINT_BANDWIDTHS, JOINT_SCALES = (0.03, 0.04, 0.055, 0.075, 0.1, 0.2), (0.5, None)  # "auto" tries all of both


class JointKernelRegression(Recommender):
    """pHd of both kinds of features together, then kernel regression on the joint embedding of all pairs.

    Parameters
    ----------
    n_components : int, default 80
        r, of 2r joint directions.
    bandwidth : "auto" or float
        h, in units of the root mean square distance between pairs. ``"auto"`` is chosen, with the scale, by the recall
        of rows that are held out of the fit: a tenth of them, of which `tuning_rows` are predicted.
    scale : None or float
        Coordinates are scaled by this power of the spectrum, see `PHD`. Unless the bandwidth is given, it is chosen.
    tuning_rows : int, default 20
    random_state : int, RandomState or None
        Which rows are held out.

    Attributes
    ----------
    embedding_ : PHD
    bandwidth_, scale_ : float
    coordinates_ : pair of (m_k, 2r) arrays
        Of rows and of columns, in units of the bandwidth.
    row_ids_, column_ids_, view_names_, n_features_per_view_
        As in `AssociationModel`.

    Notes
    -----
    A row of scores takes O(m_A m_B²), after m_A m_B kernels have become one product of matrices, see the module. Every
    pair has to be observed, and columns have to be known ones.
    """

    def __init__(
        self,
        n_components: int = 80,
        *,
        bandwidth: Any = "auto",
        scale: float | None = None,
        tuning_rows: int = 20,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.scale = scale
        self.tuning_rows = tuning_rows
        self.random_state = random_state

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the embedding, and choose the bandwidth if it is ``"auto"``.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        dyads = as_dyads(Y, A, B, observed)
        if not dyads.is_complete:
            raise ValueError("JointKernelRegression needs every pair to be observed: leave observed out.")
        if isinstance(self.bandwidth, str) and self.bandwidth == "auto":
            self.bandwidth_, self.scale_ = self._choose(dyads)
        else:
            expected = "'auto' or a positive number"
            check_number("bandwidth", self.bandwidth, 0.0, strictly=True, expected=expected)
            self.bandwidth_, self.scale_ = self.bandwidth, self.scale
        self._prepare(PHD(self.n_components, concatenate=True).fit(dyads), dyads)
        return self

    def _choose(self, dyads: Dyads) -> tuple[float, float | None]:
        """The bandwidth and scale with the best recall of some rows that are not fitted."""
        split = next(splits(dyads, "rows", 1, 0.1, self.random_state))
        some = split.test.rows(np.arange(min(self.tuning_rows, split.test.shape[0])))
        embedding = PHD(self.n_components, concatenate=True).fit(split.train)
        found: dict[tuple[float, float | None], float] = {}
        for scale, h in product(JOINT_SCALES, JOINT_BANDWIDTHS):
            model = JointKernelRegression(self.n_components, bandwidth=h, scale=scale)
            model.bandwidth_, model.scale_ = h, scale
            model._prepare(embedding, split.train)
            found[h, scale] = score_split(model.predict(some.A), Split(split.train, some, "rows"), implicit=True)
        return max(found, key=lambda setting: found[setting])

    def _prepare(self, embedding: PHD, dyads: Dyads) -> None:
        """All that does not depend on the row to predict, in coordinates whose bandwidth is 1."""
        self.embedding_ = embedding
        D = embedding.joint_embedding_ * embedding.joint_singular_values_ ** (self.scale_ or 0.0)
        n_1 = dyads.n_features[0]
        parts = [np.asarray(dyads.A @ D[:n_1]), np.asarray(dyads.B @ D[n_1:])]
        # Pairs of a grid are as far apart as their rows and columns are together: entities vary independently in it.
        h = self.bandwidth_ * float(np.hypot(spread(parts[0]), spread(parts[1])))
        self._map, self._origin = D[:n_1] / h, parts[0].mean(axis=0) / h
        self.coordinates_ = U, V = tuple(Z / h - Z.mean(axis=0) / h for Z in parts)
        self._K = np.exp(-0.5 * squared_distances(V, V))
        self._products = U @ V.T
        self._keep(dyads, RowByRow(self._row, U, len(V)))

    def _describe(self, k: int, new: Entities) -> Tables:
        if k == 1:
            raise ValueError("JointKernelRegression predicts scores with known columns only: leave B_new out.")
        return (np.asarray(new.X @ self._map) - self._origin,)

    def _row(self, u: Array) -> Array:
        """The scores of one row entity with all columns, (m_B,); O(m_A m_B²)."""
        U, V = self.coordinates_
        far = 0.5 * np.einsum("pk,pk->p", u - U, u - U)
        E = V @ u - self._products  # δ·v_q
        most = E.max(axis=1, keepdims=True)
        beyond = np.flatnonzero((most - E.min(axis=1, keepdims=True))[:, 0] > LIMIT)
        E -= most
        G = np.exp(E)
        G[beyond] = 1.0
        S = G @ self._K
        means = self._weighted(G) / S
        logs = np.log(S) - E - far[:, None]
        for p in beyond.tolist():  # one by one, by the definition
            logs[p], means[p] = self._by_definition(u, p)
        logs -= logs.max(axis=0)
        w = np.exp(logs, out=logs)
        scores: Array = np.einsum("pj,pj->j", w, means) / w.sum(axis=0)
        return scores

    def _weighted(self, G: Array) -> Array:
        """Σ_q G_pq y_pq K_jq for all p and j, (m_A, m_B)."""
        Y = self._scores
        if not is_sparse(Y):
            return np.asarray((G * Y) @ self._K)
        weighted = Y.copy()
        weighted.data = Y.data * G[csr_rows(Y), Y.indices]
        return np.asarray(weighted @ self._K)

    def _by_definition(self, u: Array, p: int) -> tuple[Array, Array]:
        """For one known row: the logarithm of its weight and the mean of its scores, for each column; O(m_B² r)."""
        U, V = self.coordinates_
        logs = -0.5 * squared_distances(V + (u - U[p]), V)
        most = logs.max(axis=1, keepdims=True)
        w = np.exp(logs - most)
        y = self._scores[[p]].toarray()[0] if is_sparse(self._scores) else self._scores[p]
        return most[:, 0] + np.log(w.sum(axis=1)), (w @ y) / w.sum(axis=1)


@dataclass(frozen=True)
class RowByRow(Head):
    """Scores by a function from a row, as the model describes it, to its scores with all known columns.

    Attributes
    ----------
    row : callable
    U : (m_A, r) array
        The known rows.
    n_columns : int
    """

    row: Callable[[Array], Array]
    U: Array
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """The number of known rows and of known columns."""
        return len(self.U), self.n_columns

    def scorer(
        self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False
    ) -> Callable[[slice], ScoreBlock]:
        """A function from a slice of these rows to their scores with all of these columns."""
        some = slice(None) if columns.indices is None else columns.indices
        return lambda at: ScoreBlock(np.stack([self.row(u)[some] for u in rows.take((self.U,), at)[0]]))


def by_definition(Z: Array, points: Array, y: Array, max_bytes: float = 2e8) -> Array:
    """Kernel regression at the points Z, with one evaluation of the kernel for each point and each of `points`.

    For comparison: of all pairs of a grid, `points` is an (m_A m_B, 2r) array, and `y` has their scores. The distances
    of a block of points, of at most `max_bytes`, are a product of matrices, in the precision that is given.
    """
    half = 0.5 * np.einsum("ik,ik->i", points, points)
    least = np.full(len(Z), np.inf)
    sums = np.zeros((2, len(Z)))
    for at in slices(len(points), max(1, int(max_bytes / (Z.itemsize * len(Z))))):
        D = half[at] - Z @ points[at].T  # up to ‖z‖²/2, which all weights of a prediction have in common
        lower = np.minimum(least, D.min(axis=1))
        sums *= np.exp(lower - least)
        w = np.exp(lower[:, None] - D)
        sums += w @ y[at], w.sum(axis=1)
        least = lower
    result: Array = sums[0] / sums[1]
    return result

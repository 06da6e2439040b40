"""Row and column effects: y ≈ µ + r_i + c_j, shrunken, before a head looks at what is left of the scores.

    min over µ, r, c of Σ_Ω (y_ij − µ − r_i − c_j)² + λ_r Σ r_i² + λ_c Σ c_j²

With X the indicators of all pairs, of each row and of each column, and Λ = diag(0, λ_r, λ_c), the fitted values are E y
with E = X (XᵀX + Λ)⁻¹ Xᵀ, which is symmetric. So the effects of weights on pairs are the same computation as those of
scores, and a score that is linear in what effects leave is linear in the scores: see `Effects.project_out`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg

from jointdr.prediction.heads.head import EntitySet
from jointdr.runtime import Array, checked_array, csr_rows, is_number, is_sparse

# λ is at least this, a ten-thousandth of one more score of 0: without any, µ cannot be told from the mean effect.
LEAST = 1e-4

EXACT, ROUGH = 1e-14, 1e-4  # the residual at which conjugate gradients end: for effects, and for variances
ITERATIONS = 1000  # of conjugate gradients, at most

Sums = tuple[float, Array, Array]  # of all pairs, of each row (m_A,) and of each column (m_B,); also µ, r and c


@dataclass(frozen=True)
class PairIndicators:
    """The pairs that count, as XᵀX + Λ with indicators X of all pairs, of each row and of each column."""

    shape: tuple[int, int]
    complete: bool
    stored: Array | None  # CSR, 1 for every pair that Y stores; None for a dense Y
    shrinkage: tuple[float, float] = (LEAST, LEAST)  # λ_r and λ_c; with ∞ there are no such effects

    @cached_property
    def counts(self) -> tuple[Array, Array]:
        """The number of pairs of each row and of each column."""
        (m_A, m_B), N = self.shape, self.stored
        if self.complete or N is None:
            return np.full(m_A, float(m_B)), np.full(m_B, float(m_A))
        return np.diff(N.indptr).astype(float), np.bincount(N.indices, minlength=m_B).astype(float)

    def solve(self, sums: Sums, accuracy: float = EXACT) -> Sums:
        """The solution (µ, r, c) of (XᵀX + Λ) x = sums; O(m) on a complete grid, otherwise O(|Ω|) an iteration."""
        if self.complete:
            return self._solve_grid(*sums)
        total, rows, columns = sums
        # The longer side is eliminated, so that few numbers are left; one without effects has to stay.
        if np.isinf(self.shrinkage[0]) or (self.shape[0] < self.shape[1] and np.isfinite(self.shrinkage[1])):
            mean, c, r = self._solve_pairs(1, total, columns, rows, accuracy)
        else:
            mean, r, c = self._solve_pairs(0, total, rows, columns, accuracy)
        return mean, r, c

    def _solve_grid(self, total: float, rows: Array, columns: Array) -> Sums:
        """The equations of a complete grid, whose sums over rows and over columns determine the rest."""
        (m_A, m_B), (penalty_r, penalty_c) = self.shape, self.shrinkage
        R, C = (float(rows.sum()) - total) / penalty_r, (float(columns.sum()) - total) / penalty_c  # Σ r, Σ c
        mean = (total - m_B * R - m_A * C) / (m_A * m_B)
        return mean, (rows - m_B * mean - C) / (m_B + penalty_r), (columns - m_A * mean - R) / (m_A + penalty_c)

    def _solve_pairs(self, k: int, total: float, first: Array, second: Array, accuracy: float) -> Sums:
        """µ and the effects of side k, which is eliminated, and of the other side, by conjugate gradients."""
        assert self.stored is not None
        N = self.stored if k == 0 else self._transposed
        n, n_other = self.counts[k], self.counts[1 - k]
        penalty, other = self.shrinkage[k], self.shrinkage[1 - k]
        inverse, left = 1.0 / (n + penalty), 1.0 / (1.0 + n / penalty)  # left = 1 − n · inverse
        between = np.asarray(N.T @ left).ravel()  # µ with the other effects, once side k is eliminated
        corner = float(n @ left)

        def others(z: Array) -> tuple[float, Array]:
            return float(z[0]), z[1:] if np.isfinite(other) else np.zeros(len(second))

        def apply(z: Array) -> Array:
            mean, c = others(z)
            lower = between * mean + (n_other + other) * c - N.T @ (inverse * (N @ c)) if len(z) > 1 else ()
            return np.concatenate([[corner * mean + float(between @ c)], lower])

        right = np.array([total - float((n * inverse) @ first)])
        diagonal = np.array([corner])
        if np.isfinite(other):
            right = np.concatenate([right, second - N.T @ (inverse * first)])
            diagonal = np.concatenate([diagonal, n_other + other - N.T @ inverse])
        operator = LinearOperator((len(right), len(right)), matvec=apply, dtype=float)
        scaled = LinearOperator(operator.shape, matvec=lambda z: z / diagonal, dtype=float)
        z = np.zeros(len(right))
        for _ in range(2 if accuracy == EXACT else 1):  # once more for what rounding has left
            z = z + cg(operator, right - apply(z), rtol=accuracy, atol=0.0, maxiter=ITERATIONS, M=scaled)[0]
        mean, c = others(z)
        return mean, (first - n * mean - N @ c) * inverse, c

    @cached_property
    def _transposed(self) -> Array:
        assert self.stored is not None
        return sparse.csr_array(self.stored.T)

    def values(self, mean: float, rows: Array, columns: Array) -> Array:
        """µ + r_i + c_j of every pair: dense for a dense Y, otherwise CSR with the pairs that it stores."""
        if self.stored is None:
            return (mean + rows)[:, None] + columns
        i, N = csr_rows(self.stored), self.stored
        return sparse.csr_array((mean + rows[i] + columns[N.indices], N.indices, N.indptr), shape=N.shape)


@dataclass(frozen=True)
class Effects:
    """Fitted row and column effects.

    Attributes
    ----------
    mean : float
        µ, which is not shrunken: where all scores are equal, it is that score.
    rows, columns : (m_A,) and (m_B,) arrays
        r and c; 0 for an entity without a known score.
    shrinkage : pair of floats
        λ_r and λ_c, in numbers of scores: an effect seen λ times is halved. ∞ where there are no effects of that kind.
    indicators : PairIndicators
        The pairs that they were fitted to.

    References
    ----------
    Searle, Casella and McCulloch (1992). Variance components. Wiley (chapters 4, 5 and 7).

    Gao and Owen (2017). Efficient moment calculations for variance components in large unbalanced crossed random
    effects models. Electronic Journal of Statistics 11, 1235-1296.
    """

    mean: float
    rows: Array
    columns: Array
    shrinkage: tuple[float, float]
    indicators: PairIndicators

    @staticmethod
    def fit(Y: Array, complete: bool, shrinkage: Any = "auto") -> Effects:
        """Fit the effects of known scores; O(|Y|), for observed pairs in each of a few dozen iterations.

        Parameters
        ----------
        Y : (m_A, m_B) array or CSR array
        complete : bool
            Whether every pair counts, those that a sparse Y does not store as 0, or only those that it stores.
        shrinkage : "auto", float or pair of floats
            λ_r and λ_c: numbers >= 0, of which those below 1e-4 count as 1e-4, or ∞ for no effects. ``"auto"``: the
            variance of what is left over that of the effects, both estimated by the method of moments, which makes
            effects their best linear predictions.
        """
        stored = None
        if is_sparse(Y):
            Y = sparse.csr_array(Y)
            stored = sparse.csr_array((np.ones(Y.nnz), Y.indices, Y.indptr), shape=Y.shape)
        pairs = PairIndicators((int(Y.shape[0]), int(Y.shape[1])), complete, stored)
        n_rows, n_columns = pairs.counts
        count = float(n_rows.sum())
        center = float(Y.sum()) / count
        if complete and stored is not None:  # whose zeros count too, and are not written out
            rows, columns = sum_sides(Y)
            rows, columns = rows - n_rows * center, columns - n_columns * center
            square = float(Y.data @ Y.data) - count * center**2
        else:
            Y = Y - center if stored is None else replace_values(Y, Y.data - center)
            rows, columns = sum_sides(Y)
            values = Y.ravel() if stored is None else Y.data
            square = float(values @ values)
        found = checked_shrinkage(shrinkage)
        if found is None:
            with np.errstate(all="ignore"):
                found = estimate_shrinkage(pairs, Y, (rows, columns), square, abs(center))
        pairs = replace(pairs, shrinkage=found)
        mean, r, c = pairs.solve((float(rows.sum()), rows, columns))
        return Effects(center + mean, r, c, found, pairs)

    # ---------------------------------------------------------------- scores

    def of(self, rows: EntitySet, columns: EntitySet) -> tuple[Array, Array]:
        """µ + r_i of these rows, and c_j of these columns, whose sums are a part of scores; 0 for new entities.

        Returns
        -------
        (rows,) and (columns,) arrays
        """
        r, c = (
            np.zeros(some.count) if some.tables is not None else known if some.indices is None else known[some.indices]
            for some, known in ((rows, self.rows), (columns, self.columns))
        )
        return self.mean + r, c

    def factors(self) -> tuple[Array, Array]:
        """L, (m_A, 2), and R, (m_B, 2), for which L Rᵀ is the additive part of all pairs."""
        return (
            np.column_stack([self.mean + self.rows, np.ones(len(self.rows))]),
            np.column_stack([np.ones(len(self.columns)), self.columns]),
        )

    def residuals(self, Y: Array) -> Array:
        """The scores without their additive part, of a dense Y or of observed pairs.

        What is left of a complete grid that is stored sparsely is dense: form products with it by `factors`.
        """
        values = self.indicators.values(self.mean, self.rows, self.columns)
        if not is_sparse(values):
            return Y - values
        if self.indicators.complete:
            raise ValueError("The residuals of a complete grid that is stored sparsely are dense: use Effects.factors.")
        return replace_values(Y, Y.data - values.data)

    def squared_error(self, Y: Array) -> float:
        """The sum of the squared residuals; O(|Y|)."""
        if not (is_sparse(Y) and self.indicators.complete):
            left = self.residuals(Y)
            values = left.data if is_sparse(left) else left.ravel()
            return float(values @ values)
        L, R = self.factors()
        return max(0.0, float(Y.data @ Y.data - 2 * np.sum(L * (Y @ R)) + np.sum((L.T @ L) * (R.T @ R))))

    # ---------------------------------------------------------------- what scores are made of

    def weights(self, row: int | None = None, column: int | None = None) -> Array:
        """The factor of each known score in µ + r_i + c_j.

        Parameters
        ----------
        row, column : int, optional
            The indices i and j; None for a new entity, which has no effect.

        Returns
        -------
        (m_A, m_B) array, or CSR array with the pairs that Y stores
        """
        q: list[Array] = []
        for m, at in zip(self.indicators.shape, (row, column), strict=True):
            q.append(np.zeros(m))
            if at is not None:
                q[-1][at] = 1.0
        return self.indicators.values(*self.indicators.solve((1.0, q[0], q[1])))

    def project_out(self, W: Array, sums: tuple[Array, Array] | None = None) -> Array:
        """(I − E)ᵀ W: the factors of the scores in Σ W_ij (y_ij − µ − r_i − c_j).

        Parameters
        ----------
        W : (m_A, m_B) array, or CSR array with the pairs that Y stores
            The factors of the residuals.
        sums : pair of (m_A,) and (m_B,) arrays, optional
            For a complete grid that is stored sparsely, where W has the factors of the stored pairs alone: the sums of
            all factors of each row and of each column. By default all others are 0.

        Returns
        -------
        (m_A, m_B) array, or CSR array with the pairs of W
        """
        rows, columns = sum_sides(W) if sums is None else sums
        mean, r, c = self.indicators.solve((float(rows.sum()), rows, columns))
        if not is_sparse(W):
            return W - ((mean + r)[:, None] + c)
        return replace_values(W, W.data - mean - r[csr_rows(W)] - c[W.indices])

    # ---------------------------------------------------------------- files

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays, of which `from_arrays` makes the same effects."""
        largest = float(np.finfo(float).max)  # for ∞, which arrays of files must not hold
        return {
            "effects.mean": np.array([self.mean]),
            "effects.rows": self.rows,
            "effects.columns": self.columns,
            "effects.shrinkage": np.minimum(self.shrinkage, largest),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array], shape: tuple[int, int], complete: bool, Y: Array = None) -> Effects:
        """The inverse of `to_arrays`; without the scores Y, or a matrix with their pattern, there are no weights."""
        mean = float(checked_array(arrays, "effects.mean", (1,))[0])
        rows, columns = (
            checked_array(arrays, f"effects.{side}", (m,)) for side, m in zip(("rows", "columns"), shape, strict=True)
        )
        given = checked_array(arrays, "effects.shrinkage", (2,))
        if given.min() < LEAST:
            raise ValueError(f"its effects are shrunken by {given.tolist()}")
        penalties = np.where(given == np.finfo(float).max, np.inf, given)
        found = (float(penalties[0]), float(penalties[1]))
        stored = None
        if is_sparse(Y):
            stored = sparse.csr_array((np.ones(Y.nnz), Y.indices, Y.indptr), shape=Y.shape)
        return Effects(mean, rows, columns, found, PairIndicators(shape, complete, stored, found))


def checked_shrinkage(given: Any) -> tuple[float, float] | None:
    """λ_r and λ_c; None for "auto"."""
    if isinstance(given, str) and given == "auto":
        return None
    pair = [given, given] if is_number(given) else list(given) if isinstance(given, (tuple, list, np.ndarray)) else []
    if len(pair) != 2 or not all(is_number(value) and float(value) >= 0 for value in pair):
        raise ValueError(f"shrinkage={given!r} must be 'auto', a number >= 0, or one for rows and one for columns.")
    return max(float(pair[0]), LEAST), max(float(pair[1]), LEAST)


def estimate_shrinkage(
    pairs: PairIndicators, Y: Array, sums: tuple[Array, Array], square: float, size: float
) -> tuple[float, float]:
    """λ_r and λ_c by the method of moments, for independent effects of rows, of columns and of pairs.

    Differences within a row have the variance of columns and pairs, those within a column that of rows and pairs, and
    those that are left by both kinds of effects (not shrunken) that of pairs. A kind of effects has ∞ where its
    variance is not positive, or where no entity has two scores, so that it cannot be told from what is left.

    Parameters
    ----------
    pairs : PairIndicators
    Y : array or CSR array
        Scores less their mean; of a complete grid that is stored sparsely the scores themselves, which are not used.
    sums : pair of arrays
        The sums of each row and of each column, less the mean.
    square : float
        The sum of squares, less the mean.
    size : float
        The absolute mean: what varies by less than its rounding is constant.
    """
    n = pairs.counts
    count = float(n[0].sum())
    number = [int(np.count_nonzero(part)) for part in n]  # of entities with scores
    if not (1e-14 * size) ** 2 * count < square < np.inf:
        return np.inf, np.inf
    between = [float(np.sum(s**2 / np.maximum(part, 1.0))) for s, part in zip(sums, n, strict=True)]
    repeated = [count > m > 1 for m in number]
    within = [(square - b) / max(count - m, 1.0) for b, m in zip(between, number, strict=True)]
    variances = [0.0, 0.0]
    if repeated[0] and repeated[1]:
        noise = _variance_of_pairs(pairs, Y, sums, square - between[0] - between[1], number)
        noise = min(within) if noise is None else noise
        variances = [within[1] - noise, within[0] - noise]
    else:
        noise = 0.0
        for k in (0, 1):
            if repeated[k]:  # one-way: each entity of the other side has one score, and its effect is part of the rest
                noise = within[k]
                freedom = count - float(np.sum(n[k] ** 2)) / count
                variances[k] = (between[k] - (number[k] - 1) * noise) / freedom
    a, b = (max(noise / v, LEAST) if v > 1e-14 * square / count else np.inf for v in variances)
    return a, b


def _variance_of_pairs(
    pairs: PairIndicators, Y: Array, sums: tuple[Array, Array], left: float, number: list[int]
) -> float | None:
    """The variance that effects leave; None where they leave no degree of freedom. `left` is the sum on a grid."""
    rows, columns = sums
    count = float(pairs.counts[0].sum())
    pieces = 1
    if not pairs.complete:
        mean, r, c = pairs.solve((float(rows.sum()), rows, columns), ROUGH)
        values = Y.data - pairs.values(mean, r, c).data
        left = float(values @ values)
        N = pairs.stored
        assert N is not None
        graph = sparse.block_array([[None, N], [N.T, None]], format="csr")
        pieces = connected_components(graph, directed=False)[0] - (sum(pairs.shape) - sum(number))
    freedom = count - sum(number) + pieces
    return max(left, 0.0) / freedom if freedom > 0 else None


def sum_sides(W: Array) -> tuple[Array, Array]:
    """The sums of each row and of each column, dense or sparse."""
    rows, columns = (np.asarray(W.sum(axis=axis), dtype=float).ravel() for axis in (1, 0))
    return rows, columns


def replace_values(Y: Array, values: Array) -> Array:
    """A CSR array with the same pairs and other values."""
    return sparse.csr_array((values, Y.indices, Y.indptr), shape=Y.shape)

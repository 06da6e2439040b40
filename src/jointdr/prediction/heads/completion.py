"""Inductive matrix completion: alternating least squares for y ≈ aᵀW Hᵀb, from moments or from observed pairs.

    min over W, H of Σ_Ω (y_ij − a_iᵀW Hᵀb_j)² + (λ/2)(‖W‖² + ‖H‖²)

Everything runs in the coordinates of the eigenvectors of the two Gram matrices, in which these are diagonal: α and β.
With H fixed, and turned so that S = HᵀβH/|Ω| is diagonal too, the Hessian of W on a complete grid is the outer product
of both diagonals, plus λ/2: a half-step is one division. Where only some pairs are observed, that is what the Hessian
would be if they were drawn independently, and it preconditions conjugate gradients on the observed pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from jointdr.engines import LARGE_BLOCK_BYTES
from jointdr.moments import Moments
from jointdr.runtime import Array, as_float, csr_rows, float_dtype, inner, slices

CG_ITERATIONS = 30  # per half-step at most; where pairs are nearly independent, three or four are enough

# A half-step ends when the squared gradient, in the preconditioner's norm, has fallen to this fraction.
CG_REDUCTION = 1e-4

# Ridges of the proxy that are tried as starts on observed pairs, in units of the mean eigenvalue of the Gram matrices:
# the more the pairs depend on each other, the less small eigenvalues can be relied on.
RIDGES = (0.0, 0.01, 1.0)

# If more than this share of the pairs is observed, a product of matrices is faster than one inner product a pair.
DENSE_ABOVE = 0.05

Factors = tuple[Array, Array]


@dataclass(frozen=True)
class Spectra:
    """Raw moments Σ a aᵀ, Σ b bᵀ and Σ a y bᵀ over the pairs, in the coordinates that make the first two diagonal."""

    # (n_k, n_k) each, from these coordinates to the features: W = maps[0] W̃. Each is D P, with D the scales of
    # the features and P orthogonal, so that ‖W̃‖ is the norm of W in units of the scaled features.
    maps: tuple[Array, Array]
    values: tuple[Array, Array]  # (n_k,) each: α and β, the eigenvalues
    T: Array  # (n_1, n_2)
    weight: float  # |Ω|
    y_square: float  # Σ y²

    @staticmethod
    def of(moments: Moments, scales: Sequence[Array]) -> Spectra:
        """From moments about 0 with the cross block and full covariances; O(n³)."""
        maps, values = [], []
        for G, d in zip(moments.scatters, scales, strict=True):
            alpha, P = np.linalg.eigh(d[:, None] * G * d)
            maps.append(d[:, None] * P)
            values.append(np.clip(alpha, 0, None))
        T = maps[0].T @ moments.thirds[0, 1][0] @ maps[1]
        y_square = float(moments.y_scatter[0, 0])
        return Spectra((maps[0], maps[1]), (values[0], values[1]), T, moments.weight, y_square)

    def transpose(self) -> Spectra:
        return Spectra(self.maps[::-1], self.values[::-1], self.T.T, self.weight, self.y_square)

    def proxy_factors(self, r: int, ridge: float = 0.0) -> Factors:
        """JDR's start: the truncated proxy, whitened by the Gram matrices because the model has no constant.

        On a complete grid, without a ridge, that is the minimum for λ = 0.
        """
        whiten = [
            np.divide(1.0, np.sqrt(v + ridge * v.mean()), out=np.zeros_like(v), where=v > 1e-10 * v.max())
            for v in self.values
        ]
        U, s, Vt = np.linalg.svd(whiten[0][:, None] * self.T * whiten[1], full_matrices=False)
        root = np.sqrt(self.weight * s[:r])
        return balance(whiten[0][:, None] * U[:, :r] * root, whiten[1][:, None] * Vt[:r].T * root)

    def factors_of(self, U: Array, V: Array) -> Factors:
        """The factors with these spans that fit best (on a complete grid, or for independent pairs)."""
        Q = [np.linalg.qr(np.linalg.lstsq(m, X, rcond=None)[0])[0] for m, X in zip(self.maps, (U, V), strict=True)]
        G = [(q.T * v) @ q for q, v in zip(Q, self.values, strict=True)]
        core = np.linalg.pinv(G[0]) @ (Q[0].T @ self.T @ Q[1]) @ np.linalg.pinv(G[1]) * self.weight
        return balance(Q[0] @ core, Q[1])

    def random_factors(self, r: int, rng: np.random.Generator) -> Factors:
        """Random spans, with the factors that fit best."""
        U, V = (m @ rng.standard_normal((m.shape[1], r)) for m in self.maps)
        return self.factors_of(U, V)


def balancing_maps(W: Array, H: Array) -> Factors:
    """F and G, (r, r) each, for which W F and H G have the same product and the smallest norms; O(n r²).

    Both then have orthogonal columns of equal lengths, the roots of the singular values of the product, decreasing.
    Least squares alone hardly moves along the factors of one product, so that sweeps without this end slowly.
    """
    R, S = (np.asarray(np.linalg.qr(X, mode="r")) for X in (W, H))
    U, s, Vt = np.linalg.svd(R @ S.T)
    inverse = np.divide(1.0, np.sqrt(s), out=np.zeros_like(s), where=s > 1e-12 * s[0])
    return S.T @ (Vt.T * inverse), R.T @ (U * inverse)


def balance(W: Array, H: Array) -> Factors:
    """The factors of the same product with the smallest norms."""
    F, G = balancing_maps(W, H)
    return W @ F, H @ G


@dataclass(frozen=True)
class HalfStep:
    """Least squares for W with H fixed: W, H turned so that its Gram matrix is diagonal, and that rotation.

    `curvature` is the Hessian of the squared errors, α sᵀ, and `linear` is T H.
    """

    H: Array
    rotation: Array
    curvature: Array
    linear: Array

    @staticmethod
    def at(spectra: Spectra, H: Array) -> HalfStep:
        """O(n² r)."""
        alpha, beta = spectra.values
        s, R = np.linalg.eigh((H.T * beta) @ H / spectra.weight)
        H = H @ R
        return HalfStep(H, R, alpha[:, None] * np.clip(s, 0, None), spectra.T @ H)

    def divide(self, M: Array, penalty: float) -> Array:
        """M divided by the Hessian; 0 where that is 0."""
        hessian = self.curvature + 0.5 * penalty
        return np.divide(M, hessian, out=np.zeros_like(M), where=hessian > 1e-14 * hessian.max())


def on_grid(spectra: Spectra, start: Factors, penalty: float, n_iter: int, tol: float) -> tuple[Factors, Array]:
    """Sweeps on a complete grid, from moments alone; O(n² r) each.

    Returns
    -------
    factors : (W, H)
    objective : (sweeps,) array
        After each sweep.
    """
    W, H = start
    turned = spectra.transpose()
    objective: list[float] = []
    for _ in range(n_iter):
        step = HalfStep.at(spectra, H)
        W, H = step.divide(step.linear, penalty), step.H
        step = HalfStep.at(turned, W)
        H, W = step.divide(step.linear, penalty), step.H
        error = spectra.y_square + float(np.sum(H * (step.curvature * H - 2 * step.linear)))
        W, H = balance(W, H)
        objective.append(error + _penalty(W, H, penalty))
        if _has_converged(objective, tol):
            break
    return (W, H), np.array(objective)


def on_pairs(
    spectra: Spectra, pairs: Pairs, start: Factors, penalty: float, n_iter: int, tol: float
) -> tuple[Factors, Array]:
    """Sweeps on observed pairs: O(m n r + |Ω| r) for each iteration of a half-step.

    The moments only precondition. Parameters and returns otherwise as in `on_grid`.
    """
    factors = list(start)
    Z = [pairs.embed(k, spectra.maps[k] @ factors[k]) for k in (0, 1)]
    error = pairs.y - pairs.products(Z[0], Z[1])
    sides = (spectra, spectra.transpose())
    objective: list[float] = []
    for _ in range(n_iter):
        for k in (0, 1):
            step = HalfStep.at(sides[k], factors[1 - k])
            factors[k], Z[k] = factors[k] @ step.rotation, Z[k] @ step.rotation
            factors[1 - k], Z[1 - k] = step.H, Z[1 - k] @ step.rotation
            error = _conjugate_gradients(pairs, k, spectra.maps[k], step, factors, Z, error, penalty)
        for k, F in enumerate(balancing_maps(factors[0], factors[1])):
            factors[k], Z[k] = factors[k] @ F, Z[k] @ F
        objective.append(float(error @ error) + _penalty(factors[0], factors[1], penalty))
        if _has_converged(objective, tol):
            break
    return (factors[0], factors[1]), np.array(objective)


def proxy_start(spectra: Spectra, pairs: Pairs, r: int) -> Factors:
    """The proxy with the ridge of `RIDGES`, and in the scale, that fits the observed pairs best."""
    best, start = -1.0, None
    for ridge in RIDGES:
        W, H = spectra.proxy_factors(r, ridge)
        f = pairs.products(pairs.embed(0, spectra.maps[0] @ W), pairs.embed(1, spectra.maps[1] @ H))
        product, square = float(pairs.y @ f), float(f @ f)
        gain = product * max(product, 0.0) / (square or 1.0)
        if gain > best:
            root = np.sqrt(max(product, 0.0) / (square or 1.0))
            best, start = gain, (root * W, root * H)
    assert start is not None
    return start


def _conjugate_gradients(
    pairs: Pairs,
    k: int,
    to_features: Array,
    step: HalfStep,
    factors: list[Array],
    Z: list[Array],
    error: Array,
    penalty: float,
) -> Array:
    """Improve factor k in place, and the coordinates Z[k] with it; the remaining errors of the pairs."""
    # Not scipy.sparse.linalg.cg: it does not hand out the products with its directions, so that the errors of the pairs
    # would be computed once more after every half-step, which takes 1.1 to 1.4 times as long for the same result.
    W, other = factors[k], Z[1 - k]

    def gradient() -> Array:
        return to_features.T @ pairs.gather(k, error, other) - 0.5 * penalty * W

    direction, before, first = np.zeros_like(W), np.inf, 0.0
    for iteration in range(CG_ITERATIONS):
        g = gradient()
        d = step.divide(g, penalty)
        now = float(np.sum(g * d))
        if iteration == 0:
            first = now
        if not now > (CG_REDUCTION if iteration else 0.0) * first:
            break
        direction = d + (now / before) * direction
        before = now
        dZ = pairs.embed(k, to_features @ direction)
        change = pairs.products(dZ, other) if k == 0 else pairs.products(other, dZ)
        curvature = float(change @ change) + 0.5 * penalty * float(np.sum(direction**2))
        if not curvature > 0:  # squares of so small a step vanish
            break
        length = now / curvature
        W += length * direction
        Z[k] += length * dZ
        error = error - length * change
    return error


def _penalty(W: Array, H: Array, penalty: float) -> float:
    return 0.5 * penalty * float(np.sum(W**2) + np.sum(H**2))


def _has_converged(objective: list[float], tol: float) -> bool:
    return tol > 0 and len(objective) > 1 and objective[-2] - objective[-1] <= tol * abs(objective[-1])


class Pairs:
    """Observed pairs of two entity tables as an operator; no |Ω| × (n r) matrix is ever formed.

    Parameters
    ----------
    Y : (m_A, m_B) CSR array that stores the observed pairs
    A, B : (m_A, n_1) and (m_B, n_2) arrays or CSR matrices
    """

    def __init__(self, Y: Array, A: Array, B: Array) -> None:
        dtype = float_dtype(A, B)
        self.tables = tuple(as_float(X, dtype) for X in (A, B))
        self.shape = Y.shape
        self.y = Y.data.astype(float)
        self.columns, self.ends = Y.indices, Y.indptr
        self.rows = csr_rows(Y)

    def embed(self, k: int, W: Array) -> Array:
        """A W or B W, (m_k, r)."""
        X = self.tables[k]
        return np.asarray(X @ W.astype(X.dtype, copy=False), dtype=float)

    def products(self, L: Array, R: Array) -> Array:
        """l_iᵀ r_j of every observed pair, (|Ω|,)."""
        out = np.empty(len(self.y))
        m_A, m_B = self.shape
        dense = len(self.y) > DENSE_ABOVE * m_A * m_B
        per_row = m_B if dense else 2 * L.shape[1] * max(1, len(self.y) // m_A)
        for at in slices(m_A, max(1, LARGE_BLOCK_BYTES // (8 * per_row))):
            pairs = slice(self.ends[at.start], self.ends[at.stop])
            i, j = self.rows[pairs], self.columns[pairs]
            out[pairs] = (L[at] @ R.T)[i - at.start, j] if dense else np.einsum("pr,pr->p", L[i], R[j])
        return out

    def gather(self, k: int, e: Array, other: Array) -> Array:
        """Σ_Ω a_i e_ij z_jᵀ for k = 0, Σ_Ω b_j e_ij z_iᵀ for k = 1, (n_k, r)."""
        E = sparse.csr_array((e, self.columns, self.ends), shape=self.shape)
        X = self.tables[k]
        sums = (E if k == 0 else E.T) @ other
        return np.asarray(inner(X, sums.astype(X.dtype, copy=False)), dtype=float)

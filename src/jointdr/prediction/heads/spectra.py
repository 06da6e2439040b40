"""Kernel ridge regression of the scores of pairs, with one kernel for rows and one for columns.

With eigenvectors Q of both kernels, eigenvalues s and t, and Z = Q_Aᵀ R Q_B of the scores R, a prediction is
k(a)ᵀ C k(b) with C = Q_A (Z ∘ f) Q_Bᵀ on a complete grid:

    Kronecker ridge   f = 1/(s tᵀ + λ)            min Σ (r_ij − g(a_i, b_j))² + λ‖g‖²
    two-step ridge    f = 1/((s + λ_A)(t + λ_B)ᵀ)   ridge regression on rows, then on columns

Where only some pairs are observed, Kronecker ridge takes conjugate gradients, preconditioned by the same filter.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from jointdr.data import By
from jointdr.runtime import Array, dense

# Eigenvalues below this share of the largest are left out, so that an indefinite matrix of similarities is replaced
# by the nearest kernel.
SMALLEST = 1e-7

EXACTLY, LANDMARKS = 2500, 1500  # entities whose kernel is decomposed as it is, and columns of it for more of them

# Fits to more entities of a kind take single precision, which is that of their scores at best, and half the time and
# memory.
SINGLE = 700

ITERATIONS = 500  # of conjugate gradients, at most
# The residual at which they end: for a fitted model, for one of many entities, and where settings are compared.
EXACT, FINE, ROUGH = 3e-7, 1e-5, 3e-3
ENOUGH = 1e-3  # a warning is given if it has not fallen to this


@dataclass(frozen=True)
class KernelSpectrum:
    """The positive eigenvalues of a kernel between known entities, and their eigenvectors."""

    values: Array  # (q,)
    vectors: Array  # (m, q)

    @staticmethod
    def of(K: Array, most: int = EXACTLY, landmarks: int = LANDMARKS) -> KernelSpectrum:
        """All of them for up to `most` entities, in O(m³); otherwise those of Nyström's approximation, in O(m p²)."""
        if len(K) <= most:
            return KernelSpectrum(*_positive(K))
        at = np.sort(np.random.RandomState(0).choice(len(K), landmarks, replace=False))
        values, Q = _positive(K[np.ix_(at, at)])
        X = K[:, at] @ (Q / np.sqrt(values))
        squares, V = _positive(X.T @ X)
        return KernelSpectrum(squares, X @ (V / np.sqrt(squares)))


def _positive(K: Array) -> tuple[Array, Array]:
    """The positive eigenvalues of a symmetric matrix, and their eigenvectors."""
    values, Q = np.linalg.eigh(K)
    least = max(SMALLEST, 10.0 * float(np.finfo(values.dtype).eps))
    kept = values > least * max(float(values[-1]), float(np.finfo(float).tiny))
    return (values, Q) if kept.all() else (values[kept], Q[:, kept])


def negative_share(K: Array, most: int) -> float:
    """The share of a matrix of similarities that no kernel has: negative eigenvalues, by absolute values.

    Of at most so many of the entities: O(most³).
    """
    at = np.linspace(0, K.shape[0] - 1, min(most, K.shape[0])).astype(int)
    values = np.linalg.eigvalsh(np.asarray(dense(K[at][:, at]), dtype=float))
    total = float(np.abs(values).sum())
    return float(-values[values < 0].sum()) / total if total > 0 else 0.0


def kronecker_filter(a: KernelSpectrum, b: KernelSpectrum, penalty: float, share: float = 1.0) -> Array:
    """f of Kronecker ridge; `share` is that of the observed pairs, where it preconditions."""
    f = np.multiply.outer(share * a.values, b.values)
    f += penalty
    return np.divide(1.0, f, out=f)


def two_step_filter(a: KernelSpectrum, b: KernelSpectrum, penalties: tuple[float, float]) -> Array:
    """f of two-step ridge."""
    return np.multiply.outer(1.0 / (a.values + penalties[0]), 1.0 / (b.values + penalties[1]))


def apply_filter(a: KernelSpectrum, b: KernelSpectrum, R: Array, f: Array) -> Array:
    """C = Q_A ((Q_Aᵀ R Q_B) ∘ f) Q_Bᵀ, the coefficients of a ridge regression on a complete grid."""
    Z = a.vectors.T @ R @ b.vectors
    Z *= f
    return a.vectors @ Z @ b.vectors.T


def leave_out(
    by: By,
    a: KernelSpectrum,
    b: KernelSpectrum,
    R: Array,
    penalties: tuple[float, float],
    groups: tuple[Array | None, Array | None] = (None, None),
) -> Array:
    """Predictions of two-step ridge on a complete grid for what is left out, one at a time, without fitting again.

    Parameters
    ----------
    by : {"rows", "columns", "both", "pairs"}
        A prediction of (i, j) leaves out row i, column j, both, or the pair.
    a, b : KernelSpectrum
        Of kernels that do not depend on scores.
    R : (m_A, m_B) array
    penalties : pair of floats
    groups : pair of (m,) arrays of int, or None
        The group of each row and of each column, from 0: all of a group are left out together.

    Notes
    -----
    With H = K (K + λ)⁻¹ of each side, the prediction for row i without it is ((H_A R)_i − h_ii R_i)/(1 − h_ii) H_Bᵀ,
    for the rows g of a group without them (1 − H_gg)⁻¹ ((H_A R)_g − H_gg R_g) H_Bᵀ, and in the same way for columns.
    Two-step ridge is kernel ridge regression on pairs with the hat matrix H_A ⊗ H_B, so that leaving out one pair gives
    (F − h_ii h_jj R)/(1 − h_ii h_jj). O(m_A m_B (m_A + m_B)).

    References
    ----------
    Stock, Pahikkala, Airola, De Baets and Waegeman (2018). A comparative study of pairwise learning methods based on
    kernel ridge regression. Neural Computation 30, 2245-2283.
    """
    shrunken = [s.values / (s.values + penalty) for s, penalty in zip((a, b), penalties, strict=True)]
    F = a.vectors @ (shrunken[0][:, None] * (a.vectors.T @ R))
    if by in ("rows", "both"):
        F = _leave_out_rows(a, shrunken[0], F, R, groups[0])
    G = (F @ b.vectors * shrunken[1]) @ b.vectors.T
    if by in ("columns", "both"):
        return np.ascontiguousarray(_leave_out_rows(b, shrunken[1], G.T, F.T, groups[1]).T)
    if by == "pairs":
        hat = np.multiply.outer(_diagonal(a, shrunken[0]), _diagonal(b, shrunken[1]))
        return np.asarray((G - hat * R) / (1.0 - hat))
    return np.asarray(G)


def leave_out_with_mean(
    by: By,
    a: KernelSpectrum,
    b: KernelSpectrum,
    Y: Array,
    penalties: tuple[float, float],
    groups: tuple[Array | None, Array | None] = (None, None),
) -> Array:
    """The same for the scores Y, from which the mean of what is not left out is subtracted first."""
    left = leave_out(by, a, b, Y, penalties, groups)
    return left + means_without(by, Y, groups) * (1.0 - leave_out(by, a, b, np.ones_like(Y), penalties, groups))


def means_without(by: By, Y: Array, groups: tuple[Array | None, Array | None] = (None, None)) -> Array:
    """For every pair the mean of the scores of all pairs that are fitted when it is left out, (m_A, m_B)."""
    if by == "pairs":
        return np.asarray((Y.sum() - Y) / (Y.size - 1))
    new, sides = (by in ("rows", "both"), by in ("columns", "both")), []
    for m, is_new, codes in zip(Y.shape, new, groups, strict=True):
        labels = np.arange(m) if codes is None else codes
        sides.append(np.eye(int(labels.max()) + 1)[labels] if is_new else np.zeros((m, 1)))  # (m, groups)
    a, b = sides
    left = [side.sum(axis=0) for side in sides]  # how many entities are left out together
    total = Y.sum() - (a.T @ Y).sum(axis=1)[:, None] - (Y @ b).sum(axis=0) + a.T @ Y @ b
    count = np.multiply.outer(Y.shape[0] - left[0], Y.shape[1] - left[1])
    at = [side.argmax(axis=1) for side in sides]
    return np.asarray((total / np.maximum(count, 1))[np.ix_(*at)])


def _diagonal(spectrum: KernelSpectrum, shrunken: Array) -> Array:
    return np.asarray(np.einsum("ij,ij,j->i", spectrum.vectors, spectrum.vectors, shrunken))


def _leave_out_rows(spectrum: KernelSpectrum, shrunken: Array, fitted: Array, R: Array, groups: Array | None) -> Array:
    """H R for what is left out: each row without itself, or without all of its group."""
    h = _diagonal(spectrum, shrunken)[:, None]
    found = (fitted - h * R) / (1.0 - h)
    for group in [] if groups is None else np.flatnonzero(np.bincount(groups) > 1):
        at = np.flatnonzero(groups == group)
        H = (spectrum.vectors[at] * shrunken) @ spectrum.vectors[at].T
        found[at] = np.linalg.solve(np.eye(len(at)) - H, fitted[at] - H @ R[at])
    return np.asarray(found)


def solve_kronecker(
    a: KernelSpectrum,
    b: KernelSpectrum,
    R: Array,
    mask: Array | None,
    penalty: float,
    tolerance: float = EXACT,
    right: Array | None = None,
) -> Array:
    """C of Kronecker ridge, (m_A, m_B).

    Parameters
    ----------
    a, b : KernelSpectrum
    R : (m_A, m_B) array
        Scores, 0 where they are not known.
    mask : (m_A, m_B) array or None
        1 for known pairs, 0 for others; None if all are known.
    penalty : float
        λ.
    tolerance : float
        The residual, in the preconditioner's norm and in units of that at 0, at which conjugate gradients end.
    right : (q_A, q_B) array, optional
        Instead of Φ_Aᵀ R Φ_B, with Φ = Q s^½: for the weights of known scores in a prediction.

    Notes
    -----
    O(m_A m_B (m_A + m_B)), in every iteration where only some pairs are known.
    """
    roots = np.sqrt(a.values), np.sqrt(b.values)
    dtype = a.vectors.dtype  # products of single with double precision would cost those of double precision, and copies
    R, mask = R.astype(dtype, copy=False), None if mask is None else mask.astype(dtype, copy=False)
    if mask is None and right is None:
        return apply_filter(a, b, R, kronecker_filter(a, b, penalty))
    phi, psi = a.vectors * roots[0], b.vectors * roots[1]
    right = phi.T @ R @ psi if right is None else right.astype(dtype, copy=False)
    if mask is None:
        M = right * kronecker_filter(a, b, penalty)
    else:
        M = _conjugate_gradients(
            phi, psi, right, mask, penalty, kronecker_filter(a, b, penalty, float(mask.mean())), tolerance
        )
    return (a.vectors / roots[0]) @ M @ (b.vectors / roots[1]).T


def _conjugate_gradients(
    phi: Array, psi: Array, right: Array, mask: Array, penalty: float, f: Array, tolerance: float
) -> Array:
    """M with Φᵀ(W ∘ (Φ M Ψᵀ))Ψ + λM = right."""
    root = np.sqrt(f)  # scaled by it on both sides, residuals have the length that the preconditioner measures

    def apply(x: Array) -> Array:
        M = x.reshape(right.shape) * root
        P = (phi @ M) @ psi.T
        P *= mask
        return np.asarray((phi.T @ (P @ psi) + penalty * M) * root).ravel()

    b = (right * root).ravel()
    operator = LinearOperator((b.size, b.size), matvec=apply, dtype=b.dtype)
    x, unfinished = cg(operator, b, rtol=tolerance, atol=0.0, maxiter=ITERATIONS)
    if unfinished and np.linalg.norm(b - apply(x)) > ENOUGH * np.linalg.norm(b):
        warnings.warn(
            f"Ridge regression on observed pairs has not converged after {ITERATIONS} iterations: raise the penalty.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return x.reshape(right.shape) * root

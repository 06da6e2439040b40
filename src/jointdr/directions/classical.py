"""The classical methods, each a function from moments to an `Embedding`, as JDR is.

All but PCA work on normalized features z = Wᵀ(x − µ) and map their directions back by W. So they do not depend on the
units of the features, or on any other invertible affine map of a view. Each view is treated by itself here; `joint` has
the methods for all views together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from jointdr.directions.embedding import Embedding, Factor, map_back, sign_factors
from jointdr.directions.normalize import Whitener, require_rank, whiteners
from jointdr.directions.options import Options
from jointdr.directions.predictions import Linear, Quadratic
from jointdr.directions.svd import left_vectors
from jointdr.moments import Moments, merged
from jointdr.runtime import Array

NEW_DIRECTION = 1e-10
"""The rest of a vector outside a subspace counts as a new direction above this share of its length."""


def pca(moments: Moments, options: Options) -> Embedding:
    """Principal components of each view: the leading eigenvectors of Σ_a; O(n³).

    The spectra are the standard deviations along the components. The response is not looked at.
    """
    moments = moments.central()
    factors = []
    for k, r in enumerate(options.ranks):
        values, E = np.linalg.eigh(moments.covariance(k))
        factors.append((E[:, ::-1][:, :r], np.sqrt(np.clip(values[::-1][:r], 0, None))))
    maps = [
        Whitener(mean, None, np.sqrt(np.clip(moments.variances(k), 0, None))) for k, mean in enumerate(moments.means)
    ]
    return map_back(maps, sign_factors(maps, factors))


def ols(moments: Moments, options: Options) -> Embedding:
    """Ordinary least squares in each view: Σ_a⁻¹ C_ay, one direction per response (Li and Duan, 1989); O(n³).

    With more responses than directions, the leading left singular vectors of the coefficients of the normalized
    features; the spectrum is in units of y. Needs the ``"means"`` block.
    """
    maps = maps_of(moments, options)
    moments = moments.central()
    require_directions(
        options,
        independent_responses(moments),
        "there is one direction per response. Lower n_components, or use SIR, PHD or IHT, which find several",
    )
    columns = [m.pull(moments.response_covariance(k)) for k, m in enumerate(maps)]
    return _linear(maps, columns, options, moments.y_mean)


def sir(moments: Moments, options: Options) -> Embedding:
    """Sliced inverse regression (Li, 1991): leading eigenvectors of Σ_h p_h µ_h µ_hᵀ; O(n³ + n² H).

    p_h is the share of slice h and µ_h the mean of the normalized features in it. The spectrum is the square root of
    the eigenvalues, between 0 and 1.

    Parameters
    ----------
    moments : Moments
        With the ``"means"`` block, the responses being the indicators of the slices: C_ay holds p_h µ_h then.
    options : Options
    """
    maps = maps_of(moments, options)
    moments = moments.central()
    p = moments.y_mean
    if not np.allclose(moments.y_covariance(), np.diag(p) - np.outer(p, p), rtol=0, atol=1e-8):
        raise ValueError(
            "SIR needs moments whose responses are the indicators of the slices of y, one column of 0 and 1 for each "
            "slice: compute them from such columns with blocks=('means',), or use fit."
        )
    slices = int(np.count_nonzero(p > 0))
    require_directions(
        options, max(1, slices - 1), f"{slices} slices show one less than that. Lower n_components or raise n_slices"
    )
    root = np.sqrt(p)
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    columns = [m.pull(moments.response_covariance(k)) * scale for k, m in enumerate(maps)]
    return _linear(maps, columns, options, root)


def phd(moments: Moments, options: Options, residual: bool = False) -> Embedding:
    """Principal Hessian directions of each view (Li, 1992): eigenvectors of E[e z zᵀ] by absolute eigenvalue; O(n³).

    Parameters
    ----------
    moments : Moments
        With the ``"within"`` block. e is y − µ, or what `residuals` made of it.
    options : Options
    residual : bool
        Whether every view has residuals of its own: the first q/K responses are the first view's, and so on.
    """
    maps = maps_of(moments, options)
    moments = moments.central()
    own = moments.n_responses // moments.n_views
    factors, cores = [], []
    for k, r in enumerate(options.ranks):
        T = moments.third(k, k)
        M = _whiten(maps[k], T[k * own : (k + 1) * own] if residual else T)
        (U, s), *_ = sign_factors(maps[k : k + 1], [principal_directions(M, r)])
        factors.append((U, s))
        cores.append(U.T @ M @ U)
    core = np.stack([linalg.block_diag(*of_response) for of_response in zip(*cores, strict=True)])
    return map_back(maps, factors, Quadratic(core, np.zeros(own) if residual else moments.y_mean))


def iht(moments: Moments, options: Options) -> Embedding:
    """Iterative Hessian transformation (Cook and Li, 2002): the span of β, Hβ, H²β, ... in each view; O(n³).

    β are the coefficients of least squares on normalized features and H = E[(y − µ) z zᵀ]; with several responses, all
    products of them. The basis of the span is turned so that it shows the singular values of [β, H] inside it, in units
    of y. Needs the ``"within"`` block.
    """
    maps = maps_of(moments, options)
    moments = moments.central()
    columns = []
    for k, (m, r) in enumerate(zip(maps, options.ranks, strict=True)):
        H, beta = _whiten(m, moments.third(k, k)), m.pull(moments.response_covariance(k))
        Q = krylov_basis(H, beta, r)
        columns.append(Q @ (Q.T @ np.hstack([beta, *H])))
    return map_back(maps, leading_directions(maps, columns, options))


def save(parts: Sequence[Moments], options: Options) -> Embedding:
    """Sliced average variance estimation (Cook and Weisberg, 1991): eigenvectors of Σ_h p_h (I − V_h)²; O(n³ H).

    V_h is the covariance of the normalized features within slice h, divided by its number of rows. The spectrum is the
    square root of the eigenvalues.

    Parameters
    ----------
    parts : sequence of Moments
        Those of each slice, with full covariances.
    options : Options
    """
    whole = merged(parts)
    maps = maps_of(whole, options)
    slices = [(np.sqrt(part.weight / whole.weight), part.central()) for part in parts if part.weight > 0]
    columns = []
    for k, m in enumerate(maps):
        I_r = _whiten(m, whole.central().covariance(k))  # the identity, unless there is a ridge
        columns.append(np.hstack([root * (I_r - _whiten(m, part.covariance(k))) for root, part in slices]))
    return map_back(maps, leading_directions(maps, columns, options))


def krylov_basis(H: Array, beta: Array, n_components: int) -> Array:
    """An orthonormal basis of span{β, Hβ, H²β, ...}, ended at this many columns, or where the span ends.

    Parameters
    ----------
    H : (q, k, k) array
    beta : (k, q) array
    n_components : int
    """
    Q, block = np.zeros((len(beta), 0)), beta
    while Q.shape[1] < n_components:
        size = np.linalg.norm(block)
        for _ in range(2):  # once loses digits
            block = block - Q @ (Q.T @ block)
        U, s, _ = np.linalg.svd(block, full_matrices=False)
        U = U[:, s > NEW_DIRECTION * size][:, : n_components - Q.shape[1]]
        if U.shape[1] == 0:
            break
        Q, block = np.hstack([Q, U]), np.hstack(list(H @ U))
    return Q


def maps_of(moments: Moments, options: Options) -> tuple[Whitener, ...]:
    """The full normalization of each view, which has to leave as many directions as are asked for."""
    maps = whiteners(moments, options)
    require_rank(maps, options)
    return maps


def _whiten(m: Whitener, M: Array) -> Array:
    """Wᵀ M W, for one symmetric matrix or several."""
    return m.matrix.T @ M @ m.matrix


def principal_directions(M: Array, n_components: int) -> tuple[Array, Array]:
    """The r leading eigenvectors by absolute eigenvalue; singular vectors of all side by side, for several matrices."""
    if len(M) > 1:
        return left_vectors(np.hstack(list(M)), n_components)
    values, E = np.linalg.eigh(M[0])
    order = np.argsort(-np.abs(values), kind="stable")[:n_components]
    return E[:, order], np.abs(values[order])


def leading_directions(maps: Sequence[Whitener], columns: Sequence[Array], options: Options) -> list[Factor]:
    """The leading left singular vectors and values of each view's (k_k, many) columns, with signs as by `svd_flip`."""
    return sign_factors(maps, [left_vectors(M, r) for M, r in zip(columns, options.ranks, strict=True)])


def independent_responses(moments: Moments) -> int:
    """The number of linearly independent responses: indicators of H classes are H − 1. At least 1."""
    C = moments.y_covariance()
    deviations = np.sqrt(np.diag(C))
    scale = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    return max(1, int(np.linalg.matrix_rank(C * np.outer(scale, scale), tol=1e-10, hermitian=True)))


def require_directions(options: Options, found: int, why: str) -> None:
    """Refuse to look for more directions than a method can find."""
    r = max(options.ranks)
    if r > found:
        raise ValueError(f"n_components={r} is more than the {found} to be found: {why}.")


def _linear(maps: Sequence[Whitener], columns: Sequence[Array], options: Options, y_mean: Array) -> Embedding:
    """The leading directions of the (k_k, q) columns, and the coefficients of each response on them."""
    factors = leading_directions(maps, columns, options)
    core = np.hstack([M.T @ U for M, (U, _) in zip(columns, factors, strict=True)])
    return map_back(maps, factors, Linear(core, np.asarray(y_mean)))

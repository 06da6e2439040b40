"""Classical methods on the features of all views together, whose directions are cut into one block per view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdr.directions.classical import (
    independent_responses,
    leading_directions,
    maps_of,
    principal_directions,
    require_directions,
)
from jointdr.directions.embedding import Embedding, map_back, project, signs_of
from jointdr.directions.normalize import Whitener, joint_whitening, regularize, whiteners
from jointdr.directions.options import Options
from jointdr.directions.predictions import Linear, Quadratic
from jointdr.engines import Grid, RowBlock
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, to_numpy


def joint_phd(moments: Moments, options: Options) -> Embedding:
    """Principal Hessian directions of the joined features [a; b] (the paper's cpHd), and their split; O((Σ n_k)³).

    As many joint directions as all views have together (2r) are kept in the prediction. Each is cut into its blocks,
    one per view; the embedding of a view is spanned by the leading left singular vectors of its blocks, taken for
    normalized features.

    Parameters
    ----------
    moments : Moments
        With the ``"cross"`` and ``"within"`` blocks and the cross covariance.
    options : Options
    """
    maps = maps_of(moments, options)
    moments = moments.central()
    ends = np.cumsum(moments.n_features)[:-1]
    W = joint_whitening(moments, maps, options.ridge)
    R = sum(options.ranks)
    if W.shape[1] < R:
        raise ValueError(
            f"n_components={options.ranks} asks for {R} joint directions, but all views together vary in "
            f"{W.shape[1]}: lower n_components, or give ridge to regularize a singular covariance."
        )
    parts = np.split(W, ends)
    # Every pair of views is kept once; with the transpose it counts twice, as the joined matrix has it.
    half = sum((0.5 if j == k else 1.0) * (parts[j].T @ moments.third(j, k) @ parts[k]) for j, k in moments.thirds)
    M = half + np.swapaxes(half, 1, 2)
    E, _ = principal_directions(M, R)
    E = E * signs_of(W @ E)
    D = W @ E
    columns = [_coordinates(moments, maps[k], k, options, block) for k, block in enumerate(np.split(D, ends))]
    prediction = Quadratic(E.T @ M @ E, moments.y_mean, D)
    return map_back(maps, leading_directions(maps, columns, options), prediction)


def sols(parts: Sequence[Moments], options: Options) -> Embedding:
    """Separable least squares: block k of Σ⁺ C_xy for view k, with the covariance Σ of all views; O((Σ n_k)³ H).

    Each subpopulation has its own least squares, with its own means and covariances. Their coefficients, one column per
    subpopulation and response, weigh as the square root of its share of the rows, so that a subpopulation cut at
    random counts as before. The embedding of a view is spanned by the leading left singular vectors of its blocks, for
    normalized features. The prediction is the regression of y on all coordinates.

    Parameters
    ----------
    parts : sequence of Moments
        Those of each subpopulation, with the ``"means"`` block and the cross covariance.
    options : Options
    """
    whole = merged(parts)
    maps = maps_of(whole, options)
    inside = {h: part for h, part in enumerate(parts) if part.weight > 0}
    require_directions(
        options,
        sum(independent_responses(part.central()) for part in inside.values()),
        "there is one direction per response and subpopulation. Lower n_components, or give groups= or n_slices=",
    )
    beta = np.hstack(
        [
            np.sqrt(part.weight / whole.weight) * coefficients(part, options, f"all views in subpopulation {h}")
            for h, part in inside.items()
        ]
    )
    whole = whole.central()
    blocks = np.split(beta, np.cumsum(whole.n_features)[:-1])
    columns = [_coordinates(whole, m, k, options, b) for k, (m, b) in enumerate(zip(maps, blocks, strict=True))]
    factors = leading_directions(maps, columns, options)
    core = _regression(whole, [m.push(U) for m, (U, _) in zip(maps, factors, strict=True)])
    return map_back(maps, factors, Linear(core, whole.y_mean))


def sols_of_entities(grid: Grid, moments: Moments, options: Options) -> Embedding:
    """Separable least squares on a grid, with the entities of the other kind as subpopulations; O(|Y| n + m n²).

    For the rows, every column entity is a subpopulation: least squares of its scores on the features of the rows,
    normalized by their covariance over all pairs; and the reverse for the columns. The embedding of each side is
    spanned by the leading left singular vectors of all of them, which weigh as in `sols`.

    Parameters
    ----------
    grid : Grid
    moments : Moments
        Of the grid, with the ``"means"`` block and the cross covariance.
    options : Options
    """
    maps = maps_of(moments, options)
    require_directions(options, min(grid.Y.shape), "there is one direction per entity of the other kind")
    columns = [m.pull(grid.entity_covariances(k)) for k, m in enumerate(maps)]
    factors = leading_directions(maps, columns, options)
    whole = moments.central()
    core = _regression(whole, [m.push(U) for m, (U, _) in zip(maps, factors, strict=True)])
    return map_back(maps, factors, Linear(core, whole.y_mean))


def coefficients(moments: Moments, options: Options, what: str = "all views together") -> Array:
    """Least squares of y on all views together: Σ⁺ C_xy, (Σ n_k, q). A warning names what is singular."""
    maps = whiteners(moments, replace(options, normalize="feature", ridge=0.0))
    moments = moments.central()
    W = joint_whitening(moments, maps, options.ridge, what)
    return W @ (W.T @ np.concatenate([moments.response_covariance(k) for k in range(moments.n_views)]))


@dataclass(frozen=True)
class Residuals:
    """The residuals of least squares of the responses of a block, O(rows · n).

    (rows, q) if `joint`, the residuals of one fit on all views together; otherwise (rows, K q), view after view.
    """

    betas: tuple[Array, ...]
    means: tuple[Array, ...]
    y_mean: Array
    joint: bool
    needs_views = True

    def __call__(self, block: RowBlock) -> Array:
        parts = zip(block.views, self.means, self.betas, strict=True)
        fits = [to_numpy(project(X, mean, b)) for X, mean, b in parts]
        y = block.y - self.y_mean
        return y - sum(fits) if self.joint else np.hstack([y - fit for fit in fits])


def residuals(moments: Moments, options: Options, joint: bool) -> Residuals:
    """Least squares for residual pHd.

    Parameters
    ----------
    moments : Moments
        With the ``"means"`` block, and the cross covariance if `joint`.
    options : Options
    joint : bool
        Whether all views explain y together, or each by itself.
    """
    if joint:
        betas = np.split(coefficients(moments, options), np.cumsum(moments.n_features)[:-1])
    else:
        maps, central = maps_of(moments, options), moments.central()
        betas = [m.push(m.pull(central.response_covariance(k))) for k, m in enumerate(maps)]
    return Residuals(tuple(betas), moments.means, moments.y_mean, joint)


def _coordinates(moments: Moments, m: Whitener, k: int, options: Options, D: Array) -> Array:
    """The directions of normalized features that are these directions D of features: U with W U = D."""
    return m.pull(regularize(moments, k, options.ridge, m.deviations == 0)[0] @ D)


def _regression(moments: Moments, bases: Sequence[Array]) -> Array:
    """Least squares of y on the embedded coordinates of all views together, (q, R)."""
    views = range(moments.n_views)

    def covariance(j: int, k: int) -> Array:
        if j == k:
            return moments.covariance(k)
        return moments.cross_covariance(j, k) if j < k else moments.cross_covariance(k, j).T

    G = np.block([[bases[j].T @ covariance(j, k) @ bases[k] for k in views] for j in views])
    c = np.concatenate([bases[k].T @ moments.response_covariance(k) for k in views])
    return np.linalg.lstsq(G, c, rcond=None)[0].T

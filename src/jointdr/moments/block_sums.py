"""The products over one block of rows: all arithmetic of a reduction that touches data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import numpy as np
from array_api_compat import device

from jointdr.runtime import (
    LARGEST_WEIGHT,
    Array,
    PlainState,
    Scratch,
    as_float,
    check_flag,
    column_means,
    float_dtype,
    inner,
    is_sparse,
    like,
    namespace,
    scale_rows,
    subtract_rows,
    sum_of_squares,
    to_numpy,
    weighted_square,
)

Covariance = Literal["full", "diagonal"] | None
BLOCKS = ("cross", "within", "means")
COVARIANCES = ("full", "diagonal")


@dataclass(frozen=True)
class Keep(PlainState):
    """Which moments are computed.

    Parameters
    ----------
    blocks : collection of {"cross", "within", "means"}
        ``"cross"``: T_ayb for every pair of views; ``"within"``: T_aya of every view; ``"means"``: C_ay
        of every view, which the other two imply. Empty: the response is not looked at.
    covariance : {"full", "diagonal", None} or one of them per view
        How much of Σ_a is kept. ``"within"`` needs ``"full"``, or None where the centre of y stays where it is.
    cross_covariance : bool
        Whether C_ab is kept for every pair of views. It is one more product of the size of T_ayb, and it
        is what lets moments be merged or translated whose responses have different centres.
    """

    blocks: frozenset[str] = frozenset({"cross"})
    covariance: tuple[Covariance, ...] = ("full", "full")
    cross_covariance: bool = True

    @staticmethod
    def of(
        n_views: int,
        blocks: Iterable[str] = ("cross",),
        covariance: Covariance | Sequence[Covariance] = "full",
        cross_covariance: bool = True,
    ) -> Keep:
        """Check the three choices and spread a single covariance over the views."""
        names = [blocks] if isinstance(blocks, str) else list(blocks) if isinstance(blocks, Iterable) else [blocks]
        if not all(isinstance(name, str) and name in BLOCKS for name in names):
            raise ValueError(f"blocks={blocks!r} is not understood; choose from {list(BLOCKS)}.")
        chosen = frozenset(names)
        check_flag("cross_covariance", cross_covariance)
        per_view: Any = tuple(covariance) if isinstance(covariance, (list, tuple)) else (covariance,) * n_views
        known = all(c is None or (isinstance(c, str) and c in COVARIANCES) for c in per_view)
        if len(per_view) != n_views or not known:
            raise ValueError(
                f"covariance={covariance!r} is not understood for {n_views} views; give 'full', 'diagonal' or None, "
                "or one of them per view."
            )
        if "within" in chosen and "diagonal" in per_view:
            raise ValueError("blocks with 'within' need covariance='full': merging T_aya takes C_aa.")
        return Keep(chosen, per_view, cross_covariance and n_views > 1)


def block_sums(
    views: Sequence[Array],
    y: Array | None,
    weight: Array | None,
    keep: Keep,
    center: Sequence[Array] | Literal[0] | None,
    y_center: Array | None,
    scratch: Scratch,
) -> dict[str, Any]:
    """The fields of a `Moments` of these rows, with parameters as there, about the centre, or 0 for sparse views."""
    xp, dtype = namespace(*views), float_dtype(*views)
    Y, w = _response(views, y, keep), _weight(views, weight)
    rows, q = Y.shape
    if rows == 0:
        center = 0  # there is no mean
    total = float(rows) if w is None else float(xp.sum(w))
    if y_center is None:
        y_center = xp.sum(Y if w is None else Y * w[:, None], axis=0) / (total or 1.0)
    if type(y_center) is not type(Y) or y_center.shape != (q,):
        y_center = xp.zeros_like(xp.sum(Y, axis=0)) + like(y_center, Y)
    Y = Y - y_center
    # A weight is a row scaled by its square root, once the row is centred; the constant 1 is a column too.
    root = xp.ones((rows, 1), dtype=xp.float64, device=device(Y)) if w is None else xp.sqrt(w)[:, None]
    left = as_float(xp.concat([root, root * Y], axis=1), dtype)

    centers, centred = [], []
    for k, X in enumerate(views):
        X = as_float(X, dtype)
        if is_sparse(X) or isinstance(center, int):
            centers.append(like(np.zeros(X.shape[1]), Y))
        else:
            if center is None:
                c = column_means(X, w, total)
                double = as_float(c, xp.float64)
            else:
                c, double = scratch.center(center[k], k, X)
            X = subtract_rows(X, c, out=scratch.like(X, k))
            centers.append(double)
        centred.append(X if w is None else scale_rows(X, left[:, 0]))

    def product(X: Array, Z: Array) -> Array:
        return as_float(inner(X, Z), xp.float64)

    def scatter(X: Array, kind: Covariance) -> Array | None:
        if kind is None:
            return None
        return product(X, X) if kind == "full" else as_float(sum_of_squares(X), xp.float64)

    pairs = list(combinations(range(len(views)), 2))
    wanted = pairs if "cross" in keep.blocks else []
    if "within" in keep.blocks:
        wanted = wanted + [(k, k) for k in range(len(views))]
    thirds: dict[tuple[int, int], list[Array]] = {pair: [] for pair in wanted}
    for j in sorted({j for j, _ in wanted}):
        others = [k for i, k in wanted if i == j and k != j]
        for i in range(q):
            buffer = scratch.like(centred[j], "weighted")
            if (j, j) in thirds:
                thirds[j, j].append(weighted_square(centred[j], Y[:, i], out=buffer))
            if others:
                weighted = scale_rows(centred[j], as_float(Y[:, i], dtype), out=buffer)
            for k in others:
                thirds[j, k].append(product(weighted, centred[k]))
    first = [product(X, left) for X in centred]
    return {
        "n_samples": rows,
        "weight": total,
        "weight_squared": total if w is None else float(xp.sum(w * w)),
        "eps": float(xp.finfo(dtype).eps),
        "centers": tuple(centers),
        "y_center": y_center,
        "sums": tuple(G[:, 0] for G in first),
        "y_sum": xp.sum(root * root * Y, axis=0),
        "scatters": tuple(scatter(X, kind) for X, kind in zip(centred, keep.covariance, strict=True)),
        "y_scatters": tuple(G[:, 1:] for G in first),
        "y_scatter": (root * Y).T @ (root * Y),
        "cross_scatters": MappingProxyType(
            {(j, k): product(centred[j], centred[k]) for j, k in pairs} if keep.cross_covariance else {}
        ),
        "thirds": MappingProxyType({pair: xp.stack(Ts) for pair, Ts in thirds.items()}),
    }


def _response(views: Sequence[Array], y: Array | None, keep: Keep) -> Array:
    """The response as a (rows, q) float64 array beside the views; q is 0 if it is not looked at."""
    rows = views[0].shape[0]
    if any(X.shape[0] != rows for X in views):
        raise ValueError(f"views have different numbers of rows: {[X.shape[0] for X in views]}.")
    float64 = namespace(*views).float64
    if not keep.blocks:
        return like(np.zeros((rows, 0)), views[0], dtype=float64)
    if y is None:
        raise ValueError(f"blocks={sorted(keep.blocks)} need the response y.")
    Y = like(y, views[0], dtype=float64)
    if Y.shape[0] != rows:
        raise ValueError(f"y has {Y.shape[0]} rows but the views have {rows}.")
    return Y[:, None] if Y.ndim == 1 else Y


def _weight(views: Sequence[Array], weight: Array | None) -> Array | None:
    if weight is None:
        return None
    try:
        if "complex" in str(getattr(weight, "dtype", "")):
            raise TypeError
        w = like(weight, views[0], dtype=namespace(*views).float64)
    except (TypeError, ValueError):
        raise ValueError("weight should hold one number per row, but some of it is no number.") from None
    if w.shape != (views[0].shape[0],):
        raise ValueError(f"weight has shape {tuple(w.shape)} but the views have {views[0].shape[0]} rows.")
    if not bool(namespace(w).all((w >= 0) & (w <= LARGEST_WEIGHT))):  # once, because asking synchronizes a device
        _refuse_weight(to_numpy(w))
    return w


def _refuse_weight(w: Array) -> NoReturn:
    """Say which weights cannot be."""
    if not np.isfinite(w).all():
        raise ValueError(f"weight contains NaN or infinity (first at row {int(np.argmin(np.isfinite(w)))}).")
    if w.min() < 0:
        raise ValueError(f"weight must not be negative, but row {int(np.argmin(w))} has {w.min():g}.")
    raise ValueError(
        f"weight goes up to {w.max():g}, whose square is no longer exact: rescale the weights, for example to "
        "w / w.max(), which changes no result."
    )

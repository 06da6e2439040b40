"""JDR from top to bottom: Algorithm 1, its sketched variant (Algorithm 2) and feature selection (Algorithm 3).

On two views in memory and one response Algorithm 1 is ::

    A, B, y = A - A.mean(axis=0), B - B.mean(axis=0), y - y.mean()       # 1.1, 1.2
    C_a, C_b = cholesky(A.T @ A / m), cholesky(B.T @ B / m)              # 1.3, 1.4: a' = C_a^-1 a
    X0 = solve(C_a, (A.T * y) @ B / m) @ inv(C_b).T                      # 2.1: the proxy
    U, S, V = svd(X0, r)                                                 # 2.2
    U, V = solve(C_a.T, U), solve(C_b.T, V)                              # 2.3

Here the same steps take moments, which merge, so that the rows may lie in files or on a cluster and are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from jointdr.directions import many_views, proxy, selection, tensor
from jointdr.directions.choices import decide, folds
from jointdr.directions.embedding import Embedding, map_back, sign_factors, sign_pairs
from jointdr.directions.finite import require_finite, warn_no_signal
from jointdr.directions.normalize import Whitener, require_rank, whiteners
from jointdr.directions.options import Options
from jointdr.directions.predictions import Multilinear
from jointdr.directions.refine.link_functions import Link
from jointdr.directions.refine.sweeps import Refinement, refine_embedding
from jointdr.directions.svd import left_vectors, sketched_svd, svd
from jointdr.engines import Grid, Rows
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, is_accelerated

EXTENDABLE_PRODUCTS = 1e9
"""`fit` also computes what lets `partial_fit` continue (C_ab) while m·n₁·n₂ is at most this: a few milliseconds."""


@dataclass(frozen=True)
class Fitted:
    """A fit: the options with everything decided, the embedding, the moments it follows from, and the refinement.

    `parts` has the moments of each fold where something was decided on held-out folds, and is empty where the embedding
    does not follow from moments alone (a sketch, the proxy tensor). `n_sweeps` is the number of
    refinement sweeps that were accepted and `link` the link function of the refinement, None without one.
    """

    options: Options
    embedding: Embedding
    parts: list[Moments]
    n_sweeps: int = 0
    link: Link | None = None


def fit_jdr(rows: Rows | Grid, options: Options) -> Fitted:
    """JDR of these rows.

    Parameters
    ----------
    rows : Rows or Grid
        In memory, of a source, or the pairs of a `Dyads`. They are read once for the moments, again where the proxy is
        applied instead of formed (``options.solver``), for the proxy tensor of three and more views, and by refinement.
    options : Options

    Returns
    -------
    Fitted
    """
    parts = read_moments(rows, options)  # one reduction over the rows
    many, formed = len(options.ranks) > 2, options.solver == "exact"
    if formed and not many:
        options, embedding = solve_jdr(parts, options, next(filter(is_accelerated, rows.views), None))
    else:
        assert isinstance(rows, Rows)  # which can be read again
        if not ((merged(parts).y_variances > 0).any() if many else rows.varies()):
            warn_no_signal()
        if many:
            options, embedding = many_views.jdr_of_views(rows, parts, options)
        else:
            embedding = jdr_from_rows(rows, parts[0], options)
    kept = parts if formed and not many else []
    if not options.refine:
        return Fitted(options, embedding, kept)
    assert isinstance(rows, Rows)
    refine = many_views.refine_views if many else refine_pair
    embedding, found = refine(rows, parts, options, embedding)
    return Fitted(options, embedding, kept, found.accepted, found.link)


def read_moments(
    rows: Rows | Grid, options: Options, first_row: int = 0, mergeable: bool | None = None
) -> list[Moments]:
    """The moments that the options ask for, of all rows or of each fold, in one read.

    `first_row` is the index of the first row among those of earlier calls. `mergeable` moments can be merged with those
    of rows to come; by default they are unless that would cost a product of a large fit.
    """
    with np.errstate(all="ignore"):
        if options.holds_out:
            keep = options.moments_needed()
            parts = rows.fold_moments(options.n_folds, first_row, options.fold_seed, **keep)
        else:
            parts = [rows.moments(**options.moments_needed(_extendable(rows) if mergeable is None else mergeable))]
    require_finite(parts, rows, options)
    return parts


def _extendable(rows: Rows | Grid) -> bool:
    if isinstance(rows, Grid) or not rows.knows_mean:
        return True
    return len(rows) * float(np.prod([X.shape[1] for X in rows.views], dtype=float)) <= EXTENDABLE_PRODUCTS


def solve_jdr(parts: Sequence[Moments], options: Options, near: Array | None = None) -> tuple[Options, Embedding]:
    """Algorithm 1 or 3 from moments: the options with everything decided that was left to the data, and the embedding.

    Matrices are factored beside the array `near`, if it is given: an accelerator is faster than the host.
    """
    moments = merged(parts)
    if not (moments.y_variances > 0).any():
        warn_no_signal()
    if options.auto:
        options = decide(folds(parts, options), options)
    return options, jdr_from_moments(moments, options, near)


def jdr_from_moments(moments: Moments, options: Options, near: Array | None = None) -> Embedding:
    """Algorithm 1 (or 3, with features to select) on moments; O(n³), whatever the number of rows.

    Parameters
    ----------
    moments : Moments
        With the ``"cross"`` block and the covariance that the normalization needs; ``"joint"`` needs the
        ``"within"`` block and the cross covariance too.
    options : Options
    near : array, optional
        On the device where matrices are factored.
    """
    as_given = moments.to_numpy()
    moments = proxy.center_moments(as_given, options)
    maps = whiteners(as_given, options, moments if options.centred else None, near)  # steps 1.1 to 1.4
    blocks = proxy.normalize_moments(moments, maps, options)
    X = blocks.pair(0, 1)  # step 2.1
    if options.n_features_to_select is not None:  # Algorithm 3
        M = proxy.unitless(X, maps)
        chosen = selection.select([(slice(0, M.shape[1]), M)], *options.n_features_to_select)
        return _of_selection(chosen, maps, options, moments.y_center, lambda at: moments.select(at))
    require_rank(maps, options)
    if not options.is_plain or len(X) > 1:
        factors = [left_vectors(proxy.unfolding(blocks, k, options.uses), r) for k, r in enumerate(options.ranks)]
        if options.n_hooi:
            factors = tensor.hooi(X, factors, options.n_hooi)
        factors = sign_factors(maps, factors)
        core = factors[0][0].T @ X @ factors[1][0]
        return map_back(maps, factors, _prediction(core, moments.y_center, options, blocks.probes, factors))
    r = options.ranks[0]
    if options.solver == "exact":
        U, s, V = svd(X[0], r)  # step 2.2
    else:
        U, s, V = sketched_svd(aslinearoperator(X[0]), r, options.solver, options.n_iter, options.generator())
    factors = sign_pairs(maps, U, s, V)
    prediction = _prediction(np.diag(s)[None], moments.y_center, options, blocks.probes, factors)
    return map_back(maps, factors, prediction)  # step 2.3


def jdr_from_rows(rows: Rows, moments: Moments, options: Options) -> Embedding:
    """Algorithm 2 on data that can be read again: the proxy is applied, never formed.

    Parameters
    ----------
    rows : Rows
    moments : Moments
        The means and (co)variances of these rows, from a first read.
    options : Options

    Notes
    -----
    2 + 2·n_iter reads of the data, O(m n r) each. With features to select, the proxy passes through memory a few
    columns at a time instead.
    """
    maps = whiteners(moments, options)  # steps 1.1 to 1.4
    y_mean = rows.y_mean() if options.centred else np.zeros(1)
    X = proxy.DataProxy(rows.centred() if options.centred else rows, maps)  # step 2.1
    if options.n_features_to_select is not None:
        chosen = selection.select(X.unitless_columns(), *options.n_features_to_select)
        exact = replace(options, solver="exact").moments_needed(mergeable=False)
        return _of_selection(chosen, maps, options, y_mean, lambda at: rows.select(at).moments(**exact))
    require_rank(maps, options)
    U, s, V = sketched_svd(X, options.ranks[0], options.solver, options.n_iter, options.generator())  # step 2.2
    factors = sign_pairs(maps, U, s, V)
    return map_back(maps, factors, Multilinear(np.diag(s)[None], y_mean, options.centred))  # step 2.3


def _prediction(
    core: Array, y_mean: Array, options: Options, probes: Sequence[Array] | None, factors: Sequence[tuple[Array, Array]]
) -> Multilinear:
    """The prediction between these directions; probes of normalized features become those of the directions."""
    mine = None if probes is None else tuple(P @ U for P, (U, _) in zip(probes, factors, strict=True))
    return Multilinear(core, np.asarray(y_mean), options.centred, mine)


def _of_selection(
    chosen: selection.Selection,
    maps: Sequence[Whitener],
    options: Options,
    y_mean: Array,
    moments_of: Callable[[Sequence[Array]], Moments],
) -> Embedding:
    """Step 3 of Algorithm 3: the embedding of the selected features, with zeros for all others.

    Without full normalization it is the decomposition of X̂₃, as in the paper. With it, the features left out also
    leave the covariances, so the proxy is rebuilt from the moments of the selected features alone; and so it is where
    there is more than one matrix to decompose (several responses, moments beside the cross ones).
    """
    at = (chosen.rows, chosen.columns)
    if maps[0].is_full or not options.is_plain or len(y_mean) > 1:
        part = jdr_from_moments(moments_of(at), options.of_features(at))
    else:
        maps_at = [
            Whitener(m.mean[i], None if m.matrix is None else m.matrix[i], m.deviations[i])
            for m, i in zip(maps, at, strict=True)
        ]
        require_rank(maps_at, options)
        U, s, V = svd(chosen.matrix, options.ranks[0])
        factors = sign_pairs(maps_at, U, s, V)
        part = map_back(maps_at, factors, Multilinear(np.diag(s)[None], np.asarray(y_mean), options.centred))
    return part.expand(at, tuple(m.mean for m in maps))


def refine_pair(
    rows: Rows, parts: Sequence[Moments], options: Options, embedding: Embedding
) -> tuple[Embedding, Refinement]:
    """Improve the embedding of two views by least squares, with folds held out to decide whether that helps."""
    start, at = embedding, None
    if options.n_features_to_select is not None:  # features that were not selected play no part from here on
        at = [np.flatnonzero(mask) for mask in embedding.support]
        rows, parts, start = rows.select(at), [part.select(at) for part in parts], embedding.select(at)
    inner = options.of_features(at)
    whole = merged(parts)
    maps = whiteners(whole, inner)
    found = refine_embedding(rows, maps, start, lambda i: jdr_from_moments(without(parts, i), inner), parts, inner)
    if found.factors is None:
        return embedding, found
    moments = proxy.center_moments(whole.to_numpy(), inner)
    blocks = proxy.normalize_moments(moments, maps, inner)
    core = found.factors[0][0].T @ blocks.pair(0, 1) @ found.factors[1][0]
    prediction = _prediction(core, moments.y_center, inner, blocks.probes, found.factors)
    end = map_back(maps, found.factors, prediction)
    return end if at is None else end.expand(at, embedding.means), found


def without(parts: Sequence[Moments], i: int) -> Moments:
    """The moments of all parts but one."""
    return merged([part for j, part in enumerate(parts) if j != i])

"""JDR of three and more views: the HOSVD of the proxy tensor, with moments of two views at a time beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jointdr.directions import tensor
from jointdr.directions.choices import Fold, decide, usable_folds
from jointdr.directions.embedding import Embedding, Factor, map_back, sign_factors
from jointdr.directions.normalize import Whitener, require_rank, whiteners
from jointdr.directions.options import Options
from jointdr.directions.predictions import Multilinear
from jointdr.directions.proxy import NormalizedMoments, center_moments, normalize_moments, unfolding
from jointdr.directions.refine.sweeps import Refinement, refine_embedding
from jointdr.directions.svd import left_vectors
from jointdr.directions.tensor import TensorParts
from jointdr.engines import RandomParts, Rows
from jointdr.moments import Moments, merged
from jointdr.runtime import Array


def jdr_of_views(rows: Rows, parts: Sequence[Moments], options: Options) -> tuple[Options, Embedding]:
    """Directions of K views from rows that can be read again.

    Parameters
    ----------
    rows : Rows
    parts : sequence of Moments
        The moments of each fold of the rows (one, if nothing is left to the data): covariances, and with
        ``moments="all"`` those of every pair of views.
    options : Options

    Returns
    -------
    options : Options
        With everything decided.
    embedding : Embedding

    Notes
    -----
    One read for the tensor, O(m n_1 ⋯ n_K) with ``solver="exact"``; with ``"randomized"`` one read for a sketch,
    O(m n s), and K reads for each of the n_iter + n_hooi sweeps that sharpen it. Held-out folds are normalized like
    all rows together, so that one tensor per fold serves every choice.
    """
    whole = merged(parts).to_numpy()
    maps = whiteners(whole, options)
    require_rank(maps, options)  # 1 where it is left to the data
    about = center_moments(whole, options)
    if options.centres_response:
        rows = rows.centred()
    n_tensors = len(parts) if options.auto else 1
    tensors = _tensors(rows, maps, options, n_tensors) if "tensor" in options.uses else None
    everything = range(n_tensors)
    blocks = _normalize(about, tensors, everything, maps, options)
    if options.auto:
        options = decide(_folds(parts, about, tensors, maps, options, blocks), options)
        require_rank(maps, options)
    factors = [left_vectors(unfolding(blocks, k, options.uses), r) for k, r in enumerate(options.ranks)]
    X = None
    if "tensor" in options.uses and tensors is not None:
        rest = options.uses - {"tensor"}
        if tensors.tensors is not None:
            X = tensors.mean(everything)
            factors = tensor.hooi(X, factors, options.n_hooi)
        else:
            beside = [unfolding(blocks, k, rest) for k in range(len(maps))] if rest else None
            factors = tensor.hooi_from_rows(rows, maps, factors, options.n_iter + options.n_hooi, beside)
    return options, _map_back(sign_factors(maps, factors), X, rows, blocks, maps, about.y_center, options)


def refine_views(
    rows: Rows, parts: Sequence[Moments], options: Options, embedding: Embedding
) -> tuple[Embedding, Refinement]:
    """Improve the embedding by least squares, with folds held out to decide whether that helps."""
    groups, whole = RandomParts(len(parts), options.fold_seed), merged(parts)
    maps = whiteners(whole, options)

    def without(i: int) -> Embedding:
        rest = merged([part for j, part in enumerate(parts) if j != i])
        return jdr_of_views(rows.without(groups, i), [rest], options)[1]

    found = refine_embedding(rows, maps, embedding, without, parts, options)
    if found.factors is None:
        return embedding, found
    moments = center_moments(whole.to_numpy(), options)
    blocks = normalize_moments(moments, maps, options)
    rows = rows.centred() if options.centres_response else rows
    return _map_back(found.factors, None, rows, blocks, maps, moments.y_center, options), found


def _tensors(rows: Rows, maps: Sequence[Whitener], options: Options, n_folds: int) -> TensorParts:
    seed = options.fold_seed
    if options.solver == "exact":
        return tensor.form_tensor(rows, maps, n_folds, seed)
    columns = max(tensor.SKETCH_COLUMNS, 8 * max(options.ranks))
    return tensor.sketch_tensor(rows, maps, columns, options.generator(), n_folds, seed)


def _normalize(
    moments: Moments,
    tensors: TensorParts | None,
    folds: Sequence[int],
    maps: Sequence[Whitener],
    options: Options,
    probes: tuple[Array, ...] | None = None,
) -> NormalizedMoments:
    blocks = normalize_moments(moments, maps, options, probes)
    return blocks if tensors is None else replace(blocks, unfoldings=tensors.unfoldings(folds))


def _folds(
    parts: Sequence[Moments],
    whole: Moments,
    tensors: TensorParts | None,
    maps: tuple[Whitener, ...],
    options: Options,
    blocks: NormalizedMoments,
) -> list[Fold]:
    """Leave out each part in turn, with the centre and the normalization of all of them."""
    usable = usable_folds(parts)
    at = {i: parts[i].to_numpy().about(whole.centers, whole.y_center) for i in usable}
    result = []
    for i in usable:
        others = [j for j in usable if j != i]
        rest = merged([at[j] for j in others])
        train = _normalize(rest, tensors, others, maps, options, blocks.probes)
        test = _normalize(at[i], tensors, [i], maps, options, blocks.probes)
        result.append(Fold(train, test, maps))
    return result


def _map_back(
    factors: Sequence[Factor],
    X: Array | None,
    rows: Rows,
    blocks: NormalizedMoments,
    maps: Sequence[Whitener],
    y_mean: Array,
    options: Options,
) -> Embedding:
    """With the proxy tensor between the directions (from X, or by a read), and the moments of pairs that were used."""
    bases = [U for U, _ in factors]
    if "tensor" not in options.uses:
        core = np.zeros((len(y_mean), *options.ranks))
    else:
        core = tensor.core_from_rows(rows, maps, bases) if X is None else tensor.core_of(X, bases)
    pairs = None
    if "pairs" in options.uses:
        pairs = {(j, k): bases[j].T @ M @ bases[k] for (j, k), M in blocks.pairs.items() if j < k}
    probes = None if blocks.probes is None else tuple(P @ U for P, U in zip(blocks.probes, bases, strict=True))
    return map_back(maps, factors, Multilinear(core, np.asarray(y_mean), options.centred, probes, pairs))

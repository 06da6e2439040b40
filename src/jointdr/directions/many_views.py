"""JDR of three and more views: the HOSVD of the proxy tensor, with moments of two views at a time beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jointdr.directions import proxy, tensor
from jointdr.directions.choices import Fold, resolved, usable_folds
from jointdr.directions.embedding import Embedding
from jointdr.directions.jdr import Options, embedding_of, normalized, placed, require_rank, signed, unfolding
from jointdr.directions.normalize import Whitener, whiteners
from jointdr.directions.svd import left_vectors
from jointdr.directions.tensor import TensorParts
from jointdr.engines import Rows
from jointdr.moments import Moments, merged
from jointdr.runtime import Array

Bases = Sequence[Array]


def jdr_of_views(
    rows: Rows, parts: Sequence[Moments], options: Options, auto: frozenset[str], seed: int = 0
) -> tuple[Options, Embedding]:
    """Directions of K views from rows that can be read again.

    Parameters
    ----------
    rows : Rows
    parts : sequence of Moments
        The moments of each fold of the rows (one, if nothing is left to the data): covariances, and with
        ``moments="all"`` those of every pair of views.
    options : Options
        ``extra`` names what is used: ``"tensor"``, ``"pairs"``, ``"within"``, ``"means"``.
    auto : frozenset of str
        What is left to the data.
    seed : int
        Of the folds.

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
    maps = whiteners(whole, options.normalize, options.ridge, options.names, options.features)
    require_rank(maps, options)  # 1 where it is left to the data
    about = placed(whole, options)
    if options.centres_response:
        rows = rows.centred()
    n_tensors = len(parts) if auto else 1
    tensors = _tensors(rows, maps, options, n_tensors, seed) if "tensor" in options.extra else None
    everything = range(n_tensors)
    blocks = _blocks(about, tensors, everything, maps, options)
    if auto:
        options = resolved(_folds(parts, about, tensors, maps, options, blocks), options, auto)
        require_rank(maps, options)
    factors = [left_vectors(unfolding(blocks, k, options.extra), r) for k, r in enumerate(options.ranks)]
    X = None
    if "tensor" in options.extra and tensors is not None:
        rest = options.extra - {"tensor"}
        if tensors.tensors is not None:
            X = tensors.mean(everything)
            factors = tensor.hooi(X, factors, options.n_hooi)
        else:
            beside = [unfolding(blocks, k, rest) for k in range(len(maps))] if rest else None
            factors = tensor.hooi_from_rows(rows, maps, factors, options.n_iter + options.n_hooi, beside)
    bases, spectra = signed(factors, maps)
    return options, _embedding(bases, spectra, X, rows, blocks, maps, about.y_center, options)


def jdr_of_views_at(
    rows: Rows, moments: Moments, options: Options, maps: Sequence[Whitener], bases: Bases, spectra: tuple[Array, ...]
) -> Embedding:
    """The embedding with given directions of normalized features, with the proxy of these rows between them."""
    moments = placed(moments.to_numpy(), options)
    rows = rows.centred() if options.centres_response else rows
    blocks = normalized(moments, maps, options)
    return _embedding(bases, spectra, None, rows, blocks, maps, moments.y_center, options)


def _tensors(rows: Rows, maps: Sequence[Whitener], options: Options, n_folds: int, seed: int) -> TensorParts:
    if options.solver == "exact":
        return tensor.formed(rows, maps, n_folds, seed)
    columns = max(tensor.SKETCH_COLUMNS, 8 * max(options.ranks))
    return tensor.sketched(rows, maps, columns, options.generator(), n_folds, seed)


def _blocks(
    moments: Moments,
    tensors: TensorParts | None,
    folds: Sequence[int],
    maps: Sequence[Whitener],
    options: Options,
    probes: tuple[Array, ...] | None = None,
) -> proxy.NormalizedMoments:
    blocks = normalized(moments, maps, options, probes)
    return blocks if tensors is None else replace(blocks, unfoldings=tensors.unfoldings(folds))


def _folds(
    parts: Sequence[Moments],
    whole: Moments,
    tensors: TensorParts | None,
    maps: tuple[Whitener, ...],
    options: Options,
    blocks: proxy.NormalizedMoments,
) -> list[Fold]:
    """Leave out each part in turn, with the centre and the normalization of all of them."""
    usable = usable_folds(parts)
    at = {i: parts[i].to_numpy().about(whole.centers, whole.y_center) for i in usable}
    result = []
    for i in usable:
        others = [j for j in usable if j != i]
        rest = sum((at[j] for j in others[1:]), at[others[0]])
        train = _blocks(rest, tensors, others, maps, options, blocks.probes)
        test = _blocks(at[i], tensors, [i], maps, options, blocks.probes)
        result.append(Fold(train, test, maps))
    return result


def _embedding(
    bases: Sequence[Array],
    spectra: tuple[Array, ...],
    X: Array | None,
    rows: Rows,
    blocks: proxy.NormalizedMoments,
    maps: Sequence[Whitener],
    y_mean: Array,
    options: Options,
) -> Embedding:
    """With the proxy tensor between the directions (from X, or by a read), and the moments of pairs that were used."""
    if "tensor" not in options.extra:
        core = np.zeros((len(y_mean), *options.ranks))
    else:
        core = tensor.core_from_rows(rows, maps, bases) if X is None else tensor.core_of(X, bases)
    pairs = None
    if "pairs" in options.extra:
        pairs = {(j, k): bases[j].T @ M @ bases[k] for (j, k), M in blocks.pairs.items() if j < k}
    return embedding_of(bases, spectra, core, maps, y_mean, options, blocks.probes, pairs)

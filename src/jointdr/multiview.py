"""JDR of three and more views: the HOSVD of the proxy tensor, with moments of two views at a time beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jointdr import proxy, tensor
from jointdr.arrays import Array
from jointdr.directions import Options, normalized, placed, require_rank, unfolding
from jointdr.embedding import Embedding, signs_of
from jointdr.engines.local import Rows
from jointdr.factorize import left_vectors
from jointdr.moments import Moments
from jointdr.normalize import Whitener, whiteners
from jointdr.rank import Fold, resolved
from jointdr.tensor import TensorParts


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
    whole = sum(parts[1:], parts[0]).to_numpy()
    maps = whiteners(whole, options.normalize, options.ridge, options.names, options.features)
    about = placed(whole, options)
    if options.centres_response:
        rows = rows.centred()
    tensors = _tensors(rows, maps, options, len(parts), seed) if "tensor" in options.extra else None
    everything = range(len(parts))
    blocks = _blocks(about, tensors, everything, maps, options)
    if auto:
        options = resolved(_folds(parts, about, tensors, maps, options, blocks), options, auto)
    require_rank(maps, options)
    factors = [left_vectors(unfolding(blocks, k, options.extra), r) for k, r in enumerate(options.ranks)]
    if "tensor" not in options.extra:
        tensors = None
    if tensors is not None and tensors.tensors is not None and options.n_hooi:
        factors = tensor.hooi(tensors.mean(everything), [U for U, _ in factors], options.n_hooi)
    core = None
    if tensors is not None and tensors.tensors is None:
        sweeps = options.n_iter + options.n_hooi if "pairs" not in options.extra else 0
        sharpened, core = tensor.hooi_from_rows(rows, maps, [U for U, _ in factors], sweeps)
        factors = sharpened if sweeps else factors
    elif tensors is not None:
        core = tensor.core_of(tensors.mean(everything), [U for U, _ in factors])
    return options, _embedding(factors, core, blocks, maps, about.y_center, options)


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
) -> proxy.Blocks:
    blocks = normalized(moments, maps, options, probes)
    return blocks if tensors is None else replace(blocks, unfoldings=tensors.unfoldings(folds))


def _folds(
    parts: Sequence[Moments],
    whole: Moments,
    tensors: TensorParts | None,
    maps: tuple[Whitener, ...],
    options: Options,
    blocks: proxy.Blocks,
) -> list[Fold]:
    """Leave out each part in turn, with the centre and the normalization of all of them."""
    at = [part.to_numpy().about(whole.centers, whole.y_center) for part in parts]
    result = []
    for i, part in enumerate(at):
        others = [j for j in range(len(at)) if j != i]
        rest = sum((at[j] for j in others[1:]), at[others[0]])
        train = _blocks(rest, tensors, others, maps, options, blocks.probes)
        test = _blocks(part, tensors, [i], maps, options, blocks.probes)
        result.append(Fold(train, test, maps))
    return result


def _embedding(
    factors: Sequence[tuple[Array, Array]],
    core: Array | None,
    blocks: proxy.Blocks,
    maps: Sequence[Whitener],
    y_mean: Array,
    options: Options,
) -> Embedding:
    """Step 2.3 for every view, with signs as by `svd_flip`."""
    signs = [signs_of(m.push(U)) for m, (U, _) in zip(maps, factors, strict=True)]
    bases = [U * sign for (U, _), sign in zip(factors, signs, strict=True)]
    if core is None:
        core = np.zeros((len(y_mean), *options.ranks))
    for k, sign in enumerate(signs):
        core = core * sign.reshape(-1, *([1] * (len(signs) - 1 - k)))
    pairs = None
    if "pairs" in options.extra:
        pairs = {(j, k): bases[j].T @ X @ bases[k] for (j, k), X in blocks.pairs.items() if j < k}
    return Embedding(
        bases=tuple(m.push(U) for m, U in zip(maps, bases, strict=True)),
        spectra=tuple(s for _, s in factors),
        core=core,
        means=tuple(m.mean for m in maps),
        y_mean=np.asarray(y_mean),
        support=tuple(m.deviations > 0 for m in maps),
        centred=options.centred,
        probes=None if blocks.probes is None else tuple(P @ U for P, U in zip(blocks.probes, bases, strict=True)),
        pairs=pairs,
    )

"""How many directions, how many features, which moments: choices made on held-out moments.

The moments of K folds are kept apart. For each fold the proxy of the other folds is compared with its own,
‖X_test − P(X_train)‖², which has its expected minimum where P(X_train) is nearest to the true proxy. The data is read
once, whatever the number of candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from jointdr.directions import proxy, selection
from jointdr.directions.normalize import Whitener, whiteners
from jointdr.directions.options import CROSS, Options
from jointdr.directions.proxy import center_moments, normalize_moments, unfolding
from jointdr.directions.svd import left_vectors, svd
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, log

CHANCE = 0.008
"""A set of moments is refused if it explains so much less of held-out cross moments that a good one would do so by
chance with this probability. What skewed features do to within-view moments is far beyond it."""


@dataclass(frozen=True)
class Fold:
    """The normalized moments of all folds but one, and those of that one in the same coordinates."""

    train: proxy.NormalizedMoments
    test: proxy.NormalizedMoments
    maps: tuple[Whitener, ...]


def usable_folds(parts: Sequence[Moments]) -> list[int]:
    """The parts with rows that count; choices take at least two."""
    usable = [i for i, part in enumerate(parts) if part.weight > 0]
    if len(usable) < 2:
        raise ValueError(
            "'auto' and moments='all' choose on held-out folds, so they need a list of at least two Moments, "
            f"one per fold, with positive weights; got {len(usable)}. Give more rows, or another random_state."
        )
    return usable


def folds(parts: Sequence[Moments], options: Options) -> list[Fold]:
    """Leave out each part in turn, O(K n³)."""
    parts = [parts[i] for i in usable_folds(parts)]
    result = []
    for i, part in enumerate(parts):
        rest = [p for j, p in enumerate(parts) if j != i]
        train = merged(rest).to_numpy()
        maps = whiteners(train, options)
        train = center_moments(train, options)
        blocks = normalize_moments(train, maps, options)
        test = part.to_numpy().about(train.centers, train.y_center)
        result.append(Fold(blocks, normalize_moments(test, maps, options, blocks.probes), maps))
    return result


def decide(held_out: Sequence[Fold], options: Options) -> Options:
    """The options with everything decided that was left to the data: ``"moments"``, ``"features"``, ``"rank"``."""
    held_out = _in_units(held_out)
    if "moments" in options.auto:
        options = replace(options, uses=useful_moments(held_out, options))
    if "rank" in options.auto:
        curve = rank_criterion(held_out, options.uses)
        r = max(1, int(np.argmin(curve)))
        options = replace(options, ranks=(r,) * len(options.ranks))
        log.info("%d directions explain most of held-out folds", r)
    if "features" in options.auto:
        options = replace(options, n_features_to_select=sparsity(held_out, options))
    return replace(options, auto=frozenset())


def _in_units(held_out: Sequence[Fold]) -> list[Fold]:
    """The folds of a response in units that make the largest moment about 1: squares neither overflow nor vanish."""
    blocks = [(*fold.train.pairs.values(), *fold.train.means, *(fold.train.unfoldings or ())) for fold in held_out]
    largest = max(float(np.max(np.abs(M), initial=0.0)) for parts in blocks for M in parts)
    if not 0 < largest < np.inf:
        return list(held_out)
    factor = 2.0 ** -float(np.clip(np.floor(np.log2(largest)), -1000, 1000))  # a power of 2 rounds nothing
    return [replace(fold, train=fold.train.scaled(factor), test=fold.test.scaled(factor)) for fold in held_out]


def rank_criterion(held_out: Sequence[Fold], uses: frozenset[str] = CROSS) -> Array:
    """‖X_test − P_r(X_train)‖² − ‖X_test‖² for r = 0, 1, 2, ..., averaged over folds and views."""
    total: Array = 0.0
    for fold in held_out:
        most = min(m.rank for m in fold.maps)
        for k in range(len(fold.maps)):
            M, M_test = (unfolding(blocks, k, uses) for blocks in (fold.train, fold.test))
            U, s = left_vectors(M, most)
            gain = s**2 - 2 * np.sum((U.T @ M) * (U.T @ M_test), axis=1)
            curve = np.concatenate([[0.0], np.cumsum(gain)])
            total = curve if np.ndim(total) == 0 else total[: len(curve)] + curve[: len(total)]
    return total / (len(held_out) * len(held_out[0].maps))


def sparsity(held_out: Sequence[Fold], options: Options) -> tuple[int, int]:
    """(s₁, s₂) by the same criterion on the selected rows and columns: first equal numbers, then each by itself."""
    sizes = [len(m.mean) for m in held_out[0].maps]
    matrices = [
        (proxy.unitless(fold.train.pair(0, 1), fold.maps), proxy.unitless(fold.test.pair(0, 1), fold.maps))
        for fold in held_out
    ]
    r = options.ranks[0]
    known: dict[tuple[int, int], float] = {}

    def criterion(s1: int, s2: int) -> float:
        if (s1, s2) not in known:
            total = 0.0
            for M, M_test in matrices:
                chosen = selection.select([(slice(0, M.shape[1]), M)], s1, s2)
                at = np.ix_(chosen.rows, chosen.columns)
                U, s, V = svd(M[at], r)  # without the zeros that P_Ω₁ leaves inside, which make the curve rough
                total += float(np.sum(s**2) - 2 * np.sum(s * np.einsum("ij,ik,jk->k", M_test[at], U, V)))
            known[s1, s2] = total
        return known[s1, s2]

    def best(candidates: Sequence[tuple[int, int]]) -> tuple[int, int]:
        return min(candidates, key=lambda pair: criterion(*pair))

    grid = sorted({round(float(v)) for v in np.geomspace(r, max(sizes), 40)} | {r})
    pair = best([(min(s, sizes[0]), min(s, sizes[1])) for s in grid])
    for _ in range(20):  # refine, one step at a time, until neither number moves
        near = [
            (s1, s2)
            for s1 in range(max(r, pair[0] - 3), min(sizes[0], pair[0] + 3) + 1)
            for s2 in range(max(r, pair[1] - 3), min(sizes[1], pair[1] + 3) + 1)
        ]
        moved = best(near)
        if moved == pair:
            break
        pair = moved
    return pair


def useful_moments(held_out: Sequence[Fold], options: Options) -> frozenset[str]:
    """Which moments beside the cross ones help: all of them, unless held-out cross moments are explained less.

    Within-view moments and means lie in the span of the embeddings if features are symmetric and y has no main effects
    outside of it. Where that fails (skewed features, strong main effects), they draw directions away from those that
    explain the cross moments of rows they have not seen. Every set is judged by how much less it explains than the
    cross moments alone; the largest set that is not significantly worse is taken, and of equally large ones the best.
    Where cross moments hold no signal that held-out rows confirm (even links), they are no judge, and all moments are
    used.
    With three and more views the cross moments are those of pairs, the tensor, or both, whichever explain most.
    """
    cores = [CROSS] if len(options.ranks) == 2 else _cores(options.uses)

    @cache
    def explained(uses: frozenset[str]) -> Array:
        return np.array([_held_out_gain(fold, uses, options.ranks) for fold in held_out])

    base = max(cores, key=lambda core: explained(core).mean())
    limit = float(stdtrit(len(held_out) - 1, 1 - CHANCE))
    if explained(base).mean() <= limit * _error(explained(base)):
        return base | {"within", "means"}
    for size in (2, 1):
        allowed: dict[frozenset[str], float] = {}
        for added in [frozenset(names) for names in combinations(("within", "means"), size)]:
            # Averaged over the cores: the best of them owes some of its lead to chance, which additions would pay for.
            difference = np.mean([explained(core | added) - explained(core) for core in cores], axis=0)
            if difference.mean() > -limit * _error(difference):
                allowed[added] = float(difference.mean())
        if allowed:
            return base | max(allowed.items(), key=lambda item: item[1])[0]
    return base


def _error(values: Array) -> float:
    """The standard error of the mean of some values."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _cores(uses: frozenset[str]) -> list[frozenset[str]]:
    """With three and more views: pairs, the tensor, or both, as far as they are there."""
    cores = [frozenset({"pairs"}), frozenset({"tensor"}), frozenset({"pairs", "tensor"})]
    return [core for core in cores if core <= uses]


def _held_out_gain(fold: Fold, uses: frozenset[str], ranks: Sequence[int]) -> float:
    """⟨X_test, P_U X_train P_V⟩: how much of the held-out cross moments the directions of a set of moments hold.

    With three and more views it is the sum over all pairs of them, and the mean over the unfoldings of the tensor.
    """
    bases = [left_vectors(unfolding(fold.train, k, uses), r)[0] for k, r in enumerate(ranks)]
    total = 0.0
    for (j, k), X in fold.train.pairs.items():
        if j < k:
            U, V = bases[j], bases[k]
            total += float(np.sum((U.T @ X @ V) * (U.T @ fold.test.pair(j, k) @ V)))
    if fold.train.unfoldings is not None and fold.test.unfoldings is not None:
        parts = zip(bases, fold.train.unfoldings, fold.test.unfoldings, strict=True)
        total += float(np.mean([np.sum((U.T @ M) * (U.T @ M_test)) for U, M, M_test in parts]))
    return total

"""How many directions, how many features, which moments: choices made on held-out moments.

The moments of K folds are kept apart. For each fold the proxy of the other folds is compared with its own,
‖X_test − P(X_train)‖², which has its expected minimum where P(X_train) is nearest to the true proxy. The data is read
once, whatever the number of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone

from jointdr import proxy, selection
from jointdr.arrays import Array
from jointdr.directions import Options, moments_needed, normalized, placed, unfolding
from jointdr.engines.local import Rows
from jointdr.factorize import left_vectors, svd
from jointdr.moments import Moments
from jointdr.normalize import Whitener, whiteners
from jointdr.profile import RankProfile, null_rank, require_permutations, threshold_rank
from jointdr.response import checked
from jointdr.views import checked_weight

if TYPE_CHECKING:
    from jointdr.estimators import JDR

__all__ = [
    "Fold",
    "RankProfile",
    "folds",
    "null_rank",
    "rank_criterion",
    "rank_profile",
    "resolved",
    "sparsity",
    "threshold_rank",
    "useful_moments",
]

CHANCE = 0.008
"""A set of moments is refused if it explains so much less of held-out cross moments that a good one would do so by
chance with this probability. What skewed features do to within-view moments is far beyond it."""


@dataclass(frozen=True)
class Fold:
    """The normalized moments of all folds but one, and those of that one in the same coordinates."""

    train: proxy.Blocks
    test: proxy.Blocks
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
        train = sum(rest[1:], rest[0]).to_numpy()
        maps = whiteners(train, options.normalize, options.ridge, options.names, options.features)
        train = placed(train, options)
        blocks = normalized(train, maps, options)
        test = part.to_numpy().about(train.centers, train.y_center)
        result.append(Fold(blocks, normalized(test, maps, options, blocks.probes), maps))
    return result


def resolved(held_out: Sequence[Fold], options: Options, auto: frozenset[str]) -> Options:
    """The options with everything decided that was left to the data: ``"moments"``, ``"features"``, ``"rank"``."""
    if "moments" in auto:
        options = replace(options, extra=useful_moments(held_out, options))
    if "rank" in auto:
        curve = rank_criterion(held_out, options.extra)
        r = max(1, int(np.argmin(curve)))
        options = replace(options, ranks=(r,) * len(options.ranks))
    if "features" in auto:
        options = replace(options, n_features_to_select=sparsity(held_out, options))
    return options


def rank_criterion(held_out: Sequence[Fold], extra: frozenset[str] = frozenset()) -> Array:
    """‖X_test − P_r(X_train)‖² − ‖X_test‖² for r = 0, 1, 2, ..., averaged over folds and views."""
    total: Array = 0.0
    for fold in held_out:
        most = min(m.rank for m in fold.maps)
        for k in range(len(fold.maps)):
            M, M_test = (unfolding(blocks, k, extra) for blocks in (fold.train, fold.test))
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
    """Which moments beside the cross ones help: all of them, unless held-out cross moments say otherwise.

    Within-view moments and means lie in the span of the embeddings if features are symmetric and y has no main effects
    outside of it. Where that fails (skewed features, strong main effects), they draw directions away from those that
    explain the cross moments of rows they have not seen. Every set is judged by how much less it explains than the
    cross moments alone; the largest set that is not significantly worse is taken, and of equally large ones the best.
    Where cross moments hold no signal at all (even links), nothing is significantly worse, and all moments are used.
    With three and more views the cross moments are those of pairs, the tensor, or both, whichever explain most.
    """
    cores = [frozenset[str]()] if len(options.ranks) == 2 else _cores(options.extra)

    @cache
    def explained(extra: frozenset[str]) -> Array:
        return np.array([_explained(fold, extra, options.ranks) for fold in held_out])

    base = max(cores, key=lambda core: explained(core).mean())
    limit = float(stdtrit(len(held_out) - 1, 1 - CHANCE))
    for size in (2, 1):
        allowed: dict[frozenset[str], float] = {}
        for added in [frozenset(names) for names in combinations(("within", "means"), size)]:
            # Averaged over the cores: the best of them owes some of its lead to chance, which additions would pay for.
            difference = np.mean([explained(core | added) - explained(core) for core in cores], axis=0)
            if difference.mean() > -limit * difference.std(ddof=1) / np.sqrt(len(difference)):
                allowed[added] = float(difference.mean())
        if allowed:
            return base | max(allowed.items(), key=lambda item: item[1])[0]
    return base


def _cores(extra: frozenset[str]) -> list[frozenset[str]]:
    """With three and more views: pairs, the tensor, or both, as far as they are there."""
    cores = [frozenset({"pairs"}), frozenset({"tensor"}), frozenset({"pairs", "tensor"})]
    return [core for core in cores if core <= extra]


def _explained(fold: Fold, extra: frozenset[str], ranks: Sequence[int]) -> float:
    """⟨X_test, P_U X_train P_V⟩: how much of the held-out cross moments the directions of a set of moments hold.

    With three and more views it is the sum over all pairs of them, and the mean over the unfoldings of the tensor.
    """
    bases = [left_vectors(unfolding(fold.train, k, extra), r)[0] for k, r in enumerate(ranks)]
    total = 0.0
    for (j, k), X in fold.train.pairs.items():
        if j < k:
            U, V = bases[j], bases[k]
            total += float(np.sum((U.T @ X @ V) * (U.T @ fold.test.pair(j, k) @ V)))
    if fold.train.unfoldings is not None and fold.test.unfoldings is not None:
        parts = zip(bases, fold.train.unfoldings, fold.test.unfoldings, strict=True)
        total += float(np.mean([np.sum((U.T @ M) * (U.T @ M_test)) for U, M, M_test in parts]))
    return total


def rank_profile(
    model: JDR,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    n_permutations: int = 20,
    level: float = 0.05,
    eta: float | None = None,
    random_state: Any = 0,
    progress: Callable[[int, int], object] | None = None,
) -> RankProfile:
    """How many directions there are: by held-out moments, by permuted responses, and by the paper's threshold.

    Parameters
    ----------
    model : JDR
        Its options count (``normalize``, ``ridge``, ``response``, ``moments``, ``n_folds``, ``random_state``), not its
        number of directions, and whether it is fitted does not matter; it is left as it is. Features are not selected:
        the rank is that of the whole proxy.
    X, y, sample_weight
        As in `JDR.fit`.
    n_permutations : int
        How often y is permuted among the rows, at least 1/level − 1 times; 0 for not at all.
    level : float
        How probable it may be that the permutations let a direction pass that is none.
    eta : float, optional
        The η of `threshold_rank`; by default three times the median of the largest singular value under permutation.
    random_state : int, Generator or None
        Seed of the permutations. (The folds are those of the model's own ``random_state``.)
    progress : callable, optional
        Called as progress(done, n_permutations) after every permutation.

    Notes
    -----
    One read of the data for the folds and one for each permutation, of one product of O(m n₁ n₂) where cross moments
    are enough. Weights stay with the features when y is permuted. With ``moments="all"`` or several responses the
    singular values of the two views differ, and their root mean square is taken.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.rank import rank_profile
    >>> X, y, _ = make_bilinear(5000, n_features=(15, 10), n_components=3, random_state=0)
    >>> profile = rank_profile(JDR(), X, y)
    >>> profile.best, profile.null_rank, profile.threshold_rank
    (3, 3, 3)
    """
    if n_permutations != 0:
        require_permutations(n_permutations, level)
    model = clone(model).set_params(n_components="auto", n_features_to_select=None, refine=0)
    views = model._validated(X, reset=True, minimum_rows=2)
    w = checked_weight(sample_weight, len(views))
    Y = model._responses(checked(y, len(views), "rank_profile"), w, reset=True, streaming=False)
    rows = Rows(views.arrays, Y, w)
    options, auto = model._options(views.n_features, Y.shape[1])
    with np.errstate(all="ignore"):
        parts = model._fold(rows, 0)
    model._require_finite(parts, views)
    held_out = folds(parts, options)
    if "moments" in auto:
        options = replace(options, extra=useful_moments(held_out, options))
    criterion = rank_criterion(held_out, options.extra)

    whole = sum(parts[1:], parts[0]).to_numpy()
    maps = whiteners(whole, options.normalize, options.ridge, options.names, options.features)
    blocks = normalized(placed(whole, options), maps, options)
    values = _spectrum(blocks, maps, options.extra)
    null = np.empty((n_permutations, len(values)))
    for i, permuted in enumerate(_permuted(rows, n_permutations, maps, options, blocks.probes, random_state)):
        null[i] = _spectrum(permuted, maps, options.extra)
        if progress is not None:
            progress(i + 1, n_permutations)
    if eta is None and n_permutations:
        eta = 3.0 * float(np.median(null[:, 0]))
    return RankProfile(
        criterion=criterion,
        best=int(np.argmin(criterion)),
        singular_values=values,
        null=null,
        null_rank=null_rank(values, null, level) if n_permutations else None,
        threshold_rank=None if eta is None else threshold_rank(values, eta),
        eta=eta,
        level=level,
    )


def _spectrum(blocks: proxy.Blocks, maps: Sequence[Whitener], extra: frozenset[str]) -> Array:
    """The singular values of the proxy; of its unfoldings, averaged in squares, where these differ."""
    most = min(m.rank for m in maps)
    spectra = [left_vectors(unfolding(blocks, k, extra), most)[1] for k in range(len(maps))]
    return np.sqrt(np.mean(np.square(spectra), axis=0))


def _permuted(
    rows: Rows,
    n_permutations: int,
    maps: Sequence[Whitener],
    options: Options,
    probes: tuple[Array, ...] | None,
    random_state: Any,
) -> Iterator[proxy.Blocks]:
    """The normalized moments after permuting y among the rows. What does not depend on y is not computed again."""
    rng = np.random.default_rng(random_state)
    keep = moments_needed(options, mergeable=False)
    if "within" not in keep["blocks"]:
        keep["covariance"] = None
    for _ in range(n_permutations):
        shuffled = Rows(rows.views, rows.y[rng.permutation(len(rows))], rows.weight)
        yield normalized(placed(shuffled.fold(**keep), options), maps, options, probes)

"""Bootstrap replicates from the moments of random blocks of rows, centred at the estimate.

A replicate counts every block as often as a multinomial draw has it. Its proxy is X* = X̂ + N*, where N* has the
distribution of the noise N in X̂ = X + N; but X̂ is not X, so the noise is in X* twice, and its singular values are
inflated twice. The distribution of X̂ is that of X̃ + N* with a noise-free X̃ of rank r. Its directions
are the fitted ones; its singular values d are those for which X̃ + N* has, as a rule, the singular values that X̂ has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from jointdr.directions import Options, Whitener, center_moments, normalize_moments, unfolding, whiteners
from jointdr.moments import Moments
from jointdr.runtime import Array, memory, slices

CHUNK_BYTES = 64_000_000  # replicates are summed up a few at a time, as many as fit
PILOTS = 10  # replicates that show how strong the noise is, before X̃ is chosen
# The singular values of X̃ are settled if they change by less than this share of the largest, or after these steps.
SETTLED, STEPS = 1e-3, 50


class ResamplingUnits:
    """The moments of the blocks of rows that are resampled, about one centre, so that they add up with any weights.

    `parts`, one per block, in NumPy, is emptied while its moments are copied, so that they are not held twice.
    """

    def __init__(self, parts: list[Moments]) -> None:
        totals = np.array([(p.n_samples, p.weight, p.weight_squared) for p in parts], dtype=float)
        # Blocks of one read share the centre of their features already; that of y differs from block to block.
        y_total = sum(p.weight * p.y_center + p.y_sum for p in parts)
        y_center = y_total / totals[:, 1].sum() if parts[0].cross_scatters else parts[0].y_center
        centers = parts[0].centers
        self._like = parts[0].about(centers, y_center)
        self._totals = totals
        self._eps = max(p.eps for p in parts)
        self._sums = np.empty((len(parts), sum(M.size for M in _arrays(self._like))))
        for i in reversed(range(len(parts))):
            part = parts.pop().about(centers, y_center)
            np.concatenate([M.ravel() for M in _arrays(part)], out=self._sums[i])

    def __len__(self) -> int:
        return len(self._sums)

    def replicates(self, counts: Array) -> Iterator[Moments]:
        """One sum of all blocks per row of (replicates, blocks) counts, which weigh them; O(blocks · n²) each."""
        for at in slices(len(counts), max(1, memory.within(CHUNK_BYTES, 0.1) // (8 * self._sums.shape[1]))):
            # One product for many replicates: the blocks are read from memory once.
            for sums, totals in zip(counts[at] @ self._sums, counts[at] @ self._totals, strict=True):
                yield self._moments(sums, totals)

    def _moments(self, sums: Array, totals: Array) -> Moments:
        like = self._like
        pieces = iter(np.split(sums, np.cumsum([M.size for M in _arrays(like)])[:-1]))

        def take(M: Array | None) -> Any:
            return None if M is None else next(pieces).reshape(M.shape)

        return replace(  # in the order of `_arrays`
            like,
            n_samples=round(totals[0]),
            weight=float(totals[1]),
            weight_squared=float(totals[2]),
            eps=self._eps,
            sums=tuple(take(M) for M in like.sums),
            y_sum=take(like.y_sum),
            scatters=tuple(take(M) for M in like.scatters),
            y_scatters=tuple(take(M) for M in like.y_scatters),
            y_scatter=take(like.y_scatter),
            cross_scatters={key: take(M) for key, M in like.cross_scatters.items()},
            thirds={key: take(M) for key, M in like.thirds.items()},
        )


def _arrays(m: Moments) -> list[Array]:
    """Every array of sums, in a fixed order."""
    held = [*m.sums, m.y_sum, *m.scatters, *m.y_scatters, m.y_scatter, *m.cross_scatters.values(), *m.thirds.values()]
    return [M for M in held if M is not None]


@dataclass(frozen=True)
class Spectrum:
    """Singular values of one matrix: the fitted ones σ̂, and those of X̃(d) + N* for any d, in all replicates.

    The leading singular vectors of X̃ + N* for one d, together with the directions of X̃, span what is needed for any
    other d, so that only a small matrix per replicate is kept.
    """

    fitted: Array  # σ̂, (r,)
    start: Array  # the d that the matrices belong to, (r,)
    cores: Array  # X̃(start) + N* in that span, (replicates, k, k)
    left: Array  # the directions of X̃ in it, (replicates, k, r)
    right: Array

    def replicate_values(self, d: Array) -> Array:
        """The singular values of X̃(d) + N*, (replicates, r)."""
        M = self.cores + (self.left * (d - self.start)) @ np.swapaxes(self.right, 1, 2)
        return np.linalg.svd(M, compute_uv=False)[:, : len(d)]

    def solve(self, probability: float, d: Array) -> Array:
        """The d for which a replicate's singular values are below the fitted ones with this probability.

        One half gives an estimate free of (median) bias, other probabilities the ends of intervals. Values that are
        nearer to each other than noise would have pushed them come out as equal; those that noise explains as 0.
        """
        for _ in range(STEPS):
            gap = self.fitted - np.quantile(self.replicate_values(d), probability, axis=0)
            previous, d = d, isotonic_regression(np.maximum(d + gap, 0.0), increasing=False)
            if np.max(np.abs(d - previous)) <= SETTLED * self.fitted[0]:
                break
        return d

    def intervals(self, level: float) -> tuple[Array, Array]:
        """The corrected singular values, (r,), and intervals that hold the true ones with this probability, (r, 2)."""
        middle = self.solve(0.5, self.start)
        ends = [np.minimum(self.solve((1 + level) / 2, middle), middle), self.solve((1 - level) / 2, middle)]
        return middle, np.stack([ends[0], np.maximum(ends[1], middle)], axis=1)


class Replicate(NamedTuple):
    """The difference of one replicate to the estimate, in its own normalized coordinates."""

    maps: tuple[Whitener, ...]
    noises: list[Array]  # N*, one per matrix that is decomposed
    directions: list[tuple[Array, Array]]  # the fitted U and V of each


class Estimate:
    """The matrices that a fit decomposes, to be compared with replicates of them.

    `moments` are those of all rows; `options` have everything decided and no features to select. With one response and
    paired directions the proxy X₀ is decomposed, otherwise the unfolding of each view. Replicates have maps W* of their
    own, near Ŵ of the fit but not the same. C with ŴᵀC = I takes a matrix from the normalized coordinates of the fit
    back to moments, and W* from there to those of the replicate.
    """

    def __init__(self, moments: Moments, options: Options) -> None:
        self.options = options
        maps, self._matrices = _matrices_of(moments, options)
        self._duals = [_dual(m) for m in maps]
        self._factors = [leading_triplets(M, r) for M, r in zip(self._matrices, options.ranks, strict=False)]
        q = moments.n_responses
        self._views = [self._column_views(k, q) for k in range(len(self._matrices))]
        self._ends = [np.cumsum([q if j is None else maps[j].width for j in js])[:-1] for js in self._views]
        self.bases = self._bases(maps, [(U, V) for U, _, V in self._factors])

    @property
    def fitted(self) -> list[Array]:
        """σ̂ of each matrix."""
        return [s for _, s, _ in self._factors]

    def replicate(self, moments: Moments) -> Replicate:
        """N* = M* − M̂ and the fitted directions, in the coordinates of these moments; O(n³)."""
        maps, matrices = _matrices_of(moments, self.options)
        for m, name, r in zip(maps, self.options.names, self.options.ranks, strict=True):
            if m.rank < r:
                raise ValueError(
                    f"In a bootstrap replicate view {name!r} varies in {m.rank} directions only, fewer than the {r} of "
                    "n_components: lower that, give more rows, or give ridge to regularize a singular covariance."
                )
        carries = [None if C is None else m.pull(C) for m, C in zip(maps, self._duals, strict=True)]
        noises, directions = [], []
        for k, (M, M_fit, (U, _, V)) in enumerate(zip(matrices, self._matrices, self._factors, strict=True)):
            left = _carry([U, M_fit], carries[k : k + 1], [])
            right = [None if j is None else carries[j] for j in self._views[k]]
            V, M_fit = _carry([V, left[1].T], right, self._ends[k])
            noises.append(M - M_fit.T)
            directions.append((left[0], V))
        return Replicate(maps, noises, directions)

    def start(self, pilots: Iterator[Moments]) -> list[Array]:
        """Singular values d of X̃ to start from: σ̂ less the part of white noise as strong as in these replicates.

        Noise of variance ν² makes of a singular value d of an n₁ × n₂ matrix σ² = (d² + n₁ν²)(d² + n₂ν²)/d², unless it
        is below ν(n₁n₂)^¼ and drowns (Benaych-Georges and Nadakuditi, 2012).
        """
        squares = np.mean([[np.mean(N**2) for N in self.replicate(m).noises] for m in pilots], axis=0)
        result = []
        for s, M, variance in zip(self.fitted, self._matrices, squares, strict=True):
            t1, t2 = variance * M.shape[0], variance * M.shape[1]
            b = s**2 - t1 - t2
            root = np.sqrt(np.clip(b**2 - 4 * t1 * t2, 0, None))
            result.append(np.sqrt(np.where((b > 0) & (root > 0), (b + root) / 2, np.sqrt(t1 * t2))))
        return result

    def decompose(self, moments: Moments, start: Sequence[Array]) -> tuple[list[tuple[Array, ...]], tuple[Array, ...]]:
        """The decomposition of X̃(start) + N*: the arrays of `Spectrum` for each matrix, and the embeddings; O(n³)."""
        replicate = self.replicate(moments)
        cores, factors = [], []
        for N, (U, V), d in zip(replicate.noises, replicate.directions, start, strict=True):
            r = len(d)
            Y = N + (U * d) @ V.T
            P, _, Q = leading_triplets(Y, 2 * r)
            factors.append((P[:, :r], Q[:, :r]))
            P, Q = (np.linalg.qr(np.hstack(pair))[0] for pair in ((P, U), (Q, V)))
            k = 3 * r
            cores.append((_pad(P.T @ Y @ Q, k, k), _pad(P.T @ U, k, r), _pad(Q.T @ V, k, r)))
        return cores, self._bases(replicate.maps, factors)

    def _column_views(self, k: int, q: int) -> list[int | None]:
        """The views that the columns of a matrix belong to, in the order of `unfolding`; None for means."""
        if len(self._matrices) == 1:
            return [1]
        uses = self.options.uses
        return [1 - k] * q + ([k] * q if "within" in uses else []) + ([None] if "means" in uses else [])

    def _bases(self, maps: Sequence[Whitener], factors: Sequence[tuple[Array, Array]]) -> tuple[Array, ...]:
        """Step 2.3: the embeddings that belong to singular vectors."""
        U = factors[0] if len(factors) == 1 else [U for U, _ in factors]
        return tuple(m.push(u) for m, u in zip(maps, U, strict=True))


def _carry(stacks: Sequence[Array], carries: Sequence[Array | None], ends: Any) -> list[Array]:
    """Each matrix with its rows, piece by piece, mapped to other coordinates; None leaves them."""
    result = []
    for M in stacks:
        pieces = zip(np.split(M, ends), carries, strict=True)
        moved = [piece if L is None else L @ piece for piece, L in pieces]
        result.append(moved[0] if len(moved) == 1 else np.vstack(moved))
    return result


def _pad(M: Array, rows: int, columns: int) -> Array:
    """M with zeros added up to a shape, which leaves its singular values."""
    whole = np.zeros((rows, columns))
    whole[: M.shape[0], : M.shape[1]] = M
    return whole


def leading_triplets(M: Array, k: int) -> tuple[Array, Array, Array]:
    """At most k leading singular triplets from the smaller Gram matrix: half the time of an SVD, and digits enough."""
    if M.shape[0] > M.shape[1]:
        V, s, U = leading_triplets(M.T, k)
        return U, s, V
    values, E = np.linalg.eigh(M @ M.T)
    U, s = E[:, ::-1][:, :k], np.sqrt(np.clip(values[::-1][:k], 0, None))
    return U, s, M.T @ (U / np.where(s > 0, s, 1.0))


def _matrices_of(moments: Moments, options: Options) -> tuple[tuple[Whitener, ...], list[Array]]:
    """The maps, and the matrices whose singular vectors are the directions."""
    maps = whiteners(moments, options)
    blocks = normalize_moments(center_moments(moments, options), maps, options)
    X = blocks.pair(0, 1)
    if options.is_plain and len(X) == 1:
        return maps, [X[0]]
    return maps, [unfolding(blocks, k, options.uses) for k in range(len(maps))]


def _dual(m: Whitener) -> Array | None:
    """C with WᵀC = I, or None for the identity."""
    if m.matrix is None:
        return None
    if m.is_full:
        D = m.deviations[:, None]
        return D * np.linalg.pinv(D * m.matrix).T  # whatever the units
    return np.diag(np.divide(1.0, m.matrix, out=np.zeros_like(m.matrix), where=m.matrix > 0))

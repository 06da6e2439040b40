"""What refinement asks of the data: links fitted to coordinates, steps of the directions, errors of held-out rows.

Two answers to the same questions: rows in memory, here, keep their coordinates from one question to the next, and rows
of a source (`jointdr.directions.refine.by_reads`) are read again for each, with only the small model sent to where they are read.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.directions.embedding import project
from jointdr.directions.normalize import Whitener
from jointdr.directions.refine.link_functions import (
    Link,
    Products,
    fit_bilinear,
    fit_learned,
    refit_link,
)
from jointdr.engines import LARGE_BLOCK_BYTES, RandomParts, RowBlock, Rows, block_rows
from jointdr.runtime import Array, as_float, float_dtype, inner, like, slices, to_numpy

ITERATIONS = 4
"""Iterations of least squares per step. Normalized features are nearly orthonormal: more of them change nothing."""

TOLERANCE = 1e-4
"""They end sooner where the step is known this well."""

Bases = tuple[Array, ...]
Charts = tuple[tuple[Array, Array], ...]
"""What makes coordinates of features, for each view: the mean, and U in z = Uᵀ(x − mean)."""


@dataclass(frozen=True)
class Sweep:
    """Where a sweep (or the start, the zeroth) stands: directions, the link that fits them, and held-out errors.

    `errors` are those of each held-out row, where they are at hand, and `total` is their sum.
    """

    bases: Bases
    link: Link
    penalty: float
    total: float
    errors: Array | None = None


@dataclass(frozen=True)
class Errors:
    """Squared errors of some models on the same rows: their number, Σ e, and Σ e eᵀ between models."""

    count: float
    sums: Array
    products: Array

    def __add__(self, other: Errors) -> Errors:
        return Errors(self.count + other.count, self.sums + other.sums, self.products + other.products)

    def of(self, at: slice) -> Errors:
        """Those of some of the models."""
        return Errors(self.count, self.sums[at], self.products[at, at])

    def standard_errors(self, before: int, after: int) -> float:
        """How much lower the errors of the second model are, in standard errors of the difference."""
        total = float(self.sums[before] - self.sums[after])
        P = self.products
        squares = float(P[before, before] - 2 * P[before, after] + P[after, after])
        error = np.sqrt(max(squares - total**2 / max(self.count, 1.0), 0.0))
        return total / error if error > 0 else 0.0


def least_squares(product: Callable[[Array], Array], gradient: Array, size: float) -> Array:
    """min ‖e − Jx‖ by conjugate gradients on JᵀJx = Jᵀe, from JᵀJ as an operator, Jᵀe and ‖e‖².

    The iterates are those of LSQR, and so is the rule by which they end: a residual, or a gradient, that is small
    against what the matrix (its norm is estimated from the trace of the Lanczos matrix) and the rounding of J allow.
    """
    x, r = np.zeros_like(gradient), gradient
    p, gamma, trace, carried = r, float(r @ r), 0.0, 0.0
    for _ in range(ITERATIONS):
        q = product(p)
        curvature = float(p @ q)
        if not curvature > 0:
            break
        alpha = gamma / curvature
        x, r = x + alpha * p, r - alpha * q
        before, gamma = gamma, float(r @ r)
        trace += 1.0 / alpha + carried
        left = np.sqrt(max(size - float(x @ gradient), 0.0))
        norm = np.sqrt(trace)
        close = left <= TOLERANCE * (np.sqrt(size) + norm * float(np.linalg.norm(x)))
        if close or np.sqrt(gamma) <= TOLERANCE * norm * left:
            break
        beta = gamma / before
        carried = beta / alpha
        p = r + beta * p
    return x


class Problem(ABC):
    """The data that is fitted, and how: all that stays the same from sweep to sweep.

    Parameters
    ----------
    maps : sequence of Whitener
    products : {"cross", "all"}
        Which products of coordinates a bilinear link has, as in `jointdr.directions.refine.link_functions.basis_of`.
    seed : int
        Of the random features of a learned link.
    """

    def __init__(self, maps: Sequence[Whitener], products: Products, seed: int) -> None:
        self.maps, self.products, self.seed = tuple(maps), products, seed
        self._charted: tuple[Bases, Charts] = ((), ())

    def charts(self, bases: Bases) -> Charts:
        """The coordinates along directions of normalized features; the last ones are remembered."""
        if self._charted[0] is not bases:
            self._charted = bases, self.pushed(bases)
        return self._charted[1]

    def pushed(self, directions: Bases) -> Charts:
        """The same for directions that are not asked for again."""
        return tuple((m.mean, m.push(H)) for m, H in zip(self.maps, directions, strict=True))

    def step(self, bases: Bases, link: Link, without: int | None) -> Bases:
        """One Gauss-Newton step of all directions, on all rows but those of one fold."""
        sizes = np.cumsum([0, *(H.size for H in bases)])

        def split(x: Array) -> Bases:
            parts = zip(itertools.pairwise(sizes), bases, strict=True)
            return tuple(x[s:e].reshape(H.shape) for (s, e), H in parts)

        pulled, product = self._gauss_newton(bases, link, without)
        gradient, size = pulled
        x = least_squares(lambda p: np.concatenate([G.ravel() for G in product(split(p))]), gradient, size)
        return tuple(np.linalg.qr(H + dH)[0] for H, dH in zip(bases, split(x), strict=True))

    @abstractmethod
    def sweep(self, kind: str, bases: Bases, held_out: int) -> Sweep:
        """A link fitted to the rows that are not held out; a learned one is tuned on those that are."""

    @abstractmethod
    def judge(self, sweeps: Sequence[Sweep], held_out: int) -> Errors:
        """The errors of these models on the rows that are held out."""

    @abstractmethod
    def on_all_rows(self, kind: str, sweep: Sweep | None, charts: Charts) -> Link:
        """The link of a sweep, fitted again to all rows at these coordinates."""

    @abstractmethod
    def mean_square_gradient(self, link: Link, charts: Charts) -> Array:
        """E[∂g/∂z ∂g/∂zᵀ] over all rows, (d, d)."""

    @abstractmethod
    def _gauss_newton(self, bases: Bases, link: Link, without: int | None) -> tuple[tuple[Array, float], Any]:
        """(Jᵀe, ‖e‖²) as one vector and a number, and the function from directions to JᵀJ of them, per view."""


class ProblemInMemory(Problem):
    """Rows in memory; coordinates and slopes are kept while they are needed.

    Parameters
    ----------
    rows : Rows
        With a response that is centred and scaled.
    n_folds : int
    """

    def __init__(self, rows: Rows, maps: Sequence[Whitener], products: Products, seed: int, n_folds: int) -> None:
        super().__init__(maps, products, seed)
        self.views, self.Y = rows.views, rows.y
        self.weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        self.fold = RandomParts(n_folds, seed)(RowBlock(rows.views, rows.y, rows.weight))[0]
        self._last: tuple[Charts, list[Array]] = ((), [])

    def coordinates(self, charts: Charts) -> list[Array]:
        """The embedded views, (m, r_k) each; the last ones are remembered."""
        if self._last[0] is not charts:
            self._last = charts, self._projected(charts)
        return self._last[1]

    def _projected(self, charts: Charts) -> list[Array]:
        parts = zip(self.views, charts, strict=True)
        return [np.asarray(to_numpy(project(X, mean, U)), dtype=float) for X, (mean, U) in parts]

    def sweep(self, kind: str, bases: Bases, held_out: int) -> Sweep:
        """See `Problem`."""
        Z, held = self.coordinates(self.charts(bases)), self.fold == held_out
        if kind == "bilinear":
            link, penalty = fit_bilinear(Z, self.Y, np.where(held, 0.0, self.weight), self.products), 0.0
        else:
            link, penalty = fit_learned(Z, self.Y, self.weight, held_out=held, seed=self.seed)
        E = self.Y[held] - link.predict([z[held] for z in Z])
        errors = self.weight[held] * np.sum(E**2, axis=1)
        return Sweep(bases, link, penalty, float(errors.sum()), errors)

    def judge(self, sweeps: Sequence[Sweep], held_out: int) -> Errors:
        """See `Problem`."""
        E: Array = np.column_stack([np.asarray(sweep.errors) for sweep in sweeps])
        return Errors(float(len(E)), E.sum(axis=0), E.T @ E)

    def on_all_rows(self, kind: str, sweep: Sweep | None, charts: Charts) -> Link:
        """See `Problem`."""
        Z = self.coordinates(charts)
        if kind == "bilinear" or sweep is None:
            return fit_bilinear(Z, self.Y, self.weight, self.products)
        return refit_link(sweep.link, sweep.penalty, Z, self.Y, self.weight)

    def mean_square_gradient(self, link: Link, charts: Charts) -> Array:
        """See `Problem`."""
        return link.mean_square_gradient(self.coordinates(charts), self.weight)

    def _gauss_newton(self, bases: Bases, link: Link, without: int | None) -> tuple[tuple[Array, float], Any]:
        Z = self.coordinates(self.charts(bases))
        weight = self.weight if without is None else np.where(self.fold == without, 0.0, self.weight)
        root = np.sqrt(weight)
        E = root[:, None] * (self.Y - link.predict(Z))
        ends = np.cumsum([0, *(H.shape[1] for H in bases)])
        G = root[:, None, None] * link.gradient(Z)
        slopes = [G[:, :, s:e] for s, e in itertools.pairwise(ends)]

        def backward(e: Array) -> list[Array]:
            parts = zip(self.views, self.maps, slopes, strict=True)
            return [_transposed_times(X, m, np.einsum("mq,mqr->mr", e, S)) for X, m, S in parts]

        def product(directions: Bases) -> list[Array]:
            forward = self._projected(self.pushed(directions))
            return backward(sum(np.einsum("mr,mqr->mq", z, S) for z, S in zip(forward, slopes, strict=True)))

        return (np.concatenate([g.ravel() for g in backward(E)]), float(np.sum(E**2))), product


def _transposed_times(X: Array, m: Whitener, R: Array) -> Array:
    """A′ᵀR of normalized features, (k, r)."""
    dtype = float_dtype(X)
    product = np.zeros((X.shape[1], R.shape[1]))
    for at in slices(len(R), block_rows((X,), block_bytes=LARGE_BLOCK_BYTES)):
        x = as_float(X[at, :], dtype)
        product += to_numpy(inner(x, like(R[at], x)))
    return m.pull(product - np.outer(m.mean, R.sum(axis=0)))

"""Questions of refinement to the data: link functions of coordinates, steps of the directions, held-out errors.

Rows in memory (`in_memory`) keep their coordinates from one question to the next, and rows of a source (`by_reads`) are
read again for each, with only the small model sent to where they are read.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.directions.normalize import Whitener
from jointdr.directions.refine.link_functions import (
    Link,
    Products,
)
from jointdr.runtime import Array

ITERATIONS = 4
"""Iterations of least squares per step. Normalized features are nearly orthonormal: more of them change nothing."""

TOLERANCE = 1e-4  # they end sooner where the step is known this well

Bases = tuple[Array, ...]
Charts = tuple[tuple[Array, Array], ...]
"""For each view, the mean and U of its coordinates z = Uᵀ(x − mean)."""


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

"""Refinement of rows in memory: coordinates and slopes are kept from one question of `Problem` to the next."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jointdr.directions.embedding import project
from jointdr.directions.normalize import Whitener
from jointdr.directions.refine.link_functions import Link, Products, fit_bilinear, fit_on_held_out, refit_link
from jointdr.directions.refine.problem import Bases, Charts, Errors, Problem, Sweep
from jointdr.engines import LARGE_BLOCK_BYTES, RandomParts, RowBlock, Rows, block_rows
from jointdr.runtime import Array, as_float, float_dtype, inner, like, slices, to_numpy


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
        Z, held = self.coordinates(self.charts(bases)), self.fold == held_out
        if kind == "bilinear":
            link, penalty = fit_bilinear(Z, self.Y, np.where(held, 0.0, self.weight), self.products), 0.0
        else:
            link, penalty = fit_on_held_out(Z, self.Y, self.weight, held, self.seed)
        E = self.Y[held] - link.predict([z[held] for z in Z])
        errors = self.weight[held] * np.sum(E**2, axis=1)
        return Sweep(bases, link, penalty, float(errors.sum()), errors)

    def judge(self, sweeps: Sequence[Sweep], held_out: int) -> Errors:
        E: Array = np.column_stack([np.asarray(sweep.errors) for sweep in sweeps])
        return Errors(float(len(E)), E.sum(axis=0), E.T @ E)

    def on_all_rows(self, kind: str, sweep: Sweep | None, charts: Charts) -> Link:
        Z = self.coordinates(charts)
        if kind == "bilinear" or sweep is None:
            return fit_bilinear(Z, self.Y, self.weight, self.products)
        return refit_link(sweep.link, sweep.penalty, Z, self.Y, self.weight)

    def mean_square_gradient(self, link: Link, charts: Charts) -> Array:
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

"""Refinement of data that is not in memory: it is read again for every question of `Problem`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdr.directions.embedding import project
from jointdr.directions.normalize import Whitener
from jointdr.directions.refine.link_functions import (
    Basis,
    Link,
    Normal,
    Products,
    RidgePath,
    basis_at,
    normal_equations,
    side_by_side,
    tune_link,
)
from jointdr.directions.refine.problem import Bases, Charts, Errors, Problem, Sweep
from jointdr.engines import MomentsOf, RandomParts, RowBlock, Rows
from jointdr.runtime import Array, as_float, float_dtype, inner, like, to_numpy


class ProblemByReads(Problem):
    """Rows that are read again for every question: seven or eight reads a sweep, and no memory that grows with them.

    Parameters as of `ProblemInMemory`.
    """

    def __init__(self, rows: Rows, maps: Sequence[Whitener], products: Products, seed: int, n_folds: int) -> None:
        super().__init__(maps, products, seed)
        self.rows, self.groups = rows, RandomParts(n_folds, seed)

    def sweep(self, kind: str, bases: Bases, held_out: int) -> Sweep:
        charts, ranks = self.charts(bases), [H.shape[1] for H in bases]
        if kind == "bilinear":
            centre, spread = self._standardization(charts, held_out)
            basis = basis_at(centre, spread, ranks, self.products)
            train, test = self._normals(charts, basis, held_out)
            link = Link(kind, basis, RidgePath(train, basis.n_products).coefficients(0.0))
            return Sweep(bases, link, 0.0, test.residual(link.theta))
        centre, spread = self._standardization(charts, None)

        def normals(basis: Basis) -> tuple[Normal, Normal]:
            return self._normals(charts, basis, held_out)

        link, penalty, total = tune_link(centre, spread, ranks, normals, self.seed)
        return Sweep(bases, link, penalty, total)

    def judge(self, sweeps: Sequence[Sweep], held_out: int) -> Errors:
        models = tuple((self.charts(sweep.bases), sweep.link) for sweep in sweeps)
        width = max(sweep.link.basis.width for sweep in sweeps)
        count, sums, products = self.rows.accumulate(_JudgedBlock(models, self.groups, held_out), width)
        return Errors(float(count), sums, products)

    def on_all_rows(self, kind: str, sweep: Sweep | None, charts: Charts) -> Link:
        centre, spread = self._standardization(charts, None)
        if kind == "bilinear" or sweep is None:
            kind, penalty = "bilinear", 0.0
            basis = basis_at(centre, spread, [U.shape[1] for _, U in charts], self.products)
        else:
            basis, penalty = replace(sweep.link.basis, centre=centre, spread=spread), sweep.penalty
        normal, _ = self._normals(charts, basis, None)
        return Link(kind, basis, RidgePath(normal, basis.n_products).coefficients(penalty))

    def mean_square_gradient(self, link: Link, charts: Charts) -> Array:
        weight, total = self.rows.accumulate(_SlopesOfBlock(charts, link), link.basis.width)
        return total / weight

    def _standardization(self, charts: Charts, without: int | None) -> tuple[Array, Array]:
        """The mean and the standard deviation of each coordinate, 1 where it does not vary."""
        reduction = _CoordinateMoments(charts, self.groups, without)
        moments = self.rows.reduce(reduction, self.rows.large_block_rows()).central()
        spread = np.sqrt(moments.variances(0))
        return moments.means[0], np.where(spread > 0, spread, 1.0)

    def _normals(self, charts: Charts, basis: Basis, held_out: int | None) -> tuple[Normal, Normal]:
        """The normal equations of the rows that are fitted, and of those that are held out."""
        sums = self.rows.accumulate(_NormalsOfBlock(charts, basis, self.groups, held_out), basis.width)
        G, g, yy, weight, G_held, g_held, yy_held, weight_held = sums
        return Normal(G, g, float(yy), float(weight)), Normal(G_held, g_held, float(yy_held), float(weight_held))

    def _gauss_newton(self, bases: Bases, link: Link, without: int | None) -> tuple[tuple[Array, float], Any]:
        charts = self.charts(bases)

        def pulled(directions: Bases | None) -> tuple[list[Array], float]:
            changes = None if directions is None else self.pushed(directions)
            of_block = _StepOfBlock(charts, link, changes, self.groups, without)
            size, *sums = self.rows.accumulate(of_block, link.basis.width)
            products, offsets = sums[: len(bases)], sums[len(bases) :]
            parts = zip(self.maps, products, offsets, strict=True)
            return [m.pull(P - np.outer(m.mean, o)) for m, P, o in parts], float(size)

        gradient, size = pulled(None)
        return (np.concatenate([g.ravel() for g in gradient]), size), lambda directions: pulled(directions)[0]


def _coordinates(block: RowBlock, charts: Charts) -> Array:
    """The coordinates of a block, of all views side by side."""
    parts = zip(block.views, charts, strict=True)
    return side_by_side([np.asarray(to_numpy(project(X, mean, U)), dtype=float) for X, (mean, U) in parts])


def _weight(block: RowBlock, groups: RandomParts, without: int | None) -> Array:
    """The weight of each row, 0 for those of one fold."""
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return weight if without is None else np.where(groups(block)[0] == without, 0.0, weight)


@dataclass(frozen=True)
class _CoordinateMoments:
    """A reduction: the moments of the coordinates of all rows but those of one fold."""

    charts: Charts
    groups: RandomParts
    without: int | None
    nbytes: int = 0

    def __call__(self, blocks: Any) -> Any:
        keep = {"blocks": (), "covariance": "diagonal", "cross_covariance": False}
        return MomentsOf(keep)(
            replace(b, views=(_coordinates(b, self.charts),), weight=_weight(b, self.groups, self.without))
            for b in blocks
        )

    def merge(self, one: Any, two: Any) -> Any:
        return one.merge(two)


@dataclass(frozen=True)
class _NormalsOfBlock:
    """The share of one block in the normal equations of the rows that are fitted, and of those that are held out."""

    charts: Charts
    basis: Basis
    groups: RandomParts
    held_out: int | None

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        Z, weight = _coordinates(block, self.charts), _weight(block, self.groups, None)
        held = np.zeros(len(block), dtype=bool) if self.held_out is None else self.groups(block)[0] == self.held_out
        parts = [normal_equations(self.basis, Z[at], block.y[at], weight[at]) for at in (~held, held)]
        return tuple(np.asarray(v) for n in parts for v in (n.G, n.g, n.yy, n.weight))


@dataclass(frozen=True)
class _JudgedBlock:
    """The number of held-out rows of a block, Σ e of every model, and Σ e eᵀ."""

    models: tuple[tuple[Charts, Link], ...]
    groups: RandomParts
    held_out: int

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        held = self.groups(block)[0] == self.held_out
        weight = _weight(block, self.groups, None)[held]
        errors = [
            weight * np.sum((block.y[held] - link.predict(_coordinates(block, charts)[held])) ** 2, axis=1)
            for charts, link in self.models
        ]
        E = np.column_stack(errors)
        return np.asarray(float(len(E))), E.sum(axis=0), E.T @ E


@dataclass(frozen=True)
class _SlopesOfBlock:
    """Σ w, and Σ w ∂g/∂z ∂g/∂zᵀ."""

    charts: Charts
    link: Link

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        weight = np.ones(len(block)) if block.weight is None else block.weight
        total = weight.sum()
        mean = self.link.mean_square_gradient(_coordinates(block, self.charts), weight) if total else 0.0
        d = sum(U.shape[1] for _, U in self.charts)
        return np.asarray(total), mean * total + np.zeros((d, d))


@dataclass(frozen=True)
class _StepOfBlock:
    """Σ w e², and Xᵀ(w e·slopes) and Σ w e·slopes of each view, for the residual e, or for what a change explains."""

    charts: Charts
    link: Link
    changes: Charts | None
    groups: RandomParts
    without: int | None

    def __call__(self, block: RowBlock) -> tuple[Array, ...]:
        weight = _weight(block, self.groups, self.without)
        Z = _coordinates(block, self.charts)
        slopes = self.link.gradient(Z)
        if self.changes is None:
            e = block.y - self.link.predict(Z)
        else:
            e = np.einsum("mr,mqr->mq", _coordinates(block, self.changes), slopes)
        size = weight @ np.sum(e**2, axis=1)
        R = np.einsum("mq,mqr->mr", e * weight[:, None], slopes)
        ends = np.cumsum([0, *(U.shape[1] for _, U in self.charts)])
        parts = [R[:, s:e] for s, e in itertools.pairwise(ends)]
        products = []
        for X, part in zip(block.views, parts, strict=True):
            x = as_float(X, float_dtype(X))
            products.append(np.asarray(to_numpy(inner(x, like(part, x))), dtype=float))
        return np.asarray(size), *products, *(part.sum(axis=0) for part in parts)

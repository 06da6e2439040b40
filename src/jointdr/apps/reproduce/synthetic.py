"""Studies on synthetic models: NSEE of estimators on blocks of rows that are drawn, reduced and forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from jointdr import JDR
from jointdr.apps.reproduce.study import Study
from jointdr.datasets import SyntheticModel
from jointdr.metrics import nsee
from jointdr.runtime import Array

VIEW_BYTES = 32_000_000  # of a block of one view: no more than a few of these are held, whatever the number of rows
DTYPE = np.float32  # of products of a block; added up in float64, they are far below any error measured here


class Cell(NamedTuple):
    """One point of one curve: so many rows of a model, and the estimator that is given them."""

    model: SyntheticModel
    method: Any
    m: int

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": asdict(self.model), "method": _parameters(self.method), "m": self.m}


def nsee_study(name: str, varies: str, x: Sequence[int], curves: Mapping[str, Sequence[Cell | None]]) -> Study:
    """A study of the mean NSEE from one cell per curve and value of x, or None where there is nothing to measure."""
    every = [cell for row in curves.values() for cell in row]
    settings = {"cells": [cell and cell.settings for cell in every], "dtype": np.dtype(DTYPE).name}
    seconds = _seconds([cell for cell in every if cell is not None])
    measure = partial(_errors, every, (len(curves), len(x)))
    return Study(name, varies, tuple(x), tuple(curves), measure, settings, seconds)


def _errors(cells: Sequence[Cell | None], shape: tuple[int, int], seed: int) -> Array:
    """NSEE of all cells in one repetition, NaN where there is none.

    Cells whose features are drawn alike get the same features, in one pass over them. That does not change the mean
    of any cell; it makes their errors depend on each other, which the error of a slope takes into account.
    """
    found = np.full(len(cells), np.nan)
    groups: dict[Any, list[tuple[int, Cell]]] = {}
    for i, cell in enumerate(cells):
        if cell is not None:
            groups.setdefault(cell.model.draws, []).append((i, cell))
    for group in groups.values():
        at, alike = zip(*group, strict=True)
        found[list(at)] = _errors_on_shared_draws(alike, seed)
    return found.reshape(shape)


def _errors_on_shared_draws(cells: Sequence[Cell], seed: int) -> list[float]:
    """NSEE of cells on the same features, each at its own number of rows: O(m n²) for every model and method."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    truths = [model.truth(seed) for model in models]
    # Fewer rows are the first of more rows, so that one fit, read along the way, serves all cells of its kind.
    fits: dict[str, tuple[Any, int, int]] = {}
    for cell in cells:
        fit, k, m = fits.get(_kind(cell), (clone(cell.method), models.index(cell.model), 0))
        fits[_kind(cell)] = fit, k, max(m, cell.m)
    found = [np.nan] * len(cells)
    for end, X, ys in _pieces(models, sorted({cell.m for cell in cells}), seed):
        for fit, k, m in fits.values():
            if end <= m:
                _extend(fit, X, ys[k])
        for i, cell in enumerate(cells):
            if cell.m == end:
                fit, k, _ = fits[_kind(cell)]
                found[i] = nsee(truths[k], fit.embeddings_)
    return found


def _pieces(
    models: Sequence[SyntheticModel], ends: Sequence[int], seed: int
) -> Iterator[tuple[int, tuple[Array, Array], list[Array]]]:
    """Blocks of rows, cut where one of `ends` is reached, with the number of rows up to there."""
    rows = max(1024, min(16_384, VIEW_BYTES // (4 * max(models[0].shape))))
    start = 0
    for (A, B), ys in SyntheticModel.shared_blocks(models, ends[-1], rows, seed, DTYPE):
        stop = start + len(A)
        for first, last in pairwise([start, *(end for end in ends if start < end < stop), stop]):
            at = slice(first - start, last - start)
            yield last, (A[at], B[at]), [y[at] for y in ys]
        start = stop


def _extend(fit: Any, X: tuple[Array, Array], y: Array) -> None:
    """Add rows to a fit.

    Where nothing is centred, rows with y = 0 add nothing to Σ y a bᵀ: without them, of the RBF model's rows a fifth
    (r = 2) or a fiftieth (r = 5) are left. One stays, because a constant response would be warned about.
    """
    if isinstance(fit, JDR) and fit.normalize is None and fit.moments == "cross" and np.mean(y != 0) < 0.5:
        rows = np.union1d(np.flatnonzero(y), np.argmin(np.abs(y)))
        X, y = (X[0][rows], X[1][rows]), y[rows]
    fit.partial_fit(X, y)


def _kind(cell: Cell) -> str:
    return f"{cell.model} {sorted(_parameters(cell.method).items(), key=str)}"


def _parameters(method: Any) -> dict[str, Any]:
    return {"class": type(method).__name__, **method.get_params(deep=False)}


def _seconds(cells: Sequence[Cell]) -> float:
    """About how long a repetition takes on one core: random numbers, and products of rows that count."""
    fits: dict[str, tuple[Cell, int]] = {}
    for cell in cells:
        fits[_kind(cell)] = cell, max(cell.m, fits.get(_kind(cell), (cell, 0))[1])
    drawn = {cell.model.draws: (cell.model, m) for cell, m in fits.values()}
    numbers = sum(m * sum(model.shape) * (5 if model.features == "poisson" else 1) for model, m in drawn.values())
    weight = {"rbf": 0.2}  # most of its responses are 0, see `_extend`
    products = sum(m * float(np.prod(c.model.shape)) * weight.get(c.model.link, 1.0) for c, m in fits.values())
    return 0.02 * len(cells) + 1.2e-8 * numbers + 2.5e-11 * products

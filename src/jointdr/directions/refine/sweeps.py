"""Least-squares refinement: y is fitted by a link of the embedded coordinates, and the directions follow its gradient.

JDR's proxy is an unbiased but noisy estimate of U Q Vᵀ: every entry carries the noise of all others. Fitting
y ≈ g(Uᵀa′, Vᵀb′) by least squares removes most of that noise. A sweep has two parts: the link g is fitted to the
coordinates (`jointdr.directions.refine.link_functions`), then all directions make one Gauss-Newton step,

    min over (dU, dV) of Σ w (y − g − (a′ᵀdU)·∂g/∂u − (b′ᵀdV)·∂g/∂v)²,

by a few iterations of conjugate gradients with two thin products per view each, O(m n r); no m × (n r) matrix is ever
formed. With a bilinear g and independent Gaussian features the directions stay consistent for any link, because the
best bilinear approximation has the same ones. `jointdr.directions.refine.problem` has the questions that are put to the
data on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jointdr.directions.embedding import Embedding, Factor, signs_of
from jointdr.directions.normalize import RankError, Whitener
from jointdr.directions.options import Options
from jointdr.directions.refine.by_reads import ProblemByReads
from jointdr.directions.refine.in_memory import ProblemInMemory
from jointdr.directions.refine.link_functions import Link
from jointdr.directions.refine.problem import Bases, Charts, Errors, Problem, Sweep
from jointdr.engines import RowBlock, Rows, Stream
from jointdr.moments import Moments
from jointdr.runtime import Array

PATIENCE = 2
"""A trial ends when this many sweeps in a row were no better than the best one: a single one may fail by chance."""

CLEAR = 2.0  # one held-out fold is enough if it shows by this many standard errors that sweeps help

CERTAIN = 5.0  # beyond this many standard errors the end of a trial is a better start than JDR on all rows


class Trial:
    """Sweeps with one kind of link on all folds of the rows but one, for one fold after the other.

    `path` has the sweeps of the first fold, and `errors` those of all rows held out so far, after each sweep.
    """

    errors: Errors

    def __init__(self, problem: Problem, kind: str, sweeps: int) -> None:
        self.problem, self.kind, self.sweeps = problem, kind, sweeps
        self.path: list[Sweep] = []

    def run(self, bases: Bases, held_out: int) -> list[Sweep]:
        """Make the sweeps from this start without the rows of this fold.

        The first time they end when `PATIENCE` of them in a row were no better than the best before.
        """
        path = [self.problem.sweep(self.kind, bases, held_out)]
        for j in range(1, self.sweeps + 1):
            if not self.path and j > PATIENCE and int(np.argmin([sweep.total for sweep in path])) < j - PATIENCE:
                break
            bases = self.problem.step(bases, path[-1].link, held_out)
            path.append(self.problem.sweep(self.kind, bases, held_out))
        self.sweeps = len(path) - 1
        self.path = self.path or path
        return path

    @property
    def best(self) -> int:
        """The number of sweeps with the lowest held-out residual."""
        return int(np.argmin(self.errors.sums)) if self.path else 0

    @property
    def is_clear(self) -> bool:
        """Whether more held-out rows would not change that sweeps help, or that they do not."""
        if self.best:
            return self.errors.standard_errors(0, self.best) > CLEAR
        return all(self.errors.standard_errors(0, j) < -CLEAR for j in range(1, len(self.path)))

    def on_all_rows(self, charts: Charts) -> Link:
        """The link of the best sweep, fitted again to all rows at these coordinates."""
        return self.problem.on_all_rows(self.kind, self.path[self.best] if self.path else None, charts)

    def sweep_all(self, whole: Bases) -> Bases:
        """The sweeps on all rows, from JDR's own directions; or, where the trial came far, one more sweep from its end.

        The trial started from fewer rows. Where the signal is weak that is a much worse start, of which it may keep the
        wrong directions; where it is strong, both end at the same place.
        """
        bases, sweeps = whole, self.best
        if self.errors.standard_errors(0, self.best) > CERTAIN:
            bases, sweeps = self.path[self.best].bases, 1
        for _ in range(sweeps):
            bases = self.problem.step(bases, self.on_all_rows(self.problem.charts(bases)), None)
        return bases


class Refinement(NamedTuple):
    """The result of `refine_embedding`.

    Attributes
    ----------
    factors : list of ((k_k, r_k), (r_k,)) arrays, or None
        For each view, orthonormal directions in normalized coordinates and their weights, see `_order_directions`; None
        if no sweep helped.
    accepted : int
        The number of sweeps with the lowest residual of held-out rows; 0 if none is lower than that of the start.
    link : Link
        Fitted to all rows, in the coordinates of these directions, or of the start.
    """

    factors: list[Factor] | None
    accepted: int
    link: Link


def refine_embedding(
    rows: Rows,
    maps: Sequence[Whitener],
    whole: Embedding,
    without: Callable[[int], Embedding],
    parts: Sequence[Moments],
    options: Options,
) -> Refinement:
    """Refine an embedding by least squares, as long as it helps on rows that were not fitted.

    Parameters
    ----------
    rows : Rows
        All data. In memory it is gone through about ten times a sweep, and the gradient of the link takes O(m q Σ r_k);
        of a source it is read seven times a sweep, and only the small model is kept.
    maps : sequence of Whitener
    whole : Embedding
        Fitted to all rows.
    without : callable
        The embedding fitted to all rows but those of one fold: where a trial starts. It may raise `RankError`.
    parts : sequence of Moments
        Those of each fold; rows are dealt out to folds by `RandomParts` of their number and ``options.fold_seed``.
    options : Options
        With ``refine``, the largest number of sweeps, and ``link``: ``"auto"`` tries both kinds and takes the learned
        link function if its held-out residual is lower by more than one standard error.

    Notes
    -----
    Sweeps are tried on all rows but those of one fold, which judge them. If it is not clear from these whether sweeps
    help, the next fold is left out, and so on, at most once each. If they help, they are made on all rows.
    """
    centred = rows.centred()
    scale = centred.root_mean_square() or 1.0
    kind = ProblemByReads if isinstance(rows, Stream) else ProblemInMemory
    responses = centred.with_responses(Divided(scale))
    problem = kind(responses, maps, options.products, options.fold_seed, len(parts))
    kinds = ("bilinear", "learned") if options.link == "auto" else (options.link,)
    trials = [Trial(problem, kind, options.refine) for kind in kinds]
    weights = [part.weight for part in parts]
    best, errors = trials[0], None
    for i, weight in enumerate(weights):
        if not weight > 0 or not sum(weights) - weight > 0:
            continue
        try:
            start = _normalized_bases(without(i), maps)
        except RankError:  # a feature that varies in this fold only
            continue
        paths = [trial.run(start, i) for trial in trials]
        found = problem.judge([sweep for path in paths for sweep in path], i)
        errors = found if errors is None else errors + found
        ends = np.cumsum([0, *map(len, paths)])
        for trial, s, e in zip(trials, ends[:-1], ends[1:], strict=True):
            trial.errors = errors.of(slice(s, e))
        if len(trials) == 2:
            lower = errors.standard_errors(trials[0].best, int(ends[1]) + trials[1].best)
            best = trials[1] if lower > 1.0 else trials[0]
        if best.is_clear:
            break
    factors: list[Factor] | None = None
    charts: Charts = tuple(zip(whole.means, whole.bases, strict=True))
    if best.best:
        factors = _order_directions(best, best.sweep_all(_normalized_bases(whole, maps)))
        charts = problem.charts(tuple(U for U, _ in factors))
    g = best.on_all_rows(charts)
    theta = g.theta * scale
    assert whole.prediction is not None
    theta[0] += whole.prediction.y_mean  # the constant: link functions predict y, not y − µ
    factors = None if factors is None else [(U, scale * s) for U, s in factors]
    return Refinement(factors, best.best, replace(g, theta=theta))


@dataclass(frozen=True)
class Divided:
    """The responses of a block in other units."""

    scale: float

    def __call__(self, block: RowBlock) -> Array:
        return block.y / self.scale


def _order_directions(trial: Trial, bases: Bases) -> list[Factor]:
    """The bases turned so that directions come in the order of their weight, and their weights.

    Of a bilinear fit of one response, U S Vᵀ, these are its singular vectors and values. Otherwise they are the
    eigenvectors of E[∂g/∂u ∂g/∂uᵀ] and the root mean square slopes along them.
    """
    problem = trial.problem
    charts = problem.charts(bases)
    link = trial.on_all_rows(charts)
    r = bases[0].shape[1]
    if trial.kind == "bilinear" and problem.products == "cross" and len(link.theta) == 1 + r * r and link.is_scalar:
        P, s, Qt = np.linalg.svd(link.coefficients.reshape(r, r))
        turned = (bases[0] @ P, bases[1] @ Qt.T)
        signs = signs_of(problem.maps[0].push(turned[0]))
        return [(H * signs, s) for H in turned]
    squares = problem.mean_square_gradient(link, charts)
    ends = np.cumsum([0, *(H.shape[1] for H in bases)])
    result = []
    for k, (start, end) in enumerate(itertools.pairwise(ends)):
        values, E = np.linalg.eigh(squares[start:end, start:end])
        H = bases[k] @ E[:, ::-1]
        spectrum = np.sqrt(np.clip(values[::-1], 0, None))
        result.append((H * signs_of(problem.maps[k].push(H)), spectrum))
    return result


def _normalized_bases(embedding: Embedding, maps: Sequence[Whitener]) -> Bases:
    """Orthonormal bases, in normalized coordinates, of the embeddings: the inverse of U = W U′."""
    bases = []
    for U, m in zip(embedding.bases, maps, strict=True):
        if m.is_full:
            H = np.linalg.lstsq(m.matrix, U, rcond=None)[0]
        else:
            H = U if m.matrix is None else U / np.where(m.matrix > 0, m.matrix, 1.0)[:, None]
        bases.append(np.linalg.qr(H)[0])
    return tuple(bases)

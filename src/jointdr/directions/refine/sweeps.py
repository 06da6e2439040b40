"""Least-squares refinement: y is fitted by a link of the embedded coordinates, and the directions follow its gradient.

JDR's proxy is an unbiased but noisy estimate of U Q Vᵀ: every entry carries the noise of all others. Fitting
y ≈ g(Uᵀa′, Vᵀb′) by least squares removes most of that noise. A sweep has two parts: the link g is fitted to the
coordinates (`jointdr.directions.refine.link_functions`), then all directions make one Gauss-Newton step,

    min over (dU, dV) of Σ w (y − g − (a′ᵀdU)·∂g/∂u − (b′ᵀdV)·∂g/∂v)²,

by a few iterations of conjugate gradients with two thin products per view each, O(m n r); no m × (n r) matrix is ever
formed. With a bilinear g and independent Gaussian features the directions stay consistent for any link, because the
best bilinear approximation has the same ones. What is asked of the data on the way is in `jointdr.directions.refine.problem`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from jointdr.directions.embedding import Embedding, signs_of
from jointdr.directions.normalize import RankError, Whitener
from jointdr.directions.refine.by_reads import ProblemByReads
from jointdr.directions.refine.link_functions import Link, Products
from jointdr.directions.refine.problem import Bases, Charts, Errors, Problem, ProblemInMemory, Sweep
from jointdr.engines import RowBlock, Rows, Stream
from jointdr.runtime import Array

LINKS = ("auto", "bilinear", "learned")

PATIENCE = 2
"""A trial ends when this many sweeps in a row were no better than the best one: a single one may fail by chance."""

CLEAR = 2.0
"""One held-out fold is enough if it shows by this many standard errors that sweeps help."""

CERTAIN = 5.0
"""Beyond this many standard errors the end of a trial is a better start than JDR on all rows."""


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
            bases = self.problem.stepped(bases, path[-1].link, held_out)
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

    def swept(self, whole: Bases) -> Bases:
        """The sweeps on all rows, from JDR's own directions; or, where the trial came far, one more sweep from its end.

        The trial started from fewer rows. Where the signal is weak that is a much worse start, of which it may keep the
        wrong directions; where it is strong, both end at the same place.
        """
        bases, sweeps = whole, self.best
        if self.errors.standard_errors(0, self.best) > CERTAIN:
            bases, sweeps = self.path[self.best].bases, 1
        for _ in range(sweeps):
            bases = self.problem.stepped(bases, self.on_all_rows(self.problem.charts(bases)), None)
        return bases


class Refinement(NamedTuple):
    """What `refined` found.

    Attributes
    ----------
    bases : tuple of (k_k, r_k) arrays, or None
        Orthonormal directions in normalized coordinates; None if no sweep helped.
    spectra : tuple of (r_k,) arrays
        Their weights, see `_ordered`; empty if no sweep helped.
    accepted : int
        The number of sweeps with the lowest residual of held-out rows; 0 if none is lower than that of the start.
    link : Link
        Fitted to all rows, in the coordinates of these directions, or of the start.
    """

    bases: Bases | None
    spectra: tuple[Array, ...]
    accepted: int
    link: Link


def refined(
    rows: Rows,
    maps: Sequence[Whitener],
    whole: Embedding,
    without: Callable[[int], Embedding],
    weights: Sequence[float],
    sweeps: int,
    link: Literal["auto", "bilinear", "learned"] = "bilinear",
    products: Products = "cross",
    seed: int = 0,
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
    weights : sequence of float
        The weight of all rows of each fold; rows are dealt out to folds by `RandomParts` of this number and `seed`.
    sweeps : int
        How many sweeps to make at most.
    link : {"auto", "bilinear", "learned"}
        ``"auto"`` tries both and takes the learned link if its held-out residual is lower by more than one standard
        error.
    products : {"cross", "all"}
        Whether a bilinear link also has the linear and quadratic terms of each view.
    seed : int
        Of the random features of a learned link.

    Notes
    -----
    Sweeps are tried on all rows but those of one fold, which judge them. If these cannot tell clearly whether sweeps
    help, the next fold is left out, and so on, at most once each. If they help, they are made on all rows.
    """
    centred = rows.centred()
    scale = centred.root_mean_square() or 1.0
    kind = ProblemByReads if isinstance(rows, Stream) else ProblemInMemory
    problem = kind(centred.with_responses(Divided(scale)), maps, products, seed, len(weights))
    trials = [Trial(problem, kind, sweeps) for kind in (("bilinear", "learned") if link == "auto" else (link,))]
    best, errors = trials[0], None
    for i, weight in enumerate(weights):
        if not weight > 0 or not sum(weights) - weight > 0:
            continue
        try:
            start = _normalized_bases(without(i), maps)
        except RankError:  # a feature that varies in this fold only
            continue
        paths = [trial.run(start, i) for trial in trials]
        found = problem.judged([sweep for path in paths for sweep in path], i)
        errors = found if errors is None else errors + found
        ends = np.cumsum([0, *map(len, paths)])
        for trial, s, e in zip(trials, ends[:-1], ends[1:], strict=True):
            trial.errors = errors.of(slice(s, e))
        if len(trials) == 2:
            lower = errors.standard_errors(trials[0].best, int(ends[1]) + trials[1].best)
            best = trials[1] if lower > 1.0 else trials[0]
        if best.is_clear:
            break
    bases: Bases | None = None
    spectra: tuple[Array, ...] = ()
    charts: Charts = tuple(zip(whole.means, whole.bases, strict=True))
    if best.best:
        bases, spectra = _ordered(best, best.swept(_normalized_bases(whole, maps)))
        charts = problem.charts(bases)
    g = best.on_all_rows(charts)
    theta = g.theta * scale
    theta[0] += whole.y_mean  # the constant: links predict y, not y − µ
    return Refinement(bases, tuple(scale * s for s in spectra), best.best, replace(g, theta=theta))


@dataclass(frozen=True)
class Divided:
    """The responses of a block in other units."""

    scale: float

    def __call__(self, block: RowBlock) -> Array:
        """y / scale."""
        return block.y / self.scale


def _ordered(trial: Trial, bases: Bases) -> tuple[Bases, tuple[Array, ...]]:
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
        return tuple(H * signs for H in turned), (s, s)
    squares = problem.mean_square_gradient(link, charts)
    ends = np.cumsum([0, *(H.shape[1] for H in bases)])
    result, spectra = [], []
    for k, (start, end) in enumerate(itertools.pairwise(ends)):
        values, E = np.linalg.eigh(squares[start:end, start:end])
        H = bases[k] @ E[:, ::-1]
        result.append(H * signs_of(problem.maps[k].push(H)))
        spectra.append(np.sqrt(np.clip(values[::-1], 0, None)))
    return tuple(result), tuple(spectra)


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

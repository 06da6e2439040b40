"""Least-squares refinement: y is fitted by a link of the embedded coordinates, and the directions follow its gradient.

JDR's proxy is an unbiased but noisy estimate of U Q Vᵀ: every entry carries the noise of all others. Fitting
y ≈ g(Uᵀa′, Vᵀb′) by least squares removes most of that noise. A sweep has two parts: the link g is fitted to the
coordinates (`jointdr.links`), then all directions make one Gauss-Newton step,

    min over (dU, dV) of Σ w (y − g − (a′ᵀdU)·∂g/∂u − (b′ᵀdV)·∂g/∂v)²,

by a few LSQR iterations with two thin products per view each, O(m n r); no m × (n r) matrix is ever formed. With a
bilinear g and independent Gaussian features the directions stay consistent for any link, because the best bilinear
approximation has the same ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from jointdr.arrays import Array, as_float, float_dtype, inner, like, to_numpy
from jointdr.embedding import Embedding, projected, signs_of
from jointdr.engines.local import LARGE_BLOCK_BYTES, Rows, block_rows, slices
from jointdr.links import Link, Products, fit_bilinear, fit_learned, refitted
from jointdr.normalize import RankError, Whitener

LINKS = ("auto", "bilinear", "learned")

ITERATIONS = 4
"""LSQR iterations per step. Normalized features are nearly orthonormal, so that more of them change nothing."""

PATIENCE = 2
"""A trial ends when this many sweeps in a row were no better than the best one: a single one may fail by chance."""

CLEAR = 2.0
"""One held-out fold is enough if it shows by this many standard errors that sweeps help."""

CERTAIN = 5.0
"""Beyond this many standard errors the end of a trial is a better start than JDR on all rows."""

Bases = tuple[Array, ...]


@dataclass(frozen=True)
class NormalizedView:
    """A view as an operator in normalized coordinates, H ↦ A′H and R ↦ A′ᵀR, without a normalized copy."""

    X: Array
    map: Whitener

    def times(self, H: Array) -> Array:
        """A′H, (m, r)."""
        return np.asarray(to_numpy(projected(self.X, self.map.mean, self.map.push(H))), dtype=float)

    def transposed_times(self, R: Array) -> Array:
        """A′ᵀR, (k, r)."""
        dtype = float_dtype(self.X)
        product = np.zeros((self.X.shape[1], R.shape[1]))
        for at in slices(len(R), block_rows((self.X,), block_bytes=LARGE_BLOCK_BYTES)):
            X = as_float(self.X[at, :], dtype)
            product += to_numpy(inner(X, like(R[at], X)))
        return self.map.pull(product - np.outer(self.map.mean, R.sum(axis=0)))


@dataclass(frozen=True)
class Problem:
    """The data that is fitted, and how: all that stays the same from sweep to sweep.

    `products` says which products of coordinates a bilinear link has, as in `jointdr.links.basis_of`.
    """

    views: tuple[NormalizedView, ...]
    Y: Array
    weight: Array
    products: Products
    seed: int

    def coordinates(self, bases: Bases) -> list[Array]:
        """The embedded views, (m, r_k) each."""
        return [view.times(H) for view, H in zip(self.views, bases, strict=True)]

    def errors(self, link: Link, Z: list[Array], rows: Array) -> Array:
        """The weighted squared error of each of these rows."""
        E = self.Y[rows] - link.predict([z[rows] for z in Z])
        return self.weight[rows] * np.sum(E**2, axis=1)


@dataclass(frozen=True)
class Sweep:
    """Where a sweep (or the start, the zeroth) stands: directions, the link that fits them, and held-out errors."""

    bases: Bases
    link: Link
    penalty: float
    errors: Array


class Trial:
    """Sweeps with one kind of link on all folds of the rows but one, for one fold after the other.

    `errors[j]` holds the squared errors of all rows held out so far after j sweeps.
    """

    def __init__(self, problem: Problem, kind: str, sweeps: int) -> None:
        self.problem, self.kind, self.sweeps = problem, kind, sweeps
        self.path: list[Sweep] = []
        self.errors: list[Array] = []

    def run(self, bases: Bases, held_out: Array) -> None:
        """Make the sweeps from this start without these rows, and judge each on them.

        The first time they end when `PATIENCE` of them in a row were no better than the best before.
        """
        train = np.where(held_out, 0.0, self.problem.weight)
        Z = self.problem.coordinates(bases)
        path = [self._at(bases, Z, held_out)]
        for j in range(1, self.sweeps + 1):
            if not self.path and j > PATIENCE:
                totals = [sweep.errors.sum() for sweep in path]
                if int(np.argmin(totals)) < j - PATIENCE:
                    break
            bases = _stepped(self.problem, bases, Z, path[-1].link, train)
            Z = self.problem.coordinates(bases)
            path.append(self._at(bases, Z, held_out))
        self.sweeps = len(path) - 1
        new = [sweep.errors for sweep in path]
        self.errors = [np.concatenate(e) for e in zip(self.errors, new, strict=True)] if self.path else new
        self.path = self.path or path

    def _at(self, bases: Bases, Z: list[Array], held_out: Array) -> Sweep:
        """A link fitted to the rows that are not held out; a learned one is tuned on those that are."""
        problem = self.problem
        if self.kind == "bilinear":
            train = np.where(held_out, 0.0, problem.weight)
            link, penalty = fit_bilinear(Z, problem.Y, train, problem.products), 0.0
        else:
            link, penalty = fit_learned(Z, problem.Y, problem.weight, held_out=held_out, seed=problem.seed)
        return Sweep(bases, link, penalty, problem.errors(link, Z, held_out))

    @property
    def best(self) -> int:
        """The number of sweeps with the lowest held-out residual."""
        return int(np.argmin([e.sum() for e in self.errors])) if self.errors else 0

    @property
    def is_clear(self) -> bool:
        """Whether more held-out rows would not change that sweeps help, or that they do not."""
        if self.best:
            return _standard_errors(self.errors[0], self.errors[self.best]) > CLEAR
        return all(_standard_errors(self.errors[0], e) < -CLEAR for e in self.errors[1:])

    def on_all_rows(self, Z: list[Array]) -> Link:
        """The link of the best sweep, fitted again to all rows at these coordinates."""
        if self.kind == "bilinear" or not self.path:
            return fit_bilinear(Z, self.problem.Y, self.problem.weight, self.problem.products)
        sweep = self.path[self.best]
        return refitted(sweep.link, sweep.penalty, Z, self.problem.Y, self.problem.weight)

    def swept(self, whole: Bases) -> Bases:
        """The sweeps on all rows, from JDR's own directions; or, where the trial came far, one more sweep from its end.

        The trial started from fewer rows. Where the signal is weak that is a much worse start, of which it may keep the
        wrong directions; where it is strong, both end at the same place.
        """
        bases, sweeps = whole, self.best
        if _standard_errors(self.errors[0], self.errors[self.best]) > CERTAIN:
            bases, sweeps = self.path[self.best].bases, 1
        for _ in range(sweeps):
            Z = self.problem.coordinates(bases)
            bases = _stepped(self.problem, bases, Z, self.on_all_rows(Z), self.problem.weight)
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
    fold: Array,
    sweeps: int,
    link: Literal["auto", "bilinear", "learned"] = "bilinear",
    products: Products = "cross",
    seed: int = 0,
) -> Refinement:
    """Refine an embedding by least squares, as long as it helps on rows that were not fitted.

    Parameters
    ----------
    rows : Rows
        All data, which is read about 2·`ITERATIONS` + 2 times a sweep. The gradient of the link takes O(m q Σ r_k).
    maps : sequence of Whitener
    whole : Embedding
        Fitted to all rows.
    without : callable
        The embedding fitted to all rows but those of one fold: where a trial starts. It may raise `RankError`.
    fold : (m,) integer array
        The fold of each row.
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
    views = tuple(NormalizedView(X, m) for X, m in zip(rows.views, maps, strict=True))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    Y = rows.centred().y
    scale = float(np.sqrt(np.average(np.sum(Y**2, axis=1), weights=weight))) or 1.0
    problem = Problem(views, Y / scale, weight, products, seed)
    trials = [Trial(problem, kind, sweeps) for kind in (("bilinear", "learned") if link == "auto" else (link,))]
    best = trials[0]
    for i in range(int(fold.max()) + 1):
        if not weight[fold == i].any() or not weight[fold != i].any():
            continue
        try:
            start = _normalized_bases(without(i), maps)
        except RankError:  # a feature that varies in this fold only
            continue
        for trial in trials:
            trial.run(start, fold == i)
        best = trials[0] if len(trials) == 1 or _advantage(*trials) <= 1.0 else trials[1]
        if best.is_clear:
            break
    bases: Bases | None = None
    spectra: tuple[Array, ...] = ()
    if best.best:
        bases, spectra = _ordered(best, best.swept(_normalized_bases(whole, maps)))
        Z = problem.coordinates(bases)
    else:
        Z = [np.asarray(to_numpy(z), dtype=float) for z in whole.transform(rows.views)]
    g = best.on_all_rows(Z)
    theta = g.theta * scale
    theta[0] += whole.y_mean  # the constant: links predict y, not y − µ
    return Refinement(bases, tuple(scale * s for s in spectra), best.best, replace(g, theta=theta))


def _advantage(simple: Trial, learned: Trial) -> float:
    """By how many standard errors the learned link is better."""
    return _standard_errors(simple.errors[simple.best], learned.errors[learned.best])


def _standard_errors(before: Array, after: Array) -> float:
    """How much lower the second of two errors of the same rows is, in standard errors of the difference."""
    difference = before - after
    error = np.sqrt(len(difference)) * difference.std()
    return float(difference.sum() / error) if error > 0 else 0.0


def _stepped(problem: Problem, bases: Bases, Z: list[Array], link: Link, weight: Array) -> Bases:
    """One Gauss-Newton step of all directions, by LSQR."""
    root = np.sqrt(weight)
    E = root[:, None] * (problem.Y - link.predict(Z))
    ends = np.cumsum([0, *(H.shape[1] for H in bases)])
    G = root[:, None, None] * link.gradient(Z)
    slopes = [G[:, :, s:e] for s, e in itertools.pairwise(ends)]
    sizes = np.cumsum([0, *(H.size for H in bases)])
    shapes = [H.shape for H in bases]

    def split(x: Array) -> list[Array]:
        return [x[s:e].reshape(shape) for (s, e), shape in zip(itertools.pairwise(sizes), shapes, strict=True)]

    def forward(x: Array) -> Array:
        parts = zip(problem.views, split(x), slopes, strict=True)
        return sum(np.einsum("mr,mqr->mq", view.times(dH), S) for view, dH, S in parts).ravel()

    def backward(e: Array) -> Array:
        e = e.reshape(E.shape)
        parts = zip(problem.views, slopes, strict=True)
        return np.concatenate([view.transposed_times(np.einsum("mq,mqr->mr", e, S)).ravel() for view, S in parts])

    operator = LinearOperator((E.size, sizes[-1]), matvec=forward, rmatvec=backward, dtype=float)
    x = lsqr(operator, E.ravel(), iter_lim=ITERATIONS, atol=1e-4, btol=1e-4)[0]
    return tuple(np.linalg.qr(H + dH)[0] for H, dH in zip(bases, split(x), strict=True))


def _ordered(trial: Trial, bases: Bases) -> tuple[Bases, tuple[Array, ...]]:
    """The bases turned so that directions come in the order of their weight, and their weights.

    Of a bilinear fit of one response, U S Vᵀ, these are its singular vectors and values. Otherwise they are the
    eigenvectors of E[∂g/∂u ∂g/∂uᵀ] and the root mean square slopes along them.
    """
    problem = trial.problem
    Z = problem.coordinates(bases)
    link = trial.on_all_rows(Z)
    r = bases[0].shape[1]
    if trial.kind == "bilinear" and problem.products == "cross" and len(link.theta) == 1 + r * r and link.is_scalar:
        P, s, Qt = np.linalg.svd(link.coefficients.reshape(r, r))
        turned = (bases[0] @ P, bases[1] @ Qt.T)
        signs = signs_of(problem.views[0].map.push(turned[0]))
        return tuple(H * signs for H in turned), (s, s)
    squares = link.mean_square_gradient(Z, problem.weight)
    ends = np.cumsum([0, *(H.shape[1] for H in bases)])
    result, spectra = [], []
    for k, (start, end) in enumerate(itertools.pairwise(ends)):
        values, E = np.linalg.eigh(squares[start:end, start:end])
        H = bases[k] @ E[:, ::-1]
        result.append(H * signs_of(problem.views[k].map.push(H)))
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

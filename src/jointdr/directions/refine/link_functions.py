"""The link g of y ≈ g(Uᵀa, Vᵀb, …): models of the embedded coordinates that are linear in their parameters.

Two families, which can be joined: products of coordinates (what a bilinear or quadratic surrogate has) and random
Fourier features (Rahimi and Recht 2007), which approximate any smooth function. Both have gradients in closed form,
which `jointdr.directions.refine.sweeps` follows to better directions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal

import numpy as np

from jointdr.runtime import Array, slices

N_FOURIER = 400
"""Random Fourier features of a learned link: half as many make directions 5 % less accurate, more no better."""

LENGTH_SCALES = (0.75,)
"""Lengths over which a learned link varies, tried on held-out rows, in units of √d in standardized coordinates."""

PENALTIES = (*10.0 ** np.arange(-6, 0.1, 0.5), 1e3)
"""Ridge penalties of the Fourier part, per unit of weight, that are tried; the last switches it off."""

FEWEST_LEFT = 0.25  # A fit that leaves fewer degrees of freedom per row than this is not trusted

JITTER = 1e-10  # relative penalty of the product part, so that collinear coordinates do no harm

BLOCK_BYTES = 8_000_000  # features are made for this many bytes of rows at a time

Products = Literal["cross", "all"]


@dataclass(frozen=True)
class Basis:
    """Functions of d embedded coordinates: a constant, products of coordinates and random Fourier features.

    Attributes
    ----------
    centre, spread : (d,) arrays
        Coordinates are standardized by them first.
    monomials : tuple of (p_t, t) integer arrays
        Coordinates whose products are features; one array per degree t.
    frequencies : (d, F) array
    phases : (F,) array
        In single precision, in which cosines take a fraction of the time; they are random anyway.
    """

    centre: Array
    spread: Array
    monomials: tuple[Array, ...]
    frequencies: Array
    phases: Array

    @property
    def n_products(self) -> int:
        """The number of features that are not Fourier features, the constant included."""
        return 1 + sum(len(at) for at in self.monomials)

    @property
    def width(self) -> int:
        return self.n_products + len(self.phases)

    def features(self, Z: Array) -> Array:
        """The features of some rows, (rows, width)."""
        X = self._standardized(Z)
        parts = [np.ones((1, X.shape[1])), *(_products(X, at) for at in self.monomials)]
        if len(self.phases):
            parts.append(self._amplitude * np.cos(self._angles(X)))
        return np.concatenate(parts).T

    def gradient(self, Z: Array, theta: Array) -> Array:
        """The gradients of the features' sums with coefficients θ (width, q), with respect to Z: (rows, q, d)."""
        X = self._standardized(Z)
        d, q = len(X), theta.shape[1]
        result = np.zeros((X.shape[1], q * d))
        start = 1
        for at in self.monomials:
            part = theta[start : start + len(at)]
            start += len(at)
            for t in range(at.shape[1]):
                place = np.zeros((len(at), q, d))
                place[np.arange(len(at)), :, at[:, t]] = part
                result += _products(X, np.delete(at, t, axis=1)).T @ place.reshape(len(at), -1)
        if len(self.phases):
            slopes = self._amplitude * np.sin(self._angles(X))
            place = theta[start:, :, None] * self.frequencies.T[:, None, :]
            result -= slopes.T @ place.reshape(len(self.phases), -1)
        return result.reshape(-1, q, d) / self.spread

    def _standardized(self, Z: Array) -> Array:
        """(d, rows): coordinates come first, because whole rows of an array are gathered faster than columns."""
        return np.ascontiguousarray(((Z - self.centre) / self.spread).T)

    def _angles(self, X: Array) -> Array:
        return self.frequencies.T @ X.astype(self.frequencies.dtype) + self.phases[:, None]

    @property
    def _amplitude(self) -> float:
        return float(np.sqrt(2.0 / len(self.phases)))


@dataclass(frozen=True)
class Link:
    """A fitted link: embedded coordinates [Uᵀa, Vᵀb, …] to responses.

    Attributes
    ----------
    kind : {"bilinear", "learned"}
    basis : Basis
    theta : (width, q) array
        Coefficients of the basis.
    """

    kind: str
    basis: Basis
    theta: Array

    def predict(self, Z: Array | Sequence[Array]) -> Array:
        """The responses at these coordinates, (rows, q); Z has one array per view, or all of them side by side."""
        Z = self._joined(Z)
        return np.concatenate([self.basis.features(Z[at]) @ self.theta for at in _blocks(Z, self.basis)])

    def gradient(self, Z: Array | Sequence[Array]) -> Array:
        """How the responses change with each coordinate, (rows, q, d)."""
        Z = self._joined(Z)
        return np.concatenate([self.basis.gradient(Z[at], self.theta) for at in _blocks(Z, self.basis)])

    def mean_square_gradient(self, Z: Array | Sequence[Array], weight: Array) -> Array:
        """E[∂g/∂z ∂g/∂zᵀ], (d, d), over rows with these weights; O(m q d) time, a block at a time."""
        Z = self._joined(Z)
        total = np.zeros((Z.shape[1],) * 2)
        for at in _blocks(Z, self.basis):
            G = self.basis.gradient(Z[at], self.theta)
            total += np.einsum("m,mqi,mqj->ij", weight[at], G, G, optimize=True)
        return total / weight.sum()

    @property
    def is_scalar(self) -> bool:
        return self.theta.shape[1] == 1

    @property
    def coefficients(self) -> Array:
        """The coefficients of products of one coordinate of each view, per unit of the coordinates, (products, q)."""
        at = self.basis.monomials[-1]
        theta = self.theta[self.basis.n_products - len(at) : self.basis.n_products]
        return theta / np.prod(self.basis.spread[at], axis=1)[:, None]

    def shifted(self, mean: Array) -> Link:
        """The link of responses that are larger by this much."""
        theta = self.theta.copy()
        theta[0] += mean
        return replace(self, theta=theta)

    def _joined(self, Z: Array | Sequence[Array]) -> Array:
        Z = side_by_side(Z)
        if Z.ndim != 2 or Z.shape[1] != len(self.basis.centre):
            raise ValueError(
                f"Z must have {len(self.basis.centre)} coordinates per row, those of all views together as transform "
                f"gives them; got shape {Z.shape}."
            )
        return Z


@dataclass(frozen=True)
class Normal:
    """The normal equations of a basis on some weighted rows: ΦᵀWΦ, ΦᵀWY and tr YᵀWY."""

    G: Array
    g: Array
    yy: float
    weight: float

    def residual(self, theta: Array) -> float:
        """The squared error of coefficients θ on these rows."""
        return self.yy - 2 * float(np.sum(theta * self.g)) + float(np.sum(theta * (self.G @ theta)))


class RidgePath:
    """The minimizers of the squared error plus a ridge on the Fourier part, for every penalty, O(width³) together.

    The products, which are not penalized, are eliminated first; what remains is diagonal in its eigenvectors.
    """

    def __init__(self, normal: Normal, n_products: int) -> None:
        p = n_products
        self.normal, self.n_products = normal, p
        head = normal.G[:p, :p] + np.diag(JITTER * np.diag(normal.G)[:p] + np.finfo(float).tiny)
        solved = np.linalg.solve(head, np.hstack([normal.g[:p], normal.G[:p, p:]]))
        self.products, self.shared = solved[:, : normal.g.shape[1]], solved[:, normal.g.shape[1] :]
        values, self.E = np.linalg.eigh(normal.G[p:, p:] - normal.G[p:, :p] @ self.shared)
        self.values = np.clip(values, 0, None)
        self.rotated = self.E.T @ (normal.g[p:] - normal.G[p:, :p] @ self.products)

    def coefficients(self, penalty: float) -> Array:
        """θ, (width, q)."""
        ridge = penalty * self.normal.weight + np.finfo(float).tiny
        theta = self.E @ (self.rotated / (self.values + ridge)[:, None])
        return np.concatenate([self.products - self.shared @ theta, theta])

    def cross_validation(self, penalty: float, n_rows: float) -> float:
        """Generalized cross-validation (Golub, Heath and Wahba 1979): the error expected on rows like these."""
        ridge = penalty * self.normal.weight + np.finfo(float).tiny
        freedom = self.n_products + float(np.sum(self.values / (self.values + ridge)))
        left = 1.0 - freedom / n_rows
        return self.normal.residual(self.coefficients(penalty)) / left**2 if left > FEWEST_LEFT else np.inf


def side_by_side(Z: Array | Sequence[Array]) -> Array:
    """Coordinates of all views side by side, (rows, d)."""
    parts = getattr(Z, "arrays", Z)
    return np.hstack(list(parts)) if isinstance(parts, (tuple, list)) else np.asarray(parts)


def basis_of(
    Z: Array,
    weight: Array,
    ranks: Sequence[int],
    products: Products,
    n_fourier: int = 0,
    length: float = 1.0,
    seed: int = 0,
) -> Basis:
    """A basis for these coordinates.

    ``products="cross"`` has the products of one coordinate of each view, ``"all"`` also every coordinate and every
    product of two. `length` is that of the Fourier part, in units of √d.
    """
    return basis_at(*standardization(Z, weight), ranks, products, n_fourier, length, seed)


def basis_at(
    centre: Array,
    spread: Array,
    ranks: Sequence[int],
    products: Products,
    n_fourier: int = 0,
    length: float = 1.0,
    seed: int = 0,
) -> Basis:
    """The same for coordinates of this mean and standard deviation."""
    d = sum(ranks)
    ends = np.cumsum([0, *ranks])
    across = np.array(list(itertools.product(*(range(s, e) for s, e in itertools.pairwise(ends)))))
    if products == "cross":
        monomials: tuple[Array, ...] = (across,)
    else:
        pairs = np.array(list(itertools.combinations_with_replacement(range(d), 2)))
        monomials = (np.arange(d)[:, None], pairs) if len(ranks) <= 2 else (np.arange(d)[:, None], pairs, across)
    rng = np.random.default_rng(seed)
    frequencies = (rng.standard_normal((d, n_fourier)) / (length * np.sqrt(d))).astype(np.float32)
    phases = rng.uniform(0, 2 * np.pi, n_fourier).astype(np.float32)
    if products == "cross":  # a bilinear surrogate has no terms of one view alone, so it must not be moved
        centre = np.zeros(d)
    return Basis(centre, spread, monomials, frequencies, phases)


def standardization(Z: Array, weight: Array) -> tuple[Array, Array]:
    """The mean and the standard deviation of each coordinate, 1 where it does not vary."""
    total = weight.sum()
    centre = weight @ Z / total
    spread = np.sqrt(weight @ (Z - centre) ** 2 / total)
    return centre, np.where(spread > 0, spread, 1.0)


def normal_equations(basis: Basis, Z: Array, Y: Array, weight: Array) -> Normal:
    """The sums that a fit needs, O(rows · width²), in blocks."""
    G, g = np.zeros((basis.width, basis.width)), np.zeros((basis.width, Y.shape[1]))
    for at in _blocks(Z, basis):
        root = np.sqrt(weight[at])[:, None]
        F = basis.features(Z[at]) * root
        G += F.T @ F
        g += F.T @ (Y[at] * root)
    return Normal(G, g, float(weight @ np.sum(Y**2, axis=1)), float(weight.sum()))


def fit_bilinear(Z: Sequence[Array], Y: Array, weight: Array, products: Products = "cross") -> Link:
    """Least squares on products of coordinates; O(m p²) for p products."""
    ranks = [z.shape[1] for z in Z]
    Z = side_by_side(Z)
    basis = basis_of(Z, weight, ranks, products)
    theta = RidgePath(normal_equations(basis, Z, Y, weight), basis.n_products).coefficients(0.0)
    return Link("bilinear", basis, theta)


def fit_learned(
    Z: Sequence[Array], Y: Array, weight: Array, *, lengths: Sequence[float] = LENGTH_SCALES, seed: int = 0
) -> Link:
    """Ridge regression on products and random Fourier features of the coordinates, tuned by cross-validation.

    Parameters
    ----------
    Z : sequence of (m, r_k) arrays
    Y : (m, q) array
    weight : (m,) array
    lengths : sequence of float
        Of the Fourier features, in units of √d.
    seed : int
    """
    ranks, X = [z.shape[1] for z in Z], side_by_side(Z)
    n_rows = max(float(weight.sum()), float(np.count_nonzero(weight)))  # a weight of 2 is two rows
    # It may also do without the products of two coordinates of one view, where there are few rows.
    kinds: tuple[Products, ...] = ("all", "cross")
    basis = basis_of(X, weight, ranks, "cross")
    theta = np.zeros((basis.width, Y.shape[1]))
    theta[0] = weight @ Y / weight.sum()  # the mean, where there are hardly more rows than products of coordinates
    best = np.inf, Link("learned", basis, theta)
    for length, kind in itertools.product(lengths, kinds):
        basis = basis_of(X, weight, ranks, kind, N_FOURIER, length, seed)
        path = RidgePath(normal_equations(basis, X, Y, weight), basis.n_products)
        for penalty in PENALTIES:
            error = path.cross_validation(penalty, n_rows)
            if error < best[0]:
                best = error, Link("learned", basis, path.coefficients(penalty))
    return best[1]


def tune_link(
    centre: Array, spread: Array, ranks: Sequence[int], normals: Callable[[Basis], tuple[Normal, Normal]], seed: int = 0
) -> tuple[Link, float, float]:
    """The same, tuned on rows that are held out.

    `normals` makes the normal equations of the rows that are fitted and of those that are held out, for a basis of
    coordinates with this mean and standard deviation.

    Returns
    -------
    link : Link
    penalty : float
    error : float
        The squared error of the rows that were held out.
    """
    best: tuple[float, Any] = (np.inf, None)
    for length in LENGTH_SCALES:
        basis = basis_at(centre, spread, ranks, "all", N_FOURIER, length, seed)
        train, test = normals(basis)
        path = RidgePath(train, basis.n_products)
        for penalty in PENALTIES:
            theta = path.coefficients(penalty)
            error = test.residual(theta)
            if error < best[0]:
                best = error, (Link("learned", basis, theta), penalty)
    error, (link, penalty) = best
    return link, penalty, error


def fit_on_held_out(Z: Sequence[Array], Y: Array, weight: Array, held_out: Array, seed: int = 0) -> tuple[Link, float]:
    """`tune_link` of rows in memory, of which the mask `held_out` has those that are not to be fitted."""
    X = side_by_side(Z)

    def normals(basis: Basis) -> tuple[Normal, Normal]:
        train, test = (normal_equations(basis, X[at], Y[at], weight[at]) for at in (~held_out, held_out))
        return train, test

    link, penalty, _ = tune_link(*standardization(X, weight), [z.shape[1] for z in Z], normals, seed)
    return link, penalty


def refit_link(link: Link, penalty: float, Z: Sequence[Array], Y: Array, weight: Array) -> Link:
    """A link with the same products, frequencies and penalty, fitted to these rows."""
    X = side_by_side(Z)
    centre, spread = standardization(X, weight)
    basis = replace(link.basis, centre=centre, spread=spread)
    path = RidgePath(normal_equations(basis, X, Y, weight), basis.n_products)
    return Link(link.kind, basis, path.coefficients(penalty))


def _products(X: Array, at: Array) -> Array:
    """For each row of `at`, the product of those rows of X."""
    if at.shape[1] == 0:
        return np.ones((len(at), X.shape[1]))
    return reduce(np.multiply, (X[rows] for rows in at.T))


def _blocks(Z: Array, basis: Basis) -> list[slice]:
    return list(slices(len(Z), max(256, BLOCK_BYTES // (8 * basis.width)))) or [slice(0, 0)]

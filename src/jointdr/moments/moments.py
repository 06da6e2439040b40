"""Moments: the small mergeable summary of (a, b, ..., y) that every method here is a function of.

A `Moments` holds sums of products of deviations from a *centre* that lies near the mean, together with the first-order
sums about that centre. Three operations then need one formula, the translation of the centre (`Moments.about`): merging
two moments (translate both to the joint mean, add), centring (translate by the remaining mean) and rebuilding raw
moments (translate to zero). Because the first-order sums are kept, the mean is never rounded to the precision of its
own size, and merging one row at a time is as accurate as one large block, however large the means are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from jointdr.moments.block_sums import Covariance, Keep, block_sums
from jointdr.moments.translation import translate
from jointdr.runtime import (
    Array,
    PlainState,
    Scratch,
    check_integer,
    check_number,
    html_table,
    like,
    namespace,
    to_numpy,
)


@dataclass(frozen=True, eq=False)
class Moments(PlainState):
    """Moments of K views and a response with q components, about a centre, as sums over rows.

    Build them with `of_block` (or `zero`), join them with `merge` or ``+``; read them through the methods
    below, which give the paper's normalized central quantities. Merging is associative and commutative up
    to rounding, with `zero` as its neutral element.

    Attributes
    ----------
    n_samples : int
        Number of rows seen.
    weight, weight_squared : float
        Σ w and Σ w².
    n_features : tuple of int
        Number of features of each view.
    means : tuple of arrays
        The weighted mean of each view.
    y_mean : array of shape (q,)
        The weighted mean of the response.
    """

    n_samples: int
    weight: float
    weight_squared: float
    keep: Keep
    eps: float
    centers: tuple[Array, ...]
    y_center: Array
    sums: tuple[Array, ...]
    y_sum: Array
    scatters: tuple[Array | None, ...]
    y_scatters: tuple[Array, ...]
    y_scatter: Array
    cross_scatters: Mapping[tuple[int, int], Array] = field(default_factory=dict)
    thirds: Mapping[tuple[int, int], Array] = field(default_factory=dict)

    # ---------------------------------------------------------------- construction

    @classmethod
    def zero(
        cls,
        n_features: Sequence[int],
        *,
        n_responses: int = 1,
        blocks: Iterable[str] = ("cross",),
        covariance: Covariance | Sequence[Covariance] = "full",
        cross_covariance: bool = True,
    ) -> Moments:
        """The moments of no rows: the neutral element of `merge`."""
        check_integer("n_responses", n_responses, 0)
        keep = Keep.of(len(n_features), blocks, covariance, cross_covariance)
        views = [np.zeros((0, n)) for n in n_features]
        return cls(keep=keep, **block_sums(views, np.zeros((0, n_responses)), None, keep, 0, None, Scratch()))

    @classmethod
    def of_block(
        cls,
        views: Sequence[Array],
        y: Array | None = None,
        weight: Array | None = None,
        *,
        blocks: Iterable[str] = ("cross",),
        covariance: Covariance | Sequence[Covariance] = "full",
        cross_covariance: bool = True,
        center: Sequence[Array] | Literal[0] | None = None,
        y_center: Array | None = None,
        scratch: Scratch | None = None,
    ) -> Moments:
        """The moments of one block of rows.

        Parameters
        ----------
        views : sequence of (rows, n_k) arrays
            Dense arrays of one Array API library, or SciPy CSR matrices, which are never densified. Products
            run in float32 if all views are float32 and in float64 otherwise; results are float64.
        y : (rows,) or (rows, q) array, optional
            The response. Only needed if `blocks` is not empty.
        weight : (rows,) array, optional
            Finite, non-negative sample weights of at most 1e100.
        blocks, covariance, cross_covariance
            What to compute, see `Keep`.
        center : None, 0 or one vector per view
            The point about which sums are taken: by default the block's own mean (0 for sparse views), 0 for raw sums.
        y_center : scalar or (q,) array, optional
            The same for the response. Blocks that share it can be merged without `cross_covariance`.
        scratch : Scratch, optional
            Buffers to use again from block to block.

        Notes
        -----
        Steps 1.1, 1.2 and 2.1 of Algorithm 1 on a block. Cost O(rows · n²) for each matrix that is kept.
        """
        keep = Keep.of(len(views), blocks, covariance, cross_covariance)
        moments = cls(keep=keep, **block_sums(views, y, weight, keep, center, y_center, scratch or Scratch()))
        if center is None or isinstance(center, int) or moments.is_about(center, moments.y_center):
            return moments
        return moments.about(center)  # sparse views, which were not centred

    # ---------------------------------------------------------------- algebra

    def about(self, center: Sequence[Array] | Literal[0] | None = None, y_center: Array | None = None) -> Moments:
        """The same moments about another point; 0 gives raw sums, None leaves a centre where it is."""
        xp = namespace(*self.centers)
        if center is None:
            center = self.centers
        elif isinstance(center, int):
            center = [xp.zeros_like(c) for c in self.centers]
        center = [like(c, old) for c, old in zip(center, self.centers, strict=True)]
        if y_center is None:
            y_center = self.y_center
        y_center = xp.zeros_like(self.y_center) + like(y_center, self.y_center)
        deltas = [c - new for c, new in zip(self.centers, center, strict=True)]
        shifted = translate(self, deltas, self.y_center - y_center)
        return replace(shifted, centers=tuple(center), y_center=y_center)

    def central(self) -> Moments:
        """The same moments about their own mean."""
        if not self.weight:
            return self
        shifted = translate(self, [-s / self.weight for s in self.sums], -self.y_sum / self.weight)
        xp = namespace(*self.centers)
        return replace(
            shifted,
            centers=self.means,
            y_center=self.y_mean,
            sums=tuple(xp.zeros_like(s) for s in self.sums),
            y_sum=xp.zeros_like(self.y_sum),
        )

    def merge(self, other: Moments) -> Moments:
        """The moments of the rows of both. Cost O(n²), whatever the number of rows."""
        if not isinstance(other, Moments):
            raise TypeError(f"Moments can only be merged with Moments, not {type(other).__name__}.")
        if self.keep != other.keep or self.n_features != other.n_features or self.n_responses != other.n_responses:
            raise ValueError(
                "Only moments of the same views, normalization and blocks can be merged; got "
                f"{self.n_features} with {self.keep} and {other.n_features} with {other.keep}."
            )
        for one, two in ((self, other), (other, self)):
            if one.n_samples == 0:
                return two
        centers = [
            self._common(other, *parts)
            for parts in zip(self.centers, self.sums, other.centers, other.sums, strict=True)
        ]
        y_center = self._common(other, self.y_center, self.y_sum, other.y_center, other.y_sum)
        one, two = (m if m.is_about(centers, y_center) else m.about(centers, y_center) for m in (self, other))

        sums = {
            f.name: _map_arrays(add, getattr(one, f.name), getattr(two, f.name))
            for f in fields(self)
            if f.name not in ("keep", "eps", "centers", "y_center")
        }
        return replace(one, eps=max(one.eps, two.eps), **sums)

    def _common(self, other: Moments, c: Array, s: Array, d: Array, t: Array) -> Array:
        """The centre shared by two parts: theirs if it is the same, the joint mean otherwise."""
        xp = namespace(c)
        total = self.weight + other.weight
        if not total or c is d or bool(xp.all(c == d)):
            return c
        return c + (s + t + other.weight * (d - c)) / total

    def is_about(self, centers: Sequence[Array], y_center: Array) -> bool:
        """Whether sums are taken about these centres."""
        xp = namespace(*self.centers)
        pairs = [*zip(self.centers, centers, strict=True), (self.y_center, y_center)]
        return all(c is d or bool(xp.all(c == like(d, c))) for c, d in pairs)

    def __add__(self, other: Moments) -> Moments:
        return self.merge(other) if isinstance(other, Moments) else NotImplemented

    def __radd__(self, other: object) -> Moments:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() starts at 0

    def scaled(self, factor: float) -> Moments:
        """The moments as if every row had been seen `factor` times: ``m.scaled(2)`` is ``m + m``.

        Every sum is multiplied, Σw² among them, so that the effective number of rows (Σw)²/Σw² is too. `n_samples` is
        rounded to a whole number of rows; `factor` need not be whole, but not negative.
        """
        expected = "a number >= 0: the number of times that every row counts"
        check_number("factor", factor, 0, expected=expected)
        kept = ("n_samples", "keep", "eps", "centers", "y_center")
        summed = [f.name for f in fields(self) if f.name not in kept]
        sums = {name: _map_arrays(lambda v: v * factor, getattr(self, name)) for name in summed}
        return replace(self, n_samples=round(self.n_samples * factor), **sums)

    def relabelled(self, y_center: Array) -> Moments:
        """The moments of the same rows if y had been measured from another origin: only its centre moves."""
        xp = namespace(*self.centers)
        return replace(self, y_center=xp.zeros_like(self.y_center) + like(y_center, self.y_center))

    def with_covariances(self, other: Moments) -> Moments:
        """These moments with the covariances of others, of the same rows about the same centre, in place of its own."""
        if self.n_samples != other.n_samples or not self.is_about(other.centers, self.y_center):
            raise ValueError("Covariances can only be taken over from moments of the same rows about the same centre.")
        keep = replace(self.keep, covariance=other.keep.covariance, cross_covariance=other.keep.cross_covariance)
        return replace(self, keep=keep, scatters=other.scatters, cross_scatters=other.cross_scatters)

    def select(self, masks: Sequence[Array]) -> Moments:
        """The moments of the chosen features alone: one boolean mask or index array per view."""
        at = [np.flatnonzero(m) if np.asarray(m).dtype == bool else np.asarray(m) for m in masks]

        def rows_columns(M: Array, j: int, k: int) -> Array:
            return M[..., at[j], :][..., at[k]]

        host = self.to_numpy()
        return replace(
            host,
            centers=tuple(c[i] for c, i in zip(host.centers, at, strict=True)),
            sums=tuple(s[i] for s, i in zip(host.sums, at, strict=True)),
            scatters=tuple(
                None if M is None else (M[at[k]] if M.ndim == 1 else rows_columns(M, k, k))
                for k, M in enumerate(host.scatters)
            ),
            y_scatters=tuple(M[i] for M, i in zip(host.y_scatters, at, strict=True)),
            cross_scatters=MappingProxyType(
                {(j, k): rows_columns(M, j, k) for (j, k), M in host.cross_scatters.items()}
            ),
            thirds=MappingProxyType({(j, k): rows_columns(T, j, k) for (j, k), T in host.thirds.items()}),
        )

    def to_numpy(self) -> Moments:
        """The same moments as NumPy arrays on the host."""

        arrays = (*self.centers, *self.sums, *self.scatters, *self.thirds.values(), self.y_center, self.y_scatter)
        if all(M is None or isinstance(M, np.ndarray) for M in arrays):
            return self
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        moved = {k: _map_arrays(to_numpy, v) for k, v in held.items() if not isinstance(v, (int, float, Keep))}
        return replace(self, **moved)

    # ---------------------------------------------------------------- what the methods read

    @property
    def n_views(self) -> int:
        """Number of views K."""
        return len(self.centers)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(c.shape[0]) for c in self.centers)

    @property
    def n_responses(self) -> int:
        """Number of components of the response q; 0 if it was not looked at."""
        return int(self.y_center.shape[0])

    @property
    def means(self) -> tuple[Array, ...]:
        """Step 1.1: the mean of each view."""
        return tuple(c + s / (self.weight or 1.0) for c, s in zip(self.centers, self.sums, strict=True))

    @property
    def y_mean(self) -> Array:
        """Step 1.1: the mean of the response, of shape (q,)."""
        return self.y_center + self.y_sum / (self.weight or 1.0)

    @property
    def nbytes(self) -> int:
        """Bytes held by the second- and third-order sums."""
        held = [*self.scatters, *self.cross_scatters.values(), *self.thirds.values()]
        return sum(8 * int(np.prod(M.shape)) for M in held if M is not None)

    def covariance(self, view: int) -> Array:
        """Step 1.2: Σ_a about the centre, (n, n), or (n,) where only the diagonal is kept."""
        M = self.scatters[view]
        if M is None:
            raise ValueError(f"The covariance of view {view} was not kept; compute the moments with covariance='full'.")
        return M / self.weight

    def variances(self, view: int) -> Array:
        """The variance of each feature of a view about the centre."""
        M = self.scatters[view]
        if M is None or M.ndim == 1:
            return self.covariance(view)
        return namespace(M).linalg.diagonal(M) / self.weight

    def cross_covariance(self, j: int, k: int) -> Array:
        """C_ab about the centre, (n_j, n_k)."""
        if (j, k) not in self.cross_scatters:
            raise ValueError("The cross covariance was not kept; compute the moments with cross_covariance=True.")
        return self.cross_scatters[j, k] / self.weight

    def response_covariance(self, view: int) -> Array:
        """C_ay about the centre, (n, q)."""
        return self.y_scatters[view] / self.weight

    def y_covariance(self) -> Array:
        """The covariance of the response about the centre, (q, q)."""
        return self.y_scatter / self.weight

    @property
    def y_variances(self) -> Array:
        """The variance of each component of the response about its mean, (q,)."""
        return namespace(self.y_scatter).linalg.diagonal(self.y_covariance()) - (self.y_sum / self.weight) ** 2

    def third(self, j: int, k: int) -> Array:
        """T_ayb (or T_aya for j = k) about the centre, (q, n_j, n_k): step 2.1 before normalization."""
        if (j, k) not in self.thirds:
            block = "within" if j == k else "cross"
            raise ValueError(
                f"T of views {j} and {k} was not kept; compute the moments with blocks including {block!r}."
            )
        return self.thirds[j, k] / self.weight

    # ---------------------------------------------------------------- notebooks

    def _repr_html_(self) -> str:
        rows = [
            (view, n, "none" if M is None else "full" if M.ndim == 2 else "diagonal")
            for view, (n, M) in enumerate(zip(self.n_features, self.scatters, strict=True))
        ]
        kept = ["C_ab"] if self.cross_scatters else []
        kept += [f"T of views {j} and {k}" for j, k in self.thirds]
        title = f"Moments of {self.n_samples} rows, total weight {self.weight:g}, {self.n_responses} responses"
        note = f"also kept: {', '.join(kept) or 'nothing'}; {self.nbytes / 1e6:.3g} MB"
        return html_table(title, ("view", "features", "covariance"), rows, note)


def merged(parts: Iterable[Moments]) -> Moments:
    """The moments of the rows of all parts together, of which there is at least one."""
    return reduce(Moments.merge, parts)


def _map_arrays(function: Callable[..., Any], *values: Any) -> Any:
    """A function of arrays, part by part of tuples and mappings of them; None stays None."""
    first = values[0]
    if isinstance(first, tuple):
        return tuple(_map_arrays(function, *parts) for parts in zip(*values, strict=True))
    if isinstance(first, Mapping):
        return MappingProxyType({key: function(*(v[key] for v in values)) for key in first})
    return None if first is None else function(*values)

"""One function per method: moments (or re-readable rows) in, an `Embedding` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from jointdr import proxy, selection
from jointdr.arrays import Array, as_float, float_dtype, is_sparse, like, namespace, to_numpy
from jointdr.engines.local import Rows, block_rows, slices
from jointdr.factorize import Formed, Solver, sketched_svd, svd
from jointdr.moments import Moments
from jointdr.normalize import Normalize, Whitener, covariance_needed, whiteners


@dataclass(frozen=True)
class Embedding:
    """Fitted linear maps, one per view: z = Uᵀ(a − µ).

    Attributes
    ----------
    bases : tuple of (n_k, r) arrays
        The paper's Û and V̂.
    singular_values : (r,) array
        Σ̂′ of step 2.2, decreasing.
    means : tuple of (n_k,) arrays
        µ_a, µ_b; zeros if nothing is centred.
    y_mean : float
        µ_y; 0 if nothing is centred.
    support : tuple of (n_k,) boolean arrays
        Which features take part.
    centred : bool
        Whether y was centred before the proxy was taken.
    probes : tuple of (Σ n_k, r) arrays or None
        For ``normalize="joint"``: the maps of the joined views that read the proxy off other data.
    """

    bases: tuple[Array, ...]
    singular_values: Array
    means: tuple[Array, ...]
    y_mean: float
    support: tuple[Array, ...]
    centred: bool = True
    probes: tuple[Array, ...] | None = None

    def transform(self, views: Sequence[Array], exponent: float = 0.0) -> tuple[Array, ...]:
        """Uᵀ(a − µ) of every row of every view, times Σ^exponent; O(m n r)."""
        factor = self.singular_values**exponent if exponent else 1.0
        return tuple(projected(X, mean, U * factor) for X, mean, U in zip(views, self.means, self.bases, strict=True))

    def criterion(self, views: Sequence[Array], y: Array, weight: Array | None = None) -> float:
        """How well the proxy of other data is predicted: (2⟨X_new, X̂⟩ − ‖X̂‖²)/Var(y), with X̂ = ÛΣV̂ᵀ.

        It is largest for the X̂ nearest to the expected proxy. For independent normalized features it is the share
        of y's variance that the bilinear prediction µ_y + a′ᵀX̂b′ explains. X_new is not formed: its product with
        X̂ is a sum over rows of the embedded views, O(m n r).
        """
        if self.probes is None:
            A, B = self.transform(views)
        else:
            ends = np.cumsum([len(m) for m in self.means])[:-1]
            A, B = (
                sum(projected(X, m, part) for X, m, part in zip(views, self.means, np.split(P, ends), strict=True))
                for P in self.probes
            )
        prediction = (to_numpy(A) * to_numpy(B)) @ self.singular_values
        variance = np.average((y - (np.average(y, weights=weight) if self.centred else 0.0)) ** 2, weights=weight)
        if not variance > 0:
            raise ValueError("y is constant, so there is nothing to score.")
        gain = 2 * np.average((y - self.y_mean) * prediction, weights=weight) - np.sum(self.singular_values**2)
        return float(gain / variance)


def projected(X: Array, mean: Array, U: Array) -> Array:
    """(X − µ)U, block by block; sparse X is centred implicitly."""
    if is_sparse(X):
        return np.asarray(X @ U) - mean @ U
    dtype = float_dtype(X)
    U = like(U, X, dtype)
    mean = like(mean, X, dtype)
    parts = [(as_float(X[at, :], dtype) - mean) @ U for at in slices(X.shape[0], block_rows((X,)))]
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts, axis=0)


@dataclass(frozen=True)
class Options:
    """The choices that JDR leaves to the user, already checked."""

    n_components: int
    normalize: Normalize = "full"
    ridge: float | Literal["auto"] = 0.0
    solver: Solver = "exact"
    n_iter: int = 2
    n_features_to_select: tuple[int, int] | None = None
    seed: int | None = None
    names: tuple[str, ...] = ("a", "b")
    features: tuple[Array | None, ...] = (None, None)

    @property
    def centred(self) -> bool:
        """Whether means are taken off."""
        return self.normalize is not None

    def generator(self) -> np.random.Generator:
        """The source of the sketches' randomness; the same seed gives the same sketch."""
        return np.random.default_rng(self.seed)


def moments_needed(options: Options, mergeable: bool = True) -> dict[str, Any]:
    """What JDR reads, as keywords of `Moments.of_block`.

    Without `mergeable` the cross covariance is left out: moments of rows to come can then not be added. (Raw moments
    can always be.)
    """
    if options.solver != "exact":
        blocks: tuple[str, ...] = ()
    else:
        blocks = ("cross", "within") if options.normalize == "joint" else ("cross",)
    keep: dict[str, Any] = {
        "blocks": blocks,
        "covariance": covariance_needed(options.normalize),
        "cross_covariance": bool(blocks) and options.centred and (mergeable or options.normalize == "joint"),
    }
    return keep if options.centred else {**keep, "center": 0, "y_center": 0.0}


def jdr(moments: Moments, options: Options) -> Embedding:
    """Algorithm 1 (or 3, with features to select) on moments; O(n³), whatever the number of rows.

    Parameters
    ----------
    moments : Moments
        With the ``"cross"`` block and the covariance that the normalization needs; ``"joint"`` needs the
        ``"within"`` block and the cross covariance too.
    options : Options
    """
    moments = moments.to_numpy()
    moments = moments.about(0, y_center=0.0) if options.normalize is None else moments.central()
    y_mean = float(moments.y_center[0])
    maps = whiteners(moments, options.normalize, options.ridge, options.names, options.features)
    joint = proxy.JointProxy(moments, maps, options.ridge) if options.normalize == "joint" else None
    X = proxy.formed(moments, maps) if joint is None else joint.matrix
    if options.n_features_to_select is not None:
        M = proxy.unitless(X, maps)
        chosen = selection.select([(slice(0, M.shape[1]), M)], *options.n_features_to_select)
        return _of_selection(chosen, maps, options, y_mean, lambda at: moments.select(at))
    _require_rank(maps, options)
    if options.solver == "exact":
        factors = svd(X, options.n_components)
    else:
        factors = sketched_svd(Formed(X), options.n_components, options.solver, options.n_iter, options.generator())
    return _embedding(factors, maps, y_mean, options.centred, None if joint is None else joint.probes)


def jdr_from_rows(rows: Rows, moments: Moments, options: Options) -> Embedding:
    """Algorithm 2 on data that can be read again: the proxy is applied, never formed.

    Parameters
    ----------
    rows : Rows
    moments : Moments
        The means and (co)variances of these rows, from a first read.
    options : Options

    Notes
    -----
    2 + 2·n_iter reads of the data, O(m n r) each. With features to select, the proxy passes through memory a few
    columns at a time instead.
    """
    maps = whiteners(moments, options.normalize, options.ridge, options.names, options.features)
    y_mean = float(np.average(rows.y, weights=rows.weight)) if options.centred else 0.0
    X = proxy.DataProxy(rows.centred() if options.centred else rows, maps)
    if options.n_features_to_select is not None:
        chosen = selection.select(X.unitless_columns(), *options.n_features_to_select)
        exact = moments_needed(replace(options, solver="exact"), mergeable=False)
        return _of_selection(chosen, maps, options, y_mean, lambda at: rows.select(at).fold(**exact))
    _require_rank(maps, options)
    factors = sketched_svd(X, options.n_components, options.solver, options.n_iter, options.generator())
    return _embedding(factors, maps, y_mean, options.centred)


def _embedding(
    factors: tuple[Array, Array, Array],
    maps: Sequence[Whitener],
    y_mean: float,
    centred: bool,
    probes: Sequence[Array] | None = None,
) -> Embedding:
    """Step 2.3: factors of the proxy to embeddings of the features, with signs fixed as by `svd_flip`."""
    U, s, V = factors
    loadings = maps[0].push(U)
    largest = loadings[np.argmax(np.abs(loadings), axis=0), np.arange(len(s))]
    signs = np.where(largest < 0, -1.0, 1.0)
    U, V = U * signs, V * signs
    return Embedding(
        bases=(maps[0].push(U), maps[1].push(V)),
        singular_values=s,
        means=tuple(m.mean for m in maps),
        y_mean=y_mean,
        support=tuple(m.deviations > 0 for m in maps),
        centred=centred,
        probes=None if probes is None else (probes[0] @ U, probes[1] @ V),
    )


def _of_selection(
    chosen: selection.Selection,
    maps: Sequence[Whitener],
    options: Options,
    y_mean: float,
    moments_of: Callable[[Sequence[Array]], Moments],
) -> Embedding:
    """Step 3 of Algorithm 3: the embedding of the selected features, with zeros for all others.

    Without full normalization it is the decomposition of X̂₃, as in the paper. With it, the features left out also
    leave the covariances, so the proxy is rebuilt from the moments of the selected features alone.
    """
    at = (chosen.rows, chosen.columns)
    if maps[0].is_full:
        inner = replace(
            options,
            n_features_to_select=None,
            solver="exact",
            features=tuple(None if f is None else f[i] for f, i in zip(options.features, at, strict=True)),
        )
        part = jdr(moments_of(at), inner)
    else:
        maps_at = [
            Whitener(m.mean[i], None if m.matrix is None else m.matrix[i], m.deviations[i])
            for m, i in zip(maps, at, strict=True)
        ]
        _require_rank(maps_at, options)
        part = _embedding(svd(chosen.matrix, options.n_components), maps_at, y_mean, options.centred)
    sizes = [len(m.mean) for m in maps]
    everywhere = np.concatenate([at[0], sizes[0] + at[1]])
    return replace(
        part,
        bases=tuple(_expanded(U, i, n) for U, i, n in zip(part.bases, at, sizes, strict=True)),
        means=tuple(m.mean for m in maps),
        support=tuple(_expanded(mask, i, n) for mask, i, n in zip(part.support, at, sizes, strict=True)),
        probes=None if part.probes is None else tuple(_expanded(P, everywhere, sum(sizes)) for P in part.probes),
    )


def _expanded(part: Array, at: Array, n: int) -> Array:
    whole = np.zeros((n, *part.shape[1:]), dtype=part.dtype)
    whole[at] = part
    return whole


def _require_rank(maps: Sequence[Whitener], options: Options) -> None:
    for m, name in zip(maps, options.names, strict=True):
        if m.rank < options.n_components:
            raise ValueError(
                f"n_components={options.n_components} is more than the {m.rank} directions in which view {name!r} "
                "varies: lower n_components, give more rows, or give ridge to regularize a singular covariance."
            )

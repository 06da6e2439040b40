"""One function per method: moments (or re-readable rows) in, an `Embedding` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from jointdr.directions import proxy, selection, tensor
from jointdr.directions.embedding import Embedding, signs_of
from jointdr.directions.normalize import Normalize, RankError, Whitener, covariance_needed, whiteners
from jointdr.directions.svd import Formed, Solver, left_vectors, sketched_svd, svd
from jointdr.engines import Rows
from jointdr.moments import Moments
from jointdr.runtime import Array


@dataclass(frozen=True)
class Options:
    """The choices that JDR leaves to the user, already checked.

    `ranks` has one number of directions per view; `extra` names the moments beside the cross ones, of ``"within"`` and
    ``"means"``, whose directions count too. With three and more views it names all that count: ``"tensor"``, the
    proxy tensor, and ``"pairs"``, the cross moments of two views each, as well. `near` is an array on an accelerator,
    which factors large matrices faster than the host.
    """

    ranks: tuple[int, ...]
    normalize: Normalize = "full"
    ridge: float | Literal["auto"] = 0.0
    solver: Solver = "exact"
    n_iter: int = 2
    n_hooi: int = 0
    extra: frozenset[str] = frozenset()
    n_features_to_select: tuple[int, int] | None = None
    seed: int | None = None
    names: tuple[str, ...] = ("a", "b")
    features: tuple[Array | None, ...] = (None, None)
    near: Array | None = None

    @property
    def centred(self) -> bool:
        """Whether means are taken off."""
        return self.normalize is not None

    @property
    def centres_response(self) -> bool:
        """Whether the mean of y is taken off. Within-view moments hold µ_y Σ_a otherwise, so with them it always is."""
        return self.centred or bool(self.extra & {"within", "means"})

    @property
    def is_plain(self) -> bool:
        """Whether one matrix is decomposed, so that the directions of the two views come in pairs."""
        return not self.extra and len(set(self.ranks)) == 1

    def of_features(self, at: Sequence[Array] | None) -> Options:
        """The options once these features are selected (None: no selection was asked for)."""
        if at is None:
            return self
        features = tuple(None if f is None else f[i] for f, i in zip(self.features, at, strict=True))
        return replace(self, n_features_to_select=None, solver="exact", features=features)

    def generator(self) -> np.random.Generator:
        """The source of the sketches' randomness; the same seed gives the same sketch."""
        return np.random.default_rng(self.seed)


def moments_needed(options: Options, mergeable: bool = True) -> dict[str, Any]:
    """What JDR reads, as keywords of `Moments.of_block`.

    Without `mergeable` the cross covariance is left out: moments of rows to come can then not be added. (Raw moments
    can always be.)
    """
    blocks: tuple[str, ...] = () if options.solver != "exact" else ("cross",)
    if "tensor" in options.extra or "pairs" in options.extra:
        blocks = ("cross", "within") if "pairs" in options.extra else ("means",)
    elif blocks and (options.normalize == "joint" or "within" in options.extra):
        blocks = ("cross", "within")
    keep: dict[str, Any] = {
        "blocks": blocks,
        "covariance": "full" if "within" in blocks else covariance_needed(options.normalize),
        "cross_covariance": "cross" in blocks and (mergeable or options.normalize == "joint"),
    }
    if options.centred:
        return keep
    if options.centres_response:
        return {**keep, "center": 0}
    return {**keep, "center": 0, "y_center": 0.0, "cross_covariance": False}


def jdr(moments: Moments, options: Options) -> Embedding:
    """Algorithm 1 (or 3, with features to select) on moments; O(n³), whatever the number of rows.

    Parameters
    ----------
    moments : Moments
        With the ``"cross"`` block and the covariance that the normalization needs; ``"joint"`` needs the
        ``"within"`` block and the cross covariance too.
    options : Options
    """
    as_given = moments.to_numpy()
    moments = placed(as_given, options)
    central = moments if options.centred else None
    maps = whiteners(as_given, options.normalize, options.ridge, options.names, options.features, central, options.near)
    blocks = normalized(moments, maps, options)
    X = blocks.pair(0, 1)
    if options.n_features_to_select is not None:
        M = proxy.unitless(X, maps)
        chosen = selection.select([(slice(0, M.shape[1]), M)], *options.n_features_to_select)
        return _of_selection(chosen, maps, options, moments.y_center, lambda at: moments.select(at))
    require_rank(maps, options)
    if not options.is_plain or len(X) > 1:
        factors = [left_vectors(unfolding(blocks, k, options.extra), r) for k, r in enumerate(options.ranks)]
        if options.n_hooi:
            factors = tensor.hooi(X, factors, options.n_hooi)
        bases, spectra = signed(factors, maps)
        core = bases[0].T @ X @ bases[1]
        return embedding_of(bases, spectra, core, maps, moments.y_center, options, blocks.probes)
    r = options.ranks[0]
    if options.solver == "exact":
        U, s, V = svd(X[0], r)
    else:
        U, s, V = sketched_svd(Formed(X[0]), r, options.solver, options.n_iter, options.generator())
    bases, spectra = _paired(U, s, V, maps)
    return embedding_of(bases, spectra, np.diag(s)[None], maps, moments.y_center, options, blocks.probes)


def placed(moments: Moments, options: Options) -> Moments:
    """The moments about the point that the normalization centres at."""
    if options.normalize is not None:
        return moments.central()
    return moments.about(0, y_center=moments.y_mean if options.centres_response else 0.0)


def normalized(
    moments: Moments, maps: Sequence[Whitener], options: Options, probes: tuple[Array, ...] | None = None
) -> proxy.NormalizedMoments:
    """The normalized moments, by these maps; for ``"joint"`` by these probes, or those of the moments themselves."""
    if options.normalize != "joint":
        return proxy.separate(moments, maps)
    return proxy.through_probes(moments, probes or proxy.joint_probes(moments, maps, options.ridge))


def unfolding(blocks: proxy.NormalizedMoments, k: int, extra: frozenset[str] = frozenset()) -> Array:
    """All columns that lie in the span of view k's embedding: cross moments, and what `extra` names, (k_k, many).

    By Stein's lemma the moments E[y a bᵀ], E[(y − µ) a aᵀ] and E[(y − µ) a] of normalized Gaussian features all have
    their columns in the span of U.
    """
    others = [j for j in range(len(blocks.means)) if j != k]
    columns = []
    if len(others) == 1 or "pairs" in extra:
        columns += [T for j in others for T in blocks.pair(k, j)]
    if "tensor" in extra and blocks.unfoldings is not None:
        columns.append(blocks.unfoldings[k])
    if "within" in extra:
        columns += list(blocks.pair(k, k))
    if "means" in extra:
        columns.append(blocks.means[k])
    return np.hstack(columns)


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
    y_mean = rows.y_mean() if options.centred else np.zeros(1)
    X = proxy.DataProxy(rows.centred() if options.centred else rows, maps)
    if options.n_features_to_select is not None:
        chosen = selection.select(X.unitless_columns(), *options.n_features_to_select)
        exact = moments_needed(replace(options, solver="exact"), mergeable=False)
        return _of_selection(chosen, maps, options, y_mean, lambda at: rows.select(at).moments(**exact))
    require_rank(maps, options)
    U, s, V = sketched_svd(X, options.ranks[0], options.solver, options.n_iter, options.generator())
    bases, spectra = _paired(U, s, V, maps)
    return embedding_of(bases, spectra, np.diag(s)[None], maps, y_mean, options)


def _paired(U: Array, s: Array, V: Array, maps: Sequence[Whitener]) -> tuple[list[Array], tuple[Array, Array]]:
    """The directions of two views with signs as by `svd_flip`, in pairs, and their spectra."""
    signs = signs_of(maps[0].push(U))
    return [U * signs, V * signs], (s, s)


def signed(factors: Sequence[tuple[Array, Array]], maps: Sequence[Whitener]) -> tuple[list[Array], tuple[Array, ...]]:
    """The directions of every view with signs as by `svd_flip`, each view by itself, and their spectra."""
    bases = [U * signs_of(m.push(U)) for (U, _), m in zip(factors, maps, strict=True)]
    return bases, tuple(s for _, s in factors)


def embedding_of(
    bases: Sequence[Array],
    spectra: tuple[Array, ...],
    core: Array,
    maps: Sequence[Whitener],
    y_mean: Array,
    options: Options,
    probes: Sequence[Array] | None = None,
    pairs: dict[tuple[int, int], Array] | None = None,
) -> Embedding:
    """Step 2.3: directions of the normalized features to embeddings of the features."""
    return Embedding(
        bases=tuple(m.push(U) for m, U in zip(maps, bases, strict=True)),
        spectra=spectra,
        core=core,
        means=tuple(m.mean for m in maps),
        y_mean=np.asarray(y_mean),
        support=tuple(m.deviations > 0 for m in maps),
        centred=options.centred,
        probes=None if probes is None else tuple(P @ U for P, U in zip(probes, bases, strict=True)),
        pairs=pairs,
    )


def jdr_at(
    moments: Moments, options: Options, maps: Sequence[Whitener], bases: Sequence[Array], spectra: tuple[Array, ...]
) -> Embedding:
    """The embedding with given directions of normalized features, with the proxy of these moments between them."""
    moments = placed(moments.to_numpy(), options)
    blocks = normalized(moments, maps, options)
    core = bases[0].T @ blocks.pair(0, 1) @ bases[1]
    return embedding_of(bases, spectra, core, maps, moments.y_center, options, blocks.probes)


def _of_selection(
    chosen: selection.Selection,
    maps: Sequence[Whitener],
    options: Options,
    y_mean: Array,
    moments_of: Callable[[Sequence[Array]], Moments],
) -> Embedding:
    """Step 3 of Algorithm 3: the embedding of the selected features, with zeros for all others.

    Without full normalization it is the decomposition of X̂₃, as in the paper. With it, the features left out also
    leave the covariances, so the proxy is rebuilt from the moments of the selected features alone; and so it is where
    there is more than one matrix to decompose (several responses, moments beside the cross ones).
    """
    at = (chosen.rows, chosen.columns)
    if maps[0].is_full or not options.is_plain or len(y_mean) > 1:
        part = jdr(moments_of(at), options.of_features(at))
    else:
        maps_at = [
            Whitener(m.mean[i], None if m.matrix is None else m.matrix[i], m.deviations[i])
            for m, i in zip(maps, at, strict=True)
        ]
        require_rank(maps_at, options)
        U, s, V = svd(chosen.matrix, options.ranks[0])
        bases, spectra = _paired(U, s, V, maps_at)
        part = embedding_of(bases, spectra, np.diag(s)[None], maps_at, y_mean, options)
    return part.expanded(at, tuple(m.mean for m in maps))


def require_rank(maps: Sequence[Whitener], options: Options) -> None:
    """Raise if a view varies in fewer directions than are asked for."""
    for m, name, r in zip(maps, options.names, options.ranks, strict=True):
        if m.rank < r:
            raise RankError(
                f"n_components={r} is more than the {m.rank} directions in which view {name!r} "
                "varies: lower n_components, give more rows, or give ridge to regularize a singular covariance."
            )

"""How sure a fit is: the bootstrap, from the moments of random blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from jointdr.data import Dyads, checked_response, checked_weight
from jointdr.diagnostics.bootstrap_result import Angle, Bootstrap
from jointdr.diagnostics.replicates import PILOTS, BlockMoments, Estimate, Spectrum
from jointdr.directions import (
    ConstantFeatureWarning,
    Embedding,
    Options,
    RoundingWarning,
    SingularCovarianceWarning,
    jdr,
    moments_needed,
)
from jointdr.engines import Grid, Rows
from jointdr.estimators import JDR
from jointdr.metrics import subspace_error
from jointdr.moments import Moments
from jointdr.runtime import Array, memory

__all__ = ["Angle", "Bootstrap", "bootstrap"]

TILES_PER_SIDE = 15
"""Blocks of entities on each side of a `Dyads`, by default."""

FEWEST_TILES = 5
"""Blocks of entities on each side, at least."""

MOST_BLOCKS, FEWEST_BLOCKS = 100, 20
"""More blocks than the first gain nothing; fewer than the second say too little about the spread."""

BLOCKS_BYTES = 1_000_000_000
"""What the moments of all blocks may take where their number is not given."""


def bootstrap(
    model: JDR,
    X: Any,
    y: Any = None,
    n: int = 200,
    *,
    sample_weight: Any = None,
    n_blocks: int | None = None,
    level: float = 0.9,
    random_state: Any = None,
) -> Bootstrap:
    """How sure a fit is: intervals of its singular values, errors of its embeddings, stability of its selection.

    Parameters
    ----------
    model : JDR
        Unfitted, or fitted on these rows; it is not changed. What it leaves to the data (``"auto"``, ``moments="all"``,
        the transform of y) is decided once, by the fit, and kept. For two views, and not with ``refine``, ``n_hooi`` or
        a sketching solver: replicates are made of moments.
    X, y : as for `JDR.fit`
        A `Dyads` has its entities resampled, on both sides, instead of its pairs.
    n : int, default 200
        Number of replicates.
    sample_weight : (m,) array, optional
        The weights that the model is fitted with.
    n_blocks : int, optional
        In how many random blocks the rows are cut, at least 20. By default 100, or as many as leave five rows to each
        and take 1 GB together. The moments of a block take 32 n² bytes for two views of n features each with full
        normalization, 8 n² without. For a `Dyads` in how many blocks the entities of each side are cut, 15 by default,
        at least 5.
    level : float, default 0.9
        The probability of the intervals.
    random_state : int, RandomState or None
        Seed of the blocks and of the replicates.

    Returns
    -------
    Bootstrap

    Notes
    -----
    Each replicate is a sum of block moments with multinomial counts, so that the data is read once (and once more to
    fit a model that is not fitted); a replicate costs O(n_blocks · n² + n³). Singular values are inflated by noise, and
    those of ordinary replicates twice. Replicates are therefore centred at a low-rank estimate without noise, see
    `jointdr.diagnostics.replicates`. Intervals and errors are thus those of data whose proxy has rank r.

    Where features are selected, the intervals take the selection as given; errors and shares do not, and are of
    ordinary replicates.

    Rows must be independent of each other. Where they are pairs of entities that occur in many rows, give a `Dyads`.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.diagnostics import bootstrap
    >>> from jointdr.datasets import make_bilinear
    >>> X, y, truth = make_bilinear(5000, n_features=(20, 30), n_components=2, random_state=0)
    >>> sure = bootstrap(JDR(n_components=2), X, y, random_state=0)
    >>> [bool(low < 1 < high) for low, high in sure.intervals]
    [True, True]
    """
    _require_sensible(model, n, level)
    fitted = model if model.__sklearn_is_fitted__() else clone(model).fit(X, y, sample_weight)
    embedding = fitted._solved()
    if len(embedding.bases) != 2:
        raise ValueError(f"bootstrap is for two views, got a model of {len(embedding.bases)}.")
    if fitted.solver_ != "exact":
        raise ValueError(
            f"solver={model.solver!r} never formed the moments that bootstrap resamples: "
            "use solver='exact', or fewer features."
        )
    views = fitted._validated(X, reset=False, minimum_rows=2)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    if isinstance(X, Dyads):
        options = _decided(fitted, embedding, X.grid)
        parts, counts = _tiles(X, options, n_blocks, n, seed)
        with _warned_already():
            found = _resampled(BlockMoments(parts), counts, options, embedding, level)
        return replace(found, view_names=fitted.view_names_)
    y = checked_response(y, len(views), "bootstrap", views.index)
    w = checked_weight(sample_weight, len(views), index=views.index)
    rows = Rows(views.arrays, fitted._responses(y, w, reset=False, streaming=False), w)
    options = _decided(fitted, embedding, rows)
    n_blocks = _number_of_blocks(n_blocks, rows, options)
    with np.errstate(all="ignore"):
        parts = rows.fold_moments(n_blocks, seed=seed, **moments_needed(options))
    fitted._require_finite(parts, views)
    parts = [part for part in parts if part.weight > 0]
    blocks = BlockMoments(parts)
    counts = np.random.default_rng(seed).multinomial(len(blocks), np.full(len(blocks), 1 / len(blocks)), size=n)
    with _warned_already():
        found = _resampled(blocks, counts, options, embedding, level)
    return replace(found, view_names=fitted.view_names_)


def _resampled(blocks: BlockMoments, counts: Array, options: Options, fitted: Embedding, level: float) -> Bootstrap:
    """Everything after the data has been read."""
    (whole,) = blocks.replicates(np.ones((1, len(blocks))))
    embedding = jdr(whole, options)
    _require_same_rows(embedding, fitted)
    selecting = options.n_features_to_select is not None
    at = [np.flatnonzero(mask) for mask in embedding.support]
    inner = replace(options, n_features_to_select=None)

    def narrowed(moments: Moments) -> Moments:
        return moments.select(at) if selecting else moments

    estimate = Estimate(narrowed(whole), inner)
    start = estimate.start(narrowed(m) for m in blocks.replicates(counts[:PILOTS]))
    cores, errors, supports = [], [], []
    for moments in blocks.replicates(counts):
        core, bases = estimate.centred(narrowed(moments), start)
        cores.append(core)
        truth = estimate.bases
        if selecting:  # other features are other directions too
            replicate = jdr(moments, options)
            truth, bases = embedding.bases, replicate.bases
            supports.append(replicate.support)
        errors.append([subspace_error(U, U_star) for U, U_star in zip(truth, bases, strict=True)])
    spectra = [
        Spectrum(s, d, *(np.stack(arrays) for arrays in zip(*core, strict=True)))
        for s, d, core in zip(estimate.fitted, start, zip(*cores, strict=True), strict=True)
    ]
    middles, intervals = zip(*(spectrum.intervals(level) for spectrum in spectra), strict=True)
    only = len(spectra) == 1
    return Bootstrap(
        singular_values=spectra[0].fitted if only else tuple(s.fitted for s in spectra),
        bias_corrected=middles[0] if only else middles,
        intervals=intervals[0] if only else intervals,
        angles=tuple(Angle(float(np.median(e)), float(np.quantile(e, level)), e) for e in np.array(errors).T),
        selection=tuple(np.mean(masks, axis=0) for masks in zip(*supports, strict=True)) if selecting else None,
        level=float(level),
        n_replicates=len(counts),
        n_blocks=len(blocks),
        view_names=options.names,
    )


def _tiles(dyads: Dyads, options: Options, n_blocks: int | None, n: int, seed: int) -> tuple[list[Moments], Array]:
    """The moments of blocks of row entities × blocks of column entities, and how often each counts in a replicate.

    Pairs of one entity are not independent, so entities are resampled, on both sides: the count of a tile is the
    product of those of its row block and its column block (Owen's pigeonhole bootstrap, 2007).
    """
    side = TILES_PER_SIDE if n_blocks is None else n_blocks
    if not isinstance(side, Integral) or not FEWEST_TILES <= side <= min(dyads.shape):
        raise ValueError(
            f"n_blocks={side!r} must be an integer between {FEWEST_TILES} and the number of entities of the smaller "
            f"side: for a Dyads of shape {dyads.shape} it is the number of blocks of entities on each side."
        )
    rng = np.random.default_rng(seed)
    places = [np.array_split(rng.permutation(m), side) for m in dyads.shape]
    keep = moments_needed(options)
    row_counts, column_counts = (rng.multinomial(side, np.full(side, 1 / side), size=n) for _ in range(2))
    parts, counts = [], []
    for i, at_rows in enumerate(places[0]):
        band = dyads.rows(at_rows)
        for j, at_columns in enumerate(places[1]):
            part = band.columns(at_columns).moments(**keep)
            if part.weight > 0:
                parts.append(part)
                counts.append(row_counts[:, i] * column_counts[:, j])
    counts = np.stack(counts, axis=1)
    return parts, counts[counts.any(axis=1)]


def _decided(fitted: JDR, embedding: Embedding, rows: Rows | Grid) -> Options:
    """The options of a fit, with what was left to the data as the fit decided it."""
    options, auto = fitted._options(tuple(X.shape[1] for X in rows.views), rows.n_responses, exact=True)
    ranks = tuple(len(s) for s in embedding.spectra)
    options = replace(options, ranks=ranks, extra=frozenset(fitted.moments_used_[1:]))
    if "features" in auto:
        s1, s2 = (int(mask.sum()) for mask in embedding.support)
        options = replace(options, n_features_to_select=(s1, s2))
    return options


def _number_of_blocks(n_blocks: int | None, rows: Rows, options: Options) -> int:
    n_rows = len(rows) if rows.weight is None else int(np.count_nonzero(rows.weight))
    if n_blocks is not None:
        if not isinstance(n_blocks, Integral) or not FEWEST_BLOCKS <= n_blocks <= n_rows:
            raise ValueError(
                f"n_blocks={n_blocks!r} must be an integer between {FEWEST_BLOCKS} and the number of rows {n_rows}."
            )
        return int(n_blocks)
    keep = {name: value for name, value in moments_needed(options).items() if name not in ("center", "y_center")}
    size = Moments.zero([X.shape[1] for X in rows.views], n_responses=rows.y.shape[1], **keep).nbytes
    if n_rows < 5 * FEWEST_BLOCKS:
        raise ValueError(f"bootstrap needs at least {5 * FEWEST_BLOCKS} rows that count, got n_samples = {n_rows}.")
    if BLOCKS_BYTES // size < FEWEST_BLOCKS:
        raise ValueError(
            f"The moments of one block of rows take {size / 1e6:.0f} MB, so that fewer than {FEWEST_BLOCKS} blocks fit "
            f"{BLOCKS_BYTES / 1e6:.0f} MB. Give n_blocks={FEWEST_BLOCKS} or more if memory allows, "
            "use normalize='feature' or None, or select features first."
        )
    n_blocks = int(min(MOST_BLOCKS, BLOCKS_BYTES // size, n_rows // 5))
    memory.require(2.0 * n_blocks * size, f"The moments of {n_blocks} blocks of rows", "give a smaller n_blocks")
    return n_blocks


def _require_sensible(model: Any, n: Any, level: Any) -> None:
    if not isinstance(model, JDR):
        raise TypeError(f"bootstrap takes a JDR, but got {type(model).__name__}.")
    if model.refine:
        raise ValueError(
            f"refine={model.refine!r} reads the data again, which bootstrap replicates cannot, being made of moments: "
            "use refine=0, which tells how sure the estimate is that refinement starts from."
        )
    if model.n_hooi:
        raise ValueError(f"n_hooi={model.n_hooi!r} is not repeated in bootstrap replicates: use n_hooi=0.")
    if model.solver not in ("auto", "exact"):
        raise ValueError(
            f"solver={model.solver!r} never forms the moments that bootstrap resamples: use solver='exact'."
        )
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 2:
        raise ValueError(f"n={n!r} must be a number of replicates of at least 2.")
    if not isinstance(level, Real) or not 0 < float(level) < 1:
        raise ValueError(f"level={level!r} must be a probability between 0 and 1.")


def _require_same_rows(embedding: Embedding, fitted: Embedding) -> None:
    """A fitted model tells nothing about rows that it has not seen."""
    for s, t in zip(embedding.spectra, fitted.spectra, strict=True):
        if not np.allclose(s, t, rtol=1e-3, atol=1e-3 * np.max(t)):
            raise ValueError(
                "model was fitted on other rows, responses or weights than those given here: "
                "give the same, or an unfitted model, sklearn.base.clone(model)."
            )


@contextmanager
def _warned_already() -> Iterator[None]:
    """What is singular or constant in a replicate is no news: the fit has said it, or it is a matter of chance."""
    with warnings.catch_warnings():
        for kind in (ConstantFeatureWarning, RoundingWarning, SingularCovarianceWarning):
            warnings.simplefilter("ignore", kind)
        yield

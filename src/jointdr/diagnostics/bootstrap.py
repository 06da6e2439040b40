"""The uncertainty of a fit: the bootstrap, from the moments of random blocks of rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from jointdr.data import Dyads
from jointdr.diagnostics.bootstrap_result import Angle, Bootstrap
from jointdr.diagnostics.replicates import PILOTS, Estimate, ResamplingUnits, Spectrum
from jointdr.directions import (
    ConstantFeatureWarning,
    Embedding,
    Options,
    RoundingWarning,
    SingularCovarianceWarning,
    jdr_from_moments,
    require_finite,
)
from jointdr.engines import Rows
from jointdr.estimators import JDR, prepared
from jointdr.metrics import subspace_error
from jointdr.moments import Moments
from jointdr.runtime import Array, check_integer, check_number, make_random_state, memory

TILES_PER_SIDE, FEWEST_TILES = 15, 5  # blocks of entities on each side of a `Dyads`, by default and at least
MOST_BLOCKS, FEWEST_BLOCKS = 100, 20  # more than the first gain nothing; fewer than the second do not show the spread
BLOCKS_BYTES = 1_000_000_000  # the most that the moments of all blocks may take where their number is not given


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
    """The uncertainty of a fit: intervals of its singular values, errors of its embeddings, stability of its selection.

    Parameters
    ----------
    model : JDR
        Unfitted, or fitted on these rows; it is not changed. Options that it leaves to the data (``"auto"``,
        ``moments="all"``, the transform of y) are decided once, by the fit, and kept. For two views, and not with
        ``refine``, ``n_hooi`` or a sketching solver: replicates are made of moments.
    X, y : as for `JDR.fit`
        A `Dyads` has its entities resampled, on both sides, instead of its pairs.
    n : int, default 200
        Number of replicates.
    sample_weight : (m,) array, optional
        The weights that the model is fitted with.
    n_blocks : int, optional
        The number of random blocks that the rows are cut into, at least 20. By default 100, or as many as leave five
        rows to each and take 1 GB together. The moments of a block take 32 n² bytes for two views of n features each
        with full normalization, 8 n² without. For a `Dyads` the number of blocks of entities on each side, 15 by
        default, at least 5.
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

    Rows must be independent of each other. Where they are pairs of entities that occur in many rows, give a `Dyads`,
    whose entities are resampled on both sides (Owen, 2007).

    References
    ----------
    A. B. Owen. The pigeonhole bootstrap. Annals of Applied Statistics 1, 2007.

    F. Benaych-Georges and R. R. Nadakuditi. The singular values and vectors of low rank perturbations of large
    rectangular random matrices. Journal of Multivariate Analysis 111, 2012.

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
    if len(fitted.solution_.bases) != 2:
        raise ValueError(f"bootstrap is for two views, got a model of {len(fitted.solution_.bases)}.")
    if fitted.solver_ != "exact":
        raise ValueError(
            f"solver={model.solver!r} never formed the moments that bootstrap resamples: "
            "use solver='exact', or fewer features."
        )
    given = prepared(fitted, X, y, sample_weight, caller="bootstrap", minimum_rows=2)
    options = _decide_options(given.method.options, fitted)
    seed = int(make_random_state(random_state).randint(2**31 - 1))
    if isinstance(X, Dyads):
        parts, counts = _tiles(X, options, n_blocks, n, seed)
    else:
        rows = given.rows
        assert isinstance(rows, Rows)
        n_blocks = _number_of_blocks(n_blocks, rows, options)
        with np.errstate(all="ignore"):
            parts = rows.fold_moments(n_blocks, seed=seed, **options.moments_needed())
        require_finite(parts, rows, options)
        parts = [part for part in parts if part.weight > 0]
        counts = np.random.default_rng(seed).multinomial(len(parts), np.full(len(parts), 1 / len(parts)), size=n)
    with warnings.catch_warnings():
        # The fit has given these warnings, or a replicate shows them by chance.
        for kind in (ConstantFeatureWarning, RoundingWarning, SingularCovarianceWarning):
            warnings.simplefilter("ignore", kind)
        return _resample(ResamplingUnits(parts), counts, options, fitted, level)


def _resample(blocks: ResamplingUnits, counts: Array, options: Options, fitted: JDR, level: float) -> Bootstrap:
    """The bootstrap after the data has been read."""
    (whole,) = blocks.replicates(np.ones((1, len(blocks))))
    embedding = jdr_from_moments(whole, options)
    _require_same_rows(embedding, fitted.solution_)
    selecting = options.n_features_to_select is not None
    at = [np.flatnonzero(mask) for mask in embedding.support]
    inner = replace(options, n_features_to_select=None)

    def selected(moments: Moments) -> Moments:
        return moments.select(at) if selecting else moments

    estimate = Estimate(selected(whole), inner)
    start = estimate.start(selected(m) for m in blocks.replicates(counts[:PILOTS]))
    cores, errors, supports = [], [], []
    for moments in blocks.replicates(counts):
        core, bases = estimate.decompose(selected(moments), start)
        cores.append(core)
        truth = estimate.bases
        if selecting:  # other features are other directions too
            replicate = jdr_from_moments(moments, options)
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
        view_names=fitted.view_names_,
    )


def _tiles(dyads: Dyads, options: Options, n_blocks: int | None, n: int, seed: int) -> tuple[list[Moments], Array]:
    """The moments of blocks of row entities × blocks of column entities, and how often each counts in a replicate.

    Pairs of one entity are not independent, so entities are resampled, on both sides: the count of a tile is the
    product of those of its row block and its column block (Owen's pigeonhole bootstrap, 2007).
    """
    side = TILES_PER_SIDE if n_blocks is None else n_blocks
    expected = (
        f"an integer between {FEWEST_TILES} and the number of entities of the smaller side: for a Dyads of shape "
        f"{dyads.shape} it is the number of blocks of entities on each side"
    )
    check_integer("n_blocks", side, FEWEST_TILES, min(dyads.shape), expected=expected)
    rng = np.random.default_rng(seed)
    row_blocks, column_blocks = (np.array_split(rng.permutation(m), side) for m in dyads.shape)
    row_counts, column_counts = (rng.multinomial(side, np.full(side, 1 / side), size=n) for _ in range(2))
    parts, counts = [], []
    for i, rows in enumerate(row_blocks):
        band = dyads.rows(rows)
        for j, columns in enumerate(column_blocks):
            part = band.columns(columns).moments(**options.moments_needed())
            if part.weight > 0:
                parts.append(part)
                counts.append(row_counts[:, i] * column_counts[:, j])
    table: Array = np.stack(counts, axis=1)
    return parts, table[table.any(axis=1)]


def _decide_options(options: Options, fitted: JDR) -> Options:
    """The options of a fit, with its own decisions where they were left to the data."""
    embedding = fitted.solution_
    if "features" in options.auto:
        s1, s2 = (int(mask.sum()) for mask in embedding.support)
        options = replace(options, n_features_to_select=(s1, s2))
    return replace(options, ranks=embedding.ranks, uses=frozenset(fitted.moments_used_), auto=frozenset())


def _number_of_blocks(n_blocks: int | None, rows: Rows, options: Options) -> int:
    n_rows = len(rows) if rows.weight is None else int(np.count_nonzero(rows.weight))
    if n_blocks is not None:
        expected = f"an integer between {FEWEST_BLOCKS} and the number of rows {n_rows}"
        return check_integer("n_blocks", n_blocks, FEWEST_BLOCKS, n_rows, expected=expected)
    keep = {name: value for name, value in options.moments_needed().items() if name not in ("center", "y_center")}
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
            "use refine=0, for the uncertainty of the estimate that refinement starts from."
        )
    if model.n_hooi:
        raise ValueError(f"n_hooi={model.n_hooi!r} is not repeated in bootstrap replicates: use n_hooi=0.")
    if model.solver not in ("auto", "exact"):
        raise ValueError(
            f"solver={model.solver!r} never forms the moments that bootstrap resamples: use solver='exact'."
        )
    check_integer("n", n, 2, expected="a number of replicates of at least 2")
    check_number("level", level, 0, 1, strictly=True, expected="a probability between 0 and 1")


def _require_same_rows(embedding: Embedding, fitted: Embedding) -> None:
    """Refuse rows that the model was not fitted on: its uncertainty would be that of other data."""
    for s, t in zip(embedding.spectra, fitted.spectra, strict=True):
        if not np.allclose(s, t, rtol=1e-3, atol=1e-3 * np.max(t)):
            raise ValueError(
                "model was fitted on other rows, responses or weights than those given here: "
                "give the same, or an unfitted model, sklearn.base.clone(model)."
            )

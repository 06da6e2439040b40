"""The number of directions in a data set: by held-out moments, by permuted responses, and by a threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from jointdr.diagnostics.rank_tests import null_rank, null_threshold, require_permutations, threshold_rank
from jointdr.directions import (
    NormalizedMoments,
    Options,
    Whitener,
    center_moments,
    folds,
    left_vectors,
    normalize_moments,
    rank_criterion,
    require_rank,
    unfolding,
    useful_moments,
    whiteners,
)
from jointdr.engines import Grid, Rows
from jointdr.estimators import JDR, prepared
from jointdr.moments import merged
from jointdr.runtime import Array, check_integer, check_number, make_generator


@dataclass(frozen=True, eq=False)
class RankProfile:
    """The result of `jointdr.diagnostics.rank_profile`.

    Attributes
    ----------
    criterion : (k + 1,) array
        The held-out criterion for r = 0, 1, ..., k; lower is better, and 0 is as good as no direction at all.
    best : int
        Where it is lowest: the r of ``n_components="auto"``, which is at least 1.
    singular_values : (k,) array
        Of the proxy of all rows, decreasing.
    null : (n_permutations, k) array
        The same after permuting y among the rows, where there is no signal; with weights, in units of the same noise.
        Of a `Dyads`, after permuting entities.
    null_rank : int or None
        The number of leading singular values above those of permuted responses, see `null_rank`; None without
        permutations.
    threshold_rank : int or None
        The rule of the paper's supplement, see `threshold_rank`; None without permutations or an η of the user's own.
    eta : float or None
        The η of that rule.
    level : float
        The level of the permutation test.
    """

    criterion: Array
    best: int
    singular_values: Array
    null: Array
    null_rank: int | None
    threshold_rank: int | None
    eta: float | None
    level: float

    @property
    def null_threshold(self) -> float | None:
        """The singular value that a direction has to exceed to count in `null_rank`; None without permutations."""
        return null_threshold(self.null, self.level) if len(self.null) else None

    def __str__(self) -> str:
        lines = [f"held-out criterion: {self.best} direction(s)"]
        if self.null_rank is not None:
            lines.append(f"{len(self.null)} permutations of y, level {self.level:g}: {self.null_rank} direction(s)")
        if self.eta is not None:
            lines.append(f"singular values above η/2 = {self.eta / 2:.3g}: {self.threshold_rank} direction(s)")
        return "\n".join(lines)

    def plot(self, ax: Any = None, *, n_shown: int | None = None) -> Any:
        """Draw the singular values against those of permuted data, and the criterion beside them.

        Parameters
        ----------
        ax : matplotlib Axes, pair of Axes or None
            Two axes for the two curves; one axis for both, the criterion on a second scale; None for a new figure.
        n_shown : int, optional
            The number of singular values that are drawn; by default 10, or three times the rank found if that is more.

        Returns
        -------
        pair of Axes
            ``axes[0].figure`` is the figure.
        """
        from jointdr.plot import rank_figure  # matplotlib is optional

        return rank_figure(self, ax, n_shown=n_shown)


def rank_profile(
    model: JDR,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    n_permutations: int = 20,
    level: float = 0.05,
    eta: float | None = None,
    random_state: Any = 0,
    progress: Callable[[int, int], object] | None = None,
) -> RankProfile:
    """The number of directions: by held-out moments, by permuted responses, and by the paper's threshold.

    Parameters
    ----------
    model : JDR
        Its options count (``normalize``, ``ridge``, ``response``, ``moments``, ``n_folds``, ``random_state``), not its
        number of directions, and whether it is fitted does not matter; it is not changed. Features are not selected:
        the rank is that of the whole proxy.
    X, y, sample_weight
        As in `JDR.fit`; a `Dyads` alone.
    n_permutations : int
        The number of permutations of y among the rows, at least 1/level − 1; 0 for none.
    level : float
        The level of the permutation test: the probability of reporting a direction that is not there.
    eta : float, optional
        The η of `threshold_rank`; by default three times the median of the largest singular value under permutation.
    random_state : int, Generator or None
        Seed of the permutations. (The folds are those of the model's own ``random_state``.)
    progress : callable, optional
        Called as progress(done, n_permutations) after every permutation.

    Notes
    -----
    For two views, and rows that are independent of each other; where they share entities, permutations may show too
    little noise. One read of the data for the folds and one for each permutation, of one product of O(m n₁ n₂) where
    cross moments are enough.

    Weights stay with the features when y is permuted, and rows without weight stay out. Where weights go with y, as
    those that balance classes do, that changes how much noise there is; singular values of a permutation are therefore
    scaled by the ratio of √(Σ w²(y − µ)²) before and after it. With ``moments="all"`` or several responses the
    singular values of the two views differ, and their root mean square is taken.

    The pairs of a `Dyads` share entities, so whole entities are permuted: once the rows of Y, so that the features of
    rows are independent of the scores, and once its columns. Of the two the one with the larger singular value is
    taken, because a direction links both kinds. A permutation then costs two products AᵀYB.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.diagnostics import rank_profile
    >>> X, y, _ = make_bilinear(5000, n_features=(15, 10), n_components=3, random_state=0)
    >>> profile = rank_profile(JDR(), X, y)
    >>> profile.best, profile.null_rank, profile.threshold_rank
    (3, 3, 3)
    """
    if not isinstance(model, JDR):
        raise TypeError(f"rank_profile takes a JDR, but got {type(model).__name__}.")
    if check_integer("n_permutations", n_permutations, 0) != 0:
        require_permutations(n_permutations, level)
    if eta is not None:
        check_number("eta", eta, 0)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress={progress!r} must be a function of the permutations done and their number, or None.")
    rng = make_generator(random_state)
    model = clone(model).set_params(n_components="auto", n_features_to_select=None, refine=0)
    found = prepared(model, X, y, sample_weight, caller="rank_profile", minimum_rows=2)
    if len(found.views.arrays) != 2:
        raise ValueError(f"rank_profile is for two views, got {len(found.views.arrays)}.")
    rows, options = found.rows, found.method.options
    parts = found.method.read(rows, options, 0)
    held_out = folds(parts, options)
    if "moments" in options.auto:
        options = replace(options, uses=useful_moments(held_out, options))
    criterion = rank_criterion(held_out, options.uses)

    whole = merged(parts).to_numpy()
    maps = whiteners(whole, options)
    require_rank(maps, options)
    blocks = normalize_moments(center_moments(whole, options), maps, options)
    values = _spectrum(blocks, maps, options.uses)
    null = np.empty((n_permutations, len(values)))
    keep = options.moments_needed(mergeable=False)
    if "within" not in keep["blocks"]:
        keep["covariance"] = None  # it does not depend on y
    for i in range(n_permutations):
        spectra = []
        for shuffled in _permutations(rows, rng):
            moments = center_moments(shuffled.moments(**keep), options)
            permuted = normalize_moments(moments, maps, options, blocks.probes)
            scale = _noise(rows, options) / (_noise(shuffled, options) or 1.0)
            spectra.append(scale * _spectrum(permuted, maps, options.uses))
        null[i] = max(spectra, key=lambda spectrum: spectrum[0])
        if progress is not None:
            progress(i + 1, n_permutations)
    if eta is None and n_permutations:
        eta = 3.0 * float(np.median(null[:, 0]))
    above_null = null_rank(values, null, level) if n_permutations else None
    above_eta = None if eta is None else threshold_rank(values, eta)
    return RankProfile(criterion, int(np.argmin(criterion)), values, null, above_null, above_eta, eta, level)


def _spectrum(blocks: NormalizedMoments, maps: Sequence[Whitener], uses: frozenset[str]) -> Array:
    """The singular values of the proxy; of its unfoldings, averaged in squares, where these differ."""
    most = min(m.rank for m in maps)
    spectra = [left_vectors(unfolding(blocks, k, uses), most)[1] for k in range(len(maps))]
    return np.sqrt(np.mean(np.square(spectra), axis=0))


def _permutations(rows: Rows | Grid, rng: np.random.Generator) -> Iterator[Rows | Grid]:
    """The rows with y permuted among those that count; of a grid, with one kind of entities permuted at a time."""
    if isinstance(rows, Grid):
        m_A, m_B = rows.Y.shape
        yield replace(rows, Y=rows.Y[rng.permutation(m_A)])
        yield replace(rows, Y=rows.Y[:, rng.permutation(m_B)])
        return
    at = np.arange(len(rows)) if rows.weight is None else np.flatnonzero(rows.weight)
    y = rows.y.copy()
    y[at] = rows.y[rng.permutation(at)]
    yield Rows(rows.views, y, rows.weight)


def _noise(rows: Rows | Grid, options: Options) -> float:
    """√(Σ w²(y − µ)²), which the noise of the proxy is proportional to, O(m); 1 for a grid, which has no weights."""
    if isinstance(rows, Grid):
        return 1.0
    w = 1.0 if rows.weight is None else rows.weight[:, None]
    mean = np.average(rows.y, axis=0, weights=rows.weight) if options.centres_response else 0.0
    return float(np.linalg.norm(w * (rows.y - mean)))

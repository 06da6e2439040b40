"""The scree plot, singular values against those of permuted data; and the figure of a rank profile."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.plot.axes import COLUMN_COLOR, NOISE, QUIET, ROW_COLOR, axis_of, tidy, whole_numbers
from jointdr.runtime import Array


def scree(found: Any, ax: Any = None, *, n_shown: int | None = None, rank: int | None = None) -> Any:
    """Singular values in decreasing order; with those of permuted data behind them, where they are known.

    Parameters
    ----------
    found : RankProfile, fitted estimator, AssociationModel or array
        A result of `jointdr.diagnostics.rank_profile` has the permutations; a fitted model, its singular values alone.
    ax : matplotlib Axes, optional
        By default that of a new figure.
    n_shown : int, optional
        The number of singular values that are drawn; by default 10, or three times the rank found if that is more.
    rank : int, optional
        The number of directions that a model uses, to be marked where it is not that of `found`.

    Returns
    -------
    Axes

    Notes
    -----
    Filled circles are the directions that count. A singular value counts if it is above the dashed line, which the
    *largest* one of permuted data rarely exceeds; the grey band holds the singular value of the same index in 95 % of
    the permutations.
    """
    values, null, level, chosen = _parts(found)
    ax = axis_of(ax)
    k = _n_drawn(found, n_shown if n_shown is None or rank is None else max(n_shown, rank))
    numbers = np.arange(1, k + 1)
    if len(null):
        _draw_chance(ax, numbers, null[:, :k], found.null_threshold, level, top=float(values[0]))
    ax.plot(numbers, values[:k], color=ROW_COLOR, lw=1, alpha=0.6)
    style: dict[str, Any] = {"color": ROW_COLOR, "ms": 5 if k <= 30 else 3.5, "clip_on": False}
    filled = k if chosen is None else min(chosen, k)
    ax.plot(numbers[:filled], values[:filled], "o", **style)
    ax.plot(numbers[filled:], values[filled:k], "o", mfc="white", **style)
    ax.set_ylim(bottom=0)
    ax.set_xlim(0.4, k + 0.6)
    if rank is not None and rank <= k:
        ax.axvline(rank + 0.5, color=QUIET, lw=0.8, ls=":")
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
        ax.annotate(f"fitted: {rank}", (rank + 0.5, 0.99), (4, 0), fontsize=8, color=QUIET, **place)
    title = f"Directions above noise: {chosen}" if len(null) else "Singular values"
    ax.set(title=title, xlabel="direction", ylabel="singular value of the proxy")
    tidy(ax)
    whole_numbers(ax)
    return ax


def rank_figure(profile: Any, ax: Any = None, *, n_shown: int | None = None) -> tuple[Any, Any]:
    """The scree plot of a rank profile, and its held-out criterion beside it: as `RankProfile.plot`, which calls it."""
    ax = axis_of(ax, (9.5, 3.6), 2)
    shared = np.ndim(ax) == 0
    axes = (ax, ax.twinx()) if shared else tuple(np.ravel(ax))
    if len(axes) != 2:
        raise ValueError(f"ax must be one axis or a pair of them, got {len(axes)}.")
    scree(profile, axes[0], n_shown=n_shown)
    _draw_criterion(axes[1], profile, min(_n_drawn(profile, n_shown), len(profile.criterion) - 1), shared)
    return axes[0], axes[1]


def _draw_criterion(ax: Any, profile: Any, k: int, shared: bool) -> None:
    ax.plot(range(k + 1), profile.criterion[: k + 1], ".-", color=COLUMN_COLOR, lw=1)
    if profile.best <= k:
        ax.plot(profile.best, profile.criterion[profile.best], "o", color=COLUMN_COLOR, ms=9, mfc="none", mew=2)
    ax.set_ylabel("held-out criterion (lower is better)", color=COLUMN_COLOR)
    if not shared:
        ax.set(title=f"Best on held-out rows: {profile.best}", xlabel="number of directions")
        whole_numbers(ax)
        tidy(ax)
        ax.yaxis.label.set_color(COLUMN_COLOR)


def _n_drawn(found: Any, n_shown: int | None) -> int:
    values, _, _, chosen = _parts(found)
    if n_shown is None:
        n_shown = len(values) if chosen is None else max(10, 3 * chosen)
    return min(len(values), max(1, int(n_shown)))


def _parts(found: Any) -> tuple[Array, Array, float, int | None]:
    """Singular values, those of permuted data, the level of the test, and how many directions were found."""
    if hasattr(found, "null_rank"):
        best = max(found.best, 1) if found.null_rank is None else found.null_rank
        return found.singular_values, found.null, found.level, best
    fitted = getattr(found, "embedding_", found)
    if fitted is None:
        raise ValueError("A model with embedding=None has no singular values to draw.")
    values = getattr(fitted, "singular_values_", fitted)
    if isinstance(values, tuple):  # one for each view, where they differ
        shortest = min(len(s) for s in values)
        values = np.sqrt(np.mean([np.square(s[:shortest]) for s in values], axis=0))
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"scree takes a rank profile, a fitted model or singular values, but got {found!r:.60}.")
    return values, np.empty((0, len(values))), 0.05, None


def _draw_chance(ax: Any, numbers: Array, null: Array, threshold: float, level: float, top: float) -> None:
    """Draw the band of permuted data, and the line that a direction has to exceed, each with its name."""
    low, high = np.quantile(null, [0.025, 0.975], axis=0)
    ax.fill_between(numbers, low, high, color=NOISE, alpha=0.5, lw=0)
    ax.axhline(threshold, color=QUIET, lw=1, ls="--")
    text = {"textcoords": "offset points", "fontsize": 8, "color": QUIET}
    label = f"chance rarely exceeds this ({level:.0%})"
    ax.annotate(label, (1.0, threshold), (-2, 3), ha="right", xycoords=("axes fraction", "data"), **text)
    below = low[0] > 0.12 * top  # where there is room between the band and the axis
    place: dict[str, Any] = {"xytext": (2, -3 if below else 3), "va": "top" if below else "bottom"}
    ax.annotate("permuted", (numbers[0], low[0] if below else high[0]), **place, **text)

"""The figure of a bootstrap: intervals of singular values, and errors of the embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.plot.axes import PALETTE, QUIET, axis_of, tidy


def bootstrap_figure(found: Any, ax: Any = None) -> Any:
    """Singular values with their intervals, and the errors of the replicates: as `Bootstrap.plot`, which calls it."""
    ax = axis_of(ax, (9, 3.5), 2)
    axes = np.atleast_1d(ax)
    _draw_intervals(found, axes[0])
    if len(axes) > 1:
        _draw_errors(found, axes[1])
    return ax


def _draw_intervals(found: Any, ax: Any) -> None:
    for k, (title, fitted, corrected, intervals) in enumerate(found.spectra):
        at = np.arange(1, len(fitted) + 1) + 0.2 * (k - (len(found.spectra) - 1) / 2)
        suffix = f", {title}" if len(found.spectra) > 1 else ""
        label = f"{100 * found.level:g} % interval{suffix}"
        ax.vlines(at, *intervals.T, color=PALETTE[k], lw=3, alpha=0.5, label=label)
        ax.plot(at, corrected, "o", color=PALETTE[k], clip_on=False, label=f"corrected{suffix}")
        ax.plot(at, fitted, "x", color=QUIET, label="fitted" if k == 0 else None)
    ax.set_xticks(range(1, max(len(fitted) for _, fitted, _, _ in found.spectra) + 1))
    ax.set_ylim(bottom=0)
    ax.set(xlabel="direction", ylabel="singular value", title="Singular values")
    ax.legend(frameon=False)
    tidy(ax)


def _draw_errors(found: Any, ax: Any) -> None:
    heights, reach = range(len(found.angles), 0, -1), 0.25
    for k, (y, angle) in enumerate(zip(heights, found.angles, strict=True)):
        jitter = np.random.default_rng(0).uniform(-0.6 * reach, 0.6 * reach, len(angle.replicates))
        ax.plot(angle.replicates, y + jitter, ".", color=PALETTE[k], alpha=0.25, mew=0)
        for value, style, label in ((angle.median, "-", "median"), (angle.upper, "--", f"{100 * found.level:g} %")):
            ax.plot([value] * 2, [y - reach, y + reach], style, color=PALETTE[k], lw=2, label=None if k else label)
    ax.set_yticks(heights, found.view_names)
    ax.set_xlim(left=0)
    ax.set_ylim(0.5, len(found.angles) + 0.5)
    ax.set(xlabel="subspace error d(U, Û) of the replicates", title="Error of the embeddings")
    ax.legend(frameon=False)
    tidy(ax)

"""The figure of an evaluation: recall curves, or bars of errors."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from jointdr.plot.axes import PALETTE, axis_of, new_figure, save_figure, tidy
from jointdr.plot.curves import recall_curves


def evaluation_figure(evaluation: Any, ax: Any = None) -> Any:
    """Recall curves or, for graded scores, bars of the root mean square error: as `Evaluation.plot`, which calls it."""
    path = ax if isinstance(ax, (str, os.PathLike)) else None
    if ax is None or path is not None:
        size = (8.5, 5.0) if evaluation.is_implicit else (8.0, 1.2 + 0.35 * len(evaluation.methods))
        ax = new_figure(size).add_subplot()
    if evaluation.is_implicit:
        recall_curves(evaluation, ax)
    else:
        metric_bars(_errors(evaluation), ax, colors=dict(zip(evaluation.methods, 2 * PALETTE, strict=False)))
        ax.set_xlabel(f"{evaluation.headline} (lower is better)")
    ax.set_title(textwrap.fill(f"{evaluation.about}; {evaluation.averaging}", 85), fontsize=9)
    if path is not None:
        save_figure(ax.figure, path, dpi=150)
    return ax


def metric_bars(
    values: Mapping[str, tuple[float, float]], ax: Any = None, *, colors: Mapping[str, str] | None = None
) -> Any:
    """A metric of several methods as bars with their numbers, the first method on top.

    Parameters
    ----------
    values : mapping of names to (value, standard error)
    ax : matplotlib Axes, optional
        By default that of a new figure.
    colors : mapping of names to colours, optional

    Returns
    -------
    Axes
    """
    ax = axis_of(ax, (8.0, 1.2 + 0.35 * len(values)))
    heights = np.arange(len(values))[::-1]
    for i, (height, (name, (value, error))) in enumerate(zip(heights, values.items(), strict=True)):
        colour = (colors or {}).get(name, PALETTE[i % len(PALETTE)])
        ax.barh(height, value, xerr=error or None, color=colour, capsize=3)
        ax.annotate(f" {value:.3f}", (value + error, height), va="center", fontsize=8, color=colour)
    ax.set_yticks(heights, list(values))
    ax.margins(x=0.12)
    ax.grid(alpha=0.3, axis="x")
    ax.set_axisbelow(True)
    tidy(ax)
    return ax


def _errors(evaluation: Any) -> dict[str, tuple[float, float]]:
    """The mean of the headline and its standard error (0 in a single partition), of the best method first."""
    if evaluation.headline is None:
        raise ValueError("No method has a result that could be drawn; see failures.")
    found = [(name, *evaluation.statistics(name, evaluation.headline)) for name in evaluation.methods]
    best = sorted((row for row in found if np.isfinite(row[1])), key=lambda row: row[1])
    return {name: (mean, float(np.nan_to_num(error))) for name, mean, _, error, _ in best}

"""The figure of an evaluation: recall curves, or bars of errors."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.plot.axes import PALETTE, axis_of, new_figure, save_figure, tidy
from jointdr.plot.curves import recall_curves

GRADED = {"RMSE": "lower is better", "concordance": "higher is better"}  # metrics of graded scores
Means = dict[str, dict[str, tuple[float, float]]]


def evaluation_figure(evaluation: Any, ax: Any = None) -> Any:
    """Recall curves or, for graded scores, bars of the root mean square error: as `Evaluation.plot`, which calls it."""
    path = ax if isinstance(ax, (str, os.PathLike)) else None
    if ax is None or path is not None:
        size = (8.5, 5.0) if evaluation.is_implicit else (8.0, 1.2 + 0.35 * len(evaluation.methods))
        ax = new_figure(size).add_subplot()
    if evaluation.is_implicit:
        recall_curves(evaluation, ax)
    else:
        means = graded_means(evaluation)
        if not means:
            raise ValueError("No method has a result that could be drawn; see failures.")
        metric, values = next(iter(means.items()))
        metric_bars(values, ax, colors=dict(zip(evaluation.methods, 2 * PALETTE, strict=False)))
        ax.set_xlabel(f"{metric} ({GRADED[metric]})")
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


def graded_means(found: Any) -> Means:
    """The metrics of an evaluation of graded scores: of each the mean and its standard error, by method.

    Parameters
    ----------
    found : Evaluation, its table `summary`, or path
        The path is that of ``summary.csv``, or of the folder that `Evaluation.to_csv` wrote.

    Returns
    -------
    dict of metrics to dicts of methods to (mean, standard error)
        The root mean square error first, then the concordance, each of the best method first; standard errors are 0 in
        a single partition. Empty for anything else, such as recall curves.
    """
    table = _read(Path(found)) if isinstance(found, (str, os.PathLike)) else getattr(found, "summary", found)
    if not hasattr(table, "columns") or not {"method", "metric", "mean", "se"}.issubset(table.columns):
        return {}
    means: Means = {}
    for metric, meaning in GRADED.items():
        rows = table[(table["metric"] == metric) & np.isfinite(table["mean"].astype(float))]
        best = rows.sort_values("mean", ascending=meaning.startswith("lower"), kind="stable")
        if len(best):
            columns = (best[name] for name in ("method", "mean", "se"))
            means[metric] = {str(m): (float(x), float(np.nan_to_num(e))) for m, x, e in zip(*columns, strict=True)}
    return means


def _read(path: Path) -> Any:
    """A file `summary.csv`, or the one in a folder; None for another file, and for a folder with recall curves."""
    if path.is_dir():
        if (path / "curves.csv").exists():
            return None
        path = path / "summary.csv"
        if not path.exists():
            raise ValueError(f"{path.parent} has neither curves.csv nor summary.csv: give the folder of an evaluation.")
    if path.name != "summary.csv":
        return None
    import pandas as pd  # slow to import

    return pd.read_csv(path, dtype={"method": str}, keep_default_na=False, na_values=[""])

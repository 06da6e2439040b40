"""The picture of an evaluation."""

from __future__ import annotations

import os
import textwrap
from typing import Any

import numpy as np

from jointdr.plot.axes import PALETTE, save_figure, tidy
from jointdr.plot.curves import recall_curves
from jointdr.runtime import Array


def drawn(evaluation: Any, ax: Any = None) -> Any:
    """Draw into axes, into a file, or into a new figure; the axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plot needs matplotlib: pip install "jointdr[plot]".') from error
    path = ax if isinstance(ax, (str, os.PathLike)) else None
    if ax is None or path is not None:
        size = (8.5, 5.0) if evaluation.links else (8.0, 1.2 + 0.35 * len(evaluation.methods))
        figure = Figure(figsize=size, layout="constrained")
        ax = figure.add_subplot()
    recall_curves(evaluation, ax) if evaluation.links else _bars(evaluation, ax)
    ax.set_title(_title(evaluation), fontsize=9)
    if path is not None:
        save_figure(figure, path, dpi=150)
    return ax


def _bars(evaluation: Any, ax: Any) -> None:
    """The root mean square error, the best method on top."""
    order = _best_first(evaluation)
    measure = str(evaluation.headline)
    means = [_means(evaluation, name, [measure]) for _, name in order]
    places = np.arange(len(order))[::-1]
    lengths = [float(mean[0]) for mean, _ in means]
    ax.barh(
        places,
        lengths,
        xerr=[float(e[0]) for _, e in means],
        color=[PALETTE[i % len(PALETTE)] for i, _ in order],
        capsize=3,
    )
    ax.set_yticks(places, [name for _, name in order])
    for place, length, (_, error) in zip(places, lengths, means, strict=True):
        ax.annotate(f" {length:.3f}", (length + float(error[0]), place), va="center", fontsize=8)
    ax.margins(x=0.12)
    ax.set_xlabel(f"{measure} (lower is better)")
    ax.grid(alpha=0.3, axis="x")
    ax.set_axisbelow(True)
    tidy(ax)


def _best_first(evaluation: Any) -> list[tuple[int, str]]:
    """The methods that have results, with their numbers, which give them their colours."""
    measure = evaluation.headline
    if measure is None:
        raise ValueError("No method has a result that could be drawn; see failures.")
    means = [(evaluation.statistics(name, measure)[0], i, name) for i, name in enumerate(evaluation.methods)]
    return [(i, name) for mean, i, name in sorted(means, key=lambda item: item[0]) if np.isfinite(mean)]


def _means(evaluation: Any, method: str, measures: list[str]) -> tuple[Array, Array]:
    """Means and standard errors; 0 where there is a single partition, which has no error."""
    found = np.array([evaluation.statistics(method, measure)[:3] for measure in measures])
    return found[:, 0], np.nan_to_num(found[:, 2])


def _title(evaluation: Any) -> str:
    return "\n".join(textwrap.wrap(f"{evaluation.about}; {evaluation.averaged}", 85))

"""The common parts of all figures: axes, colours, and labels beside what they name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from jointdr.runtime import whole_file

ROW_COLOR, COLUMN_COLOR = "#2a6fb0", "#b85a12"  # entities of the first and of the second kind
INK, QUIET, NOISE = "#1d2733", "#586575", "#aab4c0"  # text, secondary text, the background that chance alone would show
# Colours of lines and of groups, in this order; they differ in lightness too.
PALETTE = (ROW_COLOR, COLUMN_COLOR, "#2b8a6e", "#aa3377", "#8a7a1d", "#56a3d9", "#7b5ea7", "#d0687a", "#6b7280", INK)
MARKERS = "os^vDP*X<>hdp"
LABEL_SIZE = 9.0


def new_figure(size: tuple[float, float]) -> Any:
    """An empty figure of so many inches, without a window."""
    return _matplotlib("figure").Figure(figsize=size, layout="constrained")


def axis_of(ax: Any, size: tuple[float, float] = (5.6, 3.8), count: int = 1) -> Any:
    """The axis itself, or that of a new figure; an array of them if `count`, side by side, is more than one."""
    return _matplotlib("pyplot").subplots(1, count, figsize=size, layout="constrained")[1] if ax is None else ax


def _matplotlib(module: str) -> Any:
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install 'jointdr[plot]'.") from None


def save_figure(figure: Any, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a figure to a file, whole or not at all, in the format that its name ends with (PNG if with none)."""
    path = Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.png")
    with whole_file(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), **options)


def tidy(ax: Any) -> None:
    """Draw the left and lower spines only, in light grey, and labels in a quiet colour."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(NOISE)
    ax.tick_params(color=NOISE, labelcolor=QUIET)
    ax.title.set_fontsize(10.5)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(QUIET)


def whole_numbers(ax: Any) -> None:
    """Set ticks at whole numbers only, along x."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def name_ticks(ax: Any, x: Sequence[float]) -> None:
    """Set ticks of logarithmic scales: at the values of x and a few round ones along y, as numbers, not as powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    ax.xaxis.set_major_locator(FixedLocator(list(x)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _short(v)))
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=range(1, 10) if high < 6 * low else (1, 2, 5), numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())


def _short(value: float) -> str:
    """1 000 000 as 1M, 20 000 as 20k, and smaller numbers in full."""
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"


def name_ends(ax: Any, ends: Sequence[tuple[float, float, str, str]], bold: Sequence[str] = ()) -> None:
    """Write the name of every line beside its right end, moved up or down where names would overlap.

    `ends` are (x, y, name, colour), and the limits of the axis are final.
    """
    if not ends:
        return
    points = [ax.transAxes.inverted().transform(ax.transData.transform(end[:2])) for end in ends]
    line = 1.2 * LABEL_SIZE / (ax.get_window_extent().height * 72 / ax.figure.dpi)
    right = max(float(point[0]) for point in points)
    heights = apart([float(point[1]) for point in points], line)
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center", "annotation_clip": False}
    for (_, _, name, colour), height in zip(ends, heights, strict=True):
        weight = "bold" if name in bold else "normal"
        ax.annotate(name, (right, height), (7, 0), color=colour, fontsize=LABEL_SIZE, fontweight=weight, **place)


def apart(heights: Sequence[float], distance: float, top: float = 1.0) -> list[float]:
    """Heights of labels that are at least so far apart, in the same order, and below the top if there is room."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    moved = list(heights)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + distance)
    if moved and moved[order[-1]] > max(top, heights[order[-1]]):
        moved[order[-1]] = max(top, heights[order[-1]])
        for above, below in pairwise(order[::-1]):
            moved[below] = min(moved[below], moved[above] - distance)
    return moved

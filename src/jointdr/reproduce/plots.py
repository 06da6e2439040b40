"""The pictures: log-log plots in the paper's arrangement, ours over the paper's."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.reproduce.outputs import Curves
from jointdr.reproduce.study import Figure, Line, Panel
from jointdr.reproduce.summary import Curve


def require_matplotlib() -> None:
    """Raise if nothing can be drawn, before hours of work and not after."""
    if find_spec("matplotlib") is None:
        raise ImportError("reproduce draws with matplotlib, which is not installed: pip install 'jointdr[plot]'.")


def draw(figure: Figure, curves: Curves, paths: list[Path]) -> None:
    """Draw a figure into files, in the formats that their names end with."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    rows = -(-len(figure.panels) // figure.columns)
    canvas = Canvas(figsize=(3.1 * figure.columns + 0.4, 2.9 * rows + 0.9), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.subplots(rows, figure.columns, squeeze=False)
    for ax, panel in zip(axes.flat, figure.panels, strict=False):
        _draw_panel(ax, panel, curves, figure.quantity)
    entries: dict[str, Any] = {}
    for ax in axes.flat:
        entries |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    canvas.suptitle(figure.title)
    canvas.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, frameon=False)
    for path in paths:
        # Without dates and random ids the same numbers give the same file.
        canvas.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw_panel(ax: Any, panel: Panel, curves: Curves, quantity: str) -> None:
    ax.set(xscale="log", yscale="log")
    for line in panel.lines:
        _draw_line(ax, line, curves[line.study.name, line.curve])
    first = panel.lines[0]
    ax.set_title(panel.title, fontsize=10)
    ax.set(xlabel=first.study.varies, ylabel=quantity)
    _name_ticks(ax, first.study.x)
    ax.grid(alpha=0.3)


def _draw_line(ax: Any, line: Line, curve: Curve) -> None:
    """Ours with bars of two Monte-Carlo errors; the paper's as hollow circles; slopes beside the end of the line."""
    mean = np.exp(curve.log_mean)
    label = f"{line.label}: ours" if line.plotted else line.label
    bars = np.nan_to_num(2 * mean * curve.error)
    ax.errorbar(curve.x, mean, bars, color=line.colour, marker=".", linewidth=1.5, capsize=2, label=label)
    if line.plotted:
        paper = np.exp(line.plotted.log_nsee)
        style: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1.0, "marker": "o", "markersize": 8}
        ax.plot(curve.x, paper, color="black", markerfacecolor="none", zorder=3, label="the paper's", **style)


def _name_ticks(ax: Any, x: tuple[float, ...]) -> None:
    """Ticks at the values of x, as numbers and not as powers; a few round ones along y."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    ax.xaxis.set_major_locator(FixedLocator(list(x)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _short(v)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    """1 000 000 as 1M, 20 000 as 20k."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and value % size == 0 and letter == "M"):
            return f"{value / size:g}{letter}"
    return f"{value:g}"

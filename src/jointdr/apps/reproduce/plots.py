"""The figures: log-log plots in the paper's arrangement, ours over the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.apps.reproduce.outputs import Curves
from jointdr.apps.reproduce.study import Figure, Line, Panel
from jointdr.apps.reproduce.summary import slope
from jointdr.plot import Curve, name_ticks, new_figure, reach, save_figure


def require_matplotlib() -> None:
    """Raise if nothing can be drawn, before hours of work and not after."""
    if find_spec("matplotlib") is None:
        raise ImportError("reproduce draws with matplotlib, which is not installed: pip install 'jointdr[plot]'.")


def draw_figure(figure: Figure, curves: Curves, paths: list[Path]) -> None:
    """Draw a figure into files, in the formats that their names end with."""
    rows = -(-len(figure.panels) // figure.columns)
    canvas = new_figure((3.1 * figure.columns + 0.4, 2.9 * rows + 1.1))
    axes = canvas.subplots(rows, figure.columns, squeeze=False)
    for ax, panel in zip(axes.flat, figure.panels, strict=False):
        _draw_panel(ax, panel, curves, figure.quantity)
    entries: dict[str, Any] = {}
    for ax in axes.flat:
        entries |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    canvas.suptitle(figure.title)
    made = sorted({curves[line.study.name, line.curve].repetitions for _, line in figure.lines})
    note = f"{' or '.join(map(str, made))} repetitions; bars and ± are 95 % intervals"
    canvas.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, frameon=False, title=note)
    write_canvas(canvas, figure.name, paths)


def write_canvas(canvas: Any, name: str, paths: list[Path]) -> None:
    """Write a figure to files: without dates and random names inside, the same numbers give the same file."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_figure(canvas, path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw_panel(ax: Any, panel: Panel, curves: Curves, quantity: str) -> None:
    ax.set(xscale="log", yscale="log")
    pairs = [(line, curves[line.study.name, line.curve]) for line in panel.lines]
    for line, curve in pairs:
        _draw_line(ax, line, curve)
    _write_slopes(ax, pairs)
    first = panel.lines[0]
    ax.set_title(panel.title, fontsize=9)
    ax.set(xlabel=first.study.varies, ylabel=quantity)
    name_ticks(ax, first.study.x)
    ax.grid(alpha=0.3)


def _draw_line(ax: Any, line: Line, curve: Curve) -> None:
    """Draw ours with bars, and the paper's as hollow circles of the same colour."""
    mean = np.exp(curve.log_mean)
    bars = np.nan_to_num(reach(curve.repetitions) * mean * curve.error)
    ax.errorbar(curve.x, mean, bars, color=line.colour, marker=".", linewidth=1.5, capsize=2, label=line.label)
    if line.plotted:
        style: dict[str, Any] = {
            "linestyle": (0, (4, 3)),
            "linewidth": 1.0,
            "marker": "o",
            "markersize": 9,
            "mfc": "none",
        }
        ax.plot(curve.x, np.exp(line.plotted.log_nsee), color=line.colour, zorder=3, **style)
        ax.plot([], [], color="0.3", label="the paper's", **style)


def _write_slopes(ax: Any, lines: Sequence[tuple[Line, Curve]]) -> None:
    """Write the slope of every line, in its colour, in the corner below them."""
    rising = sum(curve.slope for _, curve in lines) > 0
    for k, (line, curve) in enumerate(reversed(lines)):
        text = f"{'slope ' if k == len(lines) - 1 else ''}{curve.slope:.2f} ± {curve.slope_error:.2f}"
        if line.plotted:
            text += f", paper {slope(line.plotted.x, line.plotted.log_nsee):.2f}"
        place = {"x": 0.97 if rising else 0.03, "y": 0.03 + 0.07 * k, "ha": "right" if rising else "left"}
        ax.text(s=text, transform=ax.transAxes, color=line.colour, fontsize=7, **place)

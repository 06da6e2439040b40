"""Figures of recall, in the paper's arrangement: curves along k for one r, and bars of the last k for every r."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.apps.reproduce.claims import Claim
from jointdr.apps.reproduce.outputs import write_rows
from jointdr.apps.reproduce.plots import write_canvas
from jointdr.apps.reproduce.study import Study
from jointdr.plot import new_figure
from jointdr.runtime import Array

Values = Mapping[str, Array]  # results by the name of the study: (repetitions, curves, x)


@dataclass(frozen=True)
class Series:
    """One method: the curves of a study for each r, or one curve of a method that has no r or tunes it."""

    label: str
    study: Study
    colour: str
    curves: Mapping[int | None, str]  # their names, by r
    shown: int | None  # the r of the curve along k; None for a method that the paper did not try

    def values(self, measured: Values, prefix: str, r: int | None) -> Array:
        """The recalls with r directions, (repetitions, x)."""
        return measured[self.study.name][:, self.study.curves.index(f"{prefix}{self.curves[r]}")]


@dataclass(frozen=True)
class RecallFigure:
    """Recalls of several methods, by the name under which they are reproduced."""

    name: str
    title: str
    quantity: str  # "recall" or "significant recall"
    series: tuple[Series, ...]
    statements: Callable[[tuple[Series, ...], Values], Iterable[Claim]]  # the paper's claims about these values

    @property
    def studies(self) -> tuple[Study, ...]:
        return tuple(s.study for s in self.series)

    @property
    def prefix(self) -> str:
        """The beginning of the names of its curves."""
        return self.quantity.removesuffix("recall")

    def claims(self, values: Values) -> list[Claim]:
        return list(self.statements(self.series, values))


def write_recalls(figure: RecallFigure, values: Values, path: Path) -> None:
    """One row per method, r and k."""
    rows = []
    for s in figure.series:
        for r in s.curves:
            for k, v in zip(s.study.x, s.values(values, figure.prefix, r).T, strict=True):
                row = {"method": s.label, "r": "" if r is None else r, "k": f"{k:g}", "partitions": len(v)}
                row[figure.quantity] = f"{v.mean():.5f}"
                row["standard_deviation"] = f"{_deviation(v):.5f}"
                row["standard_error"] = f"{_deviation(v) / np.sqrt(len(v)):.5f}"
                rows.append({**row, "in_the_paper": "no" if s.shown is None else "yes"})
    write_rows(rows, path)


def draw_recalls(figure: RecallFigure, values: Values, paths: list[Path]) -> None:
    """Draw both panels into files, in the formats that their names end with."""
    canvas = new_figure((11.5, 5.6))
    left, right = canvas.subplots(1, 2, width_ratios=(1.0, 1.15))
    _draw_curves(left, figure, values)
    _draw_bars(right, figure, values)
    canvas.suptitle(figure.title, fontsize=10)
    count = max(len(values[study.name]) for study in figure.studies)
    handles, labels = left.get_legend_handles_labels()
    means = f"means of {count} partitions, with standard deviations on the right" if count > 1 else "one partition"
    note = f"{means}; dotted: not in the paper"
    canvas.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, title=note, fontsize=9)
    write_canvas(canvas, figure.name, paths)


def _draw_curves(ax: Any, figure: RecallFigure, values: Values) -> None:
    for s in figure.series:
        v = s.values(values, figure.prefix, s.shown)
        style: dict[str, Any] = {"linestyle": "-", "marker": "o", "linewidth": 1.6}
        if s.shown is None:
            style = {"linestyle": ":", "marker": "", "linewidth": 1.8}
        ax.plot(s.study.x, v.mean(axis=0), color=s.colour, label=s.label, markersize=4, **style)
    ax.set_title(f"r = {next(s.shown for s in figure.series if s.shown is not None)}", fontsize=9)
    ax.set(xlabel="retrieved genes, k", ylabel=f"{figure.quantity} at k", xticks=figure.series[0].study.x)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)


def _draw_bars(ax: Any, figure: RecallFigure, values: Values) -> None:
    """Groups of bars for each r; methods with one r only are left to the curves, those without any are lines."""
    last = np.flatnonzero(np.isfinite(values[figure.series[0].study.name]).all(axis=(0, 1)))[-1]
    ranks = [r for r in figure.series[0].curves if r is not None]
    in_groups = [s for s in figure.series if list(s.curves) == ranks and (len(ranks) > 1 or s is figure.series[0])]
    width = 0.8 / len(in_groups)
    for i, s in enumerate(in_groups):
        found = [s.values(values, figure.prefix, r)[:, last] for r in ranks]
        at = np.arange(len(ranks)) + (i - (len(in_groups) - 1) / 2) * width
        means, deviations = [v.mean() for v in found], np.nan_to_num([_deviation(v) for v in found])
        ax.bar(at, means, width, yerr=deviations, color=s.colour, capsize=2, error_kw={"linewidth": 0.8})
    for s in figure.series:
        if s.shown is None:
            mean = s.values(values, figure.prefix, None)[:, last].mean()
            ax.axhline(mean, color=s.colour, linestyle=":", linewidth=1.8, zorder=0)
    k = figure.series[0].study.x[last]
    ax.set_title(f"k = {k:g}", fontsize=9)
    ax.set(xlabel="directions, r", ylabel=f"{figure.quantity} at {k:g}")
    ax.set_xticks(np.arange(len(ranks)), [str(r) for r in ranks])
    ax.margins(y=0.08)
    ax.grid(alpha=0.3, axis="y")


def _deviation(v: Array) -> float:
    return float(v.std(ddof=1)) if len(v) > 1 else np.nan

"""What a reproduction leaves behind: numbers and verdicts as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.reproduce.cache import write
from jointdr.reproduce.study import Figure
from jointdr.reproduce.summary import Curve, Verdict

Curves = Mapping[tuple[str, str], Curve]
"""The measured curves, by the names of study and curve."""


def write_numbers(figure: Figure, curves: Curves, path: Path) -> None:
    """One row per point of every line, with the paper's value where there is one."""
    rows = []
    for panel in figure.panels:
        for line in panel.lines:
            curve = curves[line.study.name, line.curve]
            plotted: Sequence[Any] = line.plotted.log_nsee if line.plotted else [""] * len(curve.x)
            for x, mean, error, paper in zip(curve.x, curve.log_mean, curve.error, plotted, strict=True):
                rows.append(
                    {
                        "panel": panel.title,
                        "line": line.label,
                        "varies": line.study.varies,
                        "x": f"{x:g}",
                        "repetitions": curve.repetitions,
                        "mean": f"{np.exp(mean):.6g}",
                        "log_mean": f"{mean:.5f}",
                        "monte_carlo_error": f"{error:.5f}",
                        "paper_log_mean": paper,
                    }
                )
    write(path, _csv(rows))


VERDICT_COLUMNS = (
    "figure",
    "panel",
    "line",
    "slope",
    "slope_95",
    "paper_slope",
    "at",
    "ours",
    "paper",
    "difference",
    "monte_carlo_error",
    "tolerance",
    "repetitions",
    "verdict",
)


def _row(v: Verdict) -> dict[str, str]:
    """A verdict as text, told at the point that is farthest from the paper's."""
    k = v.worst
    return {
        "figure": v.figure,
        "panel": v.panel,
        "line": v.line,
        "slope": f"{v.curve.slope:+.3f}",
        "slope_95": f"{v.curve.slope_error:.3f}",
        "paper_slope": f"{v.paper_slope:+.3f}",
        "at": f"{v.curve.x[k]:g}",
        "ours": f"{v.curve.log_mean[k]:.3f}",
        "paper": f"{v.plotted[k]:.3f}",
        "difference": f"{v.difference[k]:+.3f}",
        "monte_carlo_error": f"{v.error[k]:.3f}",
        "tolerance": f"{v.tolerance:g}",
        "repetitions": str(v.curve.repetitions),
        "verdict": v.answer,
    }


def write_verdicts(verdicts: Sequence[Verdict], folder: Path) -> None:
    """Write verdicts.csv and verdicts.md, in which rows of figures that were not made this time stay."""
    path = folder / "verdicts.csv"
    figures = {v.figure for v in verdicts}
    earlier: list[dict[str, str]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            earlier = [row for row in csv.DictReader(file) if row["figure"] not in figures]
    rows = earlier + [_row(v) for v in verdicts]
    write(path, _csv(rows, VERDICT_COLUMNS))
    write(folder / "verdicts.md", _markdown(rows) + "\n")


def verdict_table(verdicts: Iterable[Verdict]) -> str:
    """The verdicts as a Markdown table."""
    return _markdown([_row(v) for v in verdicts])


def _markdown(rows: Iterable[Mapping[str, str]]) -> str:
    head = ("panel", "line", "slope", "paper's", "at x =", "ours", "paper's", "difference", "tolerance", "verdict")
    body = [
        (
            row["panel"],
            row["line"],
            f"{row['slope']} ± {row['slope_95']}",
            row["paper_slope"],
            f"{float(row['at']):,.0f}".replace(",", " "),
            row["ours"],
            row["paper"],
            f"{row['difference']} ± {row['monte_carlo_error']}",
            row["tolerance"],
            row["verdict"],
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [head, tuple("-" * w for w in widths), *body]
    return "\n".join(f"| {' | '.join(t.ljust(w) for t, w in zip(line, widths, strict=True))} |" for line in lines)


def _csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

"""Files of a reproduction: numbers and verdicts as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.apps.reproduce.cache import write_file
from jointdr.apps.reproduce.claims import Claim
from jointdr.apps.reproduce.study import Figure
from jointdr.apps.reproduce.summary import Verdict
from jointdr.evaluation import markdown_table
from jointdr.plot import Curve

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
    write_rows(rows, path)


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
    """A verdict as text, with the numbers at the point that is farthest from the paper's."""
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


CLAIM_COLUMNS = ("figure", "statement", "paper", "ours", "monte_carlo_error", "at_least", "partitions", "verdict")


def write_verdicts(verdicts: Sequence[Verdict], claims: Sequence[Claim], folder: Path) -> list[Path]:
    """Write verdicts.csv, claims.csv and both as verdicts.md; lines of figures that were not made this time stay."""
    made = {v.figure for v in verdicts} | {claim.figure for claim in claims}
    texts, files = [], []
    for name, rows, columns, shown in (
        ("verdicts.csv", [_row(v) for v in verdicts], VERDICT_COLUMNS, _value_table),
        ("claims.csv", [claim.row for claim in claims], CLAIM_COLUMNS, _claim_table),
    ):
        path = folder / name
        every = [row for row in _read(path) if row["figure"] not in made] + rows
        if every:
            write_rows(every, path, columns)
            texts.append(shown(every))
        if rows:
            files.append(path)
    if texts:
        write_file(folder / "verdicts.md", "\n\n".join(texts) + "\n")
    return [folder / "verdicts.md", *files] if files else []


def verdict_tables(verdicts: Sequence[Verdict], claims: Sequence[Claim]) -> list[str]:
    """The verdicts on values and on claims as Markdown tables, as far as there are any."""
    values = [_value_table([_row(v) for v in verdicts])] if verdicts else []
    return values + ([_claim_table([claim.row for claim in claims])] if claims else [])


def _value_table(rows: Iterable[Mapping[str, str]]) -> str:
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
    return markdown_table(head, body)


def _claim_table(rows: Iterable[Mapping[str, str]]) -> str:
    head = ("figure", "difference in recall", "the paper says", "ours", "at least", "verdict")
    body = [
        (
            row["figure"],
            row["statement"],
            row["paper"] or "(not tried)",
            f"{row['ours']} ± {row['monte_carlo_error']}",
            row["at_least"],
            row["verdict"],
        )
        for row in rows
    ]
    return markdown_table(head, body)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path, columns: Sequence[str] | None = None) -> None:
    """Write rows as CSV, by default with the columns of the first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue())


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))

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

Curves = Mapping[tuple[str, str], Curve]  # the measured curves, by the names of study and curve


def write_numbers(figure: Figure, curves: Curves, path: Path) -> None:
    """One row per point of every line, with the paper's value where there is one."""
    rows = []
    for panel, line in figure.lines:
        curve = curves[line.study.name, line.curve]
        plotted: Sequence[Any] = line.plotted.log_nsee if line.plotted else [""] * len(curve.x)
        for x, mean, error, paper in zip(curve.x, curve.log_mean, curve.error, plotted, strict=True):
            row = {"panel": panel.title, "line": line.label, "varies": line.study.varies, "x": f"{x:g}"}
            numbers = {"mean": f"{np.exp(mean):.6g}", "log_mean": f"{mean:.5f}", "monte_carlo_error": f"{error:.5f}"}
            rows.append({**row, "repetitions": curve.repetitions, **numbers, "paper_log_mean": paper})
    write_rows(rows, path)


def write_verdicts(verdicts: Sequence[Verdict], claims: Sequence[Claim], folder: Path) -> list[Path]:
    """Write verdicts.csv, claims.csv and both as verdicts.md; lines of figures that were not made this time stay."""
    made = {v.figure for v in verdicts} | {claim.figure for claim in claims}
    texts, files = [], []
    for name, found, show in (("verdicts.csv", verdicts, _value_table), ("claims.csv", claims, _claim_table)):
        path = folder / name
        every = [row for row in _read(path) if row["figure"] not in made] + [one.row for one in found]
        if every:
            write_rows(every, path)
            texts.append(show(every))
        if found:
            files.append(path)
    if texts:
        write_file(folder / "verdicts.md", "\n\n".join(texts) + "\n")
    return [folder / "verdicts.md", *files] if files else []


def verdict_tables(verdicts: Sequence[Verdict], claims: Sequence[Claim]) -> list[str]:
    """The verdicts on values and on claims as Markdown tables, as far as there are any."""
    values = [_value_table([v.row for v in verdicts])] if verdicts else []
    return values + ([_claim_table([claim.row for claim in claims])] if claims else [])


def _value_table(rows: Iterable[Mapping[str, str]]) -> str:
    head = ("panel", "line", "slope", "paper's", "at x =", "ours", "paper's", "difference", "tolerance", "verdict")
    body = []
    for row in rows:
        slopes = f"{row['slope']} ± {row['slope_95']}", row["paper_slope"]
        values = f"{float(row['at']):,.0f}".replace(",", " "), row["ours"], row["paper"]
        difference = f"{row['difference']} ± {row['monte_carlo_error']}"
        body.append((row["panel"], row["line"], *slopes, *values, difference, row["tolerance"], row["verdict"]))
    return markdown_table(head, body)


def _claim_table(rows: Iterable[Mapping[str, str]]) -> str:
    head = ("figure", "difference in recall", "the paper says", "ours", "at least", "verdict")
    body = []
    for row in rows:
        ours = f"{row['ours']} ± {row['monte_carlo_error']}"
        paper = row["paper"] or "(not tried)"
        body.append((row["figure"], row["statement"], paper, ours, row["at_least"], row["verdict"]))
    return markdown_table(head, body)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows as CSV, with the columns of the last."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[-1]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue())


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))

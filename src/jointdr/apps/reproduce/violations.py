"""The supplement's four violated assumptions: estimated normalization, uniform, Poisson and correlated features.

The paper gives the bilinear model and the laws of the features; n = 100 and r = 5 match what is plotted, and so does a
correlation of 0.25 between a and b, which the text calls slight.
"""

from __future__ import annotations

from typing import Any

from jointdr import JDR
from jointdr.apps.reproduce.paper_values import VIOLATIONS
from jointdr.apps.reproduce.study import Figure, Line, Panel, Study
from jointdr.apps.reproduce.synthetic import Cell, nsee_study
from jointdr.datasets import SyntheticModel

N, R = 100, 5
TOLERANCE = 0.05
AS_GIVEN, ESTIMATED = JDR(R, normalize=None), JDR(R, normalize="full")

# which data: (what is special about it, the method of each curve). Ideal and normalized share their data.
DATA: dict[str, tuple[dict[str, Any], dict[str, JDR]]] = {
    "gaussian": ({}, {"ideal": AS_GIVEN, "normalized": ESTIMATED}),
    "uniform": ({"features": "uniform"}, {"uniform": AS_GIVEN}),
    "poisson": ({"features": "poisson"}, {"poisson": AS_GIVEN}),
    "correlated": ({"correlation": 0.25}, {"correlated": AS_GIVEN}),
}

# the panels in the paper's order: the red line of each, and what it violates
PANELS = {
    "normalized": "1. sample means and covariances",
    "uniform": "2. uniform features",
    "poisson": "3. Poisson features",
    "correlated": "4. a correlated with b (0.25)",
}


def make_violations(data: Any = None) -> Figure:
    """The four panels; `data` is not used."""
    studies = {curve: study for study in map(_study, DATA) for curve in study.curves}
    panels = tuple(_panel(violated, title, studies) for violated, title in PANELS.items())
    return Figure("violations", "Supplement: assumptions violated (bilinear, n = 100, r = 5)", panels, columns=4)


def _study(data: str) -> Study:
    special, methods = DATA[data]
    model = SyntheticModel("bilinear", N, R, **special)
    m = VIOLATIONS["ideal"].x
    curves = {curve: [Cell(model, method, rows) for rows in m] for curve, method in methods.items()}
    return nsee_study(f"violations-{data}", "m", m, curves)


def _panel(violated: str, title: str, studies: dict[str, Study]) -> Panel:
    def line(label: str, curve: str, colour: str) -> Line:
        return Line(label, studies[curve], curve, colour, VIOLATIONS[curve], TOLERANCE)

    return Panel(title, (line("assumptions met", "ideal", "tab:blue"), line("violated", violated, "tab:red")))

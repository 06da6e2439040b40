"""The supplement's comparison with pHd: JDR sees odd links, pHd even ones; with all moments JDR sees both.

The paper gives the two links. It leaves n, r and the noise out; n = 10, r = 3 and none match the odd link within 0.08
and the even one within 0.2, where a little more than r = 3 would be closer.
"""

from __future__ import annotations

from typing import Any

from jointdr import JDR, PHD
from jointdr.apps.reproduce.paper_values import PHD as PLOTTED
from jointdr.apps.reproduce.study import Figure, Line, Panel
from jointdr.apps.reproduce.synthetic import Cell, nsee_study
from jointdr.datasets import SyntheticModel

N, R = 10, 3
METHODS = {"JDR": JDR(R, normalize=None), "pHd": PHD(R), "JDR, all moments": JDR(R, normalize=None, moments="all")}
COLOURS = {"JDR": "tab:blue", "pHd": "tab:red", "JDR, all moments": "tab:green"}

# link of the supplement: (link of the model, title, tolerance)
LINKS: dict[str, tuple[Any, str, float]] = {
    "odd": ("bilinear", "odd: Σ (Uᵀa)ⱼ(Vᵀb)ⱼ", 0.02),
    "even": ("even", "even: Σ (Uᵀa)ⱼ²(Vᵀb)ⱼ²", 0.2),
}


def make_phd(data: Any = None) -> Figure:
    """The two panels; `data` is not used."""
    return Figure("phd", "Supplement: JDR and pHd (n = 10, r = 3, no noise)", tuple(map(_panel, LINKS)), columns=2)


def _panel(name: str) -> Panel:
    link, title, tolerance = LINKS[name]
    model = SyntheticModel(link, N, R, noise=0.0)
    m = PLOTTED[name, "JDR"].x
    curves = {label: [Cell(model, method, rows) for rows in m] for label, method in METHODS.items()}
    points = nsee_study(f"phd-{name}", "m", m, curves)
    lines = (Line(label, points, label, COLOURS[label], PLOTTED.get((name, label)), tolerance) for label in METHODS)
    return Panel(title, tuple(lines))

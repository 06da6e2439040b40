"""Figure 1: mean NSEE against m, n and s, for the bilinear and the RBF model.

The paper gives the models, r = 5 and that nothing is normalized. It leaves out which n, m and s are held fixed; those
below were found by trying, as those that match what is plotted. The RBF row matches r = 2, not the 5 of the text, whose
error is several times the plotted one: it is drawn beside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jointdr import JDR
from jointdr.apps.reproduce.paper_values import FIGURE_1
from jointdr.apps.reproduce.study import Figure, Line, Panel
from jointdr.apps.reproduce.synthetic import Cell, nsee_study
from jointdr.datasets import SyntheticModel


class Setting(NamedTuple):
    """The sizes that a panel holds fixed (None for the one that varies), and how closely the paper's values match."""

    m: int | None
    n: int | None
    s: int | None
    tolerance: float


SETTINGS = {
    (1, 1): Setting(m=None, n=100, s=None, tolerance=0.03),
    (1, 2): Setting(m=10_000, n=None, s=None, tolerance=0.03),
    (1, 3): Setting(m=None, n=100, s=10, tolerance=0.03),
    (1, 4): Setting(m=50_000, n=2000, s=None, tolerance=0.12),
    (2, 1): Setting(m=None, n=10, s=None, tolerance=0.08),
    (2, 2): Setting(m=100_000, n=None, s=None, tolerance=0.03),
    (2, 3): Setting(m=None, n=100, s=10, tolerance=0.05),
    (2, 4): Setting(m=1_000_000, n=500, s=None, tolerance=0.15),
}
LINKS = {1: "bilinear", 2: "rbf"}
LINK_NAMES = {"bilinear": "bilinear", "rbf": "RBF"}
RANKS = {1: (5,), 2: (2, 5)}
"""The r of each row that matches the plotted values; then the r of the text, where it is another."""


def make_figure1(data: Any = None) -> Figure:
    """The eight panels; `data` is not used."""
    panels = tuple(_panel(row, number) for row, number in SETTINGS)
    return Figure("figure1", "Figure 1: error against samples, features and selected features", panels, columns=4)


def _panel(row: int, number: int) -> Panel:
    setting, plotted = SETTINGS[row, number], FIGURE_1[row, number]
    curves = {f"r = {r}": [_cell(row, r, setting, **{plotted.varies: x}) for x in plotted.x] for r in RANKS[row]}
    points = nsee_study(f"figure1-row{row}-panel{number}", plotted.varies, plotted.x, curves)
    first, *others = curves
    lines = [Line("JDR", points, first, "tab:blue", plotted, setting.tolerance)]
    lines += [Line(f"JDR with {curve}, as the text says", points, curve, "tab:orange") for curve in others]
    fixed = [f"{letter} = {value}" for letter in "mns" if (value := getattr(setting, letter))]
    return Panel(f"{LINK_NAMES[LINKS[row]]}, {', '.join([first, *fixed])}", tuple(lines))


def _cell(row: int, r: int, setting: Setting, **varying: int) -> Cell | None:
    """A point of a panel; None where s = r, because the selected features span the embedding then, whatever it is."""
    fixed = {**setting._asdict(), **varying}
    n, s = fixed["n"], fixed["s"]
    if s == r:
        return None
    model = SyntheticModel(LINKS[row], n, r, n_informative=s)  # type: ignore[arg-type]
    return Cell(model, JDR(r, normalize=None, n_features_to_select=s), fixed["m"])

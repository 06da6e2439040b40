"""Values that the paper plots: they stand as tables in its LaTeX source, under the labels given here.

The paper is Li, Wen, Cheng and Bresler, *Joint Dimensionality Reduction for Separable Embedding Estimation*. Values are
natural logarithms of the mean NSEE over 100 repetitions; the source has log(x) as well, here x itself.
"""

from __future__ import annotations

from typing import NamedTuple

REPETITIONS = 100  # behind each plotted value (section 6.1)


class Plotted(NamedTuple):
    """One line of a plot: what varies, its values, and the natural logarithm of the mean NSEE at each."""

    varies: str
    x: tuple[int, ...]
    log_nsee: tuple[float, ...]


# Figure 1 (fig:log-log), by (row, panel). Row 1 is the bilinear model, row 2 the RBF model.
FIGURE_1 = {
    (1, 1): Plotted(
        "m",
        (1000, 2000, 5000, 10_000),
        (-0.215194441711561, -0.488714027390471, -0.929333134724102, -1.27141258575962),
    ),
    (1, 2): Plotted(
        "n",
        (50, 100, 200, 500),
        (-1.63435455894625, -1.2740427772473, -0.923316299740511, -0.475745427157983),
    ),
    (1, 3): Plotted(
        "m",
        (10_000, 20_000, 50_000, 100_000),
        (-2.55955806313597, -2.93485215962578, -3.39577582809748, -3.79136564276904),
    ),
    (1, 4): Plotted(
        "s",
        (10, 20, 50, 100),
        (-3.33684670266371, -2.68991573176776, -2.0295046437283, -1.41724009830129),
    ),
    (2, 1): Plotted(
        "m",
        (20_000, 50_000, 100_000, 200_000),
        (-2.34853472496215, -2.8173177878998, -3.14841200116734, -3.49523913413638),
    ),
    (2, 2): Plotted(
        "n",
        (10, 20, 50, 100),
        (-3.18594329230943, -2.78266797880402, -2.3097815954959, -1.94198674775507),
    ),
    (2, 3): Plotted(
        "m",
        (200_000, 500_000, 1_000_000, 2_000_000),
        (-3.1982945629925, -3.79488492192837, -4.14964904055467, -4.59662747383429),
    ),
    (2, 4): Plotted(
        "s",
        (5, 10, 20, 50),
        (-4.6840019801908, -4.17287904031326, -3.4981562412418, -2.6835058284617),
    ),
}

# Supplement, "Performance under non-ideal conditions" (fig:violate): the blue line of all four panels, then the red one
# of each.
_M = (100_000, 200_000, 500_000)
VIOLATIONS = {
    "ideal": Plotted("m", _M, (-2.43563598165736, -2.79689097157546, -3.25176321291227)),
    "normalized": Plotted("m", _M, (-2.50058616160947, -2.82956987009585, -3.32649032424779)),
    "uniform": Plotted("m", _M, (-2.43489497761789, -2.77584270005024, -3.24120683231683)),
    "poisson": Plotted("m", _M, (-2.45040266370146, -2.79241663529589, -3.21464610661094)),
    "correlated": Plotted("m", _M, (-2.42552706759612, -2.75601536346579, -3.15223244932912)),
}

# Supplement, "Pathological cases" (fig:compare_pHd), by (link, method): the left panel is odd, the right one even.
_M_SMALL = (1000, 2000, 5000, 10_000)
PHD = {
    ("odd", "JDR"): Plotted(
        "m", _M_SMALL, (-1.58020068553952, -1.90241849989738, -2.39339524848198, -2.73179799885045)
    ),
    ("odd", "pHd"): Plotted(
        "m", _M_SMALL, (-0.235154733757411, -0.212884630672413, -0.245352264966206, -0.246449811460298)
    ),
    ("even", "JDR"): Plotted(
        "m", _M_SMALL, (-0.357542349616585, -0.345415705555318, -0.35742561210398, -0.409221455986557)
    ),
    ("even", "pHd"): Plotted("m", _M_SMALL, (-1.1528123149822, -1.50108420216452, -2.0156654517911, -2.41665463667388)),
}

"""The cost table of the paper's supplement, measured on grids: how the time of each stage grows with m and with n.

A grid has m_D = m_G = m entities a side with n_D = n_G = n features each, and a score for all m² pairs. The stages are
estimating the embeddings (`fit`), computing the features (`transform`), and one score, by kernel regression on the
features or as an inner product (IMC). Exponents are slopes of log time against log m or log n, with the other fixed,
for the shortest of several runs in processor time, so that other work on the machine counts less.

Beside each is the slope of the paper's own formula, fitted in the same way to its number of operations at the same
sizes: a formula with several terms has no exponent of its own. It counts all operations as equally fast, and leaves
out the decompositions, O(n³). For one score the paper counts evaluations of kernels; they are measured by themselves,
and with the m_D m_G multiplications of K_D Y K_Gᵀ for one pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jointdr import IMC, JDR, PCA, PHD, SOLS, Dyads, KernelRegression
from jointdr.apps.reproduce.cache import write_file
from jointdr.apps.reproduce.joint_kernel import JointKernelRegression, by_definition
from jointdr.apps.reproduce.outputs import write_rows
from jointdr.apps.reproduce.study import Study
from jointdr.apps.reproduce.summary import slope
from jointdr.evaluation import markdown_table
from jointdr.prediction import Kernel
from jointdr.runtime import Array, duration

R, SWEEPS = 10, 5
Call = Callable[[], object]


class Sizes(NamedTuple):
    """The m at which n is fixed, and the n at which m is fixed; none where the original features are not there."""

    m: tuple[int, ...]
    fixed_n: int = 1
    n: tuple[int, ...] = ()
    fixed_m: int = 0


GRID = Sizes(m=(750, 1500, 3000, 6000), fixed_n=100, n=(50, 100, 200, 400), fixed_m=4000)
TABLES = Sizes(m=(8000, 16_000, 32_000, 64_000), fixed_n=100, n=(50, 100, 200, 400), fixed_m=16_000)
PAIRS = Sizes(m=(50, 100, 200, 400), fixed_n=100, n=(50, 100, 200, 400), fixed_m=200)
POINTS = Sizes(m=(200, 400, 800, 1600))
MANY = Sizes(m=(20_000, 40_000, 80_000, 160_000))
ENTITIES = Sizes(m=(750, 1500, 3000, 6000))
# The sizes of one partition in the paper, at which predictions with cpHd are timed.
PAPER = {"m_D": 2122, "m_G": 2020, "r": 80, "held_out": 236}
PER_READ = 32  # predictions by the definition that share the reading of the known pairs


@dataclass(frozen=True)
class Stage:
    """One row of the table: a stage of a method."""

    method: str
    name: str
    paper: str  # its O(·)
    operations: Callable[[int, int], float]  # of m and n, by that formula
    prepare: Callable[[int, int], Call]  # of m and n: the call to be timed at this size
    sizes: Sizes

    def points(self, varies: str) -> list[tuple[int, int]]:
        """The sizes along m or n."""
        m, fixed_n, n, fixed_m = self.sizes
        return [(k, fixed_n) for k in m] if varies == "m" else [(fixed_m, k) for k in n]

    def study(self, varies: str) -> Study:
        """The seconds of one call at each size."""
        x, points = getattr(self.sizes, varies), self.points(varies)
        name = f"cost-{self.method}-{self.name}-{varies}".lower().replace(", ", "-").replace(" ", "-")
        settings = {"places": points, "r": R, "sweeps": SWEEPS}
        measure = partial(_seconds, self.prepare, points)
        return Study(name, varies, x, ("seconds",), measure, settings, 4.0, 3, 1, alone=True)


class CostTable(NamedTuple):
    """The table, by the name under which it is reproduced."""

    name: str
    stages: tuple[Stage, ...]

    @property
    def studies(self) -> tuple[Study, ...]:
        along = [stage.study(v) for stage in self.stages for v in ("m", "n") if stage.points(v)]
        return (*along, _joint_study())


def make_costs(data: Any = None) -> CostTable:
    """All rows, stage by stage; `data` is not used."""
    return CostTable("cost", tuple(_stages()))


def write_costs(costs: CostTable, values: Mapping[str, Array], folder: Path) -> tuple[str, list[Path]]:
    """Write cost.csv (seconds) and cost.md (exponents); return the text of the second, and the paths."""
    rows, body = [], []
    for stage in costs.stages:
        cells = []
        for varies in ("m", "n"):
            if not (points := stage.points(varies)):
                cells.append("–")
                continue
            study = stage.study(varies)
            seconds = values[study.name][:, 0].min(axis=0)  # other work on the machine only adds to it
            formula = slope(study.x, np.log([stage.operations(*at) for at in points]))
            cells.append(f"{slope(study.x, np.log(seconds)):.2f} ({formula + 0.0:.2f})")
            for (m, n), s in zip(points, seconds, strict=True):
                rows.append({"method": stage.method, "stage": stage.name, "m": m, "n": n, "seconds": f"{s:.3g}"})
        body.append((stage.name, stage.method, *cells, stage.paper))
    text = f"{markdown_table(('stage', 'method', 'in m', 'in n', 'paper'), body)}\n\n{_joint_text(values)}"
    write_rows(rows, folder / "cost.csv")
    write_file(folder / "cost.md", text + "\n")
    return text, [folder / "cost.md", folder / "cost.csv"]


# ---------------------------------------------------------------- the calls that are timed


def grid(m: int, n: int) -> Dyads:
    """Scores that every method finds something in."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, m, n))
    Y = A[:, :R] @ B[:, :R].T + A[:, :1] ** 2 + B[:, 0] ** 2 + A[:, 1:2] + B[:, 1]
    return Dyads(Y, A, B)


def _fitting(model: Any) -> Callable[[int, int], Call]:
    return lambda m, n: partial(model.fit, grid(m, n))


def _transforming(model: Any, m: int, n: int) -> Call:
    A, B = np.random.default_rng(1).standard_normal((2, m, n))
    return partial(model.fit(grid(2 * n, n)).transform, (A, B))  # the embeddings come from any data


def _transforming_pairs(m: int, n: int) -> Call:
    """Every pair has features of its own: Dᵀ[a; b]."""
    X, _ = grid(m, n).triples()
    return partial(PHD(R, concatenate=True).fit(grid(2 * n, n)).transform_joint, X)


def _kernels(m: int, n: int) -> Call:
    """The kernels that one score of separate features needs: m_D + m_G evaluations."""
    Z = np.random.default_rng(2).standard_normal((2, m, R))
    sides = [Kernel(z, 5.0) for z in Z]
    return lambda: [side.weights(z[:1]) for side, z in zip(sides, Z, strict=True)]


def _one_score(m: int, n: int) -> Call:
    """Kernel regression on separate features: these evaluations, and K_D Y K_Gᵀ."""
    rng = np.random.default_rng(2)
    Z, Y = rng.standard_normal((2, m, R)), rng.standard_normal((m, m))
    return partial(KernelRegression(bandwidth=5.0).fit(Dyads(Y, *Z)).predict, (Z[0][:1], Z[1][:1]))


def _one_joint_score(m: int, n: int) -> Call:
    """Kernel regression on features of pairs: m_D m_G evaluations."""
    rng = np.random.default_rng(2)
    Z, y = rng.standard_normal((m * m, 2 * R)), rng.standard_normal(m * m)
    return partial(KernelRegression(bandwidth=5.0).fit(Z, y).predict, Z[:1])


def _one_product(m: int, n: int) -> Call:
    """The score of IMC."""
    Z = np.random.default_rng(2).standard_normal((2, m, R))
    return lambda: Z[0][0] @ Z[1][0]


CROSS = "O(m_D m_G min(n_D, n_G) + m_D n_D² + m_G n_G²)"
FIRST = "O(m_D m_G + m_D n_D² + m_G n_G²)"
SEPARATE = "O(m_D n_D r + m_G n_G r)"
OF_PAIRS = "O(m_D m_G n_D r + m_D m_G n_G r)"

# method: the estimator, the cost of estimating in the paper, and its number of operations on these grids
ESTIMATING: dict[str, tuple[Any, str, Callable[[int, int], float]]] = {
    "JDR": (JDR(R), CROSS, lambda m, n: m * m * n + 2 * m * n * n),
    "PCA": (PCA(R), "O(m_D n_D² + m_G n_G²)", lambda m, n: 2 * m * n * n),
    "pHd": (PHD(R), FIRST, lambda m, n: m * m + 2 * m * n * n),
    "sOLS": (SOLS(1), FIRST, lambda m, n: m * m + 2 * m * n * n),
    "cpHd": (PHD(R, concatenate=True), CROSS, lambda m, n: m * m * n + 2 * m * n * n),
    "IMC": (
        IMC(R, n_iter=SWEEPS, tol=0, fit_intercept=False),
        f"{OF_PAIRS} per iteration",
        lambda m, n: 2 * m * m * n * R,
    ),
}


def _stages() -> Iterator[Stage]:
    for method, (model, paper, operations) in ESTIMATING.items():
        yield Stage(method, "embeddings", paper, operations, _fitting(model), GRID)
    for method, (model, *_) in ESTIMATING.items():
        if method != "cpHd":
            prepare = partial(_transforming, model)
            yield Stage(method, "features", SEPARATE, lambda m, n: 2 * m * n * R, prepare, TABLES)
    yield Stage("cpHd", "features", OF_PAIRS, lambda m, n: 2 * m * m * n * R, _transforming_pairs, PAIRS)
    separate = "JDR, PCA, pHd, sOLS"
    yield Stage(separate, "kernels", "m_D + m_G kernel evaluations", lambda m, n: 2 * m, _kernels, MANY)
    yield Stage(separate, "one score", "(and m_D m_G multiplications)", lambda m, n: m * m, _one_score, ENTITIES)
    yield Stage("cpHd", "one score", "m_D m_G kernel evaluations", lambda m, n: m * m, _one_joint_score, POINTS)
    yield Stage("IMC", "one score", "1 inner product", lambda m, n: 1, _one_product, ENTITIES)


# ---------------------------------------------------------------- cpHd at the paper's size


def _joint_study() -> Study:
    """The seconds of one prediction with cpHd, by the definition and by rows."""
    curves = ("by the definition", "by rows")
    return Study("cost-cphd-prediction", "r", (PAPER["r"],), curves, _joint_seconds, PAPER, 20.0, 3, 1, alone=True)


def _joint_seconds(seed: int) -> Array:
    """With features that are random numbers, because time does not depend on them."""
    m_D, m_G, r = PAPER["m_D"], PAPER["m_G"], PAPER["r"]
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((m_D, r)), rng.standard_normal((m_G, r))
    Y = (rng.random((m_D, m_G)) < 0.01).astype(float)
    model = JointKernelRegression(r, bandwidth=0.3).fit(sparse.csr_array(Y), A, B)
    by_rows = _shortest(lambda: model.predict(A[:2]), runs=1) / (2 * m_G)
    # The definition takes time in proportion to the known pairs: a tenth of the diseases is enough, and fits in memory.
    part = max(1, m_D // 10)
    U, V, y = (X.astype(np.float32) for X in (model.coordinates_[0][:part], model.coordinates_[1], Y[:part].ravel()))
    points = (U[:, None] + V).reshape(-1, 2 * r)
    defined = _shortest(lambda: by_definition(points[:PER_READ], points, y), runs=1) / PER_READ * (m_D / part)
    return np.array([[defined], [by_rows]])


def _joint_text(values: Mapping[str, Array]) -> str:
    defined, by_rows = values[_joint_study().name][:, :, 0].min(axis=0)
    count = PAPER["held_out"] * PAPER["m_G"]
    return (
        f"One prediction with cpHd at the paper's size (m_D = {PAPER['m_D']}, m_G = {PAPER['m_G']}, r = {PAPER['r']}): "
        f"{1e3 * defined:.3g} ms with m_D m_G kernel evaluations (single precision, {PER_READ} at a time), which is "
        f"{duration(count * defined)} for the {PAPER['held_out']} diseases of a partition; {1e3 * by_rows:.3g} ms, or "
        f"{duration(count * by_rows)}, with products of matrices for a whole row (`JointKernelRegression`)."
    )


# ---------------------------------------------------------------- the clock


def _seconds(prepare: Callable[[int, int], Call], points: Sequence[tuple[int, int]], seed: int) -> Array:
    return np.array([[_shortest(prepare(*at)) for at in points]])


def _shortest(call: Call, runs: int = 3, least: float = 0.02) -> float:
    """The processor time of one call: the least of several means over as many calls as the clock needs."""
    call()
    found = []
    for _ in range(runs):
        calls, start = 0, time.process_time()
        while calls == 0 or time.process_time() - start < least:
            call()
            calls += 1
        found.append((time.process_time() - start) / calls)
    return min(found)

"""The cost table of the paper's supplement, measured on grids: how the time of each stage grows with m and with n.

    python benchmarks/cost_table.py

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jointdr import IMC, JDR, PCA, PHD, SOLS, Dyads, KernelRegression
from jointdr.weights import Kernel

R, SWEEPS = 10, 5
Call = Callable[[], object]


@dataclass(frozen=True)
class Sizes:
    """The m at which n is fixed, and the n at which m is fixed; none where the original features are not there."""

    m: Sequence[int]
    fixed_n: int
    n: Sequence[int]
    fixed_m: int


GRID = Sizes(m=(750, 1500, 3000, 6000), fixed_n=100, n=(50, 100, 200, 400), fixed_m=4000)
TABLES = Sizes(m=(8000, 16_000, 32_000, 64_000), fixed_n=100, n=(50, 100, 200, 400), fixed_m=16_000)
PAIRS = Sizes(m=(50, 100, 200, 400), fixed_n=100, n=(50, 100, 200, 400), fixed_m=200)
POINTS = Sizes(m=(200, 400, 800, 1600), fixed_n=1, n=(), fixed_m=0)
MANY = Sizes(m=(20_000, 40_000, 80_000, 160_000), fixed_n=1, n=(), fixed_m=0)
ENTITIES = Sizes(m=(750, 1500, 3000, 6000), fixed_n=1, n=(), fixed_m=0)


@dataclass(frozen=True)
class Stage:
    """One cell of the table.

    Attributes
    ----------
    method, name, paper : str
        What it is, and the paper's O(·).
    operations : callable
        Of m and n: the number of operations of that formula.
    prepare : callable
        Of m and n: what is to be timed at this size.
    sizes : Sizes
    """

    method: str
    name: str
    paper: str
    operations: Callable[[int, int], float]
    prepare: Callable[[int, int], Call]
    sizes: Sizes


def grid(m: int, n: int) -> Dyads:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, m, n))
    Y = A[:, :R] @ B[:, :R].T + A[:, :1] ** 2 + B[:, 0] ** 2 + A[:, 1:2] + B[:, 1]
    return Dyads(Y, A, B)


def fitting(model: object) -> Callable[[int, int], Call]:
    def prepare(m: int, n: int) -> Call:
        dyads = grid(m, n)
        return lambda: model.fit(dyads)

    return prepare


def transforming(model: object) -> Callable[[int, int], Call]:
    def prepare(m: int, n: int) -> Call:
        A, B = np.random.default_rng(1).standard_normal((2, m, n))
        fitted = model.fit(grid(2 * n, n))  # the embeddings, from any data
        return lambda: fitted.transform((A, B))

    return prepare


def transforming_pairs(m: int, n: int) -> Call:
    """Every pair has features of its own: Dᵀ[a; b]."""
    X, _ = grid(m, n).triples()
    model = PHD(R, concatenate=True).fit(grid(2 * n, n))
    return lambda: model.transform_joint(X)


def kernels(m: int, n: int) -> Call:
    """What one score needs of separate features: m_D + m_G evaluations."""
    Z = np.random.default_rng(2).standard_normal((2, m, R))
    sides = [Kernel(z, 5.0) for z in Z]
    return lambda: [side.weights(z[:1]) for side, z in zip(sides, Z, strict=True)]


def one_score(m: int, n: int) -> Call:
    """Kernel regression on separate features: these evaluations, and K_D Y K_Gᵀ."""
    rng = np.random.default_rng(2)
    Z, Y = rng.standard_normal((2, m, R)), rng.standard_normal((m, m))
    regression = KernelRegression(bandwidth=5.0).fit(Dyads(Y, *Z))
    return lambda: regression.predict((Z[0][:1], Z[1][:1]))


def one_joint_score(m: int, n: int) -> Call:
    """Kernel regression on features of pairs: m_D m_G evaluations."""
    rng = np.random.default_rng(2)
    Z, y = rng.standard_normal((m * m, 2 * R)), rng.standard_normal(m * m)
    regression = KernelRegression(bandwidth=5.0).fit(Z, y)
    return lambda: regression.predict(Z[:1])


def one_product(m: int, n: int) -> Call:
    """The score of IMC."""
    Z = np.random.default_rng(2).standard_normal((2, m, R))
    return lambda: Z[0][0] @ Z[1][0]


CROSS = "O(m_D m_G min(n_D, n_G) + m_D n_D² + m_G n_G²)"
FIRST = "O(m_D m_G + m_D n_D² + m_G n_G²)"
SEPARATE = "O(m_D n_D r + m_G n_G r)"
OF_PAIRS = "O(m_D m_G n_D r + m_D m_G n_G r)"

# method: the estimator, the cost of estimating in the paper, and its number of operations on these grids
ESTIMATING = {
    "JDR": (JDR(R), CROSS, lambda m, n: m * m * n + 2 * m * n * n),
    "PCA": (PCA(R), "O(m_D n_D² + m_G n_G²)", lambda m, n: 2 * m * n * n),
    "pHd": (PHD(R), FIRST, lambda m, n: m * m + 2 * m * n * n),
    "sOLS": (SOLS(1), FIRST, lambda m, n: m * m + 2 * m * n * n),
    "cpHd": (PHD(R, concatenate=True), CROSS, lambda m, n: m * m * n + 2 * m * n * n),
    "IMC": (IMC(R, n_iter=SWEEPS, tol=0), f"{OF_PAIRS} per iteration", lambda m, n: 2 * m * m * n * R),
}


def table() -> Iterator[Stage]:
    """All rows, stage by stage."""
    for method, (model, paper, operations) in ESTIMATING.items():
        yield Stage(method, "embeddings", paper, operations, fitting(model), GRID)
    for method, (model, *_) in ESTIMATING.items():
        if method != "cpHd":
            yield Stage(method, "features", SEPARATE, lambda m, n: 2 * m * n * R, transforming(model), TABLES)
    yield Stage("cpHd", "features", OF_PAIRS, lambda m, n: 2 * m * m * n * R, transforming_pairs, PAIRS)
    separate = "JDR, PCA, pHd, sOLS"
    yield Stage(separate, "kernels", "m_D + m_G kernel evaluations", lambda m, n: 2 * m, kernels, MANY)
    yield Stage(separate, "one score", "(and m_D m_G multiplications)", lambda m, n: m * m, one_score, ENTITIES)
    yield Stage("cpHd", "one score", "m_D m_G kernel evaluations", lambda m, n: m * m, one_joint_score, POINTS)
    yield Stage("IMC", "one score", "1 inner product", lambda m, n: 1, one_product, ENTITIES)


def shortest(call: Call, runs: int = 5, least: float = 0.02) -> float:
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


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def exponents(stage: Stage) -> Iterator[str]:
    """Measured and by the formula, in m and in n."""
    sizes = stage.sizes
    series = (sizes.m, [(m, sizes.fixed_n) for m in sizes.m]), (sizes.n, [(sizes.fixed_m, n) for n in sizes.n])
    for grown, places in series:
        if not grown:
            yield "-"
            continue
        measured = slope(grown, [shortest(stage.prepare(*at)) for at in places])
        formula = slope(grown, [stage.operations(*at) for at in places])
        yield f"{measured:.2f} ({formula + 0.0:.2f})"


def main() -> None:
    for what, sizes in (("embeddings", GRID), ("features", TABLES), ("cpHd's features", PAIRS)):
        print(f"{what}: m = {sizes.m} at n = {sizes.fixed_n}; n = {sizes.n} at m = {sizes.fixed_m}")
    print(f"kernels: m = {MANY.m}; one score: m = {ENTITIES.m}, cpHd's m = {POINTS.m}")
    print(f"r = {R}; IMC makes {SWEEPS} sweeps")
    print("Exponents of time, in brackets those of the paper's formula at the same sizes\n")
    print(f"{'method':19s} {'stage':10s} {'in m':>12s} {'in n':>12s}   paper")
    for stage in table():
        in_m, in_n = exponents(stage)
        print(f"{stage.method:19s} {stage.name:10s} {in_m:>12s} {in_n:>12s}   {stage.paper}", flush=True)


if __name__ == "__main__":
    main()

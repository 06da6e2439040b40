"""The price of choosing: a fit of `AssociationModel()` in units of one plain fit of a model with given settings.

    python benchmarks/default_cost.py sizes       # four sizes of associations, and of grades of which some are known
    python benchmarks/default_cost.py entities    # growth in entities, 3 % of the pairs associated
    python benchmarks/default_cost.py pairs       # growth in known pairs, 800 × 600 entities
    python benchmarks/default_cost.py large       # 100 000 × 20 000 entities, a million associations

A plain fit is one of kernel ridge regression on pairs, `AssociationModel(None, head="kernel_ridge", bandwidth=0.5)`,
where the data is large one of the bilinear head. The default answers all four questions. Ratios are of one run; seconds
are of the clock.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads
from jointdr.evaluation import markdown_table, splits
from jointdr.metrics import recall_at_k

SIZES = [(100, 80), (300, 250), (900, 700), (2000, 1600)]
FEATURES, TRAITS = 30, 4


def entities(m_A: int, m_B: int, rng: Any) -> tuple[Any, Any, Any]:
    """Features of both kinds, and how well they agree in the first few."""
    A, B = rng.standard_normal((m_A, FEATURES)), rng.standard_normal((m_B, FEATURES))
    return A, B, A[:, :TRAITS] @ B[:, :TRAITS].T


def associations(m_A: int, m_B: int, share: float = 0.03) -> Dyads:
    rng = np.random.default_rng(0)
    A, B, S = entities(m_A, m_B, rng)
    S += rng.standard_normal(S.shape)
    return Dyads(sparse.csr_array((np.quantile(S, 1 - share) < S).astype(float)), A, B)


def grades(m_A: int, m_B: int, share: float = 0.3) -> Dyads:
    rng = np.random.default_rng(0)
    A, B, S = entities(m_A, m_B, rng)
    return Dyads(S + rng.standard_normal(S.shape), A, B, observed=rng.random(S.shape) < share)


def seconds(model: Any, dyads: Dyads) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(dyads)
    return time.perf_counter() - began


def plain_model() -> AssociationModel:
    return AssociationModel(None, head="kernel_ridge", bandwidth=0.5)


def show(title: str, tables: dict[str, Dyads]) -> None:
    """Seconds of the default and of a plain fit, and how both grow from one line to the next."""
    rows, before = [], (0.0, 0.0)
    for name, dyads in tables.items():
        plain = min(seconds(plain_model(), dyads) for _ in range(3))
        default = seconds(AssociationModel(random_state=0), dyads)
        growth = [f"{now / then:.1f} ×" if then else "" for now, then in zip((default, plain), before, strict=True)]
        rows.append([name, f"{plain:.3f}", f"{default:.1f}", f"{default / plain:.0f}", *growth])
        before = default, plain
    head = ["data", "plain fit, s", "default, s", "ratio", "default grows", "plain fit grows"]
    print(f"\n## {title}\n\n{markdown_table(head, rows)}", flush=True)


def show_large() -> None:
    """The default on very many entities, beside a head that is cheap there."""
    rng = np.random.default_rng(0)
    m_A, m_B, each, n = 100_000, 20_000, 10, 50
    A, B = (rng.standard_normal((m, n)).astype(np.float32) for m in (m_A, m_B))
    columns = np.empty((m_A, each), dtype=int)
    for start in range(0, m_A, 10_000):  # the best of some candidates
        candidates = rng.integers(m_B, size=(10_000, 20 * each))
        near = np.einsum("ij,ikj->ik", A[start : start + 10_000, :TRAITS], B[candidates, :TRAITS])
        best = np.argpartition(-near, each, axis=1)[:, :each]
        columns[start : start + 10_000] = np.take_along_axis(candidates, best, axis=1)
    Y = sparse.csr_array((np.ones(columns.size), (np.repeat(np.arange(m_A), each), columns.ravel())), shape=(m_A, m_B))
    Y.data[:] = 1.0  # candidates may repeat
    split = next(splits(Dyads(Y, A, B), "rows", 1, 0.002, 0))
    rows = []
    models = {"bilinear": AssociationModel(JDR(20), head="bilinear"), "default": AssociationModel(random_state=0)}
    for name, model in models.items():
        spent = seconds(model, split.train)
        began = time.perf_counter()
        scores = split.predict(model)
        predicting = time.perf_counter() - began
        found = recall_at_k(scores, split.test.Y, 100)
        rows.append([name, f"{spent:.1f}", f"{predicting:.1f}", f"{found:.3f}"])
    head = ["model", "fit, s", "predict 200 new rows, s", "recall@100"]
    print(f"\n## 100 000 × 20 000 entities, {Y.nnz} associations\n\n{markdown_table(head, rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = ["sizes", "entities", "pairs", "large"]
    parser.add_argument("job", nargs="*", default=jobs, choices=jobs, help="by default all")
    for job in parser.parse_args().job:
        if job == "sizes":
            show("Associations", {f"{a} × {b}": associations(a, b) for a, b in SIZES})
            show("Grades, 30 % known", {f"{a} × {b}": grades(a, b) for a, b in SIZES[:3]})
        elif job == "entities":
            show("Growth in entities", {f"{m} × {m}": associations(m, m) for m in (250, 500, 1000, 2000)})
        elif job == "pairs":
            shares = (0.05, 0.1, 0.2, 0.4)
            show("Growth in known pairs", {f"{s:.0%} of 800 × 600": grades(800, 600, s) for s in shares})
        else:
            show_large()


if __name__ == "__main__":
    main()

"""Kernel regression on a million rows and columns: time, memory, and what cutting to the nearest entities loses.

    python benchmarks/many_entities.py [exact] [rows] [both] [heads]

exact: 20 000 rows × 20 000 columns of links, and 20 000 × 2000 of observed grades, where exact sums can be done: ratios
of time, scores and recommendations. rows: a million rows × 2000 columns, 5 million known links in a grid of zeros, and
exact sums for 50 new rows. both: a million rows × a million columns, 5 million links. heads: the ridge heads on the
same. Each runs in a process of its own; times are of the processor, memory is the peak of the process, with its inputs.
"""

from __future__ import annotations

import functools
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads

TRAITS = np.array([1.0, 0.8, 0.6, 0.5, 0.4])
"""How much each of the features that matter counts; the other features of 50 are noise."""


def synthetic(m_A: int, m_B: int, pairs: int, observed: bool) -> tuple[Dyads, np.ndarray]:
    """Entities with 50 features, pairs that agree in the first five, and 1000 new rows."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((m, 50)).astype(np.float32) for m in (m_A + 1000, m_B))
    each = pairs // m_A
    columns = np.empty((m_A, each), dtype=np.int64)
    for start in range(0, m_A, 50_000):  # the best of some candidates
        a = A[start : min(start + 50_000, m_A), : len(TRAITS)] * TRAITS
        candidates = rng.integers(m_B, size=(len(a), 8 * each))
        near = np.einsum("ij,ikj->ik", a, B[candidates, : len(TRAITS)])
        best = np.argpartition(-near, each, axis=1)[:, :each]
        columns[start : start + len(a)] = np.take_along_axis(candidates, best, axis=1)
    rows = np.repeat(np.arange(m_A), each)
    j = columns.ravel()
    scores = np.ones(len(j)) if not observed else np.einsum("ij,ij->i", A[rows, :5] * TRAITS, B[j, :5])
    Y = sparse.csr_array(sparse.coo_array((scores, (rows, j)), shape=(m_A, m_B)))
    if not observed:
        Y.data[:] = 1.0
    return Dyads(Y, A[:m_A], B, "stored" if observed else None), A[m_A:]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def memory() -> float:
    """The peak of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def told(model: AssociationModel) -> str:
    lost = model.truncation_
    sides = [
        f"{name}: {100 * side.left_out:.2g} % of the weight left out (most {100 * side.most_left_out:.2g} %), recall "
        f"of the index {side.recall:.3f}"
        for name, side in (("rows", lost.rows), ("columns", lost.columns))
        if side is not None
    ]
    return (
        "  " + "\n  ".join(sides) + f"\n  scores of the sample change by {lost.changed:.2g} (root mean square; most "
        f"{lost.most_changed:.2g}), their standard deviation is {lost.spread:.2g}; {100 * lost.without:.2g} % have no "
        "known pair near"
    )


def exact() -> None:
    for m_B, each, observed in ((20_000, 10, False), (2000, 100, True)):
        dyads, new = synthetic(20_000, m_B, 20_000 * each, observed)
        print(f"\n20000 × {m_B}, {dyads.Y.nnz} {'observed grades' if observed else 'links'}, 100 new rows")
        compared(dyads, new[:100], 0.1, (None, 50, 200))


def compared(dyads: Dyads, new: np.ndarray, bandwidth: float, numbers: tuple[int | None, ...]) -> None:
    """Exact sums first, and then those over the nearest."""
    truth: tuple[Any, ...] = ()
    for nearest in numbers:
        model = AssociationModel(JDR(5), head="kernel", bandwidth=bandwidth, nearest=nearest).fit(dyads)
        scores, predict = timed(functools.partial(model.predict, new))
        best, recommend = timed(functools.partial(model.recommend, new, k=10))
        if not truth:
            truth = scores, best, predict, recommend
            print(f"exact: predict {predict:.1f} s, recommend {recommend:.1f} s", flush=True)
            continue
        change = np.sqrt(np.mean((scores - truth[0]) ** 2)) / truth[0].std()
        lists = [frame.groupby("row")["column"].agg(set) for frame in (truth[1], best)]
        recall = np.mean([len(one & other) / len(one) for one, other in zip(*lists, strict=True)])
        print(
            f"nearest={nearest}: predict {predict:.2f} s, {truth[2] / predict:.0f} x faster; recommend "
            f"{recommend:.2f} s, {truth[3] / recommend:.0f} x faster; scores differ by {change:.3f} of their standard "
            f"deviation, {100 * recall:.1f} % of the 10 best are the same\n{told(model)}",
            flush=True,
        )


def million(dyads: Dyads, new: np.ndarray, bandwidth: Any, nearest: Any = "auto") -> None:
    m_B = dyads.shape[1]
    print(
        f"\n1000000 × {m_B}, {dyads.Y.nnz} links in a grid of zeros, nearest={nearest}; before {memory():.1f} GB",
        flush=True,
    )
    model = AssociationModel(JDR(5), head="kernel", bandwidth=bandwidth, nearest=nearest, random_state=0)
    _, embedding = timed(lambda: JDR(5).fit(dyads))
    _, fit = timed(lambda: model.fit(dyads))
    print(
        f"fit {fit:.0f} s, of which the embedding {embedding:.0f} s; bandwidths {model.bandwidth_}; {memory():.1f} GB"
    )
    print(told(model), flush=True)
    if m_B <= 20_000:
        _, predict = timed(lambda: model.predict(new))
        print(f"predict 1000 new rows × {m_B}: {predict:.1f} s", flush=True)
    _, first = timed(lambda: model.recommend(new[:1]))
    best, recommend = timed(lambda: model.recommend(new, k=10))
    print(f"recommend 10 of {m_B} for 1000 new rows: {recommend:.1f} s; for the first one before {first:.1f} s")
    print(f"peak {memory():.1f} GB", flush=True)
    traits = TRAITS * new[best["row"].astype(int), :5]
    agreement = np.einsum("ij,ij->i", traits, dyads.B[best["column"].astype(int), :5])
    at_random = dyads.B[np.random.default_rng(1).integers(m_B, size=len(traits)), :5]
    chance = np.einsum("ij,ij->i", traits, at_random)
    print(
        f"agreement of rows with what is recommended {agreement.mean():.2f}, with columns at random {chance.mean():.2f}"
    )


def rows() -> None:
    dyads, new = synthetic(1_000_000, 2000, 5_000_000, False)
    million(dyads, new, "auto")
    million(dyads, new, "auto", (1000, None))
    print("exact sums for 50 of the new rows, bandwidth 0.05", flush=True)
    compared(dyads, new[:50], 0.05, (None, 50, 200))


def both() -> None:
    million(*synthetic(1_000_000, 1_000_000, 5_000_000, False), 0.05)


def heads() -> None:
    dyads, new = synthetic(1_000_000, 1_000_000, 5_000_000, False)
    print(f"\n1000000 × 1000000, {dyads.Y.nnz} links, ridge heads; before {memory():.1f} GB", flush=True)
    for head in ("bilinear", "kernel_ridge"):
        model = AssociationModel(JDR(5), head=head, bandwidth=0.5)
        _, fit = timed(functools.partial(model.fit, dyads))
        _, recommend = timed(functools.partial(model.recommend, new[:20], k=10))
        print(
            f"{head}: fit {fit:.0f} s; recommend for 20 new rows {recommend:.1f} s; peak {memory():.1f} GB", flush=True
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) == 3 and sys.argv[1] == "--here":
        globals()[sys.argv[2]]()
    else:
        for part in sys.argv[1:] or ["exact", "rows", "both", "heads"]:
            subprocess.run([sys.executable, __file__, "--here", part], check=True)

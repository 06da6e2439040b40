"""What predicting, recommending and tuning cost, against the products that cannot be avoided.

    python benchmarks/association_speed.py [predict] [tune] [recommend]

predict: a block of 236 new rows × 2020 columns from 2122 × 2020 known scores at r = 80, as in the paper, against the
bare products K_D Y and (K_D Y) K_Gᵀ. tune: 5 numbers of directions × 50 pairs of bandwidths on one split, against its
own products, and against a loop that fits again for every setting. recommend: 1000 new rows over 20 000 columns with
two million known pairs; peak memory above the inputs, in a process of its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads
from jointdr.evaluation import splits
from jointdr.prediction import score_split, tune_model

RNG = np.random.default_rng(0)
RANKS = [20, 40, 60, 80, 100]
ROW_BANDWIDTHS = np.geomspace(0.05, 1.0, 10)
COLUMN_BANDWIDTHS = np.geomspace(0.05, 1.0, 5)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def paper_size(links: int = 40_854, n: int = 200) -> Dyads:
    """Random data of the size of the paper's experiment."""
    m_D, m_G = 2358, 2020
    at = np.unravel_index(RNG.choice(m_D * m_G, links, replace=False), (m_D, m_G))
    Y = sparse.csr_array((RNG.random(links), at), shape=(m_D, m_G))
    return Dyads(Y, RNG.standard_normal((m_D, n)), RNG.standard_normal((m_G, n)))


def predict() -> None:
    dyads = paper_size()
    for name, Y in (("sparse Y", dyads.Y), ("dense Y", dyads.Y.toarray())):
        predicted(name, Dyads(Y, dyads.A, dyads.B))


def predicted(name: str, dyads: Dyads) -> None:
    train, A_new = dyads.rows(slice(0, 2122)), dyads.A[2122:]
    model = AssociationModel(JDR(80), head="kernel", bandwidth=0.3).fit(train)
    K_D, K_G = RNG.random((236, 2122)), RNG.random((2020, 2020))
    bare, ours = [], []
    for _ in range(9):
        bare.append(seconds(lambda: (K_D @ train.Y) @ K_G.T))
        ours.append(seconds(lambda: model.predict(A_new)))
    fit = min(seconds(lambda: AssociationModel(JDR(80), head="kernel", bandwidth=0.3).fit(train)) for _ in range(3))
    print(
        f"predict, {name}: bare products {min(bare):.3f} s, predict {min(ours):.3f} s, "
        f"{min(ours) / min(bare):.2f} x (target 3); fit + predict {fit + min(ours):.2f} s (target 1.5)",
        flush=True,
    )


def tune() -> None:
    dyads = paper_size()
    model = AssociationModel(JDR(80), head="kernel")
    grid = {
        "n_components": RANKS,
        "column_bandwidth": COLUMN_BANDWIDTHS.tolist(),
        "row_bandwidth": ROW_BANDWIDTHS.tolist(),
    }
    split = next(splits(dyads, random_state=0))
    m_test, m_train, m_G = split.test.shape[0], split.train.shape[0], 2020
    K_D, K_G = RNG.random((m_test, m_train)), RNG.random((m_G, m_G))

    def products() -> None:
        for _ in RANKS:
            for _ in ROW_BANDWIDTHS:
                N = K_D @ split.train.Y
                for _ in COLUMN_BANDWIDTHS:
                    N @ K_G.T

    def loop() -> None:
        for r in RANKS:
            for h_b in COLUMN_BANDWIDTHS:
                for h_a in ROW_BANDWIDTHS:
                    fitted = AssociationModel(JDR(r), head="kernel", bandwidth=(h_a, h_b)).fit(split.train)
                    score_split(fitted.predict(*split.new), split, True)

    floor = seconds(products)
    ours = seconds(lambda: tune_model(model, dyads, grid, random_state=0, progress=False))
    again = seconds(loop)
    print(
        f"tune, {len(RANKS)} x 50 settings: products {floor:.1f} s, tune {ours:.1f} s, {ours / floor:.2f} x (target "
        f"1.5); the loop that refits {again:.1f} s, {ours / again:.2f} of it (target 0.4)",
        flush=True,
    )


def recommend() -> None:
    """In a process of its own, whose peak is its own."""
    m_D, m_G, pairs = 20_000, 20_000, 2_000_000
    rows, columns = RNG.integers(0, m_D, pairs), RNG.integers(0, m_G, pairs)
    Y = sparse.csr_array((np.ones(pairs), (rows, columns)), shape=(m_D, m_G))
    Y.data[:] = RNG.random(Y.nnz)
    A, B, new = (RNG.standard_normal((m, 100)) for m in (m_D, m_G, 1000))
    for name, dyads in (("zero-filled", Dyads(Y, A, B)), ("observed", Dyads(Y, A, B, "stored"))):
        model = AssociationModel(JDR(80), head="kernel", bandwidth=0.3).fit(dyads)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        taken = seconds(lambda model=model: model.recommend(new, k=10))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"recommend, {name}: peak {after / 1e6:.2f} GB, inputs and fit {before / 1e6:.2f} GB, {taken:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["predict", "tune", "recommend"]
    if chosen == ["recommend"]:
        recommend()
    else:
        for name in chosen:
            if name == "recommend":
                subprocess.run([sys.executable, __file__, "recommend"], check=True)
            else:
                {"predict": predict, "tune": tune}[name]()

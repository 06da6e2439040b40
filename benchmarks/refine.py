"""Least-squares refinement on the fixed bilinear job, as a ratio to the plain fit in the same run.

    python benchmarks/refine.py

m = 20 000 (and 5000), n₁ = n₂ = 100, r = 5, noise N(0, 1), `refine=2, link="bilinear"`. Targets: NSEE at most 0.075
(0.17), at most 8 × the time of the plain fit.
"""

from __future__ import annotations

import time

import numpy as np

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.metrics import nsee


def main(repetitions: int = 5) -> None:
    for m, target in ((20_000, 0.075), (5000, 0.17)):
        seconds: dict[int, list[float]] = {0: [], 2: []}
        errors: dict[int, list[float]] = {0: [], 2: []}
        for seed in range(repetitions):
            X, y, truth = make_bilinear(m, 100, 5, random_state=seed)
            for sweeps in seconds:
                start = time.perf_counter()
                model = JDR(5, refine=sweeps, link="bilinear").fit(X, y)
                seconds[sweeps].append(time.perf_counter() - start)
                errors[sweeps].append(nsee(truth, model.embeddings_))
        ratio = min(seconds[2]) / min(seconds[0])
        print(
            f"m = {m}: NSEE {np.mean(errors[0]):.3f} -> {np.mean(errors[2]):.3f} (target <= {target}), "
            f"time {ratio:.1f} x the plain fit (target <= 8)"
        )


if __name__ == "__main__":
    main()

"""How long ``import jointdr`` takes beside ``import sklearn.base``, in fresh interpreters. Target: at most 1.5 ×."""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = 7


def main() -> None:
    seconds: dict[str, list[float]] = {"pass": [], "import sklearn.base": [], "import jointdr": []}
    for _ in range(RUNS):
        for statement, found in seconds.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            found.append(time.perf_counter() - start)
    best = {statement: min(found) for statement, found in seconds.items()}
    own, floor = (best[s] - best["pass"] for s in ("import jointdr", "import sklearn.base"))
    print(f"import jointdr {own:.2f} s, import sklearn.base {floor:.2f} s: ratio {own / floor:.2f}  (target <= 1.5)")


if __name__ == "__main__":
    main()

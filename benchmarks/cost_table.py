"""The cost table of the paper's supplement, measured on grids: see `jointdr.apps.reproduce.cost`.

python benchmarks/cost_table.py
"""

from __future__ import annotations

from tempfile import mkdtemp

from jointdr.apps import reproduce


def main() -> None:
    print("Exponents of time, in brackets those of the paper's formula at the same sizes\n")
    print(reproduce("cost", out=mkdtemp()))


if __name__ == "__main__":
    main()

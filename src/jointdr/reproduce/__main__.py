"""``python -m jointdr.reproduce figure1 --fast --jobs 2 --out folder``."""

from __future__ import annotations

import argparse
import sys

from jointdr.reproduce import FIGURES, reproduce


def main(arguments: list[str] | None = None) -> int:
    """Read the arguments, reproduce, print the verdicts; 0 if none contradicts the paper."""
    parser = argparse.ArgumentParser(
        prog="python -m jointdr.reproduce", description="Reproduce the paper's figures and tables."
    )
    parser.add_argument("names", nargs="*", default=["all"], metavar="name", help=f"{', '.join(FIGURES)} or all")
    parser.add_argument("--out", default="reproduced", help="folder for results and cache (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, help="how many; as many as in the paper by default")
    parser.add_argument("--fast", action="store_true", help="a tenth of the repetitions, 3 partitions of data")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--data", help="folder with gene-disease data; by default that of jointdr[demo]")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in (*FIGURES, "all")]:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(FIGURES)} or all.")
    try:
        result = reproduce(
            given.names,
            out=given.out,
            repetitions=given.repetitions,
            fast=given.fast,
            jobs=given.jobs,
            data=given.data,
        )
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on from here.", file=sys.stderr)
        return 130
    print(result)
    print("\n".join(f"wrote {path}" for path in result.files))
    return 0 if result.ok else 1


if __name__ == "__main__":
    sys.exit(main())

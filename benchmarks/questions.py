"""The default against the methods of `evaluate`, on 0/1 associations, for each of the four questions.

    JOINTDR_DATA=folder python benchmarks/questions.py cdataset gda hpo --partitions 5 --jobs 2

The folder holds ``drugrepo_Cdataset.npz`` and ``gda_humannet_omimgenes.npz``, which are not part of this repository;
``hpo`` needs ``pip install "jointdr[demo]"``. 10 % are held out in every partition; 30 % of both sides, and the pairs
between them, where both are new. Methods are tuned inside the rest, or with ``--tune once`` on one more partition, of
which a part is held out later; the default always chooses inside. Recall is the mean of that at 10, 30 and 100.
Differences are paired, to the default; the last lines say whether it is level, by two standard errors, with the best of
the others.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from jointdr import Dyads
from jointdr.datasets import load_archive, load_hpo
from jointdr.evaluation import Evaluation, evaluate, markdown_table, standard_methods

QUESTIONS = ("rows", "columns", "both", "pairs")
FILES = {"cdataset": "drugrepo_Cdataset.npz", "gda": "gda_humannet_omimgenes.npz"}
AT = (10, 30, 100)
HELD_OUT = {"both": 0.3}  # elsewhere a tenth
FIRST = "default"


def data(name: str) -> Dyads:
    if name == "hpo":
        return load_hpo().dyads
    folder = os.environ.get("JOINTDR_DATA")
    if not folder:
        raise SystemExit("Say where the archives are: set JOINTDR_DATA to their folder.")
    return load_archive(Path(folder) / FILES[name])


def judge(result: Evaluation) -> dict[str, np.ndarray]:
    """The recall and the average precision of every method in every partition, (partitions, 2)."""
    found = {}
    for name in result.methods:
        recall = np.mean([result.values(name, f"recall@{k}") for k in AT], axis=0)
        found[name] = np.stack([recall, result.values(name, "average precision")], axis=1)
    return found


def difference(values: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean paired difference and its standard error, of both metrics."""
    d = values - others
    return d.mean(axis=0), d.std(axis=0, ddof=1) / np.sqrt(len(d)) if len(d) > 1 else np.full(2, np.nan)


def show(name: str, by: str, result: Evaluation) -> None:
    found = {method: values for method, values in judge(result).items() if np.isfinite(values).all()}
    seconds = result.table.set_index("method")[["seconds", "tuning seconds"]]
    rows = []
    for method, values in sorted(found.items(), key=lambda item: -item[1][:, 0].mean()):
        mean, error = difference(values, found[FIRST])
        paired = [f"{d:+.3f} ± {e:.3f}" if method != FIRST else "" for d, e in zip(mean, error, strict=True)]
        cells = [f"{value:.3f}" for value in values.mean(axis=0)]
        rows.append([method, *cells, *paired, *(f"{seconds.loc[method, c]:.1f}" for c in seconds.columns)])
    head = ["method", "recall", "average precision", "recall − default", "average precision − default"]
    print(f"\n## {name}: {by}\n\n{markdown_table([*head, 'fit + predict, s', 'tuning, s'], rows)}\n")
    for k, metric in enumerate(("recall", "average precision")):
        others = {method: values for method, values in found.items() if method != FIRST}
        best = max(others, key=lambda method: float(others[method][:, k].mean()))
        mean, error = difference(found[FIRST], others[best])
        verdict = "level or better" if mean[k] >= -2 * error[k] else "behind"
        print(f"{metric}: default − {best} {mean[k]:+.4f} ± {error[k]:.4f}, {verdict}", flush=True)
    for method, failure in result.failures.items():
        print(f"{method} failed: {failure}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["cdataset", "gda", "hpo"]
    parser.add_argument("data", nargs="*", default=names, choices=names)
    parser.add_argument("--by", nargs="*", default=QUESTIONS, choices=QUESTIONS, help="by default all four")
    parser.add_argument("--methods", nargs="*", help="beside the default; by default all that evaluate compares")
    parser.add_argument("--partitions", type=int, default=5)
    parser.add_argument("--random-state", type=int, default=0, help="of the partitions")
    tuned = "once: on one more partition, instead of inside each of them; a tenth of the time"
    parser.add_argument("--tune", default="each", choices=["each", "once"], help=tuned)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for name in given.data:
        dyads = data(name)
        print(f"# {name}: {dyads!r}", flush=True)
        for by in given.by:
            methods = list(standard_methods(dyads, given.methods, by=by))
            methods = [FIRST, *(method for method in methods if method != FIRST)]
            options = {"n_partitions": given.partitions, "at": AT, "random_state": given.random_state}
            options |= {"tune": given.tune, "test_size": HELD_OUT.get(by, 0.1)}
            show(name, by, evaluate(dyads, methods, by=by, jobs=given.jobs, **options))


if __name__ == "__main__":
    main()

"""Methods for associations side by side on real data, by the paper's protocol.

    JOINTDR_DATA=folder python benchmarks/associations.py gda cdataset kiba-rows kiba-columns kiba-pairs hpo \
        --partitions 20 --jobs 2 --out results

The folder holds three archives that are not part of this repository: ``gda_humannet_omimgenes.npz`` (a re-creation of
the paper's gene-disease data), ``drugrepo_Cdataset.npz`` and ``dti_kiba.npz``. ``hpo`` needs ``pip install
"jointdr[demo]"`` instead. ``gda-ranks`` compares embeddings at equal numbers of directions, as the bars of the paper's
figure do.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jointdr import IMC, JDR, PCA, PHD, SOLS, AssociationModel, Dyads
from jointdr.datasets import load_archive, load_hpo, read_scores
from jointdr.evaluation import GAUSSIAN_BANDWIDTHS, Method, evaluate


def archive(name: str) -> Path:
    folder = os.environ.get("JOINTDR_DATA")
    if not folder:
        raise SystemExit(f"Say where {name} is: set JOINTDR_DATA to its folder.")
    return Path(folder) / name


def gda() -> tuple[Dyads, dict[str, Any]]:
    """Every score of the re-creation is 1: those that are also in the curated set stand in for significant ones."""
    path = archive("gda_humannet_omimgenes.npz")
    return load_archive(path), {"truth": read_scores(path, "Y_curated_v3")}


def gda_ranks() -> tuple[Dyads, dict[str, Any]]:
    """Gaussian kernels on r = 20, 40, ..., 100 directions of each embedding, bandwidths tuned."""
    dyads, options = gda()
    grid = {"column_bandwidth": [0.0, 0.1, 0.2, 0.3], "row_bandwidth": GAUSSIAN_BANDWIDTHS[1:]}
    embeddings = {"JDR + KR": JDR(), "PCA + KR": PCA(), "pHd + KR": PHD(scale=0.5), "sOLS + KR": SOLS(scale=0.5)}
    methods: dict[str, Method] = {}
    for r in (20, 40, 60, 80, 100):
        for name, embedding in embeddings.items():
            reduced = type(embedding)(**{**embedding.get_params(), "n_components": r})
            model = AssociationModel(reduced, head="kernel", bandwidth="left-out rows")
            methods[f"{name}, r = {r}"] = Method(model, grid)
        methods[f"IMC, r = {r}"] = Method(IMC(r), {"alpha": [0.01, 0.1, 1.0, 10.0]})
    return dyads, {**options, "methods": methods}


def cdataset() -> tuple[Dyads, dict[str, Any]]:
    return load_archive(archive("drugrepo_Cdataset.npz")), {}


def kiba(by: str) -> Callable[[], tuple[Dyads, dict[str, Any]]]:
    return lambda: (load_archive(archive("dti_kiba.npz")), {"by": by})


def hpo() -> tuple[Dyads, dict[str, Any]]:
    return load_hpo().dyads, {}


JOBS: dict[str, Callable[[], tuple[Dyads, dict[str, Any]]]] = {
    "gda": gda,
    "gda-ranks": gda_ranks,
    "cdataset": cdataset,
    "kiba-rows": kiba("rows"),
    "kiba-columns": kiba("columns"),
    "kiba-pairs": kiba("pairs"),
    "hpo": hpo,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=list(JOBS), choices=[*JOBS], help="which; by default all")
    parser.add_argument("--methods", nargs="*", help="names of methods; by default all")
    parser.add_argument("--partitions", type=int, default=20)
    parser.add_argument("--tune", choices=["each", "once"], default="each")
    parser.add_argument("--criterion", default="auto", help="what settings are chosen by; the paper: recall")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a folder for tables and pictures")
    given = parser.parse_args()
    for name in given.data:
        dyads, options = JOBS[name]()
        if given.methods and "methods" not in options:
            options["methods"] = given.methods
        began = time.perf_counter()
        options |= {"tune": given.tune, "criterion": given.criterion, "jobs": given.jobs}
        result = evaluate(dyads, n_partitions=given.partitions, progress=True, **options)
        print(f"## {name}\n\n{result}\n\n{time.perf_counter() - began:.0f} s\n", flush=True)
        if given.out is not None:
            result.to_csv(given.out / name)
            result.plot(given.out / name / "plot.png")


if __name__ == "__main__":
    main()

"""The public drug-target benchmark: graded affinities of Davis and KIBA, in the folds of DeepDTA.

    python benchmarks/affinity.py davis kiba               # fit folds 1 to 4, predict fold 0
    python benchmarks/affinity.py davis --model "kernel ridge"
    python benchmarks/affinity.py davis --intervals        # coverage on each of folds 0 to 4, held out in turn
    python benchmarks/affinity.py davis kiba --cold        # new drugs, new targets, both new
    python benchmarks/affinity.py davis kiba --cold --groups  # new targets without similar ones among the known
    python benchmarks/affinity.py davis kiba --test        # fit folds 0 to 4, predict the test set

Choose everything on the training folds; the test set is for the one number that goes into a table. The folder of
``--data`` holds ``dti_davis.npz`` and ``dti_kiba.npz``, which are not part of this repository, or the folders ``davis``
and ``kiba`` of DeepDTA's data (https://github.com/hkmztrk/DeepDTA).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from jointdr import AssociationModel, Dyads
from jointdr.datasets import fingerprints, read_deepdta, similarity_groups
from jointdr.evaluation import Method, evaluate, markdown_table, standard_methods
from jointdr.metrics import concordance_index

TEST = -1
FOLDS = range(5)
QUESTIONS = ("rows", "columns", "both", "pairs")
COLD = {"new drugs": ("rows", 0.1), "new targets": ("columns", 0.1), "both new": ("both", 0.3)}
ALIKE = 0.6  # similarity of sequences from which targets are of one group, with --groups

# fingerprints of --fingerprints, each a similarity of its own
SEVERAL: dict[str, dict[str, int]] = {
    "morgan": {"radius": 3, "n_bits": 4096},
    "feature_morgan": {"radius": 3, "n_bits": 4096},
    "atom_pair": {"n_bits": 8192},
    "torsion": {"n_bits": 8192},
    "rdkit": {"n_bits": 8192},
}

# MSE and concordance index on the test set: Davis, KIBA, and where these figures are published
PUBLISHED = [
    ("KronRLS", 0.379, 0.871, 0.411, 0.782, "Öztürk et al. 2018 (DeepDTA)"),
    ("SimBoost", 0.282, 0.872, 0.222, 0.836, "Öztürk et al. 2018 (DeepDTA)"),
    ("DeepDTA", 0.261, 0.878, 0.194, 0.863, "Öztürk et al. 2018"),
    ("DGraphDTA", 0.202, 0.904, 0.126, 0.904, "Jiang et al. 2020"),
    ("GraphDTA (best)", 0.229, 0.893, 0.139, 0.891, "Nguyen et al. 2021"),
    ("MGraphDTA", 0.207, 0.900, 0.128, 0.902, "Yang et al. 2022"),
    ("MSGNN-DTA", 0.195, 0.906, 0.117, 0.908, "Wang et al. 2023"),
]
# The same of KIBA on entities that are new, on another random split than any of ours
PUBLISHED_COLD = [
    ("GraphDTA", "new drugs", 0.471, 0.713),
    ("GraphDTA", "new targets", 0.469, 0.610),
    ("GraphDTA", "both new", 0.676, 0.601),
    ("DMFF-DTA", "new drugs", 0.408, 0.753),
    ("DMFF-DTA", "new targets", 0.410, 0.748),
    ("DMFF-DTA", "both new", 0.567, 0.667),
]


@dataclass(frozen=True)
class Data:
    """Known pairs of drugs and targets, and the fold of each, in the order of ``dyads.triples()``."""

    name: str
    dyads: Dyads
    fold: Any


def find_data(name: str, folder: Path, several: bool) -> Data:
    """Davis or KIBA from an archive, or from DeepDTA's folder; `several`: similarities by more fingerprints."""
    path = folder / f"dti_{name}.npz"
    if (folder / name).is_dir():
        found = read_deepdta(folder / name)
        Y, (A, B), ids = found.dyads.Y, (found.dyads.A, found.dyads.B), (found.dyads.row_ids, found.dyads.column_ids)
        fold, smiles, (rows, columns) = found.fold, found.smiles, found.dyads.similarities
    elif path.is_file():
        with np.load(path, allow_pickle=False) as z:
            i, j = z["drug_idx"].astype(int), z["target_idx"].astype(int)
            order = np.lexsort((j, i))
            A, B = z["X_drug_ecfp4"].astype(float), np.sqrt(z["X_target_dipep"].astype(float))
            Y = sparse.csr_array((z["y"].astype(float), (i, j)), shape=(len(A), len(B)))
            ids, smiles, fold = (z["drug_id"], z["target_id"]), z["drug_smiles"], z["fold"][order].astype(int)
            rows = {"chemical": z["S_drug_2d"].astype(float)} if "S_drug_2d" in z else {}
            columns = {"smith_waterman": z["S_target_sw"].astype(float)}
    else:
        raise SystemExit(f"Neither {path} nor {folder / name} is there: give --data, or set JOINTDR_DATA.")
    if several:
        rows = {**rows, **{kind: tanimoto(fingerprints(smiles, kind, **more)) for kind, more in SEVERAL.items()}}
    similarities = {"row_similarity": rows or None, "column_similarity": columns or None}
    return Data(name, Dyads(Y, A, B, "stored", *ids, **similarities, names=("drug", "target")), fold)


def tanimoto(X: Any) -> Any:
    """The share of common bits among all bits of two molecules."""
    both, own = X @ X.T, X.sum(axis=1)
    return both / (own[:, None] + own - both)


def make_model(name: str, dyads: Dyads, uses: Any = QUESTIONS) -> Method:
    """The default model for these questions, a plain kernel ridge to try this script, or a method of `evaluate`."""
    if name == "default":
        return Method(AssociationModel(uses=uses, random_state=0))
    if name == "plain":
        return Method(AssociationModel(None, head="kernel_ridge", kernel="gaussian", bandwidth=0.5, random_state=0))
    return standard_methods(dyads, [name], by="pairs")[name]


# ---------------------------------------------------------------- metrics


def r_m2(predicted: Any, truth: Any) -> float:
    """The index r_m² as the programs of these papers compute it: r² (1 − √|r⁴ − r₀⁴|).

    r² is the squared correlation and r₀² the share of the variance that the best multiple of the prediction, without a
    constant, explains. Roy et al. (2009) have r² − r₀² under the root.
    """
    r2 = float(np.corrcoef(predicted, truth)[0, 1]) ** 2
    k = float(truth @ predicted / (predicted @ predicted))
    r02 = 1.0 - float(np.sum((truth - k * predicted) ** 2) / np.sum((truth - truth.mean()) ** 2))
    return r2 * (1.0 - float(np.sqrt(abs(r2**2 - r02**2))))


def metrics(predicted: Any, truth: Any) -> dict[str, float]:
    return {
        "MSE": float(np.mean((predicted - truth) ** 2)),
        "CI": concordance_index(predicted, truth),
        "Pearson": float(np.corrcoef(predicted, truth)[0, 1]),
        "r_m²": r_m2(predicted, truth),
    }


# ---------------------------------------------------------------- runs


def fit_and_predict(data: Data, held_out: int, model: str) -> tuple[Any, Any, dict[str, float], Any]:
    """A model of all training folds but the one that is held out: its table of predictions, the truth, seconds."""
    train = data.dyads.pairs((data.fold != TEST) & (data.fold != held_out))
    test = data.dyads.pairs(data.fold == held_out)
    method = make_model(model, train)
    began = time.perf_counter()
    if method.grid is None:
        fitted = method.model.fit(train)
    else:
        fitted = method.model
        fitted.tune(train, grid=method.grid, by="pairs", progress=False)
    between = time.perf_counter()
    listed = sparse.coo_array(test.Y)  # also a score of 0 is a score
    table = fitted.predict_pairs(list(zip(test.row_ids[listed.row], test.column_ids[listed.col], strict=True)))
    seconds = {"fit, s": between - began, "predict, s": time.perf_counter() - between}
    return table, listed.data, seconds, fitted


def show_fold(data: Data, held_out: int, model: str) -> dict[str, float]:
    table, truth, seconds, fitted = fit_and_predict(data, held_out, model)
    found = metrics(table["score"].to_numpy(), truth)
    what = "the test set, fitted to folds 0 to 4" if held_out == TEST else f"fold {held_out}, fitted to the other four"
    print(f"\n## {data.name}: {what}, model: {model}\n")
    print(markdown_table([*found, *seconds], [[*(f"{v:.4f}" for v in found.values()), *_short(seconds)]]))
    if (choices := getattr(fitted, "choices_", None)) is not None:
        print(f"\n{choices}\n\n{choices.to_string(index=False, max_colwidth=60)}")
    return found


def _short(seconds: dict[str, float]) -> list[str]:
    return [f"{value:.1f}" for value in seconds.values()]


def show_published(data: Data, found: dict[str, float], model: str) -> None:
    at = {"davis": 1, "kiba": 3}[data.name]
    rows = [(name, f"{r[at - 1]:.3f}", f"{r[at]:.3f}", r[4]) for name, *r in PUBLISHED]
    rows.append((f"jointdr, {model}", f"{found['MSE']:.3f}", f"{found['CI']:.3f}", "measured here"))
    print(f"\n{markdown_table(['method', 'MSE', 'CI', 'published in'], rows)}")


def show_cold(data: Data, given: argparse.Namespace) -> None:
    """MSE and concordance of the model and of its peers on entities that are new, in the same random partitions."""
    model, peers, partitions = given.model, given.peers, given.partitions
    dyads = data.dyads if given.test else data.dyads.pairs(data.fold != TEST)  # with --test, of all pairs
    groups = None
    if given.groups is not None:
        labels = similarity_groups(dyads.similarities[1]["smith_waterman"], given.groups)
        groups, sizes = (None, labels), np.bincount(labels)
        print(f"\n{len(labels)} targets in {len(sizes)} groups, the largest of {sizes.max()}", flush=True)
    for question, (by, share) in COLD.items():
        if question not in given.questions or (groups is not None and by == "rows"):
            continue
        peer_methods = standard_methods(dyads, peers, by=by)
        methods = {model: make_model(model, dyads, by), **{n: m for n, m in peer_methods.items() if n != model}}
        options: dict[str, Any] = {"n_partitions": partitions, "test_size": share, "random_state": given.random_state}
        result = evaluate(dyads, methods, by=by, groups=groups, tune=given.tune, jobs=given.jobs, **options)
        rows = list(_cold_rows(result, model))
        rows += [
            (name, f"{mse:.3f}", "", f"{ci:.3f}", "", "another random split", "")
            for name, asked, mse, ci in PUBLISHED_COLD
            if asked == question and data.name == "kiba" and groups is None
        ]
        head = ["method", "MSE", f"MSE − {model}", "CI", f"CI − {model}", "fit + predict, s", "tuning, s"]
        whole = "" if groups is None else f" in whole groups of targets that are {given.groups:g} alike"
        print(f"\n## {data.name}: {question}, {share:.0%} held out{whole}, {partitions} partitions\n")
        print(markdown_table(head, rows), flush=True)
        for name, failure in result.failures.items():
            print(f"{name} failed: {failure}")


def _cold_rows(result: Any, first: str) -> Iterator[tuple[str, ...]]:
    squares = {name: result.values(name, "RMSE") ** 2 for name in result.methods}
    order = {name: result.values(name, "concordance") for name in result.methods}
    seconds = result.table.set_index("method")
    for name in result.methods:
        cells = []
        for values in (squares, order):
            cells += [with_error(values[name]), "" if name == first else with_error(values[name] - values[first], "+")]
        times = (seconds.loc[name, column] for column in ("seconds", "tuning seconds"))
        yield (name, *cells, *(f"{value:.1f}" for value in times))


def with_error(values: Any, sign: str = "") -> str:
    """The mean and its standard error."""
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return "–"
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():{sign}.3f} ± {error:.3f}"


def show_intervals(data: Data, model: str) -> None:
    """The share of held-out scores inside their intervals, for each training fold held out in turn."""
    rows = []
    for held_out in FOLDS:
        table, truth, seconds, _ = fit_and_predict(data, held_out, model)
        score = table["score"].to_numpy()
        cells = [f"{held_out}", f"{np.mean((score - truth) ** 2):.4f}"]
        if {"lower", "upper"} <= set(table.columns):
            lower, upper = table["lower"].to_numpy(), table["upper"].to_numpy()
            cells += [f"{np.mean((lower <= truth) & (truth <= upper)):.1%}", f"{np.mean(upper - lower):.3f}"]
            cells += [f"{np.mean(truth < lower):.1%}", f"{np.mean(truth > upper):.1%}"]
        else:
            cells += ["no intervals", "", "", ""]
        rows.append([*cells, *_short(seconds)])
    head = ["fold", "MSE", "inside", "mean width", "below", "above", "fit, s", "predict, s"]
    print(f"\n## {data.name}: intervals, model: {model}\n\n{markdown_table(head, rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", default=["davis", "kiba"], help="davis, kiba; by default both")
    default = os.environ.get("JOINTDR_DATA", ".")
    parser.add_argument(
        "--data", type=Path, default=Path(default), help="the folder of the data, by default JOINTDR_DATA or this one"
    )
    parser.add_argument("--model", default="default", help="default, plain, or a method of jointdr.evaluation")
    parser.add_argument("--fingerprints", action="store_true", help="similarities by five fingerprints; takes rdkit")
    parser.add_argument("--test", action="store_true", help="fit folds 0 to 4 and predict the test set, once")
    parser.add_argument("--cold", action="store_true", help="new drugs, new targets, both new")
    parser.add_argument("--questions", nargs="*", default=list(COLD), choices=list(COLD), help="of --cold")
    parser.add_argument(
        "--groups", nargs="?", type=float, const=ALIKE, help=f"--cold by groups of targets that are so alike ({ALIKE})"
    )
    parser.add_argument("--intervals", action="store_true", help="coverage on folds 0 to 4, held out in turn")
    parser.add_argument("--fold", type=int, default=0, choices=FOLDS, help="the fold to predict without --test")
    parser.add_argument("--peers", nargs="*", help="methods that --cold compares with; by default all of evaluate")
    parser.add_argument("--partitions", type=int, default=5, help="of --cold")
    parser.add_argument("--random-state", type=int, default=0, help="of the partitions of --cold")
    tuned = "peers of --cold in each partition, or once, on one more partition, which takes a tenth of the time"
    parser.add_argument("--tune", default="each", choices=["each", "once"], help=tuned)
    parser.add_argument("--jobs", type=int, default=1, help="of --cold")
    given = parser.parse_args()
    for name in given.name:
        data = find_data(name, given.data, given.fingerprints)
        print(f"# {name}: {data.dyads!r}", flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("once")
            if given.cold:
                show_cold(data, given)
            elif given.intervals:
                show_intervals(data, given.model)
            elif given.test:
                show_published(data, show_fold(data, TEST, given.model), given.model)
            else:
                show_fold(data, given.fold, given.model)


if __name__ == "__main__":
    main()

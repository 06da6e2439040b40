"""Options of a wrong type, everywhere: an error of our own that names the option, what was given and what is expected.

Every public function and method is listed below with a call that is sound and the kinds of its options; what is data,
and checked elsewhere, is listed as such. A new option that is in neither list fails a test.
"""

from __future__ import annotations

import importlib
import inspect
import tempfile
import traceback
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import jointdr
from jointdr import (
    IHT,
    IMC,
    JDR,
    OLS,
    PCA,
    PHD,
    SAVE,
    SIR,
    SOLS,
    AssociationModel,
    Dyads,
    JDRRegressor,
    KernelRegression,
    Moments,
    Popularity,
    TableEncoder,
    datasets,
    diagnostics,
    evaluation,
    io,
    metrics,
)

HERE = str(Path(jointdr.__file__).parent)
RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 2))
X, Y_ROWS = (A, B), A[:, 0] * B[:, 0] + 0.1 * RNG.standard_normal(40)
LONG, LONG_Y = (np.tile(A, (3, 1)), np.tile(B, (3, 1))), np.tile(Y_ROWS, 3)
SCORES = (RNG.random((12, 10)) > 0.6).astype(float)
DYADS = Dyads(SCORES, A[:12], B[:10])
W = np.exp(-np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))))

# ---------------------------------------------------------------- what an option must not be

ANYTHING = (pd.NA, object(), np.array([[1.0, 2.0]]), np.array(["auto", "x"]), b"x")
WRONG: dict[str, tuple[Any, ...]] = {
    "seed": (-1, 2**32, 1.5, "x", True, np.nan),
    "generator": (-1, 1.5, "x", True, np.nan),
    "whole seed": (-1, 1.5, "x", True, np.nan, None),
    "integer": ("x", 1.5, True, [1], np.nan, -3, None),
    "sizes": ("x", 1.5, True, np.nan, -3, None),  # one integer or several
    "number": ("x", True, [1.0, 2.0, 3.0], np.nan, 1j, None),
    "choice": (3, "nonsense", ["auto"], None),
    "word": (3, ["auto"], True, None),
    "flag": ("yes", 2, None, 0.5),
    "words": (3, None),
}


class Call(NamedTuple):
    """A sound call, which takes options, and their kinds; those that may be None end in "?"."""

    call: Callable[..., Any]
    kinds: dict[str, str]


def kinds(**given: str) -> dict[str, str]:
    return given


def fitted(make: Any, *data: Any, **sound: Any) -> Callable[..., Any]:
    def call(**options: Any) -> Any:
        model = make(**{**sound, **options}).fit(*data)
        return model.predict(data[0]) if isinstance(model, (JDRRegressor, KernelRegression)) else model

    return call


FILES = {
    "read_table": "id\tage\n1\t1.5\n2\t1e3\n",
    "read_text": "disease\tgene\tscore\n1\t007\t0.5\n",
    "read_pairs": "disease\tgene\tscore\n1\t007\t0.5\n",
    "read_edges": "1\t2\t0.5\n2\t3\t1\n",
    "read_similarity": "\t01\t1\n01\t1\t0.5\n1\t0.5\t1\n",
    "read_matrix": "\t01\t1\n01\t1\t0.5\n1\t0.5\t1\n",
    "read_humannet": "1\t2\tNA\t0.5\n2\t3\t1\t1\n",
    "read_mimminer": "01\t1\t0.5\n1\t0.5\t1\n",
    "read_obo": "[Term]\nid: A\nname: a\n",
    "read_gaf": "\t".join(["db", "P1", "g", "", "GO:1", "x", "IEA", *["x"] * 10]) + "\n",
    "read_hpoa": "database_id\tdisease_name\tqualifier\thpo_id\taspect\nO:1\tx\t\tH:1\tP\n",
}


def read(name: str, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.tsv"
        path.write_text(FILES[name])
        return getattr(datasets, name)(path, **options)


def chunked(array: Any) -> Any:
    return pytest.importorskip("dask.array").from_array(array, chunks=(6, -1))


@cache
def model(kind: str) -> Any:
    made = {
        "jdr": lambda: JDR(1).fit(X, Y_ROWS),
        "association": lambda: AssociationModel(JDR(1), head="kernel", bandwidth=0.5).fit(DYADS),
        "popularity": lambda: Popularity().fit(DYADS),
    }
    return made[kind]()


OF_METHODS = kinds(n_components="sizes", ridge="number", scale="number?", response="choice", n_slices="integer")
SLICED = kinds(n_components="sizes", ridge="number", scale="number?", n_slices="integer?")
CALLS: dict[str, Call] = {
    "JDR": Call(
        fitted(JDR, X, Y_ROWS, n_components=1, moments="cross"),
        OF_METHODS
        | kinds(normalize="choice?", solver="choice", n_iter="integer", moments="choice", n_features_to_select="sizes?")
        | kinds(refine="integer", link="choice", n_folds="integer", n_hooi="integer", max_tensor_bytes="number")
        | kinds(random_state="seed"),
    ),
    **{cls.__name__: Call(fitted(cls, X, Y_ROWS, n_components=1), OF_METHODS) for cls in (IHT, OLS)},
    "PCA": Call(fitted(PCA, X), kinds(n_components="sizes", scale="number?")),
    "PHD": Call(fitted(PHD, X, Y_ROWS, n_components=1), OF_METHODS | kinds(residual="flag", concatenate="flag")),
    **{cls.__name__: Call(fitted(cls, X, Y_ROWS, n_components=1), SLICED) for cls in (SIR, SAVE, SOLS)},
    "KernelRegression": Call(
        fitted(KernelRegression, X, Y_ROWS),
        kinds(bandwidth="number", adaptive="integer?", max_bytes="number", device="word?", random_state="seed"),
    ),
    "JDRRegressor": Call(fitted(JDRRegressor, X, Y_ROWS), kinds(embedding="word?", head="choice", random_state="seed")),
    "IMC": Call(
        fitted(IMC, DYADS, n_components=1),
        kinds(n_components="integer", alpha="number", n_iter="integer", init="choice", normalize_columns="flag")
        | kinds(tol="number", random_state="seed", fit_intercept="flag"),
    ),
    "AssociationModel": Call(
        fitted(AssociationModel, DYADS, embedding=JDR(1), head="kernel", bandwidth=0.5),
        kinds(embedding="choice?", head="choice", uses="words", criterion="choice", max_fits="integer", kernel="choice")
        | kinds(bandwidth="number", scale="number?", adaptive="integer?", mix="number", raw_bandwidth="number?")
        | kinds(borrow="number", alpha="number", nearest="integer?", device="word?", max_bytes="number")
        | kinds(random_state="seed"),
    ),
    "AssociationModel.fit": Call(
        lambda **o: AssociationModel(JDR(1), head="kernel", bandwidth=0.5).fit(DYADS, **o), kinds(progress="flag?")
    ),
    "AssociationModel.tune": Call(
        lambda **o: AssociationModel(JDR(1), head="kernel").tune(DYADS, **{"grid": {"bandwidth": [0.5, 1.0]}, **o}),
        kinds(by="choice", n_splits="integer", test_size="number", criterion="choice?", progress="flag?"),
    ),
    "AssociationModel.explain": Call(lambda **o: model("association").explain("0", "0", **o), kinds(k="integer")),
    "AssociationModel.precompute": Call(lambda **o: model("association").precompute(**o), kinds(max_bytes="number")),
    **{
        f"{name}.recommend": Call(
            lambda **o: model("popularity").recommend(**o),
            kinds(by="choice", k="integer", exclude_known="flag", min_neighbors="number?"),
        )
        for name in ("AssociationModel", "IMC", "Popularity")
    },
    **{
        f"{name}.similar": Call(lambda **o: model("popularity").similar("0", **o), kinds(k="integer"))
        for name in ("AssociationModel", "IMC", "Popularity")
    },
    "KernelRegression.predict": Call(
        lambda **o: KernelRegression(1.0).fit(X, Y_ROWS).predict(X, **o), kinds(return_neighbors="flag")
    ),
    "Moments.of_block": Call(
        lambda **o: Moments.of_block(X, Y_ROWS, **o),
        kinds(blocks="words", covariance="choice?", cross_covariance="flag"),
    ),
    "Moments.zero": Call(
        lambda **o: Moments.zero((3, 2), **o),
        kinds(n_responses="integer", blocks="words", covariance="choice?", cross_covariance="flag"),
    ),
    "Moments.scaled": Call(
        lambda **o: Moments.of_block(X, Y_ROWS).scaled(**{"factor": 2.0, **o}), kinds(factor="number")
    ),
    "Dyads.from_samples": Call(
        lambda **o: Dyads.from_samples(X, Y_ROWS, **o), kinds(deduplicate="flag", duplicates="choice")
    ),
    "TableEncoder": Call(
        lambda **o: TableEncoder(**o).fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["CCO", "MKV"]})),
        kinds(fingerprint="choice", sequence="words"),
    ),
    "tail_check": Call(lambda **o: jointdr.tail_check(np.arange(200.0) ** 3, **o), kinds(share="number")),
    "set_config": Call(lambda **o: jointdr.set_config(**{"memory_budget": None, **o}), kinds(memory_budget="number?")),
    "config_context": Call(lambda **o: jointdr.config_context(**o).__enter__(), kinds(memory_budget="number?")),
    "metrics.ndcg_at_k": Call(lambda **o: metrics.ndcg_at_k(SCORES, SCORES, **o), kinds(k="integer?")),
    "metrics.recall_at_k": Call(lambda **o: metrics.recall_at_k(SCORES, SCORES, **{"k": 2, **o}), kinds(k="sizes")),
    "metrics.expected_recall": Call(
        lambda **o: metrics.expected_recall(SCORES, SCORES > 0, **{"k": 2, **o}), kinds(k="integer")
    ),
    "datasets.SyntheticModel": Call(
        lambda **o: datasets.SyntheticModel(**o).sample(20),
        kinds(link="choice", n_features="sizes", n_components="integer", n_informative="sizes?", features="choice")
        | kinds(correlation="number", noise="number", sigma="number", offset="number", probability="number"),
    ),
    "datasets.SyntheticModel.sample": Call(
        lambda **o: datasets.SyntheticModel(n_features=6).sample(**{"n_samples": 20, **o}),
        kinds(n_samples="integer", random_state="whole seed"),
    ),
    "datasets.SyntheticModel.blocks": Call(
        lambda **o: next(datasets.SyntheticModel(n_features=6).blocks(**{"n_samples": 20, "block_rows": 5, **o})),
        kinds(n_samples="integer", block_rows="integer", random_state="whole seed"),
    ),
    "datasets.SyntheticModel.truth": Call(
        lambda **o: datasets.SyntheticModel(n_features=6).truth(**o), kinds(random_state="whole seed")
    ),
    **{
        f"datasets.make_{name}": Call(
            partial(lambda name, **o: getattr(datasets, f"make_{name}")(**{"n_samples": 30, **o}), name),
            kinds(n_samples="integer", n_features="sizes", n_components="integer", random_state="whole seed"),
        )
        for name in ("bilinear", "rbf", "logistic", "odd", "even")
    },
    **{
        f"datasets.{name}": Call(partial(read, name), of_options)
        for name, of_options in {
            "read_table": kinds(id="word?", separator="word?", header="flag?", text="words"),
            "read_text": kinds(separator="word?", header="flag?"),
            "read_pairs": kinds(row="word?", column="word?", score="word?", separator="word?", header="flag?"),
            "read_edges": kinds(separator="word?", header="flag", duplicates="choice"),
            "read_similarity": kinds(separator="word?", symmetrize="choice?"),
            "read_matrix": kinds(separator="word?"),
            "read_humannet": kinds(top="number?", giant="flag"),
            "read_mimminer": kinds(symmetrize="choice?"),
            "read_obo": kinds(relations="words"),
            "read_hpoa": kinds(aspect="word?"),
            "read_gaf": kinds(id="choice"),
        }.items()
    },
    "datasets.fingerprints": Call(
        lambda **o: pytest.importorskip("rdkit") and datasets.fingerprints(["CCO"], **o),
        kinds(kind="choice", radius="integer", n_bits="integer", counts="flag"),
    ),
    "datasets.kernel_features": Call(lambda **o: datasets.kernel_features(W, **o), kinds(k="integer?")),
    "datasets.lsa_features": Call(
        lambda **o: datasets.lsa_features(W, **{"k": 2, **o}), kinds(k="integer", n_iter="integer")
    ),
    "datasets.sequence_features": Call(
        lambda **o: datasets.sequence_features(["MKV", "MKL"], **o),
        kinds(k="integer", mismatch="flag", normalize="choice?"),
    ),
    "datasets.similarity_groups": Call(
        lambda **o: datasets.similarity_groups(W, **{"threshold": 0.5, **o}), kinds(threshold="number")
    ),
    "datasets.spectral_features": Call(
        lambda **o: datasets.spectral_features(W, **o),
        kinds(k="integer?", components="choice", symmetrize="choice?", keep_diagonal="flag", return_report="flag"),
    ),
    "io.on_device": Call(
        lambda **o: pytest.importorskip("torch") and io.on_device(io.scan_arrays(a=A, b=B), **{"device": "cpu", **o}),
        kinds(device="word", block_bytes="number"),
    ),
    "io.reduce_dyads": Call(
        lambda **o: io.reduce_dyads(*map(chunked, (SCORES, A[:12])), B[:10], **o),
        kinds(n_folds="integer", seed="integer"),
    ),
    "io.Source.checkpointed": Call(
        lambda **o: io.scan_arrays(a=A, b=B, y=Y_ROWS).checkpointed("nowhere.npz", **o),
        kinds(every="number", keep="flag"),
    ),
    "evaluation.evaluate": Call(
        lambda **o: evaluation.evaluate(DYADS, ["popularity"], **{"n_partitions": 1, "at": [2], **o}),
        kinds(by="choice", n_partitions="integer", test_size="number", significant="number", tune="choice?")
        | kinds(tuning_splits="integer", criterion="choice", random_state="seed", jobs="integer", progress="flag?"),
    ),
    "evaluation.splits": Call(
        lambda **o: list(evaluation.splits(DYADS, **o)),
        kinds(by="choice", n_splits="integer", test_size="number", random_state="seed"),
    ),
    "evaluation.standard_methods": Call(lambda **o: evaluation.standard_methods(DYADS, **o), kinds(by="choice")),
    "evaluation.Method": Call(lambda **o: evaluation.Method(Popularity(), **o), kinds(reduced="flag")),
    "diagnostics.bilinear_bound": Call(
        lambda **o: diagnostics.bilinear_bound(**{"n_features": 10, "n_components": 2, "n_samples": 100, **o}),
        kinds(n_features="sizes", n_components="integer", n_samples="number", noise="number"),
    ),
    "diagnostics.bootstrap": Call(
        lambda **o: diagnostics.bootstrap(JDR(1), LONG, LONG_Y, **{"n": 3, **o}),
        kinds(n="integer", n_blocks="integer?", level="number", random_state="seed"),
    ),
    "diagnostics.correlation_edge": Call(
        lambda **o: diagnostics.correlation_edge(**{"n_features": 10, "n_samples": 100, **o}),
        kinds(n_features="sizes", n_samples="number"),
    ),
    "diagnostics.noise_edge": Call(
        lambda **o: diagnostics.noise_edge(**{"n_features": 10, "n_samples": 100, **o}),
        kinds(n_features="sizes", n_samples="number", deviation="number", n_selected="sizes?"),
    ),
    "diagnostics.null_rank": Call(
        lambda **o: diagnostics.null_rank(np.array([3.0, 1.0]), np.ones((20, 2)), **o), kinds(level="number")
    ),
    "diagnostics.rank_profile": Call(
        lambda **o: diagnostics.rank_profile(JDR(1), X, Y_ROWS, **{"n_permutations": 1, "level": 0.5, **o}),
        kinds(n_permutations="integer", level="number", eta="number?", random_state="generator", progress="word?"),
    ),
    "diagnostics.suggested_samples": Call(
        lambda **o: diagnostics.suggested_samples(**{"n_features": 10, **o}),
        kinds(n_features="sizes", n_informative="sizes?", error="number", constant="number", logarithms="flag"),
    ),
    "diagnostics.threshold_rank": Call(
        lambda **o: diagnostics.threshold_rank(np.array([3.0, 1.0]), **{"eta": 2.0, **o}), kinds(eta="number")
    ),
}


def cases() -> list[Any]:
    found = []
    for name, (_, of_options) in CALLS.items():
        for option, kind in of_options.items():
            may_be_none = kind.endswith("?")
            for value in (*WRONG[kind.rstrip("?")], *ANYTHING):
                if value is None and may_be_none:
                    continue
                label = f"{type(value).__name__}-{value!s:.12}".replace("\n", "")
                found.append(pytest.param(name, option, value, id=f"{name}-{option}-{label}"))
    return found


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_the_calls_are_sound(name):
    """Else their errors would say nothing about options."""
    CALLS[name].call()


@pytest.mark.parametrize(("name", "option", "value"), cases())
@pytest.mark.filterwarnings("ignore")
def test_an_option_of_a_wrong_type_is_refused_in_our_own_words(name, option, value):
    with pytest.raises((ValueError, TypeError)) as caught:
        CALLS[name].call(**{option: value})
    message, error = str(caught.value), caught.value
    assert option in message
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    assert where.startswith(HERE), f"raised in {where}: {message}"


# ---------------------------------------------------------------- nothing is left out

MODULES = ("jointdr", *(f"jointdr.{name}" for name in ("metrics", "datasets", "io", "evaluation", "diagnostics")))

DATA = {  # checked where data is: tests/test_bad_input.py, tests/properties
    *("X", "y", "sample_weight", "Y", "A", "B", "observed", "A_new", "B_new", "rows", "columns", "row", "column"),
    *("row_similarity", "column_similarity", "row_ids", "column_ids", "names", "groups", "pairs", "grid", "views"),
    *("edges", "weight", "center", "y_center", "scratch", "moments", "model", "dyads", "scores", "truth", "positive"),
    *("true", "estimated", "predicted", "U", "U_hat", "S", "W", "singular_values", "null", "covariances", "source"),
    *("entities", "terms", "ontology", "sequences", "smiles", "ids", "methods", "at", "held_out", "data", "evaluation"),
    *("arrays", "named", "keep", "row_encoder", "column_encoder", "models", "dtype", "options", "ks", "callable"),
    *("blocks", "partitions", "client", "response", "paths", "head", "body", "views", "view", "mask", "value"),
    *("row_id", "column_id", "score", "use", "drop", "label", "color", "title", "watch", "factor", "size"),
}


OF_FOLDERS = ("read_deepdta",)  # which take files that are not made here


def options_of(call: Any) -> set[str]:
    kept = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return {name for name, p in inspect.signature(call).parameters.items() if p.kind in kept and name != "self"}


def public_calls() -> list[tuple[str, Any]]:
    """Every public function, the constructor of every estimator, and its methods that take options."""
    found = []
    for module in MODULES:
        of = importlib.import_module(module)
        for name in of.__all__:
            value, label = getattr(of, name), f"{module}.{name}".removeprefix("jointdr.")
            if inspect.isfunction(value) and name not in OF_FOLDERS and not name.startswith(("load", "scan_")):
                found.append((label, value))
            elif inspect.isclass(value) and hasattr(value, "get_params"):
                found.append((label, value))
                methods = ("fit", "tune", "explain", "recommend", "similar", "precompute", "predict", "partial_fit")
                found += [(f"{label}.{m}", getattr(value, m)) for m in methods if hasattr(value, m)]
    return found


@pytest.mark.parametrize(("name", "call"), public_calls(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_option_of_a_public_function_is_tried(name, call):
    """A new option has to be put into the list above, with its kind."""
    tried = set(CALLS[name].kinds) if name in CALLS else set()
    assert options_of(call) - DATA - tried - {"path"} == set()

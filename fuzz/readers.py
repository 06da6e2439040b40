"""What is fuzzed: every reader of files, with files that it can read to start from."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from jointdr import AssociationModel, Dyads, TableEncoder, datasets
from jointdr.apps.explore.catalog import read_names
from jointdr.apps.explore.uploads import decode, read_features
from jointdr.apps.reproduce.cache import Cache
from jointdr.datasets.pickled import read_pickled_array
from jointdr.engines import checkpoint
from jointdr.io import scan_npy, scan_parquet
from jointdr.prediction.loading import FAMILY, PREDICTORS
from jointdr.runtime.modelfile import CHECKPOINT, load_model, read_header

MODELS = Path(__file__).parents[1] / "tests" / "fixtures" / "models"
CLASSES = {**FAMILY, **PREDICTORS}
STUDY: Any = SimpleNamespace(name="study", key="0", curves=("a", "b"), x=(1, 2, 3))


@dataclass(frozen=True)
class Target:
    """A reader of files.

    Attributes
    ----------
    read : callable
        Path → what was read, also used, so that it is known to be sound.
    seeds : callable
        → contents that are sound.
    ending : str
        Of the name of the file.
    """

    read: Callable[[Path], Any]
    seeds: Callable[[], list[bytes]]
    ending: str


# ---------------------------------------------------------------- reading, and using what was read


def _frame(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def reading(path: Path) -> Any:
        frame = read(path)
        for _, column in frame.items():
            assert column.dtype == object or np.isfinite(column.to_numpy(dtype=float)).all()
        return frame

    return reading


def _network(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def reading(path: Path) -> Any:
        network = read(path)
        assert network.W.shape == (len(network.ids),) * 2
        assert np.isfinite(sparse.csr_array(network.W).data).all()
        return network

    return reading


def _ontology(path: Path) -> Any:
    found = datasets.read_obo(path, relations=("is_a", "part_of"))
    return datasets.propagate_terms(["x"] * len(found.names), list(found.names), found)


def _archive(path: Path) -> Any:
    dyads = datasets.load_archive(path)
    assert np.isfinite(dyads.moments().covariance(0)).all()
    return dyads


def _blocks(source: Any) -> Any:
    for leaf in source.leaves():
        for block in leaf.blocks(7):
            assert all(len(X) == len(block.y) for X in block.views)
    return source


def model(path: Path) -> Any:
    """A model of any kind, with its answers."""
    kind = read_header(path).get("kind")
    if kind not in CLASSES:
        raise ValueError(f"{path} holds a {kind}.")
    found = CLASSES[kind].load(path)
    if hasattr(found, "recommend"):
        for encoder in filter(None, found.encoders_):
            assert encoder.transform(pd.DataFrame({c.name: ["A:1|CCO"] for c in encoder.columns_})).shape[0] == 1
        assert found.predict().shape == (len(found.row_ids_), len(found.column_ids_))
        found.predict(np.zeros((2, found.n_features_per_view_[0])))
    elif hasattr(found, "predict"):
        _predict(found, path)
    elif found.views is None:
        found.transform(tuple(np.zeros((2, n)) for n in found.n_features_per_view_))
    return found


def _predict(found: Any, path: Path) -> None:
    """Predictions of a regressor, which are finite, or refused because numbers that no fit has overflow."""
    embedding = getattr(found, "embedding_", None)
    if getattr(embedding, "views", None) is None:
        widths = found.view_widths_ if embedding is None else embedding.n_features_per_view_
        try:
            assert np.isfinite(found.predict(tuple(np.zeros((2, n)) for n in widths))).all()
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def _cache(path: Path) -> Any:
    folder = path.parent / "study-0"
    folder.mkdir(exist_ok=True)
    (folder / f"repetitions-{path.name}").write_bytes(path.read_bytes())
    return Cache(path.parent).load(STUDY)


def _upload(path: Path) -> Any:
    try:
        return read_features(decode(path.read_bytes()), 3, ("a", "b", "c"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


# ---------------------------------------------------------------- sound files


def _text(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [t.encode() for t in texts] + [gzip.compress(texts[0].encode(), mtime=0)]


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _csr(name: str, X: Any) -> dict[str, Any]:
    X = sparse.csr_array(X)
    return {f"{name}_data": X.data, f"{name}_indices": X.indices, f"{name}_indptr": X.indptr, f"{name}_shape": X.shape}


def _archives() -> list[bytes]:
    rng = np.random.default_rng(0)
    A, B, Y = rng.random((5, 3)), rng.random((4, 3)), (rng.random((5, 4)) < 0.5).astype(float)
    ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    places = {"disease_to_mimminer": np.arange(5), "gene_to_net": np.arange(4)}
    ids = {"disease_omim": np.arange(5), "gene_entrez": np.array(list("abcd")), "drug_drugbank": np.array(list("abcd"))}
    pairs = {"y": np.ones(3), "drug_idx": np.arange(3), "target_idx": np.arange(3)}
    features = {"X_drug_ecfp4": A, "X_target_dipep": B, "drug_id": np.arange(5), "target_id": np.arange(4)}
    return [
        _npz(**_csr("mimminer", ring), **_csr("net", ring), **_csr("Y_x", Y), **places, **ids),
        _npz(Y=Y, S_disease_mimminer=A @ A.T, S_drug_chem=B @ B.T, **ids),
        _npz(**pairs, **features),
    ]


def _parquets() -> list[bytes]:
    frame = pd.DataFrame({"id": list("abcde"), "x": np.arange(5.0), "y": np.arange(5)})
    files = [io.BytesIO() for _ in range(4)]
    frame.to_parquet(files[0])
    frame.set_index("id").to_parquet(files[1], compression="gzip")
    pq.write_table(pa.table({"id": ["a", "b", None], "x": [1.0, None, 2.0], "y": [[1], [2], []]}), files[2])
    pd.DataFrame({"row": list("ab"), "column": list("cd"), "x": [1.0, 2.0], "y": [1, 2]}).to_parquet(files[3])
    return [file.getvalue() for file in files]


def _npys() -> list[bytes]:
    files = []
    for array in (np.arange(12.0).reshape(6, 2), np.asfortranarray(np.arange(6).reshape(3, 2))):
        np.save(file := io.BytesIO(), array)
        files.append(file.getvalue())
    return files


def _matrices() -> list[bytes]:
    files = [_npz(S=np.eye(3))]
    for kind in ("csr", "csc"):
        sparse.save_npz(file := io.BytesIO(), sparse.eye_array(3, format=kind))
        files.append(file.getvalue())
    return files


def _pickles() -> list[bytes]:
    arrays = (np.arange(6.0).reshape(3, 2), np.asfortranarray(np.ones((2, 3), dtype=">f4")))
    return [pickle.dumps(array, protocol) for array in arrays for protocol in range(5)]


def _models() -> list[bytes]:
    paths = sorted(MODELS.glob("*/*.npz"))
    kept = [path.read_bytes() for path in paths if not path.name.endswith((".expected.npz", "checkpoint.npz"))]
    return [*kept, _model_of_tables()]


def _model_of_tables() -> bytes:
    """A model with tables of columns of every kind."""
    drugs = pd.DataFrame({"mass": [1.0, None, 3.0], "drug": ["CCO", "CCN", "CO"], "kind": ["p", "q", "p"]})
    proteins = pd.DataFrame({"protein": ["MKK", "AC", "WYW"], "go": ["A:2", "A:3|A:1", "A:1"]})
    ontology = datasets.Ontology(
        {f"A:{k}": "" for k in (1, 2, 3)}, {"A:1": (), "A:2": ("A:1",), "A:3": ("A:1",)}, {"A:4": "A:3"}
    )
    encoders = {
        "row_encoder": TableEncoder(smiles="drug", fingerprint="ngrams"),
        "column_encoder": TableEncoder(sequence="protein", terms="go", ontology=ontology),
    }
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dyads = Dyads(np.eye(3), drugs, proteins, **encoders)
        AssociationModel(None, head="kernel", bandwidth=0.4).fit(dyads).save(Path(folder) / "model.npz")
        return (Path(folder) / "model.npz").read_bytes()


def _checkpoints() -> list[bytes]:
    return [path.read_bytes() for path in sorted(MODELS.glob("*/checkpoint.npz"))]


TABLE = "id\tage\tweight\n000001\t1.5\t-2\n000010\t1e3\t0\n"
PAIRS = "disease\tgene\tscore\n1\t007\t0.5\n2\t007\t1\n"
FASTA = ">sp|P1|X_Y z\nMKK\nAC\n>y\nA\n"
TABLE_OF_TEXT = "id\tsequence\n1\tMKK\n2\tAC\n"
STRING = "protein1 protein2 combined_score\n9606.A 9606.B 900\n9606.B 9606.A 900\n9606.A 9606.C 150\n"
MATRIX = "\t01\t1\n01\t1\t0.5\n1\t0.5\t1\n"
OBO = "[Term]\nid: A\nname: a\n\n[Term]\nid: B\nis_a: A ! a\nrelationship: part_of A\nalt_id: C\n\n"
OBO += "[Term]\nid: D\nis_obsolete: true\nreplaced_by: C\n\n[Typedef]\nid: E\n"
HPOA = "#c\ndatabase_id\tdisease_name\tqualifier\thpo_id\taspect\nO:1\tx\t\tH:1\tP\nO:1\tx\tNOT\tH:2\tP\n"
GENES = "ncbi_gene_id\tgene_symbol\thpo_id\tdisease_id\n1\tS\tH:1\tO:1\n"
GAF = "!c\n" + "\t".join(["D", "1", "S", "", "GO:1", "r", "IEA", "", "P", "n", "s|t", "g", "t", "d", "D"]) + "\n"
DISGENET = "# c\ngeneId\tgeneSymbol\tdiseaseId\tdiseaseName\tscore\n1\tS\tumls:C1\tn\t0.5\n"

TARGETS: dict[str, Target] = {
    "table": Target(_frame(datasets.read_table), _text(TABLE, 'id\t"a ""b"\nx\t1\n'), ".tsv"),
    "pairs": Target(_frame(datasets.read_pairs), _text(PAIRS, "a\tb\nx\ty\n"), ".tsv"),
    "similarity": Target(_network(datasets.read_similarity), _text(MATRIX), ".tsv"),
    "matrix": Target(datasets.read_matrix, _text(MATRIX, MATRIX[1:]), ".tsv"),
    "npy_matrix": Target(datasets.read_matrix, _npys, ".npy"),
    "npz_matrix": Target(datasets.read_matrix, _matrices, ".npz"),
    "mimminer": Target(_network(datasets.read_mimminer), _text("01\t1\t0.5\n1\t0.5\t1\n"), ".mat"),
    "edges": Target(_network(datasets.read_edges), _text("#c\n1\t2\t0.5\n2\t3\t1\n", "a b\nb c\n"), ".txt"),
    "string": Target(_network(datasets.read_edges), _text(STRING), ".txt"),
    "humannet": Target(_network(datasets.read_humannet), _text("1\t2\tNA\t0.5\n2\t3\t1\t1\n"), ".txt"),
    "disgenet": Target(_frame(datasets.read_disgenet), _text(DISGENET), ".tsv"),
    "obo": Target(_ontology, _text(OBO), ".obo"),
    "hpoa": Target(_frame(datasets.read_hpoa), _text(HPOA), ".hpoa"),
    "genes": Target(_frame(datasets.read_genes_to_phenotype), _text(GENES), ".txt"),
    "gaf": Target(_frame(datasets.read_gaf), _text(GAF), ".gaf"),
    "annotations": Target(_frame(datasets.read_annotations), _text(GAF, HPOA, GENES, "id\tterm\n1\tA:1|A:2\n"), ".tsv"),
    "smiles": Target(_frame(datasets.read_smiles), _text("SMILES id\nCCO x\nCC\ty z\n"), ".smi"),
    "sequences": Target(_frame(datasets.read_sequences), _text(FASTA, TABLE_OF_TEXT), ".tsv"),
    "names": Target(read_names, _text("id\tname\n1\tx\n"), ".tsv"),
    "about": Target(datasets.read_attributes, _text(TABLE), ".tsv"),
    "upload": Target(_upload, _text("id,a,b,c\nx,1,2,3\n", "a 1\nb\n", "1 2 3"), ".txt"),
    "parquet_table": Target(_frame(datasets.read_table), _parquets, ".parquet"),
    "parquet_pairs": Target(_frame(datasets.read_pairs), _parquets, ".parquet"),
    "parquet_scan": Target(
        lambda p: _blocks(scan_parquet(p, views={"a": ["x"]}, response="id")), _parquets, ".parquet"
    ),
    "npy": Target(lambda path: _blocks(scan_npy(a=path, y=path)), _npys, ".npy"),
    "pickled": Target(read_pickled_array, _pickles, ".pickle"),
    "archive": Target(_archive, _archives, ".npz"),
    "model": Target(model, _models, ".npz"),
    "checkpoint": Target(lambda p: load_model(p, CHECKPOINT, checkpoint.contents), _checkpoints, ".npz"),
    "cache": Target(_cache, lambda: [json.dumps({"values": {"0": [[1, 2, 3], [4, 5, 6]]}}).encode()], ".json"),
}
"""By name."""


def outcome(target: Target, path: Path) -> str | None:
    """What is wrong with how a file is read; None if it is read, or refused by an error that names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.read(path)
        except (OSError, ValueError) as error:
            if path.name in str(error):
                return None
            return f"{_place(error)} does not name the file: {error}"
        except ImportError:  # a model that asks for an accelerator, for example
            return None
        except Exception as error:
            return f"{_place(error)}: {error}"
    return None


def _place(error: BaseException) -> str:
    """The kind of an error, and the last place in the library that it went through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "jointdr" in f.filename]
    return (
        f"{type(error).__name__} at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "of the target"
    )

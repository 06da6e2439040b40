"""Real dyadic data for benchmarks, from .npz files that are not part of this repository.

    JOINTDR_DATA=folder python benchmarks/association_data.py

The folder holds ``gda_humannet_omimgenes.npz`` (diseases × genes: MimMiner, HumanNet and DisGeNET; a re-creation of the
paper's experiment), ``drugrepo_Cdataset.npz`` (diseases × drugs) and ``dti_kiba.npz`` (drugs × targets). Sparse
matrices are stored in CSR form as ``NAME_data``, ``NAME_indices``, ``NAME_indptr`` and ``NAME_shape``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from jointdr import Dyads
from jointdr.spectral import spectral_features


def gda(folder: str | os.PathLike[str] | None = None, response: str = "Y_all_v4", n_features: int = 200) -> Dyads:
    """Diseases × genes with spectral features of the MimMiner and HumanNet graphs; every pair is observed.

    `response` is ``"Y_all_v4"`` (binary), ``"Y_all_v7"``, ``"Y_curated_v3"`` (graded), ``"Y_curated_v7"`` or
    ``"Y_omim"``.
    """
    with _opened(folder, "gda_humannet_omimgenes.npz") as data:
        A = spectral_features(stored_sparse(data, "mimminer"), n_features)[data["disease_to_mimminer"]]
        B = spectral_features(stored_sparse(data, "net"), n_features)[data["gene_to_net"]]
        return Dyads(
            stored_sparse(data, response),
            A,
            B,
            row_ids=data["disease_omim"],
            column_ids=data["gene_entrez"],
            names=("disease", "gene"),
        )


def cdataset(folder: str | os.PathLike[str] | None = None, n_features: int = 200) -> Dyads:
    """Diseases × drugs with spectral features of dense similarities (MimMiner; chemical); every pair is observed."""
    with _opened(folder, "drugrepo_Cdataset.npz") as data:
        A, B = (spectral_features(data[name], n_features) for name in ("S_disease_mimminer", "S_drug_chem"))
        Y = sparse.csr_array(data["Y"].astype(float))
        ids = (data["disease_omim"], data["drug_drugbank"])
        return Dyads(Y, A, B, row_ids=ids[0], column_ids=ids[1], names=("disease", "drug"))


def kiba(folder: str | os.PathLike[str] | None = None) -> Dyads:
    """Drugs × targets with fingerprint bits and dipeptide composition as features; only measured pairs are observed."""
    with _opened(folder, "dti_kiba.npz") as data:
        A, B = data["X_drug_ecfp4"].astype(float), data["X_target_dipep"].astype(float)
        pairs = (data["y"].astype(float), (data["drug_idx"], data["target_idx"]))
        Y = sparse.csr_array(pairs, shape=(len(A), len(B)))
        ids = (data["drug_id"], data["target_id"])
        return Dyads(Y, A, B, "stored", row_ids=ids[0], column_ids=ids[1], names=("drug", "target"))


def stored_sparse(data: Any, name: str) -> sparse.csr_array:
    """A CSR matrix of an .npz file."""
    parts = tuple(data[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sparse.csr_array(parts, shape=tuple(data[f"{name}_shape"]))


def _opened(folder: str | os.PathLike[str] | None, name: str) -> Any:
    folder = folder or os.environ.get("JOINTDR_DATA")
    if not folder:
        raise SystemExit(f"Say where {name} is: set JOINTDR_DATA to its folder.")
    if not (path := Path(folder) / name).exists():
        raise SystemExit(f"{path} is not there.")
    return np.load(path, allow_pickle=False)


if __name__ == "__main__":
    for load in (gda, cdataset, kiba):
        start = time.process_time()
        dyads = load()
        print(f"{load.__name__}: {dyads}, {time.process_time() - start:.1f} s of CPU")

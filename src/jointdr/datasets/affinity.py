"""Drug-target affinities in the layout of the DeepDTA benchmark, with its folds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jointdr.data import (
    FINGERPRINTS,
    Dyads,
    Fingerprint,
    as_ids,
    checked_strings,
    fingerprints,
    sequence_features,
)
from jointdr.datasets.pickled import read_pickled_array
from jointdr.datasets.spectral import checked_affinity
from jointdr.runtime import AnyPath, Array, check_choice, check_integer, open_text, parse_numbers, read_lines

DRUG_SIMILARITIES = ("drug-drug_similarities_2D.txt", "kiba_drug_sim.txt")
TARGET_SIMILARITIES = ("target-target_similarities_WS.txt", "kiba_target_sim.txt")
FOLDS = 5
TEST = -1


@dataclass(frozen=True)
class AffinityData:
    """Affinities of drugs and targets, and the folds that published figures are measured on.

    Attributes
    ----------
    dyads : Dyads
        Rows are drugs, columns are targets, and only the known pairs are observed. ``dyads.similarities`` has those of
        the folder, with 1 on the diagonal: ``"chemical"`` of the drugs, ``"smith_waterman"`` of the targets.
    smiles : (drugs,) array of str
    sequences : (targets,) array of str
    fold : (pairs,) array of int
        One number for each observed pair, in the order of ``dyads.triples()``: −1 for the test set, 0 to 4 for the five
        parts of the training set.
    fingerprint : str
        The kind of `fingerprints` that the features of drugs are.
    """

    dyads: Dyads
    smiles: Array
    sequences: Array
    fold: Array
    fingerprint: str

    def train(self, without: int | None = None) -> Dyads:
        """The training set, all five parts of it, or those that are left without one of them."""
        kept = self.fold != TEST
        if without is not None:
            kept &= self.fold != check_integer("without", without, 0, FOLDS - 1)
        return self.dyads.pairs(kept)

    def test(self, fold: int = TEST) -> Dyads:
        """The pairs of one fold, by default of the test set: choose everything on the others, and look at it once."""
        return self.dyads.pairs(self.fold == check_integer("fold", fold, TEST, FOLDS - 1))

    def __repr__(self) -> str:
        test = int(np.sum(self.fold == TEST))
        return (
            f"AffinityData({self.dyads!r}, {len(self.fold) - test} for training and {test} for the test; "
            f"features of drugs: {self.fingerprint})"
        )


def read_deepdta(
    folder: AnyPath,
    *,
    affinity: Literal["auto", "pKd", "raw"] = "auto",
    fingerprint: Literal["auto"] | Fingerprint = "auto",
    radius: int = 2,
    n_bits: int = 1024,
    k: int = 2,
) -> AffinityData:
    """Davis, KIBA, or other affinities in the layout of DeepDTA's data folders.

    Parameters
    ----------
    folder : path
        With ``ligands_can.txt`` and ``proteins.txt`` (JSON, id to SMILES and id to sequence), ``Y`` (a pickled matrix
        of drugs and targets, NaN where nothing is known), and in ``folds`` the lists ``train_fold_setting1.txt`` and
        ``test_fold_setting1.txt`` of indices into the known pairs, row by row. Similarities
        (``drug-drug_similarities_2D.txt`` and ``target-target_similarities_WS.txt``, or ``kiba_drug_sim.txt`` and
        ``kiba_target_sim.txt``) are read where they are.
    affinity : {"auto", "pKd", "raw"}
        ``"pKd"``: Y holds dissociation constants K_d in nM, and scores are −log₁₀(K_d / 10⁹). ``"raw"``: scores as they
        are. By default the former for a folder whose name has ``davis`` in it, otherwise the latter.
    fingerprint : "auto", or a kind of `fingerprints`
        Features of drugs. By default ``"morgan"`` (ECFP4 for a radius of 2) where RDKit is installed, otherwise
        ``"ngrams"``, hashed characters of the SMILES; ``fingerprint`` of the result has the kind.
    radius, n_bits
        As in `fingerprints`.
    k : int
        Features of targets are square roots of the composition of their sequences in words of k amino acids, see
        `sequence_features`: by default of dipeptides.

    Returns
    -------
    AffinityData

    Raises
    ------
    ValueError
        Naming the file, where one is damaged or does not fit the others.

    Notes
    -----
    Similarities are normalized to s_ij / √(s_ii s_jj): those of Davis' targets are stored as Smith–Waterman scores. The
    pickle is read by a program of our own that runs nothing in it, also one that Python 2 wrote.

    Davis has 68 drugs, 442 targets and 30 056 pairs (all of them; 70 % at pK_d = 5, "no binding seen"), KIBA 2111
    drugs, 229 targets and 118 254 pairs.

    References
    ----------
    H. Öztürk, A. Özgür, E. Ozkirimli. DeepDTA: deep drug–target binding affinity prediction. Bioinformatics 34, 2018.
    M. I. Davis et al. Comprehensive analysis of kinase inhibitor selectivity. Nature Biotechnology 29, 2011.
    J. Tang et al. Making sense of large-scale kinase inhibitor bioactivity data sets. Journal of Chemical Information
    and Modeling 54, 2014.
    T. Pahikkala et al. Toward more realistic drug–target interaction predictions. Briefings in Bioinformatics 16, 2015.
    """
    check_choice("affinity", affinity, ("auto", "pKd", "raw"))
    check_choice("fingerprint", fingerprint, ("auto", *FINGERPRINTS))
    folder = Path(folder)
    if affinity == "auto":
        affinity = "pKd" if "davis" in folder.resolve().name.lower() else "raw"
    if fingerprint == "auto":
        fingerprint = "ngrams" if find_spec("rdkit") is None else "morgan"
    drugs, smiles = _named_strings(folder / "ligands_can.txt")
    targets, sequences = _named_strings(folder / "proteins.txt")
    Y = _scores(folder / "Y", (len(drugs), len(targets)), affinity)
    known = ~np.isnan(Y)
    fold = _folds(folder / "folds", int(np.sum(known)))
    similarities: dict[str, Any] = {
        "row_similarity": _similarities(folder, DRUG_SIMILARITIES, "chemical", len(drugs)),
        "column_similarity": _similarities(folder, TARGET_SIMILARITIES, "smith_waterman", len(targets)),
    }
    try:
        A = fingerprints(smiles, fingerprint, radius=radius, n_bits=n_bits)
    except ValueError as error:
        raise ValueError(f"{folder / 'ligands_can.txt'}: {error}") from None
    B = sequence_features(sequences, k, normalize="root")
    dyads = Dyads(Y, A, B, known, drugs, targets, **similarities, names=("drug", "target"))
    return AffinityData(dyads, np.array(smiles), np.array(sequences), fold, fingerprint)


def _named_strings(path: Path) -> tuple[Array, list[str]]:
    """Ids and their strings, in the order of a JSON file."""
    listed = _json(path)
    if not isinstance(listed, dict) or not listed:
        raise ValueError(f"{path} must be a JSON object of ids and strings, but holds {type(listed).__name__}.")
    return as_ids(listed, f"{path}"), checked_strings(listed.values(), f"{path}: the values")


def _scores(path: Path, shape: tuple[int, int], affinity: str) -> Array:
    Y = read_pickled_array(path).astype(float)
    if Y.shape != shape:
        raise ValueError(
            f"{path} has shape {Y.shape}, but ligands_can.txt and proteins.txt have {shape[0]} and {shape[1]} entities."
        )
    if np.isinf(Y).any() or np.isnan(Y).all():
        raise ValueError(f"{path} must have finite affinities, with NaN where nothing is known.")
    if affinity == "pKd":
        if np.nanmin(Y) <= 0:
            raise ValueError(
                f"{path} has the K_d {np.nanmin(Y):g}, but affinity='pKd' takes positive ones in nM: give "
                "affinity='raw' if these are scores already."
            )
        Y = -np.log10(Y / 1e9)
    return Y


def _folds(folder: Path, pairs: int) -> Array:
    """The fold of each known pair."""
    parts = _json(folder / "train_fold_setting1.txt")
    if not isinstance(parts, list) or len(parts) != FOLDS:
        raise ValueError(f"{folder / 'train_fold_setting1.txt'} must be a JSON list of {FOLDS} lists of indices.")
    fold = np.full(pairs, TEST - 1, dtype=np.int8)
    for number, part in zip((*range(FOLDS), TEST), (*parts, _json(folder / "test_fold_setting1.txt")), strict=True):
        at = np.array(part) if isinstance(part, list) and part else np.zeros(0)
        if at.ndim != 1 or at.dtype.kind != "i" or at.min() < 0 or at.max() >= pairs or len(np.unique(at)) < len(at):
            raise ValueError(
                f"{folder}: fold {number} must be a list of different indices from 0 to {pairs - 1}, of the known "
                "pairs row by row."
            )
        if (fold[at] != TEST - 1).any():
            raise ValueError(f"{folder}: fold {number} shares pairs with another one.")
        fold[at] = number
    if left := int(np.sum(fold == TEST - 1)):
        raise ValueError(f"{folder}: {left} of {pairs} known pairs are in no fold.")
    return fold


def _similarities(folder: Path, files: tuple[str, ...], name: str, count: int) -> dict[str, Array] | None:
    """The similarities in the first of these files that is there, normalized; None without any."""
    for path in (folder / file for file in files):
        if not path.exists():
            continue
        rows = [parse_numbers(path, number, fields, lambda i: f"column {i + 1}") for number, fields in _lines(path)]
        if len(rows) != count or any(len(row) != count for row in rows):
            raise ValueError(f"{path} must have {count} lines of {count} similarities.")
        S = checked_affinity(np.array(rows), name=str(path))
        scale = np.sqrt(np.diag(S))
        if not (scale > 0).all():
            raise ValueError(f"{path} has entities without similarity to themselves: the diagonal must be positive.")
        return {name: S / np.outer(scale, scale)}
    return None


def _lines(path: Path) -> Any:
    return read_lines(path, None)


def _json(path: Path) -> Any:
    with open_text(path) as file:
        try:
            return json.load(file)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"{path} is not JSON: {error}.") from None

"""Fingerprints of molecules from SMILES, with RDKit or, as strings, without."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from jointdr.data.sequences import checked_strings
from jointdr.runtime import Array, check_choice, check_flag, check_integer

Fingerprint = Literal["morgan", "feature_morgan", "rdkit", "atom_pair", "torsion", "maccs", "ngrams"]
FINGERPRINTS = ("morgan", "feature_morgan", "rdkit", "atom_pair", "torsion", "maccs", "ngrams")
NGRAMS = (3, 4, 5)  # characters
MACCS_KEYS = 167  # the first of them unused


def fingerprints(
    smiles: Any, kind: Fingerprint = "morgan", *, radius: int = 2, n_bits: int = 1024, counts: bool = False
) -> Array:
    """Bits that show which substructures a molecule has, or how often.

    Parameters
    ----------
    smiles : sequence of m str
        Molecules in SMILES notation.
    kind : {"morgan", "feature_morgan", "rdkit", "atom_pair", "torsion", "maccs", "ngrams"}
        ``"morgan"``: neighborhoods of atoms up to `radius` bonds, ECFP4 for a radius of 2; ``"feature_morgan"``: the
        same, with atoms known by their role (donor, acceptor, aromatic, ...), FCFP4. ``"rdkit"``: paths and branches
        of up to 7 bonds. ``"atom_pair"``, ``"torsion"``: pairs of atoms with their distance, runs of four atoms.
        ``"maccs"``: the 166 MACCS keys. ``"ngrams"``: runs of 3 to 5 characters of the string itself, which need no
        chemistry and no RDKit, and depend on how a molecule is written: give canonical SMILES.
    radius : int
        For Morgan fingerprints.
    n_bits : int
        Substructures are hashed into so many bits. MACCS keys are always 167, the first of them unused.
    counts : bool
        Whether numbers of occurrences are given in place of 0 and 1. MACCS keys have none.

    Returns
    -------
    (m, n_bits) array

    Raises
    ------
    ImportError
        Without RDKit, unless ``kind="ngrams"``: ``pip install "jointdr[chem]"``.
    ValueError
        For a string that is no molecule, with its position.

    References
    ----------
    D. Rogers, M. Hahn. Extended-connectivity fingerprints. Journal of Chemical Information and Modeling 50, 2010.
    R. E. Carhart, D. H. Smith, R. Venkataraghavan. Atom pairs as molecular features in structure-activity studies.
    Journal of Chemical Information and Computer Sciences 25, 1985.
    R. Nilakantan, N. Bauman, J. S. Dixon, R. Venkataraghavan. Topological torsion. Journal of Chemical Information and
    Computer Sciences 27, 1987.

    Examples
    --------
    >>> from jointdr.datasets import fingerprints
    >>> X = fingerprints(["CCO", "CCCO"], "ngrams", n_bits=64)
    >>> X.shape, X.sum(axis=1).tolist()
    ((2, 64), [1.0, 3.0])
    """
    check_flag("counts", counts)
    found = checked_strings(smiles, "smiles")
    X, is_molecule = readable_fingerprints(found, kind, radius=radius, n_bits=n_bits, counts=counts)
    if not is_molecule.all():
        place = int(np.argmin(is_molecule))
        raise ValueError(
            f"smiles[{place}]={found[place]!r:.80} is no molecule that RDKit can read: correct it, drop that "
            "entity, or take kind='ngrams', which reads strings."
        )
    return X


def readable_fingerprints(
    smiles: Sequence[str], kind: Fingerprint, *, radius: int = 2, n_bits: int = 1024, counts: bool = False
) -> tuple[Array, Array]:
    """The same for strings of which some may be no molecules: these have zeros. And which are molecules."""
    check_choice("kind", kind, FINGERPRINTS)
    radius, n_bits = check_integer("radius", radius, 0), check_integer("n_bits", n_bits, 8)
    if kind == "maccs" and counts:
        raise ValueError("kind='maccs' has no counts, only keys that are there or not: give counts=False.")
    if kind == "ngrams":
        X, is_molecule = np.stack([_ngrams(text, n_bits) for text in smiles]), np.ones(len(smiles), dtype=bool)
    else:
        print_of = _generator(kind, radius, n_bits, counts)
        molecules = _molecules(smiles)
        is_molecule = np.array([molecule is not None for molecule in molecules], dtype=bool)
        X = np.zeros((len(smiles), MACCS_KEYS if kind == "maccs" else n_bits))
        for place in np.flatnonzero(is_molecule):
            X[place] = print_of(molecules[place])
    return (X if counts else X > 0).astype(float), is_molecule


def _ngrams(text: str, n_bits: int) -> Array:
    runs = [text[i : i + n] for n in NGRAMS for i in range(len(text) - n + 1)]
    return np.bincount([zlib.crc32(run.encode()) % n_bits for run in runs] or [], minlength=n_bits)


def _molecules(smiles: Sequence[str]) -> list[Any]:
    """Molecules of RDKit; None for a string that is none."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():  # errors have the position
        return [Chem.MolFromSmiles(text) for text in smiles]


def _generator(kind: Fingerprint, radius: int, n_bits: int, counts: bool) -> Callable[[Any], Array]:
    """A function from a molecule of RDKit to its fingerprint."""
    try:
        from rdkit.Chem import MACCSkeys, rdFingerprintGenerator
    except ImportError:
        raise ImportError(
            f'Fingerprints of kind {kind!r} take RDKit: pip install "jointdr[chem]". kind="ngrams" does without.'
        ) from None
    if kind == "maccs":
        return lambda molecule: np.array(list(MACCSkeys.GenMACCSKeys(molecule)))
    make = rdFingerprintGenerator
    if kind == "morgan":
        generator = make.GetMorganGenerator(radius=radius, fpSize=n_bits)
    elif kind == "feature_morgan":
        roles = make.GetMorganFeatureAtomInvGen()
        generator = make.GetMorganGenerator(radius=radius, fpSize=n_bits, atomInvariantsGenerator=roles)
    elif kind == "rdkit":
        generator = make.GetRDKitFPGenerator(maxPath=7, fpSize=n_bits)
    elif kind == "atom_pair":
        generator = make.GetAtomPairGenerator(fpSize=n_bits)
    else:
        generator = make.GetTopologicalTorsionGenerator(fpSize=n_bits)
    return generator.GetCountFingerprintAsNumPy if counts else generator.GetFingerprintAsNumPy

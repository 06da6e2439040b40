"""Dyads from .npz archives that bundle a benchmark: similarities or features of both kinds, and known scores."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from scipy import sparse

from jointdr.data import Dyads, scores_of_pairs
from jointdr.datasets.similarity import kernel_features
from jointdr.datasets.spectral import spectral_features
from jointdr.runtime import AnyPath, Archive, Array, checked_csr

Reader = Callable[[Archive, str | None], Dyads]


def load_archive(path: AnyPath, response: str | None = None) -> Dyads:
    """Dyads from an .npz archive in one of three layouts, which is recognized by the names of its arrays.

    Parameters
    ----------
    path : path
    response : str, optional
        The name of the scores, where an archive has several.

    Returns
    -------
    Dyads

    Raises
    ------
    ValueError
        If the file is no archive, has none of the layouts, lacks a part of a matrix or this response, or lists a pair
        twice.

    Notes
    -----
    Sparse matrices are stored in CSR form as ``NAME_data``, ``NAME_indices``, ``NAME_indptr`` and ``NAME_shape``. No
    code in the archive is run: it holds plain arrays.

    Diseases and genes as nodes of networks (``mimminer``, ``net`` and the indices ``disease_to_mimminer`` and
    ``gene_to_net`` of nodes in them; ids ``disease_omim`` and ``gene_entrez``): 200 spectral features of each, as in
    the paper. Responses are all matrices ``Y_...``, by default ``Y_all_v4`` or the first one. Every pair is observed.

    Diseases and drugs with dense similarities (``S_disease_mimminer``, ``S_drug_chem``; 0 and 1 in ``Y``): features
    whose inner products are the similarities, `kernel_features`, so that nothing is lost. Every pair is observed.

    Drugs and targets with features of their own (``X_drug_ecfp4``, ``X_target_dipep``; graded scores ``y`` of the pairs
    ``drug_idx`` and ``target_idx``): fingerprint bits, and square roots of the composition, whose inner products
    compare two compositions as those of unit vectors. Only the listed pairs are observed.
    """
    with Archive(path) as data:
        for names, reader in LAYOUTS.items():
            if set(names) <= set(data):
                try:
                    return reader(data, response)
                except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                    raise ValueError(f"{os.fspath(path)}: {error}") from error
        there = list(data)
        held = (", ".join(there[:8]) or "nothing") + (f" and {len(there) - 8} more" if len(there) > 8 else "")
        wanted = "; ".join(", ".join(names) for names in LAYOUTS)
        raise ValueError(
            f"{os.fspath(path)} has none of the known layouts. It holds {held}, but one of these sets of arrays is "
            f"needed: {wanted}."
        )


def read_scores(path: AnyPath, response: str) -> sparse.csr_array:
    """Scores of an archive by themselves, such as another response than the one of `load_archive`.

    Parameters
    ----------
    path : path
    response : str
        The name of a sparse matrix, see `load_archive`.
    """
    with Archive(path) as data:
        return _sparse(data, response)


def _sparse(data: Archive, name: str) -> sparse.csr_array:
    """A CSR matrix of an archive; a part that is missing is a ValueError that names it."""
    names = [f"{name}_{part}" for part in ("data", "indices", "indptr", "shape")]
    if missing := [part for part in names if part not in data]:
        raise ValueError(f"The archive lacks {', '.join(missing)}: a sparse matrix is stored as {', '.join(names)}.")
    *parts, shape = (data[part] for part in names)
    return checked_csr(tuple(parts), tuple(map(int, shape)))


def _networks(data: Archive, response: str | None) -> Dyads:
    known = [name.removesuffix("_data") for name in data if name.startswith("Y_") and name.endswith("_data")]
    if response is None:
        response = "Y_all_v4" if "Y_all_v4" in known else next(iter(known), "Y_...")
    if response not in known:
        raise ValueError(f"response={response!r} is not in the archive; choose from {known}.")
    sides = (("mimminer", "disease_to_mimminer"), ("net", "gene_to_net"))
    A, B = (spectral_features(_sparse(data, graph))[data[nodes]] for graph, nodes in sides)
    ids = {"row_ids": data["disease_omim"], "column_ids": data["gene_entrez"]}
    return Dyads(_sparse(data, response).astype(float), A, B, **ids, names=("disease", "gene"))


def _similarities(data: Archive, response: str | None) -> Dyads:
    _require_only(response, "Y")
    A, B = (kernel_features(data[name].astype(float)) for name in ("S_disease_mimminer", "S_drug_chem"))
    ids = {"row_ids": data["disease_omim"], "column_ids": data["drug_drugbank"]}
    return Dyads(sparse.csr_array(data["Y"].astype(float)), A, B, **ids, names=("disease", "drug"))


def _features(data: Archive, response: str | None) -> Dyads:
    _require_only(response, "y")
    A, B = data["X_drug_ecfp4"].astype(float), np.sqrt(data["X_target_dipep"].astype(float))
    Y = _listed_once(data["y"].astype(float), data["drug_idx"], data["target_idx"], (len(A), len(B)))
    return Dyads(Y, A, B, "stored", row_ids=data["drug_id"], column_ids=data["target_id"], names=("drug", "target"))


def _listed_once(y: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> Array:
    """The scores of listed pairs as a CSR array; a pair outside the tables or listed twice is a ValueError."""
    listed = sparse.coo_array((y, (rows, columns)), shape=shape)  # which refuses indices outside of it
    try:
        return scores_of_pairs(listed.row, listed.col, listed.data, shape, "error")
    except ValueError as error:
        found = str(error).partition(":")[0]  # the rest names an argument that archives do not have
        raise ValueError(f"drug_idx and target_idx of the archive: {found}. List every pair once.") from None


def _require_only(response: str | None, name: str) -> None:
    if response not in (None, name):
        raise ValueError(f"response={response!r} is not in the archive, which has {name!r} only.")


# the reader of an archive that has all of these arrays
LAYOUTS: dict[tuple[str, ...], Reader] = {
    ("mimminer_data", "disease_to_mimminer", "disease_omim", "net_data", "gene_to_net", "gene_entrez"): _networks,
    ("Y", "S_disease_mimminer", "S_drug_chem", "disease_omim", "drug_drugbank"): _similarities,
    ("y", "drug_idx", "target_idx", "X_drug_ecfp4", "X_target_dipep", "drug_id", "target_id"): _features,
}

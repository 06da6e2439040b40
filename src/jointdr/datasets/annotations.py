"""Annotation files of the Human Phenotype Ontology and of the Gene Ontology as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from jointdr.datasets.readers import id_frame
from jointdr.runtime import AnyPath, check_word, parse_id, read_lines, require_length


def read_hpoa(path: AnyPath, *, aspect: str | None = "P") -> Any:
    """Phenotypes of diseases of the Human Phenotype Ontology, ``phenotype.hpoa``.

    Parameters
    ----------
    path : path
        Compressed or not. Lines of comments start with ``#``; in releases up to 2022 the header does too (described at
        https://obophenotype.github.io/human-phenotype-ontology/annotations/phenotype_hpoa).
    aspect : str or None
        ``"P"``: phenotypic abnormalities only. ``"I"`` is inheritance, ``"C"`` the clinical course, ``"M"`` modifiers,
        ``"H"`` past history; None takes all. Inheritance and course are weakly related to genes.

    Returns
    -------
    DataFrame
        Columns ``disease``, ``term`` and ``disease_name``, each pair once. Phenotypes that the disease does *not* have
        are left out.
    """
    check_word("aspect", aspect, expected="a letter, such as 'P', or None")
    wanted = ("databaseid", "diseasename", "qualifier", "hpoid", "aspect")
    found: dict[tuple[str, str], str] = {}
    for number, (disease, name, qualifier, term, kind) in _columns(path, wanted):
        if qualifier.strip().upper() != "NOT" and aspect in (None, kind):
            key = (parse_id(path, number, disease, "database_id"), parse_id(path, number, term, "hpo_id"))
            found.setdefault(key, name)
    return _frame(path, ("disease", "term", "disease_name"), ((*key, name) for key, name in found.items()))


def read_genes_to_phenotype(path: AnyPath) -> Any:
    """Genes and diseases of ``genes_to_phenotype.txt`` of the Human Phenotype Ontology, for `Dyads.from_tables`.

    Parameters
    ----------
    path : path
        Compressed or not; with the header that starts with ``ncbi_gene_id``, or with that of releases up to 2022, which
        starts with ``#Format: entrez-gene-id``.

    Returns
    -------
    DataFrame
        Columns ``disease``, ``gene`` (the Entrez id), ``score`` (1) and ``gene_symbol``, each pair once.

    Notes
    -----
    The phenotypes in this file are those of the diseases of the gene. As features of genes they give the answer away,
    so they are not returned.
    """
    wanted = ("ncbigeneid|entrezgeneid", "genesymbol|entrezgenesymbol", "diseaseid|diseaseidforlink")
    found: dict[tuple[str, str], str] = {}
    for number, (gene, symbol, disease) in _columns(path, wanted):
        key = (parse_id(path, number, disease, "disease_id"), parse_id(path, number, gene, "ncbi_gene_id"))
        found.setdefault(key, symbol)
    rows = ((*key, 1.0, symbol) for key, symbol in found.items())
    return _frame(path, ("disease", "gene", "score", "gene_symbol"), rows)


def read_gaf(path: AnyPath) -> Any:
    """Gene Ontology annotations in the GAF format, versions 1 and 2.

    Parameters
    ----------
    path : path
        Compressed or not. Fields of a line: database, its id, symbol, qualifier, term, reference, evidence, ... (GO
        Annotation File Format 2.1, http://geneontology.org/docs/go-annotation-file-gaf-format-2.1).

    Returns
    -------
    DataFrame
        Columns ``gene`` (its symbol), ``term``, and ``synonyms`` (other symbols, separated by ``|``), each pair once.
        Terms that a gene does *not* have, and lines without any evidence (ND), are left out.
    """
    rows = read_lines(path, "\t", comment="!")
    first = next(rows, None)
    if first is None or len(first[1]) not in (15, 17):
        raise ValueError(f"{path} is not in the GAF format: its lines must have 15 or 17 fields separated by tabs.")
    found: dict[tuple[str, str], str] = {}
    for _, fields in require_length(path, chain([first], rows), len(first[1]), f"line {first[0]}"):
        if "NOT" not in fields[3].split("|") and fields[6] != "ND":
            found.setdefault((fields[2], fields[4]), fields[10])
    return _frame(path, ("gene", "term", "synonyms"), ((*key, synonyms) for key, synonyms in found.items()))


def _columns(path: AnyPath, wanted: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Columns of a file whose header is the last line of comments, or the first line after them; a|b is a or b."""
    rows = read_lines(path, "\t")
    number, fields = next(rows, (0, []))
    while number and (at := _indices(fields, wanted)) is None and fields[0].startswith("#"):
        number, fields = next(rows, (0, []))
    if not number or at is None:
        raise ValueError(f"{path} has no header with the columns {[name.partition('|')[0] for name in wanted]}.")
    for number, values in require_length(path, rows, len(_header(fields)), "the header"):
        yield number, [values[i] for i in at]


def _header(fields: list[str]) -> list[str]:
    """Names of columns without what changes from release to release: case, #, _, - and spaces."""
    text = "\t".join(fields).removeprefix("#Format:").replace("<tab>", "\t")
    return [re.sub(r"[#_\- ]", "", name).lower() for name in text.split("\t")]


def _indices(fields: list[str], wanted: Sequence[str]) -> list[int] | None:
    header = _header(fields)
    found = [next((header.index(name) for name in names.split("|") if name in header), -1) for names in wanted]
    return None if -1 in found else found


def _frame(path: AnyPath, names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Any:
    columns = list(zip(*rows, strict=True))
    if not columns:
        raise ValueError(f"{path} has no annotations that count.")
    return id_frame(dict(zip(names, columns, strict=True)))

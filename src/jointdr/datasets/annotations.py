"""Annotation files of the Human Phenotype Ontology and of the Gene Ontology as tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any, Literal

from jointdr.datasets.readers import ReadingWarning, id_frame, read_text
from jointdr.runtime import AnyPath, Line, check_choice, check_word, parse_id, read_lines, require_length

GAF = (15, 17)  # fields of a line
HPOA = ("databaseid", "diseasename", "qualifier", "hpoid", "aspect")
GENES_TO_PHENOTYPE = ("ncbigeneid|entrezgeneid", "genesymbol|entrezgenesymbol", "hpoid|hpotermid")
TERM = re.compile(r"\s*\w+:\d+\s*")  # which no name of a column is
LINES = 200  # at the beginning of a file, which show its format


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
    found: dict[tuple[str, str], str] = {}
    for number, (disease, name, qualifier, term, kind) in _columns(path, HPOA):
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


def read_gaf(path: AnyPath, *, id: Literal["symbol", "accession"] = "symbol") -> Any:
    """Gene Ontology annotations in the GAF format, versions 1 and 2.

    Parameters
    ----------
    path : path
        Compressed or not. Fields of a line: database, its id, symbol, qualifier, term, reference, evidence, ... (GO
        Annotation File Format 2.1, http://geneontology.org/docs/go-annotation-file-gaf-format-2.1).
    id : {"symbol", "accession"}
        How genes are named: by their symbols, or by the ids of the database, UniProt for example.

    Returns
    -------
    DataFrame
        Columns ``gene``, ``term``, and ``synonyms`` (other symbols, separated by ``|``), each pair once.
        Terms that a gene does *not* have, and lines without any evidence (ND), are left out.
    """
    check_choice("id", id, ("symbol", "accession"))
    named = 2 if id == "symbol" else 1
    found: dict[tuple[str, str], str] = {}
    for number, fields in _gaf_lines(path):
        gene = parse_id(path, number, fields[named], id)
        found.setdefault((gene, parse_id(path, number, fields[4], "term")), fields[10])
    return _frame(path, ("gene", "term", "synonyms"), ((*key, synonyms) for key, synonyms in found.items()))


def _gaf_lines(path: AnyPath) -> Iterator[Line]:
    """The lines of a GAF file that say that a gene has a term."""
    rows = read_lines(path, "\t", comment="!")
    first = next(rows, None)
    if first is None or len(first[1]) not in GAF:
        raise ValueError(f"{path} is not in the GAF format: its lines must have 15 or 17 fields separated by tabs.")
    for number, fields in require_length(path, chain([first], rows), len(first[1]), f"line {first[0]}"):
        if "NOT" not in fields[3].split("|") and fields[6] != "ND":
            yield number, fields


def read_annotations(path: AnyPath, ids: Iterable[str] = ()) -> Any:
    """The terms of each entity, in any of the formats of annotations, for a column of a `TableEncoder`.

    Parameters
    ----------
    path : path
        ``phenotype.hpoa`` (phenotypic abnormalities of diseases), Gene Ontology annotations in the GAF format,
        ``genes_to_phenotype.txt`` (phenotypes of genes), or a table whose first two columns are an id and a term, or
        several terms with ``|`` or ``;`` between them. Compressed or not.
    ids : iterable of str
        Ids that the entities may have. Of a file that names genes in two ways, by symbols and by ids of a database, the
        ones that more of these are among are taken; symbols by default.

    Returns
    -------
    DataFrame
        Indexed by id, with the column ``terms``: the different terms of each, with ``|`` between them.

    Notes
    -----
    The phenotypes that ``genes_to_phenotype.txt`` lists for genes are those of their diseases. Where pairs of genes and
    diseases are predicted they give the answer away, as a warning says.
    """
    known = set(ids)
    found = [(names, term) for *names, term in _annotations(path)]
    if not found:
        raise ValueError(f"{path} has no annotations that count.")
    ways = len(found[0][0])
    of_ways = [{names[way] for names, _ in found} for way in range(ways)]
    best = max(range(ways), key=lambda way: len(of_ways[way] & known))
    terms: dict[str, dict[str, None]] = {}
    for names, term in found:
        terms.setdefault(names[best], {})[term] = None
    import pandas as pd

    index = pd.Index(list(terms), name="id", dtype=object)
    return pd.DataFrame({"terms": ["|".join(own) for own in terms.values()]}, index=index, dtype=object)


def _annotations(path: AnyPath) -> Iterator[tuple[str, ...]]:
    """The names of an entity, and a term, of every annotation that counts."""
    with closing(read_lines(path, "\t")) as lines:  # type: ignore[type-var]
        head = [fields for _, fields in islice(lines, LINES)]
    if any(line[0].startswith("!gaf-version") or len(line) in GAF for line in head if not line[0].startswith("#")):
        for number, fields in _gaf_lines(path):
            yield (*(parse_id(path, number, fields[k], "gene") for k in (2, 1)), fields[4])
    elif any(_indices(line, HPOA) for line in head):
        table = read_hpoa(path)
        yield from zip(table["disease"], table["term"], strict=True)
    elif any(_indices(line, GENES_TO_PHENOTYPE) for line in head):
        warnings.warn(
            f"The phenotypes of genes in {path} are those of their diseases: they give the answer away where genes of "
            "diseases are predicted.",
            ReadingWarning,
            stacklevel=3,
        )
        for number, (gene, symbol, term) in _columns(path, GENES_TO_PHENOTYPE):
            yield symbol, parse_id(path, number, gene, "ncbi_gene_id"), parse_id(path, number, term, "hpo_id")
    else:
        table = read_text(path)
        if len(table.columns) > 1 and TERM.fullmatch(table.columns[1]):
            table = read_text(path, header=False)
        for number, name, term in zip(table.index, table.iloc[:, 0], table.iloc[:, 1], strict=True):
            yield parse_id(path, number, name, "id"), term


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

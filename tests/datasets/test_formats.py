"""Formats of the field: STRING's networks, SMILES, FASTA, and annotations of every kind."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from jointdr.datasets import (
    ReadingWarning,
    read_annotations,
    read_edges,
    read_gaf,
    read_pairs,
    read_sequences,
    read_smiles,
)

pytest.importorskip("pandas")

STRING = """protein1 protein2 combined_score
9606.A 9606.B 900
9606.B 9606.A 900
9606.C 9606.A 150
9606.A 9606.C 150
"""
DETAILED = """protein1 protein2 neighborhood fusion textmining combined_score
9606.A 9606.B 0 0 890 900
9606.B 9606.A 0 0 890 900
9606.C 9606.A 7 0 100 150
"""


def gaf(*lines):
    fields = [
        "UniProtKB",
        "",
        "",
        "",
        "",
        "r",
        "IEA",
        "",
        "F",
        "name",
        "s|t",
        "protein",
        "taxon:1",
        "2020",
        "D",
        "",
        "",
    ]
    found = []
    for accession, symbol, qualifier, term in lines:
        found.append("\t".join([fields[0], accession, symbol, qualifier, term, *fields[5:]]))
    return "!gaf-version: 2.2\n" + "\n".join(found) + "\n"


GAF = gaf(
    ("P1", "ONE", "", "GO:1"), ("P1", "ONE", "NOT|x", "GO:9"), ("P2", "TWO", "", "GO:2"), ("P1", "ONE", "", "GO:2")
)
HPOA = "#c\ndatabase_id\tdisease_name\tqualifier\thpo_id\taspect\n"
HPOA += "O:1\tx\t\tH:1\tP\nO:1\tx\t\tH:2\tI\nO:2\ty\tNOT\tH:1\tP\n"
GENES = "ncbi_gene_id\tgene_symbol\thpo_id\tdisease_id\n1\tS\tH:1\tO:1\n1\tS\tH:2\tO:1\n2\tT\tH:2\tO:1\n"


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


# ---------------------------------------------------------------- STRING


@pytest.mark.parametrize("text", [STRING, DETAILED], ids=["links", "detailed"])
def test_files_of_string_are_read_as_they_are(write, text):
    network = read_edges(write("9606.protein.links.v12.0.txt.gz", text))
    assert network.ids.tolist() == ["9606.A", "9606.B", "9606.C"]
    expected = [[0.0, 0.9, 0.15], [0.9, 0.0, 0.0], [0.15, 0.0, 0.0]]
    np.testing.assert_allclose(network.W.toarray(), expected)


def test_a_score_of_string_that_is_no_number_is_named_with_its_line(write):
    path = write("links.txt", STRING.replace("C 9606.A 150", "C 9606.A x"))
    with pytest.raises(ValueError, match="line 4, column 'combined_score': 'x' is not a finite number"):
        read_edges(path)
    with pytest.raises(ValueError, match=r"line 3: the link between '9606.B' and '9606.A' has the weight 0.8"):
        read_edges(write("links.txt", STRING.replace("B 9606.A 900", "B 9606.A 800")))


def test_pairs_of_string_have_the_score_of_all_evidence(write):
    pairs = read_pairs(write("links.detailed.txt.gz", DETAILED))
    assert list(pairs.columns) == ["protein1", "protein2", "combined_score"]
    assert pairs["combined_score"].tolist() == [900.0, 900.0, 150.0]


# ---------------------------------------------------------------- molecules and proteins


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.smi", "CCO x 1\nC[N+](C)C\ty\n"),
        ("a.smi.gz", "SMILES Name\nCCO x 1\nC[N+](C)C\ty\n"),
        ("a.csv", "id,weight,smiles\nx 1,2,CCO\ny,3,C[N+](C)C\n"),
        ("a.tsv", "id\tmolecule\nx 1\tCCO\ny\tC[N+](C)C\n"),
        ("a.csv", "id,other,Canonical_SMILES\nx 1,a,CCO\ny,b,C[N+](C)C\n"),
    ],
)
def test_molecules_with_their_ids(write, name, text):
    found = read_smiles(write(name, text))
    assert found["smiles"].to_dict() == {"x 1": "CCO", "y": "C[N+](C)C"}


def test_molecules_without_ids_or_with_the_same_one_are_refused(write):
    with pytest.raises(ValueError, match=r"a\.smi, line 2: it has no id after the molecule 'CCC'"):
        read_smiles(write("a.smi", "CCO x\nCCC\n"))
    with pytest.raises(ValueError, match="the id 'x' was on line 1 already"):
        read_smiles(write("a.smi", "CCO x\nCCC x\n"))
    with pytest.raises(ValueError, match="none of its columns is called smiles, and 2 have text"):
        read_smiles(write("a.csv", "id,a,b\nx,p,q\ny,q,r\n"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.fasta", ">sp|P1|ONE_HUMAN name\nMKK\nFF\n\n>x more\nAC\n"),
        ("a.fa.gz", ">tr|P1|ONE_HUMAN\nMKKFF\n>x\nA C\n"),
        ("a.csv", "id,length,Protein_sequence\nP1,5,MKKFF\nx,2,AC\n"),
    ],
)
def test_sequences_with_their_ids(write, name, text):
    found = read_sequences(write(name, text))
    assert found["sequence"].to_dict() == {"P1": "MKKFF", "x": "AC"}


def test_sequences_without_ids_are_refused(write):
    with pytest.raises(ValueError, match="line 3: the id after > is empty"):
        read_sequences(write("a.fasta", ">x\nMKK\n>\nAC\n"))
    with pytest.raises(ValueError, match="is empty"):
        read_sequences(write("a.fasta", ""))


# ---------------------------------------------------------------- annotations


def test_genes_by_symbol_or_by_accession(write):
    path = write("a.gaf", GAF)
    assert read_gaf(path)["gene"].tolist() == ["ONE", "TWO", "ONE"]
    assert read_gaf(path, id="accession")["gene"].tolist() == ["P1", "P2", "P1"]


@pytest.mark.parametrize(
    ("name", "text", "ids", "expected"),
    [
        ("goa.gaf.gz", GAF, (), {"ONE": "GO:1|GO:2", "TWO": "GO:2"}),
        ("goa.gaf", GAF, ("P2", "z"), {"P1": "GO:1|GO:2", "P2": "GO:2"}),
        ("phenotype.hpoa", HPOA, (), {"O:1": "H:1"}),
        ("a.tsv", "id\tterm\nx\tT:1\nx\tT:2\ny\tT:1\nx\tT:1\n", (), {"x": "T:1|T:2", "y": "T:1"}),
        ("a.csv", "x,T:1\ny,T:2\n", (), {"x": "T:1", "y": "T:2"}),  # without names
        ("a.csv", "id,terms\nx,a|b\ny,b\n", (), {"x": "a|b", "y": "b"}),
    ],
)
def test_annotations_of_every_format(write, name, text, ids, expected):
    assert read_annotations(write(name, text), ids)["terms"].to_dict() == expected


def test_phenotypes_of_genes_come_with_a_warning(write):
    path = write("genes_to_phenotype.txt", GENES)
    with pytest.warns(ReadingWarning, match="give the answer away"):
        assert read_annotations(path)["terms"].to_dict() == {"S": "H:1|H:2", "T": "H:2"}
    with pytest.warns(ReadingWarning, match="give the answer away"):
        assert read_annotations(path, ["1"])["terms"].to_dict() == {"1": "H:1|H:2", "2": "H:2"}

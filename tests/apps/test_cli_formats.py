"""Formats of the field on the command line: STRING's networks, molecules, sequences and annotations."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from jointdr import Dyads, TableEncoder, load
from jointdr.datasets import fingerprints, read_annotations, read_obo, read_pairs, read_smiles

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

from jointdr.apps.cli import inputs, main  # noqa: E402
from jointdr.apps.cli.options import TableFiles  # noqa: E402

DRUGS, TARGETS = [f"d{i:02d}" for i in range(24)], [f"P{j:02d}" for j in range(12)]
MOLECULES = [a + b + c for a in ("C", "CC", "N") for b in ("CO", "CN", "CCS", "C(F)") for c in ("C", "CCC")]
SETTINGS = ["--method", "none", "--bandwidth", "0.5", "-o", "model.npz"]
NGRAMS = ["--fingerprint", "ngrams"]
PAIRS = ["--pairs", "pairs.csv"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Drugs as molecules, targets as sequences and terms, in the files of the field."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random((20, 12)) < 0.5)
    pd.DataFrame({"drug": np.array(DRUGS)[i], "target": np.array(TARGETS)[j], "y": rng.random(len(i))}).to_csv(
        "pairs.csv", index=False
    )
    for name, at in (("drugs", slice(20)), ("new", slice(20, 24))):
        lines = [f"{smiles} {own}\n" for smiles, own in zip(MOLECULES[at], DRUGS[at], strict=True)]
        (tmp_path / f"{name}.smi").write_text("".join(lines))
        frame = pd.DataFrame({"id": DRUGS[at], "weight": rng.random(len(lines)), "SMILES": MOLECULES[at]})
        frame.to_csv(f"{name}.csv", index=False)
    proteins = ["".join(rng.choice(list("ACDEFGHIKL"), 20)) for _ in TARGETS]
    lines = [f">sp|{own}|X_HUMAN\n{text}\n" for own, text in zip(TARGETS, proteins, strict=True)]
    (tmp_path / "targets.fasta").write_text("".join(lines))
    frame = pd.DataFrame({"key": [f"t{k}" for k in range(12)], "uniprot": TARGETS, "length": rng.random(12)})
    frame.to_csv("targets.csv", index=False)
    fields = ["", "r", "IEA", "", "F", "n", "", "protein", "taxon:1", "2020", "D", "", ""]
    lines = ["\t".join(["U", own, f"S{k}", "", f"GO:{k % 4 + 2}", *fields[1:]]) for k, own in enumerate(TARGETS)]
    (tmp_path / "goa.gaf").write_text("!gaf-version: 2.2\n" + "\n".join(lines) + "\n")
    stanzas = ["[Term]\nid: GO:1\n", *(f"[Term]\nid: GO:{k}\nis_a: GO:{1 if k < 4 else 2}\n" for k in range(2, 7))]
    (tmp_path / "go.obo").write_text("\n".join(stanzas))
    (tmp_path / "more.tsv").write_text("id\tterm\nP90\tGO:6\nP91\tGO:3\n")
    return proteins


def fit(*words):
    others = [] if any(word.startswith("--column") for word in words) else ["--column-sequences", "targets.fasta"]
    assert main(["fit", *PAIRS, *words, *others, *SETTINGS]) == 0
    return load("model.npz")


def predicted(capsys, *words):
    assert main(["predict", "model.npz", *words, "-o", "scores.tsv"]) == 0
    capsys.readouterr()
    return pd.read_csv("scores.tsv", sep="\t")


def refused(capsys, words, *expected):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    for part in expected:
        assert part in printed.err.splitlines()[-1]


def test_a_network_of_string(data, tmp_path):
    lines = ["protein1 protein2 combined_score\n"]
    lines += [f"{a} {b} {600 + k}\n" for k, (a, b) in enumerate(zip(TARGETS, TARGETS[1:] + TARGETS[:1], strict=True))]
    (tmp_path / "links.txt").write_text("".join(lines))
    model = fit("--row-smiles", "drugs.smi", *NGRAMS, "--column-network", "links.txt", "--features", "3")
    assert model.n_features_per_view_ == (1024, 3)
    assert model.column_ids_.tolist() == TARGETS


def test_a_file_of_molecules_describes_fitted_and_new_rows(data, capsys):
    model = fit("--row-smiles", "drugs.smi", *NGRAMS, "--column-sequences", "targets.fasta")
    assert model.row_ids_.tolist() == DRUGS[:20]
    found = predicted(capsys, "--row-smiles", "new.smi")
    assert found["drug"].unique().tolist() == DRUGS[20:]
    expected = model.predict(pd.DataFrame({"smiles": MOLECULES[20:]}))
    np.testing.assert_allclose(found["score"].to_numpy().reshape(4, 12), expected, rtol=1e-5)
    assert np.ptp(expected, axis=0).max() > 0
    again = fit("--rows", "drugs.csv", "--use", "SMILES", "--row-smiles", "SMILES", *NGRAMS)
    np.testing.assert_array_equal(again.feature_names_per_view_[0], [f"SMILES bit {i}" for i in range(1024)])


def test_the_options_are_two_lines_of_python(data):
    files = TableFiles(
        pairs="pairs.csv", row_smiles="drugs.smi", column_annotations="goa.gaf", column_ontology="go.obo",
        fingerprint="ngrams",
    )  # fmt: skip
    dyads = inputs.dyads_of(files)
    rows, columns = read_smiles("drugs.smi"), read_annotations("goa.gaf", TARGETS)
    encoders = {
        "row_encoder": TableEncoder(smiles="smiles", fingerprint="ngrams"),
        "column_encoder": TableEncoder(terms="terms", ontology=read_obo("go.obo", relations=("is_a", "part_of"))),
    }
    expected = Dyads.from_tables(read_pairs("pairs.csv"), rows, columns, **encoders)
    np.testing.assert_array_equal(dyads.A, expected.A)
    order = [expected.column_ids.tolist().index(own) for own in dyads.column_ids]
    np.testing.assert_array_equal(dyads.B.toarray(), expected.B.toarray()[order])
    assert dyads.feature_names[1].tolist() == ["GO:2", "GO:3", "GO:4", "GO:5"]


def test_molecules_beside_a_table_are_joined_by_id(data, capsys):
    drugs = pd.read_csv("drugs.csv").drop(columns="SMILES").iloc[::-1]
    drugs.to_csv("drugs.csv", index=False)
    model = fit("--rows", "drugs.csv", "--row-smiles", "drugs.smi", *NGRAMS, "--column-sequences", "targets.fasta")
    assert model.feature_names_per_view_[0][:2].tolist() == ["weight", "smiles bit 0"]
    assert model.row_ids_.tolist() == DRUGS[:20][::-1]
    new = pd.read_csv("new.csv", index_col="id")
    expected = model.predict(new.rename(columns={"SMILES": "smiles"})).ravel()
    for words in (["--rows", "new.csv", "--row-smiles", "SMILES"], ["--rows", "new.csv", "--row-smiles", "new.smi"]):
        np.testing.assert_allclose(predicted(capsys, *words)["score"], expected, rtol=1e-5)
    new[["weight"]].to_csv("weights.csv")
    assert main(["explain", "model.npz", "d21", "P03", "--rows", "weights.csv", "--row-smiles", "new.smi"]) == 0
    assert f"d21 – P03: {expected.reshape(4, 12)[1, 3]:.4g}" in capsys.readouterr().out


def test_ids_of_files_may_stand_in_another_column_of_a_table(data, capsys):
    pairs = pd.read_csv("pairs.csv")
    pairs["target"] = pairs["target"].map({own: f"t{k}" for k, own in enumerate(TARGETS)})
    pairs.to_csv("pairs.csv", index=False)
    words = ["--row-smiles", "drugs.smi", *NGRAMS, "--columns", "targets.csv", "--column-sequences", "targets.fasta"]
    model = fit(*words)
    assert "The ids of targets.fasta are those in column 'uniprot' of --columns." in capsys.readouterr().err
    assert model.column_ids_.tolist() == [f"t{k}" for k in range(12)]
    assert model.n_features_per_view_[1] == 401


def test_terms_of_new_columns_count_for_their_ancestors(data, capsys):
    words = ["--row-smiles", "drugs.smi", *NGRAMS, "--column-annotations", "goa.gaf", "--column-ontology", "go.obo"]
    model = fit(*words)
    found = predicted(capsys, "--column-annotations", "more.tsv")
    assert found["target"].unique().tolist() == ["P90", "P91"]
    expected = model.predict(B_new=pd.DataFrame({"terms": ["GO:2", "GO:3"]}))  # GO:6 is a case of GO:2
    np.testing.assert_allclose(found["score"].to_numpy().reshape(20, 2), expected, rtol=1e-5)
    assert main(["recommend", "model.npz", "--column-annotations", "more.tsv", "-k", "1", "--row", "d03"]) == 0
    best = ["P90", "P91"][int(np.argmax(expected[3]))]
    assert capsys.readouterr().out.splitlines()[1].startswith(f"d03\t{best}\t")


def test_entities_without_terms_stay_and_are_counted(data, capsys):
    lines = Path("goa.gaf").read_text().splitlines()
    Path("goa.gaf").write_text("\n".join(lines[:-2]) + "\n")
    model = fit("--row-smiles", "drugs.smi", *NGRAMS, "--column-annotations", "goa.gaf")
    assert sorted(model.column_ids_) == TARGETS
    assert "entities without features of a column: 'terms' (2)" in capsys.readouterr().err


def test_a_dry_run_shows_what_becomes_of_molecules(data, capsys):
    assert main(["fit", *PAIRS, "--rows", "drugs.csv", "--row-smiles", "SMILES", *NGRAMS, "--dry-run"]) == 0
    assert "SMILES  smiles  1024" in capsys.readouterr().out


def test_errors_name_options(data, capsys):
    rows = ["fit", *PAIRS, "--rows", "drugs.csv"]
    refused(capsys, [*rows, "--row-smiles", "SMILE"], "--row-smiles SMILE: there is no such file", "weight, SMILES")
    refused(capsys, [*rows, "--row-ontology", "go.obo"], "--row-ontology is for the terms of --row-annotations")
    unknown = [*rows, "--row-sequences", "targets.fasta"]
    refused(capsys, unknown, "--row-sequences targets.fasta: none of its ids", "'P00'", "'d00'")
    wrong = [*rows, "--row-smiles", "SMILES", "--fingerprint", "x"]
    refused(capsys, wrong, "--fingerprint x is not understood", "'morgan'")
    pd.read_csv("drugs.csv").rename(columns={"SMILES": "smiles"}).to_csv("drugs.csv", index=False)
    refused(capsys, [*rows, "--row-smiles", "drugs.smi"], "--rows has a column 'smiles' already", "--row-smiles smiles")
    fit("--rows", "drugs.csv", "--drop", "smiles")
    capsys.readouterr()
    refused(capsys, ["predict", "model.npz", "--row-smiles", "new.smi"], "the model has no such features of rows")


def test_without_rdkit_the_error_says_what_to_do(data, capsys, monkeypatch):
    for name in ("rdkit", "rdkit.Chem"):
        monkeypatch.setitem(sys.modules, name, None)
    words = ["fit", *PAIRS, "--row-smiles", "drugs.smi"]
    refused(capsys, words, 'pip install "jointdr[chem]"', "--fingerprint ngrams does without")


def test_molecules_by_rdkit(data, capsys):
    pytest.importorskip("rdkit")
    model = fit("--row-smiles", "drugs.smi")
    new = pd.DataFrame({"smiles": MOLECULES[20:]})
    found = predicted(capsys, "--row-smiles", "new.smi")
    np.testing.assert_allclose(found["score"], model.predict(new).ravel(), rtol=1e-5)
    encoder = model.encoders_[0]
    np.testing.assert_array_equal(encoder.transform(new), fingerprints(MOLECULES[20:]))

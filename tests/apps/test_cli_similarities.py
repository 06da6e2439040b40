"""Similarities on the command line: from files, beside or instead of features, of all entities or of new ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jointdr import AssociationModel, Popularity
from jointdr.datasets import kernel_features

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

from jointdr.apps.cli import inputs, main  # noqa: E402
from jointdr.apps.cli.options import TableFiles  # noqa: E402

ROWS, COLUMNS = [f"{i:03d}" for i in range(30)], [f"g{j}" for j in range(20)]
SETTINGS = ["--method", "none", "--bandwidth", "0.5"]
OUT = ["-o", "model.npz"]
INPUT = ["--pairs", "pairs.tsv", "--columns", "columns.tsv"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Similarities of rows in tables of several kinds, features of columns, and pairs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    A, B = rng.random((30, 4)), rng.standard_normal((20, 3))
    i, j = np.nonzero(rng.random((30, 20)) < 0.3)
    pairs = pd.DataFrame({"drug": np.array(ROWS)[i], "gene": np.array(COLUMNS)[j], "score": 1.0})
    pairs.to_csv("pairs.tsv", sep="\t", index=False)
    pd.DataFrame(B, index=pd.Index(COLUMNS, name="id"), columns=list("xyz")).to_csv("columns.tsv", sep="\t")
    pd.DataFrame(A, index=pd.Index(ROWS, name="id"), columns=list("abcd")).to_csv("rows.tsv", sep="\t")
    pd.DataFrame({"id": ROWS}).to_csv("ids.tsv", sep="\t", index=False)
    chem = pd.DataFrame(A @ A.T, index=ROWS, columns=ROWS)
    chem.to_csv("chem.tsv", sep="\t")
    chem.iloc[::-1].to_csv("shuffled.csv")
    np.save("chem.npy", chem.to_numpy())
    go = pd.DataFrame(np.exp(-np.abs(np.subtract.outer(A[:, 0], A[:, 0]))), index=ROWS, columns=ROWS)
    go.to_csv("go.tsv", sep="\t")
    return chem, go


def source(*similarities, **files):
    """The input as options have it."""
    given = {"pairs": Path("pairs.tsv"), "columns": Path("columns.tsv"), **files}
    return TableFiles(**given, row_similarity=list(similarities))


def refused(capsys, words, *expected):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = [line for line in printed.err.splitlines() if not line.startswith(("Dyads(", "The similarities"))]
    for part in expected:
        assert part in line


def predictions(capsys, *words):
    assert main(["predict", "model.npz", *words, "--json"]) == 0
    return np.array([line["score"] for line in json.loads(capsys.readouterr().out)])


# ---------------------------------------------------------------- features of similarities


def test_similarities_alone_are_turned_into_features(data, capsys):
    assert main(["fit", *INPUT, "--row-similarity", "chem.tsv", *SETTINGS, *OUT]) == 0
    said = capsys.readouterr().err
    assert "similarities of 'drug', chem, are turned into 4 features" in said
    model = AssociationModel.load("model.npz")
    files = source("chem.tsv")
    dyads = inputs.dyads_of(files)
    A = kernel_features(data[0])
    expected = AssociationModel(None, head="kernel", bandwidth=0.5).fit(dyads.Y, A, dyads.B)
    np.testing.assert_allclose(model.predict(), expected.predict(), atol=1e-10)
    assert model.row_ids_.tolist() == ROWS
    assert model.similarity_names_ == ((), ())


@pytest.mark.parametrize(
    "given",
    [
        ["--row-similarity", "shuffled.csv"],
        ["--row-similarity", "chem.npy", "--rows", "ids.tsv"],
        ["--row-similarity", "named=chem.tsv", "--rows", "ids.tsv"],
    ],
    ids=["in another order", "in the order of a table", "by name"],
)
def test_every_form_gives_the_same_model(data, given, capsys):
    assert main(["fit", *INPUT, "--row-similarity", "chem.tsv", *SETTINGS, *OUT]) == 0
    capsys.readouterr()
    expected = predictions(capsys)
    assert main(["fit", *INPUT, *given, *SETTINGS, *OUT]) == 0
    capsys.readouterr()
    if "shuffled.csv" in given:
        model = AssociationModel.load("model.npz")
        assert model.row_ids_.tolist() == ROWS[::-1]
        found = model.predict(rows=ROWS).ravel()
    else:
        found = predictions(capsys)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_several_similarities_and_fewer_features(data, capsys):
    words = ["fit", *INPUT, "--row-similarity", "chem.tsv", "--row-similarity", "go.tsv", "--features", "3"]
    assert main([*words, *SETTINGS, *OUT, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["rows"]["features"] == 6
    assert "chem, go, are turned into 6 features" in printed.err
    model = AssociationModel.load("model.npz")
    A = np.hstack([kernel_features(S, 3) for S in data])
    points = model.coordinates()[0]
    scale = np.linalg.norm(A - A.mean(axis=0)) / np.linalg.norm(points)
    np.testing.assert_allclose(points * scale, A - A.mean(axis=0), atol=1e-8)


def test_the_default_fits_a_matrix_of_full_rank(data, capsys):
    """Centred features span one direction less than there are entities."""
    words = ["--pairs", "pairs.tsv", "--row-similarity", "go.tsv", "--column-similarity", "genes.tsv"]
    B = pd.read_csv("columns.tsv", sep="\t", index_col=0)
    D = ((B.to_numpy()[:, None] - B.to_numpy()[None]) ** 2).sum(axis=2)
    pd.DataFrame(np.exp(-D), index=COLUMNS, columns=COLUMNS).to_csv("genes.tsv", sep="\t")
    capsys.readouterr()
    assert main(["fit", *words, *OUT, "--method", "jdr", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["columns"]["features"] == 20
    assert printed["directions"] == 19


def test_without_a_method_entities_are_compared_by_their_similarities(data, capsys):
    words = ["--pairs", "pairs.tsv", "--row-similarity", "chem.tsv", "--rows", "rows.tsv", "--columns", "columns.tsv"]
    capsys.readouterr()
    assert main(["fit", *words, *OUT, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"]["similarities"] == ["chem"]
    assert printed["parameters"]["head"] == "auto"
    assert {"answer for rows", "answer for columns", "answer for both", "answer for pairs"} <= set(printed)


def test_tune_and_evaluate_take_them(data, capsys):
    similar = ["--row-similarity", "chem.tsv"]
    words = ["tune", *INPUT, *similar, *SETTINGS, "--try", "row_bandwidth=0.3,0.5", "--test-size", "0.3", *OUT]
    assert main(words) == 0
    assert "turned into 4 features" in capsys.readouterr().err
    words = ["evaluate", *INPUT, *similar, "--methods", "bilinear ridge,popularity", "--partitions", "1"]
    assert main([*words, "--test-size", "0.3", "--at", "5", "--out", "results", "--json"]) == 0
    printed = capsys.readouterr()
    assert "turned into 4 features" in printed.err
    table = json.loads(printed.out)
    assert [line["method"] for line in table] == ["bilinear ridge", "popularity"]
    assert table[0]["recall@5"] is not None


def test_a_report_reads_the_same_data(data, capsys):
    pytest.importorskip("jinja2")
    similar = ["--row-similarity", "chem.tsv"]
    assert main(["fit", *INPUT, *similar, "--rank", "2", "--bandwidth", "0.5", *OUT]) == 0
    assert main(["report", "model.npz", "-o", "report.html", *INPUT, *similar]) == 0


# ---------------------------------------------------------------- models that take similarities


def test_models_that_take_similarities_get_them(data):
    dyads = inputs.dyads_for(source("chem.tsv", "other=go.tsv"), takes_similarity=True)
    assert dyads.n_features == (0, 3)
    assert list(dyads.similarities[0]) == ["chem", "other"]
    np.testing.assert_allclose(dyads.similarities[0]["other"], data[1], atol=1e-12)
    dyads = inputs.dyads_for(source("chem.npy", rows=Path("rows.tsv")), takes_similarity=True)
    assert dyads.n_features == (4, 3)
    np.testing.assert_allclose(dyads.similarities[0]["chem"], data[0], atol=1e-12)


@pytest.fixture
def saved(data):
    """A model whose fit had similarities; this one leaves them out of account."""
    files = source("chem.tsv", "go.tsv")
    model = Popularity().fit(inputs.dyads_for(files, takes_similarity=True))
    model.save("model.npz")
    chem, go = data
    chem.iloc[[1, 3], ::-1].rename(index={"001": "new", "003": "newer"}).to_csv("new_chem.tsv", sep="\t")
    go.iloc[[3, 1]].rename(index={"001": "new", "003": "newer"}).to_csv("new_go.tsv", sep="\t")
    return model


NEW = ["--new-row-similarity", "chem=new_chem.tsv", "--new-row-similarity", "go=new_go.tsv"]


def test_new_rows_are_given_by_similarities(saved, capsys):
    assert main(["recommend", "model.npz", *NEW, "-k", "2", "--json"]) == 0
    found = pd.DataFrame(json.loads(capsys.readouterr().out))
    assert found["drug"].tolist() == ["new", "new", "newer", "newer"]
    assert main(["recommend", "model.npz", *NEW, "-k", "2", "--row", "newer", "--json"]) == 0
    assert {line["drug"] for line in json.loads(capsys.readouterr().out)} == {"newer"}
    np.testing.assert_allclose(predictions(capsys, *NEW), np.tile(saved.means_[1], 2))
    refused(
        capsys,
        ["recommend", "model.npz", *NEW, "--row", "x"],
        "There is no drug 'x' in chem=new_chem.tsv; the first is 'new'.",
    )


def test_new_columns_of_recommend(saved, capsys):
    B = pd.read_csv("columns.tsv", sep="\t", index_col=0)
    B[:3].rename(index={"g0": "h0"}).to_csv("new_columns.tsv", sep="\t")
    assert (
        main(["recommend", "model.npz", "--columns", "new_columns.tsv", "--row", "004", "--with-known", "--json"]) == 0
    )
    assert {line["gene"] for line in json.loads(capsys.readouterr().out)} == {"h0", "g1", "g2"}


def test_info_names_them(saved, capsys):
    assert main(["info", "model.npz", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == {"name": "drug", "count": 30, "features": 0, "similarities": ["chem", "go"]}
    assert found["columns"] == {"name": "gene", "count": 20, "features": 3}


def test_one_similarity_needs_no_name(data, capsys):
    files = source("chem.tsv")
    Popularity().fit(inputs.dyads_for(files, takes_similarity=True)).save("model.npz")
    data[0][:2].to_csv("anything.tsv", sep="\t")
    assert len(predictions(capsys, "--new-row-similarity", "anything.tsv")) == 40


# ---------------------------------------------------------------- bad input


def test_errors_name_the_option(data, capsys):
    fit = ["fit", *INPUT, *OUT, "--method", "jdr"]
    refused(capsys, fit, "This model needs features of rows: give one of --rows, --row-network, --row-similarity")
    refused(capsys, [*fit, "--row-similarity", "chem.npy"], "--row-similarity has no ids", "--rows")
    refused(capsys, [*fit, "--row-similarity", "nowhere.tsv"], "nowhere.tsv")
    refused(capsys, [*fit, "--row-similarity", "chem.tsv", "--row-similarity", "chem.npy"], "NAME=FILE")
    refused(capsys, [*fit, "--row-similarity", "chem.tsv", "--rows", "rows.tsv"], "--row-similarity", "--rows", "leave")
    refused(capsys, [*fit, "--row-similarity", "chem.tsv", "--components", "giant"], "--components is for networks,")
    refused(capsys, [*fit, "--rows", "rows.tsv", "--features", "3"], "--features is for networks and similarities")
    refused(
        capsys, [*fit, "--row-similarity", "chem.tsv", "--features", "99"], "--row-similarity chem", "--features 99"
    )
    chem = data[0].copy()
    chem.iloc[0, 1] = 7.0
    chem.to_csv("bad.tsv", sep="\t")
    refused(capsys, [*fit, "--row-similarity", "bad.tsv"], "--row-similarity 'bad' is not symmetric")
    (-data[0]).to_csv("negative.tsv", sep="\t")
    refused(capsys, [*fit, "--row-similarity", "negative.tsv"], "--row-similarity negative", "negative weights")
    refused(capsys, [*fit, "--row-similarity", "chem.tsv", "--data", "x.npz"], "--data", "leave out --pairs")


def test_errors_of_new_entities_name_the_option(saved, capsys):
    words = ["recommend", "model.npz"]
    refused(capsys, [*words, "--new-row-similarity", "x=new_chem.tsv"], "--new-row-similarity", "'x'", "'chem', 'go'")
    refused(capsys, [*words, "--new-column-similarity", "new_chem.tsv"], "--new-column-similarity", "are none")
    refused(capsys, [*words, "--rows", "rows.tsv"], "no features of 'drug', but got 4")
    narrow = pd.read_csv("new_chem.tsv", sep="\t", index_col=0, dtype={0: str}).iloc[:, :5]
    narrow.to_csv("narrow.tsv", sep="\t")
    refused(capsys, ["predict", "model.npz", "--new-row-similarity", "chem=narrow.tsv"], "--new-row-similarity 'chem'")


def test_similarities_beside_a_table_of_names(tmp_path, monkeypatch, capsys):
    """Which has no features: those that are made of the similarities are named by nothing that it has."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = [f"d{k}" for k in range(20)]
    S = np.exp(-((rng.random((20, 1)) - rng.random((1, 20))) ** 2))
    pd.DataFrame((S + S.T) / 2 + np.eye(20), index=ids, columns=ids).to_csv("s.csv", index_label="id")
    pd.DataFrame({"id": ids, "name": [f"Drug {k}" for k in range(20)]}).to_csv("drugs.csv", index=False)
    pd.DataFrame({"t": list("abcdef"), "u": rng.random(6), "v": rng.random(6)}).to_csv("targets.csv", index=False)
    i, j = np.nonzero(rng.random((20, 6)) < 0.4)
    pd.DataFrame({"drug": np.array(ids)[i], "t": np.array(list("abcdef"))[j]}).to_csv("pairs.csv", index=False)
    tables = ["--pairs", "pairs.csv", "--rows", "drugs.csv", "--columns", "targets.csv", "--row-similarity", "s.csv"]
    assert main(["fit", *tables, "--method", "imc", "--rank", "2", "-o", "model.npz"]) == 0
    capsys.readouterr()
    assert main(["recommend", "model.npz", "--row", "d3", "-k", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["drug"] == "d3"

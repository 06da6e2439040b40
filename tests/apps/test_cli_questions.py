"""Questions on the command line: both ways, by id or name, in the terms of the data, with progress and clear errors."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jointdr import IMC, JDR, AssociationModel, Dyads, load

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

from jointdr.apps.cli import main  # noqa: E402
from jointdr.apps.cli.entities import Directory  # noqa: E402

DRUGS, TARGETS = [f"D{i:04d}" for i in range(40)], [f"t{j}" for j in range(25)]
INPUT = ["--pairs", "pairs.tsv", "--rows", "drugs.csv", "--columns", "targets.tsv"]
KERNEL = ["--kernel", "cosine", "--bandwidth", "0.4", "--rank", "2"]
AUTO = ["--uses", "pairs"]  # the quickest of the questions of a model that is left to the data


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Drugs with names, of which the last five are new, and targets without."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 4)), rng.standard_normal((25, 3))
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((40, 25))
    monkeypatch.chdir(tmp_path)
    names = [f"Compound {chr(65 + i)}" if i < 26 else "twice" if i < 28 else "" for i in range(40)]
    drugs = pd.DataFrame(A, columns=list("wxyz")).assign(name=names)
    drugs.insert(0, "drug", DRUGS)
    drugs[:35].to_csv("drugs.csv", index=False)
    drugs[35:].assign(name=[f"New {i}" for i in range(5)]).to_csv("new.csv", index=False)
    pd.DataFrame(B, index=pd.Index(TARGETS, name="target"), columns=list("uvs")).to_csv("targets.tsv", sep="\t")
    i, j = np.nonzero(Y[:35] > 1.2)
    pd.DataFrame({"drug": np.array(DRUGS)[i], "target": np.array(TARGETS)[j]}).to_csv(
        "pairs.tsv", sep="\t", index=False
    )
    i, j = np.nonzero(rng.random((35, 25)) < 0.4)
    graded = pd.DataFrame({"drug": np.array(DRUGS)[i], "target": np.array(TARGETS)[j], "pkd": Y[i, j] + 6})
    graded.to_csv("graded.csv", index=False)
    np.save("a.npy", rng.standard_normal((300, 4)))
    np.save("b.npy", rng.standard_normal((300, 3)))
    np.save("y.npy", np.load("a.npy")[:, 0] * np.load("b.npy")[:, 1])
    return tmp_path


@pytest.fixture
def model(folder, capsys):
    assert main(["fit", *INPUT, *KERNEL, "-o", "model.npz"]) == 0
    capsys.readouterr()
    return load("model.npz")


def table(capsys, *words):
    """The table that a command prints, as text, with its numbers as numbers."""
    assert main(list(words)) == 0
    return pd.read_csv(io.StringIO(capsys.readouterr().out), sep="\t", keep_default_na=False)


def as_json(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def error(capsys, *words):
    """The sentence with which a command is refused."""
    assert main(list(words)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = [line for line in printed.err.splitlines() if line.startswith("Error: ")]
    return line


# ---------------------------------------------------------------- both ways


def test_the_best_rows_for_columns(model, capsys):
    found = table(capsys, "recommend", "model.npz", "--column", "t7", "--column", "t3", "-k", "4")
    expected = model.recommend(by="columns", columns=["t3", "t7"], k=4)
    assert found["target"].tolist() == ["t3"] * 4 + ["t7"] * 4
    assert found["drug"].tolist() == expected["row"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)
    of_new = table(capsys, "recommend", "model.npz", "--rows", "new.csv", "--column", "t3", "-k", "2")
    assert set(of_new["drug"]) <= set(DRUGS[35:])


def test_the_best_pairs_of_all(model, capsys):
    found = table(capsys, "recommend", "model.npz", "--top", "6")
    expected = model.recommend(by="pairs", k=6)
    assert list(zip(found["drug"], found["target"], strict=True)) == list(
        zip(expected["row"], expected["column"], strict=True)
    )
    assert found["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    few = table(capsys, "recommend", "model.npz", "--top", "3", "--row", "D0001", "--column", "t3", "--with-known")
    assert few[["drug", "target"]].to_numpy().tolist() == [["D0001", "t3"]]


def test_min_neighbors(model, capsys):
    whole = model.recommend(k=25)
    least = float(whole["neighbors"].median())
    expected = whole[whole["neighbors"] >= least].groupby("row", sort=False).head(3)
    found = table(capsys, "recommend", "model.npz", "-k", "3", "--min-neighbors", str(least))
    assert found["drug"].tolist() == expected["row"].tolist()
    assert found["target"].tolist() == expected["column"].tolist()
    assert found["rank"].tolist() == (expected.groupby("row").cumcount() + 1).tolist()
    assert main(["fit", *INPUT, "--method", "imc", "-o", "imc.npz"]) == 0
    capsys.readouterr()
    line = error(capsys, "recommend", "imc.npz", "--min-neighbors", "3")
    assert "--min-neighbors 3 is for models that count the known pairs" in line
    assert "--head kernel" in line


# ---------------------------------------------------------------- names


def test_names_stand_for_ids(model, capsys):
    by_id, by_name = (table(capsys, "recommend", "model.npz", "--row", word) for word in ("D0002", "compound c"))
    pd.testing.assert_frame_equal(by_id, by_name)
    assert set(by_id["drug_name"]) == {"Compound C"}
    assert as_json(capsys, "explain", "model.npz", "COMPOUND C", "t1")["drug"] == "D0002"
    Path("wanted.csv").write_text("drug,target\nCompound B,t4\nnew 1,t4\nD0030,t2\n")
    found = table(capsys, "predict", "model.npz", "--pairs", "wanted.csv", "--rows", "new.csv")
    assert found["drug"].tolist() == ["D0001", "D0036", "D0030"]
    assert found["drug_name"].tolist() == ["Compound B", "New 1", ""]
    assert "target_name" not in found
    assert main(["explain", "model.npz", "new 1", "t1", "--rows", "new.csv"]) == 0
    assert capsys.readouterr().out.startswith("D0036 (New 1) – t1: ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["recommend", "model.npz", "--row", "D0O03"], "There is no drug 'D0O03' in model.npz; did you mean 'D0003'?"),
        (["recommend", "model.npz", "--row", "compound-c"], "did you mean 'Compound C'?"),
        (["recommend", "model.npz", "--column", "T7"], "There is no target 'T7' in model.npz; did you mean 't7'?"),
        (["recommend", "model.npz", "--row", "twice"], "2 entities of 'drug' are called 'twice': give the id of one"),
        (["recommend", "model.npz", "--rows", "new.csv", "--row", "D0001"], "There is no drug 'D0001' in new.csv"),
        (["explain", "model.npz", "Compund C", "t1"], "did you mean 'Compound C'"),
        (["explain", "model.npz", "D0036", "t1x9", "--rows", "new.csv"], "There is no target 't1x9' in model.npz"),
        (
            ["similar", "model.npz", "t3"],
            "'t3' is one of the columns, and this asks for one of the rows: give --column too.",
        ),
        (["similar", "model.npz", "zebra"], "There is no drug 'zebra' in model.npz; the first is 'D0000'."),
        (["predict", "model.npz", "--pairs", "strange.csv", "--rows", "new.csv"], "'D00O1' in model.npz or new.csv"),
    ],
)
def test_mistyped_ids(model, words, hint, capsys):
    Path("strange.csv").write_text("drug,target\nD00O1,t1\n")
    assert hint in error(capsys, *words)


def test_an_id_without_its_zeros():
    with pytest.raises(ValueError, match=r"There is no user '7' in m\.npz; did you mean '007'\?"):
        Directory("user", dict.fromkeys(["001", "007", "070", "000"], ""), ("m.npz",)).id_of("7")


def test_near_matches_among_very_many(monkeypatch):
    monkeypatch.setattr("jointdr.apps.cli.entities.MOST_COMPARED", 10)
    ids = {f"{'abc'[i % 3]}{i:05d}": "" for i in range(3000)}
    with pytest.raises(ValueError, match="did you mean 'a00003'"):
        Directory("drug", ids, ("m",)).id_of("a0000e3")
    with pytest.raises(ValueError, match="the first is"):
        Directory("drug", {"x" * 5000: ""}, ("m",)).id_of("x" * 5001)


# ---------------------------------------------------------------- in the terms of the data


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_predict_reads_what_recommend_wrote(model, ending, capsys):
    assert main(["recommend", "model.npz", "--column", "t3", "-k", "5", "-o", f"best.{ending}"]) == 0
    best = pd.read_csv(f"best.{ending}", sep="," if ending == "csv" else "\t", keep_default_na=False)
    assert list(best.columns) == ["drug", "target", "drug_name", "score", "rank", "neighbors"]
    turned = best[best.columns[::-1]]
    turned.to_csv(f"turned.{ending}", sep="," if ending == "csv" else "\t", index=False)
    for name in ("best", "turned"):
        found = table(capsys, "predict", "model.npz", "--pairs", f"{name}.{ending}")
        assert found[["drug", "target"]].to_numpy().tolist() == best[["drug", "target"]].to_numpy().tolist()
        np.testing.assert_allclose(found["score"], best["score"], rtol=1e-5)


def test_predict_reads_what_recommend_wrote_of_a_kind_called_score(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((12, 3)), rng.standard_normal((9, 3))
    dyads = Dyads(A @ B.T, A, B, names=("row", "score"))
    AssociationModel(JDR(1), head="kernel", bandwidth=0.3).fit(dyads).save("m.npz")
    assert main(["recommend", "m.npz", "-k", "2", "--with-known", "-o", "best.csv"]) == 0
    best = pd.read_csv("best.csv")
    np.testing.assert_allclose(table(capsys, "predict", "m.npz", "--pairs", "best.csv")["score"], best["score"], 1e-5)
    best[["score", "column", "row"]].set_axis(["value", "score", "row"], axis=1).to_csv("named.csv", index=False)
    np.testing.assert_allclose(table(capsys, "predict", "m.npz", "--pairs", "named.csv")["score"], best["score"], 1e-5)


def test_pairs_without_a_header(model, monkeypatch, capsys):
    Path("listed.tsv").write_text("D0003\tt1\nD0004\tt2\n")
    assert table(capsys, "predict", "model.npz", "--pairs", "listed.tsv")["drug"].tolist() == ["D0003", "D0004"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1\tt1\n2\tt2\n")))
    assert main(["predict", "model.npz", "--pairs", "-"]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Warning: ")]
    assert line == (
        "Warning: The first line of standard input looks like values, not like names of columns, and is taken as such. "
        "The columns are called row, column."
    )


def test_kinds_without_names_are_rows_and_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((12, 3)), rng.standard_normal((9, 3))
    for names, headers in ((("a", "b"), ["row", "column"]), (("score", "b"), ["row", "column"])):
        AssociationModel(JDR(1), head="kernel", bandwidth=0.3).fit(Dyads(A @ B.T, A, B, names=names)).save("m.npz")
        assert list(table(capsys, "recommend", "m.npz", "-k", "1").columns)[:2] == headers


def test_bounds_stand_beside_scores_everywhere(folder, capsys):
    graded = ["--pairs", "graded.csv", *INPUT[2:]]
    assert main(["fit", *graded, *AUTO, "--quiet", "-o", "g.npz"]) == 0
    capsys.readouterr()
    (one,) = as_json(capsys, "recommend", "g.npz", "--top", "1")
    assert one["lower"] < one["score"] < one["upper"]
    why = as_json(capsys, "explain", "g.npz", one["drug"], one["target"], "-k", "2")
    assert [why[name] for name in ("score", "lower", "upper")] == pytest.approx(
        [one[name] for name in ("score", "lower", "upper")]
    )
    assert set(why["pairs"][0]) == {"drug", "target", "drug_name", "score", "weight", "contribution"}
    assert main(["explain", "g.npz", one["drug"], one["target"]]) == 0
    assert f"(lower {one['lower']:.4g}, upper {one['upper']:.4g})" in capsys.readouterr().out


# ---------------------------------------------------------------- similar


def test_similar(model, capsys):
    found = table(capsys, "similar", "model.npz", "Compound B", "-k", "3")
    assert list(found.columns) == ["drug", "drug_name", "similarity", "distance"]
    assert found["drug"].tolist() == model.similar(row="D0001", k=3)["row"].tolist()
    assert main(["similar", "model.npz", "t4", "--column", "-o", "near.csv"]) == 0
    assert pd.read_csv("near.csv")["target"].tolist() == model.similar(column="t4")["column"].tolist()
    new = pd.read_csv("new.csv", index_col=0)
    of_new = table(capsys, "similar", "model.npz", "D0036", "--rows", "new.csv", "-k", "2")
    assert of_new["drug"].tolist() == model.similar(row=new.loc[["D0036"]], k=2)["row"].tolist()
    assert "give --column too" in error(capsys, "similar", "model.npz", "t4", "--columns", "targets.tsv")


# ---------------------------------------------------------------- rank


def test_rank_auto(folder, capsys):
    assert main(["fit", *INPUT, "--rank", "auto", "-o", "model.npz"]) == 0
    fitted = load("model.npz").embedding_
    dyads = Dyads.from_tables(
        pd.read_csv("pairs.tsv", sep="\t"), pd.read_csv("drugs.csv"), pd.read_csv("targets.tsv", sep="\t")
    )
    assert fitted.n_components == "auto"
    assert fitted.n_components_ == JDR("auto", random_state=0).fit(dyads).n_components_
    views = ["--views", "a=a.npy", "b=b.npy", "--response", "y.npy"]
    assert main(["fit", *views, "--rank", "auto", "-o", "rows.npz"]) == 0
    assert load("rows.npz").n_components_ == 1
    words = ["tune", *INPUT, "--rank", "auto", "--try", "row_bandwidth=0.3,0.5", "-o", "tuned.npz"]
    assert main(words) == 0
    assert load("tuned.npz").embedding_.n_components == "auto"


# ---------------------------------------------------------------- progress and notes


LONG = {
    "fit": (["fit", *INPUT, *AUTO, "-o", "m.npz"], "choosing for pairs: "),
    "tune": (
        ["tune", *INPUT, *KERNEL, "--try", "row_bandwidth=0.3,0.5", "--splits", "1", "-o", "m.npz"],
        "tuning: 1 of 2",
    ),
    "evaluate": (
        ["evaluate", *INPUT, "--methods", "popularity", "--tune", "none", "--partitions", "2", "--out", "found"],
        "evaluating: 1 of 2",
    ),
    "views": (
        ["fit", "--views", "a=a.npy", "b=b.npy", "--response", "y.npy", "-o", "m.npz"],
        "reading: 300 of 300 rows",
    ),
}


@pytest.mark.parametrize("command", LONG)
def test_progress_comes_in_lines_where_there_is_no_terminal(folder, command, capsys, monkeypatch):
    monkeypatch.setattr("jointdr.runtime.progress.SILENCE", 0.0)
    words, line = LONG[command]
    assert main(words) == 0
    assert line in capsys.readouterr().err
    Path("m.npz").unlink(missing_ok=True)
    assert main([words[0], "--quiet", *words[1:]]) == 0
    printed = capsys.readouterr()
    assert [line for line in printed.err.splitlines() if not line.startswith("Warning: ")] == []
    assert printed.out


def test_quick_work_needs_no_lines_before_the_last(folder, capsys):
    assert main(LONG["tune"][0]) == 0
    err = capsys.readouterr().err
    assert "tuning: 1 of 2" not in err
    assert "tuning: 2 of 2" in err


def test_quiet_leaves_errors_and_warnings(folder, capsys):
    with open("pairs.tsv", "a") as file:
        file.write("strange\tt1\n")
    assert main(["--quiet", "fit", *INPUT, *KERNEL, "-o", "m.npz"]) == 0
    assert capsys.readouterr().err.startswith("Warning: 1 of")
    assert "nothing.npz" in error(capsys, "info", "nothing.npz", "--quiet")
    assert "leave one out" in error(capsys, "info", "--verbose", "m.npz", "--quiet")


def test_verbose_shows_the_log(folder, capsys):
    words = ["fit", *INPUT, *AUTO, "-o", "m.npz"]
    assert main(words) == 0
    assert "fitted what was chosen" not in capsys.readouterr().err
    assert main([*words, "--verbose"]) == 0
    err = capsys.readouterr().err
    for text in ("choosing a model of Dyads(", "screened ", "chosen for pairs: ", "fitted what was chosen to all"):
        assert text in err
    log = logging.getLogger("jointdr")
    assert [type(handler) for handler in log.handlers] == [logging.NullHandler]
    assert log.level == logging.NOTSET


# ---------------------------------------------------------------- errors name options


BAD = [
    ("--rank 0", "--rank 0 is not understood; give a number of directions >= 1, or auto."),
    ("--rank 1.5", "--rank 1.5 is not understood"),
    ("--rank 99", "--rank 99 is more than a view has features: there are 4 and 3."),
    ("--rank auto --method pca", "--rank auto is for --method jdr: give a number with --method pca."),
    ("--rank 99 --method imc", "--rank 99 must be an integer from 1 to 3"),
    ("--kernel square", "--kernel square is not understood; choose from"),
    ("--head tree", "--head tree is not understood"),
    ("--bandwidth -1", "--bandwidth -1 must be"),
    ("--raw-bandwidth nan", "--raw-bandwidth nan must be"),
    ("--mix 0.5,2", "--mix 0.5,2 must be"),
    ("--mix 0.5 --method none", "--mix adds raw features, which --method none has already"),
    ("--scale nan", "--scale nan is not understood; give 'sqrt' or the exponent"),
    ("--borrow 2", "--borrow 2 must be"),
    ("--borrow 0.5 --head bilinear", "--mix and --borrow are for kernels, which --head bilinear does not have"),
    ("--adaptive 0", "--adaptive 0 must be the number of a neighbor, an integer >= 1."),
    ("--adaptive 2 --kernel cosine", "--adaptive is for --kernel gaussian and --head kernel"),
    ("--nearest 0", "--nearest 0 must be 'auto', 'none' or an integer >= 1"),
    ("--nearest 2 --adaptive 5", "--nearest 2 is less than --adaptive 5"),
    ("--ridge -1", "--ridge -1 must be"),
    ("--alpha -1", "--alpha -1 must be a number >= 0."),
    ("--alpha nan --method imc", "--alpha nan must be"),
    ("--seed -1", "'--seed'"),
    ("--uses x", "--uses x is not understood"),
    ("--criterion speed", "--criterion speed is not understood"),
    ("--memory-budget x", "--memory-budget x must be a number of bytes, a text such as '2 GB'."),
    ("--features 2", "--features is for networks"),
    ("--observed x", "--observed x is not understood"),
    ("--duplicates x", "--duplicates x is not understood"),
    ("--use nothing", "--use nothing: neither --rows nor --columns"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_errors_of_fit_name_options(folder, options, message, capsys):
    line = error(capsys, "fit", *INPUT, *options.split(), "-o", "m.npz")
    assert message in line
    assert not Path("m.npz").exists()


ELSEWHERE = [
    (["tune", *INPUT, *KERNEL, "--by", "x"], "--by x is not understood"),
    (["tune", *INPUT, *KERNEL, "--splits", "0"], "--splits 0 must be an integer >= 1."),
    (["tune", *INPUT, *KERNEL, "--test-size", "2"], "--test-size 2 must be a share between 0 and 1."),
    (["tune", *INPUT, *KERNEL, "--try", "beta=1"], "--try names parameters that AssociationModel does not have"),
    (["tune", *INPUT, *KERNEL, "--try", "alpha"], "write --try NAME=VALUE,VALUE, such as --try alpha=0.1,1."),
    (["evaluate", *INPUT, "--methods", "magic", "--out", "e"], "Unknown --methods: ['magic']"),
    (
        ["evaluate", *INPUT, "--methods", "popularity", "--test-size", "0", "--out", "e"],
        "--test-size 0 must be a share",
    ),
    (["evaluate", *INPUT, "--methods", "popularity", "--partitions", "0", "--out", "e"], "--partitions 0 must be"),
    (["evaluate", *INPUT, "--methods", "popularity", "--tune", "x", "--out", "e"], "('each', 'once', 'none')"),
    (["evaluate", *INPUT, "--methods", "popularity", "--jobs", "0", "--out", "e"], "--jobs 0 must be"),
    (["recommend", "model.npz", "--top", "0"], "'--top'"),
    (["recommend", "model.npz", "--top", "2", "-k", "2"], "-k is the number for each row or column, and --top that of"),
    (["recommend", "model.npz", "--row", "D0001", "--column", "t1"], "give one of them, or --top N"),
    (["recommend", "model.npz", "--min-neighbors", "-1"], "--min-neighbors -1 must be a number >= 0."),
    (["explain", "model.npz", "D0001", "t1", "-k", "0"], "'-k'"),
    (["similar", "model.npz", "D0001", "-k", "0"], "'-k'"),
    (["report", "model.npz", "-o", "r.html", "-k", "0"], "-k 0 must be an integer >= 1."),
    (["report", "model.npz", "-o", "r.html", "--color", "c"], "give --rows-table or --columns-table."),
    (["fit", "--views", "a=a.npy", "b=b.npy", "-o", "m.npz"], "name it with --response."),
    (["fit", "--views", "a=a.npy", "b=b.npy", "--response", "y.npy", "--rank", "9", "-o", "m.npz"], "--rank 9 is more"),
    (["reproduce", "nothing"], "nothing is not understood; choose from figure1"),
    (["reproduce", "--jobs", "0"], "'--jobs'"),
]


@pytest.mark.parametrize(("words", "message"), ELSEWHERE)
def test_errors_of_other_commands_name_options(model, words, message, capsys):
    pytest.importorskip("jinja2")
    more = ["-o", "m.npz"] if words[0] == "tune" else []
    assert message in error(capsys, *words, *more)


def test_an_evaluation_without_any_result(folder, capsys, monkeypatch):
    def fail(*_, **__):
        raise ValueError("no luck")

    monkeypatch.setattr(IMC, "fit", fail)
    words = ["evaluate", *INPUT, "--methods", "IMC", "--tune", "none", "--partitions", "1", "--out", "found"]
    assert "None of --methods could be fitted: IMC: ValueError: no luck" in error(capsys, *words)


# ---------------------------------------------------------------- as a program


def run_alone(*words, **more):
    """A command in a process of its own."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, **more)


def test_completion(folder):
    asked = {
        **os.environ,
        "_JOINTDR_COMPLETE": "complete_bash",
        "COMP_WORDS": "jointdr recommend --min",
        "COMP_CWORD": "2",
    }
    assert run_alone("-m", "jointdr", env=asked).stdout.split() == ["--min-neighbors"]
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # whatever shell runs the tests, if any
    assert "_JOINTDR_COMPLETE" in run_alone("-m", "jointdr", "--show-completion", "bash", env=named).stdout


WITHOUT = ["matplotlib", "pyarrow", "polars", "dask", "distributed", "zarr", "rdkit", "faiss", "starlette", "uvicorn"]
WITHOUT += ["python_multipart", "lightgbm", "openpyxl", "torch", "anndata", "mudata", "skops"]


def test_the_extra_cli_is_enough(folder):
    """Every command on tables of text, where nothing else that is optional is installed."""
    pytest.importorskip("jinja2")  # a part of it
    commands = [
        ["fit", *INPUT, *KERNEL, "-o", "model.npz"],
        ["tune", *INPUT, *KERNEL, "--try", "row_bandwidth=0.3,0.5", "-o", "tuned.npz", "--results", "tried.csv"],
        ["recommend", "model.npz", "--rows", "new.csv", "-o", "best.csv"],
        ["recommend", "model.npz", "--top", "3", "--json"],
        ["predict", "model.npz", "--pairs", "best.csv", "--rows", "new.csv"],
        ["explain", "model.npz", "Compound B", "t1"],
        ["similar", "model.npz", "t1", "--column"],
        ["info", "model.npz"],
        ["evaluate", *INPUT, "--methods", "popularity", "--tune", "none", "--partitions", "2", "--out", "found"],
        ["report", "model.npz", "-o", "report.html", *INPUT, "--evaluation", "found"],
    ]
    program = (
        "import sys, json\nhidden = json.loads(sys.argv[1])\n"
        "class Hide:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.split('.')[0] in hidden: raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
        "from jointdr.apps.cli import main\n"
        "for words in json.loads(sys.argv[2]): assert main(words) == 0, words\n"
        "sys.exit(main(['explore', 'model.npz']))"
    )
    done = run_alone("-c", program, json.dumps(WITHOUT), json.dumps(commands))
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].endswith('pip install "jointdr[app]".')
    assert Path("report.html").stat().st_size > 10_000

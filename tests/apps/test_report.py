"""Reports without a browser: what is in the file, for every kind of model."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from jointdr import IMC, JDR, PCA, AssociationModel, Dyads, Popularity
from jointdr.apps import write_report
from jointdr.apps.cli import main
from jointdr.apps.report import contents, recommendations
from jointdr.apps.report.held_out import out_of
from jointdr.apps.report.page import as_json
from jointdr.apps.report.tables import About
from jointdr.apps.report.words import decimals_of, format_number
from jointdr.evaluation import evaluate


@pytest.fixture(scope="module")
def dyads():
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((80, 5)), rng.standard_normal((40, 4))
    Y = (A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((80, 40)) > 1).astype(float)
    rows, columns = [f"d{i}" for i in range(80)], [f"g{i}" for i in range(40)]
    return Dyads(Y, pd.DataFrame(A, index=rows), pd.DataFrame(B, index=columns), names=("disease", "gene"))


@pytest.fixture(scope="module")
def model(dyads):
    return AssociationModel(JDR(2), head="kernel", random_state=0).fit(dyads)


def data_of(path):
    """The numbers that the script of a report draws."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    return json.loads(text)


def test_everything_is_there(model, dyads, tmp_path):
    path = model.report(tmp_path / "report.html", dyads, evaluation={"ours": ([1, 2], [0.1, 0.2])}, k=3)
    page, data = path.read_text(), data_of(path)
    assert data["scree"]["chosen"] == 2
    assert len(data["scree"]["null"]["low"]) == 4
    listed = data["recommendations"]
    for by, k in (("rows", 3), ("columns", 3), ("pairs", 200)):
        best, found = model.recommend(by=by, k=k), listed["lists"][by]
        assert [listed["rows"][0][i] for i in found["row"]] == best["row"].tolist()
        assert [listed["columns"][0][i] for i in found["column"]] == best["column"].tolist()
        np.testing.assert_allclose(found["score"], best["score"], atol=0.5 * 10.0 ** -listed["decimals"]["score"])
        assert found["rank"] == best["rank"].tolist()
    z = data["map"]["kinds"][0]["z"]
    np.testing.assert_allclose(np.transpose(z), model._parts.sides[0].points[0], rtol=1e-3)
    assert data["map"]["kinds"][1]["ids"] == model.column_ids_.tolist()
    assert data["evaluation"]["curves"][0]["recall"] == [0.1, 0.2]
    assert '<th scope="row">rows</th><td>disease: 80, with 5 features</td>' in page
    assert '<th scope="row">head</th><td>kernel</td>' in page
    assert "http" not in re.sub(r'"http://www.w3.org/2000/svg"|http-equiv', "", page)  # nothing to be loaded


def test_a_saved_model_says_what_it_lacks(model, tmp_path):
    model.save(tmp_path / "model.npz")
    loaded = AssociationModel.load(tmp_path / "model.npz")
    path = loaded.report(tmp_path / "report.html")
    data = data_of(path)
    assert data["scree"]["null"] is None
    assert data["evaluation"] is None
    assert "permutations need the data of the fit" in path.read_text()
    assert "Methods were not compared" in path.read_text()
    assert len(data["map"]["kinds"][0]["ids"]) == 80


@pytest.mark.parametrize(
    ("make", "sections", "said"),
    [
        (lambda: AssociationModel(None, head="kernel", bandwidth=1.0), {"recommendations"}, "embedding=None"),
        (
            lambda: AssociationModel(PCA(2), head="kernel", bandwidth=1.0),
            {"scree", "map", "recommendations"},
            "no permutation test",
        ),
        (
            lambda: AssociationModel(JDR(1), head="kernel", bandwidth=1.0),
            {"scree", "recommendations"},
            "takes two directions",
        ),
        (lambda: AssociationModel(JDR(2), head="bilinear"), {"scree", "map", "recommendations"}, "permutations need"),
        (lambda: IMC(2), {"scree", "recommendations"}, "does not keep the entities"),
        (lambda: JDR(2), {"scree"}, "nothing to recommend"),
    ],
)
def test_every_model_gets_a_report(make, sections, said, dyads, tmp_path):
    path = write_report(make().fit(dyads), tmp_path / "report.html")
    assert {name for name, value in data_of(path).items() if value} == sections
    assert said in path.read_text()


@pytest.mark.parametrize("make", [lambda: IMC(2), lambda: JDR(2)])
def test_with_the_data_they_get_a_map(make, dyads, tmp_path):
    path = write_report(make().fit(dyads), tmp_path / "report.html", dyads)
    assert data_of(path)["map"]["kinds"][1]["ids"] == dyads.column_ids.tolist()


def test_three_views(tmp_path):
    rng = np.random.default_rng(0)
    X = tuple(rng.standard_normal((2000, 4)) for _ in range(3))
    y = X[0][:, 0] * X[1][:, 0] * X[2][:, 0]
    page = write_report(JDR(1).fit(X, y), tmp_path / "report.html").read_text()
    assert "for a JDR of two views" in page


def test_large_sets_are_thinned_and_it_is_said(model, dyads, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "MOST_POINTS", 30)
    monkeypatch.setattr(recommendations, "MOST_LISTED", 170)
    path = model.report(tmp_path / "report.html", k=5)
    data, page = data_of(path), path.read_text()
    shown = [len(kind["ids"]) for kind in data["map"]["kinds"]]
    assert sum(shown) == 30
    assert min(shown) >= 7
    assert "30 of 120 points, drawn at random" in page
    assert len(data["recommendations"]["lists"]["rows"]["score"]) == 160
    assert "2 instead of 5 for each disease" in page
    monkeypatch.setattr(recommendations, "MOST_LISTED", 50)
    monkeypatch.setattr(recommendations, "MOST_SCORED", 3199)
    path = model.report(tmp_path / "report.html", k=5)
    lists = data_of(path)["recommendations"]["lists"]
    assert list(lists) == ["rows"]
    assert lists["rows"]["rank"] == [1] * 50
    assert "the first 50 of 80 diseases" in path.read_text()
    assert (
        "The best diseases for each gene are not listed, because that takes the scores of 3.2e+03 pairs"
        in path.read_text()
    )


def test_five_thousand_points_stay_below_five_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((4000, 6)), rng.standard_normal((1000, 6))
    Y = np.zeros((4000, 1000))
    Y[np.arange(4000), rng.integers(1000, size=4000)] = 1.0
    rows = [f"a rather long identifier of row {i}" for i in range(4000)]
    dyads = Dyads(Y, pd.DataFrame(A, index=rows), B)
    path = AssociationModel(JDR(6), head="bilinear").fit(dyads).report(tmp_path / "report.html")
    data = data_of(path)
    assert sum(len(kind["ids"]) for kind in data["map"]["kinds"]) == 5000
    lists = data["recommendations"]["lists"]
    assert [len(lists[by]["score"]) for by in ("rows", "columns", "pairs")] == [20_000, 5000, 200]
    assert path.stat().st_size < 5_000_000


def test_json_cannot_end_its_element():
    evil = {"id": "</script><script>&\u2028"}
    assert not set("<>&\u2028") & set(as_json(evil))
    assert json.loads(as_json(evil)) == evil


def test_colours(model):
    rows = pd.DataFrame({"system": ["eye"] * 50 + ["skin"] * 29 + [None], "age": np.arange(80.0)}, index=model.row_ids_)
    about = About.of(model, rows[::-1], None, "system", None)  # found by id, whatever the order
    assert about.legend == ("eye", "skin")
    assert about.groups[0].tolist() == [0] * 50 + [1] * 29 + [-1]
    assert about.groups[1] is None
    about = About.of(model, rows, None, "age", "system")
    assert about.is_scale
    assert np.bincount(about.groups[0]).tolist() == [16] * 5
    assert about.labels[0][-2:] == ["skin", ""]
    few = pd.DataFrame({"system": pd.array(["eye", pd.NA], dtype="string")}, index=["d3", "d4"])
    about = About.of(model, few, None, "system", "system")  # most ids are not in the table, and one has no value
    assert np.flatnonzero(about.groups[0] >= 0).tolist() == [3]
    assert about.labels[0][2:5] == ["", "eye", ""]
    assert few.index.tolist() == ["d3", "d4"]
    with pytest.raises(ValueError, match="color='colour' is not a column of the tables given; they have system, age"):
        About.of(model, rows, None, "colour", None)
    with pytest.raises(ValueError, match="give rows= or columns="):
        About.of(model, None, None, None, "name")


@pytest.fixture(scope="module")
def graded(dyads):
    rng = np.random.default_rng(2)
    S = dyads.A[:, :2] @ dyads.B[:, :2].T + 0.3 * rng.standard_normal(dyads.shape) + 6
    observed = rng.uniform(size=S.shape) < 0.6
    A = pd.DataFrame(dyads.A, index=dyads.row_ids)
    A["name"] = [f"Disease {i}" for i in range(80)]
    return Dyads(S, A, pd.DataFrame(dyads.B, index=dyads.column_ids), observed, names=("disease", "gene"))


@pytest.fixture(scope="module")
def automatic(graded):
    return AssociationModel(uses=("rows", "pairs"), random_state=0).fit(graded)


def test_choices_are_beside_their_baseline(automatic, tmp_path):
    path = automatic.report(tmp_path / "report.html")
    page = path.read_text()
    lines = dict(re.findall(r'<tr><th scope="row">(new diseases.*?|unknown.*?)</th>(.*?)</tr>', page, re.DOTALL))
    assert list(lines) == ["new diseases with known genes", "unknown pairs of known diseases and genes"]
    for line, (_, first) in zip(
        lines.values(), automatic.choices_.groupby("question", sort=False).first().iterrows(), strict=True
    ):
        shown = [float(value.replace("−", "-")) for value in re.findall(r">(−?[\d.]+)<", line)]
        wanted = [first[name] for name in ("RMSE", "baseline RMSE", "concordance", "baseline concordance")]
        np.testing.assert_allclose(shown, wanted, atol=5.1e-4)
    assert "the mean of each gene" in page
    assert "Chosen for new diseases with known genes" in page
    assert "criterion</th><td>Held-out" not in page  # which is no parameter


def test_intervals_are_drawn_and_said(automatic, tmp_path):
    path = automatic.report(tmp_path / "report.html")
    panels = data_of(path)["calibration"]
    assert [panel["title"][:3] for panel in panels] == ["new", "unk"]
    for panel, by in zip(panels, ("rows", "pairs"), strict=True):
        table = automatic.calibration(by)
        np.testing.assert_allclose(panel["start"], table["score"], rtol=1e-3)
        np.testing.assert_allclose(panel["above"], table["upper"] - table["score"], rtol=2e-3)
        assert panel["end"][:-1] == panel["start"][1:]
        score, lower, upper = map(float, re.findall(r"[\d.]+(?=[: ]|\.$)", panel["words"].replace("90 %", "")))
        assert lower < score < upper
    listed = data_of(path)["recommendations"]
    best = automatic.recommend(by="pairs", k=1).iloc[0]
    value = {name: format_number(best[name], listed["decimals"]["score"]) for name in ("score", "lower", "upper")}
    assert f"predicted score {value['score']}, 90 % between {value['lower']} and {value['upper']}" in path.read_text()
    assert listed["decimals"]["lower"] == listed["decimals"]["score"]


def test_names_of_the_fit_are_shown(automatic, tmp_path):
    data = data_of(automatic.report(tmp_path / "report.html"))
    ids, names = data["recommendations"]["rows"]
    assert names == [f"Disease {i[1:]}" for i in ids]
    assert data["recommendations"]["columns"][1] is None
    assert data["map"]["kinds"][0]["labels"][:2] == ["Disease 0", "Disease 1"]
    other = pd.DataFrame({"title": [f"D {i}" for i in range(80)]}, index=automatic.row_ids_)
    data = data_of(automatic.report(tmp_path / "report.html", rows=other, label="title"))
    assert data["map"]["kinds"][0]["labels"][:2] == ["D 0", "D 1"]


def test_the_name_of_the_score_is_said(automatic, tmp_path, monkeypatch):
    monkeypatch.setattr(automatic, "score_name_", "pkd", raising=False)
    path = automatic.report(tmp_path / "report.html")
    assert data_of(path)["recommendations"]["score"] == "pkd"
    assert "predicted pkd" in path.read_text()


def test_rates_and_percentiles_of_associations(dyads, tmp_path):
    model = AssociationModel(uses=("rows", "pairs"), random_state=0).fit(dyads)
    path = model.report(tmp_path / "report.html")
    rate, percentile = data_of(path)["calibration"]
    assert (rate["kind"], percentile["kind"]) == ("listed_rate", "percentile")
    table = model.calibration("rows")
    np.testing.assert_allclose(rate["share"], 100 * table["listed_rate"], rtol=1e-3)
    assert re.fullmatch(r"A score of [\d.]+: \d+ of 100 held-out pairs with such a score were known.", rate["words"])
    assert re.fullmatch(r"A score of [\d.]+: 1 of 100 unknown pairs are above it.", percentile["words"])
    assert "percentile" in data_of(path)["recommendations"]["lists"]["rows"]
    assert "how many diseases a gene has" in path.read_text()


def test_nothing_is_left_to_recommend(graded, tmp_path):
    full = Dyads(graded.A[:, :2] @ graded.B[:, :2].T, graded.A, graded.B)
    path = AssociationModel(JDR(2), head="bilinear").fit(full).report(tmp_path / "report.html")
    assert "all pairs are known" in path.read_text()
    assert data_of(path)["recommendations"] is None


@pytest.mark.parametrize("form", ["evaluation", "folder", "table"])
def test_an_evaluation_of_graded_scores(automatic, graded, tmp_path, form):
    found = evaluate(
        graded, {"none": AssociationModel(JDR(2), head="bilinear"), "popularity": Popularity()}, n_partitions=2
    )
    found.to_csv(tmp_path / "results")
    given = {"evaluation": found, "folder": tmp_path / "results", "table": found.summary}[form]
    data = data_of(automatic.report(tmp_path / "report.html", evaluation=given))["evaluation"]
    assert data["curves"] is None
    assert [(panel["metric"], panel["better"]) for panel in data["graded"]] == [
        ("RMSE", "lower is better"),
        ("concordance", "higher is better"),
    ]
    for panel in data["graded"]:
        assert panel["methods"] == ["none", "popularity"]  # the better one first, by either
        mean, _, error, _ = zip(*(found.statistics(name, panel["metric"]) for name in panel["methods"]), strict=True)
        np.testing.assert_allclose(panel["mean"], mean, rtol=1e-3)
        np.testing.assert_allclose(panel["se"], error, rtol=1e-3)


def test_graded_evaluations_by_commands(automatic, graded, tmp_path):
    """What `jointdr evaluate` writes of graded pairs is what `jointdr report --evaluation` takes."""
    i, j = np.nonzero(graded.observed.toarray())
    pairs = pd.DataFrame({"disease": graded.row_ids[i], "gene": graded.column_ids[j], "pkd": graded.Y.toarray()[i, j]})
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    for name, ids, X in (("rows", graded.row_ids, graded.A), ("columns", graded.column_ids, graded.B)):
        pd.DataFrame(X, index=ids).to_csv(tmp_path / f"{name}.csv", index_label="id")
    data = [part for name in ("pairs", "rows", "columns") for part in (f"--{name}", str(tmp_path / f"{name}.csv"))]
    few = ["--methods", "bilinear ridge,popularity", "--partitions", "2", "--tune", "none"]
    assert main(["evaluate", *data, *few, "--out", str(tmp_path / "results")]) == 0
    automatic.save(tmp_path / "model.npz")
    out = tmp_path / "report.html"
    options = ["-o", str(out), "--evaluation", str(tmp_path / "results")]
    assert main(["report", str(tmp_path / "model.npz"), *options]) == 0
    assert data_of(out)["evaluation"]["graded"][0]["methods"] == ["bilinear ridge", "popularity"]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [([11.2301, 9.87, 3.1], 2), ([0.5, 0.51, 0.9], 3), ([1200.0, 3400.0], 0), ([2.5, 2.5], 2), ([], 0), ([0, 0], 0)],
)
def test_numbers_have_equal_decimals(values, decimals):
    assert decimals_of(values) == decimals
    assert len({len(format_number(v, decimals).partition(".")[2]) for v in values}) <= 1


def test_numbers_in_words():
    assert format_number(-0.0001, 2) == "0.00"
    assert format_number(-1.5, 1) == "−1.5"
    assert format_number(3.2e-9, decimals_of([1e-9, 3e-9])) == "3.2e−09"
    assert [out_of(share) for share in (0.31, 1.0, 0.004, 0.0)] == [
        "31 of 100",
        "100 of 100",
        "4 of 1000",
        "0 of 10000",
    ]


def test_what_cannot_be(model, dyads, tmp_path):
    with pytest.raises(ValueError, match="k=0"):
        model.report(tmp_path / "report.html", k=0)
    with pytest.raises(ValueError, match="other rows"):
        model.report(tmp_path / "report.html", dyads.rows(slice(0, 79)))
    with pytest.raises(TypeError, match="must be the Dyads"):
        model.report(tmp_path / "report.html", dyads.Y)
    assert not (tmp_path / "report.html").exists()


def test_without_jinja2_it_is_said_at_once(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(contents.Contents, "of", None)  # which must not be reached
    with pytest.raises(ImportError, match=r"jointdr\[report\]"):
        model.report(tmp_path / "report.html")


def test_command(model, dyads, tmp_path, capsys):
    model.save(tmp_path / "model.npz")
    JDR(2).fit(dyads).save(tmp_path / "jdr.npz")
    table = pd.DataFrame({"system": ["eye", "skin"] * 40, "number": range(80)}, index=model.row_ids_)
    table.to_csv(tmp_path / "rows.tsv", sep="\t")
    out = tmp_path / "report.html"
    options = ["--rows-table", str(tmp_path / "rows.tsv"), "--color", "system", "-k", "2", "--title", "A title"]
    assert main(["report", str(tmp_path / "model.npz"), "-o", str(out), *options]) == 0
    assert "open it in a browser" in capsys.readouterr().err
    assert data_of(out)["map"]["legend"]["groups"] == ["eye", "skin"]
    assert "<h1>A title</h1>" in out.read_text()
    assert main(["report", str(tmp_path / "jdr.npz"), "-o", str(out)]) == 0
    assert "nothing to recommend" in out.read_text()
    for wrong, said in (
        (["-o", str(tmp_path / "report.pdf")], "should end in .html"),
        (["-o", str(out), "--color", "system"], "not a column"),
        (["-o", str(out), "--rows", "rows.tsv"], "--pairs FILE"),
        (["-o", str(out), "--evaluation", str(tmp_path)], "neither curves.csv nor summary.csv"),
    ):
        assert main(["report", str(tmp_path / "model.npz"), *wrong]) == 2
        assert said in capsys.readouterr().err

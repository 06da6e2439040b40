"""Reports without a browser: what is in the file, for every kind of model."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from jointdr import IMC, JDR, PCA, AssociationModel, Dyads
from jointdr.apps import write_report
from jointdr.apps.cli import main
from jointdr.apps.report import contents
from jointdr.apps.report.page import as_json
from jointdr.apps.report.tables import About


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
    best = model.recommend(k=3)
    listed = data["recommendations"]
    assert [listed["rows"][0][i] for i in listed["row"]] == best["row"].tolist()
    assert [listed["columns"][0][i] for i in listed["column"]] == best["column"].tolist()
    np.testing.assert_allclose(listed["score"], best["score"], rtol=1e-3)
    z = data["map"]["kinds"][0]["z"]
    np.testing.assert_allclose(np.transpose(z), model._parts.sides[0].points[0], rtol=1e-3)
    assert data["map"]["kinds"][1]["ids"] == model.column_ids_.tolist()
    assert data["recall"]["curves"][0]["recall"] == [0.1, 0.2]
    assert "disease: 80, with 5 features" in page
    assert "http" not in re.sub(r'"http://www.w3.org/2000/svg"|http-equiv', "", page)  # nothing to be loaded


def test_a_saved_model_says_what_it_lacks(model, tmp_path):
    model.save(tmp_path / "model.npz")
    loaded = AssociationModel.load(tmp_path / "model.npz")
    path = loaded.report(tmp_path / "report.html")
    data = data_of(path)
    assert data["scree"]["null"] is None
    assert data["recall"] is None
    assert "permutations need the data of the fit" in path.read_text()
    assert "The model was not evaluated here" in path.read_text()
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
    assert {name for name, value in data_of(path).items() if value is not None} == sections
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
    monkeypatch.setattr(contents, "MOST_LISTED", 170)
    path = model.report(tmp_path / "report.html", k=5)
    data, page = data_of(path), path.read_text()
    shown = [len(kind["ids"]) for kind in data["map"]["kinds"]]
    assert sum(shown) == 30
    assert min(shown) >= 7
    assert "30 of 120 points, drawn at random" in page
    assert len(data["recommendations"]["score"]) == 160
    assert "2 instead of 5" in page
    monkeypatch.setattr(contents, "MOST_LISTED", 50)
    path = model.report(tmp_path / "report.html", k=5)
    assert data_of(path)["recommendations"]["rank"] == [1] * 50
    assert "the first 50 of 80 rows" in path.read_text()


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
    assert len(data["recommendations"]["score"]) == 20_000
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
        (["-o", str(out), "--evaluation", str(tmp_path)], "curves.csv"),
    ):
        assert main(["report", str(tmp_path / "model.npz"), *wrong]) == 2
        assert said in capsys.readouterr().err

"""Tables of any kind on the command line: which columns become features, and which have the ids."""

from __future__ import annotations

import gzip
import io
import json
import sys

import numpy as np
import pytest

from jointdr import load

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")

from jointdr.apps.cli import main  # noqa: E402

SETTINGS = ["--rank", "1", "--bandwidth", "0.3", "-o", "model.npz"]


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    drugs = pd.DataFrame(
        {
            "drug": [f"{k:03d}" for k in range(1, 41)],
            "name": [f"Drug {k}" for k in range(40)],
            "weight": rng.normal(300, 50, 40).round(1),
            "class": np.array(["acid", "base", "salt"])[rng.integers(0, 3, 40)],
            "code": np.array(["01", "2", "2A"])[rng.integers(0, 3, 40)],
            "oral": np.where(rng.random(40) < 0.5, "yes", "no"),
        }
    )
    drugs.loc[::9, "weight"] = np.nan
    targets = pd.DataFrame({"target": [f"t{k}" for k in range(20)], "length": rng.normal(500, 99, 20).round(0)})
    targets["charge"] = rng.standard_normal(20).round(2)
    i, j = np.nonzero(rng.random((40, 20)) < 0.3)
    pairs = pd.DataFrame({"drug": drugs.drug.to_numpy()[i], "target": targets.target.to_numpy()[j]})
    return pairs.assign(score=rng.random(len(i)).round(3)), drugs, targets


@pytest.fixture
def folder(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for table, name in zip(tables, ("pairs", "drugs", "targets"), strict=True):
        table.to_csv(f"{name}.csv", index=False)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """A command that succeeds, and what it printed; a table that is given stands for drugs.csv."""

    def command(*words, drugs="drugs.csv", pairs="pairs.csv", fails=False):
        tables = ["--pairs", pairs, "--rows", drugs, "--columns", "targets.csv"] if words[0] == "fit" else []
        capsys.readouterr()
        assert main([words[0], *tables, *words[1:]]) == (2 if fails else 0)
        return capsys.readouterr()

    return command


def treatment(run, *words, **options):
    """The kind and the features of every column of the drugs, and all messages."""
    out, err = run("fit", "--dry-run", "--json", *words, **options)
    drugs = next(iter(json.loads(out)["columns"].values()))
    return {line["column"]: (line["kind"], line["features"]) for line in drugs}, err


def test_dry_run_shows_every_column_and_fits_nothing(run, folder):
    out, err = run("fit", "--dry-run")
    lines = [line.split() for line in out.splitlines()]
    assert ["name", "name", "0"] in lines
    assert ["weight", "number", "weight,", "weight", "missing", "5"] in lines
    assert ["oral", "boolean", "oral", "0"] in lines
    assert "Known: all pairs, with the score 0 where none is listed." in out
    assert "gaps filled in: 'weight' (5)" in err
    assert not (folder / "model.npz").exists()
    found = json.loads(run("fit", "--dry-run", "--json", "--observed", "stored").out)
    assert found["known"] == "the listed pairs alone"
    assert "leave it out where --views are given" in run(
        "fit", "--dry-run", "--views", "a=a.npy", "b=b.npy", fails=True
    ).err.replace("\n", " ")


def test_use_and_drop(run):
    used, _ = treatment(run, "--use", "weight", "--use", "length", "--use", "charge")
    assert {name for name, (_, features) in used.items() if features} == {"weight"}
    assert used["name"][0] == "name"  # shown, and no feature
    dropped, _ = treatment(run, "--drop", "weight,code", "--drop", "charge")
    assert dropped["weight"] == dropped["code"] == ("left out", "")
    assert dropped["class"][0] == "category"
    for option in ("--use", "--drop"):
        message = run("fit", "--dry-run", option, "wight", fails=True).err
        assert f"{option} wight: neither --rows nor --columns has a column of this name" in message


def test_a_model_keeps_what_was_chosen(run, tables, folder):
    run("fit", *SETTINGS, "--drop", "code")
    model = load("model.npz")
    assert not any("code" in name for name in model.feature_names_per_view_[0])
    new = tables[1][:3].assign(drug=["n1", "n2", "n3"]).drop(columns="code")
    new[["oral", "class", "drug", "weight", "name"]].to_csv("new.csv", index=False, sep=";", decimal=",")
    out, err = run("recommend", "model.npz", "--rows", "new.csv", "-k", "1", "--json")
    assert [line["drug"] for line in json.loads(out)] == ["n1", "n2", "n3"]
    assert "gaps in 'weight' (1)" in err
    np.testing.assert_allclose(
        model.predict(new.set_index("drug")), model.predict(tables[1][:3].drop(columns="code").set_index("drug"))
    )


class TestIds:
    def test_in_any_column(self, run, tables, folder):
        """Also where they look like numbers, which lose their zeros."""
        expected, _ = treatment(run)
        for at in (1, 3, 5):
            names = [name for name in tables[1] if name != "drug"]
            tables[1][[*names[:at], "drug", *names[at:]]].to_csv("other.csv", index=False)
            found, err = treatment(run, drugs="other.csv")
            assert found == expected
            assert "column 'drug' of the table of rows, which agree best: --row drug and --row-id drug say so" in err
            named, err = treatment(run, "--row-id", "drug", drugs="other.csv")
            assert named == expected
            assert "agree best" not in err

    def test_a_column_that_is_named_is_taken(self, run):
        message = run("fit", "--dry-run", "--row-id", "name", fails=True).err
        assert "None of the pairs has both its ids in the entity tables" in message
        message = run("fit", "--dry-run", "--row-id", "nmae", fails=True).err
        assert "drugs.csv has no column 'nmae'; its columns are 'drug', 'name'" in message

    def test_columns_of_pairs_in_another_order(self, run, tables):
        pairs = tables[0].assign(year=2020)[["year", "target", "score", "drug"]]
        pairs.to_csv("turned.csv", index=False)
        out, err = run("fit", "--dry-run", "--score", "score", pairs="turned.csv")
        assert "Ids of rows are taken from column 'drug' of turned.csv" in err
        assert out.split("\n")[1] == "drug"

    def test_a_first_column_whose_values_come_again(self, run, tables):
        tables[1][["class", "drug", "weight"]].to_csv("other.csv", index=False)
        found, _ = treatment(run, drugs="other.csv")
        assert found["class"][0] == "category"

    def test_none_that_agrees(self, run, tables):
        tables[1].assign(drug=[f"x{k}" for k in range(40)], name="n").to_csv("other.csv", index=False)
        assert "None of the pairs has both its ids" in run("fit", "--dry-run", drugs="other.csv", fails=True).err


class TestLayouts:
    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("drugs.tsv", {"sep": "\t"}),
            ("drugs.txt", {"sep": "|"}),
            ("drugs.csv.gz", {"sep": ";", "decimal": ","}),
            ("german.csv", {"sep": ";", "decimal": ",", "encoding": "utf-8-sig", "lineterminator": "\r\n"}),
            ("quoted.csv", {"quoting": 1}),
        ],
    )
    def test_of_any_kind_give_the_same(self, run, tables, name, options):
        expected, _ = treatment(run)
        tables[1].to_csv(name, index=False, **options)
        assert treatment(run, drugs=name)[0] == expected

    def test_spreadsheets(self, run, tables):
        pytest.importorskip("openpyxl")
        expected, _ = treatment(run)
        tables[1].to_excel("drugs.xlsx", index=False)
        assert treatment(run, drugs="drugs.xlsx")[0] == expected

    @pytest.mark.parametrize("is_compressed", [False, True])
    def test_standard_input(self, run, tables, monkeypatch, is_compressed):
        text = tables[1][["name", "drug", "weight", "class"]].to_csv(index=False).encode()
        text = gzip.compress(text) if is_compressed else text
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert treatment(run, drugs="-")[0].keys() == {"name", "weight", "class"}

    def test_with_a_header_or_none(self, run, tables):
        for k, name in enumerate(("pairs", "drugs", "targets")):
            tables[k].to_csv(f"{name}.csv", index=False, header=False)
        found, err = treatment(run)
        assert list(found) == ["x1", "x2", "x3", "x4", "x5"]
        assert "say --header if it has names, --no-header if not" in err
        quiet, err = treatment(run, "--no-header")
        assert quiet == found
        assert "--header" not in err

    def test_latin_1_is_an_error_that_names_the_file(self, run, tables):
        tables[1].assign(name="Änne").to_csv("latin.csv", index=False, encoding="latin-1")
        message = run("fit", "--dry-run", drugs="latin.csv", fails=True).err
        assert "latin.csv is not text in UTF-8: save it as such" in message


def test_codes_of_new_tables_stay_text(run, tables):
    """A table whose codes all look like numbers is still one of codes: 01 is not 1."""
    run("fit", *SETTINGS)
    model = load("model.npz")
    some = tables[1][tables[1].code != "2A"][:6]
    some.assign(drug=[f"n{k}" for k in range(6)]).to_csv("new.csv", index=False)
    out, err = run("predict", "model.npz", "--rows", "new.csv", "--json")
    assert "no place for" not in err
    scores = np.array([line["score"] for line in json.loads(out)]).reshape(6, 20)
    np.testing.assert_allclose(scores, model.predict(some.set_index("drug")), atol=1e-5)


def test_messages_name_options(run, tables):
    pairs = pd.concat([tables[0], tables[0][:2]]).assign(score=lambda P: 7 + P.score, year=2020)
    pairs.to_csv("pairs.csv", index=False)
    _, err = run("fit", "--dry-run")
    assert "give --observed all" in err
    assert "are taken from column 'score' of pairs.csv; 'year' could be scores too: --score year takes them" in err
    assert "observed=" not in err
    assert "score=" not in err


def test_new_entities_need_ids(run, tables, folder):
    run("fit", *SETTINGS)
    tables[1][:2][["weight", "oral", "class"]].to_csv("new.csv", index=False)
    message = run("recommend", "model.npz", "--rows", "new.csv", fails=True).err
    assert "new.csv has no column 'drug', which had the ids of fitted rows, and its first one, 'weight'" in message

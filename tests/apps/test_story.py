"""The whole story of a new user: messy drugs.csv, targets.csv and pairs.csv, one command for each question."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from jointdr import AssociationModel, Dyads, PairsWarning, TableWarning, UnmatchedWarning, load
from tests.support.messy import N_NEW, make_messy

pd = pytest.importorskip("pandas")

WITHIN = 0.02  # of the correlation that tables prepared by hand give
FILES = ["--pairs", "pairs.csv", "--rows", "drugs.csv", "--columns", "targets.csv"]
IDS = {"drug_id": str}


def correlation(scores, messy):
    """That of predictions with the truth of pairs that are not listed."""
    unknown = messy.unknown
    return np.corrcoef(np.asarray(scores)[unknown], messy.truth[:-N_NEW][unknown])[0, 1]


@pytest.fixture(scope="module")
def messy():
    return make_messy()


@pytest.fixture(scope="module")
def by_hand(messy):
    """What the same model predicts from features that were prepared by hand."""
    dyads = Dyads(messy.known, messy.A[:-N_NEW], messy.B, "stored")
    model = AssociationModel(random_state=0, uses=("rows", "pairs")).fit(dyads)
    return model.predict(), model.predict(messy.A[-N_NEW:])


@pytest.fixture(scope="module")
def folder(messy, tmp_path_factory):
    """The four files, and model.npz, which one command made of them; what it printed is in fit.txt."""
    pytest.importorskip("typer")
    from jointdr.apps.cli import main

    folder = tmp_path_factory.mktemp("story")
    messy.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["fit", *FILES, "--uses", "rows,pairs"]) == 0
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """A command in that folder: its output, as JSON where that is asked for, and its messages."""
    from jointdr.apps.cli import main

    monkeypatch.chdir(folder)
    capsys.readouterr()

    def command(*words):
        assert main([*words]) == 0
        out, err = capsys.readouterr()
        return (json.loads(out) if "--json" in words else out), err

    return command


def test_a_look_at_the_tables_names_everything_that_is_lost(run):
    out, err = run("fit", *FILES, "--dry-run")
    for said in (
        "column 'drug_id' of the table of rows, which agree best",  # 0007, in the second column
        "those that come again are joined, their scores are averaged",
        "Scores are far from 0",
        "'source' (constant)",
        "4 of 1162 pairs were left out: 1 row ids",
        "gaps filled in: 'weight' (",
    ):
        assert said in err
    assert "notes     left out" in out
    assert "approved  date" in out
    assert "oral      boolean" in out
    assert "Known: the listed pairs alone." in out


def test_predictions_are_as_good_as_those_of_tables_prepared_by_hand(run, folder, messy, by_hand):
    known, new = by_hand
    run("predict", "model.npz", "-o", "scores.csv")
    scores = pd.read_csv("scores.csv", dtype={"drug": str}).pivot(index="drug", columns="target", values="score")
    scores = scores.loc[messy.drugs.drug_id, messy.targets.target]
    best = correlation(known, messy)
    assert best > 0.9
    assert correlation(scores, messy) > best - WITHIN
    with pytest.warns(TableWarning, match="gaps"):
        found = load(folder / "model.npz").predict(messy.new)
    truth = messy.truth[-N_NEW:].ravel()
    assert np.corrcoef(found.ravel(), truth)[0, 1] > np.corrcoef(new.ravel(), truth)[0, 1] - 2 * WITHIN


def test_the_best_targets_of_a_drug(run, messy):
    best, _ = run("recommend", "model.npz", "--row", "0007", "-k", "5", "--json")
    assert [line["drug"] for line in best] == ["0007"] * 5
    known = messy.pairs.target[messy.pairs.drug == "0007"]
    assert not {line["target"] for line in best} & set(known)
    assert all(4 < line["lower"] < line["score"] < line["upper"] < 11 for line in best)


def test_the_best_drugs_of_a_target_and_the_best_pairs_of_all(run, messy):
    best, _ = run("recommend", "model.npz", "--column", "T003", "-k", "5", "--json")
    assert [line["target"] for line in best] == ["T003"] * 5
    assert not {line["drug"] for line in best} & set(messy.pairs.drug[messy.pairs.target == "T003"])
    names = messy.drugs.set_index("drug_id").name
    assert [line["drug_name"] for line in best] == names[[line["drug"] for line in best]].tolist()
    top, _ = run("recommend", "model.npz", "--top", "7", "--json")
    scores = [line["score"] for line in top]
    assert len(top) == 7
    assert scores == sorted(scores, reverse=True)
    assert scores[0] >= best[0]["score"]
    by_name, _ = run("recommend", "model.npz", "--row", names.iloc[2].upper(), "-k", "1", "--json")
    assert by_name[0]["drug"] == messy.drugs.drug_id.iloc[2]


def test_the_best_targets_of_new_drugs_with_columns_in_another_order(run, messy):
    best, err = run("recommend", "model.npz", "--rows", "new.csv", "-k", "1", "--json")
    assert [line["drug"] for line in best] == messy.new.drug_id.tolist()
    assert "The new table of 'drug' is given with gaps in" in err
    assert "without" not in err
    some = messy.new.drop(columns=["logp"]).assign(color="white")
    some.to_csv("some.csv", index=False)
    _, err = run("recommend", "model.npz", "--rows", "some.csv", "-k", "1", "--json")
    assert "is given without the columns logp; with columns that the fitted table did not have" in err
    assert "color" in err


def test_reasons_and_a_report(run, messy):
    reasons, _ = run("explain", "model.npz", "0007", "T003", "-k", "3", "--json")
    assert reasons["score"] == pytest.approx(load("model.npz").predict()[0, 3], abs=1e-6)
    run("report", "model.npz", "-o", "report.html")
    assert os.path.getsize("report.html") > 10_000


def _tables(read, folder, **ids):
    """The three tables as a library reads them by itself."""
    drugs = read(folder / "drugs.csv", **ids)
    pairs = read(folder / "pairs.csv", **{name: {"drug": kind["drug_id"]} for name, kind in ids.items()})
    return pairs, drugs


@pytest.mark.filterwarnings("ignore::jointdr.PairsWarning", "ignore::jointdr.TableWarning")
@pytest.mark.filterwarnings("ignore::jointdr.UnmatchedWarning")
def test_the_same_with_pandas_and_polars(folder, messy):
    pl = pytest.importorskip("polars")
    targets = pd.read_csv(folder / "targets.csv", sep=";", decimal=",")
    pairs, drugs = _tables(pd.read_csv, folder, dtype=IDS)
    names = {"names": ("drug", "target")}
    of_pandas = Dyads.from_tables(pairs, drugs, targets, **names)
    pairs, drugs = _tables(pl.read_csv, folder, schema_overrides={"drug_id": pl.String})
    of_polars = Dyads.from_tables(pairs, drugs, pl.from_pandas(targets), **names)
    for one, two in ((of_pandas.A, of_polars.A), (of_pandas.B, of_polars.B), (of_pandas.Y.data, of_polars.Y.data)):
        np.testing.assert_allclose(one, two)
    assert of_pandas.row_ids.tolist() == of_polars.row_ids.tolist() == messy.drugs.drug_id.tolist()
    assert of_pandas.labels[0].tolist() == of_polars.labels[0].tolist() == messy.drugs.name.tolist()

    model = AssociationModel(random_state=0, uses=("rows", "pairs")).fit(of_polars)
    fitted = load(folder / "model.npz")
    np.testing.assert_allclose(model.predict(), fitted.predict(), atol=1e-8)
    new = messy.new.reset_index(drop=True)
    for table in (new, pl.from_pandas(new), new.set_index("drug_id")):
        best = model.recommend(table, k=1)
        assert best["row"].tolist() == messy.new.drug_id.tolist()
        np.testing.assert_allclose(best["score"], fitted.recommend(new, k=1)["score"], atol=1e-8)


@pytest.mark.filterwarnings("ignore::jointdr.TableWarning", "ignore::jointdr.PairsWarning")
@pytest.mark.filterwarnings("ignore::jointdr.UnmatchedWarning")
def test_the_same_with_anndata(folder, messy):
    anndata = pytest.importorskip("anndata")
    drugs, targets = messy.drugs.set_index("drug_id"), messy.targets.set_index("target")
    pairs = messy.pairs[messy.pairs.drug.isin(drugs.index)].groupby(["drug", "target"]).pkd.mean().unstack()
    adata = anndata.AnnData(pairs.reindex(drugs.index)[targets.index].to_numpy(), obs=drugs, var=targets)
    dyads = Dyads.from_anndata(adata, names=("drug", "target"))
    model = AssociationModel(random_state=0, uses=("rows", "pairs")).fit(dyads)
    assert correlation(model.predict(), messy) > correlation(load(folder / "model.npz").predict(), messy) - WITHIN
    new = messy.new.set_index("drug_id")
    best = model.recommend(new[new.columns[::-1]], k=1)
    assert best["row"].tolist() == messy.new.drug_id.tolist()


def test_nothing_is_lost_in_silence(messy):
    with pytest.warns() as caught:
        Dyads.from_tables(messy.pairs, messy.drugs, messy.targets)
    kinds = {str(warning.message)[:12]: warning.category for warning in caught}
    assert (
        kinds.items()
        >= {
            "Ids of rows ": PairsWarning,
            "1158 lines l": PairsWarning,
            "Scores are f": PairsWarning,
            "The table of": TableWarning,
            "4 of 1162 pa": UnmatchedWarning,
        }.items()
    ), kinds

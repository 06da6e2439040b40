"""The frame of the reproduction on small settings: seeds, jobs, cache, verdicts, files. tests/paper has the figures."""

from __future__ import annotations

import csv
import json
from functools import partial

import numpy as np
import pytest

from jointdr import JDR, config_context
from jointdr.apps import reproduce
from jointdr.apps.cli.app import run as command
from jointdr.apps.reproduce import FIGURES, paper_values, schedule, synthetic
from jointdr.apps.reproduce.cache import Cache
from jointdr.apps.reproduce.paper_values import Plotted
from jointdr.apps.reproduce.schedule import measure_studies
from jointdr.apps.reproduce.study import Figure, Line, Panel, Study
from jointdr.apps.reproduce.summary import Verdict
from jointdr.datasets import SyntheticModel
from jointdr.metrics import nsee
from jointdr.plot import Curve
from jointdr.runtime import memory

X = (300, 500)


def small_study(link="bilinear", x=X, n=6, name="small"):
    cells = [synthetic.Cell(SyntheticModel(link, n, 2), JDR(2, normalize=None), m) for m in x]
    return synthetic.nsee_study(name, "m", x, {"JDR": cells})


def small_figure(study, name="small"):
    plotted = Plotted("m", study.x, (-1.0,) * len(study.x))
    return Figure(name, name, (Panel("one panel", (Line("JDR", study, "JDR", plotted=plotted, tolerance=9.0),)),), 1)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setitem(FIGURES, "small", lambda data: small_figure(small_study()))


def values_of(folder):
    return {
        path.name: json.loads(path.read_text())["values"] for path in sorted(folder.glob("cache/*/repetitions-*.json"))
    }


# ---------------------------------------------------------------- numbers


def test_the_numbers_do_not_depend_on_jobs(small, tmp_path, monkeypatch):
    monkeypatch.setattr(schedule, "BATCH_SECONDS", 0.1)  # several batches
    for jobs in (1, 2):
        reproduce("small", out=tmp_path / str(jobs), repetitions=6, jobs=jobs, progress=False)
    one, two = (values_of(tmp_path / str(jobs)) for jobs in (1, 2))
    assert len(one) > 1
    assert one == two
    assert (tmp_path / "1/small.csv").read_text() == (tmp_path / "2/small.csv").read_text()


def budget_here(seed):
    return np.array([[float(memory.budget())]])


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_share_the_memory_budget(jobs, tmp_path):
    study = Study("budget", "m", (300,), ("JDR",), budget_here, {"setting": 0}, seconds=20.0)
    with config_context(memory_budget="40 MB"):
        found = measure_studies([study], [3], Cache(tmp_path), jobs, lambda *_: None)
    assert (found["budget"] == 40_000_000 / jobs).all()


@pytest.mark.parametrize("link", ["bilinear", "rbf"])
def test_a_pass_over_blocks_gives_the_fit_to_the_first_rows(link, monkeypatch):
    monkeypatch.setattr(synthetic, "VIEW_BYTES", 4 * 6 * 1500)
    x = (1000, 3000, 4000)  # inside of a block, at its end, and at the end of all
    study = small_study(link, x)
    for m, found in zip(x, study.measure(7)[0], strict=True):
        X, y, truth = SyntheticModel(link, 6, 2).sample(m, 7, np.float32)
        assert found == pytest.approx(nsee(truth, JDR(2, normalize=None).fit(X, y).embeddings_), rel=1e-4)


def test_cells_that_share_draws_have_the_errors_of_their_own():
    def cell(s, r):
        return synthetic.Cell(
            SyntheticModel("rbf", 12, r, n_informative=s), JDR(r, normalize=None, n_features_to_select=s), 3000
        )

    curves = {"r = 1": [cell(3, 1), cell(6, 1)], "r = 2": [None, cell(6, 2)]}
    together = synthetic.nsee_study("together", "s", (3, 6), curves).measure(5)
    for curve, row in zip(curves.values(), together, strict=True):
        for alone, found in zip(curve, row, strict=True):
            if alone is None:
                assert np.isnan(found)
            else:
                assert found == synthetic.nsee_study("alone", "s", (3,), {"": [alone]}).measure(5)[0, 0]


def test_every_repetition_of_every_study_has_its_own_seed():
    studies = [study for name in ("figure1", "violations", "phd") for study in FIGURES[name](None).studies]
    seeds = {study.seed(i) for study in studies for i in range(100)}
    assert len(seeds) == 100 * len(studies)
    assert studies[0].seed(3) == FIGURES["figure1"](None).studies[0].seed(3)


# ---------------------------------------------------------------- the cache


class Interrupted(BaseException):
    pass


def counted(calls, break_at, seed):
    if len(calls) == break_at:
        raise Interrupted
    calls.append(seed)
    return np.array([[seed % 7 + 1.0, 1.0]])


def counting_study(calls, break_at=None, settings=0):
    measure = partial(counted, calls, break_at)
    return Study("counting", "m", X, ("JDR",), measure, {"setting": settings}, seconds=4.0)  # batches of two


def run(study, repetitions, folder):
    return measure_studies([study], [repetitions], Cache(folder), 1, lambda doing, share, left: None)["counting"]


def test_an_interrupted_run_goes_on_without_repeating_anything(tmp_path):
    first, second, whole = [], [], []
    with pytest.raises(Interrupted):
        run(counting_study(first, break_at=5), 8, tmp_path)
    result = run(counting_study(second), 8, tmp_path)
    expected = run(counting_study(whole), 8, tmp_path / "undisturbed")
    assert second == whole[4:]  # the fifth was made, but its batch was not complete
    np.testing.assert_array_equal(result, expected)
    run(counting_study(second), 8, tmp_path)
    assert len(second) == 4


def test_more_repetitions_are_added_to_those_that_are_there(tmp_path):
    calls = []
    few = run(counting_study(calls), 3, tmp_path)
    many = run(counting_study(calls), 10, tmp_path)
    assert len(calls) == len(set(calls)) == 10
    np.testing.assert_array_equal(many[:3], few)
    np.testing.assert_array_equal(run(counting_study(calls), 3, tmp_path), few)


def test_changed_settings_are_measured_anew_and_old_ones_come_back(tmp_path):
    calls = []
    for settings, count in ((0, 2), (1, 4), (0, 4)):
        run(counting_study(calls, settings=settings), 2, tmp_path)
        assert len(calls) == count


def test_the_key_sees_every_setting_of_models_and_methods():
    def key(method=None, m=100, **model):
        cell = synthetic.Cell(SyntheticModel("bilinear", 6, 2, **model), method or JDR(2), m)
        return synthetic.nsee_study("one", "m", (m,), {"JDR": [cell]}).key

    assert key() == key()
    assert len({key(), key(m=200), key(noise=2.0), key(features="uniform"), key(JDR(2, ridge=0.1))}) == 5


def test_unfinished_files_are_not_read_and_damaged_ones_are_named(tmp_path):
    study = counting_study([])
    run(study, 2, tmp_path)
    (finished,) = tmp_path.glob("*/repetitions-*.json")
    finished.with_name(".repetitions-0002-0003.json.99").write_text('{"values": {"2"')
    assert set(Cache(tmp_path).load(study)) == {0, 1}
    finished.write_text(finished.read_text()[:-5])
    with pytest.raises(ValueError, match=r"repetitions-0000-0001\.json is damaged.*delete it"):
        Cache(tmp_path).load(study)


# ---------------------------------------------------------------- the paper's values and the verdicts


def test_every_panel_has_the_papers_values():
    panels = {name: FIGURES[name](None).panels for name in ("figure1", "violations", "phd")}
    assert [len(p) for p in panels.values()] == [8, 4, 2]
    used = []
    for panel in (panel for p in panels.values() for panel in p):
        plotted = [line for line in panel.lines if line.plotted is not None]
        assert plotted
        for line in plotted:
            assert len(line.plotted.log_nsee) == len(line.plotted.x) == len(set(line.plotted.x))
            assert (line.plotted.varies, line.plotted.x) == (line.study.varies, line.study.x)
            assert max(line.plotted.log_nsee) < 0 < line.tolerance
            assert line.curve in line.study.curves
            used.append(line.plotted)
    tables = (paper_values.FIGURE_1, paper_values.VIOLATIONS, paper_values.PHD)
    assert {id(p) for p in used} == {id(p) for table in tables for p in table.values()}


def verdict_of(log_means, errors, plotted=(-1.0, -2.0), tolerance=0.1, repetitions=100):
    curve = Curve(np.array([10.0, 20.0]), np.array(log_means), np.array(errors), 0.0, 0.0, repetitions)
    return Verdict("figure", "panel", "line", curve, np.array(plotted), tolerance)


def test_verdicts():
    assert verdict_of([-1.09, -1.91], [0.01, 0.01]).answers == ("ok", "ok")
    beyond = verdict_of([-1.0, -1.8], [0.01, 0.01])
    assert beyond.answers == ("ok", "no")
    assert (beyond.answer, beyond.worst) == ("no", 1)
    assert verdict_of([-1.0, -1.8], [0.01, 0.08]).answer == "unclear"
    assert verdict_of([-1.0, -1.8], [0.01, np.nan], repetitions=1).answer == "unclear"
    assert verdict_of([-1.0, -2.0], [0.03, 0.0]).error == pytest.approx([0.03 * np.sqrt(2), 0])  # the paper's, too
    assert verdict_of([-1.0, -2.0], [0.0, 0.0]).paper_slope == pytest.approx(-1 / np.log(2))


def test_curves(rng):
    x = np.array([10.0, 30.0, 100.0])
    scale = np.exp(0.3 * rng.standard_normal((50, 1)))
    alike = Curve.of(x, scale * x**-0.5)  # what all points of a repetition share does not touch the slope
    assert alike.slope == pytest.approx(-0.5)
    assert alike.slope_error < 1e-12
    assert alike.error == pytest.approx(scale.std(ddof=1) / scale.mean() / np.sqrt(50))
    gap = Curve.of(x, np.where(x == 30, np.nan, scale * x**2))
    assert gap.slope == pytest.approx(2.0)
    slopes = [Curve.of(x, x**-0.5 * np.exp(0.1 * rng.standard_normal((20, 3)))) for _ in range(400)]
    covered = np.mean([abs(c.slope + 0.5) <= c.slope_error for c in slopes])
    assert 0.92 <= covered <= 0.98
    assert np.isnan(Curve.of(x, np.ones((1, 3))).error).all()


# ---------------------------------------------------------------- files, words


def test_what_is_written(small, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(FIGURES, "other", lambda data: small_figure(small_study(name="other"), "other"))
    lines = []
    result = reproduce("small", out=tmp_path, repetitions=3, progress=lines.append)
    assert result.ok
    assert all(path.stat().st_size > 0 for path in result.files)
    assert lines[-1].startswith("100%")
    with (tmp_path / "small.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows] == ["300", "500"]
    measured = np.array([v for values in values_of(tmp_path).values() for v in values.values()])[:, 0]
    assert [float(row["mean"]) for row in rows] == pytest.approx(measured.mean(axis=0), rel=1e-5)
    assert command(["reproduce", "other", "--out", str(tmp_path), "--repetitions", "2"]) == 0
    assert "| one panel | JDR" in capsys.readouterr().out
    assert (tmp_path / "verdicts.md").read_text().count("one panel") == 2  # what was judged before stays
    reproduce("other", out=tmp_path, repetitions=2, progress=False)
    assert (tmp_path / "verdicts.md").read_text().count("one panel") == 2


def test_a_contradiction_shows_in_the_exit_status(monkeypatch, tmp_path, capsys):
    study = small_study()
    line = Line("JDR", study, "JDR", plotted=Plotted("m", X, (-9.0, -9.0)), tolerance=0.1)
    monkeypatch.setitem(FIGURES, "wrong", lambda data: Figure("wrong", "wrong", (Panel("p", (line,)),), 1))
    assert command(["reproduce", "wrong", "--out", str(tmp_path), "--repetitions", "5", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [v["answer"] for v in found["verdicts"]] == ["no"]


def test_repetitions(tmp_path, small):
    study = small_study()
    assert (study.wanted(None, False), study.wanted(None, True), study.wanted(7, True)) == (100, 10, 7)
    with pytest.raises(ValueError, match="at least 1"):
        reproduce("small", out=tmp_path, repetitions=0)
    with pytest.raises(ValueError, match=r"figure2.*choose from"):
        reproduce(["small", "figure2"], out=tmp_path)
    assert command(["reproduce", "figure2", "--out", str(tmp_path)]) == 2

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from jointdr import (
    JDR,
    AssociationModel,
    Dyads,
    KernelRegression,
    MemoryBudgetError,
    config_context,
    get_config,
    set_config,
)
from jointdr.diagnostics import bootstrap
from jointdr.io import scan_arrays, scan_parquet
from jointdr.runtime import memory
from tests.support.kept_memory import JOBS


@pytest.mark.parametrize(
    ("value", "nbytes"),
    [(1000, 1000), (2.5e9, 2_500_000_000), ("2 GB", 2_000_000_000), ("512MiB", 2**29), ("1.5 k", 1500), (" 7 ", 7)],
)
def test_budgets_in_words_and_numbers(value, nbytes):
    with config_context(memory_budget=value):
        assert get_config() == {"memory_budget": nbytes}


@pytest.mark.parametrize("value", ["much", "2 QB", "-1", "", 0, -3, True, float("nan"), float("inf"), [1]])
def test_what_is_no_budget(value):
    with pytest.raises(ValueError, match=r"memory_budget=.* must be a number of bytes"):
        set_config(memory_budget=value)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 4 GB of free memory, no container and no budget."""
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   4000000 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUPS", ((tmp_path, "memory.max", "memory.current"),))
    memory._free_in.cache_clear()
    set_config(memory_budget=None)
    yield tmp_path
    memory._free_in.cache_clear()


def test_budgets_nest_and_end(machine):
    assert get_config()["memory_budget"] == 3_072_000_000
    set_config(memory_budget="3 GB")
    try:
        with config_context(memory_budget="2 GB"):
            with config_context(memory_budget=None):
                assert get_config()["memory_budget"] == 3e9
            assert get_config()["memory_budget"] == 2e9
        assert get_config()["memory_budget"] == 3e9
    finally:
        set_config(memory_budget=None)
    assert get_config()["memory_budget"] == 3_072_000_000


def test_a_share_of_what_is_free_in_the_machine_or_the_container(machine, monkeypatch):
    def put(**files: str) -> None:
        for name, text in files.items():
            (machine / name.replace("_", ".", 1)).write_text(text)
        memory._free_in.cache_clear()

    assert memory.budget() == 3_072_000_000  # no container
    put(memory_max="max\n", memory_current="5", memory_stat="")
    assert memory.budget() == 3_072_000_000  # one without a limit
    put(memory_max="1000000", memory_current="900000", memory_stat="anon 1\ninactive_file 100000\nactive_file 200000\n")
    monkeypatch.setattr(memory, "LEAST", 1000)
    assert memory.budget() == 300_000  # files that were read can be forgotten
    put(memory_current="3000000")
    assert memory.budget() == 1000  # nothing is free, or so it says


def test_what_takes_too_much_is_refused_before_it_begins(rng, tmp_path):
    A, B = rng.standard_normal((2, 400, 300))
    y = A[:, 0] * B[:, 0]
    with config_context(memory_budget="5 MB"):
        for X in ((A, B), scan_arrays(a=A, b=B, y=y)):
            with pytest.raises(MemoryBudgetError, match=r"300 and 300 features take 14.4 MB, and .* is 5 MB: select"):
                JDR(2, solver="exact").fit(X, y)
        JDR(2, solver="randomized", normalize="feature").fit((A, B), y)  # which is what the message says to do
        with pytest.raises(MemoryBudgetError, match=r"proxy tensor and its sums take .*solver='randomized'"):
            JDR(2).fit((A[:, :100], A[:, 100:200], A[:, 200:]), y)
    with config_context(memory_budget="16 MB"):
        JDR(2, solver="exact").fit((A, B), y)
    model = JDR(2).fit((A[:, :30], B[:, :30]), y)
    with config_context(memory_budget="2 MB"), pytest.raises(MemoryBudgetError, match="smaller n_blocks"):
        bootstrap(model, (A[:, :30], B[:, :30]), y)


def test_wide_tables_of_entities(rng):
    Y, A = rng.random((30, 20)), sparse.random_array((30, 400), density=0.1, rng=rng, format="csr")
    dyads = Dyads(Y, A, rng.standard_normal((20, 5)))
    with config_context(memory_budget="5 MB"):
        with pytest.raises(MemoryBudgetError, match="400 and 5 features take"):
            JDR(1, ridge=0.1).fit(dyads)
        JDR(1, normalize="feature").fit(dyads)


def test_scores_that_do_not_fit(rng):
    Y = sparse.random_array((300, 300), density=0.05, rng=rng, format="csr")
    A, B = rng.standard_normal((2, 300, 4))
    model = AssociationModel(None, head="kernel", bandwidth=(0.5, 0.5)).fit(Dyads(Y, A, B))
    grid = KernelRegression((0.5, 0.5)).fit(Dyads(Y, A, B))
    everything, few = model.predict(), model.recommend(k=3)
    with config_context(memory_budget=600_000):
        with pytest.raises(MemoryBudgetError, match=r"scores of 300 rows with 300 columns take 720 kB.*recommend"):
            model.predict()
        with pytest.raises(MemoryBudgetError, match="predict fewer rows"):
            grid.predict((None, None))
        np.testing.assert_allclose(model.predict(A[:50]), model.set_params(max_bytes=5e8).predict(A[:50]))
        again = model.recommend(k=3)
    assert everything.shape == (300, 300)
    assert again["column"].tolist() == few["column"].tolist()


def test_pages_of_many_columns(rng, tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(rng.standard_normal((3000, 40)), columns=[f"c{i}" for i in range(40)])
    table.to_parquet(tmp_path / "rows.parquet")
    source = scan_parquet(tmp_path / "rows.parquet", views={"a": "c1*", "b": "c2*"}, response="c0")
    with config_context(memory_budget="0.5 MB"), pytest.raises(MemoryBudgetError, match="Pages of the columns"):
        JDR(1).fit(source)


@pytest.mark.parametrize("budget", ["400 kB", "3 MB"])
def test_a_budget_changes_the_last_digits_only(budget, rng):
    A, B = rng.standard_normal((2, 3000, 20))
    y = A[:, 0] * B[:, 0] + rng.standard_normal(3000)
    source = scan_arrays(a=A, b=B, y=y)
    free = [JDR(1).fit((A, B), y), JDR(1, solver="randomized", random_state=0).fit((A, B), y), JDR(1).fit(source)]
    with config_context(memory_budget=budget):
        kept = [JDR(1).fit((A, B), y), JDR(1, solver="randomized", random_state=0).fit((A, B), y), JDR(1).fit(source)]
    for one, two in zip(free, kept, strict=True):
        np.testing.assert_allclose(one.embeddings_[0], two.embeddings_[0], atol=1e-12)


@pytest.mark.parametrize("place", [0, 1, 99])
def test_the_command_line(place, rng, tmp_path, capsys):
    pytest.importorskip("typer")
    from jointdr.apps.cli import main

    for name, X in {
        "a": rng.standard_normal((200, 60)),
        "b": rng.standard_normal((200, 60)),
        "y": rng.random(200),
    }.items():
        np.save(tmp_path / f"{name}.npy", X)
    command = ["fit", "--views", *(f"{n}={tmp_path / n}.npy" for n in "ab"), "--response", f"{tmp_path / 'y.npy'}"]
    command += ["--rank", "1", "-o", f"{tmp_path / 'model.npz'}"]
    assert main([*command[:place], "--memory-budget", "100kB", *command[place:]]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "60 and 60 features take 576 kB, and the memory budget is 100 kB" in told
    assert not (tmp_path / "model.npz").exists()
    assert main([*command[:place], "--memory-budget=50MB", *command[place:]]) == 0
    assert main([*command, "--memory-budget", "some"]) == 2
    assert "--memory-budget some must be" in " ".join(capsys.readouterr().err.split())


QUICK = ("fit_sketched", "fit_parquet", "bootstrapped", "recommended")
"""Jobs of each kind: in memory, from files, replicates and scores."""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize("job", [pytest.param(job, marks=() if job in QUICK else pytest.mark.slow) for job in JOBS])
def test_resident_memory_keeps_to_the_budget(job):
    """Beyond the data that is given, and with what the allocator has not given back, in a process of its own."""
    budget = 60e6
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.kept_memory", job, str(budget)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) <= budget


def test_a_job_takes_more_where_it_may():
    """The test above can fail: without a budget the same job takes more than it."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.kept_memory", "recommended", "1e12"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    assert float(found.stdout) > 70e6


def budget_here(*_):
    return memory.budget()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_share_the_budget(backend):
    """Of a context and of `set_config` alike, in threads and processes, which would not know of it by themselves."""
    import joblib

    def found(jobs):
        work = joblib.delayed(memory.share_budget(budget_here, jobs))
        return joblib.Parallel(n_jobs=2, backend=backend)(work(i) for i in range(3))

    with config_context(memory_budget="90 MB"):
        assert found(3) == [30_000_000] * 3
    set_config(memory_budget="80 MB")
    try:
        assert found(2) == [40_000_000] * 3
    finally:
        set_config(memory_budget=None)


def test_shares_of_what_is_free(machine, monkeypatch):
    assert memory.share_budget(budget_here, 3)() == 1_024_000_000
    assert memory.share_budget(budget_here, 100)() == memory.LEAST
    with config_context(memory_budget=1):
        assert memory.share_budget(budget_here, 100)() == 1
        assert memory.budget() == 1

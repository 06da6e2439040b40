"""kill −9 at the worst moment: files are the old ones or the new ones, and work goes on where it was."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from jointdr import JDR
from jointdr.apps import reproduce
from jointdr.apps.reproduce import FIGURES
from jointdr.apps.reproduce.cache import Cache
from jointdr.apps.reproduce.paper_values import Plotted
from jointdr.apps.reproduce.study import Figure, Line, Panel, Study
from tests.faults.conftest import SMALL_LEAVES, assert_same, finished, started

KILLED = -signal.SIGKILL

DIE = """
import io, os, signal, sys
import numpy as np

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

def half_written(file, **arrays):
    whole = io.BytesIO()
    real_savez(whole, **arrays)
    file.write(whole.getvalue()[: whole.tell() // 2])
    file.flush()
    die()

def renamed_at_last(source, target):
    real_replace(source, target)
    die()

def die_at(moment):
    if moment == "while it is written":
        np.savez = half_written
    else:
        os.replace = die if moment == "before it is renamed" else renamed_at_last

real_savez, real_replace = np.savez, os.replace
"""
MOMENTS = ["while it is written", "before it is renamed", "after it is renamed"]


def data(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    return (A, B), A[:, 0] * B[:, 0]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_save(moment, tmp_path):
    path = tmp_path / "model.npz"
    old, new = (JDR(2).fit(*data(seed)) for seed in (0, 1))
    old.save(path)
    script = DIE + (
        "from jointdr import JDR\n"
        "from tests.faults.test_killed import data\n"
        "model = JDR(2).fit(*data(1))\n"
        "die_at(sys.argv[2])\n"
        "model.save(sys.argv[1])\n"
    )
    assert finished(started(script, path, moment))[0] == KILLED
    expected = new if moment == MOMENTS[2] else old
    np.testing.assert_array_equal(JDR.load(path).embeddings_[0], expected.embeddings_[0])
    left = {p.name for p in tmp_path.iterdir()} - {path.name}
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    new.save(path)  # what is left stands in nobody's way
    np.testing.assert_array_equal(JDR.load(path).embeddings_[0], new.embeddings_[0])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


FOLD = (
    DIE
    + SMALL_LEAVES
    + """
from pathlib import Path
from jointdr import JDR
from jointdr.io import scan_npy

folder, path, moment = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
seen = []

def watch(rows, nbytes):
    seen.append(rows)
    if sum(seen) > 1500:
        die() if moment == "between two writes" else die_at(moment)

source = scan_npy(a=folder / "a.npy", b=folder / "b.npy", y=folder / "y.npy")
JDR(2).fit(source.watched(watch).checkpointed(path, every=0.0))
"""
)


@pytest.mark.parametrize("moment", ["between two writes", *MOMENTS])
def test_a_checkpointed_fold(moment, rows, fitted, tmp_path, small_leaves):
    path = tmp_path / "fold.npz"
    assert finished(started(FOLD, rows.folder, path, moment))[0] == KILLED
    assert path.exists()
    seen = []
    resumed = JDR(2).fit(rows.npy().watched(lambda rows, nbytes: seen.append(rows)).checkpointed(path))
    assert_same(resumed, fitted)
    assert 1000 < sum(seen) < 2000  # about half was done, and is not done again
    assert not path.exists()


def measure(seed):
    return np.array([[1.0 + seed % 7, 1.0 + seed % 5]])


def figure(measured):
    study = Study("killed", "m", (300, 500), ("JDR",), measured, {"setting": 0}, seconds=4.0)  # batches of two
    line = Line("JDR", study, "JDR", plotted=Plotted("m", study.x, (-1.0, -1.0)), tolerance=9.0)
    return Figure("killed", "killed", (Panel("one panel", (line,)),), 1)


REPRODUCE = (
    DIE
    + """
from jointdr.apps.reproduce import FIGURES
from jointdr.apps import reproduce
from tests.faults.test_killed import figure, measure

calls = []

def measured(seed):
    calls.append(seed)
    if len(calls) == 6:
        die_at(sys.argv[2])
    return measure(seed)

FIGURES["killed"] = lambda data: figure(measured)
reproduce("killed", out=sys.argv[1], repetitions=10, progress=False)
"""
)


@pytest.mark.parametrize("moment", ["before it is renamed", "after it is renamed"])
def test_a_reproduction(moment, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    assert finished(started(REPRODUCE, out, moment))[0] == KILLED
    kept = [json.loads(path.read_text())["values"] for path in out.glob("cache/*/repetitions-*.json")]
    done = {int(i) for batch in kept for i in batch}
    assert len(done) == (6 if moment == "after it is renamed" else 4)
    calls = []

    def counted(seed):
        calls.append(seed)
        return measure(seed)

    monkeypatch.setitem(FIGURES, "killed", lambda data: figure(counted))
    reproduce("killed", out=out, repetitions=10, progress=False)
    assert len(calls) == 10 - len(done)
    study = figure(measure).studies[0]
    found = Cache(out / "cache").load(study)
    assert {i: values.tolist() for i, values in found.items()} == {
        i: measure(study.seed(i)).tolist() for i in range(10)
    }

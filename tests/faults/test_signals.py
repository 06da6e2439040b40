"""Ctrl-C and SIGTERM in a long fit: a sentence, an exit code, and a checkpoint from which the same command goes on."""

from __future__ import annotations

import signal

import pytest

from jointdr import JDR
from tests.faults.conftest import SMALL_LEAVES, assert_same, finished, started, until

pytest.importorskip("typer")

SLOW = (
    SMALL_LEAVES
    + """
import sys, time
from pathlib import Path

folder, marks = Path(sys.argv[1]), Path(sys.argv[2])
real = arrays.NpyTable.rows

def rows(table, start, stop):
    if table.path.endswith("a.npy"):
        (marks / str(start)).touch()
        deadline = time.monotonic() + 300
        while len(list(marks.iterdir())) > 15 and not Path(f"{marks}.sent").exists() and time.monotonic() < deadline:
            time.sleep(0.01)  # half way: nothing more is read before the signal is sent
        time.sleep(0.1)
    return real(table, start, stop)

arrays.NpyTable.rows = rows
"""
)
COMMAND = SLOW + "from jointdr.apps.cli import main\nsys.exit(main(sys.argv[3:]))\n"
CALL = (
    SLOW
    + """
from jointdr import JDR
from jointdr.io import scan_npy

source = scan_npy(a=folder / "a.npy", b=folder / "b.npy", y=folder / "y.npy").checkpointed(sys.argv[3])
model = JDR(2)
try:
    model.fit(source)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "embeddings_"))
"""
)


def words(rows, out, held):
    views = ["--views", f"a={rows.folder}/a.npy", f"b={rows.folder}/b.npy", "--response", f"{rows.folder}/y.npy"]
    return ["fit", *views, "--rank", "2", "-o", str(out), "--checkpoint", str(held)]


def interrupt(child, marks, sent):
    """Send a signal half way: reads of the first hundred rows come before the fold; then there is one for each leaf."""
    until(lambda: child.poll() is not None or len(list(marks.iterdir())) > 15)
    child.send_signal(sent)
    marks.with_name(f"{marks.name}.sent").mkdir()


@pytest.mark.parametrize(("sent", "code", "said"), [("SIGINT", 130, "Interrupted."), ("SIGTERM", 143, "Terminated.")])
def test_the_command_line(sent, code, said, rows, fitted, tmp_path, small_leaves, capsys):
    from jointdr.apps.cli.app import run

    out, held, marks = tmp_path / "model.npz", tmp_path / "fold.npz", tmp_path / "marks"
    marks.mkdir()
    child = started(COMMAND, rows.folder, marks, *words(rows, out, held))
    interrupt(child, marks, getattr(signal, sent))
    found, _, err = finished(child)
    assert found == code
    assert said in err
    assert f"The rows that were read are kept in {held}: the same command goes on from there." in err
    assert "Traceback" not in err
    assert not out.exists()
    assert held.exists()
    assert run(words(rows, out, held)) == 0
    assert "Read 3000 rows" not in capsys.readouterr().err  # what was folded before is not read again
    assert_same(JDR.load(out), fitted)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["model.npz"]


def test_from_python(rows, fitted, tmp_path, small_leaves):
    held, marks = tmp_path / "fold.npz", tmp_path / "marks"
    marks.mkdir()
    child = started(CALL, rows.folder, marks, held)
    interrupt(child, marks, signal.SIGINT)
    code, out, err = finished(child)
    assert (code, out, err) == (0, "interrupted False\n", "")
    seen = []
    source = rows.npy().watched(lambda count, nbytes: seen.append(count)).checkpointed(held)
    assert_same(JDR(2).fit(source), fitted)
    assert sum(seen) < 2500


def test_a_handler_of_sigterm_is_put_back():
    from jointdr.apps.cli.app import run

    before = signal.getsignal(signal.SIGTERM)
    assert run(["--version"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_was_folded_is_written_when_a_fit_fails(rows, fitted, tmp_path, small_leaves):
    """Not only every so many seconds: what ends a fit is not always kind enough to wait."""

    class Broken(Exception):
        pass

    def watch(count, nbytes):
        seen.append(count)
        if sum(seen) > 1500:
            raise Broken

    seen, held = [], tmp_path / "fold.npz"
    with pytest.raises(Broken):
        JDR(2).fit(rows.npy().watched(watch).checkpointed(held, every=3600.0))
    assert held.exists()
    again = []
    resumed = JDR(2).fit(rows.npy().watched(lambda count, nbytes: again.append(count)).checkpointed(held))
    assert_same(resumed, fitted)
    assert sum(again) < 2000

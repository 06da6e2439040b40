"""A full disk, a limit on the size of files, a read-only folder: older files stay, and the error names the file."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress

import pytest

from jointdr import JDR
from jointdr.io import scan_npy
from tests.faults import starved
from tests.faults.conftest import finished, started


def mounted(folder, options):
    """Whether a small disk could be mounted there, or mounted anew, which takes rights that tests rarely have."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.fixture(scope="module", params=["limit", "full", "read-only"])
def outcome(request, tmp_path_factory):
    """What became of every kind of file, and the folders with files and data."""
    how = request.param
    folder, data = tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("data")
    is_mounted = how != "limit" and mounted(folder, "size=4m")
    if how == "full" and not is_mounted:
        pytest.skip("no disk can be mounted here")
    if how == "read-only" and not is_mounted and os.geteuid() == 0:
        pytest.skip("root may write anywhere, and no disk can be mounted here")
    try:
        child = started(
            "from tests.faults.starved import *; main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])",
            folder,
            data,
            how,
            stdin=subprocess.PIPE,
        )
        if child.stdout.readline() != "ready\n":
            raise AssertionError(finished(child)[2])
        if how == "read-only":
            if is_mounted:
                assert mounted(folder, "remount,ro")
            else:
                for path in (folder, *folder.rglob("*")):  # files too, which would be written in place
                    path.chmod(0o555 if path.is_dir() else 0o444)
        code, out, err = finished(child, "go on\n")
        assert code == 0, err
        yield how, json.loads(out), folder, data
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True, timeout=30)
        else:
            for path in (folder, *(p for p in folder.iterdir() if p.is_dir())):
                path.chmod(0o755)


SAID = {
    "limit": "File too large",
    "full": "No space left on device",
    "read-only": ("Read-only file system", "Permission denied"),
}


@pytest.mark.parametrize("name", starved.WRITERS)
def test_the_older_file_stays_and_the_error_names_it(name, outcome):
    how, found, *_ = outcome
    assert name in found[name]["told"]
    words = SAID[how] if isinstance(SAID[how], tuple) else (SAID[how],)
    assert any(word.lower() in found[name]["told"].lower() for word in words)
    assert found[name]["intact"]
    assert found[name]["new"] == []


def test_older_files_can_still_be_used(outcome):
    _, _, folder, data = outcome
    for name in ("model.npz", "command.npz"):
        assert JDR.load(folder / name).n_components_ == 2
    source = scan_npy(a=data / "a.npy", b=data / "b.npy", y=data / "y.npy")
    seen = []
    held = source.watched(lambda rows, nbytes: seen.append(rows)).checkpointed(folder / "fold.npz", keep=True)
    model = JDR(2, solver="randomized", random_state=0)
    with suppress(OSError):  # the checkpoint cannot be written again, but it can be read
        model.fit(held)
    assert 0 < sum(seen) <= 6 * 500  # the first of seven reads was done

from __future__ import annotations

import errno
import os
import pickle
import shutil
import stat
import tempfile
import threading
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from jointdr import InPlaceWarning
from jointdr.runtime import files
from jointdr.runtime.files import Stamp, read_unchanged, require_mapped, whole_file, write_text


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "text"
    write_text(path, "old")
    with whole_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    with pytest.raises(ZeroDivisionError), whole_file(path) as file:
        file.write(bytes(10 // 0))
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["text"]


def test_an_error_names_the_file_that_it_is_about(tmp_path):
    path = tmp_path / "text"
    with pytest.raises(OSError, match=r"No space left.*text") as caught, whole_file(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as missing, whole_file(path):
        open(tmp_path / "input").close()
    assert missing.value.filename == str(tmp_path / "input")  # what was read, and not what was to be written
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        write_text(tmp_path / "nowhere" / "text", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        write_text(tmp_path / "folder", "")
    assert taken.value.filename == str(tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_stamp_tells_files_apart(tmp_path):
    path = tmp_path / "text"
    path.write_text("one")
    stamp = Stamp.of(path)
    stamp.require(path)
    path.write_text("three")
    with pytest.raises(ValueError, match="text was changed while it was read"):
        stamp.require(path)
    with pytest.raises(ValueError, match="was changed"), open(path) as file, read_unchanged(path, file):
        path.write_text("fourteen")


@pytest.mark.parametrize("offset", [0, 8, 8192])
def test_parts_of_a_map_that_is_whole_and_of_one_that_is_not(tmp_path, offset):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(offset + 80_000))
    X = np.memmap(path, dtype=float, mode="r", offset=offset, shape=(1000, 10))
    for part in (X, X[3:, ::2], np.asarray(X)[10:].T, np.zeros(3)):
        require_mapped(part)
    with open(path, "r+b") as file:
        file.truncate(offset + 79_999)
    for part in (X, X[3:, ::2], np.asarray(X)[10:].T):
        with pytest.raises(ValueError, match="numbers has become shorter"):
            require_mapped(part)
    require_mapped(np.array([1.0]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_links_permissions_and_pipes(tmp_path):
    secret, link = tmp_path / "secret.txt", tmp_path / "link.txt"
    write_text(secret, "old")
    secret.chmod(0o600)
    link.symlink_to(secret)
    write_text(link, "new")
    assert link.is_symlink()
    assert secret.read_text() == "new"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(300)
    assert found == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_names_as_long_as_they_can_be(tmp_path):
    path = tmp_path / ("n" * 251 + ".txt")
    write_text(path, "text")
    assert path.read_text() == "text"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_stamp_that_is_sent_elsewhere_is_a_size(tmp_path):
    path = tmp_path / "file"
    path.write_text("1234")
    stamp = Stamp.of(path)
    os.utime(path, (1, 1))
    with pytest.raises(ValueError, match="was changed"):
        stamp.require(path)
    pickle.loads(pickle.dumps(stamp)).require(path)
    path.write_text("12345")
    with pytest.raises(ValueError, match="was changed"):
        pickle.loads(pickle.dumps(stamp)).require(path)


LEFT = ".text.0123456789ab.part"  # by a process that was killed


@pytest.mark.skipif(files.fcntl is None, reason="files cannot be locked here")
def test_what_a_killed_process_left_is_removed_by_the_next_call_for_the_same_path(tmp_path):
    others = [".text.part", ".text.0123456789aX.part", ".text.txt.0123456789ab.part", ".other.0123456789ab.part"]
    for name in (LEFT, *others):
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "text", "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["text", *others])


@pytest.mark.skipif(files.fcntl is None, reason="files cannot be locked here")
def test_what_is_still_being_written_is_left_alone(tmp_path):
    """Two calls at a time for one path: the last one to end wins, and neither takes the other's file away."""
    path = tmp_path / "text"
    with whole_file(path) as first:
        first.write(b"first")
        with whole_file(path) as second:
            second.write(b"second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["text"]


@pytest.mark.skipif(files.fcntl is None, reason="files cannot be locked here")
def test_a_file_that_was_taken_for_a_left_one_is_made_anew(tmp_path, monkeypatch):
    """Between making a file and locking it, another call may remove it."""
    lock, taken = files._lock, []

    def lock_too_late(file, wait):
        if wait and not taken:
            taken.append(file.name)
            os.unlink(file.name)
        return lock(file, wait)

    monkeypatch.setattr(files, "_lock", lock_too_late)
    write_text(tmp_path / "text", "whole")
    assert taken
    assert [p.name for p in tmp_path.iterdir()] == ["text"]
    assert (tmp_path / "text").read_text() == "whole"


def test_many_threads_for_one_path(tmp_path):
    path = tmp_path / "text"
    texts = [str(i) * 10_000 for i in range(8)]
    threads = [threading.Thread(target=lambda t=t: [write_text(path, t) for _ in range(20)]) for t in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["text"]


@pytest.fixture(params=[errno.EACCES, errno.EROFS])
def closed_folder(request, tmp_path, monkeypatch):
    """A folder in which no file can be made, whoever runs the tests."""

    def refuse(path, mode="r", **options):
        if "x" in mode:
            raise OSError(request.param, os.strerror(request.param), os.fspath(path))
        return open(path, mode, **options)

    (tmp_path / "text").write_text("the older text")
    monkeypatch.setattr(files, "open", refuse, raising=False)
    return tmp_path


@pytest.mark.parametrize("new", ["new", "a text that is longer than the older one"])
def test_a_file_in_a_folder_that_cannot_be_written_is_written_in_place(closed_folder, new):
    path = closed_folder / "text"
    number = path.stat().st_ino
    with pytest.warns(InPlaceWarning, match=r"text is written in place, .*is killed meanwhile.*save elsewhere"):
        write_text(path, new)
    assert path.read_text() == new
    assert path.stat().st_ino == number
    with pytest.raises(OSError, match=r"new\.txt") as caught:  # which is not there yet
        write_text(closed_folder / "new.txt", new)
    assert caught.value.filename == str(closed_folder / "new.txt")


def test_writing_in_place_begins_when_everything_is_there(closed_folder, monkeypatch):
    path = closed_folder / "text"
    with pytest.raises(ZeroDivisionError), whole_file(path) as file:
        file.write(bytes(10 // 0))
    assert path.read_text() == "the older text"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InPlaceWarning):
            write_text(path, "a text that is longer than the older one")
    assert path.read_text() == "the older text"

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if hasattr(os, "posix_fallocate"):
        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.warns(InPlaceWarning), pytest.raises(OSError, match=r"No space left.*text"):
            write_text(path, "a text that is longer than the older one")
        assert path.read_text() == "the older text"


@contextmanager
def folder_of_others():
    """A folder that belongs to the one who runs the tests, and the way into it is open."""
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="takes a process with the rights of another user")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_user_who_may_write_the_file_but_not_its_folder():
    with folder_of_others() as folder:
        path = folder / "text"
        path.write_text("old")
        path.chmod(0o666)
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    write_text(path, "new")
                os._exit(0 if [w.category for w in caught] == [InPlaceWarning] else 2)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert path.read_text() == "new"
        assert [p.name for p in folder.iterdir()] == ["text"]

from __future__ import annotations

import errno
import os
import pickle
import stat
import threading

import numpy as np
import pytest

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

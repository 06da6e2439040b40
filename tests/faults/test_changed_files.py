"""Files that shrink, or are replaced, while they are read: an error that names them, and never a mixture of rows."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from jointdr import JDR
from jointdr.runtime import read_lines
from tests.faults.conftest import assert_same, finished, started


def shorter(path):
    os.truncate(path, path.stat().st_size // 2)


def replaced(path):
    """By a file of the same size with other numbers in it."""
    content = path.read_bytes()
    middle = len(content) // 2
    other = path.with_suffix(".new")
    other.write_bytes(content[:middle] + bytes(len(content) - middle - 4000) + content[-4000:])
    os.replace(other, path)


def written_over(path):
    """The same in place, without another file."""
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(8000))


def longer(path):
    with open(path, "ab") as file:
        file.write(b"more")


def gone(path):
    path.unlink()


CHANGES = {change.__name__: change for change in (shorter, replaced, written_over, longer, gone)}
SOURCES = {
    "NPY": (lambda rows: rows.npy(), "a.npy"),
    "NPY by columns": (lambda rows: rows.npy("a-columns.npy"), "a-columns.npy"),
    "Parquet": (lambda rows: rows.parquet(), "rows.parquet"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_file_that_changes_while_it_is_folded(kind, change, rows, fitted, small_leaves):
    make, name = SOURCES[kind]
    seen = []

    def watch(count, nbytes):
        if not seen:
            CHANGES[change](rows.folder / name)
        seen.append(count)

    model = JDR(2)
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        model.fit(make(rows).watched(watch))
    assert name in str(caught.value)
    assert sum(seen) < 3000
    assert not hasattr(model, "embeddings_")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_file_that_changes_before_it_is_read(kind, change, rows):
    make, name = SOURCES[kind]
    source = make(rows)
    CHANGES[change](rows.folder / name)
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        JDR(2).fit(source)
    assert name in str(caught.value)


@pytest.mark.parametrize("kind", SOURCES)
def test_a_new_scan_takes_the_file_as_it_is(kind, rows, fitted):
    """Touched or copied files are fine, if they are what they were when they were scanned."""
    make, name = SOURCES[kind]
    os.utime(rows.folder / name)
    shutil.copy(rows.folder / name, rows.folder / "copy")
    os.replace(rows.folder / "copy", rows.folder / name)
    assert_same(JDR(2).fit(make(rows)), fitted)


MAPPED = """
import os, sys
import numpy as np
from jointdr import JDR
from jointdr.io import scan_arrays

folder = sys.argv[1]
A, B = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in "ab")
y = np.load(f"{folder}/y.npy")
model, source = JDR(2).fit((A, B), y), scan_arrays(a=A, b=B, y=y)
os.truncate(f"{folder}/a.npy", 1000)
for use in (
    lambda: model.fit((A, B), y),
    lambda: JDR(2, solver="randomized").fit((A, B), y),
    lambda: model.partial_fit((A[1:], B[1:]), y[1:]),
    lambda: JDR(2).fit(source),
    lambda: JDR(2).fit(source.checkpointed(f"{folder}/fold.npz")),
    lambda: model.transform((A, B)),
    lambda: model.score((A, B), y),
):
    try:
        use()
    except ValueError as error:
        print(error)
"""


def test_a_memory_map_of_a_file_that_has_shrunk(rows):
    """Touching what is beyond the end of the file would kill the process by SIGBUS."""
    code, said, err = finished(started(MAPPED, rows.folder))
    assert code == 0, err
    assert said.count("a.npy has become shorter than the memory map") == 7


def test_a_memory_map_of_a_file_that_was_replaced(rows):
    """The map is of the old file, which stays until nobody reads it."""
    maps = [np.load(rows.folder / f"{name}.npy", mmap_mode="r") for name in "ab"]
    replaced(rows.folder / "a.npy")
    assert_same(JDR(2).fit(tuple(maps), rows.y), JDR(2).fit(rows.views, rows.y))


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("change", ["shorter", "longer", "written over"])
def test_a_table_that_changes_while_its_lines_are_read(change, compressed, tmp_path):
    """A text that is cut off at the end of a line looks whole; that it was longer before tells."""
    import gzip

    text = "".join(f"row{i},{i}.5,{-i}.25\n" for i in range(20_000))
    path = tmp_path / ("table.csv.gz" if compressed else "table.csv")
    path.write_bytes(gzip.compress(text.encode(), compresslevel=0) if compressed else text.encode())
    os.utime(path, (1e9, 1e9))
    read = read_lines(path, ",", quoted=True)
    next(read)
    if change == "shorter":
        os.truncate(path, path.read_bytes().index(b"\n", 200_000) + 1)
    elif change == "longer":
        longer(path)
    else:
        with open(path, "r+b") as file:
            file.seek(path.read_bytes().index(b"row15000"))
            file.write(b"row00000")
    with pytest.raises(ValueError, match=r"table\.csv(.gz)? (was changed while it was read|is cut off or damaged)"):
        list(read)

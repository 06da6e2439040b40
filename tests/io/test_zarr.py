"""Zarr arrays whose files are lost or changed between opening and reading, and those that never had some."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest

from jointdr import JDR
from jointdr.io import scan_zarr
from jointdr.io.arrays import ZarrTable

zarr = pytest.importorskip("zarr")

FORMS = {
    "format 3": {"zarr_format": 3},
    "format 2": {"zarr_format": 2},
    "nested": {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "shards": {"zarr_format": 3, "shards": (100, 4)},
}


def written(path, X, **form):
    array = zarr.create_array(str(path), shape=X.shape, chunks=(50, *(2 for _ in X.shape[1:])), dtype=X.dtype, **form)
    array[...] = X
    return str(path)


def files_of(path):
    return sorted(f for f in path.rglob("*") if f.is_file() and not f.name.startswith(".z") and f.name != "zarr.json")


@pytest.fixture
def X(rng):
    X = rng.standard_normal((400, 4))
    X[100:200] = 0.0  # chunks of the fill value alone, which are not written
    return X


@pytest.mark.parametrize("form", FORMS)
def test_chunks_that_were_never_written_are_the_fill_value(form, X, tmp_path):
    table = ZarrTable.of(written(tmp_path / "x", X, **FORMS[form]))
    assert 0 < len(files_of(tmp_path / "x")) < (4 if form == "shards" else 16)
    np.testing.assert_array_equal(table.rows(0, 400), X)
    np.testing.assert_array_equal(table.rows(130, 170), X[130:170])
    part = pickle.loads(pickle.dumps(table.part(160, 260)))
    assert len(part.stamps) == (2 if form == "shards" else 3)
    np.testing.assert_array_equal(part.rows(160, 260), X[160:260])


def vanished(file):
    file.unlink()


def shorter(file):
    file.write_bytes(file.read_bytes()[:-9])


def replaced(file):
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[::-1])


CHANGES = {
    vanished: "has vanished since the array was opened, and would be read as if all of its numbers",
    shorter: "was changed while it was read",
    replaced: "was changed while it was read",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_a_chunk_that_is_not_what_it_was(form, change, X, tmp_path):
    table = ZarrTable.of(written(tmp_path / "x", X, **FORMS[form]))
    file = files_of(tmp_path / "x")[0]  # of the first rows
    change(file)
    with pytest.raises(ValueError) as caught:
        table.rows(0, 400)
    assert str(file) in str(caught.value)
    assert CHANGES[change] in str(caught.value)
    np.testing.assert_array_equal(table.rows(200, 400), X[200:])  # which are not in it


def test_a_chunk_that_is_added(X, tmp_path):
    path = tmp_path / "x"
    table = ZarrTable.of(written(path, X))
    zarr.open_array(str(path), mode="r+")[120] = 1.0
    with pytest.raises(ValueError, match=r"c.2.0 was added while the array was read"):
        table.rows(0, 400)


def test_a_chunk_that_vanishes_during_a_fit(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("jointdr.io.arrays.LEAF_BYTES", 8 * 7 * 50)
    A, B = rng.standard_normal((400, 4)), rng.standard_normal((400, 3))
    names = {"a": A, "b": B, "y": A[:, 0] * B[:, 0]}
    paths = {name: written(tmp_path / name, array) for name, array in names.items()}
    source = scan_zarr(**paths)
    fitted = JDR(2).fit(source)
    assert np.isfinite(fitted.singular_values_).all()

    def watch(rows, nbytes):
        (tmp_path / "a" / "c" / "7" / "1").unlink(missing_ok=True)

    with pytest.raises(ValueError, match=r"a.c.7.1 has vanished"):
        JDR(2).fit(source.watched(watch))
    shutil.rmtree(tmp_path / "b")
    with pytest.raises(Exception, match="b"):
        JDR(2).fit(source)

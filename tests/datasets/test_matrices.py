"""Matrices from files: with ids from tables, bare from arrays; whatever is wrong is an error that names the file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import Dyads
from jointdr.datasets import read_matrix

S = np.array([[1.0, -0.5, 0.25], [-0.5, 1.0, 0.0], [0.25, 0.0, 1.0]])
IDS = ["01", "1", "x y"]


@pytest.fixture
def frame():
    return pd.DataFrame(S, index=IDS, columns=IDS)


@pytest.mark.parametrize("name", ["s.tsv", "s.csv", "s.txt.gz", "s.parquet"])
def test_tables_have_ids(tmp_path, frame, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="," if "csv" in name else "\t")
    pd.testing.assert_frame_equal(read_matrix(path), frame, check_index_type=False, check_column_type=False)
    dyads = Dyads(np.ones((3, 2)), row_ids=IDS[::-1], row_similarity=read_matrix(path))
    np.testing.assert_array_equal(dyads.similarities[0]["similarity"], S[::-1, ::-1])


def test_the_corner_may_be_missing_and_the_matrix_wide(tmp_path, frame):
    (tmp_path / "s.tsv").write_text("a\tb\tc\nnew\t1\t2\t3\n")
    found = read_matrix(tmp_path / "s.tsv")
    assert (found.index.tolist(), found.columns.tolist()) == (["new"], ["a", "b", "c"])
    assert found.to_numpy().tolist() == [[1, 2, 3]]
    (tmp_path / "s.dat").write_text("id;a\nx;1\n")
    assert read_matrix(tmp_path / "s.dat", separator=";").shape == (1, 1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_have_none(tmp_path, order):
    np.save(tmp_path / "s.npy", np.asarray(S, order=order))
    np.savez(tmp_path / "one.npz", S=S)
    for name in ("s.npy", "one.npz"):
        found = read_matrix(tmp_path / name)
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, S)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_matrices(tmp_path, kind):
    wide = np.vstack([S, S])
    sparse.save_npz(tmp_path / "s.npz", sparse.coo_array(wide).asformat(kind))
    found = read_matrix(tmp_path / "s.npz")
    assert sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), wide)


BAD_TEXT = {
    "empty": ("", "no lines after the header"),
    "header alone": ("id\ta\n", "no lines after the header"),
    "too few ids": ("a\tb\nx\t1\t2\t3\n", "line 1: it has 2 ids, but there are 3 columns"),
    "no columns": ("id\nx\n", "line 1: it has 0 ids"),
    "an id twice": ("id\ta\ta\nx\t1\t2\n", "line 1: the id 'a' stands there twice"),
    "no id": ("id\ta\t\nx\t1\t2\n", "line 1: the id of a column is empty"),
    "a line twice": ("id\ta\nx\t1\nx\t2\n", "line 3: the id 'x' was on line 2"),
    "not a number": ("id\ta\tb\nx\t1\t?\n", r"line 2, column 'b': '\?'"),
    "a short line": ("id\ta\tb\nx\t1\t2\ny\t1\n", "line 3: it has 2 fields, but line 2 has 3"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_broken_tables(tmp_path, case):
    text, message = BAD_TEXT[case]
    (tmp_path / "s.tsv").write_text(text)
    with pytest.raises(ValueError, match=rf"s\.tsv.*{message}"):
        read_matrix(tmp_path / "s.tsv")


def test_broken_arrays(tmp_path):
    def refuse(name, message):
        with pytest.raises(ValueError, match=rf"{name}.*{message}"):
            read_matrix(tmp_path / name)

    np.save(tmp_path / "s.npy", S)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "s.npy").read_bytes()[:-8])
    refuse("cut.npy", "not a whole NPY file")
    np.save(tmp_path / "objects.npy", np.array([[None]]), allow_pickle=True)
    refuse("objects.npy", "Python objects")
    np.save(tmp_path / "vector.npy", np.ones(3))
    refuse("vector.npy", r"a matrix of numbers, but has float64 of shape \(3,\)")
    np.savez(tmp_path / "text.npz", S=np.array([["a"]]))
    refuse("text.npz", "a matrix of numbers")
    np.savez(tmp_path / "two.npz", S=S, T=S)
    refuse("two.npz", "one matrix, but has 2 arrays")
    sparse.save_npz(tmp_path / "coo.npz", sparse.coo_array(S))
    refuse("coo.npz", "of the format 'coo'")
    parts = {"data": np.ones(1), "indices": np.array([9]), "indptr": np.array([0, 1]), "shape": np.array([1, 3])}
    np.savez(tmp_path / "outside.npz", **parts, format=np.array(b"csr"))
    refuse("outside.npz", "no whole sparse matrix")
    np.savez(tmp_path / "lacking.npz", shape=np.array([1, 3]), format=np.array(b"csr"))
    refuse("lacking.npz", "no whole sparse matrix")
    with pytest.raises(FileNotFoundError):
        read_matrix(tmp_path / "nothing.npy")

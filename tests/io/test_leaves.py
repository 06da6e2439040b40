"""The contract of every source: its leaves are all rows in order, and each can be read by itself."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from jointdr import JDR, config_context
from jointdr.io import arrays as io_arrays
from jointdr.io import parquet as io_parquet
from jointdr.io import scan_arrays, scan_blocks, scan_npy, scan_parquet

ROWS = 230


@pytest.fixture
def data(rng):
    A, B = rng.standard_normal((ROWS, 4)), rng.standard_normal((ROWS, 3)).astype(np.float32)
    return A, B, A[:, 0] * B[:, 1] + 0.1 * rng.standard_normal(ROWS)


def in_parquet(folder, A, B, y, **options):
    table = pd.DataFrame(A, columns=[f"a{i}" for i in range(A.shape[1])])
    table = table.join(pd.DataFrame(B, columns=[f"b{i}" for i in range(B.shape[1])])).assign(y=y)
    table.to_parquet(folder / "rows.parquet", row_group_size=60, **options)
    return scan_parquet(folder / "rows.parquet", views={"a": "a*", "b": "b*"}, response="y")


def in_npy(folder, A, B, y):
    for name, X in {"a": A, "b": B, "y": y}.items():
        np.save(folder / f"{name}.npy", X)
    return scan_npy(**{name: folder / f"{name}.npy" for name in "aby"})


def in_blocks(folder, A, B, y):
    return scan_blocks(lambda: (((A[i : i + 50], B[i : i + 50]), y[i : i + 50]) for i in range(0, ROWS, 50)))


SOURCES = {
    "arrays": lambda folder, A, B, y: scan_arrays(a=A, b=B, y=y),
    "npy": in_npy,
    "parquet": in_parquet,
    "blocks": in_blocks,
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path, data, monkeypatch):
    monkeypatch.setattr(io_arrays, "LEAF_BYTES", 2000)
    return SOURCES[request.param](tmp_path, *data)


def read(leaves, size):
    return [block for leaf in leaves for block in leaf.blocks(size)]


@pytest.mark.parametrize("size", [1, 17, 1000])
def test_blocks_are_all_rows_in_order(source, data, size):
    blocks = read(source.leaves(), size)
    assert all(1 <= len(block) <= size for block in blocks)
    assert [block.first_row for block in blocks] == [0, *np.cumsum([len(block) for block in blocks])[:-1]]
    for k in range(2):
        found = np.concatenate([block.views[k] for block in blocks])
        np.testing.assert_array_equal(found, data[k])
        assert found.dtype == source.templates[k].dtype
    np.testing.assert_array_equal(np.concatenate([np.ravel(block.y) for block in blocks]), data[2])


def test_responses_are_the_same_without_the_views(source, data):
    blocks = [block for leaf in source.leaves() for block in leaf.responses(40)]
    assert all(block.views == () for block in blocks)
    np.testing.assert_array_equal(np.concatenate([np.ravel(block.y) for block in blocks]), data[2])


def test_a_response_that_is_given_takes_the_place_of_the_stored_one(source, data):
    if source.n_rows is None:
        with pytest.raises(ValueError, match="number is not known"):
            source.with_response(data[2])
        return
    weight = np.arange(ROWS, dtype=float)
    given = source.with_response(-data[2], weight)
    for blocks in (read(given.leaves(), 33), [b for leaf in given.leaves() for b in leaf.responses(33)]):
        np.testing.assert_array_equal(np.concatenate([np.ravel(block.y) for block in blocks]), -data[2])
        np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), weight)


def test_chosen_features_only(source, data):
    at = (np.array([2, 0]), np.array([1]))
    blocks = read(source.select(at).leaves(), 50)
    for k in range(2):
        np.testing.assert_array_equal(np.concatenate([block.views[k] for block in blocks]), data[k][:, at[k]])


def test_leaves_of_files_can_be_sent_and_read_alone(source, data):
    if source.n_rows is None:
        return
    leaves = pickle.loads(pickle.dumps(source.leaves()))
    assert len(leaves) > 1
    last = leaves[-1]
    assert last.first_row + last.n_rows == ROWS
    np.testing.assert_array_equal(np.concatenate([b.views[0] for b in last.blocks(9)]), data[0][last.first_row :])


def test_the_head_does_not_hold_what_was_read_with_it(source):
    if source.n_rows is None:  # its first block is kept, since it may be the only one that can be read
        return
    head = source.head(10)
    assert all(X.base is None or X.base.nbytes <= X.nbytes for X in head.views)


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "compression": None}])
def test_row_groups_read_whole_and_by_pages_are_the_same(options, tmp_path, data, monkeypatch):
    source = in_parquet(tmp_path, *data, **options)
    assert all(leaf.whole for leaf in source.leaves())
    monkeypatch.setattr(io_parquet, "COLUMNS_BYTES", 1)  # a column at a time
    whole = read(source.leaves(), 25)
    monkeypatch.setattr(io_parquet, "WHOLE_BYTES", 0)
    assert not any(leaf.whole for leaf in source.leaves())
    for one, two in zip(whole, read(source.leaves(), 25), strict=True):
        assert one.first_row == two.first_row
        for X, Z in zip((*one.views, one.y), (*two.views, two.y), strict=True):
            np.testing.assert_array_equal(X, Z)


def test_a_smaller_budget_reads_by_pages_if_these_take_less(tmp_path, rng):
    """Sizes of the file and the budget alone decide, not the free memory of the machine."""
    X = rng.standard_normal((60_000, 8))
    table = pd.DataFrame(X, columns=[f"c{i}" for i in range(8)])
    table.assign(y=X[:, 0] * X[:, 4]).to_parquet(tmp_path / "t.parquet", row_group_size=60_000)
    names = list(table.columns)
    source = scan_parquet(tmp_path / "t.parquet", views={"a": names[:4], "b": names[4:]}, response="y")
    group = source.leaves()[0]
    with config_context(memory_budget="4 GB"):
        assert source.leaves()[0].whole
        assert source.reader_bytes == group.whole_bytes
        expected = JDR(1).fit(source)
    with config_context(memory_budget=1.2 * group.page_bytes):
        assert source.reader_bytes == min(group.page_bytes, group.whole_bytes)
        found = JDR(1).fit(source)
    np.testing.assert_allclose(found.embeddings_[0], expected.embeddings_[0], atol=1e-10)

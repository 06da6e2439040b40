"""Blocks that are copied to a device and folded there, with PyTorch's processor in the part of an accelerator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from jointdr import JDR
from jointdr.io import on_device, scan_arrays, scan_blocks, scan_parquet
from tests.scale.conftest import METHODS, assert_same

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("name", METHODS)
def test_a_device_gives_what_arrays_give(data, name):
    model = METHODS[name]
    expected = clone(model).fit((data.A, data.B), data.y)
    found = clone(model).fit(on_device(data.npy(), "cpu", block_bytes=50_000))
    assert_same(found, expected)


def test_arrays_in_memory_are_a_source(data):
    expected = JDR(2).fit((data.A, data.B), data.y, sample_weight=data.weight)
    source = scan_arrays(a=data.A, b=torch.asarray(data.B), y=data.y, weight=data.weight)
    assert_same(JDR(2).fit(source), expected)
    assert_same(JDR(2).fit(on_device(source, "cpu", block_bytes=20_000)), expected)


def test_blocks_are_of_the_size_that_was_asked_for(data):
    sizes = []
    source = scan_arrays(a=data.A, b=data.B, y=data.y).watched(lambda rows, nbytes: sizes.append(nbytes))
    JDR(2).fit(on_device(source, "cpu", block_bytes=100_000))
    assert max(sizes) <= 100_000
    assert sum(sizes) == data.A.nbytes + data.B.nbytes


def test_single_precision_stays_single(data):
    A, B = data.A.astype(np.float32), data.B.astype(np.float32)
    found = JDR(2).fit(on_device(scan_arrays(a=A, b=B, y=data.y), "cpu"))
    expected = JDR(2).fit((A, B), data.y)
    assert found.moments_.eps == expected.moments_.eps
    np.testing.assert_allclose(found.singular_values_, expected.singular_values_, rtol=1e-5)


def test_memory_of_blocks_that_is_used_again(data, tmp_path):
    """Row groups are read into two buffers in turn, while a block waits to be folded."""
    parts = [pd.read_parquet(f"{data.folder}/{i}.parquet") for i in range(2)]
    pd.concat(parts).to_parquet(tmp_path / "whole.parquet", row_group_size=3000)
    source = scan_parquet(tmp_path / "whole.parquet", views={"a": "a*", "b": "b*"}, response="y")
    found = JDR(2).fit(on_device(source, "cpu", block_bytes=256 * 11 * 8))
    assert_same(found, JDR(2).fit((data.A, data.B), data.y))


def test_arrays_of_any_layout(data):
    expected = JDR(2).fit((data.A[::-1], data.B[::-1]), data.y[::-1])
    big = data.B[::-1].astype(">f8")
    source = scan_arrays(a=data.A[::-1], b=big, y=data.y[::-1].copy())
    assert_same(JDR(2).fit(on_device(source, "cpu", block_bytes=30_000)), expected)


def test_a_checkpoint_is_refused_where_rows_are_cut_otherwise(data, tmp_path, monkeypatch):
    held = tmp_path / "fold.npz"
    monkeypatch.setattr("jointdr.io.arrays.LEAF_BYTES", 20_000)

    class Stop(Exception):
        pass

    def stop(rows, nbytes):
        stop.rows += rows
        if stop.rows > 1500:
            raise Stop

    stop.rows = 0
    source = scan_arrays(a=data.A, b=data.B, y=data.y)
    with pytest.raises(Stop):
        JDR(2).fit(source.watched(stop).checkpointed(held, every=0.0))
    assert held.exists()
    with pytest.raises(ValueError, match="cut into other pieces"):
        JDR(2).fit(on_device(source, "cpu", block_bytes=47_000).checkpointed(held))
    assert_same(JDR(2).fit(source.checkpointed(held)), JDR(2).fit((data.A, data.B), data.y))


def test_other_arrays_are_refused_by_a_checkpoint(data):
    source = scan_arrays(a=data.A, b=data.B, y=data.y)
    other = scan_arrays(a=data.A, b=data.B, y=np.where(np.arange(3000) > 1500, 0.0, data.y))
    assert source.identity() != other.identity()


def test_what_cannot_be_streamed_is_said(data):
    with pytest.raises(ValueError, match="device='nowhere'"):
        on_device(data.npy(), "nowhere")
    with pytest.raises(ValueError, match="block_bytes"):
        on_device(data.npy(), "cpu", block_bytes=0)
    from scipy import sparse

    with pytest.raises(TypeError, match="dense"):
        scan_arrays(a=sparse.eye_array(5, format="csr"), y=np.zeros(5))
    with pytest.raises(ValueError, match="same number of rows"):
        scan_arrays(a=data.A, b=data.B[:-1], y=data.y)
    blocks = scan_blocks(lambda: iter([((sparse.csr_array(data.A), sparse.csr_array(data.B)), data.y)]))
    with pytest.raises(TypeError, match="Sparse views"):
        JDR(2).fit(on_device(blocks, "cpu"))

"""Blocks that are copied to a device and folded there, with PyTorch's processor in the part of an accelerator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from jointdr import JDR
from jointdr.io import on_device, scan_arrays, scan_blocks
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

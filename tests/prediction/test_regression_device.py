"""Kernel regression on a device gives what it gives on the host; PyTorch's processor stands in for an accelerator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads, KernelRegression
from jointdr.prediction.heads.regression_device import DeviceRegression

pytest.importorskip("torch", reason="PyTorch is not installed")

MODELS = {
    "plain": {},
    "columns alone": {"bandwidth": (0.4, 0.0)},
    "cosine": {"kernel": "cosine"},
    "mixed": {"mix": (0.5, 0.25), "borrow": 0.6},
    "chosen": {"bandwidth": "auto"},
    "lonely": {"bandwidth": 0.004},
    "adaptive, on the host": {"adaptive": 4},
    "nearest, on the host": {"nearest": 5},
}


def dyads_of(kind):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 5)), rng.standard_normal((40, 4))
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((60, 40))
    if kind == "links":
        return Dyads(sparse.csr_array((Y > 1).astype(float)), A, B)
    return Dyads(Y, A, B, observed=rng.random(Y.shape) < 0.4 if kind == "some" else None)


@pytest.mark.parametrize("kind", ["links", "some", "all"])
@pytest.mark.parametrize("name", MODELS)
def test_a_device_gives_what_the_host_gives(name, kind):
    rng = np.random.default_rng(1)
    dyads = dyads_of(kind)
    model = AssociationModel(JDR(2), head="kernel", random_state=0, **{"bandwidth": 0.4, **MODELS[name]}).fit(dyads)
    A, B = rng.standard_normal((7, 5)), rng.standard_normal((9, 4))
    A[0] = 50.0  # far from everything
    for new in ((None, None), (A, None), (None, B), (A, B)):
        model.set_params(device=None)
        scores, neighbors = model.predict(*new), model.neighbors(*new)
        model.set_params(device="cpu")
        np.testing.assert_allclose(model.predict(*new), scores, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(model.neighbors(*new), neighbors, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["links", "some"])
def test_recommendations_do_not_depend_on_the_device_or_the_memory(kind):
    model = AssociationModel(JDR(2), head="kernel", bandwidth=0.4).fit(dyads_of(kind))
    expected = model.recommend(k=6)
    for max_bytes in (5e8, 3e4):
        found = model.set_params(device="cpu", max_bytes=max_bytes).recommend(k=6)
        assert found["column"].tolist() == expected["column"].tolist()
        np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-10)


def test_it_is_the_device_that_is_asked(monkeypatch):
    model = AssociationModel(JDR(2), head="kernel", bandwidth=0.4, device="cpu").fit(dyads_of("links"))
    asked = []
    original = DeviceRegression._block
    monkeypatch.setattr(DeviceRegression, "_block", lambda self, *args: asked.append(1) or original(self, *args))
    model.predict()
    assert asked


def test_kernel_regression_of_dyads():
    dyads = dyads_of("some")
    expected = KernelRegression(0.5).fit(dyads).predict(dyads)
    np.testing.assert_allclose(KernelRegression(0.5, device="cpu").fit(dyads).predict(dyads), expected, rtol=1e-10)
    with pytest.raises(ValueError, match="device='cpu' is for a Dyads"):
        KernelRegression(0.5, device="cpu").fit(dyads.A[:40], np.zeros(40))


def test_what_is_no_device_is_said():
    model = AssociationModel(JDR(2), head="kernel", bandwidth=0.4, device="nowhere").fit(dyads_of("links"))
    with pytest.raises(ValueError, match="device='nowhere'"):
        model.predict()
    assert model._head.place_on(None) is model._head


def test_a_file_keeps_the_device_as_a_wish_only(tmp_path):
    model = AssociationModel(JDR(2), head="kernel", bandwidth=0.4, device="cuda:7").fit(dyads_of("links"))
    model.save(tmp_path / "model.npz")
    again = AssociationModel.load(tmp_path / "model.npz").set_params(device=None)
    np.testing.assert_array_equal(again.predict(), model.set_params(device=None).predict())


def test_a_copy_leaves_what_is_on_the_device(tmp_path):
    model = AssociationModel(JDR(2), head="kernel", bandwidth=0.4, device="cpu").fit(dyads_of("links"))
    before = len(pickle.dumps(model))
    model.predict()
    assert len(pickle.dumps(model)) == before

"""Fitted models in files of skops, which run no code that the reader has not allowed by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jointdr import (
    IHT,
    IMC,
    JDR,
    OLS,
    PCA,
    PHD,
    SAVE,
    SIR,
    SOLS,
    AssociationModel,
    Dyads,
    JDRRegressor,
    KernelRegression,
    Popularity,
    Views,
)

skops = pytest.importorskip("skops.io")

OF_VIEWS = [
    *(JDR(2), JDR("auto", moments="all"), JDR(2, refine=1, link="learned"), PCA(2), OLS(), SOLS(), IHT(2), PHD(2)),
    *(SIR(2), SAVE(2), JDRRegressor(JDR(2)), JDRRegressor(JDR(2), head="kernel", random_state=0), KernelRegression()),
]
OF_DYADS = [
    *(AssociationModel(uses=("rows", "pairs"), random_state=0), AssociationModel(JDR(2), head="kernel", bandwidth=0.5)),
    *(AssociationModel(JDR(2), head="bilinear"), AssociationModel(JDR(2), head="kernel_ridge"), IMC(2), Popularity()),
]
NOT_OURS = {"numpy.dtype", "scipy.sparse._csr.csr_array"}


def read_again(model):
    """The model out of a file, once its own types are allowed."""
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert {name for name in types if not name.startswith(("jointdr.", "sklearn."))} <= NOT_OURS
    return skops.loads(data, trusted=types)


@pytest.mark.parametrize("model", OF_VIEWS, ids=lambda model: f"{type(model).__name__}-{getattr(model, 'head', '')}")
def test_models_of_views(rng, model):
    X = Views(rng.standard_normal((200, 5)), rng.standard_normal((200, 4)))
    y = X.arrays[0][:, 0] * X.arrays[1][:, 0] + X.arrays[0][:, 1] ** 2
    model.fit(X, y)
    again = read_again(model)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        return
    np.testing.assert_array_equal(np.hstack(again.transform(X)), np.hstack(model.transform(X)))
    assert again.moments_.n_samples == model.moments_.n_samples
    if isinstance(model, JDR) and not model.refine:  # it goes on from the moments
        one, two = (m.partial_fit(X[:50], y[:50]) for m in (model, again))
        np.testing.assert_array_equal(np.hstack(two.transform(X)), np.hstack(one.transform(X)))


def test_pairs_of_three_views_are_kept(rng):
    X = Views(*(rng.standard_normal((300, 3)) for _ in range(3)))
    y = X.arrays[0][:, 0] * X.arrays[1][:, 0] + X.arrays[1][:, 1] * X.arrays[2][:, 0]
    model = JDRRegressor(JDR(2, moments="all"), head="bilinear").fit(X, y)
    again = read_again(model)
    assert again.embedding_.solution_.prediction.pairs.keys() == model.embedding_.solution_.prediction.pairs.keys()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("model", OF_DYADS, ids=lambda model: f"{type(model).__name__}-{getattr(model, 'head', '')}")
@pytest.mark.filterwarnings("ignore::jointdr.TableWarning")
def test_models_of_dyads_that_were_asked_before(rng, model):
    A = pd.DataFrame(rng.standard_normal((30, 4)), columns=list("abcd"), index=[f"r{i}" for i in range(30)])
    B = rng.standard_normal((20, 3))
    Y = (A["a"].to_numpy()[:, None] * B[:, 0] + 0.1 * rng.standard_normal((30, 20)) > 0.8).astype(float)
    A["kind"] = np.where(A["b"] > 0, "x", "y")
    model.fit(Dyads(Y, A, B))
    asked = model.recommend(A.iloc[:3], k=4)
    again = read_again(model)
    pd.testing.assert_frame_equal(again.recommend(A.iloc[:3], k=4), asked)
    np.testing.assert_array_equal(again.predict(), model.predict())

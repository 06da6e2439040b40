"""Files of `KernelRegression` and `JDRRegressor`: the same predictions to the last bit, and damage that is told."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import jointdr
from jointdr import JDR, PCA, PHD, Dyads, JDRRegressor, KernelRegression, Views
from jointdr.runtime.modelfile import read_model, write_model


def saved(model, folder):
    """The model as `load` and as its own class read it; they are the same."""
    path = folder / "model.npz"
    model.save(path)
    again = jointdr.load(path)
    assert type(again) is type(type(model).load(path)) is type(model)
    return again


@pytest.fixture
def rows(rng):
    A, B = rng.standard_normal((200, 5)), rng.standard_normal((200, 4))
    return (A, B), A[:, 0] * B[:, 0] + 0.1 * rng.standard_normal(200)


@pytest.mark.parametrize(
    "options",
    [{}, {"adaptive": 7}, {"bandwidth": (0.7, 1.3)}, {"bandwidth": np.array([1.0, 2.0])}, {"random_state": 3}],
    ids=["auto", "adaptive", "two", "array", "seed"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_regression_of_rows(options, weighted, rows, rng, tmp_path):
    X, y = rows
    model = KernelRegression(**options).fit(X, y, rng.uniform(0.5, 2, 200) if weighted else None)
    again = saved(model, tmp_path)
    new = tuple(rng.standard_normal((30, n)) for n in (5, 4))
    for one, two in zip(
        model.predict(new, return_neighbors=True), again.predict(new, return_neighbors=True), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    assert (again.bandwidth_, again.y_mean_) == (model.bandwidth_, model.y_mean_)
    with pytest.raises(ValueError, match=r"views with \[5\] columns"):
        again.predict((new[0],))


@pytest.mark.parametrize("order", ["C", "F"])
def test_kernel_regression_of_one_table_keeps_layout_and_names(order, rows, rng, tmp_path):
    (A, _), y = rows
    new = rng.standard_normal((30, 5))
    model = KernelRegression(0.8).fit(np.asarray(A, order=order), y)
    np.testing.assert_array_equal(saved(model, tmp_path).predict(new), model.predict(new))
    frame = pd.DataFrame(A, columns=list("abcde"))
    again = saved(KernelRegression().fit(frame, y), tmp_path)
    assert (again.n_features_in_, again.feature_names_in_.tolist()) == (5, list("abcde"))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[list("edcba")])


@pytest.mark.parametrize("kind", ["grid", "sparse", "observed"])
@pytest.mark.parametrize("bandwidth", ["auto", "left-out rows", (0.5, 0.0)])
def test_kernel_regression_of_dyads(kind, bandwidth, rng, tmp_path):
    A, B = rng.standard_normal((40, 3)), rng.standard_normal((30, 2))
    Y = A[:, :2] @ B.T + 0.1 * rng.standard_normal((40, 30))
    observed = rng.random(Y.shape) < 0.6 if kind == "observed" else None
    dyads = Dyads(sparse.csr_array((Y > 1).astype(float)) if kind == "sparse" else np.asfortranarray(Y), A, B, observed)
    model = KernelRegression(bandwidth, adaptive=4, random_state=0).fit(dyads)
    again = saved(model, tmp_path)
    new = rng.standard_normal((5, 3)), rng.standard_normal((4, 2))
    for query in ((None, None), (new[0], None), (None, new[1]), new):
        found = [m.predict(query, return_neighbors=True) for m in (model, again)]
        for one, two in zip(*found, strict=True):
            np.testing.assert_array_equal(one, two)
    assert (again.bandwidth_, again.known_bandwidth_) == (model.bandwidth_, model.known_bandwidth_)


@pytest.mark.parametrize("head", ["learned", "kernel", "bilinear"])
@pytest.mark.parametrize("embedding", [None, JDR(2, moments="all", refine=1), PHD(1), PCA([2, 1])], ids=str)
def test_a_regressor(head, embedding, rows, tmp_path):
    (A, B), y = rows
    X = Views(left=pd.DataFrame(A, columns=list("abcde")), right=B)
    model = JDRRegressor(embedding, head=head, random_state=5).fit(X, y, np.linspace(1, 2, 200))
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.head, again.random_state, again.n_features_in_) == (head, 5, 9)
    assert str(again.embedding) == str(embedding)
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(X), clone(model).fit(X, y).predict(X))


def test_a_regressor_of_several_responses_and_of_one_table(rows, tmp_path):
    (A, B), y = rows
    model = JDRRegressor().fit((A, B), np.column_stack([y, -y]))
    assert saved(model, tmp_path).predict((A, B)).shape == (200, 2)
    frame = pd.DataFrame(np.hstack([A, B]), columns=list("abcdefghi"))
    model = JDRRegressor(JDR(1, views=[slice(0, 5), slice(5, None)])).fit(frame, y)
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.feature_names_in_.tolist() == list("abcdefghi")


def test_what_cannot_be_saved(rows, tmp_path):
    class Own(JDR):
        pass

    for model in (KernelRegression(), JDRRegressor()):
        with pytest.raises(NotFittedError):
            model.save(tmp_path / "model.npz")
    with pytest.raises(TypeError, match="embedding of the class Own cannot be saved"):
        JDRRegressor(Own(1)).fit(*rows).save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


CHANGES = {
    "KernelRegression": {
        "y": (lambda h, a: a.update(y=a["y"][:-1]), "'points.0' is"),
        "points": (lambda h, a: a.update({"points.0": a["points.0"][:, :-1]}), "'points.0' is"),
        "centers": (lambda h, a: a.pop("centers.1"), "lacks 'centers.1'"),
        "bandwidth": (lambda h, a: h.update(bandwidths=[0.0, 1.0]), "its bandwidths are"),
        "bandwidths": (lambda h, a: h.update(bandwidths=[1.0]), "its bandwidths are"),
        "weight": (lambda h, a: a.update(weight=-np.ones(200)), "their weights"),
        "adaptive": (lambda h, a: h["params"].update(adaptive=-1), "adaptive=-1 must be"),
        "max_bytes": (lambda h, a: h["params"].update(max_bytes="x"), "max_bytes='x' must be"),
        "NaN": (lambda h, a: a["y"].fill(np.nan), "'y' has NaN"),
    },
    "JDRRegressor": {
        "head": (lambda h, a: h["params"].update(head="x"), "head='x' is not understood"),
        "link": (lambda h, a: h["head"].update(link="x"), "link='x' is not understood"),
        "theta": (lambda h, a: a.update({"head/link.theta": a["head/link.theta"][:-1]}), "'link.theta' is"),
        "coordinates": (
            lambda h, a: a.update({"head/link.monomials.1": a["head/link.monomials.1"] + 9}),
            "not one of 4 coordinates",
        ),
        "spread": (lambda h, a: a["head/link.spread"].fill(0.0), "not one of 4 coordinates"),
        "embedding": (lambda h, a: h["embedding"].update(kind="Popularity"), "lacks 'Popularity'"),
        "one column": (lambda h, a: h.update(one_column="yes"), "one_column='yes' must be True or False"),
    },
}


@pytest.mark.parametrize(("kind", "case"), [(kind, case) for kind, cases in CHANGES.items() for case in cases])
def test_parts_that_do_not_belong_together(kind, case, rows, tmp_path):
    path = tmp_path / "model.npz"
    model = KernelRegression() if kind == "KernelRegression" else JDRRegressor()
    model.fit(*rows).save(path)
    header, arrays = read_model(path, kind)
    change, message = CHANGES[kind][case]
    arrays = {name: value.copy() for name, value in arrays.items()}
    change(header, arrays)
    write_model(path, kind, header, arrays)
    with pytest.raises(ValueError, match=rf"model\.npz holds no whole {kind} model.*{message}"):
        jointdr.load(path)


def test_the_header_is_json_and_nothing_is_pickled(rows, tmp_path):
    path = tmp_path / "model.npz"
    JDRRegressor(head="kernel").fit(*rows).save(path)
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        assert all(not file[name].dtype.hasobject for name in file)
    assert header["kind"] == "JDRRegressor"

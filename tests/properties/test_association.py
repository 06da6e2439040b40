"""Models of dyads on any data: finite scores that keep their promises, or an error that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from jointdr import IMC, JDR, OLS, PCA, SIR, SOLS, AssociationModel, Dyads, KernelRegression
from tests.properties.strategies import KINDS, grids, table
from tests.properties.verdict import given, judged

PARAMETERS = st.fixed_dictionaries(
    {"embedding": st.sampled_from([None, "auto", JDR(1, ridge=0.1), PCA(1), OLS(1, ridge=0.1)])},
    optional={
        "head": st.sampled_from(["kernel", "kernel", "bilinear", "kernel_ridge"]),
        "kernel": st.sampled_from(["gaussian", "cosine"]),
        "bandwidth": st.sampled_from(["auto", 1.0, (0.0, 1.0), (0.3, 0.0), 1e-3, 1e9, 1e-200]),
        "scale": st.sampled_from(["auto", None, 1.0, -1.0]),
        "adaptive": st.sampled_from([None, 1, 100]),
        "mix": st.sampled_from([0.0, 0.5, (0.0, 1.0)]),
        "borrow": st.sampled_from([1.0, 0.5, 0.0]),
        "alpha": st.sampled_from([0.1, 1e-12, 1e12]),
        "nearest": st.sampled_from(["auto", None, 1, (2, None)]),
    },
)


def used(model, grid, new):
    """Fit, and everything that is read off the fit, for known and for new entities."""
    model.fit(**grid.arguments())
    A, B = (table(new, 2, n, 3) for n in grid.widths)
    found = {
        "known": model.predict(),
        "new rows": model.predict(A),
        "new": model.predict(A, B),
        "best": model.recommend(k=2),
        "best of new": model.recommend(A, k=3, exclude_known=False),
    }
    if isinstance(model, AssociationModel):
        found["explained"] = model.explain("0", str(grid.shape[1] - 1), k=2)
        if model.head == "kernel":
            found["neighbors"] = model.neighbors(A)
    return found


@given(grids(), PARAMETERS, st.sampled_from(KINDS))
def test_association_model(grid, parameters, new):
    model = AssociationModel(**parameters, random_state=0)
    found = judged(lambda: used(model, grid, new), AssociationModel, AssociationModel.fit, JDR, words=["table"])
    if found:
        assert found["known"].shape == grid.shape
        score = found["known"][0, -1]
        size = np.abs(grid.scored).max()
        assert abs(found["explained"].score - score) <= 1e-6 * max(size, abs(score))
        if parameters.get("head", "kernel") == "kernel":
            seen = written(grid)
            assert found["new"].min() >= seen.min() - 1e-9 * size
            assert found["new"].max() <= seen.max() + 1e-9 * size


def written(grid):
    """The scores that a model has seen."""
    if grid.observed == "stored":
        return grid.scored[grid.scored != 0]
    seen = grid.arguments()["observed"]
    return grid.scored if seen is None else grid.scored[seen]


@given(
    grids(),
    st.fixed_dictionaries(
        {"n_components": st.integers(1, 2)},
        optional={
            "alpha": st.sampled_from([0.1, 0.0, 1e-12, 1e12]),
            "init": st.sampled_from(["jdr", "random"]),
            "normalize_columns": st.booleans(),
            "n_iter": st.integers(1, 5),
            "tol": st.sampled_from([0.0, 1e-3]),
        },
    ),
    st.sampled_from(KINDS),
)
def test_imc(grid, parameters, new):
    judged(lambda: used(IMC(**parameters, random_state=0), grid, new), IMC, IMC.fit, words=["table"])


@pytest.mark.parametrize("model", [JDR(1), JDR("auto"), PCA(1), OLS(1), SOLS(1), SOLS(2), SIR(1, n_slices=3)], ids=str)
@given(grid=grids())
def test_embeddings_of_dyads(model, grid):
    def fitted():
        dyads = Dyads(**grid.arguments())
        return model.fit(dyads), model.transform(dyads)

    judged(fitted, type(model), type(model).fit, Dyads)


@given(grids(), st.sampled_from(["auto", 1.0, (0.0, 1.0), 1e-200, 1e200]), st.sampled_from([None, 1, 20]))
def test_kernel_regression_of_dyads(grid, bandwidth, adaptive):
    def predicted():
        model = KernelRegression(bandwidth, adaptive=adaptive, random_state=0).fit(Dyads(**grid.arguments()))
        return model.predict((None, None), return_neighbors=True)

    judged(predicted, KernelRegression, KernelRegression.fit, Dyads)

"""Parameters and data of any type: an error that names the argument, never one from inside NumPy; and pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

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
)
from jointdr.plot import embedding_map, loadings, scree
from tests.properties.strategies import FORMS, IDS, Data, data
from tests.properties.verdict import given, judged

NOT_EVEN_NUMBERS = ["", "auto", "x", b"x", (), (1, 1), (1, 2, 3), [], [2], {}, {"a": 1}]
NUMBERS = [None, True, False, -1, 0, 1, 2, 3.5, 1e300, -0.5, np.nan, np.inf, 1j, np.float32(2), np.int8(1), np.array(2)]
JUNK = st.sampled_from([*NUMBERS, *NOT_EVEN_NUMBERS])
VALUES = st.one_of(JUNK, st.sampled_from([object, np.array([1.0, 2.0]), pd.NA, np.array([["x"]]), pd.Series([1.0])]))
ROWS = Data(30, (3, 2), ("normal", "normal"))
DYADS = Dyads((np.random.default_rng(0).random((6, 5)) > 0.5).astype(float), ROWS.views[0][:6], ROWS.views[1][:5])
OF_ROWS = [JDR, PCA, OLS, PHD, IHT, SIR, SAVE, SOLS, KernelRegression, JDRRegressor]
OF_DYADS = [AssociationModel, IMC]
NOT_TRIED = {"device", "max_tensor_bytes", "max_bytes", "random_state"}


def parameters(make):
    names = sorted(set(make().get_params(deep=False)) - NOT_TRIED)
    return st.dictionaries(st.sampled_from(names), JUNK, min_size=1, max_size=2)


@pytest.mark.parametrize("make", OF_ROWS, ids=lambda make: make.__name__)
@given(choose=st.data())
def test_parameters_of_any_type(make, choose):
    given = choose.draw(parameters(make))
    start = {"n_components": 1} if "n_components" in make().get_params() else {}

    def fitted():
        model = make(**{**start, **given}).fit(ROWS.views, ROWS.y)
        return model.predict(ROWS.views) if hasattr(model, "predict") else model.transform(ROWS.views)

    judged(fitted, make, make.fit)


@pytest.mark.parametrize("make", OF_DYADS, ids=lambda make: make.__name__)
@given(choose=st.data())
def test_parameters_of_models_of_dyads(make, choose):
    given = choose.draw(parameters(make))
    start = {"n_components": 1} if make is IMC else {"embedding": JDR(1)}
    judged(lambda: make(**{**start, **given}).fit(DYADS).predict(), make, make.fit)


@pytest.mark.parametrize("make", OF_ROWS, ids=lambda make: make.__name__)
@given(X=st.one_of(VALUES, st.tuples(VALUES, VALUES)), y=VALUES, w=VALUES, which=st.sampled_from(["X", "y", "w"]))
def test_data_of_any_type(make, X, y, w, which):
    arguments = {"X": (X, ROWS.y, None), "y": (ROWS.views, y, None), "w": (ROWS.views, ROWS.y, w)}[which]
    judged(lambda: make().fit(*arguments).get_params(), make, make.fit, words=["table", "array"])


@given(VALUES, st.sampled_from(["Y", "A", "B", "observed", "row_ids"]))
def test_dyads_of_any_type(junk, which):
    good = {"Y": DYADS.Y, "A": DYADS.A, "B": DYADS.B}
    judged(lambda: Dyads(**{**good, which: junk}).shape, Dyads, words=["mask", "ids", "table"])


@given(
    st.lists(IDS, min_size=6, max_size=6, unique=True),
    st.lists(IDS, min_size=5, max_size=5, unique=True),
    st.sampled_from(sorted(FORMS)),
)
def test_any_ids_come_back(row_ids, column_ids, form):
    """Whatever strings ids are, recommendations name them, and known pairs are never recommended."""
    dyads = Dyads(FORMS[form](DYADS.Y), DYADS.A, DYADS.B, row_ids=row_ids, column_ids=column_ids)
    model = AssociationModel(JDR(1), head="kernel", bandwidth=1.0).fit(dyads)
    best = model.recommend(k=5)
    assert set(best["row"]) <= set(row_ids)
    known = {(row_ids[i], column_ids[j]) for i, j in zip(*np.nonzero(DYADS.Y), strict=True)}
    assert not known & set(zip(best["row"], best["column"], strict=True))
    assert len(best) == DYADS.Y.size - len(known)
    assert model.explain(row_ids[0], column_ids[-1]).score == pytest.approx(model.predict()[0, -1])


@given(data(kinds=("normal", "whole", "constant", "tiny", "huge"), rows=(12, 20), widths=(2, 4)))
def test_pictures(rows):
    """Pictures of any fitted model can be drawn."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    model = judged(lambda: JDR(2, ridge=0.1).fit(rows.views, rows.y, rows.w), JDR, JDR.fit)
    if isinstance(model, JDR):
        try:
            judged(lambda: loadings(model), loadings)
            judged(lambda: scree(model.singular_values_), scree)
            judged(lambda: embedding_map(model.transform(rows.views)), embedding_map)
        finally:
            pyplot.close("all")

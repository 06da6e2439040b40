"""Predictions from rows: `KernelRegression` and `JDRRegressor` on any data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from jointdr import JDR, JDRRegressor, KernelRegression, Views
from tests.properties.strategies import KINDS, data, table
from tests.properties.verdict import given, judged


def within(prediction, y):
    """A weighted mean lies between the smallest and the largest response."""
    size = np.abs(y).max()
    assert prediction.min() >= y.min() - 1e-9 * size
    assert prediction.max() <= y.max() + 1e-9 * size


@given(
    data(n_views=(1, 3), widths=(1, 4)),
    st.sampled_from(["auto", 1.0, 1e-3, 1e6, 1e-200, 1e200]),
    st.sampled_from([None, 1, 3, 50]),
    st.sampled_from(KINDS),
)
def test_kernel_regression_is_a_mean(rows, bandwidth, adaptive, new):
    def predicted():
        model = KernelRegression(bandwidth, adaptive=adaptive, random_state=0).fit(rows.views, rows.y, rows.w)
        X = tuple(table(new, 3, n, 5) for n in rows.widths)
        return model.predict(rows.views), model.predict(X, return_neighbors=True)

    found = judged(predicted, KernelRegression, KernelRegression.fit)
    if found:
        known = rows.y if rows.w is None else rows.y[rows.w > 0]
        within(found[0], known)
        within(found[1][0], known)
        assert (found[1][1] >= 0).all()


@pytest.mark.parametrize("head", ["learned", "kernel", "bilinear"])
@given(
    rows=data(widths=(1, 3), n_views=(2, 3), q=(1, 2)),
    moments=st.sampled_from(["cross", "all"]),
    new=st.sampled_from(KINDS),
)
def test_regressor(head, rows, moments, new):
    def predicted():
        embedding = JDR(1, ridge=0.1, moments=moments, n_folds=2)
        model = JDRRegressor(embedding, head=head, random_state=0).fit(rows.views, rows.y, rows.w)
        return model.predict(rows.views), model.predict(tuple(table(new, 3, n, 5) for n in rows.widths))

    found = judged(predicted, JDRRegressor, JDRRegressor.fit, JDR)
    if found:
        assert found[0].shape == np.shape(rows.y)


@given(data(kinds=("normal", "whole", "skewed"), responses=("normal", "ties"), rows=(12, 25)), st.booleans())
def test_a_weight_of_two_is_a_row_twice(rows, named):
    counts = np.random.default_rng(rows.seed).integers(1, 4, rows.m)
    at = np.repeat(np.arange(rows.m), counts)
    X = Views(p=rows.views[0], q=rows.views[1]) if named else Views(*rows.views)
    for model in (KernelRegression(0.7), JDRRegressor(JDR(1, ridge=0.1), head="bilinear")):
        weighted = model.fit(X, rows.y, counts).predict(X)
        repeated = model.fit(X[at], rows.y[at]).predict(X)
        np.testing.assert_allclose(weighted, repeated, atol=1e-6 * (1 + np.abs(rows.y).max()))

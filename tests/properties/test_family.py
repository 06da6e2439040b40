"""Every other method of the family on any data: finite embeddings, or an error that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from jointdr import IHT, OLS, PCA, PHD, SAVE, SIR, SOLS
from tests.properties.strategies import data
from tests.properties.verdict import given, judged

FAMILY = {
    "PCA": lambda r, ridge: PCA(r),
    "PCA, whitened": lambda r, ridge: PCA(r, scale=-1.0),
    "OLS": lambda r, ridge: OLS(r, ridge=ridge),
    "OLS of slices": lambda r, ridge: OLS(r, ridge=ridge, response="slices"),
    "PHD": lambda r, ridge: PHD(r, ridge=ridge),
    "PHD, residuals": lambda r, ridge: PHD(r, ridge=ridge, residual=True),
    "cpHd": lambda r, ridge: PHD(r, ridge=ridge, concatenate=True),
    "IHT": lambda r, ridge: IHT(r, ridge=ridge),
    "SIR": lambda r, ridge: SIR(r, ridge=ridge, n_slices=4),
    "SAVE": lambda r, ridge: SAVE(r, ridge=ridge, n_slices=3),
    "SOLS": lambda r, ridge: SOLS(r, ridge=ridge),
    "SOLS of slices": lambda r, ridge: SOLS(r, ridge=ridge, n_slices=3),
}


def everything(model, X, y, w):
    """Fit, and what can be read off the fit."""
    model.fit(X, y, sample_weight=w)
    scored = model.score(X, y, w) if hasattr(model, "score") else None
    return model, model.transform(X), scored


@pytest.mark.parametrize("method", FAMILY)
@given(rows=data(n_views=(1, 3), widths=(1, 4)), r=st.integers(1, 2), ridge=st.sampled_from([0.0, 0.1, "auto"]))
def test_any_data(method, rows, r, ridge):
    model = FAMILY[method](r, ridge)
    found = judged(lambda: everything(model, rows.views, rows.y, rows.w), type(model), type(model).fit)
    if found:
        for Z, U in zip(found[1], model.embeddings_, strict=True):
            assert Z.shape == (rows.m, U.shape[1])


@given(data(kinds=("normal", "whole", "collinear"), rows=(3, 30)), st.sampled_from([None, 2, 3]))
def test_labels_are_slices(rows, ridge):
    """Strings, booleans and numbers that stand for the same groups give the same directions."""
    number = rows.y > np.median(rows.y)
    label = np.where(number, "später", "früher")
    for make in (lambda: SIR(1, ridge=0.1), lambda: SAVE(1, ridge=0.1)):
        by_label = judged(lambda make=make: make().fit(rows.views, label, rows.w).embeddings_, SIR, SIR.fit)
        by_truth = judged(lambda make=make: make().fit(rows.views, number, rows.w).embeddings_, SIR, SIR.fit)
        assert bool(by_label) == bool(by_truth)
        if by_label:
            for U, V in zip(by_label, by_truth, strict=True):
                np.testing.assert_allclose(U, V, atol=1e-8 * np.abs(U).max())

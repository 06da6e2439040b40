"""How numbers are laid out, and of which type they are, changes no result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from jointdr import JDR, PCA, SIR, JDRRegressor, KernelRegression, Moments
from tests.properties.strategies import DTYPES, FORMS, PLAIN, SINGULAR, SPARSE_FORMS, data
from tests.properties.verdict import given, judged

MODELS = {
    "JDR": lambda: JDR(1, ridge=0.1),
    "JDR, feature": lambda: JDR(1, normalize="feature"),
    "JDR, sketched": lambda: JDR(1, solver="randomized", ridge=0.1, random_state=0),
    "JDR, auto": lambda: JDR("auto", ridge=0.1, moments="all", n_folds=2),
    "PCA": lambda: PCA(1),
    "SIR": lambda: SIR(1, ridge=0.1, n_slices=3),
}
FORM = st.sampled_from(sorted(FORMS))


def coordinates(make, X, y, w=None):
    """The embedded rows, of which nothing is left to rounding: no ties between directions."""
    model = make()
    Z = model.fit(X, y, w).transform(X)
    values = model.singular_values_
    return Z, [np.atleast_1d(s) for s in (values if isinstance(values, tuple) else (values,) * len(Z))]


def same(one, two, tolerance):
    (Z, s), (Z_2, s_2) = one, two
    for a, b, values in zip(Z, Z_2, s, strict=True):
        size = np.abs(a).max()
        np.testing.assert_allclose(np.asarray(b, dtype=float), a, rtol=0, atol=tolerance * size, err_msg=str(values))
    for a, b in zip(s, s_2, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=tolerance * max(np.max(a), 1e-30))


@pytest.mark.parametrize("name", MODELS)
@given(
    rows=data(kinds=(*PLAIN, "zeros", "constant"), rows=(12, 30), widths=(2, 4), responses=("normal", "two")),
    forms=st.tuples(FORM, FORM),
)
def test_layouts(name, rows, forms):
    """Order, strides, byte order, maps of files, lists, frames and every sparse format."""
    X = tuple(FORMS[form](V) for form, V in zip(forms, rows.views, strict=True))
    plain = judged(lambda: coordinates(MODELS[name], rows.views, rows.y), JDR, JDR.fit)
    again = judged(lambda: coordinates(MODELS[name], X, rows.y), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        assume(name != "PCA" or all(len(s) < 2 or s[0] > 1.01 * s[1] for s in plain[1]))
        same(plain, again, 1e-6)


@given(
    data(kinds=("whole", "zeros"), rows=(12, 30), widths=(2, 3), responses=("normal", "ties", "two")),
    st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)),
    st.booleans(),
)
def test_types(rows, dtypes, swapped):
    """Small whole numbers are the same numbers in every type."""
    X = tuple(np.abs(np.round(V)) % 2 for V in rows.views)
    cast = tuple(V.astype(dtype) for V, dtype in zip(X, dtypes, strict=True))
    if swapped:
        cast = tuple(V if V.dtype.kind == "O" else V.astype(V.dtype.newbyteorder()) for V in cast)
    plain = judged(lambda: coordinates(MODELS["JDR"], X, rows.y), JDR, JDR.fit)
    again = judged(lambda: coordinates(MODELS["JDR"], cast, rows.y), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        low = {"float16", "float32"} & set(dtypes)
        same(plain, again, 1e-3 if low else 1e-6)


@given(
    data(
        kinds=PLAIN + SINGULAR,
        rows=(2, 12),
        widths=(1, 3),
        responses=("normal", "ties", "constant"),
        weighted=("none", "ones", "whole", "ratio"),
    ),
    st.tuples(
        *[st.sampled_from(("C", "F", "strided", "negative strides", "read-only", "csr_array", "csr_matrix"))] * 2
    ),
)
def test_moments_of_any_layout(rows, forms):
    """Moments are sums: no layout of the views changes them."""
    keep = {"blocks": ("cross", "within")}
    plain = Moments.of_block(rows.views, rows.y, rows.w, **keep)
    X = tuple(FORMS[form](V) for form, V in zip(forms, rows.views, strict=True))
    again = judged(lambda: Moments.of_block(X, rows.y, rows.w, **keep), Moments.of_block)
    if isinstance(again, Moments):
        np.testing.assert_allclose(again.central().third(0, 1), plain.central().third(0, 1), rtol=1e-7, atol=1e-7)
        for k in (0, 1):
            np.testing.assert_allclose(again.means[k], plain.means[k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("head", ["kernel", "bilinear"])
@given(
    rows=data(kinds=("normal", "whole", "shifted"), rows=(12, 25), widths=(2, 3), responses=("normal", "ties")),
    forms=st.tuples(FORM, FORM),
)
def test_regressors(head, rows, forms):
    X = tuple(FORMS[form](V) for form, V in zip(forms, rows.views, strict=True))
    make = lambda X: JDRRegressor(JDR(1, ridge=0.1), head=head).fit(X, rows.y, rows.w).predict(X)  # noqa: E731
    plain, again = (judged(lambda X=X: make(X), JDRRegressor, JDRRegressor.fit, JDR) for X in (rows.views, X))
    assert isinstance(plain, np.ndarray) == isinstance(again, np.ndarray), (plain, again)
    if isinstance(plain, np.ndarray):
        np.testing.assert_allclose(again, plain, atol=1e-5 * (1 + np.abs(plain).max()))


@given(data(kinds=PLAIN, rows=(2, 12), widths=(1, 3)), FORM)
def test_kernel_regression(rows, form):
    A = rows.views[0]
    make = lambda X: KernelRegression(bandwidth=1.0).fit(X, rows.y, rows.w).predict(X)  # noqa: E731
    plain, again = (judged(lambda X=X: make(X), KernelRegression, KernelRegression.fit) for X in (A, FORMS[form](A)))
    if form in SPARSE_FORMS and not isinstance(again, np.ndarray):
        return  # one table, which scikit-learn's check refuses as sparse
    assert isinstance(plain, np.ndarray) == isinstance(again, np.ndarray), (plain, again)
    if isinstance(plain, np.ndarray):
        np.testing.assert_allclose(again, plain, rtol=1e-6, atol=1e-9 * np.abs(plain).max())

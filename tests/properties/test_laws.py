"""What must change no result: units, the order of rows, repeated rows, constant columns, planted NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from jointdr import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS
from tests.properties.strategies import PLAIN, data
from tests.properties.verdict import given, judged

MODELS = {
    "JDR": lambda: JDR(1),
    "JDR, feature": lambda: JDR(1, normalize="feature"),
    "JDR, ridge": lambda: JDR(1, ridge="auto"),
    "JDR, joint": lambda: JDR(1, normalize="joint"),
    "JDR, all": lambda: JDR(1, moments="all", n_folds=2),
    "OLS": lambda: OLS(1),
    "PHD": lambda: PHD(1),
    "IHT": lambda: IHT(1),
    "SIR": lambda: SIR(1, n_slices=3),
    "SAVE": lambda: SAVE(1, n_slices=3),
    "SOLS": lambda: SOLS(1),
}
PLAIN_ROWS = data(kinds=PLAIN, responses=("normal", "two"), rows=(25, 30), widths=(1, 3), weighted=("none", "whole"))


def explained(model, X, y, w):
    """The leading singular value of each view and the coordinates, if one direction stands out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, w)
    values = model.singular_values_
    values = values if isinstance(values, tuple) else (values,) * len(X)
    return [float(s[0]) for s in values]


def same(one, two, tolerance=1e-5):
    assume(all(s > 1e-6 for s in one))
    np.testing.assert_allclose(two, one, rtol=tolerance)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "JDR, ridge"])
@given(rows=PLAIN_ROWS, exponents=st.tuples(*[st.integers(-60, 60)] * 2))
def test_units_of_features(name, rows, exponents):
    """Normalized features have no units, be these 1e-60 or 1e60."""
    plain = judged(lambda: explained(MODELS[name](), rows.views, rows.y, rows.w), JDR, JDR.fit)
    X = tuple(V * 10.0**e for V, e in zip(rows.views, exponents, strict=True))
    again = judged(lambda: explained(MODELS[name](), X, rows.y, rows.w), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        same(plain, again)


@pytest.mark.parametrize("name", ["JDR", "JDR, joint", "OLS", "PHD", "SOLS"])
@given(rows=PLAIN_ROWS, exponent=st.integers(-100, 100))
def test_units_of_y(name, rows, exponent):
    """Singular values are in units of y."""
    plain = judged(lambda: explained(MODELS[name](), rows.views, rows.y, rows.w), JDR, JDR.fit)
    again = judged(lambda: explained(MODELS[name](), rows.views, rows.y * 10.0**exponent, rows.w), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        same(plain, [s / 10.0**exponent for s in again])


@pytest.mark.parametrize("name", [name for name in MODELS if name != "JDR, all"])
@given(rows=PLAIN_ROWS, seed=st.integers(0, 100))
def test_order_of_rows(name, rows, seed):
    at = np.random.default_rng(seed).permutation(rows.m)
    w = None if rows.w is None else rows.w[at]
    plain = judged(lambda: explained(MODELS[name](), rows.views, rows.y, rows.w), JDR, JDR.fit)
    again = judged(lambda: explained(MODELS[name](), tuple(V[at] for V in rows.views), rows.y[at], w), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        same(plain, again)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("JDR, all", "JDR, ridge")])
@given(rows=PLAIN_ROWS)
def test_a_weight_of_two_is_a_row_twice(name, rows):
    counts = np.random.default_rng(rows.seed).integers(0, 3, rows.m)
    at = np.repeat(np.arange(rows.m), counts)
    plain = judged(lambda: explained(MODELS[name](), rows.views, rows.y, counts), JDR, JDR.fit)
    again = judged(lambda: explained(MODELS[name](), tuple(V[at] for V in rows.views), rows.y[at], None), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        same(plain, again)


@pytest.mark.parametrize("name", list(MODELS))
@given(rows=PLAIN_ROWS, value=st.sampled_from([0.0, 0.1, -1e9, 1e100]))
def test_a_constant_column_changes_nothing(name, rows, value):
    A, B = rows.views
    plain = judged(lambda: explained(MODELS[name](), (A, B), rows.y, rows.w), JDR, JDR.fit)
    wider = np.column_stack([np.full(rows.m, value), A])
    again = judged(lambda: explained(MODELS[name](), (wider, B), rows.y, rows.w), JDR, JDR.fit)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        same(plain, again)


@pytest.mark.parametrize("make", [JDR, OLS, PHD, SAVE, SIR, SOLS, PCA])
@given(
    rows=data(kinds=PLAIN, responses=("normal",), rows=(12, 20), widths=(1, 3), weighted=("none", "whole")),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    where=st.sampled_from(["a", "b", "y", "sample_weight"]),
    place=st.integers(0, 11),
)
def test_planted_values_are_found(make, rows, bad, where, place):
    """NaN and infinity are never fitted, and the error says where they are."""
    A, B, y, w = (x.copy() for x in (*rows.views, rows.y, np.ones(rows.m)))
    target = {"a": A, "b": B, "y": y, "sample_weight": w}[where]
    target[place] = bad
    if make is PCA and where == "y":
        return  # which does not look at it
    with pytest.raises(
        ValueError, match=f"view '{where}' contains" if where in "ab" else f"{where} contains"
    ) as caught:
        make(1, **({} if make is PCA else {"ridge": 0.1})).fit((A, B), y, w)
    assert where == "sample_weight" or f"row {place}" in str(caught.value)

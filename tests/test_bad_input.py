"""Bad input of every kind gets an error that names what is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import JDR, NoSignalWarning, Views


@pytest.fixture
def good(rng):
    return rng.standard_normal((30, 4)), rng.standard_normal((30, 3)), rng.standard_normal(30)


SOLVERS = [{}, {"solver": "randomized", "normalize": "feature", "random_state": 0}]


def with_entry(X, value):
    X = X.copy()
    X[7, 2] = value
    return X


BAD_FITS = {
    "rows differ": (lambda A, B, y: ((A, B[:-1]), y), "view 'a' has 30, view 'b' has 29"),
    "y too short": (lambda A, B, y: ((A, B), y[:-1]), "y has 29 entries but the views have 30 rows"),
    "NaN": (lambda A, B, y: ((with_entry(A, np.nan), B), y), "view 'a' contains NaN .*row 7, column 2"),
    "inf": (lambda A, B, y: ((A, with_entry(B, np.inf)), y), "view 'b' contains infinity .*row 7, column 2"),
    "infinity in a frame": (
        lambda A, B, y: ((pd.DataFrame(with_entry(A, np.inf), columns=list("wxyz")), B), y),
        "row 7, column 'y'",
    ),
    "NaN in a frame without names": (
        lambda A, B, y: ((pd.DataFrame(with_entry(A, np.nan)), B), y),
        "row 7, column 2",
    ),
    "sparse NaN": (
        lambda A, B, y: ((sparse.csr_array(with_entry(A, np.nan)), B), y),
        "view 'a' contains NaN .*row 7, column 2",
    ),
    "NaN in y": (lambda A, B, y: ((A, B), np.where(np.arange(30) == 4, np.nan, y)), "y contains NaN .*row 4"),
    "inf in y": (lambda A, B, y: ((A, B), np.where(np.arange(30) == 4, np.inf, y)), "y contains NaN or infinity"),
    "no rows": (lambda A, B, y: ((A[:0], B[:0]), y[:0]), "0 sample"),
    "no columns": (lambda A, B, y: ((A[:, :0], B), y), "0 feature"),
    "one row": (lambda A, B, y: ((A[:1], B[:1]), y[:1]), "n_samples = 1"),
    "complex": (lambda A, B, y: ((A + 1j, B), y), "Complex data not supported"),
    "complex y": (lambda A, B, y: ((A, B), y + 1j), "Complex data not supported"),
    "object": (lambda A, B, y: ((np.array([[object()] * 4] * 30), B), y), "float"),
    "strings": (lambda A, B, y: ((np.full((30, 4), "x"), B), y), "could not convert|dtype='numeric'"),
    "dates": (lambda A, B, y: ((A, B), np.arange(30).astype("datetime64[D]")), "numbers or labels"),
    "mixed y": (lambda A, B, y: ((A, B), np.array([1.0, "x", None] * 10, dtype=object)), "numbers or labels"),
    "y missing": (lambda A, B, y: ((A, B), None), "requires y to be passed"),
    "deep y": (lambda A, B, y: ((A, B), y[:, None, None]), "y should be a 1d array"),
    "one view": (lambda A, B, y: ((A,), y), "at least 2 views, but got 1"),
    "flat view": (lambda A, B, y: ((A[:, 0], B), y), "table of shape"),
    "single row": (lambda A, B, y: ((A[0], B[0]), y[:1]), r"A\[i:i \+ 1\]"),
}


@pytest.mark.parametrize("solver", SOLVERS, ids=["exact", "randomized"])
@pytest.mark.parametrize("case", BAD_FITS)
def test_fit(good, case, solver):
    make, message = BAD_FITS[case]
    X, y = make(*good)
    with pytest.raises((ValueError, TypeError), match=message):
        JDR(1, **solver).fit(X, y)
    if case not in ("one row",):
        with pytest.raises((ValueError, TypeError), match=message):
            JDR(1).partial_fit(X, y)


def test_a_bad_block_loses_nothing(good):
    A, B, y = good
    model = JDR(1).partial_fit((A, B), y)
    before = model.embeddings_[0].copy()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit((with_entry(A, np.nan), B), y)
    with pytest.raises(ValueError, match="features per view"):
        model.partial_fit((A[:, :2], B), y)
    assert model.moments_.n_samples == 30
    np.testing.assert_array_equal(model.embeddings_[0], before)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(30), "must not be negative"),
        (np.ones(29), "29 entries"),
        (np.full(30, np.nan), "NaN"),
        (np.zeros(30), "zero"),
        (np.eye(1, 30)[0], "zero"),
        (np.ones((30, 2)), "1D"),
    ],
)
def test_weights(good, weight, message):
    A, B, y = good
    with pytest.raises(ValueError, match=message):
        JDR(1).fit((A, B), y, sample_weight=weight)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda A, B: (A, B, B), "fitted with 2 views, but got 3"),
        (lambda A, B: (A,), "fitted with 2 views, but got 1"),
        (lambda A, B: (A[:, :2], B), r"fitted with \(4, 3\) features per view, but got \(2, 3\)"),
        (lambda A, B: (B, A), "features per view"),
        (lambda A, B: A, "expects a tuple of views"),
        (lambda A, B: (with_entry(A, np.nan), B), "contains NaN"),
        (lambda A, B: (A, sparse.csr_array(with_entry(B, np.inf))), "contains infinity"),
    ],
)
def test_transform_and_score(good, change, message):
    A, B, y = good
    model = JDR(1).fit((A, B), y)
    with pytest.raises((ValueError, TypeError), match=message):
        model.transform(change(A, B))
    with pytest.raises((ValueError, TypeError), match=message):
        model.score(change(A, B), y)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("options", [*SOLVERS, {"normalize": None}, {"normalize": "joint"}], ids=str)
def test_constant_y_warns(monkeypatch, good, options, large):
    if large:
        monkeypatch.setattr("jointdr.directions.jdr.EXTENDABLE_PRODUCTS", 0)
    A, B, _ = good
    with pytest.warns(NoSignalWarning, match="y is constant"):
        model = JDR(1, **options).fit((A, B), np.full(30, 0.1))
    assert np.isfinite(model.embeddings_[0]).all()
    assert model.embeddings_[0].shape == (4, 1)
    with pytest.raises(ValueError, match="nothing to score"):
        model.score((A, B), np.full(30, 0.0))
    streamed = JDR(1).partial_fit((A, B), np.full(30, 3.5))
    with pytest.warns(NoSignalWarning):
        assert np.isfinite(streamed.singular_values_).all()


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 0},
        {"n_components": 1.5},
        {"n_components": True},
        {"n_components": "two"},
        {"normalize": "whiten"},
        {"ridge": -1},
        {"ridge": "oas"},
        {"ridge": np.inf},
        {"ridge": 0.1, "normalize": None},
        {"solver": "lanczos"},
        {"n_iter": -1},
        {"n_iter": 0.5},
        {"scale": "square"},
        {"normalize": "joint", "solver": "randomized"},
    ],
    ids=str,
)
def test_parameters(good, options):
    A, B, y = good
    name = next(iter(options))
    with pytest.raises(ValueError, match=name):
        JDR(**{"n_components": 1, **options}).fit((A, B), y)


def test_partial_fit_with_a_sketch(good):
    A, B, y = good
    with pytest.raises(ValueError, match="use solver='exact'"):
        JDR(1, solver="randomized").partial_fit((A, B), y)


def test_overflow_says_so(good):
    A, B, y = good
    with pytest.raises(ValueError, match=r"overflow.*Rescale"):
        JDR(1).fit((A * 1e200, B), y)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"overflow.*Rescale"):
        JDR(1, normalize=None, solver="randomized", random_state=0).fit((A * 1e250, B * 1e250), y)


def test_fit_moments_of_nothing():
    with pytest.raises(TypeError, match="Moments"):
        JDR(1).fit_moments([])
    with pytest.raises(TypeError, match="Moments"):
        JDR(1).fit_moments([3])


def test_numbers_as_objects_are_taken(good):
    A, B, y = good
    plain = JDR(1).fit((A, B), y).embeddings_[0]
    np.testing.assert_array_equal(JDR(1).fit((A.astype(object), B), y.astype(object)).embeddings_[0], plain)
    np.testing.assert_array_equal(JDR(1).fit((A.tolist(), B.tolist()), y.tolist()).embeddings_[0], plain)
    np.testing.assert_array_equal(JDR(1).fit({"p": A, "q": B}, y).embeddings_[0], plain)
    np.testing.assert_array_equal(JDR(1).fit(Views(p=A, q=B), list(y)).embeddings_[0], plain)

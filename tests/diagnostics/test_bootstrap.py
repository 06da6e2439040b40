"""How sure a fit is: intervals that cover, errors as large as they are, and a selection that is stable where it is."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import JDR, ConstantFeatureWarning, Dyads, KernelRegression, Moments, SingularCovarianceWarning, Views
from jointdr.datasets import make_bilinear, make_rbf
from jointdr.diagnostics import bootstrap
from jointdr.diagnostics.replicates import ResamplingUnits, leading_triplets
from jointdr.engines.rows import Rows
from jointdr.metrics import subspace_error
from tests.laws.test_merge import EVERYTHING, assert_same


def with_singular_values(d, m, n, seed):
    """y = aᵀU diag(d) Vᵀb + N(0, 1)."""
    X, y, (U, V) = make_bilinear(m, n, len(d), random_state=seed)
    A, B = X.arrays
    return X, y + np.sum((A @ U) * (np.array(d) - 1.0) * (B @ V), axis=1)


def covered(intervals, d):
    return (intervals[:, 0] <= d) & (d <= intervals[:, 1])


@pytest.mark.parametrize(
    ("d", "normalize"), [((3.0, 2.0, 1.0), "full"), pytest.param((1.0, 1.0), None, marks=pytest.mark.slow)]
)
def test_intervals_cover(d, normalize):
    """60 repetitions at nominally 90 %: below 80 % is 2.6 standard errors away even if all values went together."""
    hits, corrected, fitted = [], [], []
    for seed in range(60):
        X, y = with_singular_values(d, 1500, (15, 25), seed)
        sure = bootstrap(JDR(len(d), normalize=normalize), X, y, n=60, n_blocks=50, random_state=seed)
        hits.append(covered(sure.intervals, d))
        corrected.append(sure.bias_corrected)
        fitted.append(sure.singular_values)
    assert np.mean(hits) >= 0.8
    assert np.mean(hits) <= 0.99  # and they are no wider than they have to be
    bias, inflation = (np.mean(values) - np.mean(d) for values in (corrected, fitted))
    assert abs(bias) < 0.4 * inflation


def test_angles_are_the_actual_errors():
    expected, actual = [], []
    for make, n, r, m in ((make_bilinear, 30, 3, 3000), (make_rbf, 10, 2, 10_000)):
        for seed in range(8):
            X, y, truth = make(m, n, r, random_state=seed)
            model = JDR(r).fit(X, y)
            sure = bootstrap(model, X, y, n=40, random_state=seed)
            expected.append([angle.median for angle in sure.angles])
            actual.append([subspace_error(U, W) for U, W in zip(truth, model.embeddings_, strict=True)])
            assert all(a.median <= a.upper and len(a.replicates) == 40 for a in sure.angles)
        assert 0.75 < np.mean(expected) / np.mean(actual) < 1.25


@pytest.mark.parametrize("normalize", ["full", None])
def test_selection_is_stable_where_there_is_signal(normalize):
    X, y, truth = make_bilinear(8000, (25, 20), 2, n_informative=(5, 4), random_state=3)
    model = JDR(2, normalize=normalize, n_features_to_select=(5, 4)).fit(X, y)
    sure = bootstrap(model, X, y, n=50, random_state=0)
    for share, U, s, angle, W in zip(sure.selection, truth, (5, 4), sure.angles, model.embeddings_, strict=True):
        assert share.shape == (len(U),)
        assert share.sum() == pytest.approx(s)
        weak = np.linalg.norm(U, axis=1) < 0.3  # true features may be weak
        assert share[~weak].min() > 0.9
        assert share[~U.any(axis=1)].max() < 0.3
        assert angle.median == pytest.approx(subspace_error(U, W), rel=1.0)
    assert "0.9 or more" in str(sure)
    auto = bootstrap(JDR(2, normalize=normalize, n_features_to_select="auto"), X, y, n=5, random_state=0)
    assert auto.selection is not None


def test_a_direction_too_many_is_noise():
    X, y, _ = make_bilinear(4000, (30, 20), 2, random_state=0)
    sure = bootstrap(JDR(3), X, y, n=100, random_state=0)
    assert sure.singular_values[2] > 0.2
    assert sure.intervals[2, 0] == 0
    assert (sure.intervals[:2, 0] > 0.8).all()
    assert sure.bias_corrected[2] < 0.7 * sure.singular_values[2]


def test_the_point_estimate_is_the_fit(data):
    A, B, y = data
    model = JDR(2).fit((A, B), y)
    sure = bootstrap(model, (A, B), y, n=10, random_state=0)
    np.testing.assert_allclose(sure.singular_values, model.singular_values_)
    assert (sure.intervals[:, 0] <= sure.bias_corrected).all()
    assert (sure.bias_corrected <= sure.intervals[:, 1]).all()
    assert sure.selection is None


def test_forms_of_input_and_fitted_or_not(data):
    """Tuple, Views, one matrix, sparse; fitted or not: one result. And the model stays as it was."""
    A, B, y = data
    expected = bootstrap(JDR(2), (A, B), y, n=10, random_state=1)
    table = pd.DataFrame(np.hstack([A, B]), columns=[f"x{i}" for i in range(10)])
    groups = {"genes": list(table.columns[:6]), "diseases": list(table.columns[6:])}
    named = JDR(2, views=groups)
    for model, X in (
        (JDR(2).fit((A, B), y), (A, B)),
        (JDR(2), Views(A, B)),
        (JDR(2), (sparse.csr_array(A), B)),
        (named, table),
        (clone(named).fit(table, y), table),
    ):
        before = dict(model.__dict__)
        found = bootstrap(model, X, y, n=10, random_state=1)
        assert model.__dict__.keys() == before.keys()
        np.testing.assert_allclose(found.intervals, expected.intervals, rtol=1e-6)
        np.testing.assert_allclose(found.angles[0].replicates, expected.angles[0].replicates, rtol=1e-6)
    assert "genes" in str(bootstrap(named, table, y, n=10))


def test_weights_are_repeated_rows():
    """A weight of 2 in every row of a block is that block twice; and weights of 0 are rows that are not there."""
    X, y, _ = make_bilinear(1000, (8, 6), 2, random_state=0)
    plain = bootstrap(JDR(2), X, y, n=20, random_state=0)
    twice = bootstrap(JDR(2), X, y, n=20, sample_weight=np.full(1000, 2.0), random_state=0)
    np.testing.assert_allclose(twice.intervals, plain.intervals, rtol=1e-6)
    w = np.r_[np.ones(900), np.zeros(100)]
    y_wild = np.where(w > 0, y, 1e6)
    weighted = bootstrap(JDR(2), X, y_wild, n=20, sample_weight=w, random_state=0)
    np.testing.assert_allclose(weighted.intervals, bootstrap(JDR(2), X[:900], y[:900], n=20, random_state=0).intervals)


@pytest.mark.parametrize(
    "options",
    [
        {"moments": "all"},
        {"normalize": "joint"},
        {"normalize": "feature", "ridge": 0.01},
        {"normalize": None, "moments": "all"},
        {"n_components": (1, 2)},
        {"n_components": "auto"},
        {"response": "rank"},
        {"response": "slices"},
        {"ridge": "auto"},
    ],
    ids=str,
)
def test_every_option(options):
    X, y, truth = make_bilinear(3000, (10, 8), 2, random_state=0)
    model = JDR(**{"n_components": 2, **options}).fit(X, y)
    sure = bootstrap(model, X, y, n=20, random_state=0)
    ranks = tuple(U.shape[1] for U in model.embeddings_)
    pairs = not isinstance(model.singular_values_, tuple)
    fitted = [model.singular_values_] if pairs else model.singular_values_
    found = [sure.singular_values] if pairs else sure.singular_values
    intervals = [sure.intervals] if pairs else sure.intervals
    for s, t, ends, r in zip(fitted, found, intervals, ranks, strict=False):
        np.testing.assert_allclose(s, t, rtol=1e-8)
        assert ends.shape == (r, 2)
        assert (ends[:, 0] < s).all()
    for angle, U, W in zip(sure.angles, truth, model.embeddings_, strict=True):
        assert 0.4 < angle.median / max(subspace_error(U, W), 0.05) < 2.5
    assert str(sure)


def test_several_responses():
    X, y, _ = make_bilinear(3000, (10, 8), 2, random_state=0)
    sure = bootstrap(JDR(2), X, np.stack([y, X.arrays[0][:, 0] * X.arrays[1][:, 1]], axis=1), n=20, random_state=0)
    assert [ends.shape for ends in sure.intervals] == [(2, 2), (2, 2)]
    assert "view a" in str(sure)
    labels = np.where(y > 0, "yes", "no")
    assert bootstrap(JDR(2), X, labels, n=20, random_state=0).intervals.shape == (2, 2)


def test_collinear_and_constant_features():
    """Normalized coordinates of a singular covariance turn from replicate to replicate, which must not matter."""
    X, y, _ = make_bilinear(2000, (8, 6), 2, random_state=0)
    A, B = X.arrays
    expected = bootstrap(JDR(2), (A, B), y, n=20, random_state=0)
    doubled = np.hstack([A, A[:, :3], np.ones((2000, 1))])
    with warnings.catch_warnings(record=True) as caught:
        found = bootstrap(JDR(2), (doubled, B), y, n=20, random_state=0)
    assert {w.category for w in caught} == {ConstantFeatureWarning, SingularCovarianceWarning}
    assert len(caught) == 2  # the fit's own
    np.testing.assert_allclose(found.intervals, expected.intervals, rtol=1e-3)
    np.testing.assert_allclose(found.angles[1].replicates, expected.angles[1].replicates, rtol=1e-6)


def test_units_do_not_matter(data, rng):
    A, B, y = data
    scales = 10.0 ** rng.uniform(-9, 9, A.shape[1])
    one, two = (bootstrap(JDR(2), (V, B), y, n=10, random_state=0) for V in (A, A * scales))
    np.testing.assert_allclose(one.intervals, two.intervals, rtol=1e-6)
    np.testing.assert_allclose(one.angles[1].replicates, two.angles[1].replicates, rtol=1e-6)


def test_same_seed_same_result(data):
    A, B, y = data
    one, two, other = (bootstrap(JDR(2), (A, B), y, n=10, random_state=s).intervals for s in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_replicates_are_sums_of_scaled_blocks(data, rng):
    A, B, y = data
    keep = {**EVERYTHING}
    parts = Rows((A + 1e3, sparse.csr_array(B)), y, rng.random(len(y)) + 0.5).fold_moments(7, **keep)
    counts = rng.integers(0, 3, (4, 7))
    expected = [
        sum((p.scaled(c) for p, c in zip(parts[1:], row[1:], strict=True)), parts[0].scaled(row[0])) for row in counts
    ]
    for found, wanted in zip(ResamplingUnits(list(parts)).replicates(counts), expected, strict=True):
        assert_same(found, wanted)


def test_leading_triplets(rng):
    for shape in ((5, 9), (9, 5)):
        M = rng.standard_normal(shape)
        U, s, V = leading_triplets(M, 3)
        u, t, vt = np.linalg.svd(M)
        np.testing.assert_allclose(s, t[:3])
        np.testing.assert_allclose((U * s) @ V.T, (u[:, :3] * t[:3]) @ vt[:3], atol=1e-10)


def test_plot(data):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A, B, y = data
    sure = bootstrap(JDR(2), (A, B), y, n=10, random_state=0)
    axes = sure.plot()
    assert len(axes) == 2
    assert sure.plot(axes[0]) is axes[0]
    assert bootstrap(JDR(2, moments="all"), (A, B), y, n=10, random_state=0).plot() is not None
    matplotlib.pyplot.close("all")


def test_errors(data, monkeypatch):
    A, B, y = data
    for model, arguments, message in (
        (KernelRegression(), {}, "takes a JDR"),
        (JDR(2, refine=1), {}, "refine=0"),
        (JDR(2, n_hooi=1), {}, "n_hooi=0"),
        (JDR(2, solver="randomized"), {}, "solver='exact'"),
        (JDR(2), {"n": 1}, "n=1"),
        (JDR(2), {"level": 90}, "level=90"),
        (JDR(2), {"n_blocks": 5}, "n_blocks=5"),
        (JDR(2), {"n_blocks": 401}, "number of rows 400"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            bootstrap(model, (A, B), y, **arguments)
    with pytest.raises(ValueError, match="at least 100 rows"):
        bootstrap(JDR(2), (A[:60], B[:60]), y[:60])
    with pytest.raises(ValueError, match="n_samples = 12"):
        bootstrap(JDR(2), (A, B), y, sample_weight=np.arange(len(y)) < 12)
    with pytest.raises(ValueError, match="two views, got a model of 3"):
        bootstrap(JDR(1), (A, B, A[:, :2]), y)
    fitted = JDR(2).fit((A, B), y)
    index = [f"row {i}" for i in range(len(y))]
    with pytest.raises(ValueError, match="The index of y has other ids"):
        bootstrap(fitted, tuple(pd.DataFrame(V, index=index) for V in (A, B)), pd.Series(y, index=[*index[1:], "row"]))
    with pytest.raises(ValueError, match="fitted to numbers"):
        bootstrap(JDR(2).fit_moments(fitted.moments_), (A, B), np.where(y > 0, "yes", "no"))
    with pytest.raises(ValueError, match="fitted on other rows"):
        bootstrap(fitted, (A[:200], B[:200]), y[:200])
    with pytest.raises(ValueError, match="features per view"):
        bootstrap(fitted, (A[:, :3], B), y)
    with pytest.raises(ValueError, match="contains NaN"):
        bootstrap(fitted, (np.where(np.arange(6) == 2, np.nan, A), B), y)
    monkeypatch.setattr("jointdr.directions.svd.EXACT_UP_TO", 4)
    with pytest.raises(ValueError, match="solver='exact'"):
        bootstrap(JDR(1), (A, B), y)


def test_memory_is_bounded(data, monkeypatch):
    A, B, y = data
    size = Moments.of_block((A, B), y).nbytes
    module = sys.modules["jointdr.diagnostics.bootstrap"]  # the name in the package is the function
    monkeypatch.setattr(module, "BLOCKS_BYTES", 30 * size)
    assert bootstrap(JDR(2), (A, B), y, n=5, random_state=0).n_blocks == 30
    monkeypatch.setattr(module, "BLOCKS_BYTES", 15 * size)
    with pytest.raises(ValueError, match="fewer than 20 blocks fit"):
        bootstrap(JDR(2), (A, B), y, n=5)
    assert bootstrap(JDR(2), (A, B), y, n=5, n_blocks=25, random_state=0).n_blocks == 25


def grid_of(seed, observed=None):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((150, 8)), rng.standard_normal((120, 6))
    Y = np.outer(A[:, 0], B[:, 1]) + 0.7 * np.outer(A[:, 1], B[:, 2])
    Y += rng.standard_normal((150, 2)) @ rng.standard_normal((2, 120)) + rng.standard_normal((150, 120))
    return Dyads(Y, A, B, observed=None if observed is None else rng.random(Y.shape) < observed)


@pytest.mark.parametrize("observed", [None, 0.3])
def test_entities_of_dyads_are_resampled(observed):
    """On the safe side: noise of single pairs is counted for rows, for columns and for both."""
    actual, expected = [], []
    for seed in range(6):
        dyads = grid_of(seed, observed)
        model = JDR(2).fit(dyads)
        truth = (np.eye(8)[:, :2], np.eye(6)[:, 1:3])
        actual.append([subspace_error(U, V) for U, V in zip(truth, model.embeddings_, strict=True)])
        expected.append([angle.median for angle in bootstrap(model, dyads, n=60, random_state=0).angles])
    ratio = np.mean(expected, axis=0) / np.mean(actual, axis=0)
    assert ((ratio > 1) & (ratio < 2.5)).all()


def test_blocks_of_entities_are_counted_on_each_side():
    assert bootstrap(JDR(1), grid_of(0), n=20, n_blocks=6, random_state=0).n_blocks == 36
    for wrong in (4, 121, 6.5):
        with pytest.raises(ValueError, match=r"blocks of entities on each side"):
            bootstrap(JDR(1), grid_of(0), n_blocks=wrong)

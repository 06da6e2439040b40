"""The paper's bounds against simulation, the edge of noise against permutation, and every finding on its defect."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from jointdr import JDR, JDRRegressor
from jointdr.datasets import make_bilinear, make_even, make_rbf
from jointdr.diagnostics import bilinear_bound, correlation_edge, diagnose, noise_edge, rank_profile, suggested_samples
from jointdr.diagnostics.skewness import skewness
from jointdr.metrics import subspace_error
from tests.support.reference import random_sparse

# ---------------------------------------------------------------- bounds


def bilinear_errors(shape, r, m, noise, repetitions, rng):
    """Squared errors of the proxy and subspace errors of Algorithm 1 without normalization."""
    proxy, subspace = [], []
    U, V = (np.eye(n)[:, :r] for n in shape)
    for _ in range(repetitions):
        A, B = (rng.standard_normal((m, n)) for n in shape)
        y = np.sum((A @ U) * (B @ V), axis=1) + noise * rng.standard_normal(m)
        X = (A * y[:, None]).T @ B / m
        proxy.append(np.sum((X - U @ V.T) ** 2))
        left, _, right = np.linalg.svd(X)
        subspace.append((subspace_error(U, left[:, :r]), subspace_error(V, right[:r].T)))
    return np.mean(proxy), np.max(np.mean(subspace, axis=0))


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_bilinear_bound_holds_and_is_close_for_the_proxy(rng, noise):
    shape, r = (7, 5), 2
    for m in (500, 2000):
        squared, subspace = bilinear_errors(shape, r, m, noise, 400, rng)
        bound = bilinear_bound(shape, r, m, noise)
        exact = (noise**2 * 35 + r * (9 * 7 - 1)) / m
        assert squared == pytest.approx(exact, rel=0.08)  # the mean square that the docstring names
        assert exact <= (bound / 2) ** 2 <= 2 * exact
        assert subspace <= bound <= 8 * subspace


def test_bilinear_bound_has_the_slope_of_the_error(rng):
    assert bilinear_bound((7, 5), 2, 4000) == pytest.approx(bilinear_bound((7, 5), 2, 1000) / 2)
    errors = [bilinear_errors((7, 5), 2, m, 1.0, 100, rng)[1] for m in (1000, 4000, 16_000)]
    slope = np.polyfit(np.log([1000, 4000, 16_000]), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)


def test_suggested_samples_solve_their_bounds():
    sizes = suggested_samples((60, 40), n_informative=(5, 6), error=0.5, constant=2.0)
    assert sizes.general == pytest.approx(8 * 60 * 40)
    assert sizes.sparse == pytest.approx(8 * 30 * np.log(60) * np.log(40))
    m = sizes.light_tailed
    assert m == pytest.approx(8 * 100 * np.log(m) ** 2 * np.log(100) ** 4)
    assert suggested_samples(30).sparse is None
    assert suggested_samples(30, logarithms=False).light_tailed == 60
    assert suggested_samples((2, 1), error=1e3).light_tailed >= 3  # Theorem 2 asks for m > n₁ + n₂
    # Theorem 2 is the best one in the end.
    many = suggested_samples(10**9)
    assert many.light_tailed < many.general


@pytest.mark.parametrize("normalize", ["full", "feature", None])
@pytest.mark.parametrize("response", ["bilinear", "binary", "weighted"])
def test_noise_edge_is_what_permutation_shows(rng, normalize, response):
    X, y, _ = make_bilinear(10_000, (40, 25), 3, random_state=0)
    w = rng.uniform(0.2, 2.0, len(y)) if response == "weighted" else None
    if response == "binary":
        y = (rng.random(len(y)) < 0.2).astype(float)
    null = rank_profile(JDR(normalize=normalize), X, y, w, n_permutations=30).null[:, 0]
    size = len(y) if w is None else w.sum() ** 2 / np.sum(w**2)
    # A permutation takes responses away from their weights, so their plain variance counts.
    edge = noise_edge(X.n_features, size, np.sqrt(np.mean(y**2)) if normalize is None else np.std(y))
    # At finite n the square has its median 1.27 widths of the Tracy-Widom law below the edge: here 4 % of the value.
    roots = np.sqrt(X.n_features)
    median = edge * np.sqrt(1 - 1.27 * np.sum(1 / roots) ** (1 / 3) / roots.sum())
    assert np.median(null) == pytest.approx(median, rel=0.03)
    assert np.quantile(null, 0.95) < 1.1 * edge


def test_noise_edge_of_correlated_features_is_a_bound(rng):
    n, m = 30, 20_000
    L = np.linalg.cholesky(0.6 * np.eye(n) + 0.4)
    A, B = rng.standard_normal((m, n)) @ L.T, rng.standard_normal((m, n))
    y = rng.standard_normal(m)
    largest = np.linalg.norm((A * y[:, None]).T @ B / m, 2)
    with_covariances = noise_edge(n, m, covariances=(L @ L.T, np.ones(n)))
    assert noise_edge(n, m) < largest < 1.05 * with_covariances
    assert noise_edge(n, m, 3.0, (np.eye(n), np.eye(n))) == pytest.approx(noise_edge(n, m, 3.0))


def test_noise_edge_of_selected_features_is_a_bound(rng):
    n, m, s = 200, 4000, 6
    A, B, y = rng.standard_normal((m, n)), rng.standard_normal((m, n)), rng.standard_normal(m)
    value = JDR(1, normalize=None, n_features_to_select=s).fit((A, B), y).singular_values_[0]
    assert noise_edge(s, m) < value < noise_edge(n, m, n_selected=s) < noise_edge(n, m)
    assert noise_edge(n, m, n_selected=n) == pytest.approx(noise_edge(n, m))


@pytest.mark.parametrize(("shape", "m"), [((50, 30), 2000), ((50, 30), 200), ((50, 30), 90)])
def test_correlation_edge_is_what_independent_views_show(rng, shape, m):
    Qs = [np.linalg.qr(rng.standard_normal((m, n)))[0] for n in shape]
    assert np.linalg.norm(Qs[0].T @ Qs[1], 2) == pytest.approx(correlation_edge(shape, m), rel=0.06)
    assert correlation_edge((60, 50), 100) == 1.0


def test_wrong_numbers_are_named():
    for call, match in (
        (lambda: noise_edge((3, 4, 5), 100), "n_features="),
        (lambda: noise_edge(3, 0), "n_samples=0"),
        (lambda: suggested_samples(3, error=0), "error=0"),
        (lambda: suggested_samples(3, n_informative=(0, 1)), "n_informative="),
        (lambda: suggested_samples((3, 9), n_informative=5), "n_informative=5 is more"),
        (lambda: noise_edge((9, 3), 100, n_selected=5), "n_selected=5 is more"),
        (lambda: noise_edge(3, 100, covariances=(np.ones(3), np.ones(3)), n_selected=2), "n_selected does not go"),
        (lambda: bilinear_bound(3, 0, 100), "n_components=0"),
        (lambda: correlation_edge(3, -1), "n_samples=-1"),
    ):
        with pytest.raises(ValueError, match=match):
            call()


# ---------------------------------------------------------------- diagnosis

NORMALIZE = ("full", "feature", None)


def weights(y):
    return np.random.default_rng(5).uniform(0.3, 1.7, len(y))


def levels(X, y, r, weighted=False, **options):
    w = weights(y) if weighted else None
    model = JDR(r, **options).fit(X, y, w)
    return {finding.name: finding.level for finding in diagnose(model, X, y, w)}


@pytest.fixture(scope="module")
def bilinear():
    return make_bilinear(20_000, (50, 40), 4, random_state=0)


@pytest.mark.parametrize("normalize", [*NORMALIZE, "joint"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_is_well_with_the_bilinear_model(bilinear, normalize, weighted):
    X, y, _ = bilinear
    assert set(levels(X, y, 4, weighted, normalize=normalize).values()) == {"ok"}


@pytest.mark.parametrize("seed", range(3))
def test_all_is_well_with_the_rbf_model(seed):
    X, y, _ = make_rbf(20_000, 20, 2, random_state=seed)
    assert set(levels(X, y, 2).values()) == {"ok"}


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_even_link(normalize):
    X, y, _ = make_even(20_000, 50, 3, random_state=0)
    for weighted in (False, True):
        found = levels(X, y, 3, weighted, normalize=normalize)
        assert found["link"] == "problem"
        assert {found[name] for name in ("dependence", "skewness", "tails", "rows")} == {"ok"}
    found = levels(X, y, 3, normalize=normalize, moments="all")
    assert found["link"] == found["signal"] == "ok"


def test_even_link_without_the_data_asks_for_it():
    X, y, _ = make_even(20_000, 50, 3, random_state=0)
    model = JDR(3).fit(X, y)
    assert diagnose(model)["link"].level == "look"
    assert "moments='all'" in diagnose(model)["link"].advice
    assert 3 <= diagnose(model, X, y)["link"].value <= 4
    # A fit that holds within-view moments needs no data.
    assert diagnose(JDR(3, normalize="joint").fit(X, y))["link"].level == "problem"


def test_main_effects_outside_of_the_embedding_show_in_the_means(bilinear):
    X, y, _ = bilinear
    shifted = y + X.arrays[0] @ np.ones(50)
    assert diagnose(JDR(5).fit(X, shifted))["link"].level == "problem"
    assert diagnose(JDR(4).fit(X, shifted))["link"].level == "look"
    inside = y + X.arrays[0] @ bilinear.truth[0][:, 0]
    assert diagnose(JDR(4).fit(X, inside), X, inside)["link"].level == "ok"


@pytest.mark.parametrize("seed", range(5))
def test_weak_cross_moments_beside_strong_others(seed):
    """Even where noise inside of the span lifts the cross moments, and where within-view moments just do better."""
    X, y, _ = make_even(20_000, 20, 2, random_state=seed)
    assert levels(X, y, 2)["link"] in ("look", "problem")
    X, y, _ = make_rbf(5000, 20, 2, random_state=seed)
    assert levels(X, y, 2)["link"] == "look"


def test_too_many_directions_are_not_blamed_on_the_link(bilinear):
    X, y, _ = bilinear
    for normalize in NORMALIZE:
        diagnosis = diagnose(JDR(7, normalize=normalize).fit(X, y), X, y)
        assert diagnosis["signal"].level == "look"
        assert "n_components=4" in diagnosis["signal"].advice
        assert diagnosis["link"].level == "ok"


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_signal(bilinear, rng, normalize, weighted):
    X, y, _ = bilinear
    found = levels(X, rng.permutation(y), 2, weighted, normalize=normalize)
    assert found.pop("signal") == "problem"
    assert set(found.values()) == {"ok"}


def test_dependent_views():
    X, y, _ = make_bilinear(20_000, 50, 4, correlation=0.3, random_state=0)
    for normalize in NORMALIZE:
        for weighted in (False, True):
            found = levels(X, y, 4, weighted, normalize=normalize)
            assert found.pop("dependence") == "problem"
            assert set(found.values()) == {"ok"}
    assert levels(X, y, 4, normalize="joint")["dependence"] == "ok"
    assert diagnose(JDR(4).fit(X, y))["dependence"].value == pytest.approx(0.3, abs=0.1)
    # Feature-wise moments hold no covariances within a view, but enough to see it.
    assert diagnose(JDR(4, normalize="feature").fit(X, y))["dependence"].level == "problem"
    X, y, _ = make_bilinear(40_000, 20, 2, correlation=0.12, random_state=0)
    assert levels(X, y, 2)["dependence"] == "look"


def test_correlations_within_views_are_no_dependence(rng):
    """Where only variances were kept they are not known, and would look like it in a singular value."""
    L = np.linalg.cholesky(0.5 * np.eye(50) + 0.5)
    A, B = (rng.standard_normal((5000, 50)) @ L.T for _ in range(2))
    model = JDR(1, normalize="feature").fit((A, B), A[:, 0] * B[:, 0])
    assert diagnose(model)["dependence"].level == "ok"


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_skewed_features(normalize):
    X, y, _ = make_bilinear(20_000, (50, 40), 3, features="binary", noise=0.05, random_state=0)
    found = levels(X, y, 3, normalize=normalize)
    assert found.pop("skewness") == "look"
    assert set(found.values()) == {"ok"}
    X, y, _ = make_bilinear(20_000, (50, 40), 3, features="poisson", random_state=0)
    assert levels(X, y, 3, normalize=normalize)["skewness"] == "ok"


def test_skewed_features_whose_own_moments_are_used(rng):
    A, B = rng.exponential(size=(5000, 6)), rng.standard_normal((5000, 6))
    y = (A[:, 0] - 1) * B[:, 0] + rng.standard_normal(5000)
    model = JDR(1, moments="all").fit((A, B), y)
    assert len(model.moments_used_) > 1
    assert diagnose(model, (A, B))["skewness"].level == "problem"


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.filterwarnings("ignore::jointdr.data.tails.HeavyTailWarning")
def test_heavy_tails(bilinear, rng, normalize):
    X, y, _ = bilinear
    y = y + rng.standard_t(1.5, len(y))
    assert levels(X, y, 4, normalize=normalize)["tails"] == "problem"
    assert levels(X, y, 4, True, normalize=normalize)["tails"] == "problem"
    assert levels(X, y, 4, normalize=normalize, response="rank")["tails"] == "ok"
    assert diagnose(JDR(4).fit(X, y), y=y)["tails"].level == "problem"
    w = (np.abs(y) < 5).astype(float)  # rows without weight are not there
    assert diagnose(JDR(4, normalize=normalize).fit(X, y, w), X, y, w)["tails"].level == "ok"


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_few_rows(normalize):
    X, y, _ = make_bilinear(450, (50, 50), 3, random_state=0)
    diagnosis = diagnose(JDR(3, normalize=normalize).fit(X, y), X, y)
    assert diagnosis["rows"].level == "problem"
    assert diagnosis["tails"].level == "not checked"  # too few to see them
    assert diagnosis["dependence"].level == "ok"
    assert ("normalize='feature'" in diagnosis["rows"].advice) == (normalize == "full")
    X, y, _ = make_bilinear(2000, (50, 50), 3, random_state=0)
    assert diagnose(JDR(3, normalize=normalize).fit(X, y))["rows"].level == "look"


@pytest.mark.parametrize("normalize", NORMALIZE)
def test_noise_in_few_rows_of_uneven_weight_is_no_signal(rng, normalize):
    """It passes its edge easily there, but hardly twice."""
    found = []
    for _ in range(8):
        X, y, w = (rng.standard_normal((900, 30)), rng.standard_normal((900, 30))), *rng.exponential(size=(2, 900))
        found.append(diagnose(JDR(1, normalize=normalize).fit(X, y - 1, w), X, y - 1, w)["signal"].level)
    assert "ok" not in found


def test_weights_count_as_fewer_rows(bilinear):
    X, y, _ = bilinear
    w = np.zeros(len(y))
    w[:300] = 1.0
    assert diagnose(JDR(4).fit(X, y, w))["rows"].level == "problem"
    assert diagnose(JDR(4).fit(X, y, w), X, y, w)["rows"].level == "problem"


def test_selected_features():
    X, y, _ = make_bilinear(8000, 150, 3, n_informative=8, random_state=1)
    for normalize in NORMALIZE:
        found = levels(X, y, 3, normalize=normalize, n_features_to_select=8)
        assert set(found.values()) == {"ok"}
        noise = np.random.default_rng(0).standard_normal(len(y))
        assert levels(X, noise, 3, normalize=normalize, n_features_to_select=8)["signal"] == "problem"


def test_what_was_not_kept_is_said(bilinear, monkeypatch):
    X, y, _ = bilinear
    diagnosis = diagnose(JDR(4, normalize=None).fit(X, y))
    assert [f.level for f in diagnosis] == ["not checked"] * 5 + ["ok"]
    assert str(diagnosis).count("diagnose(model, X, y)") == 1
    assert diagnosis.level == "not checked"
    monkeypatch.setattr("jointdr.directions.jdr.EXTENDABLE_PRODUCTS", 0)  # as for very many rows: C_ab is left out
    model = JDR(4).fit(X, y)
    assert diagnose(model)["signal"].level == "ok"
    assert diagnose(model)["dependence"].level == "not checked"
    assert diagnose(model, X, y).level == "ok"
    monkeypatch.setattr("jointdr.estimators.base.KEEP_MOMENTS_BYTES", 0)  # as for very many features: nothing is kept
    model = JDR(4).fit(X, y)
    assert {f.level for f in diagnose(model)} == {"not checked"}
    assert diagnose(model, y=y)["signal"].level == "ok"
    assert diagnose(model, X, y).level == "ok"


def test_very_many_features(rng):
    A = random_sparse(rng, (1500, 2100), 0.02)
    B = rng.standard_normal((1500, 10))
    y = rng.standard_normal(1500)
    diagnosis = diagnose(JDR(1, normalize="feature", random_state=0).fit((A, B), y), (A, B), y)
    assert diagnosis["signal"].level == "problem"
    assert diagnosis["dependence"].level == "not checked"
    assert "2000 features" in diagnosis["dependence"].text


def test_what_cannot_be_diagnosed(bilinear, monkeypatch):
    X, y, _ = bilinear
    with pytest.raises(TypeError, match="got JDRRegressor"):
        diagnose(JDRRegressor(), X, y)
    three = (X.arrays[0][:500, :4], X.arrays[1][:500, :4], X.arrays[0][:500, 4:8])
    with pytest.raises(ValueError, match="two views, got a model of 3"):
        diagnose(JDR(1).fit(three, y[:500]), three, y[:500])
    index = [f"row {i}" for i in range(len(y))]
    tables = tuple(pd.DataFrame(V, index=index) for V in X.arrays)
    model = JDR(4).fit(tables, y)
    with pytest.raises(ValueError, match="The index of y has other ids"):
        diagnose(model, tables, pd.Series(y, index=[*index[1:], "row"]))
    with pytest.raises(ValueError, match="fitted to numbers"):
        diagnose(model, tables, np.where(y > 0, "yes", "no"))
    monkeypatch.setattr("jointdr.estimators.base.KEEP_MOMENTS_BYTES", 0)
    refined = JDR(4, refine=1).fit(X, y)
    assert refined.n_sweeps_ == 1
    assert diagnose(refined, y=y)["signal"].level == "not checked"  # its values are no singular values of the proxy


def test_the_report_and_the_rules_of_its_levels(bilinear):
    X, y, _ = bilinear
    diagnosis = diagnose(JDR(7).fit(X, y), X, y)
    assert diagnosis.level == "look"
    lines = str(diagnosis).splitlines()
    assert len(lines) == 7
    assert lines[1].strip().startswith("→ try n_components=4")
    with pytest.raises(KeyError, match="there is signal"):
        diagnosis["colour"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_neither_units_nor_form_matter(bilinear):
    """Rescaled, sparse, labelled or constant data, streams, one table instead of two, several responses."""
    X, y, _ = bilinear
    A, B = X.arrays
    base = diagnose(JDR(4).fit(X, y), X, y)["signal"].value
    for form in ((1e3 * A + 7, B / 50), (sparse.csr_array(A), sparse.csr_array(B)), (np.c_[A, np.ones(len(A))], B)):
        diagnosis = diagnose(JDR(4).fit(form, 10 * y), form, 10 * y)
        np.testing.assert_allclose(diagnosis["signal"].value, base, rtol=1e-6)
        assert diagnosis.level == "ok"
    xp = pytest.importorskip("array_api_strict")
    foreign = tuple(xp.asarray(V) for V in X.arrays)
    np.testing.assert_allclose(diagnose(JDR(4).fit(foreign, y), foreign, y)["signal"].value, base, rtol=1e-9)
    streamed = JDR(4).partial_fit(X[:7000], y[:7000]).partial_fit(X[7000:], y[7000:])
    np.testing.assert_allclose(diagnose(streamed)["signal"].value, base, rtol=1e-9)
    table = np.hstack([A, B])
    model = JDR(4, views=[slice(0, 50), slice(50, None)]).fit(table, y)
    np.testing.assert_allclose(diagnose(model, table, y)["signal"].value, base, rtol=1e-9)
    labels = np.where(y > 0, "yes", "no")
    assert diagnose(JDR(4).fit(X, labels), X, labels).level == "ok"
    both = np.c_[y, A[:, 0] * B[:, 0]]
    assert diagnose(JDR(5).fit(X, both), X, both)["signal"].level == "ok"
    constant = np.ones(len(y))
    assert diagnose(JDR(2).fit(X, constant), X, constant)["signal"].level == "problem"


def test_the_model_is_left_as_it_was(bilinear):
    X, y, _ = bilinear
    model = JDR(4).fit(X, y)
    before = dict(model.__dict__)
    diagnose(model, X, y)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is value for key, value in before.items())


@pytest.mark.parametrize("weighted", [False, True])
def test_skewness_by_its_definition(rng, weighted):
    m = 900
    A = rng.exponential(size=(m, 4)) + 1e3
    S = rng.random((m, 5)) * (rng.random((m, 5)) < 0.2)
    S[:, 0] = 0.0
    w = rng.integers(0, 4, m).astype(float) if weighted else None
    repeated = [np.repeat(V, w.astype(int), axis=0) if weighted else V for V in (A, S[:, 1:])]
    expected = [stats.skew(V) for V in repeated]
    found = skewness((A, sparse.csr_array(S)), w)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-7)
    np.testing.assert_allclose(found[1], [0.0, *expected[1]], rtol=1e-9)

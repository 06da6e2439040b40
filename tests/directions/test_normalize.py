from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.covariance import OAS

from jointdr import JDR, ConstantFeatureWarning, Moments, SingularCovarianceWarning
from jointdr.datasets import make_bilinear
from jointdr.directions.normalize import whiteners, whitening_matrix
from jointdr.directions.options import Options
from jointdr.metrics import nsee
from tests.support.reference import NORMALIZE_AND_SOLVER

AUTO = Options((1, 1), ridge="auto")


def whitened(data, **options):
    A, B, y = data
    moments = Moments.of_block((A, B), y)
    maps = whiteners(moments, Options((1, 1), **options))
    return [m.pull((X - m.mean).T).T for m, X in zip(maps, (A, B), strict=True)], maps


def test_full_normalization_whitens_the_data(data):
    views, maps = whitened(data)
    for Z in views:
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(Z.shape[1]), atol=1e-10)
    # W is the inverse transposed Cholesky factor of the paper's step 1.3.
    A = data[0]
    C = np.linalg.cholesky(np.cov(A.T, bias=True))
    np.testing.assert_allclose(maps[0].matrix, np.linalg.inv(C).T, atol=1e-10)


def test_feature_wise_normalization(data):
    A, B, y = data
    maps = whiteners(Moments.of_block((A, B), y, covariance="diagonal"), Options((1, 1), normalize="feature"))
    np.testing.assert_allclose(maps[0].matrix, 1 / A.std(axis=0))


def test_ridge_is_a_fraction_of_the_mean_variance(data):
    A = data[0]
    _, maps = whitened(data, ridge=0.5)
    Sigma = np.cov(A.T, bias=True)
    W = maps[0].matrix
    np.testing.assert_allclose(W @ W.T, np.linalg.inv(Sigma + 0.5 * np.trace(Sigma) / 6 * np.eye(6)), rtol=1e-8)


def test_ridge_auto_is_oas(rng):
    A, B = rng.standard_normal((30, 12)) * np.geomspace(1, 5, 12), rng.standard_normal((30, 3))
    maps = whiteners(Moments.of_block((A, B), rng.standard_normal(30)), AUTO)
    expected = OAS().fit(A).covariance_
    np.testing.assert_allclose(np.linalg.inv(maps[0].matrix @ maps[0].matrix.T), expected, rtol=1e-8)


def test_oas_counts_the_effective_sample_size(rng):
    A, B, y = rng.standard_normal((40, 8)), rng.standard_normal((40, 3)), rng.standard_normal(40)
    half = np.repeat([1.0, 0.0], 20)
    weighted = whiteners(Moments.of_block((A, B), y, half * 3.7), AUTO)
    plain = whiteners(Moments.of_block((A[:20], B[:20]), y[:20]), AUTO)
    np.testing.assert_allclose(weighted[0].matrix, plain[0].matrix, rtol=1e-8)


def test_units_do_not_make_a_covariance_singular(rng):
    A = rng.standard_normal((500, 6)) * np.geomspace(1e-12, 1e12, 6)
    B, y = rng.standard_normal((500, 4)), rng.standard_normal(500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JDR(2).fit((A, B), y)


def test_singular_covariance_is_handled_in_its_range(rng):
    X, y, _truth = make_bilinear(5000, (8, 6), 2, random_state=0)
    A, B = X.arrays
    doubled = np.hstack([A, A[:, :3] @ rng.standard_normal((3, 3))])  # three collinear features
    with pytest.warns(SingularCovarianceWarning, match=r"view 'a' is singular: 11 varying.*8 directions.*ridge"):
        model = JDR(2).fit((doubled, B), y)
    plain = JDR(2).fit((A, B), y)
    np.testing.assert_allclose(model.singular_values_, plain.singular_values_, rtol=1e-8)
    # The embedded data is the same, whatever the redundant features are.
    np.testing.assert_allclose(np.abs(model.transform((doubled, B))[0]), np.abs(plain.transform((A, B))[0]), atol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JDR(2, ridge=1e-3).fit((doubled, B), y)
        JDR(2, ridge="auto").fit((doubled, B), y)


def test_fewer_rows_than_features(rng):
    A, B, y = rng.standard_normal((20, 50)), rng.standard_normal((20, 40)), rng.standard_normal(20)
    with pytest.warns(SingularCovarianceWarning, match="span only 19 directions"):
        model = JDR(3).fit((A, B), y)
    assert np.isfinite(model.embeddings_[0]).all()
    with (
        pytest.warns(SingularCovarianceWarning),
        pytest.raises(ValueError, match="the 19 directions in which view 'a'"),
    ):
        JDR(20).fit((A, B), y)
    assert np.isfinite(JDR(20, ridge="auto").fit((A, B), y).embeddings_[0]).all()
    assert np.isfinite(JDR(20, normalize="feature").fit((A, B), y).embeddings_[0]).all()


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e6, -3.7e-8])
@pytest.mark.parametrize(("normalize", "solver"), [c for c in NORMALIZE_AND_SOLVER if c[0] is not None])
def test_constant_features_are_named_and_get_no_weight(value, normalize, solver):
    X, y, truth = make_bilinear(3000, (8, 6), 2, random_state=0)
    A, B = X.arrays
    A = np.insert(A, 3, value, axis=1)
    with pytest.warns(ConstantFeatureWarning, match="view 'a' has constant features.*: 3\\."):
        model = JDR(2, normalize=normalize, solver=solver, random_state=0).fit((A, B), y)
    assert not model.support_[0][3]
    assert model.support_[0].sum() == 8
    np.testing.assert_array_equal(model.embeddings_[0][3], 0)
    plain = JDR(2, normalize=normalize, solver=solver, random_state=0).fit(X, y)
    assert nsee(truth, (np.delete(model.embeddings_[0], 3, axis=0), model.embeddings_[1])) == pytest.approx(
        nsee(truth, plain.embeddings_), rel=0.02
    )


def test_constant_features_are_named_by_their_columns():
    pd = pytest.importorskip("pandas")
    X, y, _ = make_bilinear(300, (3, 2), 1)
    frame = pd.DataFrame(X.arrays[0], columns=["x", "y", "z"]).assign(always=1.0)
    with pytest.warns(ConstantFeatureWarning, match="'always'"):
        JDR(1).fit((frame, X.arrays[1]), y)


def test_whitening_matrix_of_nothing():
    assert whitening_matrix(np.zeros((3, 3)), 1e-16, "nothing").shape == (3, 0)


def test_joint_covariance_stays_positive_semidefinite():
    """Shrinking the two views but not what is between them would not."""
    errors = {}
    for ridge in (0.0, 0.1, "auto"):
        found = []
        for seed in range(3):
            X, y, truth = make_bilinear(600, 60, 1, correlation=0.6, noise=0.1, random_state=seed)
            found.append(nsee(truth, JDR(1, normalize="joint", ridge=ridge).fit(X, y).embeddings_))
        errors[ridge] = np.mean(found)
    assert errors["auto"] <= 1.05 * errors[0.0]
    X, y, _ = make_bilinear(200, 100, 1, correlation=0.6, noise=0.1)
    assert JDR(1, normalize="joint", ridge="auto").fit(X, y).singular_values_[0] < 10


def test_float32_sees_what_float64_sees(rng):
    """AR(0.95) features: a condition number of 1700 is far from singular, also in single precision."""
    m, n = 20_000, 300
    X, y, _ = make_bilinear(m, n, 2, random_state=0)
    L = np.linalg.cholesky(0.95 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    A, B = (V @ L.T for V in X.arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double = JDR(2).fit((A, B), y)
        single = JDR(2).fit((A.astype(np.float32), B.astype(np.float32)), y)
    assert nsee(double.embeddings_, single.embeddings_) < 1e-3


@pytest.mark.parametrize("normalize", ["full", "feature"])
@pytest.mark.parametrize("seed", range(8))
def test_constant_features_of_sparse_views_and_under_weights(normalize, seed):
    from scipy import sparse

    rng = np.random.default_rng(seed)
    m = int(rng.integers(50, 400))
    A, B, y = rng.standard_normal((m, 5)), rng.standard_normal((m, 3)), rng.standard_normal(m)
    A[:, 2] = rng.uniform(-100, 100)
    w = rng.uniform(0.1, 5, m)
    model = JDR(1, normalize=normalize)
    for weight in (None, w):
        with pytest.warns(ConstantFeatureWarning, match=": 2"):
            model.fit((sparse.csr_array(A), B), y, sample_weight=weight)
        np.testing.assert_array_equal(model.embeddings_[0][2], 0)
    w = w * (rng.random(m) < 0.7)
    A[w == 0, 2] = rng.standard_normal(int((w == 0).sum()))
    with pytest.warns(ConstantFeatureWarning, match=": 2"):
        model.fit((A, B), y, sample_weight=w)
    np.testing.assert_array_equal(model.embeddings_[0][2], 0)


def test_features_that_underflow_say_so(data):
    A, B, y = data
    with pytest.raises(ValueError, match="underflow"):
        JDR(2).fit(((A * 1e-23).astype(np.float32), B.astype(np.float32)), y)
    with pytest.raises(ValueError, match="underflow"):
        JDR(2, normalize="feature", solver="randomized").fit((A * 1e-155, B), y)
    JDR(2).fit((A * 1e-100, B), y)


def test_moments_with_another_covariance(data):
    A, B, y = data
    full = Moments.of_block((A, B), y)
    expected = JDR(2, normalize="feature").fit((A, B), y).embeddings_[0]
    np.testing.assert_allclose(JDR(2, normalize="feature").fit_moments(full).embeddings_[0], expected, atol=1e-10)
    with pytest.raises(ValueError, match="needs full covariances"):
        JDR(2).fit_moments(Moments.of_block((A, B), y, covariance="diagonal"))
    with pytest.raises(ValueError, match="two views"):
        JDR(2).fit_moments(Moments.of_block((A, B, B), y))
    with pytest.raises(ValueError, match="was not kept"):
        JDR(2).fit_moments(Moments.of_block((A, B), y, blocks=("means",)))
    with pytest.raises(ValueError, match="NaN"):
        JDR(2).fit_moments(Moments.of_block((A * np.nan, B), y))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_matrices_are_factored_where_the_data_is(library, rng):
    xp = pytest.importorskip(library)
    X = rng.standard_normal((1000, 250)) * 10.0 ** rng.integers(-3, 4, 250)
    Sigma = np.cov(X.T)
    W = whitening_matrix(Sigma, 1e-16, "a", near=xp.zeros(1, dtype=xp.float32))
    assert type(W) is np.ndarray
    np.testing.assert_allclose(W.T @ Sigma @ W, np.eye(250), atol=1e-10)
    np.testing.assert_allclose(W, whitening_matrix(Sigma, 1e-16, "a"), rtol=1e-8, atol=1e-12 * np.abs(W).max())
    with pytest.warns(SingularCovarianceWarning, match="span only 2 directions"):
        W = whitening_matrix(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]]), 1e-16, "a", near=xp.zeros(1))
    assert W.shape == (3, 2)

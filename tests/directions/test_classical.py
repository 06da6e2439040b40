"""The classical methods against their definitions, written out on the data, and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from statsmodels.regression import dimred

from jointdr import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS, Moments
from jointdr.datasets import make_bilinear, make_even
from jointdr.metrics import nsee, subspace_error

SLICES = 13


def gaussian():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((1300, 6)) @ rng.standard_normal((6, 6)) + 3.0
    z = (A - 3.0) @ rng.standard_normal((6, 2))
    return A, z[:, 0] ** 2 - z[:, 1] ** 2 + z[:, 0] + 0.3 * rng.standard_normal(1300)


def skewed():
    rng = np.random.default_rng(2)
    A = rng.exponential(size=(2600, 5)) * 10.0 ** np.arange(-2, 3) + 1000.0
    return A, np.log(A[:, 0] - 999.9) * (A[:, 3] - 1000) + rng.standard_normal(2600)


def diabetes():
    A, y = load_diabetes(return_X_y=True)
    return A, y + 1e-6 * np.arange(len(y))  # without ties, which slices may cut anywhere


DATA = pytest.mark.parametrize("data_set", [gaussian, skewed, diabetes])


def whitened(A):
    """Z with mean 0 and covariance I (1/m), and W: Z = (A − µ)W."""
    a = A - A.mean(axis=0)
    W = np.linalg.inv(linalg.cholesky(a.T @ a / len(a))).copy()
    return a @ W, W


def same(U, V):
    return max(subspace_error(U, V), subspace_error(V, U)) < 1e-8


@DATA
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("r", [1, 3])
def test_phd_is_that_of_statsmodels(data_set, residual, r):
    A, y = data_set()
    theirs = dimred.PHD(y, A).fit(resid=residual)
    model = PHD(r, residual=residual).fit((A,), y)
    assert same(theirs.params[:, :r].real, model.embeddings_[0])
    m = len(y)
    np.testing.assert_allclose(model.singular_values_, np.abs(theirs.eigs[:r]) * m / (m - 1), rtol=1e-8)


@DATA
@pytest.mark.parametrize("residual", [False, True])
def test_concatenated_phd_is_that_of_the_joined_features(data_set, residual):
    A, y = data_set()
    theirs = dimred.PHD(y, A).fit(resid=residual).params[:, :4].real
    model = PHD(2, residual=residual, concatenate=True).fit((A[:, :2], A[:, 2:]), y)
    assert same(theirs, model.joint_embedding_)
    np.testing.assert_allclose(
        model.transform_joint((A[:, :2], A[:, 2:])), (A - A.mean(axis=0)) @ model.joint_embedding_, atol=1e-8
    )
    # The split: the blocks of each direction, in coordinates of the whitened view.
    a = A[:, 2:]
    W = whitened(a)[1]
    blocks = np.linalg.solve(W, model.joint_embedding_[2:])
    assert same(W @ np.linalg.svd(blocks)[0][:, :2], model.embeddings_[1])


@DATA
@pytest.mark.parametrize("r", [1, 3])
def test_sir_is_that_of_statsmodels(data_set, r):
    A, y = data_set()
    theirs = dimred.SIR(y, A).fit(slice_n=len(y) // SLICES)
    model = SIR(r, n_slices=SLICES).fit((A,), y)
    assert same(theirs.params[:, :r], model.embeddings_[0])
    np.testing.assert_allclose(model.singular_values_**2, theirs.eigs[:r], rtol=1e-8)


@DATA
@pytest.mark.parametrize("r", [1, 3])
def test_save_is_its_definition_and_not_that_of_statsmodels(data_set, r):
    A, y = data_set()
    Z, W = whitened(A)
    M = 0
    for rows in np.split(np.argsort(y), SLICES):
        V = np.cov(Z[rows].T, bias=True)  # divided by m_h; statsmodels divides by m_h − 1
        M = M + len(rows) / len(y) * np.linalg.matrix_power(np.eye(A.shape[1]) - V, 2)
    values, E = np.linalg.eigh(M)
    model = SAVE(r, n_slices=SLICES).fit((A,), y)
    assert same(W @ E[:, ::-1][:, :r], model.embeddings_[0])
    np.testing.assert_allclose(model.singular_values_**2, values[::-1][:r], rtol=1e-8)
    theirs = dimred.SAVE(y, A).fit(slice_n=len(y) // SLICES)
    assert subspace_error(theirs.params[:, :r], model.embeddings_[0]) > 1e-6


def test_default_slices_are_those_of_r():
    A, y = gaussian()
    assert SIR().fit((A,), y).response_.n_places == 9
    assert SIR().fit((A[:, :2],), y).response_.n_places == 8
    assert SAVE().fit((A[:, :2], A[:, 2:]), y).response_.n_places == 8


def test_pca_is_that_of_scikit_learn():
    A, _ = skewed()
    B, _ = gaussian()
    model = PCA((3, 2)).fit((A, np.vstack([B, B])))
    theirs = SklearnPCA(3).fit(A)
    np.testing.assert_allclose(np.abs(model.embeddings_[0].T), np.abs(theirs.components_), atol=1e-8)
    np.testing.assert_allclose(model.singular_values_[0], theirs.singular_values_ / np.sqrt(len(A)), rtol=1e-8)
    np.testing.assert_allclose(
        np.abs(model.transform((A, np.vstack([B, B])))[0]), np.abs(theirs.transform(A)), atol=1e-8
    )


def test_ols_is_least_squares_and_discriminant_analysis():
    A, y = gaussian()
    model = OLS().fit((A,), y)
    regression = LinearRegression().fit(A, y)
    assert same(regression.coef_[:, None], model.embeddings_[0])
    assert model.score((A,), y) == pytest.approx(regression.score(A, y), rel=1e-9)
    assert OLS().fit((A, A[:, ::-1]), y).score((A, A[:, ::-1]), y) == pytest.approx(regression.score(A, y))
    Y = np.column_stack([y, A[:, 0] * y, A[:, 1] + y**2])
    assert same(LinearRegression().fit(A, Y).coef_.T, OLS(3).fit((A,), Y).embeddings_[0])
    F, species = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[species]
    discriminants = LinearDiscriminantAnalysis(solver="eigen").fit(F, labels).scalings_[:, :2]
    assert same(discriminants, OLS(2).fit((F,), labels).embeddings_[0])
    assert same(discriminants, SIR(2).fit((F,), labels).embeddings_[0])


@DATA
def test_iht_is_the_krylov_space(data_set):
    A, y = data_set()
    Z, W = whitened(A)
    e = y - y.mean()
    beta, H = Z.T @ e / len(y), (Z * e[:, None]).T @ Z / len(y)
    for r in (1, 2, 3):
        K = np.column_stack([np.linalg.matrix_power(H, i) @ beta for i in range(r)])
        model = IHT(r).fit((A,), y)
        assert same(W @ K, model.embeddings_[0])
    inside = np.linalg.qr(K)[0].T @ np.column_stack([beta, H])
    np.testing.assert_allclose(model.singular_values_, np.linalg.svd(inside)[1], rtol=1e-7)


def test_iht_ends_where_the_span_does(rng):
    half = rng.standard_normal((500, 3))
    A = np.vstack([half, -half])  # a third moment of 0: H vanishes for a linear y
    model = IHT(2).fit((A,), A[:, 0])
    np.testing.assert_allclose(model.singular_values_[0], A[:, 0].std())
    assert model.singular_values_[1] < 1e-10
    assert subspace_error(model.embeddings_[0], np.eye(3)[:, :1]) < 1e-10


def test_sols_uses_the_covariance_between_views(rng):
    A = rng.standard_normal((3000, 4))
    B = rng.standard_normal((3000, 3)) + A[:, :3]
    y = A[:, 0] + B[:, 1] + rng.standard_normal(3000)
    beta = LinearRegression().fit(np.hstack([A, B]), y)
    model = SOLS().fit((A, B), y)
    assert same(beta.coef_[:4, None], model.embeddings_[0])
    assert same(beta.coef_[4:, None], model.embeddings_[1])
    assert model.score((A, B), y) == pytest.approx(beta.score(np.hstack([A, B]), y), rel=1e-9)
    truth = (np.eye(4)[:, :1], np.eye(3)[:, 1:2])
    assert nsee(truth, model.embeddings_) < 0.1
    assert nsee(truth, OLS().fit((A, B), y).embeddings_) > 0.3  # which gives A credit for what B explains


def test_sols_of_subpopulations(rng):
    A, B = rng.standard_normal((2000, 5)) * [1, 5, 1, 1, 0.2], rng.standard_normal((2000, 4))
    group = rng.choice(["x", "y", "z"], p=[0.2, 0.3, 0.5], size=2000)
    y = np.select([group == "x", group == "y"], [A[:, 0], 2 * A[:, 1]], B[:, 0]) + A[:, 2] * B[:, 1]
    stacked = []
    for label in "xyz":
        at = group == label
        stacked.append(np.sqrt(at.mean()) * LinearRegression().fit(np.hstack([A, B])[at], y[at]).coef_)
    beta = np.column_stack(stacked)
    for r in (1, 2, 3):
        model = SOLS(r).fit((A, B), y, groups=group)
        for X, block, U in zip((A, B), (beta[:5], beta[5:]), model.embeddings_, strict=True):
            W = whitened(X)[1]
            assert same(W @ np.linalg.svd(np.linalg.solve(W, block))[0][:, :r], U)
    assert list(model.response_.grid) == ["x", "y", "z"]
    # The same from the moments of each subpopulation, and with their labels as numbers.
    parts = [Moments.of_block((A[group == g], B[group == g]), y[group == g], blocks=("means",)) for g in "xyz"]
    assert same(model.embeddings_[0], SOLS(3).fit_moments(parts).embeddings_[0])
    numbers = np.searchsorted(["x", "y", "z"], group)
    np.testing.assert_array_equal(model.embeddings_[0], SOLS(3).fit((A, B), y, groups=numbers).embeddings_[0])


def test_sols_of_slices_is_that_of_groups(rng):
    A, y = gaussian()
    model = SOLS(2, n_slices=3).fit((A,), y)
    which = np.digitize(y, model.response_.grid)
    np.testing.assert_allclose(model.embeddings_[0], SOLS(2).fit((A,), y, groups=which).embeddings_[0], atol=1e-10)


def test_slices_are_classes_for_labels(rng):
    A, y = gaussian()
    two = np.where(y > np.median(y), "high", "low")
    for method in (SIR, SAVE):
        by_labels = method(1).fit((A,), two)
        by_edges = method(1, edges=[np.median(y)]).fit((A,), y)
        assert same(by_labels.embeddings_[0], by_edges.embeddings_[0])
        assert same(by_labels.embeddings_[0], method(1).fit((A,), two == "high").embeddings_[0])


def test_several_responses_share_their_directions():
    """The same response twice changes no direction; two that bend along different ones show both."""
    A, y = gaussian()
    for model in (PHD(2), IHT(2), PHD(1, concatenate=True), PHD(2, residual=True)):
        X = (A,) if not model.get_params().get("concatenate") else (A[:, :3], A[:, 3:])
        one, two = model.fit(X, y).embeddings_, model.fit(X, np.column_stack([y, y])).embeddings_
        assert all(same(U, V) for U, V in zip(one, two, strict=True))
    B = np.random.default_rng(0).standard_normal((20_000, 5))
    U = PHD(2).fit((B,), np.column_stack([B[:, 0] ** 2, B[:, 1] ** 2])).embeddings_[0]
    assert subspace_error(np.eye(5)[:, :2], U) < 0.1


def test_scores_are_shares_of_the_variance():
    """On Gaussian features, a quadratic response is explained by PHD, a linear one by OLS, as R² says."""
    rng = np.random.default_rng(0)
    A, new = rng.standard_normal((2, 100_000, 4))
    quadratic, linear = (lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2), (lambda Z: Z[:, 3])
    y, y_new = (quadratic(Z) + linear(Z) for Z in (A, new))  # variances 3 and 1
    assert PHD(3).fit((A,), y).score((new,), y_new) == pytest.approx(0.75, abs=0.02)
    assert PHD(3).fit((A,), 5 * y + 7).score((new,), 5 * y_new + 7) == pytest.approx(0.75, abs=0.02)
    assert OLS().fit((A,), y).score((new,), y_new) == pytest.approx(0.25, abs=0.02)
    joint = PHD((2, 1), concatenate=True).fit((A[:, :2], A[:, 2:]), y)
    assert joint.score((new[:, :2], new[:, 2:]), y_new) == pytest.approx(0.75, abs=0.02)
    # On the rows that were fitted, it is exactly what the eigenvalues say.
    model = PHD(3).fit((A,), y)
    assert model.score((A,), y) == pytest.approx(np.sum(model.singular_values_**2) / (2 * y.var()))
    sliced = SIR(1).fit((A,), y)
    assert sliced.score((A,), y) == pytest.approx(sliced.singular_values_[0] ** 2 / (sliced.response_.n_places - 1))


def test_each_method_sees_what_it_should():
    odd, even = make_bilinear(20_000, 8, 2, random_state=0), make_even(20_000, 8, 2, random_state=0)
    for (X, y, truth), good, blind in (
        (odd, [JDR(2), PHD(2, concatenate=True)], [PHD(2), SIR(2), PCA(2), SOLS(2, n_slices=5)]),
        (even, [PHD(2), PHD(2, concatenate=True), SAVE(2, n_slices=5)], [JDR(2), SIR(2), PCA(2), SOLS(2, n_slices=5)]),
    ):
        for model in good:
            assert nsee(truth, model.fit(X, y).embeddings_) < 0.2, model
        for model in blind:
            assert nsee(truth, model.fit(X, y).embeddings_) > 0.4, model


def test_ridge_leaves_nothing_where_there_is_nothing(rng):
    """With a ridge the whitened covariance is no identity; SAVE must not take that for signal."""
    A = rng.standard_normal((20_000, 4)) * [1, 1, 1, 0.1]
    y = A[:, 0] ** 2
    model = SAVE(1, n_slices=4, ridge=0.5).fit((A,), y)
    assert subspace_error(np.eye(4)[:, :1], model.embeddings_[0]) < 0.1


def test_errors_say_what_to_do(data):
    A, B, y = data
    X = (A, B)
    for model, message in (
        (OLS(2), "n_components=2 is more than the 1 to be found.*one direction per response"),
        (SOLS(2), "give groups= or n_slices="),
        (SIR(3, n_slices=3), "3 slices show one less.*raise n_slices"),
        (SIR("auto"), "'auto' is JDR's: give SIR a number"),
        (PHD(5), "more than a view has features"),
        (PHD(2, ridge=-1), "ridge=-1 must be a number"),
        (PHD(2, scale="cube"), "scale="),
        (SAVE(1, n_slices=1), "n_slices=1 must be an integer"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
    for method in (SIR, SAVE):
        with pytest.raises(ValueError, match="edges="):
            method(1).partial_fit(X, y)
        fitted = method(1, n_slices=3).fit(X, y)
        with pytest.raises(ValueError, match="edges="):
            fitted.partial_fit(X, y)
    with pytest.raises(ValueError, match="edges="):
        SOLS(1, n_slices=3).partial_fit(X, y)
    with pytest.raises(ValueError, match="give all as edges="):
        SOLS(1).partial_fit(X, y, groups=y > 0)
    with pytest.raises(ValueError, match=r"labels that are not among edges=.*\['c'\]"):
        SOLS(1, edges=["a", "b"]).partial_fit(X, y, groups=np.where(y > 0, "a", "c"))
    with pytest.raises(ValueError, match="one label per row"):
        SOLS(1).fit(X, y, groups=["a", "b"])
    with pytest.raises(ValueError, match="SOLS needs a y of numbers"):
        SOLS(1).fit(X, np.where(y > 0, "a", "b"))
    residual = PHD(2, residual=True)
    with pytest.raises(ValueError, match="use fit, or residual=False"):
        residual.partial_fit(X, y)
    with pytest.raises(ValueError, match="use fit, or residual=False"):
        residual.fit_moments(Moments.of_block(X, y, blocks=("within",)))
    with pytest.raises(AttributeError, match=r"has no score.*Use residual=False"):
        residual.fit(X, y).score(X, y)
    with pytest.raises(AttributeError, match="Only PHD\\(concatenate=True\\)"):
        PHD(2).fit(X, y).transform_joint(X)
    with pytest.raises(AttributeError, match="PCA has no score: it does not look at y"):
        PCA(1).fit(X).score(X, y)
    assert not hasattr(SAVE(1), "score")
    with pytest.raises(TypeError, match="a list, the Moments of each slice"):
        SAVE(1).fit_moments(Moments.of_block(X, y))
    with pytest.raises(ValueError, match="indicators of the slices"):
        SIR(1).fit_moments(Moments.of_block(X, y))
    with pytest.raises(ValueError, match="blocks including 'within'"):
        PHD(1).fit_moments(Moments.of_block(X, y))


def test_sliced_methods_from_moments(data):
    A, B, y = data
    which = np.digitize(y, [0.0, 3.0, 6.0])
    moments = Moments.of_block((A, B), np.eye(4)[which], blocks=("means",))
    expected = SIR(2, edges=[0.0, 3.0, 6.0]).fit((A, B), y)
    assert same(expected.embeddings_[1], SIR(2).fit_moments(moments).embeddings_[1])
    with pytest.raises(ValueError, match="fitted from moments"):
        SIR(2).fit_moments(moments).score((A, B), y)
    parts = [Moments.of_block((A[which == h], B[which == h]), blocks=()) for h in range(4)]
    expected = SAVE(2, edges=[0.0, 3.0, 6.0]).fit((A, B), y)
    assert same(expected.embeddings_[1], SAVE(2).fit_moments(parts).embeddings_[1])


def test_streams_of_groups(data):
    A, B, y = data
    groups = np.where(y > 3, "high", "low")
    whole = SOLS(2).fit((A, B), y, groups=groups)
    stream = SOLS(2, edges=["low", "high"])
    for at in (slice(0, 150), slice(150, None)):
        stream.partial_fit((A[at], B[at]), y[at], groups=groups[at])
    np.testing.assert_allclose(stream.embeddings_[0], whole.embeddings_[0], atol=1e-9)

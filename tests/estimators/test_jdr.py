from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import linalg
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, learning_curve
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from jointdr import JDR, KernelRegression, Moments, Views
from jointdr.datasets import make_bilinear, make_rbf
from jointdr.metrics import nsee


def textbook(A, B, y, r):
    """Algorithm 1, line by line, on the data."""
    m = len(y)
    a, b, e = A - A.mean(axis=0), B - B.mean(axis=0), y - y.mean()
    C_a, C_b = (linalg.cholesky(x.T @ x / m, lower=True) for x in (a, b))
    a, b = linalg.solve_triangular(C_a, a.T, lower=True).T, linalg.solve_triangular(C_b, b.T, lower=True).T
    U, s, Vt = linalg.svd((e[:, None] * a).T @ b / m)
    return np.linalg.inv(C_a).T @ U[:, :r], s[:r], np.linalg.inv(C_b).T @ Vt[:r].T, (a, b, e)


def test_algorithm_1(data):
    A, B, y = data
    U, s, V, (_a, _b, _e) = textbook(A, B, y, 2)
    model = JDR(2).fit((A, B), y)
    np.testing.assert_allclose(model.singular_values_, s, rtol=1e-10)
    sign = np.sign(np.sum(U * model.embeddings_[0], axis=0))
    np.testing.assert_allclose(model.embeddings_[0], U * sign, atol=1e-10)
    np.testing.assert_allclose(model.embeddings_[1], V * sign, atol=1e-10)
    np.testing.assert_allclose(model.means_[0], A.mean(axis=0))
    Z = model.transform((A, B))
    np.testing.assert_allclose(Z[0], (A - A.mean(axis=0)) @ model.embeddings_[0], atol=1e-10)
    assert model.n_components_ == 2
    assert isinstance(model.moments_, Moments)


def test_normalize_none_is_raw(data):
    A, B, y = data
    U, s, Vt = linalg.svd((y[:, None] * A).T @ B / len(y))
    for fitted in (
        JDR(2, normalize=None).fit((A, B), y),
        JDR(2, normalize=None).fit_moments(Moments.of_block((A, B), y)),  # rebuilt from central moments
    ):
        np.testing.assert_allclose(fitted.singular_values_, s[:2], rtol=1e-10)
        assert nsee((U[:, :2], Vt[:2].T), fitted.embeddings_) < 1e-10
        np.testing.assert_array_equal(fitted.means_[0], 0)
        np.testing.assert_allclose(fitted.transform((A, B))[0], A @ fitted.embeddings_[0])


def test_feature_wise(data):
    A, B, y = data
    a, b = (x - x.mean(axis=0) for x in (A, B))
    X0 = ((y - y.mean())[:, None] * a / A.std(axis=0)).T @ (b / B.std(axis=0)) / len(y)
    model = JDR(2, normalize="feature").fit((A, B), y)
    np.testing.assert_allclose(model.singular_values_, linalg.svdvals(X0)[:2], rtol=1e-10)


def test_scale(data):
    A, B, y = data
    plain = JDR(2).fit((A, B), y)
    Z = plain.transform((A, B))
    for scale, exponent in (("sqrt", 0.5), (0.25, 0.25), (1, 1.0), (np.float32(0.5), 0.5)):
        scaled = JDR(2, scale=scale).fit((A, B), y).transform((A, B))
        np.testing.assert_allclose(scaled[1], Z[1] * plain.singular_values_**exponent)
    with pytest.raises(ValueError, match="scale="):
        JDR(2, scale="cube").fit((A, B), y)


def test_score_is_the_held_out_proxy_criterion(data):
    A, B, y = data
    model = JDR(2).fit((A[:200], B[:200]), y[:200])
    X_hat = model.embeddings_[0] * model.singular_values_ @ model.embeddings_[1].T
    a, b, e = A[200:] - model.means_[0], B[200:] - model.means_[1], y[200:] - y[:200].mean()
    X_new = (e[:, None] * a).T @ b / 200
    # ⟨X_new, X̂⟩ between normalized proxies is ⟨T_new, ÛΣV̂ᵀ⟩ between features.
    expected = (2 * np.sum(X_new * X_hat) - np.sum(model.singular_values_**2)) / y[200:].var()
    assert model.score((A[200:], B[200:]), y[200:]) == pytest.approx(expected, rel=1e-9)


def test_score_of_joint_normalization_reads_the_joint_proxy(data):
    A, B, y = data
    B = B + 0.3 * A[:, :4]
    model = JDR(2, normalize="joint").fit((A, B), y)
    # On the training rows X_new is X₀ itself, whose product with its own truncation is Σσ².
    expected = np.sum(model.singular_values_**2) / y.var()
    assert model.score((A, B), y) == pytest.approx(expected, rel=1e-8)
    assert JDR(2).fit((A, B), y).score((A, B), y) == pytest.approx(
        np.sum(JDR(2).fit((A, B), y).singular_values_ ** 2) / y.var(), rel=1e-8
    )


def test_score_is_r2_of_the_bilinear_prediction():
    X, y, _ = make_bilinear(40_000, 10, 2, random_state=0)
    model = JDR(2).fit(X[:20_000], y[:20_000])
    A, B = model.transform(X[20_000:])
    prediction = y[:20_000].mean() + (A * B) @ model.singular_values_
    r2 = 1 - np.mean((y[20_000:] - prediction) ** 2) / y[20_000:].var()
    assert model.score(X[20_000:], y[20_000:]) == pytest.approx(r2, abs=0.03)
    assert r2 > 0.5


def test_model_selection_finds_the_rank():
    X, y, _ = make_bilinear(10_000, (20, 15), 3, random_state=1)
    search = GridSearchCV(JDR(), {"n_components": [1, 2, 3, 4, 5]}, cv=4, n_jobs=2).fit(X, y)
    assert search.best_params_ == {"n_components": 3}
    assert cross_val_score(JDR(3), X, y, cv=3).shape == (3,)
    sizes, _, test = learning_curve(JDR(3), X, y, train_sizes=[0.1, 1.0], cv=3)
    assert sizes[1] > sizes[0]
    assert test.mean(axis=1)[1] > test.mean(axis=1)[0]


def test_pipeline_with_kernel_regression_is_cross_validated_by_rows():
    X, y, _ = make_rbf(3000, 8, 1, random_state=1)
    model = make_pipeline(JDR(1, scale="sqrt"), KernelRegression())
    prediction = cross_val_predict(model, X, y, cv=3)
    assert prediction.shape == y.shape
    assert np.corrcoef(prediction, y)[0, 1] > 0.3
    search = GridSearchCV(model, {"jdr__n_components": [1, 2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.05


def test_a_bare_list_is_never_split_silently():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((50, 3)), rng.standard_normal((50, 4))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        cross_val_score(JDR(1), [A, B], A[:, 0], error_score="raise")
    # As many views as rows: scikit-learn sees nothing wrong, so fit has to.
    square = [rng.standard_normal((4, 3)) for _ in range(4)]
    with pytest.raises(ValueError, match=r"Views\(A, B\)"):
        GridSearchCV(JDR(1), {"n_components": [1]}, cv=2, error_score="raise").fit(square)
    with pytest.raises(ValueError, match=r"y has 2 entries but the views have 4 rows.*Views\(A, B\)"):
        GridSearchCV(JDR(1), {"n_components": [1]}, cv=2, error_score="raise").fit(square, np.arange(4.0))


def test_one_matrix_form(data):
    A, B, y = data
    frame = pd.DataFrame(np.hstack([A, B]), columns=[f"g{i}" for i in range(6)] + [f"d{i}" for i in range(4)])
    two = JDR(2).fit((A, B), y)
    expected = np.hstack(two.transform((A, B)))
    for table, views in (
        (frame.to_numpy(), [slice(0, 6), slice(6, None)]),
        (frame.to_numpy(), [range(6), [6, 7, 8, 9]]),
        (frame, {"genes": list(frame.columns[:6]), "diseases": list(frame.columns[6:])}),
        (frame.to_numpy(), [np.arange(10) < 6, np.arange(10) >= 6]),
    ):
        model = JDR(2, views=views).fit(table, y)
        np.testing.assert_allclose(model.transform(table), expected, atol=1e-12)
        np.testing.assert_allclose(model.fit_transform(table, y), expected, atol=1e-12)
    named = JDR(2, views={"genes": [f"g{i}" for i in range(6)], "diseases": slice(6, None)}).fit(frame, y)
    assert list(named.get_feature_names_out()) == ["genes_jdr0", "genes_jdr1", "diseases_jdr0", "diseases_jdr1"]
    knn = make_pipeline(JDR(2, views=[slice(0, 6), slice(6, None)]), KNeighborsRegressor())
    assert cross_val_score(knn, frame.to_numpy(), y, cv=3).mean() > 0
    with pytest.raises(TypeError, match="drop views="):
        JDR(2, views=[slice(0, 6), slice(6, None)]).fit(Views(A, B), y)


def test_feature_names_and_set_output(data):
    A, B, y = data
    index = [f"row{i}" for i in range(len(y))]
    X = (pd.DataFrame(A, index=index, columns=list("uvwxyz")), pd.DataFrame(B, index=index))
    model = JDR(2).fit(X, y).set_output(transform="pandas")
    Z = model.transform(X)
    assert isinstance(Z, tuple)
    assert [list(part.columns) for part in Z] == [["a_jdr0", "a_jdr1"], ["b_jdr0", "b_jdr1"]]
    assert list(Z[1].index) == index
    assert clone(model).fit_transform(X, y)[0].shape == (len(y), 2)
    assert isinstance(clone(model).fit_transform(X, y)[0], pd.DataFrame)
    model.set_output(transform="default")
    assert isinstance(model.transform(X)[0], np.ndarray)
    with config_context(transform_output="pandas"):
        assert isinstance(JDR(1).fit(X, y).transform(X)[1], pd.DataFrame)
    with pytest.raises(ValueError, match="transform="):
        model.set_output(transform="csv")
    with pytest.raises(ValueError, match="view 'a' has other feature names"):
        model.transform((X[0][list("zyxwvu")], X[1]))


def test_clone_pickle_repr(data):
    A, B, y = data
    model = JDR(2, ridge="auto", scale=0.25).fit((A, B), y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform((A, B))[0], model.transform((A, B))[0])
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        fresh.transform((A, B))
    assert not hasattr(fresh, "embeddings_")
    assert repr(JDR(3, ridge="auto")) == "JDR(n_components=3, ridge='auto')"
    assert "<div" in model._repr_html_()


def test_partial_fit_continues_a_small_fit(data):
    A, B, y = data
    whole = JDR(2).fit((A, B), y)
    continued = JDR(2).fit((A[:100], B[:100]), y[:100]).partial_fit((A[100:], B[100:]), y[100:])
    np.testing.assert_allclose(continued.embeddings_[0], whole.embeddings_[0], atol=1e-10)


def test_partial_fit_on_a_large_fit_says_what_to_do(monkeypatch, data):
    A, B, y = data
    monkeypatch.setattr("jointdr.directions.jdr.EXTENDABLE_PRODUCTS", 0)
    model = JDR(2).fit((A, B), y)
    with pytest.raises(ValueError, match="C_ab was left out"):
        model.partial_fit((A, B), y)
    raw = JDR(2, normalize=None).fit((A[:100], B[:100]), y[:100]).partial_fit((A[100:], B[100:]), y[100:])
    np.testing.assert_allclose(raw.embeddings_[0], JDR(2, normalize=None).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_partial_fit_one_row_at_a_time(data):
    A, B, y = data
    model = JDR(2)
    model.partial_fit((A[:1], B[:1]), y[:1])
    with pytest.raises(ValueError, match="1 sample"):
        model.transform((A, B))
    assert not hasattr(model, "embeddings_")
    assert "<div" in model._repr_html_()
    for i in range(1, len(y)):
        model.partial_fit((A[i : i + 1], B[i : i + 1]), y[i : i + 1])
    np.testing.assert_allclose(model.embeddings_[0], JDR(2).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_large_moments_are_not_kept(monkeypatch, data):
    A, B, y = data
    monkeypatch.setattr("jointdr.estimators.base.KEEP_MOMENTS_BYTES", 100)
    model = JDR(2).fit((A, B), y)
    assert not hasattr(model, "moments_")
    with pytest.raises(ValueError, match="start anew with partial_fit"):
        model.partial_fit((A, B), y)


def test_refit_forgets_everything(data):
    A, B, y = data
    model = JDR(2).partial_fit((A, B), y)
    model.fit((A[:, :3], B), y)
    assert model.embeddings_[0].shape == (3, 2)
    assert model.moments_.n_samples == len(y)


def test_float32_stays_float32(data):
    A, B, y = (x.astype(np.float32) for x in data)
    model = JDR(2).fit((A, B), y)
    assert model.transform((A, B))[0].dtype == np.float32
    assert nsee(JDR(2).fit(data[:2], data[2]).embeddings_, model.embeddings_) < 1e-4


def test_inputs_are_not_changed(data):
    A, B, y = (x.copy() for x in data)
    w = np.ones(len(y))
    for x in (A, B, y, w):
        x.flags.writeable = False
    for solver in ("exact", "randomized"):
        JDR(2, solver=solver, n_features_to_select=3).fit((A, B), y, sample_weight=w).transform((A, B))


@pytest.mark.parametrize("layout", ["F", "strided", "reversed"])
def test_memory_layouts(data, layout):
    A, B, y = data
    forms = {
        "F": np.asfortranarray,
        "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        "reversed": lambda x: x[:, ::-1].copy()[:, ::-1],
    }
    model = JDR(2).fit((forms[layout](A), forms[layout](B)), y)
    np.testing.assert_allclose(model.embeddings_[0], JDR(2).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_score_with_weights_and_without_normalization(data):
    A, B, y = data
    w = np.linspace(0.5, 3, len(y))
    at = np.repeat(np.arange(len(y)), 1 + (np.arange(len(y)) % 3))
    counts = 1.0 + (np.arange(len(y)) % 3)
    for options in ({}, {"normalize": None}, {"normalize": "joint", "n_features_to_select": 3}):
        model = JDR(2, **options).fit((A, B), y)
        weighted = model.score((A, B), y, sample_weight=counts)
        assert weighted == pytest.approx(model.score((A[at], B[at]), y[at]), rel=1e-9)
        assert weighted != pytest.approx(model.score((A, B), y, sample_weight=w), rel=1e-6)
    raw = JDR(2, normalize=None).fit((A, B), y)
    scaled = JDR(2, normalize=None).fit((A * 10, B * 7), y * 3)
    assert scaled.score((A * 10, B * 7), y * 3) == pytest.approx(raw.score((A, B), y), rel=1e-9)
    X0 = (y[:, None] * A).T @ B / len(y)
    expected = np.sum(linalg.svdvals(X0)[:2] ** 2) / np.mean(y**2) / np.mean(A**2) / np.mean(B**2)
    assert raw.score((A, B), y) == pytest.approx(expected, rel=1e-9)


def test_views_are_matched_by_name(rng):
    A, B = rng.standard_normal((500, 5)), rng.standard_normal((500, 5))
    y = A[:, 0] * B[:, 1]
    model = JDR(2).fit(Views(genes=A, diseases=B), y)
    expected = model.transform((A, B))
    for X in (Views(diseases=B, genes=A), {"diseases": B, "genes": A}, Views(genes=A, diseases=B)):
        np.testing.assert_array_equal(model.transform(X)[0], expected[0])
    with pytest.raises(ValueError, match="fitted with the views"):
        model.transform(Views(genes=A, drugs=B))


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    A, B, y = data
    bad = B.copy()
    bad[3, 1] = np.nan
    for model in (JDR(2).fit((A, B), y), JDR(2).partial_fit((A, B), y)):
        before = model.transform((A, B))[0]
        for call in (model.fit, model.partial_fit):
            with pytest.raises(ValueError):
                call((A[:, :3], bad), y)
            np.testing.assert_array_equal(model.transform((A, B))[0], before)
        with pytest.raises(ValueError, match="more than a view has"):
            model.set_params(n_components=9).fit((A, B), y)
        model.set_params(n_components=2)
        assert model.n_features_per_view_ == (6, 4)


def test_streams_without_weight(data):
    A, B, y = data
    model = JDR(2).partial_fit((A, B), y, sample_weight=np.zeros(len(y)))
    with pytest.raises(NotFittedError, match="total weight of 0"):
        model.transform((A, B))
    model.partial_fit((A, B), y)
    np.testing.assert_allclose(model.embeddings_[0], JDR(2).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_arrays_of_one_library(data):
    torch = pytest.importorskip("torch")
    A, B, y = data
    with pytest.raises(TypeError, match="arrays of one library"):
        JDR(2).fit((torch.asarray(A), B), y)
    with pytest.raises(TypeError, match="drop views="):
        JDR(2, views=[slice(0, 6), slice(6, None)]).fit((A, B), y)


def test_selection_in_a_strict_backend(data):
    xp = pytest.importorskip("array_api_strict")
    A, B, y = data
    model = JDR(2, n_features_to_select=(3, 3), solver="randomized", random_state=0)
    expected = model.fit((A, B), y).embeddings_[0]
    np.testing.assert_allclose(model.fit((xp.asarray(A), xp.asarray(B)), y).embeddings_[0], expected, atol=1e-9)


def test_sparse_float32_stays_float32(data):
    from scipy import sparse

    A, B, y = data
    views = tuple(sparse.csr_array(V.astype(np.float32)) for V in (A, B))
    assert JDR(2).fit(views, y).transform(views)[0].dtype == np.float32


def test_y_in_another_order_than_the_views_is_aligned(data):
    A, B, y = data
    frames = (pd.DataFrame(A), pd.DataFrame(B)[::-1])
    turned, weight = pd.Series(y)[::-1], pd.Series(np.abs(y))[::-1]
    model = JDR(2).fit(frames, turned, sample_weight=weight)
    expected = JDR(2).fit((A, B), y, sample_weight=np.abs(y))
    np.testing.assert_allclose(model.singular_values_, expected.singular_values_, rtol=1e-12)
    assert model.score(frames, turned) == pytest.approx(expected.score((A, B), y), rel=1e-12)
    parts = JDR(2).partial_fit(frames, turned)
    expected = JDR(2).partial_fit((A, B), y)
    np.testing.assert_allclose(parts.singular_values_, expected.singular_values_, rtol=1e-12)


def test_y_with_other_ids_than_the_views_is_refused(data):
    """As when each table has lost other rows: taken by position, NSEE would rise from 0.08 to 0.75 in silence."""
    A, B, y = data
    frames = (pd.DataFrame(A).drop(index=0), pd.DataFrame(B).drop(index=1))
    with pytest.raises(ValueError, match="The index of view 'b' has other ids than the first table, for example 0"):
        JDR(2).fit(frames, y[1:])
    for fit in (JDR(2).fit, JDR(2).partial_fit):
        with pytest.raises(ValueError, match="The index of y has other ids than the first table"):
            fit((frames[0], B[1:]), pd.Series(y).drop(index=2))


@pytest.mark.parametrize("scale", [None, "sqrt"])
def test_one_view_alone(scale):
    X, y, _ = make_bilinear(500, n_features=(6, 4), n_components=2, random_state=0)
    model = JDR(2, scale=scale).fit({"image": X.arrays[0], "text": X.arrays[1]}, y)
    Z = model.transform(X)
    np.testing.assert_array_equal(model.transform_view(X.arrays[1][:7], "text"), Z[1][:7])
    np.testing.assert_array_equal(model.transform_view(X.arrays[0], 0), Z[0])
    frame = model.set_output(transform="pandas").transform_view(X.arrays[0][:3], "image")
    assert list(frame.columns) == ["image_jdr0", "image_jdr1"]
    with pytest.raises(ValueError, match=r"view=2 must be .* \('image', 'text'\)"):
        model.transform_view(X.arrays[0], 2)
    with pytest.raises(ValueError, match="'text' was fitted with 4 features, but got 6"):
        model.transform_view(X.arrays[0], "text")
    with pytest.raises(ValueError, match="NaN"):
        model.transform_view(np.full((2, 6), np.nan), 0)


def test_more_directions_than_the_proxy_has_are_refused(rng):
    A, B = rng.standard_normal((200, 5)), rng.standard_normal((200, 9))
    y = A[:, 0] * B[:, 0]
    with pytest.raises(ValueError, match=r"asks for 8 directions of view 'b'.* has 5: give at most \(5, 5\)"):
        JDR((3, 8)).fit((A, B), y)
    assert JDR((3, 5)).fit((A, B), y).n_components_ == (3, 5)
    assert (JDR((3, 8)).fit((A, B), np.column_stack([y, A[:, 1] * B[:, 1]])).singular_values_[1] > 1e-6).all()
    assert (JDR((3, 8), moments="all").fit((A, B), y + B[:, 2] ** 2).singular_values_[1] > 1e-6).all()


def test_more_directions_than_a_tensor_has_are_refused(rng):
    X = Views(rng.standard_normal((300, 2)), rng.standard_normal((300, 2)), rng.standard_normal((300, 6)))
    y = X.arrays[0][:, 0] * X.arrays[1][:, 0] * X.arrays[2][:, 0]
    with pytest.raises(ValueError, match=r"5 directions of view 'c'.* has 4"):
        JDR((2, 2, 5)).fit(X, y)
    assert JDR((2, 2, 4)).fit(X, y).n_components_ == (2, 2, 4)

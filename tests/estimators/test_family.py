"""What every estimator of the family promises, JDR among them: of rows, and of dyads, where IMC joins them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from jointdr import IHT, IMC, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS, Dyads, KernelRegression, Moments, TableWarning, Views
from jointdr.engines import grid
from jointdr.engines import rows as local
from jointdr.metrics import subspace_error
from tests.support.reference import random_sparse

EDGES = [0.0, 2.0, 4.5]
FAMILY = {
    "JDR": JDR(2),
    "PCA": PCA(2),
    "OLS": OLS(),
    "IHT": IHT(2),
    "PHD": PHD(2),
    "PHD residual": PHD(2, residual=True),
    "PHD concatenated": PHD(2, concatenate=True),
    "PHD concatenated residual": PHD(2, concatenate=True, residual=True),
    "SIR": SIR(2, edges=EDGES),
    "SAVE": SAVE(2, edges=EDGES),
    "SOLS": SOLS(),
    "SOLS sliced": SOLS(2, edges=EDGES),
}
SLICED_BY_DATA = {"SIR by data": SIR(2, n_slices=4), "SAVE by data": SAVE(2), "SOLS by data": SOLS(2, n_slices=4)}
UNSCORED = {"PCA", "IHT", "SAVE", "PHD residual", "PHD concatenated residual"}


def close(one, two, tolerance=1e-9):
    """Whether two fitted models have the same embeddings, in any basis."""
    pairs = zip(one.embeddings_, two.embeddings_, strict=True)
    return all(max(subspace_error(U, V), subspace_error(V, U)) < tolerance for U, V in pairs)


@pytest.fixture
def data(rng):
    """Two views of different widths that depend on each other a little, and a response with all kinds of signal."""
    m = 600
    A = rng.standard_normal((m, 5)) @ rng.standard_normal((5, 5)) + 1.0
    B = rng.standard_normal((m, 4)) @ rng.standard_normal((4, 4)) + 0.2 * A[:, :4] - 2.0
    a, b = A - A.mean(axis=0), B - B.mean(axis=0)
    y = a[:, 0] * b[:, 1] + a[:, 1] + b[:, 2] + 0.5 * a[:, 2] ** 2 + 0.3 * b[:, 0] ** 2 + rng.standard_normal(m)
    return A, B, y


@pytest.mark.parametrize("name", FAMILY)
class TestEveryEstimator:
    @pytest.fixture
    def model(self, name):
        return clone(FAMILY[name])

    def test_interface(self, model, data, name):
        A, B, y = data
        Z = model.fit((A, B), y).transform((A, B))
        r = model.n_components_
        assert [part.shape for part in Z] == [(len(y), r)] * 2
        assert [U.shape for U in model.embeddings_] == [(5, r), (4, r)]
        for X, U, mean, part in zip((A, B), model.embeddings_, model.means_, Z, strict=True):
            np.testing.assert_allclose(part, (X - mean) @ U, atol=1e-10)
            np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-12)
        for one, two in zip(Z, clone(model).fit_transform((A, B), y), strict=True):
            np.testing.assert_array_equal(one, two)
        spectra = model.singular_values_ if isinstance(model.singular_values_, tuple) else (model.singular_values_,)
        for s in spectra:
            assert s.shape == (r,)
            assert (np.diff(s) <= 0).all()
            assert (s >= 0).all()
        scaled = clone(model).set_params(scale="sqrt").fit((A, B), y).transform((A, B))
        np.testing.assert_allclose(scaled[0], Z[0] * np.sqrt(spectra[0]))
        assert all(mask.all() for mask in model.support_)

    def test_score(self, model, data, name):
        A, B, y = data
        train, test = slice(0, 400), slice(400, None)
        model.fit((A[train], B[train]), y[train])
        if name in UNSCORED:
            assert not hasattr(model, "score")
            with pytest.raises(AttributeError, match="has no score"):
                model.score((A, B), y)
            return
        assert 0 < model.score((A[test], B[test]), y[test]) < 1
        counts = 1 + np.arange(200) % 3
        at = 400 + np.repeat(np.arange(200), counts)
        weighted = model.score((A[test], B[test]), y[test], sample_weight=counts)
        assert weighted == pytest.approx(model.score((A[at], B[at]), y[at]), rel=1e-9)
        permuted = np.random.default_rng(0).permutation(y)
        null = clone(model).fit((A[train], B[train]), permuted[train])
        assert null.score((A[test], B[test]), permuted[test]) < 0.05
        with pytest.raises(ValueError, match="y is constant"):
            model.score((A, B), np.ones(len(y)))

    def test_views(self, model, data, name):
        A, B, y = data
        X = Views(genes=A, diseases=B)
        expected = model.fit((A, B), y).transform((A, B))
        Z = clone(model).fit(X, y).transform(Views(diseases=B, genes=A))
        np.testing.assert_array_equal(Z[0], expected[0])
        if name not in UNSCORED:
            assert cross_val_score(model, X, y, cv=3).shape == (3,)
        pipeline = make_pipeline(clone(model), KernelRegression())
        assert cross_val_predict(pipeline, X, y, cv=2).shape == y.shape

    def test_one_view_and_three(self, model, data, name):
        A, B, y = data
        X = (A[:, :3], A[:, 3:], B)
        assert len(model.fit(X, y).transform(X)) == 3
        if name == "JDR":
            with pytest.raises(ValueError, match="needs at least 2 views"):
                model.fit((A,), y)
            return
        alone = clone(model).fit((A,), y)
        assert alone.transform((A,))[0].shape == (len(y), model.n_components_)
        matrix = clone(model).set_params(views=[slice(None)]).fit(A, y)
        np.testing.assert_array_equal(matrix.transform(A), alone.transform((A,))[0])

    def test_views_that_are_treated_separately_are(self, model, data, name):
        if name == "JDR" or "SOLS" in name or "concatenated" in name:
            pytest.skip("a joint method")
        A, B, y = data
        both = model.fit((A, B), y).embeddings_[1]
        np.testing.assert_allclose(clone(model).fit((B,), y).embeddings_[0], both, atol=1e-9)

    def test_different_numbers_of_directions(self, model, data, name):
        A, B, y = data
        if model.n_components == 1:
            pytest.skip("finds one direction")
        model.set_params(n_components=(1, 2)).fit((A, B), y)
        assert [Z.shape[1] for Z in model.transform((A, B))] == [1, 2]
        assert model.n_components_ == (1, 2)

    def test_block_size_and_row_order(self, model, data, name, monkeypatch, rng):
        A, B, y = data
        plain = model.fit((A, B), y)
        order = rng.permutation(len(y))
        assert close(plain, clone(model).fit((A[order], B[order]), y[order]))
        monkeypatch.setattr(local, "block_rows", lambda views, minimum=0, block_bytes=0: 77)
        again = clone(model).fit((A, B), y)
        for one, two in zip(plain.embeddings_, again.embeddings_, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-9)

    def test_partial_fit_is_fit(self, model, data, name):
        A, B, y = data
        if "residual" in name:
            with pytest.raises(ValueError, match="residual=False"):
                model.partial_fit((A, B), y)
            return
        whole = clone(model).fit((A, B), y)
        for at in (slice(0, 1), slice(1, 300), slice(300, None)):
            model.partial_fit((A[at], B[at]), y[at])
        np.testing.assert_allclose(model.embeddings_[0], whole.embeddings_[0], atol=1e-8)
        resumed = clone(model).fit((A[:200], B[:200]), y[:200]).partial_fit((A[200:], B[200:]), y[200:])
        np.testing.assert_allclose(resumed.embeddings_[1], whole.embeddings_[1], atol=1e-8)
        assert whole.moments_.n_samples == len(y)

    def test_fit_moments_is_fit(self, model, data, name):
        A, B, y = data
        if "residual" in name:
            pytest.skip("reads the data again")
        whole = clone(model).fit((A, B), y)
        again = model.fit_moments(whole._parts if len(whole._parts) > 1 else whole.moments_)
        assert close(whole, again)
        if name in ("JDR", "PCA", "OLS", "IHT", "PHD", "PHD concatenated", "SOLS"):
            everything = Moments.of_block((A, B), y, blocks=("cross", "within"))
            assert close(whole, clone(model).fit_moments(everything))

    def test_weights_are_repeated_rows(self, model, data, name, rng):
        A, B, y = data
        counts = rng.integers(0, 3, len(y))
        at = np.repeat(np.arange(len(y)), counts)
        repeated = clone(model).fit((A[at], B[at]), y[at])
        assert close(repeated, model.fit((A, B), y, sample_weight=counts))
        assert close(repeated, model.fit((A, B), y, sample_weight=7.5 * counts))

    def test_sparse_equals_dense(self, model, rng, name):
        A, B = (random_sparse(rng, (1500, n), 0.3) for n in (7, 6))
        a, b = A.toarray(), B.toarray()
        y = 10 * a[:, 0] * b[:, 1] + 3 * a[:, 1] - 2 * b[:, 0] + 4 * a[:, 2] ** 2 + 0.1 * rng.standard_normal(1500)
        dense = clone(model).fit((a, b), y)
        model.fit((A, sparse.csc_array(B)), y)
        assert close(dense, model, 1e-8)
        np.testing.assert_allclose(model.transform((A, B))[1], dense.transform((a, b))[1], atol=1e-8)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    def test_array_libraries(self, model, data, name, library):
        xp = pytest.importorskip(library)
        A, B, y = data
        expected = clone(model).fit((A, B), y)
        views = (xp.asarray(A), xp.asarray(B))
        Z = model.fit(views, xp.asarray(y)).transform(views)
        assert close(expected, model)
        assert type(Z[0]) is type(views[0])
        np.testing.assert_allclose(np.asarray(Z[0]), expected.transform((A, B))[0], atol=1e-9)

    def test_invertible_affine_maps_of_a_view(self, model, data, name, rng):
        A, B, y = data
        if name == "PCA":
            pytest.skip("depends on units")
        L, M = rng.standard_normal((5, 5)), np.diag(10.0 ** rng.uniform(-2, 2, 4))
        plain, mapped = clone(model).fit((A, B), y), model.fit((A @ L + 5.0, B @ M - 100.0), y)
        # a ↦ Lᵀa + c takes the embedding U to L⁻¹U.
        for inverse, U, V in zip((L, M), plain.embeddings_, mapped.embeddings_, strict=True):
            assert subspace_error(np.linalg.solve(inverse, U), V) < 1e-7
        np.testing.assert_allclose(mapped.singular_values_, plain.singular_values_, rtol=1e-6)

    def test_clone_and_pickle(self, model, data, name):
        A, B, y = data
        assert clone(model).get_params() == model.get_params()
        model.fit((A, B), y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform((A, B))[0], model.transform((A, B))[0])
        assert not hasattr(clone(model), "embeddings_")

    def test_save_and_load(self, model, data, name, tmp_path):
        A, B, y = data
        path = tmp_path / "model.npz"
        model.fit(Views(genes=A, diseases=B), y).save(path)
        again = type(model).load(path)
        assert str(again.get_params()) == str(model.get_params())
        for one, two in zip(model.transform((A, B)), again.transform((A, B)), strict=True):
            np.testing.assert_array_equal(one, two)
        assert again.moments_used_ == model.moments_used_
        assert again.view_names_ == ("genes", "diseases")
        if name not in UNSCORED:
            assert again.score((A, B), y) == model.score((A, B), y)
        if "concatenated" in name:
            np.testing.assert_array_equal(again.transform_joint((A, B)), model.transform_joint((A, B)))
        if "residual" not in name:
            np.testing.assert_array_equal(
                again.partial_fit((A, B), y).embeddings_[0], model.partial_fit((A, B), y).embeddings_[0]
            )
        with pytest.raises(ValueError, match=f"holds a {type(model).__name__} model"):
            (OLS if type(model) is not OLS else PHD).load(path)

    def test_feature_names_and_containers(self, model, data, name):
        A, B, y = data
        index = [f"row{i}" for i in range(len(y))]
        X = (pd.DataFrame(A, index=index, columns=list("uvwxy")), pd.DataFrame(B, index=index))
        Z = model.fit(X, y).set_output(transform="pandas").transform(X)
        method = type(model).__name__.lower()
        assert list(Z[0].columns) == [f"a_{method}{i}" for i in range(model.n_components_)]
        assert list(Z[1].index) == index
        assert list(model.get_feature_names_out()) == [*Z[0].columns, *Z[1].columns]
        turned = model.transform((X[0][list("yxwvu")], X[1]))
        np.testing.assert_allclose(turned[0].to_numpy(), Z[0].to_numpy(), atol=1e-12)
        with pytest.warns(TableWarning, match="new table of 'a' is given without the columns u"):
            lost = model.transform((X[0][list("vwxy")], X[1]))[0].to_numpy()
        mean = X[0].assign(u=model.means_[0][0])  # which stands for a column that is missing
        np.testing.assert_allclose(lost, model.transform((mean, X[1]))[0].to_numpy(), atol=1e-12)
        frame = pd.DataFrame(np.hstack([A, B]), columns=list("uvwxypqrs"))
        one = clone(model).set_params(views={"left": list("uvwxy"), "right": slice(5, None)}).fit(frame, y)
        np.testing.assert_allclose(one.transform(frame).to_numpy(), np.hstack([z.to_numpy() for z in Z]), atol=1e-12)
        assert one.get_feature_names_out()[0] == f"left_{method}0"

    def test_bad_input_leaves_the_model_as_it_was(self, model, data, name):
        A, B, y = data
        model.fit((A, B), y)
        before = model.transform((A, B))[0]
        bad = B.copy()
        bad[3, 1] = np.nan
        with pytest.raises(ValueError, match=r"view 'b' contains NaN \(first at row 3, column 1\)"):
            model.fit((A, bad), y)
        with pytest.raises(ValueError, match="same number of rows"):
            model.fit((A, B[:-1]), y)
        if name != "PCA":
            with pytest.raises(ValueError, match="requires y to be passed"):
                model.fit((A, B))
        np.testing.assert_array_equal(model.transform((A, B))[0], before)

    def test_constant_response(self, model, data, name):
        if name == "PCA":
            pytest.skip("does not look at y")
        from jointdr import NoSignalWarning

        A, B, y = data
        if model.n_components > 1 and name in ("SIR", "SOLS sliced"):
            model.set_params(n_components=1)
        with pytest.warns(NoSignalWarning, match="y is constant"):
            model.fit((A, B), np.ones(len(y)))
        assert all(np.isfinite(U).all() for U in model.embeddings_)

    def test_singular_covariances(self, model, data, name):
        A, B, y = data
        doubled = np.hstack([A, A[:, :2]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit((doubled, B), y)
        assert np.isfinite(model.embeddings_[0]).all()
        if name != "PCA":  # which knows no redundancy
            plain = clone(model).fit((A, B), y).transform((A, B))
            assert subspace_error(plain[0], model.transform((doubled, B))[0]) < 1e-6
            assert np.isfinite(clone(model).set_params(ridge="auto").fit((doubled, B), y).embeddings_[0]).all()


OF_DYADS = FAMILY | {"IMC": IMC(2), "IMC random": IMC(2, init="random", random_state=0, tol=1e-3)}
TABLES = {"drug": list("uvwxy"), "target": list("pqrs")}


@pytest.mark.parametrize("name", OF_DYADS)
class TestEveryEstimatorOfDyads:
    """What can be asked of a method that takes pairs of entities alone, as IMC does."""

    @pytest.fixture
    def model(self, name):
        return clone(OF_DYADS[name])

    @pytest.fixture
    def tables(self, rng):
        """Scores with all kinds of signal, and the features of 40 and 30 entities of which they come."""
        A, B = (rng.standard_normal((m, n)) @ rng.standard_normal((n, n)) + 0.5 for m, n in ((40, 5), (30, 4)))
        Y = A[:, :2] @ B[:, 1:3].T + (A[:, 1:2] + 0.5 * A[:, 2:3] ** 2) + (B[:, 2] + 0.3 * B[:, 0] ** 2)
        return Y + rng.standard_normal(Y.shape), A, B

    @pytest.fixture(params=["complete", "observed"])
    def dyads(self, request, tables, rng):
        mask = None if request.param == "complete" else rng.random((40, 30)) < np.linspace(0.4, 1, 30)
        return Dyads(*tables, mask, names=tuple(TABLES))

    def test_interface(self, model, dyads, name):
        assert model.fit(dyads) is model
        Z = model.transform(dyads)
        r = Z[0].shape[1]
        assert [z.shape for z in Z] == [(40, r), (30, r)]
        assert [U.shape for U in model.embeddings_] == [(5, r), (4, r)]
        for X, U, mean, part in zip(
            (dyads.A, dyads.B), model.embeddings_, getattr(model, "means_", (0, 0)), Z, strict=True
        ):
            np.testing.assert_allclose(part, (X - mean) @ U, atol=1e-10)
        spectra = model.singular_values_ if isinstance(model.singular_values_, tuple) else (model.singular_values_,)
        assert all((s >= 0).all() and (np.diff(s) <= 0).all() and s.shape == (r,) for s in spectra)
        assert model.view_names_ == ("drug", "target")
        assert model.n_features_per_view_ == (5, 4)
        for mine, theirs in zip(model.transform((dyads.A[:30], dyads.B)), Z, strict=True):
            np.testing.assert_allclose(mine, theirs[:30], atol=1e-12)

    def test_order_of_entities_and_size_of_blocks(self, model, dyads, name, rng, monkeypatch):
        plain = clone(model).fit(dyads)
        i, j = rng.permutation(40), rng.permutation(30)
        assert close(plain, clone(model).fit(dyads.rows(i).columns(j)), 1e-7)
        for module in (local, grid):
            monkeypatch.setattr(module, "block_rows", lambda views, minimum=0, block_bytes=0: 17)
        monkeypatch.setattr("jointdr.prediction.heads.completion.LARGE_BLOCK_BYTES", 1000)
        assert close(plain, model.fit(dyads), 1e-7)

    @pytest.mark.parametrize("of", [sparse.csr_array, sparse.csc_array])
    def test_sparse_equals_dense(self, model, dyads, name, of):
        scores = dyads.Y if dyads.is_complete else dyads.Y.toarray()
        Y, A, B = (np.where(np.abs(X) > 0.5, X, 0.0) for X in (scores, dyads.A, dyads.B))
        dense = clone(model).fit(Dyads(Y, A, B, dyads.observed))
        thin = Dyads(of(Y), of(A), of(B), dyads.observed)
        assert close(dense, model.fit(thin), 1e-7)
        np.testing.assert_allclose(model.transform(thin)[1], dense.transform((A[:30], B))[1], atol=1e-7)

    def test_samples(self, model, data, name, rng):
        A, B, y = data
        order = rng.permutation(len(y))
        one, two = (clone(model).fit(Dyads.from_samples((A[at], B[at]), y[at])) for at in (slice(None), order))
        assert close(one, two, 1e-7)
        if name in FAMILY:
            assert close(one, model.fit((A, B), y), 1e-7)

    def test_parameters_clone_and_pickle(self, model, dyads, name):
        assert clone(model).get_params() == model.get_params()
        assert clone(model).set_params(n_components=1).fit(dyads).transform(dyads)[0].shape == (40, 1)
        with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
            model.set_params(colour="red")
        model.fit(dyads)
        again = pickle.loads(pickle.dumps(model))
        for mine, theirs in zip(again.transform(dyads), model.transform(dyads), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert not hasattr(clone(model), "embeddings_")

    def test_save_and_load(self, model, dyads, name, tmp_path):
        model.fit(dyads).save(tmp_path / "model.npz")
        again = type(model).load(tmp_path / "model.npz")
        assert str(again.get_params()) == str(model.get_params())
        assert again.view_names_ == ("drug", "target")
        for mine, theirs in zip(again.transform(dyads), model.transform(dyads), strict=True):
            np.testing.assert_array_equal(mine, theirs)
        with pytest.raises(ValueError, match=f"holds a {type(model).__name__} model"):
            (OLS if type(model) is not OLS else PHD).load(tmp_path / "model.npz")

    def test_feature_names(self, model, tables, name, tmp_path):
        Y, *arrays = tables
        A, B = (pd.DataFrame(X, columns=columns) for X, columns in zip(arrays, TABLES.values(), strict=True))
        model.fit(Dyads(Y, A, B, names=tuple(TABLES)))
        for named, plain in zip(
            model.transform((A[:30], B)), model.transform((arrays[0][:30], arrays[1])), strict=True
        ):
            np.testing.assert_allclose(named, plain, atol=1e-12)
        model.save(tmp_path / "model.npz")
        turned = (A[:30][list("yxwvu")], B)
        for fitted in (model, type(model).load(tmp_path / "model.npz")):
            np.testing.assert_allclose(fitted.transform(turned)[0], model.transform((A[:30], B))[0], atol=1e-12)

    def test_bad_input_leaves_the_model_as_it_was(self, model, dyads, name):
        before = model.fit(dyads).transform(dyads)[0]
        params = model.get_params()
        with pytest.raises(TypeError, match=r"takes the response from a Dyads|either a Dyads alone"):
            model.fit(dyads, np.ones(1200))
        with pytest.raises(ValueError, match="n_components"):
            model.set_params(n_components=6).fit(dyads)
        model.set_params(**params)
        A, B = dyads.A[:30], dyads.B
        with pytest.raises(ValueError, match="contains NaN"):
            model.transform((A * np.nan, B))
        with pytest.raises(ValueError, match="was fitted with"):
            model.transform((A[:, :4], B))
        with pytest.raises(ValueError, match="but got 3"):
            model.transform((A, B, B))
        if "concatenated" in name:
            with pytest.raises(TypeError, match="takes rows, not a Dyads"):
                model.transform_joint(dyads)
        np.testing.assert_array_equal(model.transform(dyads)[0], before)

    def test_not_fitted(self, model, dyads, name, tmp_path):
        for action in (lambda: model.transform(dyads), lambda: model.save(tmp_path / "model.npz")):
            with pytest.raises(NotFittedError, match="not fitted"):
                action()


@pytest.mark.parametrize("name", SLICED_BY_DATA)
def test_slices_read_off_the_data_count_weights(name, data, rng):
    A, B, y = data
    model = SLICED_BY_DATA[name]
    counts = rng.integers(0, 3, len(y))
    at = np.repeat(np.arange(len(y)), counts)
    repeated = clone(model).fit((A[at], B[at]), y[at])
    assert close(repeated, clone(model).fit((A, B), y, sample_weight=counts))
    order = rng.permutation(len(y))
    assert close(clone(model).fit((A, B), y), clone(model).fit((A[order], B[order]), y[order]))


TWO, ONE = [slice(0, 1), slice(1, None)], [slice(None)]
CHECKED = [
    JDR(n_components=1, views=TWO),
    *(cls(n_components=1, views=views) for cls in (PCA, OLS, IHT, PHD, SOLS) for views in (TWO, ONE)),
    SOLS(n_components=1, views=TWO, edges=[0.5, 1.5]),
    # Some checks have fewer rows than features, where all whitened rows are alike: the ridge tells them apart.
    *(SIR(n_components=1, views=views, edges=[0.5, 1.5], ridge=0.1) for views in (TWO, ONE)),
    *(SAVE(n_components=1, views=views, edges=[0.5, 1.5], ridge=0.1) for views in (TWO, ONE)),
    PHD(n_components=1, views=TWO, concatenate=True, ridge=0.1),
]
READS_AGAIN = [
    SIR(n_components=1, views=ONE, ridge=0.1),
    SAVE(n_components=1, views=TWO, n_slices=3, ridge=0.1),
    PHD(n_components=1, views=TWO, residual=True, ridge=0.1),
    PHD(n_components=1, views=TWO, residual=True, concatenate=True, ridge=0.1),
]


def failed_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    assert sum(r["status"] == "passed" for r in results) >= 40
    return {r["check_name"]: str(r["exception"]) for r in results if r["status"] in ("failed", "xfail")}


@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
def test_check_estimator(estimator):
    assert not failed_checks(estimator)


@pytest.mark.parametrize("estimator", READS_AGAIN, ids=repr)
def test_check_estimator_where_the_data_is_read_again(estimator):
    """All checks but the two that call partial_fit, which these refuse."""
    failed = failed_checks(estimator)
    assert set(failed) == {"check_fit_score_takes_y", "check_n_features_in_after_fitting"}
    assert all("edges=" in message or "residual=False" in message for message in failed.values())

"""AssociationModel: embedding, head, recommendations, explanations, files."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from jointdr import JDR, PCA, SOLS, AssociationModel, Dyads, KernelRegression, RankError
from jointdr.metrics import recall_at_k
from jointdr.prediction import EntitySet


@pytest.fixture
def tables(rng):
    return rng.standard_normal((60, 6)), rng.standard_normal((25, 4))


def dyads_of(kind, tables, rng):
    A, B = tables
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((len(A), len(B)))
    if kind == "grades":
        return Dyads(Y, A, B, names=("drug", "target"))
    if kind == "links":
        return Dyads(sparse.csr_array((Y > 1.5).astype(float)), A, B, names=("disease", "gene"))
    return Dyads(Y, A, B, observed=rng.random(Y.shape) < 0.4)


KINDS = ["grades", "links", "observed"]
MODELS = {
    "paper": AssociationModel(JDR(2), head="kernel", bandwidth=(0.3, 0.4)),
    "auto": AssociationModel(JDR(2), head="kernel", random_state=0),
    "raw": AssociationModel(None, head="kernel", bandwidth=(0.5, 0.0)),
    "pca": AssociationModel(PCA(3), head="kernel", bandwidth=0.4),
    "adaptive": AssociationModel(JDR(2), head="kernel", bandwidth=1.0, adaptive=3),
    "mixed": AssociationModel(
        JDR(2), head="kernel", kernel="cosine", bandwidth=0.5, mix=(0.3, 0.6), raw_bandwidth=0.7, borrow=0.6
    ),
    "bilinear": AssociationModel(JDR(2), head="bilinear", alpha=0.01),
    "kernel_ridge": AssociationModel(JDR(2), head="kernel_ridge", bandwidth=0.5, mix=0.3, borrow=0.9),
    "cosine_ridge": AssociationModel(None, head="kernel_ridge", kernel="cosine", bandwidth=0.6),
}


@pytest.fixture(params=KINDS)
def dyads(request, tables, rng):
    return dyads_of(request.param, tables, rng)


def test_it_is_the_embedding_and_then_kernel_regression(dyads, rng):
    """The paper's steps by hand: JDR with Σ^½, then Nadaraya-Watson on the grid."""
    new = rng.standard_normal((5, 6))
    embedding = JDR(2, scale="sqrt").fit(dyads)
    Z_a, Z_b = embedding.transform(dyads)
    rms = [np.sqrt(2 * Z.var(axis=0).sum()) for Z in (Z_a, Z_b)]
    by_hand = KernelRegression((0.3 * rms[0], 0.4 * rms[1])).fit(
        Dyads(dyads.Y, Z_a, Z_b, None if dyads.is_complete else "stored")
    )
    model = MODELS["paper"].fit(dyads)
    np.testing.assert_allclose(
        model.predict(new), by_hand.predict((embedding.transform_view(new, 0), None)), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        model.neighbors(new),
        by_hand.predict((embedding.transform_view(new, 0), None), return_neighbors=True)[1],
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    def test_shapes_blocks_and_known_entities(self, name, dyads, rng):
        model = clone(MODELS[name]).fit(dyads)
        tiny = clone(model).set_params(max_bytes=1).fit(dyads)
        new = rng.standard_normal((7, 6)), rng.standard_normal((3, 4))
        for rows, columns in ((None, None), (new[0], None), (None, new[1]), new):
            scores = model.predict(rows, columns)
            shape = (60 if rows is None else 7, 25 if columns is None else 3)
            assert scores.shape == shape
            assert np.isfinite(scores).all()
            np.testing.assert_allclose(tiny.predict(rows, columns), scores, rtol=1e-8, atol=1e-10)

    def test_an_explanation_sums_to_the_score(self, name, dyads, rng):
        model = clone(MODELS[name]).fit(dyads)
        new = pd.DataFrame(rng.standard_normal((1, 6)), index=["x"])
        for row, column in (("3", "7"), (new, "7"), ("3", rng.standard_normal((1, 4)))):
            scores = model.predict(
                None if isinstance(row, str) else row.to_numpy(), None if isinstance(column, str) else column
            )
            expected = scores[3 if isinstance(row, str) else 0, 7 if isinstance(column, str) else 0]
            found = model.explain(row, column, k=5)
            iterated = "ridge" in name or name == "bilinear"  # conjugate gradients end before the last digits
            assert found.score == pytest.approx(expected, rel=1e-3 if iterated else 1e-6, abs=1e-9)
            assert found.pairs["contribution"].sum() + found.rest == pytest.approx(found.score)
            np.testing.assert_allclose(found.pairs["weight"] * found.pairs["score"], found.pairs["contribution"])
            known = dyads.Y.toarray() if sparse.issparse(dyads.Y) else dyads.Y
            at = (found.pairs["row"].astype(int), found.pairs["column"].astype(int))
            np.testing.assert_allclose(known[at], found.pairs["score"])
            assert len(str(found).splitlines()) >= len(found.pairs) + 1

    def test_recommendations_are_the_best_predictions(self, name, dyads, rng):
        model = clone(MODELS[name]).fit(dyads)
        new = rng.standard_normal((4, 6))
        table, scores = model.recommend(new, k=3), model.predict(new)
        for i, part in table.groupby("row"):
            assert part["rank"].tolist() == [1, 2, 3]
            best = np.sort(scores[int(i)])[::-1][:3]
            np.testing.assert_allclose(part["score"], best)
            np.testing.assert_allclose(scores[int(i), part["column"].astype(int)], best)

    def test_a_saved_model_predicts_the_same_to_the_last_bit(self, name, dyads, rng, tmp_path):
        model = clone(MODELS[name]).fit(dyads)
        model.save(tmp_path / "model.npz")
        loaded = AssociationModel.load(tmp_path / "model.npz")
        new = rng.standard_normal((4, 6)), rng.standard_normal((3, 4))
        np.testing.assert_array_equal(loaded.predict(*new), model.predict(*new))
        np.testing.assert_array_equal(loaded.predict(), model.predict())
        pd.testing.assert_frame_equal(loaded.recommend(k=2), model.recommend(k=2))
        assert loaded.explain("1", "2").score == model.explain("1", "2").score
        ours, theirs = (
            {k: v for k, v in m.get_params().items() if "embedding" not in k or "__" in k} for m in (model, loaded)
        )
        assert ours.keys() == theirs.keys()
        loaded.save(tmp_path / "again.npz")
        assert AssociationModel.load(tmp_path / "again.npz").bandwidth_ == model.bandwidth_


def test_known_pairs_are_not_recommended(tables, rng):
    dyads = dyads_of("links", tables, rng)
    model = MODELS["paper"].fit(dyads)
    found = model.recommend(k=25)
    known = dyads.Y.toarray() > 0
    assert not known[found["row"].astype(int), found["column"].astype(int)].any()
    assert len(found) == np.count_nonzero(~known)
    everything = model.recommend(k=25, exclude_known=False)
    assert len(everything) == known.size
    named = pd.DataFrame(dyads.A[:2], index=["0", "other"])  # the first is recognized by its id
    assert len(model.recommend(named, k=25)) == 50 - known[0].sum()


def test_linear_features_with_a_bilinear_head_are_ridge_regression(tables, rng):
    """On observed pairs, by conjugate gradients, and on a grid, in closed form: the same as a dense solution."""
    for kind in ("grades", "observed"):
        dyads = dyads_of(kind, tables, rng)
        model = AssociationModel(None, head="bilinear", alpha=0.05).fit(dyads)
        head = model._head
        X, y = dyads.triples()
        Z = [
            np.hstack([side.describe(T)[0], np.full((len(T), 1), c.constant)])
            for T, side, c in zip(X.arrays, model._parts.sides, head.coordinates, strict=True)
        ]
        products = np.einsum("mi,mj->mij", *Z).reshape(len(y), -1)
        M = np.linalg.solve(
            products.T @ products + head.penalty * np.eye(products.shape[1]), products.T @ (y - y.mean())
        )
        i, j = dyads.observed.nonzero() if kind == "observed" else np.indices(dyads.shape).reshape(2, -1)
        np.testing.assert_allclose(model.predict()[i, j], products @ M + y.mean(), rtol=1e-4, atol=1e-5)


def test_ridge_that_does_not_converge_says_so(tables, rng, monkeypatch):
    dyads = dyads_of("observed", tables, rng)
    monkeypatch.setattr("jointdr.prediction.heads.ridge.ITERATIONS", 2)
    with pytest.warns(ConvergenceWarning, match="raise alpha"):
        AssociationModel(None, head="kernel_ridge", bandwidth=0.2, alpha=0.01).fit(dyads)


def test_kernel_ridge_with_many_entities_uses_landmarks(tables, rng, monkeypatch):
    dyads = dyads_of("grades", tables, rng)
    model = AssociationModel(JDR(2), head="kernel_ridge", bandwidth=1.0, alpha=1e-3)
    exact = model.fit(dyads).predict()
    monkeypatch.setattr("jointdr.prediction.heads.ridge.LANDMARKS", 40)
    some = clone(model).fit(dyads).predict()
    assert np.corrcoef(exact.ravel(), some.ravel())[0, 1] > 0.99
    assert np.abs(exact - some).max() > 0


def test_sparse_features_are_dense_features(tables, rng):
    A, B = (np.where(rng.random(X.shape) < 0.5, X, 0.0) for X in tables)
    Y = (rng.random((60, 25)) < 0.2).astype(float)
    for model in (MODELS["raw"], MODELS["mixed"], MODELS["bilinear"], MODELS["cosine_ridge"]):
        dense_scores = clone(model).fit(Y, A, B).predict(A[:5])
        found = clone(model).fit(Y, sparse.csr_array(A), sparse.csr_array(B)).predict(sparse.csr_array(A[:5]))
        np.testing.assert_allclose(found, dense_scores, rtol=1e-6, atol=1e-9)


def test_it_learns_where_features_alone_mislead(rng):
    """Two features of many carry the links: JDR finds them, distances of all features do not."""
    A, B = rng.standard_normal((400, 30)), rng.standard_normal((100, 30))
    P = np.exp(-3 * np.sum((A[:, None, :2] - B[None, :, :2]) ** 2, axis=2))
    Y = (rng.random(P.shape) < 0.6 * P).astype(float)
    scores = {}
    for name, embedding in (("jdr", JDR(2, moments="all")), ("none", None)):
        model = AssociationModel(embedding, head="kernel", random_state=0).fit(Y[:300], A[:300], B)
        scores[name] = recall_at_k(model.predict(A[300:]), Y[300:], 10)
    assert scores["jdr"] > scores["none"] + 0.1


def test_every_embedding_of_the_family(tables, rng, tmp_path):
    dyads = dyads_of("grades", tables, rng)
    for embedding in (PCA(2), SOLS(2), JDR((2, 3), moments="all")):
        model = AssociationModel(embedding, head="kernel", bandwidth=0.5).fit(dyads)
        model.save(tmp_path / "m.npz")
        np.testing.assert_array_equal(AssociationModel.load(tmp_path / "m.npz").predict(), model.predict())
        assert type(AssociationModel.load(tmp_path / "m.npz").embedding) is type(embedding)


def test_parameters_set_later_do_not_change_a_fitted_model(tables, rng, tmp_path):
    dyads = dyads_of("grades", tables, rng)
    model = clone(MODELS["paper"]).fit(dyads)
    before = model.predict(dyads.A[:3])
    model.set_params(kernel="cosine", mix=0.5, bandwidth=9.0, scale=2.0, head="bilinear", alpha=7.0, borrow=0.1)
    np.testing.assert_array_equal(model.predict(dyads.A[:3]), before)
    model.save(tmp_path / "model.npz")
    loaded = AssociationModel.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(dyads.A[:3]), before)
    assert (loaded.head, loaded.kernel) == ("kernel", "gaussian")


def test_embeddings_of_one_s_own_are_not_saved(tables, rng, tmp_path):
    class Mine(JDR):
        pass

    model = AssociationModel(Mine(2), head="kernel", bandwidth=0.5).fit(dyads_of("grades", tables, rng))
    with pytest.raises(TypeError, match="class Mine cannot be saved"):
        model.save(tmp_path / "model.npz")


def known(i):
    return EntitySet(1, indices=np.array([i]))


def test_an_explanation_of_links_looks_at_links_only(tables, rng):
    """Weights of a sparse grid are those of the dense one, at the links."""
    dyads = dyads_of("links", tables, rng)
    for name in ("paper", "bilinear", "kernel_ridge"):
        thin, full = (clone(MODELS[name]).fit(Y, dyads.A, dyads.B) for Y in (dyads.Y, dyads.Y.toarray()))
        one, other = (m._head.pair_weights(known(3), known(5)) for m in (thin, full))
        assert sparse.issparse(one)
        i, j = dyads.Y.nonzero()
        np.testing.assert_allclose(np.asarray(one[i, j]).ravel(), other[i, j], rtol=1e-6, atol=1e-12)


def test_copies_of_columns_are_ranked_in_their_order_whatever_the_blocks(rng):
    A, B = rng.standard_normal((103, 5)), np.repeat(rng.standard_normal((30, 4)), 7, axis=0)
    Y = np.repeat((rng.random((103, 30)) < 0.2).astype(float), 7, axis=1)
    tables = [
        AssociationModel(None, head="kernel", bandwidth=0.4, max_bytes=size)
        .fit(Y, A, B)
        .recommend(A + 0.1, k=10)["column"]
        .tolist()
        for size in (5e8, 1e6, 3e4, 1e3)
    ]
    assert all(found == tables[0] for found in tables[1:])


def test_a_failed_fit_loses_nothing(tables, rng):
    dyads = dyads_of("grades", tables, rng)
    model = clone(MODELS["paper"]).fit(dyads)
    before = model.predict()
    with pytest.raises(ValueError, match="bandwidth"):
        model.set_params(bandwidth=-1.0).fit(dyads.rows(slice(0, 20)))
    np.testing.assert_array_equal(model.predict(), before)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"head": "deep"}, "head='deep' is not understood"),
        ({"kernel": "cubic"}, "kernel='cubic'"),
        ({"bandwidth": -1}, "bandwidth=-1"),
        ({"bandwidth": "wide"}, "bandwidth='wide'"),
        ({"bandwidth": (1, 2, 3)}, "bandwidth="),
        ({"mix": 2.0}, "mix=2.0"),
        ({"mix": "some"}, "mix='some'"),
        ({"borrow": -0.5}, "borrow=-0.5"),
        ({"alpha": np.nan}, "alpha=nan"),
        ({"adaptive": 0}, "adaptive=0"),
        ({"adaptive": 3, "kernel": "cosine"}, "adaptive is for"),
        ({"adaptive": 3, "head": "kernel_ridge"}, "adaptive is for"),
        ({"embedding": None, "mix": 0.5}, "embedding=None has already"),
        ({"head": "bilinear", "mix": 0.5}, "head='bilinear' does not have"),
        ({"head": "bilinear", "alpha": 0}, "alpha=0"),
        ({"head": "kernel_ridge", "bandwidth": (1.0, 0.0)}, "bandwidth 0"),
        ({"scale": "cube"}, "scale='cube'"),
    ],
)
def test_bad_parameters(tables, rng, params, match):
    with pytest.raises(ValueError, match=match):
        AssociationModel(JDR(2), head="kernel", random_state=0).set_params(**params).fit(dyads_of("links", tables, rng))


def test_bad_calls(tables, rng, tmp_path):
    dyads = dyads_of("links", tables, rng)
    with pytest.raises(NotFittedError):
        AssociationModel(head="kernel").predict()
    with pytest.raises(TypeError, match="embedding='pca'"):
        AssociationModel("pca", head="kernel").fit(dyads)
    with pytest.raises(ValueError, match="needs features of the rows"):
        AssociationModel(head="kernel").fit(dyads.Y)
    model = clone(MODELS["paper"]).fit(dyads)
    with pytest.raises(ValueError, match="6 features of 'disease', but got 4"):
        model.predict(dyads.B)
    with pytest.raises(TypeError, match="not as a Dyads: its A is one"):
        model.predict(dyads)
    with pytest.raises(ValueError, match="k=0"):
        model.recommend(k=0)
    with pytest.raises(ValueError, match="No 'gene' with the id '77' was fitted"):
        model.explain("3", "77")
    with pytest.raises(ValueError, match="one 'disease' at a time, but got 60"):
        model.explain(dyads.A, "3")
    with pytest.raises(ValueError, match="no neighbors"):
        clone(MODELS["bilinear"]).fit(dyads).neighbors()
    JDR(2).fit(dyads).save(tmp_path / "jdr.npz")
    with pytest.raises(ValueError, match="holds a JDR model, not a AssociationModel model"):
        AssociationModel.load(tmp_path / "jdr.npz")


@pytest.mark.parametrize("scale", [1e-160, 1e-20, 1e20, 1e160])
@pytest.mark.parametrize("name", ["raw", "adaptive raw", "cosine_ridge", "raw bilinear"])
def test_units_do_not_matter_however_large(tables, rng, name, scale):
    model = {
        **MODELS,
        "raw bilinear": AssociationModel(None, head="bilinear"),
        "adaptive raw": AssociationModel(None, head="kernel", bandwidth=1.0, adaptive=2),
    }[name]
    dyads = dyads_of("grades", tables, rng)
    one = clone(model).fit(dyads).predict(dyads.A[:5] + 0.1)
    other = clone(model).fit(Dyads(dyads.Y, scale * dyads.A, dyads.B)).predict(scale * (dyads.A[:5] + 0.1))
    np.testing.assert_allclose(other, one, rtol=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-170, 1e170])
@pytest.mark.parametrize("kernel", ["gaussian", "cosine"])
def test_extreme_bandwidths_are_limits(tables, rng, bandwidth, kernel):
    dyads = dyads_of("grades", tables, rng)
    scores = AssociationModel(None, head="kernel", kernel=kernel, bandwidth=(bandwidth, 0.0)).fit(dyads).predict()
    if bandwidth < 1:
        np.testing.assert_allclose(scores, dyads.Y)  # every entity has itself only
    elif kernel == "gaussian":
        np.testing.assert_allclose(scores, np.broadcast_to(dyads.Y.mean(axis=0), scores.shape))
    assert np.isfinite(scores).all()


def test_far_rows_are_flagged(tables, rng):
    dyads = dyads_of("links", tables, rng)
    model = AssociationModel(JDR(2), head="kernel", bandwidth=(0.1, 0.0)).fit(dyads)
    table = model.recommend(np.full((1, 6), 1e6), k=3)
    assert (table["neighbors"] == 0).all()
    np.testing.assert_allclose(model.predict(np.full((1, 6), 1e6))[0], dyads.Y.toarray().mean(axis=0))


@pytest.mark.parametrize("kind", ["links", "observed"])
@pytest.mark.parametrize("params", [{}, {"mix": 0.4, "raw_bandwidth": "auto"}, {"kernel": "cosine", "borrow": 0.5}])
def test_chosen_bandwidths_are_kept_in_files_and_with_weights_that_are_held(tables, rng, kind, params, tmp_path):
    dyads = dyads_of(kind, tables, rng)
    model = AssociationModel(JDR(2), head="kernel", random_state=0, **params).fit(dyads)
    news = [(None, None), (dyads.A[:3] + 0.1, None), (None, dyads.B[:4] + 0.1), (dyads.A[:3] + 0.1, dyads.B[:4] + 0.1)]
    scores, neighbors = [model.predict(*new) for new in news], [model.neighbors(*new) for new in news]
    model.save(tmp_path / "model.npz")
    loaded = AssociationModel.load(tmp_path / "model.npz")
    assert loaded.bandwidth_ == model.bandwidth_
    assert loaded.known_bandwidth_ == model.known_bandwidth_
    for other in (loaded, model.precompute(), pickle.loads(pickle.dumps(model))):
        for new, S, N in zip(news, scores, neighbors, strict=True):
            np.testing.assert_allclose(other.predict(*new), S, rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(other.neighbors(*new), N, rtol=1e-10, atol=1e-14)
    column = dyads.B[:1] + 0.1
    assert model.explain("1", column).score == pytest.approx(model.predict(None, column)[1, 0])
    row = dyads.A[:1] + 0.1
    assert model.explain(row, column).score == pytest.approx(model.predict(row, column)[0, 0])


# ---------------------------------------------------------------- data with few directions


def tables_with_few_directions(rng):
    A, B = rng.standard_normal((30, 5)), rng.standard_normal((24, 4))
    yield "fewer entities than features", rng.standard_normal((30, 50)), rng.standard_normal((24, 40))
    yield "constant features", np.hstack([A[:, :2], np.ones((30, 3))]), np.hstack([B[:, :1], np.ones((24, 5))])
    yield "nothing but constants", np.ones((30, 3)), B
    yield "one-hot", np.eye(30), np.eye(24)
    yield "categories", np.eye(5)[rng.integers(0, 5, 30)], np.eye(4)[rng.integers(0, 4, 24)]
    yield "sparse", sparse.csr_array(np.eye(30)), sparse.csr_array(np.eye(24))
    yield "repeated features", np.hstack([A, A]), np.hstack([B, B])


@pytest.mark.parametrize("head", ["kernel", "bilinear", "kernel_ridge"])
@pytest.mark.parametrize("name", [name for name, *_ in tables_with_few_directions(np.random.default_rng(0))])
def test_a_default_never_asks_for_more_directions_than_there_are(rng, head, name):
    A, B = {name: tables for name, *tables in tables_with_few_directions(rng)}[name]
    Y = (rng.random((30, 24)) < 0.3).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = AssociationModel(head=head, random_state=0).fit(Y, A, B)
        tuned = AssociationModel(head=head, random_state=0)
        tuned.tune(Y, A, B, n_splits=1, test_size=0.3, progress=False)
    for model in (fitted, tuned):
        assert np.isfinite(model.predict(A[:2], B[:3])).all()
        if model.embedding_ is not None and model.embedding_.ridge == 0:
            dense = [X.toarray() if sparse.issparse(X) else X for X in (A, B)]
            most = min(np.linalg.matrix_rank(X - X.mean(axis=0)) for X in dense)
            assert 1 <= model.embedding_.get_params()["n_components"] <= most


@pytest.mark.filterwarnings("ignore:The covariance of view")
def test_an_embedding_of_ones_own_is_taken_at_its_word(rng):
    A, B = rng.standard_normal((30, 70)), rng.standard_normal((24, 70))
    with pytest.raises(RankError, match="n_components=60 is more than the 29") as raised:
        AssociationModel(JDR(60), head="kernel").fit(rng.standard_normal((30, 24)), A, B)
    assert raised.value.most == 23

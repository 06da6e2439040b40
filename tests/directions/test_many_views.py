from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from jointdr import JDR, Moments, Views
from jointdr.directions import tensor
from jointdr.directions.normalize import whiteners
from jointdr.directions.options import Options
from jointdr.engines.rows import Rows
from jointdr.metrics import nsee

OPTIONS = Options((1, 1, 1), names=("a", "b", "c"), features=(None,) * 3)


def sample(kind, m, n, r, seed=0, noise=1.0):
    """Three independent Gaussian views, and a response that depends on r directions of each."""
    rng = np.random.default_rng(seed)
    sizes = (n,) * 3 if isinstance(n, int) else n
    truth = tuple(np.linalg.qr(rng.standard_normal((k, r)))[0] for k in sizes)
    X = tuple(rng.standard_normal((m, k)) for k in sizes)
    a, b, c = (V @ U for V, U in zip(X, truth, strict=True))
    y = {
        "trilinear": lambda: np.sum(a * b * c, axis=1),
        "chain": lambda: np.sum(a * b + b * c, axis=1),
        "rbf chain": lambda: 10 * sum(np.exp(-np.sum((u - v) ** 2, axis=1) / 2) for u, v in ((a, b), (b, c))),
    }[kind]()
    return X, y + noise * rng.standard_normal(m), truth


def error(kind, m, n, r, repetitions=3, noise=1.0, **options):
    found = []
    for seed in range(repetitions):
        X, y, truth = sample(kind, m, n, r, seed, noise)
        found.append(nsee(truth, JDR(r, random_state=0, **options).fit(X, y).embeddings_))
    return float(np.mean(found))


def test_the_tensor_is_the_mean_of_outer_products(rng):
    views = [rng.standard_normal((40, n)) + 3 for n in (3, 4, 2)]
    Y, w = rng.standard_normal((40, 2)), rng.uniform(0, 2, 40)
    maps = whiteners(Moments.of_block(views, Y, w, blocks=("means",)), OPTIONS)
    parts = tensor.form_tensor(Rows(views, Y, w), maps)
    a, b, c = (m.pull((V - m.mean).T).T for V, m in zip(views, maps, strict=True))
    expected = np.einsum("m,mq,ma,mb,mc->qabc", w, Y, a, b, c) / w.sum()
    np.testing.assert_allclose(parts.mean([0]), expected, atol=1e-12)
    for k, M in enumerate(parts.unfoldings([0])):
        np.testing.assert_allclose(
            M @ M.T, np.tensordot(expected, expected, axes=([i for i in range(4) if i != k + 1],) * 2)
        )
    in_folds = tensor.form_tensor(Rows(views, Y, w), maps, n_folds=3)
    np.testing.assert_allclose(in_folds.mean([0, 1, 2]), expected, atol=1e-12)
    bases = [rng.standard_normal((n, 2)) for n in (3, 4, 2)]
    core = np.einsum("qabc,ai,bj,ck->qijk", expected, *bases)
    np.testing.assert_allclose(tensor.core_of(expected, bases), core, atol=1e-12)
    np.testing.assert_allclose(tensor.core_from_rows(Rows(views, Y, w), maps, bases), core, atol=1e-12)


def test_a_sketch_has_the_same_gram_matrix_in_expectation(rng):
    views = [rng.standard_normal((200, n)) for n in (3, 4, 2)]
    rows = Rows(views, np.prod([V[:, 0] for V in views], axis=0))
    maps = whiteners(Moments.of_block(views, rows.y, blocks=("means",)), replace(OPTIONS, normalize="feature"))
    exact = tensor.form_tensor(rows, maps).unfoldings([0])
    sketch = tensor.sketch_tensor(rows, maps, 40_000, rng).unfoldings([0])
    for M, S in zip(exact, sketch, strict=True):
        np.testing.assert_allclose(S @ S.T, M @ M.T, atol=0.15 * np.linalg.norm(M @ M.T))


def test_the_error_falls_as_the_square_root_of_m():
    sizes = [12_500, 25_000, 50_000, 100_000]
    errors = [error("trilinear", m, 30, 3) for m in sizes]
    assert errors[2] < 0.13
    slope = np.polyfit(np.log(sizes[1:]), np.log(errors[1:]), 1)[0]
    assert -0.6 < slope < -0.4  # at 12 500 noise is not small any more, and the error falls faster


def test_hooi_fits_the_tensor_no_worse_and_helps_where_there_is_noise(rng):
    X = rng.standard_normal((2, 6, 5, 4))
    U = [np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (6, 5, 4)]
    held = [np.linalg.norm(tensor.core_of(X, U))]
    for _ in range(6):
        U = [V for V, _ in tensor.hooi(X, [(V, np.ones(2)) for V in U], 1)]
        held.append(np.linalg.norm(tensor.core_of(X, U)))
    assert (np.diff(held) > -1e-12).all()
    assert error("trilinear", 10_000, 30, 3, n_hooi=2) < 0.95 * error("trilinear", 10_000, 30, 3)
    for m in (20_000, 50_000):
        assert error("trilinear", m, 30, 3, n_hooi=2) <= error("trilinear", m, 30, 3)


def test_hooi_of_several_responses_of_two_views(rng):
    A, B = rng.standard_normal((1500, 20)), rng.standard_normal((1500, 20))
    Y = (A[:, :1] * B[:, :1]) * rng.standard_normal(6) + 3 * rng.standard_normal((1500, 6))
    truth = (np.eye(20)[:, :1], np.eye(20)[:, :1])
    plain, iterated = (nsee(truth, JDR(1, n_hooi=k).fit((A, B), Y).embeddings_) for k in (0, 3))
    assert iterated < plain


def test_a_sketch_is_as_good_as_the_tensor():
    exact = error("trilinear", 20_000, 30, 3, n_hooi=2)
    assert error("trilinear", 20_000, 30, 3, solver="randomized") < 1.05 * exact
    X, y, _ = sample("trilinear", 2000, 12, 2)
    model = JDR(2, max_tensor_bytes=12**3 * 8).fit(X, y)
    assert model.solver_ == "exact"
    assert model.set_params(max_tensor_bytes=12**3 * 8 - 1).fit(X, y).solver_ == "randomized"
    with pytest.raises(ValueError, match="raise it, or use solver='randomized'"):
        model.set_params(solver="exact").fit(X, y)


@pytest.mark.parametrize(("kind", "target"), [("chain", 0.04), ("rbf chain", 0.075)])
@pytest.mark.parametrize("solver", ["auto", "randomized"])
def test_interactions_of_two_views_at_a_time(kind, target, solver):
    """Where the tensor holds no signal, pairs of views do; and the tensor is left out then."""
    X, y, truth = sample(kind, 200_000, 15, 2)
    model = JDR(2, moments="all", solver=solver, random_state=0).fit(X, y)
    assert nsee(truth, model.embeddings_) <= target
    assert "pairs" in model.moments_used_
    assert "tensor" not in model.moments_used_
    assert model.score(X, y) > 0.2
    assert nsee(truth, JDR(2, solver=solver, random_state=0).fit(X, y).embeddings_) > 0.5


def test_all_moments_where_only_the_tensor_speaks():
    assert error("trilinear", 25_000, 20, 2, moments="all") < 1.05 * error("trilinear", 25_000, 20, 2)


def test_the_rank_and_a_rank_per_view(rng):
    X, y, _ = sample("trilinear", 20_000, (10, 12, 8), 2)
    assert JDR("auto").fit(X, y).n_components_ == 2
    y = X[0][:, 0] * X[1][:, 0] * X[2][:, 0] + X[0][:, 0] * X[1][:, 1] * X[2][:, 1] + rng.standard_normal(20_000)
    model = JDR((1, 2, 2)).fit(X, y)
    assert model.n_components_ == (1, 2, 2)
    assert [Z.shape[1] for Z in model.transform(X)] == [1, 2, 2]
    assert nsee((np.eye(10)[:, :1], np.eye(12)[:, :2], np.eye(8)[:, :2]), model.embeddings_) < 0.1


@pytest.mark.parametrize("options", [{}, {"moments": "all"}])
def test_refinement(options):
    X, y, truth = sample("trilinear", 12_500, 30, 3)
    plain = nsee(truth, JDR(3, **options).fit(X, y).embeddings_)
    model = JDR(3, refine=3, link="bilinear", **options).fit(X, y)
    assert nsee(truth, model.embeddings_) < 0.4 * plain
    assert model.score(X, y) > 0.6
    assert model.n_sweeps_ >= 1


@pytest.mark.parametrize("moments", ["cross", "all"])
@pytest.mark.parametrize("normalize", ["full", "feature", None])
@pytest.mark.parametrize("solver", ["exact", "randomized"])
def test_every_input(rng, moments, normalize, solver):
    X, y, truth = sample("trilinear", 6000, (8, 6, 5), 2)
    model = JDR(2, moments=moments, normalize=normalize, solver=solver, random_state=0)
    expected = model.fit(X, y).embeddings_
    assert nsee(truth, expected) < 0.25
    score = model.score(X, y)
    assert score > 0.3
    for views in (Views(*X), tuple(sparse.csr_array(V) for V in X), dict(zip("pqr", X, strict=True))):
        np.testing.assert_allclose(clone(model).fit(views, y).embeddings_[2], expected[2], atol=1e-8)
    times = rng.integers(1, 3, len(y))
    weighted = clone(model).fit(X, y, sample_weight=times)
    if moments == "cross":  # (folds are another choice of rows)
        repeated = clone(model).fit(tuple(np.repeat(V, times, axis=0) for V in X), np.repeat(y, times))
        np.testing.assert_allclose(weighted.embeddings_[0], repeated.embeddings_[0], atol=1e-8)
    assert nsee(truth, weighted.embeddings_) < 0.25
    joined = clone(model).set_params(views=[slice(0, 8), slice(8, 14), slice(14, 19)]).fit(np.hstack(X), y)
    np.testing.assert_allclose(joined.transform(np.hstack(X)), np.hstack(model.transform(X)), atol=1e-8)
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(
        clone(model).fit(tuple(torch.asarray(V) for V in X), y).embeddings_[0], expected[0], atol=1e-8
    )


def test_several_responses_and_four_views(rng):
    views = [rng.standard_normal((20_000, n)) for n in (5, 4, 3, 3)]
    products = np.prod([V[:, 0] for V in views], axis=0), np.prod([V[:, 1] for V in views], axis=0)
    Y = np.column_stack(products) + 0.5 * rng.standard_normal((20_000, 2))
    truth = [np.eye(n)[:, :2] for n in (5, 4, 3, 3)]
    for solver in ("exact", "randomized"):
        model = JDR(2, solver=solver, random_state=0).fit(Views(*views), Y)
        assert nsee(truth, model.embeddings_) < 0.1
        assert model.solution_.prediction.core.shape == (2, 2, 2, 2, 2)


def test_invariance_to_affine_maps(rng):
    X, y, _ = sample("trilinear", 3000, (5, 4, 3), 1)
    Z = JDR(1).fit(X, y).transform(X)
    moved = tuple(V @ rng.standard_normal((V.shape[1],) * 2) + 100 for V in X)
    Z_moved = JDR(1).fit(moved, y).transform(moved)
    for z, z_moved in zip(Z, Z_moved, strict=True):
        np.testing.assert_allclose(np.abs(z), np.abs(z_moved), atol=1e-6)


def test_saved_pickled_searched(tmp_path):
    X, y, _ = sample("chain", 3000, (5, 4, 3), 1)
    model = JDR(1, moments="all").fit(X, y)
    model.save(tmp_path / "model.npz")
    for again in (JDR.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert again.score(X, y) == model.score(X, y)
        np.testing.assert_array_equal(again.transform(X)[2], model.transform(X)[2])
    search = GridSearchCV(JDR(moments="all"), {"n_components": [1, 2]}, cv=3).fit(Views(*X), y)
    assert search.best_params_ == {"n_components": 1}


def test_clear_errors(data):
    A, B, y = data
    X = (A, B, A[:, ::-1] + B[:, :1])
    for action in (
        lambda: JDR(2).partial_fit(X, y),
        lambda: JDR(2).fit_moments(Moments.of_block(X, y)),
        lambda: JDR(2).fit(X, y).partial_fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"are for two views: .* Use fit"):
            action()
    for options, message in (
        ({"n_features_to_select": 2}, "is for two views"),
        ({"solver": "countsketch"}, "is for two views"),
        ({"normalize": "joint"}, "moments='all'"),
        ({"max_tensor_bytes": 0}, "max_tensor_bytes=0"),
        ({"n_hooi": -1}, "n_hooi=-1"),
        ({"n_hooi": 1, "moments": "all"}, "n_hooi fits the proxy tensor alone"),
        ({"n_components": (1, 2)}, "one per view"),
    ):
        with pytest.raises(ValueError, match=message):
            JDR(**{"n_components": 1, **options}).fit(X, y)
    with pytest.raises(ValueError, match="fitted with 3 views, but got 2"):
        JDR(1).fit(X, y).transform((A, B))
    bad = A.copy()
    bad[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN .*row 3"):
        JDR(1).fit((bad, B, A), y)


def test_joint_normalization_of_dependent_views():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((100_000, 8))
    turned = [common @ np.linalg.qr(rng.standard_normal((8, 8)))[0] for _ in range(3)]
    X = tuple(np.sqrt(0.4) * V + np.sqrt(0.6) * rng.standard_normal(V.shape) for V in turned)
    a, b, c = (V[:, :2] for V in X)
    y = 10 * sum(np.exp(-np.sum((u - v) ** 2, axis=1)) for u, v in ((a, b), (b, c))) + rng.standard_normal(len(a))
    truth = (np.eye(8)[:, :2],) * 3
    plain, joint = (nsee(truth, JDR(2, moments="all", normalize=n).fit(X, y).embeddings_) for n in ("full", "joint"))
    assert joint < 0.06 < 0.12 < plain


def test_sketched_tensors_and_within_view_moments_together(rng):
    A, B, C = (rng.standard_normal((50_000, 10)) for _ in range(3))
    y = 3 * A[:, 0] * B[:, 0] * C[:, 0] + A[:, 1] ** 2 + B[:, 1] ** 2 + C[:, 1] ** 2 + 0.3 * rng.standard_normal(50_000)
    truth = (np.eye(10)[:, :2],) * 3
    for solver in ("exact", "randomized"):
        model = JDR(2, moments="all", solver=solver, random_state=0).fit((A, B, C), y)
        assert nsee(truth, model.embeddings_) < 0.1


def test_hooi_keeps_directions_that_a_contraction_cannot_show(rng):
    """With ranks (2, 1, 1) the contracted tensor has one column for two directions of the first view."""
    A, B, C = (rng.standard_normal((50_000, 8)) for _ in range(3))
    y = A[:, 0] * B[:, 0] * C[:, 0] + 0.8 * A[:, 1] * B[:, 1] * C[:, 1]
    for options in ({}, {"n_hooi": 2}, {"solver": "randomized"}):
        model = JDR((2, 1, 1), random_state=0, **options).fit((A, B, C), y)
        assert nsee((np.eye(8)[:, :2],), model.embeddings_[:1]) < 0.1
    two = JDR((2, 1), n_hooi=2).fit((A, B), A[:, 0] * B[:, 0] + 0.8 * A[:, 1] * B[:, 1])
    assert nsee((np.eye(8)[:, :2],), two.embeddings_[:1]) < 0.1


def test_many_views_can_be_scored(rng):
    views = [rng.standard_normal((400, 1)) for _ in range(12)]
    assert np.isfinite(JDR(1).fit(views, rng.standard_normal(400)).score(views, rng.standard_normal(400)))


def test_large_and_small_responses():
    X, y, _ = sample("trilinear", 3000, (5, 4, 3), 1)
    expected = JDR(1).fit(X, y).embeddings_[0]
    for factor in (1e140, 1e-140):
        np.testing.assert_allclose(JDR(1).fit(X, y * factor).embeddings_[0], expected, atol=1e-6)


def test_the_budget_counts_every_copy():
    X, y, _ = sample("trilinear", 2000, 12, 2)
    one = 8 * 12**3
    assert JDR(2, max_tensor_bytes=one, refine=1, link="bilinear").fit(X, y).solver_ == "exact"
    assert JDR(2, max_tensor_bytes=one, moments="all", random_state=0).fit(X, y).solver_ == "randomized"

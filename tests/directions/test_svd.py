from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.directions.svd import choose_solver, sketch, sketched_svd, svd
from jointdr.metrics import nsee


@pytest.mark.parametrize("solver", ["randomized", "countsketch"])
def test_defaults_are_as_accurate_as_the_exact_solver(solver):
    """Panel 1 of Figure 1: n = 100, r = 5. Without power passes, as printed in the paper, it is far off."""
    for m in (1000, 10_000):
        errors = {"exact": [], "default": [], "paper": []}
        for seed in range(4):
            X, y, truth = make_bilinear(m, 100, 5, random_state=seed)
            errors["exact"].append(nsee(truth, JDR(5, normalize="feature", solver="exact").fit(X, y).embeddings_))
            model = JDR(5, normalize="feature", solver=solver, random_state=seed)
            errors["default"].append(nsee(truth, model.fit(X, y).embeddings_))
            model.set_params(n_iter=0)
            errors["paper"].append(nsee(truth, model.fit(X, y).embeddings_))
        mean = {name: np.mean(values) for name, values in errors.items()}
        assert mean["default"] <= 1.1 * mean["exact"]
        if m == 10_000:
            assert mean["paper"] > 1.3 * mean["exact"]


@pytest.mark.parametrize("solver", ["randomized", "countsketch"])
@pytest.mark.parametrize("normalize", ["full", "feature", None])
def test_many_power_passes_reach_the_exact_result(solver, normalize):
    X, y, _ = make_bilinear(5000, (40, 30), 3, random_state=1)
    exact = JDR(3, normalize=normalize, solver="exact").fit(X, y)
    model = JDR(3, normalize=normalize, solver=solver, n_iter=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.singular_values_, exact.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(model.embeddings_[0], exact.embeddings_[0], atol=1e-4)
    assert not hasattr(model, "moments_")
    assert model.solver_ == solver


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_means_do_not_hurt_the_sketch(dtype):
    X, y, _truth = make_bilinear(20_000, (30, 20), 2, random_state=1)
    A, B = (V.astype(dtype) for V in X.arrays)
    shift = dtype(1e8 if dtype is np.float64 else 1000)
    moved = JDR(2, normalize="feature", solver="randomized", random_state=0).fit((A + shift, B - shift), y + 1e6)
    A, B = A + shift - shift, B - shift + shift  # rounded to what the shifted data can hold
    plain = JDR(2, normalize="feature", solver="randomized", random_state=0).fit((A, B), y)
    assert nsee(plain.embeddings_, moved.embeddings_) < (2e-9 if dtype is np.float64 else 1e-5)


def test_same_seed_same_result():
    X, y, _ = make_bilinear(1000, (40, 30), 2)
    for solver in ("randomized", "countsketch"):
        one, two, other = (
            JDR(2, solver=solver, n_iter=0, random_state=seed).fit(X, y).embeddings_[0] for seed in (3, 3, 4)
        )
        np.testing.assert_array_equal(one, two)
        assert not np.allclose(one, other)


def test_signs_are_fixed():
    X, y, _ = make_bilinear(3000, (20, 15), 3)
    for solver in ("exact", "randomized"):
        U = JDR(3, solver=solver, random_state=1).fit(X, y).embeddings_[0]
        assert (U[np.argmax(np.abs(U), axis=0), range(3)] > 0).all()


def test_auto_chooses_by_size():
    assert choose_solver("auto", (2000, 2000), 10) == "exact"
    assert choose_solver("auto", (2001, 50), 10) == "randomized"
    assert choose_solver("auto", (50_000, 12), 10) == "exact"  # the sketch would be as wide as the proxy
    assert choose_solver("countsketch", (10, 10), 1) == "countsketch"
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 2100)), rng.standard_normal((60, 30))
    model = JDR(2, normalize="feature", random_state=0).fit((A, B), A[:, 0] * B[:, 0])
    assert model.solver_ == "randomized"


def test_sketches():
    rng = np.random.default_rng(0)
    assert sketch(50, 50, 4, "randomized", rng).shape == (50, 8)
    S = sketch(50, 50, 4, "countsketch", rng).toarray()
    assert S.shape == (50, 20)
    np.testing.assert_array_equal(np.abs(S).sum(axis=1), 1)  # one ±1 in every row
    np.testing.assert_array_equal(sketch(5, 5, 4, "countsketch", rng).toarray(), np.eye(5))


def test_sketch_of_a_low_rank_matrix_is_exact(rng):
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20))
    U, s, V = sketched_svd(aslinearoperator(X), 3, "randomized", 0, rng)
    np.testing.assert_allclose((U * s) @ V.T, X, atol=1e-10)
    U, s, V = sketched_svd(aslinearoperator(np.zeros((6, 5))), 2, "randomized", 2, rng)
    np.testing.assert_array_equal(s, 0)
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-12)


def test_more_components_than_the_smaller_view_allows():
    X, y, _ = make_bilinear(500, (10, 4), 2)
    assert JDR(4).fit(X, y).embeddings_[0].shape == (10, 4)
    assert JDR(4, solver="randomized", normalize="feature", random_state=0).fit(X, y).embeddings_[1].shape == (4, 4)
    with pytest.raises(ValueError, match=r"n_components=5 is more than.*n_features = \(10, 4\)"):
        JDR(5).fit(X, y)


@pytest.mark.parametrize("scale", [1e-165, 1.0, 1e170])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0])
def test_leading_singular_vectors_of_a_large_matrix(rng, noise, scale):
    """Found by iteration where they stand out, and the same as those of all, to rounding, at any scale."""
    Q, _ = np.linalg.qr(rng.standard_normal((260, 3)))
    P, _ = np.linalg.qr(rng.standard_normal((300, 3)))
    X = (Q * [5.0, 4.0, 3.0]) @ P.T + noise * rng.standard_normal((260, 300)) / 20
    U, s, V = svd(X * scale, 3)
    W, t, Zt = np.linalg.svd(X)
    np.testing.assert_allclose(s, t[:3] * scale, rtol=1e-12)
    np.testing.assert_allclose(U @ U.T, W[:, :3] @ W[:, :3].T, atol=1e-11)
    np.testing.assert_allclose(V @ V.T, Zt[:3].T @ Zt[:3], atol=1e-11)

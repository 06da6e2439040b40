from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone

from jointdr import JDR, Moments
from jointdr.datasets import make_bilinear, make_logistic, make_rbf
from jointdr.metrics import nsee


def mean_errors(make, m, n, r, repetitions=4, **options):
    found = {0: [], 2: []}
    for seed in range(repetitions):
        X, y, truth = make(m, n, r, random_state=seed, **options)
        for sweeps, values in found.items():
            values.append(nsee(truth, JDR(r, refine=sweeps).fit(X, y).embeddings_))
    return np.mean(found[0]), np.mean(found[2])


def test_bilinear_data():
    plain, refined = mean_errors(make_bilinear, 20_000, 100, 5)
    assert refined <= 0.075 < plain
    plain, refined = mean_errors(make_bilinear, 5000, 100, 5)
    assert refined <= 0.17
    assert plain > 0.33


@pytest.mark.parametrize(
    ("make", "n", "r"), [(make_rbf, 50, 3), (make_rbf, 20, 2), (make_rbf, 20, 5), (make_logistic, 50, 3)]
)
def test_never_harmful(make, n, r):
    plain, refined = mean_errors(make, 20_000, n, r)
    assert refined <= 1.02 * plain


def test_no_signal_is_left_alone(rng):
    A, B, y = rng.standard_normal((800, 30)), rng.standard_normal((800, 30)), rng.standard_normal(800)
    model = JDR(3, refine=2).fit((A, B), y)
    assert model.n_sweeps_ == 0
    np.testing.assert_allclose(model.embeddings_[0], JDR(3).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_a_refit_forgets_the_sweeps():
    X, y, _ = make_bilinear(4000, 20, 2)
    model = JDR(2, refine=2).fit(X, y)
    assert model.n_sweeps_ == 2
    assert model.set_params(refine=0).fit(X, y).n_sweeps_ == 0


def test_many_sweeps_reach_the_least_squares_fit(rng):
    """Against a general optimizer on the same objective."""
    A, B = rng.standard_normal((400, 4)), rng.standard_normal((400, 3))
    y = A[:, 0] * B[:, 0] + 0.3 * rng.standard_normal(400)
    model = JDR(1, refine=60).fit((A, B), y)
    assert model.n_sweeps_ == 60
    a, b, e = A - A.mean(axis=0), B - B.mean(axis=0), y - y.mean()

    def loss(x):
        return np.sum((e - x[7] - (a @ x[:4]) * (b @ x[4:7])) ** 2)

    start = np.concatenate([model.embeddings_[0][:, 0], model.embeddings_[1][:, 0], [0.0]])
    best = minimize(loss, start, tol=1e-12).x
    assert nsee((best[:4, None], best[4:7, None]), model.embeddings_) < 1e-4


@pytest.mark.parametrize("normalize", ["full", "feature", "joint"])
def test_every_input(rng, normalize):
    X, y, truth = make_bilinear(6000, (30, 20), 2, random_state=1)
    model = JDR(2, refine=2, normalize=normalize)
    plain = nsee(truth, clone(model).set_params(refine=0).fit(X, y).embeddings_)
    expected = model.fit(X, y).embeddings_
    assert nsee(truth, expected) < 0.6 * plain
    assert model.score(X, y) > 0
    sparse_views = tuple(sparse.csr_array(V) for V in X.arrays)
    np.testing.assert_allclose(model.fit(sparse_views, y).embeddings_[0], expected[0], atol=1e-6)
    doubled = model.fit(X, y, sample_weight=np.full(len(y), 2.0)).embeddings_
    np.testing.assert_allclose(doubled[0], expected[0], atol=1e-6)
    shifted = tuple(V + 100 for V in X.arrays)
    assert nsee(expected, model.fit(shifted, y - 7).embeddings_) < 1e-3
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(
        model.fit(tuple(torch.asarray(V) for V in X.arrays), y).embeddings_[0], expected[0], atol=1e-6
    )


def test_the_rank_may_be_left_to_the_data():
    X, y, truth = make_bilinear(10_000, (30, 20), 3, random_state=1)
    model = JDR("auto", refine=2).fit(X, y)
    assert model.n_components_ == 3
    assert nsee(truth, model.embeddings_) < 0.6 * nsee(truth, JDR(3).fit(X, y).embeddings_)


def test_clear_errors(data):
    A, B, y = data
    with pytest.raises(ValueError, match=r"which partial_fit cannot: use fit"):
        JDR(2, refine=1).partial_fit((A, B), y)
    with pytest.raises(ValueError, match=r"which fit_moments cannot: use fit"):
        JDR(2, refine=1).fit_moments(Moments.of_block((A, B), y))
    for options, message in (
        ({"moments": "all"}, "moments='all'"),
        ({"n_features_to_select": 3}, "n_features_to_select"),
        ({"normalize": None}, "normalize=None"),
        ({"solver": "randomized"}, "refine needs the whole moments"),
        ({"n_components": (1, 2)}, "different numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            JDR(**{"n_components": 2, "refine": 1, **options}).fit((A, B), y)
    with pytest.raises(ValueError, match="several responses"):
        JDR(2, refine=1).fit((A, B), np.column_stack([y, y**2]))
    for wrong in (-1, 1.5, True, "all"):
        with pytest.raises(ValueError, match="refine="):
            JDR(2, refine=wrong).fit((A, B), y)

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import lsqr
from sklearn.base import clone

from jointdr import JDR, Moments
from jointdr.datasets import make_bilinear, make_logistic, make_rbf
from jointdr.directions.refine.link_functions import fit_learned
from jointdr.directions.refine.problem import ITERATIONS, TOLERANCE, least_squares
from jointdr.engines.reduction import fold_of
from jointdr.metrics import nsee


def mean_errors(make, m, n, r, *models, repetitions=4):
    """The mean NSEE of each model on the same data."""
    found = []
    for seed in range(repetitions):
        X, y, truth = make(m, n, r, random_state=seed)
        found.append([nsee(truth, clone(model).set_params(n_components=r).fit(X, y).embeddings_) for model in models])
    return np.mean(found, axis=0)


BILINEAR = JDR(refine=2, link="bilinear")


def test_bilinear_data():
    plain, refined = mean_errors(make_bilinear, 20_000, 100, 5, JDR(), BILINEAR)
    assert refined <= 0.075 < plain
    plain, refined = mean_errors(make_bilinear, 5000, 100, 5, JDR(), BILINEAR)
    assert refined <= 0.17
    assert plain > 0.33


@pytest.mark.parametrize(
    ("make", "n", "r"), [(make_rbf, 50, 3), (make_rbf, 20, 2), (make_rbf, 20, 5), (make_logistic, 50, 3)]
)
def test_never_harmful(make, n, r):
    plain, refined = mean_errors(make, 20_000, n, r, JDR(), BILINEAR)
    assert refined <= 1.02 * plain


def test_with_all_moments_the_surrogate_is_quadratic():
    every = JDR(moments="all")
    plain, refined = mean_errors(make_rbf, 20_000, 20, 2, every, JDR(moments="all", refine=3, link="bilinear"))
    assert refined < 0.9 * plain
    model = JDR(2, moments="all", refine=1, link="bilinear").fit(*make_rbf(5000, 10, 2, random_state=0)[:2])
    assert model.link_.basis.n_products == 1 + 4 + 10


@pytest.mark.parametrize(("n", "r", "target"), [(50, 3, 0.14), pytest.param(20, 5, 0.25, marks=pytest.mark.slow)])
def test_a_learned_link_on_rbf(n, r, target):
    learned = JDR(moments="all", refine=4, link="learned", random_state=0)
    assert mean_errors(make_rbf, 20_000, n, r, learned, repetitions=3) <= target


@pytest.mark.slow
def test_links_on_few_bilinear_rows():
    models = [JDR(refine=4, link=link, random_state=0) for link in ("bilinear", "learned", "auto")]
    bilinear, learned, auto = mean_errors(make_bilinear, 2000, 30, 2, *models, repetitions=6)
    assert learned <= 0.14
    assert auto <= 1.03 * bilinear


def test_auto_takes_the_better_link():
    X, y, _ = make_rbf(5000, 10, 2, random_state=0)
    assert JDR(2, refine=2).fit(X, y).link_.kind == "learned"
    X, y, _ = make_bilinear(5000, 10, 2, random_state=0)
    assert JDR(2, refine=2).fit(X, y).link_.kind == "bilinear"


@pytest.mark.parametrize("link", ["bilinear", "learned"])
def test_the_link_predicts_the_response(link):
    X, y, _ = make_bilinear(6000, (12, 8), 2, random_state=0)
    y = y + 5.0
    model = JDR(2, refine=2, link=link, scale="sqrt").fit(X[:4000], y[:4000])
    Z = clone(model).set_params(scale=None).fit(X[:4000], y[:4000]).transform(X[4000:])
    residual = y[4000:] - model.link_.predict(Z)[:, 0]
    assert np.mean(residual**2) < 1.1  # the noise has variance 1
    assert abs(residual.mean()) < 0.1


def test_a_link_is_there_even_if_no_sweep_helped(rng):
    A, B, y = rng.standard_normal((800, 30)), rng.standard_normal((800, 30)), 3 + rng.standard_normal(800)
    model = JDR(3, refine=2, link="bilinear").fit((A, B), y)
    assert model.n_sweeps_ == 0
    assert model.link_.predict(model.transform((A, B))).mean() == pytest.approx(y.mean(), abs=0.05)


def test_a_saved_model_keeps_its_link(tmp_path):
    X, y, _ = make_bilinear(3000, 8, 2, random_state=0)
    for link in ("bilinear", "learned"):
        model = JDR(2, refine=1, link=link).fit(X, y)
        model.save(tmp_path / "model.npz")
        loaded = JDR.load(tmp_path / "model.npz")
        assert loaded.link_.kind == link
        np.testing.assert_array_equal(
            loaded.link_.predict(loaded.transform(X)), model.link_.predict(model.transform(X))
        )
    model.set_params(refine=0).fit(X, y)
    assert not hasattr(model, "link_")


@pytest.mark.parametrize("link", ["bilinear", "learned"])
def test_several_responses(rng, link):
    A, B = rng.standard_normal((4000, 20)), rng.standard_normal((4000, 20))
    Y = np.column_stack([A[:, 0] * B[:, 0], A[:, 1] * B[:, 1]]) + rng.standard_normal((4000, 2))
    truth = (np.eye(20)[:, :2], np.eye(20)[:, :2])
    plain = nsee(truth, JDR(2).fit((A, B), Y).embeddings_)
    model = JDR(2, refine=2, link=link).fit((A, B), Y)
    assert nsee(truth, model.embeddings_) < 0.75 * plain
    assert model.link_.predict(model.transform((A, B))).shape == (4000, 2)
    assert model.score((A, B), Y) > 0.3


def test_different_numbers_of_directions(rng):
    A, B = rng.standard_normal((5000, 20)), rng.standard_normal((5000, 20))
    y = A[:, 0] * B[:, 0] + (A[:, 0] ** 2 - 1) * B[:, 1] + rng.standard_normal(5000)
    truth = (np.eye(20)[:, :1], np.eye(20)[:, :2])
    plain = nsee(truth, JDR((1, 2), moments="all").fit((A, B), y).embeddings_)
    refined = JDR((1, 2), moments="all", refine=4).fit((A, B), y)
    assert [U.shape[1] for U in refined.embeddings_] == [1, 2]
    assert nsee(truth, refined.embeddings_) < 0.6 * plain


def test_after_selection_only_selected_features_are_refined():
    X, y, truth = make_bilinear(5000, 60, 2, n_informative=6, random_state=0)
    model = JDR(2, n_features_to_select=6, refine=2, link="bilinear").fit(X, y)
    assert [int(mask.sum()) for mask in model.support_] == [6, 6]
    assert not model.embeddings_[0][~model.support_[0]].any()
    assert nsee(truth, model.embeddings_) < 0.7 * nsee(truth, JDR(2, n_features_to_select=6).fit(X, y).embeddings_)
    assert model.transform(X)[0].shape == (5000, 2)


def test_no_signal_is_left_alone(rng):
    A, B, y = rng.standard_normal((800, 30)), rng.standard_normal((800, 30)), rng.standard_normal(800)
    model = JDR(3, refine=2).fit((A, B), y)
    assert model.n_sweeps_ == 0
    np.testing.assert_allclose(model.embeddings_[0], JDR(3).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_a_refit_forgets_the_sweeps():
    X, y, _ = make_bilinear(4000, 20, 2)
    model = JDR(2, refine=2).fit(X, y)
    assert model.n_sweeps_ >= 1
    assert model.set_params(refine=0).fit(X, y).n_sweeps_ == 0


def test_sweeps_reach_the_least_squares_fit(rng):
    """Against a general optimizer on the same objective."""
    A, B = rng.standard_normal((400, 4)), rng.standard_normal((400, 3))
    y = A[:, 0] * B[:, 0] + 0.3 * rng.standard_normal(400)
    model = JDR(1, refine=60, link="bilinear").fit((A, B), y)
    assert model.n_sweeps_ >= 1
    a, b, e = A - A.mean(axis=0), B - B.mean(axis=0), y - y.mean()

    def loss(x):
        return np.sum((e - x[7] - (a @ x[:4]) * (b @ x[4:7])) ** 2)

    start = np.concatenate([model.embeddings_[0][:, 0], model.embeddings_[1][:, 0], [0.0]])
    best = minimize(loss, start, tol=1e-12).x
    fitted = (best[:4, None], best[4:7, None])
    assert nsee(fitted, model.embeddings_) < 5e-3 < 0.02 < nsee(fitted, JDR(1).fit((A, B), y).embeddings_)


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
        ({"link": "linear"}, "link='linear'"),
        ({"normalize": None}, "normalize=None"),
        ({"solver": "randomized"}, "refine needs the whole moments"),
    ):
        with pytest.raises(ValueError, match=message):
            JDR(**{"n_components": 2, "refine": 1, **options}).fit((A, B), y)
    for wrong in (-1, 1.5, True, "all"):
        with pytest.raises(ValueError, match="refine="):
            JDR(2, refine=wrong).fit((A, B), y)


def test_folds_without_weight_and_few_rows(rng):
    A, B = rng.standard_normal((4000, 8)), rng.standard_normal((4000, 8))
    y = A[:, 0] * B[:, 0] + rng.standard_normal(4000)
    fold = fold_of(np.arange(4000), 5, 0)
    model = JDR(1, refine=2, link="bilinear").fit((A, B), y, (fold != 0) * 1.0)
    assert model.n_sweeps_ >= 1
    assert JDR(1, refine=1).fit((A, B), y, (fold == 0) * 1.0).n_sweeps_ == 0  # nothing to judge by
    for m in (6, 8, 10):
        assert np.isfinite(JDR(1, refine=1).fit((A[:m, :2], B[:m, :2]), y[:m]).embeddings_[0]).all()


def test_a_feature_that_varies_in_one_fold_only(rng):
    A = np.column_stack([rng.standard_normal(600), np.zeros(600)])
    A[5, 1] = 1
    model = JDR(2, refine=1).fit((A, rng.standard_normal((600, 4))), rng.standard_normal(600))
    assert model.embeddings_[0].shape == (2, 2)


@pytest.mark.parametrize(("normalize", "ridge"), [("feature", 0.0), ("full", 1.0)])
def test_the_link_is_as_good_as_one_fitted_afresh(rng, normalize, ridge):
    mix = np.linalg.cholesky(0.9 + 0.1 * np.eye(6)).T
    A, B = rng.standard_normal((5000, 6)) @ mix, rng.standard_normal((5000, 6)) @ mix
    y = np.exp(-((A[:, 0] - B[:, 0]) ** 2)) + 0.1 * rng.standard_normal(5000)
    model = JDR(2, refine=2, link="learned", normalize=normalize, ridge=ridge, moments="all").fit((A, B), y)
    Z = model.transform((A, B))
    fresh = fit_learned(Z, y[:, None], np.ones(5000))
    kept, best = (np.mean((y - link.predict(Z)[:, 0]) ** 2) for link in (model.link_, fresh))
    assert kept < 1.05 * best


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1.0])
def test_the_steps_are_those_of_lsqr(rng, noise):
    """Conjugate gradients on the normal equations end where LSQR does, which sees the rows themselves."""
    J = rng.standard_normal((200, 12)) * (1 + np.arange(12) / 10)
    e = J @ rng.standard_normal(12) + noise * rng.standard_normal(200)
    expected = lsqr(J, e, iter_lim=ITERATIONS, atol=TOLERANCE, btol=TOLERANCE)[0]
    np.testing.assert_allclose(least_squares(lambda p: J.T @ (J @ p), J.T @ e, e @ e), expected, rtol=1e-9)


def test_the_score_keeps_its_meaning(rng):
    """No higher beyond the right rank, also for dependent views, with refinement or without."""
    A = rng.standard_normal((8000, 4))
    B = 0.8 * A + 0.6 * rng.standard_normal((8000, 4))
    y = A[:, 0] * B[:, 1] + A[:, 1] * B[:, 0] + 0.2 * rng.standard_normal(8000)
    train, test = slice(0, 6000), slice(6000, 8000)
    for sweeps in (0, 2):
        model = JDR(normalize="joint", refine=sweeps, link="bilinear")
        scores = [
            model.set_params(n_components=r).fit((A[train], B[train]), y[train]).score((A[test], B[test]), y[test])
            for r in (1, 2, 3)
        ]
        assert scores[0] + 0.2 < scores[1] < 1
        assert scores[2] < scores[1] + 0.005


def test_units_of_the_response_do_not_matter():
    X, y, _ = make_bilinear(3000, 8, 2, random_state=0)
    expected = JDR(2, refine=2, link="bilinear").fit(X, y)
    for factor in (1e140, 1e-140):
        model = JDR(2, refine=2, link="bilinear").fit(X, y * factor)
        np.testing.assert_allclose(model.embeddings_[0], expected.embeddings_[0], atol=1e-6)
        np.testing.assert_allclose(model.singular_values_, expected.singular_values_ * factor)


def test_nothing_of_a_refinement_is_left_behind():
    X, y, _ = make_bilinear(3000, 8, 2, random_state=0)
    model = JDR(2, refine=1, link="bilinear").fit(X, y).set_params(refine=0)
    assert not hasattr(model.fit_moments(Moments.of_block(X.arrays, y)), "link_")
    assert model.n_sweeps_ == 0

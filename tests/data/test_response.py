from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from jointdr import JDR, HeavyTailWarning, Moments, tail_check
from jointdr.data.response import checked_response, fit_transform_of
from jointdr.data.views import checked_weight
from jointdr.datasets import make_bilinear, make_logistic, make_rbf
from jointdr.metrics import nsee, subspace_error


def heavy(seed=0, m=20_000):
    X, y, truth = make_bilinear(m, 50, 3, noise=0.0, random_state=seed)
    return X, y + np.random.default_rng(seed).standard_t(1.5, m), truth


def test_rank_cures_heavy_tails():
    errors = {"identity": [], "rank": [], "clip": []}
    for seed in range(4):
        X, y, truth = heavy(seed)
        for response, found in errors.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", HeavyTailWarning)
                found.append(nsee(truth, JDR(3, response=response).fit(X, y).embeddings_))
    assert np.mean(errors["rank"]) <= 0.18
    assert np.mean(errors["identity"]) > 0.5
    assert np.mean(errors["clip"]) < 0.25


def test_fit_warns_of_heavy_tails_and_names_the_option():
    X, y, _ = heavy()
    with pytest.warns(HeavyTailWarning, match="response='rank'"):
        JDR(3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        JDR(3, response="rank").fit(X, y)


@pytest.mark.parametrize("make", [make_bilinear, make_rbf, make_logistic])
@pytest.mark.parametrize("m", [500, 5000, 50_000])
def test_the_papers_models_do_not_warn(make, m):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(5):
            X, y, _ = make(m, 10, 2, random_state=seed)
            JDR(2).fit(X, y)


def test_tail_index(rng):
    assert tail_check(rng.standard_t(2.0, 400_000)).tail_index == pytest.approx(0.5, abs=0.06)
    assert tail_check(rng.standard_normal(400_000)).tail_index < 0.2
    assert not tail_check(np.zeros(1000)).is_heavy
    assert not tail_check((rng.random(10_000) < 0.003).astype(float)).is_heavy
    assert not tail_check(rng.standard_t(1.5, 20)).is_heavy  # too few to tell


def test_normal_scores(rng):
    y = rng.exponential(size=999)
    z = fit_transform_of("rank", y)(y)[:, 0]
    order = np.argsort(y)
    np.testing.assert_allclose(z[order], norm.ppf(np.arange(1, 1000) / 1000), atol=1e-12)
    assert np.isfinite(fit_transform_of("rank", y)(np.array([-1e9, 1e9]))).all()
    tied = fit_transform_of("rank", np.array([1.0, 1.0, 2.0]))(np.array([1.0, 1.0, 2.0]))
    assert tied[0] == tied[1]


def test_clip_and_slices(rng):
    y = np.append(rng.standard_normal(1000), [1e6, -1e6])
    clipped = fit_transform_of("clip", y)(y)
    assert 2.5 < np.abs(clipped).max() < 4
    sliced = fit_transform_of("slices", y, n_slices=4)(y)
    assert sliced.shape == (1002, 4)
    np.testing.assert_array_equal(sliced.sum(axis=1), 1)
    assert sliced.sum(axis=0).min() > 240
    fixed = fit_transform_of("slices", y, edges=[0.0])(np.array([-1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(fixed, [[1, 0], [0, 1], [0, 1]])
    many_zeros = fit_transform_of("slices", np.array([0.0] * 90 + [1.0] * 10), n_slices=5)
    assert many_zeros(np.array([0.0, 1.0])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    weights = np.where(y > 0, 3.0, 1.0)
    assert fit_transform_of("slices", y, weights, n_slices=2).grid[0] > 0.2


@pytest.mark.parametrize("response", ["rank", "clip", "slices"])
@pytest.mark.parametrize("tied", [False, True])
def test_a_weight_of_two_is_the_row_given_twice(data, rng, response, tied):
    A, B, y = data
    y = np.round(y) if tied else y
    w = rng.integers(0, 4, len(y))
    y[w == 0] += 1e3  # what has no weight is not there
    twice = np.repeat(np.arange(len(y)), w)
    weighted = JDR(2, response=response).fit((A, B), y, sample_weight=w)
    repeated = JDR(2, response=response).fit((A[twice], B[twice]), y[twice])
    np.testing.assert_allclose(weighted.response_(y), repeated.response_(y), atol=1e-12)
    for U, V in zip(weighted.embeddings_, repeated.embeddings_, strict=True):
        np.testing.assert_allclose(U, V, atol=1e-10)
    ignored = JDR(2, response=response).fit((A, B), y)
    assert subspace_error(ignored.embeddings_[0], weighted.embeddings_[0]) > 1e-3


@pytest.mark.parametrize("response", ["rank", "clip", "slices"])
def test_a_row_may_be_cut_in_two(rng, response):
    """Fractions of a row count as such, so that a row of weight w is two rows of weight w/2."""
    y, w = rng.standard_t(2, 50), rng.random(50)
    halves = fit_transform_of(response, np.tile(y, 2), np.tile(w, 2) / 2)
    np.testing.assert_allclose(halves(y), fit_transform_of(response, y, w)(y), atol=1e-12)


@pytest.mark.parametrize("response", ["rank", "clip"])
@pytest.mark.parametrize("weight", [1.0, 1e-3, 1e-12])
def test_equal_weights_up_to_one_change_nothing(rng, response, weight):
    y = rng.standard_t(2, 50)
    np.testing.assert_allclose(
        fit_transform_of(response, y, np.full(50, weight))(y), fit_transform_of(response, y)(y), rtol=1e-9
    )


def test_scores_stay_finite_where_a_row_has_next_to_no_weight():
    y, w = np.arange(5.0), np.array([1e-30, 1.0, 1.0, 1.0, 1e-30])
    scores = fit_transform_of("rank", y, w)(np.array([-9.0, *y, 9.0]))[:, 0]
    assert np.isfinite(scores).all()
    assert (np.diff(scores) >= 0).all()


def test_slices_see_a_link_that_acts_on_the_spread(rng):
    m = 40_000
    A, B = rng.standard_normal((m, 10)), rng.standard_normal((m, 8))
    y = rng.standard_normal(m) * np.exp(0.5 * A[:, 0] * B[:, 0])
    truth = (np.eye(10)[:, :1], np.eye(8)[:, :1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeavyTailWarning)
        assert nsee(truth, JDR(1).fit((A, B), y).embeddings_) > 0.5
    assert nsee(truth, JDR(1, response="slices").fit((A, B), y).embeddings_) < 0.1


def test_two_classes_are_a_scalar():
    X, y, _ = make_logistic(4000, (8, 6), 2, random_state=1)
    scalar = JDR(2).fit(X, y)
    for labels in (
        np.where(y > 0, "yes", "no"),
        y.astype(bool),
        pd.Series(np.where(y > 0, "b", "a"), dtype="category"),
    ):
        model = JDR(2).fit(X, labels)
        assert model.response_.kind == "class"
        np.testing.assert_allclose(model.embeddings_[0], scalar.embeddings_[0], atol=1e-12)
    numbered = JDR(2, response="class").fit(X, np.where(y > 0, 7, 3))
    np.testing.assert_allclose(numbered.embeddings_[0], scalar.embeddings_[0], atol=1e-12)
    with pytest.raises(ValueError, match="labels that fit has not seen"):
        numbered.score(X, np.full(len(y), 5))
    with pytest.raises(ValueError, match="use response='class'"):
        JDR(2, response="rank").fit(X, np.where(y > 0, "yes", "no"))
    with pytest.raises(ValueError, match="looks like numbers"):
        JDR(2, response="class").fit(X, np.arange(len(y)))


def test_three_classes(rng):
    """Each pair of classes differs along one direction; together they show two."""
    m = 30_000
    A, B = rng.standard_normal((m, 12)), rng.standard_normal((m, 9))
    scores = np.column_stack([A[:, 0] * B[:, 0], A[:, 1] * B[:, 1], np.zeros(m)]) * 2
    labels = np.array(["p", "q", "r"])[np.argmax(scores + rng.gumbel(size=(m, 3)), axis=1)]
    model = JDR(2).fit((A, B), labels)
    assert nsee((np.eye(12)[:, :2], np.eye(9)[:, :2]), model.embeddings_) < 0.1
    assert isinstance(model.singular_values_, tuple)


def test_two_responses_that_each_reveal_one_direction(rng):
    m = 20_000
    A, B = rng.standard_normal((m, 12)), rng.standard_normal((m, 9))
    Y = np.column_stack([A[:, 0] * B[:, 0], A[:, 1] * B[:, 1]]) + rng.standard_normal((m, 2))
    truth = (np.eye(12)[:, :2], np.eye(9)[:, :2])
    model = JDR(2).fit((A, B), Y)
    assert nsee(truth, model.embeddings_) < 0.1
    assert model.score((A, B), Y) > 0.3
    for i in range(2):
        assert nsee(truth, JDR(2).fit((A, B), Y[:, i]).embeddings_) > 0.5
    streamed = JDR(2).partial_fit((A[:5000], B[:5000]), Y[:5000]).partial_fit((A[5000:], B[5000:]), Y[5000:])
    np.testing.assert_allclose(streamed.embeddings_[1], model.embeddings_[1], atol=1e-9)
    same = JDR(2, response=lambda y: np.column_stack([y[:, 1], y[:, 0]])).fit((A, B), Y)
    assert max(subspace_error(U, V) for U, V in zip(same.embeddings_, model.embeddings_, strict=True)) < 1e-7


def test_one_column_of_responses_is_one_response(data):
    A, B, y = data
    expected = JDR(2).fit((A, B), y).embeddings_[0]
    with pytest.warns(UserWarning, match="column-vector"):
        np.testing.assert_array_equal(JDR(2).fit((A, B), y[:, None]).embeddings_[0], expected)
    # A tensor with one slice: the higher-order SVD is the SVD.
    hosvd = JDR((2, 3)).fit((A, B), y)
    assert subspace_error(hosvd.embeddings_[0], expected) < 1e-9
    assert hosvd.n_components_ == (2, 3)
    assert hosvd.transform((A, B))[1].shape == (len(y), 3)
    assert list(hosvd.get_feature_names_out()) == ["a_jdr0", "a_jdr1", "b_jdr0", "b_jdr1", "b_jdr2"]


def test_streams_need_edges(data):
    A, B, y = data
    for response in ("rank", "clip", "slices", "class"):
        with pytest.raises(ValueError, match="give it as edges="):
            JDR(2, response=response).partial_fit((A, B), y)
        if response != "class":  # what an earlier fit read off its own rows would no longer be true
            with pytest.raises(ValueError, match="give it as edges="):
                JDR(2, response=response).fit((A, B), y).partial_fit((A, B), y)
    with pytest.raises(ValueError, match="all labels"):
        JDR(2).partial_fit((A, B), np.where(y > 0, "yes", "no"))
    edges = np.quantile(y, [0.25, 0.5, 0.75])
    whole = JDR(2, response="slices", edges=edges).fit((A, B), y)
    streamed = JDR(2, response="slices", edges=edges)
    for at in (slice(0, 150), slice(150, None)):
        streamed.partial_fit((A[at], B[at]), y[at])
    np.testing.assert_allclose(streamed.embeddings_[0], whole.embeddings_[0], atol=1e-9)
    labels = np.where(y > 0, "yes", "no")
    named = JDR(2, edges=["no", "yes"]).partial_fit((A[:3], B[:3]), labels[:3]).partial_fit((A[3:], B[3:]), labels[3:])
    assert named.embeddings_[0].shape == (6, 2)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["1", "2", "3"], dtype=object),
        pd.Categorical([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="category"),
        pd.cut(pd.Series([0.0, 1.0, 2.0]), 3),
        np.array([True, False, True], dtype=object),
        pd.Series([True, False, True], dtype="boolean"),
        pd.Series(["1", "2", "3"], dtype="string"),
    ],
    ids=lambda labels: f"{type(labels).__name__} {labels.dtype}",
)
def test_strings_booleans_and_categories_are_labels(labels):
    """Also where they would read as numbers: that must not depend on what holds them."""
    y = checked_response(labels, 3, "JDR")
    transform = fit_transform_of("auto", y)
    assert transform.kind == "class"
    np.testing.assert_array_equal(transform(y).sum(axis=0) > 0, True)


def test_labels_in_edges_may_be_numbers_of_categories():
    y = checked_response(pd.Categorical([1, 2, 1]), 3, "JDR")
    assert fit_transform_of("class", y, edges=[1, 2, 3])(y).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_numbers_as_objects_are_numbers():
    for y in (np.array([1, 2.5, np.float32(3)], dtype=object), pd.Series([1, 2, 3], dtype="Int64")):
        assert fit_transform_of("auto", checked_response(y, 3, "JDR")).kind == "identity"


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array(["p", None, "q"], dtype=object), "missing labels .*row 1"),
        (np.array(["p", np.nan, "q"], dtype=object), "missing labels .*row 1"),
        (pd.Series([True, None, False], dtype="boolean"), "missing labels .*row 1"),
        (pd.Categorical([1, None, 2]), "missing labels .*row 1"),
        (pd.Series([1, None, 2], dtype="Int64"), "NaN or infinity .*row 1"),
        (np.array([1.0, "p", 2.0], dtype=object), "such as 'p'"),
        (np.array([["p", "q"]] * 3), r"one label per row; got labels of shape \(3, 2\)"),
    ],
    ids=str,
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        checked_response(y, 3, "JDR")


def test_several_booleans_are_several_responses(data):
    A, B, y = data
    Y = np.column_stack([y > 2, y > 4])
    expected = JDR(2).fit((A, B), Y.astype(float)).embeddings_[0]
    np.testing.assert_array_equal(JDR(2).fit((A, B), Y).embeddings_[0], expected)


def test_y_in_another_order_than_the_views_is_aligned():
    y = pd.Series([1.0, 2.0, 3.0], index=["p", "q", "r"])
    for given in (y, y[::-1], y.iloc[[1, 2, 0]], y.reset_index(drop=True), y.to_numpy()):
        np.testing.assert_array_equal(checked_response(given, 3, "JDR", y.index), [1, 2, 3])
    np.testing.assert_array_equal(checked_weight(y.iloc[[2, 0, 1]], 3, index=y.index), [1, 2, 3])
    for check in (lambda v: checked_response(v, 3, "JDR", y.index), lambda v: checked_weight(v, 3, index=y.index)):
        with pytest.raises(ValueError, match="has other ids than the first table, for example 's'"):
            check(y.set_axis(["p", "q", "s"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"response": "log"}, "response='log' is not understood"),
        ({"response": lambda y: y[:3]}, "one finite number"),
        ({"response": lambda y: np.where(y == y[3], np.nan, y)}, "one finite number .*NaN or infinity .*row 3"),
        ({"response": "slices", "n_slices": 1}, "n_slices=1"),
        ({"response": "slices", "edges": [2.0, 1.0]}, "edges="),
        ({"response": "clip", "edges": [1.0]}, "two bounds"),
    ],
)
def test_bad_responses(data, options, message):
    A, B, y = data
    with pytest.raises(ValueError, match=message):
        JDR(2, **options).fit((A, B), y)


def test_saved_with_its_response(tmp_path, data):
    A, B, y = data
    labels = np.where(y > 3, "high", "low")
    for response, target in (("rank", y), ("class", labels), ("slices", y)):
        model = JDR(2, response=response).fit((A, B), target)
        model.save(tmp_path / "m.npz")
        assert JDR.load(tmp_path / "m.npz").score((A, B), target) == model.score((A, B), target)
    with pytest.raises(TypeError, match="cannot be saved"):
        JDR(2, response=np.abs).fit((A, B), y).save(tmp_path / "m.npz")


def test_moments_of_vector_responses_can_be_given(data):
    A, B, y = data
    Y = np.column_stack([y, A[:, 0]])
    fitted = JDR(2).fit_moments(Moments.of_block((A, B), Y))
    np.testing.assert_allclose(fitted.embeddings_[0], JDR(2).fit((A, B), Y).embeddings_[0], atol=1e-9)

"""What the properties have found, one by one."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from jointdr import IMC, JDR, SAVE, AssociationModel, ConstantFeatureWarning, Dyads, KernelRegression, Views
from jointdr.datasets import spectral_features
from jointdr.diagnostics import diagnose, noise_edge, suggested_samples
from jointdr.evaluation import splits
from jointdr.io import scan_blocks
from jointdr.metrics import rmse, subspace_error
from tests.properties.strategies import Data


@pytest.fixture
def rows(rng):
    A, B = rng.standard_normal((60, 4)), rng.standard_normal((60, 3))
    return A, B, A[:, 0] * B[:, 1] + 0.1 * rng.standard_normal(60)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_weights_that_cannot_be_squared(rows, size):
    A, B, y = rows
    with pytest.raises(ValueError, match="sample_weight"):
        JDR(1, ridge="auto").fit((A, B), y, np.full(60, size))


@pytest.mark.parametrize("weight", [["x"] * 60, np.ones(60) * 1j])
def test_weights_that_are_no_numbers(rows, weight):
    with pytest.raises(ValueError, match="sample_weight"):
        JDR(1).fit(rows[:2], rows[2], weight)


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e300])
def test_a_response_whose_squares_fail_is_not_called_constant(rows, size):
    A, B, y = rows
    with pytest.raises(ValueError, match=r"overflow|underflow"):
        JDR(1).fit((A, B), y * size)


def test_small_features_are_not_called_constant(rows):
    A, B, y = rows
    with pytest.raises(ValueError, match=r"view 'a' .*underflow"):
        JDR(1).fit(((A + 1) * 1e-200, B), y)
    with pytest.warns(ConstantFeatureWarning):
        JDR(1).fit((np.column_stack([A, np.ones(60)]), B), y)


def test_a_direction_without_weight_has_none_by_a_negative_power(rows):
    A, B, _ = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = JDR(1, scale=-0.5).fit((A, B), np.zeros(60)).transform((A, B))
    assert all(np.isfinite(z).all() for z in Z)


@pytest.mark.parametrize("solver", ["exact", "countsketch"])
@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_selection_and_ranks_do_not_depend_on_units_of_y(rows, solver, size):
    A, B, y = rows
    plain = JDR(1, n_features_to_select=2, solver=solver, normalize="feature", random_state=0)
    expected = plain.fit((A, B), y).support_
    for one, two in zip(expected, plain.fit((A, B), y * size).support_, strict=True):
        np.testing.assert_array_equal(one, two)
    auto = JDR("auto", n_features_to_select="auto", moments="all")
    chosen = auto.fit((A, B), y).n_components_, auto.moments_used_, [s.sum() for s in auto.support_]
    assert chosen == (auto.fit((A, B), y * size).n_components_, auto.moments_used_, [s.sum() for s in auto.support_])


def test_ridge_at_any_scale(rows):
    A, B, y = rows
    one, two = (JDR(1, ridge="auto").fit((A * size, B), y).singular_values_ for size in (1.0, 1e149))
    np.testing.assert_allclose(two, one, rtol=1e-9)
    with pytest.raises(ValueError, match="ridge"):
        JDR(1, ridge=1e30).fit((A * 1e149, B), y)


def test_coordinates_that_overflow(rows):
    A, B, y = rows
    model = JDR(1).fit((A * 1e-100, B), y)
    with pytest.raises(ValueError, match="view 'a' is too large"):
        model.transform((A * 1e300, B))


def test_a_first_slice_that_weighs_nothing_is_no_centre():
    """Sums about 0 made the rounding of a feature that is constant, where it counts, look like a direction."""
    rows = Data(m=13, widths=(1, 1), kinds=("normal", "few rows"), response="two", weight="zeros", seed=820)
    model = SAVE(1, edges=[-0.7, 0.0, 0.7], ridge=0.1)
    for at in (slice(0, 5), slice(5, 13)):
        model.partial_fit(tuple(X[at] for X in rows.views), rows.y[at], rows.w[at])
    with pytest.warns(ConstantFeatureWarning), pytest.raises(ValueError, match="0 directions in which view 'b'"):
        _ = model.embeddings_


def test_empty_blocks_are_passed_over(rows):
    A, B, y = rows
    blocks = [((A[:0], B[:0]), y[:0]), ((A[:30], B[:30]), y[:30]), ((A[:0], B[:0]), y[:0]), ((A[30:], B[30:]), y[30:])]
    expected = JDR(1).fit((A, B), y).embeddings_[0]
    np.testing.assert_allclose(JDR(1).fit(scan_blocks(iter(blocks))).embeddings_[0], expected, atol=1e-9)
    with pytest.raises(ValueError, match="no block of rows"):
        scan_blocks(blocks[:1])


def test_an_empty_view_is_named():
    with pytest.raises(ValueError, match=r"view 'b' is empty: it has 0 sample\(s\) with 2"):
        Views(b=np.ones((0, 2)))


@pytest.mark.parametrize("bandwidth", [1e-200, "auto"])
def test_distances_that_overflow_or_vanish(rows, bandwidth):
    A, _, y = rows
    if bandwidth == "auto":
        with pytest.raises(ValueError, match="underflow"):
            KernelRegression(adaptive=2).fit(A * 1e-200, y)
    else:
        with pytest.raises(ValueError, match="bandwidth"):
            KernelRegression(bandwidth).fit(A, y)


def test_one_row_with_nearest_ones(rng):
    A, B = rng.standard_normal((1, 2)), rng.standard_normal((9, 2))
    model = AssociationModel(None, head="kernel", nearest=(2, None), bandwidth=1.0).fit(np.ones((1, 9)), A, B)
    np.testing.assert_allclose(model.predict(), 1.0)


def test_scores_and_entities_whose_squares_fail(rng):
    A, B, Y = rng.standard_normal((6, 2)), rng.standard_normal((5, 2)), rng.standard_normal((6, 5))
    with pytest.raises(ValueError, match="Y, the score of the pairs, is so large"):
        Dyads(Y * 1e200, A, B)
    with pytest.raises(ValueError, match="table 'a'"):
        IMC(1).fit(Y, A * 1e300, B)
    for model in (IMC(1).fit(Y, A, B), AssociationModel(JDR(1), head="kernel").fit(Y, A, B)):
        with pytest.raises(ValueError, match="table"):
            model.predict(A * 1e300)


def test_a_split_with_nothing_to_fit(rng):
    seen = np.array([[True], [False]])
    dyads = Dyads(np.ones((2, 1)), rng.random((2, 1)), rng.random((1, 1)), seen)
    with pytest.raises(ValueError, match="no observed pair"):
        list(splits(dyads, "rows", 5, 0.5, random_state=0))


def test_measures_at_any_scale(rows):
    A, B, y = rows
    assert rmse([0.0, 0.0], [3e200, 4e200]) == pytest.approx(np.sqrt(12.5) * 1e200)
    assert rmse([0.0], [1e-300]) == pytest.approx(1e-300)
    diagnosis = diagnose(JDR(1).fit((A * 1e140, B), y), (A * 1e140, B), y)
    plain = diagnose(JDR(1).fit((A, B), y), (A, B), y)
    assert diagnosis["skewness"].value == pytest.approx(plain["skewness"].value)


def test_an_id_that_ends_in_a_zero_character(rng):
    """NumPy's strings drop it, and two ids became one."""
    with pytest.raises(ValueError, match="row_ids has ids that end in a zero character"):
        Dyads(np.ones((2, 1)), rng.random((2, 1)), rng.random((1, 1)), row_ids=["a", "a\0"])


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e-300, 1e300])
def test_bounds_of_numbers_that_are_none(number):
    for bound in (
        lambda: suggested_samples(5, error=number),
        lambda: noise_edge(5, 100, number if number > 1 else np.nan),
        lambda: noise_edge(5, number),
    ):
        with pytest.raises(ValueError, match="must be"):
            bound()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_subspaces_have_no_units(size):
    assert subspace_error(np.eye(3)[:, :1], size * np.array([[3.0], [4.0], [0.0]])) == pytest.approx(0.8)


def test_nodes_whose_links_vanish_beside_the_others():
    W = np.array([[0.0, 1e140, 1e-140], [1e140, 0.0, 0.0], [1e-140, 0.0, 0.0]])
    X = spectral_features(W, 1)
    assert np.isfinite(X).all()
    np.testing.assert_allclose(np.abs(X[:2]), 1.0)


def test_new_columns_where_columns_borrow_nothing(rng):
    model = AssociationModel(None, head="kernel_ridge", bandwidth=1.0, borrow=0.0)
    model.fit(rng.random((5, 4)), rng.standard_normal((5, 2)), rng.standard_normal((4, 2)))
    scores = model.predict(None, rng.standard_normal((3, 2)))
    assert scores.shape == (5, 3)
    np.testing.assert_allclose(scores, scores[:, :1] * np.ones(3))  # they are all alike: nothing is known of them


def test_ids_that_look_like_missing_ones(rng):
    ids = ["<NA>", "NaT", "nan"]
    dyads = Dyads(rng.random((3, 2)), rng.random((3, 2)), rng.random((2, 2)), row_ids=ids)
    assert dyads.row_ids.tolist() == ids
    with pytest.raises(ValueError, match="missing id at position 1"):
        Dyads(rng.random((3, 2)), rng.random((3, 2)), rng.random((2, 2)), row_ids=["a", pd.NA, "b"])


def test_an_array_of_one_number_is_no_size(rng):
    A, B = rng.standard_normal((2, 30, 4))
    with pytest.raises(ValueError, match="n_features_to_select"):
        JDR(1, n_features_to_select=np.array(2)).fit((A, B), A[:, 0])

"""Moments form a commutative monoid, and the moments of the parts give the moments of the whole."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jointdr import Moments
from tests.support.reference import brute_force, largest_difference, summary

EVERYTHING = {"blocks": ("cross", "within"), "covariance": "full", "cross_covariance": True}
N1, N2 = 3, 2


@st.composite
def blocks(draw, minimum=1):
    rows = draw(st.integers(minimum, 6))
    value = st.floats(-10, 10, allow_subnormal=False)
    shift = draw(st.sampled_from([0.0, 1.0, -50.0]))
    return (
        draw(arrays(float, (rows, N1), elements=value)) + shift,
        draw(arrays(float, (rows, N2), elements=value)) - shift,
        draw(arrays(float, rows, elements=value)) + shift,
        draw(arrays(float, rows, elements=st.floats(0.1, 3.0))),
    )


def moments(block):
    A, B, y, w = block
    return Moments.of_block((A, B), y, w, **EVERYTHING)


def assert_same(one, two):
    assert one.n_samples == two.n_samples
    assert one.weight == pytest.approx(two.weight)
    assert one.weight_squared == pytest.approx(two.weight_squared)
    np.testing.assert_allclose(np.concatenate(one.means), np.concatenate(two.means), atol=1e-11)
    np.testing.assert_allclose(one.y_mean, two.y_mean, atol=1e-11)
    for key, value in summary(two).items():
        np.testing.assert_allclose(summary(one)[key], value, atol=1e-8, err_msg=key)


@settings(max_examples=60, deadline=None)
@given(blocks(), blocks(), blocks())
def test_merge_is_associative(p, q, r):
    p, q, r = moments(p), moments(q), moments(r)
    assert_same((p + q) + r, p + (q + r))


def test_rounding_below_zero_variance():
    """Merging equal rows at different centres may leave a variance of −1e-16; translation must not mind."""
    parts = [([[0.0] * 3], [[0.0] * 2], [0.0], [1.0]), ([[-50.0] * 3], [[50.0] * 2], [-50.0], [1.0])]
    twice = ([[-50.0] * 3] * 2, [[50.0] * 2] * 2, [-50.0] * 2, [2.25, 2.79852972])
    p, q, r = (moments(tuple(np.array(x) for x in part)) for part in (*parts, twice))
    assert_same((p + q) + r, p + (q + r))


@settings(max_examples=60, deadline=None)
@given(blocks(), blocks())
def test_merge_is_commutative(p, q):
    p, q = moments(p), moments(q)
    assert_same(p + q, q + p)


@settings(max_examples=30, deadline=None)
@given(blocks(), blocks())
def test_scaling_is_counting_rows_several_times(p, q):
    p, q = moments(p), moments(q)
    assert_same(p.scaled(2), p + p)
    assert_same(p.scaled(3), p + p + p)
    assert_same(p.scaled(1), p)
    assert_same(p.scaled(0) + q, q)
    assert_same((p + q).scaled(2), p.scaled(2) + q.scaled(2))
    for factor in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="factor="):
            p.scaled(factor)


@settings(max_examples=30, deadline=None)
@given(blocks())
def test_zero_is_neutral(p):
    p = moments(p)
    zero = Moments.zero((N1, N2), **EVERYTHING)
    assert zero.n_samples == 0
    assert_same(zero + p, p)
    assert_same(p + zero, p)
    assert_same(sum([p]), p)


@settings(max_examples=60, deadline=None)
@given(st.lists(blocks(), min_size=1, max_size=5))
def test_parts_equal_the_whole(parts):
    whole = tuple(np.concatenate(x) for x in zip(*parts, strict=True))
    merged = reduce(Moments.merge, map(moments, parts))
    assert_same(merged, moments(whole))
    expected = brute_force(*whole)
    for key, value in summary(merged).items():
        np.testing.assert_allclose(value, expected[key], atol=1e-8, err_msg=key)


@settings(max_examples=40, deadline=None)
@given(blocks(), arrays(float, N1 + N2 + 1, elements=st.floats(-20, 20)))
def test_moving_the_centre_and_back_changes_nothing(block, point):
    p = moments(block)
    center = (point[:N1], point[N1:-1])
    moved = p.about(center, point[-1])
    A, B, y, w = block
    direct = Moments.of_block((A, B), y, w, center=center, y_center=point[-1], **EVERYTHING)
    np.testing.assert_allclose(moved.third(0, 1), direct.third(0, 1), atol=1e-7)
    np.testing.assert_allclose(moved.covariance(0), direct.covariance(0), atol=1e-8)
    np.testing.assert_allclose(moved.cross_covariance(0, 1), direct.cross_covariance(0, 1), atol=1e-8)
    assert_same(moved, p)


@settings(max_examples=40, deadline=None)
@given(blocks(minimum=2), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_weights_are_repeated_rows(block, counts):
    A, B, y, _ = block
    counts = np.array(counts[: len(y)])
    if counts.sum() == 0:
        counts[0] = 1
    weighted = moments((A, B, y, counts.astype(float)))
    repeated = [np.repeat(x, counts, axis=0) for x in (A, B, y)]
    expected = summary(Moments.of_block(repeated[:2], repeated[2], **EVERYTHING))
    for key, value in summary(weighted).items():
        np.testing.assert_allclose(value, expected[key], atol=1e-8, err_msg=key)


def large_means(m):
    rng = np.random.default_rng(3)
    A, B, e = rng.standard_normal((m, 5)), rng.standard_normal((m, 4)), rng.standard_normal(m)
    y = A[:, 0] * B[:, 0] + A[:, 1] ** 2 + e
    A, B, y = A + 1e6, B + 1e6, y + 1e6
    # The data is what rounding made of it; from here on, subtracting 1e6 is exact.
    return A, B, y, brute_force(A - 1e6, B - 1e6, y - 1e6)


@pytest.mark.parametrize(("block_rows", "tolerance"), [(1000, 1e-10), (1, 1e-9), (7, 1e-9), (20_000, 1e-10)])
def test_block_size_does_not_matter_at_means_of_a_million(block_rows, tolerance):
    A, B, y, expected = large_means(20_000 if block_rows > 1 else 5000)
    parts = (
        Moments.of_block((A[i : i + block_rows], B[i : i + block_rows]), y[i : i + block_rows], **EVERYTHING)
        for i in range(0, len(y), block_rows)
    )
    assert largest_difference(summary(reduce(Moments.merge, parts)), expected) < tolerance


def test_drifting_blocks_keep_their_digits():
    rng = np.random.default_rng(4)
    m = 4000
    drift = np.linspace(0, 1e6, m)[:, None]
    A, B = rng.standard_normal((m, 3)) + drift, rng.standard_normal((m, 2)) - drift
    y = rng.standard_normal(m)
    parts = (Moments.of_block((A[i : i + 100], B[i : i + 100]), y[i : i + 100], **EVERYTHING) for i in range(0, m, 100))
    assert largest_difference(summary(reduce(Moments.merge, parts)), brute_force(A, B, y)) < 1e-12

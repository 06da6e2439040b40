"""Very many merges of single rows: rounding must not add up.

A merge takes about a tenth of a millisecond, whatever is merged, and making the moments of one row nearly as long: the
one-row moments are made once here and merged again and again, which is counting their rows several times.
"""

from __future__ import annotations

import numpy as np
import pytest

from jointdr import JDR, Moments
from tests.support.reference import brute_force, largest_difference, summary

ROWS = 1000
KEEP = {"blocks": ("cross", "within"), "covariance": "full", "cross_covariance": True}


@pytest.fixture(scope="module")
def data():
    """Rows with a mean of 1e6 and a drift as large as their spread, and the moments of each."""
    rng = np.random.default_rng(0)
    A, B, e = rng.standard_normal((ROWS, 2)), rng.standard_normal((ROWS, 1)), rng.standard_normal(ROWS)
    y = A[:, 0] * B[:, 0] + e
    A, B, y = A + np.linspace(0, 1, ROWS)[:, None] + 1e6, B - 1e6, y + 1e6
    rows = [Moments.of_block((A[i : i + 1], B[i : i + 1]), y[i : i + 1], **KEEP) for i in range(ROWS)]
    return rows, brute_force(A - 1e6, B + 1e6, y - 1e6)


def one_by_one(rows, times):
    """A running total, to which each row is added."""
    total = rows[0]
    for row in [*rows[1:], *(row for _ in range(times - 1) for row in rows)]:
        total = total + row
    return total


def in_a_tree(rows, times):
    """Totals of 1, 2, 4, ... rows, two of which are merged as soon as they are of the same size."""
    held: list[Moments] = []
    for row in (row for _ in range(times) for row in rows):
        held.append(row)
        while len(held) > 1 and held[-2].n_samples <= held[-1].n_samples:
            two = held.pop()
            held.append(held.pop() + two)
    return sum(held[:-1], held[-1])


@pytest.mark.parametrize(
    ("merged", "times"),
    [
        (one_by_one, 5),
        (in_a_tree, 5),
        pytest.param(one_by_one, 60, marks=pytest.mark.slow),
        pytest.param(in_a_tree, 40, marks=pytest.mark.slow),
    ],
)
def test_ten_thousand_merges_and_a_hundred_thousand(merged, times, data):
    """Reached: 2e-14 of the largest entry, at means of a million times the spread; random errors of 10⁵ roundings of
    each sum, ε √10⁵ = 7e-14, are what could be expected."""
    rows, expected = data
    found = merged(rows, times)
    assert found.n_samples == times * ROWS
    assert largest_difference(summary(found), expected) < 1e-13


@pytest.mark.nightly
@pytest.mark.parametrize("merged", [one_by_one, in_a_tree])
def test_ten_million_merges(merged, data):
    """Half of them one by one, half in a tree; takes about half an hour. ε √10⁷ is 7e-13."""
    rows, expected = data
    found = merged(rows, 5000)
    assert found.n_samples == 5000 * ROWS
    assert largest_difference(summary(found), expected) < 2e-12


def test_partial_fit_row_by_row():
    """A thousand calls with a row each give what one fit gives."""
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((ROWS, 4)) + 1e8, rng.standard_normal((ROWS, 3))
    y = (A[:, 0] - 1e8) * B[:, 1] + (A[:, 1] - 1e8) * B[:, 0] + 0.1 * rng.standard_normal(ROWS)
    model = JDR(2)
    for i in range(ROWS):
        model.partial_fit((A[i : i + 1], B[i : i + 1]), y[i : i + 1])
    whole = JDR(2).fit((A, B), y)
    np.testing.assert_allclose(model.singular_values_, whole.singular_values_, rtol=1e-12)
    for U, V in zip(model.embeddings_, whole.embeddings_, strict=True):
        np.testing.assert_allclose(U, V, atol=1e-11)

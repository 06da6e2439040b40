"""Scores in words: equal decimals, bars, and what a score means."""

from __future__ import annotations

import numpy as np
import pytest

from jointdr.apps.explore.scores import Scale, aligned, fixed, rate_in_words

PKD = Scale("pkd", np.linspace(4.0, 9.0, 1001))
LINKS = Scale(None, np.linspace(-0.01, 0.99, 1001))


def test_numbers_have_equal_decimals():
    assert [PKD.text(score) for score in (7.5, 7.125, 10.0)] == ["7.50", "7.12", "10.00"]
    assert LINKS.text(0.25) == "0.250"
    assert Scale(None, np.array([0.0, 3e4])).text(1234.5) == "1234"
    assert Scale(None, np.array([2.0, 2.0])).text(2.0) == "2.00"  # all scores are the same
    assert aligned(np.array([12.0, 0.5]), 2) == ["12", "0"]
    assert aligned(np.array([0.12, -0.05, 0.0]), 2) == ["0.12", "−0.05", "0.00"]
    assert [fixed(value, 1) for value in (-0.01, -0.1, 0.0)] == ["0.0", "−0.1", "0.0"]


def test_bars_begin_at_the_lowest_score_of_the_model():
    bars = PKD.bars(np.array([6.5, 8.0, 5.0]))
    assert [bars.length(score) for score in (4.0, 6.0, 8.0)] == [0.0, 50.0, 100.0]
    assert bars.words == "Bars reach from 4.00 to 8.00."
    assert PKD.bars(np.array([3.0, 5.0])).low == 3.0  # which is lower still
    assert PKD.bars(np.array([4.0])).length(4.0) == 100.0


def test_an_interval():
    assert PKD.title == "predicted pkd"
    assert PKD.words(7.52, {"lower": 6.81, "upper": 8.19}) == "90 % between 6.8 and 8.2"


@pytest.mark.parametrize(
    ("rate", "words"),
    [(0.31, "31 of 100"), (1.0, "100 of 100"), (0.0312, "31 of 1000"), (0.0003, "3 of 10000"), (0.0, "none of the")],
)
def test_a_rate(rate, words):
    assert LINKS.title == "score"
    assert LINKS.words(0.3, {"listed_rate": rate}) == f"{words} held-out pairs with such a score were known"
    assert rate_in_words(rate).startswith(words)


def test_a_place_among_unknown_pairs():
    assert LINKS.words(0.5, {"percentile": 99.27}) == "higher than 99.2 % of all unknown pairs"
    assert LINKS.words(0.5, {"percentile": 100.0}) == "among the highest 0.1 % of all unknown pairs"
    assert LINKS.words(0.49, {}) == "higher than 49.9 % of all unknown pairs"  # of those that were looked at


def test_few_neighbors_are_said():
    assert LINKS.words(0.49, {"neighbors": 2100.0}) == LINKS.words(0.49, {})
    assert LINKS.words(0.49, {"neighbors": 1.2}).endswith("; from about 1 known pair")
    assert LINKS.words(0.49, {"neighbors": 1.9}).endswith("; from about 2 known pairs")
    assert LINKS.words(0.49, {"neighbors": 0.0}).endswith("; no known pair is near")

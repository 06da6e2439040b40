"""Rows in pieces: `partial_fit`, merged moments and iterables of blocks give the result of all rows at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from jointdr import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS, Moments
from jointdr.io import scan_arrays, scan_blocks
from tests.properties.strategies import EXTREME, PLAIN, SINGULAR, data
from tests.properties.verdict import given, judged
from tests.support.reference import largest_difference, summary

EDGES = [-0.7, 0.0, 0.7]
STREAMED = {
    "JDR": lambda: JDR(1, ridge=0.1),
    "JDR, joint": lambda: JDR(1, ridge=0.1, normalize="joint"),
    "JDR, raw": lambda: JDR(1, normalize=None),
    "JDR, auto": lambda: JDR("auto", ridge=0.1, n_folds=2),
    "PCA": lambda: PCA(1),
    "OLS": lambda: OLS(1, ridge=0.1),
    "PHD": lambda: PHD(1, ridge=0.1),
    "IHT": lambda: IHT(1, ridge=0.1),
    "SIR": lambda: SIR(1, edges=EDGES, ridge=0.1),
    "SAVE": lambda: SAVE(1, edges=EDGES, ridge=0.1),
    "SOLS": lambda: SOLS(1, ridge=0.1),
}
EVEN = ("none", "ones", "whole", "zeros", "huge", "tiny")
"""Weights of which no single row has all: there is nothing to compare where all but 1e-24 of the variance cancels."""
CUTS = st.lists(st.integers(0, 30), max_size=5)


def pieces(rows, cuts):
    """The rows in pieces, of which some may be empty."""
    ends = [0, *sorted(min(cut, rows.m) for cut in cuts), rows.m]
    for start, end in pairwise(ends):
        w = None if rows.w is None else rows.w[start:end]
        yield tuple(X[start:end] for X in rows.views), rows.y[start:end], w


def spans(model):
    """What the fitted directions explain: it does not change where two of them trade places."""
    values = model.singular_values_
    values = values if isinstance(values, tuple) else (values,) * len(model.embeddings_)
    return [np.sort(np.abs(s)) for s in values]


@pytest.mark.parametrize("name", STREAMED)
@given(
    rows=data(kinds=PLAIN + SINGULAR, rows=(2, 30), widths=(1, 3), responses=("normal", "ties", "two"), weighted=EVEN),
    cuts=CUTS,
)
def test_partial_fit_is_fit(name, rows, cuts):
    def streamed():
        model = STREAMED[name]()
        for X, y, w in pieces(rows, cuts):
            if len(y):
                model.partial_fit(X, y, w)
        return model, model.embeddings_

    assume(rows.w is None or np.count_nonzero(rows.w) > 1)  # moments do not count the rows that weigh something
    make = STREAMED[name]
    whole = judged(lambda: (make().fit(rows.views, rows.y, rows.w),), JDR, JDR.fit)
    parts = judged(streamed, JDR, JDR.partial_fit)
    assert bool(whole) == bool(parts), (whole, parts)
    if whole:
        for one, two in zip(spans(whole[0]), spans(parts[0]), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-7 * max(1.0, float(np.max(one))))


@given(data(kinds=PLAIN + SINGULAR + EXTREME, rows=(2, 20), widths=(1, 3)), st.lists(st.integers(0, 20), max_size=4))
def test_partial_fit_of_anything(rows, cuts):
    def streamed():
        model = JDR(1, ridge=0.1)
        for X, y, w in pieces(rows, cuts):
            model.partial_fit(X, y, w)
        return model, model.transform(rows.views)

    judged(streamed, JDR, JDR.partial_fit)


@given(
    data(
        kinds=PLAIN,
        rows=(2, 20),
        widths=(1, 3),
        responses=("normal", "ties", "far"),
        weighted=("none", "whole", "zeros"),
    ),
    CUTS,
    st.integers(0, 100),
)
def test_moments_merge_in_any_order(rows, cuts, seed):
    whole = Moments.of_block(rows.views, rows.y, rows.w, blocks=("cross", "within"))
    if not whole.weight:
        return
    parts = [Moments.of_block(X, y, w, blocks=("cross", "within")) for X, y, w in pieces(rows, cuts)]
    parts = [parts[i] for i in np.random.default_rng(seed).permutation(len(parts))]
    merged = sum(parts[1:], parts[0])
    assert merged.n_samples == rows.m
    scale = {key: np.abs(value).max() for key, value in summary(whole).items()}
    if min(scale.values()) > 1e-6:
        assert largest_difference(summary(merged), summary(whole)) < 1e-6


@given(
    data(kinds=(*PLAIN, "zeros"), rows=(2, 30), widths=(1, 3), responses=("normal", "ties"), weighted=EVEN),
    CUTS,
    st.booleans(),
)
def test_blocks_with_empty_ones_among_them(rows, cuts, once):
    blocks = list(pieces(rows, cuts))
    source = lambda: scan_blocks(iter(blocks) if once else blocks)  # noqa: E731
    whole = judged(lambda: (JDR(1, ridge=0.1).fit(rows.views, rows.y, rows.w),), JDR, JDR.fit)
    read = judged(lambda: (JDR(1, ridge=0.1).fit(source()),), JDR, JDR.fit, scan_blocks, words=["weight", "block"])
    assert bool(whole) == bool(read), (whole, read)
    if whole:
        for one, two in zip(spans(whole[0]), spans(read[0]), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-9 * max(1.0, float(np.max(one))))


@given(data(rows=(1, 30), widths=(1, 3)))
def test_arrays_as_a_source(rows):
    def fitted():
        a, b = rows.views
        source = scan_arrays(y=rows.y, weight=rows.w, a=a, b=b)
        model = JDR(1, ridge=0.1).fit(source)
        return model, list(model.transform(source))

    judged(fitted, JDR, JDR.fit, scan_arrays)

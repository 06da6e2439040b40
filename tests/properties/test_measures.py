"""Measures and features of networks on any numbers: between their bounds, or refused."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jointdr.datasets import kernel_features, lsa_features, spectral_features
from jointdr.metrics import (
    average_precision,
    concordance_index,
    ndcg_at_k,
    nsee,
    recall_at_k,
    rmse,
    subspace_error,
)
from tests.properties.strategies import FORMS, KINDS, table
from tests.properties.verdict import given, judged

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SHAPES = st.tuples(st.integers(0, 5), st.integers(0, 5))
TRUTH = st.sampled_from([-1.0, 0.0, 1.0, 1e-300, 1e300])


@given(SHAPES, st.data(), st.sampled_from([1, 3, 100, [1, 2], 0, -1, None, 1.5]))
def test_rankings(shape, choose, k):
    scores = choose.draw(arrays(float, shape, elements=FINITE))
    truth = choose.draw(arrays(float, shape, elements=TRUTH))
    for measure in (recall_at_k, ndcg_at_k):
        found = judged(lambda measure=measure: (measure(scores, truth, k),), measure)
        assert not found or (np.min(found[0]) >= 0 and np.max(found[0]) <= 1 + 1e-12)
    found = judged(lambda: (average_precision(scores, truth),), average_precision)
    assert not found or 0 < found[0] <= 1


@given(st.integers(0, 6), st.data())
def test_predictions(m, choose):
    predicted, truth = (choose.draw(arrays(float, m, elements=FINITE)) for _ in range(2))
    found = judged(lambda: (rmse(predicted, truth),), rmse)
    assert not found or found[0] >= 0
    found = judged(lambda: (concordance_index(predicted, truth),), concordance_index)
    assert not found or -1e-12 <= found[0] <= 1 + 1e-12


@given(st.sampled_from(KINDS), st.sampled_from(KINDS), st.integers(1, 5), st.integers(1, 3), st.integers(0, 50))
def test_subspaces(kind, other, n, r, seed):
    U, V = table(kind, n, min(r, n), seed), table(other, n, min(r, n), seed + 1)
    found = judged(lambda: (subspace_error(U, V), subspace_error(U, U), nsee([U], [V])), subspace_error, nsee)
    if found:
        assert 0 <= found[0] <= np.sqrt(r) + 1e-9
        assert 0 <= found[2] <= 1 + 1e-9


@given(
    st.sampled_from(["normal", "whole", "zeros", "constant", "huge", "tiny", "enormous", "minute", "mixed"]),
    st.integers(1, 8),
    st.integers(1, 9),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["error", "giant", "separate"]),
)
def test_features_of_networks(kind, m, k, form, components):
    X = table(kind, m, m, k)
    W = np.minimum(np.abs(X), np.abs(X).T)
    found = judged(lambda: spectral_features(FORMS[form](W), k, components=components), spectral_features, words=["W"])
    if isinstance(found, np.ndarray):
        lengths = np.linalg.norm(found, axis=1)
        assert np.all((lengths < 1e-9) | (np.abs(lengths - 1) < 1e-9))
    found = judged(lambda: kernel_features(FORMS[form](W), min(k, m)), kernel_features)
    if isinstance(found, np.ndarray) and found.shape[1] == m:
        np.testing.assert_allclose(found @ found.T, W, atol=1e-9 * W.max())


@given(st.sampled_from(KINDS), st.integers(1, 8), st.integers(1, 8), st.integers(0, 9), st.sampled_from(sorted(FORMS)))
def test_latent_semantic_features(kind, m, n, k, form):
    X = table(kind, m, n, 0)
    found = judged(lambda: lsa_features(FORMS[form](X), k), lsa_features)
    if isinstance(found, np.ndarray) and k == min(m, n) and kind in ("normal", "whole", "collinear"):
        np.testing.assert_allclose(found @ found.T, X @ X.T, atol=1e-8)

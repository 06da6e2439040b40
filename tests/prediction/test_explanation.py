"""The largest contributions, found without sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from jointdr.prediction import explanation
from jointdr.prediction.explanation import explain_pair


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("k", [1, 4, 30, 1000])
@pytest.mark.parametrize("block", [1, 20, 100_000])
def test_they_are_the_largest_and_the_earlier_of_equal_ones(is_dense, k, block, monkeypatch):
    monkeypatch.setattr(explanation, "BLOCK", block)
    rng = np.random.default_rng(k)
    ids = np.arange(12).astype(str), np.arange(9).astype(str)
    for _ in range(20):
        Y, W = (rng.integers(-2, 3, (12, 9)).astype(float) for _ in (0, 1))  # with many ties
        given = (W, Y) if is_dense else (W, sparse.csr_array(Y))
        found = explain_pair(*given, ids, ("p", "q"), k)
        contribution = (W * Y).ravel()
        order = [at for at in np.argsort(-np.abs(contribution), kind="stable")[:k] if contribution[at] != 0]
        assert found.pairs["row"].tolist() == [str(at // 9) for at in order]
        assert found.pairs["column"].tolist() == [str(at % 9) for at in order]
        assert found.pairs["contribution"].tolist() == contribution[order].tolist()
        assert found.score == contribution.sum()
        assert found.rest == found.score - contribution[order].sum()
        assert found.n_pairs == np.count_nonzero(contribution)

"""Groups of entities that are alike, from similarities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from jointdr import Dyads
from jointdr.datasets import similarity_groups
from jointdr.evaluation import splits


@given(st.integers(2, 25), st.floats(0.05, 0.95), st.integers(0, 99))
def test_they_are_the_clusters_of_single_linkage(m, threshold, seed):
    D = np.random.default_rng(seed).random((m, m))
    S = np.maximum(D, D.T)
    np.fill_diagonal(S, 1.0)
    expected = fcluster(linkage(squareform(1 - S, checks=False), "single"), 1 - threshold, "distance")
    for given_as in (S, sparse.csr_array(np.where(S > 0.02, S, 0.0)), S.astype(np.float32)):
        found = similarity_groups(given_as, threshold)
        np.testing.assert_array_equal(np.equal.outer(found, found), np.equal.outer(expected, expected))
    outside = ~np.equal.outer(found, found)
    assert not (S[outside] >= threshold).any()


def test_labels_of_a_table_are_found_by_id():
    ids = [f"t{j}" for j in range(8)]
    S = pd.DataFrame(np.kron(np.eye(4), np.ones((2, 2))), index=ids, columns=ids)
    order = [5, 2, 7, 0, 3, 6, 1, 4]
    dyads = Dyads(np.ones((3, 8)), column_ids=[ids[j] for j in order])
    groups = similarity_groups(S, 0.5)
    assert groups["t0"] == groups["t1"] != groups["t2"]
    for split in splits(dyads, "columns", 5, 0.25, 0, groups=groups):
        assert sorted(int(name[1:]) // 2 for name in split.test.column_ids) in [[k, k] for k in range(4)]


@pytest.mark.parametrize(
    ("S", "threshold", "match"),
    [
        (np.eye(3), 0, "threshold=0 must be a similarity > 0"),
        (np.eye(3), np.nan, "threshold=nan"),
        (np.eye(3)[:2], 0.5, "S must be a square matrix"),
        (np.triu(np.ones((3, 3))), 0.5, "S"),
        (-np.eye(3), 0.5, "negative"),
        (np.full((2, 2), np.nan), 0.5, "NaN"),
    ],
)
def test_bad_arguments(S, threshold, match):
    with pytest.raises(ValueError, match=match):
        similarity_groups(S, threshold)

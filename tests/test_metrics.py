from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, ndcg_score

from jointdr.metrics import (
    average_precision,
    concordance_index,
    ndcg_at_k,
    nsee,
    recall_at_k,
    rmse,
    subspace_error,
)


def test_subspace_error_is_the_papers_d(rng):
    U = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    U_hat = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    expected = np.linalg.norm(U_hat - U @ U.T @ U_hat)
    assert subspace_error(U, U_hat) == pytest.approx(expected, rel=1e-12)
    assert subspace_error(U @ rng.standard_normal((3, 3)), U_hat @ rng.standard_normal((3, 3))) == pytest.approx(
        expected
    )
    assert subspace_error(U, 7 * U) == pytest.approx(0, abs=1e-12)
    assert subspace_error(np.eye(6)[:, :2], np.eye(6)[:, 3:5]) == pytest.approx(np.sqrt(2))


def test_nsee_is_the_larger_of_the_two(rng):
    U, V, W = np.eye(6)[:, :2], np.eye(5)[:, :2], np.eye(5)[:, 2:4]
    assert nsee((U, V), (U, W)) == pytest.approx(1.0)
    assert nsee((U, V), (U, V)) == pytest.approx(0.0)
    with pytest.raises(ValueError, match="views"):
        nsee((U,), (U, V))
    with pytest.raises(ValueError, match="same number of rows"):
        subspace_error(U, V)


def test_recall_at_k():
    scores = np.array([[0.9, 0.8, 0.1, 0.5], [0.0, 0.0, 0.0, 0.0], [0.3, 0.2, 0.1, 0.0]])
    truth = np.array([[1, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]])
    # Row 1 finds 1 of 3 at k = 2; row 2 is all ties, so columns 0 and 1 come first; row 3 has no positives.
    assert recall_at_k(scores, truth, 2) == pytest.approx((1 / 3 + 1 / 2) / 2)
    np.testing.assert_allclose(recall_at_k(scores, truth, [1, 3, 4, 10]), [1 / 6, (2 / 3 + 1 / 2) / 2, 1, 1])
    assert recall_at_k(scores, sparse.csr_array(truth), 2) == recall_at_k(scores, truth, 2)


@pytest.mark.parametrize(
    ("scores", "truth", "k", "message"),
    [
        ([[1.0, 2.0]], [[1, 0, 0]], 1, "one shape"),
        ([[1.0, np.nan]], [[1, 0]], 1, "NaN"),
        ([[1.0, 2.0]], [[0, 0]], 1, "no positive"),
        ([[1.0, 2.0]], [[1, 0]], 0, "positive integer"),
        ([[1.0, 2.0]], [[1, 0]], 1.5, "positive integer"),
    ],
)
def test_recall_errors(scores, truth, k, message):
    with pytest.raises(ValueError, match=message):
        recall_at_k(scores, truth, k)


def test_any_kind_of_scores():
    for kind in (np.uint8, np.int8, bool, np.float32):
        scores = np.array([[1, 0, 1]]).astype(kind)
        assert recall_at_k(scores, [[1, 0, 0]], 1) == 1.0
    assert recall_at_k(np.array([[-128, 3, 0]], dtype=np.int8), [[0, 1, 0]], 1) == 1.0


def test_missing_directions_count_as_orthogonal():
    U = np.eye(4)[:, :2]
    assert subspace_error(U, np.zeros((4, 2))) == pytest.approx(np.sqrt(2))
    assert subspace_error(U, np.column_stack([U[:, 0], 2 * U[:, 0]])) == pytest.approx(1.0)
    assert subspace_error(U * [1.0, 1e-17], U) == pytest.approx(0.0, abs=1e-12)


def test_rankings_agree_with_scikit_learn(rng):
    scores = rng.standard_normal((20, 15))
    gains = np.where(rng.random((20, 15)) < 0.3, rng.random((20, 15)), 0.0)
    gains[3] = 0
    rows = gains.any(axis=1)
    for k in (None, 4):
        assert ndcg_at_k(scores, sparse.csr_array(gains), k) == pytest.approx(
            ndcg_score(gains[rows], scores[rows], k=k)
        )
    expected = np.mean([average_precision_score(g > 0, s) for g, s in zip(gains[rows], scores[rows], strict=True)])
    assert average_precision(scores, gains) == pytest.approx(expected)
    with pytest.raises(ValueError, match="k=0 must be a positive integer"):
        ndcg_at_k(scores, gains, 0)


def test_concordance_counts_all_pairs(rng):
    truth, predicted = rng.integers(0, 8, 60).astype(float), rng.integers(0, 12, 60).astype(float)
    d_t, d_p = np.subtract.outer(truth, truth), np.subtract.outer(predicted, predicted)
    expected = np.sum((d_t > 0) * ((d_p > 0) + 0.5 * (d_p == 0))) / np.sum(d_t > 0)
    assert concordance_index(predicted, truth) == pytest.approx(expected)
    assert concordance_index(truth, truth) == pytest.approx(1.0)
    assert concordance_index(-truth, truth) == pytest.approx(0.0)
    assert concordance_index(np.zeros(60), truth) == 0.5
    with pytest.raises(ValueError, match="constant"):
        concordance_index(predicted, np.ones(60))
    with pytest.raises(ValueError, match="one shape"):
        rmse([1.0], [1.0, 2.0])
    assert rmse([[1.0, 2.0]], [[1.0, 4.0]]) == pytest.approx(np.sqrt(2))

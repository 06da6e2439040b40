from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.directions.selection import select
from jointdr.metrics import nsee


def projections_by_definition(X, s1, s2):
    """P_Ω₃ P_Ω₂ P_Ω₁ X, each by sorting."""
    X1 = np.zeros_like(X)
    for k in range(X.shape[1]):
        top = np.argsort(-np.abs(X[:, k]))[:s1]
        X1[top, k] = X[top, k]
    X2 = np.zeros_like(X)
    top = np.argsort(-np.linalg.norm(X1, axis=0))[:s2]
    X2[:, top] = X1[:, top]
    X3 = np.zeros_like(X)
    top = np.argsort(-np.linalg.norm(X2, axis=1))[:s1]
    X3[top] = X2[top]
    return X3


@pytest.mark.parametrize(("s1", "s2"), [(1, 1), (3, 5), (12, 2), (12, 9)])
@pytest.mark.parametrize("width", [1, 4, 9])
def test_projections(rng, s1, s2, width):
    X = rng.standard_normal((12, 9))
    blocks = ((slice(i, min(i + width, 9)), X[:, i : i + width]) for i in range(0, 9, width))
    chosen = select(blocks, s1, s2)
    whole = np.zeros_like(X)
    whole[np.ix_(chosen.rows, chosen.columns)] = chosen.matrix
    np.testing.assert_array_equal(whole, projections_by_definition(X, s1, s2))


@pytest.mark.parametrize("normalize", ["full", "feature", "joint", None])
def test_the_informative_features_are_found(normalize):
    X, y, truth = make_bilinear(50_000, (60, 40), 2, n_informative=(6, 5), random_state=3)
    model = JDR(2, normalize=normalize, n_features_to_select=(6, 5)).fit(X, y)
    for mask, U, true in zip(model.support_, model.embeddings_, truth, strict=True):
        np.testing.assert_array_equal(mask, np.any(true != 0, axis=1))
        np.testing.assert_array_equal(np.any(U != 0, axis=1), mask)
    assert nsee(truth, model.embeddings_) < 0.5 * nsee(truth, JDR(2, normalize=normalize).fit(X, y).embeddings_)


def test_without_normalization_it_is_the_papers_algorithm_3():
    X, y, _ = make_bilinear(2000, (30, 20), 2, n_informative=(6, 5), random_state=3)
    A, B = X.arrays
    model = JDR(2, normalize=None, n_features_to_select=(6, 5)).fit(X, y)
    X3 = projections_by_definition((y[:, None] * A).T @ B / len(y), 6, 5)
    U, s, Vt = np.linalg.svd(X3)
    np.testing.assert_allclose(model.singular_values_, s[:2], rtol=1e-10)
    assert nsee((U[:, :2], Vt[:2].T), model.embeddings_) < 1e-8


def test_correlated_features_in_any_units(rng):
    """Σ⁻¹TΣ⁻¹ alone finds 1 to 6 of 10 features when their scales range over 10^±1.5."""
    X, y, truth = make_bilinear(50_000, 60, 3, n_informative=10, random_state=4)
    A, B = X.arrays
    L = np.eye(60) + 0.3 * np.eye(60, k=1)
    scale = 10 ** rng.uniform(-1.5, 1.5, 60)
    # a ↦ D L⁻¹ a takes U to D⁻¹LᵀU, which has at most twice as many nonzero rows; D is a matter of units.
    model = JDR(3, n_features_to_select=10).fit(((A @ np.linalg.inv(L).T) * scale, B * scale[::-1]), y)
    U_true = L.T @ truth[0]
    informative = np.linalg.norm(U_true, axis=1)
    assert informative[model.support_[0]].min() > np.sort(informative)[-14]
    np.testing.assert_array_equal(model.support_[1], np.any(truth[1] != 0, axis=1))


@pytest.mark.parametrize("normalize", ["full", "feature", None])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_column_blocks_select_the_same(monkeypatch, rng, normalize, as_sparse):
    """The route for wide data, where the proxy passes through memory a few columns at a time."""
    X, y, _ = make_bilinear(4000, (30, 25), 2, n_informative=6, random_state=5)
    A, B = X.arrays
    if as_sparse:
        A, B = (sparse.csr_array(V * (rng.random(V.shape) < 0.7)) for V in (A, B))
    from jointdr.directions import proxy

    original = proxy.DataProxy.unitless_columns
    widths = []

    def narrow(self, max_bytes=0):
        for at, block in original(self, max_bytes=30 * 8 * 4):
            widths.append(at.stop - at.start)
            yield at, block

    monkeypatch.setattr(proxy.DataProxy, "unitless_columns", narrow)
    exact = JDR(2, normalize=normalize, n_features_to_select=(6, 7), solver="exact").fit((A, B), y)
    blocked = JDR(2, normalize=normalize, n_features_to_select=(6, 7), solver="randomized").fit((A, B), y)
    assert widths == [4] * 6 + [1]
    for one, two in zip(exact.support_, blocked.support_, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(blocked.embeddings_[0], exact.embeddings_[0], atol=1e-9)
    np.testing.assert_allclose(blocked.singular_values_, exact.singular_values_, rtol=1e-9)


def test_one_number_and_none_for_a_view():
    X, y, _ = make_bilinear(2000, (12, 8), 2)
    model = JDR(2, n_features_to_select=5).fit(X, y)
    assert [mask.sum() for mask in model.support_] == [5, 5]
    model = JDR(2, n_features_to_select=(4, None)).fit(X, y)
    assert [mask.sum() for mask in model.support_] == [4, 8]


@pytest.mark.parametrize("wrong", [1, 9, (4, 9), (13, 5), (4,), (4, 5, 6), "5", 2.5, (4, 0)])
def test_bad_sizes(wrong):
    X, y, _ = make_bilinear(100, (12, 8), 2)
    with pytest.raises(ValueError, match="n_features_to_select="):
        JDR(2, n_features_to_select=wrong).fit(X, y)

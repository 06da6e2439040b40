"""Estimators fitted to dyads: the same as to the expanded triples, without expanding them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS, Dyads, JDRRegressor
from jointdr.metrics import nsee, subspace_error


@pytest.fixture
def dyads(rng):
    A, B = rng.standard_normal((120, 8)) + 3.0, rng.standard_normal((90, 6))
    Y = np.outer(A[:, 0] - 3, B[:, 1]) + np.outer(A[:, 1] - 3, B[:, 2]) + rng.standard_normal((120, 90))
    return Dyads(Y, pd.DataFrame(A, columns=list("abcdefgh")), B, names=("disease", "gene"))


@pytest.mark.parametrize("normalize", ["full", "feature", "joint", None])
@pytest.mark.parametrize("observed", ["complete", "some"])
@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_fit_to_dyads_is_the_fit_to_their_triples(dyads, rng, normalize, observed, stored):
    if stored == "sparse":
        Y = dyads.Y * (np.abs(dyads.Y) > 1)
        dyads = Dyads(sparse.csr_array(Y), sparse.csr_array(dyads.A), dyads.B)
    if observed == "some":
        dyads = dyads.pairs(rng.random(dyads.shape) < np.linspace(0, 1, 120)[:, None])
    for options in ({}, {"moments": "all"} if normalize is not None else {}):
        mine = JDR(2, normalize=normalize, **options).fit(dyads)
        X, y = dyads.triples()
        if not options:
            theirs = JDR(2, normalize=normalize).fit(X, y)
            np.testing.assert_allclose(mine.singular_values_, theirs.singular_values_, rtol=1e-7)
            for U, V in zip(mine.embeddings_, theirs.embeddings_, strict=True):
                np.testing.assert_allclose(U, V, atol=1e-7)
        truth = (np.eye(8)[:, :2], np.eye(6)[:, 1:3])
        if normalize == "full" and stored == "dense":
            assert nsee(truth, mine.embeddings_) < 0.2


def test_the_rank_is_chosen_on_folds_of_rows(dyads):
    model = JDR("auto").fit(dyads)
    assert model.n_components_ == 2
    assert model.view_names_ == ("disease", "gene")


def test_transform_embeds_the_entity_tables(dyads):
    model = JDR(2).fit(dyads)
    Z = model.transform(dyads)
    assert [z.shape for z in Z] == [(120, 2), (90, 2)]
    np.testing.assert_allclose(Z[0][:90], model.transform((dyads.A[:90], dyads.B))[0])
    framed = model.set_output(transform="pandas").transform(dyads)
    assert framed[1].index.tolist() == dyads.column_ids.tolist()
    assert framed[0].columns.tolist() == ["disease_jdr0", "disease_jdr1"]


def test_a_model_of_dyads_can_be_saved(dyads, tmp_path):
    model = JDR(2).fit(dyads)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(JDR.load(tmp_path / "model.npz").embeddings_[0], model.embeddings_[0])


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (JDR(2), {"y": [1.0]}, "leave y and sample_weight out"),
        (JDR(2, refine=1), {}, "refine=1 reads the data again, which a fit to a Dyads cannot"),
        (JDR(2, solver="randomized"), {}, "which a fit to a Dyads cannot"),
        (JDR(2, response="rank"), {}, "apply it to the scores Y first"),
        (JDR(2, views=[slice(0, 2), slice(2, 4)]), {}, "drop views="),
    ],
)
def test_clear_errors(dyads, model, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(dyads, **arguments)


METHODS = [
    PCA(2),
    OLS(1),
    IHT(1),
    PHD(2),
    PHD(2, concatenate=True),
    PHD(2, residual=True),
    PHD(2, residual=True, concatenate=True),
    SIR(1),
    SAVE(1),
    SOLS(1),
    SOLS(1, n_slices=3),
]


@pytest.mark.parametrize("observed", ["complete", "some"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_family_takes_dyads_too(dyads, rng, method, observed):
    if observed == "some":
        dyads = dyads.pairs(rng.random(dyads.shape) < 0.5)
    X, y = dyads.triples()
    mine, theirs = clone(method).fit(dyads).embeddings_, clone(method).fit(X, y).embeddings_
    for U, V in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(U, V, atol=1e-7)


def test_subpopulations_of_pairs(dyads):
    X, y = dyads.triples()
    groups = np.arange(len(y)) % 3
    mine, theirs = SOLS(2).fit(dyads, groups=groups), SOLS(2).fit(X, y, groups=groups)
    np.testing.assert_allclose(mine.embeddings_[1], theirs.embeddings_[1], atol=1e-7)


@pytest.mark.parametrize("observed", ["dense", "zero-filled", "some"])
def test_entities_as_subpopulations(dyads, rng, observed):
    """The row directions span the leading coefficients of one regression for each column, and the reverse."""
    if observed == "some":
        dyads = dyads.pairs(rng.random(dyads.shape) < 0.5)
    elif observed == "zero-filled":
        Y = np.where(rng.random(dyads.shape) < 0.3, dyads.Y, 0.0)
        dyads = Dyads(sparse.csr_array(Y), dyads.A, dyads.B)
    model = SOLS(2).fit(dyads)
    mask = np.ones(dyads.shape, bool) if dyads.is_complete else dyads.observed.toarray()
    Y = dyads.Y.toarray() if sparse.issparse(dyads.Y) else dyads.Y
    covariances = [np.cov(X.T, bias=True) for X in dyads.triples()[0].arrays]
    for k, (X, scores, seen) in enumerate(((dyads.A, Y, mask), (dyads.B, Y.T, mask.T))):
        c = [np.sqrt(w.sum()) * np.cov(X[w].T, y[w], bias=True)[:-1, -1] for y, w in zip(scores.T, seen.T, strict=True)]
        L = np.linalg.cholesky(covariances[k])
        U = np.linalg.svd(np.linalg.solve(L, np.array(c).T), full_matrices=False)[0][:, :2]
        assert subspace_error(np.linalg.solve(L.T, U), model.embeddings_[k]) < 1e-6


def test_holes_and_units_have_no_influence_on_entities_as_subpopulations(rng):
    A, B = rng.standard_normal((200, 5)), rng.standard_normal((150, 4))
    Y, mask = A[:, :2] @ B[:, :2].T, rng.random((200, 150)) < 0.9
    one, two = (SOLS(2).fit(Dyads(np.where(mask, Y, hole), A, B, mask)).embeddings_ for hole in (0.0, 1e3))
    for U, V in zip(one, two, strict=True):
        np.testing.assert_array_equal(U, V)
        assert subspace_error(np.eye(len(U))[:, :2], U) < 0.2
    turned = Dyads(Y, A @ rng.standard_normal((5, 5)) + 3, B)
    Z, Z_turned = (SOLS(2).fit(dyads).transform(dyads)[0] for dyads in (Dyads(Y, A, B), turned))
    np.testing.assert_allclose(np.abs(Z), np.abs(Z_turned), atol=1e-7)


def test_sparse_entities_are_gathered_too(dyads):
    thin = Dyads(dyads.Y, sparse.csr_array(dyads.A), sparse.csr_array(dyads.B))
    np.testing.assert_allclose(SIR(1).fit(thin).embeddings_[0], SIR(1).fit(dyads).embeddings_[0], atol=1e-7)
    with pytest.raises(TypeError, match="leave y and sample_weight out"):
        SIR(1).fit(dyads, [1.0])


def test_what_takes_rows_only_says_so(dyads):
    for action in (
        lambda: JDR(2).partial_fit(dyads),
        lambda: JDR(2).fit(dyads).score(dyads, None),
        lambda: JDRRegressor(JDR(2)).fit(dyads, None),
    ):
        with pytest.raises(TypeError, match=r"takes rows, not a Dyads: .*dyads.triples\(\)"):
            action()

"""Kernel sums that are cut to the nearest entities: what they are, what they lose, and that they say so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import JDR, AssociationModel, Dyads, TruncationWarning
from jointdr.prediction import EntitySet
from jointdr.prediction.heads import nearest
from jointdr.prediction.heads.nearest import Index, neighbor_counts

pytestmark = pytest.mark.filterwarnings("ignore::jointdr.prediction.heads.truncation.TruncationWarning")

KINDS = ["grades", "links", "observed"]
MODELS = {
    "paper": AssociationModel(JDR(2), head="kernel", bandwidth=(0.3, 0.4)),
    "auto": AssociationModel(JDR(2), head="kernel", random_state=0),
    "raw": AssociationModel(None, head="kernel", bandwidth=(0.5, 0.0)),
    "adaptive": AssociationModel(JDR(2), head="kernel", bandwidth=1.0, adaptive=3),
    "mixed": AssociationModel(
        JDR(2), head="kernel", kernel="cosine", bandwidth=0.5, mix=(0.3, 0.6), raw_bandwidth=0.7, borrow=0.6
    ),
    "narrow": AssociationModel(JDR(2), head="kernel", bandwidth=(0.01, 0.01)),  # most weights vanish
}


@pytest.fixture
def tables(rng):
    return rng.standard_normal((60, 6)), rng.standard_normal((25, 4))


@pytest.fixture(params=KINDS)
def dyads(request, tables, rng):
    A, B = tables
    Y = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((len(A), len(B)))
    if request.param == "grades":
        return Dyads(Y, A, B)
    if request.param == "links":
        return Dyads(sparse.csr_array((Y > 1.5).astype(float)), A, B)
    return Dyads(Y, A, B, observed=rng.random(Y.shape) < 0.1)


@pytest.fixture
def new(rng):
    far = np.r_[rng.standard_normal((6, 6)), 1e3 * np.ones((1, 6))]
    return far, np.r_[rng.standard_normal((3, 4)), 1e3 * np.ones((1, 4))]


def with_nearest(model, k, **more):
    return clone(model).set_params(nearest=k, **more)


def combinations(new):
    return ((None, None), (new[0], None), (None, new[1]), new)


def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    def test_all_neighbors_are_exact_sums(self, name, dyads, new):
        exact, all_near = clone(MODELS[name]).fit(dyads), with_nearest(MODELS[name], (60, 25)).fit(dyads)
        assert exact.truncation_ is None
        same(all_near.bandwidth_, exact.bandwidth_)
        for X in combinations(new):
            same(all_near.predict(*X), exact.predict(*X))
            same(all_near.neighbors(*X), exact.neighbors(*X))
        lost = all_near.truncation_
        for side in (lost.rows, lost.columns):
            if side is not None:
                assert side.most_left_out < 1e-12
                assert side.recall == pytest.approx(1.0)
        assert lost.most_changed < 1e-10

    def test_what_is_recommended_is_what_is_predicted(self, name, dyads, new):
        for k in ((9, 7), (60, 25), (9, None), (None, 7)):
            model = with_nearest(MODELS[name], k).fit(dyads)
            for A in (None, new[0]):
                scores, counts = model.predict(A), model.neighbors(A)
                if A is None:
                    known = dyads.Y != 0 if dyads.is_complete else dyads.observed
                    scores = np.where(known.toarray() if sparse.issparse(known) else known, -np.inf, scores)
                best = model.recommend(A, k=6)
                at = np.arange(len(scores)) if A is None else np.arange(7)
                for i in at:
                    found = best[best["row"] == str(i)]
                    kept = np.sort(scores[i][np.isfinite(scores[i])])[::-1][:6]
                    same(found["score"].to_numpy(), kept)
                    j = found["column"].astype(int).to_numpy()
                    same(scores[i, j], kept)
                    same(found["neighbors"].to_numpy(), counts[i, j])

    def test_memory_does_not_matter(self, name, dyads, new):
        one, other = (with_nearest(MODELS[name], 8, max_bytes=b).fit(dyads) for b in (5e8, 3e4))
        assert one.bandwidth_ == other.bandwidth_
        for X in combinations(new):
            same(one.predict(*X), other.predict(*X))
        same(one.recommend(new[0])["score"], other.recommend(new[0])["score"])
        same(one.truncation_.changed, other.truncation_.changed)

    def test_contributions_sum_to_the_score(self, name, dyads, new):
        model = with_nearest(MODELS[name], 8).fit(dyads)
        for row, column, score in (
            ("3", "4", model.predict()[3, 4]),
            (new[0][:1], "4", model.predict(new[0])[0, 4]),
            (new[0][-1:], new[1][:1], model.predict(*new)[-1, 0]),
        ):
            found = model.explain(row, column)
            assert found.score == pytest.approx(score, rel=1e-9, abs=1e-12)

    def test_files(self, name, dyads, new, tmp_path):
        model = with_nearest(MODELS[name], 8).fit(dyads)
        model.save(tmp_path / "model.npz")
        again = AssociationModel.load(tmp_path / "model.npz")
        assert again.truncation_ == model.truncation_
        assert again.nearest == 8
        for X in combinations(new):
            assert np.array_equal(again.predict(*X), model.predict(*X))
        assert again.recommend(new[0]).equals(model.recommend(new[0]))


def cut(K, D, k):
    """Weights of the k nearest only."""
    kept = np.zeros(K.shape, dtype=bool)
    np.put_along_axis(kept, np.argsort(D, axis=1, kind="stable")[:, :k], True, axis=1)
    return np.where(kept, K, 0.0)


def gaussian(Z, P, h):
    D = np.sum((Z[:, None] - P[None]) ** 2, axis=2)
    return np.exp(-D / (2 * h**2)), D


def test_the_definition(dyads, new):
    """Everything but the nearest entities is struck out of the exact sums, on both sides."""
    h, k = (0.5, 0.6), (4, 3)
    rms = [np.sqrt(2 * X.var(axis=0).sum()) for X in (dyads.A, dyads.B)]
    model = AssociationModel(None, head="kernel", bandwidth=h, nearest=k).fit(dyads)
    without = 0
    for A, B in ((dyads.A, dyads.B), (new[0][:-1], dyads.B), (new[0][:-1], new[1][:-1])):
        K, L = (
            cut(*gaussian(Z, P, c * s), n) for Z, P, c, s, n in zip((A, B), (dyads.A, dyads.B), h, rms, k, strict=True)
        )
        Y = dyads.Y.toarray() if sparse.issparse(dyads.Y) else dyads.Y
        W = np.ones(Y.shape) if dyads.is_complete else dyads.observed.toarray()
        total = K @ W @ L.T
        count = total**2 / np.where(total > 0, K**2 @ W @ (L**2).T, 1.0)
        column = (W * Y).sum(axis=0) @ L.T, W.sum(axis=0) @ L.T
        fallback = np.where(column[1] > 0, column[0] / np.where(column[1] > 0, column[1], 1), Y.sum() / W.sum())
        expected = np.where(total > 0, K @ (W * Y) @ L.T / np.where(total > 0, total, 1.0), fallback)
        without += np.count_nonzero(total == 0)
        known = [None if Z is P else Z for Z, P in zip((A, B), (dyads.A, dyads.B), strict=True)]
        np.testing.assert_allclose(model.predict(*known), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.neighbors(*known), count, rtol=1e-9, atol=1e-12)
    assert dyads.is_complete or without > 0


class TestWhatIsLost:
    def test_shares(self, dyads):
        """The sample is all of so few entities, so that the figures are those of all."""
        h, k = (0.5, 0.6), (7, 5)
        rms = [np.sqrt(2 * X.var(axis=0).sum()) for X in (dyads.A, dyads.B)]
        lost = AssociationModel(None, head="kernel", bandwidth=h, nearest=k).fit(dyads).truncation_
        for side, X, c, s, n, others in zip(
            (lost.rows, lost.columns), (dyads.A, dyads.B), h, rms, k, (True, False), strict=True
        ):
            K, D = gaussian(X, X, c * s)
            if others:
                np.fill_diagonal(K, 0.0)
                np.fill_diagonal(D, np.inf)
            left = 1 - cut(K, D, n).sum(axis=1) / K.sum(axis=1)
            assert side.left_out == pytest.approx(left.mean(), rel=1e-9)
            assert side.most_left_out == pytest.approx(left.max(), rel=1e-9)
            assert side.recall == pytest.approx(1.0)
            assert (side.nearest, side.sample) == (n, len(X))

    def test_scores(self, dyads):
        """Each row predicted by a model without it, exactly and not: what is told is the largest difference."""
        model = AssociationModel(None, head="kernel", bandwidth=(0.9, 0.8), nearest=(7, 5))
        lost = model.fit(dyads).truncation_
        changes, counts = [], []
        for i in range(dyads.shape[0]):
            exact, near = (
                model._head.__class__(dyads.Y, dyads.is_complete, ks) for ks in (exactly(model), model._head.kernels)
            )
            at = np.array([i])
            pair = [
                grid.smooth(grid.kernels[0].weights_of_known(at, others=True), columns_of(grid), without=at)[0]
                for grid in (exact, near)
            ]
            changes.append(pair[1] - pair[0])
            counts.append(near.smooth(near.kernels[0].weights_of_known(at, others=True), columns_of(near), True, at)[1])
        assert lost.most_changed == pytest.approx(np.abs(changes).max(), rel=1e-9)
        assert lost.changed == pytest.approx(np.sqrt(np.mean(np.square(changes))), rel=1e-9)
        assert lost.without == pytest.approx(np.mean(np.array(counts) == 0))
        assert (lost.without > 0) == (not dyads.is_complete)
        if dyads.is_complete:  # for the complete grid, also by refitting without the row
            rest = dyads.rows(np.arange(1, dyads.shape[0]))
            kernels = [replaced(side, np.arange(1, 60)) for side in (exactly(model)[0], model._head.kernels[0])]
            by_hand = [
                model._head.__class__(rest.Y, True, (kernel, ks))
                .scorer(EntitySet(1, (model._parts.sides[0].points[0][:1],)), EntitySet(25), 1e8)(slice(0, 1))
                .scores
                for kernel, ks in zip(kernels, (exactly(model)[1], model._head.kernels[1]), strict=True)
            ]
            same(by_hand[1] - by_hand[0], changes[0])

    def test_more_neighbors_lose_less(self, dyads):
        left = [
            AssociationModel(None, head="kernel", bandwidth=0.3, nearest=k).fit(dyads).truncation_.rows.left_out
            for k in (3, 10, 30, 60)
        ]
        assert left == sorted(left, reverse=True)
        assert left[0] > 0.1 > left[2]

    def test_a_large_loss_is_told(self, dyads):
        with pytest.warns(TruncationWarning, match=r"the 3 nearest rows have .* raise nearest"):
            AssociationModel(None, head="kernel", bandwidth=(2.0, 0.0), nearest=3).fit(dyads)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            AssociationModel(None, head="kernel", bandwidth=(2.0, 0.0), nearest=60).fit(dyads)
            AssociationModel(None, head="kernel", bandwidth=2.0).fit(dyads)


def exactly(model):
    from jointdr.prediction.heads.truncation import count_everything

    return tuple(count_everything(kernel) for kernel in model._head.kernels)


def columns_of(grid):
    from jointdr.prediction.heads.column_weights import ColumnWeights

    return ColumnWeights(grid.kernels[1], EntitySet(grid.shape[1]), 1e8)


def replaced(mixture, at):
    """The mixture of some of the points, with an index of these."""
    from dataclasses import replace

    parts = []
    for kernel in mixture.kernels:
        points = kernel.points[at]
        parts.append(replace(kernel, points=points, near=None if kernel.near is None else Index(points, kernel.near.k)))
    return replace(mixture, kernels=tuple(parts))


class TestIndex:
    @pytest.fixture(params=["tree", "brute", "inverted file"])
    def kind(self, request, monkeypatch):
        if request.param == "inverted file":
            pytest.importorskip("faiss")
            monkeypatch.setattr(nearest, "APPROXIMATE_FROM", 1)
        monkeypatch.setattr(nearest, "TREE_UP_TO", 10 if request.param == "tree" else 0)
        return request.param

    @pytest.mark.parametrize("cosine", [False, True])
    def test_it_finds_the_nearest(self, kind, cosine, rng):
        points, Z = rng.standard_normal((4000, 5)), rng.standard_normal((50, 5))
        if cosine:
            points, Z = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (points, Z))
        index = Index(points, 20, cosine)
        assert index.kind == kind
        D = np.sum((Z[:, None] - points[None]) ** 2, axis=2)
        found = index.search(Z)
        np.testing.assert_allclose(found.D, np.take_along_axis(D, found.indices, axis=1), rtol=1e-9, atol=1e-12)
        truth = np.argsort(D, axis=1)[:, :20]
        recall = np.mean([np.isin(t, f).mean() for t, f in zip(truth, found.indices, strict=True)])
        assert recall >= (0.9 if kind == "inverted file" else 1.0)
        again = Index(points.copy(), 20, cosine).search(Z)
        assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True))
        one_by_one = [index.search(Z[[i]]) for i in range(5)]
        assert np.array_equal(np.vstack([part.indices for part in one_by_one]), found.indices[:5])

    def test_a_known_point_is_found_among_its_copies(self, kind):
        points = np.repeat(np.arange(4.0)[:, None] * np.ones(7), 600, axis=0)
        own = np.array([0, 599, 1300, 2399])
        found = Index(points, 5).search(points[own], own)
        assert (found.indices == own[:, None]).any(axis=1).all()
        others = Index(points, 5).search(points[own], own, np.inf)
        assert (np.isinf(others.D).sum(axis=1) == 1).all()
        assert np.array_equal(others.indices[np.isinf(others.D)], own)
        assert (np.isfinite(others.D).sum(axis=1) == 5).all()

    def test_a_model_says_how_much_is_found(self, kind, rng):
        A, B = rng.standard_normal((2500, 6)), rng.standard_normal((30, 4))
        Y = sparse.random_array((2500, 30), density=0.05, rng=rng, format="csr")
        model = AssociationModel(None, head="kernel", bandwidth=(0.1, 0.0), nearest=(20, None)).fit(Y, A, B)
        assert model._parts.sides[0].indexes[0].kind == kind
        lost = model.truncation_
        assert lost.columns is None
        assert 0.85 < lost.rows.recall <= 1
        assert kind == "inverted file" or lost.rows.recall == pytest.approx(1.0)
        again = clone(model).fit(Y, A, B)
        assert again.truncation_ == lost
        assert np.array_equal(again.predict(A[:9] + 0.1), model.predict(A[:9] + 0.1))

    def test_entities_without_features(self, rng):
        """They have angles of 90° to all others: no weight for them, and no place taken from others."""
        A, B = rng.standard_normal((60, 6)), rng.standard_normal((25, 4))
        A[[4, 9, 30]], B[2] = 0.0, 0.0
        Y = A[:, :2] @ B[:, :2].T + 0.1
        new = np.r_[rng.standard_normal((3, 6)), np.zeros((1, 6))]
        exact, near = (
            AssociationModel(None, head="kernel", kernel="cosine", bandwidth=0.4, nearest=k).fit(Y, A, B)
            for k in (None, 57)
        )
        same(near.predict(new), exact.predict(new))
        same(near.predict(), exact.predict())

    def test_sparse_features(self, rng):
        A = sparse.random_array((60, 9), density=0.5, rng=rng, format="csr")
        B, Y = rng.standard_normal((25, 4)), rng.standard_normal((60, 25))
        for kernel in ("gaussian", "cosine"):
            settings = {"kernel": kernel, "bandwidth": 0.4}
            exact, near = (
                AssociationModel(None, head="kernel", nearest=k, **settings).fit(Y, A, B) for k in (None, (60, 25))
            )
            same(near.predict(A[:7]), exact.predict(A[:7]))


class TestParameter:
    def test_how_many(self):
        assert neighbor_counts("auto", (20_000, 20_001), None) == (None, 50)
        assert neighbor_counts("auto", (10, 10**6), 40) == (None, 80)
        assert neighbor_counts((7, None), (10, 10), None) == (7, None)
        assert neighbor_counts(30, (20, 40), None) == (20, 30)

    @pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "all", (1, 2, 3)])
    def test_what_is_wrong_is_told(self, wrong, tables):
        with pytest.raises(ValueError, match="nearest"):
            AssociationModel(None, head="kernel", bandwidth=0.5, nearest=wrong).fit(np.ones((60, 25)), *tables)

    def test_what_does_not_go_together(self, tables):
        Y = np.outer(tables[0][:, 0], tables[1][:, 0])
        with pytest.raises(ValueError, match="adaptive=5"):
            AssociationModel(None, head="kernel", bandwidth=0.5, nearest=3, adaptive=5).fit(Y, *tables)
        for head in ("bilinear", "kernel_ridge"):
            with pytest.raises(ValueError, match="head='kernel'"):
                AssociationModel(None, head=head, bandwidth=0.5, nearest=3).fit(Y, *tables)

    def test_tuning(self, dyads):
        """Settings are judged as the models with them predict."""
        model = AssociationModel(JDR(2), head="kernel", nearest=(9, 6), random_state=0)
        grid = {"bandwidth": [(0.2, 0.0), (0.3, 0.3)], "borrow": [0.5, 1.0], "nearest": [(9, 6), (20, None)]}
        from jointdr.evaluation import splits
        from jointdr.prediction.search.criterion import score_split

        found = model.tune(dyads, grid=grid, progress=False)
        parts = list(splits(dyads, "rows", 2, 0.1, random_state=0))
        recall = dyads.is_complete and sparse.issparse(dyads.Y)
        for row in found.table.to_dict("records"):
            setting = {name: row[name] for name in grid}
            fitted = [clone(model).set_params(**setting).fit(part.train).predict(*part.new) for part in parts]
            expected = np.mean(
                [score_split(scores, part, recall, "auto") for scores, part in zip(fitted, parts, strict=True)]
            )
            assert row["score"] == pytest.approx(expected, rel=1e-6, abs=1e-9)

    def test_it_is_told_on_the_command_line(self, tables, tmp_path, capsys):
        from jointdr.apps.cli import main

        Y = np.outer(tables[0][:, 0], tables[1][:, 0])
        AssociationModel(None, head="kernel", bandwidth=0.5, nearest=9).fit(Y, *tables).save(tmp_path / "model.npz")
        assert main(["info", str(tmp_path / "model.npz")]) == 0
        told = capsys.readouterr().out
        assert "nearest rows" in told
        assert "most left out" in told
        assert "most changed" in told

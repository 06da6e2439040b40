"""How many directions there are: the profile agrees with the truth, with JDR("auto") and with itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import JDR, Dyads, JDRRegressor
from jointdr.datasets import make_bilinear, make_even, make_rbf
from jointdr.diagnostics import RankProfile, null_rank, rank_profile, threshold_rank


@pytest.fixture(scope="module")
def small():
    X, y, _ = make_bilinear(2000, (8, 6), 2, random_state=0)
    return X, y


@pytest.mark.parametrize("normalize", ["full", "feature", "joint", None])
@pytest.mark.parametrize(("make", "n", "r"), [(make_bilinear, 50, 5), (make_rbf, 20, 2)])
def test_the_right_rank_by_every_rule(make, n, r, normalize):
    X, y, _ = make(20_000, n, r, random_state=1)
    profile = rank_profile(JDR(normalize=normalize), X, y)
    assert (profile.best, profile.null_rank, profile.threshold_rank) == (r, r, r)


def test_permuted_responses_have_no_rank(rng):
    found = []
    for seed in range(12):
        X, y, _ = make_bilinear(1500, (10, 8), 3, random_state=seed)
        found.append(rank_profile(JDR(), X, rng.permutation(y), random_state=seed).null_rank)
    assert sum(r > 0 for r in found) <= 2  # at a level of 5 %: 0.6 of 12 in the mean
    assert max(found) <= 1


OPTIONS = [
    *({"normalize": normalize} for normalize in ("full", "feature", "joint", None)),
    *({"normalize": normalize, "moments": "all"} for normalize in ("full", None)),
    {"ridge": 0.1},
    {"response": "rank"},
    {"n_folds": 3, "random_state": 5},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_jdr(small, options):
    X, y = small
    profile = rank_profile(JDR(7, n_features_to_select=None, **options), X, y, n_permutations=0)
    model = JDR("auto", **options).fit(X, y)
    assert max(1, profile.best) == model.n_components_
    if options.get("moments") != "all":
        whole = JDR(6, **options).fit(X, y)
        np.testing.assert_allclose(profile.singular_values, whole.singular_values_, rtol=1e-9)


def test_null_is_the_fit_on_permuted_responses(small, rng):
    """A weighted, uncentred or joint proxy of permuted responses, by a fit of its own, in units of its noise."""
    X, y = small
    w = rng.exponential(size=len(y))
    for normalize in ("full", "feature", "joint", None):
        profile = rank_profile(JDR(normalize=normalize), X, y, w, n_permutations=19, random_state=3)
        y_permuted = y[np.random.default_rng(3).permutation(len(y))]
        model = JDR(6, normalize=normalize).fit(X, y_permuted, w)
        noise = [
            np.linalg.norm(w * (v if normalize is None else v - np.average(v, weights=w))) for v in (y, y_permuted)
        ]
        np.testing.assert_allclose(profile.null[0], noise[0] / noise[1] * model.singular_values_, rtol=1e-9)


def test_neither_weights_of_one_nor_sparse_views_matter(small):
    X, y = small
    one = rank_profile(JDR(), X, y)
    for other in (
        rank_profile(JDR(), X, y, np.full(len(y), 3.0)),
        rank_profile(JDR(), tuple(sparse.csr_array(V) for V in X.arrays), y),
    ):
        np.testing.assert_allclose(other.criterion, one.criterion, atol=1e-9)
        np.testing.assert_allclose(other.null, one.null, atol=1e-9)


def test_rows_without_weight_are_not_there(small):
    X, y = small
    w = np.r_[np.ones(1500), np.zeros(500)]
    one = rank_profile(JDR(), X, np.where(w > 0, y, 1e6), w)
    assert (one.null_rank, one.threshold_rank) == (2, 2)
    other = rank_profile(JDR(), X[:1500], y[:1500])
    np.testing.assert_allclose(one.singular_values, other.singular_values)
    np.testing.assert_allclose(np.median(one.null), np.median(other.null), rtol=0.2)


def test_weights_that_balance_classes_show_no_directions(rng):
    """Such weights go with y: a permutation that parts them has a fraction of the noise."""
    found = []
    for _ in range(10):
        A, B, y = rng.standard_normal((3000, 8)), rng.standard_normal((3000, 6)), rng.random(3000) < 0.03
        found.append(rank_profile(JDR(), (A, B), y, np.where(y, 0.97, 0.03)).null_rank)
    assert sum(r > 0 for r in found) <= 3


def test_options_of_the_model_that_do_not_matter_and_a_model_left_alone(small):
    X, y = small
    model = JDR(1, n_features_to_select=3, refine=0)
    profile = rank_profile(model, X, y)
    assert not model.__sklearn_is_fitted__()
    assert model.n_components == 1
    assert len(profile.singular_values) == 6
    table = np.hstack(X.arrays)
    same = rank_profile(JDR(views=[slice(0, 8), slice(8, None)], refine=2), table, y)
    np.testing.assert_allclose(same.null, profile.null)


def test_even_links_need_all_moments():
    X, y, _ = make_even(20_000, 15, 2, random_state=0)
    assert rank_profile(JDR(moments="all"), X, y).null_rank >= 2


def test_several_responses_and_labels(small):
    X, y = small
    both = rank_profile(JDR(), X, np.column_stack([y, X.arrays[0][:, 0] * X.arrays[1][:, 0]]))
    assert both.null_rank == 3
    assert rank_profile(JDR(), X, np.where(y > 0, "yes", "no")).null_rank == 2


def test_no_signal_at_all(small):
    X, _ = small
    profile = rank_profile(JDR(), X, np.ones(len(X)))
    assert (profile.best, profile.null_rank, profile.threshold_rank) == (0, 0, 0)


def test_permutations_are_counted_and_reported(small):
    X, y = small
    seen = []
    profile = rank_profile(JDR(), X, y, n_permutations=25, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i + 1, 25) for i in range(25)]
    assert profile.null.shape == (25, 6)
    without = rank_profile(JDR(), X, y, n_permutations=0)
    assert without.null_rank is None
    assert without.threshold_rank is None
    assert rank_profile(JDR(), X, y, n_permutations=0, eta=1.0).threshold_rank == 2
    assert "25 permutations" in str(profile)
    assert "permutation" not in str(without)


def test_null_rank_is_a_test_of_exact_level():
    null = np.arange(39.0, 0.0, -1.0)[:, None]
    # At a level of 5 % the observed value may be second among 40, not third.
    assert null_rank([50.0, 38.5, 38.0, 60.0], null, level=0.05) == 2
    assert null_rank([39.0], np.arange(39.0)[:, None], level=0.025) == 1
    assert null_rank([38.0], np.arange(39.0)[:, None], level=0.025) == 0
    # The second singular value has to beat the largest null one too.
    assert null_rank([9.0, 4.0], np.tile([5.0, 1.0], (19, 1))) == 1
    with pytest.raises(ValueError, match="at least 19 are needed"):
        null_rank([1.0], np.zeros((18, 1)))
    with pytest.raises(ValueError, match="between 0 and 1"):
        null_rank([1.0], np.zeros((18, 1)), level=1.5)


def test_threshold_is_half_of_eta():
    assert threshold_rank([1.0, 0.51, 0.5, 0.1], eta=1.0) == 2
    with pytest.raises(ValueError, match="eta=-1"):
        threshold_rank([1.0], eta=-1)


def test_what_cannot_be(small):
    X, y = small
    with pytest.raises(ValueError, match="whole moments"):
        rank_profile(JDR(solver="randomized"), X, y)
    with pytest.raises(ValueError, match="at least 19 are needed"):
        rank_profile(JDR(), X, y, n_permutations=5)
    with pytest.raises(ValueError, match="rank_profile requires y"):
        rank_profile(JDR(), X, None)
    for wrong in (-1, 20.5, "many"):
        with pytest.raises(ValueError, match=f"n_permutations={wrong!r}"):
            rank_profile(JDR(), X, y, n_permutations=wrong)
    with pytest.raises(TypeError, match="takes a JDR"):
        rank_profile(JDRRegressor(), X, y)
    with pytest.raises(ValueError, match="two views, got 3"):
        rank_profile(JDR(), (*X.arrays, X.arrays[0]), y)
    with pytest.raises(ValueError, match="view 'b' varies"), pytest.warns(UserWarning, match="constant"):
        rank_profile(JDR(), (X.arrays[0], np.ones((len(y), 2))), y)
    index = [f"row {i}" for i in range(len(y))]
    tables = tuple(pd.DataFrame(V, index=index) for V in X.arrays)
    turned = pd.Series(y, index=index)[::-1]
    with pytest.raises(ValueError, match="The index of y has other ids"):
        rank_profile(JDR(), tables, turned.rename({"row 0": "row"}))
    with pytest.raises(ValueError, match="The index of sample_weight has other ids"):
        rank_profile(JDR(), tables, y, abs(turned).rename({"row 0": "row"}))


def test_plot(small):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    X, y = small
    profile = rank_profile(JDR(), X, y)
    scree, curve = profile.plot()
    assert scree.figure is curve.figure
    assert scree.get_title() == "Directions above noise: 2"
    np.testing.assert_allclose(scree.lines[1].get_ydata(), profile.singular_values)
    np.testing.assert_allclose(curve.lines[0].get_ydata(), profile.criterion)
    assert curve.lines[1].get_xdata()[0] == profile.best
    figure, ax = plt.subplots()
    one, twin = profile.plot(ax, n_shown=3)
    assert one is ax
    assert len(figure.axes) == 2
    assert len(twin.lines[0].get_ydata()) == 4
    with pytest.raises(ValueError, match="a pair"):
        profile.plot(plt.subplots(1, 3)[1])
    without = RankProfile(
        profile.criterion, 2, profile.singular_values, np.empty((0, 6)), None, None, eta=None, level=0.05
    )
    assert without.plot()[0].get_title() == "Singular values"
    plt.close("all")


def test_dyads():
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((150, 6)), rng.standard_normal((60, 5))
    Y = A[:, :2] @ B[:, :2].T + rng.standard_normal((150, 60))
    profile = rank_profile(JDR(), Dyads(Y, A, B))
    assert (profile.best, profile.null_rank) == (2, 2)
    # The proxy of dyads is that of the pairs written out, so its singular values are the same.
    np.testing.assert_allclose(
        profile.singular_values, rank_profile(JDR(), *Dyads(Y, A, B).triples(), n_permutations=0).singular_values
    )
    with pytest.raises(TypeError, match="leave y and sample_weight out"):
        rank_profile(JDR(), Dyads(Y, A, B), Y)


@pytest.mark.parametrize("side", [0, 1])
def test_entities_that_differ_for_other_reasons_are_no_direction(side):
    """Scores that go with the features of one kind only: written out as rows, permutations are too sure."""
    rng = np.random.default_rng(side)
    found = []
    for _ in range(10):
        tables = [rng.standard_normal((60, 4)), rng.standard_normal((50, 4))]
        signal, other = tables[side], rng.standard_normal((4, len(tables[1 - side])))
        Y = signal @ other if side == 0 else (signal @ other).T
        found.append(rank_profile(JDR(), Dyads(Y, *tables), random_state=0).null_rank)
    assert sum(r > 0 for r in found) <= 2  # of ten, at a level of 5 %

"""Dyads: input checks, joins, parts, and moments that are those of the expanded triples."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import Dyads, Moments, UnmatchedWarning
from tests.support.reference import brute_force, largest_difference, random_sparse, summary

EVERYTHING = {"blocks": ("cross", "within"), "covariance": "full", "cross_covariance": True}
SHAPE, N = (23, 17), (6, 4)


def tables(rng, kinds=("dense", "dense"), mean=0.0):
    made = []
    for m, n, kind in zip(SHAPE, N, kinds, strict=True):
        made.append(random_sparse(rng, (m, n), 0.4) if kind == "sparse" else rng.standard_normal((m, n)) + mean)
    return made


def scores(rng, kind, mean=0.0):
    Y = rng.standard_normal(SHAPE) + mean
    return sparse.csr_array(Y * (rng.random(SHAPE) < 0.3)) if kind == "sparse" else Y


def masks(rng, kind):
    """How the pairs are observed, with rows that have many and rows that have none."""
    if kind == "complete":
        return None
    mask = rng.random(SHAPE) < np.linspace(0, 0.9, SHAPE[0])[:, None]
    return mask if kind == "mask" else sparse.coo_array(mask)


def expanded(dyads):
    """The definition of triples, one pair after the other."""
    dense = [X.toarray() if sparse.issparse(X) else X for X in (dyads.Y, dyads.A, dyads.B)]
    seen = np.ones(dyads.shape, bool) if dyads.observed is None else dyads.observed.toarray()
    rows = [(dense[1][i], dense[2][j], dense[0][i, j]) for i, j in zip(*np.nonzero(seen), strict=True)]
    return [np.array(part) for part in zip(*rows, strict=True)]


# ---------------------------------------------------------------- moments


@pytest.mark.parametrize("observed", ["complete", "mask", "sparse mask"])
@pytest.mark.parametrize("Y", ["dense", "sparse"])
@pytest.mark.parametrize("kinds", list(itertools.product(["dense", "sparse"], repeat=2)))
@pytest.mark.parametrize("mean", [0.0, 1e4])
def test_moments_are_those_of_the_expanded_triples(rng, kinds, Y, observed, mean):
    dyads = Dyads(scores(rng, Y, mean), *tables(rng, kinds, mean), masks(rng, observed))
    moments = dyads.moments(**EVERYTHING)
    A, B, y = expanded(dyads)
    assert moments.n_samples == len(y) == dyads.n_observed
    for mine, theirs in zip((*moments.means, moments.y_mean), (A.mean(0), B.mean(0), [y.mean()]), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    expected = brute_force(A, B, y)
    if observed == "complete":  # a product of two sums, which centring makes 0
        assert np.abs(summary(moments)["C_ab"]).max() < 1e-9
        expected.pop("C_ab")
    assert largest_difference(summary(moments), expected) < 1e-9


KEEPS = [
    {"blocks": blocks, "covariance": covariance, "cross_covariance": cross}
    for blocks in [(), ("means",), ("cross",), ("within",), ("cross", "within")]
    for covariance in ["full", "diagonal", None, ("diagonal", None)]
    for cross in [True, False]
    if covariance == "full" or "within" not in blocks
]


@pytest.mark.parametrize("about", [{}, {"center": 0}, {"center": 0, "y_center": 0.0}])
@pytest.mark.parametrize("observed", ["complete", "mask"])
def test_every_choice_of_what_is_kept_equals_the_block_of_triples(rng, observed, about):
    dyads = Dyads(scores(rng, "sparse"), *tables(rng, ("dense", "sparse"), 3.0), masks(rng, observed))
    X, y = dyads.triples()
    for keep in KEEPS:
        mine, theirs = dyads.moments(**keep, **about), Moments.of_block(X.arrays, y, **keep, **about)
        assert mine.keep == theirs.keep
        assert mine.n_responses == theirs.n_responses
        mine, theirs = mine.about(0), theirs.about(0)
        for name in ("sums", "scatters", "y_scatters", "cross_scatters", "thirds", "y_scatter", "y_center", "y_sum"):
            one, two = getattr(mine, name), getattr(theirs, name)
            pairs = [(one[k], two[k]) for k in two] if hasattr(two, "keys") else list(zip(one, two, strict=True))
            for u, v in pairs:
                assert (u is None) == (v is None)
                if v is not None:
                    np.testing.assert_allclose(u, v, rtol=1e-9, atol=1e-9 * len(y))


@pytest.mark.parametrize("shape", [(9, 3), (3, 9)])
def test_either_side_may_be_the_narrow_one(rng, shape):
    A, B = (rng.standard_normal((m, n)) for m, n in zip((12, 15), shape, strict=True))
    for Y in (rng.standard_normal((12, 15)), random_sparse(rng, (12, 15), 0.3)):
        dyads = Dyads(Y, A, B)
        expected = brute_force(*expanded(dyads))["T_ayb"]
        np.testing.assert_allclose(dyads.moments().central().third(0, 1)[0], expected, atol=1e-12)


def test_scores_far_from_zero_keep_their_digits(rng):
    A, B = tables(rng)
    Y = rng.standard_normal(SHAPE)
    near = summary(Dyads(Y, A, B).moments(**EVERYTHING))
    far = Dyads(Y + 1e8, A, B).moments(**{**EVERYTHING, "cross_covariance": False})
    np.testing.assert_allclose(far.central().third(0, 1)[0], near["T_ayb"], atol=1e-7)


def test_float32_tables_give_float64_moments(rng):
    A, B = tables(rng)
    Y = scores(rng, "dense")
    single = Dyads(Y, A.astype(np.float32), B.astype(np.float32)).moments(**EVERYTHING)
    assert single.third(0, 1).dtype == np.float64
    double = summary(Dyads(Y, A, B).moments(**EVERYTHING))
    double.pop("C_ab")
    assert largest_difference(summary(single), double) < 1e-5


def test_means_of_entities_normalize_the_tables_themselves(rng):
    A, B = tables(rng, mean=2.0)
    dyads = Dyads(scores(rng, "dense"), A, B, masks(rng, "mask"))
    moments = dyads.moments(means="entities", **EVERYTHING)
    for k, X in enumerate((A, B)):
        np.testing.assert_allclose(moments.means[k], X.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(moments.central().covariance(k), np.cov(X.T, bias=True), rtol=1e-12)
    a, b, y = expanded(dyads)
    a, b, e = a - A.mean(axis=0), b - B.mean(axis=0), y - y.mean()
    np.testing.assert_allclose(moments.central().third(0, 1)[0], (a * e[:, None]).T @ b / len(y), atol=1e-12)
    np.testing.assert_allclose(moments.central().third(0, 0)[0], (a * e[:, None]).T @ a / len(y), atol=1e-12)
    assert np.abs(moments.means[0] - dyads.moments().means[0]).max() > 0.01


def test_on_a_complete_grid_both_kinds_of_means_are_the_same(rng):
    dyads = Dyads(scores(rng, "sparse"), *tables(rng, ("dense", "sparse")))
    one, two = (dyads.moments(means=means, **EVERYTHING) for means in ("pairs", "entities"))
    assert largest_difference(summary(one), summary(two)) == 0


@pytest.mark.parametrize("means", ["pairs", "entities"])
@pytest.mark.parametrize("observed", ["complete", "mask"])
@pytest.mark.parametrize("kinds", [("dense", "dense"), ("sparse", "dense")])
def test_folds_are_parts_of_the_rows_and_make_up_the_whole(rng, observed, means, kinds):
    dyads = Dyads(scores(rng, "dense", 5.0), *tables(rng, kinds, 10.0), masks(rng, observed))
    parts = dyads.grid.fold_moments(4, seed=1, means=means, **EVERYTHING)
    whole = summary(dyads.moments(means=means, **EVERYTHING))
    together = summary(sum(parts[1:], parts[0]))
    if observed == "complete" or means == "entities":
        whole.pop("C_ab")  # 0
    assert largest_difference(together, whole) < 1e-9
    assert sum(part.n_samples for part in parts) == dyads.n_observed


def test_more_folds_than_rows_leave_empty_folds(rng):
    dyads = Dyads(rng.standard_normal((3, 4)), rng.standard_normal((3, 2)), rng.standard_normal((4, 2)))
    parts = dyads.grid.fold_moments(10, **EVERYTHING)
    assert len(parts) == 10
    assert sum(part.n_samples for part in parts) == 12
    assert sum(parts[1:], parts[0]).n_samples == 12
    assert all(part.n_responses == 0 for part in dyads.grid.fold_moments(10, blocks=()))


def test_nothing_of_the_size_of_the_triples_is_formed(rng):
    m, n = 1000, 100
    A, B = rng.standard_normal((2, m, n))
    Y = random_sparse(rng, (m, m), 0.01)
    dyads = Dyads(Y, A, B)
    tracemalloc.start()
    dyads.moments()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 8 * m * n  # the triples of a complete grid: 2000 tables of 8 m n bytes; Y itself: 10


# ---------------------------------------------------------------- what is observed


def test_stored_zeros_count_only_if_asked_for(rng):
    A, B = tables(rng)
    Y = sparse.csr_array(([1.0, 0.0, 2.0], ([0, 1, 2], [3, 4, 5])), shape=SHAPE)
    assert Dyads(Y, A, B).n_observed == SHAPE[0] * SHAPE[1]
    stored = Dyads(Y, A, B, "stored")
    assert stored.n_observed == 3
    np.testing.assert_array_equal(stored.triples()[1], [1.0, 0.0, 2.0])
    assert (stored.observed.toarray() == (Dyads(Y, A, B, stored.observed).observed.toarray())).all()


def test_a_mask_hides_nan(rng):
    A, B = tables(rng)
    Y = scores(rng, "dense")
    Y[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"observed=~numpy.isnan"):
        Dyads(Y, A, B)
    assert Dyads(Y, A, B, ~np.isnan(Y)).n_observed == Y.size - 1
    with pytest.raises(ValueError, match="Y contains NaN"):
        Dyads(Y, A, B, np.ones(SHAPE, bool))


def test_a_mask_reads_absent_pairs_of_a_sparse_score_as_zero(rng):
    Y = scores(rng, "sparse")
    mask = masks(rng, "mask")
    dyads = Dyads(Y, *tables(rng), mask)
    np.testing.assert_array_equal(dyads.Y.toarray(), np.where(mask, Y.toarray(), 0))
    assert dyads.Y.nnz == mask.sum()


def test_sparse_scores_with_repeats_are_summed_and_not_changed(rng):
    Y = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=SHAPE)
    dyads = Dyads(Y, *tables(rng), "stored")
    assert dyads.n_observed == 1
    assert dyads.Y[0, 1] == 3.0
    assert Y.nnz == 2


@pytest.mark.parametrize("observed", ["complete", "mask"])
@pytest.mark.parametrize("Y", ["dense", "sparse"])
def test_parts(rng, Y, observed):
    dyads = Dyads(scores(rng, Y), *tables(rng, ("dense", "sparse")), masks(rng, observed))
    at = np.array([20, 3, 11])
    for part, dense in (
        (dyads.rows(at), lambda X: X[at]),
        (dyads.columns(slice(2, 9)), lambda X: X[:, 2:9]),
        (dyads.rows(np.arange(SHAPE[0]) % 2 == 0), lambda X: X[::2]),
    ):
        whole, piece = ((d.Y.toarray() if sparse.issparse(d.Y) else d.Y) for d in (dyads, part))
        np.testing.assert_array_equal(piece, dense(whole))
        if observed == "mask":
            np.testing.assert_array_equal(part.observed.toarray(), dense(dyads.observed.toarray()))
        a, b, y = expanded(part)
        assert (
            largest_difference(
                {"T": summary(part.moments(**EVERYTHING))["T_ayb"]}, {"T": brute_force(a, b, y)["T_ayb"]}
            )
            < 1e-9
        )
    np.testing.assert_array_equal(dyads.rows(at).row_ids, ["20", "3", "11"])
    np.testing.assert_array_equal(dyads.rows(at).A, dyads.A[at])


@pytest.mark.parametrize("observed", ["complete", "mask"])
@pytest.mark.parametrize("Y", ["dense", "sparse"])
def test_pairs_by_mask_and_by_number_agree(rng, Y, observed):
    dyads = Dyads(scores(rng, Y), *tables(rng), masks(rng, observed))
    mask = rng.random(SHAPE) < 0.5
    seen = np.ones(SHAPE, bool) if dyads.observed is None else dyads.observed.toarray()
    chosen = [dyads.pairs(mask), dyads.pairs(sparse.csr_array(mask)), dyads.pairs(mask[seen])]
    for part in chosen:
        np.testing.assert_array_equal(part.observed.toarray(), mask & seen)
        np.testing.assert_array_equal(part.triples()[1], dyads.triples()[1][mask[seen]])
    rest = dyads.pairs(~mask)
    assert rest.n_observed + chosen[0].n_observed == dyads.n_observed


# ---------------------------------------------------------------- samples and tables


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("deduplicate", [False, True])
def test_samples_have_the_moments_of_their_rows(data, kind, deduplicate):
    A, B, y = data
    A, B, y = A[np.arange(300) % 40], B[np.arange(300) // 40], y[:300]
    views = tuple(sparse.csr_array(X) for X in (A, B)) if kind == "sparse" else (A, B)
    dyads = Dyads.from_samples(views, y, deduplicate=deduplicate)
    assert dyads.shape == ((40, 8) if deduplicate else (300, 300))
    assert dyads.n_observed == 300
    assert largest_difference(summary(dyads.moments(**EVERYTHING)), brute_force(A, B, y)) < 1e-9


def test_samples_of_the_same_pair(data):
    A, B, y = (np.concatenate([X, X[:3]]) for X in data)
    assert Dyads.from_samples((A, B), y).n_observed == 403
    with pytest.raises(ValueError, match="3 pairs are listed more than once"):
        Dyads.from_samples((A, B), y, deduplicate=True)
    doubled = Dyads.from_samples((A, B), y, deduplicate=True, duplicates="sum")
    assert doubled.shape == (400, 400)
    np.testing.assert_allclose(doubled.Y.sum(), y.sum())


def long_tables():
    rows = pd.DataFrame({"disease": ["007", "7", "x"], "f": [1.0, 2.0, 3.0], "g": [0, 1, 0]})
    columns = pd.DataFrame({"h": [5.0, 6.0]}, index=["p", "q"])
    pairs = pd.DataFrame({"d": ["x", "007", "7"], "t": ["q", "p", "p"], "score": [0.1, 0.0, 0.3]})
    return pairs, rows, columns


def as_polars(tables):
    pl = pytest.importorskip("polars")
    pairs, rows, columns = tables
    return tuple(pl.DataFrame({c: T[c].tolist() for c in T}) for T in (pairs, rows, columns.reset_index()))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_are_joined_by_id(library):
    pairs, rows, columns = long_tables() if library == "pandas" else as_polars(long_tables())
    dyads = Dyads.from_tables(pairs, rows, columns, names=("disease", "gene"))
    np.testing.assert_array_equal(dyads.Y.toarray(), [[0, 0], [0.3, 0], [0, 0.1]])
    np.testing.assert_array_equal(dyads.row_ids, ["007", "7", "x"])
    np.testing.assert_array_equal(dyads.column_ids, ["p", "q"])
    np.testing.assert_array_equal(dyads.A, [[1, 0], [2, 1], [3, 0]])
    assert dyads.feature_names[0].tolist() == ["f", "g"]
    assert dyads.unmatched.n_pairs == 0
    assert dyads.n_observed == 6
    assert Dyads.from_tables(pairs, rows, columns, observed="stored").n_observed == 3


def test_columns_can_be_named():
    pairs, rows, columns = long_tables()
    pairs = pairs[["score", "t", "d"]]
    named = Dyads.from_tables(
        pairs,
        rows,
        columns.reset_index(names="gene"),
        row="d",
        column="t",
        score="score",
        row_id="disease",
        column_id="gene",
    )
    np.testing.assert_array_equal(named.Y.toarray(), [[0, 0], [0.3, 0], [0, 0.1]])
    assert named.score_name == "score"
    assert named.rows([0]).score_name == "score"
    links = Dyads.from_tables(pairs[["d", "t"]], rows, columns)
    assert links.score_name is None
    np.testing.assert_array_equal(links.Y.toarray(), [[1, 0], [1, 0], [0, 1]])


def test_unmatched_ids_are_counted_and_reported():
    pairs, rows, columns = long_tables()
    more = pd.DataFrame({"d": ["z", "z", "x"], "t": ["p", "w", "v"], "score": 1.0})
    with pytest.warns(UnmatchedWarning, match="3 of 6 pairs were left out: 1 row ids and 2 column ids"):
        dyads = Dyads.from_tables(pd.concat([pairs, more]), rows, columns)
    assert dyads.unmatched.row_ids.tolist() == ["z"]
    assert dyads.unmatched.column_ids.tolist() == ["v", "w"]
    assert dyads.unmatched.n_pairs == 3
    assert repr(dyads.unmatched) == "Unmatched(1 row ids, 2 column ids, 3 pairs)"
    with pytest.raises(ValueError, match="'7' is not '007'"):
        Dyads.from_tables(more[:1], rows, columns)


@pytest.mark.parametrize(("duplicates", "expected"), [("mean", 0.4), ("sum", 0.8), ("max", 0.5), ("last", 0.3)])
def test_duplicates(duplicates, expected):
    pairs, rows, columns = long_tables()
    twice = pd.concat([pairs.assign(score=0.5), pairs.assign(score=0.3).iloc[::-1]])
    with pytest.raises(ValueError, match="3 pairs are listed more than once"):
        Dyads.from_tables(twice, rows, columns, duplicates="error")
    dyads = Dyads.from_tables(twice, rows, columns, observed="stored", duplicates=duplicates)
    np.testing.assert_allclose(dyads.Y.data, expected)


# ---------------------------------------------------------------- ids and errors


def test_ids_are_strings(rng):
    A, B = tables(rng)
    Y = scores(rng, "dense")
    assert Dyads(Y, A, B).row_ids.dtype.kind == "U"
    frame = pd.DataFrame(A, index=np.arange(100, 123))
    dyads = Dyads(Y, frame, pd.DataFrame(B), column_ids=range(50, 67))
    assert dyads.row_ids[0] == "100"
    assert dyads.column_ids[-1] == "66"
    labelled = Dyads(pd.DataFrame(Y, index=frame.index, columns=list("abcdefghijklmnopq")), frame, B)
    assert labelled.column_ids[0] == "a"


def test_repr(rng):
    A, B = tables(rng)
    assert repr(Dyads(scores(rng, "dense"), A, B)) == "Dyads(a: 23 × 6, b: 17 × 4, all 391 pairs)"
    dyads = Dyads(sparse.csr_array(([1.0], ([0], [0])), shape=SHAPE), A, B, names=("drug", "target"))
    assert repr(dyads) == "Dyads(drug: 23 × 6, target: 17 × 4, all 391 pairs, 1 of them stored)"
    assert repr(dyads.pairs(np.arange(391) < 5)) == "Dyads(drug: 23 × 6, target: 17 × 4, 5 of 391 pairs)"


BAD = [
    (lambda Y, A, B: Dyads(Y.T, A, B), "one row of Y for each row of A"),
    (lambda Y, A, B: Dyads(Y, A, B, np.ones((2, 2), bool)), r"mask of observed pairs has shape \(2, 2\)"),
    (lambda Y, A, B: Dyads(Y, A, B, Y), "must be boolean"),
    (lambda Y, A, B: Dyads(Y, A, B, "stored"), "is for a sparse Y"),
    (lambda Y, A, B: Dyads(Y, A, B, "all"), "observed='all' is not understood"),
    (lambda Y, A, B: Dyads(Y, A, B, np.zeros(SHAPE, bool)), "leaves no pair"),
    (lambda Y, A, B: Dyads(Y.astype(str), A, B), "Y should hold numbers"),
    (lambda Y, A, B: Dyads(Y, A * np.nan, B), "view 'a' contains NaN"),
    (lambda Y, A, B: Dyads(Y, A, B, names=("a", "a")), "must be different"),
    (lambda Y, A, B: Dyads(Y, A, B, row_ids=["x"] * 23), "repeated ids"),
    (lambda Y, A, B: Dyads(Y, A, B, row_ids=["x", "y"]), "row_ids has 2 ids for 23 entities"),
    (lambda Y, A, B: Dyads(Y, A, B, column_ids=np.arange(17.0)), "floating-point"),
    (lambda Y, A, B: Dyads(Y, A, B, column_ids=[None, *range(16)]), "missing id at position 0"),
    (
        lambda Y, A, B: Dyads(
            pd.DataFrame(Y, index=[f"r{i}" for i in range(23)]), pd.DataFrame(A, index=range(1, 24)), B
        ),
        "disagree on row_ids",
    ),
    (lambda Y, A, B: Dyads(Y, A, B).moments(means="rows"), "means='rows'"),
    (lambda Y, A, B: Dyads(Y, A, B).moments(blocks="all"), "blocks="),
    (lambda Y, A, B: Dyads(Y, A, B).rows([]), "must be|not by|No rows"),
    (lambda Y, A, B: Dyads(Y, A, B).rows(np.zeros(23, bool)), "No rows are left"),
    (lambda Y, A, B: Dyads(Y, A, B).rows(np.ones(5, bool)), "5 entries for 23"),
    (lambda Y, A, B: Dyads(Y, A, B).pairs(np.zeros(SHAPE, bool)), "leaves no observed pair"),
    (lambda Y, A, B: Dyads(Y, A, B).pairs(np.ones(3, bool)), "391 observed pairs"),
    (lambda Y, A, B: Dyads.from_samples((A, A, A), Y[:, 0]), "expects two views"),
    (lambda Y, A, B: Dyads.from_samples((A, A), Y[:, 0], deduplicate=True, duplicates="x"), "duplicates='x'"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_clear_errors(rng, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(scores(rng, "dense"), *tables(rng))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, r, c: (p.assign(score=[1, np.inf, 2]), r, c), "first at position 1"),
        (lambda p, r, c: (p.assign(score=["1", "high", "2"]), r, c), "not numbers: 'high' at position 1"),
        (lambda p, r, c: (p.assign(more=[1, 2, 3], score=["a", "b", "c"], most=2), r, c), "several columns of numbers"),
        (lambda p, r, c: (p.assign(d=[1.0, 2.0, 3.0]), r, c), "read that column as strings"),
        (lambda p, r, c: (p[["d"]], r, c), "needs a column of row ids"),
        (lambda p, r, c: (p, pd.concat([r, r]), c), "repeated ids"),
        (lambda p, r, c: (p, r.to_numpy(), c), "must be a pandas or polars DataFrame"),
        (lambda p, r, c: (p.to_numpy(), r, c), "pairs must be"),
    ],
)
def test_clear_errors_of_tables(change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Dyads.from_tables(*change(*long_tables()))


def test_other_errors_of_tables():
    pairs, rows, columns = long_tables()
    with pytest.raises(ValueError, match="has no column 'disease'"):
        Dyads.from_tables(pairs, rows, columns, row="disease")
    with pytest.raises(ValueError, match="observed='mask'"):
        Dyads.from_tables(pairs, rows, columns, observed="mask")
    with pytest.raises(IndexError, match="numbered 0 to 2"):
        Dyads.from_tables(pairs, rows, columns).rows([5])

"""Splits by groups: none is on both sides, whatever their sizes, and about as much is held out as was asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jointdr import Dyads
from jointdr.data import Groups, fold_groups, minor_groups
from jointdr.evaluation import splits

FAMILIES = [f"family {k}" for k in (0, 0, 1, 2, 2, 2, 3, 4, 4, 5)]


@pytest.fixture
def dyads(rng):
    ids = {"row_ids": [f"r{i}" for i in range(10)], "column_ids": [f"c{j}" for j in range(6)]}
    return Dyads(rng.standard_normal((10, 6)), np.ones((10, 2)), np.ones((6, 3)), **ids)


def labels(least=2):
    """Labels of 2 to 40 entities, in two groups or more."""
    return st.lists(st.integers(0, 8), min_size=2, max_size=40).filter(lambda found: len(set(found)) >= least)


# ---------------------------------------------------------------- laws


@given(labels(), labels(), st.sampled_from(["rows", "columns", "both"]), st.floats(0.05, 0.6), st.integers(0, 99))
def test_no_group_is_on_both_sides(rows, columns, by, share, seed):
    """And none or all are never held out; the number is right up to the size of a group."""
    m, n = len(rows), len(columns)
    dyads = Dyads(np.ones((m, n)), np.ones((m, 1)), np.ones((n, 1)))
    counts = [max(1, round(share * k)) for k in (m, n)]
    assume(by == "columns" or counts[0] < m)  # otherwise an error, with and without groups
    assume(by == "rows" or counts[1] < n)
    for split in splits(dyads, by, 2, share, seed, groups=(rows, columns)):
        sides = (
            ("rows", rows, split.train.row_ids, split.test.row_ids, counts[0]),
            ("columns", columns, split.train.column_ids, split.test.column_ids, counts[1]),
        )
        for side, given_labels, known, held, count in sides:
            if by not in (side, "both"):
                assert known.tolist() == held.tolist()
                continue
            found = np.array(given_labels)
            of_known, of_held = found[known.astype(int)], found[held.astype(int)]
            assert not set(of_known) & set(of_held)
            assert 0 < len(held) < len(found)
            assert len(known) + len(held) == len(found)
            assert abs(len(held) - count) < np.unique(found, return_counts=True)[1].max()


@given(labels(), st.integers(1, 6), st.integers(0, 99))
def test_folds_hold_out_each_group_once_but_that_of_the_majority(found, n_folds, seed):
    codes = np.unique(found, return_inverse=True)[1]
    fold = fold_groups(codes, n_folds, np.random.RandomState(seed))
    sizes = np.bincount(codes)
    for group in range(len(sizes)):
        assert len(set(fold[codes == group])) == 1
        assert (fold[codes == group][0] == -1) == (2 * sizes[group] > len(codes))
    held = np.bincount(fold[fold >= 0])
    assert len(held) == min(n_folds, len(minor_groups(codes)))
    assert held.max() - held.min() <= sizes[minor_groups(codes)].max()


def test_groups_of_one_are_held_out_as_evenly_as_entities():
    fold = fold_groups(np.arange(23), 5, np.random.RandomState(0))
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]
    dyads = Dyads(np.ones((40, 30)))
    for split in splits(dyads, "both", 3, 0.25, 0, groups=(range(40), range(30))):
        assert split.test.shape == (10, 8)


def test_every_group_can_be_held_out(dyads):
    seen = set()
    for split in splits(dyads, "rows", 40, 0.3, 0, groups=FAMILIES):
        seen |= set(split.test.row_ids)
    assert seen == set(dyads.row_ids)


def test_large_groups_only():
    """Where no group is as small as the share, one is held out, at random, that leaves the most to be fitted."""
    found = {len(s.test.row_ids) for s in splits(Dyads(np.ones((20, 4))), "rows", 20, 0.1, 0, [6] * 6 + [9] * 14)}
    assert found == {6}
    drawn = {s.test.row_ids[0] for s in splits(Dyads(np.ones((20, 4))), "rows", 20, 0.1, 0, [0] * 10 + [1] * 10)}
    assert drawn == {"0", "10"}


# ---------------------------------------------------------------- ways to give them


def test_labels_by_position_and_by_id_are_the_same(dyads):
    shuffled = np.random.default_rng(1).permutation(10)
    by_id = pd.Series(np.array(FAMILIES, dtype=object)[shuffled], index=dyads.row_ids[shuffled])
    ways = [
        FAMILIES,
        np.array(FAMILIES),
        (FAMILIES, None),
        [np.array(FAMILIES), None],
        by_id,
        by_id.astype("category"),
        dict(by_id),
        {**by_id, "another": "x"},
        pd.Series(FAMILIES),
        pd.factorize(np.array(FAMILIES))[0],
    ]
    found = [[s.test.row_ids.tolist() for s in splits(dyads, "rows", 5, 0.3, 0, groups=way)] for way in ways]
    assert all(one == found[0] for one in found)
    assert len({tuple(test) for test in found[0]}) > 1


def test_a_side_without_groups_is_split_by_entities(dyads):
    for split in splits(dyads, "both", 5, 0.4, 0, groups=(FAMILIES, None)):
        assert not {FAMILIES[int(r[1:])] for r in split.test.row_ids} & {
            FAMILIES[int(r[1:])] for r in split.train.row_ids
        }
        assert split.test.shape[1] == 2


def test_without_groups_splits_are_what_they_were(dyads):
    """The numbers that are drawn are part of results that others have."""
    (split,) = splits(dyads, "rows", 1, 0.3, 0)
    expected = np.sort(np.random.RandomState(0).permutation(10)[:3])
    assert split.test.row_ids.tolist() == [f"r{i}" for i in expected]
    for groups in (None, (None, None)):
        (again,) = splits(dyads, "rows", 1, 0.3, 0, groups=groups)
        assert again.test.row_ids.tolist() == split.test.row_ids.tolist()


def test_groups_of_a_part_are_those_of_its_ids(dyads):
    groups = Groups.check((FAMILIES, None), dyads, ("rows",))
    codes, none = groups.codes(dyads.rows([5, 2, 0, 1]), "rows")
    assert (codes.tolist(), none) == ([2, 1, 0, 0], None)
    assert groups.codes(dyads, "columns") == (None, None)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("by", "groups", "error", "match"),
    [
        ("rows", FAMILIES[:9], ValueError, r"groups has 9 labels for 10 rows.*row_ids"),
        ("columns", (None, [1, 2]), ValueError, r"groups has 2 labels for 6 columns"),
        ("rows", ["one"] * 10, ValueError, "groups puts all 10 rows into one group"),
        ("both", (FAMILIES, [3] * 6), ValueError, "groups puts all 6 columns into one group"),
        ("rows", {"r0": 1, "r1": 2}, ValueError, r"groups has no label for 8 of 10 rows, .*'r2', 'r3', 'r4'"),
        ("rows", [None, *FAMILIES[1:]], ValueError, "groups has no label for 'r0' of the rows"),
        ("rows", [*range(9), np.nan], ValueError, "groups has no label for 'r9' of the rows"),
        ("rows", pd.Series([1, 2], index=["r0", "r0"]), ValueError, "the index of groups has repeated ids"),
        ("rows", [[1]] * 10, TypeError, r"groups has \[1\] for 'r0' of the rows"),
        ("rows", np.ones((10, 2)), ValueError, r"groups must be one label .* shape \(10, 2\)"),
        ("rows", set(range(10)), TypeError, "sequence of labels or a mapping"),
        ("rows", "family", TypeError, "groups must be a pair"),
        ("both", FAMILIES, TypeError, r"groups must be a pair, \(row_groups, column_groups\)"),
        ("rows", (None, range(6)), ValueError, r"groups of columns, but by 'rows' none of these is held out"),
        ("pairs", (FAMILIES, None), ValueError, r"by 'pairs' none of these is held out.*known are on both sides"),
        ("genes", (FAMILIES, None), ValueError, "by='genes'"),
    ],
)
def test_bad_groups(dyads, by, groups, error, match):
    with pytest.raises(error, match=match):
        next(splits(dyads, by, groups=groups))


def test_labels_of_pairs_need_a_side(dyads):
    with pytest.raises(TypeError, match="groups must be a pair"):
        next(splits(dyads, "pairs", groups=FAMILIES))

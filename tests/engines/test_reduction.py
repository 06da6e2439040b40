"""Reductions: what they make of blocks does not depend on how the rows are cut into them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from jointdr.engines import MomentsOf, MomentsOfGroups, RandomParts, RowBlock, SumsOfGroups, groups_of_response
from jointdr.engines.reduction import SumsOf, WithoutGroup, fold_of


@pytest.fixture
def block(rng):
    A, B = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    return RowBlock((A, B), rng.standard_normal((40, 1)), rng.random(40), first_row=7)


def cuts(block):
    return [list(block.pieces(size)) for size in (1, 7, 40, 100)]


def test_pieces_are_the_rows_in_order_without_copies(block):
    for pieces in cuts(block):
        assert [piece.first_row for piece in pieces] == [7 + i for i in np.cumsum([0, *map(len, pieces[:-1])])]
        for k in range(2):
            np.testing.assert_array_equal(np.concatenate([piece.views[k] for piece in pieces]), block.views[k])
            assert all(np.shares_memory(piece.views[k], block.views[k]) for piece in pieces)
        np.testing.assert_array_equal(np.concatenate([piece.weight for piece in pieces]), block.weight)


def test_pieces_of_sparse_views(block):
    pieces = list(RowBlock((sparse.csr_array(block.views[0]),), block.y, None).pieces(9))
    np.testing.assert_array_equal(np.concatenate([piece.views[0].toarray() for piece in pieces]), block.views[0])


def test_the_fold_of_a_row_does_not_depend_on_blocks():
    rows = np.arange(1000)
    whole = fold_of(rows, 5, seed=3)
    np.testing.assert_array_equal(np.concatenate([fold_of(part, 5, seed=3) for part in np.split(rows, 8)]), whole)
    assert set(whole) == set(range(5))
    assert np.bincount(whole).min() > 150
    assert (whole != fold_of(rows, 5, seed=4)).any()


def test_random_parts_go_by_the_index_among_all_rows(block):
    whole = RandomParts(3, seed=1, first_row=100)(block)[0]
    for pieces in cuts(block):
        np.testing.assert_array_equal(np.concatenate([RandomParts(3, 1, 100)(piece)[0] for piece in pieces]), whole)
    assert not RandomParts(1)(block)[0].any()


def test_moments_of_groups_are_those_of_their_rows(block):
    groups, keep = RandomParts(4, seed=2), {}
    which = groups(block)[0]
    whole = MomentsOf(keep)([block])
    for pieces in cuts(block):
        found = MomentsOfGroups(groups, 5, keep)(pieces)
        assert [part.n_samples for part in found] == [*np.bincount(which, minlength=5)]
        for i in range(4):
            expected = MomentsOf(keep)([block.rows(np.flatnonzero(which == i))]).central()
            np.testing.assert_allclose(found[i].central().third(0, 1), expected.third(0, 1), atol=1e-12)
        total = sum(found[1:], found[0]).central()
        np.testing.assert_allclose(total.third(0, 1), whole.central().third(0, 1), atol=1e-12)


def test_states_of_two_sets_of_blocks_merge_to_that_of_both(block):
    """Also where a group has rows in one of them only, or in none."""

    def sums(part):
        return part.views[0].sum(axis=0), np.array(float(len(part)))

    one, two = block.rows(np.arange(0, 25)), block.rows(np.arange(25, 40))
    split = RowBlock(block.views, np.column_stack([block.y, np.arange(40) // 20]), block.weight)
    parts = [split.rows(np.arange(0, 10)), split.rows(np.arange(10, 40))]
    for reduction, blocks in (
        (SumsOf(sums), [one, two]),
        (SumsOfGroups(sums, groups_of_response, 3), parts),
    ):
        whole = reduction(blocks)
        merged = reduction.merge(reduction(blocks[:1]), reduction(blocks[1:]))
        for a, b in zip(whole, merged, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                for u, v in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,), strict=True):
                    np.testing.assert_allclose(u, v, atol=1e-12)
    assert whole[2] is None


def test_a_group_that_is_left_out_weighs_nothing(block):
    groups = RandomParts(3)
    rest = WithoutGroup(groups, 1)(block)
    gone = groups(block)[0] == 1
    np.testing.assert_array_equal(rest.weight, np.where(gone, 0.0, block.weight))
    assert rest.total_weight() == pytest.approx(block.weight[~gone].sum())


def test_reductions_can_be_sent(block):
    reduction = pickle.loads(pickle.dumps(MomentsOfGroups(RandomParts(2), 2, {"blocks": ("cross",)})))
    assert sum(part.n_samples for part in reduction([block])) == 40

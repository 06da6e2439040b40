from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from jointdr import Dyads
from jointdr.evaluation import splits


@pytest.fixture
def dyads(rng):
    Y = np.where(rng.random((30, 20)) < 0.3, rng.random((30, 20)), 0.0)
    return Dyads(sparse.csr_array(Y), rng.standard_normal((30, 2)), rng.standard_normal((20, 3)))


def test_new_entities_are_new(dyads):
    for by, shapes in (("rows", ((27, 20), (3, 20))), ("columns", ((30, 18), (30, 2))), ("both", ((27, 18), (3, 2)))):
        for split in splits(dyads, by, 3, random_state=0):
            assert (split.train.shape, split.test.shape) == shapes
            if by != "columns":
                assert not set(split.train.row_ids) & set(split.test.row_ids)
            if by != "rows":
                assert not set(split.train.column_ids) & set(split.test.column_ids)
            whole = dyads.Y.toarray()
            for part in (split.train, split.test):
                at = np.ix_(part.row_ids.astype(int), part.column_ids.astype(int))
                np.testing.assert_array_equal(part.Y.toarray(), whole[at])
            assert [X is None for X in split.new] == [by == "columns", by == "rows"]


@pytest.mark.parametrize("observed", [None, "stored"])
def test_pairs_are_shared_out(dyads, observed):
    dyads = Dyads(dyads.Y, dyads.A, dyads.B, observed)
    split = next(splits(dyads, "pairs", test_size=0.25, random_state=1))
    assert (split.train.Y + split.test.Y - dyads.Y).count_nonzero() == 0
    assert split.train.Y.multiply(split.test.Y).nnz == 0
    assert split.test.Y.nnz == round(0.25 * dyads.Y.nnz)
    assert split.train.is_complete == dyads.is_complete
    assert split.new == (None, None)
    if observed is None:  # links that are known are no answers
        np.testing.assert_array_equal(split.known, split.train.Y.toarray() > 0)
    else:
        assert split.known is None


def test_a_grade_that_is_held_out_is_not_a_zero(rng):
    Y = rng.standard_normal((8, 5))
    split = next(splits(Dyads(Y, np.ones((8, 1)), np.ones((5, 1))), "pairs", test_size=0.25, random_state=0))
    assert not split.train.is_complete
    assert (split.train.n_observed, split.test.n_observed) == (30, 10)
    np.testing.assert_allclose((split.train.Y + split.test.Y).toarray(), Y)


def test_a_seed_gives_the_same_splits_and_they_differ_among_each_other(dyads):
    one, two = ([tuple(s.test.row_ids) for s in splits(dyads, "rows", 4, random_state=3)] for _ in range(2))
    assert one == two
    assert len(set(one)) == 4


@pytest.mark.parametrize(
    ("arguments", "match"),
    [({"by": "genes"}, "by='genes'"), ({"test_size": 1.0}, "test_size=1.0"), ({"test_size": 0.99}, "all 20 columns")],
)
def test_bad_arguments(dyads, arguments, match):
    with pytest.raises(ValueError, match=match):
        next(splits(dyads, **{"by": "columns", **arguments}))

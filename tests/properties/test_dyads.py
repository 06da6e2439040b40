"""Dyads from arrays, sparse matrices, masks and tables: the pairs that were given, or a clear error."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from jointdr import Dyads
from jointdr.evaluation import splits
from tests.properties.strategies import FORMS, IDS, data, grids
from tests.properties.verdict import given, judged


def written_out(grid):
    """The observed pairs by their definition."""
    given = grid.arguments()
    seen = given["observed"]
    if isinstance(seen, str):
        seen = grid.scored != 0
    i, j = np.nonzero(np.ones(grid.shape) if seen is None else seen)
    return grid.A[i], grid.B[j], grid.scored[i, j]


@given(grids())
def test_arrays_and_masks(grid):
    dyads = judged(lambda: Dyads(**grid.arguments()), Dyads)
    if dyads:
        X, y = dyads.triples()
        for found, expected in zip((*X.arrays, y), written_out(grid), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert dyads.n_observed == len(y)
        judged(lambda: dyads.rows([0]), Dyads)
        judged(lambda: dyads.pairs(np.ones(dyads.shape, dtype=bool)), Dyads)


@given(grids(kinds=("normal", "whole", "zeros"), scores=("links", "grades", "numbers", "constant")))
def test_moments_are_those_of_the_pairs(grid):
    dyads = judged(lambda: Dyads(**grid.arguments()), Dyads)
    if dyads:
        X, y = dyads.triples()
        from jointdr import Moments

        rows = Moments.of_block(X.arrays, y, blocks=("cross", "within")).central()
        pairs = dyads.moments(blocks=("cross", "within")).central()
        np.testing.assert_allclose(pairs.third(0, 1), rows.third(0, 1), atol=1e-9)
        np.testing.assert_allclose(pairs.covariance(0), rows.covariance(0), atol=1e-9)
        np.testing.assert_allclose(pairs.third(1, 1), rows.third(1, 1), atol=1e-9)


FORM = st.sampled_from(sorted(FORMS))


@given(grids(kinds=("normal", "zeros"), scores=("links", "numbers")), FORM, FORM)
def test_tables_in_any_form(grid, a, b):
    given = grid.arguments()
    plain = judged(lambda: Dyads(**given), Dyads)
    again = judged(lambda: Dyads(**{**given, "A": FORMS[a](grid.A), "B": FORMS[b](grid.B)}), Dyads)
    assert bool(plain) == bool(again), (plain, again)
    if plain:
        for X, Z in zip(plain.triples()[0].arrays, again.triples()[0].arrays, strict=True):
            np.testing.assert_allclose(Z.toarray() if hasattr(Z, "toarray") else Z, X, rtol=1e-12)


PLACES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(-3, 3)), max_size=12)
ANY_IDS = st.one_of(
    st.lists(IDS, min_size=6, max_size=6, unique=True),
    st.lists(IDS, min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), st.integers(-3, 3), IDS, st.floats(0, 2)), min_size=6, max_size=6),
)


@given(
    PLACES,
    ANY_IDS,
    ANY_IDS,
    st.sampled_from(["error", "mean", "sum", "max", "last"]),
    st.sampled_from([None, "stored"]),
)
def test_long_tables_joined_by_id(places, row_ids, column_ids, duplicates, observed):
    """Missing, repeated, unicode ids and ids of no entity: every listed score is in its place, or it is refused."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"id": pd.Series(row_ids, dtype=object), "x": rng.random(6)})
    columns = pd.DataFrame({"id": pd.Series(column_ids, dtype=object), "z": rng.random(6)})
    pairs = pd.DataFrame(
        {
            "row": pd.Series([row_ids[i] for i, _, _ in places], dtype=object),
            "column": pd.Series([column_ids[j] if j < 5 else "nobody" for _, j, _ in places], dtype=object),
            "score": pd.Series([s for _, _, s in places], dtype=float),
        }
    )
    options = {"duplicates": duplicates, "observed": observed}
    dyads = judged(lambda: Dyads.from_tables(pairs, rows, columns, **options), Dyads.from_tables, words=("ids", "id"))
    if dyads:
        joined = {"mean": np.mean, "sum": np.sum, "max": np.max, "last": lambda s: s[-1], "error": np.sum}[duplicates]
        held = dyads.Y.toarray() if hasattr(dyads.Y, "toarray") else dyads.Y
        listed: dict = {}
        for i, j, s in places:
            if str(column_ids[j] if j < 5 else "nobody") in dyads.column_ids:
                listed.setdefault((str(row_ids[i]), str(column_ids[j] if j < 5 else "nobody")), []).append(s)
        for (row, column), scores in listed.items():
            at = np.flatnonzero(dyads.row_ids == row), np.flatnonzero(dyads.column_ids == column)
            np.testing.assert_allclose(held[at], joined(scores), atol=1e-12)


@given(data(rows=(1, 8), widths=(1, 3), responses=("normal", "ties", "zero")), st.booleans())
def test_samples_as_dyads(rows, deduplicate):
    dyads = judged(
        lambda: Dyads.from_samples(rows.views, rows.y, deduplicate=deduplicate, duplicates="last"), Dyads.from_samples
    )
    if dyads and not deduplicate:
        X, y = dyads.triples()
        np.testing.assert_array_equal(y, rows.y)
        np.testing.assert_array_equal(X.arrays[1], rows.views[1])


@given(
    grids(kinds=("normal",), scores=("links", "grades", "constant", "zero")),
    st.sampled_from(["rows", "columns", "both", "pairs"]),
    st.sampled_from([0.01, 0.3, 0.5, 0.99]),
)
def test_splits_hold_out_what_they_fit_not(grid, by, share):
    dyads = judged(lambda: Dyads(**grid.arguments()), Dyads)
    if not dyads:
        return
    found = judged(lambda: list(splits(dyads, by, 2, share, random_state=0)), splits)
    for split in found or ():
        if by in ("rows", "both"):
            assert not set(split.train.row_ids) & set(split.test.row_ids)
        if by in ("columns", "both"):
            assert not set(split.train.column_ids) & set(split.test.column_ids)
        assert split.train.n_observed > 0
        assert split.test.n_observed > 0

"""Three and more views, several responses, and `Views` itself."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from jointdr import JDR, Views
from tests.properties.strategies import KINDS, RESPONSES, data
from tests.properties.verdict import given, judged

PARAMETERS = st.fixed_dictionaries(
    {"n_components": st.sampled_from([1, 2, "auto"])},
    optional={
        "normalize": st.sampled_from(["full", "feature", "joint", None]),
        "ridge": st.sampled_from([0.0, 0.1, "auto"]),
        "solver": st.sampled_from(["auto", "exact", "randomized", "countsketch"]),
        "moments": st.sampled_from(["cross", "all"]),
        "n_hooi": st.integers(0, 2),
        "n_folds": st.integers(2, 3),
        "scale": st.sampled_from([None, "sqrt", -1]),
    },
)


def fitted(model, X, y, w):
    model.fit(X, y, sample_weight=w)
    return model, model.transform(X), model.score(X, y, w)


@given(data(n_views=(3, 4), widths=(1, 3)), PARAMETERS)
def test_three_and_more_views(rows, parameters):
    found = judged(lambda: fitted(JDR(**parameters, random_state=0), rows.views, rows.y, rows.w), JDR, JDR.fit)
    if found:
        assert [U.shape[0] for U in found[0].embeddings_] == list(rows.widths)


@given(data(q=(2, 4), widths=(1, 4), n_views=(2, 3)), PARAMETERS)
def test_several_responses(rows, parameters):
    judged(lambda: fitted(JDR(**parameters, random_state=0), rows.views, rows.y, rows.w), JDR, JDR.fit)


@given(data(n_views=(1, 5), rows=(0, 6), kinds=KINDS, responses=RESPONSES), st.data())
def test_rows_of_views(rows, choose):
    """Any choice of rows takes the same rows of every table."""
    X = judged(lambda: Views(*rows.views), Views)
    if not isinstance(X, Views):
        assert rows.m == 0
        return
    assert len(X) == rows.m
    at = choose.draw(
        st.one_of(
            st.integers(-rows.m, rows.m - 1),
            st.slices(rows.m),
            st.lists(st.integers(-rows.m, rows.m - 1), max_size=5).map(lambda rows: np.array(rows, dtype=int)),
            st.lists(st.booleans(), min_size=rows.m, max_size=rows.m),
        )
    )
    for part, table in zip(X[at].arrays, rows.views, strict=True):
        np.testing.assert_array_equal(part, np.atleast_2d(table[at]))


COLUMNS = st.one_of(
    st.slices(5),
    st.lists(st.integers(-6, 6), max_size=5),
    st.lists(st.booleans(), max_size=6),
    st.lists(st.sampled_from(["ß0", "ß1", "x", ""]), max_size=3),
    st.sampled_from(["ß0", None, 1.5, object, [None], [1.5], [[0]], np.nan]),
)


@given(data(rows=(6, 8), widths=(5, 5), kinds=("normal",), weighted=("none",)), st.lists(COLUMNS, max_size=3))
def test_views_inside_one_matrix(rows, groups):
    """Any groups of columns give as many views, or are refused."""
    found = judged(lambda: JDR(1, views=groups, ridge=0.1).fit_transform(rows.views[0], rows.y), JDR, JDR.fit)
    if isinstance(found, np.ndarray):
        assert found.shape == (rows.m, len(groups))

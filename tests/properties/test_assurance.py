"""How sure, how many, what is amiss: `bootstrap`, `rank_profile` and `diagnose` on any data."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from jointdr import JDR, Dyads, tail_check
from jointdr.diagnostics import (
    bilinear_bound,
    bootstrap,
    correlation_edge,
    diagnose,
    noise_edge,
    null_rank,
    rank_profile,
    suggested_samples,
    threshold_rank,
)
from tests.properties.strategies import ANY_RESPONSES, data, grids, vector
from tests.properties.verdict import given, judged

OPTIONS = st.fixed_dictionaries(
    {"n_components": st.sampled_from([1, 2, "auto"])},
    optional={
        "normalize": st.sampled_from(["full", "feature", "joint", None]),
        "ridge": st.sampled_from([0.0, 0.1, "auto"]),
        "moments": st.sampled_from(["cross", "all"]),
        "n_features_to_select": st.sampled_from([None, 2]),
        "response": st.sampled_from(["auto", "rank", "slices"]),
    },
)


@given(data(rows=(2, 120), widths=(1, 3)), OPTIONS)
def test_bootstrap(rows, options):
    found = judged(
        lambda: bootstrap(JDR(**options), rows.views, rows.y, n=5, sample_weight=rows.w, random_state=0),
        bootstrap,
        JDR,
        words=["bootstrap"],
    )
    if found:
        for ends in found.intervals if isinstance(found.intervals, tuple) else [found.intervals]:
            assert (ends[:, 0] <= ends[:, 1]).all()


@given(data(rows=(2, 60), widths=(1, 3)), OPTIONS)
def test_rank_profile(rows, options):
    judged(lambda: rank_profile(JDR(**options), rows.views, rows.y, rows.w, n_permutations=19), rank_profile, JDR)


@given(grids(entities=(1, 8)), st.booleans())
def test_dyads(grid, profile):
    def assured():
        dyads = Dyads(**grid.arguments())
        if profile:
            return rank_profile(JDR(1, ridge=0.1), dyads, n_permutations=19)
        return bootstrap(JDR(1, ridge=0.1), dyads, n=5, random_state=0)

    judged(assured, bootstrap, rank_profile, JDR, Dyads)


@given(data(rows=(2, 60), widths=(1, 3)), OPTIONS, st.booleans())
def test_diagnose(rows, options, with_data):
    def diagnosed():
        model = JDR(**options).fit(rows.views, rows.y, rows.w)
        diagnosis = diagnose(model, rows.views, rows.y, rows.w) if with_data else diagnose(model)
        assert "nan" not in str(diagnosis)
        return [finding.value for finding in diagnosis]

    judged(diagnosed, JDR, JDR.fit, diagnose)


NUMBERS = st.one_of(st.integers(-1, 10), st.sampled_from([0.0, 1e-300, 0.5, 1e300, np.nan, np.inf, -1.0]))


@given(st.tuples(st.integers(-1, 50), st.integers(-1, 50)), NUMBERS, NUMBERS)
def test_bounds(n, m, other):
    """Numbers of rows and bounds are numbers, or what was given is refused."""
    judged(lambda: noise_edge(n, m, other), noise_edge)
    judged(lambda: correlation_edge(n, m), correlation_edge)
    judged(lambda: suggested_samples(n, error=m, constant=other), suggested_samples)
    judged(lambda: bilinear_bound(n, 1, m, other), bilinear_bound)


@given(st.sampled_from(ANY_RESPONSES), st.integers(0, 3000), st.sampled_from([0.01, 0.04, 0.5]))
def test_tail_check(kind, m, share):
    judged(lambda: tail_check(vector(kind, m, 0), share), tail_check)


@given(st.lists(st.floats(0, 10), max_size=6), NUMBERS, st.integers(0, 30))
def test_rules_for_ranks(values, eta, n_permutations):
    s = np.sort(np.array(values))[::-1]
    rank = judged(lambda: (threshold_rank(s, eta),), threshold_rank)
    assert not rank or 0 <= rank[0] <= len(s)
    null = np.sort(np.random.default_rng(0).random((n_permutations, max(1, len(s)))))[:, ::-1]
    rank = judged(lambda: (null_rank(s, null),), null_rank, words=["n_permutations"])
    assert not rank or 0 <= rank[0] <= len(s)

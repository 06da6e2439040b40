"""JDR with any parameters on any data: finite embeddings, or an error that names what is wrong."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from jointdr import JDR
from tests.properties.strategies import data
from tests.properties.verdict import given, judged

PARAMETERS = st.fixed_dictionaries(
    {"n_components": st.sampled_from([1, 2, "auto", (1, 2), (2, 1), 7])},
    optional={
        "normalize": st.sampled_from(["full", "feature", "joint", None]),
        "ridge": st.sampled_from([0.0, 1e-3, 1.0, 1e30, "auto"]),
        "solver": st.sampled_from(["auto", "exact", "randomized", "countsketch"]),
        "n_iter": st.integers(0, 2),
        "moments": st.sampled_from(["cross", "all"]),
        "n_features_to_select": st.sampled_from([None, 1, 2, (2, None), (None, 1), "auto"]),
        "scale": st.sampled_from([None, "sqrt", 1.0, -0.5]),
        "response": st.sampled_from(["auto", "identity", "rank", "clip", "slices", "class", np.tanh]),
        "n_slices": st.integers(2, 9),
        "n_folds": st.integers(2, 5),
        "random_state": st.integers(0, 3),
    },
)


def fitted(model, X, y, w):
    """Fit, and everything that reads off the fit."""
    model.fit(X, y, sample_weight=w)
    return model, model.transform(X), model.transform_view(X[1], 1), model.get_feature_names_out()


@given(data(), PARAMETERS)
def test_fit_and_transform(rows, parameters):
    found = judged(lambda: fitted(JDR(**parameters), rows.views, rows.y, rows.w), JDR, JDR.fit)
    if found:
        model, Z, Z_1, names = found
        r = [U.shape[1] for U in model.embeddings_]
        assert [z.shape for z in Z] == [(rows.m, k) for k in r]
        np.testing.assert_array_equal(Z[1], Z_1)
        assert len(names) == sum(r)


@given(data(), PARAMETERS)
def test_score(rows, parameters):
    def scored():
        model = JDR(**parameters).fit(rows.views, rows.y, rows.w)
        return model.score(rows.views, rows.y, rows.w)

    judged(scored, JDR, JDR.fit)


@given(data(rows=(2, 25), widths=(1, 4)), st.integers(1, 2), st.sampled_from(["auto", "bilinear", "learned"]))
def test_refine(rows, sweeps, link):
    judged(lambda: fitted(JDR(1, refine=sweeps, link=link), rows.views, rows.y, rows.w), JDR, JDR.fit)

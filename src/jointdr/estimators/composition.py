"""Embeddings of tables that were mapped linearly before the fit."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import clone

from jointdr.estimators.base import ViewsTransformer
from jointdr.estimators.inputs import name_features
from jointdr.runtime import Array


def compose_embedding(
    fitted: ViewsTransformer, maps: Sequence[Array | None], feature_names: Sequence[Array | None]
) -> ViewsTransformer:
    """The same embedding, of the tables X whose products X W it was fitted to; without moments.

    Parameters
    ----------
    fitted : ViewsTransformer
    maps : one (n_k, q_k) array W of full column rank for each view, or None where X is the table itself
    feature_names : names of the n_k features of each view, or None
    """
    found = clone(fitted)
    found.solution_ = fitted.solution_.compose(maps)
    found.view_names_, found.response_ = fitted.view_names_, fitted.response_
    found.moments_used_ = fitted.moments_used_
    for name in ("solver_", "n_sweeps_", "link_"):
        if hasattr(fitted, name):
            setattr(found, name, getattr(fitted, name))
    found.n_features_per_view_ = tuple(len(U) for U in found.solution_.bases)
    found.feature_names_per_view_ = tuple(feature_names)
    name_features(found)
    return found

"""X as checked views that agree with what a model was fitted with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from jointdr.data import Dyads, Views, as_views, default_name, join_feature_names, split_columns
from jointdr.engines import Source
from jointdr.runtime import Array


def check_views(model: Any, X: Any, reset: bool, minimum_rows: int) -> Views:
    """X as checked `Views`; with `reset` they are what the model is fitted to, else they must agree with that."""
    name = type(model).__name__
    if isinstance(X, Dyads):  # tables of different lengths
        X.require_features(name)
        X = Views.from_checked(X.names, X.feature_names, None, (X.A, X.B))
    if isinstance(X, Source):
        raise TypeError(f"A source is read by fit, score and transform of {name} only: give this rows in memory.")
    if model.views is None:
        views = as_views(X, name)
        if len(views) < minimum_rows:
            raise ValueError(f"{name} needs at least {minimum_rows} rows, got n_samples = {len(views)}.")
    elif isinstance(X, (Views, tuple)) or type(X) is dict:  # (a sparse matrix may be a dict too)
        raise TypeError(f"{name} was given views=, so it expects one matrix or DataFrame; drop views= to use Views.")
    else:
        index = X.index if hasattr(X, "iloc") else None
        X = validate_data(
            model,
            X,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_samples=minimum_rows,
            reset=reset,
        )
        views = split_columns(X, model.views, getattr(model, "feature_names_in_", None), index)
    return _agree(model, views, reset)


def check_source(model: Any, source: Source, reset: bool, minimum_rows: int) -> Views:
    """The views of a source without their rows, checked in the same way."""
    name = type(model).__name__
    if (model.views is None) != (source.table is None):
        raise TypeError(f"{name} was given views=, but the source names its views itself: drop views=.")
    if source.n_rows is not None and source.n_rows < minimum_rows:
        raise ValueError(f"{name} needs at least {minimum_rows} rows, got n_samples = {source.n_rows}.")
    if source.table is not None and reset:
        model.n_features_in_ = source.table.shape[1]
        model.__dict__.pop("feature_names_in_", None)
        if source.table.dtype == object:
            model.feature_names_in_ = source.table[0]
    return _agree(model, Views.from_checked(source.names, source.feature_names, None, source.templates), reset)


def check_features(model: Any, k: int, n_features: int, names: Array | None) -> None:
    """Raise if a table has not the features that view k was fitted with."""
    view, fitted = model.view_names_[k], model.feature_names_per_view_[k]
    if n_features != model.n_features_per_view_[k]:
        raise ValueError(
            f"view {view!r} was fitted with {model.n_features_per_view_[k]} features, but got {n_features}."
        )
    if names is not None and fitted is not None and not np.array_equal(names, fitted):
        raise ValueError(f"view {view!r} has other feature names, or in another order, than the one fitted.")


def remember_views(model: Any, views: Views) -> None:
    """Note the views that a model is fitted to, if there are enough of them."""
    if len(views.arrays) < model.fewest_views:
        raise ValueError(
            f"{type(model).__name__} needs at least {model.fewest_views} views, but got {len(views.arrays)}."
        )
    model.view_names_ = views.names
    model.n_features_per_view_ = views.n_features
    model.feature_names_per_view_ = views.feature_names
    if model.views is None:
        name_features(model)


def name_features(model: Any) -> None:
    """Set the number and the names of the features of all views, as scikit-learn calls them."""
    model.n_features_in_ = sum(model.n_features_per_view_)
    names = join_feature_names(model.feature_names_per_view_)
    if names is None:
        model.__dict__.pop("feature_names_in_", None)
    else:
        model.feature_names_in_ = names


def _agree(model: Any, views: Views, reset: bool) -> Views:
    name = type(model).__name__
    if reset:
        remember_views(model, views)
        return views
    if len(views.arrays) != len(model.view_names_):
        raise ValueError(f"{name} was fitted with {len(model.view_names_)} views, but got {len(views.arrays)}.")
    defaults = tuple(default_name(k) for k in range(len(views.names)))
    if views.names != model.view_names_ and defaults not in (views.names, model.view_names_):
        if set(views.names) != set(model.view_names_):
            raise ValueError(f"{name} was fitted with the views {model.view_names_}, but got {views.names}.")
        views = views.reordered(model.view_names_)
    if views.n_features != model.n_features_per_view_:
        raise ValueError(
            f"{name} was fitted with {model.n_features_per_view_} features per view, but got {views.n_features}."
        )
    for k, (n, seen) in enumerate(zip(views.n_features, views.feature_names, strict=True)):
        check_features(model, k, n, seen)
    return views

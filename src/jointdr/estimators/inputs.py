"""X as checked views that agree with what a model was fitted with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from jointdr.data import (
    Dyads,
    Encoders,
    TableEncoder,
    Views,
    apply_encoders,
    as_views,
    column_positions,
    default_name,
    fit_encoders,
    has_numbers_alone,
    is_frame,
    join_feature_names,
    named_groups,
    split_columns,
)
from jointdr.engines import Source
from jointdr.runtime import Array, to_numpy


def check_views(model: Any, X: Any, reset: bool, minimum_rows: int) -> Views:
    """X as checked `Views`; with `reset` they are what the model is fitted to, else they must agree with that."""
    name = type(model).__name__
    if isinstance(X, Dyads):  # tables of different lengths
        X.require_features(name)
        views = Views.from_checked(X.names, X.feature_names, None, (X.A, X.B))
        if model.views is None:
            return _agree(model, views, reset, X.encoders)
        X = views
    if isinstance(X, Source):
        raise TypeError(f"A source is read by fit, score and transform of {name} only: give this rows in memory.")
    if model.views is None:
        views = as_views(X, name)
        if len(views) < minimum_rows:
            raise ValueError(f"{name} needs at least {minimum_rows} rows, got n_samples = {len(views)}.")
    elif isinstance(X, (Views, tuple)) or type(X) is dict:  # (a sparse matrix may be a dict too)
        raise TypeError(f"{name} was given views=, so it expects one matrix or DataFrame; drop views= to use Views.")
    elif is_frame(X) and (not has_numbers_alone(X) or (not reset and any(_encoders_of(model)))):
        views = _views_of_table(model, X, reset, minimum_rows)
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
    if reset:
        views, encoders = fit_encoders(views)
        return _agree(model, views, reset, encoders)
    views = _in_fitted_order(model, views)
    return _agree(model, apply_encoders(views, _encoders_of(model), lambda k: _encoder_of_numbers(model, k)), reset)


def check_view(model: Any, k: int, X: Any) -> Views:
    """New rows of view k alone, which agree with what a model was fitted with."""
    views = Views(**{model.view_names_[k]: X})
    found = apply_encoders(views, _encoders_of(model)[k : k + 1], lambda _: _encoder_of_numbers(model, k))
    check_features(model, k, found.n_features[0], found.feature_names[0])
    return found


def _encoders_of(model: Any) -> Encoders:
    """The encoders of a fitted model; files of version 0.1 have none."""
    return getattr(model, "encoders_", (None,) * len(model.view_names_))


def _encoder_of_numbers(model: Any, k: int) -> TableEncoder | None:
    names = model.feature_names_per_view_[k]
    return None if names is None else TableEncoder.of_numbers(names, to_numpy(model.means_[k]))


def _views_of_table(model: Any, X: Any, reset: bool, minimum_rows: int) -> Views:
    """The views inside one DataFrame with columns of any kind."""
    if len(X) < minimum_rows:
        raise ValueError(f"{type(model).__name__} needs at least {minimum_rows} rows, got n_samples = {len(X)}.")
    validate_data(model, X, reset=reset, skip_check_array=True)  # which notes the names of columns, or compares them
    columns = np.asarray(list(X.columns), dtype=object)
    at = {name: column_positions(group, len(columns), columns, name) for name, group in named_groups(model.views)}
    return Views(**{name: X[columns[positions].tolist()] for name, positions in at.items()})


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


def remember_views(model: Any, views: Views, encoders: Encoders | None = None) -> None:
    """Note the views that a model is fitted to, if there are enough of them, and what made features of tables."""
    if len(views.arrays) < model.fewest_views:
        raise ValueError(
            f"{type(model).__name__} needs at least {model.fewest_views} views, but got {len(views.arrays)}."
        )
    model.view_names_ = views.names
    model.n_features_per_view_ = views.n_features
    model.feature_names_per_view_ = views.feature_names
    model.encoders_ = (None,) * len(views.arrays) if encoders is None else encoders
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


def _in_fitted_order(model: Any, views: Views) -> Views:
    """The views in the order in which they were fitted; an error where there are others."""
    name = type(model).__name__
    if len(views.arrays) != len(model.view_names_):
        raise ValueError(f"{name} was fitted with {len(model.view_names_)} views, but got {len(views.arrays)}.")
    defaults = tuple(default_name(k) for k in range(len(views.names)))
    if views.names == model.view_names_ or defaults in (views.names, model.view_names_):
        return views
    if set(views.names) != set(model.view_names_):
        raise ValueError(f"{name} was fitted with the views {model.view_names_}, but got {views.names}.")
    return views.reordered(model.view_names_)


def _agree(model: Any, views: Views, reset: bool, encoders: Encoders | None = None) -> Views:
    if reset:
        remember_views(model, views, encoders)
        return views
    views = _in_fitted_order(model, views)
    if views.n_features != model.n_features_per_view_:
        raise ValueError(
            f"{type(model).__name__} was fitted with {model.n_features_per_view_} features per view, but got "
            f"{views.n_features}."
        )
    for k, (n, seen) in enumerate(zip(views.n_features, views.feature_names, strict=True)):
        check_features(model, k, n, seen)
    return views

"""Views of tables with columns of any kind as views of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jointdr.data.tables import TableEncoder
from jointdr.data.views import Views
from jointdr.runtime import Array, is_sparse, to_numpy

Encoders = tuple[TableEncoder | None, ...]


def fit_encoders(views: Views) -> tuple[Views, Encoders]:
    """The views with features of tables of any kind, and the encoders of these; None for a view of numbers."""
    arrays: list[Array] = []
    encoders: list[TableEncoder | None] = []
    for X, name in zip(views.arrays, views.names, strict=True):
        encoder = TableEncoder() if hasattr(X, "iloc") else None
        arrays.append(X if encoder is None else encoder.fit_to_array(X))
        encoders.append(encoder)
        if encoder is not None:
            if not arrays[-1].shape[1]:
                reasons = ", ".join(f"{c.name!r} ({c.note or c.kind})" for c in encoder.columns_)
                raise ValueError(f"view {name!r} has no column that could be a feature: {reasons}.")
            encoder.warn_of_losses(name)
    return _with_features(views, arrays, encoders), tuple(encoders)


def apply_encoders(views: Views, encoders: Encoders, encoder_of_numbers: Callable[[int], TableEncoder | None]) -> Views:
    """New views as those that encoders were fitted to: columns in any order, gaps and missing columns filled in.

    Parameters
    ----------
    views : Views
    encoders : tuple of TableEncoder or None
    encoder_of_numbers : callable
        For view k, which was fitted as numbers under names, the encoder of these; None where it had no names.
    """
    arrays, used = list(views.arrays), list(encoders)
    for k, (X, names) in enumerate(zip(views.arrays, views.feature_names, strict=True)):
        if names is None:
            continue  # numbers without names, which are taken as they are
        encoder = encoders[k] or encoder_of_numbers(k)
        is_mixed = hasattr(X, "iloc")
        if encoder is None:
            arrays[k] = views.as_numbers().arrays[k]
        elif is_mixed or not np.array_equal(names, encoder.get_feature_names_out()):
            if is_sparse(X):
                continue
            used[k] = encoder
            table = X if is_mixed else _table(X, names)
            arrays[k] = encoder.transform_named(table, f"The new table of {views.names[k]!r}")
    return _with_features(views, arrays, used)


def _table(X: Array, names: Array) -> Any:
    import pandas as pd

    return pd.DataFrame(to_numpy(X), columns=list(names))


def _with_features(views: Views, arrays: Sequence[Array], encoders: Sequence[TableEncoder | None]) -> Views:
    names = tuple(
        old if encoder is None else encoder.get_feature_names_out()
        for old, encoder in zip(views.feature_names, encoders, strict=True)
    )
    return Views.from_checked(views.names, names, views.index, tuple(arrays))

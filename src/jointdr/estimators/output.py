"""Embedding of new rows with a fitted model, and the containers of their coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import TransformerMixin

from jointdr.data import Dyads, Views, raise_if_not_finite
from jointdr.directions import Embedding
from jointdr.engines import Source, Stream
from jointdr.estimators.inputs import check_source, check_view, check_views
from jointdr.estimators.options import exponent_of
from jointdr.estimators.streaming import as_source, no_response
from jointdr.runtime import Array, check_choice, namespace, to_numpy

CONTAINERS = ("default", "pandas", "polars")


class ViewsOutput(TransformerMixin, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """`transform` and `set_output` of all estimators: views in, views out."""

    views: Any
    scale: Any
    view_names_: tuple[str, ...]
    n_features_in_: int
    solution_: Embedding

    def transform(self, X: Any) -> Any:
        """Embed each view: Uᵀ(a − µ), scaled by ``scale``.

        Returns
        -------
        tuple of (m, r) arrays, one per view; in the one-matrix form one (m, 2r) array [Z_a | Z_b]; of a `Dyads` the two
        embedded entity tables; of a `Source` an iterator of such tuples, block by block
        """
        source = as_source(X, None, None, self.views)
        if source is not None:
            return self._transform_blocks(source)
        parts, views = self.embed(X)
        index = (X.row_ids, X.column_ids) if isinstance(X, Dyads) else views.index
        return self._in_container(parts, index)

    def embed(self, X: Any) -> tuple[tuple[Array, ...], Views]:
        """The embedded views as plain arrays, as `transform` computes them, and the checked views."""
        embedding = self.solution_
        views = check_views(self, X, reset=False, minimum_rows=1)
        return self._coordinates(embedding, views), views

    def _transform_blocks(self, source: Source) -> Iterator[Any]:
        embedding = self.solution_
        views = check_source(self, source, reset=False, minimum_rows=1)
        if views.names != source.names:
            raise ValueError(f"The source has the views {source.names}, but the model was fitted with {views.names}.")
        rows = Stream(source).with_responses(no_response)
        for block in rows.blocks(rows.large_block_rows()):
            views = Views.from_checked(source.names, source.feature_names, None, block.views)
            yield self._in_container(self._coordinates(embedding, views), None)

    def transform_view(self, X: Any, view: int | str) -> Any:
        """Embed rows of one view alone, for example images for which there is no text yet.

        Parameters
        ----------
        X : (m, n_k) array or DataFrame
        view : int or str
            Which view it is: its index, from 0, or its name in ``view_names_``.

        Returns
        -------
        (m, r) array, as `transform` gives it for that view
        """
        embedding, names = self.solution_, self.view_names_
        if isinstance(view, bool) or view not in (*range(len(names)), *names):
            raise ValueError(f"view={view!r} must be a number from 0 to {len(names) - 1} or one of {names}.")
        k = names.index(view) if isinstance(view, str) else int(view)
        table = check_view(self, k, X)
        with np.errstate(all="ignore"):
            Z = embedding.transform_view(k, table.arrays[0], exponent_of(self.scale))
        _require_finite_coordinates([Z], table)
        return _fill_containers([Z], [self._coordinate_names()[k]], [table.index], self._container())[0]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the embedded coordinates: the view's name, the method's name and an index."""
        names = self._coordinate_names()
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and self.views is not None:
            if known is not None and not np.array_equal(known, input_features):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(input_features)}"
                )
        return np.concatenate(names)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` returns: "default" arrays, or "pandas" or "polars" DataFrames, one per view."""
        if transform is not None:
            check_choice("transform", transform, CONTAINERS)
            self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "transform": transform}
        return self

    def _coordinates(self, embedding: Embedding, views: Views) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            parts = embedding.transform(views.arrays, exponent_of(self.scale))
        _require_finite_coordinates(parts, views)
        return parts

    def _coordinate_names(self) -> list[Array]:
        method = type(self).__name__.lower()
        names = zip(self.view_names_, self.solution_.ranks, strict=True)
        return [np.array([f"{view}_{method}{i}" for i in range(r)], dtype=object) for view, r in names]

    def _container(self) -> str | None:
        return getattr(self, "_sklearn_output_config", {}).get("transform")

    def _in_container(self, parts: tuple[Array, ...], index: Any) -> Any:
        names = self._coordinate_names()
        if self.views is not None:
            parts, names = (np.hstack([to_numpy(Z) for Z in parts]),), [np.concatenate(names)]
        indexes = index if isinstance(index, tuple) else (index,) * len(parts)
        filled = _fill_containers(parts, names, indexes, self._container())
        return filled if self.views is None else filled[0]


def _require_finite_coordinates(parts: Sequence[Array], views: Views) -> None:
    with np.errstate(all="ignore"):
        if all(np.isfinite(to_numpy(namespace(Z).sum(Z))) for Z in parts):
            return
    raise_if_not_finite(views)
    for Z, name in zip(parts, views.names, strict=True):
        if not np.isfinite(to_numpy(Z)).all():
            raise ValueError(f"view {name!r} is too large to be embedded: its coordinates overflow. Rescale it.")


def _fill_containers(
    parts: Sequence[Array], names: Sequence[Array], indexes: Sequence[Any], container: str | None
) -> tuple[Any, ...]:
    """Each array in the container that was asked for, by `set_output` or scikit-learn's configuration."""
    container = container or sklearn.get_config()["transform_output"]
    if container == "pandas":
        import pandas as pd

        return tuple(
            pd.DataFrame(to_numpy(Z), columns=n, index=i) for Z, n, i in zip(parts, names, indexes, strict=True)
        )
    if container == "polars":
        import polars as pl

        return tuple(pl.DataFrame(to_numpy(Z), schema=list(n)) for Z, n in zip(parts, names, strict=True))
    return tuple(parts)

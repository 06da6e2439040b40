"""What all estimators of the family share: views in, views out. No maths lives here."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from jointdr.data import (
    Dyads,
    Transform,
    Views,
    as_views,
    checked_response,
    checked_weight,
    default_name,
    fit_transform_of,
    raise_if_not_finite,
    refuse_dyads,
    split_columns,
    warn_if_heavy,
)
from jointdr.directions import OVERFLOW, SMALLEST_VARIANCE, UNDERFLOW, Embedding, overflow_told, projected, scaled
from jointdr.engines import Grid, Rows, Source, Stream
from jointdr.estimators.saving import load_estimator, save_estimator
from jointdr.estimators.streaming import READ_ONCE, as_source, no_response, stream_of
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, namespace, require_squares, to_numpy

KEEP_MOMENTS_BYTES = 100_000_000
"""`fit` keeps ``moments_`` while they are smaller than this."""


def exponent_of(scale: Any) -> float:
    """The power of Σ that coordinates are scaled by."""
    if scale is None:
        return 0.0
    if isinstance(scale, str) and scale == "sqrt":
        return 0.5
    if isinstance(scale, Real) and not isinstance(scale, bool) and np.isfinite(float(scale)):
        return float(scale)
    raise ValueError(f"scale={scale!r} is not understood; give None, 'sqrt' or the exponent of Σ as a number.")


def _required_finite(embedding: Embedding) -> Embedding:
    """The embedding, if nothing has overflowed on the way to it and its singular values have all their digits."""
    if not embedding.is_finite:
        raise ValueError(OVERFLOW)
    largest = max(float(np.max(s, initial=0.0)) for s in embedding.spectra)
    if 0 < largest < SMALLEST_VARIANCE[False]:
        raise ValueError(UNDERFLOW)
    return embedding


class ViewsTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A linear embedding per view, found from moments.

    A subclass has the parameters ``views`` and ``scale`` and defines `_fold` (rows → moments) and `_solve`
    (moments → `Embedding`); `_responses` is for those with the parameters ``response``, ``edges`` and ``n_slices``.
    The embedding is solved for when it is first read, so that `partial_fit` costs one merge.
    """

    fewest_views = 1
    """How many views a method needs at least."""

    uses_response = True
    """Whether a method looks at y."""

    views: Any
    scale: Any
    response: Any
    edges: Any
    n_slices: Any
    moments_: Moments
    response_: Transform
    _parts: list[Moments]
    _embedding: Embedding

    def __init_subclass__(cls, **options: Any) -> None:
        # scikit-learn's own wrapper would put only the first view into a DataFrame; `_in_container` does all.
        super().__init_subclass__(auto_wrap_output_keys=None, **options)

    # ---------------------------------------------------------------- what a subclass defines

    @abstractmethod
    def _solve(self, parts: list[Moments]) -> Embedding:
        """The embedding of the rows whose moments these are together."""

    @abstractmethod
    def _fit_rows(self, views: Views, rows: Rows) -> Self:
        """Fit to rows whose response is made already; `views` holds their names."""

    @abstractmethod
    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        """The moments of these rows, mergeable with those of rows to come, in as many parts as the method needs."""

    # ---------------------------------------------------------------- the response

    def _checked_response(self, y: Any, views: Views) -> Array:
        """The response as it was given, checked."""
        return checked_response(y, len(views), type(self).__name__, views.index)

    def _responses(self, y: Array, weight: Array | None, reset: bool, streaming: bool) -> Array:
        """The checked response as the (rows, q) numbers that moments are taken of."""
        self._read_response(self.response, self.n_slices, y, weight, reset, streaming)
        return self.response_(y)

    def _response_kind(self, y: Array) -> str:
        """What is done to a response like this one: a kind of `Transform`, before anything is read off."""
        if callable(self.response):
            return "callable"
        return ("class" if y.dtype.kind in "USb" else "identity") if self.response == "auto" else str(self.response)

    def _response_map(self, fitting: bool) -> Callable[[Array], Array]:
        """What makes the numbers that moments are taken of from checked responses, once `response_` is known."""
        return self.response_

    def _read_response(
        self, response: Any, n_slices: Any, y: Array, weight: Array | None, reset: bool, streaming: bool
    ) -> None:
        """Read off y what its transform needs, once; a stream cannot, and has to be told."""
        if streaming and self.edges is None:
            kind = "class" if response == "auto" and y.dtype.kind in "USb" else response
            # Labels that an earlier fit has seen are all there is to know of them; ranks and slices would move.
            if kind in ("rank", "clip", "slices") or (kind == "class" and reset):
                raise ValueError(
                    f"response={kind!r} reads something off all responses, which partial_fit cannot: give it as "
                    f"edges= ({'all labels' if kind == 'class' else f'numbers, see {type(self).__name__}'})."
                )
        if reset:
            self.response_ = fit_transform_of(response, y, weight, self.edges, n_slices)
            if self.response_.kind == "identity" and y.ndim == 1 and not streaming:
                warn_if_heavy(y if weight is None else y[weight > 0])

    # ---------------------------------------------------------------- fitting from moments

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was seen so far. The result is that of one `fit` on all rows, however they are cut.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
        y : (m,) array, or (m, q) for several responses
        sample_weight : (m,) array, optional

        Notes
        -----
        One pass over the new rows; the memory that is kept does not grow with their number. It continues an earlier
        `fit` if that was small (m·n₁·n₂ ≤ 10⁹): a larger `fit` saves the product C_ab, which continuing needs.
        """
        refuse_dyads(X, f"{type(self).__name__}.partial_fit")
        with self._unchanged_on_failure():
            return self._extended(X, y, sample_weight)

    def _extended(self, X: Any, y: Any, sample_weight: Any, **given: Any) -> Self:
        started = hasattr(self, "moments_")
        if not started and hasattr(self, "_embedding"):
            raise ValueError(
                "This model was fitted without keeping its moments, so that it cannot be extended: "
                "start anew with partial_fit on sklearn.base.clone(model)."
            )
        views = self._validated(X, reset=not started, minimum_rows=1)
        y = self._checked_response(y, views)
        w = checked_weight(sample_weight, len(views), minimum=0, index=views.index)
        Y = self._responses(y, w, reset=not started, streaming=True, **given)
        with np.errstate(all="ignore"):
            parts = self._fold(Rows(views.arrays, Y, w), self.moments_.n_samples if started else 0)
        self._require_finite(parts, views)
        if started and (parts[0].keep != self.moments_.keep or len(parts) != len(self._parts)):
            raise ValueError(
                "This model cannot be extended by these rows: its parameters have changed, or it was fitted with fit "
                "on so much data that C_ab was left out. Start anew with partial_fit on sklearn.base.clone(model)."
            )
        parts = [old + new for old, new in zip(self._parts, parts, strict=True)] if started else parts
        self._forget()
        self._set_parts(parts)
        return self

    def fit_moments(self, moments: Moments | list[Moments] | tuple[Moments, ...]) -> Self:
        """Fit from moments that were computed elsewhere.

        Parameters
        ----------
        moments : Moments, or a list of them
            The moments of all rows, or of parts of them. What the data is to decide (``"auto"``, ``moments="all"``) is
            decided by leaving out one part at a time.
        """
        parts = [moments] if isinstance(moments, Moments) else list(moments)
        if not parts or not all(isinstance(part, Moments) for part in parts):
            raise TypeError("fit_moments expects a Moments or a non-empty list of Moments.")
        parts = [part.to_numpy() for part in parts]
        whole = merged(parts)
        if whole.n_samples < 2 or not whole.weight > 0:
            raise ValueError("fit_moments needs moments of at least 2 rows with positive weights.")
        if not all(np.isfinite(M).all() for M in (*whole.sums, *whole.y_scatters, *whole.thirds.values())):
            raise ValueError("fit_moments got moments with NaN or infinity.")
        with self._unchanged_on_failure():
            self._remember(Views(*(np.zeros((1, n)) for n in whole.n_features)))
            self.response_ = Transform("identity", np.empty(0))
            self._forget()
            self._set_parts(parts)
            self._embedding = self._solve(parts)
        return self

    def _fit_dyads(self, dyads: Dyads, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the moments of dyads, which hold the response themselves. For `fit` of a subclass."""
        name = type(self).__name__
        if y is not None or sample_weight is not None:
            raise TypeError(f"{name} takes the response from a Dyads: leave y and sample_weight out.")
        if getattr(self, "response", "identity") not in ("auto", "identity"):
            raise ValueError(
                f"response={self.response!r} is not for a Dyads: apply it to the scores Y first, "
                "and fit with response='identity'."
            )
        with self._unchanged_on_failure():
            views = self._validated(dyads, reset=True, minimum_rows=1)
            self._forget()
            self.response_ = Transform("identity", np.empty(0))
            with np.errstate(all="ignore"):
                parts = self._fold(dyads.grid, 0)
            self._require_finite(parts, views, dyads.grid)
            self._set_parts(parts)
            self._embedding = self._solve(parts)
        return self

    def _fit_source(self, source: Source) -> Self:
        """Fit to rows that are read block by block. For `fit` of a subclass."""
        if not source.rereadable:
            self._require_one_read(READ_ONCE)
        with self._unchanged_on_failure():
            views = self._validated_source(source, reset=True, minimum_rows=2)
            self._forget()
            self._fit_rows(views, stream_of(self, source, reset=True))
        if source.checkpoint is not None:
            source.checkpoint.remove()
        return self

    def _require_one_read(self, caller: str) -> None:
        """Raise where the data has to be read several times, which `caller` cannot."""

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Give back the state from before if a fit breaks off, so that a good model is never half replaced."""
        before = dict(self.__dict__)
        try:
            with overflow_told():
                yield
                if "_embedding" in self.__dict__:
                    _required_finite(self._embedding)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _forget(self) -> None:
        """Drop what an earlier fit found."""
        for name in ("moments_", "_parts", "_embedding", "link_", "n_sweeps_", "moments_used_", "solver_"):
            self.__dict__.pop(name, None)

    def _set_parts(self, parts: list[Moments]) -> None:
        self._parts = parts
        self.moments_ = merged(parts)

    # ---------------------------------------------------------------- what was fitted

    def _solved(self) -> Embedding:
        if "_embedding" not in self.__dict__:
            if "moments_" not in self.__dict__:
                raise NotFittedError(
                    f"This {type(self).__name__} instance is not fitted yet. Call fit with views and a response first."
                )
            if self.moments_.n_samples < 2 or not self.moments_.weight > 0:
                raise NotFittedError(
                    f"partial_fit has seen {self.moments_.n_samples} sample(s) with a total weight of "
                    f"{self.moments_.weight:g}: at least 2 samples with positive weights are needed."
                )
            try:
                with overflow_told():
                    self._embedding = _required_finite(self._solve(self._parts))
            except ValueError as error:  # an attribute that cannot be had yet
                raise NotFittedError(str(error)) from error
        return self._embedding

    def __sklearn_is_fitted__(self) -> bool:
        return "_embedding" in self.__dict__ or "moments_" in self.__dict__

    @property
    def embeddings_(self) -> tuple[Array, ...]:
        """The paper's Û and V̂: one (n_k, r) array per view."""
        return self._solved().bases

    @property
    def singular_values_(self) -> Any:
        """The weight of each direction, decreasing: (r,), or one such array per view where there are no pairs."""
        spectra = self._solved().spectra
        return spectra[0] if all(np.array_equal(s, spectra[0]) for s in spectra) else spectra

    @property
    def means_(self) -> tuple[Array, ...]:
        """What `transform` subtracts from each view."""
        return self._solved().means

    @property
    def support_(self) -> tuple[Array, ...]:
        """Boolean masks of the features that take part, one per view."""
        return self._solved().support

    @property
    def n_components_(self) -> Any:
        """The number of directions r, or one number per view where they differ."""
        ranks = tuple(len(s) for s in self._solved().spectra)
        return ranks[0] if len(set(ranks)) == 1 else ranks

    # ---------------------------------------------------------------- using it

    def transform(self, X: Any) -> Any:
        """Embed each view: Uᵀ(a − µ), scaled as ``scale`` says.

        Returns
        -------
        tuple of (m, r) arrays, one per view; in the one-matrix form one (m, 2r) array [Z_a | Z_b]; of a `Dyads` the two
        embedded entity tables; of a `Source` an iterator of such tuples, block by block
        """
        source = as_source(X, None, None, self.views)
        if source is not None:
            return self._transformed_blocks(source)
        return self._in_container(*self._embedded(X))

    def _transformed_blocks(self, source: Source) -> Iterator[Any]:
        self._solved()
        views = self._validated_source(source, reset=False, minimum_rows=1)
        if views.names != source.names:
            raise ValueError(f"The source has the views {source.names}, but the model was fitted with {views.names}.")
        rows = Stream(source).with_responses(no_response)
        for block in rows.blocks(rows.large_block_rows()):
            views = Views.from_checked(source.names, source.feature_names, None, block.views)
            yield self._in_container(self._coordinates(views), None)

    def transform_view(self, X: Any, view: int | str) -> Any:
        """Embed rows of one view alone, for example images for which there is no text yet.

        Parameters
        ----------
        X : (m, n_k) array or DataFrame
        view : int or str
            Which view it is: its number, from 0, or its name in ``view_names_``.

        Returns
        -------
        (m, r) array, as `transform` gives it for that view
        """
        self._solved()
        names = self.view_names_
        if isinstance(view, bool) or view not in (*range(len(names)), *names):
            raise ValueError(f"view={view!r} must be a number from 0 to {len(names) - 1} or one of {names}.")
        k = names.index(view) if isinstance(view, str) else int(view)
        table = Views(**{names[k]: X})
        self._require_features(k, table.n_features[0], table.feature_names[0])
        Z = self._scaled_view(k, table.arrays[0], self._exponent())
        self._require_finite_coordinates([Z], table)
        return self._contained([Z], [self._names_out()[k]], [table.index])[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The held-out proxy criterion: how well the fitted proxy predicts that of other rows.

        Returns
        -------
        float
            (2⟨X_new, X̂⟩ − ‖X̂‖²)/Var(y), on rows that were not fitted: highest at the right rank, about 0 or below
            without signal. For independent features it is the share of y's variance that the bilinear prediction
            explains. It compares ranks, ridges and selections within one normalization, not normalizations with each
            other.
        """
        refuse_dyads(X, f"{type(self).__name__}.score")
        embedding = self._solved()
        source = as_source(X, y, sample_weight, self.views)
        if source is not None:
            self._validated_source(source, reset=False, minimum_rows=1)
            stream = stream_of(self, source, reset=False)
            with np.errstate(all="ignore"):
                value = self._criterion(embedding, stream)
            if not np.isfinite(value):
                stream.raise_if_not_finite()
                raise ValueError(OVERFLOW)
            return value
        views = self._validated(X, reset=False, minimum_rows=1)
        y = self._checked_response(y, views)
        w = checked_weight(sample_weight, len(views), minimum=1, index=views.index)
        Y = self._responses(y, w, reset=False, streaming=False)
        with np.errstate(all="ignore"):
            value = self._criterion(embedding, Rows(views.arrays, Y, w))
        if not np.isfinite(value):
            raise_if_not_finite(views)
            raise ValueError(OVERFLOW)
        return value

    def _criterion(self, embedding: Embedding, rows: Rows) -> float:
        return embedding.criterion(rows)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the embedded coordinates: the view's name, the method's name and a number."""
        names = self._names_out()
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
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f"transform={transform!r} is not understood; choose 'default', 'pandas' or 'polars'.")
        if transform is not None:
            self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "transform": transform}
        return self

    # ---------------------------------------------------------------- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which holds plain arrays only and can be loaded safely."""
        self._solved()
        save_estimator(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. It gives the same results to the last bit, and no code is run."""
        return load_estimator(cls, path)

    # ---------------------------------------------------------------- inner workings

    def _validated(self, X: Any, reset: bool, minimum_rows: int) -> Views:
        """X as checked `Views` that agree with what was fitted."""
        name = type(self).__name__
        if isinstance(X, Dyads):  # tables of different lengths
            X = Views.from_checked(X.names, X.feature_names, None, (X.A, X.B))
        if isinstance(X, Source):
            raise TypeError(f"A source is read by fit, score and transform of {name} only: give this rows in memory.")
        if self.views is None:
            views = as_views(X, name)
            if len(views) < minimum_rows:
                raise ValueError(f"{name} needs at least {minimum_rows} rows, got n_samples = {len(views)}.")
        elif isinstance(X, (Views, tuple)) or type(X) is dict:  # (a sparse matrix may be a dict too)
            raise TypeError(
                f"{name} was given views=, so it expects one matrix or DataFrame; drop views= to use Views."
            )
        else:
            index = X.index if hasattr(X, "iloc") else None
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype="numeric",
                ensure_all_finite=False,
                ensure_min_samples=minimum_rows,
                reset=reset,
            )
            views = split_columns(X, self.views, getattr(self, "feature_names_in_", None), index)
        return self._agreeing(views, reset)

    def _validated_source(self, source: Source, reset: bool, minimum_rows: int) -> Views:
        """The views of a source without their rows."""
        name = type(self).__name__
        if (self.views is None) != (source.table is None):
            raise TypeError(f"{name} was given views=, but the source names its views itself: drop views=.")
        if source.n_rows is not None and source.n_rows < minimum_rows:
            raise ValueError(f"{name} needs at least {minimum_rows} rows, got n_samples = {source.n_rows}.")
        if source.table is not None and reset:
            self.n_features_in_ = source.table.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if source.table.dtype == object:
                self.feature_names_in_ = source.table[0]
        return self._agreeing(Views.from_checked(source.names, source.feature_names, None, source.templates), reset)

    def _agreeing(self, views: Views, reset: bool) -> Views:
        """The views if they agree with what was fitted; with `reset` they are what is fitted."""
        name = type(self).__name__
        if reset:
            self._remember(views)
            return views
        if len(views.arrays) != len(self.view_names_):
            raise ValueError(f"{name} was fitted with {len(self.view_names_)} views, but got {len(views.arrays)}.")
        defaults = tuple(default_name(k) for k in range(len(views.names)))
        if views.names != self.view_names_ and defaults not in (views.names, self.view_names_):
            if set(views.names) != set(self.view_names_):
                raise ValueError(f"{name} was fitted with the views {self.view_names_}, but got {views.names}.")
            views = views.reordered(self.view_names_)
        if views.n_features != self.n_features_per_view_:
            raise ValueError(
                f"{name} was fitted with {self.n_features_per_view_} features per view, but got {views.n_features}."
            )
        for k, (n, seen) in enumerate(zip(views.n_features, views.feature_names, strict=True)):
            self._require_features(k, n, seen)
        return views

    def _require_features(self, k: int, n_features: int, names: Array | None) -> None:
        view, fitted = self.view_names_[k], self._feature_names[k]
        if n_features != self.n_features_per_view_[k]:
            raise ValueError(
                f"view {view!r} was fitted with {self.n_features_per_view_[k]} features, but got {n_features}."
            )
        if names is not None and fitted is not None and not np.array_equal(names, fitted):
            raise ValueError(f"view {view!r} has other feature names, or in another order, than the one fitted.")

    def _remember(self, views: Views) -> None:
        if len(views.arrays) < self.fewest_views:
            raise ValueError(
                f"{type(self).__name__} needs at least {self.fewest_views} views, but got {len(views.arrays)}."
            )
        self.view_names_ = views.names
        self.n_features_per_view_ = views.n_features
        self._feature_names = views.feature_names
        if self.views is None:
            self.n_features_in_ = sum(views.n_features)

    def _require_finite(self, parts: list[Moments], views: Views, rows: Rows | Grid | None = None) -> None:
        """NaN and infinity show in the sums, so that clean data is read only once; that squares vanish does not."""
        held = (
            M
            for p in parts
            for M in (*p.sums, *p.scatters, *p.thirds.values(), *p.cross_scatters.values(), *p.y_scatters, p.y_scatter)
        )
        if not all(np.isfinite(p.weight_squared) and (p.weight_squared > 0) == (p.weight > 0) for p in parts):
            raise ValueError("sample_weight is so large, or so small, that its squares are not: rescale the weights.")
        if all(np.isfinite(M).all() for M in held if M is not None):
            if rows is not None and not isinstance(rows, Stream):
                require_squares(rows.Y if isinstance(rows, Grid) else rows.y, "y")
            return
        if isinstance(rows, Stream):
            rows.raise_if_not_finite()
        raise_if_not_finite(views)
        raise ValueError(OVERFLOW)

    def _embedded(self, X: Any) -> tuple[tuple[Array, ...], Any]:
        """The embedded views as plain arrays, and the index of the rows where X has one."""
        self._solved()
        views = self._validated(X, reset=False, minimum_rows=1)
        return self._coordinates(views), (X.row_ids, X.column_ids) if isinstance(X, Dyads) else views.index

    def _coordinates(self, views: Views) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            parts = self._solved().transform(views.arrays, self._exponent())
        self._require_finite_coordinates(parts, views)
        return parts

    def _require_finite_coordinates(self, parts: Sequence[Array], views: Views) -> None:
        with np.errstate(all="ignore"):
            if all(np.isfinite(to_numpy(namespace(Z).sum(Z))) for Z in parts):
                return
        raise_if_not_finite(views)
        for Z, name in zip(parts, views.names, strict=True):
            if not np.isfinite(to_numpy(Z)).all():
                raise ValueError(f"view {name!r} is too large to be embedded: its coordinates overflow. Rescale it.")

    def _scaled_view(self, k: int, X: Array, exponent: float) -> Array:
        """Uᵀ(a − µ) times Σ^exponent, for the checked rows of one view."""
        embedding = self._solved()
        U, s = embedding.bases[k], embedding.spectra[k]
        with np.errstate(all="ignore"):
            return projected(X, embedding.means[k], scaled(U, s, exponent))

    def _exponent(self) -> float:
        return exponent_of(self.scale)

    def _names_out(self) -> list[Array]:
        method = type(self).__name__.lower()
        ranks = [U.shape[1] for U in self._solved().bases]
        return [
            np.array([f"{view}_{method}{i}" for i in range(r)], dtype=object)
            for view, r in zip(self.view_names_, ranks, strict=True)
        ]

    def _in_container(self, parts: tuple[Array, ...], index: Any) -> Any:
        names = self._names_out()
        if self.views is not None:
            parts, names = (np.hstack([to_numpy(Z) for Z in parts]),), [np.concatenate(names)]
        indexes = index if isinstance(index, tuple) else (index,) * len(parts)
        contained = self._contained(parts, names, indexes)
        return contained if self.views is None else contained[0]

    def _contained(self, parts: Sequence[Array], names: Sequence[Array], indexes: Sequence[Any]) -> tuple[Any, ...]:
        config = (
            getattr(self, "_sklearn_output_config", {}).get("transform") or sklearn.get_config()["transform_output"]
        )
        if config == "pandas":
            import pandas as pd

            return tuple(
                pd.DataFrame(to_numpy(Z), columns=n, index=i) for Z, n, i in zip(parts, names, indexes, strict=True)
            )
        if config == "polars":
            import polars as pl

            return tuple(pl.DataFrame(to_numpy(Z), schema=list(n)) for Z, n in zip(parts, names, strict=True))
        return tuple(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

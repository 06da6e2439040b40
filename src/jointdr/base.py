"""What all estimators of the family share: views in, views out. No maths lives here."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from jointdr import persist
from jointdr.arrays import Array, namespace, to_numpy
from jointdr.directions import Embedding
from jointdr.engines.local import Rows
from jointdr.moments import Moments
from jointdr.views import Views, as_views, checked_response, checked_weight, raise_if_not_finite, split_columns

KEEP_MOMENTS_BYTES = 100_000_000
"""`fit` keeps ``moments_`` while they are smaller than this."""


class ViewsTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A linear embedding per view, found from moments.

    A subclass has the parameters ``views`` and ``scale`` and defines `_solve` (moments → `Embedding`) and
    `_moments_needed`. The embedding is solved for when it is first read, so that `partial_fit` costs one merge.
    """

    views: Any
    scale: Any
    moments_: Moments
    _embedding: Embedding

    def __init_subclass__(cls, **options: Any) -> None:
        # scikit-learn's own wrapper would put only the first view into a DataFrame; `_in_container` does all.
        super().__init_subclass__(auto_wrap_output_keys=None, **options)

    # ---------------------------------------------------------------- what a subclass defines

    @abstractmethod
    def _solve(self, moments: Moments) -> Embedding:
        """The embedding of these moments."""

    @abstractmethod
    def _moments_needed(self, n_features: tuple[int, ...]) -> dict[str, Any]:
        """Keywords of `Moments.of_block` for moments that can be merged."""

    # ---------------------------------------------------------------- fitting from moments

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to what was seen so far. The result is that of one `fit` on all rows, however they are cut.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
        y : (m,) array
        sample_weight : (m,) array, optional

        Notes
        -----
        One pass over the new rows; the memory that is kept does not grow with their number. It continues an earlier
        `fit` if that was small (m·n₁·n₂ ≤ 10⁹): a larger `fit` saves the product C_ab, which continuing needs.
        """
        started = hasattr(self, "moments_")
        if not started and hasattr(self, "_embedding"):
            raise ValueError("This model was fitted without keeping its moments: start anew with partial_fit.")
        views = self._validated(X, reset=not started, minimum_rows=1)
        y = checked_response(y, len(views), type(self).__name__)
        w = checked_weight(sample_weight, len(views), minimum=0)
        if started and not self.moments_.is_extendable:
            raise ValueError(
                "This model was fitted with fit on so much data that it did not compute what partial_fit needs to "
                "continue (C_ab). Start with partial_fit on the first rows instead."
            )
        with np.errstate(all="ignore"):
            block = Rows(views.arrays, y, w).fold(**self._moments_needed(views.n_features))
        self._require_finite(block, views)
        self.moments_ = self.moments_.merge(block) if started else block
        self.__dict__.pop("_embedding", None)
        return self

    def fit_moments(self, moments: Moments | list[Moments] | tuple[Moments, ...]) -> Self:
        """Fit from moments that were computed elsewhere.

        Parameters
        ----------
        moments : Moments, or a list of them
            A list (the moments of folds or partitions) is merged.
        """
        parts = [moments] if isinstance(moments, Moments) else list(moments)
        if not parts or not all(isinstance(part, Moments) for part in parts):
            raise TypeError("fit_moments expects a Moments or a non-empty list of Moments.")
        whole: Moments = sum(parts[1:], parts[0]).to_numpy()
        if whole.n_samples < 2:
            raise ValueError(f"fit_moments needs moments of at least 2 rows, got {whole.n_samples}.")
        self._remember(Views(*(np.zeros((1, n)) for n in whole.n_features)))
        self.__dict__.pop("_embedding", None)
        self.moments_ = whole
        self._embedding = self._solve(whole)
        return self

    # ---------------------------------------------------------------- what was fitted

    def _solved(self) -> Embedding:
        if "_embedding" not in self.__dict__:
            if "moments_" not in self.__dict__:
                raise NotFittedError(
                    f"This {type(self).__name__} instance is not fitted yet. Call fit with views and a response first."
                )
            if self.moments_.n_samples < 2:
                raise ValueError("partial_fit has seen only 1 sample so far: at least 2 are needed.")
            self._embedding = self._solve(self.moments_)
        return self._embedding

    def __sklearn_is_fitted__(self) -> bool:
        return "_embedding" in self.__dict__ or "moments_" in self.__dict__

    @property
    def embeddings_(self) -> tuple[Array, ...]:
        """The paper's Û and V̂: one (n_k, r) array per view."""
        return self._solved().bases

    @property
    def singular_values_(self) -> Array:
        """The weight of each direction, decreasing, (r,)."""
        return self._solved().singular_values

    @property
    def means_(self) -> tuple[Array, ...]:
        """What `transform` subtracts from each view."""
        return self._solved().means

    @property
    def support_(self) -> tuple[Array, ...]:
        """Boolean masks of the features that take part, one per view."""
        return self._solved().support

    @property
    def n_components_(self) -> int:
        """The number of directions r."""
        return len(self._solved().singular_values)

    # ---------------------------------------------------------------- using it

    def transform(self, X: Any) -> Any:
        """Embed each view: Uᵀ(a − µ), scaled as ``scale`` says.

        Returns
        -------
        tuple of (m, r) arrays, one per view; in the one-matrix form one (m, 2r) array [Z_a | Z_b]
        """
        embedding = self._solved()
        views = self._validated(X, reset=False, minimum_rows=1)
        with np.errstate(all="ignore"):
            parts = embedding.transform(views.arrays, self._exponent())
        if not all(np.isfinite(to_numpy(namespace(Z).sum(Z))) for Z in parts):
            raise_if_not_finite(views)
        return self._in_container(parts, views.index)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The held-out proxy criterion: how well the fitted proxy predicts that of other rows.

        Returns
        -------
        float
            (2⟨X_new, X̂⟩ − ‖X̂‖²)/Var(y): at most 1, about 0 or below without signal. For independent normalized
            features it is the share of y's variance that the bilinear prediction explains, so it is highest at the
            right rank.
        """
        embedding = self._solved()
        views = self._validated(X, reset=False, minimum_rows=1)
        y = checked_response(y, len(views), type(self).__name__)
        w = checked_weight(sample_weight, len(views), minimum=1)
        with np.errstate(all="ignore"):
            value = embedding.criterion(views.arrays, y, w)
        if not np.isfinite(value):
            raise_if_not_finite(views)
        return value

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
        embedding = self._solved()
        header: dict[str, Any] = {
            "params": {name: _to_json(value) for name, value in self.get_params(deep=False).items()},
            "names": list(self.view_names_),
            "y_mean": embedding.y_mean,
            "centred": embedding.centred,
            "extra": {k: v for k, v in self.__dict__.items() if k.endswith("_") and isinstance(v, (int, str))},
        }
        arrays: dict[str, Array] = {"singular_values": embedding.singular_values}
        for name in ("bases", "means", "support", "probes"):
            arrays |= {f"{name}.{k}": v for k, v in enumerate(getattr(embedding, name) or ())}
        for k, features in enumerate(self._feature_names):
            if features is not None:
                arrays[f"features.{k}"] = np.asarray(features, dtype=str)
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names_in"] = np.asarray(self.feature_names_in_, dtype=str)
        if hasattr(self, "moments_"):
            header["moments"], held = persist.flattened(self.moments_)
            arrays |= held
        persist.write(path, type(self).__name__, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. It gives the same results to the last bit, and no code is run."""
        header, arrays = persist.read(path, cls.__name__)
        model = cls(**{name: _from_json(value) for name, value in header["params"].items()})
        for name, value in header["extra"].items():
            setattr(model, name, value)
        n_views = len(header["names"])

        def per_view(name: str) -> tuple[Array, ...]:
            return tuple(arrays[f"{name}.{k}"] for k in range(n_views))

        model._embedding = Embedding(
            bases=per_view("bases"),
            singular_values=arrays["singular_values"],
            means=per_view("means"),
            y_mean=header["y_mean"],
            support=per_view("support"),
            centred=header["centred"],
            probes=per_view("probes") if "probes.0" in arrays else None,
        )
        model.view_names_ = tuple(header["names"])
        model.n_features_per_view_ = tuple(len(U) for U in model._embedding.bases)
        model._feature_names = tuple(
            arrays[f"features.{k}"].astype(object) if f"features.{k}" in arrays else None for k in range(n_views)
        )
        if "feature_names_in" in arrays:
            model.feature_names_in_ = arrays["feature_names_in"].astype(object)
        if "moments" in header:
            model.moments_ = persist.rebuilt(header["moments"], arrays)
        return model

    # ---------------------------------------------------------------- inner workings

    def _validated(self, X: Any, reset: bool, minimum_rows: int) -> Views:
        """X as checked `Views` that agree with what was fitted."""
        name = type(self).__name__
        if self.views is None:
            views = as_views(X, name)
            if len(views) < minimum_rows:
                raise ValueError(f"{name} needs at least {minimum_rows} rows, got n_samples = {len(views)}.")
        elif isinstance(X, Views):
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
        if len(views.arrays) != 2:
            raise ValueError(f"{name} embeds two views, but got {len(views.arrays)}.")
        if reset:
            self._remember(views)
            return views
        if views.n_features != self.n_features_per_view_:
            raise ValueError(
                f"{name} was fitted with {self.n_features_per_view_} features per view, but got {views.n_features}."
            )
        for view, seen, fitted in zip(self.view_names_, views.feature_names, self._feature_names, strict=True):
            if seen is not None and fitted is not None and not np.array_equal(seen, fitted):
                raise ValueError(f"view {view!r} has other feature names, or in another order, than the one fitted.")
        return views

    def _remember(self, views: Views) -> None:
        self.view_names_ = views.names
        self.n_features_per_view_ = views.n_features
        self._feature_names = views.feature_names
        if self.views is None:
            self.n_features_in_ = sum(views.n_features)

    def _require_finite(self, moments: Moments, views: Views) -> None:
        """NaN and infinity show in the sums, so that clean data is read only once."""
        held = (*moments.sums, *moments.scatters, *moments.thirds.values(), *moments.cross_scatters.values())
        if all(np.isfinite(M).all() for M in held if M is not None):
            return
        raise_if_not_finite(views)
        raise ValueError(
            "The moments overflow: features or responses are too large to be multiplied with each other. "
            "Rescale them, for example with sklearn.preprocessing.StandardScaler."
        )

    def _exponent(self) -> float:
        if self.scale is None:
            return 0.0
        if self.scale == "sqrt":
            return 0.5
        if isinstance(self.scale, (int, float)) and not isinstance(self.scale, bool) and np.isfinite(self.scale):
            return float(self.scale)
        raise ValueError(f"scale={self.scale!r} is not understood; give None, 'sqrt' or the exponent of Σ as a number.")

    def _names_out(self) -> list[Array]:
        method = type(self).__name__.lower()
        ranks = [U.shape[1] for U in self._solved().bases]
        return [
            np.array([f"{view}_{method}{i}" for i in range(r)], dtype=object)
            for view, r in zip(self.view_names_, ranks, strict=True)
        ]

    def _in_container(self, parts: tuple[Array, ...], index: Any) -> Any:
        config = (
            getattr(self, "_sklearn_output_config", {}).get("transform") or sklearn.get_config()["transform_output"]
        )
        names = self._names_out()
        if self.views is not None:
            parts, names = (np.hstack([to_numpy(Z) for Z in parts]),), [np.concatenate(names)]
        if config == "pandas":
            import pandas as pd

            parts = tuple(pd.DataFrame(to_numpy(Z), columns=n, index=index) for Z, n in zip(parts, names, strict=True))
        elif config == "polars":
            import polars as pl

            parts = tuple(pl.DataFrame(to_numpy(Z), schema=list(n)) for Z, n in zip(parts, names, strict=True))
        return parts if self.views is None else parts[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _to_json(value: Any) -> Any:
    """A parameter as JSON; slices and dictionaries (of ``views=``) are tagged."""
    if isinstance(value, slice):
        return {"slice": [_to_json(end) for end in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"dict": [[key, _to_json(v)] for key, v in value.items()]}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_to_json(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None  # a fitted model draws nothing any more
    raise TypeError(f"A parameter of type {type(value).__name__} cannot be saved.")


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if "slice" in value:
            return slice(*value["slice"])
        return {key: _from_json(v) for key, v in value["dict"]}
    return [_from_json(v) for v in value] if isinstance(value, list) else value

"""Views in, views out: what all estimators of the family share. No maths lives here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from jointdr.data import Dyads, Transform, Views, check_response, checked_weight, raise_if_not_finite, refuse_dyads
from jointdr.directions import OVERFLOW, Embedding, Fitted, Link, checked_embedding, explain_overflow
from jointdr.engines import Grid, Rows, Stream
from jointdr.estimators.inputs import check_source, check_views, remember_views
from jointdr.estimators.method import FittingMethod
from jointdr.estimators.output import ViewsOutput
from jointdr.estimators.responses import IDENTITY, ResponseRule
from jointdr.estimators.saving import estimator_from_arrays, estimator_to_arrays
from jointdr.estimators.streaming import READ_ONCE, as_source, stream_of
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, Saved, check_integer

KEEP_MOMENTS_BYTES = 100_000_000  # `fit` keeps ``moments_`` while they are smaller than this


class Prepared(NamedTuple):
    """Data as a model takes it: checked views, rows with their responses made, and the model's method for them."""

    views: Views
    rows: Rows | Grid
    method: FittingMethod


class ViewsTransformer(ViewsOutput, Saved, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """A linear embedding per view, found from moments.

    A subclass has the parameters ``views`` and ``scale`` and defines `_method`, and `_rule` unless it takes the
    response as `JDR` does. The embedding is solved for when it is first read, so that `partial_fit` costs one merge.
    """

    fewest_views = 1  # that a method needs

    views: Any
    scale: Any
    response: Any
    edges: Any
    n_slices: Any
    moments_: Moments
    moments_used_: tuple[str, ...]
    response_: Transform
    view_names_: tuple[str, ...]
    n_features_per_view_: tuple[int, ...]
    feature_names_per_view_: tuple[Array | None, ...]
    encoders_: tuple[Any, ...]  # of tables with columns of any kind
    link_: Link
    n_sweeps_: int
    _parts: list[Moments]
    _embedding: Embedding

    def __init_subclass__(cls, **options: Any) -> None:
        # scikit-learn's own wrapper would put only the first view into a DataFrame; `_fill_containers` does all.
        super().__init_subclass__(auto_wrap_output_keys=None, **options)

    @abstractmethod
    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        """The method that the parameters stand for, on views as they were checked; `once` if it may read once only."""

    def _rule(self, **given: Any) -> ResponseRule:
        """How the response is taken, once the views are known; `given` are further arguments of `fit`."""
        check_response(self.response)
        check_integer("n_slices", self.n_slices, 2)
        return ResponseRule(type(self).__name__, self.response, self.edges, self.n_slices)

    def _require_one_read(self, caller: str) -> None:
        """Raise where the data has to be read several times, which `caller` cannot."""

    def _takes_pairs(self, **given: Any) -> bool:
        """Whether dyads have to be read pair by pair, because every response counts by itself."""
        return False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embeddings.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
            NumPy arrays, DataFrames, SciPy sparse matrices, or arrays of another Array API library. One view alone is
            ``(A,)``, or ``views=[slice(None)]`` and a matrix. Or a `Dyads`, which holds the response itself; or a
            `Source` of `jointdr.io`, or dask collections, which are read in blocks.
        y : (m,) array, or (m, q) for several responses
            The response of each row: numbers, or labels.
        sample_weight : (m,) array, optional
            Non-negative; a weight of 2 counts as two equal rows.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **given: Any) -> Self:
        """Check, make rows, call the method, keep the result."""
        with self._unchanged_on_failure():
            rows = self._open(X, y, sample_weight, given)
            once = isinstance(rows, Grid) or not rows.rereadable
            method = self._method(rows.n_responses, once)
            self._keep(method.fit(rows, method.options), always=isinstance(rows, Grid))
        if isinstance(rows, Stream) and rows.source.checkpoint is not None:
            rows.source.checkpoint.remove()
        return self

    def _open(self, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> Rows | Grid:
        """Checked rows with the numbers that moments are taken of; the model remembers views and transform."""
        if isinstance(X, Dyads):
            return self._open_dyads(X, y, sample_weight, given)
        source = as_source(X, y, sample_weight, self.views)
        if source is not None:
            if not source.rereadable:
                self._require_one_read(READ_ONCE)
            check_source(self, source, reset=True, minimum_rows=2)
            self._forget()
            stream, self.response_ = stream_of(source, self._rule(**given), None)
            return stream
        views = check_views(self, X, reset=True, minimum_rows=2)
        w = checked_weight(sample_weight, len(views), index=views.index)
        self._forget()
        self.response_, Y = self._rule(**given).take(y, len(views), w, views.index)
        return Rows(views.arrays, Y, w)

    def _open_dyads(self, dyads: Dyads, y: Any, sample_weight: Any, given: dict[str, Any]) -> Rows | Grid:
        name, by_pairs = type(self).__name__, self._takes_pairs(**given)
        if not by_pairs:
            self._require_one_read("a fit to a Dyads")
        if y is not None or sample_weight is not None:
            raise TypeError(f"{name} takes the response from a Dyads: leave y and sample_weight out.")
        if not by_pairs and check_response(getattr(self, "response", "identity")) not in ("auto", "identity"):
            raise ValueError(
                f"response={self.response!r} is not for a Dyads: apply it to the scores Y first, "
                "and fit with response='identity'."
            )
        check_views(self, dyads, reset=True, minimum_rows=1)
        self._forget()
        if not by_pairs:
            self.response_ = IDENTITY
            return dyads.grid
        tables, scores = dyads.pair_rows()  # gathered a block at a time
        rule, y = self._rule(**given), np.asarray(scores, dtype=float)
        self.response_ = rule.learn(y, None)
        return Rows(tables, rule.numbers(self.response_, y), None)

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
        return self._extend(X, y, sample_weight)

    def _extend(self, X: Any, y: Any, sample_weight: Any, **given: Any) -> Self:
        self._require_one_read("partial_fit")
        refuse_dyads(X, f"{type(self).__name__}.partial_fit")
        with self._unchanged_on_failure():
            started = hasattr(self, "moments_")
            if not started and hasattr(self, "_embedding"):
                raise ValueError(
                    "This model was fitted without keeping its moments, so that it cannot be extended: "
                    "start anew with partial_fit on sklearn.base.clone(model)."
                )
            views = check_views(self, X, reset=not started, minimum_rows=1)
            rule = self._rule(**given)
            y = rule.check(y, len(views), views.index)
            w = checked_weight(sample_weight, len(views), minimum=0, index=views.index)
            if started:
                rule.require_known(y, first=False)
            else:
                self.response_ = rule.learn(y, w, streaming=True)
            rows = Rows(views.arrays, rule.numbers(self.response_, y), w)
            method = self._method(rows.n_responses, once=True)
            parts = method.read(rows, method.options, self.moments_.n_samples if started else 0)
            if started and (parts[0].keep != self.moments_.keep or len(parts) != len(self._parts)):
                raise ValueError(
                    "This model cannot be extended by these rows: its parameters have changed, or it was fitted with "
                    "fit on so much data that C_ab was left out. Start anew with partial_fit on "
                    "sklearn.base.clone(model)."
                )
            parts = [old + new for old, new in zip(self._parts, parts, strict=True)] if started else parts
            self._forget()
            self.keep_moments(parts)
        return self

    def fit_moments(self, moments: Moments | list[Moments] | tuple[Moments, ...]) -> Self:
        """Fit from moments that were computed elsewhere.

        Parameters
        ----------
        moments : Moments, or a list of them
            The moments of all rows, or of parts of them. What the data is to decide (``"auto"``, ``moments="all"``) is
            decided by leaving out one part at a time.
        """
        self._require_one_read("fit_moments")
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
            remember_views(self, Views(*(np.zeros((1, n)) for n in whole.n_features)))
            self.response_ = IDENTITY
            self._forget()
            self._solve(parts, whole.n_responses)
        return self

    def _solve(self, parts: list[Moments], n_responses: int) -> None:
        method = self._method(n_responses, once=True)
        self._keep(method.solve(parts, method.options), always=True)

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Give back the state from before if a fit breaks off, so that a good model is never half replaced."""
        before = dict(self.__dict__)
        try:
            with explain_overflow():
                yield
                if "_embedding" in self.__dict__:
                    checked_embedding(self._embedding)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _forget(self) -> None:
        """Drop what an earlier fit found."""
        for name in ("moments_", "_parts", "_embedding", "link_", "n_sweeps_", "moments_used_", "solver_"):
            self.__dict__.pop(name, None)

    def _keep(self, fitted: Fitted, always: bool = False) -> None:
        """Keep the result of a fit, and the moments while they are small."""
        self._embedding = fitted.embedding
        self.moments_used_ = tuple(sorted(fitted.options.uses, key=lambda name: (name != "cross", name)))
        if fitted.parts and (always or sum(part.nbytes for part in fitted.parts) <= KEEP_MOMENTS_BYTES):
            self.keep_moments(fitted.parts)

    def keep_moments(self, parts: list[Moments]) -> None:
        """Keep the moments of the rows seen so far, from which `partial_fit` goes on."""
        self._parts = parts
        self.moments_ = merged(parts)

    @property
    def solution_(self) -> Embedding:
        """The fitted linear maps as one value, with the prediction of y that belongs to them."""
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
                with explain_overflow():
                    self._solve(self._parts, self.moments_.n_responses)
                    checked_embedding(self._embedding)
            except ValueError as error:  # an attribute that cannot be had yet
                self.__dict__.pop("_embedding", None)
                raise NotFittedError(str(error)) from error
        return self._embedding

    @solution_.setter
    def solution_(self, value: Embedding) -> None:
        self._embedding = value

    def __sklearn_is_fitted__(self) -> bool:
        return "_embedding" in self.__dict__ or "moments_" in self.__dict__

    @property
    def embeddings_(self) -> tuple[Array, ...]:
        """The paper's Û and V̂: one (n_k, r) array per view."""
        return self.solution_.bases

    @property
    def singular_values_(self) -> Any:
        """The weight of each direction, decreasing: (r,), or one such array per view where there are no pairs."""
        spectra = self.solution_.spectra
        return spectra[0] if all(np.array_equal(s, spectra[0]) for s in spectra) else spectra

    @property
    def means_(self) -> tuple[Array, ...]:
        """The mean that `transform` subtracts from each view."""
        return self.solution_.means

    @property
    def support_(self) -> tuple[Array, ...]:
        """Boolean masks of the features that take part, one per view."""
        return self.solution_.support

    @property
    def n_components_(self) -> Any:
        """The number of directions r, or one number per view where they differ."""
        ranks = self.solution_.ranks
        return ranks[0] if len(set(ranks)) == 1 else ranks

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
        embedding = self.solution_
        found = prepared(self, X, y, sample_weight, fitting=False)
        assert isinstance(found.rows, Rows)
        assert found.method.score is not None
        with np.errstate(all="ignore"):
            value = found.method.score(embedding, found.rows)
        if not np.isfinite(value):
            if isinstance(found.rows, Stream):
                found.rows.raise_if_not_finite()
            raise_if_not_finite(found.views)
            raise ValueError(OVERFLOW)
        return value

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        return estimator_to_arrays(self)

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `to_arrays` took apart."""
        return estimator_from_arrays(cls, header, arrays)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def prepared(
    model: ViewsTransformer,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    fitting: bool = True,
    caller: str | None = None,
    minimum_rows: int = 1,
) -> Prepared:
    """Data as a model takes it, for what looks at a fit from outside: scores, rank profiles, bootstraps.

    X and y must agree with a fitted model's views and transform; one that is not fitted learns them. `fitting` is
    whether responses are those that moments are taken of, or those that are scored; `caller` is the name in messages.
    """
    reset = not hasattr(model, "view_names_")
    rows: Rows | Grid
    source = as_source(X, y, sample_weight, model.views) if not fitting else None
    if source is not None:
        views = check_source(model, source, reset=False, minimum_rows=minimum_rows)
        rows, _ = stream_of(source, model._rule(), model.response_)
        return Prepared(views, rows, model._method(rows.n_responses, once=True))
    views = check_views(model, X, reset, minimum_rows)
    if isinstance(X, Dyads):
        if y is not None or sample_weight is not None:
            raise TypeError(f"{caller} takes the response from a Dyads: leave y and sample_weight out.")
        if reset:
            model.response_ = IDENTITY
        rows = X.grid
    else:
        rule = model._rule() if caller is None else replace(model._rule(), caller=caller)
        y = rule.check(y, len(views), views.index)
        w = checked_weight(sample_weight, len(views), minimum=2 if fitting else 1, index=views.index)
        if reset:
            model.response_ = rule.learn(y, w)
        rows = Rows(views.arrays, rule.numbers(model.response_, y, fitting), w)
    return Prepared(views, rows, model._method(rows.n_responses, once=True))

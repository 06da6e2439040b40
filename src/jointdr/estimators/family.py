"""The family of moment methods: what its estimators share, and the first-order ones. No maths lives here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from jointdr.data import Dyads, Transform, Views, checked_weight
from jointdr.directions import Embedding, Options, classical
from jointdr.engines import Grid, Rows
from jointdr.estimators.base import KEEP_MOMENTS_BYTES, ViewsTransformer
from jointdr.estimators.jdr import warn_no_signal
from jointdr.estimators.options import checked_ridge, ranks_of
from jointdr.estimators.scoring import linear_share
from jointdr.estimators.streaming import as_source
from jointdr.moments import Moments, merged
from jointdr.runtime import Array


class MomentMethod(ViewsTransformer):
    """A method that reads the data once, keeps moments and solves from them.

    A subclass has the parameters ``n_components``, ``views`` and ``scale``, and mostly ``ridge``.
    """

    n_components: Any
    ridge: Any = 0.0
    moments_used_: tuple[str, ...]

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
        if isinstance(X, Dyads):
            return self._fit_pairs(X, y, sample_weight) if self._takes_pairs() else self._fit_dyads(X, y, sample_weight)
        source = as_source(X, y, sample_weight, self.views)
        if source is not None:
            return self._fit_source(source)
        with self._unchanged_on_failure():
            return self._fitted(X, y, sample_weight)

    def _takes_pairs(self) -> bool:
        """Whether dyads have to be read pair by pair, because every response counts by itself."""
        return False

    def _fit_pairs(self, dyads: Dyads, y: Any = None, sample_weight: Any = None, **given: Any) -> Self:
        """Fit to the pairs of dyads as rows, which are gathered a block at a time; O(pairs · n²)."""
        if y is not None or sample_weight is not None:
            raise TypeError(f"{type(self).__name__} takes the response from a Dyads: leave y and sample_weight out.")
        with self._unchanged_on_failure():
            views = self._validated(dyads, reset=True, minimum_rows=1)
            tables, scores = dyads.pair_rows()
            return self._fit_tables(views, tables, np.asarray(scores, dtype=float), None, **given)

    def _fitted(self, X: Any, y: Any, sample_weight: Any, **given: Any) -> Self:
        views = self._validated(X, reset=True, minimum_rows=2)
        y = self._checked_response(y, views)
        w = checked_weight(sample_weight, len(views), index=views.index)
        return self._fit_tables(views, views.arrays, y, w, **given)

    def _fit_tables(self, views: Views, tables: Sequence[Array], y: Array, w: Array | None, **given: Any) -> Self:
        self._forget()
        Y = self._responses(y, w, reset=True, streaming=False, **given)
        return self._fit_rows(views, Rows(tables, Y, w))

    def _fit_rows(self, views: Views, rows: Rows) -> Self:
        with np.errstate(all="ignore"):
            parts = self._fold(rows, 0)
        self._require_finite(parts, views, rows)
        self._embedding = self._solve(parts)
        if sum(part.nbytes for part in parts) <= KEEP_MOMENTS_BYTES:
            self._set_parts(parts)
        return self

    def _options(self) -> Options:
        self._exponent()  # checks `scale`
        ranks = ranks_of(self.n_components, self.n_features_per_view_)
        if ranks is None:
            raise ValueError(f"n_components='auto' is JDR's: give {type(self).__name__} a number of directions.")
        return Options(
            ranks=ranks, ridge=checked_ridge(self.ridge), names=self.view_names_, features=self._feature_names
        )


def without_score(why: str) -> Any:
    """A `score` that is not there: asking for it says why, and `hasattr` says no."""

    def score(self: Any) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no score: {why}. Score what is predicted from its coordinates instead, for "
            "example cross_val_score(make_pipeline(model, KernelRegression()), X, y)."
        )

    return property(score)


class PCA(MomentMethod):
    """Principal component analysis of each view. The response is not looked at.

    As scikit-learn's, view by view: features are centred but not scaled, and directions are orthonormal.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
        The number of directions of each view.
    scale : None, "sqrt" or float, default None
        `transform` multiplies each coordinate by its standard deviation to this power; −1 whitens.
    views : sequence or mapping of column groups, optional
        For input that is one matrix or DataFrame, as in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
        Orthonormal columns.
    singular_values_ : (r,) array, or tuple of them
        The standard deviations along the components, decreasing, one array per view. (Variances are divided by m.)
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_
        As in `JDR`.

    Notes
    -----
    One read of the data, O(m n²). There is no `score`: it would grow with n_components only.

    Examples
    --------
    >>> from jointdr import PCA
    >>> from jointdr.datasets import make_bilinear
    >>> X, y, _ = make_bilinear(1000, n_features=(20, 10), n_components=2)
    >>> [U.shape for U in PCA(n_components=3).fit(X).embeddings_]
    [(20, 3), (10, 3)]
    """

    score = without_score("it does not look at y")
    uses_response = False

    def __init__(self, n_components: Any = 2, *, scale: Any = None, views: Any = None) -> None:
        self.n_components = n_components
        self.scale = scale
        self.views = views

    def _checked_response(self, y: Any, views: Views) -> Array:
        return np.zeros((len(views), 0))

    def _responses(self, y: Array, weight: Array | None, reset: bool, streaming: bool) -> Array:
        self.response_ = Transform("identity", np.empty(0))
        return y

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        self._options()
        return [rows.moments(blocks=(), covariance="full", cross_covariance=False)]

    def _solve(self, parts: list[Moments]) -> Embedding:
        self.moments_used_ = ()
        return classical.pca(merged(parts), self._options())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class SupervisedMethod(MomentMethod):
    """A method that takes the response as JDR does, with the same parameters."""

    def __init__(
        self,
        n_components: Any = 2,
        *,
        ridge: Any = 0.0,
        scale: Any = None,
        response: Any = "auto",
        edges: Any = None,
        n_slices: int = 8,
        views: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.scale = scale
        self.response = response
        self.edges = edges
        self.n_slices = n_slices
        self.views = views

    def _whole(self, parts: list[Moments]) -> Moments:
        whole = merged(parts)
        if not (whole.y_variances > 0).any():
            warn_no_signal()
        return whole


class OLS(SupervisedMethod):
    """Ordinary least squares in each view: the direction of the coefficients, for one response one direction.

    By Li and Duan (1989) it lies in the space sought if features are Gaussian, whatever the link; it is 0 for links
    that are even or only act through products of the views, as the bilinear one. For labels, it gives the directions of
    linear discriminant analysis.

    Parameters
    ----------
    n_components : int or tuple of ints, default 1
        At most the number of (linearly independent) responses.
    ridge, scale, response, edges, n_slices, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        How much y changes along each direction, per standard deviation of the coordinate; one array per view.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_, response_
        As in `JDR`.

    Notes
    -----
    One read of the data, O(m n²). `score` is R² of the linear prediction, the mean over the views.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import OLS
    >>> A = np.random.default_rng(0).standard_normal((1000, 3))
    >>> model = OLS().fit((A,), np.tanh(A[:, 0] - A[:, 1]))
    >>> np.abs(model.embeddings_[0][:, 0]).round(1)
    array([0.7, 0.7, 0. ])
    """

    def __init__(
        self,
        n_components: Any = 1,
        *,
        ridge: Any = 0.0,
        scale: Any = None,
        response: Any = "auto",
        edges: Any = None,
        n_slices: int = 8,
        views: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            ridge=ridge,
            scale=scale,
            response=response,
            edges=edges,
            n_slices=n_slices,
            views=views,
        )

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        self._options()
        return [rows.moments(blocks=("means",), covariance="full", cross_covariance=False)]

    def _solve(self, parts: list[Moments]) -> Embedding:
        self.moments_used_ = ("means",)
        return classical.ols(self._whole(parts), self._options())

    def _criterion(self, embedding: Embedding, rows: Rows) -> float:
        return linear_share(embedding, rows)

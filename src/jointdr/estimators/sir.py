"""Methods that cut the rows into slices or subpopulations: thin scikit-learn shells around `jointdr.directions.classical`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from jointdr.data import Dyads, Transform, Views, indicators
from jointdr.directions import Embedding, classical, sols, sols_of_entities
from jointdr.engines import Grid, MomentsOf, RowBlock, Rows, block_rows, groups_of_response
from jointdr.estimators.family import MomentMethod, without_score
from jointdr.estimators.jdr import warn_no_signal
from jointdr.estimators.scoring import linear_share
from jointdr.estimators.streaming import as_source
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, is_foreign, to_numpy

LABELS = (
    "SOLS needs a y of numbers, but got labels: give indicators of the labels, or use OLS or SIR. (The labels of "
    "subpopulations go to fit as groups=.)"
)

FEWEST_SLICES = 8
"""Slices of y where neither a number nor edges are given: at least this many, and 3 more than features, as R's dr."""


class SlicedMethod(MomentMethod):
    """A method that looks at the features within slices of y, or within classes where y holds labels."""

    def __init__(
        self,
        n_components: Any = 2,
        *,
        n_slices: int | None = None,
        edges: Any = None,
        ridge: Any = 0.0,
        scale: Any = None,
        views: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.edges = edges
        self.ridge = ridge
        self.scale = scale
        self.views = views

    def _takes_pairs(self) -> bool:
        return True

    def _responses(self, y: Array, weight: Array | None, reset: bool, streaming: bool) -> Array:
        """The number of each row's slice, (rows, 1)."""
        if not reset and self.response_.kind == "identity":
            raise ValueError(
                f"This {type(self).__name__} was fitted from moments, so that the slices of y are not known: use "
                "fit, or partial_fit with edges=."
            )
        is_label = y.dtype.kind in "USb" if reset else self.response_.kind == "class"
        n_slices = max(FEWEST_SLICES, max(self.n_features_per_view_) + 3) if self.n_slices is None else self.n_slices
        self._read_response("class" if is_label else "slices", n_slices, y, weight, reset, streaming)
        return self.response_.places(y)[:, None]

    def _response_kind(self, y: Array) -> str:
        return "class" if y.dtype.kind in "USb" else "slices"

    def _response_map(self, fitting: bool) -> Callable[[Array], Array]:
        return _Places(self.response_)


@dataclass(frozen=True)
class _Places:
    """The number of each row's slice or class, (rows, 1)."""

    transform: Transform

    def __call__(self, y: Array) -> Array:
        return self.transform.places(y)[:, None]


@dataclass(frozen=True)
class _SliceMeans:
    """Moments whose responses are the indicators of n slices, from responses that are the numbers of these."""

    n: int
    center: tuple[Array, ...] | None
    nbytes: int

    def __call__(self, blocks: Iterable[RowBlock]) -> Moments:
        keep: dict[str, Any] = {"blocks": ("means",), "covariance": "full", "cross_covariance": False, "y_center": 0.0}
        if self.center is not None:
            keep["center"] = self.center
        return MomentsOf(keep)(replace(block, y=indicators(block.y[:, 0], self.n)) for block in blocks)

    def merge(self, one: Moments, two: Moments) -> Moments:
        return one.merge(two)


class SIR(SlicedMethod):
    """Sliced inverse regression of each view (Li, 1991): where the features lie, on average, for each level of y.

    Leading eigenvectors of the covariance of the slices' means, of normalized features. It sees links that rise or fall
    in some part of y; even ones stay hidden, as does a bilinear one, view by view.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
        At most one less than the number of slices.
    n_slices : int, optional
        Slices of y, of about equal weight; R's default, max(8, n + 3) for n features of the widest view, if not given.
        Slices are read off y before the data is read. Labels are slices of their own.
    edges : sequence, optional
        Fixes the inner edges of the slices, or the labels, beforehand, which `partial_fit` needs.
    ridge, scale, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        Between 0 and 1; their squares are the eigenvalues. One array per view.
    response_ : Transform
        ``response_.grid`` holds the edges or the labels.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_
        As in `JDR`.

    Notes
    -----
    One read of the data after one of y, O(m n² + m n H) for H slices. `score` is R² of the linear prediction of the
    slices' indicators, each in units of its standard deviation, the mean over the views. `fit_moments` takes moments
    whose responses are these indicators.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import SIR
    >>> from jointdr.metrics import subspace_error
    >>> A = np.random.default_rng(0).standard_normal((20_000, 6))
    >>> model = SIR(2).fit((A,), A[:, 0] / (0.5 + (A[:, 1] + 1.5) ** 2))
    >>> bool(subspace_error(np.eye(6)[:, :2], model.embeddings_[0]) < 0.1)
    True
    """

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        assert isinstance(rows, Rows)  # `_takes_pairs`
        self._options()
        # The indicators of all rows at once would take more memory than the views.
        nbytes = 8 * sum(X.shape[1] for X in rows.views) ** 2
        reduction = _SliceMeans(self.response_.n_places, rows.pilot().get("center"), nbytes)
        return [rows.reduce(reduction, block_rows(rows.views, 4 * max(X.shape[1] for X in rows.views)))]

    def _solve(self, parts: list[Moments]) -> Embedding:
        whole = merged(parts)
        if not (whole.y_variances > 0).any():
            warn_no_signal()
        self.moments_used_ = ("means",)
        return classical.sir(whole, self._options())

    def _criterion(self, embedding: Embedding, rows: Rows) -> float:
        root = embedding.y_mean  # of the share of each slice, which scales its indicator
        scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        return linear_share(embedding, rows.with_responses(_Indicators(scale)))


@dataclass(frozen=True)
class _Indicators:
    """The indicators of slices, each in its own scale, from their numbers."""

    scale: Array

    def __call__(self, block: RowBlock) -> Array:
        return indicators(block.y[:, 0], len(self.scale)) * self.scale


class SAVE(SlicedMethod):
    """Sliced average variance estimation of each view (Cook and Weisberg, 1991): how the features spread.

    Leading eigenvectors of Σ p_h (I − V_h)², with the covariance V_h of the normalized features within slice h. It sees
    even links as well, but needs many rows in each slice.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
    n_slices : int, optional
        Slices of y, of about equal weight; R's default, max(8, n + 3) for n features of the widest view, if not given.
        Fewer, such as 5, are often better. Slices are read off y before the data is read. Labels are slices of their
        own.
    edges : sequence, optional
        Fixes the inner edges of the slices, or the labels, beforehand, which `partial_fit` needs.
    ridge, scale, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        The square roots of the eigenvalues; one array per view.
    response_ : Transform
        ``response_.grid`` holds the edges or the labels.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_
        As in `JDR`.

    Notes
    -----
    One read of the data after one of y, O(m n² + n³ H) and memory O(n² H) for H slices. The covariance within a slice
    is divided by its number of rows, as in R's dr. `fit_moments` takes a list, the moments of each slice.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import SAVE
    >>> from jointdr.metrics import subspace_error
    >>> A = np.random.default_rng(0).standard_normal((20_000, 6))
    >>> model = SAVE(2, n_slices=5).fit((A,), A[:, 0] ** 2 + A[:, 1])
    >>> bool(subspace_error(np.eye(6)[:, :2], model.embeddings_[0]) < 0.1)
    True
    """

    score = without_score("its directions are no prediction of y")

    def fit_moments(self, moments: Any) -> Self:
        """Fit from moments that were computed elsewhere.

        Parameters
        ----------
        moments : list of Moments
            Those of each slice, with full covariances.
        """
        if isinstance(moments, Moments):
            raise TypeError("fit_moments of SAVE expects a list, the Moments of each slice of y.")
        return super().fit_moments(moments)

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        assert isinstance(rows, Rows)  # `_takes_pairs`
        self._options()
        n = self.response_.n_places
        return rows.group_moments(groups_of_response, n, blocks=(), covariance="full", cross_covariance=False)

    def _solve(self, parts: list[Moments]) -> Embedding:
        if sum(part.weight > 0 for part in parts) < 2:
            warn_no_signal()
        self.moments_used_ = ("slices",)
        return classical.save(parts, self._options())


@dataclass(frozen=True)
class _WithPlace:
    """The responses as numbers and, where a transform tells it, the number of each row's slice as the last column."""

    transform: Transform | None

    def __call__(self, y: Array) -> Array:
        if y.dtype.kind in "US":
            raise ValueError(LABELS)
        Y = y.astype(np.float64)
        Y = Y[:, None] if Y.ndim == 1 else Y
        if self.transform is None:
            return Y
        is_cut = self.transform.kind == "slices"
        return np.column_stack([Y, self.transform.places(Y[:, 0]) if is_cut else np.zeros(len(Y))])


class SOLS(MomentMethod):
    """Separable ordinary least squares: for each view, its part of the coefficients of all views together.

    Unlike `OLS`, the covariance between the views is taken into account, so that a view gets no credit for what another
    one explains. Least squares gives one direction for each response; more come from subpopulations: ``groups=`` in
    `fit`, or slices of y. In a `Dyads`, if there are neither, every column entity is a subpopulation for the rows, and
    every row entity for the columns.

    Parameters
    ----------
    n_components : int or tuple of ints, default 1
        At most the number of subpopulations times that of responses.
    n_slices : int, optional
        Makes that many slices of y the subpopulations, where no ``groups`` are given.
    edges : sequence, optional
        Fixes the inner edges of the slices, or the labels of the groups, beforehand, which `partial_fit` needs.
    ridge, scale, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        In units of y per standard deviation of the coordinate; one array per view.
    response_ : Transform
        What tells the subpopulations apart: ``response_.grid`` holds the edges or the labels.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_
        As in `JDR`.

    Notes
    -----
    One read of the data (after one of y, for slices), O(m n² + n³ H) for H subpopulations. Each has its own least
    squares, with its own means and covariances, and so needs more rows than there are features, or a ``ridge``. Their
    coefficients are put side by side, times the square root of each one's share of the rows, for normalized features;
    the embedding is spanned by the leading left singular vectors. `score` is R² of the linear prediction from the
    coordinates of all views. `fit_moments` takes the moments of all rows, or a list with those of each subpopulation.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import SOLS
    >>> rng = np.random.default_rng(0)
    >>> A, B, group = rng.standard_normal((2000, 3)), rng.standard_normal((2000, 2)), rng.integers(2, size=2000)
    >>> y = np.where(group == 0, A[:, 0], A[:, 1]) + B[:, 0]
    >>> [U.shape for U in SOLS(2).fit((A, B), y, groups=group).embeddings_]
    [(3, 2), (2, 2)]
    """

    def __init__(
        self,
        n_components: Any = 1,
        *,
        n_slices: int | None = None,
        edges: Any = None,
        ridge: Any = 0.0,
        scale: Any = None,
        views: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.edges = edges
        self.ridge = ridge
        self.scale = scale
        self.views = views

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn the embeddings.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
        y : (m,) array, or (m, q) for several responses
            Numbers.
        sample_weight : (m,) array, optional
        groups : (m,) array, optional
            The label of the subpopulation that each row belongs to.
        """
        if isinstance(X, Dyads):
            if groups is not None or self.n_slices is not None or self.edges is not None:
                return self._fit_pairs(X, y, sample_weight, groups=groups)
            one = self.n_components == 1  # one population
            return self._fit_dyads(X, y, sample_weight) if one else self._fit_entities(X, y)
        source = as_source(X, y, sample_weight, self.views)
        if source is not None:
            if groups is not None:
                raise TypeError("SOLS takes no groups= beside a source: use n_slices=, or partial_fit block by block.")
            return self._fit_source(source)
        with self._unchanged_on_failure():
            return self._fitted(X, y, sample_weight, groups=groups)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Add rows to what was seen so far. The result is that of one `fit` on all rows, however they are cut.

        Parameters as in `fit`; the labels of ``groups`` have to be given beforehand, as ``edges``.
        """
        with self._unchanged_on_failure():
            return self._extended(X, y, sample_weight, groups=groups)

    def _fit_entities(self, dyads: Dyads, y: Any) -> Self:
        """Fit to dyads with entities as subpopulations."""
        if y is not None:
            raise TypeError("SOLS takes the response from a Dyads: leave y out.")
        with self._unchanged_on_failure():
            views = self._validated(dyads, reset=True, minimum_rows=1)
            self._forget()
            self.response_ = Transform("identity", np.empty(0))
            with np.errstate(all="ignore"):
                moments = dyads.moments(blocks=("means",), covariance="full", cross_covariance=True)
            self._require_finite([moments], views, dyads.grid)
            if not (moments.y_variances > 0).any():
                warn_no_signal()
            self.moments_used_ = ("means",)
            self._embedding = sols_of_entities(dyads.grid, moments, self._options())
        return self

    def _checked_response(self, y: Any, views: Views) -> Array:
        y = super()._checked_response(y, views)
        if y.dtype.kind in "US":
            raise ValueError(LABELS)
        return y.astype(np.float64)

    def _responses(self, y: Array, weight: Array | None, reset: bool, streaming: bool, groups: Any = None) -> Array:
        """The responses and, but for `score`, the number of each row's subpopulation as the last column."""
        Y = y[:, None] if y.ndim == 1 else y
        if not reset and not streaming:
            return Y
        if groups is not None:
            which = self._places_of(groups, len(Y), reset, streaming)
        elif self.n_slices is None and self.edges is None:
            if reset:
                self.response_ = Transform("identity", np.empty(0))
            which = np.zeros(len(Y))
        else:
            self._read_response("slices", self.n_slices or FEWEST_SLICES, y, weight, reset, streaming)
            which = self.response_.places(y)
        return np.column_stack([Y, which])

    def _response_kind(self, y: Array) -> str:
        return "identity" if self.n_slices is None and self.edges is None else "slices"

    def _response_map(self, fitting: bool) -> Callable[[Array], Array]:
        return _WithPlace(self.response_ if fitting else None)

    def _places_of(self, groups: Any, n_rows: int, reset: bool, streaming: bool) -> Array:
        labels = np.asarray(to_numpy(groups) if is_foreign(groups) else groups)
        labels = labels.astype(str) if labels.dtype.kind == "O" else labels
        if labels.shape != (n_rows,):
            raise ValueError(f"groups must hold one label per row: {n_rows} rows, but got shape {labels.shape}.")
        if reset:
            if streaming and self.edges is None:
                raise ValueError(
                    "groups may bring new labels later, which partial_fit cannot take: give all as edges=."
                )
            known = labels if self.edges is None else np.asarray(self.edges, dtype=labels.dtype)
            self.response_ = Transform("class", np.unique(known))
        if not np.isin(labels, self.response_.grid).all():
            new = np.setdiff1d(labels, self.response_.grid)
            raise ValueError(
                f"groups holds labels that are not among edges=, or that fit has not seen: {new[:5].tolist()}."
            )
        return self.response_.places(labels)

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        self._options()
        keep: dict[str, Any] = {"blocks": ("means",), "covariance": "full", "cross_covariance": True}
        if isinstance(rows, Grid):
            return [rows.moments(**keep)]
        return rows.group_moments(groups_of_response, self.response_.n_places, **keep)

    def _solve(self, parts: list[Moments]) -> Embedding:
        if not any((part.y_variances > 0).any() for part in parts if part.weight > 0):
            warn_no_signal()
        self.moments_used_ = ("means",)
        return sols(parts, self._options())

    def _criterion(self, embedding: Embedding, rows: Rows) -> float:
        return linear_share(embedding, rows, joint=True)

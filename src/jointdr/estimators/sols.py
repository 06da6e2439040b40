"""SOLS: separable ordinary least squares of all views together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

from jointdr.directions import Fitted, Options, require_finite, sols, sols_of_entities, warn_no_signal
from jointdr.engines import Grid, Rows, groups_of_response
from jointdr.estimators.base import ViewsTransformer
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import method_options
from jointdr.estimators.responses import GroupedResponse
from jointdr.estimators.scoring import linear_share
from jointdr.moments import Moments
from jointdr.runtime import check_integer


class SOLS(ViewsTransformer):
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
        The subpopulations: ``response_.grid`` holds the edges or the labels.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_
        As in `JDR`.

    Notes
    -----
    One read of the data (after one of y, for slices), O(m n² + n³ H) for H subpopulations. Each has its own least
    squares, with its own means and covariances, and so needs more rows than there are features, or a ``ridge``. Their
    coefficients are put side by side, times the square root of each one's share of the rows, for normalized features;
    the embedding is spanned by the leading left singular vectors. `score` is R² of the linear prediction from the
    coordinates of all views. `fit_moments` takes the moments of all rows, or a list with those of each subpopulation.

    References
    ----------
    Liu, Chiaromonte and Li (2017), Structured ordinary least squares: a sufficient dimension reduction approach for
    regressions with partitioned predictors and heterogeneous units. Biometrics 73.

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
        return self._fit(X, y, sample_weight, groups=groups)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Add rows to what was seen so far. The result is that of one `fit` on all rows, however they are cut.

        Parameters as in `fit`; the labels of ``groups`` have to be given beforehand, as ``edges``.
        """
        return self._extend(X, y, sample_weight, groups=groups)

    def _takes_pairs(self, groups: Any = None, **given: Any) -> bool:
        return groups is not None or self.n_slices is not None or self.edges is not None

    def _rule(self, groups: Any = None, **given: Any) -> GroupedResponse:
        if self.n_slices is not None:
            check_integer("n_slices", self.n_slices, 2)
        return GroupedResponse("SOLS", "identity", self.edges, self.n_slices, groups)

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        reading = partial(_read_groups, n_groups=self.response_.n_places)
        score = partial(linear_share, joint=True)
        method = by_moments(method_options(self, ("means",)), sols, reading=reading, score=score, in_parts=True)
        one = isinstance(self.n_components, int) and self.n_components == 1
        return method if one else replace(method, fit=partial(_fit_entities, otherwise=method.fit))


def _fit_entities(rows: Rows | Grid, options: Options, otherwise: Callable[[Rows | Grid, Options], Fitted]) -> Fitted:
    """Of a grid, the entities of the other kind are the subpopulations."""
    if not isinstance(rows, Grid):
        return otherwise(rows, options)
    (moments,) = _read_groups(rows, options, 1)
    require_finite([moments], rows, options)
    if not (moments.y_variances > 0).any():
        warn_no_signal()
    return Fitted(options, sols_of_entities(rows, moments, options), [])


def _read_groups(rows: Rows | Grid, options: Options, n_groups: int) -> list[Moments]:
    """The moments of each subpopulation; of a grid, those of all pairs."""
    keep: dict[str, Any] = {"blocks": ("means",), "covariance": "full", "cross_covariance": True}
    return (
        [rows.moments(**keep)] if isinstance(rows, Grid) else rows.group_moments(groups_of_response, n_groups, **keep)
    )

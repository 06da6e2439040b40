"""OLS: ordinary least squares in each view."""

from __future__ import annotations

from typing import Any

from jointdr.directions import classical
from jointdr.estimators.family import SupervisedMethod
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import method_options
from jointdr.estimators.scoring import linear_share


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

    References
    ----------
    Li and Duan (1989), Regression analysis under link violation. Annals of Statistics 17.

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

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        keep = {"blocks": ("means",), "covariance": "full", "cross_covariance": False}
        return by_moments(method_options(self, ("means",)), classical.ols, keep, score=linear_share)

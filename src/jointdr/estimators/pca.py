"""PCA: principal components of each view."""

from __future__ import annotations

from typing import Any

from jointdr.directions import classical
from jointdr.estimators.base import ViewsTransformer
from jointdr.estimators.family import without_score
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import method_options
from jointdr.estimators.responses import NoResponse


class PCA(ViewsTransformer):
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

    References
    ----------
    Pearson (1901), On lines and planes of closest fit to systems of points in space. Philosophical Magazine 2.

    Examples
    --------
    >>> from jointdr import PCA
    >>> from jointdr.datasets import make_bilinear
    >>> X, y, _ = make_bilinear(1000, n_features=(20, 10), n_components=2)
    >>> [U.shape for U in PCA(n_components=3).fit(X).embeddings_]
    [(20, 3), (10, 3)]
    """

    score = without_score("it does not look at y")

    def __init__(self, n_components: Any = 2, *, scale: Any = None, views: Any = None) -> None:
        self.n_components = n_components
        self.scale = scale
        self.views = views

    def _rule(self, **given: Any) -> NoResponse:
        return NoResponse("PCA")

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        keep = {"blocks": (), "covariance": "full", "cross_covariance": False}
        return by_moments(method_options(self, ()), classical.pca, keep)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

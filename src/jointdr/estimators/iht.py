"""IHT: iterative Hessian transformation of each view."""

from __future__ import annotations

from jointdr.directions import classical
from jointdr.estimators.family import SupervisedMethod, without_score
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import method_options


class IHT(SupervisedMethod):
    """Iterative Hessian transformation of each view: the span of β, Hβ, H²β, ... (Cook and Li, 2002).

    β are the coefficients of least squares and H the matrix of pHd, both of normalized features. It asks less of the
    features than pHd (linear conditional means alone), but starts from β, so that it sees nothing where OLS does not.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
    ridge, scale, response, edges, n_slices, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        The singular values of [β, H] within the span, in units of y; one array per view.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_, response_
        As in `JDR`.

    Notes
    -----
    One read of the data, O(m n²).

    References
    ----------
    Cook and Li (2002), Dimension reduction for conditional mean in regression. Annals of Statistics 30.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import IHT
    >>> from jointdr.metrics import subspace_error
    >>> A = np.random.default_rng(0).standard_normal((20_000, 6))
    >>> model = IHT(2).fit((A,), A[:, 0] + A[:, 0] * A[:, 1])
    >>> bool(subspace_error(np.eye(6)[:, :2], model.embeddings_[0]) < 0.1)
    True
    """

    score = without_score("its directions are no prediction of y")

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        keep = {"blocks": ("within",), "covariance": "full", "cross_covariance": False}
        return by_moments(method_options(self, ("means", "within")), classical.iht, keep)

"""SAVE: sliced average variance estimation of each view."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

from jointdr.directions import Embedding, Options, classical, warn_no_signal
from jointdr.engines import Grid, Rows, groups_of_response
from jointdr.estimators.family import SlicedMethod, without_score
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import method_options
from jointdr.moments import Moments


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

    References
    ----------
    Cook and Weisberg (1991), Discussion of "Sliced inverse regression for dimension reduction". JASA 86.

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

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        reading = partial(_read_slices, n_slices=self.response_.n_places)
        return by_moments(method_options(self, ("slices",)), _solve, reading=reading, in_parts=True)


def _read_slices(rows: Rows | Grid, options: Options, n_slices: int) -> list[Moments]:
    """The moments of the rows of each slice."""
    assert isinstance(rows, Rows)  # `_takes_pairs`
    return rows.group_moments(groups_of_response, n_slices, blocks=(), covariance="full", cross_covariance=False)


def _solve(parts: Sequence[Moments], options: Options) -> Embedding:
    if sum(part.weight > 0 for part in parts) < 2:
        warn_no_signal()
    return classical.save(parts, options)

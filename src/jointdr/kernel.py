"""Nadaraya-Watson kernel regression on embedded views (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from jointdr.arrays import Array, is_sparse, to_numpy
from jointdr.engines.local import slices
from jointdr.response import checked_numbers
from jointdr.views import Views, as_views, checked_weight

MULTIPLES = np.geomspace(0.03, 1.0, 16)
"""Bandwidths tried by ``"auto"``, as multiples of the root mean square distance between rows."""

QUERIES = 1000
"""Rows left out one at a time by ``"auto"``, at most."""

SAME_POINT = 1e-10
"""Squared distance, in units of the mean one, below which two rows are copies of each other."""


class KernelRegression(RegressorMixin, BaseEstimator):
    """Nadaraya-Watson regression with a product of Gaussian kernels, one per view.

    The prediction for (a, b) is the mean of the training responses, weighted by
    exp(−‖a − a_i‖²/2h_a²) · exp(−‖b − b_i‖²/2h_b²). Where every weight vanishes, far from all training rows, it is
    their mean response.

    Parameters
    ----------
    bandwidth : "auto", float or one float per view
        h. ``"auto"`` takes the same multiple of each view's root mean square distance, the one with the smallest
        leave-one-out squared error; at most 1000 rows are left out, each predicted from all others but its copies.
    max_bytes : int
        Memory for blocks of the kernel matrix; results do not depend on it.
    random_state : int, RandomState or None
        Which rows ``"auto"`` leaves out, if there are more than 1000.

    Attributes
    ----------
    bandwidth_ : tuple of floats
        One per view.
    y_mean_ : float
        The (weighted) mean of the training responses.

    Notes
    -----
    Cost O(m · m_new · d) to predict, in blocks.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from jointdr import JDR, KernelRegression
    >>> from jointdr.datasets import make_bilinear
    >>> X, y, _ = make_bilinear(3000, n_features=10, n_components=1)
    >>> model = make_pipeline(JDR(n_components=1), KernelRegression()).fit(X[:2000], y[:2000])
    >>> model.score(X[2000:], y[2000:]) > 0.3
    True
    """

    def __init__(self, bandwidth: Any = "auto", *, max_bytes: int = 64_000_000, random_state: Any = None) -> None:
        self.bandwidth = bandwidth
        self.max_bytes = max_bytes
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRegression:
        """Keep the training rows and choose the bandwidths.

        Parameters
        ----------
        X : tuple of (m, d_k) arrays, Views, or one (m, d) array
            Embedded views, as `JDR.transform` gives them.
        y : (m,) array
        sample_weight : (m,) array, optional
        """
        views = self._views(X, reset=True)
        y = checked_numbers(y, len(views[0]), "KernelRegression")
        w = checked_weight(sample_weight, len(y))
        self.y_ = y
        self.weight_ = w
        self.y_mean_ = float(np.average(y, weights=w))
        spread = [_spread(Z, w) for Z in views]
        if isinstance(self.bandwidth, str):
            if self.bandwidth != "auto":
                raise ValueError(
                    f"bandwidth={self.bandwidth!r} is not understood; give 'auto', a number or one per view."
                )
            scaled = np.hstack([(Z - Z.mean(axis=0)) / s for Z, s in zip(views, spread, strict=True)])
            c = self._best_multiple(scaled)
            self.bandwidth_ = tuple(c * s for s in spread)
        else:
            h = np.atleast_1d(np.asarray(self.bandwidth, dtype=float))
            h = np.repeat(h, len(views)) if len(h) == 1 else h
            if h.shape != (len(views),) or not np.isfinite(h).all() or (h <= 0).any():
                raise ValueError(
                    f"bandwidth={self.bandwidth!r} must be a positive number or one per view ({len(views)} views)."
                )
            self.bandwidth_ = tuple(float(v) for v in h)
        self.centers_ = [Z.mean(axis=0) for Z in views]  # distances lose digits far from 0
        self.rows_ = self._scaled(views)
        return self

    def predict(self, X: Any) -> Array:
        """The predicted response of each row, (m_new,)."""
        check_is_fitted(self)
        queries = self._scaled(self._views(X, reset=False))
        prediction = np.empty(len(queries))
        for at, K in self._kernels(queries, self.rows_):
            prediction[at] = self._averages(K)
        return prediction

    def _averages(self, K: Array) -> Array:
        if self.weight_ is not None:
            K = K * self.weight_
        total = K.sum(axis=1)
        return np.divide(K @ self.y_, total, out=np.full(len(K), self.y_mean_), where=total > np.finfo(float).tiny)

    def _kernels(self, queries: Array, rows: Array) -> Iterator[tuple[slice, Array]]:
        norms = np.einsum("ij,ij->i", rows, rows)[None, :]
        size = max(1, int(self.max_bytes) // (16 * len(rows)))
        for at in slices(len(queries), size):
            D = euclidean_distances(queries[at], rows, Y_norm_squared=norms, squared=True)
            yield at, np.exp(-0.5 * D)

    def _best_multiple(self, rows: Array) -> float:
        """The multiple of the spread with the smallest leave-one-out squared error."""
        m = len(rows)
        chosen = np.arange(m)
        if m > QUERIES:
            chosen = np.sort(check_random_state(self.random_state).choice(m, QUERIES, replace=False))
        error = np.zeros(len(MULTIPLES))
        size = max(1, int(self.max_bytes) // (16 * m))
        w = np.ones(m) if self.weight_ is None else self.weight_
        for part in slices(len(chosen), size):
            at = chosen[part]
            D = euclidean_distances(rows[at], rows, squared=True)
            D[D < SAME_POINT] = np.inf  # leave the row itself out, and copies of it
            for i, c in enumerate(MULTIPLES):
                error[i] += np.sum(w[at] * (self._averages(np.exp(D * (-0.5 / c**2))) - self.y_[at]) ** 2)
        return float(MULTIPLES[np.argmin(error)])

    def _scaled(self, views: list[Array]) -> Array:
        return np.hstack([(Z - c) / h for Z, c, h in zip(views, self.centers_, self.bandwidth_, strict=True)])

    def _views(self, X: Any, reset: bool) -> list[Array]:
        several = (
            isinstance(X, (tuple, Views))
            or type(X) is dict
            or (isinstance(X, list) and any(np.ndim(Z) == 2 for Z in X))
        )
        if not several:
            X = validate_data(self, X, dtype=np.float64, reset=reset, ensure_min_samples=2 if reset else 1)
            views = [X]
        else:
            tables = as_views(X, "KernelRegression").arrays
            views = [np.asarray(Z.toarray() if is_sparse(Z) else to_numpy(Z), dtype=np.float64) for Z in tables]
            if not all(np.isfinite(Z).all() for Z in views):
                raise ValueError("X contains NaN or infinity.")
        widths = [Z.shape[1] for Z in views]
        if reset:
            self.view_widths_ = widths
        elif widths != self.view_widths_:
            raise ValueError(
                f"X has views with {widths} columns, but KernelRegression was fitted with {self.view_widths_}."
            )
        return views


def _spread(Z: Array, weight: Array | None) -> float:
    """The root mean square distance between two rows; 1 for rows that are all the same."""
    total = 2.0 * float(np.average((Z - np.average(Z, axis=0, weights=weight)) ** 2, axis=0, weights=weight).sum())
    return float(np.sqrt(total)) if total > 0 else 1.0

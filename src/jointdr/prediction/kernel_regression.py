"""Nadaraya-Watson kernel regression on embedded views (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from jointdr.data import Dyads, Views, as_views, checked_numbers, checked_weight
from jointdr.prediction.heads.bandwidths import MULTIPLES, RULES, choose_bandwidths, multiples
from jointdr.prediction.heads.build import check_adaptive, regress_on_grid
from jointdr.prediction.heads.column_weights import effective_number
from jointdr.prediction.heads.distances import spread, squared_distances
from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.heads.kernels import VANISHING, Kernel
from jointdr.prediction.kernel_files import regression_from_arrays, regression_to_arrays
from jointdr.runtime import (
    SQUARED_TO,
    Array,
    Saved,
    check_choice,
    check_device,
    check_flag,
    check_number,
    is_sparse,
    make_random_state,
    memory,
    parameters_from_json,
    require_squares,
    slices,
    to_numpy,
)

QUERIES = 1000  # rows that ``"auto"`` leaves out one at a time, at most
SAME_POINT = 1e-10  # squared distance, in units of the mean one, below which two rows are copies of each other


class KernelRegression(RegressorMixin, Saved, BaseEstimator):
    """Nadaraya-Watson regression with a product of Gaussian kernels, one per view.

    The prediction for (a, b) is the mean of the training responses, weighted by
    exp(−‖a − a_p‖²/2h_a²) · exp(−‖b − b_q‖²/2h_b²). Far from all training rows, where every weight vanishes, it is
    their mean response.

    Rows come as views and y. Or they are the pairs of a `Dyads` of embedded features; then they are never written out:
    on a complete grid the prediction is K_D Y K_Gᵀ, with m_D + m_G evaluations of kernels for a pair.

    Parameters
    ----------
    bandwidth : "auto", "left-out rows", float or one per view
        h. For views and y, ``"auto"`` leaves out rows and takes the same multiple of each view's root mean square
        distance, the one with the smallest leave-one-out squared error; at most 1000 rows are left out, each predicted
        from all others but its copies. For a `Dyads`, whole row entities are left out for the bandwidths by which new
        rows are predicted, and whole column entities for those by which new columns are, one at a time and at most
        400: by recall for implicit feedback, a few associations in a grid of zeros, else by squared error.
        ``"left-out rows"`` leaves out row entities for all, as version 0.1 did. 0, for a side of a `Dyads`, ignores
        that side: known entities lend each other nothing.
    adaptive : int, optional
        Bandwidths are then multiples of the distance to the neighbor of this rank, and so wide where rows are rare.
    max_bytes : int
        Memory for blocks of the kernel matrix; results do not depend on it.
    device : str, optional
        A device of PyTorch, such as ``"cuda"``, on which scores of a `Dyads` are computed, in double precision.
    random_state : int, RandomState or None
        It draws the rows and columns that are left out, if there are more than are taken.

    Attributes
    ----------
    bandwidth_ : tuple of floats
        One per view.
    known_bandwidth_ : pair of floats
        For a `Dyads`: that of known rows where a column is new, and that of known columns otherwise.
    y_mean_ : float
        The (weighted) mean of the training responses.

    Notes
    -----
    Cost O(m · m_new · d) to predict, in blocks; for a `Dyads` see `jointdr.prediction.heads.regression`.

    References
    ----------
    Nadaraya (1964). On estimating regression. Theory of Probability and its Applications 9, 141-142.

    Watson (1964). Smooth regression analysis. Sankhya A 26, 359-372.

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

    def __init__(
        self,
        bandwidth: Any = "auto",
        *,
        adaptive: int | None = None,
        max_bytes: int = 64_000_000,
        device: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.adaptive = adaptive
        self.max_bytes = max_bytes
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRegression:
        """Keep the training rows and choose the bandwidths.

        Parameters
        ----------
        X : tuple of (m, d_k) arrays, Views, or one (m, d) array
            Embedded views, as `JDR.transform` gives them. Or a `Dyads` with embedded features.
        y : (m,) array
            Left out for a `Dyads`.
        sample_weight : (m,) array, optional
        """
        k = self._check_parameters()
        if isinstance(X, Dyads):
            if y is not None or sample_weight is not None:
                raise TypeError("KernelRegression takes the response from a Dyads: leave y and sample_weight out.")
            return self._fit_grid(X)
        if self.device is not None:
            raise ValueError(f"device={self.device!r} is for a Dyads: rows of views are predicted on the host.")
        for of_dyads in ("grid_", "known_bandwidth_"):
            self.__dict__.pop(of_dyads, None)
        if isinstance(self.bandwidth, str) and self.bandwidth == "left-out rows":
            raise ValueError("bandwidth='left-out rows' is for a Dyads: give 'auto', a number or one per view.")
        views = self._views(X, reset=True)
        y = checked_numbers(y, len(views[0]), "KernelRegression")
        require_squares(y, "y")
        w = checked_weight(sample_weight, len(y))
        self.y_ = y
        self.weight_ = w
        self.y_mean_ = float(np.average(y, weights=w))
        units = tuple(spread(Z, w) for Z in views)
        self.centers_ = [Z.mean(axis=0) for Z in views]
        given = self._given_bandwidths(len(views))
        if given is None:
            c = self._best_multiple(views, units)
            given = tuple(c * s if k is None else c for s in units)
        elif 0 in given:
            raise ValueError(f"bandwidth={self.bandwidth!r} must be positive: 0 is for a side of a Dyads.")
        self.bandwidth_ = given
        self.points_ = self._scale(views, self.bandwidth_)
        return self

    def _check_parameters(self) -> int | None:
        """Refuse parameters that cannot be; the rank of the neighbour whose distance is the unit of bandwidths."""
        check_number("max_bytes", self.max_bytes, 0, strictly=True, expected="a number of bytes > 0")
        make_random_state(self.random_state)
        check_device(self.device)
        return check_adaptive(self.adaptive)

    def _fit_grid(self, dyads: Dyads) -> KernelRegression:
        dyads.require_features("KernelRegression")
        points = [_dense(X) for X in (dyads.A, dyads.B)]
        centers = [Z.mean(axis=0) for Z in points]
        points = [require_squares(Z - c, "X") for Z, c in zip(points, centers, strict=True)]
        a, b = (Kernel(Z, 1.0, self.adaptive) for Z in points)
        given, known = self._given_bandwidths(2), None
        if given is None:
            rng, rule = make_random_state(self.random_state), str(self.bandwidth)
            given, known = choose_bandwidths(dyads.Y, dyads.is_complete, (a, b), self._block_bytes(), rng, rule=rule)
        self.bandwidth_, self.known_bandwidth_ = given, given if known is None else known
        self.grid_ = regress_on_grid(dyads.Y, dyads.is_complete, (a, b), self.bandwidth_, self.known_bandwidth_)
        self.y_mean_ = self.grid_.mean
        self.centers_, self.view_widths_ = centers, [len(center) for center in centers]
        return self

    def _given_bandwidths(self, n_views: int) -> tuple[float, ...] | None:
        """One for each view; None where they are to be chosen."""
        if isinstance(self.bandwidth, str):
            expected = "give 'auto', 'left-out rows', a number or one per view"
            check_choice("bandwidth", self.bandwidth, RULES, expected=expected)
            return None
        try:
            given = np.asarray(self.bandwidth)
            h = np.empty(0) if given.dtype.kind == "b" else np.atleast_1d(given.astype(float))
        except (TypeError, ValueError):
            h = np.empty(0)
        h = np.repeat(h, n_views) if h.shape == (1,) else h
        if h.shape != (n_views,) or not np.isfinite(h).all() or (h < 0).any():
            raise ValueError(
                f"bandwidth={self.bandwidth!r} must be a positive number or one per view ({n_views} views)."
            )
        return tuple(float(v) for v in h)

    def predict(self, X: Any, *, return_neighbors: bool = False) -> Any:
        """The predicted response of each row, (m_new,); after a fit to a `Dyads`, of all pairs, (rows, columns).

        Parameters
        ----------
        X : as in `fit`
            After a fit to a `Dyads`: a `Dyads`, or a pair of tables, either of which may be None for the fitted
            entities.
        return_neighbors : bool
            Whether to return also the effective number of training rows behind each prediction, (Σ w)²/Σ w². It is 0
            where all of them are too far away, and the prediction is a mean (of the column, for a `Dyads`).
        """
        check_is_fitted(self)
        check_flag("return_neighbors", return_neighbors)
        if "grid_" in self.__dict__:
            return self._predict_grid(X, return_neighbors)
        queries = self._scale(self._views(X, reset=False), self.bandwidth_)
        prediction, neighbors = np.empty(len(queries[0])), np.empty(len(queries[0]))
        for at, K in self._products(queries):
            prediction[at], neighbors[at] = self._averages(K, return_neighbors)
        return (prediction, neighbors) if return_neighbors else prediction

    def _predict_grid(self, X: Any, return_neighbors: bool) -> Any:
        if not isinstance(X, (Dyads, tuple, list)) or (not isinstance(X, Dyads) and len(X) != 2):
            raise ValueError("X must be a Dyads or a pair of tables, of which one may be None, after a fit to a Dyads.")
        tables = (X.A, X.B) if isinstance(X, Dyads) else tuple(X)
        rows, columns = (self._selection(k, T) for k, T in enumerate(tables))
        memory.require(
            16.0 * rows.count * columns.count,  # in blocks, and side by side
            f"The scores of {rows.count} rows with {columns.count} columns",
            "predict fewer rows at a time",
        )
        held = self._block_bytes() / 2
        scorer = self.grid_.place_on(self.device).scorer(rows, columns, held, return_neighbors)
        blocks = [scorer(at) for at in slices(rows.count, self.grid_.rows_at_once(columns.count, held))]
        scores = np.vstack([block.scores for block in blocks])
        return (scores, np.vstack([block.notes["neighbors"] for block in blocks])) if return_neighbors else scores

    def _block_bytes(self) -> int:
        """`max_bytes`, or less where the memory budget is smaller."""
        return memory.within(self.max_bytes, 0.4)

    def _selection(self, k: int, table: Any) -> EntitySet:
        """New entities, centred as those that were fitted; these themselves for None."""
        if table is None:
            return EntitySet(self.grid_.shape[k])
        Z = _dense(table)
        if Z.ndim != 2 or Z.shape[1] != self.view_widths_[k]:
            raise ValueError(
                f"X has a table of shape {Z.shape}; KernelRegression was fitted with {self.view_widths_[k]} columns."
            )
        if not np.isfinite(Z).all():
            raise ValueError("X contains NaN or infinity.")
        return EntitySet(len(Z), (require_squares(Z - self.centers_[k], "X", new=True),))

    def _averages(self, K: Array, count: bool = False) -> tuple[Array, Array | float]:
        weighted = K if self.weight_ is None else K * self.weight_
        total = weighted.sum(axis=1)
        found = total > VANISHING
        mean = np.divide(weighted @ self.y_, total, out=np.full(len(K), self.y_mean_), where=found)
        return mean, np.where(found, effective_number(weighted), 0.0) if count else np.nan

    def _products(self, queries: list[Array]) -> Iterator[tuple[slice, Array]]:
        """The product of all views' weights, for some of the queries at a time."""
        size = max(1, self._block_bytes() // (16 * len(self.points_) * len(self.points_[0])))
        for at in slices(len(queries[0]), size):
            multiples = self.bandwidth_ if self.adaptive is not None else (1.0,)
            kernels = [Kernel(P, h, self.adaptive) for P, h in zip(self.points_, multiples, strict=True)]
            yield at, np.prod([kernel.weights(Z[at]) for kernel, Z in zip(kernels, queries, strict=True)], axis=0)

    def _best_multiple(self, views: list[Array], units: tuple[float, ...]) -> float:
        """The multiple of the bandwidths with the smallest leave-one-out squared error."""
        m = len(views[0])
        at = np.arange(m)
        if m > QUERIES:
            at = np.sort(make_random_state(self.random_state).choice(m, QUERIES, replace=False))
        tried = MULTIPLES if self.adaptive is None else multiples(Kernel(views[0], 1.0, self.adaptive))
        points = self._scale(views, units)
        error = np.zeros(len(tried))
        w = np.ones(m) if self.weight_ is None else self.weight_
        for part in slices(len(at), max(1, self._block_bytes() // (16 * m * len(points)))):
            D = [squared_distances(Z[at[part]], Z) for Z in points]
            same = sum(D[1:], D[0]) < SAME_POINT  # the row itself, and copies of it
            for i, c in enumerate(tried):
                K = np.ones(same.shape)
                for d in D:
                    K *= Kernel(points[0], float(c), self.adaptive).evaluate(np.where(same, np.inf, d))
                error[i] += np.sum(w[at[part]] * (self._averages(K)[0] - self.y_[at[part]]) ** 2)
        return float(tried[np.argmin(error)])

    def _scale(self, views: list[Array], bandwidths: tuple[float, ...]) -> list[Array]:
        """One table in units of the bandwidths; where neighbors are counted view by view, one centred table a view."""
        with np.errstate(over="ignore"):
            if self.adaptive is not None:
                return [require_squares(Z - c, "X") for Z, c in zip(views, self.centers_, strict=True)]
            parts = [(Z - c) / h for Z, c, h in zip(views, self.centers_, bandwidths, strict=True)]
        if max(float(np.max(np.abs(Z), initial=0.0)) for Z in parts) > SQUARED_TO:
            raise ValueError(
                f"X is too large against bandwidth={self.bandwidth!r}: squared distances overflow. Rescale X, or give "
                "larger bandwidths."
            )
        return [np.hstack(parts)]

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        check_is_fitted(self)
        return regression_to_arrays(self)

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `to_arrays` took apart; an error if header and arrays do not belong together."""
        model = cls(**parameters_from_json(header["params"]))
        model._check_parameters()
        regression_from_arrays(model, header, arrays)
        return model

    def _views(self, X: Any, reset: bool) -> list[Array]:
        listed = isinstance(X, list) and any(np.ndim(Z) == 2 for Z in X)
        if not (listed or isinstance(X, (tuple, Views)) or type(X) is dict):
            try:
                X = validate_data(self, X, dtype=np.float64, reset=reset, ensure_min_samples=2 if reset else 1)
            except (TypeError, ValueError) as error:
                raise type(error)(str(error) if "X" in str(error) else f"X: {error}") from error
            views = [X]
        else:
            views = [_dense(Z) for Z in as_views(X, "KernelRegression").as_numbers().arrays]
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


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), dtype=np.float64)

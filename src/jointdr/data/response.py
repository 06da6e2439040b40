"""Transforms of y before moments are taken: class labels, normal scores, clipping, slices.

By the Markov chain (a, b) → (Uᵀa, Vᵀb) → y → g(y), any transform g leaves the embeddings what they are. A good one
makes the response light-tailed (section 3 of the paper), or shows directions that act on more than its mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import column_or_1d

from jointdr.data.views import SPLIT_HINT, in_order
from jointdr.runtime import Array, check_choice, check_integer, is_foreign, to_numpy

RESPONSES = ("auto", "identity", "rank", "clip", "slices", "class")

N_SLICES = 8  # slices of y where neither a number nor edges are given


@dataclass(frozen=True)
class Transform:
    """A fitted map from responses to a (rows, q) array of numbers.

    Parameters
    ----------
    kind : str
        The transform that was chosen; ``"auto"`` has become one of the others.
    grid : (k,) array, or (2, k) for ``"rank"``
        What was read off the training responses: their distinct values and the weight up to each of these for
        ``"rank"``, the two bounds for ``"clip"``, the inner edges for ``"slices"``, the labels for ``"class"``.
    function : callable, optional
        A transform of the user's own.
    """

    kind: str
    grid: Array
    function: Callable[[Array], Any] | None = None

    def __call__(self, y: Array) -> Array:
        """The transformed responses, (rows, q)."""
        if y.dtype.kind in "US" and self.kind not in ("class", "callable"):
            raise ValueError("y holds labels, but the model was fitted to numbers: give y as numbers.")
        if self.function is not None:
            z = np.asarray(self.function(y), dtype=float)
            rule = "response=<callable> must give one finite number (or row of numbers) per row"
            if z.shape[:1] != y.shape[:1] or z.ndim > 2:
                raise ValueError(f"{rule}, got shape {z.shape}.")
            if not np.isfinite(z).all():
                row = int(np.argwhere(~np.isfinite(z))[0, 0])
                raise ValueError(f"{rule}, but gave NaN or infinity (first at row {row}, where y is {y[row]}).")
        elif self.kind == "rank":
            z = _normal_scores(y, self.grid)
        elif self.kind == "clip":
            z = np.clip(y, *self.grid)
        elif self.kind in ("slices", "class"):
            z = indicators(self.places(y), self.n_places)
            z = z[:, 1:] if self.kind == "class" and len(self.grid) == 2 else z  # two classes are one number
        else:
            z = y
        return z[:, None] if z.ndim == 1 else z

    @property
    def n_places(self) -> int:
        """The number of slices or classes; 1 if there are none."""
        return len(self.grid) + (self.kind != "class") if self.kind in ("slices", "class") else 1

    def places(self, y: Array) -> Array:
        """The number of each row's slice or class, (rows,)."""
        if self.kind == "slices":
            return np.searchsorted(self.grid, y, side="right")
        unknown = ~np.isin(y, self.grid)
        if unknown.any():
            raise ValueError(f"y holds labels that fit has not seen: {np.unique(y[unknown])[:5].tolist()}.")
        return np.searchsorted(self.grid, y)


def check_response(response: Any) -> Any:
    """The parameter ``response=`` of an estimator, if it is the name of a transform or a function."""
    expected = f"choose from {RESPONSES} or give a function of y"
    return response if callable(response) else check_choice("response", response, RESPONSES, expected=expected)


def fit_transform_of(
    response: Any, y: Any, weight: Array | None = None, edges: Any = None, n_slices: int = N_SLICES
) -> Transform:
    """Read off the training responses what a transform needs.

    Parameters
    ----------
    response : {"auto", "identity", "rank", "clip", "slices", "class"} or callable
        ``"auto"`` is ``"class"`` for strings, booleans and categories, otherwise ``"identity"``.
    y : (rows,) or (rows, q) array
        Already checked by `checked_response`.
    weight : (rows,) array, optional
        A weight of 2 counts as the row given twice, a weight of 0 as no row, in ranks and quantiles too.
    edges : (k,) array, optional
        Fixes the slices (inner edges), the clipping bounds (two numbers), the normal scores (quantiles) or the
        classes, instead of reading them off y.
    n_slices : int
        Number of slices of about equal weight.
    """
    if callable(check_response(response)):
        return Transform("callable", np.empty(0), response)
    is_label = y.dtype.kind in "USb"
    if response == "auto":
        response = "class" if is_label else "identity"
    if is_label and response != "class":
        raise ValueError(f"response={response!r} needs numbers, but y holds labels: use response='class'.")
    if response == "class":
        if y.ndim > 1:
            raise ValueError("response='class' needs one label per row.")
        labels = np.unique(y if edges is None else np.asarray(edges, dtype=str if y.dtype.kind == "U" else None))
        return classes(labels, len(y))
    if response in ("rank", "clip", "slices"):
        if y.ndim > 1 and y.shape[1] > 1:
            raise ValueError(f"response={response!r} needs one number per row, got y of shape {y.shape}.")
        return Transform(response, _edges_for(response, y.ravel(), weight, edges, n_slices))
    return Transform("identity", np.empty(0))


def classes(labels: Array, n_rows: int) -> Transform:
    """The transform of these labels, in order, which so many rows have."""
    if len(labels) > max(50, n_rows // 4):
        raise ValueError(
            f"response='class' found {len(labels)} labels in {n_rows} rows: y looks like numbers. "
            "Give numbers as such, for example y.astype(float), and response='identity' or 'slices'."
        )
    return Transform("class", labels)


def _edges_for(kind: str, y: Array, weight: Array | None, edges: Any, n_slices: int) -> Array:
    if edges is not None:
        try:
            grid = np.asarray(edges, dtype=float)
        except (TypeError, ValueError):
            grid = np.empty(0)
        if grid.ndim != 1 or len(grid) < 1 or not np.isfinite(grid).all() or (np.diff(grid) < 0).any():
            raise ValueError(f"edges={edges!r} must be increasing finite numbers.")
        if kind == "clip" and len(grid) != 2:
            raise ValueError(f"edges={edges!r} must be the two bounds for response='clip'.")
        return np.stack(_distribution(grid, None)) if kind == "rank" else grid
    if weight is not None:
        y, weight = y[weight > 0], weight[weight > 0]
    if kind == "rank":
        return np.stack(_distribution(y, weight))
    if kind == "clip":
        # Median and quartiles are not moved by the tails; the bounds are where a normal response has 0.1 % beyond.
        low, middle, high = _quantiles(y, weight, [0.25, 0.5, 0.75])
        reach = 3.09 / 1.349 * (high - low) or np.max(np.abs(y - middle))
        return np.array([middle - reach, middle + reach])
    check_integer("n_slices", n_slices, 2, expected="an integer of at least 2")
    inner = _quantiles(y, weight, np.arange(1, n_slices) / n_slices)
    above = y[y > y.min()]  # a slice below the smallest value would be empty
    return np.unique(np.maximum(inner, above.min())) if above.size else np.empty(0)


def _distribution(y: Array, weight: Array | None) -> tuple[Array, Array]:
    """The distinct values of y in order, and the weight of all rows up to each of them; O(m log m)."""
    values, which = np.unique(y, return_inverse=True)
    return values, np.cumsum(np.bincount(which, weights=weight, minlength=len(values)), dtype=float)


def _one_row(up_to: Array) -> float:
    """The weight that counts as one row in ranks and quantiles: 1, or less where weights are small, as shares are."""
    return float(min(1.0, up_to[-1] / len(up_to)))


def _quantiles(y: Array, weight: Array | None, at: Any) -> Array:
    """Quantiles that interpolate linearly, as `np.quantile` does, of rows that count as often as their weight.

    With the values laid end to end, each as long as its weight, this is the mean over a window of one row, which begins
    at the share q of the way from the first row to the last. O(m) for each quantile.
    """
    if weight is None:
        return np.quantile(y, at)
    values, up_to = _distribution(y, weight)
    row = _one_row(up_to)
    quantiles = []
    for start in (up_to[-1] - row) * np.asarray(at):
        first, last = np.searchsorted(up_to, start, side="right"), np.searchsorted(up_to - row, start)
        share = np.diff(up_to[first:last] - row - start, append=0.0) / row  # of the window, by all values but the first
        mean = values[first] + share @ (values[first + 1 : last + 1] - values[first])
        quantiles.append(min(mean, values[last]))  # not beyond it by rounding: a slice begins at its edge
    return np.array(quantiles)


def _normal_scores(y: Array, grid: Array) -> Array:
    """Φ⁻¹ of the mid-rank of y among the training responses: a standard normal response, whatever its tails were."""
    values, up_to = grid
    row = _one_row(up_to)
    weights = np.concatenate([[0.0], up_to])
    below, not_above = (weights[np.searchsorted(values, y, side=side)] for side in ("left", "right"))
    return ndtri((0.5 * (below + not_above) + 0.5 * row) / (up_to[-1] + row))


def indicators(which: Array, n: int) -> Array:
    """Which of n places each row is in, as 0 and 1: (rows, n)."""
    return (which[:, None] == np.arange(n)).astype(float)


def checked_response(y: Any, n_rows: int, caller: str, index: Any = None) -> Array:
    """The response as it was given: finite floats of shape (rows,) or (rows, q), or labels of shape (rows,).

    A Series or DataFrame y comes in the order of the index of the views, if that is given.
    """
    if y is None:
        raise ValueError(
            f"{caller} requires y to be passed, but the target y is None: give the response as fit(X, y). {SPLIT_HINT}"
        )
    y = in_order(y, index, "y")
    is_category = str(getattr(y, "dtype", "")) == "category"
    y = np.asarray(to_numpy(y) if is_foreign(y) else y)
    if y.dtype.kind == "O" or is_category:
        y = _numbers_or_labels(y, is_category)
    if y.dtype.kind not in "fiubcUS":
        raise ValueError(f"y should hold numbers or labels, but got {y.dtype}.")
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y should hold real numbers.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    if y.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d array, or have one column per response; got shape {y.shape}.")
    if y.ndim == 2 and y.dtype.kind in "US":
        raise ValueError(f"y should be a 1d array of one label per row; got labels of shape {y.shape}.")
    if y.ndim == 2 and y.dtype.kind == "b":  # several answers for each row: as many responses
        y = y.astype(np.float64)
    if len(y) != n_rows:
        raise ValueError(f"y has {len(y)} entries but the views have {n_rows} rows; they must match. {SPLIT_HINT}")
    if y.dtype.kind in "USb":
        return y
    y = y.astype(np.float64, copy=False)
    if not np.isfinite(y).all():
        bad = int(np.flatnonzero(~np.isfinite(y).reshape(len(y), -1).all(axis=1))[0])
        raise ValueError(f"Input y contains NaN or infinity (first at row {bad}): drop those rows or fill them in.")
    return y


def checked_numbers(y: Any, n_rows: int, caller: str) -> Array:
    """The response as one finite float per row."""
    y = checked_response(y, n_rows, caller)
    if y.dtype.kind != "f":
        if y.dtype.kind != "b":
            raise ValueError(
                f"y should hold numbers, but got {y.dtype} values such as {y[:1].tolist()}. "
                "Encode labels as numbers first, for example (labels == 'yes').astype(float)."
            )
        y = y.astype(float)
    if y.ndim > 1:
        raise ValueError(f"y should be a 1d array of one number per row, got an array of shape {y.shape} instead.")
    return y


def _numbers_or_labels(y: Array, is_category: bool) -> Array:
    """Python objects as booleans, strings or floats; strings and categories are labels even if they read as numbers."""
    missing = np.array([_is_missing(v) for v in y.ravel()], dtype=bool).reshape(y.shape)
    present = y[~missing]
    if is_category or (present.size and all(isinstance(v, (str, bool, np.bool_)) for v in present)):
        if missing.any():
            row = int(np.argwhere(missing)[0, 0])
            raise ValueError(f"Input y contains missing labels (first at row {row}): drop those rows or fill them in.")
        return y.astype(bool if all(isinstance(v, (bool, np.bool_)) for v in present) else str)
    try:
        return np.where(missing, np.nan, y).astype(np.float64)
    except (TypeError, ValueError):
        strange = next(v for v in present if not isinstance(v, Real))
        raise ValueError(f"y should hold numbers or labels, but got values such as {strange!r}.") from None


def _is_missing(value: Any) -> bool:
    """None, NaN, or what pandas has for them (its NA equals nothing and is no truth value)."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and np.isnan(value))

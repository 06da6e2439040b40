"""Fitted `KernelRegression` models as plain arrays: their training rows, or the grid of a `Dyads`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jointdr.prediction.heads.build import regress_on_grid
from jointdr.prediction.heads.kernels import Kernel
from jointdr.runtime import Array, checked_array, matrix_from_arrays, matrix_to_arrays, to_json


def regression_to_arrays(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """A fitted `KernelRegression` as a JSON-able header and plain arrays."""
    params = model.get_params(deep=False)
    header: dict[str, Any] = {"widths": model.view_widths_, "bandwidths": list(model.bandwidth_)}
    arrays: dict[str, Array] = {f"centers.{k}": center for k, center in enumerate(model.centers_)}
    if hasattr(model, "grid_"):
        kernels = model.grid_.kernels
        points, params["adaptive"] = [kernel.points for kernel in kernels], kernels[0].adaptive
        header |= {"known_bandwidths": list(model.known_bandwidth_), "complete": model.grid_.complete}
        arrays |= matrix_to_arrays("scores", model.grid_.Y)
    else:
        points, header["y_mean"] = model.points_, model.y_mean_
        arrays |= {"y": model.y_} | ({} if model.weight_ is None else {"weight": model.weight_})
        if hasattr(model, "n_features_in_"):
            arrays["n_features_in"] = np.array([model.n_features_in_])
        if hasattr(model, "feature_names_in_"):
            arrays["feature_names_in"] = np.asarray(model.feature_names_in_, dtype=str)
    arrays |= {f"points.{k}": Z for k, Z in enumerate(points)}
    return {**header, "params": {name: to_json(value) for name, value in params.items()}}, arrays


def regression_from_arrays(model: Any, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Give a `KernelRegression` what `regression_to_arrays` took apart; a ValueError if it does not belong together."""
    model.view_widths_ = [int(n) for n in header["widths"]]
    model.centers_ = [checked_array(arrays, f"centers.{k}", (n,)) for k, n in enumerate(model.view_widths_)]
    of_grid = "known_bandwidths" in header
    model.bandwidth_ = _bandwidths_from(header["bandwidths"], len(model.centers_), zero=of_grid)
    if of_grid:
        _read_grid(model, header, arrays)
    else:
        _read_rows(model, header, arrays)


def _read_grid(model: Any, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    Y = matrix_from_arrays("scores", arrays)
    if len(model.centers_) != 2 or min(Y.shape) < 1:
        raise ValueError(f"its scores have the shape {Y.shape}, of entities of {len(model.centers_)} kinds")
    model.known_bandwidth_ = _bandwidths_from(header["known_bandwidths"], 2, zero=True)
    sizes = zip(Y.shape, model.view_widths_, strict=True)
    a, b = (Kernel(checked_array(arrays, f"points.{k}", size), 1.0, model.adaptive) for k, size in enumerate(sizes))
    complete = bool(header["complete"])
    model.grid_ = regress_on_grid(Y, complete, (a, b), model.bandwidth_, model.known_bandwidth_)
    model.y_mean_ = model.grid_.mean


def _read_rows(model: Any, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    widths = model.view_widths_
    model.y_ = y = checked_array(arrays, "y", (None,))
    model.weight_ = checked_array(arrays, "weight", y.shape) if "weight" in arrays else None
    if len(y) < 1 or not widths or (model.weight_ is not None and model.weight_.min() < 0):
        raise ValueError(f"its {len(y)} rows of {len(widths)} views or their weights are none")
    model.y_mean_ = float(header["y_mean"])
    columns = widths if model.adaptive is not None else [sum(widths)]
    model.points_ = [checked_array(arrays, f"points.{k}", (len(y), n)) for k, n in enumerate(columns)]
    if "n_features_in" in arrays:
        model.n_features_in_ = int(checked_array(arrays, "n_features_in", (1,), "i")[0])
    if "feature_names_in" in arrays:
        model.feature_names_in_ = checked_array(arrays, "feature_names_in", (sum(widths),), "U").astype(object)


def _bandwidths_from(values: Any, count: int, zero: bool) -> tuple[float, ...]:
    """So many bandwidths from a header; `zero` is whether they may be 0."""
    found = tuple(float(value) for value in values)
    if len(found) != count or not all(np.isfinite(h) and (h > 0 or (zero and h == 0)) for h in found):
        raise ValueError(f"its bandwidths are {values}")
    return found

"""Curves with errors: recall against the number of retrieved columns, and estimation errors against sizes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jointdr.plot.axes import MARKERS, PALETTE, axis_of, name_ends, name_ticks, tidy
from jointdr.plot.repetitions import Curve, reach
from jointdr.runtime import Array

CURVE_COLUMNS = ("method", "metric", "k", "recall", "se")  # those of `Evaluation.curves` that are drawn


class Recall(NamedTuple):
    """Recall at k: the numbers k, the means, and their standard errors (0 where there are none)."""

    ks: Array
    mean: Array
    error: Array


def recall_curves(found: Any, ax: Any = None, *, colors: Mapping[str, str] | None = None) -> Any:
    """Recall against the number k of retrieved columns, one curve for each method, with standard errors.

    Parameters
    ----------
    found : Evaluation, its table `curves`, path or mapping
        The result of `jointdr.evaluation.evaluate`; the folder or the ``curves.csv`` that `Evaluation.to_csv` wrote; or
        curves of your own, as names with (k, recall) or (k, recall, error).
    ax : matplotlib Axes, optional
        By default that of a new figure.
    colors : mapping of names to colours, optional

    Returns
    -------
    Axes
        Curves are named at their ends, the best one in bold.
    """
    curves = recalls(found)
    ax = axis_of(ax, (6.4, 4.2))
    best = max(curves, key=lambda name: curves[name].mean[-1])
    ends = []
    for i, (name, (ks, mean, error)) in enumerate(curves.items()):
        colour = (colors or {}).get(name, PALETTE[i % len(PALETTE)])
        style: dict[str, Any] = {"color": colour, "linewidth": 2.2 if name == best else 1.4}
        if len(ks) <= 15:
            style |= {"marker": MARKERS[i % len(MARKERS)], "markersize": 4}
        ax.errorbar(ks, mean, error if error.any() else None, capsize=2, zorder=3 if name == best else 2, **style)
        ends.append((float(ks[-1]), float(mean[-1]), name, colour))
    ax.set(xlabel="retrieved, k", ylabel="recall at k")
    ax.set_xlim(0, max(x for x, *_ in ends))
    ax.set_ylim(bottom=0)
    if len(ks := next(iter(curves.values())).ks) <= 10:
        ax.set_xticks(ks)
    ax.grid(alpha=0.25, axis="y")
    tidy(ax)
    name_ends(ax, ends, bold=(best,))
    return ax


def recalls(found: Any) -> dict[str, Recall]:
    """Recall curves from an evaluation, its table, a file of it, or a mapping.

    Methods without results are left out; a ValueError if that leaves none.
    """
    if isinstance(found, (str, os.PathLike)):
        curves = _of_table(_read(Path(found)))
    elif isinstance(found, Mapping):
        curves = {str(name): _recall(name, *parts) for name, parts in found.items()}
    elif hasattr(found, "statistics"):
        if not found.is_implicit:
            raise ValueError("This evaluation is of graded scores, which have no recall: Evaluation.plot draws errors.")
        curves = _of_table(found.curves)
    else:
        try:
            curves = _of_table(found)
        except (KeyError, TypeError, IndexError, ValueError):
            raise ValueError(f"recall_curves takes an Evaluation or its curves, but got {found!r:.60}.") from None
    curves = {name: curve for name, curve in curves.items() if len(curve.ks) and np.isfinite(curve.mean).all()}
    if not curves:
        raise ValueError("No method has a result that could be drawn; see failures.")
    return curves


def _recall(name: Any, ks: Any, mean: Any, error: Any = None) -> Recall:
    found = [np.asarray(part, dtype=float) for part in (ks, mean, np.zeros(len(ks)) if error is None else error)]
    if any(part.ndim != 1 or len(part) != len(found[0]) for part in found):
        raise ValueError(f"The curve {name!r} needs as many recalls (and errors) as numbers k.")
    return Recall(found[0], found[1], np.nan_to_num(found[2]))


def _read(path: Path) -> Any:
    """A file `curves.csv`, or the one in a folder that `Evaluation.to_csv` wrote."""
    import pandas as pd  # slow to import

    path = path / "curves.csv" if path.is_dir() else path
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:
        raise ValueError(f"{path} is no curves.csv of an evaluation: {error}") from None
    if missing := set(CURVE_COLUMNS).difference(table.columns):
        raise ValueError(f"{path} is no curves.csv of an evaluation: it has no column {sorted(missing)[0]!r}.")
    return table


def _of_table(table: Any) -> dict[str, Recall]:
    """One curve for each method, of the metric "recall" (others are of significant pairs only)."""
    points: dict[str, list[tuple[float, float, float]]] = {}
    for method, metric, k, recall, error in zip(*(table[name] for name in CURVE_COLUMNS), strict=True):
        if metric == "recall":
            points.setdefault(str(method), []).append((float(k), float(recall), float(error or "nan")))
    return {name: _recall(name, *zip(*sorted(rows), strict=True)) for name, rows in points.items()}


def nsee_curves(curves: Mapping[str, Any], ax: Any = None, *, xlabel: str = "samples m", ylabel: str = "NSEE") -> Any:
    """Estimation errors against a size, on logarithmic scales, with the slope of each line (as the paper's Figure 1).

    Parameters
    ----------
    curves : mapping of names to (x, errors)
        Errors are (points,) numbers or (repetitions, points); the curves of `jointdr.apps.reproduce` will also do.
    ax : matplotlib Axes, optional
        By default that of a new figure.
    xlabel, ylabel : str

    Returns
    -------
    Axes
        Bars are 95 % intervals of the mean over the repetitions.
    """
    found = {str(name): given if isinstance(given, Curve) else _curve(name, *given) for name, given in curves.items()}
    if not found:
        raise ValueError("nsee_curves takes a mapping of names to (x, errors), but got an empty one.")
    ax = axis_of(ax)
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    ends = []
    for i, (name, curve) in enumerate(found.items()):
        colour, mean = PALETTE[i % len(PALETTE)], np.exp(curve.log_mean)
        bars = None if curve.repetitions < 2 else reach(curve.repetitions) * mean * curve.error
        ax.errorbar(curve.x, mean, bars, color=colour, marker=MARKERS[i % len(MARKERS)], ms=4, lw=1.5, capsize=2)
        slope = "" if not np.isfinite(curve.slope) else f", slope {curve.slope:.2f}".replace("-", "−")
        ends.append((float(curve.x[-1]), float(mean[-1]), f"{name}{slope}", colour))
    ax.grid(alpha=0.25)
    name_ticks(ax, np.unique(np.concatenate([curve.x for curve in found.values()])).tolist())
    tidy(ax)
    name_ends(ax, ends)
    return ax


def _curve(name: Any, x: Any, errors: Any) -> Curve:
    x, values = np.asarray(x, dtype=float), np.atleast_2d(np.asarray(errors, dtype=float))
    if x.ndim != 1 or values.ndim != 2 or values.shape[1] != len(x):
        raise ValueError(f"{name!r} needs one error (or one column of repetitions) for each of its {x.size} x.")
    if not ((values > 0).all() and (x > 0).all()):
        raise ValueError(f"{name!r} has values that are not positive, which a logarithmic scale cannot show.")
    return Curve.of(x.tolist(), values)

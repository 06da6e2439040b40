"""The heaviest features of a direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.plot.axes import INK, NOISE, PALETTE, QUIET, axis_of, tidy
from jointdr.runtime import Array


def loadings(model: Any, ax: Any = None, *, direction: int = 1, view: int | None = None, n_shown: int = 8) -> Any:
    """Bars of the features that weigh most in a direction.

    Parameters
    ----------
    model : fitted estimator, or AssociationModel with an embedding
    ax : matplotlib Axes, optional
        By default that of a new figure.
    direction : int
        Which one, from 1.
    view : int, optional
        Which view, from 0; by default all of them, one below the other.
    n_shown : int
        Features of each view, those with the largest weights.

    Returns
    -------
    Axes

    Notes
    -----
    Weights are the entries of a column of Û. They are in units of the features, so that they compare features only if
    these are in comparable units. Features that pull the same way have bars on the same side; the sign of a direction
    is that of all its views together.
    """
    tables = heaviest(model, direction, n_shown)
    if view is not None:
        if not 0 <= view < len(tables):
            raise ValueError(f"view={view!r} must be a number from 0 to {len(tables) - 1}.")
        tables = tables[view : view + 1]
    n_bars = sum(len(names) for _, names, _ in tables)
    ax = axis_of(ax, (5.6, 0.8 + 0.24 * (n_bars + len(tables))))
    top, ticks, texts = 0.0, [], []
    for k, (title, names, weights) in enumerate(tables, start=view or 0):
        colour = PALETTE[k % len(PALETTE)]
        largest = float(np.abs(weights).max(initial=0.0)) or 1.0
        at = top - 1.0 - np.arange(len(names))
        ax.barh(at, weights / largest, color=colour, height=0.7)
        heading = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9, "fontweight": "bold"}
        ax.annotate(title, (0, top), color=colour, **heading)
        ticks += at.tolist()
        texts += [name if len(name) <= 28 else f"{name[:27]}…" for name in names]
        top = float(at[-1]) - 1.3 if len(at) else top - 1.3
    ax.axvline(0, color=NOISE, lw=0.8)
    ax.set_yticks(ticks, texts, fontsize=8.5)
    ax.set_ylim(top + 0.6, 0.6)
    ax.set_xlim(-1.05, 1.05)
    ax.set(title=f"Direction {direction}", xlabel="weight, of the largest")
    tidy(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    ax.tick_params(axis="x", labelcolor=QUIET)
    return ax


def heaviest(model: Any, direction: int, n_shown: int) -> list[tuple[str, list[str], Array]]:
    """(view, names, weights) of every view: its features of the largest weights in a direction (from 1), none of 0."""
    fitted = getattr(model, "embedding_", model)
    if not hasattr(fitted, "embeddings_"):
        raise ValueError(f"loadings takes a fitted model with an embedding, which {model!r:.60} has not.")
    most = max(U.shape[1] for U in fitted.embeddings_)
    if not 1 <= direction <= most:
        raise ValueError(f"direction={direction!r} must be a number from 1 to {most}.")
    unnamed = (None,) * len(fitted.embeddings_)
    known = getattr(model, "feature_names_per_view_", getattr(fitted, "feature_names_per_view_", unnamed))
    found = []
    for name, U, features in zip(fitted.view_names_, fitted.embeddings_, known, strict=True):
        weights = U[:, direction - 1] if direction <= U.shape[1] else np.empty(0)
        top = np.argsort(-np.abs(weights), kind="stable")[: int(n_shown)]
        top = top[weights[top] != 0]
        names = [f"feature {i + 1}" if features is None else str(features[i]) for i in top]
        found.append((str(name), names, np.asarray(weights[top], dtype=float)))
    return found

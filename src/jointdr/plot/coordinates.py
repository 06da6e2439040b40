"""The map: both kinds of entities in the same two directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jointdr.plot.axes import COLUMN_COLOR, INK, PALETTE, QUIET, ROW_COLOR, axis_of, tidy
from jointdr.runtime import Array, dense, to_numpy

MOST_GROUPS = 8  # values of a colour column that get a colour of their own; others are grey


def embedding_map(
    found: Any,
    ax: Any = None,
    *,
    directions: tuple[int, int] = (1, 2),
    names: Sequence[str] | None = None,
    color: Any = None,
    labels: Any = None,
) -> Any:
    """Both kinds of entities as points, by two of their coordinates: those that lie in the same direction go together.

    Parameters
    ----------
    found : AssociationModel, or pair of (m_k, r) arrays
        A fitted model, whose entities are drawn in the coordinates that its kernels see; or the result of `transform`.
    ax : matplotlib Axes, optional
        By default that of a new figure.
    directions : pair of int
        Which directions, from 1.
    names : pair of str, optional
        Of the two kinds; by default those of the model.
    color : pair of sequences (or None for a kind), optional
        Labels or numbers that the entities of each kind are coloured by; by default the kind.
    labels : pair of sequences of (index, text) (or None for a kind), optional
        Names of some entities, which are written beside them.

    Returns
    -------
    Axes

    Notes
    -----
    Scores are about Σ_i σ_i z_i w_i for a row with coordinates z and a column with coordinates w: in the same quadrant,
    and far out, they are high.
    """
    points, known = coordinates(found)
    names = tuple(names or known)
    at = [int(i) - 1 for i in directions]
    most = min(Z.shape[1] for Z in points)
    if len(at) != 2 or min(at) < 0 or max(at) >= most:
        raise ValueError(f"directions={directions!r} must be two numbers from 1 to {most}, the number of directions.")
    ax = axis_of(ax, (5.6, 5.0))
    ax.axhline(0, color="0.88", lw=0.8, zorder=0)
    ax.axvline(0, color="0.88", lw=0.8, zorder=0)
    color, labels = ((None, None) if given is None else given for given in (color, labels))
    for k, Z in enumerate(points):
        size = float(np.clip(2500 / max(len(Z), 1), 4, 28))
        style = {"marker": "oD"[k], "s": size if k == 0 else 0.8 * size, "linewidths": 0, "alpha": 0.65}
        if color[k] is not None:
            _draw_coloured(ax, Z[:, at], color[k], names[k], style)
        elif color[1 - k] is not None:  # beside entities in colours, those without are in the background
            ax.scatter(*Z[:, at].T, label=names[k], **{**style, "color": INK, "alpha": 0.3, "zorder": 0.5})
        else:
            ax.scatter(*Z[:, at].T, label=names[k], color=(ROW_COLOR, COLUMN_COLOR)[k], **style)
        for i, text in () if labels[k] is None else labels[k]:
            ax.annotate(text, Z[i, at], (4, 3), textcoords="offset points", fontsize=8, color=INK)
    ax.set(xlabel=f"direction {directions[0]}", ylabel=f"direction {directions[1]}")
    tidy(ax)
    compact = {"handletextpad": 0.2, "columnspacing": 1.0, "borderaxespad": 0.2, "fontsize": 8.5}
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, **compact)
    for handle in legend.legend_handles:
        handle.set_alpha(1)
        handle.set_sizes([26])
    return ax


def coordinates(found: Any) -> tuple[tuple[Array, Array], tuple[str, str]]:
    """The coordinates of both kinds of entities, and the names of the kinds; a ValueError if they share none."""
    if isinstance(found, (tuple, list)):
        if len(found) != 2:
            raise ValueError(f"embedding_map takes the coordinates of two kinds of entities, but got {len(found)}.")
        a, b = (np.asarray(to_numpy(Z), dtype=float) for Z in found)
        return (a, b), ("rows", "columns")
    if not hasattr(found, "coordinates"):
        raise ValueError(
            f"embedding_map takes a fitted AssociationModel, or the pair that transform returns, not {found!r:.60}."
        )
    if found.embedding_ is None:
        raise ValueError("embedding=None has no coordinates that both kinds of entities share, so there is no map.")
    a, b = (np.asarray(dense(Z), dtype=float) for Z in found.coordinates())
    return (a, b), found.view_names_


def groups(values: Any) -> tuple[list[str], Array]:
    """The most frequent values of a column, at most `MOST_GROUPS`, and for every entity its group, −1 if in none."""
    labels = np.array(["" if value is None or value != value else str(value) for value in values])
    found, counts = np.unique(labels[labels != ""], return_counts=True)
    kept = [str(name) for name in found[np.argsort(-counts, kind="stable")][:MOST_GROUPS]]
    index = {name: i for i, name in enumerate(kept)}
    return kept, np.array([index.get(label, -1) for label in labels.tolist()])


def _draw_coloured(ax: Any, Z: Array, values: Any, name: str, style: dict[str, Any]) -> None:
    """Draw points in the colours of their groups, or of a scale if they are numbers."""
    values = np.asarray(values)
    if len(values) != len(Z):
        raise ValueError(f"color has {len(values)} values for {len(Z)} {name!r}: give one for each.")
    if values.dtype.kind in "iuf" and len(np.unique(values)) > MOST_GROUPS:
        points = ax.scatter(*Z.T, c=values.astype(float), cmap="viridis", label=name, **style)
        bar = ax.figure.colorbar(points, ax=ax, shrink=0.6, aspect=30)
        bar.outline.set_visible(False)
        bar.set_label(name, color=QUIET)
        return
    kept, group = groups(values)
    if (others := group < 0).any():
        ax.scatter(*Z[others].T, color="0.75", label=f"{name}: other", **style)
    for i, label in enumerate(kept):
        ax.scatter(*Z[group == i].T, color=PALETTE[i % len(PALETTE)], label=f"{name}: {label}", **style)

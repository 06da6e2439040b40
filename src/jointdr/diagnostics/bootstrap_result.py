"""What the bootstrap returns, to be read, printed and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jointdr.runtime import Array


class Angle(NamedTuple):
    """How far the embedding of one view may be from the truth.

    Attributes
    ----------
    median, upper : float
        The median and the upper quantile (at the level of the intervals) of the subspace error d(U, Û).
    replicates : (n,) array
        d in every replicate.
    """

    median: float
    upper: float
    replicates: Array


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """What `bootstrap` found.

    Attributes
    ----------
    singular_values : (r,) array
        As fitted: inflated by noise; where features are selected, of the proxy between these. With several responses or
        ``moments="all"`` there is a tuple of one array per view here and in the next two, of the singular values of
        each view's unfolding.
    bias_corrected : (r,) array
        The singular values that, with noise added, come out as the fitted ones in the median; 0 where noise alone
        would give as much, equal where noise alone would set them apart.
    intervals : (r, 2) array
        An interval for each true singular value.
    angles : tuple of Angle
        The subspace error to be expected of each view's embedding, as `jointdr.metrics.subspace_error`.
    selection : tuple of (n_k,) arrays or None
        In what share of the replicates each feature was selected; None without ``n_features_to_select``.
    level : float
        The probability of the intervals, and of the upper quantiles of the angles.
    n_replicates, n_blocks : int
        How many replicates there are, from how many blocks of rows.
    view_names : tuple of str
    """

    singular_values: Any
    bias_corrected: Any
    intervals: Any
    angles: tuple[Angle, ...]
    selection: tuple[Array, ...] | None
    level: float
    n_replicates: int
    n_blocks: int
    view_names: tuple[str, ...]

    def _tables(self) -> Iterator[tuple[str, Array, Array, Array]]:
        """(title, fitted, corrected, intervals) of each spectrum."""
        if isinstance(self.singular_values, tuple):
            columns = (self.singular_values, self.bias_corrected, self.intervals)
            yield from zip((f"view {name}" for name in self.view_names), *columns, strict=True)
        else:
            yield "both views", self.singular_values, self.bias_corrected, self.intervals

    def __str__(self) -> str:
        level = f"{100 * self.level:g} %"
        lines = [f"Bootstrap: {self.n_replicates} replicates from {self.n_blocks} blocks of rows"]
        for title, fitted, corrected, intervals in self._tables():
            lines += ["", f"singular values, {title}", f"{'':>4}{'fitted':>10}{'corrected':>11}   {level} interval"]
            for i, (s, d, (low, high)) in enumerate(zip(fitted, corrected, intervals, strict=True)):
                lines.append(f"{i + 1:>4}{s:>10.4g}{d:>11.4g}   {low:.4g} to {high:.4g}")
        width = max(len(name) for name in self.view_names)
        lines += ["", "subspace error of the embeddings (0: exact)"]
        for name, angle in zip(self.view_names, self.angles, strict=True):
            lines.append(f"  {name:<{width}}  median {angle.median:.3f}, below {angle.upper:.3f} in {level}")
        if self.selection is not None:
            lines += ["", "features by the share of replicates that selected them"]
            for name, share in zip(self.view_names, self.selection, strict=True):
                counts = [np.sum(share >= 0.9), np.sum((share > 0.1) & (share < 0.9)), np.sum(share <= 0.1)]
                lines.append(
                    f"  {name:<{width}}  0.9 or more: {counts[0]}, between: {counts[1]}, up to 0.1: {counts[2]}"
                )
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the singular values with their intervals, and the subspace errors of the replicates.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, optional
            Where to draw; one alone gets the singular values. By default a new figure.

        Returns
        -------
        Axes or array of two Axes
        """
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
        axes = np.atleast_1d(ax)
        self._plot_singular_values(axes[0])
        if len(axes) > 1:
            self._plot_angles(axes[1])
        return ax

    def _plot_singular_values(self, ax: Any) -> None:
        tables = list(self._tables())
        for k, (title, fitted, corrected, intervals) in enumerate(tables):
            at = np.arange(1, len(fitted) + 1) + 0.2 * (k - (len(tables) - 1) / 2)
            suffix = f", {title}" if len(tables) > 1 else ""
            ax.vlines(
                at, *intervals.T, color=f"C{k}", lw=3, alpha=0.5, label=f"{100 * self.level:g} % interval{suffix}"
            )
            ax.plot(at, corrected, "o", color=f"C{k}", clip_on=False, label=f"corrected{suffix}")
            ax.plot(at, fitted, "x", color="0.4", label="fitted" if k == 0 else None)
        ax.set_xticks(range(1, max(len(fitted) for _, fitted, _, _ in tables) + 1))
        ax.set_ylim(bottom=0)
        ax.set(xlabel="direction", ylabel="singular value", title="Singular values")
        ax.legend(frameon=False)

    def _plot_angles(self, ax: Any) -> None:
        at = range(len(self.angles), 0, -1)
        height = 0.25
        for k, (y, angle) in enumerate(zip(at, self.angles, strict=True)):
            jitter = np.random.default_rng(0).uniform(-0.6 * height, 0.6 * height, len(angle.replicates))
            ax.plot(angle.replicates, y + jitter, ".", color=f"C{k}", alpha=0.25, mew=0)
            for value, style, label in ((angle.median, "-", "median"), (angle.upper, "--", f"{100 * self.level:g} %")):
                ends = [y - height, y + height]
                ax.plot([value, value], ends, style, color=f"C{k}", lw=2, label=None if k else label)
        ax.set_yticks(at, self.view_names)
        ax.set_xlim(left=0)
        ax.set_ylim(0.5, len(self.angles) + 0.5)
        ax.set(xlabel="subspace error d(U, Û) of the replicates", title="Error of the embeddings")
        ax.legend(frameon=False)

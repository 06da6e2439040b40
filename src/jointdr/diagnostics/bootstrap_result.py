"""The result of the bootstrap, to be read, printed and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jointdr.runtime import Array


class Angle(NamedTuple):
    """The distance to be expected between the embedding of one view and the truth.

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
    """The result of `bootstrap`.

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
        The share of the replicates in which each feature was selected; None without ``n_features_to_select``.
    level : float
        The probability of the intervals, and of the upper quantiles of the angles.
    n_replicates, n_blocks : int
        The numbers of replicates, and of the blocks of rows that they are made of.
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

    @property
    def spectra(self) -> list[tuple[str, Array, Array, Array]]:
        """(title, fitted, corrected, intervals) of the singular values; of each view's where these differ."""
        columns = (self.singular_values, self.bias_corrected, self.intervals)
        if not isinstance(self.singular_values, tuple):
            return [("both views", *columns)]
        return list(zip((f"view {name}" for name in self.view_names), *columns, strict=True))

    def __str__(self) -> str:
        level = f"{100 * self.level:g} %"
        lines = [f"Bootstrap: {self.n_replicates} replicates from {self.n_blocks} blocks of rows"]
        for title, fitted, corrected, intervals in self.spectra:
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
                often, rarely = np.sum(share >= 0.9), np.sum(share <= 0.1)
                between = len(share) - often - rarely
                lines.append(f"  {name:<{width}}  0.9 or more: {often}, between: {between}, up to 0.1: {rarely}")
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
        from jointdr.plot import bootstrap_figure  # matplotlib is optional

        return bootstrap_figure(self, ax)

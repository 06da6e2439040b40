"""How many directions a data set holds, seen from three sides: a value to print or to plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.arrays import Array


@dataclass(frozen=True, eq=False)
class RankProfile:
    """What `jointdr.rank.rank_profile` found.

    Attributes
    ----------
    criterion : (k + 1,) array
        The held-out criterion for r = 0, 1, ..., k; lower is better, and 0 is as good as no direction at all.
    best : int
        Where it is lowest: the r of ``n_components="auto"``, which is at least 1.
    singular_values : (k,) array
        Of the proxy of all rows, decreasing.
    null : (n_permutations, k) array
        The same after permuting y among the rows, where there is no signal.
    null_rank : int or None
        How many leading singular values are beyond what permuted responses show, see `null_rank`; None without
        permutations.
    threshold_rank : int or None
        The rule of the paper's supplement, see `threshold_rank`; None without permutations or an η of the user's own.
    eta : float or None
        The η of that rule.
    level : float
        The level of the permutation test.
    """

    criterion: Array
    best: int
    singular_values: Array
    null: Array
    null_rank: int | None
    threshold_rank: int | None
    eta: float | None
    level: float

    def __str__(self) -> str:
        lines = [f"held-out criterion: {self.best} direction(s)"]
        if self.null_rank is not None:
            lines.append(f"{len(self.null)} permutations of y, level {self.level:g}: {self.null_rank} direction(s)")
        if self.eta is not None:
            lines.append(f"singular values above η/2 = {self.eta / 2:.3g}: {self.threshold_rank} direction(s)")
        return "\n".join(lines)

    def plot(self, ax: Any = None, *, n_shown: int | None = None) -> Any:
        """Draw the singular values above what noise shows, and the criterion beside them.

        Parameters
        ----------
        ax : matplotlib Axes, pair of Axes or None
            Two axes for the two curves; one axis for both, the criterion on a second scale; None for a new figure.
        n_shown : int, optional
            How many singular values are drawn; by default 10, or three times the rank found if that is more.

        Returns
        -------
        pair of Axes
            ``axes[0].figure`` is the figure.
        """
        scree, curve = _axes(ax)
        k = len(self.singular_values) if n_shown is None else int(n_shown)
        if n_shown is None:
            k = min(k, max(10, 3 * max(self.best, self.null_rank or 0)))
        k = min(k, len(self.singular_values))
        self._draw_singular_values(scree, k)
        self._draw_criterion(curve, min(k, len(self.criterion) - 1), shared=ax is not None and np.ndim(ax) == 0)
        return scree, curve

    def _draw_singular_values(self, axis: Any, k: int) -> None:
        numbers, values = np.arange(1, k + 1), self.singular_values[:k]
        if len(self.null):
            low, high = np.quantile(self.null[:, :k], [0.025, 0.975], axis=0)
            axis.fill_between(numbers, low, high, color="#a0aec0", alpha=0.6, lw=0, label="y permuted (95 %)")
            threshold = _threshold(self.null, self.level)
            axis.axhline(threshold, color="#718096", lw=1, ls="--", label=f"level of the test ({self.level:.0%})")
        found = self.best if self.null_rank is None else self.null_rank
        axis.plot(numbers, values, color="#2b6cb0", lw=1, alpha=0.6)
        axis.plot(
            numbers[:found],
            values[:found],
            "o",
            color="#2b6cb0",
            label=("chosen" if self.null_rank is None else "above noise") if found else None,
        )
        axis.plot(numbers[found:], values[found:], "o", color="#2b6cb0", mfc="white", label="others")
        title = "Singular values" if self.null_rank is None else f"Directions above noise: {found}"
        axis.set(title=title, xlabel="direction", ylabel="singular value of the proxy")
        axis.set_ylim(bottom=0)
        axis.legend(frameon=False)
        _whole_numbers(axis)

    def _draw_criterion(self, axis: Any, k: int, shared: bool) -> None:
        color = "#c05621"
        axis.plot(range(k + 1), self.criterion[: k + 1], ".-", color=color, lw=1)
        if self.best <= k:
            axis.plot(self.best, self.criterion[self.best], "o", color=color, ms=9, mfc="none", mew=2)
        axis.set_ylabel("held-out criterion (lower is better)", color=color)
        if shared:
            return
        axis.set(title=f"Best on held-out rows: {self.best}", xlabel="number of directions")
        _whole_numbers(axis)


def _axes(ax: Any) -> tuple[Any, Any]:
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot needs matplotlib: pip install 'jointdr[plot]'.") from None
        ax = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")[1]
    if np.ndim(ax) == 0:
        return ax, ax.twinx()
    pair = tuple(np.ravel(ax))
    if len(pair) != 2:
        raise ValueError(f"ax must be one axis or a pair of them, got {len(pair)}.")
    return pair[0], pair[1]


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.spines[["top", "right"]].set_visible(False)


def null_rank(singular_values: Array, null: Array, level: float = 0.05) -> int:
    """How many leading singular values are beyond what permuted responses show.

    The hypotheses "at most k directions", k = 0, 1, ..., are tested in turn until one is kept: σ_{k+1} is compared with
    the *largest* singular value of each permutation, and the hypothesis is rejected if (1 + how many of those reach
    σ_{k+1})/(1 + n_permutations) is at most `level`.

    Parameters
    ----------
    singular_values : (k,) array
        Decreasing.
    null : (n_permutations, k) array
    level : float
        How probable it may be that a direction is reported that is none.

    Notes
    -----
    The (k + 1)-th null value would be too easy to beat: with k true directions taken off, what is left is a noise
    matrix nearly as large as the proxy, and σ_{k+1} is *its* largest singular value. It is at most that of
    (I − P_U)X₀, in which y is independent of the features as in a permutation. Since every test is made only if the
    one before it rejected, all of them together have the level of one. Counting the observed value among the
    permutations keeps that level for any number of them, where a quantile of few values would not.
    """
    require_permutations(len(null), level)
    rejected = np.asarray(singular_values) > _threshold(null, level)
    return len(rejected) if rejected.all() else int(np.argmin(rejected))


def require_permutations(n_permutations: int, level: float) -> None:
    """Refuse a number of permutations that cannot reject anything at this level."""
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must lie between 0 and 1.")
    if not (1 + n_permutations) * level * (1 + 1e-12) >= 1:
        raise ValueError(
            f"n_permutations={n_permutations!r} cannot reject anything at level={level:g}: "
            f"at least {int(np.ceil(1 / level - 1e-9)) - 1} are needed."
        )


def _threshold(null: Array, level: float) -> float:
    """What a singular value must exceed for (1 + how many permutations reach it)/(1 + n_permutations) ≤ level."""
    allowed = int(level * (1 + len(null)) * (1 + 1e-12)) - 1  # not 18.999... for 19
    return float(np.sort(null[:, 0])[::-1][allowed])


def threshold_rank(singular_values: Array, eta: float) -> int:
    """The rule of the paper's supplement: the number of singular values of X̂₀ above η/2.

    Parameters
    ----------
    singular_values : array
    eta : float
        η > 0 with σ_r(Q) ≥ η: the signal is at least this strong. If m is so large that ‖X̂₀ − UQVᵀ‖ ≤ η/3, then
        σ_r(X̂₀) ≥ 2η/3 and σ_{r+1}(X̂₀) ≤ η/3, and the rule is right.

    Notes
    -----
    Section "Estimation of Rank and Sparsity". The paper leaves η open ("in practice, such a threshold is generally
    unavailable"). `jointdr.rank.rank_profile` takes three times the median of the largest singular value under
    permutation, which is the smallest η that the noise allows: directions count that stand 1.5 times above noise. The
    paper bounds the Frobenius norm of the noise, but for singular values its spectral norm is enough (Weyl).

    Examples
    --------
    >>> from jointdr.rank import threshold_rank
    >>> threshold_rank([3.0, 2.0, 0.4, 0.3], eta=1.0)
    2
    """
    if not eta >= 0:
        raise ValueError(f"eta={eta!r} must be a number >= 0.")
    return int(np.count_nonzero(np.asarray(singular_values) > eta / 2))

"""Ranks from singular values: by a test against permuted responses, and by the paper's threshold."""

from __future__ import annotations

import numpy as np

from jointdr.runtime import Array, check_integer, check_number


def null_rank(singular_values: Array, null: Array, level: float = 0.05) -> int:
    """The number of leading singular values above those of permuted responses.

    The hypotheses "at most k directions", k = 0, 1, ..., are tested in turn until one is kept: σ_{k+1} is compared with
    the *largest* singular value of each permutation, and the hypothesis is rejected if (1 + how many of those reach
    σ_{k+1})/(1 + n_permutations) is at most `level`.

    Parameters
    ----------
    singular_values : (k,) array
        Decreasing.
    null : (n_permutations, k) array
    level : float
        The level of the test: the probability of reporting a direction that is not there.

    Notes
    -----
    The (k + 1)-th null value would be too easy to beat: without k true directions, the rest of the proxy is a noise
    matrix nearly as large, and σ_{k+1} is *its* largest singular value. It is at most that of
    (I − P_U)X₀, in which y is independent of the features as in a permutation. Since every test is made only if the
    one before it rejected, all of them together have the level of one. Counting the observed value among the
    permutations keeps that level for any number of them, where a quantile of few values would not.

    References
    ----------
    R. D. Cook and S. Weisberg. Comment on "Sliced inverse regression for dimension reduction". Journal of the American
    Statistical Association 86, 1991 (sequential tests of the number of directions).

    R. D. Cook and X. Yin. Dimension reduction and visualization in discriminant analysis. Australian and New Zealand
    Journal of Statistics 43, 2001 (by permutations).
    """
    require_permutations(len(null), level)
    rejected = np.asarray(singular_values) > null_threshold(null, level)
    return len(rejected) if rejected.all() else int(np.argmin(rejected))


def require_permutations(n_permutations: int, level: float) -> None:
    """Refuse a number of permutations that cannot reject anything at this level."""
    check_number("level", level, 0, 1, strictly=True)
    check_integer("n_permutations", n_permutations)
    if not (1 + n_permutations) * level * (1 + 1e-12) >= 1:
        raise ValueError(
            f"n_permutations={n_permutations!r} cannot reject anything at level={level:g}: "
            f"at least {int(np.ceil(1 / level - 1e-9)) - 1} are needed."
        )


def null_threshold(null: Array, level: float) -> float:
    """The least bound above which (1 + how many permutations reach it)/(1 + n_permutations) ≤ level."""
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
    unavailable"). `jointdr.diagnostics.rank_profile` takes three times the median of the largest singular value under
    permutation, which is the smallest η that the noise allows: directions count that stand 1.5 times above noise. The
    paper bounds the Frobenius norm of the noise, but for singular values its spectral norm is enough (Weyl).

    Examples
    --------
    >>> from jointdr.diagnostics import threshold_rank
    >>> threshold_rank([3.0, 2.0, 0.4, 0.3], eta=1.0)
    2
    """
    check_number("eta", eta, 0)
    return int(np.count_nonzero(np.asarray(singular_values) > eta / 2))

"""Heavy tails of the response: a check, and the warning of a fit."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from jointdr.runtime import Array, check_number

TAIL_ROWS = 200_000  # at most about this many responses are looked at


class HeavyTailWarning(UserWarning):
    """The response has heavy tails, so that a few rows may decide the fit."""


class Tail(NamedTuple):
    """The result of `tail_check`."""

    is_heavy: bool
    tail_index: float
    option: str


def tail_check(y: Any, share: float = 0.01) -> Tail:
    """Check whether y has heavy tails.

    The tail index ξ (Hill's estimate on the largest |y − median|) means that moments of order 1/ξ and above do not
    exist; it is the limit of how fast the mean excess over a threshold grows with it (Bryson, 1974). Light tails have
    ξ = 0, Student's t with ν degrees of freedom has 1/ν.

    Parameters
    ----------
    y : (rows,) array
    share : float
        How much of the data counts as tail; at least 50 values are used, and below 1000 rows no tail counts as heavy.

    Returns
    -------
    Tail
        ``is_heavy``: ξ is above 0.45 by two standard errors, so that the variance of y is in doubt, and with it the
        √(n/m) error of the embeddings. ``tail_index``: ξ. ``option``: the ``response=`` to try then.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import tail_check
    >>> rng = np.random.default_rng(0)
    >>> tail_check(rng.standard_normal(10_000)).is_heavy
    False
    >>> tail_check(rng.standard_t(1.5, 10_000)).is_heavy
    True
    """
    check_number("share", share, 0, 1)
    y = np.asarray(y, dtype=float).ravel()
    k = max(50, int(share * len(y)))
    if len(y) < 20 * k:  # too few to see the tail
        return Tail(False, 0.0, "rank")
    size = np.partition(np.abs(y - np.median(y)), len(y) - k - 1)[-k - 1 :]
    if not size[0] > 0:  # mostly one value, such as rare ones among zeros: bounded
        return Tail(False, 0.0, "rank")
    index = float(np.mean(np.log(size[1:] / size[0])))
    return Tail(bool(index * (1.0 - 2.0 / np.sqrt(k)) > 0.45), index, "rank")


def warn_if_heavy(y: Array) -> None:
    """Warn of heavy tails, judged by an even sample of the rows where there are many."""
    tail = tail_check(y[:: max(1, len(y) // TAIL_ROWS)])
    if tail.is_heavy:
        warnings.warn(
            f"y has heavy tails (tail index {tail.tail_index:.2f}), so that a few rows may decide the fit. "
            f"Try response={tail.option!r}, which replaces y by its normal scores.",
            HeavyTailWarning,
            stacklevel=3,
        )

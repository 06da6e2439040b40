"""The contract of a method: which moments it reads, how it solves from them, and how it is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.directions import Embedding, Fitted, Options, require_finite, warn_no_signal
from jointdr.engines import Grid, Rows
from jointdr.moments import Moments, merged

Read = Callable[[Rows | Grid, Options], list[Moments]]


@dataclass(frozen=True)
class FittingMethod:
    """A method as a value: checked options, and functions that take them.

    Attributes
    ----------
    options : Options
    read : callable (rows, options, first_row) -> list of Moments
        The moments of some rows, mergeable with those of rows to come, in as many parts as the method needs.
    solve : callable (parts, options) -> Fitted
        The fit to the rows whose moments these are.
    fit : callable (rows, options) -> Fitted
        The fit to rows, which may be read more than once.
    score : callable (embedding, rows) -> float, or None
        How well the response of other rows is predicted.
    """

    options: Options
    read: Callable[[Rows | Grid, Options, int], list[Moments]]
    solve: Callable[[Sequence[Moments], Options], Fitted]
    fit: Callable[[Rows | Grid, Options], Fitted]
    score: Callable[[Embedding, Rows], float] | None = None


def by_moments(
    options: Options,
    solution: Callable[[Any, Options], Embedding],
    keep: dict[str, Any] | None = None,
    *,
    reading: Read | None = None,
    score: Callable[[Embedding, Rows], float] | None = None,
    in_parts: bool = False,
) -> FittingMethod:
    """A method that reads the data once: moments with the keywords `keep` of `Moments.of_block`, then `solution`.

    `reading` reads other moments than those of all rows together; with `in_parts` they are not merged before the
    solution.
    """

    def read(rows: Rows | Grid, options: Options, first_row: int = 0) -> list[Moments]:
        with np.errstate(all="ignore"):
            parts = [rows.moments(**(keep or {}))] if reading is None else reading(rows, options)
        require_finite(parts, rows, options)
        return parts

    def solve(parts: Sequence[Moments], options: Options) -> Fitted:
        found = list(parts) if in_parts else [merged(parts)]
        if found[0].n_responses and not any((part.y_variances > 0).any() for part in found if part.weight > 0):
            warn_no_signal()
        return Fitted(options, solution(found if in_parts else found[0], options), list(parts))

    return FittingMethod(options, read, solve, lambda rows, options: solve(read(rows, options), options), score)

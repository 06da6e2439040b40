"""The contract of a method: which moments it reads, how it solves from them, and how it is scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from jointdr.directions import Embedding, Fitted, Options, require_finite, warn_no_signal
from jointdr.engines import Grid, Rows
from jointdr.moments import Moments, merged


class FittingMethod(Protocol):
    """A method with checked parameters, for data of a known shape."""

    @property
    def options(self) -> Options:
        """The choices of the maths."""

    def read(self, rows: Rows | Grid, first_row: int = 0) -> list[Moments]:
        """The moments of these rows, mergeable with those of rows to come, in as many parts as the method needs."""

    def solve(self, parts: Sequence[Moments]) -> Fitted:
        """The fit to the rows whose moments these are."""

    def fit(self, rows: Rows | Grid) -> Fitted:
        """The fit to these rows, which may be read more than once."""

    def score(self, embedding: Embedding, rows: Rows) -> float:
        """How well the response of other rows is predicted."""


@dataclass(frozen=True)
class ByMoments:
    """A method that reads the data once: moments with the keywords `keep` of `Moments.of_block`, then `solution`.

    `reading` reads other moments than those of all rows together, and with `in_parts` they are not merged before the
    solution. `share` is the score.
    """

    options: Options
    solution: Callable[[Any, Options], Embedding]
    keep: dict[str, Any] = field(default_factory=dict)
    reading: Callable[[Rows | Grid], list[Moments]] | None = None
    share: Callable[[Embedding, Rows], float] | None = None
    in_parts: bool = False

    def read(self, rows: Rows | Grid, first_row: int = 0) -> list[Moments]:
        with np.errstate(all="ignore"):
            parts = [rows.moments(**self.keep)] if self.reading is None else self.reading(rows)
        require_finite(parts, rows, self.options)
        return parts

    def solve(self, parts: Sequence[Moments]) -> Fitted:
        found = list(parts) if self.in_parts else [merged(parts)]
        if found[0].n_responses and not any((part.y_variances > 0).any() for part in found if part.weight > 0):
            warn_no_signal()
        embedding = self.solution(found if self.in_parts else found[0], self.options)
        return Fitted(self.options, embedding, list(parts))

    def fit(self, rows: Rows | Grid) -> Fitted:
        return self.solve(self.read(rows))

    def score(self, embedding: Embedding, rows: Rows) -> float:
        """The share of the response that is explained."""
        assert self.share is not None
        return self.share(embedding, rows)

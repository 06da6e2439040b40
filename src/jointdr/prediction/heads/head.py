"""The contract of a head: from descriptions of row and column entities to the scores of their pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from jointdr.prediction.ranking import Scorer, SparseScorer
from jointdr.runtime import Array

Tables = tuple[Array, ...]  # the same entities in one or several descriptions, each an (m, r) array or CSR matrix


@dataclass(frozen=True)
class EntitySet:
    """The entities of one kind that scores are asked of."""

    count: int
    tables: Tables | None = None  # new entities, (count, r) in each description; None for known ones
    indices: Array | None = None  # (count,): which of the known entities; None for all of them in their order

    @property
    def is_everything(self) -> bool:
        return self.tables is None and self.indices is None

    def take(self, known: Tables, at: slice) -> Tables:
        """The descriptions of some of these entities, where those of the known ones are given."""
        if self.tables is not None:
            return tuple(T[at] for T in self.tables)
        return tuple(T[at if self.indices is None else self.indices[at]] for T in known)

    def part(self, at: slice) -> EntitySet:
        size = at.stop - at.start
        if self.tables is not None:
            return EntitySet(size, tuple(T[at] for T in self.tables))
        return EntitySet(size, None, np.arange(at.start, at.stop) if self.indices is None else self.indices[at])


class Head(ABC):
    """A fitted model of scores, once entities are described.

    A subclass defines `scorer`, and the others where it can do better. Heads are values: nothing changes them, and the
    same arguments give the same scores.
    """

    @abstractmethod
    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns.

        Parameters
        ----------
        rows, columns : EntitySet
        max_bytes : float
            Memory for what is held between calls. Scores do not depend on it.
        count : bool
            Whether to note the effective number of known pairs behind each score as ``neighbors``, if there is one.
        """

    def ranker(self, rows: EntitySet) -> SparseScorer | None:
        """The same for all known columns, as sparse scores beside defaults; None where every score is its own."""
        return None

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose scores with so many columns fit into this memory; `ranked` is for `ranker`."""
        return max(1, int(max_bytes / (24 * n_columns)))

    def pair_weights(self, row: EntitySet, column: EntitySet) -> Any:
        """The factor of each known score in the prediction of one pair: (m_A, m_B), whole or in parts, or CSR."""
        raise ValueError("These scores are not sums over known pairs.")

    def place_on(self, device: str | None) -> Head:
        """The same head, whose scores are computed on a device of PyTorch where it has code for that."""
        return self

    def hold_weights(self, max_bytes: float) -> Self:
        """The same head with everything that does not depend on the question computed beforehand, if it fits."""
        return self

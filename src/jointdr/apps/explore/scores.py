"""The scores of one row with all columns, or of one column with all rows, from weights that are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy import sparse

from jointdr.prediction import VANISHING, AnyKernel, Columns, GridRegression, GridRidge, effective
from jointdr.runtime import Array, is_sparse

HELD = 5e8
"""Memory in bytes for the weights between the entities of one kind, enough for 7900 of them. Those of more entities
are computed again for every answer."""

Described = Sequence[Array] | None
"""New entities as the model sees them, or None for those that were fitted."""


class Scores(Protocol):
    """What a page asks of a head; every answer is about one entity, so the matrix of all scores is never formed."""

    def of_row(self, Z: Described, place: int) -> Array:
        """The scores of one row, fitted or new, with all columns: (m_B,)."""

    def of_column(self, place: int) -> Array:
        """The scores of one fitted column with all rows: (m_A,)."""

    def neighbors(self, Z: Described, place: int, columns: Array) -> Array | None:
        """The effective number of known pairs behind the scores of a row with some columns; None if there is none."""


def scores_of(head: GridRegression | GridRidge) -> Scores:
    """The scores of a fitted head."""
    return KernelScores(head) if isinstance(head, GridRegression) else RidgeScores(head)


class KernelScores:
    """Scores by kernel regression; O(m_A r + |Y| + m_B²) for a row, O(m_B r + |Y| + m_A²) for a column.

    Parameters
    ----------
    head : GridRegression
        Its kernels are evaluated between all rows and between all columns at once, which is what a start takes.
    held : float
        Memory in bytes for each of the two; without enough of it answers take longer.
    """

    def __init__(self, head: GridRegression, held: float = HELD) -> None:
        self.head = head
        self._rows, self._columns = (KnownColumns(kernel, held) for kernel in head.kernels)
        Y = sparse.csr_array(head.Y.T) if is_sparse(head.Y) else head.Y.T
        self._turned = GridRegression(Y, head.complete, (head.kernels[1], head.kernels[0]))

    def of_row(self, Z: Described, place: int) -> Array:
        """The scores of one row, fitted or new, with all columns: (m_B,)."""
        return self.head.smoothed(self._weights(Z, place), self._columns)[0][0]

    def of_column(self, place: int) -> Array:
        """The scores of one fitted column with all rows: (m_A,)."""
        weights = self._turned.kernels[0].weights_at(None, slice(place, place + 1))
        turned = self._turned
        if turned.complete:
            return turned.smoothed(weights, self._rows)[0][0]
        sums, total = (self._rows.sums(part)[0] for part in turned.row_sums(weights))
        # Where a pair has no neighbours the head takes the mean of its column, which is one number here.
        mean = self.head._column_means(self._chosen(np.array([place])), None)[0, 0]
        return np.divide(sums, total, out=np.full(len(sums), mean), where=total > VANISHING)

    def neighbors(self, Z: Described, place: int, columns: Array) -> Array | None:
        """The effective number of known pairs behind the scores of a row with some columns."""
        if len(columns) == 0:
            return np.empty(0)
        chosen, K = self._chosen(columns), self._weights(Z, place)
        if self.head.complete:
            return effective(K)[0] * chosen.effective
        found = self.head.smoothed(K, chosen, count=True)[1]
        return None if found is None else found[0]

    def _chosen(self, places: Array) -> ChosenColumns:
        return ChosenColumns(self.head.kernels[1], places, self._columns.held)

    def _weights(self, Z: Described, place: int) -> Array:
        return self.head.kernels[0].weights_at(Z, slice(place, place + 1))


class KnownColumns(Columns):
    """The kernel weights of all known columns.

    Parameters
    ----------
    kernel : Kernel or Mixture
    held : float
        Memory in bytes.
    """

    def __init__(self, kernel: AnyKernel, held: float) -> None:
        super().__init__(kernel, None, 3 * held)  # which counts three arrays for each that it keeps
        if self.held is not None:
            # Once, instead of in every answer; known columns are their own neighbours, so none has no weight at all.
            self.held /= self.held.sum(axis=1, keepdims=True)

    def averages(self, N: Array) -> Array:
        """N (rows, m_B) averaged over the neighbours of each column, (rows, columns)."""
        return super().averages(N) if self.held is None else N @ self.held.T


class ChosenColumns(Columns):
    """The kernel weights of some of the known columns.

    Parameters
    ----------
    kernel : Kernel or Mixture
    places : array of int
    held : (m_B, m_B) array, optional
        The weights of all of them, if there are any to take these from.
    """

    def __init__(self, kernel: AnyKernel, places: Array, held: Array | None = None) -> None:
        super().__init__(kernel, None, HELD if held is None else 0.0, only=places)
        if held is not None:
            self.held = held[places]


class RidgeScores:
    """Scores by ridge regression; O(q_1 m_B) for a row and O(q_1 m_A) for a column with q features.

    Parameters
    ----------
    head : GridRidge
    """

    def __init__(self, head: GridRidge) -> None:
        self.head = head
        self._of_columns = head.core @ head.coordinates[1].known.T

    def of_row(self, Z: Described, place: int) -> Array:
        """The scores of one row, fitted or new, with all columns: (m_B,)."""
        return self.head.coordinates[0](Z, slice(place, place + 1))[0] @ self._of_columns + self.head.mean

    def of_column(self, place: int) -> Array:
        """The scores of one fitted column with all rows: (m_A,)."""
        return self.head.coordinates[0].known @ self._of_columns[:, place] + self.head.mean

    def neighbors(self, Z: Described, place: int, columns: Array) -> Array | None:
        """None: ridge regression weighs all known pairs."""
        return None

"""Popularity: the baseline that uses no feature, the mean score of every column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdr.data import Dyads, Entities
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.queries import as_dyads
from jointdr.prediction.ranking import ScoreBlock, Scorer
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import Array, checked_array


@dataclass(frozen=True)
class Means(Head):
    """The mean known score of every row and of every column, and of all pairs."""

    rows: Array
    columns: Array
    overall: float

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """The mean of the column; where that is new the mean of the row, and where both are new that of all."""
        everything = slice(0, columns.count)
        if columns.tables is None:
            (means,) = columns.take((self.columns,), everything)
            return lambda at: ScoreBlock(np.tile(means, (at.stop - at.start, 1)))
        if rows.tables is None:
            return lambda at: ScoreBlock(np.tile(rows.take((self.rows,), at)[0][:, None], (1, columns.count)))
        return lambda at: ScoreBlock(np.full((at.stop - at.start, columns.count), self.overall))


class Popularity(Recommender):
    """The mean known score of its column as the score of a pair, whatever the row: popular columns are recommended.

    A new column has no scores yet. For a known row it gets the mean of the row, for a new one the mean of all pairs.

    Attributes
    ----------
    means_ : tuple of (m_A,) and (m_B,) arrays
        The mean known score of each row and of each column; that of all pairs for an entity without any.
    mean_ : float
        The mean of all known scores.
    row_ids_, column_ids_, view_names_, n_features_per_view_
        As in `AssociationModel`.

    Notes
    -----
    O(|Y|), the number of stored scores. Features and similarities are not used.

    References
    ----------
    Cremonesi, Koren and Turrin (2010). Performance of recommender algorithms on top-N recommendation tasks. RecSys.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Popularity
    >>> Y = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> Popularity().fit(Y, np.zeros((2, 1)), np.zeros((3, 1))).predict(np.zeros((1, 1)))
    array([[1. , 0.5, 0. ]])
    """

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Average the scores.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        dyads = as_dyads(Y, A, B, observed)
        overall = float(dyads.Y.sum()) / dyads.n_observed
        rows, columns = (_means(dyads, k, count, overall) for k, count in enumerate(dyads.grid.counts()))
        self._keep(dyads, Means(rows, columns, overall))
        self.means_, self.mean_ = (rows, columns), overall
        return self

    def _describe(self, k: int, new: Entities) -> Tables:
        return (new.X,)  # of which only the number counts

    def _compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        means = self.means_[k]
        mean = self.mean_ if one.indices is None else means[one.indices[0]]
        distance = np.abs(means - mean)
        return distance, 1.0 - distance / (float(distance.max(initial=0.0)) or 1.0)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        check_is_fitted(self)
        header, arrays = self._names_to_arrays()
        return header, arrays | {"means.0": self.means_[0], "means.1": self.means_[1], "mean": np.array([self.mean_])}

    def _read(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        m_A, m_B = len(self.row_ids_), len(self.column_ids_)
        self.means_ = (checked_array(arrays, "means.0", (m_A,)), checked_array(arrays, "means.1", (m_B,)))
        self.mean_ = float(checked_array(arrays, "mean", (1,))[0])
        self._head = Means(*self.means_, self.mean_)


def _means(dyads: Dyads, k: int, count: Array, overall: float) -> Array:
    """The mean known score of each row (k = 0) or column; that of all pairs for an entity without any."""
    sums = np.asarray(dyads.Y.sum(axis=1 - k), dtype=float).ravel()
    return np.divide(sums, count, out=np.full(len(sums), overall), where=count > 0)

"""The baseline that looks at no feature: how much each entity scores on average."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdr.data import Dyads
from jointdr.prediction.ranking import ScoreBlock
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import Array, checked_array, load_model, write_model


class Popularity(Recommender):
    """The score of a pair is the mean known score of its column, whatever the row: what is popular is recommended.

    A new column has no scores yet. For a known row it gets the mean of the row, for a new one the mean of all pairs.

    Attributes
    ----------
    means_ : tuple of (m_A,) and (m_B,) arrays
        The mean known score of each row and of each column; that of all pairs for an entity without any.
    mean_ : float
        Of all known scores.
    row_ids_, column_ids_, view_names_, n_features_per_view_
        As in `AssociationModel`.

    Notes
    -----
    O(|Y|), the number of stored scores. Features are not looked at.

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
        dyads = self._dyads(Y, A, B, observed)
        self._remember(dyads)
        counts = dyads.grid.counts()
        self.mean_ = float(dyads.Y.sum()) / dyads.n_observed
        self.means_ = tuple(self._means(dyads, k, count) for k, count in enumerate(counts))
        return self

    def _means(self, dyads: Dyads, k: int, count: Array) -> Array:
        sums = np.asarray(dyads.Y.sum(axis=1 - k), dtype=float).ravel()
        return np.divide(sums, count, out=np.full(len(sums), self.mean_), where=count > 0)

    def _scorer(self, A: Array | None, B: Array | None, count: bool = False) -> Callable[[slice], ScoreBlock]:
        if B is None:
            return lambda at: ScoreBlock(np.tile(self.means_[1], (at.stop - at.start, 1)))
        if A is None:
            return lambda at: ScoreBlock(np.tile(self.means_[0][at, None], (1, B.shape[0])))
        return lambda at: ScoreBlock(np.full((at.stop - at.start, B.shape[0]), self.mean_))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which holds plain arrays only and can be loaded safely."""
        check_is_fitted(self)
        header, arrays = self._described()
        arrays |= {"means.0": self.means_[0], "means.1": self.means_[1], "mean": np.array([self.mean_])}
        write_model(path, type(self).__name__, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. It gives the same results to the last bit, and no code is run."""
        return load_model(path, cls.__name__, cls._restored)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `save` took apart."""
        model = cls()
        model._recall(header, arrays)
        m_A, m_B = len(model.row_ids_), len(model.column_ids_)
        model.means_ = (checked_array(arrays, "means.0", (m_A,)), checked_array(arrays, "means.1", (m_B,)))
        model.mean_ = float(checked_array(arrays, "mean", (1,))[0])
        return model

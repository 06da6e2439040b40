"""Coordinates of an embedding as a description, learned from the scores of each part alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import clone

from jointdr.data import Dyads
from jointdr.directions import RankError
from jointdr.estimators import JDR, ViewsTransformer
from jointdr.prediction.heads.descriptions import Description
from jointdr.prediction.search.parts import Part
from jointdr.runtime import Array, is_sparse

RANK = 40  # directions, at most
RIDGE = 1.0  # of the normalization, in units of the mean variance of features
WIDEST = 2000  # features of a table that is embedded, at most: their covariance is inverted


def default_embedding(dyads: Dyads) -> JDR | None:
    """A ridge-whitened JDR with as many directions as the data has, at most 40; None where it does not suit."""
    most = min(*dyads.n_features, *(m - 1 for m in dyads.shape), RANK)
    if most < 1 or max(dyads.n_features) > WIDEST:
        return None
    return JDR(most, ridge=RIDGE)


def fit_embedding(embedding: ViewsTransformer, dyads: Dyads) -> ViewsTransformer | None:
    """The fitted embedding, with fewer directions where the data has fewer; None where it cannot be fitted."""
    rank = embedding.get_params().get("n_components")
    while True:
        try:
            with np.errstate(all="ignore"):
                return clone(embedding).fit(dyads)
        except RankError:
            if not isinstance(rank, int) or rank <= 1:
                return None
            rank //= 2
            embedding = clone(embedding).set_params(n_components=rank)
        except (ValueError, np.linalg.LinAlgError):
            return None


class LearnedSimilarities:
    """From a part to the similarities of all entities in the coordinates that its scores give."""

    def __init__(self, dyads: Dyads, embedding: ViewsTransformer) -> None:
        self.dyads, self.embedding = dyads, embedding

    def __call__(self, part: Part) -> tuple[Array, Array]:
        train = self.dyads.rows(part.rows).columns(part.columns)
        if part.by == "pairs":
            train = train.replace(Y=self._scores_of(part), is_complete=part.scores.mask is None)
        fitted = fit_embedding(self.embedding, train)
        if fitted is None:
            raise ValueError("The embedding has no direction here.")
        tables = (self.dyads.A, self.dyads.B)
        a, b = (Description.of_embedding(fitted.solution_, k, X).similarities() for k, X in enumerate(tables))
        return a, b

    def _scores_of(self, part: Part) -> Array:
        if part.scores.mask is not None:
            i, j = np.nonzero(part.scores.mask)
            return sparse.csr_array((part.scores.Y[i, j], (i, j)), shape=part.scores.Y.shape)
        return sparse.csr_array(part.scores.Y) if is_sparse(self.dyads.Y) else part.scores.Y

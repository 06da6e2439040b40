"""Coordinates of an embedding as a description, learned from the scores of each part alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from jointdr.data import Dyads
from jointdr.estimators import JDR, ViewsTransformer, compose_embedding
from jointdr.prediction.heads.build import fit_within_rank
from jointdr.prediction.heads.descriptions import NARROW, Description, have_different_units
from jointdr.prediction.search.parts import Part
from jointdr.runtime import Array, MemoryBudgetError, is_sparse

RANK = 400  # directions, at most
RIDGE = 1.0  # of the normalization, in units of the mean variance of features
WIDEST = 2000  # features of a table that is embedded as it is: their covariance is inverted
NARROWED = 400  # the features that a wider table is reduced to


Maps = tuple[Array | None, Array | None]  # W of each table X, (n, q); None for a table that stays


def choose_maps(dyads: Dyads, standardize: bool) -> Maps:
    """The maps of both tables before an embedding; scores have no influence.

    A wide table is mapped to its leading features, by its leading right singular vectors in O(q |X|). With
    `standardize` a narrow one, whose features have different units, is mapped to standard deviations: a ridge is in
    units of the mean variance, beside which years would not count if there are daltons too.
    """
    with threadpool_limits(1, user_api="blas"):  # scikit-learn's products and decompositions have threads of their own
        a, b = (_choose_map(X, standardize) for X in (dyads.A, dyads.B))
    return a, b


def _choose_map(X: Array, standardize: bool) -> Array | None:
    q = min(NARROWED, X.shape[0] // 2)
    if X.shape[1] > WIDEST and q >= 1:
        return np.asarray(randomized_svd(X.astype(float, copy=False), q, n_iter=2, random_state=0)[2].T)
    if standardize and X.shape[1] <= NARROW and have_different_units(X):
        deviations = np.std(np.asarray(X, dtype=float), axis=0)
        return np.diag(1.0 / np.where(deviations > 0, deviations, 1.0))
    return None


def map_tables(dyads: Dyads, maps: Maps) -> Dyads:
    """The dyads with tables X W."""
    if maps[0] is None and maps[1] is None:
        return dyads
    sides = zip((dyads.A, dyads.B), maps, strict=True)
    return dyads.replace(tables=[X if W is None else np.asarray(X @ W) for X, W in sides])


def default_embedding(dyads: Dyads) -> JDR | None:
    """A ridge-whitened JDR with as many directions as the data has, at most 400; None where there are no features."""
    widths = (min(n, NARROWED, m // 2) if n > WIDEST else n for n, m in zip(dyads.n_features, dyads.shape, strict=True))
    most = min(*widths, *(m - 1 for m in dyads.shape), RANK)
    return None if most < 1 else JDR(most, ridge=RIDGE)


def fit_embedding(embedding: ViewsTransformer, dyads: Dyads, maps: Maps) -> ViewsTransformer | None:
    """The fitted embedding, with fewer directions where the data has fewer; None where it cannot be fitted.

    Tables are mapped first, and the embedding is one of their own features again.
    """
    mapped = map_tables(dyads, maps)
    fitted = _fit_as_far_as_it_goes(embedding, mapped)
    if fitted is None or mapped is dyads:
        return fitted
    return compose_embedding(fitted, maps, dyads.feature_names)


def _fit_as_far_as_it_goes(embedding: ViewsTransformer, dyads: Dyads) -> ViewsTransformer | None:
    try:
        with np.errstate(all="ignore"):
            return fit_within_rank(clone(embedding), dyads)
    except MemoryBudgetError:
        raise
    except (ValueError, np.linalg.LinAlgError):
        return None


class LearnedSimilarities:
    """From a part to the similarities of all entities in the coordinates that its scores give."""

    def __init__(self, dyads: Dyads, embedding: ViewsTransformer, maps: Maps) -> None:
        self.dyads, self.embedding = map_tables(dyads, maps), embedding

    def __call__(self, part: Part) -> tuple[Array, Array]:
        train = self.dyads.rows(part.rows).columns(part.columns)
        if part.by == "pairs":
            train = train.replace(Y=self._scores_of(part), is_complete=part.scores.mask is None)
        fitted = _fit_as_far_as_it_goes(self.embedding, train)
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

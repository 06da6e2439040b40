"""Gradient boosted trees on the features of both entities of a pair, by LightGBM, which is optional."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from jointdr.data import Dyads
from jointdr.directions import scaled_left_vectors
from jointdr.evaluation.peers.shared import Peer, SharedWork
from jointdr.prediction import EntitySet, Head, ScoreBlock, Scorer, as_dyads
from jointdr.runtime import Array, as_float, check_integer, check_number, dense, float_dtype, make_random_state

MOST = 300_000  # pairs that trees are fitted to, at most


def has_lightgbm() -> bool:
    """Whether LightGBM is installed."""
    return importlib.util.find_spec("lightgbm") is not None


@dataclass(frozen=True)
class ReducedTables:
    """The features of one side: a table as it is, or its leading right singular vectors."""

    vectors: tuple[Array | None, ...]  # (n, r) of each table
    known: Array  # (m, q)

    @staticmethod
    def of(tables: tuple[Array, ...], width: int) -> ReducedTables:
        """Of features and similarities, with `width` numbers for each of them at most."""
        vectors = tuple(None if X.shape[1] <= width else _right_vectors(X, width) for X in tables)
        return ReducedTables(vectors, _project(tables, vectors))

    def of_set(self, some: EntitySet, at: slice) -> Array:
        """Some entities in the same way."""
        if some.tables is None:
            return self.known[at if some.indices is None else some.indices[at]]
        return _project(tuple(T[at] for T in some.tables), self.vectors)


def _right_vectors(X: Array, width: int) -> Array:
    U = scaled_left_vectors(as_float(X, float_dtype(X)), min(width, *X.shape))
    squares = np.maximum(np.sum(U**2, axis=0), np.finfo(float).tiny)
    return np.asarray(X.T @ U) / squares


def _project(tables: tuple[Array, ...], vectors: tuple[Array | None, ...]) -> Array:
    parts = zip(tables, vectors, strict=True)
    return np.hstack([np.asarray(dense(X) if V is None else X @ V, dtype=float) for X, V in parts])


@dataclass(frozen=True)
class TreesHead(Head):
    """Trees on the features of rows and columns, side by side."""

    rows: ReducedTables
    columns: ReducedTables
    trees: Any

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns."""
        b = self.columns.of_set(columns, slice(0, columns.count))

        def block(at: slice) -> ScoreBlock:
            a = self.rows.of_set(rows, at)
            pairs = np.hstack([np.repeat(a, len(b), axis=0), np.tile(b, (len(a), 1))])
            return ScoreBlock(np.asarray(self.trees.predict(pairs), dtype=float).reshape(len(a), len(b)))

        return block

    def rows_at_once(self, n_columns: int, max_bytes: float, ranked: bool = False) -> int:
        """The number of rows whose pairs with so many columns fit into this memory."""
        width = self.rows.known.shape[1] + self.columns.known.shape[1] + 4
        return max(1, int(max_bytes / (16 * width * n_columns)))


class BoostedTrees(Peer):
    """Gradient boosted trees of LightGBM on [a, b], the features of both entities of a pair.

    Parameters
    ----------
    n_estimators, num_leaves, learning_rate
        As in LightGBM.
    negatives : float
        Of implicit feedback, the unknown pairs that are drawn at random for each association.
    width : int
        A table with more features, and every similarity, is reduced to so many by its singular vectors.
    n_jobs : int
        Threads.
    random_state : int, RandomState or None

    References
    ----------
    Ke, Meng, Finley, Wang, Chen, Ma, Ye and Liu (2017). LightGBM: a highly efficient gradient boosting decision tree.
    NeurIPS 30, 3146-3154.
    """

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        num_leaves: int = 31,
        learning_rate: float = 0.1,
        negatives: float = 10.0,
        width: int = 50,
        n_jobs: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.learning_rate = learning_rate
        self.negatives = negatives
        self.width = width
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores of at most 300 000 pairs.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`.
        """
        if not has_lightgbm():
            raise ImportError("LightGBM is not installed: python -m pip install lightgbm.")
        from lightgbm import LGBMRegressor

        dyads = as_dyads(Y, A, B, observed)
        width = check_integer("width", self.width, 1)
        negatives = check_number("negatives", self.negatives, 0, strictly=True)
        work = SharedWork.of(dyads)
        if ("reductions", width) not in work.memo:
            work.memo["reductions", width] = tuple(ReducedTables.of(_tables(dyads, k), width) for k in (0, 1))
        rows, columns = work.memo["reductions", width]
        if rows.known.shape[1] + columns.known.shape[1] == 0:
            raise ValueError("LightGBM needs features or similarities of the entities, and these dyads have none.")
        i, j, y = _pairs(dyads, work.implicit, negatives, make_random_state(self.random_state))
        trees = LGBMRegressor(
            n_estimators=check_integer("n_estimators", self.n_estimators, 1),
            num_leaves=check_integer("num_leaves", self.num_leaves, 2),
            learning_rate=check_number("learning_rate", self.learning_rate, 0, strictly=True),
            objective="binary" if work.implicit else "regression",
            n_jobs=self.n_jobs,
            random_state=0,
            deterministic=True,
            force_row_wise=True,
            verbose=-1,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trees.fit(np.hstack([rows.known[i], columns.known[j]]), y)
        self._keep(dyads, TreesHead(rows, columns, trees.booster_))
        return self


def _tables(dyads: Dyads, k: int) -> tuple[Array, ...]:
    X = (dyads.A, dyads.B)[k]
    return (X, *dyads.similarities[k].values())


def _pairs(dyads: Dyads, implicit: bool, negatives: float, rng: np.random.RandomState) -> tuple[Array, Array, Array]:
    """Pairs to fit, and their scores."""
    if not implicit:
        if dyads.is_complete:
            Y = np.asarray(dense(dyads.Y), dtype=float)
            i, j = (at.ravel() for at in np.indices(Y.shape))
            y = Y.ravel()
        else:
            Y = sparse.coo_array(dyads.Y)
            i, j, y = Y.row, Y.col, Y.data
        some = rng.choice(len(y), MOST, replace=False) if len(y) > MOST else slice(None)
        return i[some], j[some], np.asarray(y, dtype=float)[some]
    Y = np.asarray(dense(dyads.Y)) > 0
    positive, other = np.flatnonzero(Y), np.flatnonzero(~Y)
    if len(positive) > MOST // 2:
        positive = rng.choice(positive, MOST // 2, replace=False)
    count = min(len(other), MOST - len(positive), max(1, int(negatives * len(positive))))
    at = np.concatenate([positive, rng.choice(other, count, replace=False)])
    i, j = np.unravel_index(at, Y.shape)
    return i, j, np.repeat([1.0, 0.0], [len(positive), count])

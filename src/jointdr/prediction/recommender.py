"""What all models of dyads share: scores for known and new entities, and the best of them for every row."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from jointdr.data import Dyads, Entities, entities, index_of
from jointdr.prediction.ranking import ScoreBlock, SparseBlock, top_pairs
from jointdr.runtime import Array, checked_array, checked_csr, is_sparse, memory, slices


class Recommender(BaseEstimator):
    """A model of the scores between two kinds of entities.

    A subclass calls `_remember` in `fit` and defines `_scorer`.
    """

    row_ids_: Array
    column_ids_: Array
    view_names_: tuple[str, str]
    n_features_per_view_: tuple[int, int]
    _feature_names: tuple[Array | None, Array | None]
    _scores: Array
    _is_complete: bool

    @abstractmethod
    def _scorer(self, A: Array | None, B: Array | None, count: bool = False) -> Callable[[slice], ScoreBlock]:
        """A function from some rows to their scores with all columns; None stands for the fitted entities."""

    # ---------------------------------------------------------------- using it

    def predict(self, A_new: Any = None, B_new: Any = None) -> Array:
        """The scores of all pairs of these entities, (rows, columns).

        Parameters
        ----------
        A_new, B_new : tables, optional
            New entities; by default those that were fitted.
        """
        check_is_fitted(self)
        A, B = (None if X is None else self._checked(k, X).X for k, X in enumerate((A_new, B_new)))
        n_rows = len(self.row_ids_) if A is None else A.shape[0]
        n_columns = len(self.column_ids_) if B is None else B.shape[0]
        memory.require(
            8.0 * n_rows * n_columns,
            f"The scores of {n_rows} rows with {n_columns} columns",
            "predict fewer rows at a time, or ask for the best columns of each with recommend",
        )
        scorer = self._scorer(A, B)
        blocks = list(self._row_blocks(n_rows, n_columns))
        if len(blocks) == 1:
            return scorer(blocks[0]).scores
        scores = np.empty((n_rows, n_columns))
        for at in blocks:
            scores[at] = scorer(at).scores
        return scores

    def recommend(self, A_new: Any = None, *, k: int = 10, exclude_known: bool = True) -> Any:
        """The k best columns for every row.

        Parameters
        ----------
        A_new : table, optional
            New row entities; by default those that were fitted.
        k : int
        exclude_known : bool
            Whether pairs that were known in the fit are left out: those that were observed or, if all were, those whose
            score was not 0. Rows of a DataFrame are recognized by their ids, other new rows have no known pairs.

        Returns
        -------
        DataFrame, or structured array where pandas is not installed, with the columns row, column, score and rank (from
        1), and what else the model says of a score

        Notes
        -----
        Scores are computed for a few rows at a time, and the matrix of all scores is never formed.
        """
        check_is_fitted(self)
        if not isinstance(k, Integral) or isinstance(k, bool) or int(k) < 1:
            raise ValueError(f"k={k!r} must be an integer >= 1.")
        new = None if A_new is None else self._checked(0, A_new)
        ids = self.row_ids_ if new is None else new.ids
        known = None
        if exclude_known and ids is not None:
            known = self._known if new is None else self._known_of(ids)
        if ids is None:
            ids = np.arange(new.X.shape[0]).astype(str)
        scorer, size = self._ranker(None if new is None else new.X)
        return top_pairs(scorer, ids, self.column_ids_, int(k), known, size)

    def _ranker(self, A: Array | None) -> tuple[Callable[[slice], ScoreBlock | SparseBlock], int]:
        """A function from some rows to what their best columns are found in, and for how many rows at a time."""
        return self._scorer(A, None, count=True), self._rows_at_once(len(self.column_ids_))

    def report(
        self,
        path: str | os.PathLike[str],
        data: Dyads | None = None,
        *,
        rows: Any = None,
        columns: Any = None,
        color: str | None = None,
        label: str | None = None,
        evaluation: Any = None,
        k: int = 5,
        title: str | None = None,
    ) -> Path:
        """Write a report: one HTML file that works offline, with a map, recommendations and warnings.

        Parameters
        ----------
        path : path
            Of the file; it should end in .html.
        data : Dyads, optional
            What the model was fitted to: for the permutations behind the singular values, which need all features.
        rows, columns : DataFrames, optional
            Tables of your own about the entities, with their ids as index.
        color, label : str, optional
            The columns of these tables that the map is coloured by, and that have names to be read instead of ids.
        evaluation : Evaluation or path, optional
            Recall curves: what `jointdr.evaluation.evaluate` found, or the folder that it was written to.
        k : int
            How many columns are recommended for each row.
        title : str, optional

        Returns
        -------
        Path
        """
        from jointdr.apps.report import write_report  # which is optional

        check_is_fitted(self)
        about = {"rows": rows, "columns": columns, "color": color, "label": label}
        return write_report(self, path, data, **about, evaluation=evaluation, k=k, title=title)

    def _row_blocks(self, n_rows: int, n_columns: int) -> Iterator[slice]:
        return slices(n_rows, self._rows_at_once(n_columns))

    def _rows_at_once(self, n_columns: int) -> int:
        """For how many rows scores are computed at a time; results do not depend on it."""
        return max(1, memory.within(64e6, 0.1) // (24 * n_columns))

    # ---------------------------------------------------------------- what was fitted

    @staticmethod
    def _dyads(Y: Any, A: Any, B: Any, observed: Any) -> Dyads:
        """What `fit` was given, as Dyads."""
        if isinstance(Y, Dyads):
            if A is not None or B is not None or observed is not None:
                raise TypeError("fit takes either a Dyads alone, or scores and two tables: fit(Y, A, B).")
            return Y
        if A is None or B is None:
            raise TypeError("fit needs the features of both kinds of entities, fit(Y, A, B), or a Dyads.")
        return Dyads(Y, A, B, observed)

    def _remember(self, dyads: Dyads) -> None:
        self.view_names_, self.n_features_per_view_ = dyads.names, dyads.n_features
        self.row_ids_, self.column_ids_ = dyads.row_ids, dyads.column_ids
        self._feature_names = dyads.feature_names
        self._scores, self._is_complete = dyads.Y, dyads.is_complete
        self.__dict__.pop("_known", None)

    @cached_property
    def _known(self) -> Array:
        """The known pairs as a CSR array, made when first asked for: of a dense Y it takes longer than a fit."""
        return _pattern(self._scores, self._is_complete)

    def _checked(self, k: int, X: Any) -> Entities:
        """A table of new entities that agrees with what was fitted."""
        name, n = self.view_names_[k], self.n_features_per_view_[k]
        if isinstance(X, Dyads):
            raise TypeError(f"New entities are given as tables of features, not as a Dyads: its {'AB'[k]} is one.")
        new = entities(X, name)
        if new.X.shape[1] != n:
            raise ValueError(
                f"{type(self).__name__} was fitted with {n} features of {name!r}, but got {new.X.shape[1]}."
            )
        fitted = self._feature_names[k]
        if new.feature_names is not None and fitted is not None and not np.array_equal(new.feature_names, fitted):
            raise ValueError(f"{name!r} has other feature names, or in another order, than the table fitted.")
        return new

    def _known_of(self, ids: Array) -> Array:
        """The known pairs of rows with these ids; none for an id that was not fitted."""
        where = index_of(self.row_ids_)
        at = np.array([where.get(name, -1) for name in ids.tolist()])
        chosen = sparse.csr_array(
            (np.ones(np.count_nonzero(at >= 0)), (np.flatnonzero(at >= 0), at[at >= 0])), shape=(len(at), len(where))
        )
        return sparse.csr_array(chosen @ self._known)

    # ---------------------------------------------------------------- for files

    def _described(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """What `_remember` took down, as a part of a header and arrays."""
        arrays = {
            "row_ids": self.row_ids_,
            "column_ids": self.column_ids_,
            "known.indices": self._known.indices,
            "known.indptr": self._known.indptr,
        }
        for k, names in enumerate(self._feature_names):
            if names is not None:
                arrays[f"features.{k}"] = np.asarray(names, dtype=str)
        return {"names": list(self.view_names_), "n_features": list(self.n_features_per_view_)}, arrays

    def _recall(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """The inverse of `_described`."""
        self.row_ids_, self.column_ids_ = (
            checked_array(arrays, name, (None,), "U") for name in ("row_ids", "column_ids")
        )
        self.view_names_ = (str(header["names"][0]), str(header["names"][1]))
        self.n_features_per_view_ = (int(header["n_features"][0]), int(header["n_features"][1]))
        if min(self.n_features_per_view_) < 1:
            raise ValueError(f"its entities have {self.n_features_per_view_} features")
        self._feature_names = (self._names_of(0, arrays), self._names_of(1, arrays))
        pattern = (np.ones(len(arrays["known.indices"])), arrays["known.indices"], arrays["known.indptr"])
        self._known = checked_csr(pattern, (len(self.row_ids_), len(self.column_ids_)))

    def _names_of(self, k: int, arrays: dict[str, Array]) -> Array | None:
        if (name := f"features.{k}") not in arrays:
            return None
        return checked_array(arrays, name, (self.n_features_per_view_[k],), "U").astype(object)


def _pattern(Y: Array, complete: bool) -> Array:
    """1 for every known pair: one that was observed or, if all were, whose score is not 0; a CSR array."""
    known = sparse.csr_array(Y)
    if complete and is_sparse(Y):
        known = known.copy()
        known.eliminate_zeros()
    return sparse.csr_array((np.ones(known.nnz), known.indices, known.indptr), shape=known.shape)

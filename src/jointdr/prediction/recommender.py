"""Recommender: the methods that all models of dyads share, for known and new entities alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jointdr.data import Dyads, Groups
from jointdr.prediction.dyads_model import DyadsModel
from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.queries import Query, as_dyads, known_between, list_pairs, positions_of
from jointdr.prediction.ranking import (
    ScoreBlock,
    Scorer,
    best_columns,
    best_pairs,
    best_rows,
    pair_table,
    require_neighbors,
)
from jointdr.prediction.search.criterion import check_criterion, held_out_score
from jointdr.runtime import Array, check_choice, check_flag, check_integer, check_number, dense, memory, slices

BY = ("rows", "columns", "pairs")


class Recommender(DyadsModel):
    """A model of the scores between two kinds of entities.

    A subclass defines `_compare` besides the methods of `DyadsModel`. All scores come from its head.
    """

    device: str | None = None

    @property
    def takes_groups(self) -> bool:
        """Whether `fit` takes ``groups=``, because the model chooses by data that it holds out itself."""
        return False

    def _compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        """Distances and similarities of one entity to all known ones of its kind."""
        raise TypeError(f"{type(self).__name__} does not compare entities, so it has no similar ones.")

    def _block_bytes(self) -> float:
        """Memory for blocks of scores; results do not depend on it."""
        return memory.within(64e6, 0.1)

    # ---------------------------------------------------------------- scores

    def predict(
        self,
        A_new: Any = None,
        B_new: Any = None,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
        rows: Any = None,
        columns: Any = None,
    ) -> Array:
        """The scores of all pairs of these entities, (rows, columns).

        Parameters
        ----------
        A_new, B_new : tables, optional
            Features of new entities; by default the entities are those that were fitted.
        row_similarity, column_similarity : (n_new, m) array, DataFrame or sparse matrix, or dict of these; optional
            Similarities of new entities to those that were fitted, if the fit had similarities: beside features, if it
            had these too, or instead of them. A DataFrame has new ids as index and is aligned by its columns, which are
            fitted ids. Several have the names that they had in the fit. A model that does not use similarities does not
            need them.
        rows, columns : lists of ids, optional
            Only these entities, in this order.
        """
        check_is_fitted(self)
        a, b = self._query(0, A_new, row_similarity, rows), self._query(1, B_new, column_similarity, columns)
        return self._score_all(a.selection, b.selection)

    def predict_pairs(
        self,
        pairs: Any,
        A_new: Any = None,
        B_new: Any = None,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
    ) -> Any:
        """The scores of listed pairs.

        Parameters
        ----------
        pairs : DataFrame, list of pairs, or None
            Ids of rows and of columns, in the first two columns of a table or as pairs (row, column). They are looked
            up among the new entities first, then among those that were fitted. None stands for all pairs of the rows
            with the columns, new ones where they are given.
        A_new, B_new : tables, optional
            New entities, whose ids are the index of a DataFrame, otherwise "0", "1", ....
        row_similarity, column_similarity
            As in `predict`.

        Returns
        -------
        DataFrame
            One line for each pair, in the order of the list: row, column, score and what the model knows of it: of a
            kernel head neighbors, of an automatic one lower and upper, listed_rate, or percentile.
        """
        check_is_fitted(self)
        given = ((A_new, row_similarity), (B_new, column_similarity))
        if pairs is None:
            a, b = (self._query(k, X, S, None) for k, (X, S) in enumerate(given))
            return self._predict_every_pair(a, b)
        ids = list_pairs(pairs)
        new = [None if X is None and S is None else self._query(k, X, S, None) for k, (X, S) in enumerate(given)]
        (new_row, i), (new_column, j) = (self._look_up(k, names, new[k]) for k, names in enumerate(ids))
        values: dict[str, Array] = {"score": np.full(len(i), np.nan)}
        for kind in ((False, False), (False, True), (True, False), (True, True)):
            mine = np.flatnonzero((new_row == kind[0]) & (new_column == kind[1]))
            if len(mine) == 0:
                continue
            rows, i_row = self._distinct(0, new[0] if kind[0] else None, i[mine])
            columns, j_column = self._distinct(1, new[1] if kind[1] else None, j[mine])
            for at, block in self._score_blocks(rows, columns, count=True):
                here = np.flatnonzero((at.start <= i_row) & (i_row < at.stop))
                for name, found in {"score": block.scores, **block.notes}.items():
                    values.setdefault(name, np.full(len(i), np.nan))
                    values[name][mine[here]] = found[i_row[here] - at.start, j_column[here]]
        row_ids, column_ids = (np.array(names, dtype=object) for names in ids)
        return pair_table(row_ids, column_ids, values.pop("score"), None, values)

    def _predict_every_pair(self, rows: Query, columns: Query) -> Any:
        blocks = [block for _, block in self._score_blocks(rows.selection, columns.selection, count=True)]
        notes = {name: np.concatenate([block.notes[name].ravel() for block in blocks]) for name in blocks[0].notes}
        scores = np.concatenate([block.scores.ravel() for block in blocks])
        row_ids, column_ids = np.repeat(rows.ids, len(columns.ids)), np.tile(columns.ids, len(rows.ids))
        return pair_table(row_ids, column_ids, scores, None, notes)

    @property
    def score_metric_(self) -> str:
        """The metric of `score`: "recall" for implicit feedback, otherwise "RMSE", of which it returns the negative."""
        if self._is_implicit is None:
            raise AttributeError("score_metric_ is not known of this model file: score takes that of the given scores.")
        return "recall" if self._is_implicit else "RMSE"

    def score(
        self,
        Y: Any,
        A: Any = None,
        B: Any = None,
        observed: Any = None,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
        criterion: str | None = None,
    ) -> float:
        """How well held-out scores are predicted; higher is better.

        Parameters
        ----------
        Y, A, B, observed
            Held-out dyads, as in `fit`. Entities whose ids and features are those of fitted ones count as known, all
            others are new.
        row_similarity, column_similarity
            Similarities of new entities to those that were fitted, as in `predict`. Rows that were taken out by
            ``dyads[rows]``, as scikit-learn does, know those to the other rows.
        criterion : {"recall", "average precision", "nDCG", "RMSE", "concordance", "auto"}, optional
            The metric, see `AssociationModel`; by default ``score_metric_``.

        Returns
        -------
        float
            For implicit feedback (a complete grid that is mostly 0) the mean of the recalls at 10, 30 and 100 columns
            retrieved for a row (rows for a column where only columns are new), over the rows with associations; for
            graded scores minus the root mean square error of the observed ones.

        Notes
        -----
        Associations that were known in the fit are no answers, and are left out of the rankings. Only if there are no
        others, as in the dyads that were fitted, they are answers: then the score says how well the model fits, not how
        well it predicts.
        """
        check_is_fitted(self)
        dyads = as_dyads(Y, A, B, observed, "score")
        implicit = dyads.is_implicit if self._is_implicit is None else self._is_implicit and dyads.is_complete
        criterion = None if criterion is None else check_criterion(criterion, implicit)
        a = self._recognize(0, dyads.A, self._row_similarity(dyads, row_similarity), dyads.row_ids)
        b = self._recognize(1, dyads.B, column_similarity, dyads.column_ids)
        mask = self._known_answers(dyads, a, b) if implicit else None
        by_column = a.selection.tables is None and b.selection.tables is not None
        return held_out_score(self._score_all(a.selection, b.selection), dyads, implicit, by_column, mask, criterion)

    def _row_similarity(self, dyads: Dyads, given: Any) -> Any:
        """Similarities of rows to the fitted ones: as given, or, of new ones, those that the dyads know."""
        is_new = self._takes_similarity and bool((positions_of(dyads.row_ids, self.row_ids_) < 0).any())
        return dyads.row_similarities_to(self.row_ids_) or None if given is None and is_new else given

    def _known_answers(self, dyads: Dyads, a: Query, b: Query) -> Array | None:
        """A mask of the pairs that were known in the fit, unless all associations were."""
        positive = dyads.Y > 0
        if positive.sum() == 0:
            raise ValueError(
                "None of these rows has an association to judge by. In cross-validation take fewer or shuffled splits, "
                "such as KFold(5, shuffle=True, random_state=0)."
            )
        if a.selection.tables is not None or b.selection.tables is not None:
            return None
        known = known_between(self.known_pairs_, a, b)
        mask = None if known is None else known.toarray() > 0
        return mask if mask is not None and (dense(positive) & ~mask).any() else None

    # ---------------------------------------------------------------- rankings

    def recommend(
        self,
        A_new: Any = None,
        B_new: Any = None,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
        by: str = "rows",
        rows: Any = None,
        columns: Any = None,
        k: int = 10,
        exclude_known: bool = True,
        min_neighbors: float | None = None,
    ) -> Any:
        """The best columns for every row, the best rows for every column, or the best pairs.

        Parameters
        ----------
        A_new, B_new : tables, optional
            New row and column entities; by default those that were fitted.
        row_similarity, column_similarity
            Similarities of new entities to those that were fitted, as in `predict`.
        by : {"rows", "columns", "pairs"}
            Whether there are k columns for every row, k rows for every column, or k pairs in all.
        rows, columns : lists of ids, optional
            Only these entities are ranked and recommended, and no others are scored.
        k : int
        exclude_known : bool
            Whether pairs that were known in the fit are left out: those that were observed or, if all were, those whose
            score was not 0. Rows and columns of a DataFrame are recognized by their ids, other new ones have no known
            pairs.
        min_neighbors : float, optional
            Pairs with fewer effective neighbors are left out, of a model that counts these: ``head="kernel"``.

        Returns
        -------
        DataFrame
            row, column, score and rank (from 1), and what the model knows of a score, as in `predict_pairs`.

        Notes
        -----
        Scores are computed for a few rows at a time, and the matrix of all scores is never formed. With ``nearest``,
        ``by="rows"`` and ``by="pairs"`` over all columns look at no column that has nothing to do with a row, unless
        `min_neighbors` is given.
        """
        check_is_fitted(self)
        k = check_integer("k", k, 1)
        check_choice("by", by, BY)
        check_flag("exclude_known", exclude_known)
        a = self._query(0, A_new, row_similarity, rows, once=True)
        b = self._query(1, B_new, column_similarity, columns, once=True)
        known = known_between(self.known_pairs_, a, b) if exclude_known else None
        head, held = self._head.place_on(self.device), self._block_bytes()
        least = None if min_neighbors is None else check_number("min_neighbors", min_neighbors, 0)
        if by == "columns":
            size = max(1, int(held / (32 * len(a.ids))))
            known = None if known is None else known.T.tocsr()
            of_columns = require_neighbors(self._column_scorer(a.selection, b.selection), least)
            return best_rows(of_columns, a.ids, b.ids, k, known, size)
        ranker = self._head.ranker(a.selection) if b.selection.is_everything and least is None else None
        scorer = ranker or require_neighbors(head.scorer(a.selection, b.selection, held, count=True), least)
        size = head.rows_at_once(len(b.ids), held, ranked=ranker is not None)
        return (best_columns if by == "rows" else best_pairs)(scorer, a.ids, b.ids, k, known, size)

    def similar(
        self,
        row: Any = None,
        column: Any = None,
        k: int = 10,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
    ) -> Any:
        """The entities of the same kind that are nearest to one of them, as the model compares them.

        Parameters
        ----------
        row, column : str, or table with one row
            One of the two: the id of an entity that was fitted, or the features of another one.
        k : int
        row_similarity, column_similarity
            The similarities of that other one to the fitted ones, as in `predict`.

        Returns
        -------
        DataFrame
            row (or column), similarity and distance, nearest first. The similarity is 1 for an entity that the model
            cannot tell from this one: the kernel of an `AssociationModel` (a Gaussian of the distance for
            ``head="bilinear"``), the cosine of embedded entities of `IMC`, and the closeness of mean scores of
            `Popularity`.

        Notes
        -----
        O(m r) for m entities with r coordinates.
        """
        check_is_fitted(self)
        k = check_integer("k", k, 1)
        given = ((row, row_similarity), (column, column_similarity))
        sides = [side for side, (X, S) in enumerate(given) if X is not None or S is not None]
        if len(sides) != 1:
            raise TypeError("similar takes one entity: give either row= or column=.")
        side = sides[0]
        _, one = self._one(side, *given[side], "similar")
        distance, similarity = self._compare(side, one)
        if one.indices is not None:
            distance[one.indices[0]] = np.inf
        order = np.argsort(distance, kind="stable")[:k]
        order = order[np.isfinite(distance[order])]
        import pandas as pd

        ids = (self.row_ids_, self.column_ids_)[side][order]
        name = ("row", "column")[side]
        return pd.DataFrame({name: ids, "similarity": similarity[order], "distance": distance[order]})

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

        Parameters and the result are those of `jointdr.apps.write_report`.
        """
        from jointdr.apps import write_report  # which is optional

        check_is_fitted(self)
        about = {"rows": rows, "columns": columns, "color": color, "label": label}
        return write_report(self, path, data, **about, evaluation=evaluation, k=k, title=title)

    # ---------------------------------------------------------------- scoring

    def _score_all(self, rows: EntitySet, columns: EntitySet) -> Array:
        memory.require(
            8.0 * rows.count * columns.count,
            f"The scores of {rows.count} rows with {columns.count} columns",
            "predict fewer rows at a time, or ask for the best columns of each with recommend",
        )
        scores = None
        for at, block in self._score_blocks(rows, columns):
            if at.stop - at.start == rows.count:
                return block.scores
            scores = np.empty((rows.count, columns.count)) if scores is None else scores
            scores[at] = block.scores
        return scores

    def _score_blocks(
        self, rows: EntitySet, columns: EntitySet, count: bool = False
    ) -> Iterator[tuple[slice, ScoreBlock]]:
        """Some of these rows, and their scores with all of these columns."""
        head, held = self._head.place_on(self.device), self._block_bytes()
        scorer = head.scorer(rows, columns, held, count)
        for at in slices(rows.count, head.rows_at_once(columns.count, held)):
            yield at, scorer(at)

    def _column_scorer(self, rows: EntitySet, columns: EntitySet) -> Scorer:
        """A function from some of these columns to their scores with all of these rows, transposed."""

        def block(at: slice) -> ScoreBlock:
            parts = [part for _, part in self._score_blocks(rows, columns.part(at), count=True)]
            notes = {name: np.vstack([part.notes[name] for part in parts]).T for name in parts[0].notes}
            return ScoreBlock(np.ascontiguousarray(np.vstack([part.scores for part in parts]).T), notes)

        return block


def fit_by_groups(model: Recommender, dyads: Dyads, groups: Groups | None) -> Recommender:
    """Fit a model; one that holds data out itself, by these groups."""
    fit: Any = model.fit
    return fit(dyads, groups=groups) if groups is not None and model.takes_groups else fit(dyads)

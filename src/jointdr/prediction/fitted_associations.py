"""Methods of a fitted `AssociationModel`: neighbors, explanations, coordinates, and files."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from jointdr.data import BY, By, Entities
from jointdr.prediction.automatic import AutomaticParameters, AutomaticParts
from jointdr.prediction.automatic_files import association_from_arrays, association_to_arrays
from jointdr.prediction.explanation import Explanation, explain_pair
from jointdr.prediction.heads.build import HEADS, HeadParameters
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.heads.parts import AssociationParts
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import (
    Array,
    check_choice,
    check_device,
    check_flag,
    check_integer,
    check_number,
    make_random_state,
    memory,
    slices,
    to_json,
)

# Parameters that a file needs as they were when the model was fitted.
READ_BY_HEADS = ("head", "kernel", "scale", "adaptive", "mix", "borrow", "alpha", "nearest")


def check_memory(max_bytes: Any) -> None:
    """Raise unless it is a number of bytes."""
    check_number("max_bytes", max_bytes, 0, strictly=True, expected="a number of bytes > 0")


def check_options(model: FittedAssociations, progress: Any) -> None:
    """Refuse options of a wrong type, whether the head of the model looks at them or not."""
    check_choice("head", model.head, HEADS)
    AutomaticParameters.check(model.uses, model.criterion, model.max_fits)
    check_device(model.device)
    check_memory(model.max_bytes)
    make_random_state(model.random_state)
    if progress is not None and not callable(progress):
        check_flag("progress", progress)


class FittedAssociations(Recommender):
    """A model whose head was chosen or named, and fitted.

    A subclass has the parameters, and calls `_keep_parts` in `fit`.
    """

    head: str
    embedding: Any
    uses: Any
    criterion: str
    max_fits: int
    random_state: Any
    max_bytes: float
    _head: Head
    _parts: AssociationParts | AutomaticParts

    def _keep_parts(self, parts: AssociationParts | AutomaticParts) -> None:
        self._parts, self.embedding_ = parts, parts.embedding
        self.truncation_, self.bandwidth_, self.raw_bandwidth_, self.known_bandwidth_ = None, None, None, None
        if isinstance(parts, AssociationParts):
            self.truncation_ = parts.truncation
            self.bandwidth_, self.raw_bandwidth_ = parts.bandwidths.new
            self.known_bandwidth_ = (parts.bandwidths.known or parts.bandwidths.new).coordinates
        self._fitted = {name: getattr(self, name) for name in READ_BY_HEADS}
        for name in ("choices_", "failures_"):
            self.__dict__.pop(name, None)

    @cached_property
    def choices_(self) -> Any:
        """The choices of ``head="auto"`` as a DataFrame: see the class."""
        return self._automatic_parts("choices_").choices()

    @cached_property
    def failures_(self) -> Any:
        """The settings that ``head="auto"`` could not fit as a DataFrame: see the class."""
        return self._automatic_parts("failures_").failures()

    def _automatic_parts(self, name: str) -> AutomaticParts:
        parts = getattr(self, "_parts", None)
        if parts is None:
            raise AttributeError(f"{name} are there once the model is fitted.")
        if not isinstance(parts, AutomaticParts):
            raise AttributeError(f"{name} are those of head='auto', and this model has head={self._fitted['head']!r}.")
        return parts

    def __str__(self) -> str:
        """The parameters and, of a fitted automatic head, its choices."""
        parts = getattr(self, "_parts", None)
        return f"{self!r}\n{parts.summary()}" if isinstance(parts, AutomaticParts) else repr(self)

    @property
    def _takes_similarity(self) -> bool:
        return isinstance(self._parts, AutomaticParts)

    def _block_bytes(self) -> float:
        return memory.within(float(self.max_bytes), 0.4) / 2

    # ---------------------------------------------------------------- use

    def neighbors(self, A_new: Any = None, B_new: Any = None, *, rows: Any = None, columns: Any = None) -> Array:
        """The effective number of known pairs behind each score of `predict`, (rows, columns).

        It is (Σ w)²/Σ w² of the weights w of the known pairs, and 0 where all of them are too far away: the score is
        then the mean of the known scores of the column. Only for ``head="kernel"``; arguments are those of `predict`.
        """
        check_is_fitted(self)
        if not isinstance(self._head, GridRegression):
            raise ValueError(f"head={self.head!r} has no neighbors: they belong to head='kernel'.")
        a, b = self._query(0, A_new, None, rows).selection, self._query(1, B_new, None, columns).selection
        head, held = self._head.place_on(self.device), self._block_bytes()
        counter, found = head.neighbor_counter(a, b, held), np.empty((a.count, b.count))
        for at in slices(a.count, head.rows_at_once(b.count, held)):
            found[at] = counter(at)
        return found

    def explain(
        self,
        row: Any = None,
        column: Any = None,
        k: int = 10,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
    ) -> Explanation:
        """The known pairs that carried a prediction.

        Parameters
        ----------
        row, column : str, or table with one row
            The id of an entity that was fitted, or the features of another one.
        k : int
            The number of pairs that are listed.
        row_similarity, column_similarity : similarities of another one to the fitted ones, as in `predict`

        Returns
        -------
        Explanation
            Its contributions, with that of all other pairs, sum to the score.
        """
        check_is_fitted(self)
        k = check_integer("k", k, 1)
        given = ((row, row_similarity), (column, column_similarity))
        (name_a, a), (name_b, b) = (self._one(side, *value, "explain") for side, value in enumerate(given))
        weights = self._head.pair_weights(a, b)
        return explain_pair(weights, self._scores, (self.row_ids_, self.column_ids_), (name_a, name_b), k)

    def calibration(self, by: By = "rows") -> Any:
        """Notes on scores as functions of the score, from held-out data; of ``head="auto"`` alone.

        Parameters
        ----------
        by : {"rows", "columns", "both", "pairs"}
            The question: which entities of a pair are new.

        Returns
        -------
        DataFrame
            score, increasing, and the notes of `predict_pairs` there: lower and upper, which are as far from any score
            up to the next line; or listed_rate or percentile, which are interpolated. Empty where too little was held
            out.
        """
        check_is_fitted(self)
        check_choice("by", by, BY)
        if not isinstance(self._parts, AutomaticParts):
            raise ValueError(f"head={self._fitted['head']!r} holds nothing out: only head='auto' has calibrations.")
        if by not in self._parts.head.heads:
            raise ValueError(f"by={by!r} is not among the questions of the fit, uses={tuple(self._parts.head.heads)}.")
        import pandas as pd

        found = self._parts.head.calibrations.get(by)
        return pd.DataFrame({"score": []} if found is None else {"score": found.knots, **found.notes(found.knots)})

    def coordinates(self, A_new: Any = None, B_new: Any = None) -> tuple[Array, Array]:
        """Rows and columns in the coordinates that the head compares, (rows, r_1) and (columns, r_2).

        They are embedded, scaled by a power of Σ, centred, and in units of the root mean square distance between
        fitted entities; for cosine kernels of length 1. With ``embedding=None`` they are raw features, maybe sparse.

        Parameters
        ----------
        A_new, B_new : tables, optional
            New entities; by default those that were fitted.
        """
        check_is_fitted(self)
        a, b = (
            self._parts.coordinates(k, None if X is None else self._checked_features(k, X))
            for k, X in enumerate((A_new, B_new))
        )
        return a, b

    def precompute(self, max_bytes: float = 5e8) -> Self:
        """Compute the kernel weights between known entities once and keep them, for many calls with few ids each.

        Calls with ``rows=`` or ``columns=`` then evaluate no kernel between known entities. It takes 8 m² bytes for m
        rows, and for m columns, and leaves out a kind for which that is more than `max_bytes`. Scores stay the same.
        """
        check_is_fitted(self)
        check_memory(max_bytes)
        self._head = self._head.hold_weights(max_bytes)
        return self

    # ---------------------------------------------------------------- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        from jointdr.prediction.loading import FAMILY  # which knows the subclass

        check_is_fitted(self)
        names, ids = self._names_to_arrays()
        if isinstance(self._parts, AutomaticParts):
            parts, arrays = association_to_arrays(self._parts, FAMILY, self._scores, self._is_complete)
        else:
            parts, arrays = self._parts.to_arrays(FAMILY)
        # Parameters as they were in the fit, not as they were set later; the fitted embedding keeps its own.
        is_auto = isinstance(self.embedding, str) and isinstance(self._parts, AutomaticParts)
        params = {**self.get_params(deep=False), **self._fitted, "embedding": "auto" if is_auto else None}
        return {**names, "params": {name: to_json(value) for name, value in params.items()}, **parts}, ids | arrays

    def _read(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        from jointdr.prediction.loading import FAMILY

        check_memory(self.max_bytes)
        shape = (len(self.row_ids_), len(self.column_ids_))
        parts: AssociationParts | AutomaticParts
        if "automatic" in header:
            parts, self._scores, self._is_complete = association_from_arrays(
                FAMILY, header, arrays, shape, self.n_features_per_view_, self.similarity_names_, self.encoders_
            )
        else:
            parameters = HeadParameters.check(self.get_params(deep=False))
            parts = AssociationParts.from_arrays(parameters, FAMILY, header, arrays, shape, self.n_features_per_view_)
            self._scores, self._is_complete = parts.head.Y, parts.head.complete
        if not isinstance(self.embedding, str):  # a model that chooses by itself does so again
            self.embedding = None if parts.embedding is None else clone(parts.embedding)
        self._head = parts.head
        self._keep_parts(parts)

    # ---------------------------------------------------------------- entities

    def _describe(self, k: int, new: Entities) -> Tables:
        return self._parts.describe(k, new)

    def _points(self, k: int) -> Tables:
        return self._parts.points(k)

    def _compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        return self._parts.compare(k, one)

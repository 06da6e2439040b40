"""DyadsModel: the entities that a model was fitted to, by id and by description, and the pairs that were known."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from jointdr.data import (
    Dyads,
    Entities,
    TableEncoder,
    entities,
    entities_of_numbers,
    join_feature_names,
    new_similarities,
)
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.queries import Query, known_pattern, positions_of, require_positions
from jointdr.runtime import Array, Saved, checked_array, checked_csr, is_integer, parameters_from_json

NEW, SIMILARITY = ("A_new", "B_new"), ("row_similarity", "column_similarity")  # the arguments for new entities


class DyadsModel(Saved, BaseEstimator):
    """A model that was fitted to a `Dyads`.

    A subclass calls `_keep` in `fit`, and defines `_describe` and, where it keeps its entities, `_points`. One that
    compares entities by given similarities defines `_takes_similarity`; the others leave these out of account.
    """

    row_ids_: Array
    column_ids_: Array
    view_names_: tuple[str, str]
    n_features_per_view_: tuple[int, int]
    feature_names_per_view_: tuple[Array | None, Array | None]
    similarity_names_: tuple[tuple[str, ...], tuple[str, ...]]
    encoders_: tuple[TableEncoder | None, TableEncoder | None]
    labels_: tuple[Array | None, Array | None]
    score_name_: str | None
    _head: Head
    _scores: Array
    _is_complete: bool
    _is_implicit: bool | None  # None where a file does not say
    _of_version_0_1: ClassVar[dict[str, Any]] = {}  # values of parameters that a file lacks, whatever the defaults are

    @property
    def _takes_similarity(self) -> bool:
        """Whether new entities have to be given by the similarities that the fit had, of a model that is fitted."""
        return False

    @abstractmethod
    def _describe(self, k: int, new: Entities) -> Tables:
        """New rows (k = 0) or columns, which are checked, as the head takes them."""

    def _points(self, k: int) -> Tables:
        """The known rows or columns in the same way; nothing where the model does not keep them."""
        return ()

    # ---------------------------------------------------------------- entities by id and by description

    def _query(self, k: int, X: Any, similarity: Any, ids: Any, once: bool = False) -> Query:
        """New entities or fitted ones, all or those with some ids; `once` drops ids that come again."""
        fitted, kind = (self.row_ids_, self.column_ids_)[k], self.view_names_[k]
        ids = list(dict.fromkeys(ids)) if once and ids is not None and not isinstance(ids, str) else ids
        if X is None and similarity is None:
            if ids is None:
                return Query(EntitySet(len(fitted)), fitted)
            at = require_positions(ids, fitted, kind)
            return Query(EntitySet(len(at), indices=at), fitted[at], at)
        new = self._checked(k, X, similarity)
        names = np.arange(new.X.shape[0]).astype(str) if new.ids is None else new.ids
        has_ids = new.ids is not None
        if ids is not None:
            at = require_positions(ids, names, kind)
            new, names = new.take(at), names[at]
        known = positions_of(names, fitted) if has_ids else np.full(len(names), -1)
        return Query(EntitySet(len(names), self._describe(k, new)), names, known)

    def _recognize(self, k: int, X: Any, similarity: Any, ids: Array) -> Query:
        """Entities as known ones, if all have the ids and the features of such, otherwise as new ones.

        Those that have no features, or are compared by similarities too, are known by their ids alone.
        """
        at = positions_of(ids, (self.row_ids_, self.column_ids_)[k])
        if similarity is None and (at >= 0).all():
            new = self._checked_features(k, X)
            by_ids = new.X.shape[1] == 0 or (self._takes_similarity and self.similarity_names_[k])
            points = () if by_ids else self._points(k)
            tables = self._describe(k, new) if points else ()
            if all(_is_close(T, P[at]) for T, P in zip(tables, points, strict=False)):
                return Query(EntitySet(len(at), indices=at), ids, at)
        else:
            tables = self._describe(k, self._checked(k, X, similarity, ids))
        return Query(EntitySet(len(at), tables), ids, np.full(len(at), -1))

    def _one(self, k: int, value: Any, similarity: Any, caller: str) -> tuple[str, EntitySet]:
        """The name of one entity, given by its id or by its description, and the entity itself."""
        ids, kind = (self.row_ids_, self.column_ids_)[k], self.view_names_[k]
        if value is None and similarity is None:
            raise TypeError(f"{caller} needs a {kind!r}: give its id or, if it was not fitted, its description.")
        if isinstance(value, str) or is_integer(value):
            at = positions_of([value], ids)
            if at[0] < 0:
                raise ValueError(
                    f"No {kind!r} with the id {str(value)!r} was fitted; ids are, for example, {ids[:3].tolist()}. For "
                    "an entity that was not fitted give its features, a table with one row."
                )
            if similarity is not None:
                raise TypeError(f"{SIMILARITY[k]} is for a new {kind!r}, but {str(value)!r} was fitted: leave it out.")
            return str(value), EntitySet(1, indices=at)
        new = self._checked(k, value, similarity)
        if new.X.shape[0] != 1:
            raise ValueError(f"{caller} takes one {kind!r} at a time, but got {new.X.shape[0]}.")
        return "new" if new.ids is None else str(new.ids[0]), EntitySet(1, self._describe(k, new))

    def _look_up(self, k: int, names: list[str], new: Query | None) -> tuple[Array, Array]:
        """Whether each id is that of a new entity, and its index among the new or the fitted ones."""
        fitted, side = (self.row_ids_, self.column_ids_)[k], ("row", "column")[k]
        at = positions_of(names, fitted)
        among_new = np.full(len(at), -1) if new is None else positions_of(names, new.ids)
        is_new = among_new >= 0
        at = np.where(is_new, among_new, at)
        if (at < 0).any():
            raise ValueError(
                f"{side} {names[int(np.argmax(at < 0))]!r} was not fitted and is in no table of new {side}s; ids are, "
                f"for example, {fitted[:3].tolist()}."
            )
        return is_new, at

    def _distinct(self, k: int, new: Query | None, at: Array) -> tuple[EntitySet, Array]:
        """The different entities among these, each once, and for every one its index among them."""
        distinct, where = np.unique(at, return_inverse=True)
        if new is not None:
            assert new.selection.tables is not None
            return EntitySet(len(distinct), tuple(T[distinct] for T in new.selection.tables)), where
        if len(distinct) == len((self.row_ids_, self.column_ids_)[k]):
            return EntitySet(len(distinct)), where
        return EntitySet(len(distinct), indices=distinct), where

    def _checked(self, k: int, X: Any, similarity: Any = None, ids: Array | None = None) -> Entities:
        """New entities that are described as those of the fit were: by features, by similarities, or both.

        Labelled similarities are brought into the order of the ids, by default those of the table of features.
        """
        kind, names, fitted = self.view_names_[k], self.similarity_names_[k], (self.row_ids_, self.column_ids_)[k]
        table = None if X is None else self._checked_features(k, X)
        ids = table.ids if ids is None and table is not None else ids
        found: dict[str, Array] = {}
        if similarity is not None:
            found, ids = new_similarities(similarity, names, fitted, SIMILARITY[k], ids)
        if self._takes_similarity and (missing := [name for name in names if name not in found]):
            raise ValueError(
                f"{type(self).__name__} was fitted with similarities of {kind!r}, {', '.join(map(repr, names))}: give "
                f"those of new ones to the fitted ones too, {SIMILARITY[k]}={{{missing[0]!r}: ...}}."
            )
        count = next((S.shape[0] for S in found.values()), 0)
        if table is None:
            of_none = np.zeros((count, 0))
            table = self._checked_features(k, of_none if count and not self.n_features_per_view_[k] else None)
        elif count not in (0, table.X.shape[0]):
            raise ValueError(f"{NEW[k]} has {table.X.shape[0]} rows, but {SIMILARITY[k]} has {count}.")
        return Entities(table.X, table.feature_names, ids, found)

    def _checked_features(self, k: int, X: Any) -> Entities:
        """A table of new entities that agrees with the table that was fitted."""
        name, n = self.view_names_[k], self.n_features_per_view_[k]
        if isinstance(X, Dyads):
            raise TypeError(f"New entities are given as tables of features, not as a Dyads: its {'AB'[k]} is one.")
        if X is None:
            raise ValueError(
                f"{type(self).__name__} was fitted with {n} features of {name!r}: give those of new ones too, {NEW[k]}."
            )
        encoder = self.encoders_[k]
        new = entities_of_numbers(X, name) if encoder is None else entities(X, name, encoder)
        if new.X.shape[1] != n:
            raise ValueError(
                f"{type(self).__name__} was fitted with {n or 'no'} features of {name!r}, but got "
                f"{new.X.shape[1] or 'none'}."
            )
        fitted = self.feature_names_per_view_[k]
        if new.feature_names is not None and fitted is not None and not np.array_equal(new.feature_names, fitted):
            raise ValueError(f"{name!r} has other feature names, or in another order, than the table fitted.")
        return new

    # ---------------------------------------------------------------- the fit

    def _keep(self, dyads: Dyads, head: Head) -> None:
        """Keep a fitted head, and the names of what it was fitted to."""
        self.view_names_, self.n_features_per_view_ = dyads.names, dyads.n_features
        self.row_ids_, self.column_ids_ = dyads.row_ids, dyads.column_ids
        self.feature_names_per_view_ = dyads.feature_names
        self.encoders_, self.labels_, self.score_name_ = dyads.encoders, dyads.labels, dyads.score_name
        rows, columns = dyads.similarities
        self.similarity_names_ = (tuple(rows), tuple(columns))
        self._scores, self._is_complete, self._is_implicit = dyads.Y, dyads.is_complete, dyads.is_implicit
        self._head = head
        self.__dict__.pop("known_pairs_", None)

    @cached_property
    def known_pairs_(self) -> Array:
        """The known pairs as a CSR array, made when first asked for: of a dense Y it takes longer than a fit."""
        return known_pattern(self._scores, self._is_complete)

    @property
    def n_features_in_(self) -> int:
        """The number of features of rows and columns together."""
        return sum(self.n_features_per_view_)

    @property
    def feature_names_in_(self) -> Array:
        """Their names, those of rows first; only there where both have names."""
        names = join_feature_names(self.feature_names_per_view_)
        if names is None:
            raise AttributeError("feature_names_in_ is there where the features of rows and of columns have names.")
        return names

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_head")

    # ---------------------------------------------------------------- files

    def _names_to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Ids, names and known pairs, as a part of a header and arrays."""
        arrays = {
            "row_ids": self.row_ids_,
            "column_ids": self.column_ids_,
            "known.indices": self.known_pairs_.indices,
            "known.indptr": self.known_pairs_.indptr,
        }
        for k, names in enumerate(self.feature_names_per_view_):
            if names is not None:
                arrays[f"features.{k}"] = np.asarray(names, dtype=str)
        for k, (encoder, labels) in enumerate(zip(self.encoders_, self.labels_, strict=True)):
            arrays |= {} if encoder is None else encoder.to_arrays(f"table.{k}")
            arrays |= {} if labels is None else {f"labels.{k}": labels}
        header = {"names": list(self.view_names_), "n_features": list(self.n_features_per_view_)}
        header |= {} if self._is_implicit is None else {"implicit": self._is_implicit}
        header |= {"similarities": [list(names) for names in self.similarity_names_]}
        return header | ({} if self.score_name_ is None else {"score_name": self.score_name_}), arrays

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `to_arrays` took apart; an error if header and arrays do not belong together."""
        params = {**cls._of_version_0_1, **parameters_from_json(header.get("params", {}))}
        model = cls(**(cls._translate_version_0_1(params) if header.get("format", 2) < 2 else params))
        model._read_names(header, arrays)
        model._read(header, arrays)
        return model

    @classmethod
    def _translate_version_0_1(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters in a file of format 1 in the words of this version, where a word has got another meaning."""
        return params

    def _read(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Take a subclass's own part from header and arrays, with its head."""
        raise TypeError(f"{type(self).__name__} cannot be loaded.")

    def _read_names(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """The inverse of `_names_to_arrays`."""
        self.row_ids_, self.column_ids_ = (
            checked_array(arrays, name, (None,), "U") for name in ("row_ids", "column_ids")
        )
        self.view_names_ = (str(header["names"][0]), str(header["names"][1]))
        self.score_name_ = str(header["score_name"]) if "score_name" in header else None
        n_A, n_B = self.n_features_per_view_ = (int(header["n_features"][0]), int(header["n_features"][1]))
        if min(n_A, n_B) < 0:
            raise ValueError(f"its entities have {self.n_features_per_view_} features")
        names = [
            checked_array(arrays, f"features.{k}", (n,), "U").astype(object) if f"features.{k}" in arrays else None
            for k, n in enumerate((n_A, n_B))
        ]
        self.feature_names_per_view_ = (names[0], names[1])
        a, b = (
            TableEncoder.from_arrays(arrays, f"table.{k}") if f"table.{k}.columns" in arrays else None for k in (0, 1)
        )
        for encoder, n in zip((a, b), (n_A, n_B), strict=True):
            if encoder is not None and len(encoder.get_feature_names_out()) != n:
                raise ValueError(f"its table has not the {n} features of its entities")
        self.encoders_ = (a, b)
        c, d = (
            checked_array(arrays, f"labels.{k}", (len(ids),), "U") if f"labels.{k}" in arrays else None
            for k, ids in enumerate((self.row_ids_, self.column_ids_))
        )
        self.labels_ = (c, d)
        self._is_implicit = bool(header["implicit"]) if "implicit" in header else None
        rows, columns = header.get("similarities", ((), ()))  # which files of version 0.1 lack
        self.similarity_names_ = (tuple(map(str, rows)), tuple(map(str, columns)))
        pattern = (np.ones(len(arrays["known.indices"])), arrays["known.indices"], arrays["known.indptr"])
        self.known_pairs_ = checked_csr(pattern, (len(self.row_ids_), len(self.column_ids_)))


def _is_close(T: Array, P: Array) -> bool:
    """Whether two tables, dense or sparse, are the same up to rounding."""
    return T.shape == P.shape and float(abs(T - P).max()) <= 1e-6 * max(float(abs(P).max()), 1e-300)

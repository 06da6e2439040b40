"""Dyads: two tables of entities, and the scores between them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data.ids import Unmatched, entities, ids_of_entities, index_ids, join_scores, separate_ids
from jointdr.data.response import checked_numbers
from jointdr.data.scores import (
    Duplicates,
    checked_scores,
    entity_indices,
    equal_rows,
    is_implicit,
    pattern_of,
    scores_of_pairs,
    values_at,
)
from jointdr.data.views import Views, as_views, default_name
from jointdr.engines import Grid, Means
from jointdr.moments import Moments
from jointdr.runtime import Array, check_choice, csr_rows, dense, is_sparse, take_rows, to_numpy


class UnmatchedWarning(UserWarning):
    """Some pairs name entities that the tables do not have, and were left out."""


def refuse_dyads(X: Any, caller: str) -> None:
    """Raise where only rows will do."""
    if isinstance(X, Dyads):
        raise TypeError(
            f"{caller} takes rows, not a Dyads: give it X, y = dyads.triples(), which writes the pairs out."
        )


class PairRows:
    """A table with one row for each pair, gathered from a table of entities when some of them are read.

    Parameters
    ----------
    table : (entities, n) array or sparse matrix
    at : (pairs,) array of int
        The entity of each pair.
    """

    def __init__(self, table: Array, at: Array) -> None:
        self.table, self.at = table, at
        self.shape = (len(at), table.shape[1])
        self.dtype = table.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> Array:
        return take_rows(self.table, self.at[key[0]])


class Dyads:
    """Two tables of entities, say diseases and genes, and the scores between them.

    Parameters
    ----------
    Y : (m_A, m_B) array, DataFrame or SciPy sparse matrix
        The score of row entity i and column entity j.
    A, B : tables of shape (m_A, n_1) and (m_B, n_2)
        Features of the row and of the column entities: NumPy arrays, DataFrames (their column names are kept) or SciPy
        sparse matrices (never densified).
    observed : None, "stored" or a boolean (m_A, m_B) mask, dense or sparse
        None: every pair is observed, and one that a sparse Y does not store has the score 0, as in the paper.
        ``"stored"``: only the pairs that the sparse Y stores, with a stored 0 being a score. A mask: only those pairs;
        what Y holds elsewhere, NaN for example, is ignored.
    row_ids, column_ids : sequences of ids, optional
        By default the index of a DataFrame (of the features, otherwise of Y), otherwise "0", "1", .... Ids are always
        strings.
    names : pair of str
        What the two kinds are called.

    Attributes
    ----------
    Y : array, or CSR array
        Where only some pairs are observed, a CSR array that stores exactly these.
    A, B : arrays, or CSR matrices
    row_ids, column_ids : arrays of str
    names : tuple of str
    feature_names : tuple of arrays or None
    unmatched : Unmatched or None
        With `from_tables`: the ids that no entity has.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Dyads
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.standard_normal((6, 3)), rng.standard_normal((5, 2))
    >>> dyads = Dyads(np.outer(A[:, 0], B[:, 1]), A, B)
    >>> dyads
    Dyads(a: 6 × 3, b: 5 × 2, all 30 pairs)
    >>> dyads.pairs(rng.random((6, 5)) < 0.5)
    Dyads(a: 6 × 3, b: 5 × 2, 15 of 30 pairs)
    """

    def __init__(
        self,
        Y: Any,
        A: Any,
        B: Any,
        observed: Any = None,
        row_ids: Any = None,
        column_ids: Any = None,
        *,
        names: tuple[str, str] = (default_name(0), default_name(1)),
    ) -> None:
        self.names = _checked_names(names)
        rows, columns = (entities(X, name) for X, name in zip((A, B), self.names, strict=True))
        self.A, self.B = rows.X, columns.X
        self.feature_names = (rows.feature_names, columns.feature_names)
        self.Y = checked_scores(Y, (self.A.shape[0], self.B.shape[0]), self.names, observed)
        self.is_complete = observed is None
        self.row_ids = ids_of_entities(row_ids, rows.ids, index_ids(Y, "the index of Y"), self.Y.shape[0], "row_ids")
        labels = index_ids(Y, "the columns of Y", "columns")
        self.column_ids = ids_of_entities(column_ids, columns.ids, labels, self.Y.shape[1], "column_ids")
        self.unmatched: Unmatched | None = None

    @classmethod
    def from_tables(
        cls,
        pairs: Any,
        rows: Any,
        columns: Any,
        *,
        row: str | None = None,
        column: str | None = None,
        score: str | None = None,
        row_id: str | None = None,
        column_id: str | None = None,
        observed: str | None = None,
        duplicates: Duplicates = "error",
        names: tuple[str, str] = (default_name(0), default_name(1)),
    ) -> Dyads:
        """Dyads from long tables of pandas or polars, joined by id.

        Parameters
        ----------
        pairs : DataFrame
            One row per known pair: the ids of both entities and the score.
        rows, columns : DataFrames
            One row per entity: its id, and its features in all other columns.
        row, column, score : str, optional
            The columns of `pairs`; by default the first three. Without a third one every listed pair scores 1.
        row_id, column_id : str, optional
            The columns of `rows` and `columns` that hold the ids; by default a pandas index that is not just
            0, 1, 2, ..., otherwise the first column.
        observed : None or "stored"
            Whether pairs that are not listed have the score 0, or none.
        duplicates : {"error", "mean", "sum", "max", "last"}
            What is done with a pair that is listed more than once.
        names : pair of str
            What the two kinds are called.

        Notes
        -----
        Ids are compared as strings. Pairs with an id that no entity has are left out, with a warning; ``unmatched`` of
        the result holds these ids. Read ids as strings, or ``007`` becomes ``7``.

        Examples
        --------
        >>> import pandas as pd
        >>> from jointdr import Dyads
        >>> drugs = pd.DataFrame({"drug": ["x", "y"], "weight": [1.0, 2.0]})
        >>> targets = pd.DataFrame({"target": ["p", "q", "r"], "length": [5.0, 6.0, 7.0]})
        >>> known = pd.DataFrame({"drug": ["x", "y"], "target": ["q", "p"], "affinity": [0.5, 0.25]})
        >>> Dyads.from_tables(known, drugs, targets, names=("drug", "target"))
        Dyads(drug: 2 × 1, target: 3 × 1, all 6 pairs, 2 of them stored)
        """
        check_choice("observed", observed, (None, "stored"), expected="give None or 'stored' here")
        A, row_ids = separate_ids(rows, row_id, "rows")
        B, column_ids = separate_ids(columns, column_id, "columns")
        Y, unmatched = join_scores(pairs, row_ids, column_ids, row, column, score, duplicates)
        dyads = cls(Y, A, B, observed, row_ids, column_ids, names=names)
        dyads.unmatched = unmatched
        if unmatched.n_pairs:
            warnings.warn(
                f"{unmatched.n_pairs} of {len(pairs)} pairs were left out: {len(unmatched.row_ids)} row ids and "
                f"{len(unmatched.column_ids)} column ids are not in the entity tables, for example "
                f"{[*unmatched.row_ids[:2].tolist(), *unmatched.column_ids[:2].tolist()]}. See dyads.unmatched.",
                UnmatchedWarning,
                stacklevel=2,
            )
        return dyads

    @classmethod
    def from_samples(cls, X: Any, y: Any, *, deduplicate: bool = False, duplicates: Duplicates = "error") -> Dyads:
        """Samples (a, b, y) as dyads: m row entities, m column entities, and m observed pairs on the diagonal.

        Parameters
        ----------
        X : tuple of two (m, n_k) tables, or Views
        y : (m,) array
        deduplicate : bool
            Whether equal rows of a view are one entity.
        duplicates : {"error", "mean", "sum", "max", "last"}
            What is done then with samples of the same pair.
        """
        views = as_views(X, "from_samples")
        if len(views.arrays) != 2:
            raise ValueError(f"from_samples expects two views, but got {len(views.arrays)}.")
        y = checked_numbers(y, len(views), "from_samples")
        tables = [to_numpy(V) for V in views.arrays]
        at = [equal_rows(V) if deduplicate else (np.arange(len(y)),) * 2 for V in tables]
        (first_a, i), (first_b, j) = at
        Y = scores_of_pairs(i, j, y, (len(first_a), len(first_b)), duplicates)
        if deduplicate:
            tables = [take_rows(V, first) for V, first in zip(tables, (first_a, first_b), strict=True)]
        dyads = cls(Y, tables[0], tables[1], "stored", names=(views.names[0], views.names[1]))
        dyads.feature_names = (views.feature_names[0], views.feature_names[1])
        return dyads

    # ---------------------------------------------------------------- what there is

    @property
    def shape(self) -> tuple[int, int]:
        """(m_A, m_B)."""
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    @property
    def n_features(self) -> tuple[int, int]:
        """(n_1, n_2)."""
        return int(self.A.shape[1]), int(self.B.shape[1])

    @property
    def n_observed(self) -> int:
        """The number of observed pairs |Ω|."""
        return self.grid.n_pairs

    @property
    def is_implicit(self) -> bool:
        """Whether scores are implicit feedback, a few associations in a grid of zeros, rather than graded scores."""
        return is_implicit(self.Y, self.is_complete)

    @property
    def observed(self) -> Array | None:
        """A sparse mask of the observed pairs; None if all are."""
        if self.is_complete:
            return None
        Y = self.Y
        return sparse.csr_array((np.ones(Y.nnz, dtype=bool), Y.indices, Y.indptr), shape=Y.shape)

    @cached_property
    def grid(self) -> Grid:
        """The numbers alone, without ids and names."""
        return Grid(self.Y, self.A, self.B, self.is_complete)

    def triples(self) -> tuple[Views, Array]:
        """Every observed pair as a row: the views and y. For tests and small data: it takes |Ω|·(n_1 + n_2) numbers."""
        i, j, y = self._listed()
        tables = (take_rows(self.A, i), take_rows(self.B, j))
        return Views.from_checked(self.names, self.feature_names, None, tables), y

    def pair_rows(self) -> tuple[tuple[PairRows, PairRows], Array]:
        """The same as `triples`, but rows are gathered a few at a time, when they are read: 3·|Ω| numbers."""
        i, j, y = self._listed()
        return (PairRows(self.A, i), PairRows(self.B, j)), y

    def _listed(self) -> tuple[Array, Array, Array]:
        """The row, the column and the score of every observed pair, row by row."""
        m_A, m_B = self.shape
        if self.is_complete:
            return np.repeat(np.arange(m_A), m_B), np.tile(np.arange(m_B), m_A), dense(self.Y).ravel()
        return csr_rows(self.Y), self.Y.indices, self.Y.data

    # ---------------------------------------------------------------- parts

    def rows(self, at: Any) -> Dyads:
        """The dyads of some row entities: row numbers, a mask or a slice."""
        i = entity_indices(at, self.shape[0], "rows")
        return self.replace(Y=self.Y[i], tables=(take_rows(self.A, i), self.B), ids=(self.row_ids[i], self.column_ids))

    def columns(self, at: Any) -> Dyads:
        """The dyads of some column entities: column numbers, a mask or a slice."""
        j = entity_indices(at, self.shape[1], "columns")
        Y = self.Y[:, j]
        return self.replace(Y=Y, tables=(self.A, take_rows(self.B, j)), ids=(self.row_ids, self.column_ids[j]))

    def pairs(self, mask: Any) -> Dyads:
        """The same entities with some of the observed pairs only.

        Parameters
        ----------
        mask : boolean (m_A, m_B) array, dense or sparse, or (n_observed,) vector
            A vector has one entry for each observed pair, row by row, in the order of `triples`.
        """
        if not is_sparse(mask) and np.ndim(mask) == 1:
            chosen = np.asarray(mask)
            if chosen.dtype != bool or len(chosen) != self.n_observed:
                raise ValueError(
                    f"mask has {len(chosen)} entries of {chosen.dtype}, but there are {self.n_observed} observed "
                    "pairs: give one boolean for each."
                )
            i, j, y = (part[chosen] for part in self._listed())
            Y = scores_of_pairs(i, j, y, self.shape, "error")
        else:
            pattern = pattern_of(mask, self.shape)
            if not self.is_complete:
                pattern = pattern_of(pattern.multiply(self.observed), self.shape)
            Y = values_at(self.Y, pattern)
        if Y.nnz == 0:
            raise ValueError("mask leaves no observed pair.")
        return self.replace(Y=Y, is_complete=False)

    def replace(
        self,
        *,
        Y: Array | None = None,
        tables: Sequence[Array] | None = None,
        ids: tuple[Array, Array] | None = None,
        is_complete: bool | None = None,
    ) -> Dyads:
        """The same dyads with other scores, tables or ids, which are not checked again."""
        part = Dyads.__new__(Dyads)
        part.names, part.feature_names, part.unmatched = self.names, self.feature_names, self.unmatched
        part.is_complete = self.is_complete if is_complete is None else is_complete
        Y = self.Y if Y is None else Y
        part.Y = sparse.csr_array(Y) if is_sparse(Y) else Y
        part.A, part.B = (self.A, self.B) if tables is None else tables
        part.row_ids, part.column_ids = (self.row_ids, self.column_ids) if ids is None else ids
        return part

    # ---------------------------------------------------------------- moments

    def moments(self, *, means: Means = "pairs", center: Any = None, y_center: Any = None, **keep: Any) -> Moments:
        """The moments of all observed pairs, each as a row (a, b, y), without expanding them.

        Parameters
        ----------
        means : {"pairs", "entities"}
            How features are counted. ``"pairs"``: an entity as often as it occurs in observed pairs, which gives the
            moments of `triples`. ``"entities"``: every entity once, so that features are centred and normalized as
            their table is, whichever pairs happen to be observed; y and its products with features are still summed
            over the observed pairs. On a complete grid both are the same.
        center, y_center
            The point about which sums are taken, as in `Moments.of_block`.
        **keep
            ``blocks``, ``covariance`` and ``cross_covariance``, as in `Moments.of_block`.

        Notes
        -----
        T_ayb is AᵀYB, O(|Y| n + m n²) with |Y| the number of stored scores, where the rows of `triples` would take
        O(|Ω| n²). The moments count pairs, not entities: a rule that asks how many independent rows there are
        (``ridge="auto"``) is told too many. Moments of other dyads merge exactly with ``means="pairs"``; with
        ``"entities"`` if they have the same centres.
        """
        return self.grid.moments(means=means, center=center, y_center=y_center, **keep)

    def fold_moments(
        self,
        n_folds: int = 5,
        seed: int = 0,
        *,
        means: Means = "pairs",
        center: Any = None,
        y_center: Any = None,
        **keep: Any,
    ) -> list[Moments]:
        """The moments of `n_folds` random parts of the row entities: what ``"auto"`` and ``moments="all"`` choose on.

        The fold of a row is a hash of its number. Together they are the `moments` of all pairs.
        """
        return self.grid.fold_moments(n_folds, 0, seed, means=means, center=center, y_center=y_center, **keep)

    def __repr__(self) -> str:
        named = zip(self.names, (self.A, self.B), strict=True)
        tables = ", ".join(f"{name}: {X.shape[0]} × {X.shape[1]}" for name, X in named)
        total = self.shape[0] * self.shape[1]
        if not self.is_complete:
            return f"Dyads({tables}, {self.n_observed} of {total} pairs)"
        stored = f", {self.Y.nnz} of them stored" if is_sparse(self.Y) else ""
        return f"Dyads({tables}, all {total} pairs{stored})"


def _checked_names(names: Any) -> tuple[str, str]:
    if len(names) != 2 or isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"names={names!r} must be two strings, for example ('disease', 'gene').")
    if names[0] == names[1]:
        raise ValueError(f"names={names!r} must be different.")
    return names[0], names[1]

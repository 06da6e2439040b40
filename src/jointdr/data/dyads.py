"""Dyads: two tables of entities, and the scores between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data.dyads_of_formats import DyadsOfFormats
from jointdr.data.ids import SIDES, checked_names, entities, index_of, scores_in_order, where_equal
from jointdr.data.pairs import Unmatched
from jointdr.data.samples import PairRows
from jointdr.data.scores import (
    checked_scores,
    entity_indices,
    is_implicit,
    listed_scores,
    observed_pattern,
    scores_at_mask,
    shape_of_scores,
)
from jointdr.data.similarities import (
    ids_and_similarities,
    similarities_between,
)
from jointdr.data.tables import TableEncoder
from jointdr.data.views import Views, default_name
from jointdr.engines import Grid, Means
from jointdr.moments import Moments
from jointdr.runtime import Array, first_names, html_table, is_integer, is_sparse, kind_of_array, share, take_rows

Similarities = dict[str, Array]
Labels = tuple[Array | None, Array | None]


def refuse_dyads(X: Any, caller: str) -> None:
    """Raise where only rows will do."""
    if isinstance(X, Dyads):
        raise TypeError(
            f"{caller} takes rows, not a Dyads: give it X, y = dyads.triples(), which writes the pairs out."
        )


class Dyads(DyadsOfFormats):
    """Two tables of entities, say diseases and genes, and the scores between them.

    ``len``, ``shape`` and ``dyads[rows]`` are those of a table of rows, so that scikit-learn splits it by rows.

    Parameters
    ----------
    Y : (m_A, m_B) array, DataFrame or SciPy sparse matrix
        The score of row entity i and column entity j. A DataFrame is brought into the order of the ids of A and B, if
        these have any.
    A, B : tables of shape (m_A, n_1) and (m_B, n_2), optional
        Features of the row and of the column entities: NumPy arrays, SciPy sparse matrices (never densified), or
        DataFrames of pandas or polars, whose columns may hold text, dates and gaps, see `jointdr.TableEncoder`.
        None: they have none, n is 0.
    observed : None, "stored" or a boolean (m_A, m_B) mask, dense or sparse
        None: every pair is observed, and one that a sparse Y does not store has the score 0, as in the paper.
        ``"stored"``: only the pairs that the sparse Y stores, with a stored 0 being a score. A mask: only those pairs;
        what Y holds elsewhere, NaN for example, is ignored.
    row_ids, column_ids : sequences of ids, optional
        By default the index of a DataFrame (of the features, otherwise of Y or similarities), otherwise "0", "1", ....
        Ids are always strings.
    row_similarity, column_similarity : (m, m) array, DataFrame or SciPy sparse matrix, or dict of these; optional
        Similarities between all entities of a kind, symmetric: one, which is named "similarity", or several by name. A
        DataFrame is brought into the order of the ids, which must be its own.
    row_encoder, column_encoder : TableEncoder, optional
        Encoders of DataFrames with columns of any kind; by default one with its own defaults.
    names : pair of str
        What the two kinds are called.

    Attributes
    ----------
    Y : array, or CSR array
        Where only some pairs are observed, a CSR array that stores exactly these.
    A, B : arrays, or CSR matrices
    similarities : tuple of dicts of str to (m, m) arrays or CSR arrays
        Of the rows and of the columns, by name; empty where there are none.
    row_ids, column_ids : arrays of str
    names : tuple of str
    feature_names : tuple of arrays or None
    encoders : tuple of TableEncoder or None
        Those that made features of DataFrames.
    labels : tuple of arrays of str, or None
        Names of the entities to be shown, from a column of a DataFrame that has names.
    unmatched : Unmatched or None
        With `from_tables`: the ids that no entity has.
    score_name : str or None
        With `from_tables`: the name of the column of graded scores.

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
    >>> Dyads(dyads.Y, A, column_similarity=np.eye(5))
    Dyads(a: 6 × 3, b: 5 × 0 + similarity, all 30 pairs)
    """

    def __init__(
        self,
        Y: Any,
        A: Any = None,
        B: Any = None,
        observed: Any = None,
        row_ids: Any = None,
        column_ids: Any = None,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
        row_encoder: TableEncoder | None = None,
        column_encoder: TableEncoder | None = None,
        names: tuple[str, str] = (default_name(0), default_name(1)),
    ) -> None:
        self.names = checked_names(names)
        tables = (np.zeros((m, 0)) if X is None else X for X, m in zip((A, B), shape_of_scores(Y), strict=True))
        makers = (row_encoder, column_encoder)
        sides = tuple(entities(X, name, maker) for X, name, maker in zip(tables, self.names, makers, strict=True))
        self.A, self.B = sides[0].X, sides[1].X
        self.feature_names = (sides[0].feature_names, sides[1].feature_names)
        self.encoders = (sides[0].encoder, sides[1].encoder)
        self.labels: Labels = (sides[0].labels, sides[1].labels)
        given_ids, of_features = (row_ids, column_ids), (sides[0].ids, sides[1].ids)
        Y, observed = scores_in_order(Y, observed, of_features, given_ids)
        self.Y = checked_scores(Y, (self.A.shape[0], self.B.shape[0]), self.names, observed)
        self.is_complete = observed is None
        given = (row_similarity, column_similarity)
        ids, similarities = zip(
            *(ids_and_similarities(k, given_ids[k], of_features[k], Y, given[k], self.shape[k]) for k in (0, 1)),
            strict=True,
        )
        self.row_ids, self.column_ids = ids
        self.similarities: tuple[Similarities, Similarities] = (similarities[0], similarities[1])
        self.unmatched: Unmatched | None = None
        self.score_name: str | None = None
        self._whole: Dyads | None = None

    # ---------------------------------------------------------------- what there is

    @property
    def shape(self) -> tuple[int, int]:
        """(m_A, m_B)."""
        return int(self.Y.shape[0]), int(self.Y.shape[1])

    @property
    def n_features(self) -> tuple[int, int]:
        """(n_1, n_2); 0 for a side without features."""
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
        return None if self.is_complete else observed_pattern(self.Y)

    @cached_property
    def grid(self) -> Grid:
        """The numbers alone, without ids and names."""
        return Grid(self.Y, self.A, self.B, self.is_complete)

    def require_features(self, caller: str) -> None:
        """Raise a ValueError, in the name of the caller, unless both sides have features."""
        for k, n in enumerate(self.n_features):
            if n == 0:
                raise ValueError(
                    f"{caller} needs features of the {SIDES[k]}s, {self.names[k]!r}, but these dyads have none: give a "
                    f"table {'AB'[k]}. Of a similarity matrix S, jointdr.datasets.kernel_features(S) makes one."
                )

    def triples(self) -> tuple[Views, Array]:
        """Every observed pair as a row: the views and y. For tests and small data: it takes |Ω|·(n_1 + n_2) numbers."""
        self.require_features("triples")
        i, j, y = listed_scores(self.Y, self.is_complete)
        tables = (take_rows(self.A, i), take_rows(self.B, j))
        return Views.from_checked(self.names, self.feature_names, None, tables), y

    def pair_rows(self) -> tuple[tuple[PairRows, PairRows], Array]:
        """The same as `triples`, but rows are gathered a few at a time, when they are read: 3·|Ω| numbers."""
        self.require_features("pair_rows")
        i, j, y = listed_scores(self.Y, self.is_complete)
        return (PairRows(self.A, i), PairRows(self.B, j)), y

    # ---------------------------------------------------------------- parts

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Dyads:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Dyads are indexed by rows only, dyads[rows]; dyads.columns(...) chooses columns.")
            key = key[0]
        i = entity_indices([key] if is_integer(key) else key, self.shape[0], "rows")
        part = self.rows(i)
        part._whole = self._whole or self
        return part

    # Without these, NumPy and list() would take the rows one by one.
    __iter__ = None

    def __array__(self, *args: Any, **kwargs: Any) -> Array:
        raise TypeError(f"{self!r} holds several tables and is no matrix: its scores are dyads.Y.")

    def row_similarities_to(self, ids: Array) -> dict[str, Array] | None:
        """The similarities of the rows to other rows of the dyads that they were taken from by ``dyads[rows]``.

        Parameters
        ----------
        ids : (m,) array of str

        Returns
        -------
        dict of str to (rows, m) arrays or CSR arrays; None where some of these ids are not known
        """
        whole = self._whole or self
        where = index_of(whole.row_ids)
        if any(name not in where for name in ids.tolist()):
            return None
        at, of_ids = (np.array([where[name] for name in names.tolist()]) for names in (self.row_ids, ids))
        return similarities_between(whole.similarities[0], at, of_ids)

    def rows(self, at: Any) -> Dyads:
        """The dyads of some row entities: row numbers, a mask or a slice."""
        i = entity_indices(at, self.shape[0], "rows")
        return self._take(0, i, self.Y[i])

    def columns(self, at: Any) -> Dyads:
        """The dyads of some column entities: column numbers, a mask or a slice."""
        j = entity_indices(at, self.shape[1], "columns")
        return self._take(1, j, self.Y[:, j])

    def _take(self, k: int, at: Array, Y: Array) -> Dyads:
        """The dyads of some entities of one kind, with their scores."""
        tables, ids, labels = [self.A, self.B], [self.row_ids, self.column_ids], list(self.labels)
        similarities, named = list(self.similarities), labels[k]
        tables[k], ids[k] = take_rows(tables[k], at), ids[k][at]
        similarities[k] = similarities_between(similarities[k], at, at)
        labels[k] = None if named is None else named[at]
        return self.replace(
            Y=Y,
            tables=tables,
            ids=(ids[0], ids[1]),
            similarities=(similarities[0], similarities[1]),
            labels=(labels[0], labels[1]),
        )

    def pairs(self, mask: Any) -> Dyads:
        """The same entities with some of the observed pairs only.

        Parameters
        ----------
        mask : boolean (m_A, m_B) array, dense or sparse, or (n_observed,) vector
            A vector has one entry for each observed pair, row by row, in the order of `triples`.
        """
        Y = scores_at_mask(self.Y, self.is_complete, mask)
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
        similarities: tuple[Similarities, Similarities] | None = None,
        labels: Labels | None = None,
    ) -> Dyads:
        """The same dyads with other scores, tables, ids, similarities or labels, which are not checked again."""
        part = Dyads.__new__(Dyads)
        part.names, part.unmatched, part.score_name = self.names, self.unmatched, self.score_name
        part._whole = None
        part.is_complete = self.is_complete if is_complete is None else is_complete
        Y = self.Y if Y is None else Y
        part.Y = sparse.csr_array(Y) if is_sparse(Y) else Y
        part.A, part.B = (self.A, self.B) if tables is None else tables
        part.row_ids, part.column_ids = (self.row_ids, self.column_ids) if ids is None else ids
        part.similarities = self.similarities if similarities is None else similarities
        part.labels = self.labels if labels is None else labels
        part.feature_names, part.encoders = (
            where_equal(pair, part.n_features, self.n_features) for pair in (self.feature_names, self.encoders)
        )
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
        self.require_features("moments")
        return self.grid.moments(means=means, center=center, y_center=y_center, **keep)

    def __repr__(self) -> str:
        sides = zip(self.names, self.shape, self.n_features, self.similarities, strict=True)
        tables = ", ".join(" + ".join([f"{name}: {m} × {n}", *named]) for name, m, n, named in sides)
        total = self.shape[0] * self.shape[1]
        if not self.is_complete:
            return f"Dyads({tables}, {self.n_observed} of {total} pairs)"
        stored = f", {self.Y.nnz} of them stored" if is_sparse(self.Y) else ""
        return f"Dyads({tables}, all {total} pairs{stored})"

    def _repr_html_(self) -> str:
        sides = zip(self.names, self.shape, self.n_features, (self.A, self.B), self.similarities, strict=True)
        rows = [
            (name, m, n, kind_of_array(X) if n else "", ", ".join(named), first_names(ids), first_names(features))
            for (name, m, n, X, named), ids, features in zip(
                sides, (self.row_ids, self.column_ids), self.feature_names, strict=True
            )
        ]
        columns = ("kind", "entities", "features", "table", "similarities", "first ids", "first features")
        total = self.shape[0] * self.shape[1]
        values = self.Y.data if is_sparse(self.Y) else self.Y
        known = int(np.count_nonzero(values)) if self.is_complete else self.n_observed
        what = (
            "associations" if self.is_implicit else "known pairs" if not self.is_complete else "scores that are not 0"
        )
        note = f"{known} {what} of {total} pairs ({share(known, total)}), scores {kind_of_array(self.Y)}"
        return html_table("Dyads", columns, rows, note)

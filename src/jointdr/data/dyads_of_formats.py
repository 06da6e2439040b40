"""Dyads of tables, matrices, samples and AnnData: the other ways to make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from jointdr.data.annotated import features_of_anndata, matrix_of_anndata, names_of_anndata
from jointdr.data.columns import is_matrix
from jointdr.data.matching import match_columns
from jointdr.data.pairs import Observed, choose_observed, join_scores, read_listed
from jointdr.data.samples import scores_of_samples
from jointdr.data.score_matrices import read_matrix_of_scores, require_shape, separate_gaps
from jointdr.data.scores import Duplicates
from jointdr.data.similarities import table_and_ids
from jointdr.data.tables import TableEncoder
from jointdr.data.views import default_name
from jointdr.runtime import check_flag

if TYPE_CHECKING:
    from jointdr.data.dyads import Dyads


class DyadsOfFormats:
    """Constructors of `Dyads` beside its own."""

    @classmethod
    def from_tables(
        cls,
        pairs: Any,
        rows: Any = None,
        columns: Any = None,
        *,
        row: str | None = None,
        column: str | None = None,
        score: str | None = None,
        row_id: str | None = None,
        column_id: str | None = None,
        row_ids: Any = None,
        column_ids: Any = None,
        observed: Observed = "auto",
        duplicates: Duplicates | Literal["auto"] = "auto",
        row_similarity: Any = None,
        column_similarity: Any = None,
        row_encoder: TableEncoder | None = None,
        column_encoder: TableEncoder | None = None,
        names: tuple[str, str] = (default_name(0), default_name(1)),
    ) -> Dyads:
        """Dyads from long tables of pandas or polars, joined by id, and from matrices.

        Parameters
        ----------
        pairs : DataFrame, or (m_A, m_B) array or SciPy sparse matrix
            One row per known pair: the ids of both entities and the score. A matrix has the scores of all rows with all
            columns, in their order: a sparse one lists the pairs that it stores, and NaN is no score.
        rows, columns : DataFrames, arrays or SciPy sparse matrices; optional
            One row per entity: its id, and its features in all other columns, which may hold text, dates and gaps, see
            `jointdr.TableEncoder`; or a matrix of features. By default there are no features, and the entities are
            those in the index of the similarities, or else those in `pairs`, in the order of their first pairs.
        row, column, score : str, optional
            The columns of `pairs`; by default the first two and the next one with numbers. Without one every listed
            pair scores 1. Pairs without a score are left out.
        row_id, column_id : str, optional
            The columns of `rows` and `columns` that hold the ids; by default a pandas index that is not just
            0, 1, 2, ..., otherwise the first column. Where the ids of these columns do not agree with those of `pairs`,
            the columns that agree best are taken, with a warning.
        row_ids, column_ids : sequences of ids, optional
            The ids of entities whose table has none. Those of a matrix are by default its positions 0, 1, 2, ....
        row_encoder, column_encoder : TableEncoder, optional
            Encoders of `rows` and `columns`: ``TableEncoder(drop=["date"])``, or one that was fitted before.
        observed : {"auto", "all", "stored"} or None
            Whether pairs that are not listed have the score 0 ("all", or None), or none ("stored"). ``"auto"``: none,
            where 0 is far from the scores (at least ten, whose median is more than two interquartile ranges away from
            it), and otherwise 0.
        duplicates : {"auto", "error", "mean", "sum", "max", "last"}
            What is done with a pair that is listed more than once; ``"auto"`` takes the mean of its scores and says so.
        row_similarity, column_similarity : matrix or dict of matrices, optional
            As in `Dyads`; a matrix without labels is in the order of the entity table.
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
        made: Any = cls
        more = {"row_similarity": row_similarity, "column_similarity": column_similarity}
        more |= {"row_encoder": row_encoder, "column_encoder": column_encoder}
        if is_matrix(pairs):
            named = {"row": row, "column": column, "score": score}
            Y, known_alone = read_matrix_of_scores(pairs, observed, duplicates, named)
            A, row_ids = table_and_ids(rows, row_id, row_ids, row_similarity, Y.shape[0], "row")
            B, column_ids = table_and_ids(columns, column_id, column_ids, column_similarity, Y.shape[1], "column")
            require_shape(Y, row_ids, column_ids)
            return made(Y, A, B, known_alone, row_ids, column_ids, **more, names=names)
        tables = (rows if row_ids is None else None, columns if column_ids is None else None)
        (row, column), (row_id, column_id) = match_columns(pairs, (row, column), tables, (row_id, column_id))
        listed = read_listed(pairs, row, column, score)
        A, row_ids = table_and_ids(rows, row_id, row_ids, row_similarity, listed.rows, "row")
        B, column_ids = table_and_ids(columns, column_id, column_ids, column_similarity, listed.columns, "column")
        Y, unmatched = join_scores(listed, row_ids, column_ids, duplicates)
        known_alone = choose_observed(observed, Y.data)
        dyads = made(Y, A, B, known_alone, row_ids, column_ids, **more, names=names)
        dyads.unmatched, dyads.score_name = unmatched, listed.name
        unmatched.warn_if_any(len(listed.rows))
        return dyads

    @classmethod
    def from_anndata(
        cls,
        adata: Any,
        *,
        layer: str | None = None,
        row_features: str | Sequence[str] | None = None,
        column_features: str | Sequence[str] | None = None,
        observed: Any = None,
        row_encoder: TableEncoder | None = None,
        column_encoder: TableEncoder | None = None,
        names: tuple[str, str] = ("obs", "var"),
    ) -> Dyads:
        """Dyads of an AnnData: observations as rows, variables as columns, X as scores.

        Parameters
        ----------
        adata : AnnData
            Its ``obs_names`` and ``var_names`` are the ids.
        layer : str, optional
            A layer in place of X. Sparse matrices stay sparse; NaN is no score.
        row_features : str or sequence of str, optional
            A key of ``obsm``, or columns of ``obs``, by default all of them; an empty list for no features.
        column_features : str or sequence of str, optional
            A key of ``varm``, or columns of ``var``, in the same way.
        observed : None, "stored" or mask
            As in `Dyads`.
        row_encoder, column_encoder : TableEncoder, optional
            Encoders of the columns of ``obs`` and ``var``, which may hold anything.
        names : pair of str
            What the two kinds are called.

        Notes
        -----
        Columns that were computed from X, such as counts of genes or clusters of cells, give scores away: where new
        entities are to be predicted, name the columns that are known of these. The package anndata is not needed.
        """
        Y, known = separate_gaps(matrix_of_anndata(adata, layer), observed)
        A = features_of_anndata(adata, 0, row_features, "row_features")
        B = features_of_anndata(adata, 1, column_features, "column_features")
        ids = [names_of_anndata(adata, axis) for axis in (0, 1)]
        made: Any = cls
        return made(Y, A, B, known, *ids, row_encoder=row_encoder, column_encoder=column_encoder, names=names)

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
        check_flag("deduplicate", deduplicate)
        views, Y, tables, encoders = scores_of_samples(X, y, deduplicate, duplicates)
        made: Any = cls
        dyads = made(Y, tables[0], tables[1], "stored", names=(views.names[0], views.names[1]))
        dyads.feature_names = (views.feature_names[0], views.feature_names[1])
        dyads.encoders = (encoders[0], encoders[1])
        return dyads

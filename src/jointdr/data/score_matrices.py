"""Scores that are given as a matrix, in the order of the entities, with gaps where they are not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data.pairs import Observed, choose_observed
from jointdr.data.scores import pattern_of, scores_of_pairs
from jointdr.runtime import Array, check_choice, csr_rows, is_sparse, memory


def read_matrix_of_scores(
    Y: Array, observed: Observed, duplicates: str, columns: Mapping[str, str | None]
) -> tuple[Array, Any]:
    """Scores, and which of them are observed, as `Dyads` takes them; parameters as in `Dyads.from_tables`."""
    for name, value in columns.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} names a column of a long table, but pairs is a matrix: leave it out.")
    if duplicates != "auto":
        raise ValueError(f"duplicates={duplicates!r} is for a long table: a matrix has one score for each pair.")
    if Y.ndim != 2:
        raise ValueError(f"pairs should be a matrix or a DataFrame, but got an array of shape {Y.shape}.")
    if is_sparse(Y):
        given = choose_observed(observed, Y.data[~np.isnan(Y.data)] if Y.data.dtype.kind == "f" else Y.data)
        return separate_gaps(Y, given)
    check_choice("observed", observed, (None, "auto", "all", "stored"), expected="give 'auto', 'all' or 'stored' here")
    return separate_gaps(Y, None)


def require_shape(Y: Array, row_ids: Array, column_ids: Array) -> None:
    """Raise unless a matrix has one row for each row entity, and one column for each column entity."""
    if Y.shape != (len(row_ids), len(column_ids)):
        raise ValueError(
            f"pairs is a matrix of shape {Y.shape}, but there are {len(row_ids)} rows and {len(column_ids)} columns: "
            "it needs one score for each of them, in their order. (A long table is a DataFrame.)"
        )


def separate_gaps(Y: Any, observed: Any) -> tuple[Array, Any]:
    """Scores, and which of them are observed: of those that are meant to be, all but NaN.

    Parameters
    ----------
    Y : (m_A, m_B) array or SciPy sparse matrix
    observed : None, "stored" or mask
        As in `Dyads`; a dense Y has nothing but NaN that is not stored.
    """
    Y = sparse.csr_array(Y) if is_sparse(Y) else np.asarray(Y)
    Y = Y.astype(float) if Y.dtype.kind == "O" else Y
    gaps = np.isnan(Y.data if is_sparse(Y) else Y) if Y.dtype.kind == "f" else np.zeros(0, dtype=bool)
    only_stored = isinstance(observed, str) and observed == "stored"
    if not gaps.any():
        return Y, None if only_stored and not is_sparse(Y) else observed
    if not is_sparse(Y):
        known = ~gaps
    elif only_stored:
        known = ~gaps
        return scores_of_pairs(csr_rows(Y)[known], Y.indices[known], Y.data[known], Y.shape, "sum"), observed
    else:
        memory.require(
            14.0 * Y.shape[0] * Y.shape[1],
            f"The scores of {Y.shape[0]} × {Y.shape[1]} pairs, of which all but NaN are observed,",
            "give observed='stored' if only stored pairs are",
        )
        known = np.ones(Y.shape, dtype=bool)
        known[csr_rows(Y)[gaps], Y.indices[gaps]] = False
    if observed is None or isinstance(observed, str):
        return Y, known
    return Y, pattern_of(observed, Y.shape).multiply(known)

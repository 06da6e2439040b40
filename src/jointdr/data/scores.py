"""Scores of pairs as arrays: which pairs are observed, and what their scores are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse

from jointdr.runtime import (
    Array,
    as_float,
    check_choice,
    csr_rows,
    dense,
    float_dtype,
    is_sparse,
    require_squares,
    to_numpy,
)

Duplicates = Literal["error", "mean", "sum", "max", "last"]
DUPLICATES = ("error", "mean", "sum", "max", "last")


def shape_of_scores(Y: Any) -> tuple[int, int]:
    """The numbers of rows and columns of a matrix of scores."""
    shape = tuple(Y.shape) if hasattr(Y, "shape") else np.shape(Y)
    if len(shape) != 2:
        raise ValueError(f"Y must be a matrix, one row for each row entity, but got the shape {shape}.")
    return int(shape[0]), int(shape[1])


def checked_scores(Y: Any, shape: tuple[int, int], names: tuple[str, str], observed: Any) -> Array:
    """Y as a finite dense array or CSR array; where only some pairs are observed, a CSR array of exactly these."""
    if not is_sparse(Y):
        Y = np.asarray(to_numpy(Y))
    if tuple(Y.shape) != shape:
        raise ValueError(
            f"Y has shape {tuple(Y.shape)}, but there are {shape[0]} entities {names[0]!r} and {shape[1]} entities "
            f"{names[1]!r}: give one row of Y for each row of A and one column for each row of B."
        )
    if Y.dtype.kind == "O":
        Y = Y.astype(float)
    if Y.dtype.kind not in "biuf":
        raise ValueError(f"Y should hold numbers, but got {Y.dtype}.")
    if is_sparse(Y):
        Y = sparse.csr_array(Y)
        if not Y.has_canonical_format:
            Y = Y.copy()
            Y.sum_duplicates()
    Y = as_float(Y, float_dtype(Y))
    if isinstance(observed, str):
        if observed != "stored":
            raise ValueError(f"observed={observed!r} is not understood; give None, 'stored' or a mask.")
        if not is_sparse(Y):
            raise ValueError("observed='stored' is for a sparse Y: give a dense Y with a boolean mask of its pairs.")
    elif observed is not None:
        Y = values_at(Y, pattern_of(observed, shape))
    if observed is not None and Y.nnz == 0:
        raise ValueError(f"observed={observed if isinstance(observed, str) else 'a mask'} leaves no pair.")
    if not np.isfinite(Y.data if is_sparse(Y) else Y).all():
        hint = " Pairs whose score is not known are left out with observed=~numpy.isnan(Y)." if observed is None else ""
        raise ValueError(f"Y contains NaN or infinity.{hint}")
    return require_squares(Y, "Y, the score of the pairs,")


def pattern_of(mask: Any, shape: tuple[int, int]) -> Array:
    """The true entries of a mask as a CSR array in canonical order."""
    if not is_sparse(mask):
        mask = np.asarray(mask)
    if tuple(mask.shape) != shape:
        raise ValueError(f"The mask of observed pairs has shape {tuple(mask.shape)}, but Y has {shape}.")
    values = mask.data if is_sparse(mask) else mask
    if values.dtype != bool and not np.isin(values, (0, 1)).all():
        raise ValueError(f"The mask of observed pairs must be boolean, but holds {values.dtype} values.")
    pattern = sparse.csr_array(mask, dtype=bool) if is_sparse(mask) else sparse.csr_array(mask.astype(bool))
    pattern = pattern.copy()
    pattern.sum_duplicates()
    pattern.eliminate_zeros()
    return pattern


def values_at(Y: Array, pattern: Array) -> Array:
    """The values of Y at the entries of the pattern, as a CSR array that stores them all, zeros too."""
    i = csr_rows(pattern)
    if is_sparse(Y):
        stored = csr_rows(Y) * Y.shape[1] + Y.indices
        wanted = i * Y.shape[1] + pattern.indices
        place = np.minimum(np.searchsorted(stored, wanted), max(len(stored) - 1, 0))
        values = np.where(stored[place] == wanted, Y.data[place], 0.0) if len(stored) else np.zeros(len(wanted))
    else:
        values = Y[i, pattern.indices]
    return sparse.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)


def listed_scores(Y: Array, complete: bool) -> tuple[Array, Array, Array]:
    """The row, the column and the score of every observed pair, row by row."""
    if complete:
        m_A, m_B = Y.shape
        return np.repeat(np.arange(m_A), m_B), np.tile(np.arange(m_B), m_A), dense(Y).ravel()
    return csr_rows(Y), Y.indices, Y.data


def scores_at_mask(Y: Array, complete: bool, mask: Any) -> Array:
    """The observed scores that a mask keeps, as a CSR array; the mask has an entry for every pair or observed pair."""
    if is_sparse(mask) or np.ndim(mask) != 1:
        pattern = pattern_of(mask, Y.shape)
        return values_at(Y, pattern if complete else pattern_of(pattern.multiply(observed_pattern(Y)), Y.shape))
    chosen = np.asarray(mask)
    i, j, y = listed_scores(Y, complete)
    if chosen.dtype != bool or len(chosen) != len(y):
        raise ValueError(
            f"mask has {len(chosen)} entries of {chosen.dtype}, but there are {len(y)} observed pairs: give one "
            "boolean for each."
        )
    return scores_of_pairs(i[chosen], j[chosen], y[chosen], Y.shape, "error")


def observed_pattern(Y: Array) -> Array:
    """A sparse mask of the pairs that a CSR array stores."""
    return sparse.csr_array((np.ones(Y.nnz, dtype=bool), Y.indices, Y.indptr), shape=Y.shape)


def entity_indices(at: Any, count: int, what: str) -> Array:
    """Indices of entities from indices, a mask or a slice, at least one."""
    if isinstance(at, slice):
        numbers = np.arange(count)[at]
    else:
        at = np.asarray(at)
        if at.dtype == bool and len(at) != count:
            raise ValueError(f"The mask of {what} has {len(at)} entries for {count} entities.")
        numbers = np.flatnonzero(at) if at.dtype == bool else at
        if numbers.dtype.kind not in "iu":
            raise TypeError(f"{what} are chosen by numbers, a mask or a slice, not by {numbers.dtype} values.")
        if len(numbers) and not -count <= numbers.min() <= numbers.max() < count:
            raise IndexError(f"{what} are numbered 0 to {count - 1}, but got {numbers.min()} to {numbers.max()}.")
    if len(numbers) == 0:
        raise ValueError(f"No {what} are left.")
    return numbers


def equal_rows(X: Array) -> tuple[Array, Array]:
    """The first of each set of equal rows, and the set that each row is in."""
    if is_sparse(X):
        X = sparse.csr_array(X).copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        keys = [(X.indices[s:e].tobytes(), X.data[s:e].tobytes()) for s, e in pairwise(X.indptr)]
    else:
        keys = [(row.tobytes(), b"") for row in np.ascontiguousarray(X) + 0.0]  # (−0 is 0)
    numbers: dict[Any, int] = {}
    which = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    return np.unique(which, return_index=True)[1], which


def scores_of_pairs(
    rows: Array, columns: Array, values: Array, shape: tuple[int, int], duplicates: Duplicates
) -> Array:
    """A CSR array that stores every listed pair once, zeros too."""
    check_choice("duplicates", duplicates, DUPLICATES)
    pairs = np.asarray(rows, dtype=np.int64) * shape[1] + columns
    codes, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    if len(codes) < len(values):
        if duplicates == "error":
            first = divmod(int(codes[np.argmax(counts > 1)]), shape[1])
            raise ValueError(
                f"{np.count_nonzero(counts > 1)} pairs are listed more than once, for example that at {first}: "
                "drop them, or say how to join their scores with duplicates='mean', 'sum', 'max' or 'last'."
            )
        values = _aggregate(values, inverse, counts, duplicates)
    else:
        values = values[np.argsort(inverse)]
    i, j = np.divmod(codes, shape[1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=shape[0]))])
    return sparse.csr_array((values, j, starts), shape=shape)


def _aggregate(values: Array, inverse: Array, counts: Array, how: str) -> Array:
    if how in ("sum", "mean"):
        total = np.bincount(inverse, weights=values)
        return total / counts if how == "mean" else total
    if how == "last":
        last = np.zeros(len(counts), dtype=int)
        np.maximum.at(last, inverse, np.arange(len(values)))
        return values[last]
    highest = np.full(len(counts), -np.inf)
    np.maximum.at(highest, inverse, values)
    return highest


def is_implicit(Y: Array, complete: bool) -> bool:
    """Whether Y is implicit feedback, a few associations in a grid of zeros, rather than graded scores."""
    if not complete:
        return False
    values = Y.data if is_sparse(Y) else Y
    positive = int(np.count_nonzero(values > 0))
    return not (values < 0).any() and 0 < 2 * positive < Y.shape[0] * Y.shape[1]

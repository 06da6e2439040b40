"""Similarities from files: matrices with the ids of their rows and columns, or bare ones."""

from __future__ import annotations

import os
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.datasets.readers import read_table
from jointdr.runtime import (
    AnyPath,
    Archive,
    Array,
    check_separator,
    checked_csr,
    npy_header,
    parse_id,
    parse_numbers,
    read_lines,
    require_length,
    require_new,
    separator_of,
)


def read_matrix(path: AnyPath, *, separator: str | None = None) -> Any:
    """A matrix between entities, such as similarities, for `Dyads` and for the `predict` of a model.

    Parameters
    ----------
    path : path
        A table with ids in the first column and on the first line, which may or may not have a field above the column
        of ids: ``.csv``, ``.tsv``, ``.tab`` or ``.txt``, plain or with ``.gz``, or ``.parquet``. Or a matrix without
        ids: ``.npy``, or ``.npz`` with one matrix, as `numpy.savez` or `scipy.sparse.save_npz` write them.
    separator : str, optional
        Between fields; by default according to the ending of the name.

    Returns
    -------
    DataFrame, array or CSR array
        A DataFrame has the ids as index and columns, as strings. Whether the matrix is square and symmetric is left to
        whatever takes it.

    See Also
    --------
    read_similarity : square ones, not negative, as a `Network`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from jointdr.datasets import read_matrix
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "similarity.tsv"
    >>> _ = path.write_text("id\\t01\\t02\\n01\\t1\\t0.5\\n02\\t0.5\\t1\\n")
    >>> read_matrix(path)
         01   02
    01  1.0  0.5
    02  0.5  1.0
    """
    name = os.fspath(path).lower()
    if name.endswith(".npy"):
        return _require_matrix(path, _npy(path))
    if name.endswith(".npz"):
        return _require_matrix(path, _npz(path))
    if name.endswith((".parquet", ".pq")):
        return read_table(path).rename_axis(None)
    check_separator(separator)
    rows = read_lines(path, separator or separator_of(path), quoted=True)
    first, header = next(rows, (0, []))
    second = next(rows, None)
    if second is None:
        raise ValueError(f"{path} has no lines after the header.")
    columns = _column_ids(path, first, header, len(second[1]) - 1)
    seen: dict[str, int] = {}
    values: list[Array] = []
    for number, fields in require_length(path, chain([second], rows), len(second[1]), f"line {second[0]}"):
        require_new(path, number, parse_id(path, number, fields[0], "id"), seen)
        values.append(parse_numbers(path, number, fields[1:], lambda i: f"column {columns[i]!r}"))
    import pandas as pd

    index = pd.Index(list(seen), dtype=object)
    return pd.DataFrame(np.array(values), index=index, columns=pd.Index(columns, dtype=object))


def _column_ids(path: AnyPath, number: int, header: list[str], count: int) -> list[str]:
    """The ids on the first line, one for each column, without the field above the ids of the lines."""
    fields = header[1:] if len(header) == count + 1 else header
    if len(fields) != count or count == 0:
        raise ValueError(f"{path}, line {number}: it has {len(fields)} ids, but there are {count} columns.")
    seen: dict[str, int] = {}
    for at, field in enumerate(fields):
        name = parse_id(path, number, field, "id of a column")
        if seen.setdefault(name, at) != at:
            raise ValueError(f"{path}, line {number}: the id {name!r} stands there twice.")
    return list(seen)


def _npy(path: AnyPath) -> Array:
    try:
        with open(path, "rb") as file:
            shape, _, dtype = npy_header(file)
            if file.tell() + prod(shape) * dtype.itemsize != os.path.getsize(path):
                raise ValueError(f"its header announces {dtype} of shape {shape}")
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)} is not a whole NPY file of numbers: {error}") from error


def _npz(path: AnyPath) -> Array:
    """The one matrix of an archive, which may be sparse."""
    with Archive(path) as data:
        if {"format", "shape"} <= set(data):
            return _sparse_matrix(path, data)
        if len(data) != 1:
            raise ValueError(f"{os.fspath(path)} should hold one matrix, but has {len(data)} arrays: {list(data)[:8]}.")
        return next(iter(data.values()))


def _sparse_matrix(path: AnyPath, data: Archive) -> Array:
    """A matrix that `scipy.sparse.save_npz` wrote, whose indices are checked."""
    try:
        kind, shape = bytes(data["format"].item()).decode(), tuple(map(int, data["shape"]))
        if kind in ("csr", "csc"):
            parts = tuple(data[name] for name in ("data", "indices", "indptr"))
            X = checked_csr(parts, shape if kind == "csr" else shape[::-1])
            return X if kind == "csr" else sparse.csr_array(X.T)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} holds no whole sparse matrix: {error}") from error
    raise ValueError(f"{os.fspath(path)} holds a sparse matrix of the format {kind!r}: write it with matrix.tocsr().")


def _require_matrix(path: AnyPath, X: Array) -> Array:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"{os.fspath(path)} should hold a matrix of numbers, but has {X.dtype} of shape {X.shape}.")
    return X

"""Embedded coordinates on disk, written block by block as a source is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from jointdr.engines import Source
from jointdr.io.parquet_columns import require_pyarrow
from jointdr.runtime import to_numpy, whole_file


def write_transformed(model: Any, source: Source, path: str | os.PathLike[str]) -> None:
    """Embed all rows of a source and write the coordinates to one file, in constant memory.

    Parameters
    ----------
    model : fitted estimator
    source : Source
    path : path
        ``*.npy``, one (m, Σ r_k) array, or ``*.parquet``, with the names of `get_feature_names_out`. The
        coordinates of all views stand side by side. An older file is replaced when the new one is whole.
    """
    path = Path(path)
    writers = {".npy": _write_npy, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise ValueError(f"{path} must end in .npy or .parquet, which chooses the format.")
    if path.suffix == ".npy" and source.n_rows is None:
        raise ValueError("An NPY file begins with its number of rows, which is not known here: use .parquet.")
    with whole_file(path) as file:
        writers[path.suffix](model, source, file)


def _blocks(model: Any, source: Source) -> Any:
    for parts in model.transform(source):
        yield np.hstack([to_numpy(part) for part in (parts if isinstance(parts, tuple) else (parts,))])


def _write_npy(model: Any, source: Source, file: IO[bytes]) -> None:
    first = None
    for Z in _blocks(model, source):
        if first is None:
            first = Z
            header = {"descr": Z.dtype.str, "fortran_order": False, "shape": (source.n_rows, Z.shape[1])}
            np.lib.format.write_array_header_1_0(file, header)
        file.write(np.ascontiguousarray(Z).data)  # tofile would not say why it fails


def _write_parquet(model: Any, source: Source, file: IO[bytes]) -> None:
    pyarrow, writer = require_pyarrow(), None
    names = [str(name) for name in model.get_feature_names_out()]
    try:
        for Z in _blocks(model, source):
            table = pyarrow.table({name: Z[:, j] for j, name in enumerate(names)})
            writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()

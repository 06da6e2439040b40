"""Tables in Parquet files, read with pyarrow."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from jointdr.data import scores_in
from jointdr.runtime import EXPANSION, AnyPath, Array, MemoryBudgetError, most_bytes


def parquet_frame(path: AnyPath) -> Any:
    """A file as a DataFrame, checked; a file that would expand beyond measure is refused."""
    try:
        from pyarrow import parquet

        if not os.path.isdir(path) and (reason := _too_large(path, parquet.ParquetFile(path))):
            raise MemoryBudgetError(reason)
        table = parquet.read_table(path)
        table.validate(full=True)  # text in UTF-8, for example, which is otherwise checked when it is used
        return table.to_pandas()
    except ImportError:
        raise ImportError(f'{path}: Parquet files take pyarrow: pip install "jointdr[io]".') from None
    except (FileNotFoundError, MemoryError, MemoryBudgetError):
        raise
    except Exception as error:  # pyarrow's errors are of many kinds, and so are pandas' on its own notes in the file
        raise ValueError(f"{path} is not a Parquet file, or a damaged one: {error}") from None


def _too_large(path: AnyPath, file: Any) -> str | None:
    """The reason to refuse a Parquet file whose compressed columns take more memory than `most_bytes`, or None."""
    with file:
        rows, kinds = file.metadata.num_rows, file.schema_arrow.types
    if rows * sum(_width(kind) for kind in kinds) <= most_bytes(path):
        return None
    return (
        f"{path} has {rows} rows of {len(kinds)} columns, which take more than {EXPANSION} times its size in memory: "
        "if you trust it, write it again without compression and dictionaries."
    )


def _width(kind: Any) -> float:
    """Bytes of a value in memory; of a text or a list, which have no fixed length, those of a reference to it."""
    try:
        return kind.bit_width / 8
    except ValueError:
        return 8


def parquet_scores(path: AnyPath, values: Any, name: str) -> Array:
    """A column of scores as floats, NaN where there is none."""
    try:
        return scores_in(values, name)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def numbers_or_anything(path: AnyPath, values: Any, name: str) -> Any:
    """A column of numbers as floats, NaN where there is none; any other as it is."""
    from pandas.api import types

    if not types.is_numeric_dtype(values) or types.is_complex_dtype(values):
        return values
    found = values.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(found).any():
        raise ValueError(f"{path}: column {name!r} holds infinity in row {int(np.argmax(np.isinf(found)))}.")
    return found

"""Containers of embedded coordinates: arrays, or pandas and polars DataFrames, one per view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn

from jointdr.runtime import Array, to_numpy

CONTAINERS = ("default", "pandas", "polars")


def coordinate_names(method: str, views: Sequence[str], ranks: Sequence[int]) -> list[Array]:
    """Names of the coordinates of each view: the view's name, the method's name and an index."""
    return [
        np.array([f"{view}_{method.lower()}{i}" for i in range(r)], dtype=object)
        for view, r in zip(views, ranks, strict=True)
    ]


def fill_containers(
    parts: Sequence[Array], names: Sequence[Array], indexes: Sequence[Any], container: str | None
) -> tuple[Any, ...]:
    """Each array in the container that was asked for, by `set_output` or scikit-learn's configuration."""
    container = container or sklearn.get_config()["transform_output"]
    if container == "pandas":
        import pandas as pd

        return tuple(
            pd.DataFrame(to_numpy(Z), columns=n, index=i) for Z, n, i in zip(parts, names, indexes, strict=True)
        )
    if container == "polars":
        import polars as pl

        return tuple(pl.DataFrame(to_numpy(Z), schema=list(n)) for Z, n in zip(parts, names, strict=True))
    return tuple(parts)

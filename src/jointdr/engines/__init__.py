"""Engines: the only code that sees all rows of the data."""

from jointdr.engines.dask import Cluster, distributed, require_dask
from jointdr.engines.device import on_device, require_device, require_torch
from jointdr.engines.grid import Grid, Means
from jointdr.engines.lanes import READERS_SHARE
from jointdr.engines.reduction import (
    MomentsOf,
    MomentsOfGroups,
    RandomParts,
    RowBlock,
    SumsOfGroups,
    groups_of_response,
)
from jointdr.engines.rows import LARGE_BLOCK_BYTES, Rows, block_rows
from jointdr.engines.source import Source
from jointdr.engines.stream import Stream

__all__ = [
    "LARGE_BLOCK_BYTES",
    "READERS_SHARE",
    "Cluster",
    "Grid",
    "Means",
    "MomentsOf",
    "MomentsOfGroups",
    "RandomParts",
    "RowBlock",
    "Rows",
    "Source",
    "Stream",
    "SumsOfGroups",
    "block_rows",
    "distributed",
    "groups_of_response",
    "on_device",
    "require_dask",
    "require_device",
    "require_torch",
]

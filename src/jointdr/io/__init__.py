"""Data larger than memory: sources that estimators read a block at a time, in place of arrays."""

from jointdr.engines.device import on_device
from jointdr.engines.source import Source
from jointdr.io.arrays import scan_arrays, scan_npy, scan_zarr
from jointdr.io.blocks import scan_blocks
from jointdr.io.dask_collections import reduce_dyads, scan_partitions
from jointdr.io.parquet import scan_parquet
from jointdr.io.writing import write_transformed

__all__ = [
    "Source",
    "reduce_dyads",
    "on_device",
    "scan_arrays",
    "scan_blocks",
    "scan_npy",
    "scan_parquet",
    "scan_partitions",
    "scan_zarr",
    "write_transformed",
]

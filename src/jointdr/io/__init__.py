"""Data larger than memory: sources that estimators read a block at a time, in place of arrays."""

from jointdr.engines import Source, distributed, on_device
from jointdr.io.arrays import scan_arrays, scan_npy, scan_zarr
from jointdr.io.blocks import scan_blocks
from jointdr.io.dask_collections import from_collections, reduce_dyads, scan_partitions
from jointdr.io.parquet import scan_parquet
from jointdr.io.writing import write_transformed

__all__ = [
    "Source",
    "distributed",
    "from_collections",
    "on_device",
    "reduce_dyads",
    "scan_arrays",
    "scan_blocks",
    "scan_npy",
    "scan_parquet",
    "scan_partitions",
    "scan_zarr",
    "write_transformed",
]

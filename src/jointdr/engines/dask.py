"""The engine of a cluster: leaves are reduced where they are read, and states are merged in a tree, by dask.

A leaf is a file and a row range, or the chunks of dask collections: both can be had again, so that a worker that dies
costs what it had reduced and nothing else. Only states travel, n × n numbers each, and reductions, which are small.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

from threadpoolctl import threadpool_limits

from jointdr.engines.lanes import Task
from jointdr.engines.source import Source, joined_leaves

LEAVES_PER_THREAD = 4  # runs of leaves for each thread: few states to merge, and not much lost with a worker
BRANCHES = 8  # how many states are merged at a time


def require_dask() -> Any:
    """The package dask, or an error with the command that installs it."""
    try:
        import dask
    except ImportError:
        raise ImportError("Clusters and dask collections take dask: pip install 'jointdr[dask]'.") from None
    return dask


@dataclass(frozen=True)
class Cluster:
    """Reduces leaves on the workers of a client, or of dask's own default scheduler.

    Parameters
    ----------
    client : distributed.Client, optional
    """

    client: Any = None
    block_bytes = 0

    def width(self) -> int:
        client = self.client or _default_client()
        if client is None:
            return int(require_dask().system.CPU_COUNT)
        with _translate_lost_connection():
            return max(1, sum(client.nthreads().values()))

    def run(self, task: Task, leaves: Sequence[Any], watch: Any = None) -> Any:
        dask = require_dask()
        shared = dask.delayed(task, pure=False)  # one value that workers hand on to each other, not one for each leaf
        reduce = dask.delayed(_reduce_leaves, pure=False)
        runs = joined_leaves(leaves, LEAVES_PER_THREAD * self.width())
        # Chunks of dask as what they are; any other leaf is read where it is reduced.
        runs = [[leaf.delayed(task.views) if hasattr(leaf, "delayed") else leaf for leaf in run] for run in runs]
        return self.merged([reduce(shared, run) for run in runs], shared)

    def merged(self, states: list[Any], task: Any) -> Any:
        """The states, which are still to be computed, merged in a tree by what the task has for that."""
        merge = require_dask().delayed(_merge_states, pure=False)
        while len(states) > 1:
            states = [merge(task, states[i : i + BRANCHES]) for i in range(0, len(states), BRANCHES)]
        with _translate_lost_connection():
            if self.client is not None:
                return self.client.compute(states[0]).result()
            return require_dask().compute(states[0])[0]


@contextmanager
def _translate_lost_connection() -> Iterator[None]:
    lost: tuple[type[BaseException], ...] = (CancelledError,)
    try:
        from distributed.comm.core import CommClosedError

        lost = (CancelledError, CommClosedError)
    except ImportError:
        pass
    try:
        yield
    except lost as error:
        raise ConnectionError(
            f"The dask cluster was lost while it reduced ({error}). Start a scheduler and fit again; with a checkpoint "
            "the fit goes on from there."
        ) from error


def _default_client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _reduce_leaves(task: Task, leaves: Sequence[Any]) -> Any:
    """The state of some leaves, in the one thread that the scheduler counts on."""
    with threadpool_limits(1, user_api="blas"):
        return task(leaves)


def _merge_states(task: Task, states: Sequence[Any]) -> Any:
    return reduce(task.merge, states)


def distributed(source: Source, client: Any = None) -> Source:
    """The same source, to be read and reduced by the workers of a dask cluster.

    Parameters
    ----------
    source : Source
        Its files must be where workers can read them, under the same paths.
    client : distributed.Client, or address of a scheduler, optional
        By default the client that was made last, or dask's default scheduler.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from jointdr import PCA
    >>> from jointdr.io import distributed
    >>> from jointdr.io import scan_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.random.default_rng(0).standard_normal((1000, 5)))
    ...     model = PCA(2).fit(distributed(scan_npy(a=f"{folder}/a.npy")))
    >>> model.embeddings_[0].shape
    (5, 2)
    """
    if isinstance(client, str):
        import distributed

        connect: Any = distributed.Client
        client = connect(client, set_as_default=False)
    if not source.rereadable or source.n_rows is None:
        raise ValueError("A cluster needs a source that can be read from any row on, such as files.")
    source = copy.copy(source)
    source.engine = Cluster(client)
    return source

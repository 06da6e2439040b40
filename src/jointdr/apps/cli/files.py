"""``jointdr fit --views``: pairs of feature vectors with a response, row by row, in files that may exceed memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jointdr.apps.cli.models import OF_EMBEDDINGS, parse_value, rank_of, refuse
from jointdr.apps.cli.options import Files, Settings
from jointdr.apps.cli.output import say, shows_progress
from jointdr.runtime import reporter

if TYPE_CHECKING:
    from jointdr.engines import Source

METHODS = ("jdr", "pca", "phd", "sir", "save", "sols", "ols")


def source_of(files: Files, response: str | None) -> Source:
    """The rows that the options name: columns of Parquet files, or one array in a file for each view."""
    from jointdr.io import scan_npy, scan_parquet, scan_zarr

    views = dict(map(_split_name, files.views or ()))
    if len(views) < len(files.views or ()):
        raise ValueError("--views names a view twice.")
    if reserved := sorted({"y", "weight"} & set(views)):
        raise ValueError(f"--views: a view cannot be called {reserved[0]!r}, which stands for something else here.")
    if files.table is not None:
        patterns = {name: where.split(",") for name, where in views.items()}
        return scan_parquet(files.table, views=patterns, response=response, weight=files.weight)
    for name, where in views.items():
        if not Path(where).exists():
            raise ValueError(
                f"--views {name}={where}: there is no such file. For columns of a Parquet file, name that with --table."
            )
    scan = scan_zarr if all(Path(where).is_dir() for where in views.values()) else scan_npy
    return scan(y=response, weight=files.weight, **views)


def _split_name(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not (name and equals and where):
        raise ValueError(f"--views {text} is not understood: give NAME=FILE.npy, or NAME=COLUMNS with --table.")
    return name, where


def estimator_of(settings: Settings, n_features: tuple[int, ...]) -> Any:
    """The method that the options describe."""
    import jointdr

    method = "jdr" if settings.method == "auto" else settings.method
    if method not in METHODS:
        raise ValueError(f"--method {settings.method} cannot be used with --views; choose from {', '.join(METHODS)}.")
    for name in (*OF_EMBEDDINGS, "alpha", "uses", "criterion"):
        if getattr(settings, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for models of pairs, not for --views: leave it out.")
    usual = 1 if method in ("ols", "sols") else 2  # of which there is one for each response
    rank = rank_of(settings, min(usual, *n_features))
    model = getattr(jointdr, method.upper())()
    known = model.get_params()
    given: dict[str, Any] = {"n_components": rank, "random_state": settings.seed}
    given["ridge"] = parse_value("ridge", settings.ridge)
    refuse(["ridge"] if settings.ridge is not None and "ridge" not in known else [], method)
    return model.set_params(**{name: v for name, v in given.items() if name in known and v is not None})


@contextmanager
def prepare_source(source: Source, files: Files) -> Iterator[Source]:
    """The source with a progress bar, a checkpoint, and workers or a device to reduce it, as the options say."""
    with ExitStack() as stack:
        if files.device is not None and files.dask is not None:
            raise ValueError("--device and --dask cannot be given together: choose one.")
        if files.device is not None:
            from jointdr.io import on_device

            source = on_device(source, files.device)
        if files.dask is not None:
            from jointdr.engines import distributed

            source = distributed(source, stack.enter_context(_client(files.dask)))
        else:
            source = source.watched(stack.enter_context(_watching(source)))
        yield source if files.checkpoint is None else source.checkpointed(files.checkpoint, keep=True)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from jointdr.engines import require_dask

    require_dask()
    from distributed import Client, LocalCluster

    connect: Any = Client
    if address != "local":
        try:
            client = connect(address, timeout=20)
        except (OSError, TimeoutError, ValueError) as error:
            raise ValueError(f"--dask {address}: no scheduler answers there ({error}).") from error
        with client:
            yield client
        return
    workers: Any = LocalCluster
    with workers(threads_per_worker=1, dashboard_address=None) as cluster, connect(cluster) as client:
        yield client


@contextmanager
def _watching(source: Source) -> Iterator[Callable[[int, int], None]]:
    """A function that reports every block on standard error: rows and bytes so far, of how many, in which read."""
    total, began = source.n_rows, time.monotonic()
    rows = nbytes = 0
    with reporter(shows_progress()) as report:

        def reduced(more_rows: int, more_bytes: int) -> None:
            nonlocal rows, nbytes
            rows, nbytes = rows + more_rows, nbytes + more_bytes
            if total is None:
                return
            read, here = divmod(rows - 1, total)
            share = (here + 1) / total
            left = (time.monotonic() - began) / rows * (total - here - 1)
            size = f"{(source.nbytes or 0) * share / 1e9:.2f} of {(source.nbytes or 0) / 1e9:.2f} GB"
            nth = "" if read == 0 else f", read {read + 1}"
            report(f"reading: {here + 1} of {total} rows, {size}{nth}", share, left)

        yield reduced
    say(f"Read {rows} rows, {nbytes / 1e9:.2f} GB, in {time.monotonic() - began:.1f} s.")

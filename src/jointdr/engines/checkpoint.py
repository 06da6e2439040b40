"""A file that keeps what was reduced so far, so that an interrupted fit goes on from there."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.engines.source import Source, joined_leaves
from jointdr.moments import Moments, moments_from_arrays, moments_to_arrays
from jointdr.runtime import CHECKPOINT, Array, is_sparse, load_model, write_model

RUNS = 100  # a read is cut into at most this many runs of leaves, after each of which the state may be written


class Checkpoint:
    """The states of all reads of one fit: those that are done, and the one that is under way.

    A fit that reads the data several times is repeated up to where it was: reads that are done are not repeated, which
    takes that it asks for the same ones again. A sketch, for example, is only the same with the same ``random_state``.

    Parameters
    ----------
    path : path
    every : float
        Seconds between two writes, at least.
    keep : bool
        Whether the file stays when the fit has succeeded.
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 60.0, keep: bool = False) -> None:
        self.path, self.every, self.keep = Path(path), every, keep
        self._reads: list[dict[str, Any]] | None = None
        self._at = 0
        self._written = time.monotonic()

    def run(self, engine: Any, task: Any, source: Source, watch: Any) -> Any:
        """The state of all leaves, from the last one that was written on."""
        if self._reads is None:
            self._reads = self._found(source)
        key = digest([task.reduction, task.steps])
        if self._at == len(self._reads):
            self._reads.append({"key": key, "rows": 0, "state": None})
        read = self._reads[self._at]
        self._at += 1
        if read["key"] != key:
            self._refuse("another fit: other parameters or, with random_state=None, another sketch")
        leaves = source.leaves()
        left = [leaf for leaf in leaves if leaf.first_row >= read["rows"]]
        if read["rows"] > 0 and read["rows"] not in [leaf.first_row + leaf.n_rows for leaf in leaves]:
            self._refuse("rows cut into other pieces, as another device or size of blocks does: go on as before")
        written = read["rows"]
        try:
            for run in joined_leaves(left, max(1, min(RUNS, len(left) // (2 * engine.width())))) if left else []:
                read["state"] = task.merge(read["state"], engine.run(task, run, watch))
                read["rows"] = run[-1].first_row + run[-1].n_rows
                if time.monotonic() - self._written >= self.every or run[-1] is left[-1]:
                    self._write(source)
                    written = read["rows"]
        except BaseException:
            if read["rows"] > written:  # what was reduced since the last write, also if it is Ctrl-C that ends it
                with suppress(OSError):
                    self._write(source)
            raise
        return read["state"]

    def remove(self) -> None:
        """The fit has succeeded: the file is not needed any more, unless it is to be kept."""
        if not self.keep:
            self.path.unlink(missing_ok=True)
        self._reads, self._at = None, 0

    def _found(self, source: Source) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        data, reads = load_model(self.path, CHECKPOINT, contents)
        if data != source.identity():
            self._refuse("other data: other files, columns or numbers of rows, or files that were changed since")
        return reads

    def _refuse(self, what: str) -> None:
        raise ValueError(f"The checkpoint {self.path} belongs to {what}. Remove it, or name another file.")

    def _write(self, source: Source) -> None:
        reads: list[dict[str, Any]] = []
        arrays: dict[str, Array] = {}
        for i, read in enumerate(self._reads or ()):
            description, held = state_to_arrays(read["state"], f"read{i}")
            reads.append({**read, "state": description})
            arrays |= held
        write_model(self.path, CHECKPOINT, {"data": source.identity(), "reads": reads}, arrays)
        self._written = time.monotonic()


def contents(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> tuple[Any, list[dict[str, Any]]]:
    """The identity of the data that a checkpoint belongs to, and its reads."""
    reads = [
        {
            "key": str(read["key"]),
            "rows": int(read["rows"]),
            "state": state_from_arrays(read["state"], arrays, f"read{i}"),
        }
        for i, read in enumerate(header["reads"])
    ]
    return header["data"], reads


def state_to_arrays(state: Any, name: str) -> tuple[Any, dict[str, Array]]:
    """A state as a JSON-able description and arrays whose names begin with `name`."""
    if state is None:
        return None, {}
    if isinstance(state, Moments):
        header, arrays = moments_to_arrays(state, name)
        return {"moments": header}, arrays
    if isinstance(state, (list, tuple)):
        parts = [state_to_arrays(part, f"{name}/{i}") for i, part in enumerate(state)]
        kind = "list" if isinstance(state, list) else "tuple"
        return {kind: [header for header, _ in parts]}, {k: v for _, arrays in parts for k, v in arrays.items()}
    return "array", {name: np.asarray(state)}


def state_from_arrays(description: Any, arrays: Mapping[str, Array], name: str) -> Any:
    """The state that `state_to_arrays` took apart."""
    if description is None:
        return None
    if description == "array":
        return arrays[name]
    ((kind, inner),) = description.items()
    if kind == "moments":
        return moments_from_arrays(inner, arrays, name)
    parts = [state_from_arrays(part, arrays, f"{name}/{i}") for i, part in enumerate(inner)]
    return parts if kind == "list" else tuple(parts)


def digest(value: Any) -> str:
    """A fingerprint of a reduction and everything in it, the same in every process."""
    return hashlib.sha256(repr(_plain(value)).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_sparse(value):
        value = value.toarray()
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest())
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__qualname__, [(f.name, _plain(getattr(value, f.name))) for f in fields(value)])
    if isinstance(value, Mapping):
        return sorted((str(key), _plain(v)) for key, v in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.__qualname__ if callable(value) and hasattr(value, "__qualname__") else value

"""The format of saved models: one ``.npz`` file of plain arrays with a JSON header. Loading can never run code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse

from jointdr._version import __version__
from jointdr.runtime.archive import Archive, checked_array, checked_csr
from jointdr.runtime.arrays import Array, is_sparse
from jointdr.runtime.files import AnyPath, whole_file
from jointdr.runtime.memory import MemoryBudgetError

Made = TypeVar("Made")

# 1: version 0.1. 2: automatic heads, with what was chosen and what failed; bandwidths in two uses.
FORMAT = 2

CHECKPOINT = "checkpoint"  # the kind of files that hold what was reduced of a fit so far


def write_model(path: AnyPath, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a header to one file, whole or not at all."""
    # In the layout that they have: the last digits of products depend on it.
    plain = {name: np.atleast_1d(np.asarray(value)) for name, value in arrays.items()}
    bad = [name for name, value in plain.items() if value.dtype.hasobject]
    if bad:
        raise TypeError(f"Arrays of Python objects cannot be saved: {bad}.")
    checksums = {name: _checksum(value) for name, value in plain.items()}
    own = {"format": FORMAT, "library": __version__, "kind": kind, "checksums": checksums}
    text = json.dumps({**header, **own}).encode()
    plain["header"] = np.frombuffer(text, dtype=np.uint8)
    plain["seal"] = np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8)
    with whole_file(path) as file:
        np.savez(file, **plain)  # type: ignore[arg-type]


def read_model(path: AnyPath, *kinds: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a file of one of these kinds, read once; anything else is a ValueError."""
    header, arrays, is_whole = _contents(path, None)
    if header["kind"] not in kinds:
        if header["kind"] == CHECKPOINT:
            raise ValueError(
                f"{os.fspath(path)} holds the checkpoint of a fit, which is no model yet: fit the model again with "
                "source.checkpointed(path), which goes on from there."
            )
        expected = f"not a {kinds[0]} model" if len(kinds) == 1 else f"which is none of {sorted(kinds)}"
        raise ValueError(f"{os.fspath(path)} holds a {header['kind']} model, {expected}.")
    found = {name: _checksum(value) for name, value in arrays.items()}
    if found != header.get("checksums") or not is_whole:
        raise ValueError(f"{os.fspath(path)} has been altered or damaged: its contents do not match their checksums.")
    return header, arrays


def load_model(path: AnyPath, kind: str, make: Callable[[dict[str, Any], dict[str, Array]], Made]) -> Made:
    """The result of `make` for the header and the arrays of a file of this kind."""
    return load_model_of(path, {kind: make})


def load_model_of(path: AnyPath, makers: Mapping[str, Callable[[dict[str, Any], dict[str, Array]], Made]]) -> Made:
    """The same, by the maker for the kind of the file.

    Checksums detect damage, but anybody can compute them: whatever is wrong with the contents is a ValueError too.
    """
    header, arrays = read_model(path, *makers)
    kind = header["kind"]
    try:
        return makers[kind](header, arrays)
    except (MemoryError, MemoryBudgetError, ImportError):  # which are no faults of the file
        raise
    except Exception as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else f"is not as it is written: {error}"
        raise ValueError(f"{os.fspath(path)} holds no whole {kind} model; what it holds {reason}.") from error


class Saved:
    """A fitted model that is written to one file, which names its class; subclasses define the first two methods."""

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        raise TypeError(f"{type(self).__name__} cannot be saved.")

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `to_arrays` took apart; an error if header and arrays do not belong together."""
        raise TypeError(f"{cls.__name__} cannot be loaded.")

    def save(self, path: AnyPath) -> None:
        """Write the fitted model to one file, which holds plain arrays only and can be loaded safely."""
        write_model(path, type(self).__name__, *self.to_arrays())

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read a model that `save` wrote. It gives the same results to the last bit, and no code is run."""
        return load_model(path, cls.__name__, cls.from_arrays)


def read_header(path: AnyPath) -> dict[str, Any]:
    """The header of a file that `write_model` made, without reading its arrays: its ``kind``, ``library`` and so on."""
    return _contents(path, ("header", "seal"))[0]


def _contents(path: AnyPath, only: tuple[str, ...] | None) -> tuple[dict[str, Any], dict[str, Array], bool]:
    """The header, the other arrays (or only some), and whether the header is as it was written."""
    with Archive(path, "jointdr file") as file:
        if "header" not in file or "seal" not in file:
            raise ValueError(f"{os.fspath(path)} is not a jointdr file: it is an archive without a header.")
        arrays = file.arrays(only)
    text, seal = arrays.pop("header").tobytes(), arrays.pop("seal").tobytes()
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is not a whole jointdr file: its header is damaged ({error}).") from error
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ValueError(f"{os.fspath(path)} is not a jointdr file: its header has no format.")
    if not isinstance(header.get("kind"), str):
        raise ValueError(f"{os.fspath(path)} is not a jointdr file: its header does not say of what kind it is.")
    if header["format"] > FORMAT:
        raise ValueError(
            f"{os.fspath(path)} was written by jointdr {header.get('library')} in format {header['format']}; "
            f"this version reads up to format {FORMAT}. Update jointdr to load it."
        )
    return header, arrays, hashlib.sha256(text).digest() == seal


def matrix_to_arrays(name: str, X: Array) -> dict[str, Array]:
    """A dense or sparse matrix as plain arrays whose names begin with `name`."""
    if not is_sparse(X):
        return {name: np.asarray(X)}
    X = sparse.csr_array(X)
    parts = {part: getattr(X, part) for part in ("data", "indices", "indptr")}
    return {**{f"{name}.{part}": value for part, value in parts.items()}, f"{name}.shape": np.array(X.shape)}


def matrix_from_arrays(name: str, arrays: Mapping[str, Array]) -> Array:
    """The matrix that `matrix_to_arrays` took apart; a ValueError if it is none of finite numbers."""
    if name in arrays:
        return checked_array(arrays, name, (None, None), "biuf")
    indices, indptr = (checked_array(arrays, f"{name}.{of}", (None,), "iu") for of in ("indices", "indptr"))
    shape = checked_array(arrays, f"{name}.shape", (2,), "iu").tolist()
    return checked_csr((checked_array(arrays, f"{name}.data", (None,), "biuf"), indices, indptr), tuple(shape))


def _checksum(value: Array) -> str:
    digest = hashlib.sha256(f"{value.dtype.str}{value.shape}".encode())
    digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def to_json(value: Any) -> Any:
    """A parameter as JSON; slices and dictionaries (of ``views=``) are tagged."""
    if isinstance(value, slice):
        return {"slice": [to_json(end) for end in (value.start, value.stop, value.step)]}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {"dict": [[key, to_json(v)] for key, v in value.items()]}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [to_json(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.random.RandomState):
        return None  # a fitted model draws nothing any more
    raise TypeError(f"A parameter of type {type(value).__name__} cannot be saved.")


def parameters_from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name, each of which `to_json` wrote."""
    return {name: from_json(value) for name, value in values.items()}


def from_json(value: Any) -> Any:
    """The parameter that `to_json` wrote."""
    if isinstance(value, dict):
        if "slice" in value:
            return slice(*value["slice"])
        return {key: from_json(v) for key, v in value["dict"]}
    return [from_json(v) for v in value] if isinstance(value, list) else value

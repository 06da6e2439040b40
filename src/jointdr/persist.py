"""Models on disk: one ``.npz`` file of plain arrays with a JSON header. Loading can never run code."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.arrays import Array
from jointdr.moments import Moments
from jointdr.products import Keep

FORMAT = 1


def write(path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a header to one file, whole or not at all.

    The file is written beside its final place and then renamed, so that an interrupted save leaves an older file
    as it was.
    """
    from jointdr import __version__

    path = Path(path)
    plain = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    bad = [name for name, value in plain.items() if value.dtype.hasobject]
    if bad:
        raise TypeError(f"Arrays of Python objects cannot be saved: {bad}.")
    full = {
        **header,
        "format": FORMAT,
        "library": __version__,
        "kind": kind,
        "checksums": {name: _checksum(value) for name, value in plain.items()},
    }
    text = json.dumps(full).encode()
    plain["header"] = np.frombuffer(text, dtype=np.uint8)
    plain["seal"] = np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **plain)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # as an ordinary new file
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a file that `write` made; anything else is a ValueError that says what is wrong."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text, seal = arrays.pop("header").tobytes(), arrays.pop("seal").tobytes()
        header = json.loads(text.decode())
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(path)} is not a whole jointdr file: {error}") from error
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ValueError(f"{os.fspath(path)} is not a jointdr file: its header has no format.")
    if header["format"] > FORMAT:
        raise ValueError(
            f"{os.fspath(path)} was written by jointdr {header.get('library')} in format {header['format']}; "
            f"this version reads up to format {FORMAT}. Update jointdr to load it."
        )
    if header.get("kind") != kind:
        raise ValueError(f"{os.fspath(path)} holds a {header.get('kind')} model, not a {kind} model.")
    found = {name: _checksum(value) for name, value in arrays.items()}
    if found != header.get("checksums") or hashlib.sha256(text).digest() != seal:
        raise ValueError(f"{os.fspath(path)} has been altered or damaged: its contents do not match their checksums.")
    return header, arrays


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _checksum(value: Array) -> str:
    digest = hashlib.sha256(f"{value.dtype.str}{value.shape}".encode())
    digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def flattened(moments: Moments, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Moments as a JSON-able header and arrays whose names begin with the prefix."""
    moments = moments.to_numpy()
    header = {
        "n_samples": moments.n_samples,
        "weight": moments.weight,
        "weight_squared": moments.weight_squared,
        "eps": moments.eps,
        "blocks": sorted(moments.keep.blocks),
        "covariance": list(moments.keep.covariance),
        "cross_covariance": moments.keep.cross_covariance,
    }
    arrays: dict[str, Array] = {
        f"{prefix}.y_center": moments.y_center,
        f"{prefix}.y_sum": moments.y_sum,
        f"{prefix}.y_scatter": moments.y_scatter,
    }
    for name in _PER_VIEW:
        arrays |= {f"{prefix}.{name}.{k}": v for k, v in enumerate(getattr(moments, name)) if v is not None}
    for name in _PER_PAIR:
        arrays |= {f"{prefix}.{name}.{j}.{k}": v for (j, k), v in getattr(moments, name).items()}
    return header, arrays


def rebuilt(header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str) -> Moments:
    """The moments that `flattened` took apart."""
    n_views = len(header["covariance"])
    per_view = {name: tuple(arrays.get(f"{prefix}.{name}.{k}") for k in range(n_views)) for name in _PER_VIEW}
    per_pair = {
        name: {
            (j, k): arrays[key]
            for j in range(n_views)
            for k in range(j, n_views)
            if (key := f"{prefix}.{name}.{j}.{k}") in arrays
        }
        for name in _PER_PAIR
    }
    return Moments(
        n_samples=header["n_samples"],
        weight=header["weight"],
        weight_squared=header["weight_squared"],
        eps=header["eps"],
        keep=Keep.of(n_views, header["blocks"], header["covariance"], header["cross_covariance"]),
        y_center=arrays[f"{prefix}.y_center"],
        y_sum=arrays[f"{prefix}.y_sum"],
        y_scatter=arrays[f"{prefix}.y_scatter"],
        **per_view,  # type: ignore[arg-type]
        **per_pair,  # type: ignore[arg-type]
    )


_PER_VIEW = ("centers", "sums", "scatters", "y_scatters")
_PER_PAIR = ("cross_scatters", "thirds")

"""Arrays from ``.npz`` archives that nobody vouches for: no code is run, and sizes are checked before they are read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import IO, Any, Self

import numpy as np
from scipy import sparse

from jointdr.runtime.arrays import Array
from jointdr.runtime.files import AnyPath

EXPANSION = 100  # compressed data may expand to this many times its size,
ALLOWANCE = 64_000_000  # and by this many bytes more


def most_bytes(path: AnyPath) -> int:
    """How many bytes the contents of a compressed file may have."""
    return EXPANSION * os.path.getsize(path) + ALLOWANCE


class Archive(Mapping[str, Array]):
    """The arrays of an ``.npz`` file by name, each read when it is asked for.

    Parameters
    ----------
    path : path
    what : str
        What the file should be, for messages.

    Raises
    ------
    ValueError
        Here or when an array is asked for: if the file is no archive or a damaged one, if an array consists of Python
        objects, if its header announces more than there is, or if the archive would expand beyond `most_bytes`. The
        message names the file.

    Notes
    -----
    `numpy.load` takes the memory that the header of an array asks for before it looks at what is there.
    """

    def __init__(self, path: AnyPath, what: str = ".npz archive of plain arrays") -> None:
        self.path, self.what = os.fspath(path), what
        self._most = most_bytes(path)
        if (other := _other_kind(path)) is not None:
            raise self._not_whole(other)
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # damage may look like anything: a broken directory, an unknown version
            raise self._not_whole(error) from error
        self._members = {name.removesuffix(".npy"): name for name in self._zip.namelist()}
        total = sum(member.file_size for member in self._zip.infolist())
        if total > self._most:
            self.close()
            raise ValueError(
                f"{self.path} would expand to {total / 1e6:.4g} MB, more than {EXPANSION} times its size: if you trust "
                "it, save its arrays again with numpy.savez, which does not compress."
            )

    def arrays(self, names: Iterable[str] | None = None) -> dict[str, Array]:
        """The arrays with these names, by default all."""
        return {name: self[name] for name in names or self}

    def __getitem__(self, name: str) -> Array:
        member = self._members[name]
        try:
            with self._zip.open(member) as file:
                shape, _, dtype = npy_header(file)
                expected, size = file.tell() + dtype.itemsize * prod(shape), self._zip.getinfo(member).file_size
            if expected != size or dtype.itemsize == 0 or max(shape, default=0) > self._most:
                raise ValueError(f"its header announces {dtype} of shape {shape}, but it has {size} bytes")
            with self._zip.open(member) as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        except MemoryError:
            raise
        except Exception as error:
            raise self._not_whole(f"{name!r}: {_told(error)}") from error

    def _not_whole(self, reason: object) -> ValueError:
        return ValueError(f"{self.path} is not a whole {self.what}: {reason}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._zip.close()


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """The shape, whether columns are contiguous, and the dtype of an array in the NPY format; a ValueError if damaged.

    The file stands at the first number afterwards.
    """
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except OSError:
        raise
    except Exception as error:  # the header is the text of a dictionary, which can be damaged in any way
        raise ValueError(f"its header cannot be read ({_told(error)})") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never loaded")
    if dtype.kind == "V" or min(shape, default=0) < 0:
        raise ValueError(f"it holds {dtype} of shape {shape}, which is no array of numbers or text")
    return shape, fortran, dtype


def checked_array(arrays: Mapping[str, Array], name: str, shape: tuple[int | None, ...], kinds: str = "f") -> Array:
    """One array of a file.

    A ValueError unless it has this shape, in which None is any length, and a dtype of these kinds, and is finite.
    """
    array = arrays[name]
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in kinds:
        wanted = tuple("any" if n is None else n for n in shape)
        raise ValueError(f"{name!r} is {array.dtype} of shape {array.shape} where the shape {wanted} belongs")
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError(f"{name!r} has NaN or infinity")
    return array


def checked_csr(parts: tuple[Array, ...], shape: tuple[int, ...]) -> sparse.csr_array:
    """A CSR array of data, indices and indptr of a file; a ValueError if they do not describe one.

    SciPy takes indices on trust unless it is asked, and products would then read memory beyond the arrays.
    """
    if len(shape) != 2 or any(part.ndim != 1 for part in parts):
        raise ValueError(f"A sparse matrix needs two dimensions and parts of one, but got the shape {shape}.")
    X = sparse.csr_array(parts, shape=shape)
    X.check_format(full_check=True)
    return X


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__


def _other_kind(path: AnyPath) -> str | None:
    """The kind of a file that is not a zip archive, by its first bytes."""
    with open(path, "rb") as file:
        start = file.read(6)
    if start.startswith(b"PK"):
        return None
    if not start:
        return "it is empty"
    if start == b"\x93NUMPY":
        return "it is one array alone"
    if start[0] == 0x80 and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "it is a pickle of Python objects, which are never loaded"
    return "it is no archive at all"

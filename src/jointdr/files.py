"""Files that are written whole or not at all, and read as they were or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from mmap import ALLOCATIONGRANULARITY
from pathlib import Path
from typing import IO, Any

import numpy as np

FilePath = str | os.PathLike[str]


@contextmanager
def whole_file(path: FilePath) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which takes the place of `path` when it is whole.

    It is written beside its final place and then renamed, so that whatever goes wrong, a full disk or a killed process,
    leaves an older file as it was. (A killed process leaves a hidden ``.NAME.*.part``, which nothing reads.) A link is
    followed, and what is no file, such as a pipe or ``/dev/stdout``, is written to. An error of the system names
    `path`.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written, because the folder {path.parent} does not exist.")
    if path.exists() and not path.is_file() and not path.is_dir():
        with open(path, "wb") as file:
            yield file
        return
    place = Path(os.path.realpath(path))
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~_umask()
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # that of the older file, or of an ordinary new one
        os.replace(temporary, place)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None and _is_of(error, path):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _is_of(error: OSError, path: Path) -> bool:
    """Whether an error is about writing this file, and not about another one that is read meanwhile."""
    return error.filename is None or os.path.basename(os.fsdecode(error.filename)).startswith(f".{path.name}.")


def write_text(path: FilePath, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@dataclass(frozen=True)
class Stamp:
    """The size of a file and when it was written, which tell whether it is still what it was."""

    size: int
    written: int

    @staticmethod
    def of(file: FilePath | int) -> Stamp:
        """That of a path, or of an open file by its number."""
        status = os.stat(file)
        return Stamp(status.st_size, status.st_mtime_ns)

    def require(self, path: FilePath, file: FilePath | int | None = None) -> None:
        """Raise if the file (by default what is at `path` now) is another one, or was changed."""
        if Stamp.of(path if file is None else file) != self:
            raise ValueError(
                f"{os.fspath(path)} was changed while it was read, and rows from before and after must not be mixed: "
                "start again when it is complete."
            )


def require_mapped(X: Any) -> None:
    """Raise if X, or what it is a part of, is a memory map of a file that has become shorter than the map.

    Touching what is beyond the end of the file would kill the process.
    """
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            held: Any = X
            start = held.offset - held.offset % ALLOCATIONGRANULARITY
            if held._mmap is not None and held._mmap.size() < start + len(held._mmap):
                raise ValueError(
                    f"{held.filename or 'A mapped file'} has become shorter than the memory map of it that is being "
                    "read: start again when it is complete."
                )
            return
        X = X.base


@contextmanager
def read_unchanged(path: FilePath, file: Any) -> Iterator[None]:
    """Raise at the end if an open file is not what it was at the beginning."""
    stamp = Stamp.of(file.fileno())
    yield
    stamp.require(path, file.fileno())

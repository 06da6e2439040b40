"""Files that are written whole or not at all, and read as they were or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from mmap import ALLOCATIONGRANULARITY
from pathlib import Path
from typing import IO, Any

import numpy as np

AnyPath = str | os.PathLike[str]


@contextmanager
def whole_file(path: AnyPath) -> Iterator[IO[bytes]]:
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
    part = place.parent / f"{_prefix(path)}{secrets.token_hex(6)}.part"
    temporary: Path | None = None
    try:
        with open(part, "xb") as file:  # with the permissions of an ordinary new file
            temporary = part
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            os.chmod(part, stat.S_IMODE(place.stat().st_mode))
        os.replace(part, place)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None and _is_of(error, path):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _is_of(error: OSError, path: Path) -> bool:
    """Whether an error is about writing this file, and not about another one that is read meanwhile."""
    return error.filename is None or os.path.basename(os.fsdecode(error.filename)).startswith(_prefix(path))


def _prefix(path: Path) -> str:
    """How the unfinished file is called; not much longer than its name, which may be as long as names can be."""
    return f".{path.name[:100]}."


def write_text(path: AnyPath, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


@dataclass(frozen=True)
class Stamp:
    """The size of a file and when it was written, which tell whether it is still what it was.

    Sent to another process, which may see a copy of the file with a time of its own, it is the size alone.
    """

    size: int
    written: int | None

    def __reduce__(self) -> tuple[Any, ...]:
        return Stamp, (self.size, None)

    @staticmethod
    def of(file: AnyPath | int) -> Stamp:
        """That of a path, or of an open file by its number."""
        status = os.stat(file)
        return Stamp(status.st_size, status.st_mtime_ns)

    def require(self, path: AnyPath, file: AnyPath | int | None = None) -> None:
        """Raise if the file (by default what is at `path` now) is another one, or was changed."""
        now = Stamp.of(path if file is None else file)
        if now.size != self.size or self.written not in (None, now.written):
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
def read_unchanged(path: AnyPath, file: Any) -> Iterator[None]:
    """Raise at the end if an open file is not what it was at the beginning."""
    stamp = Stamp.of(file.fileno())
    yield
    stamp.require(path, file.fileno())

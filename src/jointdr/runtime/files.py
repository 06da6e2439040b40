"""Files that are written whole or not at all, and read as they were or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from mmap import ALLOCATIONGRANULARITY
from pathlib import Path
from typing import IO, Any

import numpy as np

try:
    import fcntl
except ImportError:  # on Windows, where files that are open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

AnyPath = str | os.PathLike[str]

FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)  # errors of a folder in which no file can be made


class InPlaceWarning(UserWarning):
    """A file is written in place, so that a process that is killed meanwhile leaves it damaged."""


@contextmanager
def whole_file(path: AnyPath) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which takes the place of `path` when it is whole.

    It is written beside its final place and then renamed, so that whatever goes wrong, a full disk or a killed process,
    leaves an older file as it was. A killed process leaves a hidden ``.NAME.*.part``, which nothing reads and the next
    call for the same path removes. A link is followed, and what is no file, such as a pipe or ``/dev/stdout``, is
    written to. An error of the system names `path`.

    Where a file is there that may be written, in a folder that may not, the bytes are put in its place when all of them
    are there and there is room for them, with an `InPlaceWarning`: then only a process that is killed at that moment
    damages it.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written, because the folder {path.parent} does not exist.")
    if path.exists() and not path.is_file() and not path.is_dir():
        with open(path, "wb") as through:
            yield through
        return
    place = Path(os.path.realpath(path))
    part: Path | None = None
    try:
        _remove_parts(place.parent, _prefix(path))
        file, part = _open_beside(place, _prefix(path))
        with file:
            yield file
            file.flush()
            if part is None:
                _write_over(place, file, path)
                return
            os.fsync(file.fileno())
            if place.exists():
                os.chmod(part, stat.S_IMODE(place.stat().st_mode))
            if fcntl is None:  # where only a closed file can be renamed
                file.close()
            os.replace(part, place)
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)
        if isinstance(error, OSError) and error.errno is not None and _is_of(error, path):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _open_beside(place: Path, prefix: str) -> tuple[IO[bytes], Path | None]:
    """A new file beside its place, locked while it is open; one without a name where only the place can be written."""
    while True:
        part = place.parent / f"{prefix}{secrets.token_hex(6)}.part"
        try:
            file = open(part, "xb")  # noqa: SIM115  with the permissions of an ordinary new file
        except OSError as error:
            if error.errno not in FORBIDDEN or not (place.is_file() and os.access(place, os.W_OK)):
                raise
            return tempfile.TemporaryFile(), None
        if _lock(file, wait=True) and not _is_at(file, part):  # another call took it for one that was left behind
            file.close()
            continue
        return file, part


def _remove_parts(folder: Path, prefix: str) -> None:
    """Remove unfinished files with this prefix that nobody writes any more."""
    pattern = re.compile(re.escape(prefix) + r"[0-9a-f]{12}\.part")
    names: list[str] = []
    with suppress(OSError):  # of a folder that cannot be read
        names = os.listdir(folder)
    for name in filter(pattern.fullmatch, names):
        with suppress(OSError), open(folder / name, "rb") as file:
            if _lock(file, wait=False):
                os.unlink(folder / name)


def _lock(file: IO[bytes], wait: bool) -> bool:
    """Lock an open file against other calls, in this process or others; False where that is not possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is the one that is at this path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _write_over(place: Path, content: IO[bytes], path: Path) -> None:
    """Put the content of an open file into another one; nothing is touched unless there is room for it."""
    warnings.warn(
        f"{path} is written in place, because files cannot be made in its folder {place.parent}: if this process is "
        "killed meanwhile, the file is damaged. Allow writing to the folder, or save elsewhere.",
        InPlaceWarning,
        stacklevel=5,
    )
    size = content.seek(0, os.SEEK_END)
    content.seek(0)
    with open(place, "r+b") as file:
        before = os.fstat(file.fileno()).st_size
        if hasattr(os, "posix_fallocate") and size > before:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError:
                file.truncate(before)
                raise
        shutil.copyfileobj(content, file)
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())


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

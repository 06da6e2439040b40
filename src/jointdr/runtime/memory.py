"""The memory budget of blocked computations: set by the user, or three quarters of the free memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from jointdr.runtime.checks import is_number

Result = TypeVar("Result")

SHARE = 0.75  # of the free memory, where no budget is given
LEAST = 256_000_000  # where no budget is given, it is not less than this, however little the system reports as free

UNITS = {"": 1, "B": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

MEMINFO = Path("/proc/meminfo")
CGROUPS = (  # of a container, in the second and the first version of cgroups
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
UNKNOWN = 2.0**62

_everywhere: dict[str, int | None] = {"memory_budget": None}
_here: ContextVar[int | None] = ContextVar("memory_budget", default=None)


class MemoryBudgetError(ValueError):
    """Something takes more memory than the budget allows, and was not begun."""


def parse_budget(value: Any) -> int | None:
    """A budget in bytes from a number, or a text such as ``"2 GB"`` or ``"512 MiB"``; None stays None."""
    if value is None:
        return None
    found = float("nan")
    if is_number(value):
        found = float(value)
    elif isinstance(value, str) and (match := re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]I?)?B?\s*", value.upper())):
        found = float(match[1]) * UNITS[match[2] or ""]
    if not 1 <= found < 2**62:
        raise ValueError(f"memory_budget={value!r} must be a number of bytes, a text such as '2 GB', or None.")
    return int(found)


def set_config(*, memory_budget: Any) -> None:
    """Set the memory budget from now on.

    Parameters
    ----------
    memory_budget : number of bytes, str such as ``"2 GB"``, or None
        As in `config_context`.
    """
    _everywhere["memory_budget"] = parse_budget(memory_budget)


def get_config() -> dict[str, int]:
    """The settings in force: the memory budget in bytes, given or three quarters of what is free now.

    Examples
    --------
    >>> import jointdr
    >>> with jointdr.config_context(memory_budget="1.5 GB"):
    ...     jointdr.get_config()
    {'memory_budget': 1500000000}
    """
    return {"memory_budget": budget()}


@contextmanager
def config_context(*, memory_budget: Any = None) -> Iterator[None]:
    """A context in which blocked work keeps to a memory budget.

    Parameters
    ----------
    memory_budget : number of bytes, str such as ``"2 GB"``, or None
        How much memory may be taken beyond the data that is given and beyond the result. None is what `set_config` has
        set or, where it has set nothing, three quarters of what is free, in this container if it has a limit.

    Notes
    -----
    Blocks become smaller and threads fewer until a fit, or a prediction, keeps to the budget; results change in the
    last digits only. What cannot be done within it is refused before it begins, by a `MemoryBudgetError` with the
    memory that it needs. The processes of ``jobs=`` and ``--jobs`` have equal shares of it. The context is that of one
    thread, and `set_config` that of one process: threads and processes which you start yourself, and workers of a
    cluster, keep to limits of their own.

    Examples
    --------
    >>> import jointdr, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.standard_normal((2, 500, 300))
    >>> with jointdr.config_context(memory_budget="1 MB"):
    ...     try:
    ...         jointdr.JDR(1, solver="exact").fit((A, B), A[:, 0] * B[:, 0])
    ...     except ValueError as error:
    ...         print(str(error)[:98])
    The sums of products of 300 and 300 features take 14.4 MB, and the memory budget is 1 MB: select f
    """
    token = _here.set(parse_budget(memory_budget))
    try:
        yield
    finally:
        _here.reset(token)


def budget() -> int:
    """The budget in bytes."""
    given = _given()
    return max(LEAST, int(SHARE * free())) if given is None else given


def _given() -> int | None:
    here = _here.get()
    return _everywhere["memory_budget"] if here is None else here


def share_budget(function: Callable[..., Result], jobs: int) -> Callable[..., Result]:
    """The same function with an equal share of the budget of now, for calls in so many processes or threads at a time.

    The budget that was given, or three quarters of what is free before any of them has begun.
    """
    share = budget() // jobs
    return partial(_call_within, share if _given() is not None else max(LEAST, share), function)


def _call_within(nbytes: int, function: Callable[..., Result], *arguments: Any) -> Result:
    with config_context(memory_budget=max(1, nbytes)):
        return function(*arguments)


def within(most: float, share: float) -> int:
    """The size of something that is done in blocks: `most`, or less where that is more than a share of the budget."""
    return max(1, int(min(most, share * budget())))


def require(needed: float, what: str, instead: str) -> None:
    """Raise unless the budget allows so many bytes; `what` takes them, and `instead` is what a user can do."""
    allowed = budget()
    if needed > allowed:
        raise MemoryBudgetError(
            f"{what} take {format_size(needed)}, and the memory budget is {format_size(allowed)}: {instead}, or allow "
            f"more with jointdr.config_context(memory_budget={format_size(1.1 * needed)!r}), --memory-budget on the "
            "command line."
        )


def format_size(nbytes: float) -> str:
    """A number of bytes to be read.

    >>> format_size(12_300_000_000), format_size(999), format_size(2e6)
    ('12.3 GB', '999 B', '2 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if nbytes < 999.5:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1e3
    return f"{nbytes:.4g} TB"


def free() -> float:
    """Memory that can be taken without others having to give way, in bytes; `UNKNOWN` where it cannot be found out."""
    return _free_in(int(time.monotonic()))


@lru_cache(maxsize=1)
def _free_in(second: int) -> float:
    """The same, looked at once a second: a small fit would spend most of its time on looking."""
    return min(_free_of_machine(), *(_free_of_container(*group) for group in CGROUPS))


def _free_of_machine() -> float:
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB", MEMINFO.read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found:
        return 1024.0 * int(found[1])
    try:
        import psutil  # beside other packages; not on every machine
    except ImportError:
        return UNKNOWN
    return float(psutil.virtual_memory().available)


def _free_of_container(folder: Path, limit: str, used: str) -> float:
    try:
        most = (folder / limit).read_text().strip()
        if most == "max":
            return UNKNOWN
        # Files that were read, and can be read again, are counted as used.
        held = dict(re.findall(r"^(?:total_)?((?:in)?active_file) (\d+)", (folder / "memory.stat").read_text(), re.M))
        taken = float((folder / used).read_text()) - sum(map(float, held.values()))
        return max(0.0, float(most) - taken)
    except (OSError, ValueError):
        return UNKNOWN

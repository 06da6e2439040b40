"""One judge for all properties: a call gives finite numbers, or it is refused by a clear error."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

import jointdr

examples_run = 0
"""How many examples of properties this process has tried; `tests/conftest.py` tells it at the end."""

DATA_WORDS = {"view", "views", "features", "responses", "scores", "samples", "rows", "columns", "pairs"}
"""What else names a part of the data where an argument holds several."""

ROOMS = (str(Path(jointdr.__file__).parent), "sklearn")
"""Where an error may be raised; `sklearn` checks arrays for us."""


def given(*strategies: Any, **named: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`hypothesis.given` that counts the examples."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def counted(*args: Any, **kwargs: Any) -> None:
            global examples_run
            examples_run += 1
            test(*args, **kwargs)

        counted.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
        counted.__name__, counted.__doc__, counted.__module__ = test.__name__, test.__doc__, test.__module__
        return hypothesis.given(*strategies, **named)(counted)

    return decorate


class Refused:
    """What `judged` returns for a call that was refused as it should be; it is false."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"Refused({self.error!r})"


def judged(call: Callable[[], Any], *callees: Any, words: Iterable[str] = ()) -> Any:
    """The result of a call, which has to be finite, or `Refused`.

    Parameters
    ----------
    call : callable
        Without arguments.
    *callees : classes and functions
        What is called: an error has to name one of their parameters, or a part of the data.
    words : iterable of str
        What else an error may name.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning)  # overflow, invalid values, empty slices
        warnings.filterwarnings("error", category=DeprecationWarning)
        try:
            result = call()
        except (ValueError, TypeError) as error:
            _require_clear(error, _parameters(callees) | DATA_WORDS | set(words))
            return Refused(error)
    _require_finite(result, "result")
    return result


def _parameters(callees: Iterable[Any]) -> set[str]:
    names = {name for callee in callees for name in inspect.signature(callee).parameters}
    return names - {"self", "args", "kwargs", "keep"}


def _require_clear(error: BaseException, names: set[str]) -> None:
    last = traceback.extract_tb(error.__traceback__)[-1]
    told = "".join(traceback.format_exception(error))
    assert not isinstance(error, np.linalg.LinAlgError), f"an error of linear algebra escaped:\n{told}"
    assert any(room in last.filename for room in ROOMS), f"raised deep inside another library:\n{told}"
    message = str(error)
    named = any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) for name in names)
    assert named, f"names none of {sorted(names)}:\n{told}"


def _require_finite(value: Any, where: str) -> None:
    """Walk through arrays, tables, tuples, values with fields and fitted estimators."""
    if value is None or isinstance(value, (str, bool, int, bytes, np.bool_, np.integer)) or callable(value):
        return
    if sparse.issparse(value):
        value = value.data
    if "pandas" in sys.modules and hasattr(value, "iloc"):
        value = value.select_dtypes("number").to_numpy() if value.ndim == 2 else value.to_numpy()
    if isinstance(value, (float, np.floating, np.ndarray)):
        numbers = np.asarray(value)
        assert numbers.dtype.kind != "f" or np.isfinite(numbers).all(), f"{where} is not finite: {numbers}"
    elif isinstance(value, Mapping):
        for key, part in value.items():
            _require_finite(part, f"{where}[{key!r}]")
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            _require_finite(part, f"{where}[{i}]")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _require_finite(getattr(value, field.name), f"{where}.{field.name}")
    elif isinstance(value, BaseEstimator):
        for name in dir(value):
            if name.endswith("_") and not name.startswith("_") and hasattr(value, name):
                _require_finite(getattr(value, name), f"{where}.{name}")

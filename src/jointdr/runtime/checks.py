"""Checks of numbers and choices: errors that name the argument, the value that was given and what is expected."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

Value = TypeVar("Value")

MOST_SEED = 2**32 - 1
SEEDS = f"an integer from 0 to {MOST_SEED}, a numpy.random.RandomState, or None"


def is_integer(value: Any) -> bool:
    """Whether it is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether it is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_integer(
    name: str, value: Any, least: float = -np.inf, most: float = np.inf, *, expected: str | None = None
) -> int:
    """The value as an int, if it is a whole number from `least` to `most`.

    `expected` is the end of the error, "{name}={value} must be {expected}.", where the bounds alone would not help.
    """
    if not is_integer(value) or not least <= int(value) <= most:
        raise ValueError(f"{name}={value!r} must be {expected or _bounds_in_words('an integer', least, most)}.")
    return int(value)


def check_number(
    name: str,
    value: Any,
    least: float = -np.inf,
    most: float = np.inf,
    *,
    strictly: bool = False,
    expected: str | None = None,
) -> float:
    """The value as a float, if it is a finite number from `least` to `most`; `strictly` excludes these two."""
    good = is_number(value) and np.isfinite(float(value)) and least <= float(value) <= most
    if not good or (strictly and float(value) in (least, most)):
        raise ValueError(f"{name}={value!r} must be {expected or _bounds_in_words('a number', least, most, strictly)}.")
    return float(value)


def check_word(name: str, value: Any, *, expected: str = "a word, or None") -> str | None:
    """The value, if it is a text that is not empty, or None."""
    if value is None or (isinstance(value, str) and value):
        return value
    raise ValueError(f"{name}={value!r} must be {expected}.")


def check_names(name: str, value: Any) -> tuple[str, ...]:
    """The value as a tuple, if it is a list of names of columns."""
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r} must be a list of names of columns: {name}=[{value!r}].")
    named = tuple(value) if isinstance(value, Iterable) and not isinstance(value, bytes) else (value,)
    if not all(isinstance(one, str) for one in named):
        raise TypeError(f"{name}={value!r} must be a list of names of columns.")
    return named


def check_separator(value: Any) -> None:
    """Raise unless it is one character that can stand between fields, or None."""
    if value is not None and not (isinstance(value, str) and len(value) == 1 and value not in '"\r\n'):
        raise ValueError(f"separator={value!r} must be one character, such as ',' or ';' or '\\t', or None.")


def check_flag(name: str, value: Any) -> bool:
    """The value as a bool, if it is True or False; words and numbers are neither."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r} must be True or False.")
    return bool(value)


def make_random_state(value: Any, name: str = "random_state") -> np.random.RandomState:
    """The generator that ``random_state=`` stands for: a new one of an integer, NumPy's own for None."""
    if is_integer(value):
        value = check_integer(name, value, 0, MOST_SEED, expected=SEEDS)
    elif not (value is None or value is np.random or isinstance(value, np.random.RandomState)):
        raise ValueError(f"{name}={value!r} must be {SEEDS}.")
    return check_random_state(value)


def make_generator(value: Any, name: str = "random_state") -> np.random.Generator:
    """The generator that ``random_state=`` stands for where a `numpy.random.Generator` may be given, too."""
    if isinstance(value, np.random.Generator):
        return value
    if is_integer(value) and int(value) >= 0:
        return np.random.default_rng(int(value))
    if value is None or isinstance(value, np.random.RandomState):
        return np.random.default_rng(make_random_state(value).randint(MOST_SEED, dtype=np.uint32))
    raise ValueError(f"{name}={value!r} must be an integer >= 0, a numpy.random.Generator or RandomState, or None.")


def check_device(value: Any, name: str = "device") -> Any:
    """The name of a device of PyTorch, or its object for one; None for the host."""
    if value is None or (isinstance(value, str) and value) or type(value).__name__ == "device":
        return value
    raise ValueError(f"{name}={value!r} must be the name of a device of PyTorch, such as 'cuda', or None.")


def check_choice(name: str, value: Value, choices: Iterable[Any], *, expected: str | None = None) -> Value:
    """The value, if it is one of the choices."""
    choices = tuple(choices)
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        raise ValueError(f"{name}={value!r} is not understood; {expected or f'choose from {choices}'}.")
    return value


def check_choices(model: Any, **choices: Iterable[Any]) -> None:
    """Raise if a parameter of a model is none of its choices."""
    for name, allowed in choices.items():
        check_choice(name, getattr(model, name), allowed)


def check_integers(model: Any, **least: int) -> None:
    """Raise if a parameter of a model is no integer, or less than it may be."""
    for name, bound in least.items():
        check_integer(name, getattr(model, name), bound)


def _bounds_in_words(kind: str, least: float, most: float, strictly: bool = False) -> str:
    if np.isfinite(least) and np.isfinite(most):
        return f"{kind} {'between' if strictly else 'from'} {least:g} {'and' if strictly else 'to'} {most:g}"
    if np.isfinite(least):
        return f"{kind} {'>' if strictly else '>='} {least:g}"
    return f"{kind} {'<' if strictly else '<='} {most:g}" if np.isfinite(most) else kind

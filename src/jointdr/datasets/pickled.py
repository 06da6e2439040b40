"""Arrays of numbers in pickles, read without an unpickler: no name in the file is looked up and nothing is called."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.runtime import AnyPath, Array

NUMBERS = re.compile(r"[fiu][1248]")  # kinds of numbers, as dtypes are written in pickles
RECONSTRUCT = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
DIMENSIONS = 8  # the most that an array may have here
MARK = object()


def read_pickled_array(path: AnyPath) -> Array:
    """The one array of numbers that a pickle of protocol 0 to 4 holds, also one that Python 2 wrote.

    Parameters
    ----------
    path : path

    Raises
    ------
    ValueError
        If the file holds anything but one NumPy array of numbers.

    Notes
    -----
    A pickle is a program, and an unpickler runs it. This reader knows the handful of its instructions with which NumPy
    stores an array, collects their operands and makes the array itself. It refuses every other instruction and name.
    """
    with open(path, "rb") as file:
        content = file.read()
    try:
        return _Program(content).result()
    except _Refused as error:
        raise ValueError(
            f"{path} is not a pickle of one array of numbers: {error}. Nothing in it was run. Save the scores again, "
            "for example with pickle.dump(numpy.asarray(Y, dtype=float), file, protocol=2)."
        ) from None


class _Refused(Exception):
    pass


@dataclass
class _Named:
    """A name in a pickle, which is only compared."""

    name: str


@dataclass
class _Made:
    """The result that a call would have: the kind of thing, its arguments, and the state that is set afterwards."""

    kind: str
    arguments: tuple[Any, ...]
    state: tuple[Any, ...] = ()


class _Program:
    """The instructions of a pickle, with a stack, the marks on it and the memory of earlier values."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def result(self) -> Array:
        while (code := self.take(1)) != b".":
            if code not in INSTRUCTIONS:
                raise _Refused(f"it has the instruction {code!r} at byte {self.at - 1}")
            INSTRUCTIONS[code](self)
        return _array(self.pop())

    # ---------------------------------------------------------------- operands

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.content):
            raise _Refused(f"it ends at byte {len(self.content)}, before it is complete")
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self, count: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(count), "little", signed=signed)

    def line(self) -> bytes:
        end = self.content.find(b"\n", self.at)
        return self.take(max(end, self.at) - self.at + 1)[:-1] if end >= 0 else self.take(len(self.content))

    def text(self) -> str:
        return _text(self.line())

    def integer(self) -> int | bool:
        """A whole number on a line; 00 and 01 are False and True."""
        text = self.text().removesuffix("L")
        if not re.fullmatch(r"-?\d{1,18}", text):
            raise _Refused(f"{text[:20]!r} stands where a whole number belongs")
        return {"00": False, "01": True}.get(text, int(text))

    def quoted(self) -> bytes:
        """A string of Python 2 as it is written in programs."""
        text = self.text()
        try:
            value = ast.literal_eval(f"b{text}") if text[:1] in ("'", '"') else None
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            value = None
        if not isinstance(value, bytes):
            raise _Refused("it has a string that is not closed")
        return value

    # ---------------------------------------------------------------- the stack

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is MARK:
            raise _Refused("a value is missing in it")
        return self.stack.pop()

    def since_mark(self) -> tuple[Any, ...]:
        values = []
        while self.stack and self.stack[-1] is not MARK:
            values.append(self.stack.pop())
        if not self.stack:
            raise _Refused("a value is missing in it")
        self.stack.pop()
        return tuple(reversed(values))

    def last(self, count: int) -> tuple[Any, ...]:
        return tuple(reversed([self.pop() for _ in range(count)]))

    def store(self, key: int) -> None:
        self.push(value := self.pop())
        self.memory[key] = value

    def recall(self, key: int) -> None:
        if key not in self.memory:
            raise _Refused("it refers to a value that it does not have")
        self.push(self.memory[key])

    # ---------------------------------------------------------------- names and calls

    def name(self) -> None:
        self.push(_Named(f"{self.text()} {self.text()}"))

    def name_on_stack(self) -> None:
        module, name = self.last(2)
        self.push(_Named(f"{_text(module)} {_text(name)}"))

    def call(self) -> None:
        named, arguments = self.last(2)
        name = named.name if isinstance(named, _Named) else "a value"
        if not isinstance(arguments, tuple):
            raise _Refused(f"it calls {name} without arguments")
        if name in RECONSTRUCT and arguments[:1] == (_Named("numpy ndarray"),):
            self.push(_Made("array", arguments))
        elif name == "numpy dtype" and arguments:
            self.push(_Made("dtype", arguments))
        elif name == "_codecs encode" and len(arguments) == 2 and arguments[1] == "latin1":  # bytes in protocols 0 to 2
            self.push(_encoded(arguments[0]))
        else:
            raise _Refused(f"it calls {name.replace(' ', '.')}")

    def build(self) -> None:
        made, state = self.last(2)
        if not isinstance(made, _Made) or not isinstance(state, tuple):
            raise _Refused("it changes a value that is no array")
        made.state = state
        self.push(made)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin1")
    if not isinstance(value, str):
        raise _Refused("a value that is no text stands where a name belongs")
    return value


def _encoded(text: Any) -> bytes:
    try:
        return _text(text).encode("latin1")
    except UnicodeEncodeError:
        raise _Refused("its numbers are not bytes") from None


def _array(made: Any) -> Array:
    """The array of its state: version, shape, dtype, whether columns lie together, bytes."""
    if not isinstance(made, _Made) or made.kind != "array" or len(made.state) != 5:
        raise _Refused("it holds something else")
    _, shape, dtype, by_columns, data = made.state
    if not isinstance(shape, tuple) or len(shape) > DIMENSIONS or not all(_is_length(n) for n in shape):
        raise _Refused("the shape of its array is not one of whole numbers")
    if not isinstance(dtype, _Made) or dtype.kind != "dtype" or not NUMBERS.fullmatch(_text(dtype.arguments[0])):
        raise _Refused("its array holds something else than numbers")
    order = _text(dtype.state[1]) if len(dtype.state) > 1 else "="
    kind = np.dtype(f"{order if order in ('<', '>') else '='}{_text(dtype.arguments[0])}")
    if not isinstance(data, bytes) or len(data) != math.prod(shape) * kind.itemsize:
        raise _Refused("its array does not have as many numbers as its shape")
    values = np.frombuffer(data, kind).reshape(shape, order="F" if by_columns is True else "C")
    return values.astype(kind.newbyteorder("="), order="C")


def _is_length(n: Any) -> bool:
    return type(n) is int and 0 <= n < 2**31


# instructions by their code, as in the module pickletools of the standard library
INSTRUCTIONS: dict[bytes, Callable[[_Program], None]] = {
    b"\x80": lambda p: _protocol(p.number(1)),
    b"\x95": lambda p: _ignore(p.take(8)),  # a frame
    b"(": lambda p: p.push(MARK),
    b"0": lambda p: _ignore(p.pop()),
    b"N": lambda p: p.push(None),
    b"\x88": lambda p: p.push(True),
    b"\x89": lambda p: p.push(False),
    b"I": lambda p: p.push(p.integer()),
    b"L": lambda p: p.push(p.integer()),
    b"J": lambda p: p.push(p.number(4, signed=True)),
    b"K": lambda p: p.push(p.number(1)),
    b"M": lambda p: p.push(p.number(2)),
    b"\x8a": lambda p: p.push(p.number(p.number(1), signed=True)),
    b"S": lambda p: p.push(p.quoted()),
    b"T": lambda p: p.push(p.take(p.number(4, signed=True))),
    b"U": lambda p: p.push(p.take(p.number(1))),
    b"C": lambda p: p.push(p.take(p.number(1))),
    b"B": lambda p: p.push(p.take(p.number(4))),
    b"\x8e": lambda p: p.push(p.take(p.number(8))),
    b"V": lambda p: p.push(_unescaped(p.line())),
    b"X": lambda p: p.push(_unicode(p.take(p.number(4)))),
    b"\x8c": lambda p: p.push(_unicode(p.take(p.number(1)))),
    b")": lambda p: p.push(()),
    b"t": lambda p: p.push(p.since_mark()),
    b"\x85": lambda p: p.push(p.last(1)),
    b"\x86": lambda p: p.push(p.last(2)),
    b"\x87": lambda p: p.push(p.last(3)),
    b"p": lambda p: p.store(int(p.integer())),
    b"q": lambda p: p.store(p.number(1)),
    b"r": lambda p: p.store(p.number(4)),
    b"\x94": lambda p: p.store(len(p.memory)),
    b"g": lambda p: p.recall(int(p.integer())),
    b"h": lambda p: p.recall(p.number(1)),
    b"j": lambda p: p.recall(p.number(4)),
    b"c": _Program.name,
    b"\x93": _Program.name_on_stack,
    b"R": _Program.call,
    b"b": _Program.build,
}


def _protocol(number: int) -> None:
    if number > 4:
        raise _Refused(f"it is of protocol {number}, and 0 to 4 can be read")


def _ignore(value: Any) -> None:
    pass


def _unicode(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise _Refused("it has text that is not UTF-8") from None


def _unescaped(data: bytes) -> str:
    try:
        return data.decode("raw-unicode-escape")
    except UnicodeDecodeError:
        raise _Refused("it has text with broken escapes") from None

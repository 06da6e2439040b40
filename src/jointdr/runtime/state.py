"""The state of values that pickles and files of skops hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class PlainState:
    """A value whose mappings and sets are kept as sequences, and read back as ones that nobody can change.

    A pickle holds no mapping proxy, and a file of skops no keys but strings; before 0.16 it loses frozen sets.
    """

    def __getstate__(self) -> dict[str, Any]:
        own = vars(self)
        mappings = {name: tuple(value.items()) for name, value in own.items() if isinstance(value, Mapping)}
        sets = {name: tuple(sorted(value)) for name, value in own.items() if isinstance(value, frozenset)}
        values = {name: value for name, value in own.items() if name not in mappings and name not in sets}
        return {"mappings": mappings, "sets": sets, "values": values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["values"])
        self.__dict__.update({name: frozenset(items) for name, items in state["sets"].items()})
        self.__dict__.update({name: MappingProxyType(dict(items)) for name, items in state["mappings"].items()})

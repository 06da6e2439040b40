"""The state of values that pickles and files of skops hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class PlainState:
    """A value whose mappings are kept as sequences of their items, and read back as mappings that nobody can change.

    A pickle holds no mapping proxy, and a file of skops no keys but strings.
    """

    def __getstate__(self) -> dict[str, Any]:
        mappings = {name: tuple(value.items()) for name, value in vars(self).items() if isinstance(value, Mapping)}
        return {"mappings": mappings, "values": {k: v for k, v in vars(self).items() if k not in mappings}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["values"])
        self.__dict__.update({name: MappingProxyType(dict(items)) for name, items in state["mappings"].items()})

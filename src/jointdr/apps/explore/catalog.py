"""The entities of one kind by id and name: looked up, never interpreted."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from jointdr.data import TableEncoder, list_some
from jointdr.datasets import read_text
from jointdr.runtime import is_missing, parse_id

CALLED = ("name", "label", "symbol", "title")
LONGEST_QUERY = 200  # characters of a search that are looked at


class Catalog:
    """Ids and names of the entities of one kind.

    Parameters
    ----------
    kind : str
        What one of them is called; ``kinds`` of the result is what several are called.
    ids : sequence of str
    names : mapping of ids to names, optional
        It may have others, and need not have all.
    """

    def __init__(self, kind: str, ids: Sequence[str], names: Mapping[str, str] | None = None) -> None:
        self.kind, self.ids = kind, list(ids)
        self.kinds = kind if kind.endswith("s") else f"{kind}s"
        self._names = {} if names is None else names
        self.index = {id: index for index, id in enumerate(self.ids)}  # where the entity with an id stands
        self._folded = [f"{id}\n{self._names.get(id, '')}".casefold() for id in self.ids]

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, index: int) -> str:
        """Its name, or its id where it has no name."""
        return self._names.get(self.ids[index]) or self.ids[index]

    def has_name(self, index: int) -> bool:
        return self.name(index) != self.ids[index]

    def search(self, text: str, most: int) -> tuple[list[int], int]:
        """The indices of the best `most` entities whose id or name has all words of the text, and how many there are.

        Ids that are the text come first, then what begins with it, then words that begin with it. O(m).
        """
        wanted = text[:LONGEST_QUERY].casefold().strip()
        words = wanted.split()
        if not words:
            return [], 0
        found = [index for index, folded in enumerate(self._folded) if all(word in folded for word in words)]
        found.sort(key=lambda index: (_distance(self._folded[index], wanted), len(self._folded[index]), index))
        return found[:most], len(found)


def _distance(folded: str, wanted: str) -> int:
    id, _, name = folded.partition("\n")
    starts = id.startswith(wanted) or name.startswith(wanted)
    return [wanted in (id, name), starts, f" {wanted}" in name, wanted in folded, True].index(True)


def read_names(path: str | os.PathLike[str]) -> dict[str, str]:
    """Names from a table with ids in its first column.

    They are those of the column called name, label, symbol or title, or else of the first column of text that nearly
    never repeats; of a table with ids and one column of text, whatever that is. Features are no names.

    Parameters
    ----------
    path : path
        As for `jointdr.datasets.read_table`.
    """
    frame = read_text(path)
    ids, *titles = frame.columns
    column = _column_of_names(frame[titles])
    if column is None:
        raise ValueError(
            f"{path} has no column of names, but {list_some([repr(title) for title in titles])}: call it name, label, "
            "symbol or title."
        )
    found = zip(frame.index, frame[ids], frame[column], strict=True)
    return {parse_id(path, number, id, "id"): "" if is_missing(name) else name for number, id, name in found}


def _column_of_names(frame: Any) -> str | None:
    if (named := next((title for title in frame.columns if title.casefold() in CALLED), None)) is not None:
        return named
    columns = TableEncoder().fit(frame).columns_
    kinds = ("name", "category") if len(columns) == 1 else ("name",)
    return next((column.name for column in columns if column.kind in kinds), None)

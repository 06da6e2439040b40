"""Entities by their ids or names, and tables in the terms of the data: drug and target instead of row and column."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jointdr.apps.cli.contents import contents_of
from jointdr.apps.cli.inputs import SIDES, new_entities, new_similarities_of
from jointdr.apps.cli.options import NewContents

MOST_COMPARED = 20_000  # ids and names that a mistyped word is compared with, at most
LONGEST_COMPARED = 100  # characters of these
ALIKE = str.maketrans("oli", "011")
# The columns of results beside ids, after which a kind may be called, too.
RESULTS = {"score", "rank", "neighbors", "listed_rate", "percentile", "lower", "upper"}
UNNAMED = ("a", "b")  # the names of kinds that were given none


@dataclass(frozen=True)
class Directory:
    """The entities of one kind that a word of the user may stand for: their ids, or their names.

    Attributes
    ----------
    kind : str
        The name of the kind, such as drug.
    names : mapping of str to str
        The name of every entity by its id; empty where it has none.
    places : tuple of str
        The files that they are in, for messages.
    """

    kind: str
    names: Mapping[str, str]
    places: tuple[str, ...]

    @staticmethod
    def of(fitted: Any, side: int, model: Path, new: Any = None, source: Any = None, alone: bool = False) -> Directory:
        """Those of a table of new entities, where there is one, and the fitted ones, unless new ones are `alone`."""
        ids, labels = (fitted.row_ids_, fitted.column_ids_)[side].tolist(), fitted.labels_[side]
        fitted_names = dict(zip(ids, [""] * len(ids) if labels is None else labels.tolist(), strict=True))
        kind = kinds_of(fitted)[side]
        if new is None:
            return Directory(kind, fitted_names, (str(model),))
        own = _names_of(new, fitted.encoders_[side])
        if alone:
            return Directory(kind, own, (str(source),))
        return Directory(kind, fitted_names | own, (str(model), str(source)))

    def id_of(self, word: str) -> str:
        """The id that a word is, or is the name of; a ValueError with what may have been meant if there is none."""
        if word in self.names:
            return word
        found = self._by_name.get(word.casefold(), [])
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
            raise ValueError(f"{len(found)} entities of {self.kind!r} are called {word!r}: give the id of one, {ids}.")
        where = " or ".join(self.places)
        raise ValueError(f"There is no {self.kind} {word!r} in {where}; {self._hint(word)}")

    def with_name(self, one: str) -> str:
        """An id, with its name in brackets where it has one."""
        name = self.names.get(one, "")
        return f"{one} ({name})" if name else one

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """The ids of every name, in small letters."""
        found: dict[str, list[str]] = defaultdict(list)
        for name_id, name in self.names.items():
            if name:
                found[name.casefold()].append(name_id)
        return found

    def _hint(self, word: str) -> str:
        """The ids and names that are most like a word, or the first id."""
        near = {_as_read(name): name for name in (*self.names.values(), *self.names) if name}
        words = [repr(near[name]) for name in _most_alike(_as_read(word), near)]
        if not words:
            return f"the first is {next(iter(self.names), '')!r}."
        return f"did you mean {' or '.join(words)}?"

    @property
    def has_names(self) -> bool:
        return any(self.names.values())


@dataclass(frozen=True)
class Queried:
    """The new rows and columns that a command is given, and the entities of both kinds that it may be asked about."""

    tables: tuple[Any, Any]
    similarities: tuple[Any, Any]
    known: tuple[Directory, Directory]

    @staticmethod
    def read(
        fitted: Any,
        model: Path,
        paths: tuple[Path | None, Path | None],
        contents: NewContents,
        similarities: tuple[list[str] | None, list[str] | None] = (None, None),
        alone: bool = False,
    ) -> Queried:
        """Read tables, files and similarities of new entities; with `alone` only these are asked about, if any."""
        found = []
        for side in (0, 1):
            table = new_entities(paths[side], contents, fitted, side)
            similar = new_similarities_of(fitted, side, similarities[side])
            given = [table, *(similar.values() if isinstance(similar, dict) else (similar,))]
            given = sorted((T for T in given if T is not None), key=lambda T: not hasattr(T, "iloc"))  # with ids first
            files = [one.value for one in contents_of(contents, SIDES[side])]
            source = paths[side] or next(iter((similarities[side] or []) + files), None)
            known = Directory.of(fitted, side, model, given[0] if given else None, source, alone)
            found.append((table, similar, known))
        (a, of_a, rows), (b, of_b, columns) = found
        return Queried((a, b), (of_a, of_b), (rows, columns))

    @property
    def arguments(self) -> dict[str, Any]:
        """The new entities as `predict_pairs` and `recommend` take them."""
        (A, B), (a, b) = self.tables, self.similarities
        return {"A_new": A, "B_new": B, "row_similarity": a, "column_similarity": b}


def kinds_of(fitted: Any) -> tuple[str, str]:
    """The names of the two kinds of a model, or row and column where they have none."""
    names = tuple(map(str, fitted.view_names_))
    return SIDES if names == UNNAMED else (names[0], names[1])


def put_into_terms(table: Any, directories: tuple[Directory, Directory]) -> Any:
    """A table of pairs whose columns of ids are called by the kinds, with names beside ids where there are some."""
    columns = {str(name): table[name] for name in table.columns}
    own = [name for name in columns if name not in SIDES]
    called = tuple(directory.kind for directory in directories)
    if set(called) & set(own):  # a kind that is called score
        called = SIDES
    present = [(side, kind, d) for side, kind, d in zip(SIDES, called, directories, strict=True) if side in columns]
    found = {kind: columns[side] for side, kind, _ in present}
    for side, kind, directory in present:
        name = f"{kind}_name"
        if directory.has_names and name not in (*own, *found):
            found[name] = [directory.names.get(str(one), "") for one in columns[side]]
    import pandas as pd

    return pd.DataFrame(found | {name: columns[name] for name in own})


def _names_of(table: Any, encoder: Any) -> dict[str, str]:
    """The ids of a table of new entities, and their names where it has the column that names the fitted ones."""
    if not hasattr(table, "iloc"):
        return dict.fromkeys(map(str, range(table.shape[0])), "")
    column = next((c.name for c in getattr(encoder, "columns_", ()) if c.kind == "name"), None)
    if column is None or column not in table.columns:
        return dict.fromkeys(map(str, table.index), "")
    return {str(one): "" if name != name or name is None else str(name).strip() for one, name in table[column].items()}


def _as_read(word: str) -> str:
    """A word without what is easily mistaken: capital letters, signs between words, letters like digits, 0 in front."""
    read = "".join(c for c in word.casefold() if c.isalnum()).translate(ALIKE)
    return read.lstrip("0") or read


def _most_alike(word: str, among: Iterable[str]) -> list[str]:
    """At most three of these that are like a word; among very many, of those that begin or end as it does."""
    if len(word) > LONGEST_COMPARED:
        return []
    names = [name for name in among if len(name) <= LONGEST_COMPARED]
    if len(names) > MOST_COMPARED:
        names = [name for name in names if name[:3] == word[:3] or name[-3:] == word[-3:]][:MOST_COMPARED]
    found = difflib.get_close_matches(word, names, n=3, cutoff=0.7)
    return found[:1] if word in found else found

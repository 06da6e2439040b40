"""Ontologies from files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from jointdr.data import Ontology
from jointdr.runtime import AnyPath, read_lines


def read_obo(path: AnyPath, *, relations: Sequence[str] = ("is_a",)) -> Ontology:
    """An ontology in the OBO format, such as ``hp.obo`` and ``go.obo``.

    Parameters
    ----------
    path : path
        Compressed or not.
    relations : sequence of str
        Relations that make a term a special case of another: ``"is_a"``, and relationships such as ``"part_of"``.

    Notes
    -----
    Of every stanza ``[Term]`` the tags id, name, is_a, relationship, alt_id, is_obsolete and replaced_by are read (The
    OBO Flat File Format, version 1.2). An obsolete term is not kept; its id stands for its first successor that is
    current.
    """
    names: dict[str, str] = {}
    parents: dict[str, tuple[str, ...]] = {}
    at: dict[str, int] = {}
    former: dict[str, list[str]] = {}
    for number, tags in _stanzas(path):
        term = tags.get("id", [""])[0]
        if not term:
            raise ValueError(f"{path}, line {number}: this term has no id.")
        if term in at:
            raise ValueError(f"{path}, line {number}: the term {term!r} was on line {at[term]} already.")
        at[term] = number
        if tags.get("is_obsolete") == ["true"]:
            former[term] = tags.get("replaced_by", [])
            continue
        for other in tags.get("alt_id", []):
            former.setdefault(other, []).append(term)
        names[term] = tags.get("name", [term])[0]
        parents[term] = tuple(parent for relation in relations for parent in tags.get(relation, []))
    if not names:
        raise ValueError(f"{path} has no [Term]: it is not an ontology in the OBO format.")
    for term, above in parents.items():
        unknown = next((parent for parent in above if parent not in names), None)
        if unknown is not None:
            raise ValueError(f"{path}, line {at[term]}: {term!r} is a case of {unknown!r}, which is no current term.")
    return Ontology(names, parents, _successors(names, former))


_TAGS = ("id:", "name:", "is_a:", "relationship:", "alt_id:", "is_obsolete:", "replaced_by:")


def _stanzas(path: AnyPath) -> Iterator[tuple[int, dict[str, list[str]]]]:
    """The line on which each [Term] starts, and the values of its tags; relationships stand under their own names."""
    tags: dict[str, list[str]] | None = None
    start = 0
    for number, (text,) in chain(read_lines(path, "\n"), [(0, ["[end]"])]):
        if text.startswith("["):
            if tags is not None:
                yield start, tags
            start, tags = number, {} if text.strip() == "[Term]" else None
        elif tags is not None and text.startswith(_TAGS):
            tag, _, value = text.partition(":")
            value = value.strip()
            if tag == "relationship":
                tag, _, value = value.partition(" ")
            if tag != "name":
                value = re.split(r"\s+[!{]", value, maxsplit=1)[0].strip()  # what follows is for people
            tags.setdefault(tag, []).append(value)


def _successors(names: dict[str, str], former: dict[str, list[str]]) -> dict[str, str]:
    """The current term of every former id, through any number of replacements."""
    found: dict[str, str] = {}
    for term in former:
        seen, left = {term}, list(former[term])
        while left and term not in names:
            successor = left.pop(0)
            if successor in names:
                found[term] = successor
                break
            if successor not in seen:
                seen.add(successor)
                left += former.get(successor, [])
    return found

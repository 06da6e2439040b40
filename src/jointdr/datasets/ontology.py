"""Ontologies from files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from jointdr.data import Ontology
from jointdr.runtime import AnyPath, read_lines

SHOWN = 5  # terms of a circle that an error names


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
    OBO Flat File Format, version 1.2). An obsolete term is not kept; its id stands for its nearest successor that is
    current, however many replacements lead there, and the first of those. Terms that replace each other in a circle are
    refused. O(size of the file).
    """
    if not isinstance(relations, (list, tuple)) or not all(isinstance(name, str) for name in relations):
        raise ValueError(f"relations={relations!r} must be a sequence of names, such as ('is_a', 'part_of').")
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
    replaced = _successors(names, former)
    if cycle := _find_cycle(names, former, replaced.keys()):
        shown = [*cycle[:SHOWN], "..."] if len(cycle) > SHOWN else [*cycle, cycle[0]]
        raise ValueError(
            f"{path}, line {at[cycle[0]]}: obsolete terms are replaced by each other, and by no current one: "
            f"{' by '.join(shown)}."
        )
    return Ontology(names, parents, replaced)


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
    """The current term of every former id that has one, the nearest through any number of replacements.

    O(ids + replacements), from current terms backwards.
    """
    before = _predecessors(names, former)
    steps, reached = dict.fromkeys(names, 0), list(names)
    for term in reached:
        for old in before.get(term, ()):
            if old not in steps:
                steps[old] = steps[term] + 1
                reached.append(old)
    found: dict[str, str] = {}
    for old in reached[len(names) :]:  # the nearest first
        after = min((term for term in former[old] if term in steps), key=steps.__getitem__)
        found[old] = found.get(after, after)
    return {old: found[old] for old in former if old in found}


def _find_cycle(names: dict[str, str], former: dict[str, list[str]], found: Collection[str]) -> list[str]:
    """Former ids that replace each other in a circle, out of which no current term leads; empty if there are none."""
    lost = {old: [term for term in former[old] if term in former] for old in former if old not in found | names.keys()}
    before, left = _predecessors(names, lost), {old: len(after) for old, after in lost.items()}
    ends = [old for old, count in left.items() if count == 0]
    for end in ends:  # whose replacements are unknown: they are on no circle, and neither is what leads to them alone
        for old in before.get(end, ()):
            left[old] -= 1
            if left[old] == 0:
                ends.append(old)
    on = next((old for old, count in left.items() if count), None)
    seen: dict[str, int] = {}
    while on is not None and on not in seen:
        seen[on] = len(seen)
        on = next(term for term in lost[on] if left[term])
    return [] if on is None else list(seen)[seen[on] :]


def _predecessors(names: dict[str, str], former: dict[str, list[str]]) -> dict[str, list[str]]:
    """The former ids that each id replaces."""
    before: dict[str, list[str]] = {}
    for old, after in former.items():
        for term in after if old not in names else ():
            before.setdefault(term, []).append(old)
    return before

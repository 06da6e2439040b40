"""Ontologies: terms, their ancestors, and the table of all terms that follow from annotations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from jointdr.runtime import AnyPath, Array, read_lines, scale_rows

SHOWN = 5  # terms of a circle that an error names


@dataclass(frozen=True)
class Ontology:
    """Terms, and the more general terms above them.

    Attributes
    ----------
    names : dict
        The name of every current term.
    parents : dict
        The terms that each current term is a special case of.
    replaced : dict
        Alternative and obsolete ids, and the current term that stands for each.
    """

    names: dict[str, str]
    parents: dict[str, tuple[str, ...]]
    replaced: dict[str, str]

    def current(self, term: str) -> str | None:
        """The term that this id stands for now; None if it is not known, or obsolete without a successor."""
        return term if term in self.names else self.replaced.get(term)

    def ancestors(self, term: str) -> set[str]:
        """A current term and everything that it is a special case of."""
        found, left = {term}, [term]
        while left:
            new = [parent for parent in self.parents[left.pop()] if parent not in found]
            found.update(new)
            left += new
        return found

    def __repr__(self) -> str:
        return f"Ontology({len(self.names)} terms, {len(self.replaced)} former ids)"


@dataclass(frozen=True)
class Annotations:
    """The terms, with their ancestors, that entities are annotated with.

    Attributes
    ----------
    X : (entities, terms) CSR array
        1 where an entity has a term.
    ids, terms : arrays of str
    lost : arrays of str
        Terms that the ontology does not know.
    """

    X: Array
    ids: Array
    terms: Array
    lost: Array


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


def propagate_terms(entities: Iterable[str], terms: Iterable[str], ontology: Ontology) -> Annotations:
    """Annotations with all terms that follow from them: an entity that has a term has its ancestors too.

    Parameters
    ----------
    entities, terms : sequences of str of one length
        One annotation each.
    ontology : Ontology

    Notes
    -----
    Ids in the order of their first annotation, terms sorted. O(annotations × ancestors).
    """
    above: dict[str, set[str]] = {}
    has: dict[str, set[str]] = {}
    lost: set[str] = set()
    for entity, given in zip(entities, terms, strict=True):
        term = ontology.current(given)
        if term is None:
            lost.add(given)
            continue
        if term not in above:
            above[term] = ontology.ancestors(term)
        has.setdefault(entity, set()).update(above[term])
    column = {term: j for j, term in enumerate(sorted(set().union(*has.values())))}
    indices = np.array([column[term] for found in has.values() for term in found], dtype=np.int64)
    starts = np.cumsum([0, *map(len, has.values())])
    X = sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(has), len(column)))
    X.sort_indices()
    return Annotations(X, *(np.array(list(names), dtype=str) for names in (has, column, sorted(lost))))


def tfidf(X: Array) -> Array:
    """TF-IDF weights of terms: each entry times log(m/m_t), with m_t the number of entities that have term t.

    Parameters
    ----------
    X : (m, terms) array or sparse matrix
        Not 0 where an entity has a term.

    Returns
    -------
    (m, terms) CSR array
        With rows of unit length, so that inner products are cosines; a term that all entities have weighs 0, and a row
        without any other is 0.
    """
    X = sparse.csr_array(X, dtype=float)
    X.eliminate_zeros()
    count = np.bincount(X.indices, minlength=X.shape[1])
    X = sparse.csr_array(X @ sparse.diags_array(np.log(X.shape[0] / np.maximum(count, 1))))
    X.eliminate_zeros()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return scale_rows(X, 1 / np.where(lengths > 0, lengths, 1.0))


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

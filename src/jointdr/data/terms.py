"""Terms of an ontology: their ancestors, and the table of all terms that follow from annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from jointdr.runtime import Array, checked_array, scale_rows


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

    def leading_to(self, terms: Iterable[str]) -> Ontology:
        """The part with these terms and all that are special cases of them; O(terms)."""
        below: dict[str, list[str]] = {}
        for term, above in self.parents.items():
            for parent in above:
                below.setdefault(parent, []).append(term)
        left = [term for term in terms if term in self.names]
        kept = set(left)
        while left:
            new = [term for term in below.get(left.pop(), ()) if term not in kept]
            kept.update(new)
            left += new
        names = {term: name for term, name in self.names.items() if term in kept}
        parents = {term: tuple(p for p in self.parents[term] if p in kept) for term in names}
        return Ontology(names, parents, {old: new for old, new in self.replaced.items() if new in kept})

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """Terms, their parents and former ids as plain arrays, without names."""
        index = {term: i for i, term in enumerate(self.names)}
        edges = [(index[term], index[parent]) for term, above in self.parents.items() for parent in above]
        return {
            f"{prefix}.terms": np.array(list(index), dtype=str),
            f"{prefix}.edges": np.array(edges, dtype=np.int64).reshape(-1, 2),
            f"{prefix}.former": np.array(list(self.replaced), dtype=str),
            f"{prefix}.successors": np.array([index[new] for new in self.replaced.values()], dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Self:
        """The inverse of `to_arrays`; the name of a term is its id."""
        terms = checked_array(arrays, f"{prefix}.terms", (None,), "U").tolist()
        edges = checked_array(arrays, f"{prefix}.edges", (None, 2), "i")
        former = checked_array(arrays, f"{prefix}.former", (None,), "U").tolist()
        successors = checked_array(arrays, f"{prefix}.successors", (len(former),), "i")
        given = np.concatenate([edges.ravel(), successors])
        if len(given) and not 0 <= given.min() <= given.max() < len(terms):
            raise ValueError("its ontology has parents that are no terms")
        parents: dict[str, list[str]] = {term: [] for term in terms}
        for child, parent in edges.tolist():
            parents[terms[child]].append(terms[parent])
        replaced = {old: terms[new] for old, new in zip(former, successors.tolist(), strict=True)}
        return cls({term: term for term in terms}, {term: tuple(above) for term, above in parents.items()}, replaced)

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

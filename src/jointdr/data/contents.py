"""Columns of a table whose text has a meaning of its own: molecules, sequences and lists of terms, as features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from jointdr.data.chemistry import FINGERPRINTS, Fingerprint, fingerprints, readable_fingerprints
from jointdr.data.sequences import AMINO_ACIDS, sequence_features
from jointdr.data.terms import Annotations, Ontology, propagate_terms
from jointdr.runtime import MISSING, Array, check_choice, check_integer, checked_array, scale_rows

SEPARATORS = re.compile(r"[|;,]")  # between the terms of a cell
WORD = 2  # amino acids, whose frequencies describe a sequence


class Encoded(NamedTuple):
    """Features, dense or sparse; which entities have none of their own; and texts that are not understood."""

    X: Array
    lacks: Array
    strange: list[str]


@dataclass(frozen=True)
class Molecules:
    """SMILES as fingerprints; no bits for a molecule that is missing or cannot be read."""

    fingerprint: Fingerprint
    radius: int = 2
    n_bits: int = 1024

    kind: ClassVar[str] = "smiles"
    strange: ClassVar[str] = "no molecules"

    @classmethod
    def fit(cls, values: Iterable[Any], fingerprint: Fingerprint) -> Molecules:
        """The bits do not depend on the molecules."""
        check_choice("fingerprint", fingerprint, FINGERPRINTS)
        return cls(fingerprint, n_bits=fingerprints(["C"], fingerprint).shape[1])

    def encode(self, values: Iterable[Any]) -> Encoded:
        """Features of cells."""
        text = [_text(value) for value in values]
        X, lacks = np.zeros((len(text), self.n_bits)), np.ones(len(text), dtype=bool)
        if at := [i for i, smiles in enumerate(text) if smiles]:
            known = [text[i] for i in at]
            X[at], is_molecule = readable_fingerprints(known, self.fingerprint, radius=self.radius, n_bits=self.n_bits)
            lacks[at] = ~is_molecule
        return Encoded(X, lacks, _strange(text, lacks))

    def feature_names(self, column: str) -> list[str]:
        """The names of the features of a column of this name."""
        return [f"{column} bit {i}" for i in range(self.n_bits)]

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """It as plain arrays."""
        return {
            f"{prefix}.fingerprint": np.array([self.fingerprint]),
            f"{prefix}.sizes": np.array([self.radius, self.n_bits]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Self:
        """The inverse of `to_arrays`."""
        (kind,) = checked_array(arrays, f"{prefix}.fingerprint", (1,), "U").tolist()
        radius, n_bits = checked_array(arrays, f"{prefix}.sizes", (2,), "i").tolist()
        check_choice("fingerprint", kind, FINGERPRINTS)
        return cls(kind, check_integer("radius", radius, 0, 10), check_integer("n_bits", n_bits, 8, 2**20))


@dataclass(frozen=True)
class Sequences:
    """Sequences of amino acids as frequencies of dipeptides; their means for one that is missing or has none."""

    means: Array

    kind: ClassVar[str] = "sequence"
    strange: ClassVar[str] = "no sequences of amino acids"

    @classmethod
    def fit(cls, values: Iterable[Any]) -> Sequences:
        """Means of the sequences that are there."""
        X, has_words = _compositions([_text(value) for value in values])
        return cls(X[has_words].mean(axis=0) if has_words.any() else X[:0].sum(axis=0))

    def encode(self, values: Iterable[Any]) -> Encoded:
        """Features of cells."""
        text = [_text(value) for value in values]
        X, has_words = _compositions(text)
        X[~has_words] = self.means
        return Encoded(X, ~has_words, _strange(text, ~has_words))

    def feature_names(self, column: str) -> list[str]:
        """The names of the features of a column of this name."""
        return [f"{column} {a}{b}" for a in AMINO_ACIDS for b in AMINO_ACIDS]

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """It as plain arrays."""
        return {f"{prefix}.means": self.means}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Self:
        """The inverse of `to_arrays`."""
        return cls(checked_array(arrays, f"{prefix}.means", (len(AMINO_ACIDS) ** WORD,)))


@dataclass(frozen=True)
class Terms:
    """Lists of terms, and their ancestors in an ontology, with TF-IDF weights; none for an entity without terms.

    Attributes
    ----------
    terms : tuple of str
        Those of the fitted table; with an ontology, without those that all of its entities have.
    weights : (n,) array
        log(m/m_t) for m entities with terms, m_t of which have term t.
    ontology : Ontology or None
        The part of it that leads to terms of the fitted table.
    """

    terms: tuple[str, ...]
    weights: Array
    ontology: Ontology | None = None

    kind: ClassVar[str] = "terms"
    strange: ClassVar[str] = "terms that are not known"

    @classmethod
    def fit(cls, values: Iterable[Any], ontology: Ontology | None) -> Terms:
        """O(terms × ancestors)."""
        rows, found = _propagate([split_terms(value) for value in values], ontology)
        if not len(rows) and len(found.lost):
            lost = str(found.lost[0])
            raise ValueError(f"the ontology has none of its terms, such as {lost!r}: give the one that they are of.")
        counts = np.asarray(found.X.sum(axis=0)).ravel()
        used = np.flatnonzero((counts < len(rows)) | (ontology is None))
        terms = tuple(found.terms[used].tolist())
        return cls(
            terms, np.log(len(rows) / counts[used]), None if ontology is None else ontology.leading_to(found.terms)
        )

    def encode(self, values: Iterable[Any]) -> Encoded:
        """Features of cells."""
        cells = [split_terms(value) for value in values]
        rows, found = _propagate(cells, self.ontology)
        where = {term: j for j, term in enumerate(self.terms)}
        own = [j for j, term in enumerate(found.terms.tolist()) if term in where]
        at = np.array([where[term] for term in found.terms[own].tolist()], dtype=int)
        X = found.X[:, own] @ _ones(np.arange(len(at)), at, (len(at), len(where)))
        X = _ones(rows, np.arange(len(rows)), (len(cells), len(rows))) @ X
        X = sparse.csr_array(X @ sparse.diags_array(self.weights))
        X.eliminate_zeros()
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        more = [] if self.ontology is not None else [term for term in found.terms.tolist() if term not in where]
        X = scale_rows(X, 1.0 / np.where(lengths > 0, lengths, 1.0))
        return Encoded(X, lengths == 0, [*found.lost.tolist(), *more])

    def feature_names(self, column: str) -> list[str]:
        """The names of the features of a column of this name."""
        return list(self.terms)

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """It as plain arrays."""
        own = {f"{prefix}.terms": np.array(self.terms, dtype=str), f"{prefix}.weights": self.weights}
        return own if self.ontology is None else own | self.ontology.to_arrays(f"{prefix}.ontology")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Self:
        """The inverse of `to_arrays`."""
        terms = checked_array(arrays, f"{prefix}.terms", (None,), "U").tolist()
        weights = checked_array(arrays, f"{prefix}.weights", (len(terms),))
        if len(set(terms)) < len(terms):
            raise ValueError("it has a term twice")
        has_ontology = f"{prefix}.ontology.terms" in arrays
        ontology = Ontology.from_arrays(arrays, f"{prefix}.ontology") if has_ontology else None
        return cls(tuple(terms), weights, ontology)


Content = Molecules | Sequences | Terms
CONTENTS: dict[str, type[Content]] = {"smiles": Molecules, "sequence": Sequences, "terms": Terms}


def stack_columns(parts: Sequence[Array], count: int) -> Array:
    """The features of so many entities side by side: a CSR array if some of them are."""
    if any(sparse.issparse(X) for X in parts):
        return sparse.hstack([sparse.csr_array(X) for X in parts], format="csr")
    return np.hstack(parts) if parts else np.zeros((count, 0))


def split_terms(value: Any) -> list[str]:
    """The terms of a cell: a list of them, or text with |, ; or , between them."""
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        parts = [_text(part) for part in value]
    else:
        parts = [_text(part) for part in SEPARATORS.split(_text(value))]
    return list(dict.fromkeys(filter(None, parts)))


def _text(value: Any) -> str:
    """The text of a cell; empty for a gap."""
    if value is None or value != value:
        return ""
    text = str(value).strip()
    return "" if text.lower() in MISSING else text


def _compositions(text: Sequence[str]) -> tuple[Array, Array]:
    """Frequencies of dipeptides, and which sequences have any."""
    X = sequence_features([own or "-" for own in text], WORD) if len(text) else np.zeros((0, len(AMINO_ACIDS) ** WORD))
    return X, np.asarray(X.sum(axis=1) > 0)


def _propagate(cells: Sequence[Sequence[str]], ontology: Ontology | None) -> tuple[Array, Annotations]:
    """The cells with terms that are known, by their indices, and these terms with their ancestors."""
    rows = [i for i, terms in enumerate(cells) for _ in terms]
    terms = [term for terms in cells for term in terms]
    if ontology is None:  # every term stands for itself
        ontology = Ontology(dict.fromkeys(terms, ""), dict.fromkeys(terms, ()), {})
    found = propagate_terms(map(str, rows), terms, ontology)
    return found.ids.astype(int), found


def _strange(text: Sequence[str], lacks: Array) -> list[str]:
    return [own for own, without in zip(text, lacks, strict=True) if own and without]


def _ones(rows: Array, columns: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix with 1 at these places."""
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

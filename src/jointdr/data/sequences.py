"""Features of proteins from their sequences of amino acids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from scipy import sparse

from jointdr.runtime import Array, check_choice, check_flag, check_integer

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
LONGEST = 5  # of words; there are 20^k
DENSE = 2  # words of up to this length fill a dense table

Normalize = Literal["share", "root", "unit"]


def sequence_features(sequences: Any, k: int = 2, *, mismatch: bool = False, normalize: Normalize = "share") -> Array:
    """How often each word of k amino acids occurs in a sequence: its composition, for k = 2 of dipeptides.

    Parameters
    ----------
    sequences : sequence of m str
        Amino acids by their letters, capital or not. Words with another letter than the 20 (``X``, ``U``, ...) are left
        out.
    k : int
        The length of words, from 1 to 5.
    mismatch : bool
        Whether a word also counts for all words that differ from it in one letter.
    normalize : {"share", "root", "unit"}
        Counts are divided by their sum; or are square roots of these shares, whose inner products compare two
        compositions as those of unit vectors (Bhattacharyya); or have unit length, so that inner products are the
        normalized spectrum kernel or, with `mismatch`, the mismatch kernel.

    Returns
    -------
    (m, 20^k) array, or CSR array for k > 2
        Words in alphabetical order. A sequence without any word of k amino acids has zeros.

    Notes
    -----
    O(total length · k), and with `mismatch` O(m · k · 20^k) more.

    References
    ----------
    C. Leslie, E. Eskin, W. S. Noble. The spectrum kernel: a string kernel for SVM protein classification. Pacific
    Symposium on Biocomputing, 2002.
    C. Leslie, E. Eskin, A. Cohen, J. Weston, W. S. Noble. Mismatch string kernels for discriminative protein
    classification. Bioinformatics 20, 2004.

    Examples
    --------
    >>> from jointdr.datasets import sequence_features
    >>> X = sequence_features(["ACAC", "CCCA"], k=1)
    >>> X.shape, X[:, :2].tolist()
    ((2, 20), [[0.5, 0.5], [0.25, 0.75]])
    """
    k = check_integer("k", k, 1, LONGEST)
    check_choice("normalize", normalize, ("share", "root", "unit"))
    check_flag("mismatch", mismatch)
    found = checked_strings(sequences, "sequences")
    letters = np.full(256, -1)
    for place, letter in enumerate(AMINO_ACIDS):
        letters[[ord(letter), ord(letter.lower())]] = place
    words = [_words(letters[np.frombuffer(text.encode("latin1", "replace"), np.uint8)], k) for text in found]
    rows, at = np.repeat(np.arange(len(words)), [len(w) for w in words]), np.concatenate(words)
    counts = sparse.csr_array((np.ones(len(at)), (rows, at)), shape=(len(words), len(AMINO_ACIDS) ** k))
    X = normalized(counts + _one_letter_off(counts, k) if mismatch else counts, normalize)
    return X.toarray() if k <= DENSE else X


def _words(letters: Array, k: int) -> Array:
    """The index of every word of k amino acids."""
    if len(letters) < k:
        return np.zeros(0, dtype=int)
    windows = np.lib.stride_tricks.sliding_window_view(letters, k)
    windows = windows[(windows >= 0).all(axis=1)]
    return windows @ len(AMINO_ACIDS) ** np.arange(k)[::-1]


def _one_letter_off(counts: sparse.csr_array, k: int) -> sparse.csr_array:
    """Counts of the words that differ in one letter: sums over the letters at each place, less the word itself."""
    rows = []
    for at in range(counts.shape[0]):
        own = counts[[at]].toarray().reshape((len(AMINO_ACIDS),) * k)
        rows.append(sparse.csr_array(sum(own.sum(axis=p, keepdims=True) - own for p in range(k)).reshape(1, -1)))
    return sparse.vstack(rows, format="csr")


def normalized(counts: sparse.csr_array, how: Normalize) -> sparse.csr_array:
    """Rows of counts as shares, as their square roots, or of unit length; rows of zeros stay."""
    sums = np.sqrt(counts.multiply(counts).sum(axis=1)) if how == "unit" else counts.sum(axis=1)
    X = sparse.csr_array(sparse.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ counts)
    return np.sqrt(X) if how == "root" else X


def checked_strings(values: Any, name: str) -> list[str]:
    """The strings as a list, at least one, with anything else refused."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of strings, one for each entity, but got {values!r:.80}.")
    found = list(values)
    if not found:
        raise ValueError(f"{name} is empty: give at least one string.")
    for place, value in enumerate(found):
        if not isinstance(value, str):
            raise TypeError(f"{name}[{place}] must be a string, but got {value!r:.80}.")
        if not value.strip():
            raise ValueError(f"{name}[{place}] is empty: drop that entity, or fill it in.")
    return [str(value) for value in found]

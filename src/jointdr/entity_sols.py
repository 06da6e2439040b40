"""Separable least squares of dyads, with the entities of one side as the subpopulations of the other."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from jointdr.arrays import Array, dense_product
from jointdr.classical import embedding_of, leading, maps_of
from jointdr.dyads import Dyads
from jointdr.family import MomentMethod, without_score
from jointdr.response import Transform


class EntitySOLS(MomentMethod):
    """Separable least squares of dyads: every column entity is a subpopulation for the row side, and the reverse.

    `SOLS` finds one direction for each subpopulation. Within those of one gene, b is constant and least squares is that
    of the gene's scores on the features of the diseases, Σ_a⁻¹ cov(a, y_j). The embedding of diseases is spanned by the
    leading left singular vectors of these coefficients, for normalized features; that of genes in the same way.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
        At most the number of entities of the other side.
    ridge, scale
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
    means_, support_, n_components_, view_names_, n_features_per_view_
        As in `JDR`.

    Notes
    -----
    O(|Y| n + m n² + n³), with |Y| the number of stored scores. Where only some pairs are observed, Σ_a is that of all
    row entities, because the few of one column would not have a regular one.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Dyads
    >>> from jointdr.entity_sols import EntitySOLS
    >>> from jointdr.metrics import subspace_error
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.standard_normal((300, 6)), rng.standard_normal((200, 5))
    >>> model = EntitySOLS(2).fit(Dyads(A[:, :2] @ B[:, :2].T, A, B))
    >>> bool(subspace_error(np.eye(6)[:, :2], model.embeddings_[0]) < 1e-6)
    True
    """

    score = without_score("its directions are those of many regressions")

    def __init__(self, n_components: Any = 2, *, ridge: Any = 0.0, scale: Any = None) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.scale = scale

    views: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embeddings of a `Dyads`, which holds the response itself."""
        if not isinstance(X, Dyads):
            raise TypeError(f"EntitySOLS takes a Dyads, but got {type(X).__name__}: use SOLS for rows.")
        if y is not None or sample_weight is not None:
            raise TypeError("EntitySOLS takes the response from a Dyads: leave y and sample_weight out.")
        with self._unchanged_on_failure():
            self._validated(X, reset=True, minimum_rows=1)
            self._forget()
            self.response_ = Transform("identity", np.empty(0))
            options = self._options()
            moments = X.moments(means="entities", blocks=(), covariance="full", cross_covariance=False)
            maps = maps_of(moments, options)
            sides = ((X.A, X.Y), (X.B, X.Y.T))
            columns = [m.pull(_covariances(T, Y, m.mean, X.is_complete)) for m, (T, Y) in zip(maps, sides, strict=True)]
            core = np.zeros((0, sum(options.ranks)))
            self._embedding = embedding_of(maps, leading(maps, columns, options), core, np.zeros(0))
        return self


def _covariances(X: Array, Y: Array, mean: Array, complete: bool) -> Array:
    """Σ (x_i − x̄)(y_ij − ȳ_j) over the known scores of each column j, (n, columns); O(|Y| n)."""
    products = dense_product(Y.T, X).T
    sums = np.asarray(Y.sum(axis=0), dtype=float).ravel()
    if complete:
        return products - np.outer(mean, sums)
    pattern = sparse.csr_array(Y)
    pattern = sparse.csr_array((np.ones(pattern.nnz), pattern.indices, pattern.indptr), shape=pattern.shape)
    counts = np.asarray(pattern.sum(axis=0), dtype=float).ravel()
    return products - dense_product(pattern.T, X).T * (sums / np.maximum(counts, 1.0))

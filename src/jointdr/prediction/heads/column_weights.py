"""The kernel weights of the columns of a grid, and the sums and averages over columns that they give."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import sparse

from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.heads.kernels import VANISHING, AnyKernel, Mixture, rescale_rows
from jointdr.runtime import Array, dense, is_sparse, slices


class ColumnWeights:
    """The kernel weights of some columns: held if they fit, otherwise computed again, some columns at a time.

    Weights of the nearest columns only are always held, as a graph: 12 bytes for each.

    Parameters
    ----------
    kernel : Kernel or Mixture
    columns : EntitySet
        For a `Kernel` its tables are a single one.
    max_bytes : float
    known : (m_B, m_B) array, optional
        The weights of all known columns, if they are held already.
    """

    def __init__(self, kernel: AnyKernel, columns: EntitySet, max_bytes: float, known: Array | None = None) -> None:
        self.kernel, self.columns, self.count = kernel, columns, columns.count
        self.is_identity = columns.is_everything and kernel.is_identity
        self.step = max(1, int(max_bytes / (24 * kernel.width)))
        self.held: Array | None = None
        self.means: Array | None = None  # of the known scores of each column, once they are asked for
        if self.is_identity or kernel.is_truncated:
            return
        if known is not None and columns.tables is None:
            self.held = known if columns.indices is None else known[columns.indices]
        elif self.count <= self.step:
            self.held = self._weights(slice(0, self.count))

    def _weights(self, at: slice) -> Array:
        L = kernel_weights(self.kernel, self.columns, at)
        # A known column is its own neighbor, so that nothing vanishes.
        return L if self.columns.tables is None else scale_to_largest(L)

    def _parts(self) -> Iterator[tuple[slice, Array]]:
        if self.held is not None:
            yield slice(0, self.count), self.held
            return
        for at in slices(self.count, self.step):
            yield at, self._weights(at)

    @cached_property
    def _held_total(self) -> Array:
        assert self.held is not None
        return self.held.sum(axis=1)

    @cached_property
    def graph(self) -> Array:
        """The weights of the nearest columns, transposed: (m_B, columns), CSR. O(k columns) numbers."""
        L = sparse.vstack([part for _, part in self._parts()], format="csr")
        return L.T.tocsr()

    @cached_property
    def total(self) -> Array:
        """The sum of the weights of each column, if there is a graph, (columns,)."""
        return np.ones(self.count) if self.is_identity else np.asarray(self.graph.sum(axis=0)).ravel()

    def product(self, N: Array, squared: bool = False) -> Array:
        """N (rows, m_B) times the graph, or its squares: (rows, columns), and CSR if N is.

        For a CSR array N only the columns that it stores are looked at: O(|N| k).
        """
        if self.is_identity:
            return N
        if not is_sparse(N):
            return np.asarray(N @ (self.graph.power(2) if squared else self.graph))
        used, at = np.unique(N.indices, return_inverse=True)
        lent = self.graph[used]
        compact = sparse.csr_array((N.data, at, N.indptr), shape=(N.shape[0], len(used)))
        return compact @ (lent.power(2) if squared else lent)

    def averages(self, N: Array) -> Array:
        """N (rows, m_B) averaged over the neighbors of each column, (rows, columns)."""
        if self.is_identity:
            return dense(N)
        if self.kernel.is_truncated:
            out, isolated = dense(self.product(N)), self.total <= VANISHING
            out /= np.where(isolated, 1.0, self.total)
            if isolated.any():
                out[:, isolated] = np.asarray(N.mean(axis=1)).reshape(-1, 1)
            return out
        N = dense(N)
        out = np.empty((len(N), self.count))
        for at, L in self._parts():
            total = L.sum(axis=1) if self.held is None else self._held_total
            isolated = total <= VANISHING
            np.matmul(N, L.T, out=out[:, at])
            out[:, at] /= np.where(isolated, 1.0, total)
            if isolated.any():  # as if all columns were equally near
                out[:, np.arange(at.start, at.stop)[isolated]] = N.mean(axis=1, keepdims=True)
        return out

    def sums(self, N: Array, squared: bool = False) -> Array:
        """N (rows, m_B) added up with the weights of each column, or their squares, (rows, columns)."""
        if self.is_identity:
            return np.array(dense(N))
        if self.kernel.is_truncated:
            return dense(self.product(N, squared))
        N = dense(N)
        out = np.empty((len(N), self.count))
        for at, L in self._parts():
            np.matmul(N, (L**2 if squared else L).T, out=out[:, at])
        return out

    def sums_of_table(self, Y: Array, squared: bool = False) -> Array:
        """Σ_q L_jq y_pq of every row p of a whole table, (m_A, columns): for few columns, a sparse Y stays sparse."""
        if self.kernel.is_truncated:
            return dense(Y @ (self.graph.power(2) if squared else self.graph))
        return np.hstack([np.asarray(Y @ (L**2 if squared else L).T) for _, L in self._parts()])

    def averages_of_table(self, Y: Array) -> Array:
        """The same as averages."""
        total = self.total if self.kernel.is_truncated else np.concatenate([L.sum(axis=1) for _, L in self._parts()])
        isolated = total <= VANISHING
        M = self.sums_of_table(Y) / np.where(isolated, 1.0, total)
        if isolated.any():
            M[:, isolated] = np.asarray(Y.mean(axis=1)).reshape(-1, 1)
        return M

    @cached_property
    def effective(self) -> Array:
        """The effective number of neighbors of each column, (columns,)."""
        if self.is_identity:
            return np.ones(self.count)
        if self.kernel.is_truncated:
            squares = np.asarray(self.graph.power(2).sum(axis=0)).ravel()
            return self.total**2 / np.where(squares > 0, squares, 1.0)
        return np.concatenate([effective_number(L) for _, L in self._parts()])


def kernel_weights(kernel: AnyKernel, some: EntitySet, at: slice) -> Array:
    """The weights of the known entities for some of these, (rows, m)."""
    if some.indices is not None:
        return kernel.weights_of_known(some.indices[at])
    if isinstance(kernel, Mixture):
        return kernel.weights_at(some.tables, at)
    return kernel.weights_at(None if some.tables is None else some.tables[0], at)


def row_totals(K: Array) -> Array:
    """The sum of each row of weights, (rows,)."""
    return np.asarray(K.sum(axis=1)).ravel()


def scale_to_largest(K: Array) -> Array:
    """Rows of weights in units of their largest, so that products do not vanish; 0 where there are none."""
    if is_sparse(K):
        most = np.asarray(K.max(axis=1).todense()).ravel()
        return rescale_rows(K.copy(), np.divide(1.0, most, out=np.zeros_like(most), where=most > VANISHING))
    most = K.max(axis=1, keepdims=True, initial=0.0)
    return np.where(most > VANISHING, K, 0.0) / np.where(most > VANISHING, most, 1.0)


def squares(K: Array) -> Array:
    """The squares of weights."""
    return K.power(2) if is_sparse(K) else K**2


def effective_number(K: Array) -> Array:
    """(Σ w)²/Σ w² of each row of weights, (rows,); 0 where all vanish."""
    K = scale_to_largest(K)
    of_squares = row_totals(K.power(2)) if is_sparse(K) else np.einsum("ij,ij->i", K, K)
    return row_totals(K) ** 2 / np.maximum(of_squares, VANISHING)

"""The kernel weights of the columns of a grid, and what they do to sums over its rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.prediction.heads.kernels import VANISHING, AnyKernel, Mixture, rescaled
from jointdr.runtime import Array, dense, is_sparse, slices


class Columns:
    """The kernel weights of the columns: held if they fit, otherwise computed again, some columns at a time.

    Weights of the nearest columns only are always held, as a graph: 12 bytes for each.

    Parameters
    ----------
    kernel : Kernel or Mixture
    Z : (columns, r) array (for a mixture, several), or None for the known columns
    max_bytes : float
    only : array of int, optional
        Some of the known columns, by number.
    """

    def __init__(self, kernel: AnyKernel, Z: Any, max_bytes: float, only: Array | None = None) -> None:
        self.kernel, self.Z, self.only = kernel, Z, only
        self.alone = Z is None and only is None and kernel.alone
        self.count = len(only) if only is not None else kernel.count if Z is None else len_of(Z)
        self.step = max(1, int(max_bytes / (24 * kernel.width)))
        self.held: Array | None = None
        self.means: Array | None = None  # of the known scores of each column, once they are asked for
        if not self.alone and not kernel.is_truncated and self.count <= self.step:
            self.held = self._weights(slice(0, self.count))

    def _weights(self, at: slice) -> Array:
        if self.only is not None:
            assert isinstance(self.kernel, Mixture)
            return self.kernel.weights_of_known(self.only[at])
        L = self.kernel.weights_at(self.Z, at)
        return L if self.Z is None else scaled(L)  # a known column is its own neighbour, so that nothing vanishes

    def _parts(self) -> Iterator[tuple[slice, Array]]:
        if self.held is not None:
            yield slice(0, self.count), self.held
            return
        for at in slices(self.count, self.step):
            yield at, self._weights(at)

    @cached_property
    def graph(self) -> Array:
        """The weights of the nearest columns, transposed: (m_B, columns), CSR. O(k columns) numbers."""
        L = sparse.vstack([part for _, part in self._parts()], format="csr")
        return L.T.tocsr()

    @cached_property
    def total(self) -> Array:
        """The sum of the weights of each column, if there is a graph, (columns,)."""
        return np.ones(self.count) if self.alone else np.asarray(self.graph.sum(axis=0)).ravel()

    def product(self, N: Array, squared: bool = False) -> Array:
        """N (rows, m_B) times the graph, or its squares: (rows, columns), and CSR if N is.

        For a CSR array N only those columns are looked at that it has numbers of: O(|N| k).
        """
        if self.alone:
            return N
        if not is_sparse(N):
            return np.asarray(N @ (self.graph.power(2) if squared else self.graph))
        used, places = np.unique(N.indices, return_inverse=True)
        lent = self.graph[used]
        compact = sparse.csr_array((N.data, places, N.indptr), shape=(N.shape[0], len(used)))
        return compact @ (lent.power(2) if squared else lent)

    def averages(self, N: Array) -> Array:
        """N (rows, m_B) averaged over the neighbours of each column, (rows, columns)."""
        if self.alone:
            return dense(N)
        if self.kernel.is_truncated:
            out, lonely = dense(self.product(N)), self.total <= VANISHING
            out /= np.where(lonely, 1.0, self.total)
            if lonely.any():
                out[:, lonely] = np.asarray(N.mean(axis=1)).reshape(-1, 1)
            return out
        N = dense(N)
        out = np.empty((len(N), self.count))
        for at, L in self._parts():
            total = L.sum(axis=1)
            lonely = total <= VANISHING
            np.matmul(N, L.T, out=out[:, at])
            out[:, at] /= np.where(lonely, 1.0, total)
            if lonely.any():  # as if all columns were equally near
                out[:, np.arange(at.start, at.stop)[lonely]] = N.mean(axis=1, keepdims=True)
        return out

    def sums(self, N: Array, squared: bool = False) -> Array:
        """N (rows, m_B) added up with the weights of each column, or their squares, (rows, columns)."""
        if self.alone:
            return np.array(dense(N))
        if self.kernel.is_truncated:
            return dense(self.product(N, squared))
        N = dense(N)
        out = np.empty((len(N), self.count))
        for at, L in self._parts():
            np.matmul(N, (L**2 if squared else L).T, out=out[:, at])
        return out

    @cached_property
    def effective(self) -> Array:
        """The effective number of neighbours of each column, (columns,)."""
        if self.alone:
            return np.ones(self.count)
        if self.kernel.is_truncated:
            squares = np.asarray(self.graph.power(2).sum(axis=0)).ravel()
            return self.total**2 / np.where(squares > 0, squares, 1.0)
        return np.concatenate([effective(L) for _, L in self._parts()])


def len_of(Z: Any) -> int:
    """The number of entities, given as one table or as several of them."""
    return int((Z[0] if isinstance(Z, (tuple, list)) else Z).shape[0])


def totals(K: Array) -> Array:
    """The sum of each row of weights, (rows,)."""
    return np.asarray(K.sum(axis=1)).ravel()


def scaled(K: Array) -> Array:
    """Rows of weights in units of their largest, so that products do not vanish; 0 where there are none."""
    if is_sparse(K):
        most = np.asarray(K.max(axis=1).todense()).ravel()
        return rescaled(K.copy(), np.divide(1.0, most, out=np.zeros_like(most), where=most > VANISHING))
    most = K.max(axis=1, keepdims=True, initial=0.0)
    return np.where(most > VANISHING, K, 0.0) / np.where(most > VANISHING, most, 1.0)


def squares(K: Array) -> Array:
    """The squares of weights."""
    return K.power(2) if is_sparse(K) else K**2


def effective(K: Array) -> Array:
    """(Σ w)²/Σ w² of each row of weights, (rows,); 0 where all vanish."""
    K = scaled(K)
    of_squares = totals(K.power(2)) if is_sparse(K) else np.einsum("ij,ij->i", K, K)
    return totals(K) ** 2 / np.maximum(of_squares, VANISHING)

"""Features from similarities, networks and sparse tables: leading eigenvectors and singular vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh

from jointdr.data import require_symmetric
from jointdr.directions import scaled_left_vectors, sign_columns
from jointdr.runtime import (
    Array,
    as_float,
    check_choice,
    check_flag,
    check_integer,
    dense,
    float_dtype,
    is_sparse,
    to_numpy,
)

Handling = Literal["error", "giant", "separate"]
Symmetrize = Literal["mean", "max", "min"]

DENSE_UP_TO = 800  # graphs with at most this many nodes are decomposed as dense matrices
N_SPECTRAL = 200  # features of each node of a network, as in the paper


@dataclass(frozen=True)
class SpectralReport:
    """The connected components of a graph, and which nodes have features.

    Attributes
    ----------
    labels : (nodes,) array of int
        The connected component of each node; 0 is the largest.
    sizes : (components,) array of int
        Nodes per component, decreasing.
    n_columns : (components,) array of int
        Feature columns per component; 0 for those without features.
    eigenvalues : (k,) array
        Of the normalized affinity, one for each column: 1 for the first of a component, and close to 1 for those that
        separate weakly linked parts of it.
    """

    labels: Array
    sizes: Array
    n_columns: Array
    eigenvalues: Array

    @property
    def has_features(self) -> Array:
        """A mask of the nodes; the feature vectors of the others are 0."""
        return self.n_columns[self.labels] > 0

    def __repr__(self) -> str:
        nodes = f"{np.count_nonzero(self.has_features)} of {len(self.labels)} nodes have features"
        return f"SpectralReport({_in_words(self.sizes)}; {nodes})"


def spectral_features(
    W: Any,
    k: int | None = None,
    *,
    components: Handling = "error",
    symmetrize: Symmetrize | None = None,
    keep_diagonal: bool = False,
    return_report: bool = False,
) -> Any:
    """Features of the nodes of a graph, or of entities whose similarities are known (Ng, Jordan and Weiss, 2002).

    The k leading eigenvectors of the normalized affinity D^−½ W D^−½, where D = diag(W1), with every row scaled to unit
    length. Nodes that are linked to the same others get features that point the same way.

    Parameters
    ----------
    W : (nodes, nodes) array, DataFrame or SciPy sparse matrix
        Similarities or weights of links: symmetric, not negative, 0 where there is no link.
    k : int, optional
        The number of features; by default 200, as in the paper, or one less than there are nodes.
    components : {"error", "giant", "separate"}
        How a graph of several connected components is treated. Its leading eigenvectors would only show which component
        a node is in, so this is an error unless a choice is made. ``"giant"``: features of the largest
        component; all other nodes get zeros. ``"separate"``: every component gets columns of its own, in which all
        other nodes have zeros: first one for each component of at least two nodes, in the order of their size and as
        far as k goes, then the rest by size. A node without any link gets zeros.
    symmetrize : {"mean", "max", "min"}, optional
        How w_ij and w_ji are joined if they differ by more than rounding, which is an error by default.
    keep_diagonal : bool
        Whether a node's similarity to itself counts. By default the diagonal is taken as 0, as in the article.
    return_report : bool
        Whether a `SpectralReport` of the components is returned too.

    Returns
    -------
    (nodes, k) array, or that and a SpectralReport
        Columns by decreasing eigenvalue, within each component. In each, the entry that is largest before rows are
        scaled is positive.

    Notes
    -----
    Lanczos iterations from a fixed start, about O(k |W| + k² nodes) each time the basis is rebuilt, with |W| the number
    of stored weights; O(nodes³) for at most `DENSE_UP_TO` nodes or if k is more than a quarter of them. The result is
    determined by W up to rounding where the eigenvalues are distinct.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr.datasets import spectral_features
    >>> W = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> A = spectral_features(W, 2)
    >>> abs(A @ A.T).round(1)[0]
    array([1., 1., 1., 0., 0., 0.])
    """
    check_choice("components", components, ("error", "giant", "separate"))
    check_flag("keep_diagonal", keep_diagonal)
    check_flag("return_report", return_report)
    S = checked_affinity(W, symmetrize)
    if not keep_diagonal:
        S = _without_diagonal(S)
    labels, sizes = connected_components(S)
    expected = f"an integer from 1 to {len(labels)}, the number of nodes"
    k = check_integer("k", min(N_SPECTRAL, len(labels) - 1) if k is None else k, 1, len(labels), expected=expected)
    n_columns = _allot_columns(sizes, k, components)
    features = np.zeros((len(labels), k))
    eigenvalues = np.zeros(k)
    start = 0
    for component in np.flatnonzero(n_columns):
        nodes = np.flatnonzero(labels == component)
        columns = slice(start, start := start + int(n_columns[component]))
        part = S if len(nodes) == len(labels) else S[nodes][:, nodes]
        eigenvalues[columns], vectors = _leading(part, int(n_columns[component]))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)  # 0 where a node's links vanish beside the others'
        features[nodes, columns] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    if not return_report:
        return features
    return features, SpectralReport(labels, sizes, n_columns, eigenvalues)


def connected_components(W: Array) -> tuple[Array, Array]:
    """The component of each node, 0 being the largest, and the sizes of the components; O(|W|)."""
    _, labels = csgraph.connected_components(sparse.csr_array(W), directed=False)
    counts = np.bincount(labels)
    order = np.argsort(-counts, kind="stable")  # (of equal size: that of the first node first)
    return np.argsort(order)[labels], counts[order]


def checked_affinity(W: Any, symmetrize: Symmetrize | None = None, name: str = "W") -> Array:
    """W as a dense array or CSR array of finite weights >= 0, exactly symmetric, without stored zeros."""
    S = sparse.csr_array(W) if is_sparse(W) else np.asarray(to_numpy(W))
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise ValueError(f"{name} must be a square matrix, one row and one column for each node, but got {S.shape}.")
    if S.dtype.kind not in "biuf":
        raise ValueError(f"{name} should hold numbers, but got {S.dtype}.")
    rounding = np.sqrt(np.finfo(S.dtype if S.dtype.kind == "f" else float).eps)
    S = as_float(S, np.float64)
    values = S.data if is_sparse(S) else S
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity: give 0 where there is no link.")
    if values.size and values.min() < 0:
        raise ValueError(
            f"{name} has negative weights, the lowest {values.min():.3g}: similarities must not be negative. Clip them "
            "with numpy.maximum(W, 0), or shift a correlation with (1 + W) / 2."
        )
    check_choice("symmetrize", symmetrize, ("mean", "max", "min", None))
    if symmetrize is None:
        advice = "Join the two with symmetrize='mean', 'max' or 'min'."
        S = require_symmetric(S, name, advice, rounding)
    else:
        S = _symmetric(S, symmetrize)
    if is_sparse(S):
        S = S.copy()
        S.sum_duplicates()
        S.eliminate_zeros()
    return S


def lsa_features(X: Any, k: int, *, n_iter: int = 4) -> Array:
    """A sparse table, say of TF-IDF weights, in k dense columns (latent semantic analysis): U Σ of its leading SVD.

    Parameters
    ----------
    X : (m, n) array or SciPy sparse matrix
    k : int
        The number of features, at most min(m, n).
    n_iter : int
        Power passes of the randomized SVD. With 4, the last singular values are right to a few percent where they
        hardly decrease, and to many digits where they do.

    Returns
    -------
    (m, k) array
        Its rows have nearly the inner products of the rows of X. In each column, the largest entry is positive.

    Notes
    -----
    O(n_iter k |X| + n_iter k² (m + n)), with |X| the number of stored entries; always the same for the same X. The
    table is not centred. Entities that come later need the same map: fit `sklearn.decomposition.TruncatedSVD` for that.

    References
    ----------
    S. Deerwester, S. Dumais, G. Furnas, T. Landauer and R. Harshman. Indexing by latent semantic analysis. Journal of
    the American Society for Information Science 41, 1990.
    """
    X = sparse.csr_array(X) if is_sparse(X) else np.asarray(to_numpy(X))
    expected = f"an integer from 1 to {min(X.shape)}, the smaller side of X"
    k = check_integer("k", k, 1, min(X.shape), expected=expected)
    check_integer("n_iter", n_iter, 0)
    X = as_float(X, float_dtype(X))
    if not np.isfinite(X.data if is_sparse(X) else X).all():
        raise ValueError("X contains NaN or infinity.")
    return scaled_left_vectors(X, k, n_iter)


def _symmetric(S: Array, symmetrize: Symmetrize) -> Array:
    T = sparse.csr_array(S.T) if is_sparse(S) else S.T
    if symmetrize == "mean":
        return S * 0.5 + T * 0.5
    return getattr(S, f"{symmetrize}imum")(T) if is_sparse(S) else getattr(np, f"{symmetrize}imum")(S, T)


def _without_diagonal(S: Array) -> Array:
    if is_sparse(S):
        S = S.tocoo()
        off = S.row != S.col
        return sparse.csr_array((S.data[off], (S.row[off], S.col[off])), shape=S.shape)
    S = S.copy()
    np.fill_diagonal(S, 0.0)
    return S


def _allot_columns(sizes: Array, k: int, handling: Handling) -> Array:
    """Feature columns per component, in the order of decreasing size."""
    if len(sizes) > 1 and handling == "error":
        raise ValueError(
            f"W is not connected: it has {_in_words(sizes)}. Its leading eigenvectors only show which component a "
            "node is in. Choose components='giant' for features of the largest, or 'separate' for columns of their own."
        )
    most = np.where(sizes > 1, sizes, 0) if len(sizes) > 1 else sizes
    if handling != "separate":
        most[1:] = 0
    if k > most.sum():
        raise ValueError(
            f"k={k} is more than the {most.sum()} nodes that can have features: W has {_in_words(sizes)}, "
            f"components={handling!r}."
        )
    columns = np.zeros_like(most)
    columns[: min(k, np.count_nonzero(most))] = 1
    while (left := k - columns.sum()) > 0:  # by size, without giving any more than it has nodes
        room = most - columns
        share = np.minimum(room, np.floor(left * room / room.sum()).astype(int))
        if not share.any():
            share[np.argsort(-room, kind="stable")[:left]] = 1
        columns += share
    return columns


def _leading(S: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of D^−½ S D^−½ of a connected graph, decreasing, and their eigenvectors."""
    S = S / (S.max() or 1.0)  # (degrees must not overflow)
    nodes = S.shape[0]
    root = 1 / np.sqrt(np.maximum(np.asarray(S.sum(axis=1)).ravel(), np.finfo(float).tiny))
    scale = sparse.diags_array(root)
    affinity = sparse.csr_array(scale @ S @ scale) if is_sparse(S) else root[:, None] * S * root
    if nodes <= DENSE_UP_TO or 4 * k > nodes:
        values, vectors = np.linalg.eigh(dense(affinity))
        values, vectors = values[-k:], vectors[:, -k:]
    else:
        start = np.random.default_rng(0).standard_normal(nodes)  # D^½1 itself is an eigenvector, and would lead nowhere
        values, vectors = eigsh(affinity, k, which="LA", v0=start, ncv=min(nodes, 3 * k // 2 + 20))
    order = np.argsort(-values, kind="stable")
    return values[order], sign_columns(vectors[:, order])


def _in_words(sizes: Array) -> str:
    if len(sizes) == 1:
        return f"one component of {sizes[0]} nodes"
    alone = np.count_nonzero(sizes == 1)
    shown = ", ".join(str(size) for size in sizes[:4]) + (", ..." if len(sizes) > 4 else "")
    return f"{len(sizes)} connected components, of {shown} nodes" + (f" ({alone} nodes alone)" if alone else "")

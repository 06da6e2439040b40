"""The few operations that differ between NumPy, other Array API libraries and SciPy sparse matrices.

Everything that touches data rows goes through these functions, so that the algebra in
:mod:`jointdr.moments.moments` and :mod:`jointdr.directions.proxy` is written once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_cupy_array, is_numpy_array, is_torch_array
from scipy import sparse

Array = Any  # a NumPy array, an array of any Array API library, or (for views) a SciPy sparse matrix

NUMPY = array_namespace(np.empty(0))


def is_sparse(X: Array) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return bool(sparse.issparse(X))


def is_foreign(X: Array) -> bool:
    """Whether X is an Array API array of another library than NumPy (torch, cupy, ...)."""
    return not is_sparse(X) and is_array_api_obj(X) and not is_numpy_array(X)


def is_accelerated(X: Array) -> bool:
    """Whether X lies in the memory of an accelerator, where few large steps are faster than many small ones."""
    return is_cupy_array(X) or (is_torch_array(X) and X.device.type != "cpu")


def namespace(*arrays: Array) -> Any:
    """The Array API namespace of the dense arrays; NumPy's if all of them are sparse."""
    dense = [X for X in arrays if not is_sparse(X)]
    if all(isinstance(X, np.ndarray) for X in dense):  # a short cut: this is asked for many times a block
        return NUMPY
    try:
        xp = array_namespace(*dense)
    except TypeError:
        kinds = ", ".join(sorted({type(X).__module__ for X in dense}))
        are_arrays = all(map(is_array_api_obj, dense))
        hint = "" if are_arrays else " Give tables and lists as arrays, for example A.to_numpy()."
        raise TypeError(f"All views must be arrays of one library, but got arrays of {kinds}.{hint}") from None
    if len(dense) < len(arrays) and is_foreign(dense[0]):
        raise TypeError(
            f"SciPy sparse views cannot be mixed with {type(dense[0]).__module__} arrays. "
            "Give all views as NumPy arrays or SciPy sparse matrices, or all on one device."
        )
    return xp


def like(X: Array, reference: Array, dtype: Any = None) -> Array:
    """X as an array of the library, on the device and (unless given) with the dtype of `reference`."""
    if is_sparse(reference) or isinstance(reference, np.ndarray):
        return np.asarray(to_numpy(X), dtype=dtype or reference.dtype)
    xp = array_namespace(reference)
    dtype = dtype or reference.dtype
    if is_array_api_obj(X) and array_namespace(X) is xp:
        return xp.astype(xp.asarray(X, device=device(reference)), dtype, copy=False)
    return xp.asarray(X, dtype=dtype, device=device(reference))


def to_numpy(X: Array) -> Array:
    """X as a NumPy array on the host; sparse matrices stay what they are."""
    if is_sparse(X) or isinstance(X, np.ndarray):
        return X
    if is_torch_array(X):
        X = X.detach().cpu()
    elif is_cupy_array(X):
        X = X.get()
    try:
        return np.asarray(X)
    except (TypeError, RuntimeError):
        return np.from_dlpack(X)


def dense(X: Array) -> Array:
    """X with all its entries; a dense array is not copied."""
    return X.toarray() if is_sparse(X) else X


def csr_rows(Y: Array) -> Array:
    """The row index of every stored entry of a CSR array, in order."""
    return np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))


def take_rows(X: Array, at: Array) -> Array:
    """The rows with these indices."""
    if is_foreign(X):
        xp = array_namespace(X)
        return xp.take(X, like(at, X, xp.int64), axis=0)
    return X[at, :]


def take_columns(X: Array, at: Array) -> Array:
    """The columns with these indices."""
    if is_foreign(X):
        xp = array_namespace(X)
        return xp.take(X, like(at, X, xp.int64), axis=1)
    return X[:, at]


def float_dtype(*views: Array) -> Any:
    """The dtype in which products of these views run: float32 if all are float32 or smaller floats, else float64."""
    xp = namespace(*views)
    single = all(str(X.dtype).rsplit(".", 1)[-1] in ("float32", "float16", "bfloat16") for X in views)
    return xp.float32 if single else xp.float64


def as_float(X: Array, dtype: Any) -> Array:
    """X in a floating dtype, copied only if it has another one."""
    if is_sparse(X) or isinstance(X, np.ndarray):
        return X.astype(dtype, copy=False)
    return array_namespace(X).astype(X, dtype, copy=False)


class Scratch:
    """NumPy buffers that are used again for block after block: fresh memory costs more than the arithmetic on it."""

    def __init__(self) -> None:
        self._held: dict[Any, Array] = {}
        self._centers: dict[int, tuple[Array, Array, Array]] = {}

    def like(self, X: Array, key: Any) -> Array | None:
        """A buffer with X's shape and dtype, or None where X is no NumPy array."""
        if not isinstance(X, np.ndarray):
            return None
        key = key, X.ndim == 2 and X.strides[0] < X.strides[1]  # by columns stays by columns
        held = self._held.get(key)
        if held is None or held.dtype != X.dtype or held.shape[1:] != X.shape[1:] or len(held) < len(X):
            held = self._held[key] = np.empty(X.shape, dtype=X.dtype, order="F" if key[1] else "C")
        return held[: len(X)]

    def center(self, given: Array, k: int, X: Array) -> tuple[Array, Array]:
        """The centre cast to X's dtype, to be subtracted, and that rounded value in float64.

        Calls with the same centre return the same arrays, so that callers can compare by identity; comparing values
        would synchronize the device.
        """
        held = self._centers.get(k)
        if held is None or held[0] is not given:
            c = like(given, X)
            double = as_float(c, namespace(c).float64)
            as_given = like(given, double)
            if bool(namespace(c).all(as_given == double)):
                double = given if type(given) is type(double) and given.dtype == double.dtype else double
            held = self._centers[k] = (given, c, double)
        return held[1:]


def subtract_rows(X: Array, c: Array, out: Array | None = None) -> Array:
    """Every row of a dense X minus c."""
    return X - c if out is None else np.subtract(X, c, out=out)


def scale_rows(X: Array, factor: Array, out: Array | None = None) -> Array:
    """Row i of X times factor[i]."""
    if is_sparse(X):
        return (sparse.diags_array(factor) @ X).tocsr()
    return X * factor[:, None] if out is None else np.multiply(X, factor[:, None], out=out)


def inner(X: Array, Y: Array) -> Array:
    """XᵀY as a dense array. For X is Y, BLAS computes one triangle only."""
    return dense(X.T @ Y)


def weighted_square(X: Array, factor: Array, out: Array | None = None) -> Array:
    """Xᵀ diag(factor) X as a dense float64 array, (n, n).

    For NumPy it is P'P − N'N, where P are the rows with positive factors and N the others, both times √|factor|: two
    products of one array with itself, of which BLAS computes one triangle only, which takes two thirds of the time of
    Xᵀ(diag(factor) X). Nothing more cancels than in that sum itself. `out` is a buffer for the rows in their new order.
    """
    if not isinstance(X, np.ndarray):
        product = inner(scale_rows(X, as_float(factor, X.dtype)), X)
        return as_float(product, namespace(product).float64)
    above = factor > 0
    at = np.concatenate([np.flatnonzero(above), np.flatnonzero(~above)])
    rows = np.take(X, at, axis=0, out=out, mode="clip")  # any other mode goes through a copy of `out`
    rows *= np.sqrt(np.abs(factor[at])).astype(X.dtype)[:, None]
    P, N = np.split(rows, [np.count_nonzero(above)])
    return as_float(P.T @ P, np.float64) - as_float(N.T @ N, np.float64)


def dense_product(X: Array, S: Array) -> Array:
    """X S as a dense array; S may be sparse too (a CountSketch)."""
    return dense(X @ S)


def sum_of_squares(X: Array) -> Array:
    """The column sums of the squared entries."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=0)).ravel()
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->j", X, X)  # no temporary of the size of X
    return array_namespace(X).sum(X * X, axis=0)


def column_means(X: Array, weight: Array | None, total: float) -> Array:
    """The (weighted) column means of a dense block; rows that weigh nothing still say where the numbers lie."""
    if weight is None or not total:
        return namespace(X).mean(X, axis=0)
    return (like(weight, X) @ X) / (total or 1.0)


LARGEST_WEIGHT = 1e100  # weights are squared, and multiplied by squares: beyond this, or below its inverse, that fails

SQUARED_FROM, SQUARED_TO = (
    1e-146,
    1e150,
)  # squares of smaller numbers lose digits, and of larger ones overflow in sums


def require_squares(X: Array, name: str, new: bool = False) -> Array:
    """Numbers, dense or sparse, whose squares neither overflow nor vanish, which would make them look constant.

    `new` ones are compared with others that were asked before, so that they may be as small as they like.
    """
    values = X.data if is_sparse(X) else X
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if not largest <= SQUARED_TO:
        raise ValueError(f"{name} is so large, up to {largest:g}, that squares of it overflow: rescale it.")
    if 0 < largest < SQUARED_FROM and not new:
        raise ValueError(f"{name} is so small, at most {largest:g}, that squares of it underflow: rescale it.")
    return X


def slices(n: int, size: int) -> Iterator[slice]:
    """0 ... n cut into pieces of at most `size`."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))

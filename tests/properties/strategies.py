"""Data to try: every value is a small recipe, so that what falsifies a property can be written down as an example."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

PLAIN = ("normal", "whole", "shifted", "correlated", "repeated", "skewed")
SINGULAR = ("constant", "collinear", "one column", "zeros", "few rows")
EXTREME = ("huge", "tiny", "mixed", "enormous", "minute", "subnormal", "far")
KINDS = PLAIN + SINGULAR + EXTREME


def table(kind: str, m: int, n: int, seed: int) -> np.ndarray:
    """An (m, n) float64 table of one kind."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    scales = 10.0 ** rng.uniform(-1, 1, n)
    if kind == "whole":
        return rng.integers(-2, 3, (m, n)).astype(float)
    if kind == "shifted":
        return X * scales + 1000 * rng.standard_normal(n)
    if kind == "correlated":
        return X @ rng.standard_normal((n, n))
    if kind == "repeated":
        return X[rng.integers(0, max(1, m // 2), m)] if m else X
    if kind == "skewed":
        return np.exp(X)
    if kind == "constant":
        X[:, rng.integers(n)] = 0.1
    elif kind == "collinear":
        X[:, -1] = X[:, 0] + X[:, : n // 2].sum(axis=1)
    elif kind == "one column":
        X = np.outer(X[:, 0], scales)
    elif kind == "zeros":
        X = X * (rng.random((m, n)) < 0.2)
    elif kind == "few rows":
        X[2:] = X[:1]
    elif kind == "far":
        X = X + 1e7
    factor = {"huge": 1e150, "tiny": 1e-150, "enormous": 1e300, "minute": 1e-300, "subnormal": 1e-310}.get(kind, 1.0)
    return X * 10.0 ** rng.uniform(-140, 140, n) if kind == "mixed" else X * factor


def vector(kind: str, m: int, seed: int) -> np.ndarray:
    """A response of one kind."""
    rng = np.random.default_rng(seed + 1)
    y = rng.standard_normal(m)
    if kind in ("huge", "tiny", "enormous", "minute", "far", "subnormal", "skewed"):
        return table(kind, m, 1, seed + 1)[:, 0]
    return {
        "normal": y,
        "ties": np.round(y),
        "constant": np.full(m, 0.1),
        "zero": np.zeros(m),
        "two": (y > 0).astype(float),
        "one differs": np.eye(1, m)[0] if m else y,
    }[kind]


RESPONSES = ("normal", "ties", "two", "skewed", "far", "constant", "zero", "one differs")
ANY_RESPONSES = (*RESPONSES, "huge", "tiny", "enormous", "minute", "subnormal")
WEIGHTS = ("none", "ones", "whole", "zeros", "ratio", "huge", "tiny")


def weights(kind: str, m: int, seed: int) -> np.ndarray | None:
    """Sample weights of one kind."""
    rng = np.random.default_rng(seed + 2)
    if kind == "none":
        return None
    return {
        "ones": np.ones(m),
        "whole": rng.integers(1, 4, m).astype(float),
        "zeros": (rng.random(m) < 0.6).astype(float),
        "ratio": 10.0 ** rng.uniform(-12, 12, m),
        "huge": rng.random(m) * 1e200,
        "tiny": rng.random(m) * 1e-200,
    }[kind]


@dataclass(frozen=True)
class Data:
    """Rows of several views, a response and weights."""

    m: int
    widths: tuple[int, ...]
    kinds: tuple[str, ...]
    response: str = "normal"
    weight: str = "none"
    seed: int = 0
    q: int = 1

    @cached_property
    def views(self) -> tuple[np.ndarray, ...]:
        """The tables."""
        parts = zip(self.kinds, self.widths, strict=True)
        return tuple(table(kind, self.m, n, 10 * self.seed + k) for k, (kind, n) in enumerate(parts))

    @cached_property
    def y(self) -> np.ndarray:
        """(m,), or (m, q) for several responses; those of the plain kind are bilinear in the views."""
        columns = [vector(self.response, self.m, 10 * self.seed + 7 * c) for c in range(self.q)]
        Y = np.stack(columns, axis=1) if self.q > 1 else columns[0][:, None]
        if self.response == "normal" and not set(self.kinds) & set(EXTREME):
            Y = Y + np.prod([X[:, :1] for X in self.views], axis=0)
        return Y if self.q > 1 else Y[:, 0]

    @property
    def w(self) -> np.ndarray | None:
        """Sample weights, or None."""
        return weights(self.weight, self.m, self.seed)


def data(
    kinds: tuple[str, ...] = KINDS,
    responses: tuple[str, ...] = ANY_RESPONSES,
    weighted: tuple[str, ...] = WEIGHTS,
    rows: tuple[int, int] = (0, 30),
    widths: tuple[int, int] = (1, 6),
    n_views: tuple[int, int] = (2, 2),
    q: tuple[int, int] = (1, 1),
) -> st.SearchStrategy[Data]:
    """Recipes of rows; at least half of them have enough rows to be fitted."""

    def of(count: int) -> st.SearchStrategy[Data]:
        return st.builds(
            Data,
            m=st.one_of(st.integers(max(12, rows[0]), max(12, rows[1])), st.integers(*rows)),
            widths=st.tuples(*[st.integers(*widths)] * count),
            kinds=st.tuples(*[st.sampled_from(kinds)] * count),
            response=st.sampled_from(responses),
            weight=st.sampled_from(weighted),
            seed=st.integers(0, 1000),
            q=st.integers(*q),
        )

    return st.integers(*n_views).flatmap(of)


# -------------------------------------------------------------------- forms: the same numbers, laid out differently


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _mapped(X: np.ndarray) -> np.ndarray:
    if 0 in X.shape:  # nothing to map
        return X
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, X)
        return np.load(file.name, mmap_mode="r")  # which stays open after the name is gone


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"ß{j}" for j in range(X.shape[1])], index=[f"é{i}" for i in range(len(X))])


def _stored_twice(X: np.ndarray) -> sparse.coo_array:
    i, j = np.nonzero(np.ones(X.shape))
    return sparse.coo_array((np.concatenate([X.ravel() / 2] * 2), ((*i, *i), (*j, *j))), shape=X.shape)


DENSE_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": _strided,
    "negative strides": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "memory-mapped": _mapped,
    "swapped bytes": lambda X: X.astype(">f8"),
    "frame": _frame,
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
}

SPARSE_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    f"{name}_{kind}": getattr(sparse, f"{name}_{kind}")
    for name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
} | {"stored twice": _stored_twice}

FORMS = DENSE_FORMS | SPARSE_FORMS

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool", "object")


# -------------------------------------------------------------------- dyads

IDS = st.text(min_size=1, max_size=4).filter(lambda name: not name.endswith("\0"))


@dataclass(frozen=True)
class Grid:
    """Two tables of entities and the scores between them."""

    shape: tuple[int, int]
    widths: tuple[int, int]
    kinds: tuple[str, str] = ("normal", "normal")
    scores: str = "links"
    observed: str = "all"
    form: str = "dense"
    seed: int = 0

    @cached_property
    def A(self) -> np.ndarray:
        """Features of rows."""
        return table(self.kinds[0], self.shape[0], self.widths[0], 10 * self.seed)

    @cached_property
    def B(self) -> np.ndarray:
        """Features of columns."""
        return table(self.kinds[1], self.shape[1], self.widths[1], 10 * self.seed + 1)

    @cached_property
    def scored(self) -> np.ndarray:
        """The scores as a dense array."""
        rng = np.random.default_rng(self.seed + 3)
        Y = rng.standard_normal(self.shape)
        return {
            "links": (Y > 0.8).astype(float),
            "grades": np.round(2 * Y),
            "numbers": Y,
            "constant": np.ones(self.shape),
            "zero": np.zeros(self.shape),
            "huge": Y * 1e150,
            "tiny": Y * 1e-150,
            "enormous": Y * 1e307,
        }[self.scores]

    def arguments(self) -> dict[str, Any]:
        """Those of `Dyads` and of `fit`."""
        Y, mask = self.scored, None
        if self.observed == "mask":
            mask = np.random.default_rng(self.seed + 4).random(self.shape) < 0.6
            Y = np.where(mask, Y, np.nan)  # which must not be looked at
        if self.observed == "stored":
            return {"Y": sparse.coo_array(Y), "A": self.A, "B": self.B, "observed": "stored"}
        if self.form != "dense" and mask is None:
            Y = FORMS[self.form](Y)
        return {"Y": Y, "A": self.A, "B": self.B, "observed": mask}


def grids(
    kinds: tuple[str, ...] = KINDS,
    scores: tuple[str, ...] = ("links", "grades", "numbers", "constant", "zero", "huge", "tiny", "enormous"),
    entities: tuple[int, int] = (1, 12),
) -> st.SearchStrategy[Grid]:
    """Recipes of dyads."""
    return st.builds(
        Grid,
        shape=st.tuples(st.integers(*entities), st.integers(*entities)),
        widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
        kinds=st.tuples(st.sampled_from(kinds), st.sampled_from(kinds)),
        scores=st.sampled_from(scores),
        observed=st.sampled_from(("all", "mask", "stored")),
        form=st.sampled_from(("dense", *SPARSE_FORMS, "F", "strided", "frame")),
        seed=st.integers(0, 1000),
    )

"""How a method takes the response: what it learns of y first, and the numbers that moments are taken of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.data import Transform, checked_response, fit_transform_of, warn_if_heavy
from jointdr.runtime import Array, is_foreign, to_numpy

IDENTITY = Transform("identity", np.empty(0))

FEWEST_SLICES = 8
"""Slices of y where neither a number nor edges are given: at least this many, and 3 more than features, as R's dr."""

LABELS = (
    "SOLS needs a y of numbers, but got labels: give indicators of the labels, or use OLS or SIR. (The labels of "
    "subpopulations go to fit as groups=.)"
)


def is_label(y: Array) -> bool:
    """Whether y holds labels: text, or truth values."""
    return y.dtype.kind in "USb"


@dataclass(frozen=True)
class ResponseRule:
    """The response as JDR takes it: numbers or labels, transformed by ``response``.

    `caller` is the name of the method, for messages; the others are its parameters.
    """

    caller: str
    response: Any = "identity"
    edges: Any = None
    n_slices: Any = None

    is_used = True
    """Whether the method looks at y."""

    @property
    def is_given_beside(self) -> bool:
        """Whether rows come with more than a response and a weight, which a source does not have."""
        return False

    def check(self, y: Any, n_rows: int, index: Any = None) -> Array:
        return checked_response(y, n_rows, self.caller, index)

    def kind(self, y: Array) -> str:
        """The kind of `Transform` of a response like this one, before anything is read off it."""
        if callable(self.response):
            return "callable"
        return ("class" if is_label(y) else "identity") if self.response == "auto" else str(self.response)

    def learn(self, y: Array, weight: Array | None, streaming: bool = False) -> Transform:
        """Read off y what its transform needs; a stream cannot, and has to be given it as ``edges``."""
        if streaming:
            self.require_known(y, first=True)
        transform = fit_transform_of(self._given(y), y, weight, self.edges, self.n_slices)
        if transform.kind == "identity" and y.ndim == 1 and not streaming:
            warn_if_heavy(y if weight is None else y[weight > 0])
        return transform

    def take(self, y: Any, n_rows: int, weight: Array | None, index: Any = None) -> tuple[Transform, Array]:
        """The transform of the responses of a fit, and the numbers that moments are taken of."""
        y = self.check(y, n_rows, index)
        transform = self.learn(y, weight)
        return transform, self.numbers(transform, y)

    def require_known(self, y: Array, first: bool) -> None:
        """Raise where something is read off all responses, of which a stream has seen some."""
        kind = self._given(y)
        kind = "class" if kind == "auto" and is_label(y) else kind
        # Labels that an earlier fit has seen are all there is to know of them; ranks and slices would move.
        if self.edges is None and (kind in ("rank", "clip", "slices") or (kind == "class" and first)):
            raise ValueError(
                f"response={kind!r} reads something off all responses, which partial_fit cannot: give it as "
                f"edges= ({'all labels' if kind == 'class' else f'numbers, see {self.caller}'})."
            )

    def numbers(self, transform: Transform, y: Array, fitting: bool = True) -> Array:
        """The checked response as the (rows, q) numbers that moments are taken of; other ones where it is scored."""
        return self.of_block(transform, fitting)(y)

    def of_block(self, transform: Transform, fitting: bool = True) -> Callable[[Array], Array]:
        """The same as a value that can be sent to where rows are read."""
        return transform

    def _given(self, y: Array) -> Any:
        return self.response


@dataclass(frozen=True)
class NoResponse(ResponseRule):
    """A method that does not look at y."""

    is_used = False

    def check(self, y: Any, n_rows: int, index: Any = None) -> Array:
        """No response at all, (rows, 0)."""
        return np.zeros((n_rows, 0))

    def learn(self, y: Array, weight: Array | None, streaming: bool = False) -> Transform:
        return IDENTITY

    def numbers(self, transform: Transform, y: Array, fitting: bool = True) -> Array:
        """No response at all, (rows, 0)."""
        return y


@dataclass(frozen=True)
class SlicedResponse(ResponseRule):
    """The index of each row's slice of y, or of its class where y holds labels, (rows, 1)."""

    def kind(self, y: Array) -> str:
        return "class" if is_label(y) else "slices"

    def of_block(self, transform: Transform, fitting: bool = True) -> Callable[[Array], Array]:
        """The indices of the slices, once these are known."""
        if transform.kind == "identity":
            raise ValueError(
                f"This {self.caller} was fitted from moments, so that the slices of y are not known: use "
                "fit, or partial_fit with edges=."
            )
        return SliceIndex(transform)

    def _given(self, y: Array) -> Any:
        return self.kind(y)


@dataclass(frozen=True)
class SliceIndex:
    """The index of each row's slice or class, (rows, 1)."""

    transform: Transform

    def __call__(self, y: Array) -> Array:
        return self.transform.places(y)[:, None]


@dataclass(frozen=True)
class GroupedResponse(ResponseRule):
    """Numbers and, but for `score`, the index of each row's subpopulation as the last column.

    Subpopulations are those of `groups`, or slices of y, or all rows.
    """

    groups: Any = None

    @property
    def is_given_beside(self) -> bool:
        """Whether the subpopulation of each row is given."""
        return self.groups is not None

    def check(self, y: Any, n_rows: int, index: Any = None) -> Array:
        y = super().check(y, n_rows, index)
        if y.dtype.kind in "US":
            raise ValueError(LABELS)
        return y.astype(np.float64)

    def kind(self, y: Array) -> str:
        """Slices of y, where they are asked for."""
        return "identity" if self.n_slices is None and self.edges is None else "slices"

    def learn(self, y: Array, weight: Array | None, streaming: bool = False) -> Transform:
        """The labels of the groups, or the edges of the slices."""
        if self.groups is not None:
            return self._classes(len(y), streaming)
        if self.kind(y) == "identity":
            return IDENTITY
        if streaming:
            self.require_known(y, first=True)
        return fit_transform_of("slices", y, weight, self.edges, self.n_slices or FEWEST_SLICES)

    def require_known(self, y: Array, first: bool) -> None:
        if self.groups is None and self.kind(y) == "slices":
            super().require_known(y, first)

    def numbers(self, transform: Transform, y: Array, fitting: bool = True) -> Array:
        """The responses, with the subpopulations of `groups` where these are given."""
        if self.groups is None or not fitting:
            return self.of_block(transform, fitting)(y)
        labels = self._labels(len(y))
        if not np.isin(labels, transform.grid).all():
            new = np.setdiff1d(labels, transform.grid)
            raise ValueError(
                f"groups holds labels that are not among edges=, or that fit has not seen: {new[:5].tolist()}."
            )
        return np.column_stack([y, transform.places(labels)])

    def of_block(self, transform: Transform, fitting: bool = True) -> Callable[[Array], Array]:
        """The responses with the index of a slice, or with 0."""
        return WithSlice(transform if fitting else None)

    def _given(self, y: Array) -> Any:
        return self.kind(y)

    def _classes(self, n_rows: int, streaming: bool) -> Transform:
        labels = self._labels(n_rows)
        if streaming and self.edges is None:
            raise ValueError("groups may bring new labels later, which partial_fit cannot take: give all as edges=.")
        known = labels if self.edges is None else np.asarray(self.edges, dtype=labels.dtype)
        return Transform("class", np.unique(known))

    def _labels(self, n_rows: int) -> Array:
        labels = np.asarray(to_numpy(self.groups) if is_foreign(self.groups) else self.groups)
        labels = labels.astype(str) if labels.dtype.kind == "O" else labels
        if labels.shape != (n_rows,):
            raise ValueError(f"groups must hold one label per row: {n_rows} rows, but got shape {labels.shape}.")
        return labels


@dataclass(frozen=True)
class WithSlice:
    """The responses as numbers and, where a transform is given, the index of each row's slice as the last column."""

    transform: Transform | None

    def __call__(self, y: Array) -> Array:
        if y.dtype.kind in "US":
            raise ValueError(LABELS)
        Y = y.astype(np.float64)
        Y = Y[:, None] if Y.ndim == 1 else Y
        if self.transform is None:
            return Y
        is_cut = self.transform.kind == "slices"
        return np.column_stack([Y, self.transform.places(Y[:, 0]) if is_cut else np.zeros(len(Y))])

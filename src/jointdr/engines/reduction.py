"""Reductions of blocks of rows: small values that can be sent to wherever the rows are.

A reduction makes a state of some blocks and merges the states of two sets of blocks. It knows nothing of where blocks
come from, so that one definition serves arrays in memory, files and a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from jointdr.moments import Moments
from jointdr.runtime import Array, Scratch, require_mapped, slices, take_rows

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows of every view, of the response and of the weights; `first_row` is the number of the first of them."""

    views: tuple[Array, ...]
    y: Array
    weight: Array | None
    first_row: int = 0

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, at: Array) -> RowBlock:
        """Some of these rows, copied."""
        views = tuple(take_rows(X, at) for X in self.views)
        return replace(self, views=views, y=self.y[at], weight=None if self.weight is None else self.weight[at])

    def pieces(self, size: int) -> Iterator[RowBlock]:
        """The same rows, at most `size` at a time, without copies."""
        for at in slices(len(self), size):
            for X in self.views:
                require_mapped(X)
            views = tuple(X[at, :] for X in self.views)
            weight = None if self.weight is None else self.weight[at]
            yield RowBlock(views, self.y[at], weight, self.first_row + at.start)

    def total_weight(self) -> float:
        return float(len(self)) if self.weight is None else float(self.weight.sum())


class Reduction(Protocol[State]):
    """Blocks to a state, and two states to one."""

    def __call__(self, blocks: Iterable[RowBlock]) -> State:
        """The state of these blocks, of which there is at least one."""

    def merge(self, one: State, two: State) -> State:
        """The state of the rows of both."""

    @property
    def nbytes(self) -> int:
        """About how large a state is."""


Groups = Callable[[RowBlock], tuple[Array, RowBlock]]  # the group of each row, from 0 on, and the block to reduce


def fold_of(rows: Array, n_folds: int, seed: int = 0) -> Array:
    """The fold of each row, a hash of its number: it does not depend on how the rows are cut into blocks."""
    z = rows.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15 * (seed + 1) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finalizer of SplitMix64
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(n_folds)).astype(np.int64)


@dataclass(frozen=True)
class RandomParts:
    """Groups that are random parts of the rows, by their numbers; `first_row` is added to these."""

    n_folds: int
    seed: int = 0
    first_row: int = 0

    def __call__(self, block: RowBlock) -> tuple[Array, RowBlock]:
        if self.n_folds == 1:
            return np.zeros(len(block), dtype=np.int64), block
        first = self.first_row + block.first_row
        return fold_of(np.arange(first, first + len(block)), self.n_folds, self.seed), block


def groups_of_response(block: RowBlock) -> tuple[Array, RowBlock]:
    """The groups that the last component of the response holds, and the block without that component."""
    return block.y[:, -1].astype(np.int64), replace(block, y=block.y[:, :-1])


@dataclass(frozen=True)
class WithoutGroup:
    """A block of which the rows of one group weigh nothing."""

    groups: Groups
    i: int

    def __call__(self, block: RowBlock) -> RowBlock:
        weight = np.ones(len(block)) if block.weight is None else block.weight
        return replace(block, weight=np.where(self.groups(block)[0] == self.i, 0.0, weight))


def in_groups(blocks: Iterable[RowBlock], groups: Groups) -> Iterator[tuple[int, RowBlock]]:
    """Blocks of rows of one group each, with the number of the group."""
    for block in blocks:
        here, block = groups(block)
        present = np.unique(here)
        if len(present) == 1:
            yield int(present[0]), block
            continue
        for i in present:
            yield int(i), block.rows(np.flatnonzero(here == i))


def _parts(blocks: Iterable[tuple[int, RowBlock]], keep: dict[str, Any]) -> Iterator[tuple[int, Moments]]:
    """The moments of each numbered block, about the mean of the first one, so that merging is plain addition.

    That is safe however far the data drifts from there: drift by D adds D² to the variance itself, so the rounding of
    D² is relative to that, up to the number of blocks.
    """
    keep = {**keep, "scratch": Scratch()}
    raw = isinstance(keep.get("center"), int)
    for i, block in blocks:
        part = Moments.of_block(block.views, block.y, block.weight, **keep)
        if not raw:
            # Reuse the same array objects, so that later blocks can be recognised by identity instead of by value.
            keep["center"] = part.centers
        keep["y_center"] = part.y_center
        yield i, part


@dataclass(frozen=True)
class MomentsOf:
    """The moments of all rows; `keep` as in `Moments.of_block`."""

    keep: dict[str, Any]
    nbytes: int = 0
    takes_any_response = True  # whether responses and weights may lie where the views do, too

    def __call__(self, blocks: Iterable[RowBlock]) -> Moments:
        parts = (part for _, part in _parts(((0, block) for block in blocks), self.keep))
        return reduce(Moments.merge, parts).to_numpy()

    def merge(self, one: Moments, two: Moments) -> Moments:
        return one.merge(two)


@dataclass(frozen=True)
class MomentsOfGroups:
    """The moments of the rows of each group; O(rows · n²) for all groups together."""

    groups: Groups
    n_groups: int
    keep: dict[str, Any]
    nbytes: int = 0

    def __call__(self, blocks: Iterable[RowBlock]) -> list[Moments]:
        parts: list[Moments | None] = [None] * self.n_groups
        for i, part in _parts(in_groups(blocks, self.groups), self.keep):
            parts[i] = part.to_numpy() if (held := parts[i]) is None else held + part.to_numpy()
        some = next(part for part in parts if part is not None)
        return [
            Moments.zero(some.n_features, n_responses=some.n_responses, **vars(some.keep)) if part is None else part
            for part in parts
        ]

    def merge(self, one: list[Moments], two: list[Moments]) -> list[Moments]:
        return [a + b for a, b in zip(one, two, strict=True)]


@dataclass(frozen=True)
class SumsOf:
    """The float64 sums over blocks of the arrays that a function makes of each."""

    of_block: Callable[[RowBlock], tuple[Array, ...]]
    nbytes: int = 0

    def __call__(self, blocks: Iterable[RowBlock]) -> tuple[Array, ...]:
        totals: tuple[Array, ...] = ()
        for block in blocks:
            parts = self.of_block(block)
            totals = totals or tuple(np.zeros(np.shape(part)) for part in parts)
            for total, part in zip(totals, parts, strict=True):
                total += part
        return totals

    def merge(self, one: tuple[Array, ...], two: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(a + b for a, b in zip(one, two, strict=True))


@dataclass(frozen=True)
class SumsOfGroups:
    """The same for each group of rows: one tuple of sums for each, None where a group has no rows."""

    of_block: Callable[[RowBlock], tuple[Array, ...]]
    groups: Groups
    n_groups: int
    nbytes: int = 0

    def __call__(self, blocks: Iterable[RowBlock]) -> list[tuple[Array, ...] | None]:
        sums: list[tuple[Array, ...] | None] = [None] * self.n_groups
        one = SumsOf(self.of_block)
        for i, block in in_groups(blocks, self.groups):
            sums[i] = _add_sums(sums[i], one([block]))
        return sums

    def merge(self, one: list[Any], two: list[Any]) -> list[Any]:
        return [_add_sums(a, b) for a, b in zip(one, two, strict=True)]


def _add_sums(one: tuple[Array, ...] | None, two: tuple[Array, ...] | None) -> tuple[Array, ...] | None:
    if one is None or two is None:
        return two if one is None else one
    for total, part in zip(one, two, strict=True):
        total += part
    return one

"""Sources: rows that lie in files or elsewhere, and are read a block at a time, as often as a fit needs them."""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from jointdr.engines.reduction import RowBlock
from jointdr.runtime import Array, check_flag, check_number

Watch = Callable[[int, int], object]  # called with the number of rows and of bytes of every block that has been reduced


class Leaf(Protocol):
    """A run of rows that can be read wherever it is sent; it pickles to a place, such as a file and a row range."""

    @property
    def first_row(self) -> int:
        """The number of its first row among all rows of the source."""

    @property
    def n_rows(self) -> int:
        """How many rows it has."""

    def blocks(self, size: int) -> Iterator[RowBlock]:
        """Its rows, at most `size` at a time, with the response as it is stored.

        A block is only good until the one after the next is asked for: its memory may be used again.
        """

    def responses(self, size: int) -> Iterator[RowBlock]:
        """The same without the views."""


class Source(ABC):
    """Rows that are read block by block. `JDR.fit` and the other estimators take it in place of arrays.

    Made by the functions of `jointdr.io`. A subclass defines where rows lie (`_leaves`) and what they look like.

    Attributes
    ----------
    names : tuple of str
        The names of the views.
    feature_names : tuple of arrays or None
    n_rows : int or None
        None where it takes a read to know.
    nbytes : int or None
        Bytes of one read of all views, as numbers in memory.
    """

    names: tuple[str, ...]
    feature_names: tuple[Array | None, ...]
    n_rows: int | None
    has_response: bool = True
    has_weight: bool = False

    rereadable = True  # whether it can be read more than once
    separable = True  # whether the response can be read without the views
    reader_bytes = 0  # memory of one reader beside the blocks that it gives, in bytes
    table: Array | None = None  # where all views are columns of one table: its column names, or numbers, (1, columns)

    watch: Watch | None = None
    checkpoint: Any = None
    engine: Any = None
    _given: tuple[Array | None, Array | None] = (None, None)

    # ---------------------------------------------------------------- what a subclass defines

    @property
    @abstractmethod
    def templates(self) -> tuple[Array, ...]:
        """The views without rows, (0, n_k): their widths and types."""

    @abstractmethod
    def _leaves(self) -> list[Any]:
        """All rows, in order, as the smallest pieces that can be read by themselves."""

    @abstractmethod
    def _select(self, columns: Sequence[Array]) -> Self:
        """The same rows with these features of each view only."""

    def place(self, row: int) -> str:
        """Where a row lies, in words."""
        return f"row {row}"

    def identity(self) -> dict[str, Any]:
        """A fingerprint of the data that takes no read of it, for checkpoints; JSON-able."""
        given = [None if v is None else hashlib.sha256(v.tobytes()).hexdigest() for v in self._given]
        return {"rows": self.n_rows, "views": [list(self.names), list(self.n_features)], "given": given}

    # ---------------------------------------------------------------- what all have

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(T.shape[1]) for T in self.templates)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of all views."""
        return sum(int(T.shape[1]) * T.dtype.itemsize for T in self.templates)

    @property
    def nbytes(self) -> int | None:
        """Bytes of one read of all views, as numbers in memory."""
        return None if self.n_rows is None else self.n_rows * self.row_bytes

    def leaves(self) -> list[Any]:
        """All rows, in order, in pieces that can be read by themselves."""
        leaves = self._leaves()
        if all(v is None for v in self._given):
            return leaves
        places = [slice(leaf.first_row, leaf.first_row + leaf.n_rows) for leaf in leaves]
        parts = [[None if v is None else v[at] for v in self._given] for at in places]
        return [GivenLeaf(leaf, *part) for leaf, part in zip(leaves, parts, strict=True)]

    def select(self, columns: Sequence[Array]) -> Self:
        """The same rows with the features with these indices of each view only; others are not read."""
        source = self._select(columns)
        for name in ("_given", "has_response", "has_weight", "table", "watch", "checkpoint", "engine"):
            setattr(source, name, getattr(self, name))
        return source

    def with_response(self, y: Any = None, weight: Any = None) -> Self:
        """The same views with a response, or weights, that are held in memory instead of being read.

        Parameters
        ----------
        y : (m,) or (m, q) array, optional
        weight : (m,) array, optional
        """
        source = copy.copy(self)
        given = [None if v is None else np.asarray(v) for v in (y, weight)]
        for name, values in zip(("y", "sample_weight"), given, strict=True):
            if values is None:
                continue
            if self.n_rows is None:
                raise ValueError(f"{name} cannot be given beside blocks whose number is not known: yield it with them.")
            if len(values) != self.n_rows:
                raise ValueError(f"{name} has {len(values)} entries but the source has {self.n_rows} rows.")
        source._given = (self._given[0] if y is None else given[0], self._given[1] if weight is None else given[1])
        source.has_response = self.has_response or y is not None
        source.has_weight = self.has_weight or weight is not None
        return source

    def watched(self, watch: Watch | None) -> Self:
        """The same source, with a function that is called with the rows and the bytes of every block that was reduced.

        A fit that reads the data several times calls it in every read. On a cluster it is not called.
        """
        source = copy.copy(self)
        source.watch = watch
        return source

    def checkpointed(self, path: Any, every: float = 60.0, keep: bool = False) -> Self:
        """The same source, with a file that keeps what was reduced so far: an interrupted fit goes on from there.

        Parameters
        ----------
        path : str or path
            Written at most every `every` seconds, whole or not at all. A file from before is taken up if it belongs to
            the same data and the same fit, and refused otherwise. It is removed when the fit has succeeded.
        every : float
        keep : bool
            Whether it stays all the same, for example until the model is saved.
        """
        from jointdr.engines.checkpoint import Checkpoint

        check_number("every", every, 0)
        check_flag("keep", keep)
        if not self.rereadable or self.n_rows is None:
            raise ValueError("A checkpoint needs a source that can be read from any row on, such as files.")
        source = copy.copy(self)
        source.checkpoint = Checkpoint(path, every, keep)
        return source

    def head(self, size: int = 100) -> RowBlock:
        """The first rows, copied: they are kept for longer than what was read with them."""
        for leaf in self.leaves():
            for block in leaf.blocks(size):
                return replace(block, views=tuple(X.copy() for X in block.views))
        raise ValueError(f"{self!r} has no rows.")

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else self.n_rows
        tables = ", ".join(f"{n}: {rows} × {T.shape[1]}" for n, T in zip(self.names, self.templates, strict=True))
        return f"{type(self).__name__}({tables})"


@dataclass(frozen=True)
class GivenLeaf:
    """A leaf whose response, or weights, are held in memory."""

    leaf: Any
    y: Array | None
    weight: Array | None

    @property
    def first_row(self) -> int:
        return int(self.leaf.first_row)

    @property
    def n_rows(self) -> int:
        return int(self.leaf.n_rows)

    def blocks(self, size: int) -> Iterator[RowBlock]:
        return map(self._with, self.leaf.blocks(size))

    def responses(self, size: int) -> Iterator[RowBlock]:
        if self.y is None:
            return map(self._with, self.leaf.responses(size))
        return RowBlock((), self.y, self.weight, self.first_row).pieces(size)

    def _with(self, block: RowBlock) -> RowBlock:
        start = block.first_row - self.first_row
        at = slice(start, start + block.views[0].shape[0] if block.views else start + len(block.y))
        return replace(
            block,
            y=block.y if self.y is None else self.y[at],
            weight=block.weight if self.weight is None else self.weight[at],
        )


def joined_leaves(leaves: Sequence[Any], n: int) -> list[list[Any]]:
    """Leaves in at most n runs of about the same number of rows."""
    n = max(1, min(n, len(leaves)))
    ends = np.cumsum([leaf.n_rows for leaf in leaves])
    place = np.minimum((ends - 1) * n // max(1, int(ends[-1])), n - 1)
    runs = [[leaf for leaf, i in zip(leaves, place, strict=True) if i == k] for k in range(n)]
    return [run for run in runs if run]

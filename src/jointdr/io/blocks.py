"""A source of blocks that the user's own code makes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from jointdr.data import Views, as_views
from jointdr.engines import RowBlock, Source
from jointdr.runtime import Array, take_columns

ONCE = (
    "These blocks can be read only once, but this fit reads the data several times: give scan_blocks a function that "
    "returns a new iterator each time it is called, or a list."
)


class _Once:
    """An iterator in the place of a function that makes iterators."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._blocks: Iterator[Any] | None = blocks

    def __call__(self) -> Iterator[Any]:
        if self._blocks is None:
            raise ValueError(ONCE)
        blocks, self._blocks = self._blocks, None
        return blocks

    def put_back(self, first: Any, rest: Iterator[Any]) -> None:
        self._blocks = itertools.chain([first], rest)


@dataclass(frozen=True)
class BlocksLeaf:
    """All blocks; what they hold is checked as they come."""

    read: Callable[[], Iterable[Any]]
    like: Views
    columns: tuple[Array, ...] | None = None
    first_row: int = 0
    n_rows: int = 1

    def blocks(self, size: int) -> Iterator[RowBlock]:
        start = 0
        for item in filter(_has_rows, self.read()):
            block = replace(_checked_block(item, self.like), first_row=start)
            start += len(block)
            yield from _select_columns(block, self.columns).pieces(size)

    def responses(self, size: int) -> Iterator[RowBlock]:
        """The same without the views, which have to be made all the same."""
        return (replace(block, views=()) for block in self.blocks(size))


def _select_columns(block: RowBlock, columns: tuple[Array, ...] | None) -> RowBlock:
    if columns is None:
        return block
    views = tuple(take_columns(X, at) for X, at in zip(block.views, columns, strict=True))
    return replace(block, views=views)


def _has_rows(item: Any) -> bool:
    """Whether a block is worth a look: an empty one, say of a query that found nothing, is passed over."""
    views = item[0] if isinstance(item, (tuple, list)) and item else None
    tables = list(views.values()) if isinstance(views, dict) else views
    if not isinstance(tables, (tuple, list)) or not tables:
        return True  # for the checks that follow
    return any(np.shape(X)[:1] != (0,) for X in tables)


def _checked_block(item: Any, like: Views | None) -> RowBlock:
    if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
        raise TypeError(
            "scan_blocks expects blocks that are (views, y) or (views, y, weight), with views such as (A, B), but got "
            f"{type(item).__name__}."
        )
    views = as_views(item[0], "scan_blocks").as_numbers()
    if like is not None and (views.names != like.names or views.n_features != like.n_features):
        raise ValueError(f"All blocks need the same views: the first was {like!r}, but then came {views!r}.")
    y = np.empty((len(views), 0)) if item[1] is None else np.asarray(item[1])
    weight = np.asarray(item[2], dtype=float) if len(item) == 3 and item[2] is not None else None
    for name, values in (("y", y), ("weight", weight)):
        if values is not None and len(values) != len(views):
            raise ValueError(f"{name} has {len(values)} entries but the views of the block have {len(views)} rows.")
    return RowBlock(views.arrays, y, weight)


class BlockSource(Source):
    """Blocks that a function makes anew for every read."""

    n_rows = None
    separable = False

    def __init__(self, read: Callable[[], Iterable[Any]], columns: tuple[Array, ...] | None = None) -> None:
        self._read, self._columns = read, columns
        self.rereadable = not isinstance(read, _Once)
        blocks = filter(_has_rows, read())
        try:
            first = next(blocks)
        except StopIteration:
            raise ValueError("scan_blocks got no block of rows.") from None
        if isinstance(read, _Once):
            read.put_back(first, blocks)
        self._first = _checked_block(first, None)
        views = as_views(first[0]).as_numbers()
        self._like = Views.from_checked(views.names, views.feature_names, None, tuple(X[:0, :] for X in views.arrays))
        self.names, self.feature_names = views.names, views.feature_names
        self.has_response = first[1] is not None

    @property
    def templates(self) -> tuple[Array, ...]:
        if self._columns is None:
            return tuple(self._like.arrays)
        return tuple(take_columns(X, at) for X, at in zip(self._like.arrays, self._columns, strict=True))

    def head(self, size: int = 100) -> RowBlock:
        """The first rows; reads nothing."""
        return next(_select_columns(self._first, self._columns).pieces(size))

    def _leaves(self) -> list[Any]:
        return [BlocksLeaf(self._read, self._like, self._columns)]

    def _select(self, columns: Sequence[Array]) -> Self:
        old = self._columns or tuple(np.arange(X.shape[1]) for X in self._like.arrays)
        return type(self)(self._read, tuple(c[at] for c, at in zip(old, columns, strict=True)))


def scan_blocks(blocks: Callable[[], Iterable[Any]] | Iterable[Any]) -> Source:
    """Rows in blocks that your own code makes, for example from a database.

    Parameters
    ----------
    blocks : callable, list or iterator
        A function that returns an iterator of ``(views, y)`` or ``(views, y, weight)``, with views such as ``(A, B)``
        or a `Views`; it is called for every read of the data, and has to give the same rows each time. A list of such
        blocks will do too. An iterator can be read once: a fit that takes several reads says so before it starts.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.io import scan_blocks
    >>> X, y, _ = make_bilinear(5000, n_features=(20, 10), n_components=2, random_state=0)
    >>> source = scan_blocks(lambda: ((X[i : i + 1000], y[i : i + 1000]) for i in range(0, 5000, 1000)))
    >>> [U.shape for U in JDR(n_components=2).fit(source).embeddings_]
    [(20, 2), (10, 2)]
    """
    if callable(blocks):
        return BlockSource(blocks)
    if not isinstance(blocks, Iterable):
        raise TypeError(
            f"scan_blocks expects a function, a list or an iterator of blocks, not {type(blocks).__name__}."
        )
    held = iter(blocks)
    return BlockSource(_Once(held) if held is blocks else lambda: iter(blocks))

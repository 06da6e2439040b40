"""Rows of a source: what is learned of the response before the views are read, and the responses that come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.data import Transform, checked_response, classes, warn_if_heavy
from jointdr.engines import RowBlock, Source, Stream
from jointdr.estimators.responses import IDENTITY, ResponseRule
from jointdr.runtime import Array

READ_ONCE = "a source that can be read once"


def as_source(X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Source | None:
    """X as a source, with the response and the weights that are given beside it; None if it is not read in blocks.

    `groups` are the columns of each view where X is one dask DataFrame or array.
    """
    if _is_dask(X) or (isinstance(X, (tuple, list)) and any(map(_is_dask, X))) or _has_dask_views(X):
        from jointdr.io import from_collections

        return from_collections(X, y, sample_weight, groups)
    if not isinstance(X, Source):
        return None
    return X if y is None and sample_weight is None else X.with_response(y, sample_weight)


def _is_dask(X: Any) -> bool:
    return hasattr(type(X), "__dask_graph__")


def _has_dask_views(X: Any) -> bool:
    return type(X) is dict and any(map(_is_dask, X.values()))


def stream_of(source: Source, rule: ResponseRule, transform: Transform | None) -> tuple[Stream, Transform]:
    """The rows of a source, with the responses that a rule makes of them, and the transform of these.

    Without a transform it is learned first, from as little as it takes: nothing, a read of y for labels, or all of y in
    memory for ranks, clipping and slices whose edges are not given.
    """
    if rule.is_given_beside:
        raise TypeError(
            f"{rule.caller} takes no groups= beside a source: use n_slices=, or partial_fit block by block."
        )
    if not rule.is_used:
        return Stream(source).with_responses(no_response), IDENTITY
    if not source.has_response:
        raise ValueError(
            f"{rule.caller} requires y, but {source!r} has no response: name it where the source is made, or "
            "give it as fit(source, y)."
        )
    fitting = transform is None
    known = _learn(rule, source) if transform is None else transform
    stream = Stream(source).with_responses(Respond(rule.of_block(known, fitting), rule.caller))
    if source.rereadable and source.separable:
        summary = stream.summary  # finds what is wrong with y before the views are read
        if source.has_weight and summary.n_positive < 2:
            raise ValueError("The weights are zero for too many rows: at least 2 need a positive weight.")
        if fitting and known.kind == "identity" and stream.n_responses == 1:
            warn_if_heavy(summary.sample)
    return stream, known


def _learn(rule: ResponseRule, source: Source) -> Transform:
    raw = Stream(source).with_responses(Checked(rule.caller))
    y = raw.head.y
    kind = rule.kind(y)
    if not source.rereadable or rule.edges is not None or kind in ("identity", "callable"):
        return rule.learn(y, None, streaming=True)
    return classes(*raw.labels()) if kind == "class" else rule.learn(*raw.gathered())


def no_response(block: RowBlock) -> Array:
    """No response at all, (rows, 0)."""
    return np.empty((block.views[0].shape[0] if block.views else len(block.y), 0))


@dataclass(frozen=True)
class Checked:
    """The response as it is stored, checked."""

    caller: str

    def __call__(self, block: RowBlock) -> Array:
        y = block.y[:, 0] if block.y.ndim == 2 and block.y.shape[1] == 1 else block.y
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            row = block.first_row + int(np.argwhere(~np.isfinite(y))[0, 0])
            raise ValueError(f"Input y contains NaN or infinity (first at row {row}): drop those rows or fill them in.")
        w = block.weight
        if w is not None and not (np.isfinite(w) & (w >= 0)).all():
            row = block.first_row + int(np.flatnonzero(~(np.isfinite(w) & (w >= 0)))[0])
            raise ValueError(f"Weights must be finite and not negative, but row {row} has {w[row - block.first_row]}.")
        return checked_response(y, len(y), self.caller)


@dataclass(frozen=True)
class Respond:
    """The response as the (rows, q) numbers that moments are taken of."""

    transform: Callable[[Array], Array]
    caller: str

    def __call__(self, block: RowBlock) -> Array:
        return self.transform(Checked(self.caller)(block))

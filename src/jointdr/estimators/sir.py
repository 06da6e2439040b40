"""SIR: sliced inverse regression of each view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from jointdr.data import indicators
from jointdr.directions import Embedding, Linear, Options, classical
from jointdr.engines import Grid, MomentsOf, RowBlock, Rows, block_rows
from jointdr.estimators.family import SlicedMethod
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import method_options
from jointdr.estimators.scoring import linear_share
from jointdr.moments import Moments
from jointdr.runtime import Array


class SIR(SlicedMethod):
    """Sliced inverse regression of each view (Li, 1991): where the features lie, on average, for each level of y.

    Leading eigenvectors of the covariance of the slices' means, of normalized features. It sees links that rise or fall
    in some part of y; even ones stay hidden, as does a bilinear one, view by view.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
        At most one less than the number of slices.
    n_slices : int, optional
        Slices of y, of about equal weight; R's default, max(8, n + 3) for n features of the widest view, if not given.
        Slices are read off y before the data is read. Labels are slices of their own.
    edges : sequence, optional
        Fixes the inner edges of the slices, or the labels, beforehand, which `partial_fit` needs.
    ridge, scale, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        Between 0 and 1; their squares are the eigenvalues. One array per view.
    response_ : Transform
        ``response_.grid`` holds the edges or the labels.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_
        As in `JDR`.

    Notes
    -----
    One read of the data after one of y, O(m n² + m n H) for H slices. `score` is R² of the linear prediction of the
    slices' indicators, each in units of its standard deviation, the mean over the views. `fit_moments` takes moments
    whose responses are these indicators.

    References
    ----------
    Li (1991), Sliced inverse regression for dimension reduction. JASA 86.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import SIR
    >>> from jointdr.metrics import subspace_error
    >>> A = np.random.default_rng(0).standard_normal((20_000, 6))
    >>> model = SIR(2).fit((A,), A[:, 0] / (0.5 + (A[:, 1] + 1.5) ** 2))
    >>> bool(subspace_error(np.eye(6)[:, :2], model.embeddings_[0]) < 0.1)
    True
    """

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        options = method_options(self, ("means",))
        reading = partial(_read_slices, n_slices=self.response_.n_places)
        return by_moments(options, classical.sir, reading=reading, score=_share)


def _read_slices(rows: Rows | Grid, options: Options, n_slices: int) -> list[Moments]:
    """Moments whose responses are the indicators of the slices, which are made a block at a time."""
    assert isinstance(rows, Rows)  # `_takes_pairs`
    nbytes = 8 * sum(X.shape[1] for X in rows.views) ** 2
    reduction = _SliceMeans(n_slices, rows.pilot().get("center"), nbytes)
    return [rows.reduce(reduction, block_rows(rows.views, 4 * max(X.shape[1] for X in rows.views)))]


def _share(embedding: Embedding, rows: Rows) -> float:
    assert isinstance(embedding.prediction, Linear)
    root = embedding.prediction.y_mean  # of the share of each slice, which scales its indicator
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return linear_share(embedding, rows.with_responses(_Indicators(scale)))


@dataclass(frozen=True)
class _SliceMeans:
    """Moments whose responses are the indicators of n slices, from responses that are the numbers of these."""

    n: int
    center: tuple[Array, ...] | None
    nbytes: int

    def __call__(self, blocks: Iterable[RowBlock]) -> Moments:
        keep: dict[str, Any] = {"blocks": ("means",), "covariance": "full", "cross_covariance": False, "y_center": 0.0}
        if self.center is not None:
            keep["center"] = self.center
        return MomentsOf(keep)(replace(block, y=indicators(block.y[:, 0], self.n)) for block in blocks)

    def merge(self, one: Moments, two: Moments) -> Moments:
        return one.merge(two)


@dataclass(frozen=True)
class _Indicators:
    """The indicators of slices, each in its own scale, from their numbers."""

    scale: Array

    def __call__(self, block: RowBlock) -> Array:
        return indicators(block.y[:, 0], len(self.scale)) * self.scale

"""Data that cannot be multiplied: NaN, infinity, and numbers whose products overflow or underflow."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from jointdr.data import Views, raise_if_not_finite
from jointdr.directions.embedding import Embedding
from jointdr.directions.normalize import SMALLEST_VARIANCE
from jointdr.directions.options import Options
from jointdr.directions.proxy import OVERFLOW
from jointdr.engines import Grid, Rows, Stream
from jointdr.moments import Moments
from jointdr.runtime import require_squares

UNDERFLOW = (
    "The moments underflow: features or responses are too small to be multiplied with each other. "
    "Rescale them, for example with sklearn.preprocessing.StandardScaler."
)


class NoSignalWarning(UserWarning):
    """The response is constant, so that no direction is better than another."""


def warn_no_signal() -> None:
    """Warn that y is constant."""
    warnings.warn(
        "y is constant: there is no signal, and the embeddings are arbitrary directions.",
        NoSignalWarning,
        stacklevel=3,
    )


@contextmanager
def explain_overflow() -> Iterator[None]:
    """No warnings of single operations: an overflow shows in the result, or where it is decomposed."""
    try:
        with np.errstate(all="ignore"):
            yield
    except np.linalg.LinAlgError as error:
        raise ValueError(OVERFLOW) from error


def require_finite(parts: Sequence[Moments], rows: Rows | Grid, options: Options) -> None:
    """Raise if moments of these rows are not finite; NaN and infinity show in the sums, so clean data is read once.

    Squares that vanish do not show there, so the response is looked at too where it is in memory.
    """
    held = (
        M
        for p in parts
        for M in (*p.sums, *p.scatters, *p.thirds.values(), *p.cross_scatters.values(), *p.y_scatters, p.y_scatter)
    )
    if not all(np.isfinite(p.weight_squared) and (p.weight_squared > 0) == (p.weight > 0) for p in parts):
        raise ValueError(
            "sample_weight is too large or too small: its squares overflow or underflow. Rescale the weights, for "
            "example to w / w.max()."
        )
    if all(np.isfinite(M).all() for M in held if M is not None):
        if not isinstance(rows, Stream):
            require_squares(rows.Y if isinstance(rows, Grid) else rows.y, "y")
        return
    if isinstance(rows, Stream):
        rows.raise_if_not_finite()
    raise_if_not_finite(Views.from_checked(options.names, options.features, None, rows.views))
    raise ValueError(OVERFLOW)


def checked_embedding(embedding: Embedding) -> Embedding:
    """The embedding, if nothing has overflowed on the way to it and its singular values have all their digits."""
    if not embedding.is_finite:
        raise ValueError(OVERFLOW)
    largest = max(float(np.max(s, initial=0.0)) for s in embedding.spectra)
    if 0 < largest < SMALLEST_VARIANCE[False]:
        raise ValueError(UNDERFLOW)
    return embedding

"""Moments as plain arrays and back, for model files and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jointdr.moments.block_sums import Keep
from jointdr.moments.moments import Moments
from jointdr.runtime import Array

_NUMBERS = ("n_samples", "weight", "weight_squared", "eps")
_ALONE = ("y_center", "y_sum", "y_scatter")
_PER_VIEW = ("centers", "sums", "scatters", "y_scatters")
_PER_PAIR = ("cross_scatters", "thirds")


def moments_to_arrays(moments: Moments, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Moments as a JSON-able header and arrays whose names begin with the prefix."""
    moments = moments.to_numpy()
    header = {
        **{name: getattr(moments, name) for name in _NUMBERS},
        "blocks": sorted(moments.keep.blocks),
        "covariance": list(moments.keep.covariance),
        "cross_covariance": moments.keep.cross_covariance,
    }
    arrays: dict[str, Array] = {f"{prefix}.{name}": getattr(moments, name) for name in _ALONE}
    for name in _PER_VIEW:
        arrays |= {f"{prefix}.{name}.{k}": v for k, v in enumerate(getattr(moments, name)) if v is not None}
    for name in _PER_PAIR:
        arrays |= {f"{prefix}.{name}.{j}.{k}": v for (j, k), v in getattr(moments, name).items()}
    return header, arrays


def moments_from_arrays(header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str) -> Moments:
    """The moments that `moments_to_arrays` took apart."""
    n_views = len(header["covariance"])
    per_view = {name: tuple(arrays.get(f"{prefix}.{name}.{k}") for k in range(n_views)) for name in _PER_VIEW}
    per_pair = {
        name: {
            (j, k): arrays[key]
            for j in range(n_views)
            for k in range(j, n_views)
            if (key := f"{prefix}.{name}.{j}.{k}") in arrays
        }
        for name in _PER_PAIR
    }
    alone = {name: arrays[f"{prefix}.{name}"] for name in _ALONE}
    numbers = {name: header[name] for name in _NUMBERS}
    keep = Keep.of(n_views, header["blocks"], header["covariance"], header["cross_covariance"])
    return Moments(keep=keep, **numbers, **alone, **per_view, **per_pair)  # type: ignore[arg-type]

"""The translation of a centre: the one formula by which moments merge, are centred and become raw sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from jointdr.runtime import Array, namespace

if TYPE_CHECKING:
    from jointdr.moments.moments import Moments


def translate(moments: Moments, deltas: Sequence[Array], delta_y: Array) -> Moments:
    """The moments of x + δ and y + δ_y about the same centres; O(n²)."""
    w = moments.weight

    def outer(u: Array, v: Array) -> Array:
        return u[:, None] * v[None, :]

    def second(M: Array, du: Array, su: Array, dv: Array, sv: Array) -> Array:
        moved = M + outer(du, sv + w * dv)
        moved += outer(su, dv)
        return moved

    scatters: list[Array | None] = []
    for M, d, s in zip(moments.scatters, deltas, moments.sums, strict=True):
        if M is None or M.ndim == 1:
            scatters.append(None if M is None else M + d * (2 * s + w * d))
        else:
            scatters.append(second(M, d, s, d, s))
    cross = {
        (j, k): second(M, deltas[j], moments.sums[j], deltas[k], moments.sums[k])
        for (j, k), M in moments.cross_scatters.items()
    }
    thirds = {}
    for (j, k), T in moments.thirds.items():
        # Σ (a+δa)(y+δy)(b+δb)ᵀ = T + δa C_ybᵀ + C_ay δbᵀ + S_y δa δbᵀ + δy Σ (a+δa)(b+δb)ᵀ
        right = moments.y_scatters[k].T + moments.y_sum[:, None] * deltas[k][None, :]
        T = T + deltas[j][None, :, None] * right[:, None, :]
        T += moments.y_scatters[j].T[:, :, None] * deltas[k][None, None, :]
        between = scatters[j] if j == k else cross.get((j, k))
        if between is not None:
            T += delta_y[:, None, None] * between[None, :, :]
        elif not _is_rounding(moments, delta_y):
            missing = "covariance='full'" if j == k else "cross_covariance=True"
            raise ValueError(
                "These moments were taken without the covariances that it takes to move the centre of y. "
                f"Compute all blocks with {missing}, or with the same y_center."
            )
        thirds[j, k] = T
    return replace(
        moments,
        sums=tuple(s + w * d for s, d in zip(moments.sums, deltas, strict=True)),
        y_sum=moments.y_sum + w * delta_y,
        scatters=tuple(scatters),
        y_scatters=tuple(
            second(M, d, s, delta_y, moments.y_sum)
            for M, d, s in zip(moments.y_scatters, deltas, moments.sums, strict=True)
        ),
        y_scatter=second(moments.y_scatter, delta_y, moments.y_sum, delta_y, moments.y_sum),
        cross_scatters=MappingProxyType(cross),
        thirds=MappingProxyType(thirds),
    )


def _is_rounding(moments: Moments, delta_y: Array) -> bool:
    """Whether moving y by this much is below the rounding of y's own spread."""
    xp = namespace(*moments.centers)
    spread_squared = xp.linalg.diagonal(moments.y_scatter) / (moments.weight or 1.0)
    return bool(xp.all(delta_y**2 <= 1e-26 * spread_squared))

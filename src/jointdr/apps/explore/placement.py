"""The map: where entities lie in the plane of the two directions along which their coordinates differ most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jointdr.estimators import JDR
from jointdr.prediction import AssociationModel
from jointdr.runtime import Array, dense

SIZE = 1000  # width and height of a map, in its own units
MARGIN = 30
ROOM = 0.02  # beside the outermost entities, in units of their range
WIDER = 1.3  # the range of all entities against that of most, beyond which the map shows most
TICK = 14  # the length of the line that marks an entity beyond the edge
OUTER = 0.5  # per cent of the entities on each side that may lie beyond the edge, where they are drawn on it
DRAWN = 4000  # entities of each kind that are drawn in the background, at most
ITERATIONS, COLUMNS = 15, 10  # of the subspace iteration that finds the two directions


@dataclass(frozen=True)
class Plane:
    """A map from coordinates to the plane; what is at `low` and `high` is drawn at its edges."""

    center: Array  # (r,)
    directions: Array  # (r, 2)
    low: Array  # (2,)
    high: Array  # (2,)

    @staticmethod
    def of(tables: list[Array]) -> Plane:
        """The plane in which the rows of these tables differ most; O(m r) for each of a few iterations."""
        count = sum(T.shape[0] for T in tables)
        center = sum(np.asarray(T.sum(axis=0), dtype=float).ravel() for T in tables) / count
        directions = _leading(tables, np.asarray(center))
        flat = np.vstack([_project(T, center, directions) for T in tables])
        low, high = np.percentile(flat, [OUTER, 100 - OUTER], axis=0)
        least, most = flat.min(axis=0), flat.max(axis=0)
        has_few_outside = most - least <= WIDER * (high - low)
        room = ROOM * (most - least)
        low, high = np.where(has_few_outside, least - room, low), np.where(has_few_outside, most + room, high)
        return Plane(center, directions, low, high)

    def __call__(self, T: Array) -> Array:
        """Where some entities are drawn, (m, 2), within the map; the second counts downwards."""
        is_wide, width = self.high > self.low, self.high - self.low
        share = (_project(T, self.center, self.directions) - self.low) / np.where(is_wide, width, np.inf)
        share = np.where(is_wide, np.clip(share, 0.0, 1.0), 0.5)
        share[:, 1] = 1.0 - share[:, 1]
        return MARGIN + (SIZE - 2 * MARGIN) * share


def planes_of(model: AssociationModel) -> tuple[Plane, Plane]:
    """The planes of rows and of columns: the same one if both have coordinates in the same space.

    The directions of a `JDR` come in pairs, one for rows and one for columns, and scores are high where both agree.
    Those of other methods, and raw features, have nothing to do with each other.
    """
    tables = list(model.coordinates())
    if isinstance(model.embedding_, JDR):
        plane = Plane.of(tables)
        return plane, plane
    return Plane.of(tables[:1]), Plane.of(tables[1:])


def dots(positions: Array) -> str:
    """Points as one SVG path of empty strokes, which round ends turn into dots; at most `DRAWN`, evenly chosen.

    Those on the edge are left out: `ticks` has them.
    """
    positions = positions[~beyond(positions).any(axis=1)]
    step = max(1, -(-len(positions) // DRAWN))
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in positions[::step].tolist())


def ticks(positions: Array) -> str:
    """Points on the edge, and beyond it, as one SVG path of short lines that point outwards; at most `DRAWN`."""
    outward = beyond(positions)
    outside = np.flatnonzero(outward.any(axis=1))
    step = max(1, -(-len(outside) // DRAWN))
    return "".join(tick(*positions[index], *outward[index]) for index in outside[::step])


def tick(x: float, y: float, right: int, down: int, start: float = 0.0, length: float = TICK) -> str:
    """A line from a point outwards, as an SVG path, which begins so far from it."""
    return f"M{x + start * right:.0f} {y + start * down:.0f}l{length * right:.0f} {length * down:.0f}"


def beyond(positions: Array) -> Array:
    """The direction in which each point lies on the edge of the map or beyond it, (m, 2): -1, 0 or 1."""
    return (positions >= SIZE - MARGIN).astype(int) - (positions <= MARGIN)


def _leading(tables: list[Array], center: Array) -> Array:
    """The two leading principal directions, (r, 2), by subspace iteration; signs are fixed, so that maps are too."""
    r = len(center)
    Q = np.random.default_rng(0).standard_normal((r, min(r, COLUMNS)))
    for _ in range(ITERATIONS):
        Q = np.linalg.qr(Q)[0]
        Q = np.sum([_multiply_transposed(T, center, _project(T, center, Q)) for T in tables], axis=0)
    Q = np.linalg.qr(Q)[0]
    flat = np.vstack([_project(T, center, Q) for T in tables])
    P = np.linalg.eigh(flat.T @ flat)[1][:, ::-1][:, :2]
    directions = np.zeros((r, 2))
    directions[:, : P.shape[1]] = Q @ P
    largest = directions[np.argmax(np.abs(directions), axis=0), (0, 1)]
    return directions * np.where(largest < 0, -1.0, 1.0)


def _project(T: Array, center: Array, directions: Array) -> Array:
    """(T − center) · directions, without forming the first where T is sparse."""
    return np.asarray(dense(T @ directions)) - center @ directions


def _multiply_transposed(T: Array, center: Array, H: Array) -> Array:
    """(T − center)ᵀ H, in the same way."""
    return np.asarray(T.T @ H) - np.outer(center, H.sum(axis=0))

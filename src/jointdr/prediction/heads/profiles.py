"""Profiles: the scores of an entity, known or predicted, as a description of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jointdr.prediction.heads.distances import squared_distances
from jointdr.runtime import Array

MOST = 500  # entities whose distances give the unit, at most


@dataclass(frozen=True)
class EntityProfiles:
    """The profiles of known entities, and the similarities of others to them.

    The similarity of two entities is the mean of two rational quadratic kernels, 1/(1 + width d²/median d²): one of
    their scores, and one of what main effects leave of them. The first compares how high entities score, the second
    with whom.

    Attributes
    ----------
    Z : (m_A, m_B) array
        The profiles of rows; those of columns are its transpose.
    """

    Z: Array

    def of(self, k: int) -> Array:
        """The profiles of known rows (k = 0) or columns."""
        return self.Z if k == 0 else self.Z.T

    @cached_property
    def _centered(self) -> Array:
        return center(self.Z, self.Z.mean(axis=0))

    @cached_property
    def _units(self) -> tuple[tuple[float, float], ...]:
        """The median squared distances between rows and between columns, of scores and of what main effects leave."""
        return tuple((median_distance(Z), median_distance(Z.T)) for Z in (self.Z, self._centered))

    def similarities(self, k: int, P: Array, width: float) -> Array:
        """The similarities of entities with these profiles to known rows (k = 0) or columns, (entities, m)."""
        Z, C = self.of(k), self._centered if k == 0 else self._centered.T
        A = rational_quadratic(P, Z, self._units[0][k], width)
        A += rational_quadratic(center(P, Z.mean(axis=0)), C, self._units[1][k], width)
        A *= 0.5
        return A


def center(P: Array, mean: Array) -> Array:
    """Profiles without the mean of each entry, and then without that of each entity."""
    C = P - mean
    C -= C.mean(axis=1, keepdims=True)
    return C


def rational_quadratic(P: Array, Z: Array, unit: float, width: float) -> Array:
    """The kernel 1/(1 + width d²/unit) of all pairs of rows."""
    D = squared_distances(P, Z)
    D *= width / unit
    D += 1.0
    return np.divide(1.0, D, out=D)


def median_distance(Z: Array) -> float:
    """The median squared distance between rows, of some of them; 1 if it is 0."""
    at = np.linspace(0, len(Z) - 1, min(MOST, len(Z))).astype(int)
    D = squared_distances(Z[at], Z[at])
    found = D[np.triu_indices(len(at), 1)]
    found = found[found > 1e-12 * max(float(D.max(initial=0.0)), 1e-300)] if found.size else found
    return float(np.median(found)) if found.size else 1.0

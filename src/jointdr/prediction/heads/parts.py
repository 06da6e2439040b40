"""The parts of a fitted `AssociationModel`, and how they are written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.data import Entities
from jointdr.estimators import ViewsTransformer, estimator_from_arrays, estimator_to_arrays
from jointdr.prediction.heads.build import Bandwidths, HeadParameters, Sides, Widths, build_head, pair_of
from jointdr.prediction.heads.entities import sides_from_arrays, sides_to_arrays
from jointdr.prediction.heads.head import EntitySet, Tables
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import GridRidge
from jointdr.prediction.heads.truncation import Truncation
from jointdr.runtime import Array, matrix_from_arrays, matrix_to_arrays


@dataclass(frozen=True)
class AssociationParts:
    """The fitted embedding, the entities in its coordinates, and the head."""

    embedding: ViewsTransformer | None
    sides: Sides
    bandwidths: Bandwidths
    head: GridRegression | GridRidge
    truncation: Truncation | None
    mix: tuple[float, float] = (0.0, 0.0)  # the shares of raw features beside coordinates

    # ---------------------------------------------------------------- entities

    def describe(self, k: int, new: Entities) -> Tables:
        """New entities as the head takes them."""
        return self.sides[k].describe(new.X)

    def points(self, k: int) -> Tables:
        """The known entities in the same way."""
        return self.sides[k].points

    def coordinates(self, k: int, new: Entities | None) -> Array:
        """Entities in the coordinates that the head compares."""
        return self.sides[k].points[0] if new is None else self.describe(k, new)[0]

    def compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        """Distances and similarities of one entity to all known ones of its kind."""
        side = self.sides[k]
        share = self.mix[k] if len(side.points) == 2 else 0.0
        D, similarity = np.zeros(side.count), np.zeros(side.count)
        for t, part in enumerate((1.0 - share, share)[: len(side.points)]):
            if part > 0:
                h, z = self.bandwidths.new[t], one.take(side.points, slice(0, 1))[t]
                kernel = side.kernel(t, 1.0 if h is None else h[k])
                d = kernel.distances(z)
                if one.indices is not None:
                    d[0, one.indices[0]] = 0.0
                D += part * d[0]
                similarity += part * kernel.evaluate(d)[0]
        return np.sqrt(D), similarity

    # ---------------------------------------------------------------- files

    def to_arrays(self, family: Mapping[str, type]) -> tuple[dict[str, Any], dict[str, Array]]:
        """A part of a header, and arrays; the embedding must be of a class in `family`, which are given by name."""
        header: dict[str, Any] = {"bandwidths": list(self.bandwidths.new), "complete": self.head.complete}
        if self.bandwidths.known is not None:
            header["known_bandwidths"] = list(self.bandwidths.known)
        if self.truncation is not None:
            header["truncation"] = self.truncation.as_dict()
        header["sides"], arrays = sides_to_arrays(self.sides)
        arrays |= matrix_to_arrays("scores", self.head.Y)
        if self.embedding is not None:
            header["embedding"], inner = embedding_to_arrays(self.embedding, family)
            arrays |= inner
        return header, arrays

    @staticmethod
    def from_arrays(
        parameters: HeadParameters,
        family: Mapping[str, type],
        header: Mapping[str, Any],
        arrays: Mapping[str, Array],
        shape: tuple[int, int],
        n_features: tuple[int, int],
    ) -> AssociationParts:
        """The inverse of `to_arrays`; a ValueError unless they are of so many entities with so many features."""
        embedding = embedding_from_arrays(header["embedding"], arrays, family) if "embedding" in header else None
        sides = sides_from_arrays(embedding, header["sides"], arrays, n_features)
        count = len(sides[0].points)
        known = header.get("known_bandwidths")
        bandwidths = Bandwidths(
            _widths_from(header["bandwidths"], count), None if known is None else _widths_from(known, count)
        )
        Y, complete = matrix_from_arrays("scores", arrays), bool(header["complete"])
        if tuple(Y.shape) != shape or (sides[0].count, sides[1].count) != shape:
            raise ValueError(f"its scores and coordinates are not those of {shape[0]} rows and {shape[1]} columns")
        truncation = Truncation.from_dict(header["truncation"]) if "truncation" in header else None
        head = build_head(parameters, Y, complete, sides, bandwidths)
        return AssociationParts(embedding, sides, bandwidths, head, truncation, parameters.mix)


def _widths_from(kept: Any, count: int) -> Widths:
    """Bandwidths of so many descriptions from a header; a ValueError if they are none."""
    found = [pair for h in kept if h is not None and (pair := pair_of(h)) is not None]
    if len(found) != count or len(kept) != 2 or min(map(min, found)) < 0:
        raise ValueError(f"its bandwidths are {kept}")
    return Widths(*found)


def embedding_to_arrays(
    embedding: ViewsTransformer, family: Mapping[str, type]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """A fitted embedding as a part of a header, and arrays; a TypeError unless its class is in `family`."""
    kind = type(embedding).__name__
    if type(embedding) is not family.get(kind):
        raise TypeError(
            f"A model with an embedding of the class {kind} cannot be saved, because loading must not run code "
            f"of others: use one of {sorted(family)}."
        )
    described, inner = estimator_to_arrays(embedding)
    return {**described, "kind": kind}, {f"embedding/{name}": value for name, value in inner.items()}


def embedding_from_arrays(
    header: Mapping[str, Any], arrays: Mapping[str, Array], family: Mapping[str, type]
) -> ViewsTransformer:
    """The inverse of `embedding_to_arrays`."""
    inner = {name.removeprefix("embedding/"): v for name, v in arrays.items() if name.startswith("embedding/")}
    found: ViewsTransformer = estimator_from_arrays(family[header["kind"]], header, inner)
    return found

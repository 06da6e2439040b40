"""The parts of a fitted `AssociationModel`, and how they are written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jointdr.estimators import ViewsTransformer, estimator_from_arrays, estimator_to_arrays
from jointdr.prediction.heads.build import Bandwidths, HeadParameters, Sides, build_head, pair_of
from jointdr.prediction.heads.entities import sides_from_arrays, sides_to_arrays
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

    def to_arrays(self, family: Mapping[str, type]) -> tuple[dict[str, Any], dict[str, Array]]:
        """A part of a header, and arrays; the embedding must be of a class in `family`, which are given by name."""
        header: dict[str, Any] = {"bandwidths": list(self.bandwidths), "complete": self.head.complete}
        if self.truncation is not None:
            header["truncation"] = self.truncation.as_dict()
        header["sides"], arrays = sides_to_arrays(self.sides)
        arrays |= matrix_to_arrays("scores", self.head.Y)
        if self.embedding is not None:
            kind = type(self.embedding).__name__
            if type(self.embedding) is not family.get(kind):
                raise TypeError(
                    f"A model with an embedding of the class {kind} cannot be saved, because loading must not run code "
                    f"of others: use one of {sorted(family)}."
                )
            described, inner = estimator_to_arrays(self.embedding)
            header["embedding"] = {**described, "kind": kind}
            arrays |= {f"embedding/{name}": value for name, value in inner.items()}
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
        embedding = None
        if "embedding" in header:
            inner = {name.removeprefix("embedding/"): v for name, v in arrays.items() if name.startswith("embedding/")}
            embedding = estimator_from_arrays(family[header["embedding"]["kind"]], header["embedding"], inner)
        sides = sides_from_arrays(embedding, header["sides"], arrays, n_features)
        found = [pair for h in header["bandwidths"] if h is not None and (pair := pair_of(h)) is not None]
        if len(found) != len(sides[0].points) or len(header["bandwidths"]) != 2 or min(map(min, found)) < 0:
            raise ValueError(f"its bandwidths are {header['bandwidths']}")
        Y, complete = matrix_from_arrays("scores", arrays), bool(header["complete"])
        if tuple(Y.shape) != shape or (sides[0].count, sides[1].count) != shape:
            raise ValueError(f"its scores and coordinates are not those of {shape[0]} rows and {shape[1]} columns")
        truncation = Truncation.from_dict(header["truncation"]) if "truncation" in header else None
        bandwidths = Bandwidths(*found)
        head = build_head(parameters, Y, complete, sides, bandwidths)
        return AssociationParts(embedding, sides, bandwidths, head, truncation)

"""Descriptions of entities: similarities of their features, or given ones, as kernels of any width.

A description gives similarities s of entities, 1 between equal ones. Its kernels are the powers s^p, so that a width is
a power for all of them: exp(−p d²/2) for Gaussian similarities, (cos φ)^p for cosines, T^p for Tanimoto's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from jointdr.data import Dyads
from jointdr.directions import Embedding
from jointdr.prediction.heads.distances import squared_distances, unit_rows
from jointdr.prediction.heads.head import Tables
from jointdr.prediction.heads.kernels import power
from jointdr.runtime import Array, dense, is_sparse

# Features of which columns count equally are divided by their standard deviations; those that vary less than this
# share of their mean are noise of rounding.
CONSTANT = 1e-12

UNITS = 20.0  # times the median size of a column, beyond which the largest one is taken to have another unit
FULL = 0.25  # of a block of a sparse table, the share of entries that are not 0 above which it is dense
NARROW = 200  # features of a sparse table that is standardized, as a dense one is, at most

Comparison = tuple[str, slice | None, str]  # the name of some features, their place, and the kind of similarities


@dataclass(frozen=True)
class Description:
    """Similarities of the entities of one kind in one description.

    Attributes
    ----------
    name : str
        "features", the name of a block of them, "coordinates", or the name of a similarity matrix.
    kind : {"cosine", "gaussian", "tanimoto", "linear", "given", "identity"}
        "linear" is the inner product of standardized features, which is not bounded by 1.
        "identity" is for entities without any description: each is similar to itself alone.
    source : int
        The table of new entities that it takes: 0 for features, 1, 2, ... for given similarities.
    points : (m, r) array or CSR matrix
        The known entities, in standard units; for given similarities those between them, (m, m).
    center, scale : (n,) arrays or None
        Of features, subtracted and divided by; None for bits, and for cosines of features of one unit.
    unit : float
        Similarities are divided by it: the mean similarity of entities to themselves, where they are given; the mean
        squared distance, where they are Gaussian.
    embedding : Embedding or None
        Features are embedded by it first, and scaled by the power `exponent` of Σ.
    block : slice or None
        The features that it takes, where a table has several blocks of them.
    """

    name: str
    kind: str
    source: int
    points: Array
    center: Array | None = None
    scale: Array | None = None
    unit: float = 1.0
    embedding: Embedding | None = None
    view: int = 0
    exponent: float = 0.5
    block: slice | None = None

    @property
    def label(self) -> str:
        return f"{self.name}, {self.kind}" if self.source == 0 and self.kind != "identity" else self.name

    @property
    def count(self) -> int:
        return int(self.points.shape[0])

    @staticmethod
    def of_features(X: Array, kind: str, name: str = "features", block: slice | None = None) -> Description:
        """Raw features, all or one block: Gaussian similarities of standardized ones, cosines, or Tanimoto's of bits.

        Cosines of features in different units, such as daltons and years, are those of standardized ones.
        """
        X = take_block(X, block)
        center, scale = None, None
        is_narrow = not is_sparse(X) or X.shape[1] <= NARROW
        if is_narrow and (kind in ("gaussian", "linear") or (kind == "cosine" and have_different_units(X))):
            X = np.asarray(dense(X), dtype=float)
            center, scale = X.mean(axis=0), X.std(axis=0)
            scale = np.where(scale > CONSTANT * np.maximum(np.abs(center), 1e-300), scale, np.inf)
        return Description(name, kind, 0, X, center, scale, block=block)._fit(X)

    @staticmethod
    def of_embedding(embedding: Embedding, view: int, X: Array, exponent: float = 0.5) -> Description:
        """Coordinates, by their cosines."""
        return Description("coordinates", "cosine", 0, X, embedding=embedding, view=view, exponent=exponent)._fit(X)

    @staticmethod
    def of_similarity(name: str, S: Array, source: int) -> Description:
        """A given matrix of similarities."""
        diagonal = S.diagonal() if is_sparse(S) else np.diagonal(S)
        unit = float(np.mean(diagonal)) if len(diagonal) else 1.0
        return Description(name, "given", source, S, unit=unit if unit > 0 else 1.0)

    def _fit(self, X: Array) -> Description:
        points = self._standardize(X)
        unit = self.unit
        if self.kind == "gaussian":
            squares = np.asarray(_row_squares(points))
            center = np.asarray(points.mean(axis=0)).ravel()
            spread = 2.0 * (float(squares.mean()) - float(center @ center)) if len(squares) else 1.0
            unit = spread if spread > 0 else 1.0
        elif self.kind == "linear":
            unit = float(np.mean(_row_squares(points))) or 1.0
        return replace(self, points=points, unit=unit)

    def _standardize(self, X: Array) -> Array:
        if self.embedding is not None:
            with np.errstate(all="ignore"):
                X = np.asarray(self.embedding.transform_view(self.view, X, self.exponent), dtype=float)
        if self.center is not None:
            X = (np.asarray(dense(X), dtype=float) - self.center) / self.scale
        if self.kind == "cosine":
            return unit_rows(X if is_sparse(X) else np.asarray(X, dtype=float))
        return sparse.csr_matrix(X, dtype=float) if is_sparse(X) else np.asarray(X, dtype=float)

    def describe(self, tables: Tables) -> Array:
        """New entities, given by all their tables, as `similarities` takes them."""
        X = take_block(tables[self.source], self.block)
        return X if self.kind in ("given", "identity") else self._standardize(X)

    def similarities(self, Z: Array | None = None) -> Array:
        """The similarities of described entities, by default of the known ones, to the known ones, (entities, m)."""
        P = self.points
        if self.kind == "identity":
            return np.eye(self.count) if Z is None else np.zeros((Z.shape[0], self.count))
        if self.kind == "given":
            S = np.asarray(dense(P if Z is None else Z), dtype=float)
            return S if self.unit == 1.0 else S / self.unit
        Z = P if Z is None else Z
        if self.kind == "gaussian":
            D = squared_distances(Z, P)
            D *= -0.5 / self.unit
            return np.exp(D, out=D)
        S = np.asarray(dense(Z @ P.T), dtype=float)
        if self.kind == "linear":
            S /= self.unit
            return S
        if self.kind == "cosine":
            return np.clip(S, 0.0, 1.0, out=S)
        total = _row_squares(Z)[:, None] + _row_squares(P) - S
        return np.divide(S, total, out=np.ones_like(S), where=total > 0)  # entities without any bit are equal


def _row_squares(X: Array) -> Array:
    return np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)


def to_power(S: Array, p: float) -> Array:
    """S^p, entry by entry, of which negative ones count as 0 unless p is 1; S is overwritten."""
    return S if p == 1 else power(np.maximum(S, 0.0, out=S), p)


def is_bits(X: Array) -> bool:
    """Whether a table holds 0 and 1 alone, in more than a few columns."""
    values = X.data if is_sparse(X) else X
    return X.shape[1] >= 8 and values.size > 0 and bool(np.isin(values, (0, 1)).all())


def have_different_units(X: Array) -> bool:
    """Whether some columns of a dense table are far larger than most, so that cosines see nothing else."""
    if is_sparse(X) or X.shape[1] < 2:
        return False
    sizes = np.sqrt(np.mean(np.square(np.asarray(X, dtype=float)), axis=0))
    return bool(sizes.max() > UNITS * np.median(sizes))


def tables_of(dyads: Dyads, k: int) -> Tables:
    """The tables of one side as descriptions take them: features, then similarities in the order of their names."""
    return ((dyads.A, dyads.B)[k], *dyads.similarities[k].values())


def feature_kinds(X: Array, linear: bool = False) -> tuple[str, ...]:
    """The similarities that suit a table of features; with `linear` their inner products too."""
    if X.shape[1] == 0:
        return ()
    more = ("linear",) if linear else ()
    if is_bits(X):
        return ("tanimoto", "cosine", *more)
    wide = is_sparse(X) and X.shape[1] > NARROW  # whose distances are those of lengths
    return ("cosine", *more) if wide else ("cosine", "gaussian", *more)


def take_block(X: Array, block: slice | None) -> Array:
    """Some features of a table, by default all; dense ones of a sparse table as a dense array."""
    if block is None:
        return X
    part = X[:, block]
    return dense(part) if is_sparse(part) and part.nnz > FULL * np.prod(part.shape) else part


def comparisons_of(dyads: Dyads, k: int, linear: bool = False) -> tuple[Comparison, ...]:
    """The similarities that suit the features of one side, or each block of them where its table has several.

    With `linear` inner products of all features too.
    """
    X, encoder = (dyads.A, dyads.B)[k], dyads.encoders[k]
    blocks = () if encoder is None else encoder.blocks_
    if len(blocks) < 2 or blocks[-1][1].stop != X.shape[1]:  # or features that are made of those of the table
        return tuple(("features", None, kind) for kind in feature_kinds(X, linear))
    found = [(name, block, kind) for name, block in blocks for kind in feature_kinds(take_block(X, block))]
    return (*found, ("features", None, "linear")) if linear else tuple(found)


def raw_descriptions(
    dyads: Dyads, k: int, comparisons: tuple[Comparison, ...] | None = None
) -> tuple[Description, ...]:
    """The descriptions of one side that do not depend on scores: by these comparisons of features, and similarities."""
    X = (dyads.A, dyads.B)[k]
    comparisons = comparisons_of(dyads, k) if comparisons is None else comparisons
    found = [Description.of_features(X, kind, name, block) for name, block, kind in comparisons]
    named = dyads.similarities[k]
    found += [Description.of_similarity(name, S, 1 + i) for i, (name, S) in enumerate(named.items())]
    return tuple(found) or (Description("entities", "identity", 0, X),)

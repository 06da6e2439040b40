"""Checked parameters and described entities to a fitted head: pure functions, for fitting, tuning and loading alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from jointdr.data import Dyads
from jointdr.directions import RankError
from jointdr.estimators import JDR, ViewsTransformer, exponent_of
from jointdr.prediction.heads.bandwidths import RULES, Chosen, Pair, choose_bandwidths
from jointdr.prediction.heads.entities import Side, Standardizer
from jointdr.prediction.heads.kernels import Kernel, Mixture
from jointdr.prediction.heads.nearest import neighbor_counts
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import REDUCTION, Coordinates, GridRidge
from jointdr.runtime import Array, check_choice, check_integer, check_number, make_random_state

HEADS = ("auto", "kernel", "bilinear", "kernel_ridge")
KERNELS = ("gaussian", "cosine")
MEDIUM = 0.5  # the bandwidth of kernel_ridge where kernel regression would rather ignore a side
Sides = tuple[Side, Side]


class Widths(NamedTuple):
    """The bandwidths of rows and columns that one call takes."""

    coordinates: Pair  # of the first description of entities: coordinates, or raw features without an embedding
    raw: Pair | None = None  # of the second one, raw features, where there is one


@dataclass(frozen=True)
class Bandwidths:
    """The bandwidths of rows and columns in their two uses, see `Chosen`."""

    new: Widths
    known: Widths | None = None  # None where they are the same

    def asked(self, rows_are_new: bool, columns_are_new: bool) -> Widths:
        """Those of a call; pairs of known entities take those for new rows with known columns."""
        if self.known is None or (rows_are_new and columns_are_new):
            return self.new
        use = (self.known, self.new) if columns_are_new else (self.new, self.known)
        raw = None
        if use[0].raw is not None and use[1].raw is not None:
            raw = use[0].raw[0], use[1].raw[1]
        return Widths((use[0].coordinates[0], use[1].coordinates[1]), raw)

    @staticmethod
    def of(coordinates: Chosen, raw: Chosen | None = None) -> Bandwidths:
        """Those of one description, or of two."""
        new = Widths(coordinates.new, None if raw is None else raw.new)
        if coordinates.known is None and (raw is None or raw.known is None):
            return Bandwidths(new)
        return Bandwidths(
            new, Widths(coordinates.known or coordinates.new, None if raw is None else raw.known or raw.new)
        )


@dataclass(frozen=True)
class HeadParameters:
    """The parameters of a head, checked once: see `AssociationModel` for what they mean."""

    head: str
    kernel: str
    bandwidth: Pair | str  # or the rule by which they are chosen
    raw_bandwidth: Pair | str | None  # None takes those of the coordinates
    exponent: float | None  # None for scale="auto"
    adaptive: int | None
    mix: Pair
    borrow: float
    alpha: float
    nearest: Any  # its meaning depends on the number of entities

    @staticmethod
    def check(given: Mapping[str, Any]) -> HeadParameters:
        """Check the parameters of an `AssociationModel`, of which those that a head does not have are left alone."""
        head = check_choice("head", given["head"], HEADS)
        kernel = check_choice("kernel", given["kernel"], KERNELS)
        borrow = check_number("borrow", given["borrow"], 0, 1, expected="a number >= 0 and <= 1")
        alpha = check_number("alpha", given["alpha"], 0)
        mix = pair_of(given["mix"])
        if mix is None or not 0 <= min(mix) <= max(mix) <= 1:
            raise ValueError(f"mix={given['mix']!r} must be a number from 0 to 1, or one for rows and one for columns.")
        if head == "bilinear" and (max(mix) > 0 or borrow < 1):
            raise ValueError("mix and borrow are for kernels, which head='bilinear' does not have: leave them out.")
        if head != "kernel" and alpha == 0:
            raise ValueError("alpha=0 leaves a ridge head without a solution: give a positive number.")
        adaptive = check_adaptive(given["adaptive"])
        if adaptive is not None and (kernel == "cosine" or head == "kernel_ridge"):
            raise ValueError("adaptive is for kernel='gaussian' and head='kernel': leave it out, or change these.")
        nearest = given["nearest"]
        if head != "kernel" and nearest is not None and nearest != "auto":
            raise ValueError(f"nearest={nearest!r} is for head='kernel': leave it out, or change the head.")
        scale, raw = given["scale"], given["raw_bandwidth"]
        return HeadParameters(
            head=head,
            kernel=kernel,
            bandwidth=_check_bandwidths("bandwidth", given["bandwidth"]),
            raw_bandwidth=None if raw is None else _check_bandwidths("raw_bandwidth", raw),
            exponent=None if _is_auto(scale) else exponent_of(scale),
            adaptive=adaptive,
            mix=mix,
            borrow=borrow,
            alpha=alpha,
            nearest=nearest,
        )


def embedding_for(embedding: Any, dyads: Dyads) -> ViewsTransformer | None:
    """The embedding that the parameter of an `AssociationModel` stands for, not fitted."""
    if embedding is None:
        return None
    if isinstance(embedding, str) and embedding == "auto":
        return JDR(min(80, *dyads.n_features))
    check_embedding(embedding)
    return clone(embedding)


def fit_within_rank(embedding: ViewsTransformer, dyads: Dyads) -> ViewsTransformer | None:
    """The fitted embedding, with as many directions as the data has where it asks for more; None where there are none.

    Features that are constant, repeated or indicators have fewer directions than there are features, and so have parts
    of the entities.
    """
    try:
        return embedding.fit(dyads)
    except RankError as error:
        fewer = lower_rank(embedding, error)
        return None if fewer is None else fewer.fit(dyads)


def lower_rank(embedding: ViewsTransformer, error: RankError) -> ViewsTransformer | None:
    """The embedding with the directions that there are, after an error; None where there are none."""
    r = embedding.get_params().get("n_components")
    if error.most is None or not isinstance(r, int) or error.most >= r:
        raise error
    return clone(embedding).set_params(n_components=error.most) if error.most else None


def check_embedding(embedding: Any) -> None:
    """Raise unless it is "auto", an estimator of the family, or None."""
    is_auto = isinstance(embedding, str) and embedding == "auto"
    if not (is_auto or embedding is None or isinstance(embedding, ViewsTransformer)):
        raise TypeError(f"embedding={embedding!r} must be 'auto', a JDR or another method with its interface, or None.")


def describe_entities(parameters: HeadParameters, dyads: Dyads, embedding: ViewsTransformer | None) -> Sides:
    """The known entities of both kinds: their coordinates and, where these are mixed in, their raw features."""
    dyads.require_features(f"AssociationModel(head={parameters.head!r})")
    exponent = parameters.exponent
    if exponent is None:  # Σ^½ as in the paper
        exponent = 0.5 if embedding is None or isinstance(embedding, JDR) else exponent_of(embedding.scale)
    cosine = parameters.kernel == "cosine" and parameters.head != "bilinear"
    counts: tuple[int | None, int | None] = (None, None)
    if parameters.head == "kernel":
        counts = neighbor_counts(parameters.nearest, dyads.shape, parameters.adaptive)
    with_raw = max(parameters.mix) > 0
    a, b = (
        Side(*Standardizer(embedding, k, exponent, with_raw, cosine).fit(X), parameters.adaptive, counts[k])
        for k, X in enumerate((dyads.A, dyads.B))
    )
    return a, b


def find_bandwidths(
    parameters: HeadParameters, dyads: Dyads, sides: Sides, max_bytes: float, random_state: Any = None
) -> Bandwidths:
    """The bandwidths of every description: as given, or chosen on left-out entities."""

    def choose(description: int, given: Pair | str) -> Chosen:
        if not isinstance(given, str):
            return Chosen(given)
        if parameters.head == "bilinear":
            return Chosen((1.0, 1.0))  # which has no kernel
        kernels = (sides[0].kernel(description), sides[1].kernel(description))
        rng, kept = make_random_state(random_state), 1.0 - parameters.borrow
        found = choose_bandwidths(dyads.Y, dyads.is_complete, kernels, max_bytes, rng, kept, given)
        if parameters.head == "kernel_ridge":  # which cannot ignore a side
            return Chosen((found.new[0] or MEDIUM, found.new[1] or MEDIUM))
        return found

    h = choose(0, parameters.bandwidth)
    if len(sides[0].points) == 1:
        return Bandwidths.of(h)
    raw = parameters.raw_bandwidth
    return Bandwidths.of(h, h if raw is None else choose(1, raw))


def mixtures_of(parameters: HeadParameters, sides: Sides, widths: Widths) -> tuple[Mixture, Mixture]:
    """The kernel weights of rows and of columns, of which columns keep a share of their weight for themselves."""
    (h, raw), mix = widths, parameters.mix
    raws = (None, None) if raw is None else raw
    return (
        sides[0].mixture(h[0], raws[0], mix[0], 0.0),
        sides[1].mixture(h[1], raws[1], mix[1], 1.0 - parameters.borrow),
    )


def build_head(
    parameters: HeadParameters,
    Y: Array,
    complete: bool,
    sides: Sides,
    bandwidths: Bandwidths,
    reduction: float = REDUCTION,
) -> GridRegression | GridRidge:
    """The fitted head; the same for the same arguments, so that a file need not keep it.

    A ridge head on observed pairs is solved up to this `reduction` of the squared gradient.
    """
    if parameters.head == "bilinear":
        a, b = (Coordinates.linear(side.points[0]) for side in sides)
        return GridRidge.fit(Y, complete, (a, b), parameters.alpha, reduction)
    mixtures = mixtures_of(parameters, sides, bandwidths.asked(True, False))
    if parameters.head == "kernel":
        grid = GridRegression(Y, complete, mixtures)
        if bandwidths.known is None:
            return grid
        columns, both = (mixtures_of(parameters, sides, bandwidths.asked(rows, True)) for rows in (False, True))
        return replace(grid, of_new_columns=(replace(grid, kernels=columns), replace(grid, kernels=both)))
    if min(min(h) for h in bandwidths.new if h is not None) == 0:
        raise ValueError("bandwidth 0 is for head='kernel': kernel_ridge needs positive bandwidths.")
    a, b = (Coordinates.of_kernel(mixture, np.random.RandomState(0)) for mixture in mixtures)
    return GridRidge.fit(Y, complete, (a, b), parameters.alpha, reduction)


def regress_on_grid(
    Y: Array, complete: bool, kernels: tuple[Kernel, Kernel], new: Sequence[float], known: Sequence[float]
) -> GridRegression:
    """The regression by these kernels, with the bandwidths in two uses: of new entities, and between known ones."""
    (h_a, h_b), (g_a, g_b), (a, b) = new, known, kernels
    grid = GridRegression(Y, complete, (a.at(h_a), b.at(g_b)))
    if tuple(new) == tuple(known):
        return grid
    columns = replace(grid, kernels=(a.at(g_a), b.at(h_b)))
    both = replace(grid, kernels=(a.at(h_a), b.at(h_b)))
    return replace(grid, of_new_columns=(columns, both))


def check_adaptive(value: Any) -> int | None:
    """The rank of the neighbor whose distance is the unit of bandwidths, or None."""
    expected = "the number of a neighbor, an integer >= 1, or None"
    return None if value is None else check_integer("adaptive", value, 1, expected=expected)


def pair_of(value: Any) -> Pair | None:
    """A number for both sides or one for each; None if it is neither."""
    try:
        if np.asarray(value).dtype.kind == "b":
            return None
        given = np.broadcast_to(np.asarray(value, dtype=float), 2)
    except (TypeError, ValueError):
        return None
    return (float(given[0]), float(given[1])) if np.isfinite(given).all() else None


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check_bandwidths(name: str, value: Any) -> Pair | str:
    if isinstance(value, str) and value in RULES:
        return value
    given = pair_of(value)
    if given is None or min(given) < 0:
        raise ValueError(
            f"{name}={value!r} must be 'auto', 'left-out rows', a number >= 0, or one for rows and one for columns."
        )
    return given

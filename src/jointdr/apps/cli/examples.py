"""What the demo runs on: real gene-disease data where they are installed, made-up data otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jointdr.data import Dyads
    from jointdr.prediction import Recommender
    from jointdr.runtime import Array

SHARE = 0.1
"""Of the rows, held out."""

FEATURES = 400
"""Dense features that the terms of diseases and genes are reduced to."""

NAMED = ("OMIM:154700", "OMIM:219700", "OMIM:163950")
"""Marfan syndrome, cystic fibrosis and Noonan syndrome: always held out, to be shown whatever comes out."""


@dataclass(frozen=True)
class Contender:
    """One way to rank columns for a new row.

    Attributes
    ----------
    name : str
    model : Recommender, or None for the number of known links of each column
    as_they_are : bool
        Whether it is fitted to the features as they are, rather than to the reduced ones.
    """

    name: str
    model: Recommender | None
    as_they_are: bool = False


@dataclass(frozen=True)
class Example:
    """Dyads, what is held out of them, and who competes.

    Attributes
    ----------
    title : str
    dyads, reduced : Dyads
        The same entities and scores, with their features as they are and with dense ones.
    names : mapping of str to str
        What ids stand for.
    contenders : tuple of Contenders
        The last is the one whose recommendations are shown.
    held_out : array of int
        Rows.
    shown : tuple of int
        Rows, among those held out.
    """

    title: str
    dyads: Dyads
    reduced: Dyads
    names: Mapping[str, str]
    contenders: tuple[Contender, ...]
    held_out: Array
    shown: tuple[int, ...]

    def name(self, id: str) -> str:
        """What an id stands for."""
        return self.names.get(id, id)


def gene_diseases(limit: int | None = None) -> Example:
    """Diseases of OMIM, their phenotypes, and the genes that cause them.

    Parameters
    ----------
    limit : int, optional
        So many diseases only, and the genes that are linked to them.

    Raises
    ------
    ImportError
        If the packages with the data are not installed.
    """
    from jointdr import IMC, JDR, AssociationModel, Dyads
    from jointdr.datasets import load_hpo, lsa_features

    dyads, names = load_hpo()
    if limit is not None and limit < dyads.shape[0]:
        dyads = _part(dyads, max(limit, 30))
    features = min(FEATURES, *dyads.shape)
    A, B = (lsa_features(X, features) for X in (dyads.A, dyads.B))
    reduced = Dyads(dyads.Y, A, B, row_ids=dyads.row_ids, column_ids=dyads.column_ids, names=dyads.names)
    # Settings with the best mean recall at 10, 30 and 100 on three validation splits of the diseases that are not held
    # out here. Mixing raw similarities into JDR's gained less than 0.001 there.
    contenders = (
        Contender("popularity of genes", None),
        Contender(
            "similar diseases, genes ignored",
            AssociationModel(None, kernel="cosine", bandwidth=(_power(3), 0.0)),
            as_they_are=True,
        ),
        Contender("inductive matrix completion", IMC(min(300, features), tol=1e-4)),
        Contender(
            "no reduction",
            AssociationModel(None, kernel="cosine", bandwidth=(_power(3), _power(2))),
            as_they_are=True,
        ),
        Contender(
            "JDR",
            AssociationModel(JDR(features, ridge=0.1), kernel="cosine", scale=0.5, bandwidth=(_power(3), _power(2))),
        ),
    )
    named = [int(np.flatnonzero(dyads.row_ids == id)[0]) for id in NAMED]
    return Example("Genes that cause diseases", dyads, reduced, names, contenders, *_held_out(dyads.shape[0], named))


def made_up() -> Example:
    """Rows and columns with three hidden traits; pairs are linked where the traits agree.

    Of the first 40 columns no link is known, except to the rows that are held out.
    """
    from jointdr import IMC, JDR, AssociationModel, Dyads

    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((600, 40)), rng.standard_normal((400, 30))
    U, V = (np.linalg.qr(rng.standard_normal((n, 3)))[0] for n in (40, 30))
    distance = ((A @ U)[:, None, :] - (B @ V)[None, :, :]) ** 2
    Y = (rng.random((600, 400)) < 0.5 * np.exp(-2 * distance.sum(axis=2))).astype(float)
    held_out, shown = _held_out(600, [0, 1, 2])
    Y[np.ix_(np.setdiff1d(np.arange(600), held_out), np.arange(40))] = 0.0
    ids = [[f"{letter}{i}" for i in range(count)] for letter, count in zip("rc", Y.shape, strict=True)]
    dyads = Dyads(Y, A, B, row_ids=ids[0], column_ids=ids[1], names=("row", "column"))
    contenders = (
        Contender("popularity of columns", None),
        Contender("similar rows, columns ignored", AssociationModel(None, bandwidth=(0.3, 0.0))),
        Contender("inductive matrix completion", IMC(3)),
        Contender("no reduction", AssociationModel(None, bandwidth=0.3)),
        Contender("JDR", AssociationModel(JDR(3), bandwidth=0.1)),
    )
    return Example("Made-up links", dyads, dyads, {}, contenders, held_out, shown)


def _power(q: int) -> float:
    """The bandwidth with which a cosine counts with its q-th power."""
    return float(q) ** -0.5


def _held_out(count: int, named: list[int]) -> tuple[Array, tuple[int, ...]]:
    """A random share of the rows, and some that are always among them."""
    others = np.setdiff1d(np.arange(count), named)
    drawn = np.random.default_rng(0).choice(others, round(SHARE * count) - len(named), replace=False)
    return np.sort(np.concatenate([drawn, named])), tuple(named)


def _part(dyads: Dyads, limit: int) -> Dyads:
    """Some diseases, the named ones among them, and the genes that they are linked to."""
    named = np.flatnonzero(np.isin(dyads.row_ids, NAMED))
    others = np.setdiff1d(np.arange(dyads.shape[0]), named)
    drawn = np.random.default_rng(0).choice(others, limit - len(named), replace=False)
    part = dyads.rows(np.sort(np.concatenate([drawn, named])))
    return part.columns(np.flatnonzero(np.asarray(part.Y.sum(axis=0)).ravel()))

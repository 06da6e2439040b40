"""Data of the demo: real gene-disease associations where they are installed, made-up ones otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from jointdr.data import Dyads
    from jointdr.evaluation import Method
    from jointdr.runtime import Array

AT = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)  # numbers of retrieved columns
HELD_OUT_SHARE = 0.1  # of the rows
N_DENSE = 400  # dense features that the terms of diseases and genes are reduced to
DEFAULT = "AssociationModel()"  # the last method
# Marfan syndrome, cystic fibrosis and Noonan syndrome: always held out, to be shown whatever comes out.
NAMED = ("OMIM:154700", "OMIM:219700", "OMIM:163950")


@dataclass(frozen=True)
class Example:
    """Dyads, the rows that are held out of them, and the methods that are compared."""

    title: str
    dyads: Dyads  # with raw features
    reduced: Dyads  # the same entities and scores, with dense features
    names: Mapping[str, str]  # of ids
    methods: dict[str, Method]  # the last is the one whose recommendations are shown
    held_out: Array  # rows
    shown: tuple[int, ...]  # rows, among those held out

    @property
    def kept(self) -> Array:
        return np.setdiff1d(np.arange(self.dyads.shape[0]), self.held_out)

    @property
    def at(self) -> list[int]:
        """Numbers of retrieved columns, fewer than there are."""
        return [k for k in AT if k < self.dyads.shape[1]]

    @property
    def is_new_column(self) -> Array:
        """Marks the columns that have no known pair but with rows that are held out, (columns,)."""
        return np.asarray(self.dyads.Y[self.kept].sum(axis=0)).ravel() == 0

    @property
    def n_known(self) -> int:
        """The number of known pairs, of all rows."""
        return int(sparse.csr_array(self.dyads.Y).nnz)

    def table(self, method: str) -> Dyads:
        return self.reduced if self.methods[method].reduced else self.dyads

    def name(self, id: str) -> str:
        return self.names.get(id, id)

    def known_columns(self, row: int) -> Array:
        return np.flatnonzero(sparse.csr_array(self.dyads.rows([row]).Y).toarray()[0])

    def shared_terms(self, row: int, other: str, most: int = 3) -> list[str]:
        """Terms that add most to the inner product of the features of two rows; none for features without names."""
        terms, A = self.dyads.feature_names[0], self.dyads.A
        if terms is None or not sparse.issparse(A):
            return []
        at = int(np.flatnonzero(self.dyads.row_ids == other)[0])
        product = A[[row]].multiply(A[[at]]).toarray()[0]
        top = np.argsort(-product, kind="stable")[:most]
        return [self.name(terms[i]) for i in top if product[i] > 0]


def gene_diseases(limit: int | None = None) -> Example:
    """Diseases of OMIM, their phenotypes, and the genes that cause them.

    Parameters
    ----------
    limit : int, optional
        So many diseases only, and the genes that are associated with them.

    Raises
    ------
    ImportError
        If the packages with the data are not installed.
    """
    from jointdr import IMC, JDR, AssociationModel, Dyads, Popularity
    from jointdr.datasets import load_hpo, lsa_features
    from jointdr.evaluation import Method

    dyads, names = load_hpo()
    if limit is not None and limit < dyads.shape[0]:
        dyads = _part(dyads, max(limit, 30))
    features = min(N_DENSE, *dyads.shape)
    A, B = (lsa_features(X, features) for X in (dyads.A, dyads.B))
    reduced = Dyads(dyads.Y, A, B, row_ids=dyads.row_ids, column_ids=dyads.column_ids, names=dyads.names)
    # Settings of named methods have the best mean recall at 10, 30 and 100 on three validation splits of the diseases
    # that are not held out here. Mixing raw similarities into JDR's gained less than 0.001 there. The default chooses
    # by itself.
    squared, cubed = 2**-0.5, 3**-0.5  # bandwidths with which a cosine counts with this power
    cosine: dict[str, Any] = {"kernel": "cosine", "bandwidth": (cubed, squared)}
    methods = {
        "popularity of genes": Method(Popularity()),
        "similar diseases, genes ignored": Method(
            AssociationModel(None, head="kernel", kernel="cosine", bandwidth=(cubed, 0.0))
        ),
        "inductive matrix completion": Method(IMC(min(300, features), tol=1e-4, fit_intercept=False), reduced=True),
        "no reduction": Method(AssociationModel(None, head="kernel", **cosine)),
        "JDR": Method(AssociationModel(JDR(features, ridge=0.1), head="kernel", scale=0.5, **cosine), reduced=True),
        DEFAULT: Method(AssociationModel(uses="rows", random_state=0)),
    }
    named = [int(np.flatnonzero(dyads.row_ids == id)[0]) for id in NAMED]
    held_out = _draw(dyads.shape[0], round(HELD_OUT_SHARE * dyads.shape[0]), named)
    return Example("Genes that cause diseases", dyads, reduced, names, methods, held_out, tuple(named))


def made_up() -> Example:
    """Rows and columns with three hidden traits; pairs are associated where the traits agree.

    The first 40 columns have no known pair, except with the rows that are held out.
    """
    from jointdr import IMC, JDR, AssociationModel, Dyads, Popularity
    from jointdr.evaluation import Method

    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((600, 40)), rng.standard_normal((400, 30))
    U, V = (np.linalg.qr(rng.standard_normal((n, 3)))[0] for n in (40, 30))
    distance = ((A @ U)[:, None, :] - (B @ V)[None, :, :]) ** 2
    Y = (rng.random((600, 400)) < 0.5 * np.exp(-2 * distance.sum(axis=2))).astype(float)
    held_out = _draw(600, round(HELD_OUT_SHARE * 600), [0, 1, 2])
    Y[np.ix_(np.setdiff1d(np.arange(600), held_out), np.arange(40))] = 0.0
    ids = [[f"{letter}{i}" for i in range(count)] for letter, count in zip("rc", Y.shape, strict=True)]
    dyads = Dyads(Y, A, B, row_ids=ids[0], column_ids=ids[1], names=("row", "column"))
    methods = {
        "popularity of columns": Method(Popularity()),
        "similar rows, columns ignored": Method(AssociationModel(None, head="kernel", bandwidth=(0.3, 0.0))),
        "inductive matrix completion": Method(IMC(3, fit_intercept=False)),
        "no reduction": Method(AssociationModel(None, head="kernel", bandwidth=0.3)),
        "JDR": Method(AssociationModel(JDR(3), head="kernel", bandwidth=0.1)),
        DEFAULT: Method(AssociationModel(uses="rows", random_state=0)),
    }
    return Example("Made-up links", dyads, dyads, {}, methods, held_out, (0, 1, 2))


def _draw(count: int, size: int, named: Any) -> Array:
    """So many of the rows at random, with some that are always among them."""
    others = np.setdiff1d(np.arange(count), named)
    return np.sort(np.concatenate([np.random.default_rng(0).choice(others, size - len(named), replace=False), named]))


def _part(dyads: Dyads, limit: int) -> Dyads:
    """Some diseases, the named ones among them, and the genes that they are associated with."""
    part = dyads.rows(_draw(dyads.shape[0], limit, np.flatnonzero(np.isin(dyads.row_ids, NAMED))))
    return part.columns(np.flatnonzero(np.asarray(part.Y.sum(axis=0)).ravel()))

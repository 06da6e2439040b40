"""The methods that `evaluate` compares: unfitted models, and the grids that their settings are tuned on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.data import BY, By, Dyads
from jointdr.directions import scaled_left_vectors
from jointdr.estimators import JDR, PCA, PHD, SOLS, ViewsTransformer
from jointdr.evaluation.peers.menu import PEERS, unsuitable_peers
from jointdr.prediction import IMC, AssociationModel, Popularity, Recommender, recipe
from jointdr.runtime import Array, as_float, check_choice, check_flag, float_dtype, is_sparse

Grid = dict[str, list[Any]]

WIDE = 2000  # a sparse table with more features than this is reduced before its covariance is normalized
REDUCED = 400  # the most features that a table is reduced to, for methods that need a covariance
SLOW = 3000  # kernel methods are left out, unless they are asked for, where one side has more entities than this

# In units of the root mean square distance; with 0 a side is ignored.
GAUSSIAN_BANDWIDTHS = [0.0, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5]
COSINE_BANDWIDTHS = [power**-0.5 for power in (1, 2, 3, 5, 8, 16)]  # of kernels (cos φ)^(1/h²)


@dataclass(frozen=True)
class Method:
    """An unfitted model, and the grid that its settings are tuned on.

    Attributes
    ----------
    model : Recommender
    grid : mapping, sequence of mappings, or None
        As in `AssociationModel.tune`; None if there is nothing to tune.
    reduced : bool
        Whether the model is given the features of `reduce_features`, because it inverts their covariance.
    """

    model: Recommender
    grid: Any = None
    reduced: bool = False

    def __post_init__(self) -> None:
        check_flag("reduced", self.reduced)


def standard_methods(dyads: Dyads, names: Iterable[str] | None = None, *, by: By = "rows") -> dict[str, Method]:
    """Named methods, each with the grid that suits these dyads.

    Parameters
    ----------
    dyads : Dyads
        The data that they are for: numbers of directions go as far as its features do.
    names : iterable of str, optional
        Some of `METHOD_NAMES`, in this order. By default all that are meant for this kind of data.
    by : {"rows", "columns", "both", "pairs"}
        The entities that are going to be held out. It decides which of the two sides is ignored by default.

    Returns
    -------
    dict of str to Method

    Notes
    -----
    ``default`` is an `AssociationModel` that chooses by itself for the question `by`; nothing is tuned from outside. It
    is the first of all, so that differences are taken to it.

    Peers, which take features and similarities alike: ``Kronecker ridge``, ridge regression with products of kernels
    (Pahikkala et al., 2015); ``Kronecker ridge + profiles``, whose kernels have a share of Gaussian interaction
    profiles, the known scores of known entities; ``two-step ridge``, with a penalty for each side (Stock et al., 2018);
    ``WNN-GIP``, where new entities get the profiles of weighted nearest neighbors (van Laarhoven and Marchiori, 2013);
    ``weighted ALS``, matrix factorization (Hu, Koren and Volinsky, 2008), and kernel ridge regression to the factors of
    new entities; ``LightGBM``, boosted trees on the features of both entities (Ke et al., 2017), where
    lightgbm is installed. Two-step ridge is left out where only some pairs are known, WNN-GIP for graded scores, and
    kernel methods where a side has more than 3000 entities, unless they are named.

    ``JDR + KR`` is the paper's method: coordinates scaled by Σ^½, Gaussian kernels, and 20 to 100 directions. ``JDR``
    is an `AssociationModel` with the stages of its own `tune`. ``PCA + KR``, ``pHd + KR`` and ``sOLS + KR`` have other
    embeddings (`PCA`, `PHD`, `SOLS`) and the same kernels, and are also offered Σ^½. ``no reduction`` takes the raw
    features, with Gaussian or cosine kernels; ``columns ignored`` and ``rows ignored`` use one side of them only, with
    either kernel. ``bilinear ridge`` and ``kernel ridge`` are the ridge heads on raw features, ``popularity`` is
    `Popularity`.

    Normalizing takes a covariance that can be inverted, so wide tables are reduced first, see `reduce_features`.
    Kernels take raw features, and so does ``JDR``, whose ridge is tuned, unless they are sparse and more than 2000.

    References
    ----------
    Pahikkala, Airola, Pietila, Shakyawar, Szwajda, Tang and Aittokallio (2015). Toward more realistic drug-target
    interaction predictions. Briefings in Bioinformatics 16, 325-337.

    Stock, Pahikkala, Airola, De Baets and Waegeman (2018). A comparative study of pairwise learning methods based on
    kernel ridge regression. Neural Computation 30, 2245-2283.

    van Laarhoven and Marchiori (2013). Predicting drug-target interactions for new drug compounds using a weighted
    nearest neighbor profile. PLoS ONE 8, e66952.

    Hu, Koren and Volinsky (2008). Collaborative filtering for implicit feedback datasets. ICDM, 263-272.

    Ke, Meng, Finley, Wang, Chen, Ma, Ye and Liu (2017). LightGBM: a highly efficient gradient boosting decision tree.
    NeurIPS 30, 3146-3154.
    """
    check_choice("by", by, BY)
    chosen = _default_names(dyads, by) if names is None else list(names)
    if unknown := [name for name in chosen if name not in METHOD_NAMES]:
        raise ValueError(f"Unknown methods in names: {unknown}. Choose from {list(METHOD_NAMES)}.")
    if not chosen:
        raise ValueError(f"names is empty; choose from {list(METHOD_NAMES)}.")
    return {name: Method(*PEERS[name](dyads, by)) if name in PEERS else _METHODS[name](dyads) for name in chosen}


def reduce_features(dyads: Dyads) -> Dyads:
    """The dyads with at most 400 features a side, and at most half as many as entities.

    A table with more is replaced by the leading left singular vectors times singular values of all its entities, known
    and new (latent semantic analysis). Scores have no influence, as they have none on spectral features of a network.
    """
    tables = [_reduce_table(X) for X in (dyads.A, dyads.B)]
    if tables[0] is dyads.A and tables[1] is dyads.B:
        return dyads
    part = dyads.replace(tables=tables)
    a, b = dyads.feature_names
    part.feature_names = (a if tables[0] is dyads.A else None, b if tables[1] is dyads.B else None)
    return part


def _reduce_table(X: Array) -> Array:
    k = _width(X.shape[0])
    return X if X.shape[1] <= k else scaled_left_vectors(as_float(X, float_dtype(X)), k)


def _default_names(dyads: Dyads, by: By) -> list[str]:
    is_slow = max(dyads.shape) > SLOW
    left_out = {"rows": ["rows ignored"], "columns": ["columns ignored"]}.get(by, ["rows ignored", "columns ignored"])
    if is_slow:
        left_out.append("kernel ridge")
    if 0 in dyads.n_features:
        left_out += [name for name in _METHODS if name != "popularity"]  # which needs none
    left_out += unsuitable_peers(dyads, by, is_slow)
    return [name for name in METHOD_NAMES if name not in left_out]


def _ranks(dyads: Dyads) -> list[int]:
    """20, 40, ..., 100 directions, or as many as there can be."""
    most = min(*(min(n, _width(m)) for n, m in zip(dyads.n_features, dyads.shape, strict=True)))
    return sorted({min(r, most) for r in (20, 40, 60, 80, 100)})


def _width(m: int) -> int:
    """The most features that m entities are described by after a reduction."""
    return max(1, min(REDUCED, m // 2))


def _kernel_regression(embedding: Callable[[int], ViewsTransformer], scales: list[Any]) -> Callable[[Dyads], Method]:
    """An embedding and Gaussian kernels: directions with columns ignored or not, then Σ, then both bandwidths."""

    def method(dyads: Dyads) -> Method:
        model = AssociationModel(embedding(_ranks(dyads)[-1]), head="kernel", scale=scales[0], random_state=0)
        stages: list[Grid] = [
            {"n_components": _ranks(dyads), "column_bandwidth": [0.0, 0.3], "row_bandwidth": GAUSSIAN_BANDWIDTHS},
            {"scale": scales, "row_bandwidth": GAUSSIAN_BANDWIDTHS},
            {"column_bandwidth": GAUSSIAN_BANDWIDTHS, "row_bandwidth": GAUSSIAN_BANDWIDTHS},
        ]
        return Method(model, stages, reduced=True)

    return method


def _tuned_jdr(dyads: Dyads) -> Method:
    wide = any(is_sparse(X) and X.shape[1] > WIDE for X in (dyads.A, dyads.B))
    model = AssociationModel(head="kernel", random_state=0)
    if wide:  # the recipe asks for sizes only
        tables = [np.zeros((m, min(n, _width(m)))) for m, n in zip(dyads.shape, dyads.n_features, strict=True)]
        dyads = dyads.replace(tables=tables)
    return Method(model, recipe(model, dyads), reduced=wide)


def _imc(dyads: Dyads) -> Method:
    grid: Grid = {"n_components": _ranks(dyads)[::2], "alpha": [0.001, 0.01, 0.1, 1.0, 10.0]}
    return Method(IMC(min(10, _ranks(dyads)[-1])), [grid, {"n_components": _ranks(dyads)}], reduced=True)


def _features(*stages: Grid, **params: Any) -> Callable[[Dyads], Method]:
    """Raw features, without an embedding."""
    return lambda dyads: Method(AssociationModel(None, **{"head": "kernel", **params}, random_state=0), list(stages))


def _one_side(used: str, ignored: str) -> Callable[[Dyads], Method]:
    alone: Grid = {f"{ignored}_bandwidth": [0.0]}
    cosine: Grid = {**alone, "kernel": ["cosine"], f"{used}_bandwidth": COSINE_BANDWIDTHS}
    return _features({**alone, f"{used}_bandwidth": GAUSSIAN_BANDWIDTHS}, cosine)


def _bilinear_ridge(dyads: Dyads) -> Method:
    model = AssociationModel(None, head="bilinear", random_state=0)
    return Method(model, {"alpha": [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]}, reduced=True)


_METHODS: dict[str, Callable[[Dyads], Method]] = {
    "JDR + KR": _kernel_regression(JDR, [0.5]),
    "JDR": _tuned_jdr,
    "PCA + KR": _kernel_regression(PCA, [0.5, None]),
    "pHd + KR": _kernel_regression(PHD, [0.5, None]),
    "sOLS + KR": _kernel_regression(SOLS, [0.5, None]),
    "IMC": _imc,
    "no reduction": _features({"column_bandwidth": GAUSSIAN_BANDWIDTHS, "row_bandwidth": GAUSSIAN_BANDWIDTHS}),
    "no reduction (cosine)": _features(
        {"kernel": ["cosine"], "borrow": [0.5], "column_bandwidth": [3**-0.5], "row_bandwidth": COSINE_BANDWIDTHS},
        {"column_bandwidth": [0.0, *COSINE_BANDWIDTHS], "borrow": [0.1, 0.25, 0.5, 0.75, 0.9, 1.0]},
        {"row_bandwidth": [0.0, *COSINE_BANDWIDTHS]},
    ),
    "columns ignored": _one_side("row", "column"),
    "rows ignored": _one_side("column", "row"),
    "bilinear ridge": _bilinear_ridge,
    "kernel ridge": _features(
        {"kernel": ["gaussian", "cosine"], "bandwidth": [(0.35, 0.35), (0.7, 0.7)], "alpha": [0.1, 1.0]},
        {"alpha": [0.01, 0.1, 1.0, 10.0]},
        {"row_bandwidth": [0.25, 0.35, 0.5, 0.7]},
        {"column_bandwidth": [0.25, 0.35, 0.5, 0.7]},
        head="kernel_ridge",
    ),
    "popularity": lambda dyads: Method(Popularity()),
}

METHOD_NAMES = (*PEERS, *_METHODS)

"""Recall of gene-disease associations (section 6.2), and of significant ones (supplement).

The paper has both figures as images, so that there are no numbers to carry over; the statements of its text are
judged. One repetition is one random partition, the same for all methods. Every method is tuned by itself for each r,
inside the part of the diseases that it is fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from jointdr import IMC, JDR, PCA, PHD, SOLS, AssociationModel, Dyads
from jointdr.apps.reproduce import joint_kernel
from jointdr.apps.reproduce.claims import Claim
from jointdr.apps.reproduce.gene_disease_data import GeneDiseaseData, load_gene_diseases
from jointdr.apps.reproduce.joint_kernel import JointKernelRegression
from jointdr.apps.reproduce.recalls import RecallFigure, Series, Values
from jointdr.apps.reproduce.study import Study
from jointdr.evaluation import GAUSSIAN_BANDWIDTHS, Method, evaluate, standard_methods
from jointdr.runtime import Array

K = tuple(range(10, 101, 10))
RANKS = (20, 40, 60, 80, 100)
SHOWN_RANK = 80  # the r of the curves along k
PARTITIONS, FAST_PARTITIONS = 20, 3
COMPARABLE = 0.02  # recalls that differ by no more are called comparable

OURS, IMC_NAME, JOINT = "JDR + KR", "IMC", "cpHd + KR"
ALPHAS = [0.001, 0.01, 0.1, 1.0, 10.0]

# The powers of the spectrum that coordinates are scaled by: ½ is the paper's for JDR, and the others are offered it.
EMBEDDINGS: dict[str, tuple[type, list[Any]]] = {
    OURS: (JDR, [0.5]),
    "PCA + KR": (PCA, [0.5, None]),
    "pHd + KR": (PHD, [0.5, None]),
    "sOLS + KR": (SOLS, [0.5, None]),
}
# Methods that the paper did not try, by their names in `standard_methods`.
BASELINES = {
    "JDR": "JDR, tuned",
    "no reduction": "no reduction",
    "columns ignored": "genes ignored",
    "popularity": "popularity",
}
# the colour of each method, and about how long one partition takes
STYLE = {
    OURS: ("tab:blue", 14.0),
    "PCA + KR": ("tab:orange", 14.0),
    "pHd + KR": ("tab:green", 14.0),
    "sOLS + KR": ("tab:purple", 14.0),
    IMC_NAME: ("tab:red", 4.0),
    JOINT: ("tab:brown", 150.0),
    "JDR, tuned": ("navy", 20.0),
    "no reduction": ("black", 5.0),
    "genes ignored": ("0.45", 1.5),
    "popularity": ("0.7", 0.3),
}


class NothingToShow(ValueError):
    """The data lacks what this figure is about."""


def make_gene_disease(data: Any = None) -> RecallFigure:
    """Recall of all associations; `data` is a folder, or None."""
    source = load_gene_diseases(data)
    title = f"Gene-disease associations: {source.about}"
    return RecallFigure("gene-disease", title, "recall", _series(source), partial(_claims, "gene-disease", ""))


def make_significant(data: Any = None) -> RecallFigure:
    """Recall of significant associations; `data` is a folder, or None."""
    source = load_gene_diseases(data)
    if not source.significant:
        raise NothingToShow(f"'significant' needs scores of associations, which there are none of: {source.about}.")
    title = f"Significant associations ({source.significant}): {source.about}"
    claims = partial(_claims, "significant", "significant ")
    return RecallFigure("significant", title, "significant recall", _series(source), claims)


# ---------------------------------------------------------------- the studies


def _series(source: GeneDiseaseData) -> tuple[Series, ...]:
    """All methods, those of the paper first."""
    most = min(*source.reduced.n_features, *(m // 2 for m in source.reduced.shape))
    ranks = [r for r in RANKS if r <= most] or [most]  # the paper's, as far as there are features and entities
    shown = max([r for r in ranks if r <= SHOWN_RANK], default=ranks[0])
    by_rank: dict[str, Callable[[int], Method]] = {
        name: partial(_kernel_regression, *embedding) for name, embedding in EMBEDDINGS.items()
    }
    by_rank[IMC_NAME] = lambda r: Method(IMC(r, fit_intercept=False), {"alpha": ALPHAS})
    found = []
    for name, of_rank in by_rank.items():
        found.append(_one_series(name, source, source.reduced, {r: of_rank(r) for r in ranks}, shown))
    joint = Method(JointKernelRegression(shown, random_state=0))
    found.append(_one_series(JOINT, source, source.reduced, {shown: joint}, shown))
    for name, label in BASELINES.items():
        table = source.reduced if name == "JDR" else source.dyads
        found.append(_one_series(label, source, table, {None: standard_methods(table, [name])[name]}, None))
    return tuple(found)


def _kernel_regression(embedding: type, scales: list[Any], r: int) -> Method:
    """Gaussian kernels on r directions: with genes ignored or not; the scale; then each bandwidth at the best other."""
    stages: list[dict[str, list[Any]]] = [
        {"column_bandwidth": [0.0, 0.3], "scale": scales, "row_bandwidth": GAUSSIAN_BANDWIDTHS},
        {"column_bandwidth": GAUSSIAN_BANDWIDTHS},
        {"row_bandwidth": GAUSSIAN_BANDWIDTHS},
    ]
    model = AssociationModel(embedding(r), head="kernel", bandwidth="left-out rows", scale=scales[0], random_state=0)
    return Method(model, stages)


def _one_series(
    label: str, source: GeneDiseaseData, dyads: Dyads, by_rank: Mapping[int | None, Method], shown: int | None
) -> Series:
    """Recall at all k of a method for each r, and below them of significant associations if there are any."""
    names = {r: "tuned" if r is None else f"r = {r}" for r in by_rank}
    methods = {names[r]: method for r, method in by_rank.items()}
    prefixes = ("", "significant ") if source.significant else ("",)
    colour, seconds = STYLE[label]
    study = Study(
        f"gene-disease-{label.lower().replace(' + ', '-').replace(',', '').replace(' ', '-')}",
        "k",
        K,
        tuple(f"{prefix}{curve}" for prefix in prefixes for curve in methods),
        partial(_recalls, dyads, source.truth, methods, bool(source.significant)),
        {"data": source.fingerprint, "methods": {curve: _settings(method) for curve, method in methods.items()}},
        seconds,
        PARTITIONS,
        FAST_PARTITIONS,
        stream="gene-disease",
    )
    return Series(label, study, colour, names, shown)


def _settings(method: Method) -> dict[str, str]:
    tried = joint_kernel.JOINT_BANDWIDTHS, joint_kernel.JOINT_SCALES  # by a model that tunes itself
    joint = isinstance(method.model, JointKernelRegression)
    return {"model": repr(method.model), "grid": repr(tried if joint else method.grid)}


def _recalls(dyads: Dyads, truth: Array | None, methods: Mapping[str, Method], marked: bool, seed: int) -> Array:
    """Recall at each k in one partition, (methods, k), twice if some pairs are marked as significant."""
    options: dict[str, Any] = {"tune": "each", "criterion": "recall", "random_state": seed % 2**32, "progress": False}
    result = evaluate(dyads, methods, n_partitions=1, at=K, truth=truth, **options)
    if result.failures:
        raise RuntimeError("; ".join(f"{name}: {error}" for name, error in result.failures.items()))
    values = {outcome.method: outcome.values for outcome in result.outcomes}
    kinds = ("recall", "significant recall") if marked else ("recall",)
    return np.array([[values[name].get(f"{kind}@{k}", np.nan) for k in K] for kind in kinds for name in methods])


# ---------------------------------------------------------------- the paper's claims


def _claims(figure: str, prefix: str, series: tuple[Series, ...], values: Values) -> Iterator[Claim]:
    """Differences in recall, at the largest k unless another is named."""
    by_name = {s.label: s for s in series}
    jdr, imc = by_name[OURS], by_name[IMC_NAME]
    others = [s for s in series if s.shown is not None and s not in (jdr, imc)]
    shown = jdr.shown

    def recall(s: Series, r: int | None, prefix: str = prefix) -> Array:
        return s.values(values, prefix, r)

    def last(v: Array) -> Array:
        return v[:, np.flatnonzero(np.isfinite(v).all(axis=0))[-1]]

    for r in jdr.curves:
        paper = "significantly better" if r is not None and r >= 40 else "better"
        yield Claim(figure, f"{OURS} over IMC, r = {r}", paper, last(recall(jdr, r) - recall(imc, r)))
    along = recall(jdr, shown) - recall(imc, shown)
    worst = int(np.nanargmin(along.mean(axis=0)))
    statement = f"{OURS} over IMC, r = {shown}, at the worst k ({K[worst]})"
    yield Claim(figure, statement, "consistently higher at different k", along[:, worst])
    if prefix:
        pair = [last(recall(jdr, shown, p) - recall(imc, shown, p)) for p in (prefix, "")]
        statement = f"{OURS} over IMC, r = {shown}, minus that of all links"
        yield Claim(figure, statement, "more pronounced", pair[0] - pair[1])
    for s in others:
        difference = last(recall(jdr, shown) - recall(s, shown))
        yield Claim(figure, f"{OURS} over {s.label}, r = {shown}", "JDR is crucial", difference)
    for s in others:
        paper, difference = "comparable to or worse than IMC", last(recall(imc, shown) - recall(s, shown))
        yield Claim(figure, f"IMC over {s.label}, r = {shown}", paper, difference, -COMPARABLE)
    for s in series:
        if s.shown is None:
            difference = last(recall(jdr, shown) - recall(s, None))
            yield Claim(figure, f"{OURS}, r = {shown}, over {s.label}", "", difference)

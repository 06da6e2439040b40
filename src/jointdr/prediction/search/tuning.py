"""Choosing the settings of a model of dyads on held-out rows, columns or pairs.

One fit of the embedding on each split serves all numbers of directions, because the directions of a smaller number are
the first of a larger one; distances serve all bandwidths, and sums over rows all bandwidths of columns.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from jointdr.data import By, Dyads, Split, splits
from jointdr.directions import RankError
from jointdr.estimators import JDR, PCA, PHD, ViewsTransformer
from jointdr.metrics import expected_recalls
from jointdr.prediction.association import AssociationModel
from jointdr.prediction.heads.column_weights import Columns
from jointdr.prediction.heads.entities import Side, Tables
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import ROUGH_REDUCTION
from jointdr.prediction.ranking import table
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import Array, Progress, dense, is_sparse

RECALL_AT = (10, 30, 100)
"""Links are judged by the mean of the recalls at these numbers of retrieved entities."""

ONE_SIDE = {
    f"{prefix}{side}_{name}": (f"{prefix}{name}", k)
    for prefix, name in (("", "bandwidth"), ("raw_", "bandwidth"), ("", "mix"))
    for k, side in enumerate(("row", "column"))
}
"""Names for one side of a parameter that has two."""

DEFAULTS = {"bandwidth": 0.5, "raw_bandwidth": 0.5, "mix": 0.0}
"""What the other side is where nothing has been said of it."""

Setting = dict[str, Any]


@dataclass(frozen=True)
class Tuning:
    """What was tried, and what was best.

    Attributes
    ----------
    table : DataFrame, or structured array where pandas is not installed
        One row for each setting: its parameters, the mean of the criterion over the splits, and its standard deviation.
    best_params : dict
        Parameters of the model, for ``set_params``.
    best_score : float
    criterion : {"recall", "negative rmse"}
        Higher is better.
    """

    table: Any
    best_params: Setting
    best_score: float
    criterion: str

    def __repr__(self) -> str:
        return f"Tuning({len(self.table)} settings, {self.criterion} {self.best_score:.4g} at {self.best_params})"


def tuned(
    model: Recommender,
    dyads: Dyads,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    *,
    by: By = "rows",
    n_splits: int = 1,
    test_size: float = 0.1,
    random_state: Any = None,
    progress: bool | None = None,
) -> Tuning:
    """Try the settings of a grid on held-out parts of dyads; the model itself is not changed.

    Parameters
    ----------
    model : AssociationModel, or another Recommender
        Any other is fitted again for every setting.
    dyads : Dyads
    grid : mapping of parameter names to values, or a sequence of them
        All combinations are tried. Of a sequence each is tried at the best setting of those before it. The name
        ``n_components`` stands for that of the embedding.
    by, n_splits, test_size, random_state
        What is held out, see `splits`.
    progress : bool, optional
        Whether to show a progress bar; by default in a terminal.
    """
    stages = [grid] if isinstance(grid, Mapping) else list(grid)
    if not stages or not all(isinstance(stage, Mapping) and stage for stage in stages):
        raise ValueError("grid must be a mapping of parameter names to values, or a sequence of such mappings.")
    for stage in stages:
        for name, values in stage.items():
            if isinstance(values, str) or not np.iterable(values) or len(list(values)) == 0:
                raise ValueError(f"grid has {name}={values!r}, but every parameter needs a list of values to try.")
    stages = [{_full_name(model, name): list(values) for name, values in stage.items()} for stage in stages]
    resolved = _resolved(model, dyads)
    unknown = sorted(
        {ONE_SIDE.get(name, (name, 0))[0] for stage in stages for name in stage} - set(resolved.get_params())
    )
    if unknown:
        raise ValueError(f"grid has parameters that {type(model).__name__} does not have: {unknown}.")
    ranks = [int(r) for stage in stages for r in stage.get("embedding__n_components", ()) if isinstance(r, Integral)]
    benches = [
        _bench(resolved, split, max(ranks, default=None), n_splits)
        for split in splits(dyads, by, n_splits, test_size, random_state)
    ]
    recall = dyads.is_implicit
    found: dict[str, tuple[Setting, list[float]]] = {}
    best: Setting = {}
    total = sum(int(np.prod([len(values) for values in stage.values()])) for stage in stages) * len(benches)
    with Progress(total, "tuning", progress) as bar:
        for stage in stages:
            for values in itertools.product(*stage.values()):
                setting = with_sides(resolved, best, dict(zip(stage, values, strict=True)))
                if repr(setting) not in found:
                    scores = []
                    for bench in benches:
                        scores.append(judged(bench.scores(setting), bench.split, recall))
                        bar.step()
                    found[repr(setting)] = setting, scores
                else:
                    bar.step(len(benches))
            best = max(found.values(), key=lambda item: float(np.mean(item[1])))[0]
    rows = list(found.values())
    names = list(dict.fromkeys(name for setting, _ in rows for name in setting))
    columns: dict[str, Any] = {name: [_plain(setting.get(name)) for setting, _ in rows] for name in names}
    columns["score"] = np.array([np.mean(scores) for _, scores in rows])
    columns["std"] = np.array([np.std(scores) for _, scores in rows])
    columns = {name: _column(values) for name, values in columns.items()}
    return Tuning(table(**columns), best, float(columns["score"].max()), "recall" if recall else "negative rmse")


def with_sides(model: Recommender, before: Setting, values: Setting) -> Setting:
    """A setting with other values, of which some are for one side of a parameter that has two."""
    setting = dict(before)
    for name, value in values.items():
        whole, side = ONE_SIDE.get(name, (name, None))
        if side is not None:
            pair = setting.get(whole, model.get_params()[whole])
            pair = list(pair) if isinstance(pair, (tuple, list)) else [pair, pair]
            pair[side] = value
            value = tuple(DEFAULTS[whole] if isinstance(v, str) or v is None else v for v in pair)
        setting[whole] = value
    return setting


def recipe(model: AssociationModel, dyads: Dyads) -> list[dict[str, list[Any]]]:
    """The stages that `AssociationModel.tune` tries by default.

    Weights of angles; the power of Σ, the number of directions and the row bandwidth; how much columns borrow from each
    other; the ridge of the normalization; how much the features as they are count beside the coordinates. Grades also
    try kernel ridge regression. The settings of the model itself are tried first. A bilinear head tunes its penalty and
    the number of directions, ``adaptive`` kernels their multiples.
    """
    if model.head == "bilinear" or model.adaptive is not None:
        return _other_recipe(model, dyads)
    q = {power: power**-0.5 for power in (1, 2, 3, 5, 8)}
    borrowed = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0]
    columns: dict[str, list[Any]] = {"column_bandwidth": [q[1], q[3], q[8]], "borrow": borrowed}
    start: dict[str, list[Any]] = {"kernel": ["cosine"], "borrow": [0.5], "column_bandwidth": [q[3]]}
    powers = [q[1], q[2], q[3], q[5]]
    if isinstance(model.embedding, (str, JDR)):
        n = min(*dyads.n_features, *dyads.shape)
        first = {**start, "scale": [0.25, 0.5], "n_components": sorted({max(1, n // 4), max(1, n // 2), n})}
        stages = [
            {**first, "embedding__ridge": [0.1], "row_bandwidth": powers},
            columns,
            {"embedding__ridge": [0.1, 1.0, 10.0], "row_bandwidth": powers},
            {"row_mix": [0.25, 0.5, 0.75], "raw_row_bandwidth": [q[2], q[3], q[5], q[8]]},
            {"column_mix": [0.0, 0.5, 1.0], **columns},
        ]
    else:
        stages = [{**start, "row_bandwidth": [*powers, q[8]]}, columns]
    if not dyads.is_implicit:
        widths = [(0.35, 0.35), (0.5, 0.35), (0.7, 0.7)]
        ridge: dict[str, list[Any]] = {"head": ["kernel_ridge"], "kernel": ["gaussian"], "borrow": [1.0]}
        if model.embedding is None:
            ridge |= {"bandwidth": widths}
        else:
            mixes = [(0.0, 0.0), (0.5, 0.5), (0.75, 1.0), (1.0, 1.0)]
            ridge |= {"mix": mixes, "bandwidth": [(0.5, 0.5)], "raw_bandwidth": widths}
        stages += [{**ridge, "alpha": [0.1, 1.0]}, {"alpha": [0.03, 0.1, 0.3, 1.0]}]
    return [{"kernel": [model.kernel]}, *stages]


def _other_recipe(model: AssociationModel, dyads: Dyads) -> list[dict[str, list[Any]]]:
    """For models that the weights of angles are not for."""
    n = min(*dyads.n_features, *dyads.shape)
    reduces = isinstance(model.embedding, (str, JDR))
    ranks: dict[str, list[Any]] = {"n_components": sorted({max(1, n // 4), max(1, n // 2), n})} if reduces else {}
    if model.head == "bilinear":
        return [{"alpha": [model.alpha]}, {**ranks, "alpha": [0.001, 0.01, 0.1, 1.0, 10.0]}]
    multiples = [0.1, 0.2, 0.4, 0.7, 1.0, 2.0]
    rows: dict[str, list[Any]] = {**ranks, "column_bandwidth": [0.0], "row_bandwidth": multiples}
    return [{"kernel": [model.kernel]}, rows, {"column_bandwidth": [0.0, *multiples]}]


def judged(scores: Array, split: Split, recall: bool) -> float:
    """How good predictions of a split are: the mean recall at 10, 30 and 100, or minus the root mean square error."""
    truth = dense(split.test.Y)
    if not recall:
        observed = split.test.observed
        mask = np.ones(truth.shape, dtype=bool) if observed is None else observed.toarray()
        return -float(np.sqrt(np.mean((scores - truth)[mask] ** 2)))
    if (known := split.known) is not None:
        scores = np.where(known, -np.inf, scores)
    positive = truth > 0
    if split.ranked_by_column:
        scores, positive = scores.T, positive.T
    rows = positive.any(axis=1)
    if not rows.any():
        raise ValueError("What was held out has no link to judge by: raise test_size or n_splits.")
    most = scores.shape[1]
    ks = [k for k in RECALL_AT if k < most] or [max(1, most // 3)]  # all of a few are always found
    return float(np.mean(expected_recalls(scores[rows], positive[rows], ks)))


def bytes_of(X: Array) -> int:
    """The memory of a dense or sparse array."""
    return int(sum(part.nbytes for part in (X.data, X.indices, X.indptr)) if is_sparse(X) else X.nbytes)


def _column(values: Any) -> Array:
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    kinds = {type(value) for value in values}
    return np.asarray(values) if len(kinds) == 1 and kinds <= {int, float, str, np.float64} else column


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return tuple(value) if isinstance(value, (list, np.ndarray)) else value


def _full_name(model: Recommender, name: str) -> str:
    return f"embedding__{name}" if name == "n_components" and isinstance(model, AssociationModel) else name


def _resolved(model: Recommender, dyads: Dyads) -> Recommender:
    """A copy with the embedding that ``"auto"`` stands for, whose parameters can then be set."""
    model = clone(model)
    if isinstance(model, AssociationModel) and isinstance(model.embedding, str):
        model.embedding = model._embedding_for(dyads)
    return model


class _Refitted:
    """Fits the model again for every setting."""

    def __init__(self, model: Recommender, split: Split) -> None:
        self.model, self.split = model, split

    def scores(self, setting: Setting) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(self.model).set_params(**setting)
            return model.fit(self.split.train).predict(*self.split.new)


class _Bench(_Refitted):
    """One split of an `AssociationModel`, with all that several settings have in common kept."""

    model: AssociationModel

    def __init__(self, model: AssociationModel, split: Split, most: int | None, n_splits: int) -> None:
        super().__init__(model, split)
        self.most = most
        self.budget = model._block_bytes() / (4 * n_splits)  # of distances and of sums each, with room for products
        self.embeddings: dict[str, ViewsTransformer] = {}
        self.described: tuple[str, tuple[Side, Side], list[Tables | None]] | None = None
        self.sums: dict[Any, Any] = {}
        self.columns: dict[Any, Columns] = {}

    def scores(self, setting: Setting) -> Array:
        """Predictions of the held-out pairs, as the model with this setting gives them."""
        model = clone(self.model).set_params(**setting)
        model._check_parameters()
        if model.head != "kernel":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                embedding = self._embedding(model)
                model._reduction = ROUGH_REDUCTION
                return model._fit_head(self.split.train, embedding).predict(*self.split.new)
        sides, Z = self._descriptions(model)
        bandwidths = model._bandwidths(self.split.train, sides)
        (h, raw), mixes = bandwidths, model._mixes()
        assert h is not None
        raw = raw or (0.0, 0.0)
        train = self.split.train
        grid = GridRegression(train.Y, train.is_complete, model._mixtures(sides, bandwidths))
        row_key, column_key = (h[0], raw[0], mixes[0]), (h[1], raw[1], mixes[1], model.borrow)
        if row_key not in self.sums:
            if sum(bytes_of(part) for sums in self.sums.values() for part in sums) > self.budget:
                self.sums.clear()
            K = grid.kernels[0].weights_at(Z[0], slice(0, self.split.test.shape[0]))
            self.sums[row_key] = grid.row_sums(K)
        if column_key not in self.columns:
            self.columns.clear()  # they are large; settings come with the row bandwidths of one after the other
            self.columns[column_key] = Columns(grid.kernels[1], Z[1], model._block_bytes())
        return grid.averaged(self.sums[row_key], self.columns[column_key])[0]

    def _descriptions(self, model: AssociationModel) -> tuple[tuple[Side, Side], list[Tables | None]]:
        """Both sides up to their bandwidths, and the entities to predict; those of the last model are kept."""
        params = {k: v for k, v in model.get_params().items() if k not in ("bandwidth", "raw_bandwidth", "borrow")}
        params["mix"] = max(model._mixes()) > 0
        key = repr(sorted(params.items(), key=lambda item: item[0]))
        train = self.split.train
        if self.described is None or self.described[0] != key:
            self.sums.clear()
            self.columns.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sides = model._sides_of(train, self._embedding(model))
            if sum(side.distance_bytes for side in sides) <= self.budget:
                sides = (sides[0].remembering(), sides[1].remembering())
            Z = [None if X is None else side.describe(X) for side, X in zip(sides, self.split.new, strict=True)]
            self.described = key, sides, Z
        return self.described[1], self.described[2]

    def _embedding(self, model: AssociationModel) -> ViewsTransformer | None:
        """The fitted embedding with so many directions: the first of the one with the most, where that is the same."""
        embedding = model._embedding_for(self.split.train)
        if embedding is None:
            return None
        r = embedding.get_params()["n_components"]
        if isinstance(r, int) and self.most is not None and _is_nested(embedding):
            most = min(max(r, self.most), *self.split.train.n_features)
            try:
                return truncated(self._fitted(clone(embedding).set_params(n_components=most)), r)
            except RankError:  # with other parameters there may be fewer directions than in all settings
                pass
        return self._fitted(embedding)

    def _fitted(self, embedding: ViewsTransformer) -> ViewsTransformer:
        key = f"{type(embedding).__name__}{sorted(embedding.get_params().items(), key=lambda item: item[0])!r}"
        if key not in self.embeddings:
            self.embeddings[key] = embedding.fit(self.split.train)
        return self.embeddings[key]


def _is_nested(embedding: ViewsTransformer) -> bool:
    """Whether the directions of a smaller number are the first of those of a larger one."""
    if type(embedding) is JDR:
        plain = not embedding.refine and not embedding.n_hooi and embedding.moments == "cross"
        return plain and embedding.n_features_to_select is None
    return type(embedding) in (PCA, PHD)


def truncated(fitted: ViewsTransformer, r: int) -> ViewsTransformer:
    """The embedding with the first r directions only."""
    whole = fitted.solution_
    if r > min(whole.ranks):
        raise ValueError(f"n_components={r} is more than the {min(whole.ranks)} there can be.")
    part = copy.copy(fitted)
    part.solution_ = whole.truncate(r)
    return part.set_params(n_components=r)


def _bench(model: Recommender, split: Split, most: int | None, n_splits: int) -> _Refitted:
    return _Bench(model, split, most, n_splits) if isinstance(model, AssociationModel) else _Refitted(model, split)

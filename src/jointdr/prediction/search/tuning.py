"""Choosing the settings of a model of dyads on held-out rows, columns or pairs.

One fit of the embedding on each split serves all numbers of directions, because the directions of a smaller number are
the first of a larger one; distances serve all bandwidths, and sums over rows all bandwidths of columns.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import clone

from jointdr.data import By, Dyads, Groups, Split, splits
from jointdr.directions import RankError
from jointdr.estimators import JDR, PCA, PHD, ViewsTransformer
from jointdr.prediction.association import AssociationModel
from jointdr.prediction.heads.build import (
    HeadParameters,
    Sides,
    build_head,
    describe_entities,
    embedding_for,
    find_bandwidths,
    fit_within_rank,
    lower_rank,
    mixtures_of,
)
from jointdr.prediction.heads.column_weights import ColumnWeights
from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import ROUGH_REDUCTION
from jointdr.prediction.recommender import Recommender, fit_by_groups
from jointdr.prediction.search.criterion import check_criterion, score_split
from jointdr.runtime import Array, Progress, is_integer, is_sparse, log, memory

# Names for one side of a parameter that has two.
ONE_SIDE = {
    f"{prefix}{side}_{name}": (f"{prefix}{name}", k)
    for prefix, name in (("", "bandwidth"), ("raw_", "bandwidth"), ("", "mix"))
    for k, side in enumerate(("row", "column"))
}

DEFAULTS = {"bandwidth": 0.5, "raw_bandwidth": 0.5, "mix": 0.0}  # the value of the other side where none was given
Setting = dict[str, Any]


@dataclass(frozen=True)
class Tuning:
    """The settings that were tried, and the best of them.

    Attributes
    ----------
    table : DataFrame
        One row for each setting: its parameters, the mean of the criterion over the splits, and its standard deviation.
    best_params : dict
        Parameters of the model, for ``set_params``.
    best_score : float
    criterion : {"auto", "recall", "average precision", "nDCG", "RMSE", "concordance"}
        Settings were judged by it; of the RMSE by minus that, so that higher is better.
    failures : dict
        Settings that could not be fitted, in words, and why; their score is NaN.
    """

    table: Any
    best_params: Setting
    best_score: float
    criterion: str
    failures: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Tuning({len(self.table)} settings, {self.quality} {self.best_score:.4g} at {self.best_params})"

    @property
    def quality(self) -> str:
        """The criterion in words."""
        return {"auto": "criterion", "RMSE": "−RMSE"}.get(self.criterion, self.criterion)


def tune_model(
    model: Recommender,
    dyads: Dyads,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    *,
    by: By = "rows",
    n_splits: int = 1,
    test_size: float = 0.1,
    random_state: Any = None,
    groups: Any = None,
    criterion: str = "auto",
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
    by, n_splits, test_size, random_state, groups
        The held-out parts, see `splits`.
    criterion : {"auto", "recall", "average precision", "nDCG", "RMSE", "concordance"}
        As in `AssociationModel`.
    progress : bool, optional
        Whether to show a progress bar; by default in a terminal.
    """
    check_criterion(criterion, dyads.is_implicit)
    short = {"n_components": "embedding__n_components"} if isinstance(model, AssociationModel) else {}
    stages = expand_grid(grid, short)
    resolved, by_itself = resolve_for_grid(model, dyads, stages), chooses_by_itself(model, stages)
    unknown = sorted(
        {ONE_SIDE.get(name, (name, 0))[0] for stage in stages for name in stage} - set(resolved.get_params())
    )
    if unknown:
        raise ValueError(f"grid has parameters that {type(model).__name__} does not have: {unknown}.")
    ranks = [int(r) for stage in stages for r in stage.get("embedding__n_components", ()) if is_integer(r)]
    alike = Groups.check(groups, dyads, (by,))
    benches = [
        _SharedBench(resolved, split, max(ranks, default=None), n_splits)
        if isinstance(resolved, AssociationModel) and not by_itself
        else _Bench(resolved, split, alike)
        for split in splits(dyads, by, n_splits, test_size, random_state, alike)
    ]
    found: dict[str, tuple[Setting, list[float]]] = {}
    failures: dict[str, Exception] = {}
    best: Setting = {}
    total = sum(int(np.prod([len(values) for values in stage.values()])) for stage in stages) * len(benches)
    with Progress(total, "tuning", progress) as bar:
        for stage in stages:
            for values in itertools.product(*stage.values()):
                setting = with_sides(resolved, best, dict(zip(stage, values, strict=True)))
                if repr(setting) not in found:
                    scores: list[float] = []
                    try:
                        for bench in benches:
                            scores.append(score_split(bench.scores(setting), bench.split, dyads.is_implicit, criterion))
                            bar.step()
                    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                        failures[repr(setting)] = error
                        bar.step(len(benches) - len(scores))
                        scores = [np.nan]
                    found[repr(setting)] = setting, scores
                    log.info("tried %s: %.4g", setting, float(np.mean(scores)))
                else:
                    bar.step(len(benches))
            if len(failures) == len(found):  # nothing to go on from
                raise next(iter(failures.values()))
            best = max(found.values(), key=lambda item: -np.inf if np.isnan(item[1]).any() else np.mean(item[1]))[0]
    for name, failure in failures.items():
        warnings.warn(f"{name} is left out, because it cannot be fitted: {failure}", UserWarning, stacklevel=3)
    return _tuning(list(found.values()), best, criterion, {name: str(failure) for name, failure in failures.items()})


def expand_grid(
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    short: Mapping[str, str] = MappingProxyType({"n_components": "embedding__n_components"}),
) -> list[dict[str, list[Any]]]:
    """The stages of a grid, checked, with the full names of parameters instead of `short` ones."""
    stages = [grid] if isinstance(grid, Mapping) else list(grid)
    if not stages or not all(isinstance(stage, Mapping) and stage for stage in stages):
        raise ValueError("grid must be a mapping of parameter names to values, or a sequence of such mappings.")
    for stage in stages:
        for name, values in stage.items():
            if isinstance(values, str) or not np.iterable(values) or len(list(values)) == 0:
                raise ValueError(f"grid has {name}={values!r}, but every parameter needs a list of values to try.")
    return [{short.get(name, name): list(values) for name, values in stage.items()} for stage in stages]


def _tuning(
    found: list[tuple[Setting, list[float]]], best: Setting, criterion: str, failures: dict[str, str]
) -> Tuning:
    import pandas as pd

    names = list(dict.fromkeys(name for setting, _ in found for name in setting))
    columns: dict[str, Any] = {name: [_plain(setting.get(name)) for setting, _ in found] for name in names}
    columns["score"] = [float(np.mean(scores)) for _, scores in found]
    columns["std"] = [float(np.std(scores)) for _, scores in found]
    table = pd.DataFrame({name: pd.Series(values, dtype=_dtype(values)) for name, values in columns.items()})
    return Tuning(table, best, float(np.nanmax(columns["score"])), criterion, failures)


def _dtype(values: list[Any]) -> Any:
    """None, for pandas to choose, where all values are of one plain type; otherwise values stay as they are."""
    kinds = {type(value) for value in values}
    return None if len(kinds) == 1 and kinds <= {int, float, str} else object


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


def bytes_of(X: Array) -> int:
    """The memory of a dense or sparse array."""
    return int(sum(part.nbytes for part in (X.data, X.indices, X.indptr)) if is_sparse(X) else X.nbytes)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return tuple(value) if isinstance(value, (list, np.ndarray)) else value


def chooses_by_itself(model: Recommender, stages: Sequence[Mapping[str, Sequence[Any]]]) -> bool:
    """Whether the head of a model, or one that a grid tries, chooses its own settings in every fit."""
    heads = [head for stage in stages for head in stage.get("head", ())]
    return isinstance(model, AssociationModel) and "auto" in (*heads, *(() if heads else (model.head,)))


def resolve_for_grid(model: Recommender, dyads: Dyads, stages: Sequence[Mapping[str, Sequence[Any]]]) -> Recommender:
    """A copy whose embedding is named, unless it is left to a head that chooses and the grid asks nothing of it."""
    asked = any(name.startswith("embedding__") for stage in stages for name in stage)
    return clone(model) if chooses_by_itself(model, stages) and not asked else resolve_embedding(model, dyads)


def resolve_embedding(model: Recommender, dyads: Dyads) -> Recommender:
    """A copy with the embedding that ``"auto"`` stands for, whose parameters can then be set."""
    model = clone(model)
    if isinstance(model, AssociationModel) and isinstance(model.embedding, str):
        model.embedding = embedding_for(model.embedding, dyads)
    return model


def fit_lowered(model: Recommender, dyads: Dyads, groups: Groups | None = None) -> Recommender:
    """Fit a model, with fewer directions and a warning where its embedding asks for more than the data has."""
    try:
        return fit_by_groups(model, dyads, groups)
    except RankError as error:
        if not isinstance(model, AssociationModel) or not isinstance(model.embedding, ViewsTransformer):
            raise
        model.embedding = lower_rank(model.embedding, error)
        warnings.warn(f"The data has fewer directions, of which all are taken: {error}", UserWarning, stacklevel=2)
        return fit_by_groups(model, dyads, groups)


class _Bench:
    """One split, on which the model is fitted again for every setting."""

    def __init__(self, model: Recommender, split: Split, groups: Groups | None = None) -> None:
        self.model, self.split, self.groups = model, split, groups

    def scores(self, setting: Setting) -> Array:
        """Predictions of the held-out pairs by the model with this setting."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(self.model).set_params(**setting)
            return self.split.predict(fit_by_groups(model, self.split.train, self.groups))


class _SharedBench(_Bench):
    """One split of an `AssociationModel`, where everything that several settings have in common is kept."""

    model: AssociationModel

    def __init__(self, model: AssociationModel, split: Split, most: int | None, n_splits: int) -> None:
        super().__init__(model, split)
        self.most = most
        self.max_bytes = memory.within(float(model.max_bytes), 0.4)
        self.budget = self.max_bytes / (4 * n_splits)  # of distances and of sums each, with room for products
        self.embeddings: dict[str, ViewsTransformer | None] = {}
        self.described: tuple[str, Sides, tuple[EntitySet, EntitySet]] | None = None
        self.sums: dict[Any, Any] = {}
        self.columns: dict[Any, ColumnWeights] = {}

    def scores(self, setting: Setting) -> Array:
        model = clone(self.model).set_params(**setting)
        parameters, train = HeadParameters.check(model.get_params(deep=False)), self.split.train
        sides, new = self._descriptions(model, parameters)
        bandwidths = find_bandwidths(parameters, train, sides, self.max_bytes, model.random_state)
        if parameters.head != "kernel":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                head = build_head(parameters, train.Y, train.is_complete, sides, bandwidths, ROUGH_REDUCTION)
                return head.scorer(*new, self.max_bytes)(slice(0, new[0].count)).scores
        widths = bandwidths.asked(*(X is not None for X in self.split.new))
        (h, raw), mix = widths, parameters.mix
        raw = raw or (0.0, 0.0)
        grid = GridRegression(train.Y, train.is_complete, mixtures_of(parameters, sides, widths))
        row_key, column_key = (h[0], raw[0], mix[0]), (h[1], raw[1], mix[1], parameters.borrow)
        if row_key not in self.sums:
            if sum(bytes_of(part) for sums in self.sums.values() for part in sums) > self.budget:
                self.sums.clear()
            self.sums[row_key] = grid.row_sums(grid.row_weights(new[0], slice(0, new[0].count)))
        if column_key not in self.columns:
            self.columns.clear()  # they are large; settings come with the row bandwidths of one after the other
            self.columns[column_key] = ColumnWeights(grid.kernels[1], new[1], self.max_bytes)
        return grid.average(self.sums[row_key], self.columns[column_key])[0]

    def _descriptions(
        self, model: AssociationModel, parameters: HeadParameters
    ) -> tuple[Sides, tuple[EntitySet, EntitySet]]:
        """Both sides up to their bandwidths, and the entities to predict; those of the last setting are kept."""
        params = {k: v for k, v in model.get_params().items() if k not in ("bandwidth", "raw_bandwidth", "borrow")}
        params["mix"] = max(parameters.mix) > 0
        key = repr(sorted(params.items(), key=lambda item: item[0]))
        if self.described is None or self.described[0] != key:
            self.sums.clear()
            self.columns.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sides = describe_entities(parameters, self.split.train, self._embedding(model))
            if sum(side.distance_bytes for side in sides) <= self.budget:
                sides = (sides[0].with_memos(), sides[1].with_memos())
            a, b = (
                EntitySet(side.count) if X is None else EntitySet(X.shape[0], side.describe(X))
                for side, X in zip(sides, self.split.new, strict=True)
            )
            self.described = key, sides, (a, b)
        return self.described[1], self.described[2]

    def _embedding(self, model: AssociationModel) -> ViewsTransformer | None:
        """The fitted embedding with so many directions: the first of the one with the most, where that is the same."""
        embedding = embedding_for(model.embedding, self.split.train)
        if embedding is None:
            return None
        r = embedding.get_params()["n_components"]
        widest = min(self.split.train.n_features)
        if isinstance(r, int) and r <= widest and self.most is not None and _is_nested(embedding):
            most = min(max(r, self.most), widest)
            fitted = self._fit(clone(embedding).set_params(n_components=most))
            return fitted if fitted is None or r >= min(fitted.solution_.ranks) else truncate_embedding(fitted, r)
        return self._fit(embedding)

    def _fit(self, embedding: ViewsTransformer) -> ViewsTransformer | None:
        key = f"{type(embedding).__name__}{sorted(embedding.get_params().items(), key=lambda item: item[0])!r}"
        if key not in self.embeddings:
            self.embeddings[key] = fit_within_rank(embedding, self.split.train)
        return self.embeddings[key]


def _is_nested(embedding: ViewsTransformer) -> bool:
    """Whether the directions of a smaller number are the first of those of a larger one."""
    if type(embedding) is JDR:
        plain = not embedding.refine and not embedding.n_hooi and embedding.moments == "cross"
        return plain and embedding.n_features_to_select is None
    return type(embedding) in (PCA, PHD)


def truncate_embedding(fitted: ViewsTransformer, r: int) -> ViewsTransformer:
    """The embedding with the first r directions only."""
    whole = fitted.solution_
    if r > min(whole.ranks):
        raise ValueError(f"n_components={r} is more than the {min(whole.ranks)} there can be.")
    part = copy.copy(fitted)
    part.solution_ = whole.truncate(r)
    return part.set_params(n_components=r)

"""The evaluation of methods for dyads on random partitions, side by side (section 6.2 of the paper)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from jointdr.data import BY, By, Dyads, Groups, Split, splits
from jointdr.evaluation.measures import graded_metrics, implicit_metrics, significant_pairs
from jointdr.evaluation.methods import Method, reduce_features, standard_methods
from jointdr.evaluation.result import Evaluation, Outcome, Setting
from jointdr.prediction import Recommender, check_criterion, fit_lowered, resolve_embedding, tune_model
from jointdr.runtime import (
    Array,
    Progress,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    is_integer,
    make_random_state,
    memory,
)

Tune = Literal["each", "once"]
TUNING_IN_WORDS = {"each": "tuned in every partition", "once": "tuned on one more partition", None: "not tuned"}


def evaluate(
    dyads: Dyads,
    methods: Iterable[str] | Mapping[str, Method | Recommender] | None = None,
    *,
    by: By = "rows",
    n_partitions: int = 20,
    test_size: float = 0.1,
    at: Sequence[int] = tuple(range(10, 101, 10)),
    significant: float = 0.01,
    truth: Any = None,
    held_out: Sequence[Any] | None = None,
    groups: Any = None,
    tune: Tune | None = "each",
    tuning_splits: int = 2,
    criterion: str = "auto",
    random_state: Any = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> Evaluation:
    """Fit methods to random parts of dyads and compare their predictions of the rest.

    Parameters
    ----------
    dyads : Dyads
    methods : iterable of names, mapping of names to methods or models, or None
        Names of `jointdr.evaluation.standard_methods`, all of them by default; or methods of one's own, where a model
        alone is fitted without tuning. Differences are taken to the first one.
    by : {"rows", "columns", "both", "pairs"}
        What is held out, see `jointdr.evaluation.splits`. By columns, rows are ranked for every column.
    n_partitions : int
    test_size : float
        The share that is held out.
    at : sequence of int
        Numbers k of retrieved entities at which recall is computed; values of k that are not smaller than the number of
        candidates are dropped.
    significant : float
        Recall is also given for the pairs whose score is above it.
    truth : (m_A, m_B) array or sparse matrix, optional
        Positive for the pairs that count as significant, instead of a threshold.
    held_out : sequence of arrays of int, optional
        The indices of the rows (with ``by="columns"``, of the columns) to hold out in each partition, instead of random
        ones; `n_partitions` and `test_size` are then not used.
    groups : pair of labels, or labels of one side; optional
        Entities that are alike, of which none is both fitted and held out, see `jointdr.evaluation.splits`. They also
        stay together where a method is tuned, or chooses by itself. With `held_out` they have no other effect.
    tune : {"each", "once"} or None
        ``"each"``: every method is tuned in every partition, on splits of the part that it is fitted to, so that the
        held-out part has no influence on its settings. ``"once"``: on one more random partition for all, as in the
        paper; entities that are held out later may be among those that settings were chosen by. None: not at all.
    tuning_splits : int
        The number of splits that settings are tried on, for ``"each"``.
    criterion : {"auto", "recall", "average precision", "nDCG", "RMSE", "concordance"}
        Settings are chosen by it, those of ``default`` too: see `AssociationModel`. With ``"auto"`` it looks at recall
        and average precision, or at the root mean square error and the concordance index. The method of the paper was
        tuned by recall.
    random_state : int, RandomState or None
        The first partitions are the same however many there are.
    jobs : int
        Processes, each with one thread for products of matrices and an equal share of the memory budget. The numbers do
        not depend on it.
    progress : bool, optional
        Whether to show a progress bar; by default in a terminal.

    Returns
    -------
    Evaluation
        Its ``table`` has the means; ``str`` shows them with their standard errors.

    Notes
    -----
    Implicit feedback (a complete grid that is mostly 0) is judged by recall, nDCG and average precision, over the rows
    that have held-out associations; entities of equal scores count as ranked at random. Graded scores are judged by the
    root mean square error and the concordance index of all held-out pairs. A method that fails is listed with its
    error, and does not stop the others. Seconds are those of the processor: of one fit and the predictions, and of the
    tuning.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Dyads
    >>> from jointdr.evaluation import evaluate
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.standard_normal((80, 4)), rng.standard_normal((60, 4))
    >>> dyads = Dyads((A[:, :2] @ B[:, :2].T > 2).astype(float), A, B)
    >>> result = evaluate(dyads, ["bilinear ridge", "popularity"], n_partitions=2, at=[5, 10])
    >>> result.table[["method", "recall@5", "recall@10"]].round(2)
               method  recall@5  recall@10
    0  bilinear ridge      0.62       0.95
    1      popularity      0.14       0.37
    """
    _check(by, n_partitions, at, tune, tuning_splits, jobs, held_out)
    if held_out is None:
        check_number("test_size", test_size, 0, 1, strictly=True, expected="a share between 0 and 1")
    check_number("significant", significant)
    make_random_state(random_state)
    if progress is not None:
        check_flag("progress", progress)
    check_criterion(criterion, dyads.is_implicit)
    chosen = _methods(dyads, methods, by)
    if not isinstance(methods, Mapping) and "default" in chosen:
        chosen["default"].model.set_params(criterion=criterion)
    marked = significant_pairs(dyads, float(significant), truth)
    ks = tuple(sorted(int(k) for k in at))
    alike = Groups.check(groups, dyads, (by,))
    plan = _Plan(by, float(test_size), ks, marked, tune, int(tuning_splits), criterion, dyads.is_implicit, alike)
    small = reduce_features(dyads) if any(method.reduced for method in chosen.values()) else dyads
    tables = {name: small if method.reduced else dyads for name, method in chosen.items()}
    tests: Sequence[Any] = [None] * n_partitions if held_out is None else [np.asarray(at) for at in held_out]
    # The first seed is that of the partition to tune on, which is there even if it is not used.
    seeds = [int(s) for s in make_random_state(random_state).randint(2**31 - 1, size=len(tests) + 1)]
    once = tune == "once"
    with Progress((len(tests) + once) * len(chosen), "evaluating", progress) as bar:
        start = dict.fromkeys(chosen, _Choice())
        if once:
            tasks = [(method, tables[name], plan, seeds[0]) for name, method in chosen.items()]
            start = dict(zip(chosen, _run(_choose_once, tasks, jobs, bar), strict=True))
        runs = [
            (name, method, tables[name], plan, partition, seed, test, start[name])
            for partition, (seed, test) in enumerate(zip(seeds[1:], tests, strict=True))
            for name, method in chosen.items()
        ]
        outcomes = tuple(_run(_outcome, runs, jobs, bar))
    share = f"{float(test_size):.0%}" if held_out is None else "given"
    share += "" if alike is None else ", whole groups"
    about = f"{dyads!r}, {by} held out ({share}), {TUNING_IN_WORDS[tune]}"
    about += f" by {criterion}" if tune is not None and criterion != "auto" else ""
    return Evaluation(tuple(chosen), outcomes, about, plan.is_implicit)


@dataclass(frozen=True)
class _Plan:
    """The part of the protocol that all methods and partitions share."""

    by: By
    test_size: float
    at: tuple[int, ...]
    significant: Array | None
    tune: Tune | None
    tuning_splits: int
    criterion: str
    is_implicit: bool
    groups: Groups | None


@dataclass(frozen=True)
class _Choice:
    """The settings that tuning chose, the seconds it took, and the error if it failed."""

    setting: Setting = field(default_factory=dict)
    seconds: float = 0.0
    failure: str | None = None


def _outcome(
    name: str, method: Method, dyads: Dyads, plan: _Plan, partition: int, seed: int, test: Array | None, found: _Choice
) -> Outcome:
    """Tune, fit and judge one method in one partition; an error is recorded, not raised."""
    if found.failure is not None:
        return Outcome(name, partition, {}, failure=found.failure)
    with threadpool_limits(1), warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            split = _split(dyads, plan, seed, test)
            if plan.tune == "each" and method.grid is not None:
                found = _choose(method, split.train, plan, plan.tuning_splits, seed)
            began = time.process_time()
            model = _configure(method.model, found.setting, split.train)
            scores = split.predict(fit_lowered(model, split.train, plan.groups))
            seconds = time.process_time() - began
            values = (
                implicit_metrics(scores, split, dyads, plan.at, plan.significant, seed)
                if plan.is_implicit
                else graded_metrics(scores, split)
            )
        except Exception as error:
            return Outcome(name, partition, {}, failure=f"{type(error).__name__}: {error}")
    messages = tuple(sorted({f"{w.category.__name__}: {w.message}" for w in raised}))
    return Outcome(name, partition, values, found.setting, seconds, found.seconds, None, messages)


def _split(dyads: Dyads, plan: _Plan, seed: int, test: Array | None) -> Split:
    """A random partition, or the one in which the rows (or columns) with these indices are held out."""
    if test is None:
        return next(splits(dyads, plan.by, 1, plan.test_size, seed, plan.groups))
    return Split.hold_out(dyads, **{plan.by: test})


def _choose_once(method: Method, dyads: Dyads, plan: _Plan, seed: int) -> _Choice:
    if method.grid is None:
        return _Choice()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _choose(method, dyads, plan, 1, seed)
        except Exception as error:
            return _Choice(failure=f"{type(error).__name__}: {error}")


def _choose(method: Method, dyads: Dyads, plan: _Plan, n_splits: int, seed: int) -> _Choice:
    began = time.process_time()
    found = tune_model(
        method.model,
        dyads,
        method.grid,
        by=plan.by,
        n_splits=n_splits,
        test_size=plan.test_size,
        random_state=seed,
        groups=plan.groups,
        criterion=plan.criterion,
        progress=False,
    )
    return _Choice(found.best_params, time.process_time() - began)


def _configure(model: Recommender, setting: Setting, dyads: Dyads) -> Recommender:
    return resolve_embedding(model, dyads).set_params(**setting)  # parameters of its embedding may be among these


def _run(function: Any, tasks: Sequence[tuple[Any, ...]], jobs: int, bar: Progress) -> Iterator[Any]:
    """Results in the order of the tasks, one by one."""
    results: Iterable[Any] = (function(*task) for task in tasks)
    if jobs > 1:
        work = memory.share_budget(function, min(jobs, max(1, len(tasks))))
        results = Parallel(n_jobs=jobs, return_as="generator")(delayed(work)(*task) for task in tasks)
    for result in results:
        bar.step()
        yield result


def _methods(dyads: Dyads, given: Any, by: By) -> dict[str, Method]:
    if not isinstance(given, Mapping):
        if isinstance(given, str):
            raise TypeError(f"methods={given!r} must be a list of names: [{given!r}].")
        return standard_methods(dyads, given, by=by)
    wrong = [name for name, value in given.items() if not isinstance(value, (Method, Recommender))]
    if wrong or not given:
        raise TypeError(
            "methods must map names to a Method or to a model with fit and predict, such as AssociationModel()"
            + (f", but that of {wrong[0]!r} is {given[wrong[0]]!r}." if wrong else ", but it is empty.")
        )
    return {str(name): value if isinstance(value, Method) else Method(value) for name, value in given.items()}


def _check(by: Any, n_partitions: Any, at: Any, tune: Any, tuning_splits: Any, jobs: Any, held_out: Any) -> None:
    check_choice("by", by, BY)
    check_choice("tune", tune, ("each", "once", None))
    for name, value in (("n_partitions", n_partitions), ("tuning_splits", tuning_splits), ("jobs", jobs)):
        check_integer(name, value, 1)
    if not np.iterable(at) or not list(at) or not all(is_integer(k) and k >= 1 for k in at):
        raise ValueError(f"at={at!r} must be a sequence of integers >= 1.")
    if held_out is not None and by not in ("rows", "columns"):
        raise ValueError(f"held_out has indices of rows or of columns, which by={by!r} does not hold out alone.")

"""The evaluation of methods for dyads on random partitions, side by side (section 6.2 of the paper)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from jointdr.data import BY, By, Dyads, splits
from jointdr.evaluation.measures import grade_measures, link_measures, significant_links
from jointdr.evaluation.methods import Method, reduced, standard_methods
from jointdr.evaluation.result import Evaluation, Outcome, Setting
from jointdr.prediction import AssociationModel, Recommender, tuned
from jointdr.runtime import Array, Progress

Tune = Literal["each", "once"]


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
    tune: Tune | None = "each",
    tuning_splits: int = 2,
    random_state: Any = 0,
    jobs: int = 1,
    progress: bool | None = None,
) -> Evaluation:
    """Fit methods to random parts of dyads and compare their predictions of the rest.

    Parameters
    ----------
    dyads : Dyads
    methods : iterable of names, mapping of names to methods or models, or None
        Names of `jointdr.evaluation.standard_methods`, all of them by default; or methods of one's own, of which a model
        alone is fitted as it is. Differences are taken to the first one.
    by : {"rows", "columns", "both", "pairs"}
        What is held out, see `jointdr.evaluation.splits`. By columns, rows are ranked for every column.
    n_partitions : int
    test_size : float
        The share that is held out.
    at : sequence of int
        Numbers of retrieved entities at which recall is measured; those that all of them would fit into are left out.
    significant : float
        Links whose score is above it are also looked at by themselves.
    truth : (m_A, m_B) array or sparse matrix, optional
        Says which links count as significant: those where it is positive.
    tune : {"each", "once"} or None
        ``"each"``: every method is tuned in every partition, on splits of the part that it is fitted to, so that what
        it is judged by has no influence on its settings. ``"once"``: on one more random partition for all, as in the
        paper; entities that are held out later may be among those that settings were chosen by. None: not at all.
    tuning_splits : int
        Splits that settings are tried on, for ``"each"``.
    random_state : int, RandomState or None
        The first partitions are the same however many there are.
    jobs : int
        Processes, each with one thread for products of matrices. The numbers do not depend on it.
    progress : bool, optional
        Whether to show a progress bar; by default in a terminal.

    Returns
    -------
    Evaluation
        Its ``table`` has the means; ``str`` shows them with their standard errors.

    Notes
    -----
    Links (a complete grid that is mostly 0) are judged by recall, nDCG and average precision, over the rows that have
    held-out links; entities of equal scores count as ranked at random. Grades are judged by the root mean square error
    and the concordance index of all held-out pairs. A method that fails is listed with what it says, and does not stop
    the others. Seconds are those of the processor: of one fit and the predictions, and of the tuning.

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
    0  bilinear ridge      0.62       0.93
    1      popularity      0.14       0.37
    """
    _check(by, n_partitions, at, tune, tuning_splits, jobs)
    links = dyads.is_implicit
    chosen = _methods(dyads, methods, by)
    plan = _Plan(
        by,
        float(test_size),
        tuple(sorted(int(k) for k in at)),
        significant_links(dyads, float(significant), truth),
        tune,
        int(tuning_splits),
        links,
    )
    small = reduced(dyads) if any(method.reduced for method in chosen.values()) else dyads
    tables = {name: small if method.reduced else dyads for name, method in chosen.items()}
    # The first seed is that of the partition to tune on, which is there even if it is not used.
    seeds = [int(s) for s in check_random_state(random_state).randint(2**31 - 1, size=n_partitions + 1)]
    once = tune == "once"
    with Progress((n_partitions + once) * len(chosen), "evaluating", progress) as bar:
        start: dict[str, _Tuned] = {}
        if once:
            tasks = [(method, tables[name], plan, seeds[0]) for name, method in chosen.items()]
            for name, found in zip(chosen, _mapped(_tuned_once, tasks, jobs), strict=True):
                start[name] = found
                bar.step()
        runs = [
            (name, method, tables[name], plan, partition, seed, start.get(name))
            for partition, seed in enumerate(seeds[1:])
            for name, method in chosen.items()
        ]
        outcomes = []
        for outcome in _mapped(_outcome, runs, jobs):
            outcomes.append(outcome)
            bar.step()
    about = f"{dyads!r}, {by} held out ({float(test_size):.0%}), {_tuning_in_words(tune)}"
    return Evaluation(tuple(chosen), tuple(outcomes), about, plan.links)


# ---------------------------------------------------------------- one partition


@dataclass(frozen=True)
class _Plan:
    """What is the same for all methods and partitions."""

    by: By
    test_size: float
    at: tuple[int, ...]
    significant: Array | None
    tune: Tune | None
    tuning_splits: int
    links: bool


@dataclass(frozen=True)
class _Tuned:
    """The settings that were chosen, how long it took, and what went wrong, if anything did."""

    setting: Setting
    seconds: float
    failure: str | None = None


def _outcome(
    name: str, method: Method, dyads: Dyads, plan: _Plan, partition: int, seed: int, start: _Tuned | None
) -> Outcome:
    """Tune, fit and judge one method in one partition; whatever it raises is taken down."""
    with threadpool_limits(1), warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        found = start if start is not None else _Tuned({}, 0.0)
        try:
            if found.failure is not None:
                return Outcome(name, partition, {}, failure=found.failure)
            split = next(splits(dyads, plan.by, 1, plan.test_size, seed))
            if plan.tune == "each" and method.grid is not None:
                found = _tuned(method, split.train, plan, plan.tuning_splits, seed)
            began = time.process_time()
            scores = _configured(method.model, found.setting, split.train).fit(split.train).predict(*split.new)
            seconds = time.process_time() - began
            values = (
                link_measures(scores, split, dyads, plan.at, plan.significant, seed)
                if plan.links
                else grade_measures(scores, split)
            )
        except Exception as error:
            return Outcome(name, partition, {}, failure=f"{type(error).__name__}: {error}")
    messages = tuple(sorted({f"{w.category.__name__}: {w.message}" for w in raised}))
    return Outcome(name, partition, values, found.setting, seconds, found.seconds, None, messages)


def _tuned_once(method: Method, dyads: Dyads, plan: _Plan, seed: int) -> _Tuned:
    if method.grid is None:
        return _Tuned({}, 0.0)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _tuned(method, dyads, plan, 1, seed)
        except Exception as error:
            return _Tuned({}, 0.0, f"{type(error).__name__}: {error}")


def _tuned(method: Method, dyads: Dyads, plan: _Plan, n_splits: int, seed: int) -> _Tuned:
    began = time.process_time()
    found = tuned(
        method.model,
        dyads,
        method.grid,
        by=plan.by,
        n_splits=n_splits,
        test_size=plan.test_size,
        random_state=seed,
        progress=False,
    )
    return _Tuned(found.best_params, time.process_time() - began)


def _configured(model: Recommender, setting: Setting, dyads: Dyads) -> Recommender:
    model = clone(model)
    if isinstance(model, AssociationModel) and isinstance(model.embedding, str):
        model.embedding = model._embedding_for(dyads)  # whose parameters are among those that were tuned
    return model.set_params(**setting)


# ---------------------------------------------------------------- all of them


def _mapped(function: Any, tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
    """The results in order, as they come."""
    if jobs == 1:
        return (function(*task) for task in tasks)
    return iter(Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(*task) for task in tasks))


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


def _tuning_in_words(tune: Tune | None) -> str:
    words = {"each": "tuned in every partition", "once": "tuned on one more partition"}
    return "not tuned" if tune is None else words[tune]


def _check(by: Any, n_partitions: Any, at: Any, tune: Any, tuning_splits: Any, jobs: Any) -> None:
    if by not in BY:
        raise ValueError(f"by={by!r} is not understood; choose from {BY}.")
    if tune not in ("each", "once", None):
        raise ValueError(f"tune={tune!r} is not understood; choose 'each', 'once' or None.")
    for name, value in (("n_partitions", n_partitions), ("tuning_splits", tuning_splits), ("jobs", jobs)):
        if not _is_count(value):
            raise ValueError(f"{name}={value!r} must be an integer >= 1.")
    if not np.iterable(at) or not len(list(at)) or not all(_is_count(k) for k in at):
        raise ValueError(f"at={at!r} must be a sequence of integers >= 1.")


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1

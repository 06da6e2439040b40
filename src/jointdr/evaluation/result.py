"""The result of an evaluation: tables, curves, a figure, files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.runtime import Array, write_text

Setting = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """One method in one partition.

    Attributes
    ----------
    method : str
    partition : int
    values : dict of str to float
        The metrics; empty if the method failed.
    setting : dict
        The parameters that tuning chose.
    seconds, tuning_seconds : float
        Of the processor, for one fit with its predictions and for the tuning.
    failure : str or None
        The error of a method that failed.
    warnings : tuple of str
    """

    method: str
    partition: int
    values: dict[str, float]
    setting: Setting = field(default_factory=dict)
    seconds: float = float("nan")
    tuning_seconds: float = float("nan")
    failure: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """The metrics of several methods on the same random partitions.

    Attributes
    ----------
    methods : tuple of str
        In the order in which they were given. Differences are to the first.
    outcomes : tuple of Outcomes
    about : str
        The data and the protocol, in words.
    is_implicit : bool
        Whether rankings of 0/1 associations were judged (implicit feedback), or predictions of graded scores.
    """

    methods: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    about: str
    is_implicit: bool

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics: ``"recall@10"``, ``"nDCG"``, ``"RMSE"`` and so on."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.values))

    @property
    def n_partitions(self) -> int:
        """The number of partitions."""
        return len({outcome.partition for outcome in self.outcomes})

    @property
    def averaging(self) -> str:
        """How the numbers were averaged, in words."""
        count = self.n_partitions
        return f"mean ± standard error over {count} partitions" if count > 1 else "one partition"

    @property
    def headline(self) -> str | None:
        """The metric that counts most: the recall at the largest k, or the root mean square error."""
        recalls = [name for name in self.metrics if name.startswith("recall@")]
        return recalls[-1] if recalls else (self.metrics[0] if self.metrics else None)

    @property
    def failures(self) -> dict[str, str]:
        """The first error of each method that failed in any partition."""
        errors: dict[str, str] = {}
        for outcome in self.outcomes:
            if outcome.failure is not None:
                errors.setdefault(outcome.method, outcome.failure)
        return errors

    @property
    def warnings(self) -> dict[str, tuple[str, ...]]:
        """The warnings of each method when it was fitted, every one once."""
        raised: dict[str, dict[str, None]] = {}
        for outcome in self.outcomes:
            for message in outcome.warnings:
                raised.setdefault(outcome.method, {})[message] = None
        return {name: tuple(messages) for name, messages in raised.items()}

    def values(self, method: str, metric: str) -> Array:
        """One number for each partition, NaN where the method failed, (partitions,)."""
        return np.array([o.values.get(metric, np.nan) for o in self.outcomes if o.method == method], dtype=float)

    def statistics(self, method: str, metric: str, paired: bool = False) -> tuple[float, float, float, int]:
        """Mean, standard deviation, standard error and number of partitions; of the difference to the first if paired.

        Standard deviations are those of a sample (divided by the number − 1), and NaN for a single partition.
        """
        values = self.values(method, metric)
        if paired:
            values = values - self.values(self.methods[0], metric)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return np.nan, np.nan, np.nan, 0
        std = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
        return float(values.mean()), std, std / np.sqrt(len(values)), len(values)

    @property
    def table(self) -> Any:
        """One row for each method: the mean of every metric, seconds, and the error if it failed."""
        columns: dict[str, Any] = {"method": self.methods}
        for metric in self.metrics:
            columns[metric] = [self.statistics(name, metric)[0] for name in self.methods]
        columns["seconds"] = [self._time(name, "seconds") for name in self.methods]
        columns["tuning seconds"] = [self._time(name, "tuning_seconds") for name in self.methods]
        columns["failed"] = [self.failures.get(name, "") for name in self.methods]
        return _frame(columns)

    @property
    def summary(self) -> Any:
        """One row for each method and metric: mean, standard deviation and standard error over the partitions; the
        mean difference to the first method in the same partitions, and its standard error; the number of partitions.
        """
        rows = []
        for method, metric in product(self.methods, self.metrics):
            mean, std, se, count = self.statistics(method, metric)
            difference, _, difference_se, _ = self.statistics(method, metric, paired=True)
            rows.append((method, metric, mean, std, se, difference, difference_se, count))
        columns = ("method", "metric", "mean", "std", "se", "difference", "difference_se", "partitions")
        return _frame(rows, columns)

    @property
    def per_partition(self) -> Any:
        """One row for each method, partition and metric."""
        rows = [(o.method, o.partition, metric, value) for o in self.outcomes for metric, value in o.values.items()]
        return _frame(rows, ("method", "partition", "metric", "value"))

    @property
    def curves(self) -> Any:
        """One row for each method and number k of retrieved entities: recall, its standard deviation and error."""
        rows = [
            (method, found[1], int(found[2]), *self.statistics(method, metric)[:3])
            for method, metric in product(self.methods, self.metrics)
            if (found := re.fullmatch(r"(.*recall)@(\d+)", metric))
        ]
        return _frame(rows, ("method", "metric", "k", "recall", "std", "se"))

    @property
    def settings(self) -> Any:
        """One row for each method, partition and parameter that was tuned."""
        rows = [(o.method, o.partition, name, str(value)) for o in self.outcomes for name, value in o.setting.items()]
        return _frame(rows, ("method", "partition", "parameter", "value"))

    def to_csv(self, folder: str | os.PathLike[str]) -> Path:
        """Write all tables into a folder, which is made if it is not there; the files are named after them."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("table", "summary", "per_partition", "settings", *(["curves"] if self.is_implicit else [])):
            write_text(folder / f"{name}.csv", getattr(self, name).to_csv(index=False, lineterminator="\n"))
        return folder

    def __str__(self) -> str:
        """The main metrics with their standard errors, as a table in Markdown."""
        columns = {"method": list(self.methods)}
        for metric in self.metrics:
            if not _in_the_middle(metric, self.metrics):
                columns[metric] = [self._in_words(name, metric) for name in self.methods]
        if self.headline is not None and len(self.methods) > 1:
            others = [self._in_words(name, self.headline, paired=True) for name in self.methods[1:]]
            columns[f"{self.headline} − {self.methods[0]}"] = ["", *others]
        for head, kind in (("fit + predict, s", "seconds"), ("tuning, s", "tuning_seconds")):
            columns[head] = [_seconds_in_words(self._time(name, kind)) for name in self.methods]
        table = markdown_table(list(columns), zip(*columns.values(), strict=True))
        failures = [f"{name} failed: {message}" for name, message in self.failures.items()]
        return "\n".join([f"{self.about}; {self.averaging}.", "", table, *failures])

    def __repr__(self) -> str:
        return f"Evaluation({len(self.methods)} methods, {self.n_partitions} partitions, {self.about})"

    def plot(self, ax: Any = None) -> Any:
        """Recall curves with standard errors or, for graded scores, bars of the root mean square error.

        Parameters
        ----------
        ax : matplotlib Axes, path, or None
            Where to draw: into these axes, into an image file, or into a new figure.

        Returns
        -------
        Axes
        """
        from jointdr.plot import evaluation_figure  # matplotlib is optional

        return evaluation_figure(self, ax)

    def _time(self, method: str, kind: str) -> float:
        """The mean seconds of the partitions in which the method did not fail."""
        values = np.array([getattr(o, kind) for o in self.outcomes if o.method == method and o.failure is None])
        return float(values.mean()) if len(values) else np.nan

    def _in_words(self, method: str, metric: str, paired: bool = False) -> str:
        mean, _, se, count = self.statistics(method, metric, paired)
        if count == 0:
            return "–"
        text = f"{mean:+.4f}" if paired else f"{mean:.4f}"
        return text if count == 1 else f"{text} ± {se:.4f}"


def markdown_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table in Markdown whose columns have one width."""
    rows = [list(head), *map(list, body)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))} |" for row in rows)


def _frame(data: Any, columns: Sequence[str] | None = None) -> Any:
    import pandas as pd  # slow to import

    return pd.DataFrame(data, columns=columns)


def _in_the_middle(name: str, names: Sequence[str]) -> bool:
    """Whether a recall is neither the first, nor the middle one, nor the last of its kind."""
    kind, _, number = name.partition("@")
    if not number:
        return False
    same = [other for other in names if other.partition("@")[0] == kind]
    return name not in (same[0], same[(len(same) - 1) // 2], same[-1])


def _seconds_in_words(value: float) -> str:
    return "–" if not np.isfinite(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"

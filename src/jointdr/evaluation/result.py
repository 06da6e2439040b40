"""What an evaluation found: tables, curves, a picture, files."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jointdr.prediction import table
from jointdr.runtime import Array, write_text

Setting = dict[str, Any]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Outcome:
    """One method in one partition.

    Attributes
    ----------
    method : str
    partition : int
    values : dict of str to float
        The measures; empty if the method failed.
    setting : dict
        What tuning chose.
    seconds, tuning_seconds : float
        Of the processor, for one fit with its predictions and for the tuning.
    failure : str or None
        What the method said when it failed.
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
    """The measures of several methods on the same random partitions.

    Attributes
    ----------
    methods : tuple of str
        In the order in which they were given. Differences are to the first.
    outcomes : tuple of Outcomes
    about : str
        The data and the protocol, in words.
    links : bool
        Whether rankings of links were judged, or predictions of grades.
    """

    methods: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    about: str
    links: bool

    # ---------------------------------------------------------------- tables

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.values))

    @property
    def n_partitions(self) -> int:
        """How many there are."""
        return len({outcome.partition for outcome in self.outcomes})

    @property
    def averaged(self) -> str:
        """What the numbers are means of, in words."""
        count = self.n_partitions
        return f"mean ± standard error over {count} partitions" if count > 1 else "one partition"

    @property
    def headline(self) -> str | None:
        """The measure that counts most: the recall at the largest number, or the root mean square error."""
        recalls = [name for name in self.measures if name.startswith("recall@")]
        return recalls[-1] if recalls else (self.measures[0] if self.measures else None)

    @property
    def failures(self) -> dict[str, str]:
        """What methods that failed in any partition said first."""
        said: dict[str, str] = {}
        for outcome in self.outcomes:
            if outcome.failure is not None:
                said.setdefault(outcome.method, outcome.failure)
        return said

    @property
    def warnings(self) -> dict[str, tuple[str, ...]]:
        """What methods warned of when they were fitted, each warning once."""
        raised: dict[str, dict[str, None]] = {}
        for outcome in self.outcomes:
            for message in outcome.warnings:
                raised.setdefault(outcome.method, {})[message] = None
        return {name: tuple(messages) for name, messages in raised.items()}

    @property
    def table(self) -> Any:
        """One row for each method: the mean of every measure, seconds, and what it said if it failed."""
        return table(**{name: _array(values) for name, values in self._means().items()})

    @property
    def summary(self) -> Any:
        """One row for each method and measure: mean, standard deviation and standard error over the partitions; the
        mean difference to the first method in the same partitions, and its standard error; the number of partitions.
        """
        return table(**{name: _array(values) for name, values in self._summary().items()})

    @property
    def per_partition(self) -> Any:
        """One row for each method, partition and measure."""
        return table(**{name: _array(values) for name, values in self._per_partition().items()})

    @property
    def curves(self) -> Any:
        """One row for each method and number k of retrieved entities: recall, its standard deviation and error."""
        return table(**{name: _array(values) for name, values in self._curves().items()})

    @property
    def settings(self) -> Any:
        """One row for each method, partition and parameter that was tuned."""
        return table(**{name: _array(values) for name, values in self._settings().items()})

    def to_csv(self, folder: str | os.PathLike[str]) -> Path:
        """Write all tables into a folder, which is made if it is not there; the files are named after them."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        parts = {
            "table": self._means(),
            "summary": self._summary(),
            "per_partition": self._per_partition(),
            "settings": self._settings(),
        }
        if self.links:
            parts["curves"] = self._curves()
        for name, columns in parts.items():
            text = io.StringIO(newline="")
            writer = csv.writer(text)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
            write_text(folder / f"{name}.csv", text.getvalue())
        return folder

    def __str__(self) -> str:
        """The main measures with their standard errors, as a table in Markdown."""
        shown = [name for name in self.measures if not _in_the_middle(name, self.measures)]
        head = ["method", *shown]
        if self.headline is not None and len(self.methods) > 1:
            head.append(f"{self.headline} − {self.methods[0]}")
        rows = [[name, *(self._in_words(name, m) for m in shown)] for name in self.methods]
        if len(head) > len(shown) + 1:
            for i, row in enumerate(rows):
                row.append("" if i == 0 else self._in_words(self.methods[i], str(self.headline), paired=True))
        head += ["fit + predict, s", "tuning, s"]
        for row in rows:
            row += [_number(self._time(row[0], kind)) for kind in ("seconds", "tuning_seconds")]
        lines = [f"{self.about}; {self.averaged}.", ""]
        lines += _aligned([head, *rows])
        lines += [f"{name} failed: {message}" for name, message in self.failures.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Evaluation({len(self.methods)} methods, {self.n_partitions} partitions, {self.about})"

    # ---------------------------------------------------------------- a picture

    def plot(self, ax: Any = None) -> Any:
        """Recall curves with standard errors or, for grades, bars of the root mean square error.

        Parameters
        ----------
        ax : matplotlib Axes, path, or None
            Where to draw: into these axes, into a picture file, or into a new figure.

        Returns
        -------
        Axes
        """
        from jointdr.plot import drawn  # matplotlib is optional

        return drawn(self, ax)

    # ---------------------------------------------------------------- inner workings

    def values(self, method: str, measure: str) -> Array:
        """One number for each partition, NaN where the method failed, (partitions,)."""
        return np.array([o.values.get(measure, np.nan) for o in self.outcomes if o.method == method], dtype=float)

    def _time(self, method: str, kind: str) -> float:
        """The mean seconds of the partitions in which the method did not fail."""
        values = np.array([getattr(o, kind) for o in self.outcomes if o.method == method and o.failure is None])
        return float(values.mean()) if len(values) else np.nan

    def statistics(self, method: str, measure: str, paired: bool = False) -> tuple[float, float, float, int]:
        """Mean, standard deviation, standard error and number of partitions; of the difference to the first if paired.

        Standard deviations are those of a sample (divided by the number − 1), and NaN for a single partition.
        """
        values = self.values(method, measure)
        if paired:
            values = values - self.values(self.methods[0], measure)
        values = values[np.isfinite(values)]
        if len(values) == 0:
            return np.nan, np.nan, np.nan, 0
        std = float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
        return float(values.mean()), std, std / np.sqrt(len(values)), len(values)

    def _means(self) -> Columns:
        columns: Columns = {"method": list(self.methods)}
        for measure in self.measures:
            columns[measure] = [self.statistics(name, measure)[0] for name in self.methods]
        for kind, label in (("seconds", "seconds"), ("tuning_seconds", "tuning seconds")):
            columns[label] = [self._time(name, kind) for name in self.methods]
        columns["failed"] = [self.failures.get(name, "") for name in self.methods]
        return columns

    def _summary(self) -> Columns:
        names = ("method", "measure", "mean", "std", "se", "difference", "difference_se", "partitions")
        rows = []
        for method in self.methods:
            for measure in self.measures:
                mean, std, se, count = self.statistics(method, measure)
                difference, _, difference_se, _ = self.statistics(method, measure, paired=True)
                rows.append((method, measure, mean, std, se, difference, difference_se, count))
        return _columns(names, rows)

    def _per_partition(self) -> Columns:
        rows = [(o.method, o.partition, measure, value) for o in self.outcomes for measure, value in o.values.items()]
        return _columns(("method", "partition", "measure", "value"), rows)

    def _settings(self) -> Columns:
        rows = [(o.method, o.partition, name, str(value)) for o in self.outcomes for name, value in o.setting.items()]
        return _columns(("method", "partition", "parameter", "value"), rows)

    def _curves(self) -> Columns:
        rows = []
        for method in self.methods:
            for measure in self.measures:
                if found := re.fullmatch(r"(.*recall)@(\d+)", measure):
                    mean, std, se, _ = self.statistics(method, measure)
                    rows.append((method, found[1], int(found[2]), mean, std, se))
        return _columns(("method", "measure", "k", "recall", "std", "se"), rows)

    def _in_words(self, method: str, measure: str, paired: bool = False) -> str:
        mean, _, se, count = self.statistics(method, measure, paired)
        if count == 0:
            return "–"
        text = f"{mean:+.4f}" if paired else f"{mean:.4f}"
        return text if count == 1 else f"{text} ± {se:.4f}"


def _in_the_middle(name: str, names: Sequence[str]) -> bool:
    """Whether a recall is neither the first, nor the middle one, nor the last of its kind."""
    kind, _, number = name.partition("@")
    if not number:
        return False
    same = [other for other in names if other.partition("@")[0] == kind]
    return name not in (same[0], same[(len(same) - 1) // 2], same[-1])


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _array(values: list[Any]) -> Array:
    return np.array(values) if values else np.empty(0)


def _number(value: float) -> str:
    return "–" if not np.isfinite(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of a Markdown table, in which columns have one width."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in rows]
    return [lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]]

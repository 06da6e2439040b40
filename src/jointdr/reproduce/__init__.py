"""The paper, reproduced: each figure and table by its name.

>>> from jointdr.reproduce import FIGURES
>>> sorted(FIGURES)
['figure1', 'phd', 'violations']

`reproduce` measures, draws and judges them; ``python -m jointdr.reproduce`` does the same from a shell.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jointdr.reproduce import figure1, phd, plots, violations
from jointdr.reproduce.cache import Cache
from jointdr.reproduce.outputs import verdict_table, write_numbers, write_verdicts
from jointdr.reproduce.progress import reporter
from jointdr.reproduce.schedule import measured
from jointdr.reproduce.study import Figure
from jointdr.reproduce.summary import Curve, Verdict, verdict

__all__ = ["FIGURES", "Reproduction", "reproduce"]

FIGURES: dict[str, Callable[[Any], Figure]] = {
    "figure1": figure1.figure,
    "violations": violations.figure,
    "phd": phd.figure,
}
"""What can be reproduced: each function takes the folder with data (or None) and returns a `Figure`."""


@dataclass(frozen=True)
class Reproduction:
    """What `reproduce` found and wrote.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One for each line that the paper has values for.
    files : tuple of Path
        Pictures and tables.
    """

    verdicts: tuple[Verdict, ...]
    files: tuple[Path, ...]

    def __str__(self) -> str:
        return verdict_table(self.verdicts)

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts the paper's values: what few repetitions leave unclear does not."""
        return all(v.answer != "no" for v in self.verdicts)


def reproduce(
    names: str | Iterable[str] = "all",
    *,
    out: str | os.PathLike[str],
    repetitions: int | None = None,
    fast: bool = False,
    jobs: int = 1,
    data: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[str], None] = True,
) -> Reproduction:
    """Reproduce figures and tables of the paper, and compare them with the values it plots.

    Parameters
    ----------
    names : str or iterable of str
        Keys of `FIGURES`, or ``"all"``.
    out : path
        A folder for the results: a picture (PNG, SVG) and the numbers (CSV) of each figure, ``verdicts.md`` and
        ``verdicts.csv``; and ``cache/``, with all finished repetitions. Run again, an interrupted run goes on from
        there, and more repetitions are added to those that are there.
    repetitions : int, optional
        How many; by default as many as the paper made.
    fast : bool
        A tenth of the repetitions.
    jobs : int
        Processes, each with one thread of linear algebra. The numbers are the same for any number of them.
    data : path, optional
        The folder with data, for figures that are about data.
    progress : bool or callable
        Whether to say on standard error how far it is and how long it will take; a function gets the lines instead.

    Returns
    -------
    Reproduction
    """
    figures = [FIGURES[name](data) for name in _checked_names(names)]
    if jobs < 1 or (repetitions is not None and repetitions < 1):
        raise ValueError(f"jobs={jobs} and repetitions={repetitions} must be at least 1.")
    plots.require_matplotlib()
    folder = Path(out)
    studies = list({study.name: study for figure in figures for study in figure.studies}.values())
    with reporter(progress) as report:
        wanted = [study.wanted(repetitions, fast) for study in studies]
        values = measured(studies, wanted, Cache(folder / "cache"), jobs, report)
    curves = {
        (study.name, curve): Curve.of(study.x, values[study.name][:, k])
        for study in studies
        for k, curve in enumerate(study.curves)
    }
    files: list[Path] = []
    for figure in figures:
        pictures = [folder / f"{figure.name}.png", folder / f"{figure.name}.svg"]
        plots.draw(figure, curves, pictures)
        write_numbers(figure, curves, folder / f"{figure.name}.csv")
        files += [*pictures, folder / f"{figure.name}.csv"]
    verdicts = tuple(v for figure in figures for v in _verdicts(figure, curves))
    write_verdicts(verdicts, folder)
    return Reproduction(verdicts, (*files, folder / "verdicts.md", folder / "verdicts.csv"))


def _checked_names(names: str | Iterable[str]) -> list[str]:
    asked = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in asked if name not in FIGURES and name != "all"]
    if unknown or not asked:
        raise ValueError(f"names={asked} is not understood; choose from {[*FIGURES, 'all']}.")
    return list(FIGURES) if "all" in asked else list(dict.fromkeys(asked))


def _verdicts(figure: Figure, curves: dict[tuple[str, str], Curve]) -> list[Verdict]:
    """One per line that the paper has values for; a line that several panels show is judged once."""
    found: dict[tuple[str, str], Verdict] = {}
    for panel in figure.panels:
        for line in panel.lines:
            key = line.study.name, line.curve
            judged = verdict(figure.name, panel.title, line, curves[key])
            if judged is not None:
                found.setdefault(key, judged)
    return list(found.values())

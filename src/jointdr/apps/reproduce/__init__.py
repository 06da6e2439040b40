"""The paper, reproduced: each figure and table by its name.

>>> from jointdr.apps.reproduce import FIGURES
>>> sorted(FIGURES)
['cost', 'figure1', 'gene-disease', 'phd', 'significant', 'violations']

`reproduce` measures, draws and judges them; ``jointdr reproduce`` does the same from a shell.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jointdr.apps.reproduce import cost, figure1, gene_disease, phd, plots, violations
from jointdr.apps.reproduce.cache import Cache
from jointdr.apps.reproduce.claims import Claim
from jointdr.apps.reproduce.cost import CostTable, write_costs
from jointdr.apps.reproduce.gene_disease import NothingToShow
from jointdr.apps.reproduce.outputs import verdict_tables, write_numbers, write_verdicts
from jointdr.apps.reproduce.recalls import RecallFigure, draw_recalls, write_recalls
from jointdr.apps.reproduce.schedule import measure_studies
from jointdr.apps.reproduce.study import Figure
from jointdr.apps.reproduce.summary import Verdict, verdict
from jointdr.plot import Curve
from jointdr.runtime import Array, reporter

__all__ = ["FIGURES", "Reproduction", "reproduce"]

Exhibit = Figure | RecallFigure | CostTable
# Each function takes the folder with data (or None) and returns the exhibit to measure.
FIGURES: dict[str, Callable[[Any], Exhibit]] = {
    "figure1": figure1.make_figure1,
    "violations": violations.make_violations,
    "phd": phd.make_phd,
    "gene-disease": gene_disease.make_gene_disease,
    "significant": gene_disease.make_significant,
    "cost": cost.make_costs,
}


@dataclass(frozen=True)
class Reproduction:
    """The result of `reproduce`.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One for each line that the paper has values for.
    files : tuple of Path
        Figures and tables.
    claims : tuple of Claim
        The paper's statements on the order of methods on its data, judged on ours.
    texts : tuple of str
        Tables without verdicts.
    """

    verdicts: tuple[Verdict, ...]
    files: tuple[Path, ...]
    claims: tuple[Claim, ...] = ()
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join([*verdict_tables(self.verdicts, self.claims), *self.texts])

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts the paper's values; a verdict that few repetitions leave unclear does not.

        Claims do not count: they are about other data than the paper's.
        """
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
        A folder for the results: an image (PNG, SVG) and the numbers (CSV) of each figure, ``verdicts.md`` and
        ``verdicts.csv``; and ``cache/``, with all finished repetitions. Run again, an interrupted run goes on from
        there, and more repetitions are added to those that are there.
    repetitions : int, optional
        Their number; by default that of the paper.
    fast : bool
        A tenth of the repetitions; 3 of the 20 partitions of data.
    jobs : int
        Processes, each with one thread of linear algebra and an equal share of the memory budget. The numbers are the
        same for any number of them.
    data : path, optional
        The folder with gene-disease data, see `jointdr.apps.reproduce.gene_disease_data`. Without it, the data that
        ``pip install "jointdr[demo]"`` installs.
    progress : bool or callable
        Whether to report progress and remaining time on standard error; a function gets the lines instead.

    Returns
    -------
    Reproduction
    """
    asked = [names] if isinstance(names, str) else list(names)
    if not asked or not set(asked) <= {*FIGURES, "all"}:
        raise ValueError(f"names={asked} is not understood; choose from {[*FIGURES, 'all']}.")
    if jobs < 1 or (repetitions is not None and repetitions < 1):
        raise ValueError(f"jobs={jobs} and repetitions={repetitions} must be at least 1.")
    plots.require_matplotlib()
    exhibits = _exhibits(asked, data)
    folder = Path(out)
    studies = list({study.name: study for exhibit in exhibits for study in exhibit.studies}.values())
    with reporter(progress) as report:
        wanted = [study.wanted(repetitions, fast) for study in studies]
        values = measure_studies(studies, wanted, Cache(folder / "cache"), jobs, report)
    parts = [_publish(exhibit, values, folder) for exhibit in exhibits]
    verdicts = tuple(v for part in parts for v in part.verdicts)
    claims = tuple(claim for part in parts for claim in part.claims)
    files = [path for part in parts for path in part.files] + write_verdicts(verdicts, claims, folder)
    return Reproduction(verdicts, tuple(files), claims, tuple(text for part in parts for text in part.texts))


def _exhibits(names: list[str], data: Any) -> list[Exhibit]:
    """The exhibits of these names; of all, those that the data does not have are left out."""
    found = []
    for name in FIGURES if "all" in names else dict.fromkeys(names):
        try:
            found.append(FIGURES[name](data))
        except NothingToShow as reason:
            if "all" not in names:
                raise
            warnings.warn(f"Left out: {reason}", UserWarning, stacklevel=3)
    return found


def _publish(exhibit: Exhibit, values: dict[str, Array], folder: Path) -> Reproduction:
    if isinstance(exhibit, CostTable):
        text, written = write_costs(exhibit, values, folder)
        return Reproduction((), tuple(written), texts=(text,))
    images = [folder / f"{exhibit.name}.png", folder / f"{exhibit.name}.svg"]
    numbers = folder / f"{exhibit.name}.csv"
    if isinstance(exhibit, RecallFigure):
        draw_recalls(exhibit, values, images)
        write_recalls(exhibit, values, numbers)
        return Reproduction((), (*images, numbers), tuple(exhibit.claims(values)))
    curves = {
        (study.name, curve): Curve.of(study.x, values[study.name][:, k])
        for study in exhibit.studies
        for k, curve in enumerate(study.curves)
    }
    plots.draw_figure(exhibit, curves, images)
    write_numbers(exhibit, curves, numbers)
    return Reproduction(tuple(_verdicts(exhibit, curves)), (*images, numbers))


def _verdicts(figure: Figure, curves: dict[tuple[str, str], Curve]) -> list[Verdict]:
    """One per line that the paper has values for; a line that several panels show is judged once."""
    found: dict[tuple[str, str], Verdict] = {}
    for panel, line in figure.lines:
        key = line.study.name, line.curve
        answer = verdict(figure.name, panel.title, line, curves[key])
        if answer is not None:
            found.setdefault(key, answer)
    return list(found.values())

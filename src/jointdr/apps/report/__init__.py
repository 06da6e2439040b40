"""The report on a fitted model: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jointdr.runtime import write_text

if TYPE_CHECKING:
    from jointdr.data import Dyads


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    data: Dyads | None = None,
    *,
    rows: Any = None,
    columns: Any = None,
    color: str | None = None,
    label: str | None = None,
    evaluation: Any = None,
    k: int = 5,
    title: str | None = None,
) -> Path:
    """Write the report on a fitted model, in which a sentence stands for every section that is missing.

    Parameters
    ----------
    model : AssociationModel, IMC, Popularity, or an estimator of the family
    path : path
        Of the file; it should end in .html.
    data : Dyads, optional
        The data of the fit: for the permutations behind the singular values.
    rows, columns : DataFrames, optional
        Tables about the entities, with their ids as index.
    color, label : str, optional
        The columns of these tables that the map is coloured by, and that have names to be read instead of ids; by
        default names are those of the tables that the model was fitted to.
    evaluation : Evaluation or path, optional
        Recall curves, as in `jointdr.plot.recall_curves`, or means of graded scores, as in `jointdr.plot.graded_means`.
    k : int
        The number of columns that are recommended for each row, and of rows for each column.
    title : str, optional

    Returns
    -------
    Path

    Notes
    -----
    The map has at most 5000 points, drawn at random if there are more, and a list at most 20 000 pairs; the report
    says so where something is left out. It stays below 5 MB unless ids or names are very long.
    """
    from jointdr.apps.report.contents import Contents  # when a report is written, and not with the facts of a model
    from jointdr.apps.report.page import render_page, template_of_reports
    from jointdr.apps.report.tables import About

    template = template_of_reports()  # before long work that would be lost without it
    about = About.of(model, rows, columns, color, label)
    contents = Contents.of(model, data, about, evaluation, k)
    title = title or f"{type(model).__name__}: {' and '.join(map(str, model.view_names_))}"
    write_text(path, render_page(template, contents, title))
    return Path(path)

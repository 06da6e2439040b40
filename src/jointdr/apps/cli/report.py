"""``jointdr report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from jointdr.apps.cli.inputs import dyads_for
from jointdr.apps.cli.options import Model, TableFiles, option
from jointdr.apps.cli.output import require_writable, say, working

Page = Annotated[Path, option("-o", "--output", metavar="FILE", help="Where the report goes, an .html file.")]
RowsTable = Annotated[Path | None, option("--rows-table", metavar="FILE", help="A table about the rows, ids first.")]
ColumnsTable = Annotated[
    Path | None, option("--columns-table", metavar="FILE", help="A table about the columns, ids first.")
]
Colour = Annotated[str | None, option("--color", metavar="NAME", help="Which column of these colours the map.")]
Label = Annotated[str | None, option("--label", metavar="NAME", help="Which column of these has names to be read.")]
Evaluated = Annotated[
    Path | None, option("--evaluation", metavar="FOLDER", help="What evaluate wrote: methods side by side.")
]
Count = Annotated[int, option("-k", metavar="K", help="How many are recommended for each row and column.")]
Title = Annotated[str | None, option("--title", metavar="TEXT", help="The heading.")]


def report(
    model: Model,
    output: Page,
    source: TableFiles,
    rows_table: RowsTable = None,
    columns_table: ColumnsTable = None,
    color: Colour = None,
    label: Label = None,
    evaluation: Evaluated = None,
    k: Count = 5,
    title: Title = None,
) -> None:
    """Write a report on a model: one HTML file that works offline, with a map, recommendations and warnings.

    With the data that the model was fitted to, given as it was to fit, the singular values are compared with chance.

    \b
    Examples:
      jointdr report model.npz -o report.html
      jointdr report model.npz -o report.html --rows-table diseases.tsv \\
          --color system --label name
      jointdr report model.npz -o report.html --pairs links.tsv \\
          --rows a.tsv --columns b.tsv --evaluation results
    """
    from jointdr import load
    from jointdr.apps.report import write_report
    from jointdr.datasets import read_attributes

    require_writable(output, (".html", ".htm"))
    with working("reading"):
        fitted = load(model)
        with_similarities = any(getattr(fitted, "similarity_names_", ()))
        data = None if source == TableFiles() else dyads_for(source, with_similarities)
        rows, columns = (None if path is None else read_attributes(path) for path in (rows_table, columns_table))
        about = {"rows": rows, "columns": columns, "color": color, "label": label}
    with working("writing the report"):
        write_report(fitted, output, data, **about, evaluation=evaluation, k=k, title=title)
    say(f"The report is in {output}, {output.stat().st_size / 1e6:.1f} MB: open it in a browser.")

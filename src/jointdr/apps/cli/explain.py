"""``jointdr explain``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jointdr.apps.cli.inputs import new_entities, open_explainer
from jointdr.apps.cli.options import AsJson, Model, NewColumns, NewContents, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_json, put_table, require_writable

RowId = Annotated[str, typer.Argument(metavar="ROW", help="The id of a row.", show_default=False)]
ColumnId = Annotated[str, typer.Argument(metavar="COLUMN", help="The id of a column.", show_default=False)]
Count = Annotated[int, option("-k", metavar="K", help="The number of known pairs to list.")]


def explain(
    model: Model,
    row: RowId,
    column: ColumnId,
    contents: NewContents,
    rows: NewRows = None,
    columns: NewColumns = None,
    k: Count = 10,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """Show the known pairs that a prediction comes from, with what each contributes to the score.

    \b
    Examples:
      jointdr explain model.npz OMIM:154700 2200
      jointdr explain model.npz new1 2200 --rows new_diseases.tsv
    """
    require_writable(output, ENDINGS)
    fitted = open_explainer(model)
    new = tuple(new_entities(path, contents, fitted, side) for side, path in enumerate((rows, columns)))
    found = fitted.explain(*(_entity(name, table) for name, table in zip((row, column), new, strict=True)), k=k)
    if output is not None:
        put_table(found.pairs, output, as_json=False)
    if json:
        parts = {name: getattr(found, name) for name in ("row", "column", "score", "rest", "n_pairs")}
        put_json({**parts, "pairs": found.pairs.to_dict("records")})
    elif output is None:
        print(found)


def _entity(name: str, new: Any) -> Any:
    """An id, or the features of the new entity with this id."""
    return name if new is None or name not in new.index else new.loc[[name]]

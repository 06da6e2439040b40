"""``jointdr similar``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jointdr.apps.cli.entities import Queried, put_into_terms
from jointdr.apps.cli.inputs import SIDES, open_recommender
from jointdr.apps.cli.options import AsJson, Model, NewColumns, NewContents, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_table, require_writable

OneId = Annotated[str, typer.Argument(metavar="ID", help="A row, by id or name.", show_default=False)]
IsColumn = Annotated[bool, option("--column", help="It is a column, not a row.")]
Count = Annotated[int, option("-k", metavar="K", help="The number of entities to list.", least=1)]


def similar(
    model: Model,
    one: OneId,
    contents: NewContents,
    column: IsColumn = False,
    rows: NewRows = None,
    columns: NewColumns = None,
    k: Count = 10,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """List the rows that are nearest to one of them, or the columns nearest to a column, as the model compares them.

    The similarity is 1 for those that the model cannot tell apart.

    \b
    Examples:
      jointdr similar model.npz OMIM:154700
      jointdr similar model.npz BRCA1 --column -k 20
      jointdr similar model.npz new1 --rows new_diseases.tsv
    """
    require_writable(output, ENDINGS)
    side = 1 if column else 0
    if (rows, columns)[1 - side] is not None:
        hint = "leave --column out" if column else "give --column too"
        raise ValueError(f"--{SIDES[1 - side]}s is no table of {SIDES[side]}s: {hint}, or leave it out.")
    fitted = open_recommender(model)
    asked = Queried.read(fitted, model, (rows, columns), contents)
    if one in asked.known[1 - side].names and one not in asked.known[side].names:
        hint = "leave --column out" if column else "give --column too"
        raise ValueError(
            f"{one!r} is one of the {SIDES[1 - side]}s, and this asks for one of the {SIDES[side]}s: {hint}."
        )
    found, table = asked.known[side].id_of(one), asked.tables[side]
    which: dict[str, Any] = {SIDES[side]: found if table is None or found not in table.index else table.loc[[found]]}
    put_table(put_into_terms(fitted.similar(**which, k=k), asked.known), output, json)

"""``jointdr recommend``."""

from __future__ import annotations

from typing import Annotated

from jointdr.cli.inputs import table_of
from jointdr.cli.models import opened
from jointdr.cli.options import AsJson, Model, NewRows, TableOut, option
from jointdr.cli.output import ENDINGS, put_table, require_writable, working

Count = Annotated[int, option("-k", metavar="K", help="How many columns for each row.")]
OnlyRow = Annotated[list[str] | None, option("--row", metavar="ID", help="Only this row; may be given several times.")]
WithKnown = Annotated[bool, option("--with-known", help="Do not leave out the pairs that are known already.")]


def recommend(
    model: Model,
    rows: NewRows = None,
    row: OnlyRow = None,
    k: Count = 10,
    with_known: WithKnown = False,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """List the best columns for every row, best first; for the rows that were fitted, or for new ones.

    Neighbors is the effective number of known pairs behind a score: a prediction with one or two stands on little.

    \b
    Examples:
      jointdr recommend model.npz -k 5
      jointdr recommend model.npz --row OMIM:154700
      jointdr recommend model.npz --rows new_diseases.tsv -o best.tsv
    """
    require_writable(output, ENDINGS)
    fitted, new = opened(model), table_of(rows)
    with working("ranking"):
        table = fitted.recommend(new, k=k, exclude_known=not with_known)
    if row:
        known = set((fitted.row_ids_ if new is None else new.index).tolist())
        if missing := [name for name in row if name not in known]:
            where = model if new is None else rows
            raise ValueError(f"{where} has no row {missing[0]!r}; its first is {sorted(known)[0]!r}.")
        table = table[table["row"].isin(row)]
    put_table(table, output, json)

"""``jointdr recommend``."""

from __future__ import annotations

from typing import Annotated

from jointdr.apps.cli.inputs import open_recommender, table_of
from jointdr.apps.cli.options import AsJson, Model, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_table, require_writable, working

Count = Annotated[int, option("-k", metavar="K", help="The number of columns for each row.")]
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
    fitted, new = open_recommender(model), table_of(rows)
    ids = (fitted.row_ids_ if new is None else new.index).tolist()
    wanted = set(row or ())
    if missing := sorted(wanted.difference(ids)):
        raise ValueError(f"{model if new is None else rows} has no row {missing[0]!r}; its first is {ids[0]!r}.")
    with working("ranking"):
        only = [name for name in ids if name in wanted] if row else None
        table = fitted.recommend(new, rows=only, k=k, exclude_known=not with_known)
    put_table(table, output, json)

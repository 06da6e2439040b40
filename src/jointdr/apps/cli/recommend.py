"""``jointdr recommend``."""

from __future__ import annotations

from typing import Annotated, Any

from jointdr.apps.cli.entities import Directory, Queried, put_into_terms
from jointdr.apps.cli.inputs import OF_NEW, in_terms_of_options, open_recommender
from jointdr.apps.cli.options import (
    AsJson,
    Model,
    NewColumns,
    NewColumnSimilarity,
    NewContents,
    NewRows,
    NewRowSimilarity,
    TableOut,
    option,
)
from jointdr.apps.cli.output import ENDINGS, put_table, require_writable, working

Count = Annotated[
    int | None, option("-k", metavar="K", help="The number of columns for each row; 10 by default.", least=1)
]
OnlyRow = Annotated[
    list[str] | None, option("--row", metavar="ID", help="Only this row, by id or name; may be given several times.")
]
ForColumn = Annotated[
    list[str] | None,
    option("--column", metavar="ID", help="The best rows for this column, by id or name; may be given several times."),
]
Top = Annotated[
    int | None, option("--top", metavar="N", help="The best N pairs of all, instead of some for each.", least=1)
]
Least = Annotated[
    float | None, option("--min-neighbors", metavar="X", help="Leave out what fewer known pairs than X stand behind.")
]
WithKnown = Annotated[bool, option("--with-known", help="Do not leave out the pairs that are known already.")]

USUAL = 10  # columns for each row


def recommend(
    model: Model,
    contents: NewContents,
    rows: NewRows = None,
    columns: NewColumns = None,
    new_row_similarity: NewRowSimilarity = None,
    new_column_similarity: NewColumnSimilarity = None,
    row: OnlyRow = None,
    column: ForColumn = None,
    top: Top = None,
    k: Count = None,
    min_neighbors: Least = None,
    with_known: WithKnown = False,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """List the best columns for every row, the best rows for some columns, or the best pairs of all; best first.

    They are those that were fitted, or new ones. New rows and columns of a model that compares similarities are given
    by theirs to the fitted ones.
    Neighbors is the effective number of known pairs behind a score: a prediction with one or two stands on little.

    \b
    Examples:
      jointdr recommend model.npz -k 5
      jointdr recommend model.npz --row OMIM:154700
      jointdr recommend model.npz --column BRCA1 --column TP53
      jointdr recommend model.npz --top 100 --min-neighbors 3
      jointdr recommend model.npz --rows new_diseases.tsv -o best.tsv
    """
    require_writable(output, ENDINGS)
    asked = _question(row, column, top, k)
    fitted = open_recommender(model)
    given = (new_row_similarity, new_column_similarity)
    found = Queried.read(fitted, model, (rows, columns), contents, given, alone=True)
    only = [_ids(words, those) for words, those in zip((row, column), found.known, strict=True)]
    options: dict[str, Any] = {"rows": only[0], "columns": only[1], "min_neighbors": min_neighbors, **asked}
    with working("ranking"), in_terms_of_options(OF_NEW):
        table = fitted.recommend(**found.arguments, **options, exclude_known=not with_known)
    put_table(put_into_terms(table, found.known), output, json)


def _question(row: list[str] | None, column: list[str] | None, top: int | None, k: int | None) -> dict[str, Any]:
    """The arguments for the best of each, or of all pairs, and for how many of these."""
    if top is not None:
        if k is not None:
            raise ValueError("-k is the number for each row or column, and --top that of all pairs: leave one out.")
        return {"by": "pairs", "k": top}
    if row and column:
        raise ValueError(
            "--row asks for the best columns and --column for the best rows: give one of them, or --top N for the best "
            "pairs among both; predict --pairs FILE has the scores of listed pairs."
        )
    return {"by": "columns" if column else "rows", "k": USUAL if k is None else k}


def _ids(words: list[str] | None, among: Directory) -> list[str] | None:
    """The ids that are asked for, each once and in the order in which all of them are."""
    if not words:
        return None
    wanted = {among.id_of(word) for word in words}
    return [one for one in among.names if one in wanted]

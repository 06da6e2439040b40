"""``jointdr recommend``."""

from __future__ import annotations

from typing import Annotated, Any

from jointdr.apps.cli.inputs import OF_NEW, in_terms_of_options, new_entities, new_similarities_of, open_recommender
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

Count = Annotated[int, option("-k", metavar="K", help="The number of columns for each row.")]
OnlyRow = Annotated[list[str] | None, option("--row", metavar="ID", help="Only this row; may be given several times.")]
WithKnown = Annotated[bool, option("--with-known", help="Do not leave out the pairs that are known already.")]


def recommend(
    model: Model,
    contents: NewContents,
    rows: NewRows = None,
    columns: NewColumns = None,
    new_row_similarity: NewRowSimilarity = None,
    new_column_similarity: NewColumnSimilarity = None,
    row: OnlyRow = None,
    k: Count = 10,
    with_known: WithKnown = False,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """List the best columns for every row, best first; for the rows and columns that were fitted, or for new ones.

    New rows and columns of a model that compares similarities are given by theirs to the fitted ones.
    Neighbors is the effective number of known pairs behind a score: a prediction with one or two stands on little.

    \b
    Examples:
      jointdr recommend model.npz -k 5
      jointdr recommend model.npz --row OMIM:154700
      jointdr recommend model.npz --rows new_diseases.tsv -o best.tsv
    """
    require_writable(output, ENDINGS)
    fitted = open_recommender(model)
    new, new_columns = (new_entities(path, contents, fitted, side) for side, path in enumerate((rows, columns)))
    a, b = (new_similarities_of(fitted, *given) for given in enumerate((new_row_similarity, new_column_similarity)))
    only = None
    if row:
        ids = _row_ids(fitted, new, a)
        if missing := sorted(set(row).difference(ids)):
            where = rows or (new_row_similarity or [str(model)])[0]
            raise ValueError(f"{where} has no row {missing[0]!r}; its first is {ids[0]!r}.")
        only = [name for name in ids if name in set(row)]
    options: dict[str, Any] = {"row_similarity": a, "column_similarity": b, "rows": only, "k": k}
    with working("ranking"), in_terms_of_options(OF_NEW):
        table = fitted.recommend(new, new_columns, **options, exclude_known=not with_known)
    put_table(table, output, json)


def _row_ids(fitted: Any, new: Any, similarities: Any) -> list[str]:
    """The ids of the rows that are ranked for, in their order."""
    given = [new, *(similarities.values() if isinstance(similarities, dict) else (similarities,))]
    tables = [T for T in given if T is not None]
    labelled = [T.index for T in tables if hasattr(T, "iloc")]
    if labelled:
        return list(labelled[0])
    return [str(i) for i in range(tables[0].shape[0])] if tables else list(fitted.row_ids_.tolist())

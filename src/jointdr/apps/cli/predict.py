"""``jointdr predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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

Pairs = Annotated[
    Path | None, option("--pairs", metavar="FILE", help="The pairs to predict: row id, column id; all by default.")
]


def predict(
    model: Model,
    contents: NewContents,
    pairs: Pairs = None,
    rows: NewRows = None,
    columns: NewColumns = None,
    new_row_similarity: NewRowSimilarity = None,
    new_column_similarity: NewColumnSimilarity = None,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """Predict the scores of listed pairs, or of all pairs of the rows with the columns.

    Ids are looked up in the tables of new rows and columns first, then among those that were fitted. Neighbors is the
    effective number of known pairs behind a score; with 0 all are too far away, and the score is a mean. New rows and
    columns of a model that compares similarities are given by theirs to the fitted ones.

    \b
    Examples:
      jointdr predict model.npz --pairs wanted.tsv
      jointdr predict model.npz --rows new_diseases.tsv -o scores.parquet
      jointdr predict model.npz --pairs wanted.tsv --rows new_diseases.tsv
    """
    from jointdr.datasets import read_pairs

    require_writable(output, ENDINGS)
    fitted = open_recommender(model)
    wanted = None if pairs is None else read_pairs(pairs, score=False)
    a, b = (new_similarities_of(fitted, *given) for given in enumerate((new_row_similarity, new_column_similarity)))
    new = tuple(new_entities(path, contents, fitted, side) for side, path in enumerate((rows, columns)))
    with working("predicting"), in_terms_of_options(OF_NEW):
        table = fitted.predict_pairs(wanted, *new, row_similarity=a, column_similarity=b)
    put_table(table, output, json)

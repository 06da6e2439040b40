"""``jointdr predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from jointdr.apps.cli.inputs import open_recommender, table_of
from jointdr.apps.cli.options import AsJson, Model, NewColumns, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_table, require_writable, working

Pairs = Annotated[
    Path | None, option("--pairs", metavar="FILE", help="The pairs to predict: row id, column id; all by default.")
]


def predict(
    model: Model,
    pairs: Pairs = None,
    rows: NewRows = None,
    columns: NewColumns = None,
    output: TableOut = None,
    json: AsJson = False,
) -> None:
    """Predict the scores of listed pairs, or of all pairs of the rows with the columns.

    Ids are looked up in the tables of new rows and columns first, then among those that were fitted. Neighbors is the
    effective number of known pairs behind a score; with 0 all are too far away, and the score is a mean.

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
    with working("predicting"):
        table = fitted.predict_pairs(wanted, table_of(rows), table_of(columns))
    put_table(table, output, json)

"""``jointdr predict``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

from jointdr.apps.cli.entities import RESULTS, Directory, Queried, put_into_terms
from jointdr.apps.cli.inputs import OF_NEW, SIDES, in_terms_of_options, open_recommender, spooled
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

    Ids and names are looked up in the tables of new rows and columns first, then among those that were fitted. A table
    that recommend wrote can be given as --pairs. Neighbors is the effective number of known pairs behind a score; with
    0 all are too far away, and the score is a mean. New rows and columns of a model that compares similarities are
    given by theirs to the fitted ones.

    \b
    Examples:
      jointdr predict model.npz --pairs wanted.tsv
      jointdr predict model.npz --rows new_diseases.tsv -o scores.parquet
      jointdr predict model.npz --pairs wanted.tsv --rows new_diseases.tsv
    """
    require_writable(output, ENDINGS)
    fitted = open_recommender(model)
    asked = Queried.read(fitted, model, (rows, columns), contents, (new_row_similarity, new_column_similarity))
    wanted = None if pairs is None else _wanted_pairs(pairs, asked.known)
    with working("predicting"), in_terms_of_options(OF_NEW):
        table = fitted.predict_pairs(wanted, **asked.arguments)
    put_table(put_into_terms(table, asked.known), output, json)


def _wanted_pairs(path: Path, known: tuple[Directory, Directory]) -> list[tuple[str, str]]:
    """The pairs of ids in a file: in the columns that have the names of the two kinds, or else in the first two."""
    from jointdr.datasets import read_pairs

    path = spooled(path, "--pairs")
    kinds = (known[0].kind, known[1].kind)
    # Of a table that recommend wrote for a kind that is called score, row and column are meant.
    for names in (SIDES, kinds) if RESULTS & set(kinds) else (kinds,):
        if (listed := _read_named(path, names)) is not None:
            break
    else:
        listed = read_pairs(path, score=False)
        if all(str(name) in those.names for name, those in zip(listed.columns[:2], known, strict=True)):
            listed = read_pairs(path, score=False, header=False)  # its first line is a pair
    columns = ([those.id_of(word) for word in listed.iloc[:, k]] for k, those in enumerate(known))
    return list(zip(*columns, strict=True))


def _read_named(path: Path, names: tuple[str, str]) -> Any:
    """The pairs in two columns of a file, or None if it has no such columns."""
    from jointdr.datasets import read_pairs

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            listed = read_pairs(path, row=names[0], column=names[1], score=False)
    except ValueError:
        return None
    for warning in caught:
        warnings.warn(warning.message, stacklevel=2)
    return listed

"""``jointdr explain``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from jointdr.apps.cli.entities import Directory, Queried, put_into_terms
from jointdr.apps.cli.inputs import OF_NEW, SIDES, in_terms_of_options, open_explainer
from jointdr.apps.cli.options import AsJson, Model, NewColumns, NewContents, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_json, put_table, require_writable
from jointdr.apps.report.facts import in_words

RowId = Annotated[str, typer.Argument(metavar="ROW", help="A row, by id or name.", show_default=False)]
ColumnId = Annotated[str, typer.Argument(metavar="COLUMN", help="A column, by id or name.", show_default=False)]
Count = Annotated[int, option("-k", metavar="K", help="The number of known pairs to list.", least=1)]


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
    asked = Queried.read(fitted, model, (rows, columns), contents)
    known = asked.known
    ids = [those.id_of(word) for those, word in zip(known, (row, column), strict=True)]
    new = [None if T is None or one not in T.index else T.loc[[one]] for T, one in zip(asked.tables, ids, strict=True)]
    with in_terms_of_options(OF_NEW):
        found = fitted.explain(*(one if T is None else T for one, T in zip(ids, new, strict=True)), k=k)
    predicted = fitted.predict_pairs([ids], *new).iloc[0].to_dict()
    notes = {name: value for name, value in predicted.items() if name not in (*SIDES, "score")}
    pairs = put_into_terms(found.pairs, known)
    if output is not None:
        put_table(pairs, output, as_json=False)
    if json:
        of_pair = {those.kind: one for those, one in zip(known, ids, strict=True)}
        facts = {"score": found.score, **notes, "rest": found.rest, "n_pairs": found.n_pairs}
        put_json({**of_pair, **facts, "pairs": pairs.to_dict("records")})
    elif output is None:
        first, *others = str(_with_names(found, known, ids)).splitlines()
        print("\n".join([f"{first} ({in_words(notes)})" if notes else first, *others]))


def _with_names(found: Any, known: tuple[Directory, Directory], ids: list[str]) -> Any:
    """An explanation with names after the ids, where there are some."""
    row, column = (those.with_name(one) for those, one in zip(known, ids, strict=True))
    columns = {side: found.pairs[side].map(those.with_name) for side, those in zip(SIDES, known, strict=True)}
    return replace(found, row=row, column=column, pairs=found.pairs.assign(**columns))

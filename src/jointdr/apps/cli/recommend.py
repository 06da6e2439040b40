"""``jointdr recommend``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from jointdr.apps.cli.inputs import table_of
from jointdr.apps.cli.models import opened
from jointdr.apps.cli.options import AsJson, Model, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_table, require_writable, working

if TYPE_CHECKING:
    from jointdr.prediction import Recommender

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
    ids = (fitted.row_ids_ if new is None else new.index).tolist()
    wanted = set(row or ())
    if missing := sorted(wanted.difference(ids)):
        raise ValueError(f"{model if new is None else rows} has no row {missing[0]!r}; its first is {ids[0]!r}.")
    with working("ranking"):
        if row and new is None:
            table = _of_fitted(fitted, [i for i, name in enumerate(ids) if name in wanted], k, not with_known)
        else:
            chosen = new[new.index.isin(row)] if row else new
            table = fitted.recommend(chosen, k=k, exclude_known=not with_known)
    put_table(table, output, json)


def _of_fitted(model: Recommender, places: list[int], k: int, exclude_known: bool) -> Any:
    """The k best columns for some of the rows that were fitted; the others are not scored.

    A row that is fitted is scored by its place, because its features are not in the model.
    """
    from jointdr.prediction import ScoreBlock, top_pairs

    if k < 1:
        raise ValueError(f"k={k} must be an integer >= 1.")
    scorer = model._scorer(None, None, count=True)

    def scores(at: slice) -> ScoreBlock:
        place = places[at.start]
        return scorer(slice(place, place + 1))

    known = model._known[places] if exclude_known else None
    return top_pairs(scores, model.row_ids_[places], model.column_ids_, k, known, size=1)

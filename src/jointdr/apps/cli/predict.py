"""``jointdr predict``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jointdr.apps.cli.inputs import table_of
from jointdr.apps.cli.models import opened
from jointdr.apps.cli.options import AsJson, Model, NewColumns, NewRows, TableOut, option
from jointdr.apps.cli.output import ENDINGS, put_table, require_writable, working

if TYPE_CHECKING:
    from jointdr.prediction import Recommender
    from jointdr.runtime import Array

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
    effective number of known pairs behind a score; 0 means that all are too far away, and the score is a mean.

    \b
    Examples:
      jointdr predict model.npz --pairs wanted.tsv
      jointdr predict model.npz --rows new_diseases.tsv -o scores.parquet
      jointdr predict model.npz --pairs wanted.tsv --rows new_diseases.tsv
    """
    require_writable(output, ENDINGS)
    fitted = opened(model)
    new = (table_of(rows), table_of(columns))
    with working("predicting"):
        table = _all_pairs(fitted, new) if pairs is None else _listed_pairs(fitted, new, pairs)
    put_table(table, output, json)


@dataclass(frozen=True)
class Place:
    """Where an entity is: in the table of new ones or among those that were fitted, and its number there."""

    is_new: bool
    at: int


def _all_pairs(model: Recommender, new: tuple[Any, Any]) -> Any:
    import numpy as np

    from jointdr.prediction import table

    fitted = (model.row_ids_, model.column_ids_)
    ids = [known if X is None else X.index.to_numpy() for X, known in zip(new, fitted, strict=True)]
    blocks = list(_blocks(model, new, np.arange(len(ids[0]))))
    shape = (len(ids[0]), len(ids[1]))
    notes = {name: np.concatenate([b.notes[name].ravel() for _, b in blocks]) for name in blocks[0][1].notes}
    return table(
        row=np.repeat(ids[0], shape[1]),
        column=np.tile(ids[1], shape[0]),
        score=np.concatenate([block.scores.ravel() for _, block in blocks]),
        **notes,
    )


def _listed_pairs(model: Recommender, new: tuple[Any, Any], path: Path) -> Any:
    """Scores of listed pairs: for each kind of pair, new or known on either side, those of its rows."""
    import numpy as np

    from jointdr.datasets import read_pairs

    wanted = read_pairs(path, score=False)
    wanted.columns = ["row", "column"]
    fitted = (model.row_ids_, model.column_ids_)
    places = [
        _places(wanted[name], X, known, path) for name, X, known in zip(("row", "column"), new, fitted, strict=True)
    ]
    kinds = np.array([(i.is_new, j.is_new) for i, j in zip(*places, strict=True)])
    at = np.array([(i.at, j.at) for i, j in zip(*places, strict=True)])
    for kind in {(bool(i), bool(j)) for i, j in kinds}:
        mine = np.flatnonzero((kinds == kind).all(axis=1))
        tables = (new[0] if kind[0] else None, new[1] if kind[1] else None)
        for rows, block in _blocks(model, tables, np.unique(at[mine, 0])):
            here = mine[np.isin(at[mine, 0], rows)]
            i, j = np.searchsorted(rows, at[here, 0]), at[here, 1]
            for name, values in {"score": block.scores, **block.notes}.items():
                if name not in wanted:
                    wanted[name] = np.nan
                wanted.iloc[here, wanted.columns.get_loc(name)] = values[i, j]
    return wanted


def _places(ids: Any, new: Any, fitted: Array, path: Path) -> list[Place]:
    where = {name: Place(False, i) for i, name in enumerate(fitted.tolist())}
    if new is not None:
        where |= {name: Place(True, i) for i, name in enumerate(new.index)}
    for name in ids:
        if name not in where:
            raise ValueError(
                f"{path}: {ids.name} {name!r} was not fitted and is in no table of new {ids.name}s; ids are, for "
                f"example, {fitted[:3].tolist()}."
            )
    return [where[name] for name in ids]


def _blocks(model: Recommender, new: tuple[Any, Any], rows: Array) -> Iterator[tuple[Array, Any]]:
    """Scores of these rows, which are sorted, with all columns: a few that follow each other at a time."""
    import numpy as np

    X = [None if table is None else model._checked(k, table).X for k, table in enumerate(new)]
    scorer = model._scorer(X[0], X[1], count=True)
    size = model._rows_at_once(len(model.column_ids_) if new[1] is None else len(new[1]))
    for run in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1):
        for start in range(0, len(run), size):
            part = run[start : start + size]
            yield part, scorer(slice(int(part[0]), int(part[-1]) + 1))

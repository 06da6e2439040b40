"""``jointdr tune``."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jointdr.apps.cli.inputs import dyads_for, groups_of
from jointdr.apps.cli.models import is_automatic, model_of, takes_similarity
from jointdr.apps.cli.options import AsJson, GroupFiles, HeldOut, ModelOut, Settings, TableFiles, TestSize, option
from jointdr.apps.cli.output import (
    ENDINGS,
    model_path,
    put_facts,
    put_json,
    put_model,
    require_writable,
    say,
    shows_progress,
    write_table,
)
from jointdr.apps.report.facts import in_words, model_facts

if TYPE_CHECKING:
    from jointdr.data import Dyads
    from jointdr.prediction import Recommender, Tuning

Results = Annotated[
    Path | None, option("--results", metavar="FILE", help="Where the table of all settings goes, as .tsv, .csv, ....")
]
Tried = Annotated[
    list[str] | None, option("--try", metavar="NAME=V,V", help="Values of a parameter to try, instead of the recipe.")
]
Splits = Annotated[int, option("--splits", metavar="N", help="How often something is held out.")]


def tune(
    source: TableFiles,
    alike: GroupFiles,
    settings: Settings,
    output: ModelOut = None,
    results: Results = None,
    tried: Tried = None,
    by: HeldOut = "rows",
    splits: Splits = 2,
    test_size: TestSize = 0.1,
    json: AsJson = False,
) -> None:
    """Choose settings on held-out data, fit the best to all of it, and write the model and the results.

    Hold out what will be new in your predictions: rows, columns, both, or pairs. Options
    for the model are where the search starts; --try may be given several times, for all combinations.

    \b
    Examples:
      jointdr tune --pairs links.tsv --rows a.tsv --columns b.tsv \\
          -o model.npz --results tried.tsv
      jointdr tune --pairs links.tsv --rows a.tsv --columns b.tsv \\
          --try n_components=20,40,80 --try row_bandwidth=0.3,0.5 -o model.npz
      jointdr tune --data archive.npz --method imc --by pairs -o model.npz
    """
    output = model_path(output)
    require_writable(results, ENDINGS)
    grid = _grid(tried)
    if settings.uses is not None:
        raise ValueError(f"--uses {settings.uses} is for fit: tune chooses for the question that --by names.")
    dyads = dyads_for(source, takes_similarity(settings))
    say(f"{dyads!r}")
    groups = groups_of(alike, dyads, (by,))
    model = model_of(settings, dyads)
    held_out = {"by": by, "n_splits": splits, "test_size": test_size, "groups": groups}
    found = _tune(model, dyads, grid, **held_out, progress=shows_progress())
    model.save(output)
    if results is not None:
        write_table(found.table.map(lambda v: in_words(v) if isinstance(v, (tuple, list)) else v), results)
        say(f"{len(found.table)} settings written to {results}.")
    if json:
        best = {"criterion": found.criterion, "score": found.best_score, "settings": len(found.table)}
        put_json({"best": {**best, "parameters": found.best_params}, **model_facts(model)})
        return
    if grid is None and is_automatic(settings):
        put_model(model, False)
    else:
        quality = f"{found.quality} {in_words(found.best_score)}, of {len(found.table)} settings"
        put_facts({"best": quality, **found.best_params}, False)
    say(f"The model with these settings, fitted to all of the data, was written to {output}.")


def _tune(model: Recommender, dyads: Dyads, grid: Any, **options: Any) -> Tuning:
    from jointdr.prediction import AssociationModel, tune_model

    if isinstance(model, AssociationModel):
        return model.tune(dyads, grid=grid, **options)
    if grid is None:
        most = min(dyads.n_features)
        grid = {"n_components": sorted({min(r, most) for r in (10, 30, 100)}), "alpha": [0.01, 0.1, 1.0, 10.0]}
    found = tune_model(model, dyads, grid, random_state=model.get_params()["random_state"], **options)
    model.set_params(**found.best_params).fit(dyads)
    return found


def _grid(tried: list[str] | None) -> dict[str, list[Any]] | None:
    """The settings to try; None for the recipe of the model."""
    grid: dict[str, list[Any]] = {}
    for text in tried or ():
        name, is_there, values = text.partition("=")
        if not is_there or not name.strip() or not values.strip():
            raise ValueError(
                f"--try {text} is not understood; write --try NAME=VALUE,VALUE, such as --try alpha=0.1,1."
            )
        grid[name.strip()] = [_value(part.strip()) for part in values.split(",")]
    return grid or None


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them, and otherwise a word."""
    try:
        return json_format.loads(text)
    except ValueError:
        return text

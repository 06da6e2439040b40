"""``jointdr fit``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from jointdr.apps.cli.files import estimator_of, prepare_source, source_of
from jointdr.apps.cli.inputs import dyads_for, groups_of
from jointdr.apps.cli.models import is_automatic, model_of, takes_similarity
from jointdr.apps.cli.options import AsJson, Files, GroupFiles, ModelOut, Settings, TableFiles, option
from jointdr.apps.cli.output import model_path, put_columns, put_model, require_writable, say, shows_progress, working

DryRun = Annotated[bool, option("--dry-run", help="Only show what becomes of the tables, and fit nothing.")]


def fit(
    source: TableFiles,
    alike: GroupFiles,
    files: Files,
    settings: Settings,
    output: ModelOut = None,
    dry_run: DryRun = False,
    json: AsJson = False,
) -> None:
    """Fit a model to known pairs, or to rows in files, and write it to a file.

    Tables are .csv, .tsv (also .gz), .xlsx or .parquet, with columns of any kind: numbers, text, dates, gaps. Ids are
    always text: 000001 stays so. --dry-run shows what becomes of each column.

    \b
    Examples:
      jointdr fit --pairs links.csv --rows drugs.csv --columns targets.csv
      jointdr fit --pairs kd.csv --row drug --column target --score kd \\
          --rows drugs.csv --row-id code --drop notes --columns targets.csv
      jointdr fit --pairs links.tsv --rows a.tsv --column-network net.tsv \\
          --features 100 --method imc --rank 20 -o model.npz
      jointdr fit --pairs links.tsv --row-similarity s.tsv \\
          --columns b.tsv --column-groups families.tsv -o model.npz

    Two feature vectors and a response in every row, in files of any size, which are read in blocks:

    \b
      jointdr fit --table rows.parquet --views image='i*' text='t*' \\
          --response click --rank 5 --checkpoint read.npz -o model.npz
      jointdr fit --views a=a.npy b=b.npy --response y.npy --dask local -o model.npz
    """
    output = None if dry_run else model_path(output)
    _require_choice(alike, files, settings)
    if files.views:
        if output is None:
            raise ValueError("--dry-run is for tables of entities: leave it out where --views are given.")
        _fit_files(source, files, settings, output, json)
        return
    if files != Files():
        raise ValueError("--table, --weight, --checkpoint, --dask and --device go with --views: name the views.")
    with working("reading"):
        dyads = dyads_for(source, takes_similarity(settings))
    say(f"{dyads!r}")
    if output is None:
        put_columns(dyads, json)
        return
    model = model_of(settings, dyads)
    groups = groups_of(alike, dyads, getattr(model, "uses", ()))
    start = time.perf_counter()
    if is_automatic(settings):  # which shows its progress itself
        model.fit(dyads, groups=groups, progress=shows_progress())
    else:
        with working("fitting"):
            model.fit(dyads)
    model.save(output)
    say(f"Fitted in {time.perf_counter() - start:.1f} s, written to {output}.")
    put_model(model, json)


def _require_choice(alike: GroupFiles, files: Files, settings: Settings) -> None:
    """Raise if groups are given to a model that holds nothing out."""
    if alike == GroupFiles() or (is_automatic(settings) and not files.views):
        return
    given = "--column-groups" if alike.row_groups is None else "--row-groups"
    raise ValueError(
        f"{given} is for tune, for evaluate, and for fit where the model is left to it, without --method, its options "
        "and --views: this model holds nothing out."
    )


def _fit_files(source: TableFiles, files: Files, settings: Settings, output: Path, json: bool) -> None:
    if source != replace(TableFiles(), response=source.response):
        raise ValueError("--views is for rows in files and does not go with --pairs, --rows, --columns or --data.")
    require_writable(files.checkpoint)
    rows = source_of(files, source.response)
    say(f"{rows!r}")
    model = estimator_of(settings, rows.n_features)
    try:
        with prepare_source(rows, files) as ready:
            model.fit(ready)
        model.save(output)
    except KeyboardInterrupt:
        if files.checkpoint is not None and files.checkpoint.exists():
            say(f"The rows that were read are kept in {files.checkpoint}: the same command goes on from there.")
        raise
    if files.checkpoint is not None:
        files.checkpoint.unlink(missing_ok=True)
    say(f"Written to {output}.")
    put_model(model, json)

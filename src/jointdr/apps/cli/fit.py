"""``jointdr fit``."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from jointdr.apps.cli.files import estimator_of, prepare_source, source_of
from jointdr.apps.cli.inputs import dyads_for, groups_of
from jointdr.apps.cli.models import is_automatic, model_of, takes_similarity
from jointdr.apps.cli.options import AsJson, Files, GroupFiles, ModelOut, Settings, TableFiles
from jointdr.apps.cli.output import put_model, require_writable, say, working


def fit(
    source: TableFiles, alike: GroupFiles, files: Files, settings: Settings, output: ModelOut, json: AsJson = False
) -> None:
    """Fit a model to known pairs, or to rows in files, and write it to a file.

    Tables are .tsv, .csv (also .gz) or .parquet, with names on the first line. Ids are always text: 000001 stays so.

    \b
    Examples:
      jointdr fit --pairs links.tsv --rows a.tsv --columns b.tsv -o model.npz
      jointdr fit --pairs kd.csv --row drug --column target --score kd \\
          --observed stored --rows drugs.csv --columns targets.csv -o model.npz
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
    from jointdr.prediction import fit_by_groups

    require_writable(output)
    _require_choice(alike, files, settings)
    if files.views:
        _fit_files(source, files, settings, output, json)
        return
    if files != Files():
        raise ValueError("--table, --weight, --checkpoint, --dask and --device go with --views: name the views.")
    with working("reading"):
        dyads = dyads_for(source, takes_similarity(settings))
    say(f"{dyads!r}")
    model = model_of(settings, dyads)
    groups = groups_of(alike, dyads, getattr(model, "uses", ()))
    start = time.perf_counter()
    with nullcontext() if getattr(model, "head", None) == "auto" else working("fitting"):  # which shows a bar itself
        fit_by_groups(model, dyads, groups)
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

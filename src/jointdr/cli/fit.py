"""``jointdr fit``."""

from __future__ import annotations

import time

from jointdr.cli.inputs import dyads_of
from jointdr.cli.models import model_of
from jointdr.cli.options import AsJson, ModelOut, Settings, Source
from jointdr.cli.output import put_facts, require_writable, say, working
from jointdr.report.facts import facts_of


def fit(source: Source, settings: Settings, output: ModelOut, json: AsJson = False) -> None:
    """Fit a model to known pairs and write it to a file.

    Tables are .tsv, .csv (also .gz) or .parquet, with names on the first line. Ids are always text: 000001 stays so.

    \b
    Examples:
      jointdr fit --pairs links.tsv --rows a.tsv --columns b.tsv -o model.npz
      jointdr fit --pairs kd.csv --row drug --column target --score kd \\
          --observed stored --rows drugs.csv --columns targets.csv -o model.npz
      jointdr fit --pairs links.tsv --rows a.tsv --column-network net.tsv \\
          --features 100 --method imc --rank 20 -o model.npz
    """
    require_writable(output)
    with working("reading"):
        dyads = dyads_of(source)
    say(f"{dyads!r}")
    model = model_of(settings, dyads)
    start = time.perf_counter()
    with working("fitting"):
        model.fit(dyads)
        model.save(output)
    say(f"Fitted in {time.perf_counter() - start:.1f} s, written to {output}.")
    put_facts(facts_of(model), json)

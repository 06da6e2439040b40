"""``jointdr reproduce``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jointdr.apps.cli.options import AsJson, option
from jointdr.apps.cli.output import put_json, say, shows_progress

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[figure1|violations|phd|gene-disease|significant|cost|all]...",
        help="What to make again.",
        show_default=False,
    ),
]
Folder = Annotated[Path, option("--out", metavar="FOLDER", help="Where figures, tables and unfinished work go.")]
Fast = Annotated[bool, option("--fast", help="A tenth of the repetitions, 3 of the 20 partitions of data.")]
Repetitions = Annotated[
    int | None, option("--repetitions", metavar="N", help="How many, instead of the paper's 100.", least=1)
]
Jobs = Annotated[int, option("--jobs", metavar="N", help="Processes; the numbers do not depend on it.", least=1)]
Data = Annotated[
    Path | None, option("--data", metavar="FOLDER", help="Gene-disease data; without it those of jointdr\\[demo].")
]


def reproduce(
    names: Names = None,
    out: Folder = Path("reproduced"),
    fast: Fast = False,
    repetitions: Repetitions = None,
    jobs: Jobs = 1,
    data: Data = None,
    json: AsJson = False,
) -> None:
    """Make the figures and tables of the paper again, with the paper's values beside them and a verdict for each line.

    An interrupted run goes on where it was when the same command is given again.

    \b
    Examples:
      jointdr reproduce all --fast --jobs 2
      jointdr reproduce figure1 --jobs 2 --out results
      jointdr reproduce gene-disease significant --data folder --jobs 2

    Exit code 1: something contradicts a value of the paper.
    """
    from jointdr.apps.reproduce import FIGURES
    from jointdr.apps.reproduce import reproduce as run_studies

    if unknown := sorted({*(names or ())} - {*FIGURES, "all"}):
        raise ValueError(f"{unknown[0]} is not understood; choose from {', '.join([*FIGURES, 'all'])}.")
    try:
        result = run_studies(
            names or ["all"],
            out=out,
            repetitions=repetitions,
            fast=fast,
            jobs=jobs,
            data=data,
            progress=shows_progress(),
        )
    except KeyboardInterrupt:
        say("Finished repetitions are kept: the same command goes on from here.")
        raise
    if json:
        named = ("figure", "panel", "line", "answer", "difference", "error", "tolerance")
        verdicts = [{name: getattr(v, name) for name in named} for v in result.verdicts]
        claims = [asdict(claim) for claim in result.claims]
        put_json({"verdicts": verdicts, "claims": claims, "files": [str(path) for path in result.files]})
    else:
        typer.echo(str(result))
        say("\n".join(f"wrote {path}" for path in result.files))
    if not result.ok:
        raise typer.Exit(1)

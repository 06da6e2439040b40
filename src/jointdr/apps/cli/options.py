"""Options that several commands share, in groups: a command takes a group as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

MOST_SEED = 2**32 - 1  # of NumPy's generators


def option(
    *names: str,
    help: str,
    metavar: str | None = None,
    panel: str | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """An option of a command; of a number, from `least` to `most`."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, min=least, max=most)


def _in_panel(panel: str) -> Callable[[str, str], Any]:
    """Options of a group, which have the names of their fields and stand together in the help."""
    return lambda metavar, help: option(metavar=metavar, help=help, panel=panel)


_in, _rows, _like = _in_panel("Input"), _in_panel("Rows in files"), _in_panel("Model")
_new = _in_panel("New rows and columns")
_File = Path | None
_Text = str | None
_Texts = list[str] | None


@dataclass(frozen=True)
class TableFiles:
    """Where scores and features come from."""

    pairs: Annotated[
        _File, _in("FILE", "Known pairs: row id, column id and, unless it is 1, a score; - is standard input.")
    ] = None
    rows: Annotated[_File, _in("FILE", "A table of the rows: ids first, and columns of any kind.")] = None
    columns: Annotated[_File, _in("FILE", "The same for the columns.")] = None
    row: Annotated[_Text, _in("NAME", "Which column of --pairs has the row ids.")] = None
    column: Annotated[_Text, _in("NAME", "Which column of --pairs has the column ids.")] = None
    score: Annotated[_Text, _in("NAME", "Which column of --pairs has the scores.")] = None
    row_id: Annotated[_Text, _in("NAME", "Which column of --rows has the ids, instead of the first.")] = None
    column_id: Annotated[_Text, _in("NAME", "Which column of --columns has them.")] = None
    use: Annotated[
        _Texts, _in("NAME", "Only these columns of --rows and --columns become features; may be given several times.")
    ] = None
    drop: Annotated[_Texts, _in("NAME", "These do not become features; may be given several times.")] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first lines of tables have names; by default as they look.",
            rich_help_panel="Input",
            show_default=False,
        ),
    ] = None
    row_smiles: Annotated[
        _Text,
        _in("COLUMN|FILE", "Molecules of rows, in SMILES: a column of --rows, or a .smi file or a table by their ids."),
    ] = None
    column_smiles: Annotated[_Text, _in("COLUMN|FILE", "The same for columns.")] = None
    row_sequences: Annotated[
        _Text, _in("COLUMN|FILE", "Proteins of rows, as sequences: a column of --rows, or a FASTA file or a table.")
    ] = None
    column_sequences: Annotated[_Text, _in("COLUMN|FILE", "The same for columns.")] = None
    row_annotations: Annotated[
        _Text,
        _in(
            "COLUMN|FILE",
            "Terms of rows: a column of --rows with | between them, or a GAF file, phenotype.hpoa, or ids and terms.",
        ),
    ] = None
    column_annotations: Annotated[_Text, _in("COLUMN|FILE", "The same for columns.")] = None
    row_ontology: Annotated[_File, _in("FILE.obo", "The ontology of --row-annotations: terms have ancestors.")] = None
    column_ontology: Annotated[_File, _in("FILE.obo", "The same for --column-annotations.")] = None
    fingerprint: Annotated[
        str, _in("morgan|maccs|ngrams|...", "What molecules are turned into; all but ngrams take RDKit.")
    ] = "morgan"
    row_network: Annotated[_File, _in("FILE", "Links between rows, instead of their features.")] = None
    column_network: Annotated[_File, _in("FILE", "Links between columns, instead of their features.")] = None
    row_similarity: Annotated[
        _Texts, _in("[NAME=]FILE", "Similarities between all rows, ids first and on top; may be given several times.")
    ] = None
    column_similarity: Annotated[_Texts, _in("[NAME=]FILE", "The same between all columns.")] = None
    features: Annotated[
        int | None, _in("K", "Features that a network, or similarities for want of others, are turned into.")
    ] = None
    components: Annotated[str, _in("error|giant|separate", "What to do with a network that is in pieces.")] = "error"
    observed: Annotated[
        str, _in("auto|all|stored", "Whether pairs that are not listed have the score 0 (all) or none (stored).")
    ] = "auto"
    duplicates: Annotated[
        str, _in("auto|error|mean|sum|max|last", "What to do with a pair that is listed twice; auto is the mean.")
    ] = "auto"
    data: Annotated[_File, _in("FILE", "One .npz archive with everything, instead of tables.")] = None
    response: Annotated[_Text, _in("NAME", "Which scores of --data; with --views: the file or column with y.")] = None


@dataclass(frozen=True)
class NewContents:
    """Molecules, sequences and terms of new entities, for models that were fitted with such."""

    row_smiles: Annotated[_Text, _new("COLUMN|FILE", "Molecules of new rows, as in fit.")] = None
    column_smiles: Annotated[_Text, _new("COLUMN|FILE", "Molecules of new columns.")] = None
    row_sequences: Annotated[_Text, _new("COLUMN|FILE", "Proteins of new rows, as in fit.")] = None
    column_sequences: Annotated[_Text, _new("COLUMN|FILE", "Proteins of new columns.")] = None
    row_annotations: Annotated[_Text, _new("COLUMN|FILE", "Terms of new rows, as in fit.")] = None
    column_annotations: Annotated[_Text, _new("COLUMN|FILE", "Terms of new columns.")] = None


@dataclass(frozen=True)
class GroupFiles:
    """Entities that are alike, of which none is both fitted and held out."""

    row_groups: Annotated[_File, _in("FILE", "A group for each row id: rows of one are held out together.")] = None
    column_groups: Annotated[_File, _in("FILE", "The same for each column id.")] = None


@dataclass(frozen=True)
class Files:
    """Views and a response, row by row, in files that may be larger than memory."""

    views: Annotated[
        _Texts, _rows("NAME=WHERE...", "Each view: an .npy file or a Zarr folder, or columns of --table.")
    ] = None
    table: Annotated[_File, _rows("FILE", "A Parquet file, or a folder of them, with all views.")] = None
    weight: Annotated[_Text, _rows("WHERE", "Weights of rows, like --response.")] = None
    checkpoint: Annotated[_File, _rows("FILE", "Keeps what is done: an interrupted fit goes on from it.")] = None
    dask: Annotated[_Text, _rows("tcp://...|local", "Reduce on the workers of this dask scheduler.")] = None
    device: Annotated[_Text, _rows("cuda", "Reduce on this device of PyTorch.")] = None


@dataclass(frozen=True)
class Settings:
    """The model that is fitted. None leaves a parameter at its default."""

    method: Annotated[str, _like("auto|jdr|pca|phd|sols|imc|none", "The method; auto chooses by itself.")] = "auto"
    uses: Annotated[
        _Text, _like("rows,columns,both,pairs", "What auto prepares to predict: new rows, ..., pairs of known ones.")
    ] = None
    criterion: Annotated[_Text, _like("NAME", "What auto and tune judge by: recall, RMSE, ...; see the guide.")] = None
    rank: Annotated[
        _Text, _like("auto|R", "Directions; auto asks held-out data, by default 80 or all (imc 10, sols 1, --views 2).")
    ] = None
    head: Annotated[_Text, _like("kernel|bilinear|kernel_ridge", "The regression on the coordinates.")] = None
    kernel: Annotated[_Text, _like("gaussian|cosine", "Weights by distance or by cosine.")] = None
    bandwidth: Annotated[
        _Text, _like("auto|left-out rows|H|H,H", "Bandwidths of the kernels of rows and of columns.")
    ] = None
    raw_bandwidth: Annotated[_Text, _like("auto|H|H,H", "Bandwidths of the kernels of raw features.")] = None
    mix: Annotated[_Text, _like("S|S,S", "The share of these kernels, from 0 to 1.")] = None
    scale: Annotated[_Text, _like("auto|POWER", "Coordinates are scaled by this power of Σ.")] = None
    borrow: Annotated[float | None, _like("S", "How much known columns borrow from similar ones, 0 to 1.")] = None
    adaptive: Annotated[int | None, _like("K", "Bandwidths are multiples of the distance to this neighbor.")] = None
    nearest: Annotated[_Text, _like("auto|none|K|K,K", "The number of nearest rows and columns with weights.")] = None
    ridge: Annotated[_Text, _like("auto|X", "The ridge of the normalization.")] = None
    alpha: Annotated[float | None, _like("X", "The penalty of imc and of ridge heads.")] = None
    seed: Annotated[
        int, option(metavar="N", help="For everything that is drawn at random.", panel="Model", least=0, most=MOST_SEED)
    ] = 0


AsJson = Annotated[bool, option("--json", help="Print JSON, and nothing else, on standard output.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that fit or tune wrote.", show_default=False)]
ModelOut = Annotated[
    Path | None, option("-o", "--output", metavar="FILE", help="Where the fitted model goes; by default model.npz.")
]
TableOut = Annotated[
    Path | None, option("-o", "--output", metavar="FILE", help="Write the table to .tsv, .csv (also .gz) or .parquet.")
]
NewRows = Annotated[Path | None, option("--rows", metavar="FILE", help="Features of new rows, ids first.")]
NewColumns = Annotated[Path | None, option("--columns", metavar="FILE", help="Features of new columns, ids first.")]
NewRowSimilarity = Annotated[
    _Texts,
    option(
        "--new-row-similarity",
        metavar="[NAME=]FILE",
        help="Similarities of new rows to the fitted ones: new ids first, fitted ids on top.",
    ),
]
NewColumnSimilarity = Annotated[
    _Texts,
    option("--new-column-similarity", metavar="[NAME=]FILE", help="The same of new columns."),
]
HeldOut = Annotated[str, option("--by", metavar="rows|columns|both|pairs", help="What is held out.")]
TestSize = Annotated[float, option("--test-size", metavar="SHARE", help="Which share of it.")]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command in which every option of a group is a parameter of its own.

    Typer reads options off the signature of a function and knows no groups of them. Written out by hand, the sixteen
    options of `TableFiles` would stand in four commands, and the fourteen of `Settings` in two.
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
    if not groups:
        return command

    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{f.name: values.pop(f.name) for f in fields(kind)})
        command(**values)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run

"""Output of commands: results to standard output or a file, everything else to standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from jointdr.apps.report.facts import in_words, model_facts
from jointdr.runtime import whole_file

ENDINGS = (".tsv", ".csv", ".tsv.gz", ".csv.gz", ".parquet")
MODEL = "model.npz"  # where fit and tune write by default
SHOWN = 200  # lines of a table that a terminal shows; files and pipes get all of them


_IS_QUIET: ContextVar[bool] = ContextVar("_IS_QUIET", default=False)


def complain(text: str) -> None:
    """An error or a warning to standard error."""
    print(text, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """A note to standard error, unless the command is quiet."""
    if not _IS_QUIET.get():
        complain(text)


@contextmanager
def silence(is_quiet: bool) -> Iterator[None]:
    """Leave out notes and progress, if asked for."""
    token = _IS_QUIET.set(is_quiet)
    try:
        yield
    finally:
        _IS_QUIET.reset(token)


def shows_progress() -> bool:
    """Whether long work is reported: by a bar in a terminal, elsewhere by a line now and then."""
    return not _IS_QUIET.get()


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show in a terminal that something is going on."""
    if _IS_QUIET.get() or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def require_writable(path: Path | None, endings: tuple[str, ...] = ()) -> None:
    """Raise before long work whose result could not be written in the end."""
    if path is None:
        return
    if endings and not path.name.lower().endswith(endings):
        raise ValueError(f"{path} should end in {', '.join(endings[:-1])} or {endings[-1]}.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written, because the folder {path.parent} does not exist.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written: permission denied.")


def model_path(output: Path | None) -> Path:
    """Where a model goes, which can be written; by default to a file that is not there yet."""
    if output is None and Path(MODEL).exists():
        raise ValueError(f"{MODEL} exists already: say with -o FILE where the model goes, also to write over it.")
    path = Path(MODEL) if output is None else output
    require_writable(path)
    return path


def put_table(table: Any, path: Path | None, as_json: bool, decimals: int = 6) -> None:
    """A DataFrame to a file or, without one, to standard output: as JSON, for the eye, or as TSV if it is a pipe."""
    if path is not None:
        write_table(table, path)
        say(f"{len(table)} lines written to {path}.")
    if as_json:
        put_json(table.to_dict("records"))
    elif path is None and sys.stdout.isatty():
        _show(table)
    elif path is None:
        table.to_csv(sys.stdout, sep="\t", index=False, float_format=f"%.{decimals}g", lineterminator="\n")


def write_table(table: Any, path: Path) -> None:
    """A DataFrame to a file, in the format of the ending of its name."""
    name = path.name.lower()
    with whole_file(path) as file:
        if name.endswith(".parquet"):
            try:
                table.to_parquet(file, index=False, engine="pyarrow")
            except ImportError:
                raise ImportError(f'{path}: Parquet files take pyarrow: pip install "jointdr[io]".') from None
            return
        separator = "," if name.removesuffix(".gz").endswith(".csv") else "\t"
        compression = "gzip" if name.endswith(".gz") else None
        table.to_csv(file, sep=separator, index=False, lineterminator="\n", mode="wb", compression=compression)


def put_json(value: Any) -> None:
    """JSON to standard output."""
    print(json.dumps(plain(value), indent=2, ensure_ascii=False))


def plain(value: Any) -> Any:
    """A value as JSON has it: no NumPy types, and null for what is not a finite number."""
    if isinstance(value, Mapping):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def put_facts(facts: Mapping[str, Any], as_json: bool) -> None:
    """Names and values, one to a line, or as JSON."""
    if as_json:
        put_json(facts)
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        print(f"{name:{width}s}  {in_words(value)}")


def put_columns(dyads: Any, as_json: bool) -> None:
    """Print the treatment of all columns of both tables, and which pairs are known."""
    sides = list(zip(dyads.names, dyads.encoders, strict=True))
    tables = {name: None if encoder is None else encoder.summary() for name, encoder in sides}
    known = "all pairs, with the score 0 where none is listed" if dyads.is_complete else "the listed pairs alone"
    if as_json:
        columns = {name: None if T is None else T.to_dict("records") for name, T in tables.items()}
        put_json({"columns": columns, "known": known})
        return
    for name, table in tables.items():
        print(f"\n{name}")
        if table is None or not len(table):
            print("  no columns to choose from")
            continue
        lines = [list(table.columns), *table.astype(str).to_numpy().tolist()]
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        for line in lines:
            print("  " + "  ".join(f"{field:{width}s}" for field, width in zip(line, widths, strict=True)).rstrip())
    print(f"\nKnown: {known}.")


def put_model(model: Any, as_json: bool, **more: Any) -> None:
    """The facts about a fitted model; the choices of one that chooses by itself as `print(model)` has them."""
    facts, choices = {**model_facts(model), **more}, getattr(model, "choices_", None)
    if as_json or choices is None:
        put_facts(facts, as_json)
        return
    in_choices = ("criterion", *(f"answer for {question}" for question in choices["question"]))
    put_facts({name: value for name, value in facts.items() if name not in in_choices}, False)
    print(f"\n{choices}")


def _show(table: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    drawn = Table()
    for name in table.columns:
        drawn.add_column(str(name), justify="right" if table[name].dtype.kind in "if" else "left")
    for values in table.head(SHOWN).itertuples(index=False):
        drawn.add_row(*(in_words(value) for value in values))
    Console().print(drawn)
    if len(table) > SHOWN:
        say(f"... and {len(table) - SHOWN} more lines; -o FILE writes all of them.")

"""Models, tables, networks and archives from files."""

from __future__ import annotations

import atexit
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jointdr.apps.cli.contents import add_contents, add_new_contents
from jointdr.apps.cli.id_columns import choose_id_columns
from jointdr.apps.cli.options import GroupFiles, NewContents, TableFiles
from jointdr.apps.cli.output import say
from jointdr.runtime import column_index, table_lines

if TYPE_CHECKING:
    from jointdr.data import Dyads, Groups
    from jointdr.prediction import Recommender


SIDES = ("row", "column")

# The options that arguments for tables come from, for messages.
OF_TABLES = {
    " See dyads.unmatched.": "",
    "separated in another way, give separator=',' or separator='\\t'": "separated in another way, take commas or tabs",
    "give separator=',' for example": "take commas or tabs",
    **{f"{side}_similarity": f"--{side}-similarity" for side in SIDES},
    "header=True": "--header",
    "header=False": "--no-header",
    'kind="ngrams"': "--fingerprint ngrams",
    **{f"{name}_id=": f"--{name}-id" for name in SIDES},
    **{f"{name}=": f"--{name}" for name in (*SIDES, "score", "observed", "duplicates", "use", "drop", "fingerprint")},
}

# The options that arguments for new entities come from, for messages.
OF_NEW = {
    **{f"{side}_similarity": f"--new-{side}-similarity" for side in SIDES},
    **{"A_new": "--rows", "B_new": "--columns"},
}


def open_recommender(path: Path) -> Recommender:
    """The model in a file, whichever of those that score pairs it is."""
    from jointdr import load

    model = load(path)
    if not hasattr(model, "recommend"):
        raise ValueError(f"{path} holds {_kind(model)} model, which does not score pairs; give one that fit wrote.")
    return model


def open_explainer(path: Path) -> Any:
    """The model in a file, if it can explain its scores."""
    model = open_recommender(path)
    if not hasattr(model, "explain"):
        raise ValueError(
            f"{path} holds {_kind(model)} model, which has no explanations: it takes an AssociationModel, which fit "
            "and tune write with any method but imc."
        )
    return model


def _kind(model: Any) -> str:
    kind = type(model).__name__
    return f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}"


def dyads_of(source: TableFiles) -> Dyads:
    """Read scores and features; anything missing is a ValueError that names the option to give."""
    from jointdr.data import Dyads
    from jointdr.datasets import load_archive, read_text

    given = [f.name for f in fields(source) if getattr(source, f.name) != f.default]
    if source.data is not None:
        if others := [name for name in given if name not in ("data", "response")]:
            raise ValueError(f"--data has everything in one file: leave out {_option(others[0])}.")
        return load_archive(source.data, source.response)
    if source.response is not None:
        raise ValueError("--response chooses among the scores of --data; --score names a column of --pairs.")
    if source.pairs is None:
        raise ValueError("Give the known pairs with --pairs FILE, or everything with --data FILE.npz.")
    for name, kinds in (("features", ("_network", "_similarity")), ("components", ("_network",))):
        if name in given and not any(option.endswith(kinds) for option in given):
            what = "networks and similarities" if len(kinds) > 1 else "networks"
            raise ValueError(f"{_option(name)} is for {what}, but none is given: leave it out.")
    if [source.pairs, source.rows, source.columns].count(Path("-")) > 1:
        raise ValueError("Standard input, -, is read once only: write the other table to a file.")
    with in_terms_of_options(OF_TABLES | {" of pairs": f" of {source.pairs}", "'pairs'": str(source.pairs)}):
        path, given_tables = spooled(source.pairs, "--pairs"), (source.rows, source.columns)
        rows, columns = (
            table and spooled(table, f"--{side}s") for side, table in zip(SIDES, given_tables, strict=True)
        )
        source = replace(source, pairs=path, rows=rows, columns=columns)
        pairs = read_text(path, header=source.header)
        for given_name in filter(None, (source.row, source.column, source.score)):
            column_index(path, list(pairs.columns), given_name)
        source = choose_id_columns(source, pairs)
        similarities: dict[str, Any] = {f"{side}_similarity": _similarities(source, side) for side in SIDES}
        names, described = name_kinds(pairs, source), []
        for name, side in zip(names, SIDES, strict=True):
            named = similarities[f"{side}_similarity"]
            listed = [text for text in dict.fromkeys(pairs[name].astype(str)) if text]
            described.append(add_contents(source, side, _entities(source, side, named), listed))
        (A, for_rows), (B, for_columns) = described
        encoders = _encoders(source, (A, B), (for_rows, for_columns))
        return Dyads.from_tables(
            pairs,
            A,
            B,
            row=source.row,
            column=source.column,
            score=source.score,
            row_id=source.row_id,
            column_id=source.column_id,
            **similarities,
            **encoders,
            observed=source.observed,  # type: ignore[arg-type]
            duplicates=source.duplicates,  # type: ignore[arg-type]
            names=names,
        )


def name_kinds(pairs: Any, source: TableFiles) -> tuple[str, str]:
    """The names of the two kinds: those of the columns of their ids."""
    names = [str(name) for name in pairs.columns]
    row = source.row or next(name for name in names if name != source.column)
    return row, source.column or next(name for name in names if name != row)


def _encoders(
    source: TableFiles, tables: tuple[Any, Any], contents: tuple[dict[str, Any], dict[str, Any]]
) -> dict[str, Any]:
    """Encoders of the tables, with the columns that --use and --drop name, which either may have."""
    from jointdr.data import TableEncoder

    chosen: list[dict[str, Any]] = [dict(own) for own in contents]
    for argument, given in (("use", source.use), ("drop", source.drop)):
        for text in given or ():
            for name in (text, *text.split(",")):
                found = [k for k, T in enumerate(tables) if T is not None and name in T.columns]
                for k in found:
                    chosen[k].setdefault(argument, []).append(name)
                if found and name == text:
                    break
                if not found and (name != text or "," not in text):
                    raise ValueError(f"--{argument} {name}: neither --rows nor --columns has a column of this name.")
    return {f"{side}_encoder": TableEncoder(**own) for side, own in zip(SIDES, chosen, strict=True) if own}


def dyads_for(source: TableFiles, takes_similarity: bool) -> Dyads:
    """The same for a model that may or may not take similarities itself.

    For one that does not, a side that has similarities alone gets features whose inner products they are.
    """
    dyads = dyads_of(source)
    for side, n, named in zip(SIDES, dyads.n_features, dyads.similarities, strict=True):
        if not (takes_similarity or n or named):
            raise ValueError(
                f"This model needs features of {side}s: give one of --{side}s, --{side}-network, --{side}-similarity, "
                f"--{side}-smiles, --{side}-sequences, --{side}-annotations."
            )
    if takes_similarity or not any(dyads.similarities):
        return dyads
    tables = [dyads.A, dyads.B]
    for k, (side, named) in enumerate(zip(SIDES, dyads.similarities, strict=True)):
        if not named:
            continue
        if tables[k].shape[1] > 0:
            raise ValueError(
                f"--{side}-similarity is given beside --{side}s or --{side}-network, but this model compares features "
                "alone: leave one of the two out."
            )
        tables[k] = _kernel_features(named, source.features, f"--{side}-similarity")
        count = tables[k].shape[1]
        say(f"The similarities of {dyads.names[k]!r}, {', '.join(named)}, are turned into {count} features.")
    return dyads.replace(tables=tables, similarities=({}, {}))


def _kernel_features(named: Mapping[str, Any], k: int | None, option: str) -> Any:
    """Features whose inner products are the sum of these similarities."""
    import numpy as np

    from jointdr.datasets import kernel_features

    tables = []
    for name, S in named.items():
        try:
            tables.append(kernel_features(S, k))
        except ValueError as error:
            message = str(error).replace("k=", "--features ")
            raise ValueError(f"{option} {name}, which is turned into features: {message}") from None
    return np.hstack(tables)


def groups_of(files: GroupFiles, dyads: Dyads, uses: Sequence[str]) -> Groups | None:
    """The groups of rows and of columns, for questions of which one at least holds these out."""
    from jointdr.data import Groups
    from jointdr.datasets import read_pairs

    labels: list[dict[str, str] | None] = []
    names = ("--row-groups", "--column-groups")
    for path, name in zip((files.row_groups, files.column_groups), names, strict=True):
        if path is None:
            labels.append(None)
            continue
        try:
            table = read_pairs(path, score=False)  # ids and groups, both as text
        except ValueError as error:
            raise ValueError(f"{name} needs a table with ids in one column and groups in the next: {error}") from None
        ids, of_ids = table.iloc[:, 0], table.iloc[:, 1]
        if (twice := ids[ids.duplicated()]).size:
            raise ValueError(f"{name} {path} has {twice.iloc[0]!r} more than once: give one group for each id.")
        labels.append(dict(zip(ids, of_ids, strict=True)))
    return Groups.check((labels[0], labels[1]), dyads, uses, names)


def table_of(
    path: Path | None, fitted: Any = None, side: int = 0, id: str | None = None, header: bool | None = None
) -> Any:
    """A table of entities, or None; of new ones, ids stand in the column in which the fitted table had them."""
    if path is None:
        return None
    from jointdr.datasets import read_attributes, read_table

    option = f"--{SIDES[side]}s"
    path = spooled(path, option)
    is_text = not path.name.lower().endswith((".parquet", ".pq"))
    encoder = getattr(fitted, "encoders_", (None, None))[side]
    names = table_lines(path, header=header).names if is_text else []
    if encoder is not None and encoder.id_column_ in names:
        id = encoder.id_column_
    elif encoder is not None and names and names[0] in [c.name for c in encoder.columns_ if c.features]:
        raise ValueError(
            f"{path} has no column {encoder.id_column_!r}, which had the ids of fitted {SIDES[side]}s, and its first "
            f"one, {names[0]!r}, was a feature of these: put the ids in a column of that name, or in the first."
        )
    if len(names) == 1:
        return read_attributes(path)
    columns = [] if encoder is None else encoder.columns_
    text = [c.name for c in columns if c.kind in ("category", "name") and c.name in names and c.name != id]
    try:
        return read_table(path, id=id, header=header, text=text)
    except ValueError as error:
        if id is None and fitted is None and (" was on line " in str(error) or "the id in column" in str(error)):
            raise ValueError(f"{error} If another column has the ids, name it with --{SIDES[side]}-id.") from None
        raise


def new_entities(path: Path | None, contents: NewContents, fitted: Any, side: int) -> Any:
    """New rows (side 0) or columns, from a table and from files of molecules, sequences and terms; None without any."""
    return add_new_contents(contents, fitted, side, table_of(path, fitted, side))


def spooled(path: Path, option: str) -> Path:
    """A file to read; what comes through standard input, for ``-``, in a file that is removed in the end."""
    if str(path) != "-":
        return path
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    found = Path(folder) / "standard input"
    with open(found, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if not found.stat().st_size:
        raise ValueError(f"{option} -: nothing came through standard input.")
    return found


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _entities(source: TableFiles, side: str, similarities: Any) -> Any:
    """The features of one side, those of a table or of a network; None where similarities have to do."""
    given = {_option(name): getattr(source, name) for name in (f"{side}s", f"{side}_network")}
    chosen = [name for name, path in given.items() if path is not None]
    if len(chosen) > 1:
        raise ValueError(f"Give one of {', '.join(given)}, but got {' and '.join(chosen)}.")
    if not chosen:
        if similarities is not None and not any(hasattr(S, "iloc") for S in similarities.values()):
            raise ValueError(
                f"--{side}-similarity has no ids: give a table with ids, or the entities, in its order, with --{side}s."
            )
        return None
    path = given[chosen[0]]
    if chosen[0] == f"--{side}s":
        id = getattr(source, f"{side}_id")
        table = table_of(path, side=SIDES.index(side), id=id, header=source.header)
        return table if id is None else table.reset_index()  # a column that was named is taken as named
    if getattr(source, f"{side}_id") is not None:
        raise ValueError(f"--{side}-id is for --{side}s: leave it out.")
    from jointdr.datasets import read_edges

    if source.features is None:
        raise ValueError(f"{chosen[0]} needs --features K, the number of features that it is turned into.")
    return read_edges(path).features(source.features, components=source.components)


def _similarities(source: TableFiles, side: str) -> dict[str, Any] | None:
    return similarities_of(getattr(source, f"{side}_similarity"), f"--{side}-similarity")


def similarities_of(given: list[str] | None, option: str) -> dict[str, Any] | None:
    """Matrices by name, from files that are named ``NAME=FILE``, or after themselves; None where none are given."""
    if not given:
        return None
    from jointdr.datasets import read_matrix

    found: dict[str, Any] = {}
    for text in given:
        name, equals, where = text.partition("=")
        path = Path(where) if equals and not Path(text).exists() else Path(text)
        name = name if str(path) == where and equals else path.name.partition(".")[0]
        if not name or name in found:
            raise ValueError(f"{option} {text}: give every file a name of its own, {option} NAME=FILE.")
        found[name] = read_matrix(path)
    return found


def new_similarities_of(fitted: Any, side: int, given: list[str] | None) -> Any:
    """Similarities of new rows (side 0) or columns to the fitted ones, from files; one alone needs no name."""
    named = similarities_of(given, f"--new-{SIDES[side]}-similarity")
    if named is not None and len(named) == len(fitted.similarity_names_[side]) == 1:
        return next(iter(named.values()))
    return named


# A value as Python shows it: text, a pair, or a number.
VALUE = r"'[^']*'|\([^()]*\)|-?[\w.]+(?<!\.)"


@contextmanager
def in_terms_of_options(names: Mapping[str, str]) -> Iterator[None]:
    """Name options in errors and warnings that name arguments.

    A name that ends in = stands for the argument with its value.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except ValueError as error:
        raise ValueError(name_options(str(error), names)) from error
    except ImportError as error:
        raise ImportError(name_options(str(error), names)) from error
    finally:
        for warning in caught:
            warnings.warn(warning.category(name_options(str(warning.message), names)), stacklevel=3)


def name_options(message: str, names: Mapping[str, str]) -> str:
    """A message with options in the place of these arguments."""
    for argument, option in names.items():
        if not argument[0].isalpha() or argument.endswith('"'):
            message = message.replace(argument, option)
        elif argument.endswith("="):
            message = re.sub(rf"(?<!--try )\b{argument}({VALUE})?", partial(_with_option, option), message)
        else:
            message = re.sub(rf"\b{argument}\b", option, message)
    return message


def _with_option(option: str, found: re.Match[str]) -> str:
    """An option with the value of an argument as it is typed on the command line: 0.5,2 for (0.5, 2.0)."""
    typed = (found[1] or "").strip("'()").replace(", ", ",")
    return f"{option} " + re.sub(r"(\d)\.0(?!\d)", r"\1", typed)

"""Molecules, sequences and terms of entities, from columns of their tables or from files of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jointdr.apps.cli.options import NewContents, TableFiles
from jointdr.apps.cli.output import say

SIDES = ("row", "column")
KINDS = {"smiles": "smiles", "sequences": "sequence", "annotations": "terms"}  # of columns, by the ends of options
KNOWN = 0.5  # the share of the ids of a table that its own column of ids has to have in a file; or it is another one


@dataclass(frozen=True)
class Given:
    """The option for one kind of contents, such as ``--row-smiles drugs.smi``."""

    option: str
    kind: str
    value: str

    def column_in(self, table: Any) -> str | None:
        """The column of a table that is named; None where it is a file."""
        return self.value if table is not None and self.value in table.columns else None

    def read(self, ids: Sequence[str], table: Any, of_table: str) -> Any:
        """The contents in the file, indexed by id, as one column named after its kind."""
        from jointdr.datasets import read_annotations, read_sequences, read_smiles

        path = Path(self.value)
        if not path.exists():
            where = ""
            if table is not None:
                where = f", and {of_table} has no column of this name, but {', '.join(map(str, table.columns[:8]))}"
            raise ValueError(f"{self.option} {self.value}: there is no such file{where}.")
        readers: dict[str, Callable[[Path], Any]] = {
            "smiles": read_smiles,
            "sequence": read_sequences,
            "terms": lambda own: read_annotations(own, ids),
        }
        try:
            return readers[self.kind](path)
        except ValueError as error:
            raise ValueError(f"{self.option}: {error}") from None


def contents_of(source: TableFiles | NewContents, side: str) -> list[Given]:
    """The options that are given for one side."""
    named = ((kind, f"{side}_{end}") for end, kind in KINDS.items())
    found = ((kind, name, getattr(source, name)) for kind, name in named)
    return [Given(f"--{name.replace('_', '-')}", kind, value) for kind, name, value in found if value is not None]


def add_contents(source: TableFiles, side: str, table: Any, listed: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """A table of entities with columns from files, and the options of an encoder for these and for its own columns.

    Parameters
    ----------
    source : TableFiles
    side : {"row", "column"}
    table : DataFrame or None
        None: the entities are those in files of molecules and of sequences or, without such, the `listed` ones.
    listed : sequence of str
    """
    from jointdr.datasets import read_obo

    given, ontology = contents_of(source, side), getattr(source, f"{side}_ontology")
    if ontology is not None and not any(one.kind == "terms" for one in given):
        raise ValueError(f"--{side}-ontology is for the terms of --{side}-annotations: give these too.")
    columns = [one.column_in(table) or one.kind for one in given]
    files = [(one, one.kind) for one in given if one.column_in(table) is None]
    encoder: dict[str, Any] = {one.kind: [column] for one, column in zip(given, columns, strict=True)}
    if "smiles" in encoder:
        encoder["fingerprint"] = source.fingerprint
    if ontology is not None:
        encoder["ontology"] = read_obo(ontology, relations=("is_a", "part_of"))
    return join_files(files, table, f"--{side}s", listed), encoder


def add_new_contents(source: NewContents, fitted: Any, side: int, table: Any) -> Any:
    """New entities with the columns of molecules, sequences and terms that the fitted ones had; None without any."""
    name, encoder, given = SIDES[side], fitted.encoders_[side], contents_of(source, SIDES[side])
    columns = () if encoder is None else encoder.columns_
    files, renamed = [], {}
    for one in given:
        fitted_columns = [column.name for column in columns if column.kind == one.kind]
        if len(fitted_columns) != 1:
            what = "has no such features" if not fitted_columns else f"has them from {', '.join(fitted_columns)}"
            advice = "leave it out" if not fitted_columns else f"give a table with these columns, --{name}s"
            raise ValueError(f"{one.option} {one.value}: the model {what} of {name}s: {advice}.")
        if (own := one.column_in(table)) is not None:
            renamed[own] = fitted_columns[0]
        else:
            files.append((one, fitted_columns[0]))
    known = (fitted.row_ids_, fitted.column_ids_)[side].tolist()
    table = table if table is None else table.rename(columns=renamed)
    return join_files(files, table, f"--{name}s", None, known)


def join_files(
    files: Sequence[tuple[Given, str]],
    table: Any,
    of_table: str,
    listed: Sequence[str] | None,
    known: Sequence[str] = (),
) -> Any:
    """A table of entities with a column of this name from each file.

    Parameters
    ----------
    files : sequence of (Given, name)
    table : DataFrame or None
        None: the entities are those of the files, without such as only have terms where others are `listed`.
    of_table : str
        Its option, for messages.
    listed : sequence of str or None
    known : sequence of str
        Ids as entities have them, where there is no table.
    """
    import pandas as pd

    if not files:
        return table
    known = list(listed or known) if table is None else [*table.index, *(v for c in _texts(table) for v in table[c])]
    frames = [one.read(known, table, of_table) for one, _ in files]
    if table is None:
        those = [frame for (one, _), frame in zip(files, frames, strict=True) if listed is None or one.kind != "terms"]
        ids = dict.fromkeys(name for frame in those for name in frame.index) if those else dict.fromkeys(listed or ())
        table = pd.DataFrame(index=pd.Index(list(ids), name="id", dtype=object))
    for (one, name), frame in zip(files, frames, strict=True):
        if name in table.columns:
            raise ValueError(
                f"{one.option} {one.value}: {of_table} has a column {name!r} already: leave one of the two out, or say "
                f"{one.option} {name}."
            )
        values = frame.iloc[:, 0].reindex(_keys(one, table, frame.index, of_table))
        table = table.assign(**{name: values.to_numpy(dtype=object)})
    return table


def _keys(one: Given, table: Any, ids: Any, of_table: str) -> Any:
    """The ids by which entities stand in a file: those of the table, or a column of it where these are not there."""
    if len(table) and table.index.isin(ids).mean() >= KNOWN:
        return table.index
    shares = {None: table.index.isin(ids).sum()} | {name: table[name].isin(ids).sum() for name in _texts(table)}
    best = max(shares, key=lambda name: shares[name])
    if not shares[best]:
        raise ValueError(
            f"{one.option} {one.value}: none of its ids, such as {list(ids[:2])}, is among those of the entities, such "
            f"as {list(table.index[:2])}. (Ids are compared as strings.)"
        )
    if best is None:
        return table.index
    say(f"The ids of {one.value} are those in column {best!r} of {of_table}.")
    return table[best]


def _texts(table: Any) -> list[str]:
    return [name for name in table.columns if table[name].dtype == object]

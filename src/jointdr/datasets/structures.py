"""Molecules and proteins from files: SMILES, and sequences in FASTA, or as columns of tables."""

from __future__ import annotations

import os
from typing import Any

from jointdr.datasets.readers import read_table
from jointdr.runtime import AnyPath, column_index, parse_id, read_lines, require_new

OF_UNIPROT = ("sp", "tr")  # its databases, as names of FASTA begin: sp|P53_HUMAN|...


def read_smiles(path: AnyPath, *, column: str | None = None) -> Any:
    """Molecules in SMILES notation, for a column of a `TableEncoder`.

    Parameters
    ----------
    path : path
        ``.smi`` or ``.smiles``, plain or with ``.gz``: on each line a molecule, white space, and its id, perhaps below
        a line with names. Or a table as for `read_table`, with ids in the first column.
    column : str, optional
        The column of a table that has them; by default the one whose name contains "smiles", or else the only one of
        text.

    Returns
    -------
    DataFrame
        Indexed by id, with the column ``smiles``; None where a table has none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from jointdr.datasets import read_smiles
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "drugs.smi"
    >>> _ = path.write_text("CCO ethanol\\nCC(=O)O acetic acid\\n")
    >>> read_smiles(path)["smiles"].to_dict()
    {'ethanol': 'CCO', 'acetic acid': 'CC(=O)O'}
    """
    if not os.fspath(path).lower().removesuffix(".gz").endswith((".smi", ".smiles")):
        return _one_column(path, column, "smiles")
    found: dict[str, str] = {}
    seen: dict[str, int] = {}
    for number, (line,) in read_lines(path, "\n"):
        smiles, *rest = line.split(maxsplit=1)
        if not found and "smiles" in smiles.lower():
            continue
        if not rest:
            raise ValueError(f"{path}, line {number}: it has no id after the molecule {smiles!r:.80}.")
        name = parse_id(path, number, rest[0], "id")
        require_new(path, number, name, seen)
        found[name] = smiles
    return _by_id(path, found, "smiles")


def read_sequences(path: AnyPath, *, column: str | None = None) -> Any:
    """Sequences of proteins, for a column of a `TableEncoder`.

    Parameters
    ----------
    path : path
        FASTA, compressed or not: ids are the first words after ``>``, of UniProt (``>sp|P04637|P53_HUMAN``) the
        accessions. Or a table as for `read_table`, with ids in the first column.
    column : str, optional
        The column of a table that has them; by default the one whose name contains "sequence", or else the only one of
        text.

    Returns
    -------
    DataFrame
        Indexed by id, with the column ``sequence``; None where a table has none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from jointdr.datasets import read_sequences
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "proteins.fasta"
    >>> _ = path.write_text(">sp|P04637|P53_HUMAN\\nMEEPQ\\nSDPSV\\n>other one\\nMK\\n")
    >>> read_sequences(path)["sequence"].to_dict()
    {'P04637': 'MEEPQSDPSV', 'other': 'MK'}
    """
    lines = read_lines(path, "\n")
    number, (line,) = next(lines, (0, [""]))
    if number and not line.startswith(">"):
        lines.close()  # type: ignore[attr-defined]
        return _one_column(path, column, "sequence")
    found: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    parts: list[str] = []
    while number:
        if line.startswith(">"):
            name = parse_id(path, number, _fasta_id(line), "id after >")
            require_new(path, number, name, seen)
            parts = found.setdefault(name, [])
        else:
            parts.append("".join(line.split()))
        number, (line,) = next(lines, (0, [""]))
    return _by_id(path, {name: "".join(parts) for name, parts in found.items()}, "sequence")


def _fasta_id(line: str) -> str:
    word = (line[1:].split() or [""])[0]
    parts = word.split("|")
    return parts[1] if len(parts) == 3 and parts[0] in OF_UNIPROT else word


def _one_column(path: AnyPath, column: str | None, kind: str) -> Any:
    """The column of a table that is named, or looks as if it had what is sought."""
    table = read_table(path)
    names = [str(name) for name in table.columns]
    if column is None:
        called = [name for name in names if kind in name.lower()]
        text = [name for name in names if table[name].dtype == object]
        if not called and len(text) != 1:
            raise ValueError(
                f"{path}: none of its columns is called {kind}, and {len(text)} have text: ids stand first, name the "
                "other column."
            )
        column = called[0] if called else text[0]
    found = table.iloc[:, [column_index(path, names, column)]]
    if table[column].dtype != object:
        raise ValueError(f"{path}: column {column!r} has numbers, which are no {kind}.")
    return found.set_axis([kind], axis=1)


def _by_id(path: AnyPath, found: dict[str, str], kind: str) -> Any:
    import pandas as pd

    if not found:
        raise ValueError(f"{path} is empty.")
    return pd.DataFrame(
        {kind: list(found.values())}, index=pd.Index(list(found), name="id", dtype=object), dtype=object
    )

"""Tables from files: features of entities, and long lists of pairs. Ids are always strings."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np

from jointdr.data import as_ids
from jointdr.runtime import (
    EXPANSION,
    AnyPath,
    Array,
    MemoryBudgetError,
    after_header,
    column_index,
    most_bytes,
    open_text,
    parse_id,
    parse_number,
    parse_numbers,
    read_lines,
    require_new,
    separator_of,
)


def read_table(path: AnyPath, *, id: str | None = None, separator: str | None = None) -> Any:
    """A table of entities and their features, for `Dyads` and `Dyads.from_tables`.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.tab`` or ``.txt``, plain or with ``.gz``, with the names of the columns on the first
        line; or ``.parquet``, which takes pyarrow.
    id : str, optional
        The column of ids; by default the first (of a Parquet file that pandas wrote with an index: the index).
    separator : str, optional
        Between fields; by default according to the ending of the name.

    Returns
    -------
    DataFrame
        Features as floats, indexed by id. ``000001`` stays ``000001``.

    Raises
    ------
    ValueError
        With file, line and column, for fields that are not finite numbers, lines that are too short or too long, and
        ids that are missing or occur twice.
    """
    if os.fspath(path).lower().endswith((".parquet", ".pq")):
        return _parquet_table(path, id)
    header, rows = after_header(path, read_lines(path, separator or separator_of(path), quoted=True))
    _require_columns(path, header)
    at = 0 if id is None else column_index(path, header, id)
    names = header[:at] + header[at + 1 :]
    seen: dict[str, int] = {}
    values: list[Array] = []
    for number, fields in rows:
        require_new(path, number, parse_id(path, number, fields.pop(at), f"id in column {header[at]!r}"), seen)
        values.append(parse_numbers(path, number, fields, lambda i: f"column {names[i]!r}"))
    _require_lines(path, seen)
    import pandas as pd

    index = pd.Index(list(seen), name=header[at], dtype=object)
    return pd.DataFrame(np.array(values), index=index, columns=names)


def read_attributes(path: AnyPath) -> Any:
    """A table of anything about entities, text or numbers, with their ids as index.

    Parameters
    ----------
    path : path
        As for `read_table`; the first column (or the named index of a Parquet file) has the ids.

    Returns
    -------
    DataFrame
        For example for `jointdr.plot.embedding_map`, or a report: names to be read, and groups to be coloured by.
    """
    import pandas as pd

    name = os.fspath(path).lower()
    if name.endswith((".parquet", ".pq")):
        table = _parquet_frame(path)
        if not len(table.columns):
            raise ValueError(f"{path} has no columns.")
        return table if table.index.name is not None else table.set_index(table.columns[0])
    separator = "," if name.removesuffix(".gz").endswith(".csv") else "\t"
    with open_text(path) as file:
        try:
            return pd.read_csv(file, sep=separator, index_col=0, converters={0: str})
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ValueError(f"{path} is not a table with ids in its first column: {error}") from None


def read_pairs(
    path: AnyPath,
    *,
    row: str | None = None,
    column: str | None = None,
    score: str | Literal[False] | None = None,
    separator: str | None = None,
) -> Any:
    """A long list of pairs and their scores, for `Dyads.from_tables`.

    Parameters
    ----------
    path, separator
        As for `read_table`, and so are the errors.
    row, column, score : str, optional
        The columns of row ids, column ids and scores; by default the first, the second and, if there is one, the third.
        ``score=False`` reads the ids only, whatever stands beside them.

    Returns
    -------
    DataFrame
        Two columns of ids, which are strings, and, if the file has scores, one of floats. A pair may be listed more
        than once, see `duplicates` of `Dyads.from_tables`.
    """
    if os.fspath(path).lower().endswith((".parquet", ".pq")):
        return _parquet_pairs(path, row, column, score)
    header, rows = after_header(path, read_lines(path, separator or separator_of(path), quoted=True))
    chosen = _pair_columns(path, header, row, column, score)
    at = [column_index(path, header, name) for name in chosen]
    found: list[tuple[Any, ...]] = []
    for number, fields in rows:
        ids = tuple(parse_id(path, number, fields[i], f"id in column {header[i]!r}") for i in at[:2])
        found.append((*ids, *(parse_number(path, number, fields[i], f"column {header[i]!r}") for i in at[2:])))
    _require_lines(path, found)
    return id_frame(dict(zip(chosen, zip(*found, strict=True), strict=True)))


def read_disgenet(path: AnyPath) -> Any:
    """Gene-disease associations of DisGeNET, releases 3 to 7, for `Dyads.from_tables`.

    Parameters
    ----------
    path : path
        ``all_gene_disease_associations.tsv.gz``, ``curated_gene_disease_associations.tsv.gz`` or another file with its
        columns, also as ``.txt`` and not compressed.

    Returns
    -------
    DataFrame
        Columns ``disease`` (the UMLS concept, ``C0019202``), ``gene`` (the Entrez id), ``score``, and what the file
        has of ``disease_name`` and ``gene_symbol``.

    Notes
    -----
    Columns are found by their names on the header line, which changed from release to release: ``geneId geneSymbol
    geneName diseaseId diseaseName score NumberOfPubmeds associationType source`` in release 3, where diseases are
    written ``umls:C0019202``; ``geneId geneSymbol diseaseId diseaseName score NofPmids NofSnps source`` after lines of
    comments in release 4; ``geneId geneSymbol DSI DPI diseaseId diseaseName diseaseType diseaseClass
    diseaseSemanticType score EI YearInitial YearFinal NofPmids NofSnps source`` since release 5 (Piñero et al., Nucleic
    Acids Research 2017 and 2020). A pair that is listed again with the same score, because it has several sources,
    counts once.
    """
    header, rows = after_header(path, read_lines(path, "\t", comment="#"))
    at = [column_index(path, header, name) for name in ("diseaseId", "geneId", "score")]
    names = {"disease_name": "diseaseName", "gene_symbol": "geneSymbol"}
    extra = {new: header.index(old) for new, old in names.items() if old in header}
    found: dict[tuple[str, str, float], list[str]] = {}
    for number, fields in rows:
        disease = parse_id(path, number, fields[at[0]].removeprefix("umls:"), "diseaseId")
        gene = parse_id(path, number, fields[at[1]], "geneId")
        score = parse_number(path, number, fields[at[2]], "column 'score'")
        found.setdefault((disease, gene, score), [fields[i] for i in extra.values()])
    _require_lines(path, found)
    columns = zip(*((*key, *rest) for key, rest in found.items()), strict=True)
    return id_frame(dict(zip(("disease", "gene", "score", *extra), columns, strict=True)))


def id_frame(columns: dict[str, Any]) -> Any:
    """A DataFrame with strings as Python objects, which all versions of pandas take alike, and floats."""
    import pandas as pd

    kinds = {name: object if isinstance(values[0], str) else float for name, values in columns.items()}
    return pd.DataFrame({name: pd.Series(list(columns[name]), dtype=kind) for name, kind in kinds.items()})


def _pair_columns(
    path: AnyPath, header: list[str], row: str | None, column: str | None, score: str | Literal[False] | None
) -> list[str]:
    _require_columns(path, header)
    names = [header[0] if row is None else row, header[1] if column is None else column]
    if score is None and len(header) > 2:
        score = header[2]
    names += [score] if score else []
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: row, column and score must be different columns, but got {names}.")
    return names


def _require_columns(path: AnyPath, header: list[str]) -> None:
    if not header:
        raise ValueError(f"{path} is empty.")
    if len(header) < 2:
        raise ValueError(
            f"{path} has the single column {header[0]!r}. If fields are separated in another way than its name has it, "
            "give separator=',' or separator='\\t'."
        )


def _require_lines(path: AnyPath, found: Any) -> None:
    if not found:
        raise ValueError(f"{path} has no lines after the header.")


def _parquet_frame(path: AnyPath) -> Any:
    try:
        from pyarrow import parquet

        if not os.path.isdir(path) and (reason := _too_large(path, parquet.ParquetFile(path))):
            raise MemoryBudgetError(reason)
        table = parquet.read_table(path)
        table.validate(full=True)  # text in UTF-8, for example, which is otherwise checked when it is used
        return table.to_pandas()
    except ImportError:
        raise ImportError(f'{path}: Parquet files take pyarrow: pip install "jointdr[io]".') from None
    except (FileNotFoundError, MemoryError, MemoryBudgetError):
        raise
    except Exception as error:  # pyarrow's errors are of many kinds, and so are pandas' on its own notes in the file
        raise ValueError(f"{path} is not a Parquet file, or a damaged one: {error}") from None


def _too_large(path: AnyPath, file: Any) -> str | None:
    """The reason to refuse a Parquet file whose compressed columns take more memory than `most_bytes`, or None."""
    with file:
        rows, kinds = file.metadata.num_rows, file.schema_arrow.types
    if rows * sum(_width(kind) for kind in kinds) <= most_bytes(path):
        return None
    return (
        f"{path} has {rows} rows of {len(kinds)} columns, which take more than {EXPANSION} times its size in memory: "
        "if you trust it, write it again without compression and dictionaries."
    )


def _width(kind: Any) -> float:
    """Bytes of a value in memory; of a text or a list, which have no fixed length, those of a reference to it."""
    try:
        return kind.bit_width / 8
    except ValueError:
        return 8


def _parquet_table(path: AnyPath, id: str | None) -> Any:
    frame = _parquet_frame(path)
    header = [str(column) for column in frame.columns]
    if id is None and type(frame.index).__name__ != "RangeIndex":
        ids, name = frame.index, frame.index.name
        _require_columns(path, [str(name), *header])
    else:
        _require_columns(path, header)
        name = header[0] if id is None else header[column_index(path, header, id)]
        ids, frame = frame[name], frame.drop(columns=[name])
    _require_lines(path, len(frame))
    import pandas as pd

    index = pd.Index(as_ids(ids, f"{path}: column {name!r}").tolist(), name=name, dtype=object)
    values = np.column_stack([_parquet_numbers(path, frame[column], column) for column in frame.columns])
    return pd.DataFrame(values, index=index, columns=list(frame.columns))


def _parquet_pairs(path: AnyPath, row: str | None, column: str | None, score: str | Literal[False] | None) -> Any:
    frame = _parquet_frame(path)
    chosen = _pair_columns(path, list(frame.columns), row, column, score)
    for name in chosen:
        column_index(path, list(frame.columns), name)
    _require_lines(path, len(frame))
    ids = {name: as_ids(frame[name], f"{path}: column {name!r}", unique=False).tolist() for name in chosen[:2]}
    return id_frame(ids | {name: _parquet_numbers(path, frame[name], name) for name in chosen[2:]})


def _parquet_numbers(path: AnyPath, values: Any, name: str) -> Array:
    try:
        found = values.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(f"{path}: column {name!r} holds {values.dtype}, not numbers.") from None
    if not np.isfinite(found).all():
        at = int(np.argmin(np.isfinite(found)))
        raise ValueError(f"{path}: column {name!r} has NaN or infinity, or nothing, in row {at}.")
    return found

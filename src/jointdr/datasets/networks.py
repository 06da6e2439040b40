"""Similarity matrices and networks from files: weights between entities that have ids."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, get_args

import numpy as np
from scipy import sparse

from jointdr.data import Duplicates, as_ids, scores_of_pairs
from jointdr.datasets.spectral import Symmetrize, checked_affinity, connected_components, spectral_features
from jointdr.runtime import (
    AnyPath,
    Array,
    Line,
    check_choice,
    check_flag,
    check_number,
    check_separator,
    parse_id,
    parse_number,
    parse_numbers,
    read_lines,
    require_length,
    require_new,
    separator_of,
)

STRING, UNITS = "combined_score", 1000.0  # the column of STRING's files with all evidence, and what 1 is there


@dataclass(frozen=True)
class Network:
    """Weights between entities that have ids: similarities (dense) or edges (sparse).

    Attributes
    ----------
    W : (nodes, nodes) array or CSR array
        Symmetric.
    ids : (nodes,) array of str
    """

    W: Array
    ids: Array

    def features(self, k: int | None = None, **options: Any) -> Any:
        """`spectral_features` of the nodes as a DataFrame indexed by id, for `Dyads.from_tables`."""
        import pandas as pd

        found = spectral_features(self.W, k, **options)
        index = pd.Index(self.ids.tolist(), name="id", dtype=object)
        return pd.DataFrame(found, index=index, columns=[f"spectral_{i}" for i in range(found.shape[1])])

    def giant(self) -> Network:
        """The largest connected component."""
        return self.part(np.flatnonzero(connected_components(self.W)[0] == 0))

    def part(self, at: Array) -> Network:
        """The nodes with these indices, and the weights between them."""
        return Network(self.W[at][:, at], self.ids[at])

    def __repr__(self) -> str:
        if not sparse.issparse(self.W):
            return f"Network({len(self.ids)} nodes, dense)"
        links = (self.W.nnz + np.count_nonzero(self.W.diagonal())) // 2
        return f"Network({len(self.ids)} nodes, {links} links)"


def read_similarity(path: AnyPath, *, separator: str | None = None, symmetrize: Symmetrize | None = None) -> Network:
    """A matrix of similarities with ids on the first line and in the first column.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.tab`` or ``.txt``, plain or with ``.gz``. The first line may or may not have a field
        above the column of ids. Both must have the same ids in the same order.
    separator : str, optional
        Between fields; by default according to the ending of the name.
    symmetrize : {"mean", "max", "min"}, optional
        How a matrix that is not symmetric is made so; an error by default.
    """
    check_separator(separator)
    rows = read_lines(path, separator or separator_of(path), quoted=True)
    first, header = next(rows, (0, []))
    ids, W = _matrix(path, rows)
    columns = [field.strip() for field in (header[1:] if len(header) == len(ids) + 1 else header)]
    if columns != ids:
        pairs = zip(columns, ids, strict=False)
        wrong = next((f"{a!r} where the first column has {b!r}" for a, b in pairs if a != b), None)
        what = wrong or f"{len(columns)} for {len(ids)} lines"
        raise ValueError(f"{path}, line {first}: the ids of the columns are not those of the lines: {what}.")
    return Network(checked_affinity(W, symmetrize, str(path)), as_ids(ids, str(path)))


def read_mimminer(path: AnyPath, *, symmetrize: Symmetrize | None = None) -> Network:
    """The disease similarities of MimMiner.

    Parameters
    ----------
    path : path
        ``MimMiner_Exp_AC_T_TXCS_basedonACMESH_filt_RW.mat``, which is text: on each line an OMIM id and the
        similarities to all diseases in the order of the lines, separated by tabs; no header (van Driel et al., European
        Journal of Human Genetics 2006). Compressed or not.
    symmetrize : {"mean", "max", "min"}, optional
        How a matrix that is not symmetric is made so; an error by default.
    """
    ids, W = _matrix(path, read_lines(path, "\t"))
    return Network(checked_affinity(W, symmetrize, str(path)), as_ids(ids, str(path)))


def read_edges(
    path: AnyPath, *, separator: str | None = None, header: bool = False, duplicates: Duplicates = "error"
) -> Network:
    """A list of links: on each line two ids and, if there is a third field, a weight; or the links of STRING.

    Parameters
    ----------
    path : path
        Text, plain or compressed by gzip; lines that start with ``#`` are left out. Links have no direction. Files of
        STRING (``9606.protein.links.v12.0.txt.gz``, ``.detailed``, ``.full``) are known by a column
        ``combined_score`` on the first line: weights are this score divided by 1000, the probability that the link is
        real, and each link, which stands there in both directions, counts once.
    separator : str, optional
        Between fields; by default a comma if the name ends in ``.csv``, otherwise tabs if the first line has any, and
        white space if not.
    header : bool
        Whether the first line has names of columns, and is no link.
    duplicates : {"error", "mean", "sum", "max", "last"}
        How the weights of a link are joined that is listed more than once, in either direction. By default it counts
        once if the weights are the same, and is an error if they are not.
    """
    check_separator(separator)
    check_flag("header", header)
    check_choice("duplicates", duplicates, get_args(Duplicates))
    if separator is None:
        is_csv = os.fspath(path).lower().removesuffix(".gz").endswith(".csv")
        _, fields = next(read_lines(path, "\t", comment="#"), (0, []))
        separator = "," if is_csv else "\t" if len(fields) > 1 else None
    rows = read_lines(path, separator, quoted=True, comment="#")
    first = next(rows, None)
    if first is not None and STRING in first[1]:
        return _network_of_string(path, first, rows, duplicates)
    if header:
        first = next(rows, None)
    if first is None:
        raise ValueError(f"{path} has no links.")
    if len(first[1]) not in (2, 3):
        raise ValueError(
            f"{path}, line {first[0]}: a link has 2 or 3 fields, two ids and a weight, but this has {len(first[1])}."
        )
    hint = "" if header else " (if this line has names of columns, give header=True)"
    return _network(path, _links(path, first, rows, f"weight{hint}"), duplicates)


def _network_of_string(path: AnyPath, header: Line, rows: Iterator[Line], duplicates: Duplicates) -> Network:
    """Links below a line with the names of STRING's columns."""
    names = header[1]
    lines = require_length(path, rows, len(names), "the header")
    first = next(lines, None)
    if first is None or len(names) < 3:
        raise ValueError(f"{path} has no links: two proteins and their {STRING} belong on each line.")
    links = _links(path, first, lines, f"column {STRING!r}", names.index(STRING))
    return _network(path, replace(links, weights=links.weights / UNITS), duplicates)


def read_humannet(path: AnyPath, *, top: float | None = None, giant: bool = False) -> Network:
    """The gene network HumanNet.

    Parameters
    ----------
    path : path
        ``HumanNet.v1.join.txt``: on each line two Entrez ids, the log-likelihood scores of 21 kinds of evidence (NA
        where there is none) and, last, the score of all together, which is the weight; separated by tabs (Lee et al.,
        Genome Research 2011). Later releases, with fewer columns and a first line that starts with ``#``, can be read
        too. Compressed or not.
    top : float, optional
        The fraction of links to keep, those with the highest weights; of equal ones, the first. The paper uses 0.1.
    giant : bool
        Whether only the largest connected component of what was kept is returned.
    """
    check_flag("giant", giant)
    if top is not None:
        check_number("top", top, 1e-300, 1, expected="a fraction of the links, above 0 and at most 1")
    rows = read_lines(path, "\t", comment="#")
    first = next(rows, None)
    if first is None or len(first[1]) < 3:
        raise ValueError(f"{path} is not a list of links with two ids and scores, separated by tabs.")
    links = _links(path, first, rows, "last column")
    count = max(1, round((top or 1.0) * len(links.weights)))
    kept = np.sort(np.argsort(-links.weights, kind="stable")[:count])
    network = _network(path, links.part(kept), "error")
    return network.giant() if giant else network


def _matrix(path: AnyPath, rows: Iterator[Line]) -> tuple[list[str], Array]:
    """Lines of an id and numbers as ids and a square matrix."""
    seen: dict[str, int] = {}
    values: list[Array] = []
    for number, fields in rows:
        require_new(path, number, parse_id(path, number, fields[0], "id"), seen)
        values.append(parse_numbers(path, number, fields[1:], lambda i: f"field {i + 2}"))
    if not values:
        raise ValueError(f"{path} has no lines with similarities.")
    for found, number in zip(values, seen.values(), strict=True):
        if len(found) != len(values):
            raise ValueError(
                f"{path}, line {number}: it has {len(found)} similarities, but there are {len(values)} lines with ids."
            )
    return list(seen), np.array(values)


@dataclass(frozen=True)
class _Links:
    """Links of a file: the ids, and the indices of both ends, the weight and the line of each link."""

    ids: list[str]
    ends: Array
    weights: Array
    lines: Array

    def part(self, at: Array) -> _Links:
        return replace(self, ends=self.ends[at], weights=self.weights[at], lines=self.lines[at])


def _links(path: AnyPath, first: Line, rows: Iterator[Line], weight: str, at: int = -1) -> _Links:
    """The links, with the weight in this field (1 if there are but two fields); 24 bytes for each of them."""
    index: dict[str, int] = {}
    ends, weights, lines = array("i"), array("d"), array("q")
    for number, fields in require_length(path, chain([first], rows), len(first[1]), f"line {first[0]}"):
        for field, which in ((fields[0], "first"), (fields[1], "second")):
            ends.append(index.setdefault(parse_id(path, number, field, f"{which} id"), len(index)))
        weights.append(parse_number(path, number, fields[at], weight) if len(fields) > 2 else 1.0)
        lines.append(number)
    found = np.frombuffer(ends, dtype=np.intc).reshape(-1, 2)
    return _Links(list(index), found, np.frombuffer(weights), np.frombuffer(lines, dtype=np.int64))


def _network(path: AnyPath, links: _Links, duplicates: Duplicates) -> Network:
    """Links as a symmetric CSR array over the ids in sorted order, O(links log links)."""
    used = np.unique(links.ends)
    ids, places = np.unique(np.array(links.ids)[used], return_inverse=True)
    indices = np.zeros(len(links.ids), dtype=np.int64)
    indices[used] = places
    low, high = np.sort(indices[links.ends], axis=1).T
    weights = links.weights
    if duplicates == "error":
        keep = _once(path, low * len(ids) + high, links)
        low, high, weights = low[keep], high[keep], weights[keep]
    upper = scores_of_pairs(low, high, weights, (len(ids), len(ids)), duplicates)
    W = sparse.csr_array(upper + sparse.triu(upper, 1).T)
    W.eliminate_zeros()
    return Network(W, ids)


def _once(path: AnyPath, codes: Array, links: _Links) -> Array:
    """The first of each set of equal links; an error if their weights differ."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    weights, lines = links.weights, links.lines
    other = np.flatnonzero(weights != weights[first][inverse])
    if len(other):
        i, j = int(first[inverse[other[0]]]), int(other[0])
        one, two = (links.ids[end] for end in links.ends[j])
        raise ValueError(
            f"{path}, line {lines[j]}: the link between {one!r} and {two!r} has the weight {weights[j]:g}, "
            f"but {weights[i]:g} on line {lines[i]}. In read_edges, duplicates='mean', 'sum', 'max' or 'last' joins "
            "them."
        )
    return first

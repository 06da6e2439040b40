"""Similarity matrices and networks from files: weights between entities that have ids."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
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
    """A list of links: on each line two ids and, if there is a third field, a weight.

    Parameters
    ----------
    path : path
        Text, plain or compressed by gzip; lines that start with ``#`` are left out. Links have no direction.
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
    if header:
        next(rows, None)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{path} has no links.")
    if len(first[1]) not in (2, 3):
        raise ValueError(
            f"{path}, line {first[0]}: a link has 2 or 3 fields, two ids and a weight, but this has {len(first[1])}."
        )
    hint = "" if header else " (if this line has names of columns, give header=True)"
    return _network(path, *_links(path, first, rows, f"weight{hint}"), duplicates)


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
    ends, weights, at = _links(path, first, rows, "last column")
    kept = np.sort(np.argsort(-weights, kind="stable")[: max(1, round((top or 1.0) * len(weights)))])
    network = _network(path, [ends[i] for i in kept], weights[kept], [at[i] for i in kept], "error")
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


def _links(
    path: AnyPath, first: Line, rows: Iterator[Line], weight: str
) -> tuple[list[tuple[str, str]], Array, list[int]]:
    """The ends, the weight in the last field (1 if there is none) and the line of each link."""
    ends, weights, at = [], [], []
    for number, fields in require_length(path, chain([first], rows), len(first[1]), f"line {first[0]}"):
        ends.append((parse_id(path, number, fields[0], "first id"), parse_id(path, number, fields[1], "second id")))
        weights.append(parse_number(path, number, fields[-1], weight) if len(fields) > 2 else 1.0)
        at.append(number)
    return ends, np.array(weights), at


def _network(
    path: AnyPath, ends: list[tuple[str, str]], weights: Array, at: list[int], duplicates: Duplicates
) -> Network:
    """Links as a symmetric CSR array over the ids in sorted order, O(links log links)."""
    ids, indices = np.unique(np.array(ends), return_inverse=True)
    low, high = np.sort(indices.reshape(-1, 2), axis=1).T
    if duplicates == "error":
        keep = _once(path, low * len(ids) + high, weights, at, ends)
        low, high, weights = low[keep], high[keep], weights[keep]
    upper = scores_of_pairs(low, high, weights, (len(ids), len(ids)), duplicates)
    W = sparse.csr_array(upper + sparse.triu(upper, 1).T)
    W.eliminate_zeros()
    return Network(W, ids)


def _once(path: AnyPath, codes: Array, weights: Array, at: list[int], ends: list[tuple[str, str]]) -> Array:
    """The first of each set of equal links; an error if their weights differ."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    other = np.flatnonzero(weights != weights[first][inverse])
    if len(other):
        i, j = int(first[inverse[other[0]]]), int(other[0])
        raise ValueError(
            f"{path}, line {at[j]}: the link between {ends[j][0]!r} and {ends[j][1]!r} has the weight {weights[j]:g}, "
            f"but {weights[i]:g} on line {at[i]}. In read_edges, duplicates='mean', 'sum', 'max' or 'last' joins them."
        )
    return first

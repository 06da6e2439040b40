"""Tables, networks and archives from files, as dyads."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jointdr.apps.cli.options import Source

if TYPE_CHECKING:
    from jointdr.data import Dyads


def dyads_of(source: Source) -> Dyads:
    """Read scores and features; anything missing is a ValueError that names the option to give."""
    from jointdr.data import Dyads
    from jointdr.datasets import read_pairs

    if source.data is not None:
        return _archive(source, source.data)
    if source.response is not None:
        raise ValueError("--response chooses among the scores of --data; --score names a column of --pairs.")
    if source.pairs is None:
        raise ValueError("Give the known pairs with --pairs FILE, or everything with --data FILE.npz.")
    _require_use_of_features(source)
    pairs = read_pairs(source.pairs, row=source.row, column=source.column, score=source.score)
    names = (str(pairs.columns[0]), str(pairs.columns[1]))
    return Dyads.from_tables(
        pairs,
        _entities(source, "row"),
        _entities(source, "column"),
        observed=source.observed,
        duplicates=source.duplicates,  # type: ignore[arg-type]
        names=names,
    )


def table_of(path: Path | None) -> Any:
    """Features of new entities, or None."""
    if path is None:
        return None
    from jointdr.datasets import read_table

    return read_table(path)


def _archive(source: Source, path: Path) -> Dyads:
    others = [f.name for f in fields(source) if f.name not in ("data", "response") and _is_given(source, f.name)]
    if others:
        raise ValueError(f"--data has everything in one file: leave out {_option(others[0])}.")
    from jointdr.datasets import load_archive

    return load_archive(path, source.response)


def _require_use_of_features(source: Source) -> None:
    """Raise if an option for networks and similarities is given and there are none of them."""
    if any(_is_given(source, f"{side}_{kind}") for side in ("row", "column") for kind in ("network", "similarity")):
        return
    for name in ("features", "components"):
        if _is_given(source, name):
            raise ValueError(f"{_option(name)} is for networks and similarities, but none is given: leave it out.")


def _is_given(source: Source, name: str) -> bool:
    """Whether an option differs from its default."""
    return bool(getattr(source, name) != getattr(Source, name))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _entities(source: Source, side: str) -> Any:
    """The features of one side: those of a table, of a network or of similarities."""
    given = {
        f"--{side}s": getattr(source, f"{side}s"),
        f"--{side}-network": getattr(source, f"{side}_network"),
        f"--{side}-similarity": getattr(source, f"{side}_similarity"),
    }
    chosen = [name for name, path in given.items() if path is not None]
    if len(chosen) != 1:
        raise ValueError(f"Give one of {', '.join(given)}, but got {' and '.join(chosen) or 'none of them'}.")
    path = given[chosen[0]]
    if chosen[0] == f"--{side}s":
        return table_of(path)
    from jointdr.datasets import read_edges, read_similarity

    if source.features is None:
        raise ValueError(f"{chosen[0]} needs --features K, the number of features that it is turned into.")
    network = read_edges(path) if chosen[0].endswith("network") else read_similarity(path)
    return network.features(source.features, components=source.components)

"""Models, tables, networks and archives from files."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jointdr.apps.cli.options import TableFiles

if TYPE_CHECKING:
    from jointdr.data import Dyads
    from jointdr.prediction import Recommender


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
    from jointdr.datasets import load_archive, read_pairs

    given = [f.name for f in fields(source) if getattr(source, f.name) != f.default]
    if source.data is not None:
        if others := [name for name in given if name not in ("data", "response")]:
            raise ValueError(f"--data has everything in one file: leave out {_option(others[0])}.")
        return load_archive(source.data, source.response)
    if source.response is not None:
        raise ValueError("--response chooses among the scores of --data; --score names a column of --pairs.")
    if source.pairs is None:
        raise ValueError("Give the known pairs with --pairs FILE, or everything with --data FILE.npz.")
    if not any(name.endswith(("_network", "_similarity")) for name in given):
        for name in ("features", "components"):
            if name in given:
                raise ValueError(f"{_option(name)} is for networks and similarities, but none is given: leave it out.")
    pairs = read_pairs(source.pairs, row=source.row, column=source.column, score=source.score)
    return Dyads.from_tables(
        pairs,
        _entities(source, "row"),
        _entities(source, "column"),
        observed=source.observed,
        duplicates=source.duplicates,  # type: ignore[arg-type]
        names=(str(pairs.columns[0]), str(pairs.columns[1])),
    )


def table_of(path: Path | None) -> Any:
    """Features of new entities, or None."""
    if path is None:
        return None
    from jointdr.datasets import read_table

    return read_table(path)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _entities(source: TableFiles, side: str) -> Any:
    """The features of one side: those of a table, of a network or of similarities."""
    given = {_option(name): getattr(source, name) for name in (f"{side}s", f"{side}_network", f"{side}_similarity")}
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

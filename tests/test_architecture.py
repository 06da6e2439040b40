"""The walls of the house, read off the sources: the order of rooms, what crosses a wall, and what lies at the top."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

import jointdr

ROOT = Path(__file__).parents[1]
SOURCE = Path(jointdr.__file__).parent
ORDER = [
    *("runtime", "metrics", "moments", "engines", "data", "io", "directions", "estimators", "plot"),
    *("prediction", "evaluation", "diagnostics", "datasets", "apps"),
]
ROOMS = [name for name in ORDER if name != "metrics"]
TOP = {*ROOMS, "metrics.py", "__init__.py", "__main__.py", "_version.py", "py.typed"}
UPWARDS = {("prediction/recommender.py", "apps")}  # `report`, which is found where models are
"""Imports against the order that are allowed, by module and room: lazy ones, for convenience."""


def figures():
    spec = importlib.util.spec_from_file_location("house", ROOT / "benchmarks" / "house.py")
    house = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(house)
    return house.figures(SOURCE)


@pytest.fixture(scope="module")
def found():
    return figures()


def room_of(path):
    return path.parts[0].removesuffix(".py")


def imports(path):
    """Every import of the package in a module, lazy ones too: the module that is named, and the names taken of it."""
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.Import):
            yield from ((a.name, []) for a in node.names if a.name.split(".")[0] == "jointdr")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if (node.module or "").split(".")[0] == "jointdr":
                yield node.module, [a.name for a in node.names]


MODULES = sorted(p.relative_to(SOURCE) for p in SOURCE.rglob("*.py"))
INSIDE = [path for path in MODULES if room_of(path) in ORDER]


def test_there_are_modules_in_every_room():
    assert {room_of(path) for path in INSIDE} == set(ORDER)


def test_the_top_of_the_package():
    assert {p.name for p in SOURCE.iterdir() if p.name != "__pycache__"} == TOP


@pytest.mark.parametrize("path", INSIDE, ids=str)
def test_imports_follow_the_order_of_rooms(path):
    here = room_of(path)
    for module, _ in imports(path):
        there = module.split(".")[1] if "." in module else None
        if there is None:
            assert here == "apps", f"{path} imports the package root, which imports it"
        elif there != "_version" and (str(path), there) not in UPWARDS:
            assert ORDER.index(there) <= ORDER.index(here), f"{path} imports {module}"


@pytest.mark.parametrize("path", INSIDE, ids=str)
def test_only_what_a_room_offers_crosses_its_wall(path):
    here = room_of(path)
    for module, names in imports(path):
        there = module.split(".")[1:2]
        if there and there[0] in ROOMS and there[0] != here:
            assert module == f"jointdr.{there[0]}", f"{path} imports from inside of {there[0]}: {module}"
            offered = importlib.import_module(module).__all__
            assert set(names) <= set(offered), f"{path}: {set(names) - set(offered)} is not in __all__ of {module}"


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_says_what_it_offers(room):
    module = importlib.import_module(f"jointdr.{room}")
    assert module.__doc__
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name), name
        assert not name.startswith("_"), name


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_private_name_of_another_module(path, found):
    assert [item for item in found["private names across modules"] if item.startswith(f"{path}:")] == []


def test_a_public_name_is_defined_once(found):
    assert found["public names defined twice"] == []


def test_files_fit_in_a_head(found):
    assert found["files of more than 400 lines"] == []


def test_functions_have_a_verb_or_a_noun(found):
    assert len(found["functions named by a bare participle"]) <= 20


def test_docstrings_start_with_a_verb_or_a_noun(found):
    assert found["docstrings that start with 'What'"] == []

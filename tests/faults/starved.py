"""A child that writes every kind of file into a folder where nothing more can be written.

It prepares older files, says so, waits for a line, tries, and prints what became of each: the error, whether the older
file is as it was, and what is there that was not before.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from jointdr import JDR, AssociationModel, Dyads
from jointdr.apps import write_report
from jointdr.apps.cli.app import run
from jointdr.apps.cli.output import write_table
from jointdr.apps.reproduce.cache import Cache
from jointdr.apps.reproduce.study import Study
from jointdr.io import scan_npy, write_transformed
from jointdr.plot import save_figure

rng = np.random.default_rng(0)
A, B = rng.standard_normal((500, 4)), rng.standard_normal((500, 3))
y = A[:, 0] * B[:, 0] + 0.1 * rng.standard_normal(500)
model = JDR(2).fit((A, B), y)
pairs = AssociationModel(JDR(2), head="kernel").fit(Dyads(np.outer(A[:20, 0], B[:15, 0]), A[:20], B[:15]))
table = pd.DataFrame(rng.random((100, 3)), columns=list("abc"))
study = Study("study", "m", (1.0,), ("JDR",), len, {})


class Stop(Exception):
    pass


def source(data):
    return scan_npy(a=data / "a.npy", b=data / "b.npy", y=data / "y.npy")


def checkpointed(path, data):
    """A fit that stops after its first read, and leaves a checkpoint behind."""
    JDR(2, solver="randomized", random_state=0).fit(source(data).checkpointed(path, every=0.0))


def interrupted(path, data):
    def watch(rows, nbytes):
        seen.append(rows)
        if len(seen) > 1:
            raise Stop

    seen: list[int] = []
    with contextlib.suppress(Stop):
        model = JDR(2, solver="randomized", random_state=0)
        model.fit(source(data).watched(watch).checkpointed(path, every=0.0))


def commanded(path, data):
    """``jointdr fit``, whose error is a line and an exit code."""
    views = [f"--views=a={data}/a.npy", f"b={data}/b.npy", "--response", f"{data}/y.npy"]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = run(["fit", *views, "-o", str(path)])
    if code:
        raise OSError(code, said.getvalue().splitlines()[-1])


WRITERS = {
    "model.npz": lambda path, data: model.save(path),
    "pairs.npz": lambda path, data: pairs.save(path),
    "fold.npz": checkpointed,
    "report.html": lambda path, data: write_report(model, path),
    "table.tsv": lambda path, data: write_table(table, path),
    "table.csv.gz": lambda path, data: write_table(table, path),
    "table.parquet": lambda path, data: write_table(table, path),
    "coordinates.npy": lambda path, data: write_transformed(model, source(data), path),
    "coordinates.parquet": lambda path, data: write_transformed(model, source(data), path),
    "picture.png": lambda path, data: save_figure(Figure(), path),
    "repetitions-0000-0001.json": lambda path, data: Cache(path.parents[1]).store(
        study, [0, 1], [np.ones((9, 9))] * 2, 1.0
    ),
    "command.npz": commanded,
}


def place(folder, name):
    return folder / f"{study.name}-{study.key}" / name if name.endswith(".json") else folder / name


def listed(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != "filler")


def attempt(name, folder, data):
    path = place(folder, name)
    old, before = path.read_bytes(), listed(folder)
    try:
        WRITERS[name](path, data)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    else:
        told = "nothing"
    return {"told": told, "intact": path.read_bytes() == old, "new": [p for p in listed(folder) if p not in before]}


def main(folder, data, how):
    for name, X in {"a": A, "b": B, "y": y}.items():
        np.save(data / f"{name}.npy", X)
    for name, write in WRITERS.items():
        (interrupted if name == "fold.npz" else write)(place(folder, name), data)
    print("ready", flush=True)
    sys.stdin.readline()
    if how == "full":
        with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
    print(json.dumps({name: attempt(name, folder, data) for name in WRITERS}), flush=True)


if __name__ == "__main__":
    os.umask(0o022)
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])

"""Files cannot run code, take memory beyond their size or write elsewhere; the library does not use the network."""

from __future__ import annotations

import ast
import gzip
import io
import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import jointdr
from jointdr import JDR
from jointdr.datasets import load_archive, read_pairs, read_table
from jointdr.io import scan_npy
from jointdr.runtime import archive
from jointdr.runtime.modelfile import read_header

SOURCE = Path(jointdr.__file__).parent
MB = 1_000_000


def peak(action, *arguments, match):
    """The most memory that was taken until a ValueError."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            action(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def npy(shape, descr="<f8", data=b""):
    """An NPY file with a header of our own."""
    told = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(told).to_bytes(2, "little") + told + data


def zipped(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


# ---------------------------------------------------------------- code


class Trap:
    """Makes a folder when it is loaded."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.mark.parametrize("where", ["pickle", "npy", "npz", "a member that is a pickle", "a header that is one"])
def test_nothing_in_a_file_is_run(where, tmp_path):
    trap, path = Trap(tmp_path / "trapped"), tmp_path / "file.npz"
    np.save(array := io.BytesIO(), np.array([trap]), allow_pickle=True)
    header = {"header.npy": array.getvalue(), "seal.npy": array.getvalue()}
    if where in ("pickle", "npy"):
        path.write_bytes(pickle.dumps(trap) if where == "pickle" else array.getvalue())
    else:
        member = pickle.dumps(trap) if where == "a member that is a pickle" else array.getvalue()
        zipped(path, header if where == "a header that is one" else {"y.npy": member, **header})
    for read in (JDR.load, read_header, load_archive, lambda path: scan_npy(a=path, y=path)):
        with pytest.raises(ValueError, match=r"file\.npz"):
            read(path)
    assert not (tmp_path / "trapped").exists()


def test_members_are_never_written_to_disk(tmp_path, data):
    A, B, y = data
    path = tmp_path / "in" / "model.npz"
    path.parent.mkdir()
    JDR(2).fit((A, B), y).save(path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("../outside.npy", npy((1,), data=bytes(8)))
        file.writestr(f"{tmp_path}/outside.npy", npy((1,), data=bytes(8)))
    with pytest.raises(ValueError, match="altered or damaged"):
        JDR.load(path)
    assert [p.name for p in tmp_path.rglob("*")] == ["in", "model.npz"]


def test_no_module_can_unpickle_or_run_text():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                assert name not in ("eval", "exec", "compile", "__import__", "joblib.load"), path
                pickles = [k for k in node.keywords if k.arg == "allow_pickle"]
                assert all(ast.unparse(k.value) == "False" for k in pickles), path
                assert pickles or name not in ("np.load", "np.lib.format.read_array"), path
    used = {module for path in SOURCE.rglob("*.py") for module in imported(path)}
    assert not used & {"pickle", "dill", "cloudpickle", "marshal", "shelve", "yaml", "subprocess", "ctypes"}


# ---------------------------------------------------------------- memory


def test_a_header_that_tells_of_too_much_takes_no_memory(tmp_path):
    for shape, descr in (
        ((10**15,), "<f8"),
        ((10**8,), "<f8"),
        ((10**15,), "<U0"),
        ((10**15, 0), "<f8"),
        ((), "<U99999999"),
    ):
        member = npy(shape, descr)
        path = zipped(tmp_path / "m.npz", {"header.npy": member, "seal.npy": member})
        assert peak(JDR.load, path, match="m.npz is not a whole jointdr file: 'header'") < MB
        (tmp_path / "a.npy").write_bytes(member)
        assert peak(lambda: scan_npy(a=tmp_path / "a.npy"), match="a.npy") < MB


def test_an_archive_that_expands_too_far_is_refused_unread(tmp_path, monkeypatch):
    zeros = npy((30 * MB,), "|u1", bytes(30 * MB))
    path = zipped(tmp_path / "bomb.npz", {"header.npy": zeros, "seal.npy": zeros}, zipfile.ZIP_DEFLATED)
    monkeypatch.setattr(archive, "ALLOWANCE", MB)
    assert path.stat().st_size < 0.1 * MB
    for read in (JDR.load, load_archive):
        assert peak(read, path, match="would expand to 60 MB, more than 100 times its size") < 3 * MB


def test_an_archive_that_understates_its_size_is_not_believed(tmp_path, monkeypatch):
    content = npy((5 * MB,), "|u1", bytes(5 * MB))
    path = zipped(tmp_path / "bomb.npz", {"header.npy": content, "seal.npy": b""}, zipfile.ZIP_DEFLATED)
    size = len(content).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (200).to_bytes(4, "little")))
    assert peak(JDR.load, path, match="bomb.npz is not a whole jointdr file") < 2 * MB


@pytest.mark.parametrize("line", ["x", "x\ty\n"], ids=["one line", "many lines"])
def test_text_that_expands_too_far_is_refused_on_the_way(line, tmp_path, monkeypatch):
    path = tmp_path / "bomb.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n" + line.encode() * (3 * MB // len(line))))
    monkeypatch.setattr(archive, "ALLOWANCE", 1000)
    allowed = archive.most_bytes(path)
    assert allowed < 2 * MB
    assert peak(read_pairs, path, match=r"bomb.tsv.gz expands to more than .* decompress it first") < 120 * allowed


def test_a_parquet_file_that_expands_too_far_is_refused_unread(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bomb.parquet"
    parquet.write_table(pa.table({"id": np.zeros(MB, np.int64), "x": np.zeros(MB)}), path)
    monkeypatch.setattr(archive, "ALLOWANCE", MB)
    assert peak(read_table, path, match=r"bomb.parquet has 1000000 rows of 2 columns.* 100 times") < 5 * MB


def test_an_id_as_long_as_a_file_is_refused(tmp_path):
    """Arrays of text have room for the longest in every place."""
    path = tmp_path / "links.tsv"
    path.write_text("a\tb\n" + "x" * 100_000 + "\ty\n" + "x\ty\n" * 1000)
    assert peak(read_pairs, path, match=r"links.tsv, line 2: .* has 100000 characters; 10000 are allowed") < 5 * MB


def test_a_header_of_many_equal_columns_does_not_take_forever(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["a"] * 200_000))
    with pytest.raises(ValueError, match=r"wide.csv, line 1: the column names \['a'\] occur more than once"):
        read_table(path)


# ---------------------------------------------------------------- the network

MAY = {
    "apps/explore/server.py": {"socket"},  # listens on 127.0.0.1
    "engines/dask.py": {"distributed"},  # the user's own cluster, here and in the next
    "apps/cli/files.py": {"distributed"},
}
NETWORK = {"socket", "ssl", "http", "urllib.request", "urllib3", "requests", "httpx", "aiohttp", "ftplib", "smtplib"}
NETWORK |= {"xmlrpc", "telnetlib", "asyncio", "socketserver", "webbrowser", "fsspec", "distributed", "boto3", "pooch"}


def imported(path):
    """The modules that a file imports, with those that they are parts of."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            yield from (name[:at] for at in [*(i for i, c in enumerate(name) if c == "."), len(name)])


def test_only_these_modules_know_of_a_network():
    found = {str(p.relative_to(SOURCE)): set(imported(p)) & NETWORK for p in SOURCE.rglob("*.py")}
    assert {path: used for path, used in found.items() if used} == MAY


FLOWS = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto"):
        raise SystemExit(f"the network was used: {event} {arguments}")

sys.addaudithook(refuse)
import importlib, pkgutil, warnings
import numpy as np, jointdr
from scipy import sparse
warnings.simplefilter("ignore")
for module in pkgutil.walk_packages(jointdr.__path__, "jointdr."):
    if module.name not in ("jointdr.__main__", "jointdr.engines.dask"):
        importlib.import_module(module.name)
from jointdr import IMC, JDR, AssociationModel, Dyads
from jointdr.apps.cli.app import run
from jointdr.io import scan_npy
rng = np.random.default_rng(0)
A, B = rng.standard_normal((60, 4)), rng.standard_normal((60, 3))
for name, X in zip("aby", (A, B, A[:, 0] * B[:, 0])):
    np.save(f"{name}.npy", X)
model = JDR(2, refine=1).fit((A, B), A[:, 0] * B[:, 0])
model.save("m.npz"), JDR.load("m.npz").transform((A, B))
JDR(1).fit(scan_npy(a="a.npy", b="b.npy", y="y.npy"))
dyads = Dyads(sparse.csr_array((A[:20] @ rng.standard_normal((4, 15)) > 1).astype(float)), A[:20], B[:15])
AssociationModel(JDR(2), head="kernel").fit(dyads).recommend(k=2), IMC(2).fit(dyads).predict()
for path, X in (("r.tsv", A[:20]), ("c.tsv", B[:15])):
    with open(path, "w") as file:
        file.write("id\\t" + "\\t".join(f"f{j}" for j in range(X.shape[1])) + "\\n")
        file.writelines(f"e{i}\\t" + "\\t".join(map(str, row)) + "\\n" for i, row in enumerate(X))
with open("p.tsv", "w") as file:
    file.write("r\\tc\\n" + "".join(f"e{i}\\te{j}\\n" for i, j in zip(*dyads.Y.nonzero())))
assert run("fit --pairs p.tsv --rows r.tsv --columns c.tsv --rank 2 -o f.npz".split()) == 0
assert run("recommend f.npz -k 2 -o out.tsv".split()) == 0
assert run("info f.npz".split()) == 0
assert run("report f.npz -o report.html".split()) == 0
print("done")
"""


def test_the_network_is_not_used(tmp_path):
    """Imports of everything and the main ways through the library, with every connection an error."""
    for name in ("typer", "jinja2", "starlette", "matplotlib", "pyarrow", "python_multipart"):
        pytest.importorskip(name)
    found = subprocess.run([sys.executable, "-c", FLOWS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.endswith("done\n")

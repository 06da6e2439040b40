"""``jointdr fit --views``: rows in files, with a checkpoint, on a cluster, on a device."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("typer")

from jointdr import JDR, PCA
from jointdr.apps.cli.app import run
from tests.scale.conftest import assert_same


@pytest.fixture
def expected(data):
    return JDR(2).fit((data.A, data.B), data.y)


def npy(data):
    views = ["--views", f"a={data.folder}/a.npy", f"b={data.folder}/b.npy"]
    return ["fit", *views, "--response", f"{data.folder}/y.npy", "--rank", "2"]


def parquet(data, tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.parquet").symlink_to(f"{data.folder}/{i}.parquet")
    return ["fit", "--table", str(tmp_path), "--views", "a=a*", "b=b0,b1,b2,b3,b4", "--response", "y", "--rank", "2"]


def test_npy_files(data, expected, tmp_path, capsys):
    out = tmp_path / "model.npz"
    assert run([*npy(data), "-o", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["model"] == "JDR"
    assert "Read 3000 rows" in printed.err
    assert_same(JDR.load(out), expected)


def test_parquet_with_a_checkpoint(data, expected, tmp_path):
    out, held = tmp_path / "model.npz", tmp_path / "fold.npz"
    assert run([*parquet(data, tmp_path), "-o", str(out), "--checkpoint", str(held)]) == 0
    assert_same(JDR.load(out), expected)
    assert not held.exists()  # it is of no use any more


def test_other_methods_and_weights(data, tmp_path):
    out = tmp_path / "model.npz"
    words = [*npy(data), "--method", "pca", "--weight", f"{data.folder}/w.npy", "-o", str(out)]
    assert run(words) == 0
    assert_same(PCA.load(out), PCA(2).fit((data.A, data.B), sample_weight=data.weight))


@pytest.mark.parametrize("method", ["ols", "sols"])
def test_methods_with_one_direction(data, tmp_path, method):
    words = npy(data)
    assert run([*words[: words.index("--rank")], "--method", method, "-o", str(tmp_path / "model.npz")]) == 0


def test_views_with_an_equals_sign(data, expected, tmp_path):
    words = [f"--views=a={data.folder}/a.npy", f"b={data.folder}/b.npy", "--response", f"{data.folder}/y.npy"]
    assert run(["fit", *words, "--rank", "2", "-o", str(tmp_path / "model.npz")]) == 0
    assert_same(JDR.load(tmp_path / "model.npz"), expected)


def test_a_device(data, expected, tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "model.npz"
    assert run([*npy(data), "--device", "cpu", "-o", str(out)]) == 0
    assert_same(JDR.load(out), expected)


def test_a_local_cluster(data, expected, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("distributed.deploy.local.CPU_COUNT", 2)  # workers, which are as many as there are cores
    out = tmp_path / "model.npz"
    assert run([*npy(data), "--dask", "local", "-o", str(out)]) == 0
    assert_same(JDR.load(out), expected)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--views", "a"], "NAME=FILE.npy"),
        (["--views", "a=nowhere.npy"], "no such file"),
        (["--views", "a=A", "a=B"], "twice"),
        (["--views", "a=A", "--method", "imc"], "choose from jdr"),
        (["--views", "a=A", "--bandwidth", "1"], "--bandwidth is for models of pairs"),
        (["--views", "a=A", "--pairs", "links.tsv"], "does not go with --pairs"),
        (["--views", "a=A", "--dask", "tcp://127.0.0.1:1", "--device", "cpu"], "choose one"),
        (["--checkpoint", "fold.npz"], "go with --views"),
        (["--views", "y=A", "b=B"], "cannot be called 'y'"),
        (["--views", "a=A", "--method", "pca", "--ridge", "0.5"], "--ridge does not belong"),
        (["--views", "a=A", "--checkpoint", "nowhere/fold.npz"], "does not exist"),
        (["--views", "a=A", "--device", "nowhere"], "--device nowhere"),
    ],
)
def test_what_is_wrong_is_said(data, tmp_path, capsys, words, said):
    if "--device nowhere" in said:
        pytest.importorskip("torch")
    if (
        "choose one" in said
        or "--device nowhere" in said
        or "choose from" in said
        or "models of pairs" in said
        or "ridge" in said
    ):
        words = [word.replace("a=A", f"a={data.folder}/a.npy") for word in words]
        words += ["--response", f"{data.folder}/y.npy"]
    assert run(["fit", *words, "-o", str(tmp_path / "model.npz")]) == 2
    assert said in capsys.readouterr().err


def test_numbers_of_rows_must_agree(data, tmp_path, capsys):
    np.save(tmp_path / "y.npy", data.y[:-1])
    views = ["--views", f"a={data.folder}/a.npy", f"b={data.folder}/b.npy"]
    assert run(["fit", *views, "--response", str(tmp_path / "y.npy"), "-o", str(tmp_path / "m.npz")]) == 2
    assert "same number of rows" in capsys.readouterr().err


def test_a_file_that_is_no_parquet_is_named(tmp_path, capsys):
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 torn")
    words = ["--table", str(tmp_path / "torn.parquet"), "--views", "a=a*", "--response", "y"]
    assert run(["fit", *words, "-o", str(tmp_path / "m.npz")]) == 2
    assert "torn.parquet is not a whole Parquet file" in capsys.readouterr().err

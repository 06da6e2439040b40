"""``jointdr explore``: one sentence for what cannot work, and a quiet end."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from jointdr import IMC, JDR
from tests.apps.explore.conftest import dyads_of, tables

pytest.importorskip("typer")

from jointdr.apps.cli import main


@pytest.fixture(scope="module")
def path(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("explore") / "model.npz"
    model.save(path)
    return path


def refused(capsys, words, *expected):
    assert main(["explore", *map(str, words)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    for part in expected:
        assert part in line


def test_a_port_that_is_in_use(path, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused(capsys, [path, "--port", port], f"Port {port} is in use already", "--port 0")


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none(path, capsys, port):
    refused(capsys, [path, "--port", port], "must be from 1 to 65535")


def test_other_models(tmp_path, capsys):
    path = tmp_path / "other.npz"
    IMC(2).fit(dyads_of("links")).save(path)
    refused(capsys, [path, "--port", 0], "holds an IMC model", "AssociationModel")
    S, A, B = tables()
    JDR(2).fit((A[:45], B), S.diagonal()).save(path)
    refused(capsys, [path, "--port", 0], "holds a JDR model")
    path.write_text("nothing")
    refused(capsys, [path, "--port", 0], "is not a whole jointdr file")
    refused(capsys, [tmp_path / "none.npz", "--port", 0], "No such file")


def test_tables_of_names(path, tmp_path, capsys):
    names = tmp_path / "names.tsv"
    names.write_text("id\n1\n")
    refused(capsys, [path, "--port", 0, "--rows-table", names], "single column 'id'")


def test_without_the_packages(path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    refused(capsys, [path], 'pip install "jointdr[app]"')


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGINT for another process")
def test_it_answers_on_this_machine_only_and_ends_quietly(path, tmp_path):
    names = tmp_path / "names.csv"
    names.write_text("id,name\nd/0,First drug\n")
    words = [sys.executable, "-m", "jointdr", "explore", str(path), "--port", "0", "--rows-table", str(names)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)", line)[1])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/row?id=d%2F0") as response:
            assert b"First drug" in response.read()
            assert response.headers["X-Frame-Options"] == "DENY"
            assert response.headers["Server"] is None
        with socket.socket() as other, pytest.raises(OSError, match="refused"):
            other.connect(("127.0.0.2", port))  # which it would answer if it listened on all addresses
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")

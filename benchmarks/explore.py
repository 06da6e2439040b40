"""How long the local page takes to answer, for 5000 rows and 5000 columns, through its server.

    python benchmarks/explore.py            5000 x 5000
    python benchmarks/explore.py 2000       2000 x 2000

Every address is asked for with entities that nothing is kept of yet, over one connection; "again" is the same once
more. The target is 200 ms. "cpu" is the processor time that the server takes for an answer, where /proc tells it:
about what the median would be with nothing else running.
"""

from __future__ import annotations

import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from jointdr import JDR, AssociationModel

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
FEATURES, DIRECTIONS, SHARE, REPEATS = 100, 80, 0.01, 20
TARGET = 200.0


def models():
    """The three kinds of scores: links, grades of some pairs, grades of all pairs; and a ridge head."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((COUNT, FEATURES)), rng.standard_normal((COUNT, FEATURES))
    Y = A[:, :3] @ B[:, :3].T + rng.standard_normal((COUNT, COUNT))
    links = sparse.csr_array((np.quantile(Y, 1 - SHARE) < Y).astype(float))
    some = sparse.csr_array(Y * (rng.random(Y.shape) < SHARE))
    jdr = JDR(DIRECTIONS)
    yield "links, 1 % of pairs", AssociationModel(jdr, head="kernel", bandwidth=0.4).fit(links, A, B), A
    yield "grades of 1 % of pairs", AssociationModel(jdr, head="kernel", bandwidth=0.4).fit(some, A, B, "stored"), A
    yield "grades of all pairs", AssociationModel(jdr, head="kernel", bandwidth=0.4).fit(Y, A, B), A
    yield "links, bilinear head", AssociationModel(jdr, head="bilinear").fit(links, A, B), A


class Page:
    """The page of a model in a process of its own."""

    def __init__(self, model, folder):
        path = Path(folder) / "model.npz"
        model.save(path)
        started = time.perf_counter()
        command = [sys.executable, "-m", "jointdr", "explore", str(path), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r"http://127.0.0.1:(\d+)", self.process.stderr.readline())[1])
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.ask("/")
        self.start = time.perf_counter() - started

    def ask(self, address, body=None, headers=None):
        """The milliseconds that an answer takes, and the answer."""
        started = time.perf_counter()
        self.connection.request("GET" if body is None else "POST", address, body, headers or {})
        response = self.connection.getresponse()
        text = response.read()
        took = 1000 * (time.perf_counter() - started)
        assert response.status in (200, 303), (address, response.status, text[-300:])
        return took, response

    def processor(self):
        """Milliseconds of processor time so far; NaN where they are not told."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        """End the process."""
        self.connection.close()
        self.process.terminate()
        self.process.wait()


def upload(page, x):
    """Send a new row and ask for its ranking: milliseconds of both together."""
    boundary = "boundary"
    text = " ".join(f"{value:.6g}" for value in x)
    body = f'--{boundary}\r\nContent-Disposition: form-data; name="text"\r\n\r\n{text}\r\n--{boundary}--\r\n'
    headers = {
        "Content-Type": f"multipart/form-data; boundary={boundary}",
        "Origin": f"http://127.0.0.1:{page.port}",
    }
    sent, response = page.ask("/new", body.encode(), headers)
    return sent + page.ask(response.getheader("Location"))[0]


def report(page, name, ask, addresses, is_again=True):
    """One line: the median and the worst of the first time, its processor time, and the median of the second."""
    before = page.processor()
    times = [ask(address) for address in addresses]
    cpu = (page.processor() - before) / len(times)
    again = f"{statistics.median(ask(address) for address in addresses):8.1f}" if is_again else " " * 8
    flag = "" if max(times) <= TARGET else f"   over {TARGET:.0f} ms"
    print(f"  {name:28s}{statistics.median(times):8.1f}{max(times):8.1f}{cpu:8.1f}{again}{flag}", flush=True)


def measure(title, page, A):
    rng = np.random.default_rng(1)
    print(f"{title}, {COUNT} x {COUNT}: ready after {page.start:.1f} s")
    print(f"  {'milliseconds':28s}{'median':>8s}{'worst':>8s}{'cpu':>8s}{'again':>8s}")
    some = rng.choice(COUNT, (2, REPEATS), replace=False)
    routes = {
        "/": ["/"] * REPEATS,
        "/search": [f"/search?q={i}" for i in some[0]],
        "/row": [f"/row?id={i}" for i in some[0]],
        "/row, page 9, zoomed": [f"/row?id={i}&page=9&zoom=1" for i in some[0]],
        "/row.tsv": [f"/row.tsv?id={i}" for i in some[1]],
        "/column": [f"/column?id={i}" for i in some[0]],
        "/column.tsv": [f"/column.tsv?id={i}" for i in some[1]],
        "/why": [f"/why?row={i}&column={j}" for i, j in some.T],
        "/map.svg": ["/map.svg?side=row", "/map.svg?side=column"],
    }
    for name, addresses in routes.items():
        report(page, name, lambda address: page.ask(address)[0], addresses)
    report(page, "/new, and its ranking", lambda i: upload(page, A[i] + 0.1), some[0], is_again=False)


def main():
    for title, model, A in models():
        with tempfile.TemporaryDirectory() as folder:
            page = Page(model, folder)
        measure(title, page, A)
        page.close()


if __name__ == "__main__":
    main()

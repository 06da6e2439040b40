"""One data set in memory and in files of every kind, and what is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from jointdr import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS
from jointdr.io import scan_blocks, scan_npy, scan_parquet

METHODS = {
    "JDR": JDR(2),
    "JDR raw": JDR(2, normalize=None),
    "JDR joint": JDR(2, normalize="joint"),
    "JDR randomized": JDR(2, solver="randomized", random_state=0),
    "JDR countsketch": JDR(2, solver="countsketch", normalize="feature", random_state=0),
    "JDR auto": JDR("auto"),
    "JDR all moments": JDR(2, moments="all"),
    "JDR selection": JDR(2, n_features_to_select=(4, 3)),
    "JDR selection randomized": JDR(2, n_features_to_select=(4, 3), solver="randomized", random_state=0),
    "JDR ranks": JDR(2, response="rank"),
    "JDR slices": JDR(2, response="slices"),
    "JDR refined": JDR(2, refine=2, link="bilinear"),
    "JDR refined by a learned link": JDR(2, refine=1, moments="all", link="learned"),
    "PCA": PCA(2),
    "OLS": OLS(),
    "IHT": IHT(2),
    "PHD": PHD(2),
    "PHD residual": PHD(2, residual=True),
    "PHD concatenated residual": PHD(2, residual=True, concatenate=True),
    "SIR": SIR(2),
    "SAVE": SAVE(2, n_slices=4),
    "SOLS": SOLS(),
    "SOLS sliced": SOLS(2, edges=[-1.0, 1.0]),
}


@dataclass
class Data:
    """Arrays, and the folder with the same in files."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    folder: str

    def npy(self, weight=False, three=False):
        names = "abc" if three else "ab"
        paths = {n: f"{self.folder}/{n}.npy" for n in names}
        return scan_npy(**paths, y=f"{self.folder}/y.npy", weight=f"{self.folder}/w.npy" if weight else None)

    def parquet(self, weight=False, response="y"):
        views = {"a": "a*", "b": [f"b{i}" for i in range(self.B.shape[1])]}
        paths = [f"{self.folder}/{i}.parquet" for i in range(2)]
        return scan_parquet(paths, views=views, response=response, weight="w" if weight else None)

    def blocks(self, weight=False, size=333):
        def read():
            for start in range(0, len(self.y), size):
                at = slice(start, start + size)
                yield (self.A[at], self.B[at]), self.y[at], self.weight[at] if weight else None

        return scan_blocks(read)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    m = 3000
    A = rng.standard_normal((m, 6)) @ rng.standard_normal((6, 6)) + 3.0
    B = rng.standard_normal((m, 5)) + 0.1 * A[:, :5] - 2.0
    C = rng.standard_normal((m, 4))
    a, b = A - A.mean(axis=0), B - B.mean(axis=0)
    y = (
        a[:, 0] * b[:, 1]
        + a[:, 1]
        + b[:, 2]
        + 0.5 * a[:, 2] ** 2
        + b[:, 0] * a[:, 3] * C[:, 0]
        + rng.standard_normal(m)
    )
    weight = rng.random(m) + 0.1
    labels = np.where(y > 2, "high", np.where(y > -1, "middle", "low"))
    folder = str(tmp_path_factory.mktemp("data"))
    for name, X in {"a": A, "b": B, "c": C, "y": y, "w": weight}.items():
        np.save(f"{folder}/{name}.npy", X)
    table = pd.DataFrame(A, columns=[f"a{i}" for i in range(6)])
    table[[f"b{i}" for i in range(5)]] = B
    table = table.assign(y=y, z=y**2, w=weight, label=labels)
    table[:1800].to_parquet(f"{folder}/0.parquet", row_group_size=500)
    table[1800:].to_parquet(f"{folder}/1.parquet", row_group_size=389)
    return Data(A, B, C, y, weight, labels, folder)


@pytest.fixture(scope="session")
def expected(data):
    """The fit in memory of a method, made once."""
    made = {}

    def of(name, weight=False):
        if (name, weight) not in made:
            w = data.weight if weight else None
            made[name, weight] = clone(METHODS[name]).fit((data.A, data.B), data.y, sample_weight=w)
        return made[name, weight]

    return of


def assert_same(one, two, tolerance=1e-10):
    """The same directions, up to sign, the same spectrum and the same means."""
    for U, V in zip(one.embeddings_, two.embeddings_, strict=True):
        np.testing.assert_allclose(np.abs(U), np.abs(V), rtol=0, atol=tolerance * np.abs(V).max())
    spectra = [s if isinstance(s, tuple) else (s,) for s in (one.singular_values_, two.singular_values_)]
    for s, t in zip(*spectra, strict=True):
        np.testing.assert_allclose(s, t, rtol=tolerance, atol=tolerance * t.max())
    for mean, other in zip(one.means_, two.means_, strict=True):
        np.testing.assert_allclose(mean, other, atol=1e-12 * max(1.0, np.abs(other).max()))

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from scipy import sparse

from tests.properties import verdict

# Properties are tried on few examples, always the same, or, with HYPOTHESIS_PROFILE=nightly (`make nightly`), on many.
settings.register_profile("ci", max_examples=8, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "nightly", max_examples=100, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

NORMALIZE_AND_SOLVER = [("joint", "exact")] + [
    (normalize, solver) for normalize in ("full", "feature", None) for solver in ("exact", "randomized", "countsketch")
]

examples_of_workers: list[int] = []


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Collect from each worker of xdist how many examples it has tried."""
    examples_of_workers.append(getattr(node, "workeroutput", {}).get("examples", 0))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["examples"] = verdict.examples_run


def pytest_terminal_summary(terminalreporter):
    total = verdict.examples_run + sum(examples_of_workers)
    if total:
        profile = settings.get_current_profile_name()
        terminalreporter.write_line(f"{total} examples of properties tried (profile {profile})")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data(rng):
    """Two correlated views of different widths and a response with a bilinear part."""
    m, n1, n2 = 400, 6, 4
    A = rng.standard_normal((m, n1)) @ rng.standard_normal((n1, n1)) + 1.0
    B = rng.standard_normal((m, n2)) @ rng.standard_normal((n2, n2)) - 2.0
    y = (A[:, 0] - 1) * (B[:, 1] + 2) + (A[:, 1] - 1) * (B[:, 2] + 2) + 0.5 * rng.standard_normal(m) + 3.0
    return A, B, y


def random_sparse(rng, shape, density):
    """A CSR matrix of uniform numbers at random places."""
    return sparse.csr_array(rng.random(shape) * (rng.random(shape) < density))


def brute_force(A, B, y, w=None):
    """Every central moment by its definition, about the weighted mean, divided by the total weight."""
    w = np.ones(len(y)) if w is None else w
    total = w.sum()
    a, b, e = (x - np.average(x, axis=0, weights=w) for x in (A, B, y))
    return {
        "C_aa": np.einsum("i,ij,ik->jk", w, a, a) / total,
        "C_bb": np.einsum("i,ij,ik->jk", w, b, b) / total,
        "C_ab": np.einsum("i,ij,ik->jk", w, a, b) / total,
        "C_ay": np.einsum("i,ij,i->j", w, a, e) / total,
        "C_by": np.einsum("i,ij,i->j", w, b, e) / total,
        "C_yy": np.einsum("i,i,i->", w, e, e) / total,
        "T_ayb": np.einsum("i,i,ij,ik->jk", w, e, a, b) / total,
        "T_aya": np.einsum("i,i,ij,ik->jk", w, e, a, a) / total,
        "T_byb": np.einsum("i,i,ij,ik->jk", w, e, b, b) / total,
    }


def summary(moments):
    """The same quantities, read from a Moments that keeps everything."""
    c = moments.to_numpy().central()
    return {
        "C_aa": c.covariance(0),
        "C_bb": c.covariance(1),
        "C_ab": c.cross_covariance(0, 1),
        "C_ay": c.response_covariance(0)[:, 0],
        "C_by": c.response_covariance(1)[:, 0],
        "C_yy": c.y_covariance()[0, 0],
        "T_ayb": c.third(0, 1)[0],
        "T_aya": c.third(0, 0)[0],
        "T_byb": c.third(1, 1)[0],
    }


def largest_difference(one, two):
    """The largest difference of two summaries, relative to the largest entry of each quantity."""
    return max(np.max(np.abs(one[key] - two[key])) / max(np.max(np.abs(two[key])), 1e-300) for key in two)

from __future__ import annotations

import os

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from jointdr import set_config
from tests import CORES
from tests.properties import verdict

# Properties are tried on few examples, always the same, or, with HYPOTHESIS_PROFILE=nightly (`make nightly`), on many.
# Neither looks at the clock, which a busy machine slows down.
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", max_examples=8, derandomize=True, database=None, **UNHURRIED)
settings.register_profile("nightly", max_examples=100, print_blob=True, **UNHURRIED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

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


@pytest.fixture(autouse=True, scope="session")
def two_cores():
    """Threads are as many on every machine: how rows are cut, and so the last digits, depends on them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joblib, "cpu_count", lambda *args, **kwargs: CORES)
        yield


@pytest.fixture(autouse=True)
def some_memory():
    """A budget for blocks, instead of a share of what happens to be free."""
    set_config(memory_budget="2 GB")
    yield
    set_config(memory_budget=None)


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

"""The whole of scikit-learn's estimator checks, on the instances named here, with none expected to fail."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from jointdr import JDR, JDRRegressor, KernelRegression

VIEWS = [slice(0, 1), slice(1, None)]
INSTANCES = [
    JDR(n_components=1, views=VIEWS),
    JDR(n_components=1, views=VIEWS, normalize="joint"),
    JDR(n_components=1, views=VIEWS, n_features_to_select=1),
    KernelRegression(),
    JDRRegressor(JDR(n_components=1, views=VIEWS)),
    JDRRegressor(JDR(n_components=1, views=VIEWS), head="kernel"),
    JDRRegressor(JDR(n_components=1, views=VIEWS), head="bilinear"),
]


def test_check_estimator_of_a_sketch():
    """All checks but the two that call partial_fit, which a sketch refuses."""
    estimator = JDR(n_components=1, views=VIEWS, normalize="feature", solver="randomized", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] in ("failed", "xfail")}
    assert set(failed) == {"check_fit_score_takes_y", "check_n_features_in_after_fitting"}
    assert all("use solver='exact'" in message for message in failed.values())


@pytest.mark.parametrize("estimator", INSTANCES, ids=repr)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] in ("failed", "xfail")}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 40

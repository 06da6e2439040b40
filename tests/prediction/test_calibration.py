"""Notes on predicted scores."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from jointdr.prediction.heads.calibration import Calibration


@pytest.mark.parametrize("digits", [0, 1, 6], ids=["many ties", "some ties", "no ties"])
@pytest.mark.parametrize("seed", range(5))
def test_the_listed_rate_is_isotonic_regression_on_all_pairs(seed, digits):
    rng = np.random.RandomState(seed)
    predicted = np.round(rng.standard_normal(300), digits)
    listed = rng.uniform(size=300) < 0.3 / (1 + np.exp(-2 * predicted))
    scores = np.linspace(-5, 5, 1001)
    expected = IsotonicRegression(out_of_bounds="clip").fit(predicted, listed.astype(float)).predict(scores)
    found = Calibration.of_listed(predicted, listed).notes(scores)["listed_rate"]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.ptp(found) > 0


def test_without_both_kinds_of_pairs_there_is_no_rate():
    assert Calibration.of_listed(np.arange(3.0), np.zeros(3, dtype=bool)) is None
    assert Calibration.of_listed(np.arange(3.0), np.ones(3, dtype=bool)) is None

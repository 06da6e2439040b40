"""Notes on predicted scores."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from jointdr import JDR, AssociationModel
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


@pytest.mark.parametrize("graded", [False, True])
def test_the_calibration_of_a_model_has_the_notes_of_its_scores(graded):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 4)), rng.standard_normal((25, 3))
    S = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((40, 25))
    model = AssociationModel(uses=("rows", "pairs"), random_state=0).fit(S if graded else (S > 1.5).astype(float), A, B)
    notes = ["lower", "upper"] if graded else ["listed_rate"]
    table = model.calibration("rows")
    assert list(table.columns) == ["score", *notes]
    new = model.predict_pairs(None, rng.standard_normal((5, 4)))
    at = np.clip(np.searchsorted(table["score"], new["score"], side="right") - 1, 0, None)
    for name in notes:
        expected = (
            new["score"] + (table[name] - table["score"]).to_numpy()[at]
            if graded
            else np.interp(new["score"], table["score"], table[name])
        )
        np.testing.assert_allclose(new[name], expected)
    assert list(model.calibration("pairs").columns) == ["score", *(notes if graded else ["percentile"])]
    with pytest.raises(ValueError, match="by='both' is not among the questions of the fit"):
        model.calibration("both")


def test_heads_of_their_own_have_no_calibration():
    rng = np.random.default_rng(0)
    model = AssociationModel(JDR(1), head="bilinear").fit(
        rng.standard_normal((9, 8)), rng.standard_normal((9, 2)), rng.standard_normal((8, 2))
    )
    with pytest.raises(ValueError, match="only head='auto' has calibrations"):
        model.calibration("rows")

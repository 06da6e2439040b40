"""The supplement's comparison with pHd: mean NSEE of 40 repetitions against the plotted values.

JDR sees the odd link and not the even one, pHd (of each view by itself) the reverse, JDR with all moments both.
"""

from __future__ import annotations

import numpy as np
import pytest

from jointdr.apps.reproduce import FIGURES
from jointdr.apps.reproduce.summary import verdict
from jointdr.plot import Curve

REPETITIONS = 40
PANELS = dict(zip(("odd", "even"), FIGURES["phd"](None).panels, strict=True))
TOLERANCES = {"odd": 0.1, "even": 0.2}
WINNERS = {"odd": "JDR", "even": "pHd"}


@pytest.mark.parametrize("link", [pytest.param("odd", marks=pytest.mark.slow), "even"])
def test_panel(link):
    study = PANELS[link].lines[0].study
    values = np.stack([study.measure(study.seed(i)) for i in range(REPETITIONS)])
    curves = {name: Curve.of(study.x, values[:, k]) for k, name in enumerate(study.curves)}
    for line in PANELS[link].lines:
        found = verdict("phd", link, line, curves[line.curve])
        if found is None:
            continue
        print(f"\n{link} link, {line.label}: slope {found.curve.slope:.3f}, paper {found.paper_slope:.3f}")
        for m, ours, paper, error in zip(study.x, found.curve.log_mean, found.plotted, found.curve.error, strict=True):
            print(f"  m = {m:6d}: {ours:.3f} ± {error:.3f}, paper {paper:.3f}, {ours - paper:+.3f}")
        assert found.curve.error.max() < TOLERANCES[link] / 2
        assert np.abs(found.difference).max() <= TOLERANCES[link]
        if line.label == WINNERS[link]:
            assert abs(found.curve.slope - found.paper_slope) <= 0.06
            assert found.curve.slope < -0.45
        else:  # more data does not help
            assert abs(found.curve.slope) < 0.05
            assert found.curve.log_mean.min() > np.log(0.7)
    # From the same single pass, nearly as good as whichever of the two succeeds. In two to five of 100 repetitions with
    # an even link, held-out rows speak against within-view moments, and the plain proxy is used.
    both, winner = curves["JDR, all moments"], curves[WINNERS[link]]
    assert both.slope < -0.45
    assert (both.log_mean - winner.log_mean).max() < 0.3

"""Tables for notebooks: whole, escaped, and in the colours of the page they are on."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import Dyads, Moments, Views


class Cells(HTMLParser):
    """The texts of cells and notes, and the tags that are open at the end."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        assert tag in ("div", "table", "thead", "tbody", "tr", "th", "td")
        assert all(word not in value for _, value in attrs for word in ("#", "rgb", "background", "url"))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def texts(value):
    cells = Cells(value._repr_html_())
    assert not cells.open
    return cells.texts


def test_views(rng):
    A = pd.DataFrame(rng.random((5, 4)), columns=["<b>x</b>", "y", "z", "w"], index=[f"r{i}" for i in range(5)])
    found = texts(Views(genes=A, cells=sparse.eye_array(5, 2, format="csr")))
    assert found[0] == "Views with 5 rows"
    assert found[5:] == [
        *("genes", "4", "dense float64", "<b>x</b>, y, z, …"),
        *("cells", "2", "sparse float64, 20 % stored"),
        "rows: r0, r1, r2, …",
    ]


def test_dyads(rng):
    A = pd.DataFrame(rng.random((4, 2)), columns=["x", "y"], index=list("pqrs"))
    Y = np.zeros((4, 5))
    Y[0, :2] = 1.0
    found = texts(Dyads(Y, A, column_similarity={"chem": np.eye(5)}, names=("<drug>", "target")))
    assert found[8:] == [
        *("<drug>", "4", "2", "dense float64", "p, q, r, …", "x, y"),
        *("target", "5", "0", "chem", "0, 1, 2, …"),
        "2 associations of 20 pairs (10 %), scores dense float64",
    ]
    some = Dyads(Y + 1.0, A, rng.random((5, 1)), observed=Y > 0)
    assert texts(some)[-1] == "2 known pairs of 20 pairs (10 %), scores sparse float64, 10 % stored"
    assert texts(Dyads(Y - 1.0))[-1] == "18 scores that are not 0 of 20 pairs (90 %), scores dense float64"


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_moments(rng, covariance):
    moments = Moments.of_block((rng.random((9, 3)), rng.random((9, 2))), rng.random(9), covariance=covariance)
    found = texts(moments)
    assert found[0] == "Moments of 9 rows, total weight 9, 1 responses"
    assert found[4:10] == ["0", "3", covariance, "1", "2", covariance]
    assert found[10].startswith("also kept: C_ab, T of views 0 and 1; ")

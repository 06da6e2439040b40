"""The columns of ids are found where they agree, and named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from jointdr import Dyads, PairsWarning  # noqa: E402
from jointdr.data import match_columns  # noqa: E402

PAIRS = pd.DataFrame({"drug": list("aabbcc"), "target": list("xyxyxy"), "score": np.arange(6) + 0.5})
DRUGS = pd.DataFrame({"drug": list("abc"), "weight": [1.0, 2.0, 3.0]})
TARGETS = pd.DataFrame({"target": list("xy"), "length": [1.0, 2.0]})
NONE = (None, None)


def match(pairs=PAIRS, given=NONE, tables=(DRUGS, TARGETS), ids=NONE):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return match_columns(pairs, given, tables, ids)


def test_the_first_columns_need_no_word():
    assert match() == (("drug", "target"), NONE)
    assert match(tables=(DRUGS.set_index("drug"), None)) == (("drug", "target"), NONE)
    assert match(given=("drug", None), ids=("drug", None)) == (("drug", "target"), ("drug", None))


@pytest.mark.parametrize(
    ("pairs", "tables", "columns", "ids"),
    [
        (PAIRS, (DRUGS[["weight", "drug"]], TARGETS), ("drug", "target"), ("drug", None)),
        (PAIRS.assign(year=2020)[["year", "target", "drug", "score"]], (DRUGS, TARGETS), ("drug", "target"), NONE),
        (PAIRS[["target", "drug", "score"]], (DRUGS, TARGETS), ("drug", "target"), NONE),
        (PAIRS, (DRUGS.assign(index=list("uvw")).set_index("index"), TARGETS), ("drug", "target"), ("drug", None)),
    ],
)
def test_others_that_agree_better_are_taken_and_named(pairs, tables, columns, ids):
    with pytest.warns(PairsWarning, match=r"which agree best: row='drug' and row_id="):
        found = match_columns(pairs, NONE, tables, NONE)
    assert found[0] == columns
    assert found[1][0] in (ids[0], "drug")


def test_columns_that_are_given_are_taken_as_given():
    wrong = DRUGS.assign(code=list("uvw"))
    assert match(tables=(wrong, TARGETS), given=("drug", "target"), ids=("code", None))[1] == ("code", None)
    with pytest.raises(ValueError, match="has no column 'durg'"):
        match(given=("durg", None))


def test_numbers_are_ids_where_they_are_whole():
    pairs = PAIRS.assign(drug=[1, 1, 2, 2, 3, 3])
    drugs = pd.DataFrame({"weight": [1.5, 2.5, 3.5], "drug": [1, 2, 3]})
    with pytest.warns(PairsWarning, match="column 'drug' of the table of rows"):
        dyads = Dyads.from_tables(pairs, drugs, TARGETS)
    assert dyads.row_ids.tolist() == ["1", "2", "3"]


def test_an_index_that_has_no_ids_may_have_names():
    drugs = DRUGS.assign(name=["Aspirin", "Ibuprofen", "Codeine"]).set_index("name")
    with pytest.warns(PairsWarning, match="agree best"):
        dyads = Dyads.from_tables(PAIRS, drugs, TARGETS)
    assert dyads.row_ids.tolist() == list("abc")
    assert dyads.labels[0].tolist() == ["Aspirin", "Ibuprofen", "Codeine"]

"""The treatment of single columns: what they are taken for, and what becomes of values that do not fit."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from jointdr import TableEncoder  # noqa: E402
from jointdr.data.columns import as_frame, clean_column, decide_column, has_numbers_alone, is_plain  # noqa: E402
from jointdr.data.texts import texts_of  # noqa: E402


def decided(values, name="x", **wanted):
    return decide_column(pd.Series(values), name, **wanted)


def cleaned(values, column):
    return clean_column(pd.Series(values), column)


class TestKinds:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([1.5, 2.0, None], "number"),
            (["1.5", "2", "NA"], "number"),
            ([decimal.Decimal("1.5"), decimal.Decimal(2)], "number"),
            (pd.array([1, None, 3], dtype="Int64"), "number"),
            (pd.array([1.5, None, 3], dtype="Float64"), "number"),
            (pd.to_timedelta([1, 2], unit="h"), "number"),
            ([True, False], "boolean"),
            (pd.array([True, None, False], dtype="boolean"), "boolean"),
            (["yes", "No", "yes"], "boolean"),
            (["TRUE", "FALSE"], "boolean"),
            (["t", "f", ""], "boolean"),
            (pd.to_datetime(["2020-01-01", None, "2021-01-01"]), "date"),
            (pd.date_range("2020", periods=3, tz="Europe/Berlin"), "date"),
            (pd.period_range("2020", periods=3, freq="M").to_timestamp(), "date"),
            ([datetime.date(2020, 1, 1), datetime.date(2020, 2, 1)], "date"),
            (["2020-01-31", "2021-12-01T10:00:00Z"], "date"),
            (["31.1.2020", "1.12.2021 10:00"], "date"),
            (["2020/1/31", "2021/12/01"], "date"),
            (["1/31/2020", "12/1/2021"] * 2, "category"),  # of which nobody knows which is the month
            (["a", "b", "a"], "category"),
            (pd.Categorical([1, 2, 1]), "category"),
            (pd.array(["a", None, "b"], dtype="string"), "category"),
            (pd.cut([1, 2, 3, 4], 2), "category"),
        ],
    )
    def test_of_types_and_texts(self, values, kind):
        assert decided(values).kind == kind

    def test_integer_codes_stay_numbers(self):
        assert decided([1, 2, 3, 2, 1]).features == ("x",)

    @pytest.mark.parametrize("name", ["name", "Drug Name", "gene_symbol", "label", "TITLE"])
    def test_text_of_columns_called_so_names_entities(self, name):
        assert decided(["a", "b", "a"], name).kind == "name"
        assert decided([1.0, 2.0, 3.0], name).kind == "number"
        assert decided(["a", "b", "a"], name, is_wanted=True).kind == "category"

    def test_text_that_nearly_never_repeats_names_entities(self):
        assert decided([f"d{k}" for k in range(30)]).kind == "name"
        assert decided([f"d{k}" for k in range(6)]).kind == "name"
        assert decided([f"d{k // 2}" for k in range(60)]).kind == "category"
        long = decided([f"{k} " + "word " * 20 for k in range(30)])
        assert (long.kind, long.note) == ("left out", "long text that nearly never repeats")

    @pytest.mark.parametrize(
        ("values", "note"),
        [
            ([1.0, 1.0], "constant"),
            (["a", "a"], "constant"),
            (["1.0", "1"], "constant"),
            ([1.0] * 99 + [None], "constant where it is known"),
            ([None, None], "no values"),
            (["", "NA"], "no values"),
            ([[1], [2]], "object, such as lists, which are neither numbers nor text"),
        ],
    )
    def test_of_columns_that_say_nothing(self, values, note):
        assert decided(values) == TableEncoder().fit(pd.DataFrame({"x": values})).columns_[0]
        assert (decided(values).kind, decided(values).note) == ("left out", note)

    @pytest.mark.parametrize("values", [["yes", None] * 10, [1.0, np.nan] * 10, ["x", "-"] * 10])
    def test_where_a_constant_is_missing_may_tell_something(self, values):
        column = decided(values)
        assert (column.kind, len(column.features), column.levels[1]) == ("category", 1, "missing")

    def test_rare_levels_go_together(self):
        column = decided(["a"] * 60 + ["b"] * 40 + ["c", "d", "e"] + [None] * 4)
        assert column.levels == ("a", "b", "other", "missing")
        assert decided(["a"] * 60 + ["b"] * 40 + ["c"]).levels == ("a", "b", "c")  # few levels: none is rare
        assert len(decided([f"{k % 50}x" for k in range(500)]).levels) == 31

    def test_numbers_with_a_few_other_texts_are_numbers_with_gaps(self):
        column = decided(["1", "2", "3"] * 10 + ["< 0.1"])
        assert (column.kind, column.n_missing, column.note) == ("number", 1, "1 not numbers, such as '< 0.1'")
        assert decided(["1", "2", "< 0.1"] * 10).kind == "category"

    def test_infinity_is_refused(self):
        for values in ([1.0, np.inf], ["1", "inf"], pd.array([1.0, np.inf], dtype="Float64")):
            with pytest.raises(ValueError, match=r"column 'x' holds infinity \(first at row 1\)"):
                decided(values)
        with pytest.raises(ValueError, match=r"column 'y' holds infinity"):
            TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0], "y": [0.0, -np.inf]}))


class TestCleaning:
    def test_a_date_is_no_number_and_a_number_no_date(self):
        date = decided(pd.to_datetime(["2020-01-01", "2020-01-03"]))
        numbers, _, strange = cleaned([2020, 2021], date)
        assert np.isnan(numbers).all()
        assert strange == "2020"
        number = decided([1.0, 2.0])
        assert np.isnan(cleaned(pd.to_datetime(["2020-01-01"]), number)[0]).all()
        assert cleaned([None, None], date)[2] is None

    def test_codes_that_were_read_as_numbers_are_the_same_levels(self):
        column = decided(["1", "2", "2A"] * 10)
        for values in ([1.0, 2.0], [1, 2], ["1", "2"], pd.Categorical([1, 2]), pd.array([1, 2], dtype="Int64")):
            found, gaps, strange = cleaned(values, column)
            assert (found.tolist(), gaps.any(), strange) == (["1", "2"], False, None)

    def test_levels_that_were_not_fitted(self):
        rare = decided(["a"] * 60 + ["b"] * 40 + ["c", "d", "e"])
        assert cleaned(["new", None], rare)[0].tolist() == ["other", "a"]
        assert cleaned(["new"], rare)[2] is None
        few = decided(["a", "a", "b", None])
        found, gaps, strange = cleaned(["new", None, "b"], few)
        assert (found.tolist(), gaps.tolist(), strange) == (["a", "missing", "b"], [False, True, False], "new")

    def test_booleans_in_other_words(self):
        column = decided(["yes", "no", "yes"])
        for values in ([True, False], [1, 0], ["TRUE", "false"], ["y", "N"]):
            np.testing.assert_array_equal(cleaned(values, column)[0], [1, 0])


class TestTexts:
    def test_each_is_looked_at_once(self):
        texts = texts_of(pd.Series([" b", "a", None, "b", 2.0, "n/a"]))
        assert texts.values.tolist() == ["2", "a", "b"]
        assert texts.codes.tolist() == [2, 1, -1, 2, 0, -1]
        assert texts.counts.tolist() == [1, 1, 2]
        assert texts.spread(np.array([5, 6, 7]), 0).tolist() == [7, 6, 0, 7, 5, 0]

    def test_dates_in_several_ways_are_days(self):
        texts = texts_of(
            pd.Series(["2020-1-2", "2.1.2020", "2020/01/02", "02.01.2020 12:00", "1/2/2020", "2020-13-01"])
        )
        np.testing.assert_array_equal(texts.numbers("date"), [18263.0, 18263.0, 18263.0, 18263.5, np.nan, np.nan])


class TestFrames:
    def test_plain_tables(self):
        numbers = pd.DataFrame({"a": [1.0, 2.0], "b": [True, False], "c": [1, 2]})
        assert is_plain(numbers)
        assert has_numbers_alone(numbers)
        for other in ({"d": ["x", "y"]}, {"d": [np.nan, 1.0]}, {"d": pd.array([1, 2], dtype="Int64")}):
            assert not is_plain(numbers.assign(**other))
            assert not has_numbers_alone(numbers.assign(**other))
        constant = numbers.assign(d=1)
        assert not is_plain(constant)
        assert has_numbers_alone(constant)

    def test_plain_tables_of_polars(self):
        pl = pytest.importorskip("polars")
        assert has_numbers_alone(pl.DataFrame({"a": [1.0, 2.0], "b": [True, False], "c": [1, 2]}))
        for values in (["x"], [None], [float("nan")], [datetime.date(2020, 1, 1)], [[1]]):
            assert not has_numbers_alone(pl.DataFrame({"d": values}))

    def test_names_that_come_again_are_refused(self):
        with pytest.raises(ValueError, match="several columns of the same name: x"):
            as_frame(pd.DataFrame(np.zeros((2, 3)), columns=["x", "y", "x"]))
        with pytest.raises(TypeError, match="must be a DataFrame of pandas or polars, but got ndarray"):
            as_frame(np.zeros((2, 3)))

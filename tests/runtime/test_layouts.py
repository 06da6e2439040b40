"""Layouts of tables in text files, found out by their lines."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from jointdr.datasets import ReadingWarning, read_pairs, read_table, read_text
from jointdr.runtime import as_number, table_lines

TABLE = [["id", "weight", "class", "note"], ["A1", "1.5", "acid", "new"], ["A2", "", "base", "old"]]


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        data = text.encode(encoding)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def lines_of(path, **options):
    table = table_lines(path, **options)
    return [table.names, *(fields for _, fields in table.read())]


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "dat", "csv.gz", "data"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_line_ends_and_a_byte_order_mark(write, ending, separator, newline, mark):
    text = mark + newline.join(separator.join(row) for row in TABLE) + newline
    assert lines_of(write(text, f"table.{ending}")) == TABLE


@pytest.mark.parametrize("ending", ["txt", "dat"])
def test_spaces(write, ending):
    text = "id   weight  class\nA1   1.5     acid\nA2   2       base\n"
    assert lines_of(write(text, f"table.{ending}"))[1:] == [["A1", "1.5", "acid"], ["A2", "2", "base"]]


def test_quoted_fields(write):
    text = 'id, weight, note\nA1, 1, "x, y"\nA2, 2, "say ""so"""\nA3, 3, "two\nlines"\nA4,4,5" pipe\n'
    notes = [row[2] for row in lines_of(write(text))[1:]]
    assert notes == ["x, y", 'say "so"', "two\nlines", '5" pipe']
    with pytest.raises(ValueError, match="quotes that do not close"):
        lines_of(write('id,note\nA1,"x\nA2,y\n'))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("id;w\nA;1,5\nB;2\n", [1.5, 2.0]),
        ("id;w\nA;1,234\nB;2\n", [1.234, 2.0]),
        ("id\tw\nA\t1,5\nB\t-2,25\n", [1.5, -2.25]),
        ('id,w\nA,"1,5"\nB,"0,125"\n', [1.5, 0.125]),
        ("id|w|v\nA|0,125|1\nB|2|2\n", [0.125, 2.0]),
    ],
)
def test_decimal_commas(write, text, values):
    assert read_table(write(text, "table.txt"))["w"].tolist() == values


@pytest.mark.parametrize(
    "text",
    [
        'id,w\nA,"1,234"\nB,"2,000"\n',  # thousands, or thousandths
        'id,w,v\nA,"1,5",0.5\nB,"2,5",1.5\n',  # points elsewhere
        "id,w\nA,1_0\nB,2_0\n",
    ],
)
def test_what_may_be_no_number_stays_text(write, text):
    assert read_table(write(text))["w"].dtype == object


def test_numbers():
    assert as_number("1,5") == 1.5
    for field in ("1_000", "1,5,2", "", "x", "1.000,5"):
        assert np.isnan(as_number(field)), field
    assert np.isnan(as_number("1,5", False))


@pytest.mark.parametrize(
    ("text", "has_header"),
    [
        ("id,weight\nA,1\nB,2\n", True),
        ("A,1\nB,2\nC,3\n", False),
        ("A,1,red\nB,2,blue\nC,3,red\n", False),
        ("A,red\nB,blue\nC,red\n", False),  # a value that comes again
        ("name,red\nB,blue\nC,red\n", True),  # the name of ids
        ("drug,color\nB,blue\nC,red\n", True),
        ("#A,1\nB,2\n", True),
        (",weight\nA,1\nB,2\n", True),
        ("gene,2001,2002,2003,2004\nA,1,2,3,4\nB,2,4,6,8\n", True),
        ("gene,-,x\nA,-,y\nB,-,z\n", True),  # gaps come again
    ],
)
def test_headers(write, text, has_header):
    path = write(text)
    assert table_lines(path).has_header == has_header
    assert table_lines(path, header=True).has_header
    assert not table_lines(path, header=False).has_header
    if not has_header:
        with pytest.warns(ReadingWarning, match=r"header=True if it has names, header=False if not"):
            table = read_table(path)
        assert (table.index.name, table.columns[0]) == ("id", "x1")


def test_headers_of_pairs(write):
    path = write("D1 T1 0.5\nD2 T2 0.25\nD1 T2 1\n", "pairs.txt")
    with pytest.warns(ReadingWarning, match="columns are called row, column, score"):
        assert read_pairs(path)["score"].tolist() == [0.5, 0.25, 1.0]
    assert read_text(path, header=True).columns.tolist() == ["D1", "T1", "0.5"]
    assert table_lines(write("drug,target\nD1,T1\nD2,T1\n"), of_pairs=True).has_header
    assert not table_lines(write("D1,T1\nD2,T1\nD1,T2\n"), of_pairs=True).has_header


def test_a_name_may_be_missing_above_ids_and_after_the_last_column(write):
    assert lines_of(write('"w","c"\n"A1",1,"x"\n"A2",2,"y"\n'))[0] == ["id", "w", "c"]  # as R writes them
    assert lines_of(write("id,w,,\nA1,1,,\nA2,2,,\n")) == [["id", "w"], ["A1", "1"], ["A2", "2"]]
    with pytest.raises(ValueError, match="line 3: it has 4 fields, but the header has 2"):
        lines_of(write("id,w,,\nA1,1,,\nA2,2,5,\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,w,w\nA,1,2\n", r"line 1: the column names \['w'\] occur more than once"),
        ("id,w,v\nA,1,2\nB,1\n", "line 3: it has 2 fields, but the header has 3"),
    ],
)
def test_broken_tables_name_the_line(write, text, message):
    with pytest.raises(ValueError, match=message):
        lines_of(write(text))


def test_other_encodings_are_an_error_that_says_what_to_do(write):
    for encoding in ("latin-1", "utf-16"):
        with pytest.raises(ValueError, match=r"table\.csv is not text in UTF-8: save it as such .* iconv -f latin1"):
            lines_of(write("id,name\nA,Änne\n", encoding=encoding))


def test_codes_are_text_where_that_is_asked_for(write):
    path = write("id,code,w\nA,012,1\nB,7,2\n")
    assert read_table(path)["code"].tolist() == [12.0, 7.0]
    table = read_table(path, text=["code"])
    assert table["code"].tolist() == ["012", "7"]
    assert table["w"].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="has no column 'other', which text names; its columns are 'code', 'w'"):
        read_table(path, text=["code", "other"])


def test_infinity_is_refused_in_a_column_of_numbers_alone(write):
    with pytest.raises(ValueError, match="line 3, column 'w': infinity is not a finite number"):
        read_table(write("id,w\nA,1\nB,inf\n"))
    assert read_table(write("id,w\nA,inf\nB,symbol\n"))["w"].tolist() == ["inf", "symbol"]


def test_spreadsheets(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"id": ["001", "002"], "n": [1.5, None], "k": [1, 2], "ok": [True, False], "": [None, None]})
    table.to_excel(tmp_path / "table.xlsx", index=False)
    found = read_table(tmp_path / "table.xlsx")
    assert found.index.tolist() == ["001", "002"]
    assert found.columns.tolist() == ["n", "k", "ok"]
    assert found["k"].tolist() == [1.0, 2.0]
    assert found["ok"].tolist() == ["True", "False"]
    (tmp_path / "broken.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(ValueError, match="is not a spreadsheet"):
        read_table(tmp_path / "broken.xlsx")

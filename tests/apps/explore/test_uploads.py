"""Features that visitors send: three forms of text, and a sentence for everything else."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest

from jointdr.apps.explore.uploads import MOST_ROWS, BadUpload, decode, read_features
from tests.apps.explore.conftest import FEATURES, NASTY, posted

NAMES = tuple(FEATURES)
HEADER = "id\t" + "\t".join(NAMES)


def read(text, names=NAMES):
    return read_features(text, 4, names)


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_a_table_in_any_order_of_columns(separator):
    lines = [["name", "size", "=fat", "acid", "long name"], ["p", "3", "4e0", " 1 ", "2"], ["007", "7", "8", "5", "6"]]
    table = read("\r\n".join(separator.join(line) for line in lines) + "\r\n\r\n")
    assert table.ids == ("p", "007")
    np.testing.assert_array_equal(table.X, [[1, 2, 3, 4], [5, 6, 7, 8]])


def test_quotes_as_spreadsheets_write_them():
    table = read('"id","acid","long name","size","=fat"\n"a, b","1","2","3","4"\n')
    assert table.ids == ("a, b",)


def test_one_feature_to_a_line():
    table = read("size 3\nlong name\t-0.5\nacid\n")
    np.testing.assert_array_equal(table.X, [[1, -0.5, 3, 0]])
    assert table.note == "3 of 4 features were given; the others count as 0."
    np.testing.assert_array_equal(read("long name").X, [[0, 1, 0, 0]])
    np.testing.assert_array_equal(read("long name = 2").X, [[0, 2, 0, 0]])


def test_a_long_line_of_blanks_takes_no_time():
    with pytest.raises(BadUpload, match="no feature"):
        read("acid" + " " * 500_000 + "x y\nsize 2")


@pytest.mark.parametrize("text", ["1 2 3 4", "1,2,3,4\n", "1\n2\n3\n4", " 1;\t2; 3 ;4 "])
@pytest.mark.parametrize("names", [NAMES, None])
def test_numbers_alone(text, names):
    np.testing.assert_array_equal(read(text, names).X, [[1, 2, 3, 4]])


def test_without_names_the_order_counts():
    np.testing.assert_array_equal(read("x,a,b,c,d\nnew,1,2,3,4", None).X, [[1, 2, 3, 4]])
    with pytest.raises(BadUpload, match="needs ids first and then 4 features"):
        read("x,a,b,c\nnew,1,2,3", None)


BAD = {
    "": "nothing to read",
    " \n\t\n": "nothing to read",
    "1 2 3": "has 4 features; numbers that were sent: 3",
    "acid 1\nsugar 2": "Line 2: there is no feature “sugar”",
    "sugar": "Line 1: there is no feature “sugar”",
    "acid 1\nacid 2": "Line 2: the feature “acid” was on line 1",
    "acid much": "Line 1, column “acid”: “much” is not a finite number",
    "id\tacid\tsize\t=fat\na\t1\t2\t3": "column “long name” is missing",
    "id\tacid\tx\ty\na\t1\t2\t3": "column “long name” is missing and 2 more",
    HEADER + "\textra\na\t1\t2\t3\t4\t5": "no feature “extra”",
    HEADER + "\tacid\na\t1\t2\t3\t4\t5": "“acid” is there more than once",
    HEADER: "nothing else",
    HEADER + "\na\t1\t2\t3": "Line 2 has 4 fields, but the first line has 5",
    HEADER + "\na\t1\t2\tx\t4": "Line 2, column “size”: “x” is not a finite number",
    HEADER + "\n\na\t1\t2\t\t4": "Line 3, column “size”: “” is not a finite number",
    HEADER + "\na\t1\t2\tnan\t4": "“nan” is not a finite number",
    HEADER + "\na\t1\t2\t1e999\t4": "“1e999” is not a finite number",
    HEADER + "\na\t1\t2\t1_0\t4": "“1_0” is not a finite number",
    HEADER + "\n\t1\t2\t3\t4": "the id, in the first column, is empty",
    HEADER + "\na\t1\t2\t3\t4\na\t1\t2\t3\t4": "Line 3: the id “a” was on line 2 already",
    HEADER + "\n" + "a" * 201 + "\t1\t2\t3\t4": "201 characters",
    HEADER + '\n"a\t1\t2\t3\t4': "cannot be read",
    HEADER + "".join(f"\n{i}\t1\t2\t3\t4" for i in range(MOST_ROWS + 1)): f"101 rows; {MOST_ROWS} can be ranked",
    HEADER + "\n" + "a\t1\t2\t" + "9x" * 200 + "\t4": "9x…”",
}


@pytest.mark.parametrize(("text", "message"), BAD.items(), ids=range(len(BAD)))
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(BadUpload, match=message) as error:
        read(text)
    assert len(str(error.value)) < 200


def test_many_repeated_columns_are_found_at_once():
    """In linear time: 200 000 of them would take minutes otherwise."""
    with pytest.raises(BadUpload, match="more than once"):
        read("\t".join(["id"] + ["x"] * 200_000) + "\n1")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("id,ä".encode("latin-1"), "not in UTF-8 .byte 4."),
        ("id,ä".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04....", "spreadsheet"),
        (b"\x1f\x8b\x08", "compressed"),
        (b"a\0b", "zero bytes"),
    ],
)
def test_what_is_not_text(data, message):
    with pytest.raises(BadUpload, match=message):
        decode(data)


def test_a_mark_of_byte_order_is_no_part_of_the_text():
    assert decode(b"\xef\xbb\xbfid") == "id"


# ---------------------------------------------------------------- through the page


def test_a_file_gets_its_ranking(client, model):
    response = posted(client, file=(HEADER + "\np\t1\t2\t3\t4\nq\t4\t3\t2\t1\n").encode(), follow_redirects=False)
    assert response.status_code == 303
    address = response.headers["location"]
    assert address.startswith("/row?upload=")
    page = client.get(address.replace("at=0", "at=1")).text
    best = model.recommend(np.array([[4.0, 3, 2, 1]]), k=1)["column"][0]
    assert page.index(f">{best}</a>") < page.index('class="rank number quiet">2<')
    assert ">p</a>" in page
    assert client.get(address.replace("at=0", "at=2")).status_code == 404
    key = address.partition("upload=")[2].partition("&")[0]
    assert client.get(f"/why?upload={key}&at=0&column=t+3").status_code == 200


def test_a_file_counts_before_pasted_text(client):
    response = posted(client, "nonsense", file=b"1 2 3 4", follow_redirects=False)
    assert response.status_code == 303


def test_a_bad_upload_is_told_and_kept_in_the_form(client):
    response = posted(client, f"acid {NASTY}")
    assert response.status_code == 422
    assert NASTY not in response.text
    assert "is not a finite number" in response.text
    assert "acid &lt;script&gt;" in response.text
    assert posted(client, file="id,ä".encode("latin-1")).status_code == 422
    assert posted(client).status_code == 422


def test_ids_of_uploads_are_text(client):
    response = posted(client, f"{HEADER}\n{NASTY}\t1\t2\t3\t4\n</title><img>\t1\t2\t3\t4")
    assert response.status_code == 200
    assert NASTY not in response.text
    assert "<img>" not in response.text


def test_forms_that_are_none(client):
    headers = {"Sec-Fetch-Site": "same-origin"}
    for kind in ("text/plain", "application/json", "multipart/form-data", "multipart/form-data; boundary=x"):
        response = client.post("/new", content=b"1 2 3 4", headers={**headers, "Content-Type": kind})
        assert response.status_code == 422, kind
    files = [("file", ("a", b"1")), ("file", ("b", b"2"))]
    assert client.post("/new", files=files, headers=headers).status_code == 422


def test_nothing_is_written_to_disk(client, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a file was made")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", refuse)
    response = posted(client, file=b"1 " * 1_500_000)
    assert response.status_code == 422
    assert "1500000" in response.text

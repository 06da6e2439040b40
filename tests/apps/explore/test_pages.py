"""The pages: what they show, and that nothing a visitor sends is taken for anything but text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import numpy as np
import pandas as pd
import pytest

from jointdr import AssociationModel
from jointdr.apps.explore.scores import rate_in_words
from jointdr.apps.explore.session import Session
from tests.apps.explore.conftest import NASTY, dyads_of, fitted, posted

CRAFTED = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    NASTY,
    "'\"><img src=x onerror=alert(1)>",
    "{{7*7}}",
    "\0",
    "é" * 3000,
]


class Read(HTMLParser):
    """The tags, links and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.attributes, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.links += [value for name, value in attrs if name in ("href", "src", "action", "hx-get")]

    def handle_data(self, data):
        self.text += data


def client_of(session):
    from starlette.testclient import TestClient

    from jointdr.apps.explore.app import application

    return TestClient(application(session), base_url="http://127.0.0.1")


def get(client, address, status=200):
    response = client.get(address)
    assert response.status_code == status, response.text
    page = Read(response.text)
    assert page.tags.count("script") == 2  # the page's own two, from files
    assert not [name for name in page.attributes if name == "style" or name.startswith("on")]
    assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in page.links)
    return page


def test_home(client):
    page = get(client, "/")
    assert "Which targets go with which drugs, and why?" in page.text
    assert "60, with 4 features" in page.text
    assert "JDR with 2 directions" in page.text


def test_home_has_the_strongest_new_pairs(client, model):
    page = get(client, "/?all=1")
    best = model.recommend(by="pairs", k=10)
    for row, column in zip(best["row"], best["column"], strict=True):
        query = f"/why?{urlencode({'row': row, 'column': column})}"
        assert query in page.links
    assert page.text.index("Strongest new pairs") < page.text.index(f"{best['score'][0]:.3f}")
    text = client.get("/").text  # where they are now
    assert text.count('class="best row"') == best["row"].nunique() + 1  # with that of the legend
    assert 'hx-trigger="load"' not in text


def test_home_of_a_large_model_does_not_wait_for_them(model, monkeypatch):
    """It asks for the list itself, once it is there, or has a link; only some rows are looked through."""
    from jointdr.apps.explore import session as module

    monkeypatch.setattr(module, "QUICK", 10)
    monkeypatch.setattr(module, "RANKED", 5 * 45 + 1)
    session = module.Session(model)
    session.warm()
    client = client_of(session)
    page = get(client, "/")
    assert "which takes some seconds" in page.text
    assert page.links.count("/?all=1") == 2
    assert session.strongest_if_found is None
    page = get(client, "/?all=1")
    assert "Among the 5 drugs with the most known pairs." in page.text
    counts = model.known_pairs_.sum(axis=1)
    known = dict(zip(model.row_ids_.tolist(), counts.tolist(), strict=True))
    assert min(known[row] for row in session.strongest()["row"]) >= sorted(counts)[-5]


def test_home_where_everything_is_known():
    page = get(client_of(Session(fitted("all"))), "/?all=1")
    assert "Strongest pairs" in page.text
    assert sum(link.startswith("/why?") for link in page.links) == 20


def test_graded_scores_are_said_in_words_of_the_data(graded):
    client, model = client_of(graded), graded.model
    best = model.recommend(rows=["x4"], k=1).iloc[0]
    page = get(client, "/row?id=x4")
    assert "predicted pkd" in page.text
    assert f"90 % between {best['lower']:.1f} and {best['upper']:.1f}" in page.text
    why = get(client, f"/why?row=x4&column={best['column']}")
    assert f"Predicted pkd {best['score']:.2f}, 90 % between" in why.text
    assert "× pkd" in why.text


def test_links_are_said_in_words_of_the_data():
    model = AssociationModel(uses=("rows", "pairs"), max_fits=3, random_state=0).fit(dyads_of("links"))
    client = client_of(Session(model))
    assert re.search(r"· higher than \d+\.\d % of all unknown pairs", get(client, "/row?id=d%2F4").text)
    assert "of all unknown pairs" in get(client, "/column?id=t+3").text
    new = get(client, posted(client, "1 2 -1 0", follow_redirects=False).headers["location"])
    rates = model.recommend(np.array([[1.0, 2.0, -1.0, 0.0]]), k=1)["listed_rate"]
    assert f"· {rate_in_words(rates[0])}" in new.text


def test_names_are_those_of_the_model(graded):
    client = client_of(graded)
    assert "/row?id=x4" in get(client, "/search?q=drug+no+4").links
    page = get(client, "/row?id=x4")
    assert "drug no 4" in page.text
    assert "gpcr" not in page.text  # a feature


def test_new_rows_as_tables_are(graded):
    """With text, gaps and other columns: what the encoder of the model makes of them."""
    client, model = client_of(graded), graded.model
    sent = "drug,class,extra,weight\nnew,acid,1,\nx4,base,2,3.5\n"
    response = posted(client, sent, follow_redirects=False)
    page = get(client, response.headers["location"])
    assert "columns that the fitted table did not have, which are not used: extra" in page.text
    table = pd.DataFrame({"class": ["acid", "base"], "weight": [None, 3.5], "extra": 1}, index=["new", "x4"])
    with pytest.warns(UserWarning, match="extra"):
        best = model.recommend(table, k=1)
    assert f"predicted pkd {best['score'][0]:.2f}" in " ".join(page.text.split())
    one = get(client, posted(client, "class\tacid\nweight 2", follow_redirects=False).headers["location"])
    assert "predicted pkd" in one.text
    for text, said in {
        "a,b,c\n1,2": "2 fields",
        "x,y,z\n1,2,3\n": "none of the features that were fitted",
        "": "nothing to read",
        "class acid\nsugar 2": "no feature “sugar”",
        "id,class,weight\na,acid,inf": "infinity",
    }.items():
        refused = posted(client, text)
        assert refused.status_code == 422
        assert said in refused.text
    assert "<code>weight</code>" in client.get("/new").text


def test_search(client):
    page = get(client, "/search?q=first")
    assert "First drug" in page.text
    assert "/row?id=d/0" in page.links
    assert "/column?id=t%203" in get(client, "/search?q=third").links
    assert "none" in get(client, "/search?q=zzz").text
    get(client, "/search")


def test_every_link_of_the_pages_leads_somewhere(client):
    seen, waiting = set(), ["/", "/search?q=d", "/search?q=script", "/search?q=passwd"]
    while waiting:
        address = waiting.pop()
        response = client.get(address)
        assert response.status_code == 200, address
        seen.add(address)
        if response.headers["content-type"].startswith("text/html") and len(seen) < 150:
            links = [link for link in Read(response.text).links if link.startswith("/")]
            waiting += [link for link in dict.fromkeys(links) if link not in seen and link not in waiting]
    assert len(seen) >= 150


@pytest.mark.parametrize("kind", ["links", "some", "all"])
def test_a_row(kind):
    from starlette.testclient import TestClient

    from jointdr.apps.explore.app import application

    model = fitted(kind)
    client = TestClient(application(Session(model)), base_url="http://127.0.0.1")
    page = get(client, "/row?id=d/4")
    best = model.recommend(k=20, exclude_known=kind != "all")
    for name in best[best["row"] == "d/4"]["column"]:
        assert f"/column?id={quote(name, safe='').replace('%20', '+')}" in page.links
    assert "Nearest drugs" in page.text


def test_a_column(client):
    page = get(client, "/column?id=t+3")
    assert "Third target" in page.text
    assert "Ranked drugs" in page.text
    assert sum(link.startswith("/why?row=") for link in page.links) == 40  # each for htmx, and as a link


def test_pages_of_a_ranking(client):
    first, last = get(client, "/row?id=d%2F4&known=1"), get(client, "/row?id=d%2F4&known=1&page=3")
    assert "page 1 of 3" in first.text
    assert "45" in last.text
    for page in ("0", "-1", "999999999999", "x", "²", ""):
        assert "of 3" in get(client, f"/row?id=d%2F4&known=1&page={quote(page)}").text


def test_known_pairs_are_marked(client, model):
    i = int((model.known_pairs_.sum(axis=1) > 2).nonzero()[0][0])
    address = f"/row?id={quote(model.row_ids_[i], safe='')}"
    assert get(client, address).tags.count("ol") == 2
    assert 'class="tag"' not in client.get(address).text
    assert sum(client.get(f"{address}&known=1&page={p}").text.count('class="tag"') for p in (1, 2, 3)) == int(
        model.known_pairs_[[i]].sum()
    )


def test_why(client, model):
    page = get(client, "/why?row=d%2F4&column=t+3")
    expected = model.explain("d/4", "t 3")
    for row in expected.pairs["row"][:3]:
        assert f"/row?id={quote(row, safe='')}" in page.links
    assert f"Score {expected.score:.3f}, higher than" in page.text


def test_why_for_a_score_that_is_0():
    from starlette.testclient import TestClient

    from jointdr.apps.explore.app import application

    client = TestClient(application(Session(fitted("links", bandwidth=0.0))), base_url="http://127.0.0.1")
    assert "No known pair is near enough" in get(client, "/why?row=d%2F4&column=t+0").text


def test_the_map(client):
    text = client.get("/row?id=d%2F4").text
    assert text.count("<circle") == 20 + 8 + 1 + 5  # with those of the legend
    assert client.get("/map.svg?side=row").text.count("h0") > 40
    zoomed = client.get("/row?id=d%2F4&zoom=1").text
    assert 'class="dots row"' in zoomed


# ---------------------------------------------------------------- crafted ids


@pytest.mark.parametrize("id", CRAFTED)
def test_crafted_ids_are_only_looked_up(client, id):
    for address in (
        "/row?id=",
        "/row?upload=",
        "/row.tsv?id=",
        "/column?id=",
        "/why?column=t+3&row=",
        "/why?row=d%2F1&column=",
    ):
        response = client.get(address + quote(id))
        is_known = id in (NASTY, "../../etc/passwd")
        assert response.status_code in ((200, 404) if is_known else (404,))
        assert "root:" not in response.text
        assert not [c for c in ("<script>alert", "<img", "“49", "\0", "é" * 100) if c in response.text]
    get(client, f"/search?q={quote(id)}")


def test_ids_of_the_model_that_look_like_html(client):
    page = get(client, f"/row?id={quote(NASTY)}")
    assert NASTY in page.text  # as text
    get(client, "/row?id=d%2F1")
    get(client, "/column?id=../../etc/passwd")
    get(client, f"/why?row={quote(NASTY)}&column=../../etc/passwd")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fassociation.py",
        "/shared/../../../etc/passwd",
        "/static//etc/passwd",
        "/../../etc/passwd",
        "/static/",
        "/static/%00",
        "/static/..%5capp.py",
    ],
)
def test_only_files_of_the_page_are_served(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert "import" not in response.text


def test_an_error_says_nothing_of_the_program(client, session, monkeypatch):
    def fail(*_):
        raise RuntimeError("secret /home/me")

    monkeypatch.setattr(session, "ranking", fail)
    response = client.get("/row?id=d%2F1")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert response.headers["x-frame-options"] == "DENY"


def test_htmx_may_do_no_more_than_it_needs(client):
    text = client.get("/").text
    for setting in ('"allowEval": false', '"includeIndicatorStyles": false', '"selfRequestsOnly": true'):
        assert setting in text


def test_nothing_comes_from_elsewhere(client):
    for address in ("/", "/row?id=d%2F1", "/new", "/static/explore.css", "/shared/style.css", "/static/explore.js"):
        assert not re.search(r"(https?:)?//(?!127)\w+\.\w+", client.get(address).text.replace("http://www.w3.org", ""))


# ---------------------------------------------------------------- downloads


def test_a_ranking_as_tsv(client, model):
    response = client.get("/row.tsv?id=d%2F4&known=1")
    lines = [line.split("\t") for line in response.text.splitlines()]
    assert lines[0] == ["rank", "target", "name", "score", "known"]
    expected = model.recommend(k=45, exclude_known=False)
    expected = expected[expected["row"] == "d/4"]
    assert [line[1] for line in lines[1:]] == expected["column"].tolist()
    assert [float(line[3]) for line in lines[1:]] == pytest.approx(expected["score"].tolist(), rel=1e-5)
    assert response.headers["content-disposition"] == 'attachment; filename="ranking_d_4.tsv"'
    assert response.headers["content-type"].startswith("text/tab-separated-values")


def test_no_cell_is_a_formula(client):
    text = client.get("/column.tsv?id=t+3&known=1").text
    cells = [cell for line in text.splitlines() for cell in line.split("\t")]
    assert "'=1+2" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert len({line.count("\t") for line in text.splitlines()}) == 1


@pytest.mark.parametrize("name", ['x"; evil="y', "a\r\nSet-Cookie: b=c", "../../x", "é", "", "=1", "x" * 900])
def test_names_of_downloads_are_plain(name):
    from jointdr.apps.explore.downloads import disposition

    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9_-]{1,60}\.tsv"', disposition(name))


def test_cells_hold_no_tabs_and_no_ends_of_lines():
    from jointdr.apps.explore.downloads import cell, tsv

    assert [cell(value) for value in ("x\ty\r\nz\u2028\0", -0.5, "-1", "\t=1")] == ["x y z", "-0.5", "'-1", "'=1"]
    assert tsv(["a", "=b"], [["x", "y"]]) == "a\t'=b\nx\ty\n"


def test_the_download_of_an_upload(client):
    response = posted(client, "id\tacid\tlong name\tsize\t=fat\n=cmd\t1\t2\t3\t4\n", follow_redirects=False)
    address = response.headers["location"].replace("/row?", "/row.tsv?")
    found = client.get(address)
    assert found.text.count("\n") == 46
    assert found.headers["content-disposition"] == 'attachment; filename="ranking_cmd.tsv"'

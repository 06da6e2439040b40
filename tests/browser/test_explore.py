"""The local page in a browser: search, why, uploads, downloads and keys, without complaints in the console."""

from __future__ import annotations

import socket
import threading
import time

import pytest

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

from tests.apps.explore.conftest import NASTY, fitted  # noqa: E402

NAMES = {"d/0": "First drug", "d/1": f"Second {NASTY}"}, {"t 3": "Third target"}
TABLE = "id\tacid\tlong name\tsize\t=fat\np\t1\t2\t3\t4\nq\t4\t3\t2\t1\n"


@pytest.fixture(scope="module")
def address():
    """The page of a small model, on a port of its own."""
    from jointdr.apps.explore.app import application
    from jointdr.apps.explore.server import bind
    from jointdr.apps.explore.session import Session

    found: socket.socket = bind(0)
    app = application(Session(fitted(), NAMES, "a model"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{found.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_search_ranking_and_why(open_page, address):
    page, watch = open_page()
    page.goto(address)
    page.keyboard.press("/")
    with page.expect_response(lambda response: response.url.endswith("q=first")):
        page.keyboard.type("first")
    page.wait_for_function("!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")  # the list stays
    page.wait_for_selector("#found a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('First drug')")
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".why .reasons li")
    assert "%" in page.inner_text(".why .reasons >> nth=0")
    assert watch.errors == []
    assert all(url.startswith(address) for url in watch.requests)


def test_escape_closes_the_search(open_page, address):
    page, watch = open_page()
    page.goto(address)
    page.fill("#q", "d/")
    page.wait_for_selector("#found a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert page.locator("#found a").count() == 0
    assert page.evaluate("document.activeElement.id") == "q"
    assert watch.errors == []


def test_finds_drop_down_over_the_page(open_page, address):
    """Nothing moves; they close with a click elsewhere, or with Tab, and open again with the search."""
    page, watch = open_page()
    page.goto(f"{address}/row?id=d%2F4")
    before = page.locator("h1").bounding_box()
    page.fill("#q", "d/")
    page.wait_for_selector("#found a")
    assert page.locator("h1").bounding_box() == before
    over = page.evaluate("""() => {
        const at = document.querySelector("#found a").getBoundingClientRect();
        return document.elementFromPoint(at.x + 2, at.y + 5).closest("#found") !== null;
    }""")
    assert over
    page.mouse.click(5, 800)
    assert page.locator("#found").is_hidden()
    page.focus("#q")
    assert page.locator("#found").is_visible()
    page.focus("summary >> nth=0")
    assert page.locator("#found").is_hidden()
    assert watch.errors == []


def test_keys_go_through_the_page_of_a_search_too(open_page, address):
    page, watch = open_page()
    page.goto(address)
    page.fill("#q", "third")
    page.keyboard.press("Enter")
    page.wait_for_selector("#results a")
    page.focus("#q")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1.column")
    assert watch.errors == []


def test_the_home_page_fetches_what_takes_long(open_page, address):
    page, watch = open_page()
    page.goto(address)
    page.wait_for_selector("#start .ranking > li:nth-child(10)")
    assert page.locator("svg.map circle.best").count() > 2
    page.click("#start summary >> nth=0")
    page.wait_for_selector(".why .reasons li")
    assert watch.errors == []


def test_pages_known_pairs_and_the_map(open_page, address):
    page, watch = open_page()
    page.goto(f"{address}/row?id=d%2F4")
    first = page.inner_text(".ranking .what >> nth=0")
    marks = page.locator("svg.map circle.best").first.get_attribute("cx")
    page.click("text=Next")
    page.wait_for_selector("text=page 2 of")
    assert page.inner_text(".ranking .what >> nth=0") != first
    assert page.locator("svg.map circle.best").first.get_attribute("cx") != marks  # the map goes with the list
    page.go_back()
    page.wait_for_selector("text=page 1 of")
    assert page.inner_text(".ranking .what >> nth=0") == first
    page.click("text=Show known pairs too")
    page.wait_for_selector("text=Leave out known pairs")
    page.click("text=Zoom in on these")
    page.wait_for_selector("text=Whole map")
    page.wait_for_selector("text=Leave out known pairs")  # which is still so
    page.click("svg.map circle.best >> nth=0", force=True)
    page.wait_for_selector("h1.column")
    assert watch.errors == []


def test_a_good_upload(open_page, address):
    page, watch = open_page()
    page.goto(f"{address}/new")
    page.set_input_files("#file", {"name": "new.tsv", "mimeType": "text/plain", "buffer": TABLE.encode()})
    page.click("button:has-text('Rank')")
    page.wait_for_selector("h1:has-text('p')")
    page.click("nav a:has-text('q')")
    page.wait_for_selector("h1:has-text('q')")
    page.click("summary >> nth=0")
    page.wait_for_selector(".why .reasons li")
    assert watch.errors == []


def test_bad_uploads(open_page, address):
    page, watch = open_page()
    page.goto(f"{address}/new")
    page.fill("#text", f"acid 1\n{NASTY} 2")
    page.click("button:has-text('Rank')")
    page.wait_for_selector("#problem")
    assert "there is no feature" in page.inner_text("#problem")
    assert page.input_value("#text") == f"acid 1\n{NASTY} 2"
    assert [error for error in watch.errors if "422" not in error] == []
    long = {"name": "long.tsv", "mimeType": "text/plain", "buffer": b"1" * 4_000_001}
    page.set_input_files("#file", long)
    assert page.is_visible("#too-long")
    page.click("button:has-text('Rank')")
    assert page.is_visible("#too-long")  # and nothing was sent


def test_download(open_page, address):
    page, watch = open_page(accept_downloads=True)
    page.goto(f"{address}/row?id=d%2F4")
    with page.expect_download() as waiting:
        page.click("text=as TSV")
    assert waiting.value.suggested_filename == "ranking_d_4.tsv"
    with open(waiting.value.path()) as file:
        assert file.readline() == "rank\ttarget\tname\tscore\tknown\n"
    assert watch.errors == []


def test_ids_that_look_like_html_stay_text(open_page, address):
    page, watch = open_page()
    page.on("dialog", lambda dialog: pytest.fail("a script of an id ran"))
    page.goto(address)
    page.fill("#q", "script")
    page.wait_for_selector("#found a")
    assert NASTY in page.inner_text("#found")
    page.click("#found a >> nth=0")
    page.wait_for_selector(".ranking")
    page.click("summary >> nth=0")
    page.wait_for_selector(".why .reasons li, .why p")
    assert watch.errors == []
    for id in ("../../etc/passwd", "<script>alert(1)</script>", "javascript:alert(1)"):
        page.goto(f"{address}/row?id={id}")
        assert "root:" not in page.content()
        assert page.locator("main script").count() == 0


def test_without_scripts_everything_is_there(open_page, address):
    page, watch = open_page(java_script_enabled=False)
    page.goto(address)
    page.fill("#q", "first")
    page.click("button:has-text('Search')")
    page.click("#results a")
    page.click("summary >> nth=0")
    page.click(".why a >> nth=0")
    page.wait_for_selector(".reasons li")
    page.go_back()
    page.click("text=Next")
    page.wait_for_selector("text=page 2 of")
    assert watch.errors == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_does_not_scroll_sideways(open_page, address, dark):
    page, watch = open_page(width=390, dark=dark)
    for path in ("/", "/search?q=d", "/row?id=d%2F1&known=1", "/column?id=../../etc/passwd&zoom=1", "/new", "/nowhere"):
        page.goto(address + path)
        if page.locator("summary").count():
            page.click("summary >> nth=0")
            page.wait_for_selector(".why .reasons li, .why p")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) < 200) is dark
    assert [error for error in watch.errors if "404" not in error] == []


def test_a_page_is_used_by_keys_alone(open_page, address):
    """Tab reaches the search, the list and the buttons, and shows where it is."""
    page, watch = open_page()
    page.goto(f"{address}/row?id=d%2F4")
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]")
        )
    assert {"A", "INPUT", "BUTTON", "SUMMARY"} <= {tag for tag, _ in reached}
    assert all(outline != "none" for tag, outline in reached if tag in ("A", "INPUT", "BUTTON", "SUMMARY"))
    assert watch.errors == []

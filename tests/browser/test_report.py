"""The report in a browser: from disk, with the network off."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from jointdr import JDR, AssociationModel, Dyads, Popularity
from jointdr.apps.report.page import as_json
from jointdr.evaluation import evaluate

EVIL = "<script>window.ran = true</script>"
WORSE = "</script><img src=x onerror='window.ran = true'>"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report on a small model, with an id and a name that would run if they were taken as HTML."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 5)), rng.standard_normal((40, 4))
    Y = (A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((60, 40)) > 1.5).astype(float)
    rows = [EVIL, *(f"d{i:02d}" for i in range(1, 60))]
    columns = [f"g{i:02d}" for i in range(39)] + [WORSE]
    A = pd.DataFrame(A, index=rows, columns=[f"trait {i}" for i in range(4)] + [EVIL])
    dyads = Dyads(Y, A, pd.DataFrame(B, index=columns), names=("disease", "gene"))
    about = pd.DataFrame({"system": rng.choice(["eye", EVIL], 60), "name": [f"name of {i}" for i in rows]}, index=rows)
    model = AssociationModel(JDR(3), head="kernel", random_state=0).fit(dyads)
    curves = {"ours": ([5, 10], [0.5, 0.7], [0.01, 0.02]), EVIL: ([5, 10], [0.2, 0.3])}
    path = tmp_path_factory.mktemp("report") / "report.html"
    return model.report(path, dyads, rows=about, color="system", label="name", evaluation=curves, title=EVIL)


def opened(open_page, report, **options):
    page, watch = open_page(offline=True, **options)
    page.goto(report.as_uri())
    return page, watch


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The report on a model that chose by itself, of graded scores, with an evaluation."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 4)), rng.standard_normal((30, 3))
    S = A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((60, 30)) + 6
    A = pd.DataFrame(A).assign(name=[f"Compound {i} {EVIL}" for i in range(60)])
    dyads = Dyads(S, A, B, rng.uniform(size=S.shape) < 0.5, names=("compound", "target"))
    methods = {"default": AssociationModel(JDR(2), head="bilinear"), EVIL: Popularity()}
    found = evaluate(dyads, methods, n_partitions=2)
    path = tmp_path_factory.mktemp("report") / "graded.html"
    return AssociationModel(uses=("rows", "pairs"), random_state=0).fit(dyads).report(path, evaluation=found)


def first_column(page, number=1):
    return page.locator(f"#pairs tbody td:nth-child({number})").all_inner_texts()


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_opens_offline_without_errors_and_fits(open_page, report, width, dark):
    page, watch = opened(open_page, report, width=width, dark=dark)
    assert page.locator("#pairs tbody tr").count() == 50
    assert page.locator("table.facts").count() == 2
    assert page.locator("#scree-chart circle").count() == 4
    assert page.locator("#map-chart .point").count() == 100
    assert page.locator("#recall-chart .line.heavy").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watch.errors == []
    assert watch.requests == [report.as_uri()]


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_what_held_out_data_shows(open_page, graded, width, dark):
    page, watch = opened(open_page, graded, width=width, dark=dark)
    assert page.locator("#chosen tbody tr").count() == 2
    assert page.locator("#calibration figure").count() == 2
    assert page.locator("#calibration .bounds").count() >= 2
    assert "90 % between" in page.locator("#calibration figcaption").first.inner_text()
    assert page.locator("#graded-chart circle").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for box in page.locator(".scroll").all():  # what is wider scrolls in its own box
        left, right = box.evaluate("e => [e.getBoundingClientRect().left, e.getBoundingClientRect().right]")
        assert 0 <= left < right <= width
    assert watch.errors == []
    assert page.evaluate("window.ran") is None


def test_numbers_of_a_column_have_equal_decimals(open_page, graded):
    page, _ = opened(open_page, graded)
    for number in (3, 4):
        cells = [part for cell in first_column(page, number) for part in cell.split(" – ")]
        assert len({len(cell.partition(".")[2]) for cell in cells}) == 1
    assert first_column(page)[0].startswith("Compound ")


def test_lists_of_pairs_are_chosen(open_page, graded):
    page, _ = opened(open_page, graded)
    pressed = page.locator('[data-list][aria-pressed="true"]')
    assert pressed.inner_text() == "Best pairs"
    assert "50 of 200" in page.locator("#count").inner_text()
    page.get_by_role("button", name="For each target").click()
    assert pressed.inner_text() == "For each target"
    assert "50 of 150" in page.locator("#count").inner_text()
    targets = first_column(page, 2)
    assert targets[:5] == [targets[0]] * 5
    page.get_by_role("button", name="For each compound").click()
    assert "50 of 300" in page.locator("#count").inner_text()
    compounds = first_column(page)
    assert compounds[:5] == [compounds[0]] * 5


def test_far_points_are_on_the_edge_and_labels_outside(open_page, report, tmp_path):
    text = report.read_text()
    (data,) = re.findall(r'id="data">(.*?)</script>', text)
    changed = json.loads(data)
    changed["map"]["kinds"][0]["z"][0][7] = -50.0  # far from all others
    far = tmp_path / "far.html"
    far.write_text(text.replace(data, as_json(changed)))
    page, _ = opened(open_page, far)
    assert page.locator("#map-chart .point.beyond").count() == 1
    assert "1 point lies farther out than the frame" in page.locator("#map-beyond").inner_text()
    frame = page.locator("#map-chart .edge").bounding_box()
    for label in page.locator("#map-chart text").all():
        box = label.bounding_box()
        assert box["y"] + box["height"] <= frame["y"] + 2 or box["y"] >= frame["y"] + frame["height"] - 2
    page.click("#map-in")
    assert page.locator("#map-chart .point.beyond").count() == 0


def test_colours_follow_the_scheme(open_page, report):
    def background(dark):
        page, _ = opened(open_page, report, dark=dark)
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert background(dark=False) == "rgb(255, 255, 255)"
    assert background(dark=True) != background(dark=False)


def test_nothing_from_the_data_runs(open_page, report):
    page, watch = opened(open_page, report)
    assert page.locator("h1").inner_text() == EVIL
    page.click('[data-list="rows"]')
    page.fill("#search", EVIL)
    assert EVIL in first_column(page)[0]
    page.fill("#map-search", "<img")
    assert WORSE in page.locator("#map-status").inner_text()
    assert page.evaluate("window.ran") is None
    assert page.locator("img").count() == 0
    # What would run if an escape were forgotten is stopped by the policy of the page.
    page.evaluate("""new Promise((failed) => {
        document.addEventListener("error", () => failed(), {capture: true, once: true});
        document.body.insertAdjacentHTML("beforeend", `<img src=x onerror="window.ran = true">`);
    })""")
    assert page.evaluate("window.ran") is None
    while not any("Content Security Policy" in error for error in watch.errors):
        page.wait_for_event("console")


def test_pointing_shows_an_id(open_page, report):
    page, watch = opened(open_page, report)
    tip = page.locator("#map-chart .tip")
    assert tip.is_hidden()
    page.fill("#map-search", "d07")
    page.locator("#map-chart .point.hit").hover(force=True)
    assert "disease d07" in tip.inner_text()
    assert "name of d07" in tip.inner_text()
    page.locator("#map-chart .point.hit").click(force=True)
    assert page.input_value("#search") == "d07"
    assert set(first_column(page)) == {"name of d07\nd07"}
    assert len(first_column(page)) == 5
    page.fill("#map-search", "g11")
    page.locator("#map-chart .point.hit").click(force=True)
    assert set(first_column(page, 2)) == {"g11"}
    assert len(first_column(page)) == 5
    assert watch.errors == []


def test_search_filters(open_page, report):
    page, _ = opened(open_page, report)
    page.click('[data-list="rows"]')
    page.fill("#search", "D07")  # capitals do not matter
    assert len(first_column(page)) == 5
    assert "5 of 5 that match (300 in all)" in page.locator("#count").inner_text()
    page.fill("#search", "nothing has this name")
    assert first_column(page) == []
    assert page.locator("#count").inner_text() == "Nothing in this list matches."
    page.fill("#search", "")
    page.click("#more")
    assert len(first_column(page)) == 250


def test_sorting_by_keyboard(open_page, report):
    page, _ = opened(open_page, report)
    head = page.locator("#pairs th", has_text="score")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    scores = [float(text.replace("−", "-")) for text in first_column(page, 3)]
    assert scores == sorted(scores, reverse=True)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    scores = [float(text.replace("−", "-")) for text in first_column(page, 3)]
    assert scores == sorted(scores)
    page.locator("#pairs th", has_text="gene").locator("button").press("Space")
    assert head.get_attribute("aria-sort") == "none"
    genes = first_column(page, 2)
    assert genes == sorted(genes)


def test_other_directions_and_zoom(open_page, report):
    page, watch = opened(open_page, report)
    point = page.locator("#map-chart circle.point").first
    before = point.get_attribute("cx")
    page.select_option("#map-x", "2")
    assert point.get_attribute("cx") != before
    assert page.locator("#map-out").is_disabled()
    page.click("#map-in")
    assert page.locator("#map-out").is_enabled()
    assert watch.errors == []

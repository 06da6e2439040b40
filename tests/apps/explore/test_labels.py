"""Lettering of a map: beside their marks, on nothing else."""

from __future__ import annotations

import numpy as np

from jointdr.apps.explore.labels import HEIGHT, LONGEST_LABEL, MOST_COVERED, WIDTH, Lettering

FRAME, FONT = (0.0, 0.0, 1000.0, 1000.0), 30.0
NOTHING = np.empty((0, 2))


def box_of(label):
    width, height = WIDTH * FONT * len(label.text), HEIGHT * FONT
    left = label.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * width
    return left, label.y - height / 2, left + width, label.y + height / 2


def covered(label, points, by=0.0):
    left, top, right, bottom = box_of(label)
    x, y = points.T[:2]
    return np.count_nonzero((x > left - by) & (x < right + by) & (y > top - by) & (y < bottom + by))


def test_a_label_is_to_the_right_of_a_lonely_mark():
    label = Lettering(FRAME, FONT, np.array([[500.0, 500.0, 11.0]]), NOTHING).place("name", 500, 500, 11)
    assert (label.anchor, label.y, label.line) == ("start", 500, "")
    assert 511 < label.x < 530


def test_labels_stay_in_the_frame():
    for x, y in ((5, 5), (995, 5), (5, 995), (995, 995), (500, 2)):
        left, top, right, bottom = box_of(
            Lettering(FRAME, FONT, np.array([[x, y, 5.0]]), NOTHING).place("name", x, y, 5)
        )
        assert left >= 0
        assert top >= 0
        assert right <= 1000
        assert bottom <= 1000
    assert Lettering((0.0, 0.0, 40.0, 40.0), FONT, np.array([[20, 20, 5.0]]), NOTHING).place("name", 20, 20, 5) is None


def test_labels_cover_no_marks_no_other_labels_and_few_dots(rng):
    marks = np.column_stack([rng.uniform(100, 900, (12, 2)), np.full(12, 11.0)])
    dots = rng.uniform(0, 1000, (300, 2))
    labels = Lettering(FRAME, FONT, marks, dots)
    placed = [label for x, y, r in marks if (label := labels.place("a longer name", x, y, r)) is not None]
    assert len(placed) >= 4
    for k, label in enumerate(placed):
        assert covered(label, marks) == 0
        assert covered(label, dots) <= MOST_COVERED
        corners = [np.array([[x, y] for x in box_of(other)[::2] for y in box_of(other)[1::2]]) for other in placed[:k]]
        assert not any(covered(label, points) for points in corners)


def test_a_line_leads_to_a_label_that_is_far_away():
    x, y = np.meshgrid(np.arange(250, 760, 12.0), np.arange(350, 660, 12.0))
    dots = np.column_stack([x.ravel(), y.ravel()])
    mark = np.array([[500.0, 500.0, 11.0]])
    label = Lettering(FRAME, FONT, mark, dots).place("name", 500, 500, 11)
    assert covered(label, dots) == 0
    assert label.line.startswith("M500.0 511.0L") or label.line.startswith("M500.0 489.0L")


def test_where_there_is_no_room_only_the_chosen_one_has_a_label(rng):
    dots, mark = rng.normal(500, 150, (4000, 2)), np.array([[500.0, 500.0, 11.0]])
    assert Lettering(FRAME, FONT, mark, dots).place("name", 500, 500, 11) is None
    label = Lettering(FRAME, FONT, mark, dots).place("n" * 40, 500, 500, 11, is_needed=True)
    assert len(label.text) == LONGEST_LABEL
    assert label.text.endswith("…")

"""Places for labels on a map, where they cover no mark, no other label and as few dots as can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jointdr.runtime import Array

LONGEST_LABEL = 24
WIDTH = 0.6  # of a character, in units of the font size
HEIGHT = 1.1
GAP = 0.25  # between a mark and its label, in units of the font size
RINGS = (1.0, 2.2, 6.0, 11.0, 17.0, 24.0)  # gaps that are tried, in units of the smallest
BESIDE = 2.2  # beyond which a line leads to the label
MOST_COVERED = 2  # dots under a label, or as many as lie on average on as much of the map
AWAY = 0.15  # the cost of a gap, in dots
CELLS = 200  # of a side of the map, in which dots are counted
STEPS = 24  # points of a line that are looked at
# Where a label lies, and the end of it that is next to the mark: to the right first.
AROUND = np.array([(1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)])
ANCHORS = {1: "start", 0: "middle", -1: "end"}


@dataclass(frozen=True)
class Label:
    """A text on a map, and its place: `anchor` is at `x`, and `y` is its middle; `line` leads there from its mark."""

    text: str
    x: float
    y: float
    anchor: str
    line: str = ""


class Lettering:
    """The labels of one map, which are placed one after the other.

    Parameters
    ----------
    frame : (left, top, right, bottom)
        The part of the map that is shown.
    font : float
    marks : (n, 3) array
        The centre and the radius of every mark.
    dots : (m, 2) array
        All other points.
    """

    def __init__(self, frame: tuple[float, float, float, float], font: float, marks: Array, dots: Array) -> None:
        self.frame, self.font, self.marks, self.n_dots = np.array(frame), font, marks, len(dots)
        self._boxes, self._lines = np.empty((0, 4)), np.empty((0, 2))  # those of the labels so far; points of lines
        left, top, right, bottom = frame
        counts = np.histogram2d(dots[:, 0], dots[:, 1], bins=CELLS, range=[[left, right], [top, bottom]])[0]
        self._dots_before = np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def place(self, name: str, x: float, y: float, radius: float, is_needed: bool = False) -> Label | None:
        """A label for a mark; None where there is no room, which one that is needed finds above dots."""
        text = name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1].rstrip()}…"
        width, height = WIDTH * self.font * len(text), HEIGHT * self.font
        rings, around = np.repeat(RINGS, len(AROUND)), np.tile(AROUND, (len(RINGS), 1))
        away = (radius + GAP * self.font * rings) * np.where(around.all(axis=1), 0.7, 1.0)  # nearer with a corner
        edge, middle = x + around[:, 0] * away, y + around[:, 1] * (away + height / 2)
        left = edge - (1 - around[:, 0]) * width / 2
        boxes = np.column_stack([left, middle - height / 2, left + width, middle + height / 2])
        covered = self._count_dots(boxes)
        is_free = self._are_free(boxes)
        if not is_needed:
            share = width * height / float(np.prod(self.frame[2:] - self.frame[:2]))
            is_free &= covered <= max(MOST_COVERED, share * self.n_dots)
        cost = covered + AWAY * (rings - 1) + 0.01 * np.arange(len(rings))
        for at in np.argsort(np.where(is_free, cost, np.inf))[: np.count_nonzero(is_free)]:
            line = np.empty((0, 2))
            if rings[at] > BESIDE:
                way = np.array([edge[at] - x, middle[at] - around[at, 1] * height / 2 - y])
                line = np.array([x, y]) + np.linspace(radius / float(np.hypot(*way)), 1.0, STEPS)[:, None] * way
            if self._is_clear(line):
                self._boxes, self._lines = np.vstack([self._boxes, boxes[at]]), np.vstack([self._lines, line])
                path = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*line[[0, -1]].ravel()) if len(line) else ""
                return Label(text, round(edge[at], 1), round(middle[at], 1), ANCHORS[int(around[at, 0])], path)
        return None

    def _count_dots(self, boxes: Array) -> Array:
        """The number of dots in the cells that each box touches."""
        low, size = np.tile(self.frame[:2], 2), np.tile(self.frame[2:] - self.frame[:2], 2)
        cells = CELLS * (boxes - low) / size
        i, j = np.clip(np.floor(cells[:, :2]), 0, CELLS).astype(int).T
        k, m = np.clip(np.ceil(cells[:, 2:]), 0, CELLS).astype(int).T
        total = self._dots_before
        return np.asarray(total[k, m] - total[i, m] - total[k, j] + total[i, j])

    def _are_free(self, boxes: Array) -> Array:
        """Whether each box is in the frame, and there is no mark, no label and no line in it."""
        low, high = boxes[:, :2], boxes[:, 2:]
        is_inside = ((low >= self.frame[:2]) & (high <= self.frame[2:])).all(axis=1)
        on_labels = ((low[:, None] < self._boxes[:, 2:]) & (self._boxes[:, :2] < high[:, None])).all(axis=2).any(axis=1)
        centres = self.marks[:, :2]
        gaps = centres - np.clip(centres, low[:, None], high[:, None])
        on_marks = (np.hypot(gaps[..., 0], gaps[..., 1]) < self.marks[:, 2]).any(axis=1)
        return np.asarray(is_inside & ~on_labels & ~on_marks & ~_inside(self._lines, boxes).any(axis=1))

    def _is_clear(self, line: Array) -> bool:
        """Whether a line goes through no label and no mark but its own, at whose edge it begins."""
        distances = np.hypot(line[:, :1] - self.marks[:, 0], line[:, 1:] - self.marks[:, 1])
        return not ((distances < 0.95 * self.marks[:, 2]).any() or _inside(line, self._boxes).any())


def _inside(points: Array, boxes: Array) -> Array:
    """Whether each box has each point in it, (boxes, points)."""
    return np.asarray(((points > boxes[:, None, :2]) & (points < boxes[:, None, 2:])).all(axis=2))

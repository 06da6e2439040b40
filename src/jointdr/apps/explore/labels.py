"""Places for labels on a map, where they cover no mark, no other label and as few dots as can be."""

from __future__ import annotations

from collections.abc import Iterator
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
STEPS = 24  # points of a line that are looked at
# Where a label lies, and the end of it that is next to the mark: to the right first.
AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1))
ANCHORS = {1: "start", 0: "middle", -1: "end"}


@dataclass(frozen=True)
class Label:
    """A text on a map, and its place: `anchor` is at `x`, and `y` is its middle; `line` leads there from its mark."""

    text: str
    x: float
    y: float
    anchor: str
    line: str = ""


@dataclass(frozen=True)
class Place:
    """A place for a label: its box (left, top, right, bottom), and the points of a line to it, if it is far away."""

    right: int
    down: int
    x: float
    y: float
    box: tuple[float, float, float, float]
    line: Array  # (points, 2)

    def label(self, text: str) -> Label:
        """The label of this text that lies there."""
        ends = self.line[[0, -1]].ravel().tolist() if len(self.line) else []
        line = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*ends) if ends else ""
        return Label(text, round(self.x, 1), round(self.y, 1), ANCHORS[self.right], line)


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
        self.frame, self.font, self.marks, self.dots = frame, font, marks, dots
        self._taken: list[Place] = []

    def place(self, name: str, x: float, y: float, radius: float, is_needed: bool = False) -> Label | None:
        """A label for a mark; None where there is no room, which one that is needed finds above dots."""
        text = name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1].rstrip()}…"
        best: tuple[float, Place] | None = None
        for cost, place in self._places(text, x, y, radius):
            if best is not None and cost >= best[0]:
                break
            if not self._is_free(place):
                continue
            covered = int(np.count_nonzero(_inside(self.dots, place.box)))
            if (covered <= self._most_covered(place) or is_needed) and (best is None or cost + covered < best[0]):
                best = (cost + covered, place)
        if best is None:
            return None
        self._taken.append(best[1])
        return best[1].label(text)

    def _places(self, text: str, x: float, y: float, radius: float) -> Iterator[tuple[float, Place]]:
        """Places for a text, and what they cost, the nearest first."""
        width, height = WIDTH * self.font * len(text), HEIGHT * self.font
        for order, (ring, (right, down)) in enumerate((ring, around) for ring in RINGS for around in AROUND):
            away = radius + GAP * self.font * ring
            if right and down:  # nearer, because a corner of the label is next to the mark
                away *= 0.7
            edge, middle = x + right * away, y + down * (away + height / 2)
            left = edge - (1 - right) * width / 2
            box = (left, middle - height / 2, left + width, middle + height / 2)
            line = np.empty((0, 2))
            if ring > BESIDE:
                way = np.array([edge - x, middle - down * height / 2 - y])
                line = np.array([x, y]) + np.linspace(radius / float(np.hypot(*way)), 1.0, STEPS)[:, None] * way
            yield AWAY * (ring - 1) + 0.01 * order, Place(right, down, edge, middle, box, line)

    def _most_covered(self, place: Place) -> float:
        left, top, right, bottom = self.frame
        share = (place.box[2] - place.box[0]) * (place.box[3] - place.box[1]) / ((right - left) * (bottom - top))
        return max(MOST_COVERED, share * len(self.dots))

    def _is_free(self, place: Place) -> bool:
        """Whether it is in the frame, and there is nothing else, neither at the label nor on the way to it."""
        left, top, right, bottom = self.frame
        a, line = place.box, place.line
        if a[0] < left or a[1] < top or a[2] > right or a[3] > bottom:
            return False
        for b, other in ((taken.box, taken.line) for taken in self._taken):
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
                return False
            if _inside(other, a).any() or _inside(line, b).any():
                return False
        x, y, radius = self.marks.T
        if (np.hypot(x - np.clip(x, a[0], a[2]), y - np.clip(y, a[1], a[3])) < radius).any():
            return False
        distances = np.hypot(line[:, :1] - x, line[:, 1:] - y)
        return not (distances < 0.95 * radius).any()  # it begins at the edge of its own mark


def _inside(points: Array, box: tuple[float, float, float, float]) -> Array:
    x, y = points.T
    return (x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])

"""The map of an entity: where it lies, its best entities of the other kind, and its nearest ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from jointdr.apps.explore.contents import Entry, Near
from jointdr.apps.explore.placement import SIZE, dots
from jointdr.apps.explore.session import Session, Side, Subject
from jointdr.runtime import Array

LABELS = 6  # entities with a label, at most: the one that the page is about, and the best
LONGEST_LABEL = 24
SMALLEST_WINDOW = 60
Role = Literal["chosen", "best", "near"]


@dataclass(frozen=True)
class Mark:
    """An entity on the map, in the units of the map; its label, empty for none, starts or ends at `label_x`."""

    subject: Subject
    role: Role
    x: float
    y: float
    radius: float
    label: str = ""
    label_x: float = 0.0
    anchor: str = "start"


@dataclass(frozen=True)
class Drawing:
    """One map, of which a window is shown: `x`, `y` and `size`.

    `sides` are the kinds that lie on it. In a window that is smaller than the map, `dots` has for each kind the other
    entities in it as an SVG path.
    """

    title: str
    x: float
    y: float
    size: float
    sides: list[Side]
    dots: list[tuple[Side, str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def font(self) -> float:
        return 0.03 * self.size


def drawing_of(
    session: Session, subject: Subject, entries: list[Entry], nearest: list[Near], zoom: bool
) -> list[Drawing]:
    """The map or, where rows and columns have no coordinates in common, one for each of them."""
    marked: list[tuple[Subject, Role]] = [(near.subject, "near") for near in reversed(nearest)]
    marked += [(entry.subject, "best") for entry in reversed(entries)]
    marked.append((subject, "chosen"))
    if session.is_one_map:
        return [_draw(session, f"{session.rows.kinds} and {session.columns.kinds}", ["row", "column"], marked, zoom)]
    return [
        _draw(session, session.catalog(side).kinds, [side], [m for m in marked if m[0].side == side], zoom)
        for side in (subject.side, subject.other_side)
    ]


def _draw(session: Session, title: str, sides: list[Side], marked: list[tuple[Subject, Role]], zoom: bool) -> Drawing:
    at = np.array([session.at(subject) for subject, _ in marked]).reshape(-1, 2)
    low, size = _window(at) if zoom and len(at) else (np.zeros(2), float(SIZE))
    x, y = low.round(1).tolist()
    drawing = Drawing(title, x, y, round(size, 1), sides)
    if zoom:
        for side in sides:
            positions = session.positions[0 if side == "row" else 1]
            is_inside = ((positions >= low) & (positions <= low + size)).all(axis=1)
            drawing.dots.append((side, dots(positions[is_inside])))
    drawing.marks.extend(_marks(session, drawing, marked, at))
    return drawing


def _window(at: Array) -> tuple[Array, float]:
    """A square around these points, with some room: its upper left corner and its size."""
    low, high = at.min(axis=0), at.max(axis=0)
    size = max(1.25 * float((high - low).max()), SMALLEST_WINDOW)
    return (low + high - size) / 2, size


def _marks(session: Session, drawing: Drawing, marked: list[tuple[Subject, Role]], at: Array) -> list[Mark]:
    """Marks from back to front; labels from front to back, as long as they do not lie on one another."""
    radius = {"chosen": 0.016 * drawing.size, "best": 0.011 * drawing.size, "near": 0.009 * drawing.size}
    taken: list[tuple[float, float, float, float]] = []
    marks: list[Mark] = []
    for (subject, role), (x, y) in zip(reversed(marked), at[::-1].tolist(), strict=True):
        mark = Mark(subject, role, round(x, 1), round(y, 1), round(radius[role], 2))
        if len(taken) < LABELS and (role != "near" or not session.is_one_map):
            mark = _add_label(session, drawing, mark, taken)
        marks.append(mark)
    return marks[::-1]


def _add_label(session: Session, drawing: Drawing, mark: Mark, taken: list[tuple[float, float, float, float]]) -> Mark:
    """The mark with a label to its right, or to its left near the edge; without one where another label is."""
    name = session.name(mark.subject)
    label = name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1].rstrip()}…"
    width, gap = 0.58 * drawing.font * len(label), 1.4 * mark.radius
    fits = mark.x + gap + width < drawing.x + drawing.size
    left = mark.x + gap if fits else mark.x - gap - width
    box = (left, mark.y - 0.6 * drawing.font, left + width, mark.y + 0.6 * drawing.font)
    if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
        return mark
    taken.append(box)
    edge = mark.x + gap if fits else mark.x - gap
    return replace(mark, label=label, label_x=round(edge, 1), anchor="start" if fits else "end")

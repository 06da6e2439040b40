"""The map of an entity: where it lies, its best entities of the other kind, and its nearest ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from jointdr.apps.explore.contents import Entry, Near, Strongest
from jointdr.apps.explore.labels import Label, Lettering
from jointdr.apps.explore.placement import SIZE, beyond, dots, tick
from jointdr.apps.explore.session import Session, Side, Subject
from jointdr.runtime import Array

LABELS, TRIED = 6, 12  # entities with a label, at most, and those that room is looked for
SMALLEST_WINDOW = 60
RADII = {"chosen": 0.016, "best": 0.011, "near": 0.009}
Role = Literal["chosen", "best", "near"]


@dataclass(frozen=True)
class Mark:
    """An entity on the map, in the units of the map; `beyond` is a line outwards where it lies beyond the edge."""

    subject: Subject
    role: Role
    x: float
    y: float
    radius: float
    beyond: str = ""
    label: Label | None = None


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
    return _draw_sides(session, marked, (subject.side, subject.other_side), zoom)


def drawing_of_pairs(session: Session, strongest: Strongest | None) -> list[Drawing]:
    """The same for the entities of the strongest pairs, or of none."""
    pairs = () if strongest is None else strongest.pairs
    subjects = dict.fromkeys(subject for pair in pairs for subject in (pair.row, pair.column))
    return _draw_sides(session, [(subject, "best") for subject in reversed(subjects)], ("row", "column"), False)


def _draw_sides(
    session: Session, marked: list[tuple[Subject, Role]], sides: tuple[Side, Side], zoom: bool
) -> list[Drawing]:
    if session.is_one_map:
        return [_draw(session, f"{session.rows.kinds} and {session.columns.kinds}", ["row", "column"], marked, zoom)]
    return [
        _draw(session, session.catalog(side).kinds, [side], [m for m in marked if m[0].side == side], zoom)
        for side in sides
    ]


def _draw(session: Session, title: str, sides: list[Side], marked: list[tuple[Subject, Role]], zoom: bool) -> Drawing:
    at = np.array([session.at(subject) for subject, _ in marked]).reshape(-1, 2)
    low, size = _window(at) if zoom and len(at) else (np.zeros(2), float(SIZE))
    x, y = low.round(1).tolist()
    drawing = Drawing(title, x, y, round(size, 1), sides)
    positions = {side: session.positions[0 if side == "row" else 1] for side in sides}
    if zoom:
        for side in sides:
            is_inside = ((positions[side] >= low) & (positions[side] <= low + size)).all(axis=1)
            drawing.dots.append((side, dots(positions[side][is_inside])))
    drawing.marks.extend(_marks(session, drawing, marked, at, np.vstack(list(positions.values()))))
    return drawing


def _window(at: Array) -> tuple[Array, float]:
    """A square around these points, with some room: its upper left corner and its size."""
    low, high = at.min(axis=0), at.max(axis=0)
    size = max(1.25 * float((high - low).max()), SMALLEST_WINDOW)
    return (low + high - size) / 2, size


def _marks(
    session: Session, drawing: Drawing, marked: list[tuple[Subject, Role]], at: Array, others: Array
) -> list[Mark]:
    """Marks from back to front; labels from front to back, as long as there is room for them."""
    radii = [round(RADII[role] * drawing.size, 2) for _, role in marked]
    outward, count, tried, marks = beyond(at), 0, 0, []
    frame = (drawing.x, drawing.y, drawing.x + drawing.size, drawing.y + drawing.size)
    labels = Lettering(frame, drawing.font, np.column_stack([at, radii]), others)
    for index in reversed(range(len(marked))):
        (subject, role), (x, y), radius = marked[index], at[index].tolist(), radii[index]
        right, down = outward[index].tolist()
        line = tick(x, y, right, down, radius, radius) if right or down else ""
        label = None
        if count < LABELS and tried < TRIED and (role != "near" or not session.is_one_map):
            label = labels.place(session.name(subject), x, y, radius, is_needed=role == "chosen")
            count, tried = count + (label is not None), tried + 1
        marks.append(Mark(subject, role, round(x, 1), round(y, 1), radius, line, label))
    return marks[::-1]

"""Progress bars: one at a time, and silent where nobody looks."""

from __future__ import annotations

import io
import sys

import pytest

from jointdr.runtime import Progress, reporter


class Terminal(io.StringIO):
    def isatty(self):
        return True


KINDS = ["lines", "a bar"]


def watch(kind, monkeypatch):
    """What is written to standard error from now on: lines of text, or a bar in a terminal."""
    if kind == "a bar":
        pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", written := Terminal() if kind == "a bar" else io.StringIO())
    return written


@pytest.mark.parametrize("kind", KINDS)
def test_a_bar_inside_of_another_one_is_silent(kind, monkeypatch):
    written = watch(kind, monkeypatch)
    with Progress(1, "outside", True) as outer:
        with Progress(1, "inside", True) as inner:
            inner.step()
        outer.step()
    with Progress(1, "afterwards", True) as bar:
        bar.step()
    assert "outside: 1 of 1" in written.getvalue()
    assert "afterwards: 1 of 1" in written.getvalue()
    assert "inside" not in written.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_inside_leaves_room_for_the_next_one(kind, monkeypatch):
    written = watch(kind, monkeypatch)
    with pytest.raises(RuntimeError), Progress(1, "broken", True):
        raise RuntimeError
    with Progress(1, "next", True) as bar:
        bar.step()
    assert "next: 1 of 1" in written.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_by_default_only_a_terminal_shows_it(kind, monkeypatch):
    written = watch(kind, monkeypatch)
    with Progress(1, "work") as bar:
        bar.step()
    assert ("work: 1 of 1" in written.getvalue()) == (kind == "a bar")


def test_functions_get_lines_wherever_they_are():
    outer, inner = [], []
    with reporter(outer.append) as report, reporter(inner.append) as other:
        report("a", 0.5, 1.0)
        other("b", 0.5, 1.0)
    assert len(outer) == len(inner) == 1

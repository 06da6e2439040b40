"""Rankings as TSV that a spreadsheet cannot take for formulas, under a file name that holds no surprises."""

from __future__ import annotations

import re
from collections.abc import Iterable

FORMULA = ("=", "+", "-", "@")  # with what a spreadsheet begins a formula


def tsv(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table as text, from what `cell` made."""
    return "".join("\t".join(line) + "\n" for line in ([cell(title) for title in header], *lines))


def disposition(name: str) -> str:
    """The header that names a download: letters, digits, dots and dashes only, with the ending .tsv."""
    safe = re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_-")[:60] or "ranking"
    return f'attachment; filename="{safe}.tsv"'


def cell(value: str | float | int | bool) -> str:
    """A number to 6 digits, yes or no, or words without tabs and line ends that are no formula."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return str(value)
    # str.split also parts at the ends of lines that only some programs know; other control characters are left out.
    words = " ".join("".join(c for c in value if c.isprintable() or c.isspace()).split())
    return f"'{words}" if words.startswith(FORMULA) else words

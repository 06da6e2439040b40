"""Rankings as TSV that a spreadsheet cannot take for formulas, under a file name that holds no surprises."""

from __future__ import annotations

import re
from collections.abc import Iterable

FORMULA = ("=", "+", "-", "@")
"""With what a spreadsheet begins a formula."""


def tsv(header: Iterable[str], lines: Iterable[Iterable[str | float | int | bool]]) -> str:
    """A table as text; numbers to 6 digits, and words without tabs or line ends."""
    rows = ["\t".join(_cell(title) for title in header)]
    rows += ["\t".join(_cell(value) for value in line) for line in lines]
    return "\n".join(rows) + "\n"


def disposition(name: str) -> str:
    """The header that names a download: letters, digits, dots and dashes only, with the ending .tsv."""
    safe = re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_-")[:60] or "ranking"
    return f'attachment; filename="{safe}.tsv"'


def _cell(value: str | float | int | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return str(value)
    # str.split also parts at the ends of lines that only some programs know; other control characters are left out.
    words = " ".join("".join(c for c in value if c.isprintable() or c.isspace()).split())
    return f"'{words}" if words.startswith(FORMULA) else words

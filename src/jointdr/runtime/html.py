"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

SHOWN = 3  # names that are shown of many
CELL = "padding:0.2em 0.8em;text-align:left"


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table with a title above and a note below, whose colours are those of the page it is on."""
    head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{escape(str(value))}</td>' for value in row) + "</tr>" for row in rows
    )
    below = f'<div style="opacity:0.8">{escape(note)}</div>' if note else ""
    return (
        f'<div style="overflow-x:auto"><div style="font-weight:bold">{escape(title)}</div>'
        f'<table style="border-collapse:collapse"><thead style="border-bottom:1px solid currentColor"><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table>{below}</div>"
    )


def first_names(names: Iterable[Any] | None) -> str:
    """The first few names of many; nothing where there are none."""
    listed = [] if names is None else [str(name) for name in names]
    return ", ".join(listed[:SHOWN]) + (", …" if len(listed) > SHOWN else "")


def kind_of_array(X: Any) -> str:
    """The kind and the type of numbers of a table: dense, or sparse with the share that is stored."""
    type_name = str(X.dtype).removeprefix("torch.")
    if not hasattr(X, "nnz"):
        return f"dense {type_name}"
    return f"sparse {type_name}, {share(X.nnz, X.shape[0] * X.shape[1])} stored"


def share(part: float, whole: float) -> str:
    """A share in percent."""
    return f"{100 * part / whole:.3g} %" if whole else "none"

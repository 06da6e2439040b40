"""Numbers with equal decimals, and the words of the data: the name of its score, of its entities, of the questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.runtime import Array

MOST_DECIMALS = 6  # beyond, numbers are written with powers of ten


def score_name(model: Any) -> str:
    """The name of what is predicted, such as pkd."""
    return str(getattr(model, "score_name_", None) or "score")


def plural(kind: str) -> str:
    """The name of several entities of a kind."""
    return kind if kind.endswith("s") else f"{kind}s"


def question_in_words(by: str, kinds: tuple[str, str]) -> str:
    """The pairs that a question is about."""
    rows, columns = (plural(kind) for kind in kinds)
    return {
        "rows": f"new {rows} with known {columns}",
        "columns": f"new {columns} with known {rows}",
        "both": f"new {rows} with new {columns}",
        "pairs": f"unknown pairs of known {rows} and {columns}",
    }[by]


def decimals_of(values: Any) -> int:
    """So many decimals that two or three digits tell most of these numbers apart."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return 0
    low, first, last, high = np.quantile(values, [0.0, 0.1, 0.9, 1.0])
    spread = max(last - first, (high - low) / 10) or abs(high)
    return 0 if spread == 0 else max(0, int(2 - np.floor(np.log10(spread))))


def format_number(value: float, decimals: int) -> str:
    """A number with so many decimals, and a minus sign rather than a hyphen; no "−0.00"."""
    text = f"{float(value):z.{decimals}f}" if decimals <= MOST_DECIMALS else f"{float(value):.1e}"
    return text.replace("-", "−")


def rounded(values: Array, decimals: int = 6) -> list[float | None]:
    """Numbers as JSON has them; None for those that are not finite."""
    return [round(v, decimals) if np.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]


def short(values: Array) -> list[float | None]:
    """Numbers to four digits, as figures show them; None for those that are not finite."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]

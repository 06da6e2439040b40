"""How well held-out scores are predicted: what the model chose and its calibration, and an evaluation of methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from jointdr.apps.report.words import decimals_of, format_number, plural, question_in_words, score_name, short
from jointdr.plot import GRADED, graded_means, recalls

Section = dict[str, Any]
Missing = str

MEANINGS = {
    "RMSE": "RMSE, the root mean square error, is the typical error of a predicted {score}; lower is better.",
    "concordance": "The concordance is how often, of two pairs, the one with the higher {score} is predicted higher; "
    "0.5 is chance.",
    "recall": "Recall is the share of held-out known pairs among the best 10, 30 and 100, averaged.",
    "average precision": "The average precision is 1 where held-out known pairs come before all others.",
}
HIGH = 0.99  # the percentile that is put into words
SIMPLE = {  # predictions by known scores alone, of graded scores and of 0/1 associations
    False: {"rows": "the mean of each {1}", "columns": "the mean of each {0}", "pairs": "the means of {0s} and {1s}"},
    True: {"rows": "how many {0s} a {1} has", "columns": "how many {1s} a {0} has", "pairs": "how many each has"},
}


def choices_of(model: Any) -> Section | Missing:
    """The model of each question with its figures on held-out data, beside those of a simple prediction."""
    choices = getattr(model, "choices_", None)
    if choices is None:
        name = f"This {type(model).__name__}" + (f" with head={model.head!r}" if hasattr(model, "head") else "")
        if not hasattr(model, "recommend"):
            return f"{name} gives coordinates, not scores of pairs."
        return f"{name} holds nothing out by itself: jointdr evaluate shows how well it predicts."
    kinds = (str(model.view_names_[0]), str(model.view_names_[1]))
    metrics = [name for name in MEANINGS if name in choices.columns]
    questions = [_question(str(by), members, metrics, kinds) for by, members in choices.groupby("question", sort=False)]
    return {
        "questions": questions,
        "metrics": metrics,
        "meanings": " ".join(MEANINGS[name].format(score=score_name(model)) for name in metrics),
        "criterion": str(choices.attrs["criterion"]),
        "failures": " ".join(model.failures_.in_words()),
    }


def _question(by: str, members: Any, metrics: list[str], kinds: tuple[str, str]) -> Section:
    first = members.iloc[0]
    simple = str(first["baseline is"])
    is_simple = bool((members["head"] == simple).all())
    return {
        "title": question_in_words(by, kinds),
        "baseline": _simple_in_words(by, "RMSE" not in metrics, kinds),
        "figures": [_compared(first[name], first[f"baseline {name}"]) for name in metrics],
        "score": _compared(first["held-out score"], first["baseline"]),
        "error": _figure(first["standard error"]),
        "nothing": _nothing_chosen(first, is_simple),
        "members": [] if is_simple else [_member(member, kinds, simple) for member in members.itertuples(index=False)],
    }


def _simple_in_words(by: str, implicit: bool, kinds: tuple[str, str]) -> str:
    if by not in SIMPLE[implicit]:
        return "one score for all pairs"
    words = SIMPLE[implicit][by]
    for at, kind in enumerate(kinds):
        words = words.replace(f"{{{at}s}}", plural(kind)).replace(f"{{{at}}}", kind)
    return words


def _compared(value: float, baseline: float) -> tuple[str, str]:
    return _figure(value), _figure(baseline)


def _figure(value: float) -> str:
    return "–" if np.isnan(value) else format_number(value, 3)


def _nothing_chosen(first: Any, is_simple: bool) -> str:
    if np.isnan(first["held-out score"]):
        return "Nothing was compared: there is too little to hold out, or all known scores are equal."
    return "Nothing that was tried predicts held-out scores better than this." if is_simple else ""


def _member(member: Any, kinds: tuple[str, str], simple: str) -> Section:
    """One part of a stack: its share, its head, and what it compares entities by."""
    head = str(member.head) + (f", penalty {member.penalty}" if member.penalty else "")
    sides = [f"{plural(kinds[0])} by {member.rows}", f"{plural(kinds[1])} by {member.columns}"]
    sides = [] if member.head == simple else [side.replace("%", " %") for side in sides]
    return {"share": f"{100 * member.share:.0f} %", "head": head, "sides": sides}


def calibration_of(model: Any) -> list[Section]:
    """For each question how far from a score its held-out values were, or how many of such pairs were known."""
    if getattr(model, "choices_", None) is None:
        return []
    kinds = (str(model.view_names_[0]), str(model.view_names_[1]))
    questions = dict.fromkeys(str(by) for by in model.choices_["question"])
    tables = {question_in_words(by, kinds): model.calibration(by) for by in questions}
    return [_panel(title, score_name(model), table) for title, table in tables.items() if len(table)]


def _panel(title: str, name: str, table: Any) -> Section:
    return {"title": title, "name": name, **(_interval if "lower" in table else _curve)(table, name)}


def _interval(table: Any, name: str) -> Section:
    """The bounds of each range of scores, and those in the middle of all in words."""
    start, low, high = (table[column].to_numpy() for column in ("score", "lower", "upper"))
    widths = np.diff(start)
    end = np.append(start[1:], start[-1] + (widths[0] if len(widths) else high[-1] - low[-1]))
    at, decimals = len(start) // 2, decimals_of([*low, *high])
    middle = (start[at] + end[at]) / 2
    bounds = [middle, middle + low[at] - start[at], middle + high[at] - start[at]]
    score, lower, upper = (format_number(value, decimals) for value in bounds)
    return {
        "kind": "interval",
        "start": short(start),
        "end": short(end),
        "below": short(low - start),
        "above": short(high - start),
        "words": f"Predicted {name} {score}: 90 % between {lower} and {upper}.",
    }


def _curve(table: Any, name: str) -> Section:
    """The share at each score, and that at one of them in words."""
    kind = str(table.columns[1])
    score, share = table["score"].to_numpy(), table[kind].to_numpy() / (1.0 if kind == "listed_rate" else 100.0)
    typical = share.max() / 2 if kind == "listed_rate" else HIGH
    at = int(np.argmin(np.abs(share - typical)))
    value = format_number(score[at], decimals_of(score))
    words = f"A {name} of {value}: {out_of(share[at])} held-out pairs with such a {name} were known."
    if kind == "percentile":
        words = f"A {name} of {value}: {out_of(1.0 - share[at])} unknown pairs are above it."
    return {"kind": kind, "score": short(score), "share": short(100 * share), "words": words}


def out_of(share: float) -> str:
    """A share as a number out of a hundred, or out of more where it is small."""
    total = next((n for n in (100, 1000) if round(share * n) >= 1), 10_000)
    return f"{share * total:.0f} of {total}"


def evaluation_of(evaluation: Any) -> Section | Missing:
    """Recall curves or, of graded scores, the errors of all methods."""
    if evaluation is None:
        return "Methods were not compared: give what evaluate found (evaluation=, or --evaluation FOLDER)."
    about = getattr(evaluation, "about", "")
    if means := graded_means(evaluation):
        return {"graded": [_metric(name, values) for name, values in means.items()], "curves": None, "about": about}
    curves = [
        {"name": name, "k": curve.ks.tolist(), "recall": short(curve.mean), "se": short(curve.error)}
        for name, curve in recalls(evaluation).items()
    ]
    return {"graded": None, "curves": curves, "about": about}


def _metric(name: str, values: dict[str, tuple[float, float]]) -> Section:
    means, errors = (np.array(column) for column in zip(*values.values(), strict=True))
    decimals = decimals_of(means)
    return {
        "metric": name,
        "better": GRADED[name],
        "methods": list(values),
        "mean": short(means),
        "se": short(errors),
        "decimals": decimals,
    }

"""The choices of an automatic head as tables and in words; imported where they are asked for, because pandas is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from jointdr.data import By
from jointdr.prediction.heads.members import QUESTIONS as NEW
from jointdr.prediction.heads.stages import Recipe
from jointdr.prediction.search.answers import Answer
from jointdr.prediction.search.criterion import FAMILIAR, criterion_in_words
from jointdr.prediction.search.parts import new_sides

HEADS = {"kronecker": "Kronecker ridge", "two-step": "two-step ridge", "neighbors": "neighbors"}
Labels = tuple[Sequence[str], Sequence[str]]  # of the descriptions of rows and of columns


class Choices(pd.DataFrame):
    """A DataFrame whose text is some lines for each question, where a table would be too wide to read."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame  # parts of it are tables like any other

    def __repr__(self) -> str:
        return "\n".join([*self.attrs.values(), *question_lines(self)])

    __str__ = __repr__


class Failures(pd.DataFrame):
    """A DataFrame whose text has whole messages, one to a line."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def in_words(self) -> list[str]:
        """How many there are, in no line if there are none."""
        settings = "1 setting" if len(self) == 1 else f"{len(self)} settings"
        return [f"{settings} could not be fitted, see failures_."] if len(self) else []

    def __repr__(self) -> str:
        lines = [f"{row.question}: {row.setting}\n  {row.error}" for row in self.itertuples(index=False)]
        return "\n".join(lines) or "All settings could be fitted."

    __str__ = __repr__


def choices_table(answers: Sequence[Answer], labels: Labels, criterion: str, implicit: bool) -> Choices:
    """One row for each question and member of its model."""
    rows = []
    for answer in answers:
        simple = simple_in_words(answer.by, implicit)
        scores = answer.scores or (answer.score,) * len(answer.recipes)
        familiar = {name: answer.measures.get(name, (np.nan, np.nan)) for name in FAMILIAR[implicit]}
        total = sum(answer.weights)
        shares = answer.shares or [weight / total for weight in answer.weights]
        for recipe, weight, share, score in zip(answer.recipes, answer.weights, shares, scores, strict=True):
            rows.append(
                {
                    "question": answer.by,
                    "head": simple if recipe.head == "effects" else HEADS[recipe.head],
                    "rows": _kernel_in_words(0, recipe, labels),
                    "columns": _kernel_in_words(1, recipe, labels),
                    "penalty": _penalty_in_words(recipe),
                    "weight": weight,
                    "share": share,
                    "score": score,
                    "held-out score": answer.score,
                    "standard error": answer.error,
                    "baseline": answer.baseline,
                    "baseline is": simple,
                    **{name: values[0] for name, values in familiar.items()},
                    **{f"baseline {name}": values[1] for name, values in familiar.items()},
                }
            )
    table = Choices(rows)
    table.attrs["criterion"] = f"Held-out scores are {criterion_in_words(criterion, implicit)}; higher is better."
    return table


def failures_table(answers: Sequence[Answer], labels: Labels) -> Failures:
    """One row for each setting that could not be fitted."""
    rows = [
        (answer.by, setting if isinstance(setting, str) else recipe_in_words(setting, labels), error)
        for answer in answers
        for setting, error in answer.failures.items()
    ]
    return Failures(rows, columns=["question", "setting", "error"])


def question_lines(choices: Any) -> list[str]:
    """The model of each question in words, line by line."""
    lines = []
    for by, members in choices.groupby("question", sort=False):
        first, simple = members.iloc[0], members["baseline is"].iloc[0]
        score, title = first["held-out score"], f"{by} ({NEW[str(by)]}):"
        if np.isnan(score):
            lines += [
                f"{title} {simple}",
                "  Nothing was compared: there is too little to hold out, or all known scores are equal.",
            ]
            continue
        if (members["head"] == simple).all():
            lines += [
                f"{title} held-out score {score:.3f} by {simple} alone",
                *_familiar(first, both=False),
                "  Nothing that was tried predicts held-out scores better, so the model predicts by this alone.",
            ]
            continue
        error = "" if np.isnan(first["standard error"]) else f" ± {first['standard error']:.3f}"
        lines.append(f"{title} held-out score {score:.3f}{error}; {simple} alone {first['baseline']:.3f}")
        lines += _familiar(first)
        for member in members.itertuples(index=False):
            penalty = f", penalty {member.penalty}" if member.penalty else ""
            lines.append(f"  {member.share:4.0%} {member.head}{penalty}")
            if member.head != simple:
                lines += [f"       rows: {member.rows}", f"       columns: {member.columns}"]
    return lines


def _familiar(first: Any, both: bool = True) -> list[str]:
    """Familiar figures of the model and of the simple prediction."""
    found = [
        f"{name} {first[name]:.3g}" + (f" (alone {first[f'baseline {name}']:.3g})" if both else "")
        for names in FAMILIAR.values()
        for name in names
        if name in first.index and not np.isnan(first[name])
    ]
    return [f"  {', '.join(found)}"] if found else []


def simple_in_words(by: By, implicit: bool) -> str:
    """The prediction of a question that looks at no description: by the known scores of entities alone."""
    known = [name for name, is_new in zip(("row", "column"), new_sides(by), strict=True) if not is_new]
    if not known:
        return "one score for all pairs"
    if implicit:
        return f"popularity of {' and '.join(f'{name}s' for name in known)}"
    return f"{' and '.join(known)} effects"


def recipe_in_words(recipe: Recipe, labels: Labels) -> str:
    """A setting that is tried."""
    if recipe.head == "effects":
        return "row and column effects"
    rows, columns = (_kernel_in_words(k, recipe, labels) for k in (0, 1))
    penalty = _penalty_in_words(recipe)
    return f"{HEADS[recipe.head]}{f', penalty {penalty}' if penalty else ''}; rows: {rows}; columns: {columns}"


def _kernel_in_words(k: int, recipe: Recipe, labels: Labels) -> str:
    if recipe.head == "effects":
        return "effects" if recipe.effects[k] else "–"
    terms = []
    for term in recipe.terms(k):
        power = "" if term.power == 1 else f"^{term.power:g}"
        share = "" if term.share == 1 else f"{term.share:.0%} "
        label = labels[k][term.description] if term.description < len(labels[k]) else "coordinates"
        terms.append(f"{share}{label}{power}")
    words = " + ".join(terms)
    if recipe.profiles[k] > 0 and recipe.rounds > 0:
        words = f"{1 - recipe.profiles[k]:.0%} ({words}) + {recipe.profiles[k]:.0%} {recipe.profile} profiles"
        words += f", {recipe.rounds} rounds" if recipe.rounds > 1 else ""
    if recipe.head == "neighbors" and recipe.borrow[k] < 1:
        words += f", {recipe.borrow[k]:.0%} borrowed"
    return words


def _penalty_in_words(recipe: Recipe) -> str:
    if recipe.head == "kronecker":
        return f"{recipe.penalties[0]:g}"
    if recipe.head == "two-step":
        return f"{recipe.penalties[0]:g}, {recipe.penalties[1]:g}"
    return ""

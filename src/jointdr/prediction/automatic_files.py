"""Automatic heads as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from jointdr.data import Dyads, TableEncoder
from jointdr.estimators import ViewsTransformer
from jointdr.prediction.automatic import AutomaticParts, describe_sides
from jointdr.prediction.heads.calibration import Calibration
from jointdr.prediction.heads.descriptions import tables_of
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.head import Head
from jointdr.prediction.heads.members import Answers, EntityKernels, RecipeKernels, Stack, StagesHead
from jointdr.prediction.heads.parts import embedding_from_arrays, embedding_to_arrays
from jointdr.prediction.heads.profiles import EntityProfiles
from jointdr.prediction.heads.stages import Recipe, SmoothingStage, Term
from jointdr.prediction.search.answers import Answer
from jointdr.prediction.search.bench import Sides
from jointdr.prediction.search.criterion import check_criterion
from jointdr.prediction.search.fitting import fit_answers
from jointdr.prediction.search.large import is_large
from jointdr.prediction.search.parts import fit_effects, known_scores
from jointdr.runtime import Array, checked_array, matrix_from_arrays, matrix_to_arrays


def association_to_arrays(
    parts: AutomaticParts, family: Mapping[str, type], Y: Array, complete: bool
) -> tuple[dict[str, Any], dict[str, Array]]:
    """A model with an automatic head as a part of a header, and arrays: scores, tables of entities, and the head."""
    header, arrays = automatic_to_arrays(parts, family)
    arrays |= matrix_to_arrays("scores", Y)
    for k, tables in enumerate(parts.tables):
        for t, table in enumerate(tables):
            arrays |= matrix_to_arrays(f"table.{k}.{t}", table)
    return {"automatic": header, "complete": complete}, arrays


def association_from_arrays(
    family: Mapping[str, type],
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    shape: tuple[int, int],
    n_features: tuple[int, int],
    names: tuple[tuple[str, ...], tuple[str, ...]],
    encoders: tuple[TableEncoder | None, TableEncoder | None],
) -> tuple[AutomaticParts, Array, bool]:
    """The inverse of `association_to_arrays`, with the scores, and whether all are known.

    A ValueError unless they are of so many entities, with so many features and similarities of these names.
    """
    Y, complete = matrix_from_arrays("scores", arrays), bool(header["complete"])
    sides = [
        tuple(matrix_from_arrays(f"table.{k}.{t}", arrays) for t in range(1 + len(of_side)))
        for k, of_side in enumerate(names)
    ]
    shapes = [tuple(table.shape) for side in sides for table in side]
    expected = [
        size
        for m, n, of_side in zip(shape, n_features, names, strict=True)
        for size in ((m, n), *((m, m) for _ in of_side))
    ]
    if tuple(Y.shape) != shape or shapes != expected:
        raise ValueError(
            f"its scores and tables have the shapes {tuple(Y.shape)} and {shapes}, not {shape}, {expected}"
        )
    a, b = (dict(zip(of_side, side[1:], strict=True)) for of_side, side in zip(names, sides, strict=True))
    observed = None if complete else "stored"
    dyads = Dyads(Y, sides[0][0], sides[1][0], observed, row_similarity=a or None, column_similarity=b or None)
    dyads.encoders = encoders
    return automatic_from_arrays(family, header["automatic"], arrays, dyads), Y, complete


def automatic_to_arrays(parts: AutomaticParts, family: Mapping[str, type]) -> tuple[dict[str, Any], dict[str, Array]]:
    """A part of a header, and arrays, without the known scores and the tables of entities.

    The embedding must be of a class in `family`, which are given by name. Effects, kernels and what neighbors average
    are made again from scores and tables; coefficients and profiles, which take long, are kept. Models of very many
    entities are fitted again.
    """
    arrays: dict[str, Array] = {}
    stages: list[SmoothingStage] = []
    answers = [_answer_to_header(parts, answer, stages, arrays) for answer in parts.answers]
    header: dict[str, Any] = {"criterion": parts.criterion, "answers": answers}
    header["stages"] = [_stage_to_header(number, stages, arrays) for number in range(len(stages))]
    if parts.embedding is not None:
        header["embedding"], inner = embedding_to_arrays(parts.embedding, family)
        arrays |= inner
    return header, arrays


def automatic_from_arrays(
    family: Mapping[str, type], header: Mapping[str, Any], arrays: Mapping[str, Array], dyads: Dyads
) -> AutomaticParts:
    """The inverse of `automatic_to_arrays`, for the dyads of the fit; a ValueError unless they belong together."""
    embedding = embedding_from_arrays(header["embedding"], arrays, family) if "embedding" in header else None
    descriptions = describe_sides(dyads, embedding)
    if is_large(dyads):
        answers = [_answer_from(kept, descriptions) for kept in header["answers"]]
        return _parts_of(dyads, embedding, descriptions, answers, fit_answers(dyads, answers, descriptions), header)
    kernels, scores = EntityKernels(descriptions), known_scores(dyads)
    effects: dict[tuple[bool, bool], Effects] = {}
    stages: list[SmoothingStage] = []
    for number, kept in enumerate(header["stages"]):
        recipe = _recipe_from(kept["recipe"], descriptions)
        if recipe.effects not in effects:
            effects[recipe.effects] = fit_effects(scores, recipe.effects)
        found = effects[recipe.effects]
        name, shape = f"stage.{number}", dyads.shape
        if recipe.head in ("kronecker", "two-step"):
            C = checked_array(arrays, f"{name}.coefficients", shape)
        else:
            C = scores.residuals(found.mean, found.rows, found.columns)
        Z = checked_array(arrays, f"{name}.profiles", shape) if f"{name}.profiles" in arrays else None
        before = kept.get("before")
        if before is not None and not 0 <= int(before) < number:
            raise ValueError(f"its stage {number} follows stage {before}, which does not come before it")
        stages.append(
            SmoothingStage(
                recipe,
                found,
                C,
                scores.mask,
                None if Z is None else EntityProfiles(Z),
                None if before is None else stages[int(before)],
                RecipeKernels(kernels, recipe),
                scores.range,
            )
        )
    heads: dict[str, Head] = {}
    calibrations: dict[str, Calibration] = {}
    answers = []
    for kept in header["answers"]:
        answer = _answer_from(kept, descriptions)
        numbers = [int(number) for number in kept["stages"]]
        if not numbers or not all(0 <= number < len(stages) for number in numbers):
            raise ValueError(f"its answer to {answer.by!r} has the stages {numbers}, but there are {len(stages)}")
        members = tuple(StagesHead(stages[n], RecipeKernels(kernels, stages[n].recipe)) for n in numbers)
        heads[answer.by] = Stack(members, answer.weights)
        if "calibration" in kept:
            found_notes = Calibration.from_arrays(kept["calibration"], arrays, f"calibration.{answer.by}")
            calibrations[answer.by] = found_notes
        answers.append(answer)
    return _parts_of(dyads, embedding, descriptions, answers, Answers(heads, calibrations), header)


def _parts_of(
    dyads: Dyads,
    embedding: ViewsTransformer | None,
    descriptions: Sides,
    answers: Sequence[Answer],
    head: Answers,
    header: Mapping[str, Any],
) -> AutomaticParts:
    labels = tuple(tuple(d.label for d in side) for side in descriptions)
    tables = (tables_of(dyads, 0), tables_of(dyads, 1))
    criterion = check_criterion(str(header["criterion"]), dyads.is_implicit)
    return AutomaticParts(tables, (labels[0], labels[1]), embedding, tuple(answers), head, criterion, dyads.is_implicit)


def _answer_to_header(
    parts: AutomaticParts, answer: Answer, stages: list[SmoothingStage], arrays: dict[str, Array]
) -> dict[str, Any]:
    failed = parts.failures()
    failed = failed[failed["question"] == answer.by]
    stack = parts.head.heads[answer.by]
    assert isinstance(stack, Stack)
    numbers = [_number_of(member.stage, stages) for member in stack.members if isinstance(member, StagesHead)]
    values = {"score": answer.score, "error": answer.error, "baseline": answer.baseline}
    header: dict[str, Any] = {
        "by": answer.by,
        "stages": numbers,
        "weights": list(answer.weights),
        "scores": list(answer.scores),
        "shares": list(answer.shares),
        "recipes": [asdict(recipe) for recipe in answer.recipes],
        **{name: _to_json(value) for name, value in values.items()},
        "measures": {name: [_to_json(value) for value in pair] for name, pair in answer.measures.items()},
        "failures": list(zip(failed["setting"], failed["error"], strict=True)),
        "fits": answer.fits,
    }
    if (calibration := parts.head.calibrations.get(answer.by)) is not None:
        header["calibration"], more = calibration.to_arrays(f"calibration.{answer.by}")
        arrays |= more
    return header


def _answer_from(kept: Mapping[str, Any], descriptions: Any) -> Answer:
    names = ("score", "error", "baseline")
    score, error, baseline = (_from_json(kept[name]) for name in names)
    recipes = tuple(_recipe_from(recipe, descriptions) for recipe in kept["recipes"])
    weights = tuple(float(weight) for weight in kept["weights"])
    if kept["by"] not in ("rows", "columns", "both", "pairs") or len(weights) != len(recipes) != 0:
        raise ValueError(f"its answer to {kept['by']!r} has {len(recipes)} members and {len(weights)} weights")
    measures = {str(name): (_from_json(a), _from_json(b)) for name, (a, b) in kept["measures"].items()}
    return Answer(
        kept["by"],
        recipes,
        weights,
        tuple(map(float, kept["scores"])),
        score,
        error,
        baseline,
        failures={str(setting): str(why) for setting, why in kept["failures"]},
        fits=int(kept["fits"]),
        measures=measures,
        shares=tuple(map(float, kept.get("shares", ()))),
    )


def _to_json(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _from_json(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _number_of(stage: SmoothingStage, stages: list[SmoothingStage]) -> int:
    """The number of a stage among those that are kept, to which it is added with those before it."""
    for number, other in enumerate(stages):
        if other is stage:
            return number
    if stage.before is not None and stage.profiles is not None:
        _number_of(stage.before, stages)
    stages.append(stage)
    return len(stages) - 1


def _stage_to_header(number: int, stages: list[SmoothingStage], arrays: dict[str, Array]) -> dict[str, Any]:
    stage, name = stages[number], f"stage.{number}"
    header: dict[str, Any] = {"recipe": asdict(stage.recipe)}
    if stage.recipe.head in ("kronecker", "two-step"):
        arrays[f"{name}.coefficients"] = stage.coefficients
    if stage.profiles is not None:
        arrays[f"{name}.profiles"] = stage.profiles.Z
        if stage.before is not None:
            header["before"] = _number_of(stage.before, stages)
    return header


def _recipe_from(kept: Mapping[str, Any], descriptions: Any) -> Recipe:
    """A recipe from a header; a ValueError if it has descriptions that are not there."""
    sides = []
    for name, side in zip(("rows", "columns"), descriptions, strict=True):
        terms = tuple(Term(int(t["description"]), float(t["power"]), float(t["share"])) for t in kept[name])
        if any(not 0 <= term.description < len(side) or not term.power > 0 for term in terms):
            raise ValueError(f"its kernels of {name} are {kept[name]}, of {len(side)} descriptions")
        sides.append(terms)
    pairs = {name: (float(kept[name][0]), float(kept[name][1])) for name in ("penalties", "profiles", "borrow")}
    recipe = Recipe(
        head=str(kept["head"]),
        rows=sides[0],
        columns=sides[1],
        effects=(bool(kept["effects"][0]), bool(kept["effects"][1])),
        profile=str(kept["profile"]),
        width=float(kept["width"]),
        rounds=int(kept["rounds"]),
        **pairs,
    )
    if recipe.head not in ("effects", "kronecker", "two-step", "neighbors"):
        raise ValueError(f"its head is {recipe.head!r}, which is not known")
    return recipe

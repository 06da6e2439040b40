"""The search for the recipes of one question, from cheap ones to dear ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from jointdr.data import By
from jointdr.prediction.heads.descriptions import Description
from jointdr.prediction.heads.stages import Recipe, Term
from jointdr.prediction.search.bench import Bench, RecipeTrial
from jointdr.prediction.search.parts import new_sides

POWERS = {
    "cosine": (2.0, 1.0, 4.0),
    "gaussian": (2.0, 8.0),
    "tanimoto": (1.0, 2.0),
    "given": (1.0, 2.0, 4.0),
    "linear": (1.0,),
    "identity": (1.0,),
}
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
START = 0.3  # the penalty at which kernels are compared
TWO_STEPS = (0.03, 0.3, 3.0)  # penalties of each side of two-step ridge
SHARP = (2.0, 4.0, 8.0, 16.0)  # powers of the kernels of neighbors
WIDE = (2.0, 4.0)  # powers of wide ones, of known and of new entities
ALONE = (4.0, 16.0)  # those at which each description is tried alone
BORROWED = (0.0, 0.1, 0.5, 1.0)
SHARES = (0.3, 0.6)  # of profiles
PAIR_SHARES = (0.3, 0.5, 0.7)  # the same where all entities are known
ROUNDS = 3
SWEEPS = 2  # over the kernels of both sides, at most

Options = list[tuple[Term, ...]]


def kernel_options(descriptions: Sequence[Description], learned: bool) -> Options:
    """The kernels that are tried for one side."""
    found: Options = [
        (Term(number, power),)
        for number, description in enumerate(descriptions)
        if description.kind != "linear"
        for power in POWERS[description.kind]
    ]
    if learned:
        found += [(Term(len(descriptions), power),) for power in (1.0, 3.0)]
    return found


def screen(
    bench: Bench, by: By, options: tuple[Options, Options], complete: bool, neighbors: bool = True
) -> list[Recipe]:
    """Recipes worth a complete fit: the best of each kind on these parts."""
    new = new_sides(by)
    effects = (not new[0], not new[1])
    if not all(options):
        return []
    start = Recipe("kronecker", options[0][0], options[1][0], (START, START), effects)
    if by == "pairs":  # known scores describe entities best, and kernels have to suit what they leave
        start = replace(start, profiles=(0.5, 0.5), profile="known" if bench.implicit else "filled", rounds=1)
    pairs_of_kernels = [(a, options[1][0]) for a in options[0]] + [(options[0][0], b) for b in options[1][1:]]
    found = (_try_last(bench, [replace(start, rows=a, columns=b)]) for a, b in pairs_of_kernels)
    best = next((trials[0] for trials in found if trials), None)  # the first one, unless it cannot be fitted
    if best is None:
        return []
    sides = (0, 1) if new[0] or not new[1] else (1, 0)
    for _ in range(SWEEPS):  # kernels of one side look alike beside a bad one of the other, or bad effects
        before = best.recipe
        for k in sides:
            best = _choose_kernel(bench, best, k, options[k])
        best = max([best, *_try_last(bench, _other_effects(best.recipe, new))], key=_mean_score)
        if best.recipe == before:
            break
    best = _best(bench, [_with_penalty(best.recipe, p) for p in PENALTIES])
    recipes = [best.recipe]
    if by == "pairs":
        plain = replace(best.recipe, profiles=(0.0, 0.0), profile="filled", rounds=0)
        recipes.append(_best(bench, [_with_penalty(plain, p) for p in PENALTIES]).recipe)
    plain = recipes[-1]
    if complete:
        two = replace(plain, head="two-step", effects=(False, False))
        pairs = [(p, q) for p in TWO_STEPS for q in TWO_STEPS]
        recipes.append(replace(two, penalties=bench.best_penalties(two, by, pairs)))
    if not neighbors:
        return recipes
    with suppress(ValueError):  # where none of these can be fitted, as the failures of the bench say
        recipes.append(_neighbors(bench, plain, new))
    return recipes


def _choose_kernel(bench: Bench, best: RecipeTrial, k: int, options: Options) -> RecipeTrial:
    """The best trial with another kernel of one side, or with the mean of the best kernels of its descriptions."""
    trials = _try_last(bench, [_with_kernel(best.recipe, k, option) for option in options])
    top = max([best, *trials], key=_mean_score)
    per: dict[int, Term] = {}
    for trial in sorted(trials, key=_mean_score, reverse=True):
        per.setdefault(trial.recipe.terms(k)[0].description, trial.recipe.terms(k)[0])
    few = list(per.values())
    mixtures = [few[:count] for count in (2, 3) if count <= len(few)]
    return max(
        [top, *_try_last(bench, [_with_kernel(top.recipe, k, _mean(terms)) for terms in mixtures])], key=_mean_score
    )


def _other_effects(recipe: Recipe, new: tuple[bool, bool]) -> list[Recipe]:
    """The same with other effects of known entities.

    Those of entities with few known scores leave less for kernels to see than they explain.
    """
    kinds = [(False,) if is_new else (True, False) for is_new in new]
    return [replace(recipe, effects=(a, b)) for a in kinds[0] for b in kinds[1] if (a, b) != recipe.effects]


def neighbors_in_coordinates(bench: Bench, by: By, recipe: Recipe, raw: Recipe | None) -> list[Recipe]:
    """Nadaraya-Watson regression on coordinates, as in the paper; a ValueError if it cannot be fitted.

    With wide kernels, alone and mixed with those of `raw`, its neighbors in other descriptions, and with kernels that
    are best on these parts. A sample has too few scores to learn coordinates that distances can be trusted in, so that
    it chooses kernels that are far too narrow for those of all scores.
    """
    a, b = (len(side) for side in bench.similarities.descriptions)
    new = new_sides(by)
    effects = (not new[0], not new[1])
    plain = replace(recipe, rows=(Term(a),), columns=(Term(b),), effects=effects, profiles=(0.0, 0.0), profile="filled")
    narrow = _neighbors(bench, replace(plain, rounds=0), new, alone=False)
    wide = narrow
    for k, (number, is_new) in enumerate(zip((a, b), new, strict=True)):
        wide = _with_kernel(wide, k, (Term(number, WIDE[is_new]),))
    found = [wide, narrow]
    if raw is not None:
        mixed = raw
        for k in (0, 1):
            others = [term for term in raw.terms(k) if term.description != wide.terms(k)[0].description]
            mixed = _with_kernel(mixed, k, _mean([*wide.terms(k), *others]))
        found.insert(0, mixed)
    return list(dict.fromkeys(found))


def _neighbors(bench: Bench, recipe: Recipe, new: tuple[bool, bool], alone: bool = True) -> Recipe:
    """Nadaraya-Watson regression with kernels of its own: narrow ones, of the same descriptions or of one `alone`.

    A mixture may average over too many entities, because similarities of some descriptions are never small.
    """
    lent = [1.0 if is_new else 0.5 for is_new in new]
    start = replace(recipe, head="neighbors", borrow=(lent[0], lent[1]))
    for k in (0, 1):
        start = _with_kernel(start, k, tuple(replace(term, power=4.0 * term.power) for term in start.terms(k)))
    best = _best(bench, [start])
    for k in (0, 1) if new[0] or not new[1] else (1, 0):
        singles = [(Term(number, p),) for number in bench.similarities.numbers(k) for p in ALONE] if alone else []
        best = max([best, *_try_last(bench, [_with_kernel(best.recipe, k, one) for one in singles])], key=_mean_score)
        options = [tuple(replace(t, power=p) for t in best.recipe.terms(k)) for p in SHARP]
        best = max([best, *_try_last(bench, [_with_kernel(best.recipe, k, o) for o in options])], key=_mean_score)
        if not new[k]:
            tried = [replace(best.recipe, borrow=_replaced(best.recipe.borrow, k, b)) for b in BORROWED]
            best = max([best, *_try_last(bench, tried)], key=_mean_score)
    return best.recipe


def _mean_score(trial: RecipeTrial) -> float:
    return trial.mean


def with_profiles(recipe: Recipe, by: By, complete: bool, implicit: bool) -> list[Recipe]:
    """The same kernels with profiles, whose stages are trials of their own."""
    new = new_sides(by)
    if by == "pairs":
        rounds = 1 if implicit else ROUNDS
        return [replace(recipe, profiles=(share, share), rounds=rounds) for share in PAIR_SHARES]
    found = []
    for share in SHARES:
        if by != "both":
            kind = "known" if complete else "filled"
            of_known = (0.0 if new[0] else share, 0.0 if new[1] else share)
            found.append(replace(recipe, profiles=of_known, profile=kind, rounds=1))
        found.append(replace(recipe, profiles=(share, share), profile="filled", rounds=1))
    return found


def _try_last(bench: Bench, recipes: Iterable[Recipe]) -> list[RecipeTrial]:
    """The last stage of each recipe that could be fitted."""
    found = [bench.try_recipe(recipe) for recipe in recipes]
    return [trials[-1] for trials in found if trials]


def _best(bench: Bench, recipes: Sequence[Recipe]) -> RecipeTrial:
    trials = _try_last(bench, recipes)
    if not trials:
        raise ValueError(f"No recipe could be fitted: {list(bench.failures.values())[:1]}")
    return max(trials, key=_mean_score)


def _with_kernel(recipe: Recipe, k: int, terms: tuple[Term, ...]) -> Recipe:
    return replace(recipe, rows=terms) if k == 0 else replace(recipe, columns=terms)


def _with_penalty(recipe: Recipe, penalty: float) -> Recipe:
    return replace(recipe, penalties=(penalty, penalty))


def _mean(terms: Sequence[Term]) -> tuple[Term, ...]:
    return tuple(replace(term, share=1.0 / len(terms)) for term in terms)


def _replaced(pair: tuple[float, float], k: int, value: float) -> tuple[float, float]:
    return (value, pair[1]) if k == 0 else (pair[0], value)

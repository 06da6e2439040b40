"""Nothing that is held out has any influence on what it is predicted by."""

from dataclasses import replace

import numpy as np
import pytest

from jointdr import JDR, Dyads
from jointdr.prediction.heads.descriptions import raw_descriptions
from jointdr.prediction.heads.spectra import (
    KernelSpectrum,
    apply_filter,
    leave_out,
    leave_out_with_mean,
    two_step_filter,
)
from jointdr.prediction.heads.stages import Recipe, Scores, Term
from jointdr.prediction.search.bench import Bench, Similarities
from jointdr.prediction.search.learned import LearnedSimilarities
from jointdr.prediction.search.parts import make_parts

QUESTIONS = ("rows", "columns", "both", "pairs")

RECIPES = {
    "effects": Recipe("effects"),
    "ridge": Recipe("kronecker", (Term(0),), (Term(1, 2.0),)),
    "two steps": Recipe("two-step", (Term(0),), (Term(1),), (0.1, 1.0), effects=(False, False)),
    "neighbors": Recipe("neighbors", (Term(0, 4.0),), (Term(1, 4.0),), borrow=(0.5, 0.5)),
    "known profiles": Recipe("kronecker", (Term(0),), (Term(1),), profiles=(0.5, 0.5), profile="known", rounds=1),
    "filled profiles": Recipe("kronecker", (Term(0),), (Term(1),), profiles=(0.5, 0.5), rounds=2),
    "predicted profiles": Recipe(
        "kronecker", (Term(0),), (Term(1),), profiles=(0.5, 0.5), profile="predicted", rounds=2
    ),
    "coordinates": Recipe("kronecker", (Term(2),), (Term(2),)),
}


def held_out_predictions(scores, implicit, by, recipe, dyads):
    rng = np.random.RandomState(0)
    parts = make_parts(scores, implicit, by, 3, rng)
    raw = (raw_descriptions(dyads, 0), raw_descriptions(dyads, 1))
    similarities = Similarities(raw, LearnedSimilarities(dyads, JDR(2, ridge=1.0), (None, None)))
    bench = Bench(scores, parts, similarities, "auto", implicit)
    fitted = [bench.try_recipe(recipe)[-1].predictions[n] for n in range(len(parts))]
    assert not bench.failures
    return parts, fitted


@pytest.mark.parametrize("name", list(RECIPES))
@pytest.mark.parametrize("by", QUESTIONS)
@pytest.mark.parametrize("kind", ["complete", "incomplete", "implicit"])
def test_changing_what_is_held_out_moves_no_prediction_of_it(rng, name, by, kind):
    A, B = rng.standard_normal((18, 4)), rng.standard_normal((15, 3))
    Y = A[:, :2] @ B[:, :2].T + 0.1 * rng.standard_normal((18, 15))
    mask = None
    if kind == "implicit":
        Y = (Y > 0.8).astype(float)
    elif kind == "incomplete":
        mask = (rng.random(Y.shape) < 0.8).astype(float)
        Y = Y * mask
    recipe = RECIPES[name]
    if name == "known profiles":  # which new entities do not have
        recipe = replace(recipe, profiles=(0.5 * (by not in ("rows", "both")), 0.5 * (by not in ("columns", "both"))))
        if recipe.profiles == (0.0, 0.0):
            pytest.skip("there are no known profiles where both are new")
    if recipe.head == "two-step" and (mask is not None or (by == "pairs" and kind != "implicit")):
        pytest.skip("two-step ridge is for complete grids")

    def run(Y, part=None):
        observed = None if mask is None else mask > 0
        dyads = Dyads(Y, A, B, observed)
        return held_out_predictions(Scores(Y, mask), kind == "implicit", by, recipe, dyads)

    parts, before = run(Y)
    for n, part in enumerate(parts):
        changed = Y.copy()
        held = np.zeros(Y.shape, dtype=bool)
        if by == "pairs":
            held[part.new_rows] = (part.truth != 0) if kind == "implicit" else part.judged
        else:
            rows, columns = (part.by in ("rows", "both")), (part.by in ("columns", "both"))
            if rows:
                held[part.new_rows] = True
            if columns:
                held[:, part.new_columns] = True
        if mask is not None:
            held &= mask > 0
        if kind == "implicit" and by == "pairs":
            changed[held] = 3.0  # another score of the same association, so that folds stay the same
        elif kind == "implicit":
            changed[held] = 1.0 - changed[held]
        else:
            changed[held] += 5.0
        _, after = run(changed)
        np.testing.assert_array_equal(after[n], before[n])


@pytest.mark.parametrize("by", ["rows", "columns", "both"])
@pytest.mark.parametrize("kind", ["complete", "incomplete", "implicit"])
def test_parts_hold_out_whole_groups(rng, by, kind):
    """Each entity of a minor group once, and the group of the majority never."""
    Y = (rng.random((30, 26)) < 0.5).astype(float)
    mask = (rng.random(Y.shape) < 0.9).astype(float) if kind == "incomplete" else None
    groups = (np.repeat(np.arange(10), 3), np.array([0] * 14 + [1] * 3 + [2, 3, 4, 5, 6, 6, 7, 7, 7]))
    parts = make_parts(Scores(Y, mask), kind == "implicit", by, 4, np.random.RandomState(0), groups)
    assert len(parts) == 4
    seen = ([], [])
    for part in parts:
        for k, (known, held) in enumerate(((part.rows, part.new_rows), (part.columns, part.new_columns))):
            if part.is_new[k]:
                assert not set(groups[k][known]) & set(groups[k][held])
                seen[k].extend(held.tolist())
    assert sorted(seen[0]) == (list(range(30)) if by in ("rows", "both") else [])
    assert sorted(seen[1]) == (list(range(14, 26)) if by in ("columns", "both") else [])


def test_a_part_of_two_groups(rng):
    """One of more than half is fitted and the other predicted, also where entities of the other side are new."""
    Y, codes = rng.standard_normal((12, 8)), np.array([0] * 8 + [1] * 4)
    for by in ("rows", "both"):
        (part,) = make_parts(Scores(Y, None), False, by, 1, np.random.RandomState(0), (codes, None))
        assert (part.rows.tolist(), part.new_rows.tolist()) == (list(range(8)), list(range(8, 12)))
        assert min(len(part.columns), len(part.new_columns)) > 0


@pytest.mark.parametrize("by", ["rows", "columns", "both"])
def test_leaving_out_groups_in_closed_form_is_fitting_again(rng, by):
    X, Z = rng.standard_normal((9, 3)), rng.standard_normal((7, 2))
    K, L = (np.exp(-0.3 * np.sum((V[:, None] - V) ** 2, axis=2)) + 0.2 for V in (X, Z))
    Y, penalties = rng.standard_normal((9, 7)), (0.3, 0.7)
    groups = (np.array([0, 1, 1, 2, 0, 3, 1, 2, 4]), np.array([0, 0, 1, 2, 2, 2, 3]))
    found = leave_out(by, KernelSpectrum.of(K), KernelSpectrum.of(L), Y, penalties, groups)
    for i in range(9):
        for j in range(7):
            rows = np.flatnonzero(groups[0] != (groups[0][i] if by in ("rows", "both") else -1))
            columns = np.flatnonzero(groups[1] != (groups[1][j] if by in ("columns", "both") else -1))
            A, B = KernelSpectrum.of(K[np.ix_(rows, rows)]), KernelSpectrum.of(L[np.ix_(columns, columns)])
            Z_ij = apply_filter(A, B, Y[np.ix_(rows, columns)], two_step_filter(A, B, penalties))
            assert found[i, j] == pytest.approx(K[i, rows] @ Z_ij @ L[j, columns], abs=1e-8)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("by", ["rows", "columns", "both"])
def test_the_mean_is_one_of_what_is_fitted(rng, by, grouped):
    """Penalties of two-step ridge are chosen by fits that subtract the mean of their own scores."""
    X, Z = rng.standard_normal((9, 3)), rng.standard_normal((7, 2))
    K, L = (np.exp(-0.3 * np.sum((V[:, None] - V) ** 2, axis=2)) + 0.2 for V in (X, Z))
    Y, penalties = 5.0 + rng.standard_normal((9, 7)), (0.3, 0.7)
    groups = (np.array([0, 1, 1, 2, 0, 3, 1, 2, 4]), np.array([0, 0, 1, 2, 2, 2, 3]))
    codes = groups if grouped else (np.arange(9), np.arange(7))
    given = groups if grouped else (None, None)
    found = leave_out_with_mean(by, KernelSpectrum.of(K), KernelSpectrum.of(L), Y, penalties, given)
    for i in range(9):
        for j in range(7):
            rows = np.flatnonzero(codes[0] != (codes[0][i] if by in ("rows", "both") else -1))
            columns = np.flatnonzero(codes[1] != (codes[1][j] if by in ("columns", "both") else -1))
            A, B = KernelSpectrum.of(K[np.ix_(rows, rows)]), KernelSpectrum.of(L[np.ix_(columns, columns)])
            train = Y[np.ix_(rows, columns)]
            C = apply_filter(A, B, train - train.mean(), two_step_filter(A, B, penalties))
            assert found[i, j] == pytest.approx(train.mean() + K[i, rows] @ C @ L[j, columns], abs=1e-8)


def test_the_score_of_a_pair_has_no_influence_on_its_prediction_without_it(rng):
    X, Z = rng.standard_normal((9, 3)), rng.standard_normal((7, 2))
    a, b = (KernelSpectrum.of(np.exp(-0.3 * np.sum((V[:, None] - V) ** 2, axis=2)) + 0.2) for V in (X, Z))
    Y = rng.standard_normal((9, 7))
    changed = Y.copy()
    changed[2, 3] += 100.0
    before, after = (leave_out_with_mean("pairs", a, b, scores, (0.3, 0.7)) for scores in (Y, changed))
    assert after[2, 3] == pytest.approx(before[2, 3], abs=1e-8)
    assert abs(after[2, 4] - before[2, 4]) > 0.1


@pytest.mark.parametrize("by", QUESTIONS)
def test_leaving_out_in_closed_form_is_fitting_again(rng, by):
    """Two-step ridge is kernel ridge regression on pairs with the kernel Γ = H (1 − H)⁻¹, H = H_A ⊗ H_B."""
    X, Z = rng.standard_normal((9, 3)), rng.standard_normal((7, 2))
    K, L = (np.exp(-0.3 * np.sum((V[:, None] - V) ** 2, axis=2)) + 0.2 for V in (X, Z))
    Y, penalties = rng.standard_normal((9, 7)), (0.3, 0.7)
    a, b = KernelSpectrum.of(K), KernelSpectrum.of(L)
    found = leave_out(by, a, b, Y, penalties)
    H, G = K @ np.linalg.inv(K + 0.3 * np.eye(9)), L @ np.linalg.inv(L + 0.7 * np.eye(7))

    def fit(rows, columns):
        A, B = KernelSpectrum.of(K[np.ix_(rows, rows)]), KernelSpectrum.of(L[np.ix_(columns, columns)])
        return apply_filter(A, B, Y[np.ix_(rows, columns)], two_step_filter(A, B, penalties))

    for i in range(9):
        for j in range(7):
            rows = np.delete(np.arange(9), i) if by in ("rows", "both") else np.arange(9)
            columns = np.delete(np.arange(7), j) if by in ("columns", "both") else np.arange(7)
            if by != "pairs":
                expected = K[i, rows] @ fit(rows, columns) @ L[j, columns]
            else:
                hat = np.kron(H, G)
                gamma = hat @ np.linalg.inv(np.eye(63) - hat)
                at, kept = i * 7 + j, np.delete(np.arange(63), i * 7 + j)
                alpha = np.linalg.solve(gamma[np.ix_(kept, kept)] + np.eye(62), Y.ravel()[kept])
                expected = gamma[at, kept] @ alpha
            assert found[i, j] == pytest.approx(expected, abs=1e-8)

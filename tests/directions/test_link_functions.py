from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jointdr.directions.refine import link_functions as links
from jointdr.directions.refine.link_functions import (
    Link,
    RidgePath,
    basis_of,
    fit_bilinear,
    fit_learned,
    fit_on_held_out,
    normal_equations,
    refit_link,
)


@pytest.mark.parametrize("products", ["cross", "all"])
@pytest.mark.parametrize("ranks", [(2, 3), (1, 1), (2, 1, 2)])
@pytest.mark.parametrize("n_fourier", [0, 7])
def test_gradients_are_those_of_the_features(rng, products, ranks, n_fourier):
    d, q, h = sum(ranks), 2, 1e-6
    Z = 1.0 + 2.0 * rng.standard_normal((5, d))
    basis = basis_of(Z, np.ones(5), ranks, products, n_fourier, 1.0, seed=3)
    basis = replace(basis, frequencies=basis.frequencies.astype(float), phases=basis.phases.astype(float))
    link = Link("learned", basis, rng.standard_normal((basis.width, q)))
    numeric = np.stack([(link.predict(Z + h * e) - link.predict(Z - h * e)) / (2 * h) for e in np.eye(d)], axis=2)
    np.testing.assert_allclose(link.gradient(Z), numeric, rtol=1e-6, atol=1e-6)


def test_which_products(rng):
    Z = rng.standard_normal((50, 5))
    assert basis_of(Z, np.ones(50), (2, 3), "cross").n_products == 1 + 6
    assert basis_of(Z, np.ones(50), (2, 3), "all").n_products == 1 + 5 + 15
    assert basis_of(Z, np.ones(50), (2, 2, 1), "cross").n_products == 1 + 4
    assert basis_of(Z, np.ones(50), (2, 2, 1), "all").n_products == 1 + 5 + 15 + 4


def test_a_bilinear_link_recovers_a_bilinear_response(rng):
    A, B, S = rng.standard_normal((300, 2)), rng.standard_normal((300, 3)), rng.standard_normal((2, 3))
    Y = 4.0 + np.einsum("mi,ij,mj->m", A, S, B)[:, None]
    link = fit_bilinear([A, B], Y, np.ones(300))
    np.testing.assert_allclose(link.predict([A, B]), Y, atol=1e-8)
    slopes = link.gradient([A, B])
    np.testing.assert_allclose(slopes[:, 0, :2], B @ S.T, atol=1e-7)
    np.testing.assert_allclose(slopes[:, 0, 2:], A @ S, atol=1e-7)


def test_squares_and_lines_with_all_products(rng):
    A, B = rng.standard_normal((300, 1)), rng.standard_normal((300, 1))
    Y = 1.0 + A**2 - 2.0 * B + 0.5 * A * B
    np.testing.assert_allclose(fit_bilinear([A, B], Y, np.ones(300), "all").predict([A, B]), Y, atol=1e-8)
    assert np.mean((fit_bilinear([A, B], Y, np.ones(300)).predict([A, B]) - Y) ** 2) > 1.0


def test_a_learned_link_follows_any_smooth_response(rng):
    Z = [rng.standard_normal((6000, 1)), rng.standard_normal((6000, 1))]
    truth = np.exp(-((Z[0] - Z[1]) ** 2))
    Y = truth + 0.1 * rng.standard_normal((6000, 1))
    held_out = np.arange(6000) % 5 == 0
    link, penalty = fit_on_held_out(Z, Y, np.ones(6000), held_out)
    error = np.mean((link.predict([z[held_out] for z in Z]) - truth[held_out]) ** 2)
    assert error < 0.03 * truth.var()
    quadratic = fit_bilinear(Z, Y, np.ones(6000), "all")
    assert np.mean((quadratic.predict(Z) - truth) ** 2) > 0.2 * truth.var()
    moved = [3 + 7 * Z[1], 0.1 * Z[0]]  # in other coordinates a refitted link is as good
    again = refit_link(link, penalty, moved, Y, np.ones(6000)).predict(moved)
    assert np.mean((again - truth) ** 2) < 0.03 * truth.var()
    validated = fit_learned(Z, Y, np.ones(6000))
    assert np.mean((validated.predict(Z) - truth) ** 2) < 0.03 * truth.var()


def test_where_there_is_nothing_to_learn_the_fourier_part_is_switched_off(rng):
    Z = [rng.standard_normal((1000, 2)), rng.standard_normal((1000, 2))]
    Y = rng.standard_normal((1000, 1))
    link, _ = fit_on_held_out(Z, Y, np.ones(1000), np.arange(1000) % 5 == 0)
    assert np.var(link.predict(Z)) < 0.1


def test_results_do_not_depend_on_blocks(rng, monkeypatch):
    Z, Y, weight = rng.standard_normal((2000, 4)), rng.standard_normal((2000, 2)), rng.uniform(0, 2, 2000)
    basis = basis_of(Z, weight, (2, 2), "all", 20)
    whole = normal_equations(basis, Z, Y, weight)
    monkeypatch.setattr(links, "BLOCK_BYTES", 1)
    parts = normal_equations(basis, Z, Y, weight)
    np.testing.assert_allclose(parts.G, whole.G, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(parts.g, whole.g, rtol=1e-10, atol=1e-9)


def test_weights_are_repetitions(rng):
    Z, Y = [rng.standard_normal((300, 2)), rng.standard_normal((300, 2))], rng.standard_normal((300, 1))
    times = rng.integers(0, 3, 300)
    weighted = fit_bilinear(Z, Y, times.astype(float), "all")
    repeated = fit_bilinear(
        [np.repeat(z, times, axis=0) for z in Z], np.repeat(Y, times, axis=0), np.ones(times.sum()), "all"
    )
    np.testing.assert_allclose(weighted.predict(Z), repeated.predict(Z), atol=1e-8)


def test_the_residual_comes_from_the_normal_equations(rng):
    Z, Y, weight = rng.standard_normal((200, 3)), rng.standard_normal((200, 2)), rng.uniform(0, 2, 200)
    basis = basis_of(Z, weight, (1, 2), "all")
    normal = normal_equations(basis, Z, Y, weight)
    theta = rng.standard_normal((basis.width, 2))
    expected = weight @ np.sum((Y - basis.features(Z) @ theta) ** 2, axis=1)
    assert normal.residual(theta) == pytest.approx(expected)


def test_the_path_minimizes_the_penalized_error(rng):
    Z, Y, weight = rng.standard_normal((200, 3)), rng.standard_normal((200, 2)), rng.uniform(0, 2, 200)
    basis = basis_of(Z, weight, (1, 2), "all", 30)
    normal = normal_equations(basis, Z, Y, weight)
    path, penalty = RidgePath(normal, basis.n_products), 0.01
    ridge = np.zeros(basis.width)
    ridge[basis.n_products :] = penalty * weight.sum()
    theta = path.coefficients(penalty)
    np.testing.assert_allclose(theta, np.linalg.solve(normal.G + np.diag(ridge), normal.g), atol=1e-6)
    freedom = np.trace(np.linalg.solve(normal.G + np.diag(ridge), normal.G))
    expected = normal.residual(theta) / (1 - freedom / 200) ** 2
    assert path.cross_validation(penalty, 200) == pytest.approx(expected, rel=1e-6)


def test_few_rows_have_a_link_too(rng):
    Z, Y = [rng.standard_normal((6, 2)), rng.standard_normal((6, 2))], rng.standard_normal((6, 1))
    assert np.isfinite(fit_learned(Z, Y, np.ones(6)).predict(Z)).all()


def test_wrong_coordinates_are_named(rng):
    link = fit_bilinear(
        [rng.standard_normal((9, 1)), rng.standard_normal((9, 1))], rng.standard_normal((9, 1)), np.ones(9)
    )
    with pytest.raises(ValueError, match=r"Z must have 2 coordinates per row.*got shape \(9, 3\)"):
        link.predict(np.zeros((9, 3)))
    assert link.predict(np.zeros((0, 2))).shape == (0, 1)


def test_mean_square_gradients(rng):
    Z, Y, weight = (
        [rng.standard_normal((50, 2)), rng.standard_normal((50, 1))],
        rng.standard_normal((50, 2)),
        rng.uniform(0, 2, 50),
    )
    link = fit_bilinear(Z, Y, weight, "all")
    G = link.gradient(Z)
    expected = np.einsum("m,mqi,mqj->ij", weight, G, G) / weight.sum()
    np.testing.assert_allclose(link.mean_square_gradient(Z, weight), expected)

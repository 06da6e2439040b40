"""Profiles: the scores of an entity as a description of it."""

import numpy as np
import pytest

from jointdr.prediction.heads.profiles import EntityProfiles, center


@pytest.fixture
def Z(rng):
    return rng.standard_normal((9, 7))


@pytest.mark.parametrize("k", [0, 1])
def test_similarities_are_a_kernel(Z, k):
    found = EntityProfiles(Z)
    S = found.similarities(k, found.of(k), 1.0)
    np.testing.assert_allclose(S, S.T)
    np.testing.assert_allclose(np.diag(S), 1.0)
    assert np.linalg.eigvalsh(S).min() > 0


def test_half_of_a_similarity_does_not_see_how_high_an_entity_scores(Z):
    """A row that is another one and a constant is equal to it but for its level."""
    Z = np.vstack([Z, Z[0] + 3.0])
    S = EntityProfiles(Z).similarities(0, Z, 1.0)
    centered = center(Z, Z.mean(axis=0))
    np.testing.assert_allclose(centered[0], centered[-1])
    assert 0.5 < S[0, -1] < 1.0


def test_columns_are_rows_of_the_transpose(Z):
    by_columns, by_rows = (
        EntityProfiles(Z).similarities(1, Z.T[:3], 2.0),
        EntityProfiles(Z.T).similarities(0, Z.T[:3], 2.0),
    )
    np.testing.assert_allclose(by_columns, by_rows)


def test_the_unit_of_scores_does_not_matter(Z):
    np.testing.assert_allclose(
        EntityProfiles(10.0 * Z + 3.0).similarities(0, 10.0 * Z[:4] + 3.0, 1.0),
        EntityProfiles(Z).similarities(0, Z[:4], 1.0),
    )


def test_equal_profiles_are_equal(rng):
    Z = np.tile(rng.standard_normal(5), (4, 1))
    np.testing.assert_allclose(EntityProfiles(Z).similarities(0, Z, 1.0), 1.0)

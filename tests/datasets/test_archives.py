"""Archives of benchmarks: three layouts, recognized by their names."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from jointdr.datasets import load_archive, spectral_features


def stored(name, M):
    M = sparse.csr_array(M)
    parts = {"data": M.data, "indices": M.indices, "indptr": M.indptr, "shape": np.array(M.shape)}
    return {f"{name}_{part}": value for part, value in parts.items()}


def ring(rng, m):
    """A connected graph with random weights."""
    W = np.zeros((m, m))
    at = np.arange(m)
    W[at, (at + 1) % m] = W[(at + 1) % m, at] = 0.5 + rng.random(m)
    return W


@pytest.fixture
def networks(rng):
    Y, other = ((rng.random((6, 5)) < 0.4).astype(np.float32) for _ in range(2))
    return {
        **stored("mimminer", ring(rng, 12)),
        **stored("net", ring(rng, 9)),
        **stored("Y_other", other),
        **stored("Y_all_v4", Y),
        "disease_to_mimminer": np.arange(11, 5, -1),
        "gene_to_net": np.array([8, 3, 0, 1, 2]),
        "disease_omim": np.array(["000100", "000101", "000102", "000103", "000104", "000105"]),
        "gene_entrez": np.arange(5),
    }


def written(tmp_path, arrays):
    np.savez(tmp_path / "data.npz", **arrays)
    return tmp_path / "data.npz"


def test_nodes_of_networks_get_their_own_spectral_features(networks, tmp_path):
    dyads = load_archive(written(tmp_path, networks))
    W = sparse.csr_array(tuple(networks[f"net_{part}"] for part in ("data", "indices", "indptr")), shape=(9, 9))
    np.testing.assert_allclose(dyads.B, spectral_features(W, 8)[networks["gene_to_net"]])
    assert dyads.is_complete
    assert dyads.names == ("disease", "gene")
    assert dyads.row_ids.tolist() == networks["disease_omim"].tolist()
    assert dyads.column_ids.tolist() == ["0", "1", "2", "3", "4"]


def test_the_response_is_chosen_by_name(networks, tmp_path):
    path = written(tmp_path, networks)
    for name, given in ((None, "Y_all_v4"), ("Y_other", "Y_other")):
        np.testing.assert_array_equal(load_archive(path, name).Y.data, networks[f"{given}_data"])
    with pytest.raises(ValueError, match=r"choose from \['Y_other', 'Y_all_v4'\]"):
        load_archive(path, "Y_omim")


def test_similarities_stay_what_they_are(rng, tmp_path):
    tables = [rng.random((m, 20)) for m in (7, 5)]
    S = [X @ X.T / np.outer(*(np.linalg.norm(X, axis=1),) * 2) for X in tables]
    arrays = {
        "Y": (rng.random((7, 5)) < 0.4).astype(np.uint8),
        "S_disease_mimminer": S[0],
        "S_drug_chem": S[1],
        "disease_omim": np.array([f"D{i}" for i in range(7)]),
        "drug_drugbank": np.array([f"DB{i}" for i in range(5)]),
    }
    dyads = load_archive(written(tmp_path, arrays))
    np.testing.assert_allclose(dyads.A @ dyads.A.T, S[0], atol=1e-10)
    np.testing.assert_allclose(dyads.B @ dyads.B.T, S[1], atol=1e-10)
    np.testing.assert_array_equal(dyads.Y.toarray(), arrays["Y"])
    assert dyads.is_complete
    with pytest.raises(ValueError, match="'Y' only"):
        load_archive(tmp_path / "data.npz", "Y_all")


@pytest.fixture
def features(rng):
    """Drugs, targets and three graded pairs, one of them 0."""
    return {
        "y": np.array([11.0, 0.0, 12.5], dtype=np.float32),
        "drug_idx": np.array([0, 3, 1], dtype=np.int16),
        "target_idx": np.array([2, 0, 1], dtype=np.int16),
        "X_drug_ecfp4": (rng.random((4, 6)) < 0.5).astype(np.uint8),
        "X_target_dipep": rng.random((3, 4)),
        "drug_id": np.array(["a", "b", "c", "d"]),
        "target_id": np.array(["p", "q", "r"]),
    }


def test_listed_pairs_are_the_observed_ones(features, tmp_path):
    dyads = load_archive(written(tmp_path, features))
    assert not dyads.is_complete
    assert dyads.n_observed == 3  # a stored 0 is a score
    assert (dyads.Y[0, 2], dyads.Y[1, 1]) == (11.0, 12.5)
    np.testing.assert_array_equal(dyads.A, features["X_drug_ecfp4"])
    np.testing.assert_allclose(dyads.B**2, features["X_target_dipep"])


def test_pairs_that_are_listed_twice_are_refused(features, tmp_path):
    features |= {"drug_idx": np.array([0, 3, 0]), "target_idx": np.array([2, 0, 2])}
    with pytest.raises(ValueError, match=r"drug_idx and target_idx .* more than once.*\(0, 2\)\. List"):
        load_archive(written(tmp_path, features))


def test_pairs_outside_the_tables_are_refused(features, tmp_path):
    for wrong in (3, -1):
        with pytest.raises(ValueError, match="index"):
            load_archive(written(tmp_path, features | {"target_idx": np.array([2, 0, wrong])}))


@pytest.mark.parametrize("name", ["mimminer_indices", "net_shape", "Y_all_v4_indptr"])
def test_a_part_that_is_missing_is_named(networks, name, tmp_path):
    del networks[name]
    with pytest.raises(ValueError, match=f"lacks {name}"):
        load_archive(written(tmp_path, networks))


def test_what_is_no_such_archive_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"none of the known layouts. It holds x, but .*S_drug_chem"):
        load_archive(written(tmp_path, {"x": np.ones(3)}))
    (tmp_path / "text.npz").write_text("disease\tgene\n")
    with pytest.raises(ValueError, match=r"text.npz is not a whole .npz archive .*no archive at all"):
        load_archive(tmp_path / "text.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(ValueError, match="one array alone"):
        load_archive(tmp_path / "one.npy")
    np.savez(tmp_path / "code.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="none of the known layouts"):
        load_archive(tmp_path / "code.npz")
    with pytest.raises(FileNotFoundError):
        load_archive(tmp_path / "absent.npz")

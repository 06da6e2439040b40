"""Columns with molecules, sequences and terms: their features, what is kept of them, and models that take them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from jointdr import AssociationModel, Dyads, TableEncoder, TableWarning, load
from jointdr.datasets import Ontology, fingerprints, propagate_terms, sequence_features, tfidf
from jointdr.prediction import raw_descriptions

pd = pytest.importorskip("pandas")

SMILES = ["CCO", "CCCO", "CCN", "CCCCN", "OCCO", "CCOC", "CCSC", "CC(C)O"]
SEQUENCES = ["MKKFFDSRRE", "ACACAC", "MLEICLKLVG", "WWYYVV", "ACDEFGHIKL", "KKKKAA", "MEEPQSDPSV", "GGGPPP"]
ONTOLOGY = Ontology(
    {term: term for term in ("T:0", "T:1", "T:2", "T:3", "T:4")},
    {"T:0": (), "T:1": ("T:0",), "T:2": ("T:0",), "T:3": ("T:1",), "T:4": ("T:3", "T:2")},
    {"T:40": "T:4"},
)
TERMS = ["T:1|T:2", "T:3", "T:2;T:1", "T:4", "T:1", "T:2", "T:3, T:2", "T:40"]


def table(m=8, **columns):
    return pd.DataFrame({"weight": np.arange(1.0, m + 1), **columns}, index=[f"e{i}" for i in range(m)])


def taken_apart(encoder):
    """The encoder as it comes back from plain arrays."""
    arrays = encoder.to_arrays("x")
    assert not any(np.asarray(X).dtype.hasobject for X in arrays.values())
    return TableEncoder.from_arrays(arrays, "x")


def test_molecules_are_fingerprints_beside_the_other_columns():
    encoder = TableEncoder(smiles="drug", fingerprint="ngrams")
    X = encoder.fit_transform(table(drug=SMILES))
    np.testing.assert_array_equal(X[:, 0], np.arange(1.0, 9))
    np.testing.assert_array_equal(X[:, 1:], fingerprints(SMILES, "ngrams"))
    assert encoder.blocks_ == (("table", slice(0, 1)), ("drug", slice(1, 1025)))
    assert encoder.get_feature_names_out()[:2].tolist() == ["weight", "drug bit 0"]
    assert encoder.summary()["features"].tolist() == ["weight", "1024"]


def test_rdkit_makes_fingerprints_by_default():
    pytest.importorskip("rdkit")
    X = TableEncoder(smiles=["drug"]).fit_transform(table(drug=SMILES))
    np.testing.assert_array_equal(X[:, 1:], fingerprints(SMILES, "morgan"))


def test_what_is_no_molecule_has_no_bits_and_is_named():
    pytest.importorskip("rdkit")
    T = table(drug=["C1CC", None, *SMILES[2:]])
    encoder = TableEncoder(smiles="drug")
    X = encoder.fit_transform(T)
    assert X[:2, 1:].sum() == 0
    np.testing.assert_array_equal(X[2:, 1:], fingerprints(SMILES[2:]))
    with pytest.warns(TableWarning, match="'drug' \\(2, 1 no molecules, such as 'C1CC'\\)"):
        encoder.warn_of_losses("drug")


def test_without_rdkit_the_error_says_how_to_get_it(monkeypatch):
    for name in ("rdkit", "rdkit.Chem"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="jointdr\\[chem\\]"):
        TableEncoder(smiles="drug").fit(table(drug=SMILES))


def test_sequences_are_compositions_and_a_missing_one_is_the_mean():
    encoder = TableEncoder(sequence="protein")
    X = encoder.fit_transform(table(protein=[*SEQUENCES[:6], None, "123"]))
    expected = sequence_features(SEQUENCES[:6])
    np.testing.assert_array_equal(X[:6, 1:], expected)
    np.testing.assert_allclose(X[6:, 1:], np.tile(expected.mean(axis=0), (2, 1)))
    assert encoder.columns_[1].n_missing == 2
    assert "'123'" in encoder.columns_[1].note


@pytest.mark.parametrize("as_lists", [True, False])
def test_terms_have_ancestors_and_the_weights_of_tfidf(as_lists):
    cells = [[t.strip() for t in c.replace(";", "|").replace(",", "|").split("|")] for c in TERMS]
    X = TableEncoder(terms="go", ontology=ONTOLOGY).fit_transform(pd.DataFrame({"go": cells if as_lists else TERMS}))
    pairs = [(str(i), term) for i, own in enumerate(cells) for term in own]
    found = propagate_terms(*zip(*pairs, strict=True), ONTOLOGY)
    assert found.terms.tolist() == ["T:0", "T:1", "T:2", "T:3", "T:4"]
    assert sparse.issparse(X)
    np.testing.assert_allclose(X.toarray(), tfidf(found.X).toarray()[:, 1:])  # all have the root


def test_terms_of_new_entities_that_were_never_seen_count_for_their_ancestors():
    encoder = TableEncoder(terms="go", ontology=ONTOLOGY).fit(pd.DataFrame({"go": ["T:1", "T:2", "T:1"]}))
    for own in (encoder, taken_apart(encoder)):
        assert own.get_feature_names_out().tolist() == ["T:1", "T:2"]
        X = own.transform(pd.DataFrame({"go": ["T:3", "T:40", "T:0", None]}))
        np.testing.assert_allclose(X.toarray() > 0, [[True, False], [True, True], [False, False], [False, False]])
        with pytest.warns(TableWarning, match="'go' 'T:9'"):
            own.transform(pd.DataFrame({"go": ["T:9|T:1"]}))


def test_terms_that_the_ontology_does_not_know_are_refused_if_there_are_no_others():
    with pytest.raises(ValueError, match="column 'go': the ontology has none of its terms, such as 'X:1'"):
        TableEncoder(terms="go", ontology=ONTOLOGY).fit(pd.DataFrame({"go": ["X:1", "X:2"]}))


def test_what_makes_features_comes_back_from_plain_arrays():
    T = table(drug=SMILES, protein=SEQUENCES, go=TERMS, kind=list("aabbccab"))
    options = {"smiles": "drug", "sequence": "protein", "terms": "go", "fingerprint": "ngrams", "ontology": ONTOLOGY}
    encoder = TableEncoder(**options).fit(T)
    other = taken_apart(encoder)
    new = T.iloc[::-1][["go", "drug", "weight", "kind", "protein"]]
    np.testing.assert_array_equal(other.transform(new).toarray(), encoder.transform(T).toarray()[::-1])
    assert other.blocks_ == encoder.blocks_
    assert other.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("x.1.sizes", np.array([2, -5]), "n_bits"),
        ("x.1.fingerprint", np.array(["bla"]), "fingerprint"),
        ("x.2.ontology.edges", np.array([[0, 99]]), "parents that are no terms"),
        ("x.2.weights", np.array([np.nan, 1.0, 1.0, 1.0]), "NaN"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(name, value, message):
    encoder = TableEncoder(smiles="drug", terms="go", fingerprint="ngrams", ontology=ONTOLOGY)
    arrays = encoder.fit(table(drug=SMILES, go=TERMS)).to_arrays("x")
    assert name in arrays
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_arrays(arrays | {name: value}, "x")


def test_columns_are_named_once_and_are_there():
    with pytest.raises(ValueError, match="terms and smiles both name the column 'drug'"):
        TableEncoder(smiles="drug", terms=["drug"]).fit(table(drug=SMILES))
    with pytest.raises(ValueError, match="sequence names a column 'x'"):
        TableEncoder(sequence="x").fit(table(drug=SMILES))


@pytest.fixture
def dyads():
    rng = np.random.default_rng(0)
    drugs = pd.DataFrame({"weight": 100 * rng.random(24), "drug": SMILES * 3}, index=[f"d{i}" for i in range(24)])
    drugs["drug"] = drugs["drug"] + ["", "C", "CC"] * 8
    targets = pd.DataFrame({"go": TERMS * 2, "protein": SEQUENCES * 2}, index=[f"t{j}" for j in range(16)])
    encoders = {
        "row_encoder": TableEncoder(smiles="drug", fingerprint="ngrams"),
        "column_encoder": TableEncoder(terms="go", sequence="protein", ontology=ONTOLOGY),
    }
    Y = np.outer(drugs["drug"].str.count("N") + drugs["drug"].str.len() / 5, targets["protein"].str.count("A") + 1.0)
    return Dyads(Y + rng.standard_normal((24, 16)), drugs, targets, **encoders), drugs, targets


def test_each_block_of_features_is_compared_by_its_own_similarities(dyads):
    data, drugs, _ = dyads
    found = {d.label: d for d in raw_descriptions(data, 0)}
    assert list(found) == ["table, cosine", "table, gaussian", "drug, tanimoto", "drug, cosine"]
    bits = fingerprints(drugs["drug"], "ngrams")
    both = bits @ bits.T
    sums = bits.sum(axis=1)
    np.testing.assert_allclose(found["drug, tanimoto"].similarities(), both / (sums[:, None] + sums - both))
    new = found["drug, tanimoto"].describe((data.A[:3],))
    np.testing.assert_allclose(found["drug, tanimoto"].similarities(new), (both / (sums[:, None] + sums - both))[:3])
    assert {d.label.split(",")[0] for d in raw_descriptions(data, 1)} == {"protein", "go"}


@pytest.mark.parametrize(
    "options", [{"uses": ("rows", "columns")}, {"embedding": None, "head": "kernel", "bandwidth": 0.5}], ids=str
)
def test_a_saved_model_describes_new_entities_from_their_molecules_and_terms(dyads, options, tmp_path):
    data = dyads[0]
    model = AssociationModel(**options, random_state=0).fit(data)
    model.save(tmp_path / "model.npz")
    other = load(tmp_path / "model.npz")
    new = pd.DataFrame({"drug": ["CCOCC", "NCCN"], "weight": [20.0, 30.0]}, index=["n1", "n2"])
    expected = model.predict(new)
    np.testing.assert_array_equal(other.predict(new), expected)
    assert np.ptp(expected, axis=0).max() > 0
    proteins = pd.DataFrame({"protein": ["ACACACA"], "go": [["T:40"]]}, index=["p"])
    np.testing.assert_array_equal(other.predict(B_new=proteins), model.predict(B_new=proteins))

"""Formats of the field: AnnData, MuData, matrices beside tables, and datasets that give columns by name."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import IMC, JDR, Dyads, PairsWarning, TableEncoder, TableWarning, UnmatchedWarning, Views, config_context
from jointdr.runtime import MemoryBudgetError
from tests.support.reference import random_sparse

OBS = [f"cell{i}" for i in range(12)]
VAR = [f"gene{j}" for j in range(8)]


class StandIn(SimpleNamespace):
    """The attributes of an AnnData, where the package is missing."""

    obs_names = property(lambda self: self.obs.index)
    var_names = property(lambda self: self.var.index)


def stand_in(X, obs, var, layers=None, obsm=None, varm=None):
    return StandIn(X=X, obs=obs, var=var, layers=layers or {}, obsm=obsm or {}, varm=varm or {})


@pytest.fixture(params=["stand-in", "anndata"])
def make(request):
    """What makes an AnnData: something with its attributes, and the class itself."""
    return stand_in if request.param == "stand-in" else pytest.importorskip("anndata").AnnData


@pytest.fixture(params=["stand-in", "mudata"])
def multimodal(request, rng):
    """Two modalities in another order, of which each lacks some cells, a response in one of them, and all as a MuData.

    What makes a MuData goes with it.
    """
    if request.param == "mudata":
        made = pytest.importorskip("mudata").MuData
        of_one = pytest.importorskip("anndata").AnnData
    else:
        of_one = stand_in

        def made(modalities):
            names = pd.Index(list(dict.fromkeys(name for adata in modalities.values() for name in adata.obs_names)))
            return SimpleNamespace(mod=modalities, obs=pd.DataFrame(index=names), obs_names=names, axis=0)

    rna, protein = pd.DataFrame(index=OBS[:10]), pd.DataFrame({"score": rng.random(10)}, index=OBS[11:1:-1])
    protein.loc["cell4", "score"] = np.nan
    counts, X = sparse.csr_matrix(random_sparse(rng, (10, 8), 0.5)), rng.standard_normal((10, 3))
    xyz = pd.DataFrame(index=["x", "y", "z"])
    modalities = {
        "rna": of_one(counts, obs=rna, var=pd.DataFrame(index=VAR), obsm={"X_pca": rng.random((10, 2))}),
        "protein": of_one(X, obs=protein, var=xyz, layers={"raw": 2.0 * X}),
    }
    return modalities, made


@pytest.fixture
def parts(rng):
    obs = pd.DataFrame({"age": rng.random(12), "site": pd.Categorical(["x", "y", "z"] * 4)}, index=OBS)
    var = pd.DataFrame({"length": rng.random(8), "kind": ["p", "q"] * 4}, index=VAR)
    X = rng.standard_normal((12, 8))
    layers = {"counts": sparse.csr_matrix(random_sparse(rng, (12, 8), 0.4))}
    return X, obs, var, layers, {"X_pca": rng.random((12, 3))}, {"PCs": rng.random((8, 2))}


def annotated(make, parts):
    X, obs, var, layers, obsm, varm = parts
    return make(X, obs=obs, var=var, layers=layers, obsm=obsm, varm=varm)


# ---------------------------------------------------------------- AnnData


def test_observations_and_variables_with_their_columns(make, parts):
    dyads = Dyads.from_anndata(annotated(make, parts))
    expected = Dyads(parts[0], parts[1], parts[2], names=("obs", "var"))
    assert repr(dyads) == repr(expected) == "Dyads(obs: 12 × 3, var: 8 × 2, all 96 pairs)"
    assert dyads.row_ids.tolist() == OBS
    assert dyads.column_ids.tolist() == VAR
    assert list(dyads.feature_names[0]) == ["age", "site=y", "site=z"]
    for mine, theirs in zip((dyads.Y, dyads.A, dyads.B), (expected.Y, expected.A, expected.B), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert dyads.encoders[0].transform(parts[1].iloc[:2]).shape == (2, 3)


def test_a_layer_and_arrays_beside_it(make, parts):
    adata = annotated(make, parts)
    dyads = Dyads.from_anndata(adata, layer="counts", row_features="X_pca", column_features="PCs", names=("a", "b"))
    assert isinstance(dyads.Y, sparse.csr_array)
    np.testing.assert_array_equal(dyads.Y.toarray(), parts[3]["counts"].toarray())
    np.testing.assert_array_equal(dyads.A, parts[4]["X_pca"])
    np.testing.assert_array_equal(dyads.B, parts[5]["PCs"])
    stored = Dyads.from_anndata(adata, layer="counts", observed="stored", row_features=["age"], column_features=[])
    assert repr(stored) == f"Dyads(obs: 12 × 1, var: 8 × 0, {parts[3]['counts'].nnz} of 96 pairs)"
    assert Dyads.from_anndata(adata, row_features="age").n_features[0] == 1
    encoder = TableEncoder(drop=["site"])
    assert Dyads.from_anndata(adata, row_encoder=encoder).n_features[0] == 1


def test_views_of_an_anndata(parts):
    adata = annotated(pytest.importorskip("anndata").AnnData, parts)[3:9, [0, 2, 3, 5]]
    dyads = Dyads.from_anndata(adata, layer="counts")
    assert dyads.row_ids.tolist() == OBS[3:9]
    np.testing.assert_array_equal(dyads.Y.toarray(), parts[3]["counts"].toarray()[3:9][:, [0, 2, 3, 5]])
    assert IMC(1).fit(Dyads.from_anndata(adata)).predict().shape == (6, 4)


def test_scores_that_are_nan_are_not_observed(make, parts):
    X = parts[0].copy()
    X[2, 3] = X[5, 0] = np.nan
    dyads = Dyads.from_anndata(annotated(make, (X, *parts[1:])))
    assert dyads.n_observed == 94
    assert not dyads.observed[2, 3]
    masked = Dyads.from_anndata(annotated(make, (X, *parts[1:])), observed=parts[0] > 0)
    np.testing.assert_array_equal(masked.observed.toarray(), (parts[0] > 0) & ~np.isnan(X))


def test_stored_nan_of_a_sparse_matrix_is_not_observed(make, parts):
    X = parts[3]["counts"].copy()
    X.data[:2] = np.nan, 0.0
    stored = Dyads.from_anndata(annotated(make, (X, *parts[1:])), observed="stored")
    assert stored.n_observed == X.nnz - 1  # a stored 0 is a score
    assert stored.Y.nnz == X.nnz - 1
    every = Dyads.from_anndata(annotated(make, (X, *parts[1:])))
    assert every.n_observed == 95
    np.testing.assert_array_equal(every.Y.toarray(), np.nan_to_num(X.toarray()))
    with config_context(memory_budget=1000), pytest.raises(MemoryBudgetError, match="give observed='stored'"):
        Dyads.from_anndata(annotated(make, (X, *parts[1:])))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layer": "spliced"}, "layer='spliced' is not in adata, whose layers are counts"),
        ({"row_features": "X_umap"}, r"row_features names 'X_umap', .* key of obsm \(X_pca\) nor a column .*age, site"),
        ({"column_features": ["length", "w"]}, r"column_features names 'w', which is neither a key of varm \(PCs\)"),
    ],
)
def test_errors_name_the_argument(make, parts, given, message):
    with pytest.raises(ValueError, match=message):
        Dyads.from_anndata(annotated(make, parts), **given)


def test_what_is_no_anndata_in_memory_is_refused(parts):
    with pytest.raises(TypeError, match="should be an AnnData, but got DataFrame"):
        Dyads.from_anndata(parts[1])
    backed = annotated(stand_in, parts)
    backed.isbacked = True
    with pytest.raises(TypeError, match=r"adata = adata.to_memory\(\)"):
        Dyads.from_anndata(backed)
    with pytest.raises(ValueError, match="adata has no X: name one of its layers with layer=, counts"):
        Dyads.from_anndata(annotated(stand_in, (None, *parts[1:])))
    with pytest.raises(ValueError, match=r"repeated ids.*adata.obs_names_make_unique\(\)"):
        Dyads.from_anndata(annotated(stand_in, (parts[0], parts[1].set_axis(["c"] * 12), *parts[2:])))


# ---------------------------------------------------------------- MuData


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:mudata")
def test_modalities_are_aligned_by_their_observations(multimodal):
    mods, made = multimodal
    lost = "5 of 12 observations are left out: 2 are not in 'rna', 2 .* 'protein', 3 have no"
    with pytest.warns(TableWarning, match=lost):
        X, y = Views.from_mudata(made(mods), y="protein:score")
    kept = [name for name in OBS[2:10] if name != "cell4"]
    assert list(X.index) == list(y.index) == kept
    assert list(X.feature_names[0]) == VAR
    assert list(X.feature_names[1]) == ["x", "y", "z"]
    at = [[list(mods[name].obs_names).index(cell) for cell in kept] for name in mods]
    assert sparse.issparse(X.arrays[0])
    np.testing.assert_array_equal(X.arrays[0].toarray(), mods["rna"].X.toarray()[at[0]])
    np.testing.assert_array_equal(X.arrays[1], np.asarray(mods["protein"].X)[at[1]])
    np.testing.assert_array_equal(y, mods["protein"].obs["score"].to_numpy()[at[1]])
    assert JDR(1, ridge=1.0).fit(X, y).view_names_ == ("rna", "protein")
    with pytest.warns(TableWarning, match="4 of 12"):
        other, none = Views.from_mudata(
            made(mods), ["protein", "rna"], obsm={"rna": "X_pca"}, layers={"protein": "raw"}
        )
    assert none is None
    assert repr(other) == "Views(protein: 8 × 3, rna: 8 × 2)"
    assert other.feature_names[1] is None
    np.testing.assert_array_equal(other[list(other.index).index("cell5") :].arrays[0][0], 2.0 * mods["protein"].X[6])


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:mudata", "ignore::jointdr.TableWarning")
def test_errors_of_modalities(multimodal):
    mods, made = multimodal
    mdata = made(mods)
    for given, message in [
        ({"modalities": ["rna", "atac"]}, "modalities='atac' should be a list of modalities, which are rna, protein"),
        ({"modalities": "rna"}, "modalities='rna' should be a list"),
        ({"y": "dose"}, "y='dose' is no column of the observations, which have .*protein:score"),
        ({"layers": {"atac": "raw"}}, "layers names 'atac', but the modalities are rna, protein"),
        ({"layers": {"rna": "raw"}}, "layer='raw' is not in modality 'rna'"),
        ({"layers": {"rna": "raw"}, "obsm": {"rna": "X_pca"}}, "'rna' is in layers and in obsm"),
    ]:
        with pytest.raises(ValueError, match=message):
            Views.from_mudata(mdata, **given)
    mods["rna"].obs["score"] = 1.0
    with pytest.raises(ValueError, match="'score' is a column of several modalities: give rna:score or protein:score"):
        Views.from_mudata(made(mods), y="score")
    with pytest.raises(TypeError, match="should be a MuData, but got dict"):
        Views.from_mudata(mods)
    with pytest.raises(ValueError, match="axis=1"):
        Views.from_mudata(SimpleNamespace(mod=mods, obs=None, axis=1))


# ---------------------------------------------------------------- matrices beside tables


@pytest.fixture
def tables(rng):
    rows = pd.DataFrame({"drug": list("uvwx"), "weight": rng.random(4)})
    columns = pd.DataFrame({"length": rng.random(3)}, index=pd.Index(["p", "q", "r"], name="target"))
    return rows, columns


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array])
def test_a_sparse_matrix_of_scores_beside_tables(tables, rng, kind):
    Y = kind(np.array([[0, 1.0, 0], [0, 0, 0.5], [0, 0, 0], [2.0, 0, 0]]))
    dyads = Dyads.from_tables(Y, *tables, names=("drug", "target"))
    assert repr(dyads) == "Dyads(drug: 4 × 1, target: 3 × 1, all 12 pairs, 3 of them stored)"
    assert dyads.row_ids.tolist() == list("uvwx")
    assert dyads.column_ids.tolist() == list("pqr")
    np.testing.assert_array_equal(dyads.Y.toarray(), Y.toarray())
    assert Dyads.from_tables(Y, *tables, observed="stored").n_observed == 3
    assert repr(Dyads.from_tables(Y)) == "Dyads(a: 4 × 0, b: 3 × 0, all 12 pairs, 3 of them stored)"


def test_stored_scores_far_from_zero_are_all_there_are(tables, rng):
    Y = sparse.csr_array(np.triu(7.0 + rng.random((20, 20))))
    with pytest.warns(PairsWarning, match="not known"):
        assert Dyads.from_tables(Y, rng.random((20, 2)), rng.random((20, 2))).n_observed == 210


def test_an_array_of_scores_has_all_but_nan(tables):
    Y = np.arange(12.0).reshape(4, 3) + 100.0
    assert Dyads.from_tables(Y, *tables).is_complete
    assert Dyads.from_tables(Y, *tables, observed="stored").is_complete
    Y[1, 1] = np.nan
    assert Dyads.from_tables(Y, *tables).n_observed == 11


def test_matrices_of_features_with_positions_as_ids(rng):
    A, B = random_sparse(rng, (4, 6), 0.5), rng.random((3, 2))
    pairs = pd.DataFrame({"i": [0, 3, 1], "j": [2, 0, 1], "score": [1.0, 2.0, 3.0]})
    dyads = Dyads.from_tables(pairs, A, B)
    assert sparse.issparse(dyads.A)
    assert dyads.row_ids.tolist() == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(
        dyads.Y.toarray(), sparse.coo_array((pairs["score"], (pairs["i"], pairs["j"])), (4, 3)).toarray()
    )
    with pytest.warns(UnmatchedWarning, match="1 row ids"):
        assert Dyads.from_tables(pairs, A[:3], B).unmatched.row_ids.tolist() == ["3"]
    named = Dyads.from_tables(pairs.assign(i=["w", "x", "y"]), A, B, row_ids=list("vwxy"))
    assert named.Y.toarray().nonzero()[0].tolist() == [1, 2, 3]
    whole = Dyads.from_tables(named.Y, pd.DataFrame({"size": [1.0, 2.0, 4.0, 8.0]}), B, row_ids=list("vwxy"))
    assert (whole.n_features, whole.row_ids.tolist()) == ((1, 2), list("vwxy"))
    listed = Dyads.from_tables(pairs.assign(i=["w", "x", "y"]), row_ids=list("vwxy"), column_ids=range(3))
    assert repr(listed) == "Dyads(a: 4 × 0, b: 3 × 0, all 12 pairs, 3 of them stored)"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": np.ones((5, 2))}, r"matrix of shape \(4, 3\), but there are 5 rows and 3 columns"),
        (
            {"columns": np.ones((2, 2))},
            r"there are 4 rows and 2 columns: .*\(A long table is a DataFrame\.\)",
        ),
        ({"row_ids": list("xyz")}, "there are 3 rows"),
        ({"rows": np.ones((4, 2)), "row_ids": list("xyz")}, "row_ids has 3 ids, but rows has 4 rows"),
        ({"rows": np.ones((4, 2)), "row_id": "drug"}, "row_id='drug' names a column of ids, but rows is a matrix"),
        ({"rows": pd.DataFrame(), "row_id": "drug", "row_ids": [1]}, "names a column of ids, but row_ids is given too"),
        ({"score": "pkd"}, "score='pkd' names a column of a long table, but pairs is a matrix"),
        ({"duplicates": "mean"}, "duplicates='mean' is for a long table"),
        ({"observed": "some"}, "observed='some'"),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_errors_of_matrices_beside_tables(kind, given, message):
    with pytest.raises(ValueError, match=message):
        Dyads.from_tables(kind(np.eye(4, 3)), **given)


# ---------------------------------------------------------------- columns by name


def test_columns_that_are_arrays_or_lists(rng):
    image, score = rng.random((5, 3)), rng.random(5)
    text = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]
    data = {
        "image": image,
        "text": text,
        "age": np.arange(5),
        "score": score,
        "words": list("abcde"),
        "label": list("xxyyx"),
    }
    X, y = Views.from_columns(data, ("image", "text"), "score")
    assert X.names == ("image", "text")
    np.testing.assert_array_equal(X.arrays[0], image)
    np.testing.assert_array_equal(X.arrays[1], text)
    np.testing.assert_array_equal(y, score)
    X, labels = Views.from_columns(data, {"a": ["text", "age"], "b": "image"}, "label")
    np.testing.assert_array_equal(X.arrays[0], np.column_stack([text, np.arange(5)]))
    assert labels.tolist() == data["label"]
    frame = pd.DataFrame({"text": text, "age": np.arange(5)})
    X, none = Views.from_columns(frame, ["text", "age"])
    assert none is None
    assert X.arrays[0].dtype == float
    assert repr(X) == "Views(text: 5 × 2, age: 5 × 1)"
    kept = Views.from_columns({"a": sparse.csr_array(image), "b": image}, ["a", "b"])[0]
    assert sparse.issparse(kept.arrays[0])


def test_a_dataset_of_hugging_face(rng):
    datasets = pytest.importorskip("datasets")
    image, score = rng.random((5, 3)), rng.random(5)
    data = datasets.Dataset.from_dict({"image": image.tolist(), "text": [[1, 2]] * 5, "score": score.tolist()})
    for given in (data, data.with_format("numpy")):
        X, y = Views.from_columns(given, ("image", "text"), "score")
        np.testing.assert_allclose(X.arrays[0], image, rtol=1e-6)  # of which formats make float32
        np.testing.assert_allclose(y, score, rtol=1e-6)
    with pytest.raises(ValueError, match="data has no column 'pixels', but image, text, score"):
        Views.from_columns(data, ["pixels"])
    with pytest.raises(ValueError, match="data has no column 'image', but train"):
        Views.from_columns(datasets.DatasetDict({"train": data}), ["image"])


@pytest.mark.parametrize(
    ("data", "views", "message"),
    [
        ({"a": [[1, 2], [3]]}, ["a"], "column 'a' should hold numbers, as many in each row"),
        ({"a": ["x", "y"]}, ["a"], "column 'a' holds .*, not numbers: encode or embed it first"),
        ({"a": np.ones((2, 3, 3))}, ["a"], r"rows of shape \(3, 3\): give one vector for each"),
        ({"a": [1.0]}, "a", r"views='a' should list columns"),
        ({"a": [1.0]}, [], r"views=\[\] should list columns"),
        ({"a": [1.0]}, ["a", "a"], "names a column twice"),
        ({"a": [1.0]}, {"x": []}, "A view is one column, or several"),
        ({"a": [1.0]}, ["b"], "data has no column 'b', but a"),
        ({"a": [1.0], "b": [1.0, 2.0]}, ["a", "b"], "same number of rows"),
        (iter([1]), ["a"], "data should give its columns by name"),
    ],
)
def test_errors_of_columns(data, views, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Views.from_columns(data, views)

"""Similarities as descriptions of entities: checked once, aligned by id, and carried along by parts and splits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import Dyads, UnmatchedWarning
from jointdr.evaluation import Split, splits

ROWS, COLUMNS = [f"r{i}" for i in range(8)], [f"c{j}" for j in range(6)]


def similarity(rng, m):
    X = rng.standard_normal((m, m + 2))
    return X @ X.T


def frame(S, ids):
    return pd.DataFrame(S, index=ids, columns=ids)


@pytest.fixture
def matrices(rng):
    return {"chem": similarity(rng, 8), "go": np.maximum(similarity(rng, 8), 0)}, similarity(rng, 6)


@pytest.fixture
def dyads(rng, matrices):
    Y, A = (rng.random((8, 6)) < 0.4).astype(float), rng.standard_normal((8, 3))
    rows, column = matrices
    options = {"row_similarity": rows, "column_similarity": sparse.csr_array(column)}
    return Dyads(Y, A, None, None, ROWS, COLUMNS, **options, names=("drug", "target"))


def same(one, two):
    """Whether two Dyads have the same scores, ids, features and similarities."""
    for k in (0, 1):
        assert list(one.similarities[k]) == list(two.similarities[k])
        for name, S in one.similarities[k].items():
            np.testing.assert_array_equal(full(S), full(two.similarities[k][name]))
    for name in ("Y", "A", "B"):
        np.testing.assert_array_equal(full(getattr(one, name)), full(getattr(two, name)))
    assert one.row_ids.tolist() == two.row_ids.tolist()
    assert one.column_ids.tolist() == two.column_ids.tolist()


def full(S):
    return S.toarray() if sparse.issparse(S) else np.asarray(S)


# ---------------------------------------------------------------- what goes in


def test_matrices_are_kept_by_name(dyads, matrices):
    rows, columns = dyads.similarities
    assert list(rows) == ["chem", "go"]
    assert list(columns) == ["similarity"]
    np.testing.assert_array_equal(rows["chem"], matrices[0]["chem"])
    assert sparse.issparse(columns["similarity"])
    np.testing.assert_array_equal(full(columns["similarity"]), matrices[1])
    assert repr(dyads) == "Dyads(drug: 8 × 3 + chem + go, target: 6 × 0 + similarity, all 48 pairs)"


def test_nothing_is_needed_but_scores(rng):
    dyads = Dyads(rng.random((4, 3)))
    assert dyads.similarities == ({}, {})
    assert dyads.n_features == (0, 0)
    assert (dyads.A.shape, dyads.B.shape) == ((4, 0), (3, 0))
    assert repr(dyads) == "Dyads(a: 4 × 0, b: 3 × 0, all 12 pairs)"
    assert Dyads(dyads.Y, dyads.A, dyads.B).n_features == (0, 0)
    assert dyads.rows([1, 2]).columns([0]).shape == (2, 1)


@pytest.mark.parametrize("kind", [np.float32, np.float64, int, bool])
def test_numbers_are_floats(kind):
    S = np.eye(4).astype(kind)
    found = Dyads(np.ones((4, 2)), row_similarity=S).similarities[0]["similarity"]
    assert found.dtype == (np.float32 if kind is np.float32 else np.float64)


def test_rounding_is_evened_out_and_the_matrix_given_is_not_changed(rng):
    S = similarity(rng, 5)
    rounded = S + 1e-12 * rng.standard_normal((5, 5))
    before = rounded.copy()
    for given in (rounded, sparse.csr_array(rounded), sparse.coo_array(rounded)):
        found = full(Dyads(np.ones((5, 2)), row_similarity=given).similarities[0]["similarity"])
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, S, atol=1e-10)
    np.testing.assert_array_equal(rounded, before)


def test_a_large_matrix_is_compared_with_its_transpose_in_blocks(rng, monkeypatch):
    monkeypatch.setattr("jointdr.data.similarities.BLOCK", 10)
    S = similarity(rng, 9)
    Dyads(np.ones((9, 2)), row_similarity=S)
    S[7, 2] += 1
    with pytest.raises(ValueError, match=r"not symmetric: row_similarity\[(7, 2|2, 7)\] = .* but"):
        Dyads(np.ones((9, 2)), row_similarity=S)


# ---------------------------------------------------------------- ids


def test_frames_are_aligned_by_id(rng, dyads, matrices):
    """A law: entities in another order with their similarities are the same entities."""
    order, other = rng.permutation(8), rng.permutation(6)
    ids, names = np.array(ROWS), np.array(COLUMNS)
    rows = {
        "chem": frame(matrices[0]["chem"], ROWS).loc[ids[order], ids[order[::-1]]],
        "go": frame(matrices[0]["go"], ROWS).loc[ids[order[::-1]], ids],
    }
    column = frame(matrices[1], COLUMNS).loc[names[other], names[other]]
    again = Dyads(
        dyads.Y, dyads.A, None, None, ROWS, COLUMNS, row_similarity=rows, column_similarity=column, names=dyads.names
    )
    same(again, dyads)


def test_labels_of_one_axis_stand_for_both(rng):
    S = similarity(rng, 4)
    one = pd.DataFrame(S, index=list("dbca"))
    found = Dyads(np.ones((4, 2)), row_ids=list("abcd"), row_similarity=one).similarities[0]["similarity"]
    np.testing.assert_array_equal(found, S[np.ix_([3, 1, 2, 0], [3, 1, 2, 0])])


def test_ids_come_from_similarities_where_nothing_else_has_any(rng):
    S = frame(similarity(rng, 3), list("xyz"))
    Y, A = np.ones((3, 2)), rng.standard_normal((3, 2))
    assert Dyads(Y, A, row_similarity=S).row_ids.tolist() == ["x", "y", "z"]
    given = pd.DataFrame(Y, index=list("zyx"))
    aligned = Dyads(given, row_similarity=S)
    assert aligned.row_ids.tolist() == ["z", "y", "x"]
    np.testing.assert_array_equal(aligned.similarities[0]["similarity"], S.to_numpy()[::-1, ::-1])
    two = Dyads(Y, row_similarity={"a": S, "b": S.loc[list("zxy"), list("zxy")]})
    assert two.row_ids.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(two.similarities[0]["a"], two.similarities[0]["b"])


BAD = {
    "size": (np.eye(4), r"row_similarity has shape \(4, 4\), but there are 5 entities"),
    "labelled size": (pd.DataFrame(np.eye(4), list("abcd"), list("abcd")), "but there are 5 entities"),
    "not square": (np.ones((5, 4)), r"row_similarity has shape \(5, 4\)"),
    "not a matrix": (np.ones(5), "row_similarity must be a matrix"),
    "not symmetric": (np.arange(25.0).reshape(5, 5), r"row_similarity is not symmetric: .*\(S \+ S\.T\) / 2"),
    "sparse, not symmetric": (sparse.csr_array(np.triu(np.ones((5, 5)))), "row_similarity is not symmetric"),
    "NaN": (np.full((5, 5), np.nan), "row_similarity contains NaN"),
    "sparse infinity": (sparse.csr_array(np.full((5, 5), np.inf)), "row_similarity contains NaN or infinity"),
    "text": (np.full((5, 5), "x"), "row_similarity should hold numbers"),
    "objects": (np.full((5, 5), object()), "row_similarity should hold numbers"),
    "named": ({"chem": np.ones((5, 4))}, r"row_similarity 'chem' has shape \(5, 4\)"),
    "other names": ({1: np.eye(5)}, "named 1: names of similarities are strings"),
    "other ids": (pd.DataFrame(np.eye(5), list("abcdx"), list("abcdx")), r"other ids in its index .* lacks \['e'\]"),
    "more ids": (pd.DataFrame(np.eye(6), list("abcdef"), list("abcdef")), "there are 5 entities"),
    "other columns": (pd.DataFrame(np.eye(5), list("abcde"), list("abcdx")), "other ids in its columns"),
    "repeated ids": (pd.DataFrame(np.eye(5), list("abcdd"), list("abcdd")), "repeated ids"),
}


@pytest.mark.parametrize("case", BAD)
def test_clear_errors(case):
    S, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        Dyads(np.ones((5, 2)), row_ids=list("abcde"), row_similarity=S)
    if case in ("size", "not symmetric"):
        with pytest.raises(ValueError, match=message.replace("row_", "column_")):
            Dyads(np.ones((2, 5)), column_similarity=S)


def test_other_tables_have_no_labels():
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="row_similarity is a polars table"):
        Dyads(np.ones((2, 2)), row_similarity=polars.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}))


def test_scores_must_be_a_matrix():
    with pytest.raises(ValueError, match=r"Y must be a matrix.*\(3,\)"):
        Dyads(np.ones(3))


# ---------------------------------------------------------------- long tables


@pytest.fixture
def pairs():
    return pd.DataFrame({"drug": ["y", "x", "y"], "target": ["q", "r", "p"], "score": [1.0, 2.0, 3.0]})


def test_entities_of_long_tables_are_those_of_the_similarities_or_of_the_pairs(rng, pairs):
    S = frame(similarity(rng, 3), list("xyz"))
    dyads = Dyads.from_tables(pairs, row_similarity=S)
    assert dyads.row_ids.tolist() == ["x", "y", "z"]
    assert dyads.column_ids.tolist() == ["q", "r", "p"]  # as they come
    np.testing.assert_array_equal(dyads.Y.toarray(), [[0, 2, 0], [1, 0, 3], [0, 0, 0]])
    np.testing.assert_array_equal(dyads.similarities[0]["similarity"], S)
    with pytest.warns(UnmatchedWarning, match="1 of 3 pairs"):
        Dyads.from_tables(pairs, row_similarity=S.loc[["y", "z"], ["y", "z"]])


def test_similarities_beside_entity_tables(rng, pairs):
    drugs = pd.DataFrame({"id": list("yx"), "weight": [1.0, 2.0]})
    S = similarity(rng, 2)
    one = Dyads.from_tables(pairs, drugs, row_similarity={"chem": S})
    two = Dyads.from_tables(pairs, drugs, row_similarity={"chem": frame(S, list("yx")).loc[list("xy"), list("xy")]})
    same(one, two)
    np.testing.assert_array_equal(one.similarities[0]["chem"], S)
    assert one.n_features == (1, 0)
    listed = Dyads.from_tables(pairs, drugs[["id"]], row_similarity=S)  # ids alone
    assert listed.n_features == (0, 0)
    assert listed.row_ids.tolist() == ["y", "x"]


def test_a_matrix_without_ids_needs_a_table_with_them(rng, pairs):
    with pytest.raises(ValueError, match=r"column_similarity has no ids: .* as columns"):
        Dyads.from_tables(pairs, column_similarity=similarity(rng, 3))


# ---------------------------------------------------------------- parts


def test_parts_have_their_part_on_both_axes(dyads, matrices):
    at = [5, 1, 6]
    part = dyads.rows(at)
    np.testing.assert_array_equal(part.similarities[0]["go"], matrices[0]["go"][np.ix_(at, at)])
    np.testing.assert_array_equal(full(part.similarities[1]["similarity"]), matrices[1])
    narrow = part.columns(np.arange(6) < 2)
    np.testing.assert_array_equal(full(narrow.similarities[1]["similarity"]), matrices[1][:2, :2])
    assert dyads.pairs(np.ones(48, bool)).similarities is dyads.similarities
    assert dyads.replace(similarities=({}, {})).similarities == ({}, {})


def test_a_part_of_a_part_is_a_part(rng, dyads):
    for _ in range(5):
        i, j = rng.permutation(8)[:6], rng.permutation(6)[:5]
        k, n = rng.permutation(6)[:3], rng.permutation(5)[:2]
        same(dyads.rows(i).columns(j).rows(k).columns(n), dyads.rows(i[k]).columns(j[n]))
        same(dyads.rows(i).columns(j), dyads.columns(j).rows(i))
    order = rng.permutation(8)
    same(dyads.rows(order).rows(np.argsort(order)), dyads)


# ---------------------------------------------------------------- splits


@pytest.mark.parametrize("by", ["rows", "columns", "both", "pairs"])
def test_splits_have_the_similarities_of_new_to_fitted_entities(dyads, matrices, by):
    whole = (matrices[0], {"similarity": matrices[1]})
    for split in splits(dyads, by, 3, test_size=0.3, random_state=0):
        for k, (side, ids) in enumerate((("rows", ROWS), ("columns", COLUMNS))):
            if by not in (side, "both"):
                assert split.similarity[k] is None
                continue
            train, test = (
                [ids.index(name) for name in (d.row_ids, d.column_ids)[k]] for d in (split.train, split.test)
            )
            assert not set(train) & set(test)
            assert list(split.similarity[k]) == list(whole[k])
            for name, S in split.similarity[k].items():
                np.testing.assert_array_equal(full(S), whole[k][name][np.ix_(test, train)])


def test_without_similarities_there_are_none_in_a_split(rng):
    split = next(splits(Dyads(rng.random((6, 5)), np.ones((6, 1)), np.ones((5, 1))), "rows", random_state=0))
    assert split.similarity == ({}, None)


def test_given_entities_are_held_out(dyads):
    split = Split.hold_out(dyads, rows=[6, 2], columns=[-1])
    assert split.by == "both"
    assert split.test.row_ids.tolist() == ["r6", "r2"]
    assert split.train.row_ids.tolist() == [name for name in ROWS if name not in ("r6", "r2")]
    assert split.test.column_ids.tolist() == ["c5"]
    assert split.train.shape == (6, 5)
    assert split.similarity[1]["similarity"].shape == (1, 5)
    assert [Split.hold_out(dyads, rows=[0]).by, Split.hold_out(dyads, columns=[0]).by] == ["rows", "columns"]
    with pytest.raises(TypeError, match="indices of rows or of columns"):
        Split.hold_out(dyads)


class Recorder:
    """A model that keeps what it is asked."""

    def predict(self, *new, **similarities):
        self.asked = new, similarities
        return "scores"


def test_a_split_asks_a_model_in_its_terms(dyads, rng):
    model = Recorder()
    split = Split.hold_out(dyads, rows=[0, 1], columns=[2])
    assert split.predict(model) == "scores"
    (A, B), similarities = model.asked
    assert (A.shape, B.shape) == ((2, 3), (1, 0))
    assert set(similarities) == {"row_similarity", "column_similarity"}
    assert similarities["row_similarity"] is split.similarity[0]
    Split.hold_out(dyads, rows=[0]).predict(model)
    assert set(model.asked[1]) == {"row_similarity"}
    plain = Dyads(rng.random((4, 3)), np.ones((4, 1)), np.ones((3, 1)))
    Split.hold_out(plain, rows=[0]).predict(model)  # so that models without these arguments can be asked
    assert model.asked[1] == {}


# ---------------------------------------------------------------- what takes features only


@pytest.mark.parametrize(
    "use",
    [
        lambda dyads: dyads.moments(),
        lambda dyads: dyads.triples(),
        lambda dyads: dyads.pair_rows(),
    ],
)
def test_features_are_asked_for_where_they_are_needed(dyads, use):
    with pytest.raises(ValueError, match=r"needs features of the columns, 'target'.*table B.*kernel_features"):
        use(dyads)
    turned = Dyads(dyads.Y.T, None, dyads.A, names=("target", "drug"))
    with pytest.raises(ValueError, match=r"needs features of the rows, 'target'.*table A"):
        use(turned)

"""What the page computes is what the model says, for one row or column at a time."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from jointdr import JDR, PCA, AssociationModel
from jointdr.apps.explore.catalog import Catalog, read_names
from jointdr.apps.explore.drawing import drawing_of
from jointdr.apps.explore.placement import MARGIN, SIZE, TICK, beyond
from jointdr.apps.explore.session import Kept, Session, Subject
from jointdr.apps.explore.uploads import Table
from tests.apps.explore.conftest import dyads_of, fitted

MODELS = {
    "links": {"kind": "links"},
    "some grades": {"kind": "some"},
    "all grades": {"kind": "all"},
    "lonely": {"kind": "some", "bandwidth": 0.004},
    "cosine": {"kind": "links", "kernel": "cosine"},
    "own": {"kind": "links", "borrow": 0.3, "mix": (0.5, 0.2)},
    "adaptive": {"kind": "some", "adaptive": 4},
    "nearest links": {"nearest": 4},
    "nearest grades": {"kind": "some", "nearest": 4},
    "columns alone": {"kind": "some", "bandwidth": (0.4, 0.0)},
    "bilinear": {"kind": "links", "head": "bilinear", "bandwidth": 1.0},
    "kernel ridge": {"kind": "some", "head": "kernel_ridge"},
}


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_the_model(name):
    model = fitted(**MODELS[name])
    session, expected = Session(model), model.predict()
    for i in (0, 7, 59):
        np.testing.assert_allclose(session.ranking(Subject("row", i)).scores, expected[i], rtol=1e-9, atol=1e-12)
    for j in (0, 7, 44):
        np.testing.assert_allclose(session.ranking(Subject("column", j)).scores, expected[:, j], rtol=1e-9, atol=1e-12)
    indices = np.array([3, 40, 0])
    found = session.notes(Subject("row", 5), indices)
    if model.head == "kernel":
        np.testing.assert_allclose([n["neighbors"] for n in found], model.neighbors()[5, indices], rtol=1e-9)
    else:
        assert found == [{}, {}, {}]


def test_scores_do_not_depend_on_what_is_held():
    held, computed = fitted("some").precompute(), fitted("some").precompute(max_bytes=1000.0)
    assert computed._head.held == (None, None)
    assert held._head.held[0] is not None
    np.testing.assert_allclose(held.predict(rows=["d/3"]), computed.predict(rows=["d/3"]), rtol=1e-12)
    np.testing.assert_allclose(held.predict(columns=["t 3"]), computed.predict(columns=["t 3"]), rtol=1e-12)


@pytest.mark.parametrize("kind", ["links", "some"])
def test_rankings_are_those_of_recommend(kind):
    model = fitted(kind)
    session = Session(model)
    best = model.recommend(k=10)
    for i, id in enumerate(model.row_ids_[:20]):
        order = session.ranking(Subject("row", i)).shown(False)[:10]
        assert model.column_ids_[order].tolist() == best[best["row"] == id]["column"].tolist()
    with_known = model.recommend(k=45, exclude_known=False)
    order = session.ranking(Subject("row", 4)).shown(True)
    assert model.column_ids_[order].tolist() == with_known[with_known["row"] == "d/4"]["column"].tolist()


def test_what_is_known_of_a_column():
    model = fitted()
    ranking = Session(model).ranking(Subject("column", 4))
    np.testing.assert_array_equal(ranking.known, model.known_pairs_.toarray()[:, 4] > 0)
    assert not ranking.known[ranking.shown(False)].any()


def test_where_everything_is_known_everything_is_ranked():
    ranking = Session(fitted("all")).ranking(Subject("row", 0))
    assert ranking.all_known
    assert len(ranking.shown(False)) == 45


@pytest.mark.parametrize("options", [{}, {"kernel": "cosine"}, {"mix": 0.3}])
def test_uploads_are_new_rows(options):
    model, X = fitted("links", **options), np.random.default_rng(5).standard_normal((3, 4))
    session = Session(model)
    key = session.keep(Table(("p", "q", "r"), X))
    expected = model.predict(X)
    for i in range(3):
        subject = Subject("row", i, key)
        np.testing.assert_allclose(session.ranking(subject).scores, expected[i], rtol=1e-9)
        assert not session.ranking(subject).known.any()
        assert session.why(subject, 2).score == pytest.approx(expected[i, 2])
        assert (session.at(subject) >= 0).all()
    found = session.notes(Subject("row", 1, key), np.array([4, 9]))
    np.testing.assert_allclose([n["neighbors"] for n in found], model.neighbors(X)[1, [4, 9]])


def test_an_upload_that_is_a_known_row_lies_where_that_lies():
    dyads = dyads_of("links")
    session = Session(fitted())
    key = session.keep(Table(("copy",), dyads.A[[7]]))
    assert session.nearest(Subject("row", 0, key), 1)[0][0] == 7
    np.testing.assert_allclose(session.at(Subject("row", 0, key)), session.at(Subject("row", 7)), atol=1e-6)


def test_features_as_they_are_may_be_sparse():
    rng = np.random.default_rng(0)
    A, B = (sparse.random_array((40, 30), density=0.3, rng=rng, format="csr") for _ in (0, 1))
    Y = sparse.csr_array((rng.random((40, 40)) < 0.1).astype(float))
    model = AssociationModel(None, head="kernel", kernel="cosine", bandwidth=0.6).fit(Y, A, B)
    session = Session(model)
    assert not session.is_one_map
    X = A[[3]].toarray()
    key = session.keep(Table(("x",), X))
    np.testing.assert_allclose(session.ranking(Subject("row", 0, key)).scores, model.predict(A[[3]])[0])
    assert session.nearest(Subject("row", 0, key), 1)[0][0] == 3
    assert session.why(Subject("row", 0, key), 0).score == pytest.approx(model.predict(A[[3]])[0, 0])


def test_nearest():
    model = fitted()
    Z = model._parts.sides[0].points[0]
    D = np.linalg.norm(Z - Z[9], axis=1)
    order = np.argsort(D)[1:6]
    found = Session(model).nearest(Subject("row", 9), 5)
    assert [index for index, _ in found] == order.tolist()
    np.testing.assert_allclose([d for _, d in found], D[order], rtol=1e-6)


def test_explanations_are_those_of_the_model(model):
    session = Session(model)
    found, expected = session.why(Subject("row", 2), 5), model.explain("d/2", "t 5", k=8)
    assert found.score == expected.score
    assert found.pairs.equals(expected.pairs)
    assert session.why(Subject("row", 2), 5) is found


def test_one_row_does_not_form_all_scores():
    """The memory of an answer is far less than that of all scores."""
    m = 1500
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((m, 4)), rng.standard_normal((m, 4))
    Y = sparse.csr_array((rng.random((m, m)) < 0.01).astype(float))
    session = Session(AssociationModel(JDR(2), head="kernel", bandwidth=0.3).fit(Y, A, B))
    tracemalloc.start()
    session.ranking(Subject("row", 3))
    session.ranking(Subject("column", 3))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * m * m / 10


# ---------------------------------------------------------------- what is kept


def test_what_is_kept_is_bounded():
    kept = Kept(3)
    for i in range(5):
        kept.put(i, str(i))
        kept.get(2)
    assert len(kept) == 3
    assert kept.get(2) == "2"
    assert kept.get(0) is None


def test_old_uploads_are_forgotten():
    session = Session(fitted())
    keys = [session.keep(Table(("x",), np.zeros((1, 4)))) for _ in range(12)]
    assert len(set(keys)) == 12
    assert session.uploaded(keys[0]) is None
    assert session.uploaded(keys[-1]) is not None
    with pytest.raises(LookupError, match="send it again"):
        session.ranking(Subject("row", 0, keys[0]))


def test_answers_at_the_same_time():
    model = fitted()
    session, expected = Session(model), model.predict()
    found = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: session.ranking(Subject("row", i)).scores}))
        for i in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(30):
        np.testing.assert_allclose(found[i], expected[i], rtol=1e-9)


# ---------------------------------------------------------------- the map


@pytest.mark.parametrize(("embedding", "one"), [(JDR(2), True), (PCA(2), False), (None, False), (JDR(1), True)])
def test_everything_lies_on_the_map(embedding, one):
    dyads = dyads_of("links")
    session = Session(AssociationModel(embedding, head="kernel", bandwidth=0.4).fit(dyads))
    assert session.is_one_map is one
    for positions in session.positions:
        assert np.isfinite(positions).all()
        assert positions.min() >= MARGIN
        assert positions.max() <= SIZE - MARGIN


def test_the_map_shows_the_directions_that_differ_most():
    model = fitted("links", scale=0.0)
    Z = np.vstack([side.points[0] for side in model._parts.sides])
    session = Session(model)
    directions = session._planes[0].directions
    U = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)[2][:2].T
    np.testing.assert_allclose(directions @ directions.T, U @ U.T, atol=1e-8)


# ---------------------------------------------------------------- names


def test_search_puts_the_best_first():
    catalog = Catalog("gene", ["12", "1", "312", "7"], {"7": "alpha 12 beta", "1": "Straße 12"})
    indices, count = catalog.search("12", 3)
    assert (indices[0], count) == (0, 4)
    assert len(indices) == 3
    assert catalog.search("STRASSE", 5)[0] == [1]
    assert catalog.search("beta alpha", 5)[0] == [3]
    assert catalog.search("  ", 5) == ([], 0)
    assert catalog.search("*", 5) == ([], 0)


def test_names_from_a_table(tmp_path):
    path = tmp_path / "genes.tsv"
    path.write_text("id\tlength\tName\n007\t5\tBond\n8\t6\t\n")
    names = read_names(path)
    assert names == {"007": "Bond", "8": ""}
    assert Catalog("gene", ["8"], names).name(0) == "8"
    path.write_text("id\n1\n")
    with pytest.raises(ValueError, match="single column 'id'"):
        read_names(path)


def test_features_are_no_names(tmp_path):
    path = tmp_path / "targets.csv"
    families = ["gpcr", "kinase"] * 10
    lines = [f"t{i},{families[i]},{i}.5,Protein {i}" for i in range(20)]
    path.write_text("\n".join(["target,family,length,protein", *lines]))
    assert read_names(path)["t3"] == "Protein 3"
    path.write_text("\n".join(["target,family,length", *(line.rpartition(",")[0] for line in lines)]))
    with pytest.raises(ValueError, match="no column of names, but 'family', 'length': call it name, label"):
        read_names(path)
    path.write_text("\n".join(["target,family", *(",".join(line.split(",")[:2]) for line in lines)]))
    assert read_names(path)["t1"] == "kinase"  # a list of names, which may repeat
    path.write_text("\n".join(["target,length", *(",".join(line.split(",")[::2]) for line in lines)]))
    with pytest.raises(ValueError, match="no column of names, but 'length'"):
        read_names(path)


def test_names_that_are_given_come_before_those_of_the_model(graded):
    session = Session(graded.model, ({"x1": "Another", "x2": ""}, None))
    names = [session.name(Subject("row", index)) for index in range(4)]
    assert names == ["drug no 0", "Another", "drug no 2", "drug no 3"]
    assert session.name(Subject("column", 0)) == "t0"


# ---------------------------------------------------------------- the edge of the map


def test_entities_beyond_the_edge_are_marked(rng):
    A, B = rng.standard_normal((400, 2)), rng.standard_normal((300, 2))
    A[0] = 40.0, 0.0
    Y = sparse.csr_array((rng.random((400, 300)) < 0.1).astype(float))
    session = Session(AssociationModel(None, head="kernel", bandwidth=0.5).fit(Y, A, B))
    (dots_of_rows, ticks_of_rows), (_, ticks_of_columns) = session.dots
    outward = beyond(session.positions[0])
    assert outward[0, 0] != 0
    assert session.n_beyond == ticks_of_rows.count("M") + ticks_of_columns.count("M") < 40
    assert dots_of_rows.count("M") + ticks_of_rows.count("M") == 400
    x, y = session.positions[0][0].round().astype(int)
    assert f"M{x} {y}l{TICK * outward[0, 0]} {TICK * outward[0, 1]}" in ticks_of_rows
    (drawing, _) = drawing_of(session, Subject("row", 0), [], [], zoom=False)
    assert [mark.beyond != "" for mark in drawing.marks] == [True]


def test_where_no_entity_is_far_away_none_is_beyond_the_edge(session):
    assert session.n_beyond == 0
    assert [ticks for _, ticks in session.dots] == ["", ""]

"""Readers: every format gives what stands in the file, ids stay strings, and errors name file and line."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jointdr import Dyads
from jointdr.datasets import (
    propagate_terms,
    read_disgenet,
    read_edges,
    read_gaf,
    read_genes_to_phenotype,
    read_hpoa,
    read_humannet,
    read_mimminer,
    read_obo,
    read_pairs,
    read_similarity,
    read_table,
    tfidf,
)

TABLE = [["id", "age", "weight"], ["000001", "1.5", "-2"], ["000010", "1e3", "0"]]
PAIRS = [["disease", "gene", "score"], ["000001", "007", "0.5"], ["000010", "007", "1"], ["000010", "8", "0"]]
SIMILARITY = [["", "01", "1", "x"], ["01", "1", "0.5", "0"], ["1", "0.5", "1", "0.25"], ["x", "0", "0.25", "1"]]
EDGES = [["01", "1", "0.5"], ["1", "x", "0.25"], ["y", "y", "2"]]


def write(path, rows, separator="\t", end="\n"):
    text = "".join(separator.join(row) + end for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode())
    return path


def changed(rows, line, field, value):
    rows = [list(row) for row in rows]
    rows[line - 1][field] = value
    return rows


# ---------------------------------------------------------------- tables and pairs


@pytest.mark.parametrize(("name", "separator"), [("t.tsv", "\t"), ("t.csv", ","), ("t.txt", "\t"), ("T.CSV.gz", ",")])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_is_what_stands_in_the_file(tmp_path, name, separator, end):
    table = read_table(write(tmp_path / name, TABLE, separator, end))
    assert table.index.tolist() == ["000001", "000010"]
    assert table.index.name == "id"
    assert table.columns.tolist() == ["age", "weight"]
    assert table.to_numpy().tolist() == [[1.5, -2.0], [1000.0, 0.0]]


def test_ids_may_stand_in_another_column_and_in_quotes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('\ufeffage,"name, short"\n1,"a, ""b"""\n\n2,007\n', encoding="utf-8")
    table = read_table(path, id="name, short")
    assert table.index.tolist() == ['a, "b"', "007"]
    assert table["age"].tolist() == [1.0, 2.0]


def test_parquet_is_the_same_table(tmp_path):
    pytest.importorskip("pyarrow")
    plain = read_table(write(tmp_path / "t.tsv", TABLE))
    plain.to_parquet(tmp_path / "index.parquet")
    plain.reset_index().to_parquet(tmp_path / "column.parquet")
    for name in ("index", "column"):
        pd.testing.assert_frame_equal(read_table(tmp_path / f"{name}.parquet"), plain, check_index_type=False)
    pairs = read_pairs(write(tmp_path / "p.tsv", PAIRS))
    pairs.to_parquet(tmp_path / "p.parquet")
    pd.testing.assert_frame_equal(read_pairs(tmp_path / "p.parquet"), pairs)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"id": ["a", "b"], "x": [1.0, np.inf]}, "column 'x' holds infinity in row 1"),
        ({"id": ["a", "a"], "x": [1, 2]}, "repeated ids: \\['a'\\]"),
        ({"id": [1.0, 2.0], "x": [1, 2]}, "floating-point"),
        ({"x": [1, 2]}, "single column 'x'"),
    ],
)
def test_bad_parquet(tmp_path, frame, message):
    pytest.importorskip("pyarrow")
    pd.DataFrame(frame).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=message) as caught:
        read_table(tmp_path / "t.parquet")
    assert "t.parquet" in str(caught.value)


@pytest.mark.parametrize("reader", [read_table, read_pairs])
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(), "is empty"),
        (pd.DataFrame({"id": pd.Series([], dtype=object), "x": pd.Series([], dtype=object)}), "no lines after the"),
        (pd.DataFrame({"x": ["a", "b"]}), "single column 'x'"),
    ],
    ids=["no columns", "no lines", "one column"],
)
def test_empty_parquet(tmp_path, reader, frame, message):
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=rf"t\.parquet .*{message}"):
        reader(tmp_path / "t.parquet")


@pytest.mark.parametrize(("ids", "message"), [(["a", "b"], "single column 'id'"), ([], "single column 'id'")])
def test_parquet_with_an_index_only(tmp_path, ids, message):
    pytest.importorskip("pyarrow")
    pd.DataFrame(index=pd.Index(ids, name="id", dtype=object)).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=rf"t\.parquet .*{message}"):
        read_table(tmp_path / "t.parquet")


def test_a_file_that_is_no_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"t\.parquet is not a Parquet file"):
        read_table(write(tmp_path / "t.parquet", TABLE))


def test_pairs_choose_columns(tmp_path):
    path = write(tmp_path / "p.tsv.gz", PAIRS)
    pairs = read_pairs(path)
    assert pairs.to_numpy().tolist() == [["000001", "007", 0.5], ["000010", "007", 1.0], ["000010", "8", 0.0]]
    turned = read_pairs(path, row="gene", column="disease")
    assert turned.columns.tolist() == ["gene", "disease", "score"]
    assert read_pairs(write(tmp_path / "p.csv", [row[:2] for row in PAIRS], ",")).columns.tolist() == [
        "disease",
        "gene",
    ]
    assert read_pairs(path, row="gene").columns.tolist() == ["gene", "disease", "score"]
    with pytest.raises(ValueError, match="must be different columns"):
        read_pairs(path, row="gene", column="gene")


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_pairs_without_what_stands_beside_them(tmp_path, ending):
    rows = changed(changed(PAIRS, 2, 2, ""), 3, 2, "strong")
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(rows[1:], columns=rows[0]).to_parquet(tmp_path / "p.parquet")
    else:
        write(tmp_path / "p.tsv", rows)
    assert read_pairs(tmp_path / f"p.{ending}", score=False).to_numpy().tolist() == [row[:2] for row in PAIRS[1:]]


def test_from_files_to_dyads(tmp_path):
    rows = read_table(write(tmp_path / "rows.tsv", TABLE))
    columns = read_table(write(tmp_path / "columns.csv", [["gene", "length"], ["007", "5"], ["8", "6"]], ","))
    dyads = Dyads.from_tables(read_pairs(write(tmp_path / "pairs.tsv", PAIRS)), rows, columns)
    assert dyads.row_ids.tolist() == ["000001", "000010"]
    assert dyads.Y.toarray().tolist() == [[0.5, 0.0], [1.0, 0.0]]
    assert dyads.unmatched.n_pairs == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(TABLE, 2, 2, "inf"), "line 2, column 'weight': infinity"),
        (changed(TABLE, 3, 0, "000001"), "line 3: the id '000001' was on line 2 already"),
        (changed(TABLE, 3, 0, " "), "line 3: the id in column 'id' is empty"),
        (changed(TABLE, 1, 2, "age"), r"line 1: the column names \['age'\] occur more than once"),
        ([*TABLE, ["x", "1"]], "line 4: it has 2 fields, but the header has 3"),
        (TABLE[:1], "no lines after the header"),
        ([], "is empty"),
        ([["id"], ["a"]], "single column 'id'"),
    ],
)
def test_broken_tables(tmp_path, rows, message):
    path = write(tmp_path / "bad.tsv", rows)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(PAIRS, 3, 2, "x"), "line 3, column 'score': 'x'"),
        (changed(PAIRS, 3, 1, ""), "line 3: the id in column 'gene' is empty"),
        ([*PAIRS, ["a", "b", "1", "2"]], "line 5: it has 4 fields"),
    ],
)
def test_broken_pairs(tmp_path, rows, message):
    with pytest.raises(ValueError, match=rf"bad\.tsv, {message}"):
        read_pairs(write(tmp_path / "bad.tsv", rows))


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.tsv"):
        read_table(tmp_path / "nothing.tsv")
    with pytest.raises(ValueError, match="separator="):
        read_table(write(tmp_path / "t.dat", [["id"], ["a"], ["b"]]))
    with pytest.raises(ValueError, match="no column 'name'; its columns are 'id', 'age', 'weight'"):
        read_table(write(tmp_path / "t.tsv", TABLE), id="name")
    (tmp_path / "latin.tsv").write_bytes("id\tx\nMénière\t1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.tsv is not text in UTF-8"):
        read_table(tmp_path / "latin.tsv")
    whole = write(tmp_path / "cut.tsv.gz", TABLE * 50).read_bytes()
    (tmp_path / "cut.tsv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cut\.tsv\.gz is cut off or damaged"):
        read_table(tmp_path / "cut.tsv.gz")
    (tmp_path / "quote.csv").write_text('id,x\n"a,1\n')
    with pytest.raises(ValueError, match=r"quote\.csv has quotes that do not close"):
        read_table(tmp_path / "quote.csv")


# ---------------------------------------------------------------- similarities and networks


@pytest.mark.parametrize("rows", [SIMILARITY, [SIMILARITY[0][1:], *SIMILARITY[1:]]])
@pytest.mark.parametrize("name", ["s.tsv", "s.tsv.gz"])
def test_a_similarity_matrix(tmp_path, rows, name):
    network = read_similarity(write(tmp_path / name, rows))
    assert network.ids.tolist() == ["01", "1", "x"]
    assert network.W.tolist() == [[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]]
    features = network.features(2)
    assert features.shape == (3, 2)
    assert features.index.tolist() == ["01", "1", "x"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (changed(SIMILARITY, 2, 2, "0.6"), r"s\.tsv is not symmetric: .*\[0, 1\] = 0.6, but .*\[1, 0\] = 0.5"),
        (changed(SIMILARITY, 1, 2, "2"), r"s\.tsv, line 1: .* '2' where the first column has '1'"),
        (changed(SIMILARITY, 3, 3, "?"), r"s\.tsv, line 3, field 4: '\?'"),
        (changed(SIMILARITY, 3, 0, "01"), r"s\.tsv, line 3: the id '01' was on line 2 already"),
        ([*SIMILARITY[:3], SIMILARITY[3][:3]], r"s\.tsv, line 4: it has 2 similarities, but there are 3 lines"),
        (SIMILARITY[:1], "no lines with similarities"),
    ],
)
def test_broken_similarities(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        read_similarity(write(tmp_path / "s.tsv", rows))


def test_a_similarity_matrix_can_be_made_symmetric(tmp_path):
    path = write(tmp_path / "s.tsv", changed(SIMILARITY, 2, 2, "0.7"))
    assert read_similarity(path, symmetrize="max").W[1, 0] == 0.7


def test_mimminer_has_no_header(tmp_path):
    named = read_similarity(write(tmp_path / "s.tsv", SIMILARITY))
    for name in ("MimMiner.mat", "MimMiner.mat.gz"):
        network = read_mimminer(write(tmp_path / name, SIMILARITY[1:]))
        assert network.ids.tolist() == named.ids.tolist()
        assert np.array_equal(network.W, named.W)
    with pytest.raises(ValueError, match="line 1: it has 2 similarities, but there are 3"):
        read_mimminer(write(tmp_path / "bad.mat", [SIMILARITY[1][:3], *SIMILARITY[2:]]))


@pytest.mark.parametrize(("name", "separator"), [("e.tsv", "\t"), ("e.txt.gz", " "), ("e.csv", ","), ("e.sif", "\t")])
def test_edges(tmp_path, name, separator):
    network = read_edges(write(tmp_path / name, [["# links"], *EDGES], separator))
    assert network.ids.tolist() == ["01", "1", "x", "y"]
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 0.5
    expected[1, 2] = expected[2, 1] = 0.25
    expected[3, 3] = 2
    assert sparse.issparse(network.W)
    assert np.array_equal(network.W.toarray(), expected)
    assert repr(network) == "Network(4 nodes, 3 links)"
    assert network.giant().ids.tolist() == ["01", "1", "x"]
    assert np.array_equal(network.giant().W.toarray(), expected[:3, :3])


def test_edges_without_weights_and_with_a_header(tmp_path):
    path = write(tmp_path / "e.tsv", [["a", "b"], *(row[:2] for row in EDGES)])
    assert read_edges(path, header=True).W.data.tolist() == [1.0] * 5
    weighted = write(tmp_path / "w.tsv", [["a", "b", "weight"], *EDGES])
    assert read_edges(weighted, header=True).ids.tolist() == ["01", "1", "x", "y"]
    with pytest.raises(ValueError, match=r"w\.tsv, line 1, weight .*give header=True.*: 'weight' is not"):
        read_edges(weighted)


def test_edges_listed_more_than_once(tmp_path):
    once = read_edges(write(tmp_path / "once.tsv", EDGES))
    both = read_edges(write(tmp_path / "both.tsv", [*EDGES, ["1", "01", "0.5"]]))
    assert np.array_equal(once.W.toarray(), both.W.toarray())
    path = write(tmp_path / "other.tsv", [*EDGES, ["1", "01", "0.7"]])
    with pytest.raises(
        ValueError, match=r"line 4: the link between '1' and '01' has the weight 0.7, but 0.5 on line 1"
    ):
        read_edges(path)
    for how, value in (("mean", 0.6), ("sum", 1.2), ("max", 0.7), ("last", 0.7)):
        W = read_edges(path, duplicates=how).W
        np.testing.assert_allclose([W[0, 1], W[1, 0]], value)


def test_broken_edges(tmp_path):
    with pytest.raises(ValueError, match=r"line 4: it has 2 fields, but line 1 has 3"):
        read_edges(write(tmp_path / "short.tsv", [*EDGES, ["a", "b"]]))
    with pytest.raises(ValueError, match="has no links"):
        read_edges(write(tmp_path / "none.tsv", [["# nothing"]]))
    with pytest.raises(ValueError, match=r"line 1: a link has 2 or 3 fields.*this has 4"):
        read_edges(write(tmp_path / "long.tsv", [["a", "b", "1", "2"]]))


HUMANNET = [
    ["2", "10", "NA", "1.5", "3.0"],
    ["10", "0015", "0.5", "NA", "2.0"],
    ["16", "18", "NA", "NA", "2.5"],
    ["0015", "2", "NA", "NA", "1.0"],
]


def test_humannet_takes_the_last_column(tmp_path):
    network = read_humannet(write(tmp_path / "HumanNet.v1.join.txt", HUMANNET))
    assert set(network.ids.tolist()) == {"0015", "10", "16", "18", "2"}
    where = {name: i for i, name in enumerate(network.ids.tolist())}
    for a, b, *_, weight in HUMANNET:
        assert network.W[where[a], where[b]] == network.W[where[b], where[a]] == float(weight)
    compressed = read_humannet(write(tmp_path / "h.txt.gz", [["#gene1", "gene2", "score"], *HUMANNET]))
    assert np.array_equal(compressed.W.toarray(), network.W.toarray())


def test_humannet_keeps_the_best_links_and_the_giant_component(tmp_path):
    path = write(tmp_path / "h.txt", HUMANNET)
    assert sorted(read_humannet(path, top=0.5).W.data.tolist()) == [2.5, 2.5, 3.0, 3.0]
    assert sorted(read_humannet(path, top=0.75).W.data.tolist()) == [2.0, 2.0, 2.5, 2.5, 3.0, 3.0]
    assert read_humannet(path, top=0.75, giant=True).ids.tolist() == ["0015", "10", "2"]
    with pytest.raises(ValueError, match="top=10"):
        read_humannet(path, top=10)
    with pytest.raises(ValueError, match="line 2, last column: 'NA' is not a finite number"):
        read_humannet(write(tmp_path / "bad.txt", changed(HUMANNET, 2, 4, "NA")))


# ---------------------------------------------------------------- DisGeNET

ASSOCIATIONS = [("C0019202", "540", "0.99", "Wilson", "ATP7B"), ("C0000737", "0016", "0.01", "Pain", "AARS")]


def disgenet(release):
    header = {
        3: "geneId geneSymbol geneName diseaseId diseaseName score NumberOfPubmeds associationType source",
        4: "geneId geneSymbol diseaseId diseaseName score NofPmids NofSnps source",
        7: "geneId geneSymbol DSI DPI diseaseId diseaseName diseaseType diseaseClass diseaseSemanticType score EI "
        "YearInitial YearFinal NofPmids NofSnps source",
    }[release].split()
    rows = [header]
    for disease, gene, score, name, symbol in ASSOCIATIONS:
        known = {"geneId": gene, "geneSymbol": symbol, "diseaseName": name, "score": score}
        known["diseaseId"] = f"umls:{disease}" if release == 3 else disease
        rows.append([known.get(column, "" if release == 7 else 'other "x') for column in header])
    comments = [["# DisGeNET"], ["# Version 4"]] if release == 4 else []
    return [*comments, *rows]


@pytest.mark.parametrize("release", [3, 4, 7])
@pytest.mark.parametrize("name", ["d.tsv", "d.tsv.gz"])
def test_disgenet_is_the_same_in_all_releases(tmp_path, release, name):
    table = read_disgenet(write(tmp_path / name, disgenet(release)))
    assert table.columns.tolist() == ["disease", "gene", "score", "disease_name", "gene_symbol"]
    expected = [[disease, gene, float(score), name, symbol] for disease, gene, score, name, symbol in ASSOCIATIONS]
    assert table.to_numpy().tolist() == expected


def test_disgenet_counts_a_repeated_line_once(tmp_path):
    rows = disgenet(7)
    assert len(read_disgenet(write(tmp_path / "d.tsv", [*rows, rows[1]]))) == 2


def test_broken_disgenet(tmp_path):
    rows = disgenet(4)
    with pytest.raises(ValueError, match=r"d\.tsv, line 5, column 'score': 'high'"):
        read_disgenet(write(tmp_path / "d.tsv", changed(rows, 5, 4, "high")))
    with pytest.raises(ValueError, match="no column 'diseaseId'"):
        read_disgenet(write(tmp_path / "d.tsv", changed(rows, 3, 2, "disease")))


# ---------------------------------------------------------------- ontologies and annotations

OBO = """format-version: 1.2
data-version: test

[Term]
id: HP:1
name: All

[Term]
id: HP:2
name: Abnormal eye ! and more
alt_id: HP:20
is_a: HP:1 ! All

[Term]
id: HP:3
name: Blue eye
is_a: HP:2 {source="x"} ! Abnormal eye
relationship: part_of HP:4 ! Face

[Term]
id: HP:4
name: Face
is_a: HP:1

[Term]
id: HP:5
name: obsolete Old
is_obsolete: true
replaced_by: HP:6

[Term]
id: HP:6
name: obsolete Older
is_obsolete: true
replaced_by: HP:20

[Term]
id: HP:7
name: obsolete Gone
is_obsolete: true

[Typedef]
id: part_of
name: part of
"""


@pytest.fixture
def obo(tmp_path):
    (tmp_path / "hp.obo").write_text(OBO)
    return tmp_path / "hp.obo"


def test_obo(obo):
    hp = read_obo(obo)
    assert hp.names == {"HP:1": "All", "HP:2": "Abnormal eye ! and more", "HP:3": "Blue eye", "HP:4": "Face"}
    assert hp.ancestors("HP:3") == {"HP:3", "HP:2", "HP:1"}
    assert read_obo(obo, relations=("is_a", "part_of")).ancestors("HP:3") == {"HP:3", "HP:2", "HP:1", "HP:4"}
    current = {term: hp.current(term) for term in ("HP:3", "HP:20", "HP:5", "HP:6", "HP:7", "HP:99")}
    assert current == {"HP:3": "HP:3", "HP:20": "HP:2", "HP:5": "HP:2", "HP:6": "HP:2", "HP:7": None, "HP:99": None}
    assert repr(hp) == "Ontology(4 terms, 3 former ids)"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("is_a: HP:1\n", "is_a: HP:9\n", ", line 20: 'HP:4' is a case of 'HP:9', which is no current term"),
        ("id: HP:4", "id: HP:3", ", line 20: the term 'HP:3' was on line 14 already"),
        ("id: HP:4\n", "", ", line 20: this term has no id"),
        ("[Term]", "[Word]", r" has no \[Term\]"),
    ],
)
def test_broken_obo(obo, old, new, message):
    obo.write_text(OBO.replace(old, new))
    with pytest.raises(ValueError, match=rf"hp\.obo{message}"):
        read_obo(obo)


def obsolete(term, *successors):
    return "\n".join(["[Term]", f"id: {term}", "is_obsolete: true", *(f"replaced_by: {s}" for s in successors), "", ""])


def test_the_nearest_current_successor_stands_for_an_obsolete_term(tmp_path):
    """By breadth-first search, written out term by term."""
    rng = np.random.default_rng(0)
    for trial in range(20):
        current, old = [f"C{i}" for i in range(3)], [f"O{i}" for i in range(12)]
        after = {}
        for i, term in enumerate(old):
            others = rng.permutation([*current, *old[i + 1 :], "unknown"])
            after[term] = [str(other) for other in others[: rng.integers(4)]]
        path = tmp_path / f"{trial}.obo"
        stanzas = [f"[Term]\nid: {c}\n\n" for c in current] + [obsolete(o, *after[o]) for o in old]
        path.write_text("".join(stanzas))
        found = read_obo(path)
        for o in old:
            left, seen = list(after[o]), set()
            while left and left[0] not in current:
                seen.add(left[0])
                left += [s for s in after.get(left.pop(0), []) if s not in seen]
            assert found.current(o) == (left[0] if left else None)


class Counted(str):
    """A term that counts how often terms are compared or looked up."""

    looked_up = 0

    def __hash__(self):
        Counted.looked_up += 1
        return str.__hash__(self)


@pytest.mark.parametrize("end", ["current", "unknown"])
def test_a_long_chain_of_replacements_takes_a_number_of_steps_in_proportion(end):
    from jointdr.datasets import ontology

    def steps(n):
        terms = [Counted(f"O{i}") for i in range(n)]
        former = {term: [after] for term, after in zip(terms, [*terms[1:], Counted(end)], strict=True)}
        names = {Counted("current"): "x"}
        Counted.looked_up = 0
        found = ontology._successors(names, former)
        assert not ontology._find_cycle(names, former, found.keys())
        assert found == (dict.fromkeys(terms, "current") if end == "current" else {})
        return Counted.looked_up

    assert steps(4000) < 2.1 * steps(2000)


@pytest.mark.parametrize(
    ("stanzas", "message"),
    [
        ([("X", "Y"), ("Y", "Z"), ("Z", "X")], "line 20: .*: X by Y by Z by X"),
        ([("X", "X")], "line 20: .*: X by X"),
        ([("W", "X"), ("X", "Y"), ("Y", "gone", "X")], "line 25: .*: X by Y by X"),
        ([(f"T{i}", f"T{(i + 1) % 9}") for i in range(9)], r"line 20: .*: T0 by T1 by T2 by T3 by T4 by \.\.\."),
    ],
)
def test_replacements_in_a_circle_are_refused(stanzas, message, tmp_path):
    path = tmp_path / "x.obo"
    path.write_text("[Term]\nid: A\n" + 17 * "\n" + "".join(obsolete(*terms) for terms in stanzas))
    with pytest.raises(ValueError, match=rf"x\.obo, {message}"):
        read_obo(path)


def test_a_circle_with_a_way_out_is_read(tmp_path):
    path = tmp_path / "x.obo"
    path.write_text("[Term]\nid: A\n\n" + obsolete("X", "Y", "A") + obsolete("Y", "X"))
    found = read_obo(path)
    assert (found.current("X"), found.current("Y")) == ("A", "A")


def test_terms_are_propagated(obo):
    found = propagate_terms(["b", "a", "b", "c", "a"], ["HP:3", "HP:20", "HP:4", "HP:7", "HP:2"], read_obo(obo))
    assert found.ids.tolist() == ["b", "a"]
    assert found.terms.tolist() == ["HP:1", "HP:2", "HP:3", "HP:4"]
    assert found.X.toarray().tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert found.lost.tolist() == ["HP:7"]


def test_tfidf_by_definition():
    X = np.array([[1, 1, 0, 1], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    expected = X * np.log(4 / np.array([4, 1, 2, 1]))
    expected[:3] /= np.linalg.norm(expected[:3], axis=1, keepdims=True)
    for table in (X, sparse.csr_array(X), sparse.coo_matrix(X)):
        np.testing.assert_allclose(tfidf(table).toarray(), expected)


HPOA = [
    ["database_id", "disease_name", "qualifier", "hpo_id", "reference", "aspect"],
    ["OMIM:1", "One", "", "HP:3", "r", "P"],
    ["OMIM:1", "One", "", "HP:3", "another", "P"],
    ["OMIM:1", "One", "NOT", "HP:4", "r", "P"],
    ["ORPHA:2", "Two", "", "HP:1", "r", "I"],
]


def test_hpoa(tmp_path):
    comments = [['#description: "x"'], ["#version: 1"]]
    old = [["#DatabaseID", "DiseaseName", "Qualifier", "HPO_ID", "Reference", "Aspect"], *HPOA[1:]]
    for name, rows in {"new.hpoa": HPOA, "old.hpoa": old, "new.hpoa.gz": HPOA}.items():
        path = write(tmp_path / name, [*comments, *rows])
        assert read_hpoa(path).to_numpy().tolist() == [["OMIM:1", "HP:3", "One"]]
        assert read_hpoa(path, aspect=None)["disease"].tolist() == ["OMIM:1", "ORPHA:2"]
    with pytest.raises(ValueError, match=r"bad\.hpoa, line 8: it has 5 fields, but the header has 6"):
        read_hpoa(write(tmp_path / "bad.hpoa", [*comments, *HPOA, HPOA[1][:5]]))
    with pytest.raises(ValueError, match=r"bad\.hpoa has no header with the columns"):
        read_hpoa(write(tmp_path / "bad.hpoa", [*comments, *HPOA[1:]]))


def test_genes_to_phenotype(tmp_path):
    new = [
        ["ncbi_gene_id", "gene_symbol", "hpo_id", "hpo_name", "frequency", "disease_id"],
        ["0010", "NAT2", "HP:1", "All", "-", "OMIM:1"],
        ["0010", "NAT2", "HP:2", "Eye", "-", "OMIM:1"],
        ["16", "AARS", "HP:1", "All", "-", "ORPHA:2"],
    ]
    fields = ["entrez-gene-id", "entrez-gene-symbol", "HPO-Term-ID", "HPO-Term-Name", "Frequency-Raw"]
    old = [["#Format: " + "<tab>".join([*fields, "disease-ID for link"])], *new[1:]]
    expected = [["OMIM:1", "0010", 1.0, "NAT2"], ["ORPHA:2", "16", 1.0, "AARS"]]
    for rows in (new, old):
        table = read_genes_to_phenotype(write(tmp_path / "g.txt", rows))
        assert table.columns.tolist() == ["disease", "gene", "score", "gene_symbol"]
        assert table.to_numpy().tolist() == expected


def test_gaf(tmp_path):
    def line(symbol, qualifier, term, evidence):
        return ["UniProtKB", "P1", symbol, qualifier, term, "r", evidence, "", "P", "n", "A|B", "protein", *"abcde"]

    rows = [
        ["!gaf-version: 2.1"],
        line("NAT2", "", "GO:1", "IEA"),
        line("NAT2", "", "GO:1", "IDA"),
        line("NAT2", "NOT|contributes_to", "GO:2", "IDA"),
        line("AARS", "", "GO:3", "ND"),
        line("AARS", "contributes_to", "GO:2", "IDA"),
    ]
    assert read_gaf(write(tmp_path / "g.gaf.gz", rows)).to_numpy().tolist() == [
        ["NAT2", "GO:1", "A|B"],
        ["AARS", "GO:2", "A|B"],
    ]
    with pytest.raises(ValueError, match=r"g\.gaf, line 3: it has 16 fields, but line 2 has 17"):
        read_gaf(write(tmp_path / "g.gaf", [*rows[:2], rows[2][:16]]))
    with pytest.raises(ValueError, match="not in the GAF format"):
        read_gaf(write(tmp_path / "g.gaf", PAIRS))


def test_decimal_commas_beside_a_few_texts(tmp_path):
    path = tmp_path / "doses.csv"
    lines = [f"{k:03d};0,{k};{k},5" for k in range(1, 20)]
    path.write_text("\n".join(["id;dose;code", *lines, "020;<0,1;n, m"]) + "\n")
    found = read_table(path, text=["code"])
    assert found["dose"].tolist() == [f"0.{k}" for k in range(1, 20)] + ["<0,1"]
    assert found["code"].tolist() == [f"{k},5" for k in range(1, 20)] + ["n, m"]

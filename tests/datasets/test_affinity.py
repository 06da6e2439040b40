"""DeepDTA's layout: scores in a pickle of Python 2, folds, similarities, and features from SMILES and sequences."""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
from itertools import product

import numpy as np
import pytest

from jointdr.datasets import affinity as affinity_module
from jointdr.datasets import fingerprints, read_deepdta, sequence_features

SMILES = {"11314340": "CC(=O)OC1=CC=CC=C1C(=O)O", "24889392": "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "0007": "CCO"}
SEQUENCES = {
    "AAK1": "MKKFFDSRREQGGSGLGSGSS",
    "ABL1(E255K)": "MLEICLKLVGCKSKKGLSSS",
    "P1": "MKKFFDSRREQGGSXSS",
    "P2": "ACDE",
}
NAN = float("nan")
KD = np.array([[10000.0, 43.0, NAN, 0.5], [NAN, 10000.0, 120.0, 10000.0], [16.0, NAN, 1.0, 250.0]])


def python2(Y, protocol):
    """The pickle of a matrix of float64 as Python 2 wrote it: bytes are plain strings."""
    data, (m, n) = np.ascontiguousarray(Y, "<f8").tobytes(), Y.shape
    if protocol == 0:
        quoted = "".join(chr(b) if 32 <= b < 127 and b not in (39, 92) else f"\\x{b:02x}" for b in data)
        return (
            "cnumpy.core.multiarray\n_reconstruct\np0\n(cnumpy\nndarray\np1\n(I0\ntp2\nS'b'\np3\ntp4\nRp5\n(I1\n"
            f"(I{m}\nL{n}L\ntp6\ncnumpy\ndtype\np7\n(S'f8'\np8\nI0\nI1\ntp9\nRp10\n(I3\nS'<'\np11\nNNNI-1\nI-1\nI0\n"
            f"tp12\nbI00\nS'{quoted}'\np13\ntp14\nb."
        ).encode()
    parts = [
        b"\x80\x02" if protocol == 2 else b"",
        b"cnumpy.core.multiarray\n_reconstruct\nq\x00(cnumpy\nndarray\nq\x01(K\x00tq\x02U\x01bq\x03tq\x04Rq\x05",
        b"(K\x01(\x8a\x02" + struct.pack("<h", m) + b"M" + struct.pack("<H", n) + b"tq\x06",
        b"cnumpy\ndtype\nq\x07(U\x02f8q\x08K\x00K\x01tq\tRq\n",
        b"(K\x03U\x01<q\x0bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0cb",
        b"\x89" if protocol == 2 else b"I00\n",
        b"T" + struct.pack("<i", len(data)) + data + b"q\rtq\x0eb.",
    ]
    return b"".join(parts)


def write(folder, name="Y", *, Y=None, protocol=2, train=((1,), (0, 8), (2,), (7,), (5,)), test=(3, 4, 6)):
    (folder / "folds").mkdir(parents=True, exist_ok=True)
    (folder / "ligands_can.txt").write_text(json.dumps(SMILES))
    (folder / "proteins.txt").write_text(json.dumps(SEQUENCES))
    (folder / name).write_bytes(python2(KD, protocol) if Y is None else Y)
    (folder / "folds" / "train_fold_setting1.txt").write_text(json.dumps(train))
    (folder / "folds" / "test_fold_setting1.txt").write_text(json.dumps(test))
    return folder


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "davis")


@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_scores_that_python_2_pickled(tmp_path, protocol):
    data = read_deepdta(write(tmp_path / "other", protocol=protocol), fingerprint="ngrams")
    known = ~np.isnan(KD)
    np.testing.assert_array_equal(data.dyads.observed.toarray(), known)
    np.testing.assert_array_equal(data.dyads.Y.toarray()[known], KD[known])
    assert data.dyads.row_ids.tolist() == list(SMILES)
    assert data.dyads.column_ids.tolist() == list(SEQUENCES)
    assert data.dyads.names == ("drug", "target")
    assert data.smiles.tolist() == list(SMILES.values())
    assert data.sequences.tolist() == list(SEQUENCES.values())


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("Y", [KD, np.asfortranarray(KD), KD.astype(">f4")], ids=["rows", "columns", "big-endian"])
def test_scores_that_this_python_pickled(tmp_path, Y, protocol):
    data = read_deepdta(write(tmp_path / "x", Y=pickle.dumps(Y, protocol)), fingerprint="ngrams")
    np.testing.assert_array_equal(data.dyads.Y.data, Y[~np.isnan(Y)])


def test_davis_is_transformed_by_its_name_or_when_told(folder, tmp_path):
    known = KD[~np.isnan(KD)]
    for where, option, expected in (
        (folder, "auto", -np.log10(known / 1e9)),
        (folder, "raw", known),
        (write(tmp_path / "kiba"), "auto", known),
        (tmp_path / "kiba", "pKd", -np.log10(known / 1e9)),
    ):
        np.testing.assert_allclose(read_deepdta(where, affinity=option, fingerprint="ngrams").dyads.Y.data, expected)
    with pytest.raises(ValueError, match="affinity='pKi' is not understood"):
        read_deepdta(folder, affinity="pKi")
    Y = np.where(np.isnan(KD), NAN, KD - 1)
    with pytest.raises(ValueError, match=r"has the K_d -0\.5, but affinity='pKd' takes positive ones"):
        read_deepdta(write(folder, Y=python2(Y, 2)), fingerprint="ngrams")


def test_folds_are_in_the_order_of_known_pairs(folder):
    data = read_deepdta(folder, fingerprint="ngrams")
    assert data.fold.tolist() == [1, 0, 2, -1, -1, 4, -1, 3, 1]
    np.testing.assert_array_equal(data.test().triples()[1], data.dyads.triples()[1][data.fold == -1])
    np.testing.assert_array_equal(data.test(1).triples()[1], data.dyads.triples()[1][data.fold == 1])
    np.testing.assert_array_equal(data.train().triples()[1], data.dyads.triples()[1][data.fold >= 0])
    kept = (data.fold >= 0) & (data.fold != 1)
    np.testing.assert_array_equal(data.train(without=1).triples()[1], data.dyads.triples()[1][kept])
    assert "6 for training and 3 for the test" in repr(data)
    for wrong in (5, -2, True):
        with pytest.raises(ValueError, match="fold="):
            data.test(wrong)
    with pytest.raises(ValueError, match="without=-1"):
        data.train(without=-1)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"test": (3, 4)}, "1 of 9 known pairs are in no fold"),
        ({"test": (3, 4, 6, 1)}, "fold -1 shares pairs"),
        ({"test": (3, 4, 9)}, "indices from 0 to 8"),
        ({"test": (3, 4, 6, 6)}, "different indices"),
        ({"test": (3, 4, 6.0)}, "fold -1 must be a list"),
        ({"test": ()}, "fold -1 must be a list"),
        ({"train": ((1,), (2,))}, "list of 5 lists"),
    ],
)
def test_folds_that_do_not_fit_are_refused(tmp_path, change, match):
    with pytest.raises(ValueError, match=match):
        read_deepdta(write(tmp_path / "x", **change))


def test_similarities_are_normalized(folder):
    S = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.2], [0.0, 0.2, 1.0]])
    np.savetxt(folder / "drug-drug_similarities_2D.txt", S)
    T = np.eye(4) * 500 + 20
    np.savetxt(folder / "kiba_target_sim.txt", T, delimiter="\t")
    data = read_deepdta(folder, fingerprint="ngrams")
    drugs, targets = data.test().similarities
    assert "+ chemical, target: 4 × 400 + smith_waterman" in repr(data)
    assert list(drugs) == ["chemical"]
    assert list(targets) == ["smith_waterman"]
    np.testing.assert_allclose(drugs["chemical"], [[1, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]])
    np.testing.assert_allclose(targets["smith_waterman"], np.where(np.eye(4) > 0, 1, 20 / 520))
    np.savetxt(folder / "drug-drug_similarities_2D.txt", S[:2])
    with pytest.raises(ValueError, match=r"2D\.txt must have 3 lines of 3 similarities"):
        read_deepdta(folder, fingerprint="ngrams")
    np.savetxt(folder / "drug-drug_similarities_2D.txt", S * [[0], [1], [1]] * [0, 1, 1])
    with pytest.raises(ValueError, match="the diagonal must be positive"):
        read_deepdta(folder, fingerprint="ngrams")


def test_files_that_do_not_fit_each_other_are_refused(folder):
    (folder / "proteins.txt").write_text(json.dumps({"AAK1": "MK"}))
    with pytest.raises(ValueError, match=r"Y has shape \(3, 4\), but .* have 3 and 1 entities"):
        read_deepdta(folder)
    (folder / "proteins.txt").write_text(json.dumps({"AAK1": 3}))
    with pytest.raises(TypeError, match=r"proteins\.txt"):
        read_deepdta(folder)
    (folder / "proteins.txt").write_text('["MK"]')
    with pytest.raises(ValueError, match="must be a JSON object"):
        read_deepdta(folder)
    (folder / "proteins.txt").write_text('{"AAK1": "MK"')
    with pytest.raises(ValueError, match=r"proteins.txt is not JSON"):
        read_deepdta(folder)
    (folder / "proteins.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"proteins\.txt"):
        read_deepdta(folder)


# ---------------------------------------------------------------- pickles


class Trap:
    """Makes a folder when it is loaded."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_a_pickle_that_would_run_something_is_refused(tmp_path, protocol):
    trap = Trap(tmp_path / "trapped")
    for Y in (trap, [trap], np.array([trap], dtype=object)):
        with pytest.raises(ValueError, match=r"Y is not a pickle of one array of numbers: .* Nothing in it was run"):
            read_deepdta(write(tmp_path / "x", Y=pickle.dumps(Y, protocol)))
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "it ends at byte 0"),
        (b"cos\nsystem\n(S'echo'\ntR.", "it calls os.system"),
        (b"cposix\nsystem\n", "it ends"),
        (b"c__builtin__\neval\n(S'1'\ntR.", "it calls __builtin__.eval"),
        (b"(cos\nsystem\nS'echo'\no.", r"the instruction b'o'"),
        (b"(S'echo'\nios\nsystem\n.", r"the instruction b'i'"),
        (b"\x80\x05N.", "protocol 5, and 0 to 4 can be read"),
        (b"N.", "it holds something else"),
        (b".", "a value is missing"),
        (b"t.", "a value is missing"),
        (b"h\x01.", "a value that it does not have"),
        (b"S'\n.", "not closed"),
        (b"I1e9\n.", "a whole number"),
        (b"T\xff\xff\xff\x7f.", "before it is complete"),
        (b"NNb.", "changes a value that is no array"),
        (python2(KD, 2).replace(b"f8", b"O8"), "something else than numbers"),
        (python2(KD, 2).replace(b"\x8a\x02\x03\x00", b"\x8a\x02\x04\x00"), "as many numbers as its shape"),
        (python2(KD, 2).replace(b"\x8a\x02\x03\x00", b"\x8a\x02\xff\xff"), "shape of its array"),
        (python2(KD, 2)[:-20], "before it is complete"),
    ],
)
def test_pickles_that_hold_no_array_of_numbers_are_refused(tmp_path, content, match):
    with pytest.raises(ValueError, match=match):
        read_deepdta(write(tmp_path / "x", Y=content))


# ---------------------------------------------------------------- features


def test_without_rdkit_drugs_get_ngrams_and_their_kind_is_kept(folder, monkeypatch):
    monkeypatch.setattr(affinity_module, "find_spec", lambda name: None)
    data = read_deepdta(folder, n_bits=256)
    assert data.fingerprint == "ngrams"
    assert "features of drugs: ngrams" in repr(data)
    np.testing.assert_array_equal(data.dyads.A, fingerprints(data.smiles, "ngrams", n_bits=256))
    np.testing.assert_allclose(data.dyads.B, np.sqrt(sequence_features(data.sequences, 2)))


def test_without_rdkit_other_fingerprints_say_what_to_install(monkeypatch):
    for module in ("rdkit", "rdkit.Chem"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "jointdr\[chem\]"'):
        fingerprints(["CCO"])


def test_ngrams_are_bits_or_counts_of_runs_of_characters():
    X = fingerprints(["CCCCC", "CCC"], "ngrams", n_bits=4096, counts=True)
    assert sorted(X[0][X[0] > 0].tolist()) == [1, 2, 3]
    assert X[1].sum() == 1
    assert np.flatnonzero(X[1]).item() == np.argmax(X[0])
    np.testing.assert_array_equal(fingerprints(["CCCCC", "CCC"], "ngrams", n_bits=4096), X > 0)


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("kind", ["morgan", "feature_morgan", "rdkit", "atom_pair", "torsion", "maccs"])
def test_fingerprints_of_rdkit(kind, counts):
    pytest.importorskip("rdkit")
    if kind == "maccs" and counts:
        with pytest.raises(ValueError, match="has no counts"):
            fingerprints(["CCO"], kind, counts=True)
        return
    written = ["CCCCCCCCN", "NCCCCCCCC", "c1ccccc1C(=O)O"]  # the first two are one molecule
    X = fingerprints(written, kind, n_bits=512, counts=counts)
    assert X.shape == (3, 167 if kind == "maccs" else 512)
    np.testing.assert_array_equal(X[0], X[1])
    assert (X[0] != X[2]).any()
    assert (X.max() > 1) == counts
    assert set(np.unique(X)) <= set(range(100))


def test_morgan_bits_are_those_of_rdkit():
    rdkit = pytest.importorskip("rdkit.Chem")
    from rdkit.Chem import AllChem

    smiles = list(SMILES.values())
    X = fingerprints(smiles, radius=3, n_bits=256)
    for text, bits in zip(smiles, X, strict=True):
        expected = AllChem.GetMorganFingerprintAsBitVect(rdkit.MolFromSmiles(text), 3, nBits=256)
        assert np.flatnonzero(bits).tolist() == list(expected.GetOnBits())


def test_a_string_that_is_no_molecule_is_named(folder, capfd):
    pytest.importorskip("rdkit")
    with pytest.raises(ValueError, match=r"smiles\[1\]='C1CC' is no molecule"):
        fingerprints(["CCO", "C1CC"])
    (folder / "ligands_can.txt").write_text(json.dumps({**SMILES, "0007": "C(C"}))
    with pytest.raises(ValueError, match=r"ligands_can.txt: smiles\[2\]='C\(C'"):
        read_deepdta(folder)
    assert capfd.readouterr().err == ""


def test_composition_counts_words_of_amino_acids():
    X = sequence_features(["ACACX", "aaca", "A"], 2)
    assert X.shape == (3, 400)
    np.testing.assert_allclose(X[0, [0, 1, 20]], [0, 2 / 3, 1 / 3])  # AA, AC, CA; CX is left out
    np.testing.assert_allclose(X[1, [0, 1, 20]], [1 / 3, 1 / 3, 1 / 3])
    assert not X[2].any()
    np.testing.assert_allclose(sequence_features(["ACACX"], 2, normalize="root"), np.sqrt(X[:1]))
    np.testing.assert_allclose(np.linalg.norm(sequence_features(["ACACX"], 2, normalize="unit")), 1)


def test_longer_words_are_sparse_and_in_alphabetical_order():
    X = sequence_features(["ACDY", "YYY"], 3)
    assert X.shape == (2, 8000)
    assert sorted(zip(*(part.tolist() for part in X.nonzero()), strict=True)) == [(0, 22), (0, 459), (1, 7999)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_mismatch_kernel_counts_pairs_of_words_by_their_neighbors(rng, k):
    """By definition: the inner product over all words of the numbers of words within one letter of them."""
    letters = "ACDEFGHIKLMNPQRSTVWY"
    texts = ["".join(rng.choice(list(letters[:4]), 9)) for _ in range(3)]
    words = ["".join(word) for word in product(letters, repeat=k)]

    def near(word, text):
        parts = (text[i : i + k] for i in range(len(text) - k + 1))
        return sum(sum(a != b for a, b in zip(word, part, strict=True)) <= 1 for part in parts)

    expected = np.array([[near(word, text) for word in words] for text in texts], dtype=float)
    X = sequence_features(texts, k, mismatch=True, normalize="unit")
    X = X.toarray() if k > 2 else X
    np.testing.assert_allclose(X, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: fingerprints("CCO"), "smiles must be a sequence of strings"),
        (lambda: fingerprints([]), "smiles is empty"),
        (lambda: fingerprints(["CCO", 3]), r"smiles\[1\] must be a string, but got 3"),
        (lambda: fingerprints(["CCO", " "]), r"smiles\[1\] is empty"),
        (lambda: fingerprints(["CCO"], "ecfp"), "kind='ecfp' is not understood"),
        (lambda: fingerprints(["CCO"], "ngrams", n_bits=4), "n_bits=4"),
        (lambda: fingerprints(["CCO"], "ngrams", radius=-1), "radius=-1"),
        (lambda: sequence_features(["MK"], 6), "k=6"),
        (lambda: sequence_features(["MK"], normalize="l2"), "normalize='l2'"),
        (lambda: sequence_features(3), "sequences must be a sequence"),
        (lambda: sequence_features(["MK", None]), r"sequences\[1\] must be a string"),
    ],
)
def test_bad_input_is_named(call, match):
    with pytest.raises((ValueError, TypeError), match=match):
        call()

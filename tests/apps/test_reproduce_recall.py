"""The reproduction on gene-disease data, with small made-up data; cpHd's kernel regression; the cost table."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy import sparse

from jointdr import PHD, Dyads
from jointdr.apps import reproduce
from jointdr.apps.reproduce import FIGURES, cost, gene_disease, gene_disease_data, joint_kernel
from jointdr.apps.reproduce.claims import Claim
from jointdr.apps.reproduce.gene_disease import NothingToShow
from jointdr.apps.reproduce.joint_kernel import JointKernelRegression, by_definition
from jointdr.datasets import GeneDiseases
from jointdr.evaluation import Method, evaluate

RANKS = (2, 4)


def stored(name, M):
    M = sparse.csr_array(M)
    parts = {"data": M.data, "indices": M.indices, "indptr": M.indptr, "shape": np.array(M.shape)}
    return {f"{name}_{part}": value for part, value in parts.items()}


def blocks(rng, m, groups):
    """A connected network in which members of a group are near each other."""
    group = np.arange(m) % groups
    W = (group[:, None] == group) + 0.1 * rng.random((m, m))
    W = np.triu(W, 1)
    return W + W.T


@pytest.fixture
def folder(rng, tmp_path):
    """An archive of 80 diseases and 120 genes: diseases are linked to genes of their group."""
    disease, gene = np.arange(80) % 5, np.arange(120) % 5
    Y = (rng.random((80, 120)) < np.where(disease[:, None] == gene, 0.3, 0.02)).astype(float)
    curated = Y * (rng.random(Y.shape) < 0.5)
    path = tmp_path / "data"
    path.mkdir()
    np.savez(
        path / gene_disease_data.ARCHIVE,
        **stored("mimminer", blocks(rng, 80, 5)),
        **stored("net", blocks(rng, 120, 5)),
        **stored("Y_all_v4", Y),
        **stored("Y_curated_v3", curated),
        disease_to_mimminer=np.arange(80),
        gene_to_net=np.arange(120),
        disease_omim=np.arange(80).astype(str),
        gene_entrez=np.arange(120).astype(str),
    )
    return path


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(gene_disease, "RANKS", RANKS)
    monkeypatch.setattr(gene_disease, "GAUSSIAN_BANDWIDTHS", [0.0, 0.3, 0.5])
    monkeypatch.setattr("jointdr.datasets.spectral.N_SPECTRAL", 10)
    monkeypatch.setattr(gene_disease, "BASELINES", {"popularity": "popularity", "columns ignored": "genes ignored"})
    gene_disease_data._read_data.cache_clear()
    yield
    gene_disease_data._read_data.cache_clear()


# ---------------------------------------------------------------- cpHd + KR


def pairs_of(A, B):
    return np.repeat(A, len(B), axis=0), np.tile(B, (len(A), 1))


def brute_force(model, dyads, A_new, h):
    """ŷ of every new pair, by the definition, from the embedding of all pairs."""
    Z, Z_new = (model.embedding_.transform_joint(pairs_of(A, dyads.B)) for A in (dyads.A, A_new))
    D = ((Z_new[:, None] - Z) ** 2).sum(axis=2)
    unit = np.sqrt(np.mean(((Z[:, None] - Z) ** 2).sum(axis=2)))
    D /= 2 * (h * unit) ** 2
    w = np.exp(D.min(axis=1, keepdims=True) - D)
    Y = dyads.Y.toarray() if sparse.issparse(dyads.Y) else dyads.Y
    return (w @ Y.ravel() / w.sum(axis=1)).reshape(len(A_new), -1)


@pytest.fixture
def curved(rng):
    A, B = rng.standard_normal((40, 5)) + 3.0, rng.standard_normal((15, 4)) - 2.0
    Y = ((A[:, :2] - 3) @ (B[:, :2] + 2).T + (A[:, :1] - 3) ** 2 > 1.5).astype(float)
    return Y, A, B


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("h", [0.005, 0.015, 0.3])
def test_the_joint_kernel_is_that_of_the_definition(curved, layout, h, monkeypatch):
    Y, A, B = curved
    dyads = Dyads(layout(Y[:30]), A[:30], B)
    model = JointKernelRegression(2, bandwidth=h).fit(dyads)
    expected = brute_force(model, dyads, A[30:], h)
    assert expected.std() > 0.01
    np.testing.assert_allclose(model.predict(A[30:]), expected, atol=1e-9)
    monkeypatch.setattr(joint_kernel, "LIMIT", -1.0)  # every known row one by one
    np.testing.assert_allclose(model.predict(A[30:]), expected, atol=1e-9)


def test_exponents_that_a_product_cannot_hold_are_taken_one_by_one(curved):
    Y, A, B = curved
    model = JointKernelRegression(2, bandwidth=0.015).fit(Y[:30], A[:30], B)
    u = A[30] @ model._map - model._origin
    ranges = np.ptp(model.coordinates_[1] @ u - model._products, axis=1)
    assert ranges.min() < joint_kernel.LIMIT < ranges.max()


def test_the_definition_in_blocks(curved, rng):
    Z, points, y = rng.standard_normal((7, 3)), rng.standard_normal((50, 3)), rng.standard_normal(50)
    w = np.exp(-0.5 * ((Z[:, None] - points) ** 2).sum(axis=2))
    expected = w @ y / w.sum(axis=1)
    for max_bytes in (1e9, 8 * 7 * 11):
        np.testing.assert_allclose(by_definition(Z, points, y, max_bytes), expected)


def test_the_joint_kernel_chooses_without_the_rows_that_it_is_judged_by(curved):
    Y, A, B = curved
    model = JointKernelRegression(2, random_state=0).fit(Y, A, B)
    assert model.bandwidth_ in joint_kernel.JOINT_BANDWIDTHS
    assert model.scale_ in joint_kernel.JOINT_SCALES
    result = evaluate(
        Dyads(Y, A, B), {"cpHd": Method(JointKernelRegression(2, random_state=0))}, n_partitions=2, at=[5]
    )
    assert not result.failures


def test_what_the_joint_kernel_refuses(curved):
    Y, A, B = curved
    with pytest.raises(ValueError, match="every pair to be observed"):
        JointKernelRegression(2).fit(Y, A, B, observed=Y > 0)
    for bandwidth in (0.0, "scott"):
        with pytest.raises(ValueError, match=r"bandwidth=.* positive number"):
            JointKernelRegression(2, bandwidth=bandwidth).fit(Y, A, B)
    with pytest.raises(ValueError, match="known columns only"):
        JointKernelRegression(2, bandwidth=0.1).fit(Y, A, B).predict(A, B)


# ---------------------------------------------------------------- figures of recall


def test_recalls(folder, small, tmp_path):
    names = ["gene-disease", "significant"]
    for jobs in (1, 2):
        result = reproduce(names, out=tmp_path / f"{jobs}", repetitions=2, jobs=jobs, data=folder, progress=False)
    tables = [(tmp_path / jobs / f"{name}.csv").read_text() for jobs in "12" for name in names]
    assert tables[:2] == tables[2:]
    written = [path.name for path in result.files]
    assert written[:3] == ["gene-disease.png", "gene-disease.svg", "gene-disease.csv"]
    assert written[-2:] == ["verdicts.md", "claims.csv"]
    assert all(path.stat().st_size > 0 for path in result.files)

    rows = list(csv.DictReader(tables[0].splitlines()))
    separate = ("JDR + KR", "PCA + KR", "pHd + KR", "sOLS + KR", "IMC")
    expected = {(name, str(r)) for name in separate for r in RANKS}
    expected |= {("cpHd + KR", "4"), ("popularity", ""), ("genes ignored", "")}
    assert {(row["method"], row["r"]) for row in rows} == expected
    recall = {(row["method"], row["r"], row["k"]): float(row["recall"]) for row in rows}
    assert recall["JDR + KR", "4", "20"] > recall["popularity", "", "20"] + 0.1

    (ours,) = (
        c for c in result.claims if (c.figure, c.statement) == ("gene-disease", "JDR + KR, r = 4, over popularity")
    )
    difference = recall["JDR + KR", "4", "100"] - recall["popularity", "", "100"]
    assert ours.mean == pytest.approx(difference, abs=1e-4)
    assert ours.answer is None
    assert result.ok
    assert "| gene-disease | JDR + KR over IMC, r = 2 " in str(result)


def test_recalls_are_those_of_an_evaluation(folder, small):
    study = FIGURES["gene-disease"](folder).series[-1].study
    assert study.name == "gene-disease-genes-ignored"
    source = gene_disease_data.load_gene_diseases(folder)
    options = {"n_partitions": 1, "at": [10], "random_state": study.seed(0) % 2**32, "truth": source.truth}
    values = evaluate(source.dyads, ["columns ignored"], **options).outcomes[0].values
    found = study.measure(study.seed(0))
    assert found[:, 0] == pytest.approx([values[f"{kind}recall@10"] for kind in ("", "significant ")])


def test_all_methods_see_the_same_partitions_and_changed_data_is_measured_anew(folder, small):
    studies = FIGURES["gene-disease"](folder).studies
    assert len({study.name for study in studies}) == len(studies)
    assert len({study.seed(3) for study in studies}) == 1
    assert {study.name for study in studies} == {study.name for study in FIGURES["significant"](folder).studies}
    keys = [study.key for study in studies]
    with np.load(folder / gene_disease_data.ARCHIVE) as arrays:
        changed = dict(arrays)
    changed["Y_all_v4_data"][0] = 0.0
    np.savez(folder / gene_disease_data.ARCHIVE, **changed)
    gene_disease_data._read_data.cache_clear()
    assert not set(keys) & {study.key for study in FIGURES["gene-disease"](folder).studies}


def test_claims():
    def claim(differences, least=0.0, paper="better"):
        return Claim("figure", "this over that", paper, np.array(differences), least)

    assert claim([0.1, 0.12, 0.11]).answer == "ok"
    assert claim([-0.1, -0.12, -0.11]).answer == "no"
    assert claim([-0.1, -0.12, -0.11], least=-0.2).answer == "ok"
    assert claim([0.1, -0.05, 0.02]).answer == "unclear"
    assert claim([0.1]).answer == "unclear"  # one partition has no error to compare with
    assert claim([0.1, 0.12, 0.11], paper="").answer is None
    assert claim([0.1, 0.2, 0.3]).error == pytest.approx(0.1 / np.sqrt(3))


# ---------------------------------------------------------------- data


def original_files(path, rng):
    """MimMiner, HumanNet, DisGeNET and a mapping, of 30 diseases and 25 genes of which two are in no network."""
    W = blocks(rng, 30, 3)
    lines = ["\t".join([f"{100000 + i}", *(f"{w:.4f}" for w in row)]) for i, row in enumerate(W)]
    (path / "MimMiner_Exp.mat").write_text("\n".join(lines) + "\n")
    G = blocks(rng, 23, 3)
    links = [(i, j) for i in range(23) for j in range(i)]
    # The best tenth of the links is kept: those of a path through all genes come first.
    score = {(i, i - 1): 9.0 + G[i, i - 1] for i in range(1, 23)}
    text = [f"{i}\t{j}\tNA\t{score.get((i, j), G[i, j]):.4f}" for i, j in links]
    (path / "HumanNet.v1.join.txt").write_text("\n".join(text) + "\n")
    pairs = [(f"C{i:07d}", j, 0.3 if (i + j) % 2 else 0.001) for i in range(30) for j in range(25) if i % 3 == j % 3]
    rows = ["geneId\tgeneSymbol\tdiseaseId\tdiseaseName\tscore"] + [f"{j}\tG{j}\t{c}\tD\t{s}" for c, j, s in pairs]
    (path / "all_gene_disease_associations.tsv").write_text("\n".join(rows) + "\n")
    # Concept 0 stands for two OMIM entries; it is that of the first.
    concepts = ["omim,umls"] + [f"{100000 + i},C{max(i - 1, 0):07d}" for i in range(30)]
    (path / "omim_to_umls.csv").write_text("\n".join(concepts) + "\n")


def test_files_in_their_original_formats(tmp_path, small, rng):
    original_files(tmp_path, rng)
    source = gene_disease_data.load_gene_diseases(tmp_path)
    assert source.dyads.row_ids[:2].tolist() == ["100000", "100002"]  # 100001 has lost its concept
    assert source.dyads.shape == (29, 23)
    assert set(np.unique(source.dyads.Y.data)) == {0.001, 0.3}
    assert source.truth is None
    assert "scores above 0.01" in FIGURES["significant"](tmp_path).title
    assert source.fingerprint == gene_disease_data.load_gene_diseases(tmp_path).fingerprint
    (tmp_path / "omim_to_umls.csv").unlink()
    gene_disease_data._read_data.cache_clear()
    with pytest.raises(FileNotFoundError, match=r"neither gda_.*npz nor.*OMIM to UMLS \(omim_to_umls\*\)"):
        gene_disease_data.load_gene_diseases(tmp_path)


def test_without_a_folder_genes_keep_their_diseases(rng, small, monkeypatch):
    gene = rng.integers(0, 12, 40)
    Y = sparse.csr_array((np.ones(40), (np.arange(40), gene)), shape=(40, 12))
    every = Dyads(Y, rng.standard_normal((40, 3)), rng.standard_normal((12, 3)))
    monkeypatch.setattr(gene_disease_data, "load_hpo", lambda: GeneDiseases(every, {}))
    monkeypatch.setattr(gene_disease_data, "DISEASES", 20)
    source = gene_disease_data.load_gene_diseases(None)
    assert source.dyads.shape[0] == source.dyads.Y.nnz == 20
    kept = np.bincount(source.dyads.column_ids.astype(int)[source.dyads.Y.indices], minlength=12)
    incomplete = (kept > 0) & (kept < np.bincount(gene, minlength=12))
    assert incomplete.sum() <= 1  # the last one drawn
    assert not source.significant


def test_significant_needs_something_that_is(folder, small, tmp_path, monkeypatch):
    with np.load(folder / gene_disease_data.ARCHIVE) as arrays:
        left = {name: value for name, value in arrays.items() if not name.startswith("Y_curated")}
    np.savez(folder / gene_disease_data.ARCHIVE, **left)
    with pytest.raises(NothingToShow, match="needs scores of associations"):
        reproduce("significant", out=tmp_path, data=folder, progress=False)
    for name in [name for name in FIGURES if name not in ("phd", "significant")]:
        monkeypatch.delitem(FIGURES, name)
    with pytest.warns(UserWarning, match="Left out: 'significant'"):
        result = reproduce("all", out=tmp_path, repetitions=2, data=folder, progress=False)
    assert result.verdicts


# ---------------------------------------------------------------- the cost table


def test_the_cost_table(monkeypatch, tmp_path):
    tiny = cost.Sizes(m=(30, 60), fixed_n=5, n=(4, 8), fixed_m=40)
    stage = cost.Stage("PCA", "embeddings", "O(m n²)", lambda m, n: m * n**2, cost._fitting(PHD(2)), tiny)
    alone = cost.Stage("IMC", "one score", "1", lambda m, n: 1, cost._one_product, cost.Sizes((30, 60), 1, (), 0))
    monkeypatch.setattr(cost, "PAPER", {"m_D": 12, "m_G": 10, "r": 3, "held_out": 2})
    monkeypatch.setitem(FIGURES, "cost", lambda data: cost.CostTable("cost", (stage, alone)))
    result = reproduce("cost", out=tmp_path, fast=True, jobs=2, progress=False)
    assert [path.name for path in result.files] == ["cost.md", "cost.csv"]
    text = (tmp_path / "cost.md").read_text()
    rows = [[field.strip() for field in line.split("|")[1:-1]] for line in text.splitlines()[2:4]]
    assert rows[0][2].endswith("(1.00)")
    assert rows[0][3].endswith("(2.00)")
    assert rows[1][3] == "–"
    assert "One prediction with cpHd" in text
    assert str(result) == text.strip()
    before = (tmp_path / "cost.csv").read_text()
    reproduce("cost", out=tmp_path, fast=True, progress=False)  # nothing is timed again
    assert (tmp_path / "cost.csv").read_text() == before


def test_every_formula_of_the_paper_is_timed_at_several_sizes():
    costs = FIGURES["cost"](None)
    assert all(study.alone for study in costs.studies)
    assert len({study.name for study in costs.studies}) == len(costs.studies)
    assert {(s.method, s.name) for s in costs.stages} >= {
        (method, stage) for method in cost.ESTIMATING for stage in ("embeddings", "features")
    }
    assert all(len(study.x) >= 4 for study in costs.studies[:-1])

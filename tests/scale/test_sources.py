"""Data in files and blocks gives what the same data in memory gives, however it is cut, in constant memory."""

from __future__ import annotations

import pickle
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import JDR, OLS, PCA, PHD, SIR, SOLS
from jointdr.diagnostics import rank_profile
from jointdr.engines import lanes, stream
from jointdr.engines import passes as looks
from jointdr.io import Source, scan_blocks, scan_npy, scan_parquet, write_transformed
from tests.scale.conftest import METHODS, assert_same

pytest.importorskip("pyarrow", reason="pyarrow is not installed, which reads Parquet")


@pytest.mark.parametrize("weight", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_what_it_gives_in_memory(name, weight, data, expected):
    for source in (data.npy(weight), data.parquet(weight), data.blocks(weight)):
        model = clone(METHODS[name]).fit(source)
        assert_same(model, expected(name, weight))
        if hasattr(model, "score"):
            w = data.weight if weight else None
            in_memory = expected(name, weight).score((data.A, data.B), data.y, sample_weight=w)
            assert model.score(source) == pytest.approx(in_memory, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["JDR", "JDR randomized", "JDR auto", "PHD residual", "SAVE", "SOLS sliced"])
def test_the_size_of_blocks_does_not_matter(name, data, expected, monkeypatch):
    monkeypatch.setattr(stream, "READ_BYTES", 1)
    monkeypatch.setattr(stream, "FEWEST_ROWS", 7)
    assert_same(clone(METHODS[name]).fit(data.parquet()), expected(name))
    assert_same(clone(METHODS[name]).fit(data.blocks(size=61)), expected(name))


@pytest.mark.parametrize("cores", [1, 3])
def test_the_number_of_cores_does_not_matter(cores, data, expected, monkeypatch):
    monkeypatch.setattr(lanes.Lanes, "width", lambda self: cores)
    assert_same(JDR(2).fit(data.parquet()), expected("JDR"))


@pytest.mark.parametrize(
    "model",
    [JDR(2), JDR(2, solver="randomized", random_state=0), JDR("auto", moments="all"), JDR(2, refine=1), PCA(2)],
    ids=str,
)
def test_three_views(model, data):
    in_memory = clone(model).fit((data.A, data.B, data.C), data.y)
    assert_same(clone(model).fit(data.npy(three=True)), in_memory)


def test_labels_several_responses_and_functions_of_them(data):
    X = (data.A, data.B)
    for model in (JDR(2), SIR(2), OLS(2)):
        assert_same(clone(model).fit(data.parquet(response="label")), clone(model).fit(X, data.labels))
    several = np.column_stack([data.y, data.y**2])
    assert_same(JDR(2).fit(data.parquet(response=["y", "z"])), JDR(2).fit(X, several))
    assert_same(JDR(2, response=np.tanh).fit(data.parquet()), JDR(2, response=np.tanh).fit(X, data.y))


def test_a_response_in_memory(data, expected):
    source = scan_npy(a=f"{data.folder}/a.npy", b=f"{data.folder}/b.npy")
    assert_same(JDR(2).fit(source, data.y), expected("JDR"))
    assert_same(JDR(2).fit(source, data.y, data.weight), expected("JDR", True))
    with pytest.raises(ValueError, match="has no response"):
        JDR(2).fit(source)
    with pytest.raises(ValueError, match="y has 2999 entries but the source has 3000 rows"):
        JDR(2).fit(source, data.y[1:])


def test_transform_comes_in_blocks(data, expected, monkeypatch):
    monkeypatch.setattr(stream, "READ_BYTES", 20_000)
    model = expected("JDR")
    blocks = list(model.transform(data.parquet()))
    assert len(blocks) > 5
    for k, Z in enumerate(model.transform((data.A, data.B))):
        np.testing.assert_allclose(np.concatenate([block[k] for block in blocks]), Z, atol=1e-12)
    assert isinstance(
        next(clone(model).fit(data.parquet()).set_output(transform="pandas").transform(data.npy()))[0], pd.DataFrame
    )
    swapped = scan_npy(b=f"{data.folder}/b.npy", a=f"{data.folder}/a.npy")
    with pytest.raises(ValueError, match="fitted with"):
        next(model.transform(swapped))


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_transformed_files(suffix, data, expected, tmp_path):
    model, path = expected("JDR"), tmp_path / f"coordinates.{suffix}"
    write_transformed(model, data.parquet(), path)
    found = np.load(path) if suffix == "npy" else pd.read_parquet(path)
    if suffix == "parquet":
        assert list(found.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(found, np.hstack(model.transform((data.A, data.B))), atol=1e-12)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(ValueError, match=r"must end in .npy or .parquet"):
        write_transformed(model, data.parquet(), tmp_path / "coordinates.csv")


def test_sparse_blocks(data, expected):
    A = sparse.csr_array(np.where(np.abs(data.A) > 2, data.A, 0.0))
    source = scan_blocks(
        lambda: (((A[i : i + 500], data.B[i : i + 500]), data.y[i : i + 500]) for i in range(0, 3000, 500))
    )
    assert_same(JDR(2).fit(source), JDR(2).fit((A, data.B), data.y))


def test_single_precision_stays(tmp_path, data):
    table = pd.DataFrame(data.A.astype(np.float32), columns=[f"a{i}" for i in range(6)])
    table["b"], table["n"], table["y"] = data.B[:, 0], np.arange(len(data.y)), data.y
    table.to_parquet(tmp_path / "t.parquet")
    source = scan_parquet(tmp_path, views={"a": "a*", "b": ["b", "n"]}, response="y")
    assert [T.dtype for T in source.templates] == [np.float32, np.float64]
    block = source.head(10)
    assert [X.dtype for X in block.views] == [np.float32, np.float64]
    np.testing.assert_array_equal(block.views[0], data.A[:10].astype(np.float32))
    np.testing.assert_array_equal(block.views[1][:, 1], np.arange(10))


@pytest.mark.parametrize(("early", "most"), [(iter, 1.1), (lanes.ahead, 1.6)], ids=["in turn", "read ahead"])
def test_memory_does_not_grow_with_the_rows(early, most, tmp_path, monkeypatch):
    """Five times the rows take the same memory: blocks and moments, nothing else."""
    monkeypatch.setattr(lanes, "ahead_of_waits", early)  # which would depend on whether a reader had to wait
    monkeypatch.setattr(stream, "READ_BYTES", 50_000)
    monkeypatch.setattr(stream.Stream, "block_bytes", 200_000)
    rng = np.random.default_rng(0)

    def peak(m):
        for name, shape in {"a": (m, 8), "b": (m, 6), "y": (m,)}.items():
            np.save(tmp_path / f"{name}.npy", rng.standard_normal(shape))
        source = scan_npy(**{n: tmp_path / f"{n}.npy" for n in "ab"}, y=tmp_path / "y.npy")
        JDR(2).fit(source)
        tracemalloc.start()
        JDR(2).fit(source)
        SIR(2, edges=[-0.5, 0.5]).fit(source)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    monkeypatch.setattr(looks, "SAMPLE_ROWS", 1000)
    monkeypatch.setattr(stream, "RESPONSE_ROWS", 5000)
    assert peak(300_000) < most * peak(60_000)  # blocks that are read ahead count, too


def test_columns_of_one_type_and_of_several(tmp_path, rng):
    numbers = rng.standard_normal((700, 6))
    table = pd.DataFrame(numbers, columns=list("abcdef")).astype({"a": "float32", "b": "float32", "c": "float32"})
    table["d"] = np.arange(700) % 7  # whole numbers beside floats
    table.to_parquet(tmp_path / "table.parquet", row_group_size=300)
    source = scan_parquet(tmp_path / "table.parquet", views={"x": ["b", "a"], "y": ["e", "f"], "z": ["f", "a", "d"]})
    blocks = [block for leaf in source.leaves() for block in leaf.blocks(128)]
    for k, (names, dtype) in enumerate([("ba", "float32"), ("ef", "float64"), ("fad", "float64")]):
        found = np.concatenate([block.views[k] for block in blocks])
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, table[list(names)].to_numpy(dtype))


def test_leaves_are_small(data):
    """What is sent to a worker is where rows lie, not the rows."""
    for source in (data.npy(), data.parquet()):
        assert all(len(pickle.dumps(leaf)) < 3000 for leaf in source.leaves())


def test_progress_in_rows_and_bytes(data):
    told = []
    JDR(2).fit(data.parquet().watched(lambda rows, nbytes: told.append((rows, nbytes))))
    rows, nbytes = np.sum(told, axis=0)
    assert (rows, nbytes) == (3000, 3000 * 11 * 8)
    assert data.parquet().nbytes == nbytes


class TestOnce:
    """Blocks of an iterator are read once, or refused before the first is read."""

    @pytest.fixture
    def once(self, data):
        self.read = 0

        def blocks():
            for start in range(0, 3000, 500):
                self.read += 1
                at = slice(start, start + 500)
                yield (data.A[at], data.B[at]), data.y[at]

        return scan_blocks(blocks())

    @pytest.mark.parametrize("name", ["JDR", "JDR auto", "JDR all moments", "OLS", "PCA", "SOLS sliced"])
    def test_methods_that_read_once(self, name, once, expected):
        assert_same(clone(METHODS[name]).fit(once), expected(name))

    @pytest.mark.parametrize(
        "model",
        [JDR(2, solver="randomized"), JDR(2, refine=1), PHD(2, residual=True), SIR(2), JDR(2, response="rank")],
        ids=str,
    )
    def test_methods_that_do_not(self, model, once):
        with pytest.raises(ValueError, match=r"read|reads"):
            model.fit(once)
        assert self.read == 1  # the first block tells what they look like

    def test_a_second_fit(self, once):
        PCA(2).fit(once)
        with pytest.raises(ValueError, match="can be read only once"):
            PCA(2).fit(once)

    def test_a_list_can_be_read_again(self, data, expected):
        blocks = [((data.A[:2000], data.B[:2000]), data.y[:2000]), ((data.A[2000:], data.B[2000:]), data.y[2000:])]
        assert_same(JDR(2, solver="randomized", random_state=0).fit(scan_blocks(blocks)), expected("JDR randomized"))


class TestErrors:
    def table(self, tmp_path, **columns):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.standard_normal((40, 4)), columns=["a0", "a1", "b0", "y"]).assign(**columns)
        table.to_parquet(tmp_path / "t.parquet", row_group_size=10)
        return tmp_path / "t.parquet"

    def scan(self, path, **given):
        return scan_parquet(path, **{"views": {"a": "a*", "b": "b*"}, "response": "y", **given})

    def test_missing_values(self, tmp_path):
        values = [1.0] * 40
        values[25] = None
        path = self.table(tmp_path, a1=pd.array(values, dtype="Float64"))
        with pytest.raises(ValueError, match=r"column 'a1' of .*t.parquet has missing values \(1 in row group 2\)"):
            JDR(1).fit(self.scan(path))

    @pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_not_finite(self, tmp_path, bad, word):
        import pyarrow as pa
        import pyarrow.parquet as pq

        rng = np.random.default_rng(0)
        columns = {name: rng.standard_normal(40) for name in ("a0", "a1", "b0", "y")}
        columns["b0"][17] = bad
        pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=10)
        message = rf"view 'b' contains {word} \(first in column 'b0' of .*t.parquet, row group 1, row 7 of it\)"
        with pytest.raises(ValueError, match=message):
            JDR(1).fit(self.scan(tmp_path / "t.parquet"))
        with pytest.raises(ValueError, match=message):
            PHD(1, residual=True).fit(self.scan(tmp_path / "t.parquet"))

    def test_response_not_finite(self, tmp_path):
        np.save(tmp_path / "a.npy", np.ones((10, 2)))
        np.save(tmp_path / "y.npy", np.r_[np.ones(9), np.nan])
        with pytest.raises(ValueError, match=r"y contains NaN or infinity \(first at row 9\)"):
            OLS().fit(scan_npy(a=tmp_path / "a.npy", y=tmp_path / "y.npy"))

    def test_strings(self, tmp_path):
        with pytest.raises(ValueError, match=r"column 'a1' of .*t.parquet holds .*string, not numbers"):
            self.scan(self.table(tmp_path, a1=["x"] * 40))

    def test_names(self, tmp_path):
        path = self.table(tmp_path)
        with pytest.raises(ValueError, match=r"view 'a': no column is called 'q\*'"):
            self.scan(path, views={"a": "q*", "b": "b*"})
        with pytest.raises(ValueError, match="has no column 'z'"):
            self.scan(path, response="z")
        with pytest.raises(FileNotFoundError):
            self.scan(tmp_path / "empty.parquet")
        assert self.scan(path, views={"a": "a*", "rest": "*"}).n_features == (2, 3)  # not the response

    def test_files_that_differ(self, tmp_path):
        path = self.table(tmp_path)
        other = tmp_path / "u.parquet"
        pd.read_parquet(path).drop(columns="a1").to_parquet(other)
        with pytest.raises(ValueError, match=r"u\.parquet lacks the column 'a1'"):
            self.scan([path, other])

    def test_shapes(self, tmp_path, data):
        np.save(tmp_path / "a.npy", np.ones((10, 2)))
        np.save(tmp_path / "b.npy", np.ones((9, 2)))
        np.save(tmp_path / "flat.npy", np.ones(10))
        with pytest.raises(ValueError, match="same number of rows, but got"):
            scan_npy(a=tmp_path / "a.npy", b=tmp_path / "b.npy")
        with pytest.raises(ValueError, match="view 'a' must be a table"):
            scan_npy(a=tmp_path / "flat.npy")
        with pytest.raises(TypeError, match="blocks that are"):
            scan_blocks([np.ones((3, 2))])
        with pytest.raises(ValueError, match="same views"):
            PCA(1).fit(scan_blocks([((np.ones((3, 2)),), None), ((np.ones((3, 3)),), None)]))
        with pytest.raises(TypeError, match="names its views itself"):
            JDR(1, views=[[0], [1]]).fit(data.npy())
        with pytest.raises(TypeError, match="no groups= beside a source"):
            SOLS().fit(data.npy(), groups=data.labels)

    def test_only_what_reads_sources_takes_them(self, data, expected):
        for call in (
            lambda: PCA(2).partial_fit(data.npy()),
            lambda: PHD(2, concatenate=True).fit((data.A, data.B), data.y).transform_joint(data.npy()),
            lambda: rank_profile(JDR(2), data.npy(), data.y),
        ):
            with pytest.raises(TypeError, match="A source is read by fit, score and transform"):
                call()

    def test_one_thread_that_fails_ends_the_others(self, data, monkeypatch):
        """A bad row in the last row group is found before the first thread has read all of its own."""
        monkeypatch.setattr(lanes.Lanes, "width", lambda self: 2)
        seen, told = [], []

        class Told(lanes.Told):
            def __init__(self, watch):
                super().__init__(watch)
                told.append(self)

        def watch(rows, nbytes):
            """Go on with the next block when the other thread has failed."""
            seen.append(rows)
            deadline = time.monotonic() + 60
            while not told[-1].stop and time.monotonic() < deadline:
                time.sleep(0.01)

        monkeypatch.setattr(lanes, "Told", Told)
        groups = data.parquet()
        leaves = groups.leaves()
        bad = [leaves[0], replace(leaves[1], path="nowhere.parquet"), *leaves[2:]]
        groups._leaves = lambda: bad
        with pytest.raises(FileNotFoundError):
            PCA(2).fit(groups.watched(watch))
        assert len(seen) < len(leaves) // 2

    def test_a_failed_fit_leaves_the_model_as_it_was(self, data, tmp_path):
        model = JDR(2).fit(data.npy())
        before = model.embeddings_
        np.save(tmp_path / "a.npy", np.full((10, 6), np.nan))
        np.save(tmp_path / "b.npy", np.ones((10, 5)))
        with pytest.raises(ValueError, match="NaN"):
            model.fit(scan_npy(a=tmp_path / "a.npy", b=tmp_path / "b.npy"), np.arange(10.0))
        assert model.embeddings_[0] is before[0]


class Interrupted(Exception):
    pass


class TestCheckpoint:
    def interrupted(self, model, source, path, after):
        seen = []

        def watch(rows, nbytes):
            seen.append(rows)
            if sum(seen) > after:
                raise Interrupted

        with pytest.raises(Interrupted):
            clone(model).fit(source.watched(watch).checkpointed(path, every=0.0))
        assert path.exists()

    @pytest.mark.parametrize("name", ["JDR", "JDR auto", "JDR randomized", "SAVE", "PHD residual"])
    @pytest.mark.parametrize("after", [1500, 2900])
    def test_goes_on_where_it_was(self, name, after, data, expected, tmp_path, monkeypatch):
        monkeypatch.setattr(lanes.Lanes, "width", lambda self: 1)
        model, path = METHODS[name], tmp_path / "fold.npz"
        reads = 1 if name in ("JDR", "JDR auto", "SAVE") else 2
        after = after + 3000 * (reads - 1)
        self.interrupted(model, data.parquet(), path, after)
        seen = []
        resumed = clone(model).fit(data.parquet().watched(lambda r, b: seen.append(r)).checkpointed(path, every=0.0))
        whole = []
        straight = clone(model).fit(data.parquet().watched(lambda r, b: whole.append(r)))
        assert sum(seen) < sum(whole) - after + 1000  # what was folded is not read again
        assert_same(resumed, straight, 1e-12)
        assert_same(resumed, expected(name))
        assert not path.exists()

    def test_belongs_to_one_fit_and_one_data_set(self, data, tmp_path):
        path = tmp_path / "fold.npz"
        self.interrupted(JDR(2), data.parquet(), path, 1500)
        with pytest.raises(ValueError, match="belongs to another fit"):
            JDR(2, normalize="feature").fit(data.parquet().checkpointed(path))
        with pytest.raises(ValueError, match="belongs to other data"):
            JDR(2).fit(data.npy().checkpointed(path))
        with pytest.raises(ValueError, match="belongs to other data"):
            JDR(2).fit(data.parquet().with_response(data.y**2).checkpointed(path))
        path.write_bytes(b"something else")
        with pytest.raises(ValueError, match="not a whole jointdr file"):
            JDR(2).fit(data.parquet().checkpointed(path))

    def test_needs_files(self, data, tmp_path):
        with pytest.raises(ValueError, match="can be read from any row"):
            data.blocks().checkpointed(tmp_path / "fold.npz")


def test_source_is_public():
    assert issubclass(type(scan_blocks([((np.ones((3, 2)),), None)])), Source)

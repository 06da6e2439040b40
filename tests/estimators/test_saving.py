from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from jointdr import JDR, Views
from jointdr.runtime import modelfile
from jointdr.runtime.modelfile import read_header, read_model, write_model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize": "joint"},
        {"normalize": None},
        {"solver": "randomized", "random_state": 3},
        {"n_features_to_select": (3, None), "scale": "sqrt", "ridge": "auto"},
        {"random_state": np.random.RandomState(0)},
    ],
    ids=["default", "joint", "none", "randomized", "select", "generator"],
)
def test_round_trip_is_exact(tmp_path, data, options):
    A, B, y = data
    model = JDR(2, **options).fit(Views(genes=A, diseases=B), y)
    path = tmp_path / "model.npz"
    model.save(path)
    again = JDR.load(path)
    for one, two in zip(model.transform((A, B)), again.transform((A, B)), strict=True):
        np.testing.assert_array_equal(one, two)
    assert again.score((A, B), y) == model.score((A, B), y)
    assert again.view_names_ == ("genes", "diseases")
    np.testing.assert_array_equal(again.get_feature_names_out(), model.get_feature_names_out())
    for one, two in zip(model.support_, again.support_, strict=True):
        np.testing.assert_array_equal(one, two)
    assert [p.name for p in tmp_path.iterdir()] == ["model.npz"]
    if "random_state" not in options or isinstance(options["random_state"], int):
        assert str(again.get_params()) == str(clone(model).get_params()).replace("(3, None)", "[3, None]")
    with pytest.raises(ValueError, match="features per view"):
        again.transform((A[:, :2], B))


def test_partial_fit_goes_on_after_loading(tmp_path, data):
    A, B, y = data
    JDR(2).partial_fit((A[:100], B[:100]), y[:100]).save(tmp_path / "half")
    model = JDR.load(tmp_path / "half").partial_fit((A[100:], B[100:]), y[100:])
    np.testing.assert_allclose(model.embeddings_[0], JDR(2).fit((A, B), y).embeddings_[0], atol=1e-10)


def test_one_matrix_form_with_names(tmp_path, data):
    A, B, y = data
    frame = pd.DataFrame(np.hstack([A, B]), columns=list("abcdefghij"))
    for views in ({"p": list("abcdef"), "q": slice(6, None)}, [slice(0, 6), np.arange(6, 10)]):
        model = JDR(2, views=views).fit(frame, y)
        model.save(tmp_path / "m.npz")
        again = JDR.load(tmp_path / "m.npz")
        np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
        assert again.n_features_in_ == 10
        with pytest.raises(ValueError, match="feature names"):
            again.transform(frame[list("jihgfedcba")])


def test_damaged_files_are_refused(tmp_path, data):
    A, B, y = data
    path = tmp_path / "model.npz"
    JDR(2).fit((A, B), y).save(path)
    whole = path.read_bytes()

    def refused(content, message):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            JDR.load(path)

    for end in (0, 10, len(whole) // 2, len(whole) - 5):
        refused(whole[:end], "not a whole jointdr file")
    refused(b"hello, world", "not a whole jointdr file")
    np.save(path.with_suffix(".npy"), np.zeros(3))
    refused(path.with_suffix(".npy").read_bytes(), "not a")
    with pytest.raises(FileNotFoundError):
        JDR.load(tmp_path / "nowhere.npz")


def test_every_flipped_bit_is_harmless_or_refused(tmp_path):
    """Whatever a bit belongs to: a size, a flag, a method of compression, a name, a header or a number."""
    path = tmp_path / "model.npz"
    header, arrays = {"a": 1}, {"x": np.arange(3.0), "y": np.array(["p", "q"])}
    write_model(path, "JDR", header, arrays)
    whole = path.read_bytes()
    bits = np.random.default_rng(0).choice(8 * len(whole), size=600, replace=False)
    refused = []
    for bit in bits.tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        for reader in (lambda: read_model(path, "JDR"), lambda: (read_header(path), arrays)):
            try:
                found = reader()
            except ValueError as error:
                refused.append(str(error))
            else:
                assert found[0]["a"] == 1
                np.testing.assert_array_equal(found[1]["x"], arrays["x"])
    assert len(refused) > 300
    assert all("model.npz" in message for message in refused)


@pytest.mark.parametrize("at", [8, 10], ids=["encryption flag", "method of compression"])
def test_what_a_damaged_file_asks_for_is_not_there(tmp_path, at):
    path = tmp_path / "model.npz"
    write_model(path, "JDR", {}, {"x": np.arange(3.0)})
    damaged = bytearray(path.read_bytes())
    entry = damaged.index(b"PK\x01\x02")  # of the first array, in the directory at the end
    damaged[entry + at] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="not a whole jointdr file"):
        read_model(path, "JDR")


def test_too_little_memory_is_not_a_damaged_file(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise MemoryError

    write_model(tmp_path / "x", "JDR", {}, {})
    monkeypatch.setattr(np.lib.format, "read_array", fail)
    with pytest.raises(MemoryError):
        read_model(tmp_path / "x", "JDR")


def test_a_missing_folder_and_a_pickle_are_named(tmp_path, data):
    A, B, y = data
    model = JDR(2).fit((A, B), y)
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        model.save(tmp_path / "nowhere" / "model.npz")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    with pytest.raises(ValueError, match="Python objects, which are never loaded"):
        JDR.load(tmp_path / "model.pickle")


def rewrite(path, change):
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h.update(format=99), "format 99.*Update jointdr"),
        (lambda h, a: h.update(kind="PCA"), "holds a PCA model"),
        (lambda h, a: h.pop("format"), "no format"),
        (lambda h, a: h.update(params={**h["params"], "scale": 3}), "altered or damaged"),
        (lambda h, a: a.update({"bases.0": a["bases.0"] + 1}), "altered or damaged"),
        (lambda h, a: a.pop("bases.0"), "altered or damaged"),
    ],
)
def test_altered_files_are_refused(tmp_path, data, change, message):
    A, B, y = data
    path = tmp_path / "model.npz"
    JDR(2).fit((A, B), y).save(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        JDR.load(path)


def test_loading_runs_no_code(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    path = tmp_path / "trap.npz"
    with open(path, "wb") as file:
        np.savez(file, header=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="not a whole jointdr file"):
        JDR.load(path)
    assert not (tmp_path / "trapped").exists()


def test_a_failed_save_leaves_the_old_file(tmp_path, data, monkeypatch):
    A, B, y = data
    path = tmp_path / "model.npz"
    model = JDR(2).fit((A, B), y)
    model.save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(modelfile.np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in Path(tmp_path).iterdir()] == ["model.npz"]


def test_objects_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match="Python objects"):
        write_model(tmp_path / "x", "JDR", {}, {"a": np.array([object()])})


def test_an_ordinary_file_with_everything_in_it(tmp_path, data):
    A, B, y = data
    table = np.hstack([A, B])
    path = tmp_path / "model.npz"
    old = os.umask(0o022)
    try:
        JDR(2, views=[range(6), range(6, 10)]).fit(table, y).set_output(transform="pandas").save(path)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o644
    again = JDR.load(path)
    assert isinstance(again.transform(table), pd.DataFrame)


def test_all_folds_are_saved(tmp_path, data):
    A, B, y = data
    JDR("auto", moments="all").partial_fit((A[:200], B[:200]), y[:200]).save(tmp_path / "half")
    again = JDR.load(tmp_path / "half").partial_fit((A[200:], B[200:]), y[200:])
    whole = JDR("auto", moments="all").fit((A, B), y)
    assert again.n_components_ == whole.n_components_
    whole.save(tmp_path / "whole")
    assert JDR.load(tmp_path / "whole").moments_used_ == whole.moments_used_
    assert JDR.load(tmp_path / "whole").solver_ == "exact"
    np.testing.assert_allclose(again.embeddings_[0], whole.embeddings_[0], atol=1e-9)


def test_names_of_the_features_of_all_views_are_read_again(tmp_path, data):
    A, B, y = data
    frames = (pd.DataFrame(A, columns=list("abcdef")), pd.DataFrame(B, columns=list("ghij")))
    model = JDR(2).fit(frames, y)
    assert "".join(model.feature_names_in_) == "abcdefghij"
    model.save(tmp_path / "m.npz")
    assert "".join(JDR.load(tmp_path / "m.npz").feature_names_in_) == "abcdefghij"
    assert not hasattr(model.fit((A, frames[1]), y), "feature_names_in_")

"""Model files of every format ever released are still read, and give what they gave."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import jointdr
from jointdr import AssociationModel, TableWarning
from jointdr.engines import checkpoint
from jointdr.prediction.loading import FAMILY, PREDICTORS
from jointdr.runtime.modelfile import CHECKPOINT, FORMAT, load_model, read_header

FOLDER = Path(__file__).parents[1] / "fixtures" / "models"
FILES = sorted(path for path in FOLDER.glob("*/*.npz") if not path.name.endswith(".expected.npz"))
CLASSES = {**FAMILY, **PREDICTORS}


def expected_of(path):
    with np.load(path.with_suffix(".expected.npz")) as file:
        return dict(file)


def numbered(arrays, name):
    return [arrays[f"{name}.{k}"] for k in range(sum(key.startswith(f"{name}.") for key in arrays))]


def test_there_are_files_of_the_present_format_and_of_every_kind():
    found = {read_header(path)["kind"] for path in FILES if path.parent.name == f"format-{FORMAT}"}
    assert found == {*CLASSES, CHECKPOINT}
    heads = {read_header(path)["params"].get("head") for path in FILES if path.name.startswith("association")}
    assert heads == {"auto", "kernel", "bilinear", "kernel_ridge"}


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.stem != "checkpoint"], ids=lambda p: f"{p.parent.name}/{p.stem}"
)
def test_a_model_gives_what_it_gave(path):
    expected = expected_of(path)
    kind, inputs = CLASSES[str(expected["kind"])], numbered(expected, "input")
    for model in (kind.load(path), jointdr.load(path)):
        assert type(model) is kind
        for one, two in zip(results(model, inputs), numbered(expected, "output"), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-10)


def results(model, inputs):
    """Of a model for its inputs, which are arrays, or one table of new entities as text."""
    if hasattr(model, "recommend"):
        new = inputs[0] if inputs[0].dtype.kind != "U" else pd.read_csv(io.StringIO(str(inputs[0])), index_col=0)
        if isinstance(new, np.ndarray):
            return model.predict(), model.predict(new)
        with pytest.warns(TableWarning, match="without the columns charge"):
            return model.predict(), model.predict(new)
    return model.transform(tuple(inputs)) if hasattr(model, "transform") else (model.predict(tuple(inputs)),)


AUTOMATIC = [f"association_{name}{grades}" for name in ("automatic", "tables") for grades in ("", "_grades")]


@pytest.mark.parametrize("name", AUTOMATIC)
def test_an_automatic_model_says_what_it_said(name):
    model = AssociationModel.load(FOLDER / "format-2" / f"{name}.npz")
    assert list(dict.fromkeys(model.choices_["question"])) == ["rows", "columns", "both", "pairs"]
    assert np.isfinite(model.choices_["held-out score"]).all()
    assert "higher is better" in str(model)
    assert list(model.failures_.columns) == ["question", "setting", "error"]


@pytest.mark.parametrize("name", ["association_tables", "association_tables_grades", "imc_tables"])
def test_a_model_of_tables_keeps_names_and_the_treatment_of_columns(name):
    model = jointdr.load(FOLDER / "format-2" / f"{name}.npz")
    assert model.view_names_ == ("drug", "target")
    assert model.labels_[0].tolist() == [f"drug number {i}" for i in range(24)]
    assert model.labels_[1] is None
    kinds = dict(zip(*(model.encoders_[0].summary()[c] for c in ("column", "kind")), strict=True))
    assert kinds == {
        **dict.fromkeys(("mass", "charge", "rings"), "number"),
        **{"class": "category", "approved": "boolean", "since": "date", "name": "name"},
    }
    pairs = model.predict_pairs([("d0", "t0"), ("d3", "t2")])
    assert ("lower" in pairs.columns) == name.endswith("_grades")


def test_a_checkpoint_is_no_model():
    path = FOLDER / f"format-{FORMAT}" / "checkpoint.npz"
    with pytest.raises(ValueError, match=r"checkpoint\.npz holds the checkpoint of a fit, .*no model.*checkpointed"):
        jointdr.load(path)


def test_bandwidths_of_format_1_are_chosen_by_the_rule_of_version_0_1():
    """A new fit of a model of version 0.1 chooses what it chose then."""
    old = AssociationModel.load(FOLDER / "format-1" / "association_bilinear.npz")
    assert (old.head, old.bandwidth) == ("bilinear", "left-out rows")
    assert AssociationModel.load(FOLDER / "format-1" / "association_kernel.npz").bandwidth == 0.4
    new = AssociationModel.load(FOLDER / "format-2" / "association_bilinear.npz")
    assert new.bandwidth == "auto"
    chosen = AssociationModel.load(FOLDER / "format-2" / "association_chosen.npz")
    assert chosen.known_bandwidth_ != chosen.bandwidth_
    automatic = AssociationModel.load(FOLDER / "format-2" / "association_automatic.npz")
    assert automatic.bandwidth == "auto"


@pytest.mark.parametrize("path", [p for p in FILES if p.stem == "checkpoint"], ids=lambda p: p.parent.name)
def test_a_checkpoint_holds_what_it_held(path):
    expected = expected_of(path)
    _, (read, *_) = load_model(path, CHECKPOINT, checkpoint.contents)
    moments = read["state"].central()
    assert read["rows"] == expected["rows"]
    np.testing.assert_allclose(moments.covariance(0), expected["covariance"], rtol=1e-10)
    np.testing.assert_allclose(moments.third(0, 1), expected["third"], rtol=1e-10)


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_file_of_the_future_is_refused(path, tmp_path):
    with np.load(path) as file:
        arrays = dict(file)
    header = {**json.loads(arrays["header"].tobytes()), "format": FORMAT + 1, "library": "9.8.7"}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "later.npz", **arrays)
    load = CLASSES[header["kind"]].load if header["kind"] in CLASSES else read_header
    with pytest.raises(ValueError, match=r"later.npz was written by jointdr 9.8.7 in format \d+; .* Update jointdr"):
        load(tmp_path / "later.npz")

"""Tables with columns of any kind: fit and predict agree whatever the order and the file, and nothing is silent."""

from __future__ import annotations

import csv
import gzip
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from jointdr import JDR, Dyads, Popularity, TableEncoder, TableWarning, load
from jointdr.data import fit_encoders
from jointdr.data.views import Views
from jointdr.datasets import read_table
from tests.properties.verdict import given

WORDS = ("red", "blue, dark", 'the "green" one', "Äpfel; süß", "tab-free", "two words", "1A")


def column(kind, m, rng):
    """A column of one kind; in files it is the text of it."""
    if kind == "number":
        return rng.normal(300, 50, m).round(3)
    if kind == "whole":
        return rng.integers(0, 1000, m)
    if kind == "nullable":
        return pd.array(rng.integers(0, 9, m), dtype="Int64")
    if kind == "boolean":
        return rng.random(m) < 0.5
    if kind == "nullable boolean":
        return pd.array(rng.random(m) < 0.5, dtype="boolean")
    if kind == "words":
        return np.where(rng.random(m) < 0.5, "yes", "no").astype(object)
    if kind == "date":
        return pd.Timestamp("2001-02-03") + pd.to_timedelta(rng.integers(0, 5000, m), unit="D")
    if kind == "class":
        return np.array(WORDS, dtype=object)[rng.integers(0, len(WORDS), m)]
    if kind == "rare":
        return np.array(WORDS, dtype=object)[np.minimum(rng.geometric(0.5, m) - 1, 6)]
    if kind == "string":
        return pd.array(np.array(WORDS[:3], dtype=object)[rng.integers(0, 3, m)], dtype="string")
    if kind == "categorical":
        return pd.Categorical(np.array(WORDS[:4])[rng.integers(0, 4, m)])
    if kind == "names":
        return np.array([f"entity {k}" for k in range(m)], dtype=object)
    return np.full(m, "the same", dtype=object)


KINDS = (
    *("number", "whole", "nullable", "boolean", "nullable boolean", "words", "date", "class", "rare", "string"),
    *("categorical", "names", "constant"),
)


@dataclass(frozen=True)
class Recipe:
    """A table: the kinds of its columns, whether each has gaps, and the number of rows."""

    kinds: tuple[tuple[str, bool], ...]
    m: int
    seed: int

    def table(self):
        rng = np.random.default_rng(self.seed)
        columns = {"anchor": pd.Series(rng.normal(300, 50, self.m).round(3))}  # so that there is a feature
        for k, (kind, has_gaps) in enumerate(self.kinds):
            values = pd.Series(column(kind, self.m, rng))
            gaps = rng.random(self.m) < 0.2
            columns[f"{kind} {k}"] = values.mask(gaps) if has_gaps else values
        return pd.DataFrame(columns)


RECIPES = st.builds(
    Recipe,
    kinds=st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), max_size=6).map(tuple),
    m=st.integers(12, 60),
    seed=st.integers(0, 2**20),
)
LAYOUTS = st.fixed_dictionaries(
    {
        "sep": st.sampled_from([",", ";", "\t", "|"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "encoding": st.sampled_from(["utf-8", "utf-8-sig"]),
        "lineterminator": st.sampled_from(["\n", "\r\n"]),
        "na_rep": st.sampled_from(["", "NA", "nan", "?"]),
    }
)
ENDINGS = st.sampled_from([".csv", ".tsv", ".txt", ".dat", ".csv.gz"])


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def messages_of(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*arguments)
    return found, " ".join(str(warning.message) for warning in caught if warning.category is TableWarning)


def written(table, folder, name, layout):
    path = Path(folder) / name
    separator = layout["sep"]
    decimal = "," if separator == ";" else "."
    data = table.to_csv(index=False, decimal=decimal, **{k: v for k, v in layout.items() if k != "encoding"})
    data = data.encode(layout["encoding"])
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@given(RECIPES, st.randoms(use_true_random=False))
def test_fit_and_transform_agree_in_any_order(recipe, random):
    table = recipe.table()
    encoder = TableEncoder()
    X = quiet(encoder.fit_transform, table)
    assert X.shape == (len(table), len(encoder.get_feature_names_out()))
    assert np.isfinite(X).all()
    order = list(table)
    random.shuffle(order)
    rows = np.random.default_rng(recipe.seed).permutation(len(table))
    again = TableEncoder.from_arrays(encoder.to_arrays("t"), "t")
    for fitted in (encoder, again):
        np.testing.assert_array_equal(quiet(fitted.transform, table), X)
        np.testing.assert_array_equal(quiet(fitted.transform, table[order]), X)
        np.testing.assert_array_equal(quiet(fitted.transform, table.iloc[rows]), X[rows])
    turned = TableEncoder()
    other = quiet(turned.fit_transform, table[order])
    assert set(turned.get_feature_names_out()) >= {c.name for c in encoder.columns_ if c.kind == "number"}
    assert other.shape == X.shape


@given(RECIPES, LAYOUTS, ENDINGS)
def test_the_layout_of_a_file_does_not_matter(recipe, layout, ending):
    table = recipe.table()
    table.insert(1 + recipe.seed % len(table.columns), "id", [f"{k:04d}" for k in range(len(table))])
    plain = {"sep": ",", "encoding": "utf-8"}
    with tempfile.TemporaryDirectory() as folder:
        expected = quiet(read_table, written(table, folder, "plain.csv", plain), id="id")
        found = quiet(read_table, written(table, folder, f"table{ending}", layout), id="id")
    assert found.index.tolist() == expected.index.tolist() == table.id.tolist()
    encoder = TableEncoder()
    X = quiet(encoder.fit_transform, expected)
    np.testing.assert_allclose(quiet(TableEncoder().fit_transform, found), X, rtol=1e-12)
    np.testing.assert_allclose(quiet(encoder.transform, found), X, rtol=1e-12)
    in_memory = TableEncoder()
    np.testing.assert_allclose(
        np.sort(quiet(in_memory.fit_transform, table.drop(columns="id")), axis=1), np.sort(X, axis=1), rtol=1e-12
    )


@given(RECIPES, st.data())
def test_nothing_is_silent(recipe, data):
    table = recipe.table()
    dyads, said = messages_of(Dyads, np.ones((len(table), 2)), table)
    encoder = dyads.encoders[0]
    if encoder is None or encoder.keeps_numbers:
        return
    for c in encoder.columns_:
        assert c.features or c.kind in ("name", "left out")
        if c.kind == "left out" or (c.features and c.n_missing):
            assert repr(c.name) in said or " more" in said, (c, said)
    lost = data.draw(st.lists(st.sampled_from(list(table)[1:]), unique=True)) if len(table.columns) > 1 else []
    new, said = messages_of(encoder.transform, table.drop(columns=lost).assign(extra=1))
    assert "extra" in said
    at = 0
    for c in encoder.columns_:
        if c.name in lost and c.features:
            assert c.name in said or " more" in said, (c, said)
            if c.kind != "category":
                place = encoder.get_feature_names_out().tolist().index(c.name)
                np.testing.assert_allclose(new[:, place], c.fill)
                at += 1
    assert at <= len(lost)


@given(RECIPES, st.randoms(use_true_random=False))
def test_models_take_tables_in_any_order_and_keep_the_rules(recipe, random):
    table = recipe.table()
    rng = np.random.default_rng(recipe.seed)
    order = list(table)
    random.shuffle(order)
    B = rng.standard_normal((4, 2))
    model = quiet(Popularity().fit, quiet(Dyads, rng.random((len(table), 4)), table, B))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.npz")
        again = load(Path(folder) / "model.npz")
    expected = quiet(model.predict, table)
    np.testing.assert_array_equal(quiet(again.predict, table[order]), expected)

    proteins = rng.standard_normal((len(table), 2))
    views = Views(drug=table, protein=proteins)
    y = table.anchor.to_numpy() * proteins[:, 0]
    fitted = quiet(JDR(1, ridge=0.1).fit, views, y)
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "model.npz")
        again = load(Path(folder) / "model.npz")
    Z = quiet(fitted.transform, views)
    for model in (fitted, again):
        turned = quiet(model.transform, Views(drug=table[order], protein=proteins))
        np.testing.assert_allclose(turned[0], Z[0], atol=1e-9)
    assert fit_encoders(Views(protein=proteins))[1] == (None,)

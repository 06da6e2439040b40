"""TableEncoder: features of tables with columns of any kind, the same for every table that follows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pd = pytest.importorskip("pandas")

from jointdr import JDR, Dyads, JDRRegressor, TableEncoder, TableWarning, Views, load  # noqa: E402


@pytest.fixture
def table():
    """60 drugs with columns of every kind."""
    rng = np.random.default_rng(0)
    m = 60
    weight = 300 + 50 * rng.standard_normal(m)
    weight[::7] = np.nan
    return pd.DataFrame(
        {
            "name": [f"drug {k}" for k in range(m)],
            "weight": weight,
            "class": np.array(["acid", "base", "salt", None], dtype=object)[rng.integers(0, 4, m)],
            "oral": np.where(rng.random(m) < 0.5, "yes", "no"),
            "approved": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 5000, m), unit="D"),
            "doses": pd.array([*rng.integers(1, 9, m - 1), None], dtype="Int64"),
            "source": "ChEMBL",
        }
    )


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        return function(*arguments, **options)


class TestEncoder:
    def test_features_are_what_one_would_write_by_hand(self, table):
        encoder = TableEncoder()
        X = encoder.fit_transform(table)
        mean = table.weight.mean()
        most = table["class"].value_counts().index.tolist()
        expected = {
            "weight": table.weight.fillna(mean),
            "oral": table.oral == "yes",
            "approved": (table.approved - pd.Timestamp(0)) / pd.Timedelta(days=1),
            "doses": table.doses.astype(float).fillna(table.doses.mean()),
            "weight missing": table.weight.isna(),
            **{f"class={level}": table["class"] == level for level in most[1:]},
            "class=missing": table["class"].isna(),
        }
        assert encoder.get_feature_names_out().tolist() == list(expected)
        np.testing.assert_allclose(X, np.column_stack([np.asarray(v, dtype=float) for v in expected.values()]))
        assert encoder.names_.tolist() == table.name.tolist()

    def test_the_summary_has_a_line_for_every_column(self, table):
        summary = TableEncoder(drop=["doses"]).fit(table).summary().set_index("column")
        assert summary.index.tolist() == list(table)
        assert summary.kind.tolist() == ["name", "number", "category", "boolean", "date", "left out", "left out"]
        assert summary.loc["weight", "missing"] == 9
        assert summary.loc[["doses", "source"], "note"].tolist() == ["as asked", "constant"]

    def test_columns_in_any_order_give_the_same(self, table):
        encoder = TableEncoder()
        X = encoder.fit_transform(table)
        turned = quiet(encoder.transform, table[list(table)[::-1]])
        np.testing.assert_array_equal(turned, X)
        np.testing.assert_array_equal(quiet(encoder.transform, table[::-1]), X[::-1])

    def test_what_is_missing_is_filled_in_and_said(self, table):
        encoder = TableEncoder().fit(table)
        with pytest.warns(TableWarning) as caught:
            X = encoder.transform(
                table[:3].drop(columns=["class", "weight"]).assign(color="red", oral=["yes", "?", "x"])
            )
        message = str(caught[0].message)
        assert "without the columns weight, class" in message
        assert "which are not used: color" in message
        assert "no place for, in 'oral' 'x'" in message
        assert "gaps in 'oral' (1)" in message
        names = encoder.get_feature_names_out().tolist()
        filled = dict(zip(names, X.T, strict=True))
        np.testing.assert_allclose(filled["weight"], table.weight.mean())  # never 0
        np.testing.assert_allclose(filled["oral"], [1.0, *[(table.oral == "yes").mean()] * 2])
        np.testing.assert_array_equal(filled["class=missing"], 1.0)
        np.testing.assert_array_equal(filled["weight missing"], 1.0)

    def test_other_tables_are_refused(self, table):
        encoder = TableEncoder().fit(table)
        with pytest.raises(ValueError, match="none of the features that were fitted, weight, class, oral"):
            encoder.transform(pd.DataFrame({"height": [1.0]}))
        with pytest.raises(TypeError, match="must be a DataFrame"):
            encoder.transform(np.zeros((2, 7)))
        with pytest.raises(NotFittedError):
            TableEncoder().transform(table)

    def test_use_and_drop_choose_columns(self, table):
        used = TableEncoder(use=["weight", "class"]).fit(table)
        assert {name.split("=")[0].removesuffix(" missing") for name in used.get_feature_names_out()} == {
            "weight",
            "class",
        }
        assert used.names_ is not None  # names are shown and are no features
        assert TableEncoder(drop=["name"]).fit(table).names_ is None
        halves = pd.DataFrame({"name": ["left", "right"] * 30})
        assert TableEncoder(use=["name"]).fit(halves).get_feature_names_out().tolist() == ["name=right"]
        with pytest.raises(ValueError, match="drop names a column 'wight', but there are approved, class"):
            TableEncoder(drop=["wight"]).fit(table)
        with pytest.raises(TypeError, match=r"use='weight' must be a list of names of columns: use=\['weight'\]"):
            TableEncoder(use="weight").fit(table)

    def test_several_columns_of_names(self, table):
        more = table.assign(code=[f"C-{k}" for k in range(60)])
        encoder = TableEncoder().fit(more[["code", *table]])
        assert encoder.names_.tolist() == table.name.tolist()
        assert {c.name: c.note for c in encoder.columns_}["code"] == "text that nearly never repeats"
        with pytest.warns(TableWarning, match="taken as names, not as features: 'code'"):
            Dyads(np.ones((60, 2)), more.drop(columns="name"))

    def test_gaps_are_marked_once_and_where_there_are_some(self):
        values = np.arange(200.0)
        gaps = np.where(values < 20, np.nan, values)
        few = np.where(values < 1, np.nan, values)
        encoder = TableEncoder().fit(pd.DataFrame({"a": gaps, "b": 2 * gaps, "c": few}))
        assert encoder.get_feature_names_out().tolist() == ["a", "b", "c", "a missing"]

    def test_files_hold_plain_arrays(self, table):
        encoder = TableEncoder().fit(table)
        arrays = encoder.to_arrays("t")
        assert all(np.asarray(a).dtype.kind in "iufUb" for a in arrays.values())
        again = TableEncoder.from_arrays(arrays, "t")
        np.testing.assert_array_equal(quiet(again.transform, table), quiet(encoder.transform, table))
        assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
        with pytest.raises(ValueError, match="its columns are not those of a table"):
            TableEncoder.from_arrays({**arrays, "t.kinds": arrays["t.kinds"] + 90}, "t")


class TestScikitLearn:
    def test_parameters_are_cloned(self):
        encoder = TableEncoder(use=["a"], drop=["b"], smiles="c")
        assert clone(encoder).get_params() == TableEncoder().get_params() | {"use": ["a"], "drop": ["b"], "smiles": "c"}

    def test_set_output(self, table):
        encoder = TableEncoder().set_output(transform="pandas")
        X = encoder.fit_transform(table)
        assert X.columns.tolist() == encoder.get_feature_names_out().tolist()
        assert X.index.equals(table.index)
        assert (encoder.n_features_in_, encoder.feature_names_in_.tolist()) == (7, list(table))

    @pytest.mark.parametrize("container", ["pandas", "polars"])
    def test_the_configuration_of_output_changes_no_model(self, table, container):
        pytest.importorskip(container)
        B, y = np.random.default_rng(0).standard_normal((60, 2)), np.arange(60.0)
        plain = quiet(Dyads, np.ones((60, 2)), table).A
        Z = quiet(JDR(1, ridge=0.1).fit, (table, B), y).embeddings_[0]
        with config_context(transform_output=container):
            dyads = quiet(Dyads, np.ones((60, 2)), table, row_encoder=TableEncoder().set_output(transform=container))
            np.testing.assert_array_equal(dyads.A, plain)
            assert isinstance(dyads.A, np.ndarray)
            np.testing.assert_allclose(quiet(JDR(1, ridge=0.1).fit, (table, B), y).embeddings_[0], Z)

    def test_a_step_of_pipelines_and_a_piece_of_column_transformers(self, table):
        y = table.weight.fillna(300) + 10 * (table.oral == "yes")
        model = make_pipeline(TableEncoder(), StandardScaler(), Ridge())
        assert quiet(cross_val_score, model, table, y).min() > 0.9
        pieces = ColumnTransformer([("any", TableEncoder(), ["weight", "class"])])
        names = pieces.fit(table).get_feature_names_out()
        assert names[0] == "any__weight"

    def test_the_same_as_its_pieces(self, table):
        encoder = TableEncoder().fit(table)
        assert encoder.transformer_.get_feature_names_out().tolist() == [
            name.replace("class=", "class_").replace("weight missing", "missingindicator_weight")
            for name in encoder.get_feature_names_out()
        ]

    def test_a_second_fit_forgets_the_first(self, table):
        encoder = TableEncoder().fit(table)
        encoder.fit_transform(table[["weight"]])
        assert encoder.get_feature_names_out().tolist() == ["weight", "weight missing"]


class TestViews:
    """Rows of tables with columns of any kind."""

    @pytest.fixture
    def rows(self, table):
        rng = np.random.default_rng(1)
        table = pd.concat([table] * 5, ignore_index=True)
        proteins = pd.DataFrame(rng.standard_normal((300, 3)), columns=list("pqr"))
        y = ((table.oral == "yes") - 0.5) * proteins.p + 0.1 * rng.standard_normal(300)
        return Views(drug=table, protein=proteins), y

    def test_rows_are_taken_as_they_are(self, rows):
        X, _ = rows
        assert repr(X) == "Views(drug: 300 × 7, protein: 300 × 3)"
        for key in (slice(2, 9), np.arange(2, 9), (np.arange(300) > 1) & (np.arange(300) < 9)):
            pd.testing.assert_frame_equal(X[key].arrays[0], X.arrays[0][2:9])

    def test_a_model_fits_and_applies_an_encoder(self, rows, tmp_path):
        X, y = rows
        with pytest.warns(TableWarning, match=r"The table of 'drug': columns left out: 'source' \(constant\); gaps"):
            model = JDR(1).fit(X, y)
        drugs, proteins = X.arrays[0], pd.DataFrame(X.arrays[1], columns=list("pqr"))
        expected = JDR(1).fit((TableEncoder().fit_transform(drugs), X.arrays[1]), y)
        np.testing.assert_allclose(model.embeddings_[0], expected.embeddings_[0])
        assert "oral" in model.feature_names_per_view_[0]
        Z = quiet(model.transform, X)
        turned = Views(protein=proteins[list("rqp")], drug=drugs[list(drugs)[::-1]])
        model.save(tmp_path / "model.npz")
        for fitted in (model, load(tmp_path / "model.npz")):
            for one, two in zip(quiet(fitted.transform, turned), Z, strict=True):
                np.testing.assert_allclose(one, two, atol=1e-12)
            np.testing.assert_allclose(quiet(fitted.transform_view, drugs, "drug"), Z[0])
        with pytest.warns(TableWarning, match="new table of 'drug' is given without the columns oral"):
            model.transform(Views(drug=drugs.drop(columns="oral"), protein=proteins))
        with pytest.warns(TableWarning, match=r"new table of 'protein' is given with gaps in 'q' \(300\)"):
            lost = model.transform(Views(drug=drugs, protein=proteins.assign(q=np.nan)))
        mean = proteins.assign(q=proteins.q.mean())
        np.testing.assert_allclose(lost[1], quiet(model.transform, Views(drug=drugs, protein=mean))[1])

    def test_folds_encode_by_themselves(self, rows):
        X, y = rows
        assert quiet(cross_val_score, JDRRegressor(JDR(1), random_state=0), X, y).mean() > 0.8
        half = quiet(JDR(1).fit, X[:150], y[:150])
        assert half.encoders_[0].columns_[1].fill == pytest.approx(X.arrays[0].weight[:150].mean())

    def test_one_table_of_two_views(self, rows):
        X, y = rows
        drugs, proteins = X.arrays[0], pd.DataFrame(X.arrays[1], columns=list("pqr"))
        whole = pd.concat([drugs, proteins], axis=1)
        model = JDR(1, views={"drug": list(drugs), "protein": list("pqr")})
        quiet(model.fit, whole, y)
        assert model.n_features_in_ == 10
        expected = np.hstack(quiet(quiet(JDR(1).fit, X, y).transform, X))
        np.testing.assert_allclose(quiet(model.transform, whole), expected)

    def test_rows_that_come_one_after_another(self, rows):
        X, y = rows
        model = quiet(JDR(1).partial_fit, X[:150], y[:150])
        model = quiet(model.partial_fit, X[150:], y[150:])
        assert model.moments_.n_samples == 300
        assert abs(model.embeddings_[0][model.feature_names_per_view_[0].tolist().index("oral"), 0]) > 0.5

    def test_samples_are_dyads(self, rows):
        X, y = rows
        dyads = quiet(Dyads.from_samples, X, y)
        assert dyads.n_features[0] == len(dyads.encoders[0].get_feature_names_out()) == 9
        model = JDR(1).fit(dyads)
        np.testing.assert_allclose(quiet(model.transform, X)[0], model.transform(dyads)[0])

    def test_a_table_without_any_feature_is_refused(self, rows):
        X, y = rows
        with pytest.raises(
            ValueError, match=r"view 'a' has no column that could be a feature: 'name' \(name\), 'source'"
        ):
            JDR(1).fit((X.arrays[0][["name", "source"]], X.arrays[1]), y)

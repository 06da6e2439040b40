"""Pictures: one axis in, the same axis out, and what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jointdr import JDR, AssociationModel, Dyads, plot
from jointdr.diagnostics import rank_profile
from jointdr.evaluation import evaluate
from jointdr.plot import heaviest
from jointdr.plot.axes import apart

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots(layout="constrained")[1]


@pytest.fixture(scope="module")
def dyads():
    rng = np.random.default_rng(0)
    A = pd.DataFrame(rng.standard_normal((120, 5)), columns=[f"trait {i}" for i in range(5)])
    B = pd.DataFrame(rng.standard_normal((50, 4)), columns=[f"function {i}" for i in range(4)])
    Y = A.to_numpy()[:, :2] @ B.to_numpy()[:, :2].T + 0.3 * rng.standard_normal((120, 50))
    return Dyads((Y > 1).astype(float), A, B, names=("disease", "gene"))


@pytest.fixture(scope="module")
def model(dyads):
    return AssociationModel(JDR(3), head="kernel", bandwidth=0.3).fit(dyads)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_picture_returns_the_axis_it_was_given(dyads, model):
    profile = rank_profile(JDR(3), dyads, n_permutations=19)
    x = [100, 200, 400]
    for draw in (
        lambda ax: plot.scree(profile, ax),
        lambda ax: plot.scree(model, ax),
        lambda ax: plot.embedding_map(model, ax),
        lambda ax: plot.loadings(model, ax),
        lambda ax: plot.recall_curves({"a": ([1, 2], [0.1, 0.2])}, ax),
        lambda ax: plot.nsee_curves({"a": (x, [3.0, 2.0, 1.0])}, ax),
        lambda ax: plot.metric_bars({"a": (0.5, 0.1), "b": (0.7, 0.0)}, ax),
    ):
        figure, ax = plt.subplots()
        assert draw(ax) is ax
        assert figure.axes == [ax]
        figure.canvas.draw()
        alone = draw(None)
        assert alone.figure is not figure


def test_scree_shows_values_chance_and_what_counts(dyads, ax):
    profile = rank_profile(JDR(3), dyads, n_permutations=19)
    plot.scree(profile, ax, rank=3)
    level, values, counting, others = ax.lines[:4]
    np.testing.assert_array_equal(values.get_ydata(), profile.singular_values)
    assert level.get_ydata()[0] == profile.null[:, 0].max()  # of 19 permutations at 5 %, none may reach it
    assert len(counting.get_ydata()) == profile.null_rank == 2
    assert len(others.get_ydata()) == len(profile.singular_values) - 2
    assert "fitted: 3" in texts(ax)
    with pytest.raises(ValueError, match="embedding=None"):
        plot.scree(AssociationModel(None, head="kernel", bandwidth=1.0).fit(dyads))
    with pytest.raises(ValueError, match="takes a rank profile"):
        plot.scree(np.zeros((2, 2)))


def test_map_has_both_kinds(dyads, model, ax):
    plot.embedding_map(model, ax, directions=(1, 3))
    rows, columns = ax.collections
    np.testing.assert_array_equal(rows.get_offsets(), model._parts.sides[0].points[0][:, [0, 2]])
    np.testing.assert_array_equal(columns.get_offsets(), model._parts.sides[1].points[0][:, [0, 2]])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["disease", "gene"]
    Z = JDR(2).fit(dyads).transform(dyads)
    assert len(plot.embedding_map(Z, names=("x", "y"), labels=(None, [(3, "third")])).collections) == 2
    with pytest.raises(ValueError, match="from 1 to 3"):
        plot.embedding_map(model, directions=(1, 4))
    with pytest.raises(ValueError, match="embedding=None"):
        plot.embedding_map(AssociationModel(None, head="kernel", bandwidth=1.0).fit(dyads))
    with pytest.raises(ValueError, match="takes a fitted AssociationModel"):
        plot.embedding_map(JDR(2))


def test_map_in_colours(model, ax):
    groups = np.array(["eye"] * 60 + ["skin"] * 40 + [None] * 20, dtype=object)
    plot.embedding_map(model, ax, color=(groups, None))
    drawn = {text.get_text() for text in ax.get_legend().get_texts()}
    assert drawn == {"disease: eye", "disease: skin", "disease: other", "gene"}
    sizes = sorted(len(points.get_offsets()) for points in ax.collections)
    assert sizes == [20, 40, 50, 60]
    coloured = plot.embedding_map(model, color=(np.arange(120.0), None))
    np.testing.assert_array_equal(coloured.collections[0].get_array(), np.arange(120.0))
    with pytest.raises(ValueError, match="3 values for 120 'disease'"):
        plot.embedding_map(model, color=(["a"] * 3, None))


def test_loadings_are_the_largest_weights(model, ax):
    plot.loadings(model, ax, direction=2, n_shown=3)
    assert len(ax.patches) == 6
    U = model.embedding_.embeddings_[0][:, 1]
    top = np.argsort(-np.abs(U))[:3]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[:3] == [f"trait {i}" for i in top]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches[:3]], U[top] / np.abs(U).max())
    assert {"disease", "gene"} <= set(texts(ax))
    assert len(plot.loadings(model, view=1, n_shown=2).patches) == 2
    for wrong in ({"direction": 4}, {"direction": 0}, {"view": 2}):
        with pytest.raises(ValueError, match="must be a number from"):
            plot.loadings(model, **wrong)
    with pytest.raises(ValueError, match="with an embedding"):
        plot.loadings(AssociationModel(None, head="kernel"))


def test_loadings_of_selected_features_leave_out_the_others(rng):
    A, B = rng.standard_normal((400, 6)), rng.standard_normal((400, 5))
    fitted = JDR(1, n_features_to_select=(2, 2)).fit((A, B), A[:, 0] * B[:, 0])
    (_, names, weights), _ = heaviest(fitted, 1, 8)
    assert len(names) == np.count_nonzero(weights) == 2
    assert "feature 1" in names


def test_recall_curves_of_an_evaluation_and_of_its_file_are_the_same(dyads, tmp_path):
    found = evaluate(dyads, ["IMC", "popularity"], n_partitions=2, at=[5, 10], tune=None)
    found.to_csv(tmp_path)
    means = dict(zip(found.table["method"], found.table["recall@10"], strict=True))
    for given in (found, found.curves, tmp_path, tmp_path / "curves.csv"):
        ax = plot.recall_curves(given)
        assert set(texts(ax)) == {"IMC", "popularity"}
        ends = [line.get_ydata()[-1] for line in ax.lines if len(line.get_xdata()) == 2 and line.get_marker() in "os"]
        np.testing.assert_allclose(sorted(ends)[-2:], sorted(means.values()))
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is no curves"):
        plot.recall_curves(tmp_path / "other.csv")
    with pytest.raises(ValueError, match="takes an Evaluation"):
        plot.recall_curves(3)
    with pytest.raises(ValueError, match="as many recalls"):
        plot.recall_curves({"a": ([1, 2], [0.5])})


def test_slopes_are_written_beside_the_lines(ax, rng):
    x = np.array([1000, 2000, 4000, 8000])
    noisy = 3 * x**-0.5 * np.exp(0.01 * rng.standard_normal((30, 4)))
    plot.nsee_curves({"half": (x, 5 * x**-0.5), "third": (x, x ** (-1 / 3)), "noisy": (x, noisy)}, ax)
    assert texts(ax)[:2] == ["half, slope −0.50", "third, slope −0.33"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1000", "2000", "4000", "8000"]
    for wrong, said in ((([1, 2], [1.0]), "needs one error"), (([1, 2], [1.0, 0.0]), "not positive")):
        with pytest.raises(ValueError, match=said):
            plot.nsee_curves({"a": wrong})
    with pytest.raises(ValueError, match="an empty one"):
        plot.nsee_curves({})


def test_labels_keep_their_distance_and_their_order():
    heights = [0.5, 0.1, 0.52, 0.98, 0.97]
    placed = apart(heights, 0.1)
    assert np.argsort(placed).tolist() == np.argsort(heights).tolist()
    assert np.diff(np.sort(placed)).min() >= 0.1 - 1e-12
    assert max(placed) <= 1.0
    assert apart([0.2, 0.8], 0.1) == [0.2, 0.8]


def test_graded_means_are_those_of_an_evaluation_best_first(tmp_path):
    lines = [
        ("a", "RMSE", 0.5, 0.1),
        ("b", "RMSE", 0.4, None),
        ("a", "concordance", 0.7, 0.1),
        ("b", "concordance", 0.6, 0.1),
    ]
    table = pd.DataFrame(lines, columns=["method", "metric", "mean", "se"])
    found = plot.graded_means(table)
    assert list(found) == list(plot.GRADED)
    assert list(found["RMSE"].items()) == [("b", (0.4, 0.0)), ("a", (0.5, 0.1))]
    assert list(found["concordance"]) == ["a", "b"]
    table.to_csv(tmp_path / "summary.csv", index=False)
    assert plot.graded_means(tmp_path) == plot.graded_means(str(tmp_path / "summary.csv")) == found
    (tmp_path / "curves.csv").write_text("method,metric,k,recall,se\na,recall,1,0.5,0.1\n")
    for other in (tmp_path, {"a": ([1], [0.5])}, table[table["metric"] == "nDCG"]):
        assert plot.graded_means(other) == {}
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"neither curves\.csv nor summary\.csv"):
        plot.graded_means(tmp_path / "empty")

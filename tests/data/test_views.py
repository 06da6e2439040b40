from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from jointdr import Views
from jointdr.data import PositionWarning
from jointdr.data.column_groups import column_positions, split_columns
from jointdr.data.views import as_views


def test_rows_of_every_view(rng):
    A, B = rng.standard_normal((6, 3)), sparse.csr_array(np.eye(6, 2))
    X = Views(A, B)
    assert len(X) == 6
    assert X.shape == (6, 5)
    assert X.n_features == (3, 2)
    for key in (slice(1, 4), [0, 2], np.array([True, False] * 3), np.array([5, 5, 1])):
        part = X[key]
        np.testing.assert_array_equal(part.arrays[0], A[key])
        np.testing.assert_array_equal(part.arrays[1].toarray(), B.toarray()[key])
        np.testing.assert_array_equal(X[key, ...].arrays[0], A[key])
    assert len(X[2]) == 1
    assert len(X[-1]) == 1
    np.testing.assert_array_equal(X[-1].arrays[0], A[-1:])
    with pytest.raises(IndexError, match="by rows only"):
        X[0, 1]


def test_names_and_repr(rng):
    X = Views(genes=rng.standard_normal((4, 2)), diseases=rng.standard_normal((4, 1)))
    assert X.names == ("genes", "diseases")
    assert repr(X) == "Views(genes: 4 × 2, diseases: 4 × 1)"
    assert repr(Views(np.zeros((2, 1)), np.zeros((2, 1)))) == "Views(a: 2 × 1, b: 2 × 1)"
    with pytest.raises(ValueError, match="either unnamed"):
        Views(np.zeros((2, 1)), b=np.zeros((2, 1)))
    with pytest.raises(ValueError, match="at least one view"):
        Views()


def test_frames_keep_their_names_and_index():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}, index=["p", "q"])
    X = Views(frame, np.zeros((2, 1)))
    assert list(X.feature_names[0]) == ["x", "y"]
    assert X.feature_names[1] is None
    assert list(X[[1]].index) == ["q"]


def test_train_test_split_splits_rows(rng):
    A, B, y = rng.standard_normal((10, 3)), rng.standard_normal((10, 2)), np.arange(10)
    train, test, y_train, y_test = train_test_split(Views(A, B), y, test_size=3, random_state=0)
    assert (len(train), len(test)) == (7, 3)
    np.testing.assert_array_equal(train.arrays[0], A[y_train])
    np.testing.assert_array_equal(test.arrays[1], B[y_test])


def test_different_row_counts():
    with pytest.raises(ValueError, match="view 'a' has 3, view 'b' has 2"):
        Views(np.zeros((3, 1)), np.zeros((2, 1)))


def test_the_wrong_kind_says_what_to_do():
    with pytest.raises(TypeError, match=r"views=\[slice"):
        as_views(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"Views\(A, B\): scikit-learn splits a bare list by views"):
        as_views([np.zeros(3), np.zeros(3)])


def test_torch_views_stay_torch():
    torch = pytest.importorskip("torch")
    X = Views(torch.arange(12.0).reshape(4, 3), torch.ones((4, 2)))
    part = X[np.array([True, False, True, False])]
    assert isinstance(part.arrays[0], torch.Tensor)
    assert part.arrays[0].tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    assert X[1:2].arrays[0].tolist() == [[3.0, 4.0, 5.0]]
    with pytest.raises(ValueError, match="two dimensions"):
        Views(torch.ones(3))
    with pytest.raises(ValueError, match="real numbers"):
        Views(torch.ones((3, 2), dtype=torch.complex64))


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (slice(1, 3), [1, 2]),
        ([0, -1], [0, 3]),
        ([True, False, False, True], [0, 3]),
        (["w", "z"], [0, 3]),
        ("y", [2]),
        ([2], [2]),
    ],
)
def test_column_groups(group, expected):
    columns = np.array(["w", "x", "y", "z"], dtype=object)
    assert column_positions(group, 4, columns, "a").tolist() == expected


def test_split_columns_of_sparse_and_dense(rng):
    X = rng.standard_normal((5, 4))
    for table in (X, sparse.csr_array(X)):
        parts = split_columns(table, {"p": [3, 0], "q": slice(1, 3)}, None).arrays
        dense = [P.toarray() if sparse.issparse(P) else P for P in parts]
        np.testing.assert_array_equal(dense[0], X[:, [3, 0]])
        np.testing.assert_array_equal(dense[1], X[:, 1:3])


@pytest.mark.parametrize(
    ("group", "columns", "message"),
    [
        (["w", "q"], ["w", "x"], "does not have: \\['q'\\]"),
        (["w"], None, r"give a DataFrame.*set_output\(transform='pandas'\)"),
        ([5], None, "n_features = 2"),
        ([True], None, "mask has 1 entries"),
        (slice("w", "x"), ["w", "x"], "list the column names"),
        (slice(0, 0), None, "without columns"),
    ],
)
def test_bad_column_groups(group, columns, message):
    with pytest.raises(ValueError, match=message):
        split_columns(np.zeros((3, 2)), [group, slice(0, 1)], columns)


@pytest.mark.parametrize("groups", [(6, 5), [3, slice(0, 2)], {"x": np.int64(1), "y": [0]}])
def test_bare_numbers_are_refused_because_they_may_be_columns_or_widths(groups):
    with pytest.raises(ValueError, match=r"may mean one column or a number of columns: write \[\d\].*slice\(0, 6\)"):
        split_columns(np.zeros((3, 11)), groups, None)


def test_it_is_no_sequence_of_rows_and_no_matrix():
    X = Views(np.zeros((3, 2)), np.ones((3, 1)))
    for key in (3, -4, 100):
        with pytest.raises(IndexError, match="out of range"):
            X[key]
    with pytest.raises(TypeError):
        list(X)
    with pytest.raises(TypeError, match=r"np.hstack\(X.arrays\)"):
        np.asarray(X)
    with pytest.raises(TypeError, match=r"np.hstack\(X.arrays\)"):
        StandardScaler().fit(X)
    with pytest.raises(TypeError, match="is a Views itself"):
        Views(X, X)


def test_frames_in_different_orders_are_aligned():
    A = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=["p", "q", "r"])
    for B in (A.copy(), A.iloc[::-1], A.iloc[[1, 2, 0]]):
        assert Views(A, B).arrays[1].ravel().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="The index of view 'b' has other ids than the first table, for example 's'"):
        Views(A, A.set_axis(["p", "q", "s"]))
    assert len(Views(A, A.reset_index(drop=True))) == 3


def test_pairs_of_things_of_one_kind_are_not_reordered_rows():
    """Here the index names things, each of which occurs in several pairs."""
    proteins = pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"])
    with pytest.warns(PositionWarning, match="by position"):
        X = Views(proteins.loc[["p", "p", "q", "q"]], proteins.loc[["p", "q", "p", "q"]])
    assert X.arrays[1].ravel().tolist() == [1.0, 2.0, 1.0, 2.0]


def test_names_must_differ():
    with pytest.raises(ValueError, match=r"view 'b' has several columns of the same name: \['x'\]"):
        Views(np.zeros((2, 1)), pd.DataFrame(np.zeros((2, 3)), columns=["x", "y", "x"]))


def test_columns_that_are_not_numbers_are_named():
    numbers = pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), "c": pd.Categorical([1, 2]), "b": [True, False]})
    np.testing.assert_array_equal(Views(numbers).as_numbers().arrays[0], [[1, 1, 1], [np.nan, 2, 0]])
    for strange in (["p", "q"], pd.Categorical(["p", "q"]), pd.date_range("2020", periods=2)):
        with pytest.raises(ValueError, match=r"view 'a' holds values in column 's' .*TableEncoder"):
            Views(numbers.assign(s=strange)).as_numbers()
    with pytest.raises(ValueError, match="view 'a' should hold numbers, but got datetime64"):
        Views(np.array([["2020-01-01"]], dtype="datetime64[D]"))


def test_names_of_views_are_strings_and_no_rows():
    with pytest.raises(TypeError, match=r"names of views to be strings, but got \['p', 1\]"):
        as_views({"p": np.zeros((2, 1)), 1: np.zeros((2, 1))})
    with pytest.raises(IndexError, match="by rows only"):
        Views(p=np.zeros((2, 1)))["p"]


def test_reordered():
    X = Views(p=np.zeros((2, 1)), q=np.ones((2, 3))).reordered(("q", "p"))
    assert X.names == ("q", "p")
    assert X.n_features == (3, 1)


@pytest.mark.parametrize("groups", [5, "ab", [[0, "w"], [1]], [[0.9, 1.2], [2]], [[-20, 0], [1]]])
def test_other_bad_groups(groups):
    with pytest.raises(ValueError, match="view"):
        split_columns(np.zeros((3, 4)), groups, None)

"""JDRRegressor: an embedding and a model of the response on top of it, as one scikit-learn regressor."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from jointdr.data import TableWarning, Views, checked_numbers, checked_weight, in_order, refuse_dyads
from jointdr.directions import LINKS, Link, fit_bilinear, fit_learned
from jointdr.estimators import JDR, ViewsTransformer, link_from_arrays, link_to_arrays
from jointdr.prediction.heads.parts import embedding_from_arrays, embedding_to_arrays
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.runtime import (
    Array,
    Saved,
    check_choice,
    check_flag,
    is_integer,
    make_random_state,
    parameters_from_json,
    to_json,
    to_numpy,
)

HEADS = ("learned", "kernel", "bilinear")

# Lengths over which a learned head may vary, in units of √d; cross-validation chooses among them.
LENGTHS = (0.35, 0.75, 1.5)


class JDRRegressor(RegressorMixin, Saved, BaseEstimator):
    """Predict y from two (or more) views: embed them, then fit y on the embedded coordinates.

    Parameters
    ----------
    embedding : JDR, default None
        The embedding to learn; None is ``JDR()``. Its parameters can be searched as ``embedding__n_components``, ...
    head : {"learned", "kernel", "bilinear"}, default "learned"
        How y depends on the coordinates. ``"learned"``: any smooth function, ridge regression on products and random
        Fourier features, tuned by generalized cross-validation; prediction does not need the training rows.
        ``"kernel"``: Nadaraya-Watson regression (`KernelRegression`), as in the paper. ``"bilinear"``: least squares
        on products of one coordinate of each view; with ``moments="all"`` also on their squares and themselves.
    random_state : int, RandomState or None
        It draws the random features (an integer; they are the same for None and every RandomState) and the rows that a
        kernel's bandwidth is tuned on.

    Attributes
    ----------
    embedding_ : JDR
        The fitted embedding.
    head_ : Link or KernelRegression
        The fitted model of y on the coordinates.
    n_features_in_, feature_names_in_ : int, array of str
        Of all views together, as `JDR` has them.

    Notes
    -----
    The embedding sees y transformed by its ``response``; the head always predicts y itself, one or several per row.
    Cross-validate with ``Views(A, B)``, which scikit-learn splits by rows. A sample weight of 2 counts as two equal
    rows, also where cross-validation asks how many rows there are.

    References
    ----------
    Li, Wen, Cheng and Bresler. Joint dimensionality reduction for separable embedding estimation.

    Rahimi and Recht (2007). Random features for large-scale kernel machines. NeurIPS 20.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from jointdr import JDR, JDRRegressor
    >>> from jointdr.datasets import make_rbf
    >>> X, y, _ = make_rbf(4000, n_features=8, n_components=2, random_state=0)
    >>> model = JDRRegressor(JDR(moments="all"), random_state=0)
    >>> search = GridSearchCV(model, {"embedding__n_components": [1, 2]}, cv=3).fit(X, y)
    >>> search.best_params_
    {'embedding__n_components': 2}
    """

    def __init__(self, embedding: Any = None, *, head: str = "learned", random_state: Any = None) -> None:
        self.embedding = embedding
        self.head = head
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the embedding and the head.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when the embedding has ``views``
        y : (m,) array, or (m, q) for several responses (not with ``head="kernel"``)
        sample_weight : (m,) array, optional
        """
        self._check_parameters()
        embedding = JDR() if self.embedding is None else self.embedding
        if not isinstance(embedding, ViewsTransformer):
            raise TypeError(f"embedding={embedding!r} must be a JDR or another method with its interface.")
        refuse_dyads(X, "JDRRegressor")
        fitted = clone(embedding).fit(X, y, sample_weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TableWarning)  # of gaps, which the fit has named
            parts, views = fitted.embed(X)
        Z = _as_floats(parts)
        y = np.asarray(in_order(y, views.index, "y"))
        several = y.ndim == 2 and y.shape[1] > 1
        if several and self.head == "kernel":
            raise ValueError("head='kernel' predicts one response: use 'learned' or 'bilinear', or fit one model each.")
        y = y.astype(float) if several else checked_numbers(y, len(Z[0]), "JDRRegressor")
        weight = checked_weight(sample_weight, len(y), index=views.index)
        self.head_ = self._head(Z, y, weight, "all" if getattr(fitted, "moments", "") == "all" else "cross")
        self._one_column = not several
        self._keep_embedding(fitted)
        return self

    def _check_parameters(self) -> None:
        check_choice("head", self.head, HEADS)
        make_random_state(self.random_state)

    def _keep_embedding(self, fitted: ViewsTransformer) -> None:
        self.embedding_, self.n_features_in_ = fitted, fitted.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_

    def predict(self, X: Any) -> Array:
        """The predicted response of each row, (m,), or (m, q) if several were fitted."""
        check_is_fitted(self)
        Z = _as_floats(self.embedding_.embed(X)[0])
        if isinstance(self.head_, KernelRegression):
            return self.head_.predict(Views(*Z))
        with np.errstate(all="ignore"):
            prediction = self.head_.predict(Z)
        if not np.isfinite(prediction).all():
            raise ValueError("X lies so far from the rows that were fitted that its prediction overflows.")
        return prediction[:, 0] if self._one_column else prediction

    def _head(self, Z: list[Array], y: Array, weight: Array | None, products: Any) -> Link | KernelRegression:
        if self.head == "kernel":
            return KernelRegression(random_state=self.random_state).fit(Views(*Z), y, weight)
        Y = y if y.ndim == 2 else y[:, None]
        w = np.ones(len(Y)) if weight is None else weight
        mean = np.average(Y, axis=0, weights=w)
        if self.head == "bilinear":
            return fit_bilinear(Z, Y - mean, w, products).shifted(mean)
        seed = int(self.random_state) if is_integer(self.random_state) else 0
        return fit_learned(Z, Y - mean, w, lengths=LENGTHS, seed=seed).shifted(mean)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` those of the embedding, which are those of ``JDR()`` where it is None."""
        params = super().get_params(deep)
        if deep and self.embedding is None:
            params |= {f"embedding__{name}": value for name, value in JDR().get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``embedding__n_components=3`` makes an embedding where there is none."""
        is_nested = any(name.startswith("embedding__") for name in params)
        if is_nested and params.get("embedding", self.embedding) is None:
            params["embedding"] = JDR()
        return super().set_params(**params)

    # ---------------------------------------------------------------- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        from jointdr.prediction.loading import FAMILY  # which knows this class

        check_is_fitted(self)
        embedding, arrays = embedding_to_arrays(self.embedding_, FAMILY)
        if isinstance(self.head_, KernelRegression):
            head, inner = self.head_.to_arrays()
        else:
            head, inner = {"link": self.head_.kind}, link_to_arrays(self.head_)
        params = {"embedding": self.embedding is not None, "head": self.head, "random_state": self.random_state}
        header = {
            "params": {name: to_json(value) for name, value in params.items()},
            "embedding": embedding,
            "head": head,
            "one_column": self._one_column,
        }
        return header, arrays | {f"head/{name}": value for name, value in inner.items()}

    @classmethod
    def from_arrays(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `to_arrays` took apart; an error if header and arrays do not belong together."""
        from jointdr.prediction.loading import FAMILY

        params = parameters_from_json(header["params"])
        fitted = embedding_from_arrays(header["embedding"], arrays, FAMILY)
        model = cls(**{**params, "embedding": clone(fitted) if params["embedding"] else None})
        model._check_parameters()
        model._keep_embedding(fitted)
        model._one_column = check_flag("one_column", header["one_column"])
        inner = {name.removeprefix("head/"): value for name, value in arrays.items() if name.startswith("head/")}
        model.head_ = model._read_head(header["head"], inner)
        return model

    def _read_head(self, header: dict[str, Any], arrays: dict[str, Array]) -> Link | KernelRegression:
        ranks = [U.shape[1] for U in self.embedding_.embeddings_]
        if "link" not in header:
            head = KernelRegression.from_arrays(header, arrays)
            if head.view_widths_ != ranks or hasattr(head, "grid_") or not self._one_column:
                raise ValueError(f"its head is of views of {head.view_widths_} coordinates, its embedding has {ranks}")
            return head
        link = link_from_arrays(check_choice("link", header["link"], LINKS[1:]), arrays)
        if len(link.basis.centre) != sum(ranks) or (self._one_column and not link.is_scalar):
            raise ValueError(f"its head is of {len(link.basis.centre)} coordinates, its embedding has {ranks}")
        return link

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = self.head != "kernel"
        tags.regressor_tags.poor_score = True  # the checks' y is linear in the features, and products of views are not
        return tags


def _as_floats(parts: Iterable[Array]) -> list[Array]:
    return [np.asarray(to_numpy(Z), dtype=float) for Z in parts]

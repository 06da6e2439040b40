"""JDRRegressor: an embedding and a model of the response on top of it, as one scikit-learn regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from jointdr.data import Views, checked_numbers, checked_weight, refuse_dyads
from jointdr.directions import Link, fit_bilinear, fit_learned
from jointdr.estimators import JDR, ViewsTransformer
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.runtime import Array, check_choice, is_integer, to_numpy

HEADS = ("learned", "kernel", "bilinear")

# Lengths over which a learned head may vary, in units of √d; cross-validation chooses among them.
LENGTHS = (0.35, 0.75, 1.5)


class JDRRegressor(RegressorMixin, BaseEstimator):
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
        check_choice("head", self.head, HEADS)
        embedding = JDR() if self.embedding is None else self.embedding
        if not isinstance(embedding, ViewsTransformer):
            raise TypeError(f"embedding={embedding!r} must be a JDR or another method with its interface.")
        refuse_dyads(X, "JDRRegressor")
        fitted = clone(embedding).fit(X, y, sample_weight)
        Z = self._coordinates(fitted, X)
        y = np.asarray(y)
        several = y.ndim == 2 and y.shape[1] > 1
        if several and self.head == "kernel":
            raise ValueError("head='kernel' predicts one response: use 'learned' or 'bilinear', or fit one model each.")
        y = y.astype(float) if several else checked_numbers(y, len(Z[0]), "JDRRegressor")
        weight = checked_weight(sample_weight, len(y))
        self.head_ = self._head(Z, y, weight, "all" if getattr(fitted, "moments", "") == "all" else "cross")
        self.embedding_ = fitted
        self._one_column = not several
        self.n_features_in_ = fitted.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        return self

    def predict(self, X: Any) -> Array:
        """The predicted response of each row, (m,), or (m, q) if several were fitted."""
        check_is_fitted(self)
        Z = self._coordinates(self.embedding_, X)
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

    @staticmethod
    def _coordinates(embedding: Any, X: Any) -> list[Array]:
        return [np.asarray(to_numpy(Z), dtype=float) for Z in embedding.embed(X)[0]]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = self.head != "kernel"
        tags.regressor_tags.poor_score = True  # the checks' y is linear in the features, and products of views are not
        return tags

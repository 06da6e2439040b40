"""Methods that read how y bends, second-order moments with y: thin scikit-learn shells, no maths."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from jointdr.data import Views, refuse_dyads
from jointdr.directions import Embedding, classical, joint_phd, residuals
from jointdr.engines import Grid, Rows
from jointdr.estimators.family import SupervisedMethod, without_score
from jointdr.estimators.scoring import joint_coordinates, joint_spectrum, quadratic_share
from jointdr.moments import Moments
from jointdr.runtime import Array


class IHT(SupervisedMethod):
    """Iterative Hessian transformation of each view: the span of β, Hβ, H²β, ... (Cook and Li, 2002).

    β are the coefficients of least squares and H the matrix of pHd, both of normalized features. It asks less of the
    features than pHd (linear conditional means alone), but starts from β, so that it sees nothing where OLS does not.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
    ridge, scale, response, edges, n_slices, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        The singular values of [β, H] within the span, in units of y; one array per view.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_, response_
        As in `JDR`.

    Notes
    -----
    One read of the data, O(m n²).

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import IHT
    >>> from jointdr.metrics import subspace_error
    >>> A = np.random.default_rng(0).standard_normal((20_000, 6))
    >>> model = IHT(2).fit((A,), A[:, 0] + A[:, 0] * A[:, 1])
    >>> bool(subspace_error(np.eye(6)[:, :2], model.embeddings_[0]) < 0.1)
    True
    """

    score = without_score("its directions are no prediction of y")

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        self._options()
        return [rows.moments(blocks=("within",), covariance="full", cross_covariance=False)]

    def _solve(self, parts: list[Moments]) -> Embedding:
        self.moments_used_ = ("means", "within")
        return classical.iht(self._whole(parts), self._options())


class PHD(SupervisedMethod):
    """Principal Hessian directions (Li, 1992), of each view by itself or of all views together.

    Eigenvectors, by absolute eigenvalue, of E[e z zᵀ] of normalized features z. For Gaussian features that is the mean
    Hessian of the link. It sees how y bends, not how it rises: links that are odd in the features stay hidden.

    Parameters
    ----------
    n_components : int or tuple of ints, default 2
    residual : bool, default False
        Whether e is what least squares leaves of y (R's dr calls that "phd") instead of y − µ ("phdy"). It reads the
        data again, which `partial_fit` and `fit_moments` cannot. Each view has its own least squares, unless they are
        concatenated.
    concatenate : bool, default False
        Whether pHd is applied to [a; b], with 2r directions (the paper's cpHd). They are `joint_embedding_`, and
        `transform_joint` embeds into them; `embeddings_` are their split, one embedding for each view.
    ridge, scale, response, edges, n_slices, views
        As in `JDR`.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
    singular_values_ : (r,) array, or tuple of them
        The absolute eigenvalues, in units of y, one array per view; with ``concatenate`` the singular values of the
        split.
    joint_embedding_ : (Σ n_k, Σ r_k) array
        With ``concatenate`` only: the directions of all features.
    joint_singular_values_ : (Σ r_k,) array
        With ``concatenate`` only: their absolute eigenvalues.
    means_, support_, n_components_, view_names_, n_features_per_view_, moments_, response_
        As in `JDR`.

    Notes
    -----
    One read of the data, O(m n²); with ``residual`` three. `score` is the share of y's variance that the quadratic
    prediction explains, the mean over views that are not concatenated.

    Examples
    --------
    >>> from jointdr import PHD
    >>> from jointdr.datasets import make_even
    >>> from jointdr.metrics import nsee
    >>> X, y, truth = make_even(20_000, n_features=10, n_components=2, random_state=0)
    >>> bool(nsee(truth, PHD(2).fit(X, y).embeddings_) < 0.15)
    True
    >>> PHD(2, concatenate=True).fit(X, y).transform_joint(X).shape
    (20000, 4)
    """

    def __init__(
        self,
        n_components: Any = 2,
        *,
        residual: bool = False,
        concatenate: bool = False,
        ridge: Any = 0.0,
        scale: Any = None,
        response: Any = "auto",
        edges: Any = None,
        n_slices: int = 8,
        views: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            ridge=ridge,
            scale=scale,
            response=response,
            edges=edges,
            n_slices=n_slices,
            views=views,
        )
        self.residual = residual
        self.concatenate = concatenate

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: D102
        self._require_one_read("partial_fit")
        return super().partial_fit(X, y, sample_weight)

    partial_fit.__doc__ = SupervisedMethod.partial_fit.__doc__

    def fit_moments(self, moments: Any) -> Self:  # noqa: D102
        self._require_one_read("fit_moments")
        return super().fit_moments(moments)

    fit_moments.__doc__ = SupervisedMethod.fit_moments.__doc__

    def _require_one_read(self, caller: str) -> None:
        if self.residual:
            raise ValueError(
                f"residual=True reads the data again once least squares is done, which {caller} cannot: "
                "use fit, or residual=False."
            )

    def _takes_pairs(self) -> bool:
        return bool(self.residual)

    def transform_joint(self, X: Any) -> Array:
        """Embed all views together, as ``concatenate=True`` has found it: Dᵀ([a; b] − µ), scaled as ``scale`` says.

        Returns
        -------
        (m, Σ r_k) array
        """
        refuse_dyads(X, "PHD.transform_joint")
        embedding = self._joint()
        views = self._validated(X, reset=False, minimum_rows=1)
        return joint_coordinates(embedding, views.arrays, self._exponent())

    @property
    def joint_embedding_(self) -> Array:
        """The directions of all features together, (Σ n_k, Σ r_k)."""
        return np.hstack(self._joint().probes or ())

    @property
    def joint_singular_values_(self) -> Array:
        """How much each joint direction counts, decreasing, (Σ r_k,)."""
        return joint_spectrum(self._joint())

    def _joint(self) -> Embedding:
        embedding = self._solved()
        if embedding.probes is None:
            raise AttributeError("Only PHD(concatenate=True) has a joint embedding of all views.")
        return embedding

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        joint = bool(self.concatenate)
        options = self._options()
        blocks = ("cross", "within") if joint else ("within",)
        if not (self.residual and isinstance(rows, Rows)):
            return [rows.moments(blocks=blocks, covariance="full", cross_covariance=joint)]
        first = rows.moments(blocks=("means",), covariance="full", cross_covariance=joint)
        views = Views.from_checked(self.view_names_, self._feature_names, None, rows.views)
        self._require_finite([first], views, rows)
        left = rows.with_responses(residuals(first, options, joint))
        about = {"center": first.centers, "y_center": 0.0}
        return [left.moments(blocks=blocks, covariance=None, cross_covariance=False, **about).with_covariances(first)]

    def _solve(self, parts: list[Moments]) -> Embedding:
        whole = self._whole(parts)
        self.moments_used_ = ("cross", "within") if self.concatenate else ("within",)
        if self.concatenate:
            return joint_phd(whole, self._options())
        return classical.phd(whole, self._options(), bool(self.residual))

    @property
    def score(self) -> Any:
        """The share of y's variance that the quadratic prediction explains, ``score(X, y, sample_weight=None)``."""
        if self.residual:
            raise AttributeError(
                "PHD(residual=True) has no score: it would need the residuals of other rows. Use residual=False."
            )
        return super().score

    def _criterion(self, embedding: Embedding, rows: Rows) -> float:
        return quadratic_share(embedding, rows)

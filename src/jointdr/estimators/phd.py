"""PHD: principal Hessian directions of each view, or of all views together."""

from __future__ import annotations

from functools import partial
from typing import Any

from jointdr.data import refuse_dyads
from jointdr.directions import Options, Quadratic, classical, joint_phd, require_finite, residuals
from jointdr.engines import Grid, Rows
from jointdr.estimators.family import SupervisedMethod
from jointdr.estimators.inputs import check_views
from jointdr.estimators.method import FittingMethod, by_moments
from jointdr.estimators.options import exponent_of, method_options
from jointdr.estimators.scoring import quadratic_share
from jointdr.moments import Moments
from jointdr.runtime import Array, check_flag


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
    One read of the data, O(m n²); with ``residual`` three of rows in memory, and two of files. `score` is the share of
    y's variance that the quadratic prediction explains, the mean over views that are not concatenated.

    References
    ----------
    Li (1992), On principal Hessian directions for data visualization and dimension reduction: another application of
    Stein's lemma. JASA 87.

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

    def _require_one_read(self, caller: str) -> None:
        if check_flag("residual", self.residual):
            raise ValueError(
                f"residual=True reads the data again once least squares is done, which {caller} cannot: "
                "use fit, or residual=False."
            )

    def _takes_pairs(self, **given: Any) -> bool:
        return check_flag("residual", self.residual)

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        joint, residual = check_flag("concatenate", self.concatenate), check_flag("residual", self.residual)
        blocks = ("cross", "within") if joint else ("within",)
        options = method_options(self, blocks)
        keep = {"blocks": blocks, "covariance": "full", "cross_covariance": joint}
        solution = joint_phd if joint else partial(classical.phd, residual=residual)
        reading = partial(_read_residuals, joint=joint) if residual else None
        return by_moments(options, solution, keep, reading=reading, score=quadratic_share)

    def transform_joint(self, X: Any) -> Array:
        """Embed all views together, as ``concatenate=True`` has found it: Dᵀ([a; b] − µ), scaled by ``scale``.

        Returns
        -------
        (m, Σ r_k) array
        """
        refuse_dyads(X, "PHD.transform_joint")
        D = self.joint_embedding_
        views = check_views(self, X, reset=False, minimum_rows=1)
        exponent = exponent_of(self.scale)
        if exponent:
            D = D * self.joint_singular_values_**exponent
        return self.solution_.transform_jointly(views.arrays, D)

    @property
    def joint_embedding_(self) -> Array:
        """The directions of all features together, (Σ n_k, Σ r_k)."""
        return self._joint().directions

    @property
    def joint_singular_values_(self) -> Array:
        """How much each joint direction counts, decreasing, (Σ r_k,)."""
        return self._joint().spectrum

    def _joint(self) -> Quadratic:
        prediction = self.solution_.prediction
        if not isinstance(prediction, Quadratic) or prediction.directions is None:
            raise AttributeError("Only PHD(concatenate=True) has a joint embedding of all views.")
        return prediction

    @property
    def score(self) -> Any:
        """The share of y's variance that the quadratic prediction explains, ``score(X, y, sample_weight=None)``."""
        if self.residual:
            raise AttributeError(
                "PHD(residual=True) has no score: it would need the residuals of other rows. Use residual=False."
            )
        return super().score


def _read_residuals(rows: Rows | Grid, options: Options, joint: bool) -> list[Moments]:
    """The moments of the residuals of least squares: a read for the coefficients, and one for the moments."""
    assert isinstance(rows, Rows)  # `_takes_pairs`
    first = rows.moments(blocks=("means",), covariance="full", cross_covariance=joint)
    require_finite([first], rows, options)
    left = rows.with_responses(residuals(first, options, joint))
    blocks = ("cross", "within") if joint else ("within",)
    about = {"center": first.centers, "y_center": 0.0}
    return [left.moments(blocks=blocks, covariance=None, cross_covariance=False, **about).with_covariances(first)]

"""The estimators: thin scikit-learn shells around `jointdr.directions`."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from jointdr.base import KEEP_MOMENTS_BYTES, ViewsTransformer
from jointdr.directions import Embedding, Options, jdr, jdr_from_rows, moments_needed
from jointdr.engines.local import Rows
from jointdr.factorize import SOLVERS, chosen_solver
from jointdr.moments import Moments
from jointdr.normalize import NORMALIZATIONS
from jointdr.views import checked_response, checked_weight

EXTENDABLE_PRODUCTS = 1e9
"""`fit` also computes what lets `partial_fit` continue (C_ab) while m·n₁·n₂ is at most this: a few milliseconds."""


class NoSignalWarning(UserWarning):
    """The response is constant, so that no direction is better than another."""


class JDR(ViewsTransformer):
    """Joint dimensionality reduction: linear embeddings of two views, learned from the response that links them.

    For feature vectors a and b and a response y that depends on them only through Uᵀa and Vᵀb, JDR estimates the
    spans of U and V from the singular vectors of the proxy X₀ = mean of a′ y′ b′ᵀ, where a′, b′ and y′ are
    normalized. No form of the link is assumed.

    Parameters
    ----------
    n_components : int, default 2
        The number of directions r in each view; at most the number of features of the smaller view.
    normalize : {"full", "feature", "joint", None}, default "full"
        How features are normalized. ``"full"``: to identity covariance (Algorithm 1). ``"feature"``: one by one to
        unit variance (Algorithm 2), for very many, weakly correlated features. ``"joint"``: by the covariance of
        both views together, for views that depend on each other. None: nothing is scaled and nothing centred, as
        in the paper's experiments.
    ridge : float or "auto", default 0.0
        Regularizes the covariances: this fraction of the mean variance is added to every variance. ``"auto"``
        chooses the amount by oracle approximating shrinkage.
    solver : {"auto", "exact", "randomized", "countsketch"}, default "auto"
        ``"exact"`` forms the proxy in one read of the data and decomposes it. ``"randomized"`` (a Gaussian sketch of
        2r columns) and ``"countsketch"`` (a sparse sketch) never form it and read the data 2 + 2·n_iter times more.
        ``"auto"`` is ``"exact"`` while no view has more than 2000 features, then ``"randomized"``.
    n_iter : int, default 2
        Power passes of the two sketching solvers. 0 is the paper's Algorithm 2, which is two to three times less
        accurate.
    n_features_to_select : int, pair of ints or None, default None
        (s₁, s₂): select that many features of each view and embed those alone (Algorithm 3). None in a pair keeps
        all features of that view.
    scale : None, "sqrt" or float, default None
        `transform` multiplies the embedded coordinates by Σ to this power, so that prominent directions weigh more;
        ``"sqrt"`` is ½, as in the paper's application.
    views : sequence or mapping of column groups, optional
        For input that is one matrix or DataFrame: the columns of each view, as slices, index lists, boolean masks or
        column names. JDR is then a plain scikit-learn transformer.
    random_state : int, RandomState or None
        Seed of the sketches.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
        The paper's Û and V̂.
    singular_values_ : (r,) array
        Decreasing; how much each pair of directions contributes to the proxy.
    means_ : tuple of (n_k,) arrays
        What is subtracted from each view.
    support_ : tuple of (n_k,) boolean arrays
        The features that take part: all that vary, or the selected ones.
    n_components_ : int
        r.
    moments_ : Moments
        What the fit was computed from. Kept by `partial_fit` and `fit_moments`, and by `fit` with the exact solver
        while it is smaller than 100 MB.
    solver_ : str
        The solver that was used.

    Notes
    -----
    Algorithms 1, 2 and 3 of Li, Wen, Cheng and Bresler, *Joint Dimensionality Reduction for Separable Embedding
    Estimation*. The exact solver costs O(m n²) in one read of the data, the sketches O(m n r) per read.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.metrics import nsee
    >>> X, y, truth = make_bilinear(20_000, n_features=(50, 30), n_components=3, random_state=0)
    >>> model = JDR(n_components=3).fit(X, y)
    >>> [Z.shape for Z in model.transform(X)]
    [(20000, 3), (20000, 3)]
    >>> bool(nsee(truth, model.embeddings_) < 0.15)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        normalize: Any = "full",
        ridge: Any = 0.0,
        solver: str = "auto",
        n_iter: int = 2,
        n_features_to_select: Any = None,
        scale: Any = None,
        views: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.normalize = normalize
        self.ridge = ridge
        self.solver = solver
        self.n_iter = n_iter
        self.n_features_to_select = n_features_to_select
        self.scale = scale
        self.views = views
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embeddings.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
            NumPy arrays, DataFrames, SciPy sparse matrices, or arrays of another Array API library.
        y : (m,) array
            The response of each row.
        sample_weight : (m,) array, optional
            Non-negative; a weight of 2 counts as two equal rows.
        """
        views = self._validated(X, reset=True, minimum_rows=2)
        y = checked_response(y, len(views), "JDR")
        w = checked_weight(sample_weight, len(views))
        options = self._options(views.n_features)
        rows = Rows(views.arrays, y, w)
        with np.errstate(all="ignore"):
            extendable = len(rows) * np.prod(views.n_features, dtype=float) <= EXTENDABLE_PRODUCTS
            moments = rows.fold(**moments_needed(options, mergeable=extendable))
        self._require_finite(moments, views)
        if np.ptp(y if w is None else y[w > 0]) == 0:
            _warn_no_signal()
        self.__dict__.pop("moments_", None)
        self.solver_ = options.solver
        if options.solver == "exact":
            self._embedding = jdr(moments, options)
            if moments.nbytes <= KEEP_MOMENTS_BYTES:
                self.moments_ = moments
        else:
            self._embedding = jdr_from_rows(rows, moments, options)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: D102
        if self.solver not in ("auto", "exact"):
            raise ValueError(
                f"solver={self.solver!r} reads the data several times, which partial_fit cannot: "
                "use solver='exact', or fit on data that can be read again."
            )
        return super().partial_fit(X, y, sample_weight)

    partial_fit.__doc__ = ViewsTransformer.partial_fit.__doc__

    def _moments_needed(self, n_features: tuple[int, ...]) -> dict[str, Any]:
        return moments_needed(self._options(n_features, exact=True))

    def _solve(self, moments: Moments) -> Embedding:
        options = self._options(moments.n_features, exact=self.solver == "auto")
        self.solver_ = options.solver
        if float(moments.y_variances[0]) <= 0:
            _warn_no_signal()
        return jdr(moments, options)

    def _options(self, n_features: tuple[int, ...], exact: bool = False) -> Options:
        """The parameters, checked against each other and against the data's shape."""
        r = self.n_components
        if not isinstance(r, Integral) or isinstance(r, bool) or r < 1:
            raise ValueError(f"n_components={r!r} must be a positive integer.")
        if r > min(n_features):
            raise ValueError(f"n_components={r} is more than the smaller view has features; n_features = {n_features}.")
        if self.normalize not in NORMALIZATIONS:
            raise ValueError(f"normalize={self.normalize!r} is not understood; choose from {NORMALIZATIONS}.")
        if self.ridge != "auto" and not (
            isinstance(self.ridge, Real) and not isinstance(self.ridge, bool) and 0 <= self.ridge < np.inf
        ):
            raise ValueError(f"ridge={self.ridge!r} must be a number >= 0, or 'auto'.")
        if self.normalize is None and self.ridge != 0:
            raise ValueError("ridge has no effect with normalize=None: leave it at 0, or choose a normalization.")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} is not understood; choose from {SOLVERS}.")
        if not isinstance(self.n_iter, Integral) or self.n_iter < 0:
            raise ValueError(f"n_iter={self.n_iter!r} must be an integer >= 0.")
        self._exponent()
        solver = "exact" if exact or self.normalize == "joint" else chosen_solver(self.solver, n_features, int(r))
        if self.normalize == "joint" and self.solver not in ("auto", "exact"):
            raise ValueError(f"normalize='joint' needs the whole moments: use solver='exact', not {self.solver!r}.")
        return Options(
            n_components=int(r),
            normalize=self.normalize,
            ridge=self.ridge if self.ridge == "auto" else float(self.ridge),
            solver=solver,
            n_iter=int(self.n_iter),
            n_features_to_select=self._sizes_to_select(n_features, int(r)),
            seed=None if solver == "exact" else int(check_random_state(self.random_state).randint(2**31 - 1)),
            names=self.view_names_,
            features=self._feature_names,
        )

    def _sizes_to_select(self, n_features: tuple[int, ...], r: int) -> tuple[int, int] | None:
        s = self.n_features_to_select
        if s is None:
            return None
        sizes = [s] * len(n_features) if isinstance(s, Integral) else list(s) if isinstance(s, (tuple, list)) else []
        sizes = [n if k is None else k for k, n in zip(sizes, n_features, strict=False)] if len(sizes) == 2 else []
        if not sizes or not all(
            isinstance(k, Integral) and r <= int(k) <= n for k, n in zip(sizes, n_features, strict=True)
        ):
            raise ValueError(
                f"n_features_to_select={s!r} must be one number or one per view, each between n_components={r} and "
                f"the number of features {n_features}."
            )
        return int(sizes[0]), int(sizes[1])


def _warn_no_signal() -> None:
    warnings.warn(
        "y is constant: there is no signal, and the embeddings are arbitrary directions.",
        NoSignalWarning,
        stacklevel=3,
    )

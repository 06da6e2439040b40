"""The estimators: thin scikit-learn shells around `jointdr.directions`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from jointdr.arrays import Array
from jointdr.base import KEEP_MOMENTS_BYTES, ViewsTransformer
from jointdr.directions import Options, jdr, jdr_from_rows, moments_needed
from jointdr.embedding import Embedding
from jointdr.engines.local import Rows, fold_of
from jointdr.factorize import SOLVERS, chosen_solver
from jointdr.moments import Moments
from jointdr.normalize import NORMALIZATIONS, whiteners
from jointdr.rank import resolved
from jointdr.refine import refined
from jointdr.response import checked, fit_transform_of, warn_if_heavy
from jointdr.views import checked_weight

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
    n_components : int, tuple of ints or "auto", default 2
        The number of directions r in each view; at most the number of features of the smaller view. A tuple gives each
        view its own number. ``"auto"`` takes the number that predicts held-out moments best.
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
    moments : {"cross", "all"}, default "cross"
        ``"cross"`` is the paper's proxy. ``"all"`` also uses within-view moments E[(y − µ) a aᵀ], as principal Hessian
        directions do, and means E[(y − µ) a], where held-out moments do not speak against it: it does not fail on even
        links and halves the error on the RBF link.
    n_features_to_select : int, pair of ints, "auto" or None, default None
        (s₁, s₂): select that many features of each view and embed those alone (Algorithm 3). None in a pair keeps
        all features of that view. ``"auto"`` takes the numbers that predict held-out moments best.
    refine : int, default 0
        Sweeps of alternating least squares on a bilinear model of y, started at JDR. Two sweeps more than halve the
        error where y is bilinear in the features, for about seven times the time. They are made only if the first one
        lowers the residual of held-out rows. Not with `partial_fit`, which cannot read the data again.
    scale : None, "sqrt" or float, default None
        `transform` multiplies the embedded coordinates by Σ to this power, so that prominent directions weigh more;
        ``"sqrt"`` is ½, as in the paper's application.
    response : {"auto", "identity", "rank", "clip", "slices", "class"} or callable, default "auto"
        What is done to y first. ``"rank"``: normal scores (of weighted ranks), for heavy tails. ``"clip"``:
        values beyond what a normal response would show are cut. ``"slices"``: indicators of slices of y, which also
        catch links that act on the spread of y. ``"class"``: indicators of labels. A function of y may return one or
        several numbers per row. ``"auto"`` is ``"class"`` for strings, booleans and categories, otherwise
        ``"identity"``.
    edges : sequence, optional
        Fixes the inner edges of the slices, the bounds of clipping, the quantiles of the ranks or the labels
        beforehand, which `partial_fit` needs.
    n_slices : int, default 8
        Number of slices for ``response="slices"``.
    n_folds : int, default 5
        Parts of the rows that are left out in turn where something is left to the data.
    views : sequence or mapping of column groups, optional
        For input that is one matrix or DataFrame: the columns of each view, as slices, index lists, boolean masks or
        column names. JDR is then a plain scikit-learn transformer.
    random_state : int, RandomState or None
        Seed of the sketches and of the folds.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
        The paper's Û and V̂.
    singular_values_ : (r,) array, or tuple of them
        Decreasing; how much each pair of directions contributes to the proxy. With several responses, ``moments="all"``
        or different numbers of directions these do not come in pairs, and there is one array per view.
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
    n_sweeps_ : int
        Sweeps of refinement that were made: ``refine``, or 0 if they did not help.
    moments_used_ : tuple of str
        ``"cross"`` and what ``moments="all"`` found useful beside it.
    response_ : Transform
        The fitted map from responses to numbers.

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
        n_components: Any = 2,
        *,
        normalize: Any = "full",
        ridge: Any = 0.0,
        solver: str = "auto",
        n_iter: int = 2,
        moments: str = "cross",
        n_features_to_select: Any = None,
        refine: int = 0,
        scale: Any = None,
        response: Any = "auto",
        edges: Any = None,
        n_slices: int = 8,
        n_folds: int = 5,
        views: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.normalize = normalize
        self.ridge = ridge
        self.solver = solver
        self.n_iter = n_iter
        self.moments = moments
        self.n_features_to_select = n_features_to_select
        self.refine = refine
        self.scale = scale
        self.response = response
        self.edges = edges
        self.n_slices = n_slices
        self.n_folds = n_folds
        self.views = views
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embeddings.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
            NumPy arrays, DataFrames, SciPy sparse matrices, or arrays of another Array API library.
        y : (m,) array, or (m, q) for several responses
            The response of each row: numbers, or labels.
        sample_weight : (m,) array, optional
            Non-negative; a weight of 2 counts as two equal rows.
        """
        with self._unchanged_on_failure():
            return self._fitted(X, y, sample_weight)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> Self:
        views = self._validated(X, reset=True, minimum_rows=2)
        y = checked(y, len(views), "JDR")
        w = checked_weight(sample_weight, len(views))
        for name in ("moments_", "_parts", "_embedding"):
            self.__dict__.pop(name, None)
        Y = self._responses(y, w, reset=True, streaming=False)
        rows = Rows(views.arrays, Y, w)
        options, auto = self._options(views.n_features, Y.shape[1])
        with np.errstate(all="ignore"):
            if auto or self.refine:
                parts = self._fold(rows, 0)
            elif options.solver != "exact":
                parts = [rows.fold(**moments_needed(options))]
            else:
                extendable = len(rows) * np.prod(views.n_features, dtype=float) <= EXTENDABLE_PRODUCTS
                parts = [rows.fold(**moments_needed(options, mergeable=extendable))]
        self._require_finite(parts, views)
        if options.solver == "exact":
            self._embedding = self._solve(parts)
            if self.refine:
                self._refine(rows, parts)
            if sum(part.nbytes for part in parts) <= KEEP_MOMENTS_BYTES:
                self._set_parts(parts)
        else:
            if (np.ptp(Y if w is None else Y[w > 0], axis=0) == 0).all():
                _warn_no_signal()
            self._note(options)
            self._embedding = jdr_from_rows(rows, parts[0], options)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: D102
        if self.solver not in ("auto", "exact"):
            raise ValueError(
                f"solver={self.solver!r} reads the data several times, which partial_fit cannot: "
                "use solver='exact', or fit on data that can be read again."
            )
        self._require_no_refinement("partial_fit")
        return super().partial_fit(X, y, sample_weight)

    partial_fit.__doc__ = ViewsTransformer.partial_fit.__doc__

    def fit_moments(self, moments: Any) -> Self:  # noqa: D102
        self._require_no_refinement("fit_moments")
        return super().fit_moments(moments)

    fit_moments.__doc__ = ViewsTransformer.fit_moments.__doc__

    def _require_no_refinement(self, caller: str) -> None:
        if self.refine:
            raise ValueError(
                f"refine={self.refine!r} reads the data again, which {caller} cannot: use fit, or refine=0."
            )

    def _refine(self, rows: Rows, parts: list[Moments]) -> None:
        """Improve the embedding by least squares, with the first fold held out to decide whether that helps."""
        whole = sum(parts[1:], parts[0])
        options, _ = self._options(whole.n_features, whole.n_responses, exact=True)
        options = replace(options, ranks=tuple(len(s) for s in self._embedding.spectra))
        maps = whiteners(whole, options.normalize, options.ridge, options.names, options.features)
        train = jdr(sum(parts[2:], parts[1]), options)
        held_out = fold_of(np.arange(len(rows)), len(parts), self._fold_seed()) == 0
        self._embedding, self.n_sweeps_ = refined(rows, maps, self._embedding, train, held_out, int(self.refine))

    def _responses(self, y: Array, weight: Array | None, reset: bool, streaming: bool) -> Array:
        if streaming and self.edges is None:
            kind = "class" if self.response == "auto" and y.dtype.kind in "USb" else self.response
            # Labels that an earlier fit has seen are all there is to know of them; ranks and slices would move.
            if kind in ("rank", "clip", "slices") or (kind == "class" and reset):
                raise ValueError(
                    f"response={kind!r} reads something off all responses, which partial_fit cannot: "
                    f"give it as edges= ({'all labels' if kind == 'class' else 'numbers, see JDR'})."
                )
        if reset:
            self.response_ = fit_transform_of(self.response, y, weight, self.edges, self.n_slices)
            if self.response_.kind == "identity" and y.ndim == 1 and not streaming:
                warn_if_heavy(y)
        return self.response_(y)

    def _fold(self, rows: Rows, first_row: int) -> list[Moments]:
        options, auto = self._options(tuple(X.shape[1] for X in rows.views), rows.y.shape[1], exact=True)
        keep = moments_needed(options)
        if not auto and not self.refine:
            return [rows.fold(**keep)]
        if not isinstance(self.n_folds, Integral) or self.n_folds < 2:
            raise ValueError(f"n_folds={self.n_folds!r} must be an integer of at least 2.")
        return rows.fold_parts(int(self.n_folds), first_row, self._fold_seed(), **keep)

    def _solve(self, parts: list[Moments]) -> Embedding:
        whole = sum(parts[1:], parts[0])
        options, auto = self._options(whole.n_features, whole.n_responses, exact=self.solver == "auto")
        if not (whole.y_variances > 0).any():
            _warn_no_signal()
        options = resolved(parts, options, auto)
        self._note(options)
        return jdr(whole, options)

    def _note(self, options: Options) -> None:
        self.solver_: str = options.solver
        self.moments_used_: tuple[str, ...] = ("cross", *sorted(options.extra))
        self.n_sweeps_ = 0

    def _fold_seed(self) -> int:
        return int(self.random_state) if isinstance(self.random_state, Integral) else 0

    def _options(
        self, n_features: tuple[int, ...], n_responses: int, exact: bool = False
    ) -> tuple[Options, frozenset[str]]:
        """The parameters, checked against each other and the data, and what of them is left to the data."""
        auto = set()
        ranks = self._ranks(n_features)
        if ranks is None:
            auto.add("rank")
            ranks = (1,) * len(n_features)
        if self.normalize not in NORMALIZATIONS:
            raise ValueError(f"normalize={self.normalize!r} is not understood; choose from {NORMALIZATIONS}.")
        if self.ridge != "auto" and not (
            isinstance(self.ridge, Real) and not isinstance(self.ridge, bool) and 0 <= float(self.ridge) < np.inf
        ):
            raise ValueError(f"ridge={self.ridge!r} must be a number >= 0, or 'auto'.")
        if self.normalize is None and self.ridge != 0:
            raise ValueError("ridge has no effect with normalize=None: leave it at 0, or choose a normalization.")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} is not understood; choose from {SOLVERS}.")
        if not isinstance(self.n_iter, Integral) or self.n_iter < 0:
            raise ValueError(f"n_iter={self.n_iter!r} must be an integer >= 0.")
        if self.moments not in ("cross", "all"):
            raise ValueError(f"moments={self.moments!r} is not understood; choose 'cross' or 'all'.")
        self._exponent()
        if not isinstance(self.refine, Integral) or isinstance(self.refine, bool) or self.refine < 0:
            raise ValueError(f"refine={self.refine!r} must be a number of sweeps >= 0.")
        if self.refine:
            for name, holds in {
                "normalize=None": self.normalize is None,
                "moments='all'": self.moments == "all",
                "n_features_to_select": self.n_features_to_select is not None,
                "several responses": n_responses > 1,
                "different numbers of directions": len(set(ranks)) > 1,
            }.items():
                if holds:
                    raise ValueError(f"refine={self.refine} does not go with {name}: use refine=0, or change that.")
        if self.moments == "all":
            auto.add("moments")
        select = None
        if isinstance(self.n_features_to_select, str):
            if self.n_features_to_select != "auto":
                raise ValueError(f"n_features_to_select={self.n_features_to_select!r} is not understood.")
            auto.add("features")
        else:
            select = self._sizes_to_select(n_features, max(ranks))
        whole = {
            "normalize='joint'": self.normalize == "joint",
            "moments='all'": self.moments == "all",
            "'auto'": bool(auto),
            "refine": bool(self.refine),
            "several responses": n_responses > 1,
            "different numbers of directions": len(set(ranks)) > 1,
        }
        reasons = [name for name, holds in whole.items() if holds]
        if reasons and self.solver not in ("auto", "exact"):
            raise ValueError(f"{reasons[0]} needs the whole moments: use solver='exact', not {self.solver!r}.")
        solver = "exact" if exact or reasons else chosen_solver(self.solver, n_features, max(ranks))
        options = Options(
            ranks=ranks,
            normalize=self.normalize,
            ridge=self.ridge if self.ridge == "auto" else float(self.ridge),
            solver=solver,
            n_iter=int(self.n_iter),
            extra=frozenset({"within", "means"}) if self.moments == "all" else frozenset(),
            n_features_to_select=select,
            seed=None if solver == "exact" else int(check_random_state(self.random_state).randint(2**31 - 1)),
            names=self.view_names_,
            features=self._feature_names,
        )
        return options, frozenset(auto)

    def _ranks(self, n_features: tuple[int, ...]) -> tuple[int, ...] | None:
        """One number of directions per view, or None for ``"auto"``."""
        r = self.n_components
        if isinstance(r, str) and r == "auto":
            return None
        ranks = tuple(r) if isinstance(r, (tuple, list)) else (r,) * len(n_features)
        if len(ranks) != len(n_features) or not all(
            isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1 for k in ranks
        ):
            raise ValueError(f"n_components={r!r} must be a positive integer, one per view, or 'auto'.")
        limits = n_features if isinstance(r, (tuple, list)) else (min(n_features),) * len(n_features)
        if any(k > n for k, n in zip(ranks, limits, strict=True)):
            raise ValueError(f"n_components={r} is more than the smaller view has features; n_features = {n_features}.")
        return tuple(int(k) for k in ranks)

    def _sizes_to_select(self, n_features: tuple[int, ...], r: int) -> tuple[int, int] | None:
        s = self.n_features_to_select
        if s is None:
            return None
        sizes = (
            [s] * len(n_features)
            if isinstance(s, Integral)
            else list(s)
            if isinstance(s, (tuple, list, np.ndarray))
            else []
        )
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

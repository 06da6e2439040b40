"""The estimators: thin scikit-learn shells around `jointdr.directions.jdr`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from jointdr.data import Dyads, Views, checked_response, checked_weight
from jointdr.directions import (
    Embedding,
    Options,
    Refinement,
    Whitener,
    folds,
    jdr,
    jdr_at,
    jdr_from_rows,
    jdr_of_views,
    jdr_of_views_at,
    moments_needed,
    refined,
    resolved,
    whiteners,
)
from jointdr.engines import Grid, RandomParts, Rows
from jointdr.estimators.base import KEEP_MOMENTS_BYTES, ViewsTransformer
from jointdr.estimators.options import options_of
from jointdr.estimators.streaming import as_source
from jointdr.moments import Moments, merged
from jointdr.runtime import Array, is_accelerated

EXTENDABLE_PRODUCTS = 1e9
"""`fit` also computes what lets `partial_fit` continue (C_ab) while m·n₁·n₂ is at most this: a few milliseconds."""


MANY_VIEWS = (
    "partial_fit and fit_moments are for two views: the proxy tensor of three and more needs the means before it is "
    "summed up, so the data is read twice. Use fit, on data that can be read again."
)


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
        At most this many sweeps of least squares on a model of y, started at JDR: they end when two in a row do not
        lower the residual of held-out rows, and are dropped if none does. Two sweeps more than halve the error where y
        is bilinear in the features, for about seven times the time. Not with `partial_fit`, which cannot read the data
        again.
    link : {"auto", "bilinear", "learned"}, default "auto"
        The model that `refine` fits. ``"bilinear"``: products of the coordinates, with ``moments="all"`` also their
        squares and themselves. ``"learned"``: any smooth function of them, by random Fourier features; slower, but it
        halves the error on links that are far from bilinear, best together with ``moments="all"``. ``"auto"`` tries
        both and takes the learned one where held-out rows say that it is better.
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
    n_hooi : int, default 0
        Sweeps of higher-order orthogonal iteration on the proxy tensor of three and more views, or of several
        responses: directions that fit it better than those of the HOSVD, at the cost of sweeps over the tensor.
    max_tensor_bytes : float, default 5e8
        The proxy tensor of three and more views is formed if it is at most this large; where something is left to the
        data, with all copies that choosing on folds takes. Beyond that ``solver="auto"`` sketches it.
    views : sequence or mapping of column groups, optional
        For input that is one matrix or DataFrame: the columns of each view, as slices, index lists, boolean masks or
        column names. JDR is then a plain scikit-learn transformer.
    random_state : int, RandomState or None
        Seed of the sketches; an integer also of the folds and of the random features of a learned link, which are the
        same for None and every RandomState.

    Attributes
    ----------
    embeddings_ : tuple of (n_k, r) arrays
        The paper's Û and V̂.
    singular_values_ : (r,) array, or tuple of them
        Decreasing; how much each pair of directions contributes to the proxy. With several responses, ``moments="all"``
        or different numbers of directions these do not come in pairs, and there is one array per view. After a
        refinement they are the singular values of the bilinear fit, or, where that is not what was fitted, how much y
        changes along each direction (root mean square), per unit of the coordinate.
    means_ : tuple of (n_k,) arrays
        What is subtracted from each view.
    support_ : tuple of (n_k,) boolean arrays
        The features that take part: all that vary, or the selected ones.
    n_components_ : int, or tuple of ints
        r, or one number per view where they differ.
    view_names_ : tuple of str
        The names of the views: those of a `Views`, a dict or ``views``, otherwise a, b, c, ...
    n_features_per_view_ : tuple of ints
        n₁ and n₂; ``n_features_in_`` is their sum, or the columns of the one matrix.
    moments_ : Moments
        What the fit was computed from. Kept by `partial_fit` and `fit_moments`, and by `fit` of two views with the
        exact solver while it is smaller than 100 MB.
    solver_ : str
        The solver that was used.
    n_sweeps_ : int
        Sweeps of refinement that lowered the residual of held-out rows; 0 if none did, and the plain result was kept.
    link_ : Link
        With ``refine``: the fitted model of the responses. ``link_.kind`` says which; ``link_.predict(Z)`` takes the
        embedded coordinates (without ``scale``), ``link_.gradient(Z)`` says what each of them does there.
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

    fewest_views = 2

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
        link: str = "auto",
        scale: Any = None,
        response: Any = "auto",
        edges: Any = None,
        n_slices: int = 8,
        n_folds: int = 5,
        n_hooi: int = 0,
        max_tensor_bytes: float = 5e8,
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
        self.link = link
        self.scale = scale
        self.response = response
        self.edges = edges
        self.n_slices = n_slices
        self.n_folds = n_folds
        self.n_hooi = n_hooi
        self.max_tensor_bytes = max_tensor_bytes
        self.views = views
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the embeddings.

        Parameters
        ----------
        X : tuple of (m, n_k) arrays, Views, or one (m, n) matrix when ``views`` is given
            NumPy arrays, DataFrames, SciPy sparse matrices, or arrays of another Array API library. Or a `Dyads`, which
            holds the response itself; or a `Source` of `jointdr.io`, or dask collections, which are read in blocks.
        y : (m,) array, or (m, q) for several responses
            The response of each row: numbers, or labels.
        sample_weight : (m,) array, optional
            Non-negative; a weight of 2 counts as two equal rows.
        """
        if isinstance(X, Dyads):
            self._require_exact("a fit to a Dyads")
            self._require_no_refinement("a fit to a Dyads")
            return self._fit_dyads(X, y, sample_weight)
        source = as_source(X, y, sample_weight, self.views)
        if source is not None:
            return self._fit_source(source)
        with self._unchanged_on_failure():
            return self._fitted(X, y, sample_weight)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> Self:
        views = self._validated(X, reset=True, minimum_rows=2)
        y = checked_response(y, len(views), "JDR", views.index)
        w = checked_weight(sample_weight, len(views), index=views.index)
        self._forget()
        Y = self._responses(y, w, reset=True, streaming=False)
        return self._fit_rows(views, Rows(views.arrays, Y, w))

    def _fit_rows(self, views: Views, rows: Rows) -> Self:
        options, auto = self._options(views.n_features, rows.n_responses, exact=not rows.rereadable)
        if len(views.arrays) > 2:
            return self._fitted_tensor(views, rows, options, auto)
        with np.errstate(all="ignore"):
            if auto or self.refine:
                parts = self._fold(rows, 0)
            elif options.solver != "exact":
                parts = [rows.moments(**moments_needed(options))]
            else:
                products = np.prod(views.n_features, dtype=float)
                extendable = not rows.knows_mean or len(rows) * products <= EXTENDABLE_PRODUCTS
                parts = [rows.moments(**moments_needed(options, mergeable=extendable))]
        self._require_finite(parts, views, rows)
        if options.solver == "exact":
            options, self._embedding = self._solution(parts, next(filter(is_accelerated, rows.views), None))
            if self.refine:
                self._refine(rows, parts, options)
            if sum(part.nbytes for part in parts) <= KEEP_MOMENTS_BYTES:
                self._set_parts(parts)
        else:
            if not rows.varies():
                warn_no_signal()
            self._note(options)
            self._embedding = jdr_from_rows(rows, parts[0], options)
        return self

    def _fitted_tensor(self, views: Views, rows: Rows, options: Options, auto: frozenset[str]) -> Self:
        """Three and more views: one read for means and covariances, then the proxy tensor."""
        seed = self._fold_seed()
        with np.errstate(all="ignore"):
            keep = moments_needed(options)
            parts = rows.fold_moments(int(self.n_folds) if auto or self.refine else 1, 0, seed, **keep)
            self._require_finite(parts, views, rows)
            if not (merged(parts).y_variances > 0).any():
                warn_no_signal()
            options, self._embedding = jdr_of_views(rows, parts, options, auto, seed)
            self._note(options)
            if self.refine:
                groups = RandomParts(len(parts), seed)

                def without(i: int) -> Embedding:
                    rest = rows.without(groups, i)
                    return jdr_of_views(rest, [_without(parts, i)], options, frozenset())[1]

                whole = merged(parts)
                maps, found = self._refined(rows, parts, options, self._embedding, without)
                if found.bases is not None:
                    self._embedding = jdr_of_views_at(rows, whole, options, maps, found.bases, found.spectra)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: D102
        self._require_exact("partial_fit")
        self._require_no_refinement("partial_fit")
        if len(getattr(self, "view_names_", ())) > 2:
            raise ValueError(MANY_VIEWS)
        return super().partial_fit(X, y, sample_weight)

    partial_fit.__doc__ = ViewsTransformer.partial_fit.__doc__

    def fit_moments(self, moments: Any) -> Self:  # noqa: D102
        self._require_no_refinement("fit_moments")
        return super().fit_moments(moments)

    fit_moments.__doc__ = ViewsTransformer.fit_moments.__doc__

    def _require_one_read(self, caller: str) -> None:
        self._require_exact(caller)
        self._require_no_refinement(caller)

    def _require_exact(self, caller: str) -> None:
        if self.solver not in ("auto", "exact"):
            raise ValueError(
                f"solver={self.solver!r} reads the data several times, which {caller} cannot: "
                "use solver='exact', or fit on data that can be read again."
            )

    def _require_no_refinement(self, caller: str) -> None:
        if self.refine:
            raise ValueError(
                f"refine={self.refine!r} reads the data again, which {caller} cannot: use fit, or refine=0."
            )

    def _refine(self, rows: Rows, parts: list[Moments], options: Options) -> None:
        """Improve the embedding by least squares, with folds held out to decide whether that helps."""
        embedding, at = self._embedding, None
        if options.n_features_to_select is not None:  # what was not selected plays no part from here on
            at = [np.flatnonzero(mask) for mask in embedding.support]
            rows, parts, embedding = rows.select(at), [part.select(at) for part in parts], embedding.select(at)
        inner = options.of_features(at)
        maps, found = self._refined(rows, parts, inner, embedding, lambda i: jdr(_without(parts, i), inner))
        if found.bases is not None:
            embedding = jdr_at(merged(parts), inner, maps, found.bases, found.spectra)
            self._embedding = embedding if at is None else embedding.expanded(at, self._embedding.means)

    def _refined(
        self,
        rows: Rows,
        parts: list[Moments],
        options: Options,
        embedding: Embedding,
        without: Callable[[int], Embedding],
    ) -> tuple[tuple[Whitener, ...], Refinement]:
        maps = whiteners(merged(parts), options.normalize, options.ridge, options.names, options.features)
        found = refined(
            rows,
            maps,
            embedding,
            without,
            [part.weight for part in parts],
            int(self.refine),
            self.link,  # type: ignore[arg-type]
            "all" if self.moments == "all" else "cross",
            self._fold_seed(),
        )
        self.n_sweeps_, self.link_ = found.accepted, found.link
        return maps, found

    def _fold(self, rows: Rows | Grid, first_row: int) -> list[Moments]:
        if len(rows.views) > 2:
            raise ValueError(MANY_VIEWS)
        options, auto = self._options(tuple(X.shape[1] for X in rows.views), rows.n_responses, exact=True)
        keep = moments_needed(options)
        if not auto and not self.refine:
            return [rows.moments(**keep)]
        return rows.fold_moments(int(self.n_folds), first_row, self._fold_seed(), **keep)

    def _solve(self, parts: list[Moments]) -> Embedding:
        return self._solution(parts)[1]

    def _solution(self, parts: list[Moments], near: Array | None = None) -> tuple[Options, Embedding]:
        """The embedding, and the options with everything decided that was left to the data."""
        whole = merged(parts)
        if whole.n_views > 2:
            raise ValueError(MANY_VIEWS)
        options, auto = self._options(whole.n_features, whole.n_responses, exact=self.solver == "auto")
        if not (whole.y_variances > 0).any():
            warn_no_signal()
        if auto:
            options = resolved(folds(parts, options), options, auto)
        self._note(options)
        return options, jdr(whole, replace(options, near=near))

    def _options(
        self, n_features: tuple[int, ...], n_responses: int, exact: bool = False
    ) -> tuple[Options, frozenset[str]]:
        self._exponent()  # checks `scale`
        return options_of(self, n_features, n_responses, self.view_names_, self._feature_names, exact)

    def _note(self, options: Options) -> None:
        self.solver_: str = options.solver
        cross = () if options.extra & {"tensor", "pairs"} else ("cross",)
        self.moments_used_: tuple[str, ...] = (*cross, *sorted(options.extra))
        self.n_sweeps_ = 0

    def _fold_seed(self) -> int:
        return int(self.random_state) if isinstance(self.random_state, Integral) else 0


def _without(parts: Sequence[Moments], i: int) -> Moments:
    """The moments of all parts but one."""
    rest = [part for j, part in enumerate(parts) if j != i]
    return merged(rest)


def warn_no_signal() -> None:
    """Say that y is constant."""
    warnings.warn(
        "y is constant: there is no signal, and the embeddings are arbitrary directions.",
        NoSignalWarning,
        stacklevel=3,
    )

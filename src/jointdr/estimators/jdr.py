"""JDR: a scikit-learn shell around `jointdr.directions.jdr`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jointdr.directions import Fitted, Options, fit_jdr, read_moments, solve_jdr
from jointdr.engines import Grid, Rows
from jointdr.estimators.base import ViewsTransformer
from jointdr.estimators.method import FittingMethod
from jointdr.estimators.options import jdr_options
from jointdr.estimators.scoring import proxy_criterion
from jointdr.moments import Moments

MANY_VIEWS = (
    "partial_fit and fit_moments are for two views: the proxy tensor of three and more needs the means before it is "
    "summed up, so the data is read twice. Use fit, on data that can be read again."
)


class JDR(ViewsTransformer):
    """Joint dimensionality reduction: linear embeddings of two views, learned from the response that links them.

    For feature vectors a and b and a response y that depends on them only through Uᵀa and Vᵀb, JDR estimates the
    spans of U and V from the singular vectors of the proxy X₀ = mean of a′ y′ b′ᵀ, where a′, b′ and y′ are
    normalized. No form of the link is assumed.

    Parameters
    ----------
    n_components : int, tuple of ints or "auto", default 2
        The number of directions r in each view; at most the number of features of the smaller view. A tuple gives each
        view its own number, at most as many as the proxy has. ``"auto"`` takes the number that predicts held-out
        moments best.
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
        both and takes the learned one where it is better on held-out rows.
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
    feature_names_in_ : array of str
        The names of the features of all views, one after the other, or of the columns of the one matrix. Only there
        where all have names; ``feature_names_per_view_`` has those of each view, or None.
    moments_ : Moments
        What the fit was computed from. Kept by `partial_fit` and `fit_moments`, and by `fit` of two views with the
        exact solver while it is smaller than 100 MB.
    solver_ : str
        The solver that was used.
    n_sweeps_ : int
        Sweeps of refinement that lowered the residual of held-out rows; 0 if none did, and the plain result was kept.
    link_ : Link
        With ``refine``: the fitted model of the responses. ``link_.kind`` is its kind; ``link_.predict(Z)`` takes the
        embedded coordinates (without ``scale``), ``link_.gradient(Z)`` has the slopes along them.
    moments_used_ : tuple of str
        ``"cross"`` and what ``moments="all"`` found useful beside it.
    response_ : Transform
        The fitted map from responses to numbers.

    Notes
    -----
    Algorithms 1, 2 and 3 of Li, Wen, Cheng and Bresler, *Joint Dimensionality Reduction for Separable Embedding
    Estimation*. The exact solver costs O(m n²) in one read of the data, the sketches O(m n r) per read.

    References
    ----------
    Li, Wen, Cheng and Bresler, Joint dimensionality reduction for separable embedding estimation.

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

    def _method(self, n_responses: int, once: bool) -> FittingMethod:
        return FittingMethod(jdr_options(self, n_responses, once), _read, _solve, fit_jdr, proxy_criterion)

    def _keep(self, fitted: Fitted, always: bool = False) -> None:
        super()._keep(fitted, always)
        self.solver_: str = fitted.options.solver
        self.n_sweeps_ = fitted.n_sweeps
        if fitted.link is not None:
            self.link_ = fitted.link

    def _require_one_read(self, caller: str) -> None:
        if caller == "partial_fit" and len(getattr(self, "view_names_", ())) > 2:
            raise ValueError(MANY_VIEWS)
        if self.solver not in ("auto", "exact") and caller != "fit_moments":
            raise ValueError(
                f"solver={self.solver!r} reads the data several times, which {caller} cannot: "
                "use solver='exact', or fit on data that can be read again."
            )
        if self.refine:
            raise ValueError(
                f"refine={self.refine!r} reads the data again, which {caller} cannot: use fit, or refine=0."
            )


def _read(rows: Rows | Grid, options: Options, first_row: int = 0) -> list[Moments]:
    if len(rows.views) > 2:
        raise ValueError(MANY_VIEWS)
    return read_moments(rows, options, first_row, mergeable=True)


def _solve(parts: Sequence[Moments], options: Options) -> Fitted:
    if parts[0].n_views > 2:
        raise ValueError(MANY_VIEWS)
    return Fitted(*solve_jdr(parts, options), list(parts))

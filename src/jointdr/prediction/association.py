"""AssociationModel: the unknown pairs that score high (section 5 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from jointdr.data import By, Entities
from jointdr.prediction.explanation import Explanation, explain_pair
from jointdr.prediction.heads.build import (
    HeadParameters,
    build_head,
    describe_entities,
    embedding_for,
    find_bandwidths,
    pair_of,
)
from jointdr.prediction.heads.head import EntitySet, Tables
from jointdr.prediction.heads.parts import AssociationParts
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import GridRidge
from jointdr.prediction.heads.truncation import measure_truncation
from jointdr.prediction.queries import as_dyads
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import Array, check_integer, is_number, memory, slices, to_json

if TYPE_CHECKING:
    from jointdr.prediction.search.tuning import Tuning

# Parameters that a file needs as they were when the model was fitted.
READ_BY_HEADS = ("head", "kernel", "scale", "adaptive", "mix", "borrow", "alpha", "nearest")


class AssociationModel(Recommender):
    """Scores between two kinds of entities, predicted by an embedding and then kernel regression.

    Entities are embedded by a method of the family, their coordinates are scaled by Σ^½, and the score of a pair is an
    average of the known scores of similar pairs. It also scores entities that were not there when it was fitted.

    Parameters
    ----------
    embedding : "auto", estimator or None
        A `JDR`, or any other method of the family; ``"auto"`` is a `JDR` with 80 directions, or as many as there are
        features. None takes raw features.
    head : {"kernel", "bilinear", "kernel_ridge"}
        The regression of scores on the coordinates. ``"kernel"``: Nadaraya-Watson regression, as in the paper.
        ``"bilinear"``: ridge regression on products of coordinates. ``"kernel_ridge"``: ridge regression with products
        of kernels (Kronecker kernel ridge regression).
    kernel : {"gaussian", "cosine"}
        Weights exp(−‖z − z′‖²/2h²), or those of the cosine kernel, (cos φ)^(1/h²) with the angle φ between z and z′
        (0 beyond 90°).
    bandwidth : "auto", float or pair of floats
        h of rows and of columns. For Gaussian weights in units of the root mean square distance between the entities
        of that kind, so that a value means the same for any number of directions. 0 ignores that side: known entities
        lend each other nothing, and a new one is taken for the nearest known one. ``"auto"`` is chosen by leaving out
        known rows one at a time, see `KernelRegression`; the embedding has seen these rows, and `tune` is the more
        careful way.
    scale : "auto", None, "sqrt" or float
        Coordinates are scaled by this power of Σ. ``"auto"`` is ½ for a `JDR`, as in the paper, and the ``scale`` of
        the embedding otherwise.
    adaptive : int, optional
        Gaussian bandwidths are then multiples of the distance to the neighbour of this rank.
    mix : float or pair of floats, default 0
        Between 0 and 1: the share that similarities of raw features have beside those of the coordinates, for rows and
        for columns.
    raw_bandwidth : "auto", None, float or pair of floats
        The bandwidths for raw features; None takes those of the coordinates.
    borrow : float, default 1
        Between 0 and 1: the share of a known column's score that comes from the kernel, rather than from the column
        itself. 1 is the paper's kernel regression.
    alpha : float, default 0.1
        The penalty of the ridge heads, in units of the mean curvature of the squared errors.
    nearest : "auto", None, int, or one of these for rows and one for columns
        The number of nearest entities that have weights in ``head="kernel"``; None for all of them. ``"auto"`` is None
        for up to 20 000 entities of a kind and otherwise 50. The loss is measured, see ``truncation_``.
    device : str, optional
        A device of PyTorch, such as ``"cuda"``, on which ``head="kernel"`` computes scores, in double precision.
        Fitting and tuning stay on the host. May be set on a fitted model.
    max_bytes : float, default 5e8
        Memory for blocks of kernels and scores. Results do not depend on it.
    random_state : int, RandomState or None
        It draws the rows that ``"auto"`` leaves out.

    Attributes
    ----------
    embedding_ : the fitted embedding, or None
    bandwidth_ : pair of floats
    raw_bandwidth_ : pair of floats, or None
    truncation_ : Truncation or None
        The loss by ``nearest``, on a sample of the entities; None where all of them count.
    row_ids_, column_ids_ : arrays of str
        The entities that were fitted.
    view_names_ : tuple of str
    n_features_per_view_ : tuple of int
    feature_names_per_view_ : tuple of arrays or None
    known_pairs_ : (m_A, m_B) CSR array
        The pairs that were known in the fit.

    Notes
    -----
    A pair costs m_D + m_G evaluations of kernels on a complete grid. `predict` takes O(rows · (|Y| + m_G · columns)),
    where |Y| is the number of stored scores. With ``nearest`` a row has k_D weights and a column k_G, both found by an
    index (`jointdr.prediction.heads.nearest.Index`); `recommend` then takes O(k_D k_G |Y|/m_D) for a row, however many
    columns there are, and the weights between the columns 12 k_G m_G bytes.

    References
    ----------
    Li, Wen, Cheng and Bresler. Joint dimensionality reduction for separable embedding estimation (section 5).

    Nadaraya (1964). On estimating regression. Theory of Probability and its Applications 9, 141-142.

    Watson (1964). Smooth regression analysis. Sankhya A 26, 359-372.

    Pahikkala, Airola, Pietila, Shakyawar, Szwajda, Tang and Aittokallio (2015). Toward more realistic drug-target
    interaction predictions. Briefings in Bioinformatics 16, 325-337 (Kronecker kernel ridge regression).

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import JDR, AssociationModel
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.standard_normal((300, 10)), rng.standard_normal((80, 8))
    >>> Y = (A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((300, 80)) > 2).astype(float)
    >>> model = AssociationModel(JDR(2), random_state=0).fit(Y[:250], A[:250], B)
    >>> model.predict(A[250:]).shape
    (50, 80)
    >>> best = model.recommend(A[250:], k=3)
    >>> list(best.columns)
    ['row', 'column', 'score', 'rank', 'neighbors']
    """

    _head: GridRegression | GridRidge
    _of_version_0_1: ClassVar[dict[str, Any]] = {
        **{"head": "kernel", "kernel": "gaussian", "bandwidth": "auto", "raw_bandwidth": None, "scale": "auto"},
        **{"adaptive": None, "mix": 0.0, "borrow": 1.0, "alpha": 0.1, "nearest": "auto", "device": None},
        **{"max_bytes": 5e8, "random_state": None},
    }

    def __init__(
        self,
        embedding: Any = "auto",
        *,
        head: str = "kernel",
        kernel: str = "gaussian",
        bandwidth: Any = "auto",
        scale: Any = "auto",
        adaptive: int | None = None,
        mix: float = 0.0,
        raw_bandwidth: Any = None,
        borrow: float = 1.0,
        alpha: float = 0.1,
        nearest: Any = "auto",
        device: str | None = None,
        max_bytes: float = 5e8,
        random_state: Any = None,
    ) -> None:
        self.embedding = embedding
        self.head = head
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.scale = scale
        self.adaptive = adaptive
        self.mix = mix
        self.raw_bandwidth = raw_bandwidth
        self.borrow = borrow
        self.alpha = alpha
        self.nearest = nearest
        self.device = device
        self.max_bytes = max_bytes
        self.random_state = random_state

    # ---------------------------------------------------------------- fitting

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the embedding and the scores.

        Parameters
        ----------
        Y : Dyads, or (m_A, m_B) array or sparse matrix of scores
            Samples (a, b, y) go in as ``Dyads.from_samples((A, B), y)``.
        A, B : (m_A, n_1) and (m_B, n_2) tables
            Unless Y is a `Dyads`, which may have similarities too.
        observed : None, "stored" or mask
            As in `Dyads`.
        """
        dyads, parameters = as_dyads(Y, A, B, observed), self._check_parameters()
        dyads.require_features(f"AssociationModel(head={self.head!r})")
        held = self._block_bytes()
        embedding = embedding_for(self.embedding, dyads)
        if embedding is not None:
            embedding.fit(dyads)
        sides = describe_entities(parameters, dyads, embedding)
        bandwidths = find_bandwidths(parameters, dyads, sides, 2 * held, self.random_state)
        head = build_head(parameters, dyads.Y, dyads.is_complete, sides, bandwidths)
        truncation = measure_truncation(head, held)
        self._keep(dyads, head)
        self._keep_parts(AssociationParts(embedding, sides, bandwidths, head, truncation))
        if truncation is not None:
            truncation.warn_if_large()
        return self

    def _check_parameters(self, of_file: bool = False) -> HeadParameters:
        parameters = HeadParameters.check(self.get_params(deep=False))
        if not is_number(self.max_bytes) or not self.max_bytes > 0:
            raise ValueError(f"max_bytes={self.max_bytes!r} must be a number of bytes > 0.")
        if not of_file and self.embedding is None and max(parameters.mix) > 0:  # files keep the fitted embedding alone
            raise ValueError("mix adds raw features, which embedding=None has already: leave it out.")
        return parameters

    def _keep_parts(self, parts: AssociationParts) -> None:
        self._parts, self._sides = parts, parts.sides
        self.embedding_, self.truncation_ = parts.embedding, parts.truncation
        self.bandwidth_, self.raw_bandwidth_ = parts.bandwidths
        self._fitted = {name: getattr(self, name) for name in READ_BY_HEADS}

    def _block_bytes(self) -> float:
        return memory.within(float(self.max_bytes), 0.4) / 2

    def tune(
        self,
        Y: Any,
        A: Any = None,
        B: Any = None,
        observed: Any = None,
        *,
        grid: Any = None,
        by: By = "rows",
        n_splits: int = 2,
        test_size: float = 0.1,
        progress: bool | None = None,
    ) -> Tuning:
        """Choose parameters on held-out parts of the data, set them, and fit the model with them to all of it.

        Parameters
        ----------
        Y, A, B, observed
            As in `fit`.
        grid : mapping of parameter names to values, or a sequence of them; optional
            All combinations are tried; of a sequence, each at the best setting of those before it. ``n_components``
            stands for that of the embedding; ``row_bandwidth``, ``column_bandwidth``, ``row_mix``, ``column_mix``,
            ``raw_row_bandwidth`` and ``raw_column_bandwidth`` for one side of a parameter that has two. By default the
            stages of `jointdr.prediction.search.recipe.recipe`.
        by : {"rows", "columns", "both", "pairs"}
            The entities that are held out: those that you want to predict should be new in the same way.
        n_splits, test_size
            The number of splits, and the share that is held out.
        progress : bool, optional
            Whether to show a progress bar; by default in a terminal.

        Returns
        -------
        Tuning
            All settings with their scores. Implicit feedback is judged by the mean recall at 10, 30 and 100, graded
            scores by the root mean square error.

        Notes
        -----
        One fit of the embedding on each split serves all numbers of directions, and distances serve all bandwidths.
        """
        from jointdr.prediction.search.recipe import recipe  # which know this class
        from jointdr.prediction.search.tuning import tune_model

        dyads = as_dyads(Y, A, B, observed, "tune")
        self._check_parameters()
        grid = recipe(self, dyads) if grid is None else grid
        seed = self.random_state
        found = tune_model(
            self, dyads, grid, by=by, n_splits=n_splits, test_size=test_size, random_state=seed, progress=progress
        )
        self.embedding = embedding_for(self.embedding, dyads)
        self.set_params(**found.best_params)
        self.fit(dyads)
        return found

    # ---------------------------------------------------------------- use

    def neighbors(self, A_new: Any = None, B_new: Any = None, *, rows: Any = None, columns: Any = None) -> Array:
        """The effective number of known pairs behind each score of `predict`, (rows, columns).

        It is (Σ w)²/Σ w² of the weights w of the known pairs, and 0 where all of them are too far away: the score is
        then the mean of the known scores of the column. Only for ``head="kernel"``; arguments are those of `predict`.
        """
        check_is_fitted(self)
        if not isinstance(self._head, GridRegression):
            raise ValueError(f"head={self.head!r} has no neighbours: they belong to head='kernel'.")
        a, b = self._query(0, A_new, None, rows).selection, self._query(1, B_new, None, columns).selection
        head, held = self._head.place_on(self.device), self._block_bytes()
        counter, found = head.neighbor_counter(a, b, held), np.empty((a.count, b.count))
        for at in slices(a.count, head.rows_at_once(b.count, held)):
            found[at] = counter(at)
        return found

    def explain(
        self,
        row: Any = None,
        column: Any = None,
        k: int = 10,
        *,
        row_similarity: Any = None,
        column_similarity: Any = None,
    ) -> Explanation:
        """The known pairs that carried a prediction.

        Parameters
        ----------
        row, column : str, or table with one row
            The id of an entity that was fitted, or the features of another one.
        k : int
            The number of pairs that are listed.
        row_similarity, column_similarity : similarities of another one to the fitted ones, as in `predict`

        Returns
        -------
        Explanation
            Its contributions, with that of all other pairs, sum to the score.
        """
        check_is_fitted(self)
        k = check_integer("k", k, 1)
        given = ((row, row_similarity), (column, column_similarity))
        (name_a, a), (name_b, b) = (self._one(side, *value, "explain") for side, value in enumerate(given))
        weights = self._head.pair_weights(a, b)
        return explain_pair(weights, self._head.Y, (self.row_ids_, self.column_ids_), (name_a, name_b), k)

    def coordinates(self, A_new: Any = None, B_new: Any = None) -> tuple[Array, Array]:
        """Rows and columns in the coordinates that the head compares, (rows, r_1) and (columns, r_2).

        They are embedded, scaled by a power of Σ, centred, and in units of the root mean square distance between
        fitted entities; for cosine kernels of length 1. With ``embedding=None`` they are raw features, maybe sparse.

        Parameters
        ----------
        A_new, B_new : tables, optional
            New entities; by default those that were fitted.
        """
        check_is_fitted(self)
        a, b = (
            side.points[0] if X is None else side.describe(self._checked(k, X).X)[0]
            for k, (side, X) in enumerate(zip(self._sides, (A_new, B_new), strict=True))
        )
        return a, b

    def precompute(self, max_bytes: float = 5e8) -> Self:
        """Compute the kernel weights between known entities once and keep them, for many calls with few ids each.

        Calls with ``rows=`` or ``columns=`` then evaluate no kernel between known entities. It takes 8 m² bytes for m
        rows, and for m columns, and leaves out a kind for which that is more than `max_bytes`. Scores stay the same.
        """
        check_is_fitted(self)
        self._head = self._head.hold_weights(max_bytes)
        return self

    # ---------------------------------------------------------------- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        from jointdr.prediction.loading import FAMILY  # which knows this class

        check_is_fitted(self)
        (names, ids), (parts, arrays) = self._names_to_arrays(), self._parts.to_arrays(FAMILY)
        # Parameters as they were in the fit, not as they were set later; the fitted embedding keeps its own.
        params = {**self.get_params(deep=False), **self._fitted, "embedding": None}
        return {**names, "params": {name: to_json(value) for name, value in params.items()}, **parts}, ids | arrays

    def _read(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        from jointdr.prediction.loading import FAMILY

        parameters = self._check_parameters(of_file=True)
        shape = (len(self.row_ids_), len(self.column_ids_))
        parts = AssociationParts.from_arrays(parameters, FAMILY, header, arrays, shape, self.n_features_per_view_)
        self.embedding = None if parts.embedding is None else clone(parts.embedding)
        self._head = parts.head
        self._keep_parts(parts)

    # ---------------------------------------------------------------- entities

    def _describe(self, k: int, new: Entities) -> Tables:
        return self._sides[k].describe(new.X)

    def _points(self, k: int) -> Tables:
        return self._sides[k].points

    def _compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        side, bandwidths = self._sides[k], (self.bandwidth_, self.raw_bandwidth_)
        mix = pair_of(self._fitted["mix"])
        share = mix[k] if mix is not None and len(side.points) == 2 else 0.0
        D, similarity = np.zeros(side.count), np.zeros(side.count)
        for t, part in enumerate((1.0 - share, share)[: len(side.points)]):
            if part > 0:
                h, z = bandwidths[t], one.take(side.points, slice(0, 1))[t]
                kernel = side.kernel(t, 1.0 if h is None else h[k])
                d = kernel.distances(z)
                if one.indices is not None:
                    d[0, one.indices[0]] = 0.0
                D += part * d[0]
                similarity += part * kernel.evaluate(d)[0]
        return np.sqrt(D), similarity

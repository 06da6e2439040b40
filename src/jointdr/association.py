"""AssociationModel: which unknown pairs score high (section 5 of the paper)."""

from __future__ import annotations

import os
from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from jointdr import persist
from jointdr.arrays import Array, is_sparse
from jointdr.bandwidths import chosen
from jointdr.base import ViewsTransformer, exponent_of
from jointdr.dyads import Dyads
from jointdr.estimators import JDR
from jointdr.explanation import Explanation, explained
from jointdr.family import OLS, PCA
from jointdr.hessian import IHT, PHD
from jointdr.ranking import Block
from jointdr.recommender import Recommender
from jointdr.ridge import Coordinates, GridRidge
from jointdr.slicing import SAVE, SIR, SOLS
from jointdr.smoothing import GridRegression
from jointdr.splits import By
from jointdr.tables import Entities
from jointdr.weights import Kernel, Mixture, spread, unit_rows

if TYPE_CHECKING:
    from jointdr.tuning import Tuning

HEADS = ("kernel", "bilinear", "kernel_ridge")
KERNELS = ("gaussian", "cosine")
FAMILY = {method.__name__: method for method in (IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS)}
"""The embeddings that a saved model may hold."""
Bandwidths = tuple[float, float]


class AssociationModel(Recommender):
    """Predicts the scores between two kinds of entities: embedding, then kernel regression.

    Entities are embedded by a method of the family, their coordinates are scaled by Σ^½, and the score of a pair is an
    average of the known scores of similar pairs. It also scores entities that were not there when it was fitted.

    Parameters
    ----------
    embedding : "auto", estimator or None
        A `JDR`, or any other method of the family; ``"auto"`` is a `JDR` with 80 directions, or as many as there are
        features. None takes the features as they are.
    head : {"kernel", "bilinear", "kernel_ridge"}
        How scores are predicted from the coordinates. ``"kernel"``: Nadaraya-Watson regression, as in the paper.
        ``"bilinear"``: ridge regression on products of coordinates. ``"kernel_ridge"``: ridge regression with products
        of kernels (Kronecker kernel ridge regression).
    kernel : {"gaussian", "cosine"}
        Weights exp(−‖z − z′‖²/2h²), or (cos φ)^(1/h²) of the angle φ between z and z′ (0 beyond 90°).
    bandwidth : "auto", float or pair of floats
        h of rows and of columns. For Gaussian weights in units of the root mean square distance between the entities
        of that kind, so that a value means the same for any number of directions. 0 ignores that side: known entities
        lend each other nothing. ``"auto"`` is chosen by leaving out known rows one at a time, see `KernelRegression`;
        it judges a fit to all rows, and `tune` is the more careful way.
    scale : "auto", None, "sqrt" or float
        Coordinates are scaled by this power of Σ. ``"auto"`` is ½ for a `JDR`, as in the paper, and what the embedding
        itself does otherwise.
    adaptive : int, optional
        Gaussian bandwidths are then multiples of the distance to the neighbour of this number.
    mix : float or pair of floats, default 0
        Between 0 and 1: the share that similarities of the features as they are have beside those of the coordinates,
        for rows and for columns.
    raw_bandwidth : "auto", None, float or pair of floats
        The bandwidths of these; None takes those of the coordinates.
    borrow : float, default 1
        Between 0 and 1: the share of a known column's score that comes from the kernel, rather than from the column
        itself. 1 is the paper's kernel regression.
    alpha : float, default 0.1
        The penalty of the ridge heads, in units of the mean curvature of the squared errors.
    max_bytes : float, default 5e8
        Memory for blocks of kernels and scores. Results do not depend on it.
    random_state : int, RandomState or None
        Which rows ``"auto"`` leaves out.

    Attributes
    ----------
    embedding_ : the fitted embedding, or None
    bandwidth_ : pair of floats
    raw_bandwidth_ : pair of floats, or None
    row_ids_, column_ids_ : arrays of str
        The entities that were fitted.
    view_names_ : tuple of str
    n_features_per_view_ : tuple of int

    Notes
    -----
    A pair costs m_D + m_G evaluations of kernels on a complete grid. `predict` takes O(rows · (|Y| + m_G · columns)),
    where |Y| is the number of stored scores.

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
        self.max_bytes = max_bytes
        self.random_state = random_state

    _memos: Any = None  # where `tune` keeps distances

    # ---------------------------------------------------------------- fitting

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the embedding and the scores.

        Parameters
        ----------
        Y : Dyads, or (m_A, m_B) array or sparse matrix of scores
            Samples (a, b, y) go in as ``Dyads.from_samples((A, B), y)``.
        A, B : (m_A, n_1) and (m_B, n_2) tables
            Unless Y is a `Dyads`.
        observed : None, "stored" or mask
            As in `Dyads`.
        """
        dyads = self._dyads(Y, A, B, observed)
        self._check_parameters()
        embedding = self._embedding_for(dyads)
        if embedding is not None:
            embedding = embedding.fit(dyads)
        return self._fit_head(dyads, embedding)

    def _fit_head(self, dyads: Dyads, embedding: ViewsTransformer | None) -> Self:
        """Fit what follows the embedding, which is fitted already."""
        self._remember(dyads)
        self._describe(dyads, embedding)
        self.bandwidth_ = self._bandwidths_of(self.bandwidth, 0, "bandwidth")
        self.raw_bandwidth_: Bandwidths | None = None
        if len(self._points[0]) > 1:
            self.raw_bandwidth_ = (
                self.bandwidth_
                if self.raw_bandwidth is None
                else self._bandwidths_of(self.raw_bandwidth, 1, "raw_bandwidth")
            )
        self._build()
        return self

    def _embedding_for(self, dyads: Dyads) -> ViewsTransformer | None:
        if self.embedding is None:
            return None
        if isinstance(self.embedding, str) and self.embedding == "auto":
            return JDR(min(80, *dyads.n_features))
        if not isinstance(self.embedding, ViewsTransformer):
            raise TypeError(
                f"embedding={self.embedding!r} must be 'auto', a JDR or another method with its interface, or None."
            )
        return clone(self.embedding)

    def _check_parameters(self) -> None:
        for name, choices in (("head", HEADS), ("kernel", KERNELS)):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r} is not understood; choose from {choices}.")
        for name, most in (("borrow", 1.0), ("alpha", np.inf)):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= most:
                raise ValueError(f"{name}={value!r} must be a number >= 0{'' if most == np.inf else ' and <= 1'}.")
        if self.head == "bilinear" and (max(self._mixes()) > 0 or self.borrow < 1):
            raise ValueError("mix and borrow are for kernels, which head='bilinear' does not have: leave them out.")
        if self.head != "kernel" and self.alpha == 0:
            raise ValueError("alpha=0 leaves a ridge head without a solution: give a positive number.")
        k = self.adaptive
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or int(k) < 1):
            raise ValueError(f"adaptive={k!r} must be the number of a neighbour, an integer >= 1, or None.")
        if k is not None and self.kernel == "cosine":
            raise ValueError("adaptive is for kernel='gaussian': leave it out, or change the kernel.")
        if self.embedding is None and max(self._mixes()) > 0:
            raise ValueError("mix adds the features as they are, which embedding=None has already: leave it out.")

    def _mixes(self) -> tuple[float, float]:
        """The share of the features as they are, of rows and of columns."""
        try:
            given = np.broadcast_to(np.asarray(self.mix, dtype=float), 2)
        except (TypeError, ValueError):
            given = np.array([np.nan])
        if given.shape != (2,) or not ((given >= 0) & (given <= 1)).all():
            raise ValueError(f"mix={self.mix!r} must be a number from 0 to 1, or one for rows and one for columns.")
        return float(given[0]), float(given[1])

    # ---------------------------------------------------------------- descriptions of entities

    def _describe(self, dyads: Dyads, embedding: ViewsTransformer | None) -> None:
        """What the head is fitted to."""
        self.embedding_ = embedding
        self._centers = tuple(self._centers_of(k, X) for k, X in enumerate((dyads.A, dyads.B)))
        self._points = tuple(self._described_by(k, X) for k, X in enumerate((dyads.A, dyads.B)))
        self._units = tuple(tuple(self._unit_of(points) for points in side) for side in self._points)
        self._scores, self._is_complete = dyads.Y, dyads.is_complete

    def _tables(self, k: int, X: Array) -> list[Array]:
        """The coordinates of entities, and their features as they are where these play a part."""
        if self.embedding_ is None:
            return [X]
        embedded = self.embedding_._scaled_view(k, X, self._exponent())
        return [embedded, X] if max(self._mixes()) > 0 else [embedded]

    def _exponent(self) -> float:
        assert self.embedding_ is not None
        if isinstance(self.scale, str) and self.scale == "auto":
            return 0.5 if isinstance(self.embedding_, JDR) else self.embedding_._exponent()
        return exponent_of(self.scale)

    def _centers_of(self, k: int, X: Array) -> tuple[Array | None, ...]:
        if self.kernel == "cosine" and self.head != "bilinear":
            return (None,) * len(self._tables(k, X))
        return tuple(None if is_sparse(T) else np.asarray(T, dtype=float).mean(axis=0) for T in self._tables(k, X))

    def _described_by(self, k: int, X: Array) -> tuple[Array, ...]:
        """What kernels and heads see of entities: one table for each description."""
        parts = []
        for T, center in zip(self._tables(k, X), self._centers[k], strict=True):
            T = T if is_sparse(T) else np.asarray(T, dtype=float)
            if center is not None:
                T = T - center
            elif self.kernel == "cosine" and self.head != "bilinear":
                T = unit_rows(T)
            parts.append(T)
        return tuple(parts)

    # ---------------------------------------------------------------- heads

    def _kernel_of(self, k: int, description: int) -> Kernel:
        """The kernel of one side, with bandwidth 1."""
        adaptive = None if self.adaptive is None else int(self.adaptive)
        memo = None if self._memos is None else self._memos[k][description]
        return Kernel(self._points[k][description], 1.0, adaptive, self.kernel == "cosine", memo)

    def _unit_of(self, points: Array) -> float:
        """What a bandwidth of 1 is."""
        return spread(points) if self.kernel == "gaussian" and self.adaptive is None else 1.0

    def _bandwidths_of(self, value: Any, description: int, name: str) -> Bandwidths:
        """Both bandwidths, as given or chosen, in their units."""
        if isinstance(value, str) and value == "auto":
            if self.head == "bilinear":
                return (1.0, 1.0)  # which has no kernel
            kernels = (self._kernel_of(0, description), self._kernel_of(1, description))
            rng = check_random_state(self.random_state)
            h = chosen(
                self._scores, self._is_complete, kernels, float(self.max_bytes), rng, own=1.0 - float(self.borrow)
            )
            return h[0] / self._units[0][description], h[1] / self._units[1][description]
        try:
            given = np.broadcast_to(np.asarray(value, dtype=float), 2)
        except (TypeError, ValueError):
            given = np.array([np.nan])
        if given.shape != (2,) or not np.isfinite(given).all() or (given < 0).any():
            raise ValueError(f"{name}={value!r} must be 'auto', a number >= 0, or one for rows and one for columns.")
        return float(given[0]), float(given[1])

    def _side(self, k: int) -> Mixture:
        own = 1.0 - float(self.borrow) if k == 1 else 0.0
        first = self._kernel_of(k, 0).at(self.bandwidth_[k] * self._units[k][0])
        if self.raw_bandwidth_ is None:
            return Mixture((first,), (1.0,), own)
        second = self._kernel_of(k, 1).at(self.raw_bandwidth_[k] * self._units[k][1])
        mix = self._mixes()[k]
        return Mixture((first, second), (1.0 - mix, mix), own)

    def _build(self) -> None:
        """The head, from what a file keeps of a fitted model."""
        self._head: GridRegression | GridRidge
        if self.head == "kernel":
            self._head = GridRegression(self._scores, self._is_complete, (self._side(0), self._side(1)))
            return
        if self.head == "bilinear":
            coordinates = tuple(Coordinates.linear(points[0]) for points in self._points)
        else:
            if min(self.bandwidth_) == 0:
                raise ValueError("bandwidth 0 is for head='kernel': kernel_ridge needs positive bandwidths.")
            coordinates = tuple(Coordinates.of_kernel(self._side(k), np.random.RandomState(0)) for k in (0, 1))
        a, b = coordinates
        self._head = GridRidge.fit(self._scores, self._is_complete, (a, b), float(self.alpha))

    def _scorer(self, A: Array | None, B: Array | None, count: bool = False) -> Callable[[slice], Block]:
        Z = [None if X is None else self._described_by(k, X) for k, X in enumerate((A, B))]
        return self._head.scorer(Z[0], Z[1], float(self.max_bytes) / 2, count)

    def _rows_at_once(self, n_columns: int) -> int:
        grid = GridRegression(self._scores, self._is_complete, (self._side(0), self._side(1)))
        return grid.rows_at_once(n_columns, float(self.max_bytes) / 2)

    # ---------------------------------------------------------------- tuning

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
            stages of `jointdr.tuning.recipe`.
        by : {"rows", "columns", "both", "pairs"}
            What is held out: what you want to predict should be new in the same way.
        n_splits, test_size
            How often, and which share.
        progress : bool, optional
            Whether to show a progress bar; by default in a terminal.

        Returns
        -------
        Tuning
            All settings with their scores. Links are judged by their mean recall at 10, 30 and 100, grades by the root
            mean square error.

        Notes
        -----
        One fit of the embedding on each split serves all numbers of directions, and distances serve all bandwidths.
        """
        from jointdr.tuning import recipe, tuned  # which knows this class

        dyads = self._dyads(Y, A, B, observed)
        self._check_parameters()
        grid = recipe(self, dyads) if grid is None else grid
        seed = self.random_state
        found = tuned(
            self, dyads, grid, by=by, n_splits=n_splits, test_size=test_size, random_state=seed, progress=progress
        )
        if isinstance(self.embedding, str):
            self.embedding = self._embedding_for(dyads)
        self.set_params(**found.best_params)
        self.fit(dyads)
        return found

    # ---------------------------------------------------------------- using it

    def neighbors(self, A_new: Any = None, B_new: Any = None) -> Array:
        """The effective number of known pairs behind each score of `predict`, (rows, columns).

        It is (Σ w)²/Σ w² of the weights w of the known pairs, and 0 where all of them are too far away: the score is
        then the mean of the known scores of the column. Only for ``head="kernel"``.
        """
        check_is_fitted(self)
        if self.head != "kernel":
            raise ValueError(f"head={self.head!r} has no neighbours: they belong to head='kernel'.")
        A, B = (None if X is None else self._checked(k, X).X for k, X in enumerate((A_new, B_new)))
        n_rows = len(self.row_ids_) if A is None else A.shape[0]
        n_columns = len(self.column_ids_) if B is None else B.shape[0]
        scorer = self._scorer(A, B, count=True)
        return np.vstack([scorer(at).notes["neighbors"] for at in self._row_blocks(n_rows, n_columns)])

    def explain(self, row: Any, column: Any, k: int = 10) -> Explanation:
        """The known pairs that carried a prediction.

        Parameters
        ----------
        row, column : str, or table with one row
            The id of an entity that was fitted, or the features of another one.
        k : int
            How many pairs are listed.

        Returns
        -------
        Explanation
            Its contributions, with that of all other pairs, sum to the score.
        """
        check_is_fitted(self)
        if not isinstance(k, Integral) or isinstance(k, bool) or int(k) < 1:
            raise ValueError(f"k={k!r} must be an integer >= 1.")
        entities = [self._one(side, value) for side, value in enumerate((row, column))]
        weights = self._pair_weights(*(entity[1] for entity in entities))
        return explained(
            weights,
            self._scores,
            self._is_complete,
            (self.row_ids_, self.column_ids_),
            (entities[0][0], entities[1][0]),
            int(k),
        )

    def _one(self, side: int, value: Any) -> tuple[str, Any]:
        """The name of one entity, and its place among the known ones or its description."""
        ids = (self.row_ids_, self.column_ids_)[side]
        name = self.view_names_[side]
        if isinstance(value, (str, Integral)):
            at = np.flatnonzero(ids == str(value))
            if len(at) == 0:
                raise ValueError(
                    f"No {name!r} with the id {str(value)!r} was fitted; ids are, for example, {ids[:3].tolist()}. For "
                    "an entity that was not fitted give its features, a table with one row."
                )
            return str(value), int(at[0])
        new: Entities = self._checked(side, value)
        if new.X.shape[0] != 1:
            raise ValueError(f"explain takes one {name!r} at a time, but got {new.X.shape[0]}.")
        return "new" if new.ids is None else str(new.ids[0]), self._described_by(side, new.X)

    def _pair_weights(self, row: Any, column: Any) -> Array:
        """What each known score counts in the prediction of one pair."""
        head = self._head
        at = [slice(value, value + 1) if isinstance(value, int) else slice(0, 1) for value in (row, column)]
        Z = [None if isinstance(value, int) else value for value in (row, column)]
        if isinstance(head, GridRegression):
            return head.pair_weights(*(K.weights_at(z, i)[0] for K, z, i in zip(head.kernels, Z, at, strict=True)))
        phi, psi = (coordinates(z, i)[0] for coordinates, z, i in zip(head.coordinates, Z, at, strict=True))
        return head.pair_weights(phi, psi)

    # ---------------------------------------------------------------- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which holds plain arrays only and can be loaded safely."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        params["embedding"] = None  # the fitted one is kept, with its parameters
        header, arrays = self._described()
        header |= {
            "params": {name: persist.to_json(value) for name, value in params.items()},
            "bandwidth": list(self.bandwidth_),
            "raw_bandwidth": None if self.raw_bandwidth_ is None else list(self.raw_bandwidth_),
            "units": [list(side) for side in self._units],
            "complete": self._is_complete,
            "descriptions": len(self._points[0]),
        }
        arrays |= persist.packed("scores", self._scores)
        for k in (0, 1):
            for t, (points, center) in enumerate(zip(self._points[k], self._centers[k], strict=True)):
                arrays |= persist.packed(f"points.{k}.{t}", points)
                if center is not None:
                    arrays[f"center.{k}.{t}"] = center
        if self.embedding_ is not None:
            header["embedding"], inner = persist.described(self.embedding_)
            header["embedding"]["kind"] = type(self.embedding_).__name__
            arrays |= {f"embedding/{name}": value for name, value in inner.items()}
        persist.write(path, type(self).__name__, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. It gives the same results to the last bit, and no code is run."""
        header, arrays = persist.read(path, cls.__name__)
        model = cls(**{name: persist.from_json(value) for name, value in header["params"].items()})
        model.embedding_ = None
        if "embedding" in header:
            inner = {name.removeprefix("embedding/"): v for name, v in arrays.items() if name.startswith("embedding/")}
            kind = FAMILY[header["embedding"]["kind"]]
            model.embedding_ = persist.restored(kind, header["embedding"], inner)
            model.embedding = clone(model.embedding_)
        model._recall(header, arrays)
        model._points = tuple(
            tuple(persist.unpacked(f"points.{k}.{t}", arrays) for t in range(header["descriptions"])) for k in (0, 1)
        )
        model._centers = tuple(
            tuple(arrays.get(f"center.{k}.{t}") for t in range(header["descriptions"])) for k in (0, 1)
        )
        model._units = tuple(tuple(side) for side in header["units"])
        model._scores, model._is_complete = persist.unpacked("scores", arrays), header["complete"]
        model.bandwidth_ = (header["bandwidth"][0], header["bandwidth"][1])
        raw = header["raw_bandwidth"]
        model.raw_bandwidth_ = None if raw is None else (raw[0], raw[1])
        model._build()
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_head")

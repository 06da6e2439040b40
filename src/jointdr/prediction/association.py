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

from jointdr.data import By, Dyads, Entities
from jointdr.estimators import (
    IHT,
    JDR,
    OLS,
    PCA,
    PHD,
    SAVE,
    SIR,
    SOLS,
    ViewsTransformer,
    estimator_from_arrays,
    estimator_to_arrays,
    exponent_of,
)
from jointdr.prediction.explanation import Explanation, explained
from jointdr.prediction.heads.bandwidths import chosen
from jointdr.prediction.heads.entities import Describer, Side, described_sides, restored_sides
from jointdr.prediction.heads.kernels import Mixture
from jointdr.prediction.heads.nearest import nearest_of
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import REDUCTION, Coordinates, GridRidge
from jointdr.prediction.heads.truncation import Truncation, measured
from jointdr.prediction.ranking import ScoreBlock, SparseBlock
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import (
    Array,
    dense,
    from_json,
    load_model,
    matrix_from_arrays,
    matrix_to_arrays,
    memory,
    to_json,
    write_model,
)

if TYPE_CHECKING:
    from jointdr.prediction.search.tuning import Tuning

HEADS = ("kernel", "bilinear", "kernel_ridge")
KERNELS = ("gaussian", "cosine")
FAMILY = {method.__name__: method for method in (IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS)}
"""The embeddings that a saved model may hold."""
READ_BY_HEADS = ("head", "kernel", "scale", "adaptive", "mix", "borrow", "alpha", "nearest")
"""Parameters that a file needs as they were when the model was fitted."""
Pair = tuple[float, float]
"""One number for rows, one for columns."""
Head = GridRegression | GridRidge


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
        lend each other nothing, and a new one is taken for the nearest known one. ``"auto"`` is chosen by leaving out
        known rows one at a time, see `KernelRegression`; it judges a fit to all rows, and `tune` is the more careful
        way.
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
    nearest : "auto", None, int, or one of these for rows and one for columns
        How many of the nearest entities have weights in ``head="kernel"``; None for all of them. ``"auto"`` is None for
        up to 20 000 entities of a kind and otherwise 50. What is lost is measured and told: see ``truncation_``.
    device : str, optional
        A device of PyTorch, such as ``"cuda"``, on which ``head="kernel"`` computes scores, in double precision.
        Fitting and tuning stay on the host. May be set on a fitted model.
    max_bytes : float, default 5e8
        Memory for blocks of kernels and scores. Results do not depend on it.
    random_state : int, RandomState or None
        Which rows ``"auto"`` leaves out.

    Attributes
    ----------
    embedding_ : the fitted embedding, or None
    bandwidth_ : pair of floats
    raw_bandwidth_ : pair of floats, or None
    truncation_ : Truncation or None
        What is lost by ``nearest``, on a sample of the entities; None where all of them count.
    row_ids_, column_ids_ : arrays of str
        The entities that were fitted.
    view_names_ : tuple of str
    n_features_per_view_ : tuple of int

    Notes
    -----
    A pair costs m_D + m_G evaluations of kernels on a complete grid. `predict` takes O(rows · (|Y| + m_G · columns)),
    where |Y| is the number of stored scores. With ``nearest`` a row has k_D weights and a column k_G, both found by an
    index (`jointdr.prediction.heads.nearest.Index`); `recommend` then takes O(k_D k_G |Y|/m_D) for a row, however many columns there
    are, and the weights between the columns 12 k_G m_G bytes.

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

    _reduction = REDUCTION

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
            Unless Y is a `Dyads`.
        observed : None, "stored" or mask
            As in `Dyads`.
        """
        dyads = self._dyads(Y, A, B, observed)
        self._check_parameters()
        embedding = self._embedding_for(dyads)
        return self._fit_head(dyads, embedding if embedding is None else embedding.fit(dyads))

    def _fit_head(self, dyads: Dyads, embedding: ViewsTransformer | None) -> Self:
        """Fit what follows the embedding, which is fitted already."""
        sides = self._sides_of(dyads, embedding)
        bandwidths = self._bandwidths(dyads, sides)
        head = self._head_of(dyads.Y, dyads.is_complete, sides, bandwidths)
        self._remember(dyads)
        truncation = measured(head, self._block_bytes() / 2) if isinstance(head, GridRegression) else None
        self._set(embedding, sides, bandwidths, head, truncation)
        if truncation is not None:
            truncation.warn_if_large()
        return self

    def _set(
        self,
        embedding: ViewsTransformer | None,
        sides: tuple[Side, Side],
        bandwidths: list[Pair | None],
        head: Head,
        truncation: Truncation | None,
    ) -> None:
        self.embedding_, self._sides, self._head, self.truncation_ = embedding, sides, head, truncation
        self._fitted = {name: getattr(self, name) for name in READ_BY_HEADS}
        self.bandwidth_, self.raw_bandwidth_ = bandwidths[0] or (1.0, 1.0), bandwidths[1]

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

    def _check_parameters(self, of_file: bool = False) -> None:
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
        if k is not None and (self.kernel == "cosine" or self.head == "kernel_ridge"):
            raise ValueError("adaptive is for kernel='gaussian' and head='kernel': leave it out, or change these.")
        if self.head != "kernel" and self.nearest is not None and self.nearest != "auto":
            raise ValueError(f"nearest={self.nearest!r} is for head='kernel': leave it out, or change the head.")
        if not isinstance(self.max_bytes, Real) or not float(self.max_bytes) > 0:
            raise ValueError(f"max_bytes={self.max_bytes!r} must be a number of bytes > 0.")
        if self.embedding is None and not of_file and max(self._mixes()) > 0:
            raise ValueError("mix adds the features as they are, which embedding=None has already: leave it out.")

    def _mixes(self) -> Pair:
        """The share of the features as they are, of rows and of columns."""
        given = pair_of(self.mix)
        if given is None or not 0 <= min(given) <= max(given) <= 1:
            raise ValueError(f"mix={self.mix!r} must be a number from 0 to 1, or one for rows and one for columns.")
        return given

    def _sides_of(self, dyads: Dyads, embedding: ViewsTransformer | None) -> tuple[Side, Side]:
        """What the head is fitted to."""
        adaptive = None if self.adaptive is None else int(self.adaptive)
        cosine = self.kernel == "cosine" and self.head != "bilinear"
        exponent, with_raw = self._exponent(embedding), max(self._mixes()) > 0
        near = nearest_of(self.nearest, dyads.shape, adaptive) if self.head == "kernel" else (None, None)
        a, b = (
            Side.of(Describer(embedding, k, exponent, with_raw, cosine), X, adaptive, near[k])
            for k, X in enumerate((dyads.A, dyads.B))
        )
        return a, b

    def _exponent(self, embedding: ViewsTransformer | None) -> float:
        if not isinstance(self.scale, str) or self.scale != "auto":
            return exponent_of(self.scale)
        return 0.5 if embedding is None or isinstance(embedding, JDR) else exponent_of(embedding.scale)

    def _bandwidths(self, dyads: Dyads, sides: tuple[Side, Side]) -> list[Pair | None]:
        """The bandwidths of the coordinates, and of the features as they are where these play a part."""
        found: list[Pair | None] = [self._bandwidths_of("bandwidth", 0, dyads, sides)]
        if len(sides[0].points) == 1:
            return [*found, None]
        raw = self.raw_bandwidth
        return [*found, found[0] if raw is None else self._bandwidths_of("raw_bandwidth", 1, dyads, sides)]

    def _bandwidths_of(self, name: str, description: int, dyads: Dyads, sides: tuple[Side, Side]) -> Pair:
        """Both bandwidths, as given or chosen."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            if self.head == "bilinear":
                return (1.0, 1.0)  # which has no kernel
            kernels = (sides[0].kernel(description), sides[1].kernel(description))
            rng = check_random_state(self.random_state)
            own = 1.0 - float(self.borrow)
            return chosen(dyads.Y, dyads.is_complete, kernels, self._block_bytes(), rng, own)
        given = pair_of(value)
        if given is None or min(given) < 0:
            raise ValueError(f"{name}={value!r} must be 'auto', a number >= 0, or one for rows and one for columns.")
        return given

    def _mixtures(self, sides: tuple[Side, Side], bandwidths: list[Pair | None]) -> tuple[Mixture, Mixture]:
        """The weights of both sides."""
        (h, raw), mixes, own = bandwidths, self._mixes(), 1.0 - float(self.borrow)
        assert h is not None
        raws = (None, None) if raw is None else raw
        return (
            sides[0].mixture(h[0], raws[0], mixes[0], 0.0),
            sides[1].mixture(h[1], raws[1], mixes[1], own),
        )

    def _head_of(self, Y: Array, complete: bool, sides: tuple[Side, Side], bandwidths: list[Pair | None]) -> Head:
        """The fitted head; the same for the same arguments, so that a file need not keep it."""
        if self.head == "bilinear":
            a, b = (Coordinates.linear(side.points[0]) for side in sides)
            return GridRidge.fit(Y, complete, (a, b), float(self.alpha), self._reduction)
        mixtures = self._mixtures(sides, bandwidths)
        if self.head == "kernel":
            return GridRegression(Y, complete, mixtures)
        if min(min(h) for h in bandwidths if h is not None) == 0:
            raise ValueError("bandwidth 0 is for head='kernel': kernel_ridge needs positive bandwidths.")
        a, b = (Coordinates.of_kernel(mixture, np.random.RandomState(0)) for mixture in mixtures)
        return GridRidge.fit(Y, complete, (a, b), float(self.alpha), self._reduction)

    def _scorer(self, A: Array | None, B: Array | None, count: bool = False) -> Callable[[slice], ScoreBlock]:
        Z = [None if X is None else side.describe(X) for side, X in zip(self._sides, (A, B), strict=True)]
        return self._placed_head().scorer(Z[0], Z[1], self._block_bytes() / 2, count)

    def _ranker(self, A: Array | None) -> tuple[Callable[[slice], ScoreBlock | SparseBlock], int]:
        if not isinstance(self._head, GridRegression) or not self._head.is_sparse:
            return super()._ranker(A)
        Z = None if A is None else self._sides[0].describe(A)
        size = self._head.rows_at_once(len(self.column_ids_), self._block_bytes() / 2, ranked=True)
        return self._head.ranker(Z), size

    def _placed_head(self) -> Head:
        """The head, whose scores are computed where ``device`` says; what it keeps there is kept for the next time."""
        if self.device is None or not isinstance(self._head, GridRegression):
            return self._head
        held = getattr(self, "_on_device", None)
        if held is None or held[0] is not self._head or held[1] != self.device:
            from jointdr.prediction.heads.regression_device import placed

            held = self._on_device = (self._head, self.device, placed(self._head, self.device))
        return held[2]

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_on_device"}  # that is this machine's

    def _block_bytes(self) -> int:
        """`max_bytes`, or less where the memory budget asks for it."""
        return memory.within(float(self.max_bytes), 0.4)

    def _rows_at_once(self, n_columns: int) -> int:
        return self._head.rows_at_once(n_columns, self._block_bytes() / 2)

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
            stages of `jointdr.prediction.search.tuning.recipe`.
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
        from jointdr.prediction.search.tuning import recipe, tuned  # which knows this class

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
        if not isinstance(self._head, GridRegression):
            raise ValueError(f"head={self.head!r} has no neighbours: they belong to head='kernel'.")
        A, B = (None if X is None else self._checked(k, X).X for k, X in enumerate((A_new, B_new)))
        n_rows = len(self.row_ids_) if A is None else A.shape[0]
        n_columns = len(self.column_ids_) if B is None else B.shape[0]
        scorer, found = self._scorer(A, B, count=True), np.empty((n_rows, n_columns))
        for at in self._row_blocks(n_rows, n_columns):
            found[at] = scorer(at).notes["neighbors"]
        return found

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
            self._head.Y,
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
        return "new" if new.ids is None else str(new.ids[0]), self._sides[side].describe(new.X)

    def _pair_weights(self, row: Any, column: Any) -> Any:
        """What each known score counts in the prediction of one pair."""
        head = self._head
        at = [slice(value, value + 1) if isinstance(value, int) else slice(0, 1) for value in (row, column)]
        Z = [None if isinstance(value, int) else value for value in (row, column)]
        if isinstance(head, GridRegression):
            weights = (dense(K.weights_at(z, i))[0] for K, z, i in zip(head.kernels, Z, at, strict=True))
            return head.pair_weights(*weights)
        phi, psi = (coordinates(z, i)[0] for coordinates, z, i in zip(head.coordinates, Z, at, strict=True))
        return head.pair_weights(phi, psi)

    # ---------------------------------------------------------------- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which holds plain arrays only and can be loaded safely."""
        check_is_fitted(self)
        header, arrays = self._described()
        # What was fitted counts, not what was set later; the fitted embedding is kept with its own parameters.
        params = {**self.get_params(deep=False), **self._fitted, "embedding": None}
        header["params"] = {name: to_json(value) for name, value in params.items()}
        header["bandwidths"] = [self.bandwidth_, self.raw_bandwidth_]
        header["complete"] = self._head.complete
        if self.truncation_ is not None:
            header["truncation"] = self.truncation_.as_dict()
        arrays |= matrix_to_arrays("scores", self._head.Y)
        header["sides"], tables = described_sides(self._sides)
        arrays |= tables
        if self.embedding_ is not None:
            if type(self.embedding_) is not FAMILY.get(type(self.embedding_).__name__):
                raise TypeError(
                    f"A model with an embedding of the class {type(self.embedding_).__name__} cannot be saved, because "
                    f"loading must not run code of others: use one of {sorted(FAMILY)}."
                )
            header["embedding"], inner = estimator_to_arrays(self.embedding_)
            header["embedding"]["kind"] = type(self.embedding_).__name__
            arrays |= {f"embedding/{name}": value for name, value in inner.items()}
        write_model(path, type(self).__name__, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. It gives the same results to the last bit, and no code is run."""
        return load_model(path, cls.__name__, cls._restored)

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """The model that `save` took apart."""
        model = cls(**{name: from_json(value) for name, value in header["params"].items()})
        embedding = None
        model._check_parameters(of_file=True)
        if "embedding" in header:
            inner = {name.removeprefix("embedding/"): v for name, v in arrays.items() if name.startswith("embedding/")}
            embedding = estimator_from_arrays(FAMILY[header["embedding"]["kind"]], header["embedding"], inner)
            model.embedding = clone(embedding)
        model._recall(header, arrays)
        sides = restored_sides(embedding, header["sides"], arrays, model.n_features_per_view_)
        bandwidths = [None if h is None else pair_of(h) for h in header["bandwidths"]]
        given = [h for h in bandwidths if h is not None]
        if len(given) != len(sides[0].points) or len(bandwidths) != 2 or min(map(min, given)) < 0:
            raise ValueError(f"its bandwidths are {header['bandwidths']}")
        Y, complete = matrix_from_arrays("scores", arrays), bool(header["complete"])
        counts = (len(model.row_ids_), len(model.column_ids_))
        if tuple(Y.shape) != counts or (sides[0].count, sides[1].count) != counts:
            raise ValueError(f"its scores and coordinates are not those of {counts[0]} rows and {counts[1]} columns")
        truncation = Truncation.from_dict(header["truncation"]) if "truncation" in header else None
        model._set(embedding, sides, bandwidths, model._head_of(Y, complete, sides, bandwidths), truncation)
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_head")


def pair_of(value: Any) -> Pair | None:
    """A number for both sides or one for each; None if it is neither."""
    try:
        given = np.broadcast_to(np.asarray(value, dtype=float), 2)
    except (TypeError, ValueError):
        return None
    return (float(given[0]), float(given[1])) if np.isfinite(given).all() else None

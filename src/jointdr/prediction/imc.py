"""Inductive matrix completion: a bilinear model of the scores between two kinds of entities."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from jointdr.data import Dyads, Entities
from jointdr.directions import explain_overflow
from jointdr.prediction.heads.completion import Factors, Pairs, Spectra, on_grid, on_pairs, proxy_start
from jointdr.prediction.heads.distances import unit_rows
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.feature_effects import predict_effects, subtract_effects, without_effects
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.queries import as_dyads
from jointdr.prediction.ranking import ScoreBlock, Scorer
from jointdr.prediction.recommender import Recommender
from jointdr.runtime import (
    Array,
    as_float,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    checked_array,
    dense_product,
    float_dtype,
    is_integer,
    make_random_state,
    require_squares,
    sum_of_squares,
)

MOST_COMPONENTS = 10  # by default

Offsets = tuple[Array, Array]  # (m_A, 1) and (m_B, 1): added to all scores of a row, of a column


@dataclass(frozen=True)
class InnerProducts(Head):
    """Scores that are inner products of embedded rows, (m_A, r), with embedded columns, (m_B, r), and offsets."""

    rows: Array
    columns: Array
    offsets: Offsets | None = None

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function from a slice of these rows to their scores with all of these columns; O(rows · columns · r)."""
        others, *c = columns.take(self.points(1), slice(0, columns.count))

        def block(at: slice) -> ScoreBlock:
            Z, *r = rows.take(self.points(0), at)
            scores = Z @ others.T
            if self.offsets is not None:
                scores += r[0]
                scores += c[0].T
            return ScoreBlock(scores)

        return block

    def points(self, k: int) -> Tables:
        """The known rows or columns."""
        Z = (self.rows, self.columns)[k]
        return (Z,) if self.offsets is None else (Z, self.offsets[k])


class IMC(Recommender):
    """Inductive matrix completion (Natarajan and Dhillon, 2014): the score of a and b is µ + r_a + c_b + aᵀW Hᵀb.

    Row and column effects come first (for associations, those of columns are their popularity). W and H, with r columns
    each, then minimize Σ (y_ij − µ − r_i − c_j − a_iᵀW Hᵀb_j)² + (λ/2)(‖W‖² + ‖H‖²) over the observed pairs. Since the
    model is of features, it also scores entities that were not there when it was fitted.

    Parameters
    ----------
    n_components : "auto" or int
        The rank r; at most the number of features of the smaller table. ``"auto"`` is 10, or that number if it is less.
    alpha : float, default 0.1
        λ.
    n_iter : int, default 50
        Sweeps at most. Each is least squares for W, then for H.
    init : {"jdr", "random"} or pair of (n_k, r) arrays
        Where the sweeps start: at JDR's proxy (whitened, but not centred, because the model has no constant), which is
        close to the solution; at random; or at the spans of given embeddings, for example of a fitted `JDR`.
    normalize_columns : bool, default True
        Whether the penalty counts every feature column as if it had unit length.
    tol : float, default 1e-5
        Sweeps end when one lowers the objective by less than this fraction; with 0 all `n_iter` are made.
    random_state : int, RandomState or None
        For ``init="random"``.
    fit_intercept : bool, default True
        Whether there are a constant and shrunken row and column effects. The effects of new entities are predicted from
        their features, by ridge regression. False is the model of the paper, aᵀW Hᵀb alone, which has no constant.

    Attributes
    ----------
    intercept_ : float
        µ; 0 without an intercept.
    effects_ : tuple of (m_A,) and (m_B,) arrays
        The effects of the entities that were fitted.
    effect_coefs_ : tuple of (n_k,) arrays
        Those of new entities are about aᵀu and bᵀv with these u and v.
    embeddings_ : tuple of (n_k, r) arrays
        W and H. They have the same product as any other pair that minimizes the objective, and are balanced: their
        columns, in units of the normalized features, are orthogonal, of equal lengths, and decrease.
    singular_values_ : (r,) array
        Of W Hᵀ, in units of the normalized features; decreasing.
    objective_ : (``n_iter_``,) array
        After each sweep.
    n_iter_ : int
        The number of sweeps that were made.
    row_ids_, column_ids_ : arrays of str
        The entities that were fitted.
    view_names_ : tuple of str
    n_features_per_view_ : tuple of int

    Notes
    -----
    On a complete grid one pass gives AᵀYB and the Gram matrices, and a sweep is then O(n² r). Where only some pairs are
    observed, a half-step is a few iterations of conjugate gradients, O(m n r + |Ω| r) each, preconditioned by moments.

    References
    ----------
    Natarajan and Dhillon (2014). Inductive matrix completion for predicting gene-disease associations. Bioinformatics
    30, i60-i68.

    Searle, Casella and McCulloch (1992). Variance components. Wiley (chapter 7: predictions of effects).

    Jain and Dhillon (2013). Provable inductive matrix completion. arXiv:1306.0626.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import IMC
    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.standard_normal((60, 8)), rng.standard_normal((40, 5))
    >>> Y = A[:, :2] @ B[:, :2].T
    >>> model = IMC(n_components=2, alpha=1e-6, fit_intercept=False).fit(Y[:50], A[:50], B)
    >>> bool(np.abs(model.predict(A[50:]) - Y[50:]).max() < 1e-4)
    True
    """

    _head: InnerProducts
    _of_version_0_1: ClassVar[dict[str, Any]] = {
        **{"n_components": 10, "alpha": 0.1, "n_iter": 50, "init": "jdr", "normalize_columns": True, "tol": 1e-5},
        **{"random_state": None, "fit_intercept": False},
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        alpha: float = 0.1,
        n_iter: int = 50,
        init: Any = "jdr",
        normalize_columns: bool = True,
        tol: float = 1e-5,
        random_state: Any = None,
        fit_intercept: bool = True,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.n_iter = n_iter
        self.init = init
        self.normalize_columns = normalize_columns
        self.tol = tol
        self.random_state = random_state
        self.fit_intercept = fit_intercept

    # ---------------------------------------------------------------- fitting

    def fit(self, Y: Any, A: Any = None, B: Any = None, observed: Any = None) -> Self:
        """Fit the scores.

        Parameters
        ----------
        Y, A, B, observed
            As in `AssociationModel.fit`. Similarities are not used.
        """
        dyads = as_dyads(Y, A, B, observed)
        dyads.require_features("IMC")
        r = self._checked_rank(dyads)
        for X, name in zip((dyads.A, dyads.B), dyads.names, strict=True):
            require_squares(X, f"the table {name!r}")
        with explain_overflow():
            return self._fit_dyads(dyads, r)

    def _fit_dyads(self, dyads: Dyads, r: int) -> Self:
        scales = [self._scales(X) for X in (dyads.A, dyads.B)]
        options = (float(self.alpha), int(self.n_iter), float(self.tol))
        with np.errstate(all="ignore"):
            effects = Effects.fit(dyads.Y, dyads.is_complete) if self.fit_intercept else None
            left = dyads if effects is None else without_effects(dyads, effects)
            spectra = Spectra.of(left.moments(center=0, y_center=0.0, cross_covariance=False), scales)
            spectra = spectra if effects is None else subtract_effects(spectra, dyads, effects)
            if dyads.is_complete:
                factors, objective = on_grid(spectra, self._start(spectra, None, r), *options)
            else:
                pairs = Pairs(left.Y, dyads.A, dyads.B)
                factors, objective = on_pairs(spectra, pairs, self._start(spectra, pairs, r), *options)
        if not np.isfinite(objective).all():
            raise ValueError(
                "The sweeps overflow: features or scores are too large to be multiplied with each other. "
                "Rescale them, for example with sklearn.preprocessing.StandardScaler."
            )
        self.embeddings_ = tuple(m @ X for m, X in zip(spectra.maps, factors, strict=True))
        self.singular_values_ = np.sum(factors[0] ** 2, axis=0)
        self.objective_ = objective
        self.n_iter_ = len(objective)
        if self.tol and self.n_iter_ > 1 and objective[-2] - objective[-1] > self.tol * objective[-1]:
            warnings.warn(
                f"IMC made all n_iter={self.n_iter} sweeps and the last still lowered the objective by "
                f"{(objective[-2] - objective[-1]) / objective[-1]:.1g} of it: raise n_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_effects(dyads, spectra, effects)
        parts = zip((dyads.A, dyads.B), self.embeddings_, dyads.names, strict=True)
        a, b = (_map_features(X, U, name) for X, U, name in parts)
        self._keep(dyads, InnerProducts(a, b, self._offsets()))
        return self

    def _keep_effects(self, dyads: Dyads, spectra: Spectra, effects: Effects | None) -> None:
        self._has_effects = effects is not None
        if effects is None:
            self.intercept_ = 0.0
            self.effects_ = tuple(np.zeros(m) for m in dyads.shape)
            self.effect_coefs_ = tuple(np.zeros(n) for n in dyads.n_features)
            return
        self.intercept_, self.effects_ = effects.mean, (effects.rows, effects.columns)
        sides = zip((dyads.A, dyads.B), self.effects_, effects.indicators.counts, strict=True)
        self.effect_coefs_ = tuple(predict_effects(spectra, k, *side) for k, side in enumerate(sides))

    def _offsets(self) -> Offsets | None:
        """Of the entities that were fitted; µ is a part of those of rows."""
        if not self._has_effects:
            return None
        return (self.intercept_ + self.effects_[0])[:, None], self.effects_[1][:, None]

    def _checked_rank(self, dyads: Dyads) -> int:
        """The rank, once all parameters are checked."""
        check_flag("normalize_columns", self.normalize_columns)
        check_flag("fit_intercept", self.fit_intercept)
        make_random_state(self.random_state)
        most, given = min(dyads.n_features), not isinstance(self.init, str) and isinstance(self.init, (tuple, list))
        if isinstance(self.n_components, str) and self.n_components == "auto":
            r = min(int(np.shape(self.init[0])[-1]) if given and np.ndim(self.init[0]) == 2 else MOST_COMPONENTS, most)
        else:
            expected = f"'auto', or an integer from 1 to {most}, the features of the smaller table"
            r = check_integer("n_components", self.n_components, 1, most, expected=expected)
        check_integer("n_iter", self.n_iter, 1, expected="a number of sweeps >= 1")
        check_number("alpha", self.alpha, 0)
        check_number("tol", self.tol, 0)
        if not given:
            check_choice("init", self.init, ("jdr", "random"), expected="give 'jdr', 'random' or two embeddings")
            return r
        shapes, needed = [np.shape(U) for U in self.init], [(n, r) for n in dyads.n_features]
        if shapes != needed:
            raise ValueError(
                f"init has shapes {shapes}, but embeddings of {dyads.n_features} features with n_components={r} are "
                f"needed: {needed}."
            )
        return r

    def _scales(self, X: Array) -> Array:
        if not self.normalize_columns:
            return np.ones(X.shape[1])
        lengths = np.sqrt(np.asarray(sum_of_squares(as_float(X, float_dtype(X))), dtype=float))
        return np.divide(1.0, lengths, out=np.ones_like(lengths), where=lengths > 0)

    def _start(self, spectra: Spectra, pairs: Pairs | None, r: int) -> Factors:
        if not isinstance(self.init, str):
            U, V = (np.asarray(X, dtype=float) for X in self.init)
            return spectra.factors_of(U, V)
        if self.init == "jdr":
            return spectra.proxy_factors(r) if pairs is None else proxy_start(spectra, pairs, r)
        seed = make_random_state(self.random_state).randint(2**31 - 1)
        return spectra.random_factors(r, np.random.default_rng(seed))

    # ---------------------------------------------------------------- use

    def transform(self, X: Any) -> tuple[Array, Array]:
        """Embed entities: A W and B H, whose inner products are the predicted scores, or what effects leave of them.

        Parameters
        ----------
        X : Dyads, or a pair of tables
            The two tables need not have the same number of rows.
        """
        check_is_fitted(self)
        tables = (X.A, X.B) if isinstance(X, Dyads) else tuple(X)
        if len(tables) != 2:
            raise ValueError(f"IMC embeds two tables, but got {len(tables)}.")
        a, b = (self._describe(k, self._checked_features(k, table)) for k, table in enumerate(tables))
        return a[0], b[0]

    # ---------------------------------------------------------------- files

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted model as a header, which JSON can hold, and plain arrays."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        given = not isinstance(self.init, str)
        header, arrays = self._names_to_arrays()
        arrays |= {"objective": self.objective_, "singular_values": self.singular_values_}
        for k, embedded in enumerate((self._head.rows, self._head.columns)):
            arrays |= {f"embeddings.{k}": self.embeddings_[k], f"embedded.{k}": embedded}
            if self._has_effects:
                arrays |= {f"effects.{k}": self.effects_[k], f"effect_coefs.{k}": self.effect_coefs_[k]}
            if given:
                arrays[f"init.{k}"] = np.asarray(self.init[k], dtype=float)
        if self._has_effects:
            arrays["intercept"] = np.array([self.intercept_])
        if given:
            params["init"] = None
        if not is_integer(self.random_state):
            params["random_state"] = None  # a fitted model draws nothing any more
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
        return {"params": plain, **header}, arrays

    def _read(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        if self.init is None:
            self.init = (arrays["init.0"], arrays["init.1"])
        self.objective_ = checked_array(arrays, "objective", (None,))
        self.singular_values_ = checked_array(arrays, "singular_values", (None,))
        r, counts = len(self.singular_values_), (len(self.row_ids_), len(self.column_ids_))
        features = enumerate(self.n_features_per_view_)
        self.embeddings_ = tuple(checked_array(arrays, f"embeddings.{k}", (n, r)) for k, n in features)
        self._has_effects = "intercept" in arrays  # which files of version 0.1 lack
        self.intercept_ = float(checked_array(arrays, "intercept", (1,))[0]) if self._has_effects else 0.0
        self.effects_, self.effect_coefs_ = (
            tuple(
                checked_array(arrays, f"{name}.{k}", (n,)) if self._has_effects else np.zeros(n)
                for k, n in enumerate(lengths)
            )
            for name, lengths in (("effects", counts), ("effect_coefs", self.n_features_per_view_))
        )
        a, b = (checked_array(arrays, f"embedded.{k}", (m, r)) for k, m in enumerate(counts))
        self._head = InnerProducts(a, b, self._offsets())
        self.n_iter_ = len(self.objective_)

    # ---------------------------------------------------------------- entities

    def _describe(self, k: int, new: Entities) -> Tables:
        Z = _map_features(new.X, self.embeddings_[k], self.view_names_[k])
        if not self._has_effects:
            return (Z,)
        effects = _map_features(new.X, self.effect_coefs_[k][:, None], self.view_names_[k])
        return Z, effects + self.intercept_ if k == 0 else effects

    def _points(self, k: int) -> Tables:
        return self._head.points(k)[:1]

    def _compare(self, k: int, one: EntitySet) -> tuple[Array, Array]:
        (points,) = self._points(k)
        z = one.take((points,), slice(0, 1))[0]
        cosine = np.clip((unit_rows(points) @ unit_rows(z).T)[:, 0], -1.0, 1.0)
        return np.sqrt(2.0 - 2.0 * cosine), cosine


def _map_features(X: Array, U: Array, name: str) -> Array:
    """A W or B H, whose products with each other stay finite."""
    with np.errstate(all="ignore"):
        Z = dense_product(as_float(X, float_dtype(X)), U)
    return require_squares(Z, f"the table {name!r}, embedded,", new=True)

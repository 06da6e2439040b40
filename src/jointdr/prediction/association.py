"""AssociationModel: the unknown pairs that score high (section 5 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from jointdr.data import BY, By, Dyads, Groups
from jointdr.prediction.automatic import AutomaticParameters, fit_automatic
from jointdr.prediction.fitted_associations import FittedAssociations, check_options
from jointdr.prediction.heads.build import (
    HeadParameters,
    build_head,
    check_embedding,
    describe_entities,
    embedding_for,
    find_bandwidths,
    fit_within_rank,
)
from jointdr.prediction.heads.parts import AssociationParts
from jointdr.prediction.heads.truncation import measure_truncation
from jointdr.prediction.queries import as_dyads
from jointdr.prediction.recommender import fit_by_groups
from jointdr.prediction.search.criterion import check_criterion
from jointdr.runtime import check_choice

if TYPE_CHECKING:
    from jointdr.prediction.search.tuning import Tuning

# Parameters of heads of their own, with the values that leave them out.
OF_HEADS: dict[str, Any] = {
    **{"kernel": "gaussian", "bandwidth": "auto", "raw_bandwidth": None, "scale": "auto", "adaptive": None},
    **{"mix": 0.0, "borrow": 1.0, "alpha": 0.1, "nearest": "auto"},
}


class AssociationModel(FittedAssociations):
    """Scores between two kinds of entities, predicted for known and new ones.

    With no argument at all, `fit` chooses by itself. New rows, new columns, both new, and unknown pairs of known
    entities are four different questions, and each gets a model of its own, chosen on held-out data. Entities are
    described by their features, by given similarities, by the coordinates of a `JDR`, and by their known and predicted
    scores. Row and column effects, ridge regression on pairs and averages over neighbors are fitted to these
    descriptions and stacked. `choices_` and ``print(model)`` show what was chosen.

    ``AssociationModel(JDR(80), head="kernel")`` is the paper's pipeline: entities are embedded, their coordinates are
    scaled by Σ^½, and the score of a pair is an average of the known scores of similar pairs.

    Parameters
    ----------
    embedding : "auto", estimator or None
        A `JDR`, or any other method of the family. ``head="auto"`` takes its coordinates as one more description, by
        default those of a `JDR` with a ridge of 1 and as many directions as the data has, up to 400; tables of more
        than 2000 features are reduced to their leading 400 singular vectors first. Above 10 000 entities of a kind it
        takes none. For other heads coordinates are the description, by default those of a `JDR` with 80 directions, or
        as many as the data has. None takes raw features.
    head : {"auto", "kernel", "bilinear", "kernel_ridge"}
        The regression of scores on descriptions. ``"auto"`` chooses. ``"kernel"``: Nadaraya-Watson regression, as in
        the paper. ``"bilinear"``: ridge regression on products of coordinates. ``"kernel_ridge"``: ridge regression
        with products of kernels (Kronecker kernel ridge regression).
    uses : some of ("rows", "columns", "both", "pairs")
        For ``head="auto"``: the questions that the model is going to answer. Fewer take less time.
    criterion : {"auto", "recall", "average precision", "nDCG", "RMSE", "concordance"}
        For ``head="auto"``, and for `tune`: what held-out predictions are judged by. ``"auto"``, for implicit feedback:
        the mean of the recall at 10, 30 and 100, of the average precision of each row, and of that of all pairs
        together. For graded scores: the mean of 1 − RMSE/σ and of the concordance above chance.
    max_fits : int, default 20
        For ``head="auto"``: complete fits of ridge regression that one question is decided by, at most; those of the
        chosen models to all scores come on top. Where there are more than 700 entities of a kind (500 on incomplete
        grids) settings are compared on a sample of so many first, whose fits do not count; smaller data is not bounded.
    kernel : {"gaussian", "cosine"}
        Weights exp(−‖z − z′‖²/2h²), or those of the cosine kernel, (cos φ)^(1/h²) with the angle φ between z and z′
        (0 beyond 90°).
    bandwidth : "auto", "left-out rows", float or pair of floats
        h of rows and of columns. For Gaussian weights in units of the root mean square distance between the entities
        of that kind, so that a value means the same for any number of directions. 0 ignores that side: known entities
        lend each other nothing, and a new one is taken for the nearest known one. ``"auto"`` leaves out known rows one
        at a time for the prediction of new rows, and known columns for that of new columns, see `KernelRegression`.
        ``"left-out rows"`` leaves out rows for both, as version 0.1 did. The embedding has seen what is left out, and
        `tune` is the more careful way.
    scale : "auto", None, "sqrt" or float
        Coordinates are scaled by this power of Σ. ``"auto"`` is ½ for a `JDR`, as in the paper, and the ``scale`` of
        the embedding otherwise.
    adaptive : int, optional
        Gaussian bandwidths are then multiples of the distance to the neighbor of this rank.
    mix : float or pair of floats, default 0
        Between 0 and 1: the share that similarities of raw features have beside those of the coordinates, for rows and
        for columns.
    raw_bandwidth : "auto", "left-out rows", None, float or pair of floats
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
        It draws folds, and the entities that ``bandwidth="auto"`` leaves out.

    Attributes
    ----------
    embedding_ : the fitted embedding, or None
    bandwidth_, known_bandwidth_ : pairs of floats
        Of rows and columns, which differ where they were chosen: by the first new entities take scores from known ones;
        by the second known rows lend each other where a column is new, and known columns where a row is. Pairs of known
        entities are predicted as those of new rows.
    raw_bandwidth_ : pair of floats, or None
    choices_ : DataFrame
        Of ``head="auto"``: one row for each question and member of its model, with the descriptions of rows and
        columns, the penalty, the weight in the stack (weights need not sum to 1), the criterion of the member alone and
        of the stack on held-out data, its standard error, and the criterion of known scores alone, such as the
        popularity of columns. Then, for the same held-out predictions, recall (the mean at 10, 30 and 100) and average
        precision for implicit feedback, and the root mean square error and the concordance for graded scores. Its text
        has a few lines a question.
    failures_ : DataFrame
        Of ``head="auto"``: the settings that could not be fitted and were left out, with the errors.
    truncation_ : Truncation or None
        The loss by ``nearest``, on a sample of the entities; None where all of them count.
    row_ids_, column_ids_ : arrays of str
        The entities that were fitted.
    view_names_, labels_, score_name_ : ``names``, ``labels`` and ``score_name`` of the `Dyads`
    n_features_per_view_, feature_names_per_view_ : tuples of int, of arrays or None
    n_features_in_, feature_names_in_ : of both together, rows first
    known_pairs_ : (m_A, m_B) CSR array
        The pairs that were known in the fit.

    Notes
    -----
    ``head="auto"``: folds of rows, of columns, of both (of whole groups, where `fit` is given some) or of pairs, of
    which nothing that is predicted has any influence on what it is predicted by. Kernels of more than 2500 entities are
    decomposed approximately. Graded scores get the bounds of an interval, ``lower`` and ``upper``, which holds 90 % of
    held-out residuals of similar predictions. Associations of new entities get a ``listed_rate``, the share of held-out
    pairs with such a score that were listed, and those of known entities the ``percentile`` of their score among
    unknown pairs; neither is the probability of an association, because a pair that is not listed need not be false.
    Models of more than 10 000 entities of a kind have intervals alone, of the sample that they were chosen by.

    ``head="kernel"``: a pair costs m_D + m_G evaluations of kernels on a complete grid. `predict` takes
    O(rows · (|Y| + m_G · columns)), where |Y| is the number of stored scores. With ``nearest`` a row has k_D weights
    and a column k_G, both found by an index (`jointdr.prediction.heads.nearest.Index`); `recommend` then takes
    O(k_D k_G |Y|/m_D) for a row, however many columns there are, and the weights between the columns 12 k_G m_G bytes.

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
    >>> A, B = rng.standard_normal((90, 6)), rng.standard_normal((40, 5))
    >>> Y = (A[:, :2] @ B[:, :2].T + 0.3 * rng.standard_normal((90, 40)) > 2).astype(float)
    >>> model = AssociationModel(random_state=0).fit(Y[:80], A[:80], B)
    >>> model.predict(A[80:]).shape
    (10, 40)
    >>> best = model.recommend(A[80:], k=3)
    >>> list(best.columns)
    ['row', 'column', 'score', 'rank', 'listed_rate']
    >>> paper = AssociationModel(JDR(2), head="kernel", random_state=0).fit(Y[:80], A[:80], B)
    >>> list(paper.recommend(A[80:], k=3).columns)
    ['row', 'column', 'score', 'rank', 'neighbors']
    """

    _of_version_0_1: ClassVar[dict[str, Any]] = {
        **OF_HEADS,
        **{"head": "kernel", "device": None, "max_bytes": 5e8, "random_state": None},
    }

    def __init__(
        self,
        embedding: Any = "auto",
        *,
        head: str = "auto",
        uses: Any = ("rows", "columns", "both", "pairs"),
        criterion: str = "auto",
        max_fits: int = 20,
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
        self.uses = uses
        self.criterion = criterion
        self.max_fits = max_fits
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

    @property
    def takes_groups(self) -> bool:
        """Whether `fit` takes ``groups=``: that of ``head="auto"`` does."""
        return self.head == "auto"

    @classmethod
    def _translate_version_0_1(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters of version 0.1, where "auto" left out rows alone."""
        old = {name: params[name] for name in ("bandwidth", "raw_bandwidth") if params["head"] != "auto"}
        return {**params, **{name: "left-out rows" for name, value in old.items() if value == "auto"}}

    # ---------------------------------------------------------------- fitting

    def fit(
        self,
        Y: Any,
        A: Any = None,
        B: Any = None,
        observed: Any = None,
        *,
        groups: Any = None,
        progress: bool | None = None,
    ) -> Self:
        """Fit the embedding and the scores.

        Parameters
        ----------
        Y : Dyads, or (m_A, m_B) array or sparse matrix of scores
            Samples (a, b, y) go in as ``Dyads.from_samples((A, B), y)``.
        A, B : (m_A, n_1) and (m_B, n_2) tables
            Unless Y is a `Dyads`, which may have similarities too.
        observed : None, "stored" or mask
            As in `Dyads`.
        groups : pair of labels, or labels of one side; optional
            For ``head="auto"``: entities that are alike and are held out together, as in
            `jointdr.evaluation.splits`, so that the choices are those for entities without relatives among the known
            ones. A group of more than half of the entities is always fitted. Pairs of known entities have none.
        progress : bool, optional
            Whether ``head="auto"`` shows a progress bar, with the number of settings that were tried; by default in a
            terminal.
        """
        check_options(self, progress)
        dyads = as_dyads(Y, A, B, observed)
        if self.head == "auto":
            return self._fit_automatic(dyads, groups, progress)
        if groups is not None:
            raise ValueError(
                f"groups are held out together, and head={self.head!r} holds nothing out: leave groups out, or give "
                "them to tune, or take head='auto'."
            )
        return self._fit_head(dyads)

    def _fit_automatic(self, dyads: Dyads, groups: Any = None, progress: bool | None = None) -> Self:
        """Choose a model for each question on held-out data, and fit it to all of it."""
        self._check_automatic()
        chosen = AutomaticParameters.check(self.uses, self.criterion, self.max_fits, dyads.is_implicit)
        alike = Groups.check(groups, dyads, chosen.uses)
        parts = fit_automatic(dyads, chosen, self.embedding, self.random_state, progress, alike)
        self._keep(dyads, parts.head)
        self._keep_parts(parts)
        return self

    def _fit_head(self, dyads: Dyads) -> Self:
        """Fit the embedding, and then the head that was named."""
        parameters = self._check_parameters()
        dyads.require_features(f"AssociationModel(head={self.head!r})")
        held = self._block_bytes()
        embedding = embedding_for(self.embedding, dyads)
        if isinstance(self.embedding, str):
            embedding = None if embedding is None else fit_within_rank(embedding, dyads)
        elif embedding is not None:
            embedding.fit(dyads)
        sides = describe_entities(parameters, dyads, embedding)
        bandwidths = find_bandwidths(parameters, dyads, sides, 2 * held, self.random_state)
        head = build_head(parameters, dyads.Y, dyads.is_complete, sides, bandwidths)
        truncation = measure_truncation(head, held)
        self._keep(dyads, head)
        self._keep_parts(AssociationParts(embedding, sides, bandwidths, head, truncation, parameters.mix))
        if truncation is not None:
            truncation.warn_if_large()
        return self

    def _check_automatic(self) -> None:
        """Raise where a parameter is set that belongs to a head of its own."""
        check_embedding(self.embedding)
        for name, value in OF_HEADS.items():
            given = getattr(self, name)
            if given is not value and not (np.isscalar(given) and given == value):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} belongs to a head of its own, and head='auto' chooses by itself: "
                    f"name the head, for example head='kernel', or leave {name} out."
                )

    def _check_parameters(self) -> HeadParameters:
        parameters = HeadParameters.check(self.get_params(deep=False))
        if self.embedding is None and max(parameters.mix) > 0:
            raise ValueError("mix adds raw features, which embedding=None has already: leave it out.")
        return parameters

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
        groups: Any = None,
        criterion: str | None = None,
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
            stages of `jointdr.prediction.search.recipe.recipe`; ``head="auto"`` chooses as in `fit`, for the question
            `by`.
        by : {"rows", "columns", "both", "pairs"}
            The entities that are held out: those that you want to predict should be new in the same way.
        n_splits, test_size
            The number of splits, and the share that is held out; not for ``head="auto"`` without a grid.
        groups : pair of labels, or labels of one side; optional
            Entities that are alike and are held out together, as in `jointdr.evaluation.splits`.
        criterion : str, optional
            Settings are judged by it; by default that of the model.
        progress : bool, optional
            Whether to show a progress bar; by default in a terminal.

        Returns
        -------
        Tuning
            All settings with their scores, of which higher ones are better.

        Notes
        -----
        One fit of the embedding on each split serves all numbers of directions, and distances serve all bandwidths.
        """
        from jointdr.prediction.search.recipe import recipe  # which know this class
        from jointdr.prediction.search.tuning import expand_grid, fit_lowered, resolve_for_grid, tune_model

        check_options(self, progress)
        dyads = as_dyads(Y, A, B, observed, "tune")
        criterion = self.criterion if criterion is None else criterion
        if self.head == "auto" and grid is None:
            if (n_splits, test_size) != (2, 0.1):
                raise ValueError("head='auto' makes its own folds: leave n_splits and test_size out, or name a head.")
            return self._tune_automatic(dyads, by, criterion, groups, progress)
        if self.head != "auto":
            self._check_parameters()
        grid = recipe(self, dyads) if grid is None else grid
        held_out: dict[str, Any] = {"by": by, "n_splits": n_splits, "test_size": test_size, "groups": groups}
        held_out |= {"random_state": self.random_state, "criterion": criterion}
        found = tune_model(self, dyads, grid, **held_out, progress=progress)
        is_auto = isinstance(self.embedding, str)
        self.embedding = resolve_for_grid(self, dyads, expand_grid(grid)).embedding
        self.set_params(**found.best_params)
        fit = fit_lowered if is_auto else fit_by_groups
        fit(self, dyads, Groups.check(groups, dyads, (by,)))
        return found

    def _tune_automatic(self, dyads: Dyads, by: By, criterion: str, groups: Any, progress: bool | None) -> Tuning:
        """Choose and fit the model of one question, as `fit` does for each of them."""
        from jointdr.prediction.search.tuning import Tuning

        check_choice("by", by, BY)
        self.uses, self.criterion = (by,), check_criterion(criterion, dyads.is_implicit)
        self._fit_automatic(dyads, groups, progress)
        found = self.choices_
        return Tuning(found, {"uses": self.uses}, float(found["held-out score"].iloc[0]), self.criterion)

"""Splits of dyads into what is fitted and what is predicted: new rows, new columns, both, or pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from jointdr.data.dyads import Dyads
from jointdr.data.groups import Groups, hold_out_groups
from jointdr.data.scores import entity_indices
from jointdr.data.similarities import similarities_between
from jointdr.runtime import Array, check_choice, check_integer, check_number, dense, make_random_state

By = Literal["rows", "columns", "both", "pairs"]
BY: tuple[By, ...] = ("rows", "columns", "both", "pairs")


@dataclass(frozen=True)
class Split:
    """One way to hold data out.

    Attributes
    ----------
    train, test : Dyads
        The entities of `test` are new on the sides that the split is by. By pairs, both have all entities; in a
        complete grid, `train` is the grid without the held-out associations, and `test` has these only.
    by : {"rows", "columns", "both", "pairs"}
    similarity : pair of dicts of str to (new, fitted) arrays, or None
        The similarities of new rows and of new columns to fitted ones, by name; None on a side where all are known.
    """

    train: Dyads
    test: Dyads
    by: By
    similarity: tuple[dict[str, Array] | None, dict[str, Array] | None] = (None, None)

    @classmethod
    def hold_out(cls, dyads: Dyads, rows: Any = None, columns: Any = None) -> Split:
        """The split in which these rows, these columns, or the pairs of both are held out.

        Parameters
        ----------
        dyads : Dyads
        rows, columns : arrays of int, optional
            The indices of the entities that are new; with both, other pairs of these are not used.
        """
        by: By = "both" if rows is not None and columns is not None else "columns" if rows is None else "rows"
        if rows is None and columns is None:
            raise TypeError("hold_out needs the indices of rows or of columns to hold out.")
        train = test = dyads
        similarity: list[dict[str, Array] | None] = [None, None]
        for k, at in enumerate((rows, columns)):
            if at is None:
                continue
            m = dyads.shape[k]
            test_at = entity_indices(at, m, ("rows", "columns")[k]) % m
            train_at = np.setdiff1d(np.arange(m), test_at)
            train, test = (part.columns(i) if k else part.rows(i) for part, i in ((train, train_at), (test, test_at)))
            similarity[k] = similarities_between(dyads.similarities[k], test_at, train_at)
        return cls(train, test, by, (similarity[0], similarity[1]))

    @property
    def new(self) -> tuple[Array | None, Array | None]:
        """The arguments of `predict`: the features of new entities, None on a side where all are known."""
        rows = self.test.A if self.by in ("rows", "both") else None
        return rows, self.test.B if self.by in ("columns", "both") else None

    def predict(self, model: Any) -> Array:
        """The scores of the pairs of `test` by a model that was fitted to `train`, (rows, columns)."""
        sides = zip(("row_similarity", "column_similarity"), self.similarity, strict=True)
        return model.predict(*self.new, **{argument: named for argument, named in sides if named})

    @property
    def ranked_by_column(self) -> bool:
        """Whether rows are ranked for every column: where only columns are new, the question is which rows fit them."""
        return self.by == "columns"

    @property
    def known(self) -> Array | None:
        """The associations of `train` among the pairs of `test`, which are no answers, as a mask; None without any."""
        if self.by != "pairs" or not self.train.is_complete:
            return None
        return np.asarray(dense(self.train.Y != 0))


def splits(
    dyads: Dyads,
    by: By = "rows",
    n_splits: int = 1,
    test_size: float = 0.1,
    random_state: Any = None,
    groups: Any = None,
) -> Iterator[Split]:
    """Random splits of dyads.

    Parameters
    ----------
    dyads : Dyads
    by : {"rows", "columns", "both", "pairs"}
        What is held out: row entities, column entities, the pairs of held-out rows with held-out columns (cold start;
        the other pairs of both are not used), or pairs (of implicit feedback: associations, which `train` then has as
        0).
    n_splits : int
    test_size : float
        The share that is held out, of each side.
    random_state : int, RandomState or None
    groups : pair of labels, or labels of one side; optional
        Entities that are alike, such as homologous targets or molecules of one scaffold, of which none is on both
        sides of a split: (row_groups, column_groups), either of which may be None. Labels are strings or integers: a
        sequence, in the order of the ids, or a mapping of ids, or a pandas Series indexed by them. By rows, or by
        columns, the labels of this side are enough. Whole groups are drawn until about `test_size` of the entities
        are held out; a group that is much larger is fitted. `jointdr.datasets.similarity_groups` makes groups of
        similarities. By pairs, where all entities are known, there are none.

    Notes
    -----
    Random splits flatter where entities come in families: what is held out has relatives in what is fitted, which new
    entities need not have.

    References
    ----------
    Park and Marcotte (2012). Flaws in evaluation schemes for pair-input computational predictions. Nature Methods 9,
    1134-1136.

    Mayr, Klambauer, Unterthiner, Steijaert, Wegner, Ceulemans, Clevert and Hochreiter (2018). Large-scale comparison of
    machine learning methods for drug target prediction on ChEMBL. Chemical Science 9, 5441-5451 (clusters of
    molecules).

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Dyads
    >>> from jointdr.evaluation import splits
    >>> dyads = Dyads(np.ones((20, 10)), np.ones((20, 2)), np.ones((10, 3)))
    >>> for split in splits(dyads, "both", random_state=0):
    ...     print(split.train.shape, split.test.shape)
    (18, 9) (2, 1)

    Two rows of each family, which stay together:

    >>> families = np.repeat(np.arange(10), 2)
    >>> split = next(splits(dyads, "rows", random_state=0, groups=families))
    >>> split.test.row_ids.tolist()
    ['4', '5']
    """
    check_choice("by", by, BY)
    check_number("test_size", test_size, 0, 1, strictly=True, expected="a share between 0 and 1")
    check_integer("n_splits", n_splits, 1)
    found = Groups.check(groups, dyads, (by,))
    codes = (None, None) if found is None else found.codes(dyads, by)
    rng = make_random_state(random_state)
    if by == "pairs" and dyads.is_complete and not dyads.is_implicit:
        dyads = dyads.pairs(np.ones(dyads.shape, dtype=bool))  # a grade that is held out is not a 0
    for _ in range(n_splits):
        if by == "pairs":
            yield _by_pairs(dyads, float(test_size), rng)
            continue
        rows, columns = (
            _halves(m, float(test_size), rng, side, kinds)[1] if by in (side, "both") else None
            for m, side, kinds in zip(dyads.shape, ("rows", "columns"), codes, strict=True)
        )
        split = Split.hold_out(dyads, rows, columns)
        for part, purpose in ((split.train, "fit"), (split.test, "judge")):
            if part.n_observed == 0:
                raise ValueError(
                    f"by={by!r} with test_size={test_size} leaves no observed pair to {purpose}: "
                    "give more pairs, or another random_state."
                )
        yield split


def _halves(
    m: int, share: float, rng: np.random.RandomState, what: str, groups: Array | None = None
) -> tuple[Array, Array]:
    """The entities that are fitted and those that are held out, in their order."""
    count = max(1, round(share * m))
    if count >= m:
        raise ValueError(f"test_size={share} holds out all {m} {what}.")
    if groups is not None:
        held = hold_out_groups(groups, count, rng)
        return np.setdiff1d(np.arange(m), held), held
    order = rng.permutation(m)
    return np.sort(order[count:]), np.sort(order[:count])


def _by_pairs(dyads: Dyads, share: float, rng: np.random.RandomState) -> Split:
    if not dyads.is_complete:
        held = np.zeros(dyads.n_observed, dtype=bool)
        held[_halves(dyads.n_observed, share, rng, "pairs")[1]] = True
        return Split(dyads.pairs(~held), dyads.pairs(held), "pairs")
    known = sparse.csr_array(dyads.Y)
    known = known.copy() if known is dyads.Y else known
    known.eliminate_zeros()
    parts = []
    for at in _halves(known.nnz, share, rng, "associations"):
        kept = np.zeros(known.nnz, dtype=bool)
        kept[at] = True
        Y = known.copy()
        Y.data[~kept] = 0.0
        Y.eliminate_zeros()
        parts.append(dyads.replace(Y=Y))
    return Split(parts[0], parts[1], "pairs")

"""Splits of dyads into what is fitted and what is predicted: new rows, new columns, both, or pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from jointdr.data.dyads import Dyads
from jointdr.runtime import Array, check_choice, check_integer, check_number, dense

By = Literal["rows", "columns", "both", "pairs"]
BY = ("rows", "columns", "both", "pairs")


@dataclass(frozen=True)
class Split:
    """One way to hold data out.

    Attributes
    ----------
    train, test : Dyads
        The entities of `test` are new on the sides that the split is by. By pairs, both have all entities; in a
        complete grid, `train` is the grid without the held-out associations, and `test` has these only.
    by : {"rows", "columns", "both", "pairs"}
    """

    train: Dyads
    test: Dyads
    by: By

    @property
    def new(self) -> tuple[Array | None, Array | None]:
        """The arguments of `predict`: the features of new entities, None on a side where all are known."""
        rows = self.test.A if self.by in ("rows", "both") else None
        return rows, self.test.B if self.by in ("columns", "both") else None

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
    dyads: Dyads, by: By = "rows", n_splits: int = 1, test_size: float = 0.1, random_state: Any = None
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

    Examples
    --------
    >>> import numpy as np
    >>> from jointdr import Dyads
    >>> from jointdr.evaluation import splits
    >>> dyads = Dyads(np.ones((20, 10)), np.ones((20, 2)), np.ones((10, 3)))
    >>> for split in splits(dyads, "both", random_state=0):
    ...     print(split.train.shape, split.test.shape)
    (18, 9) (2, 1)
    """
    check_choice("by", by, BY)
    check_number("test_size", test_size, 0, 1, strictly=True, expected="a share between 0 and 1")
    check_integer("n_splits", n_splits, 1)
    rng = check_random_state(random_state)
    if by == "pairs" and dyads.is_complete and not dyads.is_implicit:
        dyads = dyads.pairs(np.ones(dyads.shape, dtype=bool))  # a grade that is held out is not a 0
    for _ in range(n_splits):
        if by == "pairs":
            yield _by_pairs(dyads, float(test_size), rng)
            continue
        at = [
            _halves(m, float(test_size) if by in (side, "both") else 0.0, rng, side)
            for m, side in zip(dyads.shape, ("rows", "columns"), strict=True)
        ]
        parts = []
        for part in (0, 1):
            rows, columns = (side[part] for side in at)
            chosen = dyads if rows is None else dyads.rows(rows)
            parts.append(chosen if columns is None else chosen.columns(columns))
            if parts[-1].n_observed == 0:
                raise ValueError(
                    f"by={by!r} with test_size={test_size} leaves no observed pair to {('fit', 'judge')[part]}: "
                    "give more pairs, or another random_state."
                )
        yield Split(parts[0], parts[1], by)


def _halves(m: int, share: float, rng: np.random.RandomState, what: str) -> tuple[Array | None, Array | None]:
    """The entities that are fitted and those that are held out, in their order; None, None for all in both."""
    if share == 0:
        return None, None
    count = max(1, round(share * m))
    if count >= m:
        raise ValueError(f"test_size={share} holds out all {m} {what}.")
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

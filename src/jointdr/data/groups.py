"""Groups of entities that are alike: of each, all entities are on one side of a split."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdr.data.dyads import Dyads
from jointdr.data.ids import index_ids
from jointdr.runtime import Array, check_choice

SIDES = ("rows", "columns")


@dataclass(frozen=True)
class Groups:
    """The group of each row and of each column, by id, so that they serve parts of the dyads as well.

    Attributes
    ----------
    rows, columns : dict of str to int, or None
        None for a side whose entities stand for themselves.
    """

    rows: dict[str, int] | None = None
    columns: dict[str, int] | None = None

    @classmethod
    def check(
        cls, given: Any, dyads: Dyads, uses: Sequence[str], names: tuple[str, str] = ("groups", "groups")
    ) -> Groups | None:
        """The groups of these dyads; None where none are given.

        Parameters
        ----------
        given : pair of labels, labels, Groups, or None
            Labels of rows and of columns, either of which may be None; or those of the only side that is held out.
            Labels are a sequence, in the order of the ids, or a mapping of ids, or a pandas Series indexed by them.
        dyads : Dyads
        uses : sequence of {"rows", "columns", "both", "pairs"}
            What is held out. At least one of these has to be held out in groups, and in more than one of them.
        names : pair of str
            The arguments, or options, that labels of rows and of columns come from, for errors.
        """
        if isinstance(given, Groups):
            found = given
        else:
            for by in uses:
                check_choice("by", by, (*SIDES, "both", "pairs"))
            pair = _pair_of(given, uses)
            if all(side is None for side in pair):
                return None
            labels = (
                None if side is None else _by_id(side, ids, *about)
                for side, ids, about in zip(
                    pair, (dyads.row_ids, dyads.column_ids), zip(SIDES, names, strict=True), strict=True
                )
            )
            found = cls(*labels)
        found._require_use(uses, names)
        for by in uses:
            for codes, side, name in zip(found.codes(dyads, by), SIDES, names, strict=True):
                if codes is not None and codes.max() == 0:
                    raise ValueError(
                        f"{name} puts all {len(codes)} {side} into one group, of which none can be held out: give two "
                        "groups or more."
                    )
        return found

    def codes(self, dyads: Dyads, by: str) -> tuple[Array | None, Array | None]:
        """The group of each row and of each column, from 0; None for a side that is known, or has no groups."""
        found: list[Array | None] = []
        for groups, side, ids in zip((self.rows, self.columns), SIDES, (dyads.row_ids, dyads.column_ids), strict=True):
            if groups is None or by not in (side, "both"):
                found.append(None)
                continue
            _require_ids(groups, ids, side, "groups")
            found.append(np.unique([groups[name] for name in ids.tolist()], return_inverse=True)[1])
        return found[0], found[1]

    def _require_use(self, uses: Sequence[str], names: tuple[str, str]) -> None:
        """Raise where nothing that is held out has groups."""
        given = [k for k, groups in enumerate((self.rows, self.columns)) if groups is not None]
        good = [*(SIDES[k] for k in given), "both"]
        if set(uses) & set(good):
            return
        name = " and ".join(dict.fromkeys(names[k] for k in given))
        raise ValueError(
            f"{name} gives groups of {' and '.join(SIDES[k] for k in given)}, but by {_in_words(uses)} none of these "
            "is held out: entities that are known are on both sides of such a split. Leave the groups out, or hold out "
            f"{_in_words(good)}."
        )


def hold_out_groups(codes: Array, count: int, rng: np.random.RandomState) -> Array:
    """The indices of about so many entities, of whole groups that are drawn at random: never none, and never all.

    Groups come in random order, and each is taken that brings the number nearer to `count`. Where all of them are too
    large for that, one is, of at most half of the entities.

    Parameters
    ----------
    codes : (m,) array of int
        The group of each entity, from 0; at least two groups.
    count : int
    rng : RandomState
    """
    sizes = np.bincount(codes)
    order = rng.permutation(len(sizes))
    taken, held = [], 0
    for group in order:
        if sizes[group] < 2 * (count - held) and held + sizes[group] < len(codes):
            taken.append(group)
            held += int(sizes[group])
    if not taken:
        taken = [next(group for group in order if 2 * sizes[group] <= len(codes))]
    return np.flatnonzero(np.isin(codes, taken))


def fold_groups(codes: Array, n_folds: int, rng: np.random.RandomState) -> Array:
    """The fold of each entity, the same in a group; folds are as even as groups let them be.

    Large groups come first, each into the fold with the fewest entities so far.

    Returns
    -------
    (m,) array of int
        −1 for the group that is never held out, see `minor_groups`. Fewer folds where there are fewer groups.
    """
    sizes, held = np.bincount(codes), minor_groups(codes)
    n_folds = min(n_folds, len(held))
    order = rng.permutation(held)
    order = order[np.argsort(-sizes[order], kind="stable")]
    labels = rng.permutation(n_folds)
    filled, fold = np.zeros(n_folds), np.full(len(sizes), -1)
    for group in order:
        smallest = np.argmin(filled)
        fold[group] = labels[smallest]
        filled[smallest] += sizes[group]
    return fold[codes]


def minor_groups(codes: Array) -> Array:
    """The groups that folds hold out: all but one of more than half of the entities, without which little is left."""
    return np.flatnonzero(2 * np.bincount(codes) <= len(codes))


# ---------------------------------------------------------------- labels


def _pair_of(given: Any, uses: Sequence[str]) -> tuple[Any, Any]:
    """Labels of rows and of columns."""
    if given is None:
        return None, None
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(x is None or _is_many(x) for x in given):
        return given[0], given[1]
    if tuple(uses) not in (("rows",), ("columns",)) or not _is_many(given):
        raise TypeError(
            f"groups must be a pair, (row_groups, column_groups), of which one may be None, but got "
            f"{type(given).__name__}. The labels of one side alone are enough where only rows or only columns are held "
            "out."
        )
    return (given, None) if uses[0] == "rows" else (None, given)


def _is_many(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _by_id(given: Any, ids: Array, side: str, name: str) -> dict[str, int]:
    """The group of each of these ids, as a number."""
    if getattr(given, "ndim", 1) != 1:
        raise ValueError(f"{name} must be one label for each of the {side}, but got an array of shape {given.shape}.")
    index = index_ids(given, f"the index of {name}")
    if isinstance(given, Mapping):
        labels = {str(key): label for key, label in given.items()}
    elif index is not None:
        labels = dict(zip(index.tolist(), given, strict=True))
    elif not hasattr(given, "__getitem__"):
        raise TypeError(f"{name} must be a sequence of labels or a mapping of ids, but got {type(given).__name__}.")
    elif len(given) != len(ids):
        raise ValueError(
            f"{name} has {len(given)} labels for {len(ids)} {side}: give one for each, in the order of "
            f"{side[:-1]}_ids, or a mapping of ids."
        )
    else:
        labels = dict(zip(ids.tolist(), given, strict=True))
    _require_ids(labels, ids, side, name)
    numbers: dict[Hashable, int] = {}
    found = {}
    for entity in ids.tolist():
        label = labels[entity]
        if not isinstance(label, Hashable):
            raise TypeError(f"{name} has {label!r} for {entity!r} of the {side}: a label is a string or a number.")
        if str(label) in ("None", "<NA>", "NaT") or label != label:
            raise ValueError(
                f"{name} has no label for {entity!r} of the {side}: give a group of its own to an entity that is like "
                "no other."
            )
        found[entity] = numbers.setdefault(label, len(numbers))
    return found


def _require_ids(groups: Mapping[str, Any], ids: Array, side: str, name: str) -> None:
    if missing := [entity for entity in ids.tolist() if entity not in groups]:
        raise ValueError(
            f"{name} has no label for {len(missing)} of {len(ids)} {side}, for example {missing[:3]}: give a group of "
            "its own to an entity that is like no other."
        )


def _in_words(questions: Sequence[str]) -> str:
    return " or ".join(repr(by) for by in questions)

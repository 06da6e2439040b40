"""The parameters of JDR, checked against each other and against the data, as the `Options` of its maths."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from jointdr.directions import LINKS, NORMALIZATIONS, SOLVERS, Options, chosen_solver
from jointdr.runtime import Array, memory


def options_of(
    model: Any,
    n_features: tuple[int, ...],
    n_responses: int,
    names: tuple[str, ...],
    features: tuple[Array | None, ...],
    exact: bool = False,
) -> tuple[Options, frozenset[str]]:
    """The options that a `JDR`'s parameters stand for on data of this size, and what of them is left to the data.

    Parameters
    ----------
    model : JDR
    n_features : tuple of int
    n_responses : int
    names, features : tuples
        The names of the views and of their features, for messages.
    exact : bool
        Whether ``solver="auto"`` has to mean ``"exact"``, because the data cannot be read again.
    """
    auto = set()
    ranks = ranks_of(model.n_components, n_features)
    if ranks is None:
        auto.add("rank")
        ranks = (1,) * len(n_features)
    _check_values(model)
    _check_refinement(model)
    if model.moments == "all":
        auto.add("moments")
    select = None
    if isinstance(model.n_features_to_select, str):
        if model.n_features_to_select != "auto":
            raise ValueError(f"n_features_to_select={model.n_features_to_select!r} is not understood.")
        auto.add("features")
    else:
        select = _sizes_to_select(model.n_features_to_select, n_features, max(ranks))
    many = len(n_features) > 2
    if many:
        _check_many_views(model)
        solver = _tensor_solver(model, n_features, n_responses, bool(auto))
    else:
        solver = _matrix_solver(model, ranks, n_features, n_responses, auto, exact)
    extra = frozenset({"within", "means"}) if model.moments == "all" else frozenset()
    if many:
        extra |= {"pairs"} if model.normalize == "joint" else {"pairs", "tensor"} if extra else {"tensor"}
    options = Options(
        ranks=ranks,
        normalize=model.normalize,
        ridge=checked_ridge(model.ridge),
        solver=solver,
        n_iter=int(model.n_iter),
        n_hooi=int(model.n_hooi),
        extra=extra,
        n_features_to_select=select,
        seed=None if solver == "exact" else int(check_random_state(model.random_state).randint(2**31 - 1)),
        names=names,
        features=features,
    )
    return options, frozenset(auto)


def _check_values(model: Any) -> None:
    """Each parameter by itself."""
    if model.normalize not in NORMALIZATIONS:
        raise ValueError(f"normalize={model.normalize!r} is not understood; choose from {NORMALIZATIONS}.")
    checked_ridge(model.ridge)
    if model.normalize is None and model.ridge != 0:
        raise ValueError("ridge has no effect with normalize=None: leave it at 0, or choose a normalization.")
    if model.solver not in SOLVERS:
        raise ValueError(f"solver={model.solver!r} is not understood; choose from {SOLVERS}.")
    for name in ("n_iter", "n_hooi"):
        value = getattr(model, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 0:
            raise ValueError(f"{name}={value!r} must be an integer >= 0.")
    if model.moments not in ("cross", "all"):
        raise ValueError(f"moments={model.moments!r} is not understood; choose 'cross' or 'all'.")
    if isinstance(model.random_state, Integral) and int(model.random_state) < 0:
        raise ValueError(f"random_state={model.random_state} must not be negative.")
    if not isinstance(model.n_folds, Integral) or int(model.n_folds) < 2:
        raise ValueError(f"n_folds={model.n_folds!r} must be an integer of at least 2.")
    if model.n_hooi and model.moments == "all":
        raise ValueError("n_hooi fits the proxy tensor alone, so it does not go with moments='all': use n_hooi=0.")


def _check_refinement(model: Any) -> None:
    if not isinstance(model.refine, Integral) or isinstance(model.refine, bool) or int(model.refine) < 0:
        raise ValueError(f"refine={model.refine!r} must be a number of sweeps >= 0.")
    if model.link not in LINKS:
        raise ValueError(f"link={model.link!r} is not understood; choose from {LINKS}.")
    if model.refine and model.normalize is None:
        raise ValueError(f"refine={model.refine} does not go with normalize=None: use refine=0, or a normalization.")


def _check_many_views(model: Any) -> None:
    """What three and more views cannot have."""
    if model.n_features_to_select is not None:
        raise ValueError("n_features_to_select (Algorithm 3) is for two views: leave it at None.")
    if model.solver == "countsketch":
        raise ValueError("solver='countsketch' is for two views: use 'auto', 'exact' or 'randomized'.")
    if model.normalize == "joint" and model.moments != "all":
        raise ValueError(
            "normalize='joint' is for moments of two views at a time: with three and more views use it with "
            "moments='all', or choose normalize='full'."
        )


def _matrix_solver(
    model: Any, ranks: Sequence[int], n_features: tuple[int, ...], n_responses: int, auto: set[str], exact: bool
) -> Any:
    whole = {
        "normalize='joint'": model.normalize == "joint",
        "moments='all'": model.moments == "all",
        "'auto'": bool(auto),
        "refine": bool(model.refine),
        "several responses": n_responses > 1,
        "different numbers of directions": len(set(ranks)) > 1,
    }
    reasons = [name for name, holds in whole.items() if holds]
    if reasons and model.solver not in ("auto", "exact"):
        raise ValueError(f"{reasons[0]} needs the whole moments: use solver='exact', not {model.solver!r}.")
    return "exact" if exact or reasons else chosen_solver(model.solver, n_features, max(ranks))


def _tensor_solver(model: Any, n_features: tuple[int, ...], n_responses: int, auto: bool) -> Any:
    """``"exact"`` forms the proxy tensor (one per fold, where something is left to the data), if the budget allows."""
    if not isinstance(model.max_tensor_bytes, Real) or not float(model.max_tensor_bytes) > 0:
        raise ValueError(f"max_tensor_bytes={model.max_tensor_bytes!r} must be a positive number of bytes.")
    # Where something is left to the data, one tensor per fold is kept, and unfoldings of each of them and of its rest.
    copies = int(model.n_folds) * (1 + 2 * len(n_features)) if auto else 1
    needed = 8 * n_responses * float(np.prod(n_features, dtype=float)) * copies
    if needed <= float(model.max_tensor_bytes) or model.normalize == "joint":
        if model.solver in ("auto", "exact"):
            memory.require(
                2 * needed, "The proxy tensor and its sums", "use solver='randomized', which does not form it"
            )
        return "exact" if model.solver == "auto" else model.solver
    if model.solver == "exact":
        raise ValueError(
            f"solver='exact' would form a proxy tensor of {needed:.3g} bytes, more than max_tensor_bytes="
            f"{model.max_tensor_bytes:.3g}: raise it, or use solver='randomized', which does not form it."
        )
    return "randomized"


def checked_ridge(ridge: Any) -> Any:
    """``"auto"``, or a number that is not negative, as a float."""
    if isinstance(ridge, str) and ridge == "auto":
        return ridge
    if not isinstance(ridge, Real) or isinstance(ridge, bool) or not 0 <= float(ridge) < np.inf:
        raise ValueError(f"ridge={ridge!r} must be a number >= 0, or 'auto'.")
    return float(ridge)


def ranks_of(r: Any, n_features: tuple[int, ...]) -> tuple[int, ...] | None:
    """One number of directions per view, or None for ``"auto"``."""
    if isinstance(r, str) and r == "auto":
        return None
    ranks = tuple(r) if isinstance(r, (tuple, list)) else (r,) * len(n_features)
    if len(ranks) != len(n_features) or not all(
        isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1 for k in ranks
    ):
        raise ValueError(f"n_components={r!r} must be a positive integer, one per view, or 'auto'.")
    limits = n_features if isinstance(r, (tuple, list)) else (min(n_features),) * len(n_features)
    if any(k > n for k, n in zip(ranks, limits, strict=True)):
        raise ValueError(f"n_components={r} is more than a view has features; n_features = {n_features}.")
    return tuple(int(k) for k in ranks)


def _sizes_to_select(s: Any, n_features: tuple[int, ...], r: int) -> tuple[int, int] | None:
    """One number of features per view, or None."""
    if s is None or len(n_features) != 2:
        return None
    sizes = (
        [s] * len(n_features)
        if isinstance(s, Integral)
        else list(s)
        if isinstance(s, (tuple, list)) or (isinstance(s, np.ndarray) and s.ndim > 0)
        else []
    )
    sizes = [n if k is None else k for k, n in zip(sizes, n_features, strict=False)] if len(sizes) == 2 else []
    if not sizes or not all(
        isinstance(k, Integral) and r <= int(k) <= n for k, n in zip(sizes, n_features, strict=True)
    ):
        raise ValueError(
            f"n_features_to_select={s!r} must be one number or one per view, each between n_components={r} and "
            f"the number of features {n_features}."
        )
    return int(sizes[0]), int(sizes[1])

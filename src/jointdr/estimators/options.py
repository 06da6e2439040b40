"""The parameters of estimators, checked against each other and against the data, as the `Options` of the maths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jointdr.directions import CROSS, LINKS, NORMALIZATIONS, SOLVERS, Options, choose_solver
from jointdr.runtime import (
    check_choice,
    check_choices,
    check_integers,
    check_number,
    is_integer,
    is_number,
    make_random_state,
    memory,
)


def exponent_of(scale: Any) -> float:
    """The power of Σ that coordinates are scaled by."""
    if scale is None:
        return 0.0
    if isinstance(scale, str) and scale == "sqrt":
        return 0.5
    if is_number(scale) and np.isfinite(float(scale)):
        return float(scale)
    raise ValueError(f"scale={scale!r} is not understood; give None, 'sqrt' or the exponent of Σ as a number.")


def method_options(model: Any, uses: tuple[str, ...]) -> Options:
    """The options of a method other than JDR, which uses these moments."""
    exponent_of(model.scale)
    ranks = ranks_of(model.n_components, model.n_features_per_view_)
    if ranks is None:
        raise ValueError(f"n_components='auto' is JDR's: give {type(model).__name__} a number of directions.")
    return Options(
        ranks=ranks,
        uses=frozenset(uses),
        ridge=checked_ridge(getattr(model, "ridge", 0.0)),
        names=model.view_names_,
        features=model.feature_names_per_view_,
    )


def jdr_options(model: Any, n_responses: int, once: bool) -> Options:
    """The options that a `JDR`'s parameters stand for on the views that it has checked.

    Parameters
    ----------
    model : JDR
    n_responses : int
    once : bool
        Whether ``solver="auto"`` has to mean ``"exact"``, because the data cannot be read again.
    """
    _check_values(model)
    n_features = model.n_features_per_view_
    auto = {"moments"} if model.moments == "all" else set()
    ranks = ranks_of(model.n_components, n_features)
    if ranks is None:
        auto.add("rank")
        ranks = (1,) * len(n_features)
    if model.moments == "cross":
        _require_directions(model, ranks, n_responses)
    select = None
    if isinstance(model.n_features_to_select, str):
        check_choice("n_features_to_select", model.n_features_to_select, ("auto",), expected="give numbers or 'auto'")
        auto.add("features")
    else:
        select = _sizes_to_select(model.n_features_to_select, n_features, max(ranks))
    if len(n_features) > 2:
        _check_many_views(model)
        solver = _tensor_solver(model, n_features, n_responses, bool(auto))
    else:
        solver = _matrix_solver(model, ranks, n_features, n_responses, bool(auto), once)
    return Options(
        ranks=ranks,
        uses=_moments_used(model, len(n_features)),
        normalize=model.normalize,
        ridge=checked_ridge(model.ridge),
        solver=solver,
        n_iter=int(model.n_iter),
        n_hooi=int(model.n_hooi),
        n_features_to_select=select,
        refine=int(model.refine),
        link=model.link,
        products="all" if model.moments == "all" else "cross",
        auto=frozenset(auto),
        n_folds=int(model.n_folds),
        seed=None if solver == "exact" else int(make_random_state(model.random_state).randint(2**31 - 1)),
        fold_seed=int(model.random_state) if is_integer(model.random_state) else 0,
        names=model.view_names_,
        features=model.feature_names_per_view_,
    )


def _moments_used(model: Any, n_views: int) -> frozenset[str]:
    """The moments that count, unless held-out rows show that some do harm."""
    more = frozenset({"within", "means"}) if model.moments == "all" else frozenset()
    if n_views == 2:
        return CROSS | more
    if model.normalize == "joint":
        return more | {"pairs"}
    return more | ({"pairs", "tensor"} if more else {"tensor"})


def _check_values(model: Any) -> None:
    """Each parameter by itself, and what two of them cannot be together."""
    exponent_of(model.scale)
    check_choices(model, normalize=NORMALIZATIONS, solver=SOLVERS, moments=("cross", "all"), link=LINKS)
    check_integers(model, n_iter=0, n_hooi=0, n_folds=2, refine=0)
    checked_ridge(model.ridge)
    if model.normalize is None and model.ridge != 0:
        raise ValueError("ridge has no effect with normalize=None: leave it at 0, or choose a normalization.")
    check_number("max_tensor_bytes", model.max_tensor_bytes, 0, strictly=True, expected="a positive number of bytes")
    make_random_state(model.random_state)
    if model.n_hooi and model.moments == "all":
        raise ValueError("n_hooi fits the proxy tensor alone, so it does not go with moments='all': use n_hooi=0.")
    if model.refine and model.normalize is None:
        raise ValueError(f"refine={model.refine} does not go with normalize=None: use refine=0, or a normalization.")


def _check_many_views(model: Any) -> None:
    """Refuse parameters that three and more views cannot have."""
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
    model: Any, ranks: Sequence[int], n_features: tuple[int, ...], n_responses: int, auto: bool, once: bool
) -> Any:
    whole = {
        "normalize='joint'": model.normalize == "joint",
        "moments='all'": model.moments == "all",
        "'auto'": auto,
        "refine": bool(model.refine),
        "several responses": n_responses > 1,
        "different numbers of directions": len(set(ranks)) > 1,
    }
    reasons = [name for name, holds in whole.items() if holds]
    if reasons and model.solver not in ("auto", "exact"):
        raise ValueError(f"{reasons[0]} needs the whole moments: use solver='exact', not {model.solver!r}.")
    if reasons or (once and model.solver == "auto"):
        return "exact"
    return choose_solver(model.solver, n_features, max(ranks))


def _tensor_solver(model: Any, n_features: tuple[int, ...], n_responses: int, auto: bool) -> Any:
    """``"exact"`` forms the proxy tensor (one per fold, where something is left to the data), if the budget allows."""
    most = float(model.max_tensor_bytes)
    # Where something is left to the data, one tensor per fold is kept, and unfoldings of each of them and of its rest.
    copies = int(model.n_folds) * (1 + 2 * len(n_features)) if auto else 1
    needed = 8 * n_responses * float(np.prod(n_features, dtype=float)) * copies
    if needed <= most or model.normalize == "joint":
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
    return check_number("ridge", ridge, 0, expected="a number >= 0, or 'auto'")


def ranks_of(r: Any, n_features: tuple[int, ...]) -> tuple[int, ...] | None:
    """One number of directions per view, or None for ``"auto"``."""
    if isinstance(r, str) and r == "auto":
        return None
    ranks = tuple(r) if isinstance(r, (tuple, list)) else (r,) * len(n_features)
    if len(ranks) != len(n_features) or not all(is_integer(k) and int(k) >= 1 for k in ranks):
        raise ValueError(f"n_components={r!r} must be a positive integer, one per view, or 'auto'.")
    limits = n_features if isinstance(r, (tuple, list)) else (min(n_features),) * len(n_features)
    if any(k > n for k, n in zip(ranks, limits, strict=True)):
        raise ValueError(f"n_components={r} is more than a view has features; n_features = {n_features}.")
    return tuple(int(k) for k in ranks)


def _require_directions(model: Any, ranks: Sequence[int], n_responses: int) -> None:
    """Raise where a view is asked for more directions than the proxy of all views has, whatever the data."""
    n_features = model.n_features_per_view_
    most = [min(n, n_responses * math.prod(n_features) // n) for n in n_features]
    for name, r, limit in zip(model.view_names_, ranks, most, strict=True):
        if r > limit:
            raise ValueError(
                f"n_components={model.n_components!r} asks for {r} directions of view {name!r}, but the proxy of views "
                f"with {n_features} features has {limit}: give at most {tuple(most)}, or moments='all', which also "
                "finds directions of one view by itself."
            )


def _sizes_to_select(s: Any, n_features: tuple[int, ...], r: int) -> tuple[int, int] | None:
    """One number of features per view, or None."""
    if s is None or len(n_features) != 2:
        return None
    sizes = (
        [s] * len(n_features)
        if is_integer(s)
        else list(s)
        if isinstance(s, (tuple, list)) or (isinstance(s, np.ndarray) and s.ndim > 0)
        else []
    )
    sizes = [n if k is None else k for k, n in zip(sizes, n_features, strict=False)] if len(sizes) == 2 else []
    if not sizes or not all(is_integer(k) and r <= int(k) <= n for k, n in zip(sizes, n_features, strict=True)):
        raise ValueError(
            f"n_features_to_select={s!r} must be one number or one per view, each between n_components={r} and "
            f"the number of features {n_features}."
        )
    return int(sizes[0]), int(sizes[1])

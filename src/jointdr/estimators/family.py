"""Constructors that several methods share, and a score that is not there."""

from __future__ import annotations

from typing import Any

from jointdr.estimators.base import ViewsTransformer
from jointdr.estimators.responses import FEWEST_SLICES, SlicedResponse
from jointdr.runtime import check_integer


class SupervisedMethod(ViewsTransformer):
    """A method that takes the response as JDR does, with the same parameters."""

    def __init__(
        self,
        n_components: Any = 2,
        *,
        ridge: Any = 0.0,
        scale: Any = None,
        response: Any = "auto",
        edges: Any = None,
        n_slices: int = 8,
        views: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.scale = scale
        self.response = response
        self.edges = edges
        self.n_slices = n_slices
        self.views = views


class SlicedMethod(ViewsTransformer):
    """A method that looks at the features within slices of y, or within classes where y holds labels."""

    def __init__(
        self,
        n_components: Any = 2,
        *,
        n_slices: int | None = None,
        edges: Any = None,
        ridge: Any = 0.0,
        scale: Any = None,
        views: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.edges = edges
        self.ridge = ridge
        self.scale = scale
        self.views = views

    def _takes_pairs(self, **given: Any) -> bool:
        return True

    def _rule(self, **given: Any) -> SlicedResponse:
        if self.n_slices is not None:
            check_integer("n_slices", self.n_slices, 2)
        n_slices = max(FEWEST_SLICES, max(self.n_features_per_view_) + 3) if self.n_slices is None else self.n_slices
        return SlicedResponse(type(self).__name__, "slices", self.edges, n_slices)


def without_score(why: str) -> Any:
    """A `score` that is not there: `hasattr` is False, and the error gives the reason."""

    def score(self: Any) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no score: {why}. Score what is predicted from its coordinates instead, for "
            "example cross_val_score(make_pipeline(model, KernelRegression()), X, y)."
        )

    return property(score)

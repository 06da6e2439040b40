"""Coordinates to scores: regression, models of associations, their rankings and explanations, and saved models."""

from jointdr.prediction.association import AssociationModel
from jointdr.prediction.explanation import Explanation
from jointdr.prediction.heads.distances import spread, squared_distances
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.heads.kernels import Kernel
from jointdr.prediction.heads.truncation import Truncation, TruncationWarning
from jointdr.prediction.imc import IMC
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.prediction.loading import load
from jointdr.prediction.popularity import Popularity
from jointdr.prediction.queries import as_dyads
from jointdr.prediction.ranking import ScoreBlock
from jointdr.prediction.recommender import Recommender, fit_by_groups
from jointdr.prediction.regressor import JDRRegressor
from jointdr.prediction.search.criterion import score_split
from jointdr.prediction.search.recipe import recipe
from jointdr.prediction.search.tuning import Tuning, resolve_embedding, tune_model

__all__ = [
    "IMC",
    "AssociationModel",
    "EntitySet",
    "Explanation",
    "Head",
    "JDRRegressor",
    "Kernel",
    "KernelRegression",
    "Popularity",
    "Recommender",
    "ScoreBlock",
    "Tables",
    "Truncation",
    "TruncationWarning",
    "Tuning",
    "as_dyads",
    "fit_by_groups",
    "load",
    "recipe",
    "resolve_embedding",
    "score_split",
    "spread",
    "squared_distances",
    "tune_model",
]

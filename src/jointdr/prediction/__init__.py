"""Coordinates to scores: regression, models of associations, their rankings and explanations, and saved models."""

from jointdr.prediction.association import AssociationModel
from jointdr.prediction.explanation import Explanation
from jointdr.prediction.heads.descriptions import comparisons_of, raw_descriptions
from jointdr.prediction.heads.distances import spread, squared_distances
from jointdr.prediction.heads.effects import Effects
from jointdr.prediction.heads.head import EntitySet, Head, Tables
from jointdr.prediction.heads.kernels import Kernel
from jointdr.prediction.heads.members import EntityKernels, RecipeKernels, StagesHead
from jointdr.prediction.heads.spectra import KernelSpectrum
from jointdr.prediction.heads.stages import CONSTANT as KERNEL_CONSTANT
from jointdr.prediction.heads.stages import Recipe, Scores, Seen, Term, fit_stages
from jointdr.prediction.heads.truncation import Truncation, TruncationWarning
from jointdr.prediction.imc import IMC
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.prediction.loading import load
from jointdr.prediction.popularity import Popularity
from jointdr.prediction.queries import as_dyads
from jointdr.prediction.ranking import ScoreBlock, Scorer
from jointdr.prediction.recommender import Recommender
from jointdr.prediction.regressor import JDRRegressor
from jointdr.prediction.search.criterion import check_criterion, score_split
from jointdr.prediction.search.parts import fit_effects, known_scores
from jointdr.prediction.search.recipe import recipe
from jointdr.prediction.search.tuning import Tuning, fit_lowered, resolve_embedding, tune_model

__all__ = [
    "IMC",
    "KERNEL_CONSTANT",
    "AssociationModel",
    "Effects",
    "EntityKernels",
    "EntitySet",
    "Explanation",
    "Head",
    "JDRRegressor",
    "Kernel",
    "KernelRegression",
    "KernelSpectrum",
    "Popularity",
    "Recipe",
    "RecipeKernels",
    "Recommender",
    "ScoreBlock",
    "Scorer",
    "Scores",
    "Seen",
    "StagesHead",
    "Tables",
    "Term",
    "Truncation",
    "TruncationWarning",
    "Tuning",
    "as_dyads",
    "check_criterion",
    "comparisons_of",
    "fit_effects",
    "fit_lowered",
    "fit_stages",
    "known_scores",
    "load",
    "raw_descriptions",
    "recipe",
    "resolve_embedding",
    "score_split",
    "spread",
    "squared_distances",
    "tune_model",
]

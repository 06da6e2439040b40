"""Coordinates to scores: regression, associations and what ranks and explains them."""

from jointdr.prediction.association import FAMILY, AssociationModel
from jointdr.prediction.explanation import Explanation
from jointdr.prediction.heads.column_weights import Columns, effective
from jointdr.prediction.heads.kernels import VANISHING, AnyKernel, Kernel, spread, squared_distances
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.heads.ridge import GridRidge
from jointdr.prediction.heads.truncation import Truncation, TruncationWarning
from jointdr.prediction.imc import IMC
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.prediction.popularity import Popularity
from jointdr.prediction.ranking import ScoreBlock, table, top_pairs
from jointdr.prediction.recommender import Recommender
from jointdr.prediction.regressor import JDRRegressor
from jointdr.prediction.search.tuning import Tuning, judged, recipe, tuned

__all__ = [
    "FAMILY",
    "IMC",
    "VANISHING",
    "AnyKernel",
    "AssociationModel",
    "Columns",
    "Explanation",
    "GridRegression",
    "GridRidge",
    "JDRRegressor",
    "Kernel",
    "KernelRegression",
    "Popularity",
    "Recommender",
    "ScoreBlock",
    "Truncation",
    "TruncationWarning",
    "Tuning",
    "effective",
    "judged",
    "recipe",
    "spread",
    "squared_distances",
    "table",
    "top_pairs",
    "tuned",
]

"""jointdr: linear embeddings for two kinds of things, learned jointly from the response that links them."""

from jointdr._version import __version__ as __version__
from jointdr.data import (
    Dyads,
    HeavyTailWarning,
    PairsWarning,
    PositionWarning,
    TableEncoder,
    TableWarning,
    UnmatchedWarning,
    Views,
    tail_check,
)
from jointdr.directions import (
    ConstantFeatureWarning,
    NoSignalWarning,
    RankError,
    RoundingWarning,
    SingularCovarianceWarning,
)
from jointdr.estimators import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS
from jointdr.moments import Moments
from jointdr.prediction import (
    IMC,
    AssociationModel,
    JDRRegressor,
    KernelRegression,
    Popularity,
    TruncationWarning,
    load,
)
from jointdr.runtime import InPlaceWarning, MemoryBudgetError, config_context, get_config, set_config

__all__ = [
    "IHT",
    "IMC",
    "JDR",
    "OLS",
    "PCA",
    "PHD",
    "SAVE",
    "SIR",
    "SOLS",
    "AssociationModel",
    "ConstantFeatureWarning",
    "Dyads",
    "HeavyTailWarning",
    "InPlaceWarning",
    "JDRRegressor",
    "KernelRegression",
    "MemoryBudgetError",
    "Moments",
    "NoSignalWarning",
    "PairsWarning",
    "Popularity",
    "PositionWarning",
    "RankError",
    "RoundingWarning",
    "SingularCovarianceWarning",
    "TableEncoder",
    "TableWarning",
    "TruncationWarning",
    "UnmatchedWarning",
    "Views",
    "config_context",
    "get_config",
    "load",
    "set_config",
    "tail_check",
]

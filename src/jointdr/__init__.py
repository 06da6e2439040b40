"""jointdr: linear embeddings for two kinds of things, learned jointly from the response that links them."""

from jointdr._version import __version__
from jointdr.data.dyads import Dyads
from jointdr.data.views import Views
from jointdr.estimators.family import OLS, PCA
from jointdr.estimators.jdr import JDR
from jointdr.estimators.phd import IHT, PHD
from jointdr.estimators.sir import SAVE, SIR, SOLS
from jointdr.moments.moments import Moments
from jointdr.prediction.association import AssociationModel
from jointdr.prediction.imc import IMC
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.prediction.regressor import JDRRegressor
from jointdr.runtime.memory import config_context, get_config, set_config

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
    "Dyads",
    "JDRRegressor",
    "KernelRegression",
    "Moments",
    "Views",
    "__version__",
    "config_context",
    "get_config",
    "set_config",
]

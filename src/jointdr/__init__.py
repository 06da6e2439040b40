"""jointdr: linear embeddings for two kinds of things, learned jointly from the response that links them."""

from jointdr.association import AssociationModel
from jointdr.dyads import Dyads
from jointdr.estimators import JDR
from jointdr.family import OLS, PCA
from jointdr.hessian import IHT, PHD
from jointdr.imc import IMC
from jointdr.kernel import KernelRegression
from jointdr.memory import config_context, get_config, set_config
from jointdr.moments import Moments
from jointdr.regressor import JDRRegressor
from jointdr.slicing import SAVE, SIR, SOLS
from jointdr.views import Views

__version__ = "0.1.0"

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
    "config_context",
    "get_config",
    "set_config",
]

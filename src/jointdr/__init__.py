"""jointdr: linear embeddings for two kinds of things, learned jointly from the response that links them."""

from jointdr.estimators import JDR
from jointdr.kernel import KernelRegression
from jointdr.moments import Moments
from jointdr.regressor import JDRRegressor
from jointdr.views import Views

__version__ = "0.1.0"

__all__ = ["JDR", "JDRRegressor", "KernelRegression", "Moments", "Views"]

"""jointdr: linear embeddings for two kinds of things, learned jointly from the response that links them."""

from jointdr.bootstrap import bootstrap
from jointdr.dyads import Dyads
from jointdr.estimators import JDR
from jointdr.imc import IMC
from jointdr.kernel import KernelRegression
from jointdr.moments import Moments
from jointdr.views import Views

__version__ = "0.1.0"

__all__ = ["IMC", "JDR", "Dyads", "KernelRegression", "Moments", "Views", "bootstrap"]

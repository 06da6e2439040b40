"""scikit-learn shells of the methods, one file each; no maths."""

from jointdr.estimators.base import ViewsTransformer, exponent_of
from jointdr.estimators.family import OLS, PCA
from jointdr.estimators.jdr import JDR, NoSignalWarning
from jointdr.estimators.phd import IHT, PHD
from jointdr.estimators.saving import estimator_from_arrays, estimator_to_arrays
from jointdr.estimators.sir import SAVE, SIR, SOLS

__all__ = [
    "IHT",
    "JDR",
    "OLS",
    "PCA",
    "PHD",
    "SAVE",
    "SIR",
    "SOLS",
    "NoSignalWarning",
    "ViewsTransformer",
    "estimator_from_arrays",
    "estimator_to_arrays",
    "exponent_of",
]

"""scikit-learn shells of the methods, one file each; no maths."""

from jointdr.estimators.base import ViewsTransformer, prepared
from jointdr.estimators.composition import compose_embedding
from jointdr.estimators.iht import IHT
from jointdr.estimators.inputs import check_views
from jointdr.estimators.jdr import JDR
from jointdr.estimators.ols import OLS
from jointdr.estimators.options import exponent_of, jdr_options
from jointdr.estimators.pca import PCA
from jointdr.estimators.phd import PHD
from jointdr.estimators.save import SAVE
from jointdr.estimators.saving import (
    estimator_from_arrays,
    estimator_to_arrays,
    link_from_arrays,
    link_to_arrays,
)
from jointdr.estimators.sir import SIR
from jointdr.estimators.sols import SOLS

__all__ = [
    "IHT",
    "JDR",
    "OLS",
    "PCA",
    "PHD",
    "SAVE",
    "SIR",
    "SOLS",
    "ViewsTransformer",
    "check_views",
    "compose_embedding",
    "estimator_from_arrays",
    "estimator_to_arrays",
    "exponent_of",
    "jdr_options",
    "link_from_arrays",
    "link_to_arrays",
    "prepared",
]

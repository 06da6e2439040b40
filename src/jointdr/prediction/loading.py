"""Opening saved models of any kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from jointdr.estimators import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS, estimator_from_arrays
from jointdr.prediction.association import AssociationModel
from jointdr.prediction.imc import IMC
from jointdr.prediction.kernel_regression import KernelRegression
from jointdr.prediction.popularity import Popularity
from jointdr.prediction.regressor import JDRRegressor
from jointdr.runtime import load_model_of

# The estimators of the family by the kind in their files: also the embeddings that a saved model may hold.
FAMILY: dict[str, Any] = {method.__name__: method for method in (IHT, JDR, OLS, PCA, PHD, SAVE, SIR, SOLS)}

PREDICTORS: dict[str, Any] = {
    model.__name__: model for model in (AssociationModel, IMC, JDRRegressor, KernelRegression, Popularity)
}

MAKERS: dict[str, Callable[..., Any]] = {
    **{kind: partial(estimator_from_arrays, method) for kind, method in FAMILY.items()},
    **{kind: model.from_arrays for kind, model in PREDICTORS.items()},
}


def load(path: str | os.PathLike[str]) -> Any:
    """Open a saved model of any kind, by the kind in its file, which is read once; no code is run.

    Parameters
    ----------
    path : path
        A file that ``save`` wrote, of an `AssociationModel`, `IMC`, `Popularity`, `JDRRegressor` or `KernelRegression`,
        or of an estimator of the family.

    Returns
    -------
    model
        It gives the same results as the saved one, to the last bit.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from jointdr import Popularity, load
    >>> model = Popularity().fit(np.eye(3), np.zeros((3, 1)), np.zeros((3, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.npz"))
    ...     load(os.path.join(folder, "model.npz"))
    Popularity()
    """
    return load_model_of(path, MAKERS)

"""JDR inside scikit-learn pipelines: a nearest-neighbour regressor on the embedded pairs.

    python examples/pipelines.py

One table holds the columns of both views. With `views=` JDR is a plain transformer, so any regressor can follow.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from jointdr import JDR
from jointdr.datasets import make_bilinear


def main() -> None:
    X, y, _ = make_bilinear(6000, n_features=(25, 15), n_components=2, noise=0.5, random_state=0)
    names = {"genes": [f"gene{i}" for i in range(25)], "diseases": [f"disease{i}" for i in range(15)]}
    table = pd.DataFrame(np.hstack(X.arrays), columns=[*names["genes"], *names["diseases"]])

    jdr = make_pipeline(JDR(n_components=2, views=names), KNeighborsRegressor(15))
    print("R² of 15 nearest neighbours, 3-fold cross-validation")
    print(f"  on JDR's 2 + 2 directions  {cross_val_score(jdr, table, y, cv=3).mean():.2f}")
    print(f"  on all 40 features         {cross_val_score(KNeighborsRegressor(15), table, y, cv=3).mean():.2f}")

    search = GridSearchCV(jdr, {"jdr__n_components": [1, 2, 3, 4]}, cv=3).fit(table, y)
    print(f"  chosen by GridSearchCV     {search.best_params_}, R² {search.best_score_:.2f}")


if __name__ == "__main__":
    main()

"""
Inside scikit-learn's pipelines
===============================

One table holds the columns of both views. With ``views=`` JDR is a plain transformer, so that any regressor can
follow, and everything in scikit-learn that splits, searches and scores works as usual.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from jointdr import JDR
from jointdr.datasets import make_bilinear

X, y, _ = make_bilinear(6000, n_features=(25, 15), n_components=2, noise=0.5, random_state=0)
names = {"genes": [f"gene{i}" for i in range(25)], "diseases": [f"disease{i}" for i in range(15)]}
table = pd.DataFrame(np.hstack(X.arrays), columns=[*names["genes"], *names["diseases"]])
print(table.shape)

# %%
# A nearest-neighbor regressor behind JDR, and the same regressor on all features:

pipeline = make_pipeline(JDR(n_components=2, views=names), KNeighborsRegressor(15))
print("R² of 15 nearest neighbors, 3-fold cross-validation")
print(f"  on JDR's 2 + 2 directions  {cross_val_score(pipeline, table, y, cv=3).mean():.2f}")
print(f"  on all 40 features         {cross_val_score(KNeighborsRegressor(15), table, y, cv=3).mean():.2f}")

# %%
# The number of directions is a parameter like any other:

search = GridSearchCV(pipeline, {"jdr__n_components": [1, 2, 3, 4, 5]}, cv=3).fit(table, y)
print(f"chosen by GridSearchCV: {search.best_params_}, R² {search.best_score_:.2f}")
print(list(search.best_estimator_[0].get_feature_names_out()))

# %%

figure, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
tried, r2, spread = (
    search.cv_results_[key] for key in ("param_jdr__n_components", "mean_test_score", "std_test_score")
)
ax.errorbar(tried.astype(int), r2, spread, marker="o", color="#2a6fb0", capsize=3)
ax.set(xlabel="directions of each view", ylabel="R² on held-out rows", xticks=range(1, 6))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

"""
Two kinds of things, and the directions that matter
===================================================

Think of 20 000 pairs of an image and a text, each with a few dozen features, and a score that is 1 if the two belong
together. Only two hidden traits of each decide. JDR finds them; kernel regression on the coordinates predicts the
score of new pairs.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from jointdr import JDR, KernelRegression
from jointdr.datasets import make_rbf
from jointdr.metrics import nsee

X, y, truth = make_rbf(20_000, n_features=(40, 30), n_components=2, sigma=2.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=4000, random_state=0)
print(X, f"{100 * y.mean():.0f} % of the pairs match")

# %%
# Fit
# ---
#
# With ``scale="sqrt"`` prominent directions count more in distances, as in the paper's application.

model = JDR(n_components=2, scale="sqrt").fit(X_train, y_train)
print(f"subspace error (NSEE) {nsee(truth, model.embeddings_):.2f}, where chance is 0.97")

# %%
# How many directions are there?
# ------------------------------
#
# The score on other rows rises while directions carry signal and falls once noise is added. ``n_components="auto"``
# decides by the same criterion, in one read of the data.

values = JDR(n_components=6).fit(X_train, y_train).singular_values_
for r, value in enumerate(values, start=1):
    score = JDR(n_components=r).fit(X_train, y_train).score(X_test, y_test)
    print(f"{r} directions: singular value {value:.3f}, held-out score {score:.4f}")

# %%
# The directions found
# --------------------

A, B = model.transform(X_test)
figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.6), layout="constrained")
axes[0].bar(range(1, len(values) + 1), values, color=["#2a6fb0"] * 2 + ["#cbd5e0"] * (len(values) - 2))
axes[0].set(title="Two directions stand out", xlabel="direction", ylabel="singular value of the proxy")
for k, ax in enumerate(axes[1:]):
    cells = ax.hexbin(A[:, k], B[:, k], C=y_test, gridsize=14, mincnt=3, cmap="viridis", vmin=0, vmax=1)
    ax.set(title=f"Direction {k + 1}", xlabel="first view, embedded", ylabel="second view, embedded")
    ax.set_aspect("equal", adjustable="datalim")
figure.colorbar(cells, ax=axes[1:], label="share of pairs that match")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Does it help to predict?
# ------------------------
#
# The same kernel regression on four kinds of coordinates, judged on new pairs by the area under the ROC curve.

pca = [PCA(2).fit(V) for V in X_train.arrays]
inputs = {
    "JDR, 2 + 2 directions": (model.transform(X_train), model.transform(X_test)),
    "PCA, 2 + 2 directions": tuple(
        [p.transform(V) for p, V in zip(pca, part.arrays, strict=True)] for part in (X_train, X_test)
    ),
    "all 70 features": (X_train.arrays, X_test.arrays),
    "the true directions": tuple(
        [V @ U for V, U in zip(part.arrays, truth, strict=True)] for part in (X_train, X_test)
    ),
}
for name, (train, test) in inputs.items():
    prediction = KernelRegression(random_state=0).fit(train, y_train).predict(test)
    print(f"{name:22s} {roc_auc_score(y_test, prediction):.3f}")

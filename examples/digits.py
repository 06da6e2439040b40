"""
The same digit or not?
======================

Coordinates of handwritten digits, learned from answers about pairs alone. JDR sees pairs of images and whether both
show the same digit, never which digit. Its coordinates are tried on other images, beside PCA, plain pixels, and
linear discriminant analysis, which is given the digits.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from jointdr import JDR, KernelRegression

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0  # of the halves and the pairs

# %%
# Pairs
# -----
#
# The images are cut into two halves first, so that no image that JDR has learned from is used to try it.

images, digits = load_digits(return_X_y=True)
images, new_images, digits, new_digits = train_test_split(
    images, digits, test_size=0.5, stratify=digits, random_state=seed
)
varies = np.ptp(images, axis=0) > 0  # some pixels are never inked: JDR would warn and give them no weight
images, new_images = images[:, varies], new_images[:, varies]


def pairs(n_images, n_pairs, seed):
    """Indices of the first and of the second image of each pair; no image is paired with itself."""
    rng = np.random.default_rng(seed)
    first = rng.integers(n_images, size=n_pairs)
    return first, (first + rng.integers(1, n_images, size=n_pairs)) % n_images


first, second = pairs(len(images), 20_000, seed)
new_first, new_second = pairs(len(new_images), 3000, seed + 1)
same = digits[first] == digits[second]
print(f"{len(first)} pairs of {len(images)} images, {images.shape[1]} pixels that vary")
print(f"{len(new_first)} pairs of {len(new_images)} other images to try it on")

# %%
# Fit
# ---
#
# Booleans are labels, so that y is taken as classes. All that JDR gets to know of the digits is in ``same``. A little
# ``ridge`` keeps pixels small that are inked in a few images only.

model = JDR("auto", ridge=0.1, scale="sqrt", random_state=0).fit((images[first], images[second]), same)
r = model.n_components_
print(f'JDR("auto") finds {r} directions; the means of ten digits span nine')

# %%
# Two new images: the same digit?
# -------------------------------
#
# By the cosine of their coordinates, by kernel regression (on 5000 of the pairs), and by the nearest neighbor, which
# is given the digits of the first half.

pca, lda = PCA(r).fit(images), LinearDiscriminantAnalysis().fit(images, digits)
mean = images.mean(axis=0)
old, new = model.transform((images, images)), model.transform((new_images, new_images))
# Coordinates of the first half, as first and as second image of a pair, and of the second half.
coordinates = {
    f"JDR, {r} directions": (old, new),
    f"PCA, {r} directions": ([pca.transform(images)] * 2, [pca.transform(new_images)] * 2),
    f"all {images.shape[1]} pixels": ([images - mean] * 2, [new_images - mean] * 2),
    "LDA, given the digits": ([lda.transform(images)] * 2, [lda.transform(new_images)] * 2),
}


def cosine(A, B):
    """Of each row of A with that of B."""
    return np.sum(A * B, axis=1) / (np.linalg.norm(A, axis=1) * np.linalg.norm(B, axis=1))


answer = new_digits[new_first] == new_digits[new_second]
some = slice(5000)  # kernel regression compares each new pair with all it was given
cosines = {}
print("                        AUC of     AUC of kernel   nearest neighbor")
print("                        a cosine   regression      names the digit")
for name, ((A, B), (A_new, B_new)) in coordinates.items():
    cosines[name] = cosine(A_new[new_first], B_new[new_second])
    kernel = KernelRegression(random_state=0).fit((A[first[some]], B[second[some]]), same[some])
    by_kernel = roc_auc_score(answer, kernel.predict((A_new[new_first], B_new[new_second])))
    named = KNeighborsClassifier(1).fit(A, digits).score(A_new, new_digits)
    print(f"{name:23s} {roc_auc_score(answer, cosines[name]):.3f}      {by_kernel:.3f}           {100 * named:.1f} %")

# %%
# The effect of ridge on the cosine:

for ridge in (0.001, 0.01, 0.1, 1.0):
    fitted = JDR(r, ridge=ridge, scale="sqrt").fit((images[first], images[second]), same)
    A_new, B_new = fitted.transform((new_images, new_images))
    print(f"ridge={ridge:<6} AUC {roc_auc_score(answer, cosine(A_new[new_first], B_new[new_second])):.3f}")

# %%
# Directions as images
# --------------------
#
# Each direction twice: the weight of every pixel, and how ink goes with the coordinate that they add up to.

U = model.embeddings_[0]
figure, axes = plt.subplots(2, r, figsize=(10.4, 2.6), squeeze=False, layout="constrained")
for row, (name, directions) in zip(axes, {"weight": U, "covariance": np.cov(images.T) @ U}.items(), strict=True):
    row[0].set_ylabel(name, fontsize=9)
    for k, ax in enumerate(row):
        image = np.zeros(64)
        image[varies] = directions[:, k]
        reach = np.abs(image).max()
        ax.imshow(image.reshape(8, 8), cmap="RdBu_r", vmin=-reach, vmax=reach)
        ax.set(xticks=[], yticks=[])
for k, ax in enumerate(axes[0]):
    ax.set_title(f"direction {k + 1}", fontsize=9)
plt.show()

# %%
# New images
# ----------
#
# In the first two of nine directions, which are not the whole story; the cosines use all.

figure, axes = plt.subplots(1, 3, figsize=(10.4, 3.8), width_ratios=[5, 5, 4], layout="constrained")
for ax, name in zip(axes, list(coordinates)[:2], strict=False):
    Z = coordinates[name][1][0]
    for digit in range(10):
        ax.scatter(*Z[new_digits == digit, :2].T, s=9, color=f"C{digit}", alpha=0.6, linewidths=0)
    for digit in range(10):
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": f"C{digit}"}
        at = np.median(Z[new_digits == digit, :2], axis=0)
        ax.text(*at, str(digit), ha="center", va="center", fontsize=11, color="black", bbox=box)
    ax.set(title=f"New images, {name[:3]}", xlabel="direction 1", ylabel="direction 2", xticks=[], yticks=[])
for is_same, label, colour in ((False, "different digits", "#aab4c0"), (True, "same digit", "#2a6fb0")):
    shown = cosines[f"JDR, {r} directions"][answer == is_same]
    axes[2].hist(shown, np.linspace(-1, 1, 30), density=True, alpha=0.7, label=label, color=colour)
axes[2].set(title="Cosine of a new pair, JDR", xticks=[-1, 0, 1], yticks=[])
axes[2].legend(frameon=False, fontsize=8, loc="upper left")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
# sphinx_gallery_thumbnail_number = 2
plt.show()

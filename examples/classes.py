"""
Ten classes: the last digit of a sum
====================================

The response need not be a number. Two handwritten digits, and the last digit of their sum: 3 and 9 give 2. There are
ten answers, without an order, and equal images give no particular one. As classes, y becomes ten indicators, each
with its own proxy :math:`X_0`; together they form a tensor :math:`y \\otimes a \\otimes b`, and its factors are the
embeddings.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from jointdr import JDR

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0  # of the halves and the pairs

# %%
# Pairs of images
# ---------------
#
# One half of the images to learn from, the other to try it on.

images, digits = load_digits(return_X_y=True)
images, new_images, digits, new_digits = train_test_split(
    images, digits, test_size=0.5, stratify=digits, random_state=seed
)
varies = np.ptp(images, axis=0) > 0  # some pixels are never inked
images, new_images = images[:, varies], new_images[:, varies]


def pairs(images, digits, count, seed):
    """Pairs of different images, and the last digit of their sums."""
    rng = np.random.default_rng(seed)
    first = rng.integers(len(images), size=count)
    second = (first + rng.integers(1, len(images), size=count)) % len(images)
    return (images[first], images[second]), (digits[first] + digits[second]) % 10


X, y = pairs(images, digits, 20_000, seed)
X_new, y_new = pairs(new_images, new_digits, 3000, seed + 1)

# %%
# As classes, and as a number
# ---------------------------
#
# Strings, booleans and categories are taken as classes by themselves. These labels are numbers, so it has to be
# asked for; otherwise 9 and 0 would be far apart.

as_classes = JDR(9, response="class", ridge=0.1, scale="sqrt").fit(X, y)
as_number = JDR(9, ridge=0.1, scale="sqrt").fit(X, y)
print("indicators:", as_classes.response_(y).shape)
print("singular values, one spectrum for each view:", [s.round(2)[:4] for s in as_classes.singular_values_])

# %%
# The five nearest pairs vote on the last digit of a new sum.

pca = PCA(9).fit(images)
coordinates = {
    "JDR, ten classes": (as_classes.transform(X), as_classes.transform(X_new)),
    "JDR, one number": (as_number.transform(X), as_number.transform(X_new)),
    "PCA": tuple([pca.transform(V) for V in part] for part in (X, X_new)),
    "all pixels": (X, X_new),
}
answers = {}
for name, (Z, Z_new) in coordinates.items():
    answers[name] = KNeighborsClassifier(5).fit(np.hstack(Z), y).predict(np.hstack(Z_new))
    numbers = sum(part.shape[1] for part in Z)
    print(f"{name:18s} {numbers:4d} numbers for a pair, {100 * np.mean(answers[name] == y_new):.1f} % right")

# %%
# Directions that separate digits
# -------------------------------
#
# Images of the second half in the first two directions of each model. Given classes, JDR spreads the digits; given
# one number, it shows less of them in its first directions.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, (name, model) in zip(axes, {"ten classes": as_classes, "one number": as_number}.items(), strict=True):
    Z, _ = model.transform((new_images, new_images))
    for digit in range(10):
        here = Z[new_digits == digit, :2]
        ax.scatter(*here.T, s=9, color=f"C{digit}", alpha=0.55, linewidths=0)
    for digit in range(10):
        x, height = np.median(Z[new_digits == digit, :2], axis=0)
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": f"C{digit}"}
        ax.text(x, height, str(digit), ha="center", va="center", fontsize=11, color="black", bbox=box)
    ax.set(title=f"The response as {name}", xlabel="direction 1", ylabel="direction 2", xticks=[], yticks=[])
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

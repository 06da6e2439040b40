"""
Find the other half: retrieval across two views
===============================================

The top half of a handwritten digit is one view, the bottom half the other. Given the top of an image that was never
seen before, which of 600 bottoms belongs to it? This is cross-modal retrieval, as between images and texts, in a form
that can be looked at.

:class:`~jointdr.JDR` is made for a response that links two things. Here there is none but this: the two halves belong
together. So pairs that do are given the response 1, and pairs drawn at random the response 0.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.datasets import load_digits

from jointdr import JDR
from jointdr.plot import recall_curves

# %%
# Halves and pairs
# ----------------
#
# 8 × 8 pixels are cut after the fourth line. Two thirds of the images are learned from.

images, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
images, digits = images[order], digits[order]
varies = np.ptp(images[:1197], axis=0) > 0  # some pixels at the rim are never inked
top, bottom = (images[:, half][:, varies[half]] for half in (slice(0, 32), slice(32, 64)))
train, test = slice(0, 1197), slice(1197, 1797)

# %%
# Every image is one pair that belongs together, and twenty that do not: its top with the bottoms of others.

rng = np.random.default_rng(1)
m = 1197
own = np.arange(m)
others = (np.tile(own, 20) + rng.integers(1, m, 20 * m)) % m
A = top[train][np.concatenate([own, np.tile(own, 20)])]
B = bottom[train][np.concatenate([own, others])]
y = np.concatenate([np.ones(m), np.zeros(20 * m)])
weight = np.where(y > 0, 20.0, 1.0)  # both kinds of pairs count the same
model = JDR(15, ridge=0.1, scale="sqrt").fit((A, B), y, sample_weight=weight)

# %%
# The proxy here is the mean of :math:`a' b'^\top` over true pairs less that over random ones,
# which is the whitened cross-covariance of the two halves: its singular vectors are the canonical directions of
# Hotelling. JDR contains canonical correlation analysis as the case where the response is no more than "they belong
# together".
#
# Who finds the other half?
# -------------------------
#
# All 600 bottoms are ranked by the cosine with each top. Recall at :math:`k` is the share of tops whose own bottom is
# among the first :math:`k`.


def ranks(Z_a, Z_b):
    """The rank of the right one in each row, from 1; ties count against it."""
    unit = [Z / np.linalg.norm(Z, axis=1, keepdims=True) for Z in (Z_a, Z_b)]
    cosines = unit[0] @ unit[1].T
    return (cosines >= np.diag(cosines)[:, None]).sum(axis=1)


canonical = CCA(15, max_iter=2000).fit(top[train], bottom[train])
mean_a, mean_b = top[train].mean(axis=0), bottom[train].mean(axis=0)
cross = np.linalg.svd((top[train] - mean_a).T @ (bottom[train] - mean_b), full_matrices=False)
found = {
    "JDR": ranks(*model.transform((top[test], bottom[test]))),
    "CCA": ranks(*canonical.transform(top[test], bottom[test])),
    "no whitening": ranks((top[test] - mean_a) @ cross[0][:, :15], (bottom[test] - mean_b) @ cross[2][:15].T),
    "chance": np.random.default_rng(2).permutation(600) + 1,
}
print("                 recall@1    @10    @50   median rank of 600")
for name, place in found.items():
    at = [np.mean(place <= k) for k in (1, 10, 50)]
    print(f"{name:16s} {at[0]:8.3f} {at[1]:6.3f} {at[2]:6.3f}   {np.median(place):.0f}")

# %%
# One half of a digit does not determine the other: many images have nearly the same top. Is the bottom that is
# found at least one of the same digit?

Z_a, Z_b = model.transform((top[test], bottom[test]))
cosines = (Z_a / np.linalg.norm(Z_a, axis=1, keepdims=True)) @ (Z_b / np.linalg.norm(Z_b, axis=1, keepdims=True)).T
best = np.argsort(-cosines, axis=1)[:, :10]
print(f"the first is of the same digit: {np.mean(digits[test][best[:, 0]] == digits[test]):.2f}, where chance is 0.10")

ks = np.arange(1, 101)
ax = recall_curves({name: (ks, [np.mean(place <= k) for k in ks]) for name, place in found.items()})
ax.set(title="The other half among the first k of 600", xlabel="k", ylabel="recall")
plt.show()

# %%
# Some tops and their bottoms
# ---------------------------
#
# Tops in the first column; then their ranked bottoms, each joined to the top. A frame marks the right one.

shown = [int(np.flatnonzero(digits[test] == digit)[1]) for digit in (0, 2, 4, 6, 9)]
figure, axes = plt.subplots(len(shown), 8, figsize=(8, 5.4))
for row, i in zip(axes, shown, strict=True):
    query = images[test][i, :32].reshape(4, 8)
    row[0].imshow(np.vstack([query, np.zeros((4, 8))]), cmap="gray_r")
    for ax, j in zip(row[1:], best[i], strict=False):
        ax.imshow(np.vstack([query, images[test][j, 32:].reshape(4, 8)]), cmap="gray_r")
        if i == j:
            ax.add_patch(plt.Rectangle((-0.5, -0.5), 8, 8, fill=False, color="#2a6fb0", lw=5))
    for ax in row:
        ax.set(xticks=[], yticks=[])
        ax.axhline(3.5, color="#b85a12", lw=0.8)
        ax.spines[:].set_visible(False)
for k, ax in enumerate(axes[0]):
    ax.set_title("top" if k == 0 else f"{k}", fontsize=9)
# sphinx_gallery_thumbnail_number = 2
plt.show()

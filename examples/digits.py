"""Do two images show the same digit? Coordinates of handwritten digits, learned from answers about pairs alone.

    python examples/digits.py [folder [seed]]

scikit-learn's 1797 images of 8 × 8 pixels are cut into two halves, and pairs are drawn within each. JDR sees pairs of
the first half and whether both show the same digit, never which digit. What it found is tried on images of the second
half, beside PCA, plain pixels, and linear discriminant analysis, which is told the digits. Then the response is the
last digit of the sum of both: ten classes, and no notion of likeness between the images any more.

Prints tables and draws digits.png into the folder (./digits_output if none is given). The seed chooses the halves and
the pairs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from jointdr import JDR, KernelRegression

RIDGE = 0.1
KERNEL_PAIRS = 5000  # kernel regression compares each new pair with all it was given


def main(out: Path, seed: int = 0) -> None:
    images, digits = load_digits(return_X_y=True)
    halves = train_test_split(images, digits, test_size=0.5, stratify=digits, random_state=seed)
    images, new_images, digits, new_digits = halves
    varies = np.ptp(images, axis=0) > 0  # some pixels are never inked: JDR would warn and give them no weight
    images, new_images = images[:, varies], new_images[:, varies]
    first, second = pairs(len(images), 20_000, seed)
    new_first, new_second = pairs(len(new_images), 3000, seed + 1)
    print(f"{len(first)} pairs of {len(images)} images, {images.shape[1]} pixels that vary")
    print(f"{len(new_first)} pairs of {len(new_images)} other images to try it on")

    # Booleans are labels, so y becomes "class" by itself. All that JDR is told of the digits is in `same`.
    same = digits[first] == digits[second]
    X = (images[first], images[second])
    model = JDR("auto", ridge=RIDGE, scale="sqrt", random_state=0).fit(X, same)
    r = model.n_components_
    print(f'\nJDR("auto") finds {r} directions; the means of ten digits span nine')

    pca, lda = PCA(r).fit(images), LinearDiscriminantAnalysis().fit(images, digits)
    centred = [V - images.mean(axis=0) for V in (images, new_images)]
    # Each entry: coordinates of the first half as first and as second image of a pair, then of the second half.
    coordinates = {
        f"JDR, {r} directions": (*model.transform((images, images)), *model.transform((new_images, new_images))),
        f"PCA, {r} directions": twice(pca.transform(images), pca.transform(new_images)),
        f"all {images.shape[1]} pixels": twice(*centred),
        f"LDA, {r} directions (told the digits)": twice(lda.transform(images), lda.transform(new_images)),
    }
    answer = new_digits[new_first] == new_digits[new_second]
    print("\nTwo new images: the same digit?         AUC of     AUC of kernel   nearest neighbour")
    print("                                        a cosine   regression      names the digit")
    for name, (A, B, A_new, B_new) in coordinates.items():
        by_cosine = roc_auc_score(answer, cosine(A_new[new_first], B_new[new_second]))
        some = slice(KERNEL_PAIRS)
        kernel = KernelRegression(random_state=0).fit((A[first[some]], B[second[some]]), same[some])
        by_kernel = roc_auc_score(answer, kernel.predict((A_new[new_first], B_new[new_second])))
        named = KNeighborsClassifier(1).fit(A, digits).score(A_new, new_digits)
        print(f"  {name:37s} {by_cosine:.3f}      {by_kernel:.3f}           {100 * named:.1f} %")

    print("\nWhat ridge does to the cosine")
    for ridge in (0.001, 0.01, 0.1, 1.0):
        A_new, B_new = JDR(r, ridge=ridge, scale="sqrt").fit(X, same).transform((new_images, new_images))
        print(f"  ridge={ridge:<6} AUC {roc_auc_score(answer, cosine(A_new[new_first], B_new[new_second])):.3f}")

    # Another question about the same pairs: ten classes, so that y becomes ten indicators and the proxy a tensor.
    last = (digits[first] + digits[second]) % 10
    new_last = (new_digits[new_first] + new_digits[new_second]) % 10
    options = {"n_components": r, "ridge": RIDGE, "scale": "sqrt"}
    as_class = JDR(response="class", **options).fit(X, last)
    as_number = JDR(response="identity", **options).fit(X, last)
    new_X = (new_images[new_first], new_images[new_second])
    print("\nThe last digit of the sum of two new images     5 nearest pairs")
    for name, (Z, Z_new) in {
        f"JDR, {r} + {r} directions, ten classes": (as_class.transform(X), as_class.transform(new_X)),
        f"JDR, {r} + {r} directions, one number": (as_number.transform(X), as_number.transform(new_X)),
        f"PCA, {r} + {r} directions": tuple([pca.transform(V) for V in part] for part in (X, new_X)),
        f"all {2 * images.shape[1]} pixels": (X, new_X),
    }.items():
        right = KNeighborsClassifier(5).fit(np.hstack(Z), last).score(np.hstack(Z_new), new_last)
        print(f"  {name:45s} {100 * right:.1f} %")

    draw(out, model, images, varies, coordinates, (new_first, new_second), new_digits)


def pairs(n_images, n_pairs, seed):
    """The numbers of the first and of the second image of each pair; no image is paired with itself."""
    rng = np.random.default_rng(seed)
    first = rng.integers(n_images, size=n_pairs)
    return first, (first + rng.integers(1, n_images, size=n_pairs)) % n_images


def twice(Z, Z_new):
    return Z, Z, Z_new, Z_new


def cosine(A, B):
    return np.sum(A * B, axis=1) / (np.linalg.norm(A, axis=1) * np.linalg.norm(B, axis=1))


def draw(out, model, images, varies, coordinates, new_pairs, new_digits) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("\n(install matplotlib for the picture: pip install 'jointdr[plot]')")
        return
    figure = plt.figure(figsize=(10.4, 6), constrained_layout=True)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1, 2])
    draw_directions(upper, model, images, varies)
    axes = lower.subplot_mosaic([["JDR", "PCA", "by JDR"], ["JDR", "PCA", "by PCA"]], width_ratios=[5, 5, 3])
    answer = np.equal(*(new_digits[at] for at in new_pairs))
    for name, (_, _, A_new, B_new) in list(coordinates.items())[:2]:
        name = name[:3]
        draw_scatter(axes[name], A_new, new_digits)
        axes[name].set(title=f"New images, {name}", xlabel="direction 1", ylabel="direction 2", xticks=[], yticks=[])
        cosines = cosine(A_new[new_pairs[0]], B_new[new_pairs[1]])
        for is_same, label, colour in ((False, "different digits", "#a0aec0"), (True, "same digit", "#2b6cb0")):
            axes[f"by {name}"].hist(
                cosines[answer == is_same], np.linspace(-1, 1, 30), density=True, alpha=0.7, label=label, color=colour
            )
        axes[f"by {name}"].set(title=f"Cosine of a new pair, {name}", xticks=[-1, 0, 1], yticks=[])
    axes["by JDR"].legend(frameon=False, fontsize=8, loc="upper left")
    for axis in axes.values():
        axis.spines[["top", "right"]].set_visible(False)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "digits.png", dpi=90)
    print(f"\nPicture: {out / 'digits.png'}")


def draw_directions(figure, model, images, varies) -> None:
    """Each direction twice: the weight of every pixel, and how ink goes with the coordinate that they add up to."""
    U = model.embeddings_[0]
    rows = {"weight": U, "covariance": np.cov(images.T) @ U}
    axes = figure.subplots(2, U.shape[1], squeeze=False)
    for axes_of_row, (name, directions) in zip(axes, rows.items(), strict=True):
        axes_of_row[0].set_ylabel(name, fontsize=9)
        for k, axis in enumerate(axes_of_row):
            picture = np.zeros(64)
            picture[varies] = directions[:, k]
            reach = np.abs(picture).max()
            axis.imshow(picture.reshape(8, 8), cmap="RdBu_r", vmin=-reach, vmax=reach)
            axis.set(xticks=[], yticks=[])
    for k, axis in enumerate(axes[0]):
        axis.set_title(f"direction {k + 1}", fontsize=9)


def draw_scatter(axis, Z, digits) -> None:
    for digit in range(10):
        axis.scatter(*Z[digits == digit, :2].T, s=9, color=f"C{digit}", alpha=0.6, linewidths=0)
    for digit in range(10):
        x, y = np.median(Z[digits == digit, :2], axis=0)
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": f"C{digit}"}
        axis.text(x, y, str(digit), ha="center", va="center", fontsize=11, bbox=box)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "digits_output"), int(sys.argv[2]) if len(sys.argv) > 2 else 0)

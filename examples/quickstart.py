"""Two kinds of things, a score that links them, and the directions that matter.

Think of 20 000 pairs of an image and a text, each with a few dozen features, and of a score that says whether the two
belong together. Only two hidden traits of each decide. JDR finds them; kernel regression on what it found predicts the
score of new pairs.

    python examples/quickstart.py

prints the result and draws it to demo_output/quickstart.png.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from jointdr import JDR, KernelRegression
from jointdr.datasets import make_rbf
from jointdr.metrics import nsee

OUT = Path("demo_output")


def main() -> None:
    X, y, truth = make_rbf(20_000, n_features=(40, 30), n_components=2, sigma=2.0, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=4000, random_state=0)
    print(
        f"{len(y)} pairs, {X.n_features[0]} and {X.n_features[1]} features, {100 * y.mean():.0f} % of the pairs match"
    )

    model = JDR(n_components=2, scale="sqrt").fit(X_train, y_train)
    error = nsee(truth, model.embeddings_)
    print(f"\nJDR found 2 directions in each view: subspace error (NSEE) {error:.2f}, where chance is 0.97")

    # How many directions are there? The held-out criterion falls once noise is added.
    print("\ndirections  singular value  held-out score")
    values = JDR(n_components=6).fit(X_train, y_train).singular_values_
    scores = [JDR(n_components=r).fit(X_train, y_train).score(X_test, y_test) for r in range(1, 7)]
    for r, (value, score) in enumerate(zip(values, scores, strict=True), start=1):
        bar = "█" * round(30 * value / values[0])
        print(f"{r:6d}      {value:.3f} {bar:30s} {score:.4f}{'  ← best' if score == max(scores) else ''}")

    print("\nPredicting whether a new pair matches (area under the ROC curve)")
    inputs = {
        "JDR, 2 + 2 directions": (model.transform(X_train), model.transform(X_test)),
        "PCA, 2 + 2 directions": pca(X_train, X_test, 2),
        "all 70 features": (X_train.arrays, X_test.arrays),
        "the true directions": tuple(
            tuple(V @ U for V, U in zip(part.arrays, truth, strict=True)) for part in (X_train, X_test)
        ),
    }
    for name, (train, test) in inputs.items():
        prediction = KernelRegression(random_state=0).fit(train, y_train).predict(test)
        auc = roc_auc_score(y_test, prediction)
        print(f"  kernel regression on {name:22s} {auc:.3f} {'█' * round(60 * max(0.0, auc - 0.5))}")

    draw(model, X_test, y_test, values)


def pca(X_train, X_test, r):
    fitted = [PCA(r).fit(V) for V in X_train.arrays]
    return tuple(tuple(p.transform(V) for p, V in zip(fitted, part.arrays, strict=True)) for part in (X_train, X_test))


def draw(model, X, y, values) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("\n(install matplotlib for the picture: pip install 'jointdr[plot]')")
        return
    A, B = model.transform(X)
    figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.6), constrained_layout=True)
    axes[0].bar(range(1, len(values) + 1), values, color=["#2b6cb0"] * 2 + ["#cbd5e0"] * (len(values) - 2))
    axes[0].set(title="Two directions stand out", xlabel="direction", ylabel="singular value of the proxy")
    for k, axis in enumerate(axes[1:]):
        cells = axis.hexbin(A[:, k], B[:, k], C=y, gridsize=14, mincnt=3, cmap="viridis", vmin=0, vmax=1)
        axis.set(title=f"Direction {k + 1}", xlabel="first view, embedded", ylabel="second view, embedded")
        axis.set_aspect("equal", adjustable="datalim")
    figure.colorbar(cells, ax=axes[1:], label="share of pairs that match")
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "quickstart.png", dpi=110)
    print(f"\nPicture: {OUT / 'quickstart.png'}")


if __name__ == "__main__":
    main()

"""
Which method when: the hard cases, drawn
========================================

Every method of the family reads a few moments of the data, and each moment is blind to something. Here are six ways in
which a response can depend on two views (:math:`n = 12` features each), from easy to nasty, and the error of eight
methods on each of them: 0 is the true subspace, 1 is orthogonal to it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from jointdr import JDR, PCA, PHD, SIR, HeavyTailWarning
from jointdr.datasets import make_bilinear, make_even, make_odd, make_rbf
from jointdr.metrics import nsee

# %%
# The cases
# ---------
#
# Each function takes a seed and gives views, a response and the true directions :math:`U` and :math:`V`.

m, n = 20_000, 12


def odd(seed):
    """A product of the views: changes its sign with either of them."""
    return make_odd(m, n, 2, random_state=seed)


def even(seed):
    """A product of squares: the sign of neither view matters."""
    return make_even(m, n, 2, random_state=seed)


def one_sided(seed):
    """Only positive products count: neither odd nor even."""
    X, y, truth = make_odd(m, n, 2, random_state=seed)
    return X, np.maximum(y, 0), truth


def additive(seed):
    """Each view acts by itself, and they do not meet."""
    X, _, (U, V) = make_odd(m, n, 1, random_state=seed)
    noise = np.random.default_rng(seed).standard_normal(m)
    return X, np.tanh(X.arrays[0] @ U)[:, 0] + np.tanh(X.arrays[1] @ V)[:, 0] + 0.5 * noise, (U, V)


def correlated(seed):
    """A kernel of the distance, where each feature of one view predicts one of the other."""
    X, _, (U, V) = make_rbf(m, n, 2, correlation=0.3, random_state=seed)
    return X, np.exp(-0.5 * np.sum((X.arrays[0] @ U - X.arrays[1] @ V) ** 2, axis=1)), (U, V)


def heavy_tails(seed):
    """A product, with noise so wild that it has no variance: t with 1.5 degrees of freedom."""
    X, y, truth = make_bilinear(m, n, 2, noise=0.0, random_state=seed)
    return X, y + np.random.default_rng(seed).standard_t(1.5, m), truth


cases = {
    "odd link": odd,
    "even link": even,
    "one-sided link": one_sided,
    "additive, no product": additive,
    "views that depend on each other": correlated,
    "heavy tails": heavy_tails,
}

# %%
# The methods
# -----------
#
# Four ways to use :class:`~jointdr.JDR`, and four of its relatives: principal Hessian directions for each view and for
# both joined (the paper's cpHd), sliced inverse regression, and principal components, which never look at the response.

methods = {
    "JDR": lambda r: JDR(r),
    'JDR, moments="all"': lambda r: JDR(r, moments="all"),
    'JDR, normalize="joint"': lambda r: JDR(r, normalize="joint"),
    'JDR, response="rank"': lambda r: JDR(r, response="rank"),
    "pHd": lambda r: PHD(r),
    "cpHd": lambda r: PHD(r, concatenate=True),
    "SIR": lambda r: SIR(r),
    "PCA": lambda r: PCA(r),
}


def mean_errors(case, seeds=range(3)):
    """The mean error of each method."""
    errors = np.empty((len(methods), len(seeds)))
    for j, seed in enumerate(seeds):
        X, y, truth = case(seed)
        for i, method in enumerate(methods.values()):
            errors[i, j] = nsee(truth, method(truth[0].shape[1]).fit(X, y).embeddings_)
    return errors.mean(axis=1)


warnings.simplefilter("ignore", HeavyTailWarning)  # one of the cases is about heavy tails
errors = {name: mean_errors(case) for name, case in cases.items()}

# %%
# The figure
# ----------

blue, grey, red = "#2a6fb0", "#aab4c0", "#b85a12"
figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), sharex=True, sharey=True, layout="constrained")
for ax, (name, values) in zip(axes.flat, errors.items(), strict=True):
    colours = [grey if value > 0.5 else blue if value < 2 * values.min() else red for value in values]
    ax.barh(list(methods), values, color=colours, height=0.7)
    for i, value in enumerate(values):
        ax.annotate(f"{value:.2f}", (value, i), (3, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set(title=name, xlim=(0, 1.19), xticks=(0, 0.5, 1))
    ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].invert_yaxis()
figure.supxlabel("error (NSEE): blue is the best or near it, orange is worse, grey has found nothing", fontsize=9)
plt.show()

# %%
# How to read it
# --------------
#
# - **Odd link.** A product of the views changes its sign with either of them. Looking at one view by itself shows
#   nothing, so pHd of each view and SIR are lost; the cross moment is all there is.
# - **Even link.** The cross moment is zero on average, and plain JDR finds nothing. The within-view moments see the
#   link; ``moments="all"`` has them too.
# - **One-sided link.** Neither odd nor even: most things work.
# - **Additive.** There is no product for JDR to see. Means by slices (SIR) find the direction, and so do the means
#   among ``moments="all"``.
# - **Views that depend on each other.** Whitening each view by itself leaves a bias that no amount of data removes;
#   ``normalize="joint"`` whitens both together.
# - **Heavy tails.** A few rows decide the moments; ``response="rank"`` takes their power away. (``fit`` warns.)
#
# No single setting wins everywhere, and :func:`jointdr.diagnostics.diagnose` finds which of these a data set is like.

for name, values in errors.items():
    best = min(zip(values, methods, strict=True))
    print(f"{name:32s} best: {best[1]:24s} {best[0]:.3f}   plain JDR {values[0]:.3f}")

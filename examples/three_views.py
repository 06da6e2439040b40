"""
Three views: users, places and times
====================================

Who goes where, and when? A rating may depend on all three at once, and no two of them alone are informative. JDR takes
three and more views as it takes two: the proxy is then the tensor

.. math:: \\mathcal{X}_0 = \\frac{1}{m} \\sum_{i=1}^m y_i'\\, a_i' \\otimes b_i' \\otimes c_i'

and the embeddings are the factors of its higher-order singular value decomposition.
"""

import matplotlib.pyplot as plt
import numpy as np

from jointdr import JDR, Views
from jointdr.metrics import nsee, subspace_error
from jointdr.plot import nsee_curves

# %%
# A response that takes all three
# -------------------------------
#
# Two hidden traits of each view, multiplied:
# :math:`y = \sum_j (U^\top a)_j (V^\top b)_j (W^\top c)_j + \varepsilon`.

sizes, r = (20, 15, 10), 2


def three_way(m, seed=0):
    """Views, a response, and the true directions of each view."""
    rng = np.random.default_rng(seed)
    views = [rng.standard_normal((m, n)) for n in sizes]
    truth = [np.linalg.qr(rng.standard_normal((n, r)))[0] for n in sizes]
    traits = [V @ U for V, U in zip(views, truth, strict=True)]
    return views, np.prod(traits, axis=0).sum(axis=1) + rng.standard_normal(m), truth


views, y, truth = three_way(50_000)
X = Views(user=views[0], place=views[1], time=views[2])
model = JDR(r).fit(X, y)
print(X)
print("directions:", [U.shape for U in model.embeddings_])
for name, U, U_hat in zip(X.names, truth, model.embeddings_, strict=True):
    print(f"d(U, Û) of {name:6s} {subspace_error(U, U_hat):.3f}")

# %%
# Two at a time there is nothing to see: the same method on pairs of views finds no more than chance does.

for left, right in ((0, 1), (0, 2), (1, 2)):
    pair = JDR(r).fit((views[left], views[right]), y)
    print(X.names[left], X.names[right], f"{nsee([truth[left], truth[right]], pair.embeddings_):.2f}")

# %%
# How the error falls
# -------------------
#
# As for two views, with the square root of the number of samples, once there are enough of them. The least-squares
# refinement starts at the tensor's factors and removes most of their noise.

m = [5000, 10_000, 20_000, 40_000]
errors = {"HOSVD": np.empty((3, len(m))), "refined": np.empty((3, len(m)))}
for i in range(3):
    views, y, truth = three_way(m[-1], seed=i + 1)
    for j, size in enumerate(m):
        part = [V[:size] for V in views]
        for name, sweeps in (("HOSVD", 0), ("refined", 2)):
            found = JDR(r, refine=sweeps, link="bilinear").fit(part, y[:size])
            errors[name][i, j] = nsee(truth, found.embeddings_)

ax = nsee_curves({name: (m, values) for name, values in errors.items()})
ax.set_title("Three views: error against samples")
plt.show()

# %%
# When pairs matter too
# ---------------------
#
# The tensor sees three-way interaction only. Let the rating be a sum of two terms, one of users and places, one of
# places and times: its expectation is then zero, and ``moments="all"``, which adds the proxies of all pairs of views,
# finds the directions.

(A, B, C), _, truth = three_way(20_000, seed=9)
y = np.sum((A @ truth[0]) * (B @ truth[1]) + (B @ truth[1]) * (C @ truth[2]), axis=1)
for moments in ("cross", "all"):
    found = JDR(r, moments=moments).fit((A, B, C), y)
    errors = [subspace_error(U, U_hat) for U, U_hat in zip(truth, found.embeddings_, strict=True)]
    print(f"moments={moments!r:8} d(U, Û) of each view", " ".join(f"{error:.3f}" for error in errors))
